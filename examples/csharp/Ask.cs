// Asks a language model a question and prints its answer as it comes:
//
//   mcs -unsafe bindings/csharp/Abi.cs bindings/csharp/Welvet/*.cs examples/csharp/Ask.cs -out:ask.exe
//   WELVET_LIBRARY=build/libloom.so mono ask.exe MODEL "What is the capital of France?"

using System;
using Welvet;

public sealed class Ask : IProgress<double>
{
    private int _calls;

    public void Report(double fraction)
    {
        ++_calls;
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
            var progress = new Ask();
            using (var model = new LanguageModel(given[0], new LanguageModelOptions { Progress = progress }))
            using (var answer = model.Stream(given[1]))
            {
                foreach (string piece in answer) Console.Write(piece);
                Console.WriteLine("\nhash " + answer.Result.Hash.Substring(0, 16));
                Console.WriteLine(progress._calls > 0 ? "progress was shown" : "no progress was shown");
            }
            return 0;
        }
        catch (LoomException e)
        {
            Console.Error.WriteLine("ask: " + e.Message);
            return 1;
        }
    }
}
