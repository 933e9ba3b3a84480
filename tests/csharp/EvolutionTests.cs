using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using System.Threading.Tasks;
using Welvet;

public static class TestEvolution
{
    // By welvet in Python: the sixth and the seventh generation, the best network, a whole run, a child, a mutation.
    private const string Sixth = "3d707e93f8b1e3240e4667e6bf1732511aefa0a17f3a3371e2e24143103a43ee";
    private const string Seventh = "56b4127bed1efab963c0fa00c8ccb65039b6d5a17b7c407f62924c8bfccbc207";
    private const string Best = "716adb4139654de492872bee80b666e2ff2546102a37faf1c7f38402a0249d75";
    private const string Whole = "27eac0c7837c700c1e45b66e4491ae977edb6da6edf97c6bc1d7bd9577295167";
    private const string Child = "622452c5866e516d6b2d092ef6adeb3defdd363c05b2283cb159643bdfd414cc";
    private const string Mutant = "8c8445664bc95b3894cf9fc12994a91d56aaed13fe9d164cca762867f5a36446";

    private const string Spec =
        "{\"seed\": 3, \"layers\": [{\"type\": \"dense\", \"input_height\": 6, \"output_height\": 16, " +
        "\"activation\": \"tanh\"}, {\"type\": \"dense\", \"input_height\": 16, \"output_height\": 3}]}";
    private const string Breeding = "{\"population\": 10, \"seed\": 2, \"mutation\": {\"node_rate\": 0}}";
    private const string Evolving =
        "{\"task\": {\"name\": \"csv\", \"path\": \"data.csv\", \"values\": true}, \"population\": 16, " +
        "\"generations\": 4, \"seed\": 7, \"network\": {\"seed\": 1, \"layers\": [" +
        "{\"type\": \"dense\", \"input_height\": 2, \"output_height\": 4, \"activation\": \"tanh\"}, " +
        "{\"type\": \"dense\", \"input_height\": 4, \"output_height\": 1}]}}";

    private static readonly int[] Shape = { 1, 6 };

    private static double Judge(Network network)
    {
        Tensor y = network.Forward(new float[,] { { 1, 1, 1, 1, 1, 1 } });
        double[] targets = { 0.25, -0.5, 0.125 };
        double sum = 0;
        for (int i = 0; i < 3; ++i) sum += (y[0, i] - targets[i]) * (y[0, i] - targets[i]);
        return -sum;
    }

    public static void CallsOfEvolveJudgeTheirOwnGeneration()
    {
        using (Network network = new Network(Spec))
        using (Population population = new Population(network, Shape, Breeding))
        {
            population.Evolve(Judge);
            var threads = new System.Threading.Thread[4];
            for (int i = 0; i < threads.Length; ++i)
            {
                threads[i] = new System.Threading.Thread(() =>
                {
                    for (int round = 0; round < 8; ++round) population.Evolve(Judge);
                });
                threads[i].Start();
            }
            foreach (System.Threading.Thread thread in threads) thread.Join();
            Expect.Equal(33L, population.Info["generation"]);
            var members = (IReadOnlyList<object>)population.Info["members"];
            for (int place = 0; place < 2; ++place)  // the elites
            {
                var fitness = (IReadOnlyList<object>)((IReadOnlyDictionary<string, object>)members[place])["fitness"];
                using (Network member = population.Network(place)) Expect.Equal(Judge(member), fitness[0]);
            }
            Expect.Fails("InvalidState", () => population.Evolve(net =>
            {
                population.Evolve(Judge);
                return Judge(net);
            }));
        }
    }

    public static void PopulationsAndOperationsHaveTheHashesOfPython()
    {
        using (Network network = new Network(Spec))
        using (Network changed = network.Clone())
        using (Population population = new Population(network, Shape, Breeding))
        {
            string hash = "";
            for (int i = 0; i < 6; ++i) hash = (string)population.Evolve(Judge)["hash"];
            Expect.Equal(Sixth, hash);
            using (Network best = population.Best())
            using (Network child = Evolution.Splice(network, best, "{\"mode\": \"uniform\", \"seed\": 1}"))
            {
                Expect.Equal(Best, best.Hash);
                Expect.Equal(Child, child.Hash);
            }
            using (Population again = new Population(population.Snapshot(), Shape, Breeding))
                Expect.Equal(Seventh, (string)again.Evolve(Judge)["hash"]);
            var report = (IReadOnlyDictionary<string, object>)Evolution.Mutate(changed, Shape, "{\"seed\": 5}")["made"];
            Expect.Equal(2L, report["perturb"]);
            Expect.Equal(Mutant, changed.Hash);
            Expect.Equal(2, Evolution.Dna(network).Count);
            Expect.True((double)Evolution.CompareDna(network, changed)["overall_overlap"] < 1, "an overlap below 1");
            Expect.True(Evolution.DrawDna(network, changed, nested: true).Contains("<svg"), "a picture");
            Expect.Equal(true, Evolution.Compare(network, network)["equal"]);
            Expect.Equal(false, Evolution.Compare(network, changed)["equal"]);
            Expect.Fails("UnknownKey", () => Evolution.Splice(network, changed, "{\"modes\": 1}"));
            changed.Dispose();
            Expect.Throws<ObjectDisposedException>(() => Evolution.Compare(network, changed));
            Expect.Throws<ArgumentNullException>(() => Evolution.Compare(network, null));
        }
    }

    private sealed class Reports : IProgress<IReadOnlyDictionary<string, object>>
    {
        public readonly List<IReadOnlyDictionary<string, object>> All = new List<IReadOnlyDictionary<string, object>>();
        public CancellationTokenSource EndsAtTwo;
        public bool Throws;

        public void Report(IReadOnlyDictionary<string, object> value)
        {
            All.Add(value);
            if (Throws) throw new InvalidOperationException("mine");
            if (All.Count == 2) EndsAtTwo?.Cancel();
        }
    }

    /// <summary>Runs code in a folder with the data of the run.</summary>
    private static void InFolder(Action<string> code)
    {
        string folder = Path.Combine(Path.GetTempPath(), "welvet-évolution-" + Guid.NewGuid());
        Directory.CreateDirectory(folder);
        try
        {
            File.WriteAllText(Path.Combine(folder, "data.csv"), "a,b,y\n0,0,0\n0,1,1\n1,0,1\n1,1,2\n");
            code(folder);
        }
        finally
        {
            Directory.Delete(folder, true);
        }
    }

    public static void RunsByDataAreSavedAndContinued()
    {
        InFolder(folder =>
        {
            Reports reports = new Reports();
            var whole = Evolution.Run(Evolving, new EvolutionOptions { Folder = folder, Progress = reports });
            Expect.Equal(Whole, (string)whole["hash"]);
            Expect.Equal(4, reports.All.Count);
            Expect.Equal(4L, reports.All[3]["done"]);
            Expect.Equal(whole["best"], reports.All[3]["best_score"]);
            EvolutionOptions options = new EvolutionOptions { Folder = folder, Out = Path.Combine(folder, "run") };
            Reports two = new Reports { EndsAtTwo = new CancellationTokenSource() };
            options.Progress = two;
            var cut = Evolution.Run(Evolving, options, two.EndsAtTwo.Token);
            Expect.Equal(true, cut["interrupted"]);
            Expect.Equal(2L, cut["generations"]);
            options.Progress = null;
            Expect.Fails("InvalidArgument", () => Evolution.Run(Evolving, options));
            options.Start = RunStart.Resume;
            Expect.Equal(Whole, (string)Evolution.Run(Evolving, options)["hash"]);
            string config = Path.Combine(folder, "run.json");
            File.WriteAllText(config, Evolving);
            EvolutionOptions again = new EvolutionOptions
            {
                Out = options.Out, Start = RunStart.Overwrite, Generations = 2
            };
            Expect.Equal(cut["hash"], Evolution.RunFile(config, again)["hash"]);
            using (LoomObject best = Files.Open(Path.Combine(folder, "run", "best.entity")))
                Expect.Equal(4, ((Network)best).Forward(new float[4, 2]).Shape[0]);
            Expect.Fails("NotFound", () => Evolution.RunFile(config + ".none"));
            Expect.Throws<ArgumentException>(() => Evolution.Run(Evolving, new EvolutionOptions { Folder = "a\0b" }));
        });
    }

    public static void RunsEndByTokenAndException()
    {
        InFolder(folder =>
        {
            string endless = Evolving.Replace("\"generations\": 4", "\"generations\": 100000000");
            foreach (int wait in new[] { 1, 20 })
            {
                CancellationTokenSource source = new CancellationTokenSource();
                Task<IReadOnlyDictionary<string, object>> run = Task.Run(() => Evolution.Run(endless,
                    new EvolutionOptions { Folder = folder, Threads = 1 }, source.Token));
                Thread.Sleep(wait);
                source.Cancel();
                try
                {
                    Expect.Equal(true, run.Result["interrupted"]);
                }
                catch (AggregateException e) when (e.InnerException is OperationCanceledException)
                {
                    // before the run began
                }
            }
            Reports reports = new Reports { Throws = true };
            Exception thrown = Expect.Throws<InvalidOperationException>(
                () => Evolution.Run(Evolving, new EvolutionOptions { Folder = folder, Progress = reports }));
            Expect.Equal("mine", thrown.Message);
            Expect.Equal(1, reports.All.Count);
        });
    }

    public static void JournalsAndReceiptsReplay()
    {
        InFolder(folder =>
        {
            string config = "{\"epochs\": 3, \"batch_size\": 2, \"loss\": \"softmax_crossentropy\", \"network\": " +
                "{\"seed\": 3, \"layers\": [{\"type\": \"dense\", \"input_height\": 2, \"output_height\": 3}]}, " +
                "\"data\": {\"format\": \"csv\", \"path\": \"data.csv\", \"target_column\": \"y\"}}";
            string path = Path.Combine(folder, "training.json"), run = Path.Combine(folder, "trained");
            File.WriteAllText(path, config);
            var outcome = Training.RunFile(path, new TrainingOptions { Out = run });
            var again = Training.Replay(run, new TrainingOptions { Threads = 1 });
            Expect.Equal(outcome["hash"], again["hash"]);
            string journal = Path.Combine(run, "journal.jsonl");
            byte[] kept = File.ReadAllBytes(journal);
            string text = File.ReadAllText(journal);
            int loss = text.IndexOf("\"loss\":", StringComparison.Ordinal) + 7;
            File.WriteAllText(journal, text.Substring(0, loss) + "9" + text.Substring(loss + 1));
            Expect.Throws<LoomException>(() => Training.Replay(run));
            File.WriteAllBytes(journal, kept);
            Expect.Fails("NotFound", () => Training.Replay(run + ".none"));
        });
        using (LanguageModel model = new LanguageModel(Runner.Model))
        using (TextStream stream = model.Stream("Hi", new GenerationOptions { MaxTokens = 3 }))
        {
            stream.Finish();
            string receipt = stream.Receipt();
            Expect.Equal(true, Receipts.Replay(receipt)["equal"]);
            string hash = stream.Result.Hash;
            string wrong = receipt.Replace(hash, new string('0', 64));
            Expect.Equal(false, Receipts.Replay(wrong, model: Runner.Model)["equal"]);
            Expect.Fails("NotFound", () => Receipts.Replay(receipt, model: Runner.Model + ".none"));
            CancellationTokenSource source = new CancellationTokenSource();
            source.Cancel();
            Expect.Throws<OperationCanceledException>(() => Receipts.Replay(receipt, cancellationToken: source.Token));
        }
    }

    private sealed class Parts : IProgress<double>
    {
        public double Last = -1;
        public bool Throws;

        public void Report(double value)
        {
            Last = value;
            if (Throws) throw new InvalidOperationException("mine");
        }
    }

    public static void FilesAreOpenedDescribedAndWritten()
    {
        string data = Environment.GetEnvironmentVariable("LOOM_DATA");
        InFolder(folder =>
        {
            string onnx = Path.Combine(folder, "net.onnx"), entity = Path.Combine(folder, "net.entity");
            using (Network network = new Network(Spec))
            {
                network.Save(entity);
                Files.Export(network, onnx, new ExportOptions { InputShape = new[] { 6 } });
                Files.Export(entity, Path.Combine(folder, "net.safetensors"));
                Expect.Fails("InvalidArgument", () => Files.Export(network, Path.Combine(folder, "net.none")));
                using (Network read = (Network)Files.Open(entity)) Expect.Equal(network.Hash, read.Hash);
                Expect.Fails("InvalidArgument", () => Files.Open(entity, dtype: "int8"));
            }
            Expect.Equal(64, Files.Hash(entity).Length);
            Expect.True(Files.Inspect(entity).Count > 2, "facts about a network");
            foreach (string file in new[] { onnx, Path.Combine(data, "vad/silero_vad.onnx") })
            {
                using (Graph graph = (Graph)Files.Open(file, threads: 1))
                    Expect.True(graph.Info.ContainsKey("opset"), "a graph with an opset");
            }
            using (Encoder encoder = (Encoder)Files.Open(Path.Combine(data, "minilm")))
                Expect.Equal(1, encoder.Embed(new[] { "one" }).Shape[0]);
            Parts parts = new Parts();
            using (LanguageModel model = (LanguageModel)Files.Open(Runner.Model, progress: parts))
                Expect.True(parts.Last > 0, "progress of the loading");
            string packed = Path.Combine(folder, "packed.gguf");
            Files.Quantize(Runner.Model, packed, "q8_0", new ConvertOptions { Progress = parts });
            Expect.True(Files.Inspect(packed).Count > 2, "facts about a model");
            Expect.True(Files.Hash(packed) != Files.Hash(Runner.Model), "another file");
            Expect.Throws<ArgumentException>(
                () => Files.Quantize(Runner.Model, packed, "q8_0", new ConvertOptions { DType = "int8" }));
            string model2 = Path.Combine(folder, "model.entity");
            Files.Convert(Runner.Model, model2, new ConvertOptions { Threads = 1 });
            Expect.True(new FileInfo(model2).Length > 1000000, "a model");
            Parts throwing = new Parts { Throws = true };
            string none = Path.Combine(folder, "none.entity");
            Expect.Throws<InvalidOperationException>(
                () => Files.Convert(Runner.Model, none, new ConvertOptions { Progress = throwing }));
            Expect.True(!File.Exists(none), "no file after an exception");
            Expect.Fails("InvalidArgument", () => Files.Convert(Runner.Model, entity));
        });
        Expect.True(Files.Schema(SchemaKind.Evolution).ContainsKey("properties"), "a schema");
        Expect.Fails("NotFound", () => Files.Open("none.gguf"));
    }
}
