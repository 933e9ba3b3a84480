// Asks a language model a question and prints its answer as it comes; the library is looked up as the system does
// (LD_LIBRARY_PATH, PATH):
//
//   mcs -unsafe bindings/csharp/Abi.cs examples/csharp/Ask.cs -out:ask.exe
//   mono ask.exe MODEL "What is the capital of France?"

using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using Welvet;

public static unsafe class Ask
{
    private static string Text(byte* text)
    {
        int size = 0;
        while (text[size] != 0) ++size;
        return Encoding.UTF8.GetString(text, size);
    }

    private static void Check(int status)
    {
        if (status != Abi.Ok)
            throw new InvalidOperationException(Text(Abi.StatusName(status)) + ": " + Text(Abi.LastError()));
    }

    private static void Put(string path, string question)
    {
        ulong model, session, generator;
        int calls = 0;
        OnProgress progress = (user, fraction) => { ++calls; return 1; };
        var options = ModelOptions.Create();
        options.Progress = Marshal.GetFunctionPointerForDelegate(progress);
        fixed (byte* name = Encoding.UTF8.GetBytes(path + "\0")) Check(Abi.ModelOpen(name, &options, &model));
        GC.KeepAlive(progress);
        Check(Abi.SessionCreate(model, null, &session));
        byte[] words = Encoding.UTF8.GetBytes(question);
        fixed (byte* first = words)
            Check(Abi.GeneratorFromText(session, first, (UIntPtr)words.Length, Abi.PromptAuto, null, &generator));
        var step = Step.Create();
        using (Stream output = Console.OpenStandardOutput())
        {
            while (step.Stop == Abi.StopNotYet)
            {
                Check(Abi.GeneratorNext(generator, 0, &step));
                for (ulong i = 0; i < (ulong)step.TextSize; ++i) output.WriteByte(step.Text[i]);
                output.Flush();
            }
        }
        var answer = Generation.Create();
        Check(Abi.GeneratorResult(generator, &answer));
        Console.Write("\nhash ");
        for (int i = 0; i < 8; ++i) Console.Write(answer.Hash[i].ToString("x2"));
        Console.WriteLine(calls > 0 ? "\nprogress was shown" : "\nno progress was shown");
        Check(Abi.Release(generator));
        Check(Abi.Release(session));
        Check(Abi.Release(model));
    }

    public static int Main(string[] given)
    {
        if (given.Length != 2)
        {
            Console.Error.WriteLine("usage: ask MODEL QUESTION");
            return 2;
        }
        try
        {
            Put(given[0], given[1]);
            return 0;
        }
        catch (InvalidOperationException e)
        {
            Console.Error.WriteLine("ask: " + e.Message);
            return 1;
        }
    }
}
