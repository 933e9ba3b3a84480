using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Welvet;

/// <summary>Objects after their end, threads, cancelled calls, callbacks that throw, memory.</summary>
public static class TestBorder
{
    private const string Question = "Tell me a long story about a dragon.";

    public static void ObjectsAfterDisposeThrowObjectDisposedException()
    {
        LanguageModel model = new LanguageModel(Runner.Model);
        Tokenizer tokenizer = model.Tokenizer;
        LanguageSession languages = model.Session();
        Chat chat = model.Chat();
        TextStream stream = model.Stream(Question);
        Network network = new Network(TestNetwork.Spec);
        Session session = new Session(network);
        Trainer trainer = new Trainer(network.Clone(), new[] { 4, 3 });
        StepMesh mesh = new StepMesh(network, new[] { 1, 3 });
        StepState state = mesh.State();
        Population population = new Population(network, new[] { 1, 3 });
        foreach (LoomObject each in new LoomObject[]
                 { model, tokenizer, languages, chat, stream, session, trainer, state, mesh, population, network })
        {
            each.Dispose();
            each.Dispose();
            Expect.True(each.IsDisposed, "a disposed object");
        }
        Expect.Equal("Network", Expect.Throws<ObjectDisposedException>(() => Use(network.Hash)).ObjectName);
        Expect.Throws<ObjectDisposedException>(() => Use(model.Info));
        Expect.Throws<ObjectDisposedException>(() => Use(model.Tokenizer));
        Expect.Throws<ObjectDisposedException>(() => model.Generate("a"));
        Expect.Throws<ObjectDisposedException>(() => tokenizer.Encode("a"));
        Expect.Throws<ObjectDisposedException>(() => languages.Feed(new[] { 1 }));
        Expect.Throws<ObjectDisposedException>(() => chat.Say("a"));
        Expect.True(!stream.MoveNext(), "no piece of an answer that was disposed");
        Expect.Throws<ObjectDisposedException>(() => session.Forward(new float[1, 3]));
        Expect.Throws<ObjectDisposedException>(() => session.Run());
        Expect.Throws<ObjectDisposedException>(() => trainer.Step(new float[4, 3], new float[4, 2]));
        Expect.Throws<ObjectDisposedException>(() => mesh.State());
        Expect.Throws<ObjectDisposedException>(() => state.Output());
        Expect.Throws<ObjectDisposedException>(() => population.Ask());
    }

    private static void Use(object value)
    {
    }

    public static void ObjectsOutliveTheModelThatTheyWereMadeOf()
    {
        LanguageSession session;
        TextStream stream;
        using (LanguageModel model = new LanguageModel(Runner.Model))
        {
            session = model.Session();
            stream = model.Stream("What is the capital of France?");
        }
        Expect.True(session.Feed(new[] { 1, 2, 3 }).Length > 0, "logits");
        Expect.Equal("The capital of France is Paris.", stream.Finish().Text);
        session.Dispose();
        stream.Dispose();
    }

    public static void TokensCancelAtAnyMoment()
    {
        using (LanguageModel model = new LanguageModel(Runner.Model))
        {
            CancellationTokenSource early = new CancellationTokenSource();
            early.Cancel();
            Expect.Throws<OperationCanceledException>(() => model.Generate(Question, cancellationToken: early.Token));
            Expect.Throws<OperationCanceledException>(() => new LanguageModel(Runner.Model, null, early.Token));

            CancellationTokenSource between = new CancellationTokenSource();
            TextStream stream = model.Stream(Question, cancellationToken: between.Token);
            Expect.True(stream.MoveNext(), "a piece");
            between.Cancel();
            Expect.Throws<OperationCanceledException>(() => stream.MoveNext());
            Expect.True(!stream.MoveNext() && stream.Result.Text.Length > 0, "an answer so far");

            // 2000 tokens take more than 60 times the time of 32.
            GenerationOptions few = new GenerationOptions { MaxTokens = 32, IgnoreEos = true };
            GenerationOptions many = new GenerationOptions { MaxTokens = 2000, IgnoreEos = true };
            Stopwatch whole = Stopwatch.StartNew();
            model.Generate(Question, few);
            whole.Stop();
            CancellationTokenSource inside = new CancellationTokenSource();
            inside.CancelAfter(100);
            Stopwatch part = Stopwatch.StartNew();
            Expect.Throws<OperationCanceledException>(() =>
                model.Generate(Question, many, cancellationToken: inside.Token));
            Expect.True(part.ElapsedMilliseconds < 20 * whole.ElapsedMilliseconds + 2000, "a call that ends soon");
            Expect.True(model.Generate("Hi", new GenerationOptions { MaxTokens = 2 }).Ids.Count > 0, "an answer after");
        }
        using (Network network = new Network(TestNetwork.Spec))
        {
            CancellationTokenSource source = new CancellationTokenSource();
            Stopper stopper = new Stopper { Do = () => source.Cancel() };
            IReadOnlyDictionary<string, object> outcome = Training.Run("{\"loss\": \"mse\", \"epochs\": 100000}",
                network, new float[4, 3], new float[4, 2],
                options: new TrainingOptions { Progress = stopper }, cancellationToken: source.Token);
            Expect.Equal("stopped", outcome["stop_reason"]);
        }
    }

    private sealed class Stopper : IProgress<double>, IProgress<TrainingEvent>
    {
        public Action Do;
        public int Calls;

        public void Report(double value)
        {
            ++Calls;
            Do();
        }

        public void Report(TrainingEvent value)
        {
            ++Calls;
            Do();
        }
    }

    public static void ExceptionsOfCallbacksComeOutOfTheCall()
    {
        Stopper stopper = new Stopper { Do = () => { throw new InvalidOperationException("mine"); } };
        Exception e = Expect.Throws<InvalidOperationException>(
            () => new LanguageModel(Runner.Model, new LanguageModelOptions { Progress = stopper }));
        Expect.True(e.Message == "mine" && stopper.Calls == 1, "the exception of the callback, at its first call");
        using (Network network = new Network(TestNetwork.Spec))
        {
            Expect.Throws<InvalidOperationException>(() => Training.Run("{\"loss\": \"mse\", \"epochs\": 10}", network,
                new float[4, 3], new float[4, 2], options: new TrainingOptions { Progress = stopper }));
            Expect.Equal(2, stopper.Calls);
            Expect.True(network.Hash.Length == 64, "a network that can be used");
        }
    }

    public static void ThreadsShareModelsAndTakeTurnsWithSessions()
    {
        using (LanguageModel model = new LanguageModel(Runner.Model, new LanguageModelOptions { Threads = 1 }))
        using (Network network = new Network(TestNetwork.Spec))
        using (Session session = new Session(network, new SessionOptions { Threads = 1 }))
        {
            string expected = model.Generate("Hi", new GenerationOptions { MaxTokens = 4 }).Hash;
            float[] y = session.Forward(new float[,] { { 1, 2, 3 } }).Values;
            Parallel.For(0, 4, i =>
            {
                Expect.Equal(expected, model.Generate("Hi", new GenerationOptions { MaxTokens = 4 }).Hash);
                for (int n = 0; n < 200; ++n)
                {
                    float[] got = session.Forward(new float[,] { { 1, 2, 3 } }).Values;
                    Expect.True(got[0] == y[0] && got[1] == y[1], "equal bits on every thread");
                }
                Expect.Fails("UnknownName", () => new Network("{\"layers\": [{\"type\": \"x" + i + "\"}]}"));
            });
        }
    }

    public static void DisposeWaitsForTheCallOfAnotherThread()
    {
        LanguageModel model = new LanguageModel(Runner.Model);
        Chat chat = model.Chat(options: new GenerationOptions { MaxTokens = 40, IgnoreEos = true });
        Task<Generation> answer = chat.SayAsync(Question);
        Thread.Sleep(50);
        model.Dispose();
        chat.Dispose();
        try
        {
            Expect.Equal(40, answer.Result.Ids.Count);
        }
        catch (AggregateException e)
        {
            // Dispose() came between the message and its answer.
            Expect.True(e.InnerException is ObjectDisposedException, "the answer or an ObjectDisposedException");
        }
    }

    public static void WatchesSeeEveryLayerAndMayThrow()
    {
        using (Network network = new Network(TestNetwork.Spec))
        using (Session session = new Session(network, new SessionOptions { Threads = 1, Backward = true }))
        {
            float[] x = { 1, 2, 3 }, y = new float[2];
            int[] shape = { 1, 3 };
            session.Bind(x, shape, y);
            string seen = "";
            session.Watch(layer => seen += layer.Pass + " " + layer.Path + " " + layer.Layer + "; ");
            session.Forward(x, shape, y);
            session.Backward(new Tensor(new float[] { 1, 1 }, 1, 2));
            Expect.Equal("Forward layers.0 dense; Forward layers.1 dense; Backward layers.1 dense; " +
                         "Backward layers.0 dense; ", seen);
            foreach (Action pass in new Action[]
                     { () => session.Forward(x, shape, y), session.Run, () => session.Forward(new Tensor(x, shape)) })
            {
                session.Watch(layer => Refuse());
                Expect.Equal("mine", Expect.Throws<InvalidOperationException>(pass).Message);
                pass();
            }
            session.Watch(layer => session.Forward(x, shape, y));
            Expect.Fails("Busy", () => session.Forward(x, shape, y));
            float[] before = (float[])y.Clone();
            session.Watch(layer =>
            {
                Expect.Fails("Busy", session.Run);
                session.Dispose();
                Expect.True(!session.IsDisposed, "a session that lives until its pass has ended");
            });
            session.Forward(x, shape, y);
            Expect.True(before[0] == y[0] && session.IsDisposed, "a pass that ends before its session");
        }
        // Mono's collector keeps what a stale word of a stack may refer to: a few, never most.
        for (int i = 0; i < 20; ++i) Forget();
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        int alive = s_forgotten.Count(watch => watch.IsAlive);
        Expect.True(alive < 10, "watches that nobody refers to any more; alive: " + alive + " of 20");
    }

    private static readonly List<WeakReference> s_forgotten = new List<WeakReference>();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Forget()
    {
        // A thread of its own: Mono scans the stack of this one without knowing what is a reference.
        Thread thread = new Thread(() =>
        {
            Stopper stopper = new Stopper { Do = () => { } };
            Session session = new Session(new Network(TestNetwork.Spec));
            session.Watch(layer => stopper.Report(0.0));
            session.Forward(new float[1, 3]);
            Expect.Equal(2, stopper.Calls);
            s_forgotten.Add(new WeakReference(stopper));
        });
        thread.Start();
        thread.Join();
    }

    private static void Refuse()
    {
        throw new InvalidOperationException("mine");
    }

    public static void DisposeInACallbackTakesEffectAfterTheCall()
    {
        Network network = new Network(TestNetwork.Spec);
        Stopper stopper = new Stopper { Do = () => network.Dispose() };
        Training.Run("{\"loss\": \"mse\", \"epochs\": 2}", network, new float[4, 3], new float[4, 2],
            options: new TrainingOptions { Progress = stopper });
        Expect.True(network.IsDisposed, "a disposed network");
    }

    public static void FinalisersReleaseWhatNobodyDisposed()
    {
        for (int i = 0; i < 3; ++i) Leave();
        long before = Resident();
        for (int i = 0; i < 40; ++i) Leave();
        Expect.True(Resident() - before < 60 << 20, "40 networks of 4 MB that the finalisers have released");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Leave()
    {
        Make();
        GC.Collect();
        GC.WaitForPendingFinalizers();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Make()
    {
        new Network("{\"layers\": [{\"type\": \"dense\", \"input_height\": 1000, \"output_height\": 1000}]}");
    }

    public static void MemoryIsFlatOverAThousandRounds()
    {
        const string Wide = "{\"layers\": [{\"type\": \"dense\", \"input_height\": 64, \"output_height\": 64}]}";
        using (LanguageModel model = new LanguageModel(Runner.Model, new LanguageModelOptions { Threads = 1 }))
        using (Network wide = new Network(Wide))
        {
            for (int i = 0; i < 100; ++i) Round(model, wide);
            long before = Resident();
            for (int i = 0; i < 1000; ++i) Round(model, wide);
            Expect.True(Resident() - before < 8 << 20, "less than 8 MB more after 1000 rounds, got " +
                ((Resident() - before) >> 10) + " KB");
        }
    }

    private static int s_rounds;

    private static void Round(LanguageModel model, Network wide)
    {
        Expect.True(wide.ToBytes().Length > 16000, "the bytes of 4096 weights");
        if (++s_rounds % 10 == 0) GC.Collect(0); // the collector's own memory stays small
        using (Network network = new Network(TestNetwork.Spec))
        using (Session session = new Session(network, new SessionOptions { Threads = 1 }))
        using (Trainer trainer = new Trainer(network, new[] { 1, 3 }, "{}", new ComputeOptions { Threads = 1 }))
        {
            session.Forward(new float[,] { { 1, 2, 3 } });
            trainer.Step(new float[1, 3], new float[1, 2]);
            session.Bind(new float[3], new[] { 1, 3 }, new float[2]);
        }
        using (LanguageSession session = model.Session(new LanguageSessionOptions { Context = 64 }))
        using (session.Stream("a", new GenerationOptions { MaxTokens = 0, Stop = new[] { "b" } }))
        using (model.Chat("c"))
        {
        }
        Expect.Fails("NotFound", () => Network.FromFile("none"));
    }

    private static long Resident()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        return long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1]) * Environment.SystemPageSize;
    }

    public static void ErrorsHaveACodeAndAText()
    {
        Expect.Fails("NotFound", () => new LanguageModel("none.gguf"));
        Expect.Fails("Unsupported", () => LanguageModel.FromBytes(new byte[100]));
        Expect.Throws<ArgumentException>(() => new LanguageModel(""));
        Expect.Throws<ArgumentNullException>(() => new LanguageModel(null));
        Expect.Throws<ArgumentNullException>(() => new Network(null));
        Expect.Throws<ArgumentException>(() => new Tensor(new float[5], 2, 3));
        Expect.Throws<ArgumentOutOfRangeException>(() => new Tensor(new float[6], -2, -3));
        using (Network network = new Network(TestNetwork.Spec))
        {
            Expect.Fails("UnknownKey", () => new Trainer(network, new[] { 1, 3 }, "{\"los\": \"mse\"}"));
            Expect.Throws<ArgumentOutOfRangeException>(() => new Session(network, new SessionOptions { Threads = 0 }));
            Expect.Throws<ArgumentOutOfRangeException>(() => new Trainer(network, new[] { -1, 3 }));
            Expect.Fails("NonFinite", () => network.SetWeight("layers.0.weight", new float[4, 3]
                { { 1, 2, 3 }, { 1, 2, 3 }, { 1, 2, 3 }, { 1, 2, float.NaN } }));
        }
    }

    public static void JsonKeepsEveryValue()
    {
        const string Text = "{\"a\":[1,-2,9223372036854775807,0.1,1E+300,true,false,null]," +
                            "\"b\\u0000\":\"\\\"\\\\\u00e9\"}";
        Expect.Equal(Text, Json.Write(Json.Parse(Text)));
        foreach (string wrong in new[] { "", "{", "[1,]", "{\"a\" 1}", "\"\\x\"", "1 2", "tru", "[" + "\"a", "--1" })
            Expect.Throws<FormatException>(() => Json.Parse(wrong));
        Expect.Throws<FormatException>(() => Json.Parse(new string('[', 100000)));
        Expect.Throws<ArgumentException>(() => Json.Write(double.NaN));
    }

    public static void LibraryDescribesThisMachine()
    {
        Expect.True(Library.Version.Contains("."), "a version");
        Expect.Equal(Library.Version, Library.SystemInfo()["version"]);
    }
}
