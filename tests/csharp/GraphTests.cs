using System;
using System.Collections.Generic;
using System.IO;
using Welvet;

public static class TestGraph
{
    private const string ByPython = "c79b1b6f63f75619c08cc1b93b79302565545197f926d6b443e1a1b6f705a69a";

    private static Dictionary<string, GraphValue> Sound()
    {
        float[] sound = new float[512];
        for (int i = 0; i < sound.Length; ++i) sound[i] = (i * 7919 % 201 - 100) / 250f;
        return new Dictionary<string, GraphValue>
        {
            { "input", new GraphValue(sound, 1, 512) }, { "state", new GraphValue(new float[256], 2, 1, 128) },
            { "sr", new GraphValue(new long[] { 16000 }) }
        };
    }

    public static void RunsByName()
    {
        string path = Path.Combine(Environment.GetEnvironmentVariable("LOOM_DATA"), "vad/silero_vad.onnx");
        using (Graph graph = new Graph(path))
        using (Graph again = Graph.FromBytes(File.ReadAllBytes(path), new GraphOptions { Threads = 1 }))
        {
            Expect.Fails("InvalidState", () => Console.WriteLine(graph.Hash));
            IReadOnlyDictionary<string, GraphValue> y = graph.Run(Sound());
            Expect.Equal(ByPython, graph.Hash);
            Expect.Equal("1 1", string.Join(" ", y["output"].Shape));
            again.Run(Sound());
            Expect.Equal(ByPython, again.Hash);
            Expect.Equal(2, y.Count);
            Dictionary<string, GraphValue> wrong = Sound();
            wrong["sr"] = new GraphValue(new float[] { 1 });
            Expect.Fails("InvalidArgument", () => graph.Run(wrong));
            wrong.Remove("sr");
            Expect.Fails("InvalidArgument", () => graph.Run(wrong));
            wrong["other"] = new GraphValue(new float[] { 1 }, 1);
            Expect.Fails("InvalidArgument", () => graph.Run(wrong));
        }
    }
}
