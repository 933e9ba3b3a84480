using System;
using System.Diagnostics;
using System.Reflection;
using Welvet;

/// <summary>Prints the least time of groups of calls, in nanoseconds a call: Forward of arrays, Run, Forward of a
/// tensor, a step of a stream whose answer has ended.</summary>
public static class Speed
{
    private const int Groups = 1000, Calls = 200;

    private static string Least(Action call)
    {
        double least = double.MaxValue;
        for (int group = 0; group < Groups; ++group)
        {
            Stopwatch watch = Stopwatch.StartNew();
            for (int i = 0; i < Calls; ++i) call();
            least = Math.Min(least, watch.Elapsed.TotalMilliseconds * 1e6 / Calls);
        }
        return " " + (int)least;
    }

    public static void Main(string[] arguments)
    {
        using (Network network = new Network(arguments[0]))
        using (Session session = new Session(network, new SessionOptions { Threads = 1 }))
        using (LanguageModel model = new LanguageModel(arguments[1]))
        using (TextStream stream = model.Stream("Hi", new GenerationOptions { MaxTokens = 2 }))
        {
            float[] x = new float[8], y = new float[4];
            int[] shape = { 1, 8 };
            Tensor tensor = new Tensor(x, shape);
            session.Bind(x, shape, y);
            Func<ulong, string> step = (Func<ulong, string>)Delegate.CreateDelegate(typeof(Func<ulong, string>), stream,
                typeof(TextStream).GetMethod("Advance", BindingFlags.NonPublic | BindingFlags.Instance));
            for (int i = 0; i < 20; ++i) step(0);
            Console.WriteLine(Least(() => session.Forward(x, shape, y)) + Least(session.Run) +
                Least(() => session.Forward(tensor)) + Least(() => step(0)));
        }
    }
}
