// Times calls in C# as calls.c does in C:  calls.exe MODEL

using System;
using System.Diagnostics;
using Welvet;

public static class Calls
{
    private const int Groups = 300, CallCount = 200, Answers = 120, Tokens = 16;

    private const string Spec = @"{""seed"": 1, ""layers"": [
        {""type"": ""dense"", ""input_height"": 8, ""output_height"": 8, ""activation"": ""tanh""},
        {""type"": ""dense"", ""input_height"": 8, ""output_height"": 4}]}";

    private static void Show(string what, double[] times)
    {
        Array.Sort(times);
        Console.WriteLine(what + " " + (long)times[0] + " " + (long)times[times.Length / 2]);
    }

    private static double Since(long start, int calls) =>
        (Stopwatch.GetTimestamp() - start) * 1e9 / Stopwatch.Frequency / calls;

    public static void Main(string[] arguments)
    {
        double[] times = new double[Groups];
        using (Network network = new Network(Spec))
        using (Session session = new Session(network, new SessionOptions { Threads = 1 }))
        {
            float[] x = new float[8], y = new float[4];
            int[] shape = { 1, 8 };
            for (int group = 0; group < Groups; ++group)
            {
                long start = Stopwatch.GetTimestamp();
                for (int i = 0; i < CallCount; ++i) session.Forward(x, shape, y);
                times[group] = Since(start, CallCount);
            }
        }
        Show("forward", times);
        times = new double[Answers];
        string hash = "";
        using (LanguageModel model = new LanguageModel(arguments[0], new LanguageModelOptions { Threads = 1 }))
        {
            GenerationOptions options = new GenerationOptions { MaxTokens = Tokens };
            for (int answer = 0; answer < Answers; ++answer)
            {
                long start = Stopwatch.GetTimestamp();
                using (TextStream stream = model.Stream("Once upon a time", options, PromptForm.Raw))
                {
                    while (stream.MoveNext()) { }
                    hash = stream.Result.Hash;
                }
                times[answer] = Since(start, Tokens);
            }
        }
        Show("token", times);
        Console.WriteLine("hash " + hash.Substring(0, 16));
    }
}
