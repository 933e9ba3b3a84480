using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using System.Threading.Tasks;
using Welvet;

public static class TestNetwork
{
    public const string Spec =
        "{\"seed\": 1, \"layers\": [{\"type\": \"dense\", \"input_height\": 3, \"output_height\": 4, " +
        "\"activation\": \"tanh\"}, {\"type\": \"dense\", \"input_height\": 4, \"output_height\": 2}]}";

    private static readonly float[,] Four = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 0.5f, 0.25f, 0 } };

    public static void ForwardIsTheProductOfInputsAndWeights()
    {
        using (Network network = new Network(
                   "{\"layers\": [{\"type\": \"dense\", \"input_height\": 2, \"output_height\": 2}]}"))
        {
            network.SetWeight("layers.0.weight", new float[,] { { 1, 2 }, { 3, 4 } });
            Expect.Equal("1, 2, 3, 4", string.Join(", ", network.GetWeight("layers.0.weight").Values));
            Tensor y = network.Forward(new float[,] { { 1, 1 }, { 0, 2 }, { 5, 0 } });
            Expect.Equal("3, 2", string.Join(", ", y.Shape));
            Expect.Equal("3, 7, 4, 8, 5, 15", string.Join(", ", y.Values));
            Expect.Equal(7f, y[0, 1]);
            Expect.Throws<IndexOutOfRangeException>(() => y[0, 2].ToString());
            Expect.Throws<ArgumentException>(() => y[0].ToString());
        }
    }

    public static void EveryWayOfForwardGivesTheSameBits()
    {
        using (Network network = new Network(Spec))
        using (Session session = new Session(network, new SessionOptions { Threads = 1 }))
        {
            Tensor expected = network.Forward(Four);
            float[] x = ((Tensor)Four).Values, y = new float[8], bound = new float[8];
            Expect.Equal(8, session.Forward(x, new[] { 4, 3 }, y));
            session.Bind(x, new[] { 4, 3 }, bound);
            session.Run();
            for (int i = 0; i < 8; ++i)
            {
                Expect.Equal(expected.Values[i], y[i]);
                Expect.Equal(expected.Values[i], bound[i]);
            }
            Expect.Throws<ArgumentException>(() => session.Forward(x, new[] { 4, 3 }, new float[7]));
            Expect.Equal(2, session.Forward(new float[3], new[] { 1, 3 }, y));
            Expect.Fails("ShapeMismatch", () => session.Forward(x, new[] { 3, 4 }, y));
        }
    }

#if NETCOREAPP3_0_OR_GREATER
    public static void SpansGiveTheSameBits()
    {
        using (Network network = new Network(Spec))
        using (Session session = new Session(network))
        {
            Tensor expected = network.Forward(Four);
            float[] y = new float[8];
            Span<float> x = ((Tensor)Four).Values;
            Expect.Equal(8, session.Forward(x, new ReadOnlySpan<int>(new[] { 4, 3 }), new Span<float>(y)));
            Expect.Equal(string.Join(" ", expected.Values), string.Join(" ", y));
        }
    }
#endif

    public static void NetworksInDoublePrecisionTakeDoubles()
    {
        using (Network network = new Network("{\"activations\": \"f64\"," + Spec.Substring(1)))
        using (Session session = new Session(network))
        {
            double[] y = session.Forward(new double[] { 1, 2, 3 }, new[] { 1, 3 });
            Expect.Equal(2, y.Length);
            Expect.True(y[0] != (float)y[0], "more than single precision");
            Expect.Fails("InvalidArgument", () => session.Forward(new float[,] { { 1, 2, 3 } }));
            using (Network single = new Network(Spec))
                Expect.True(Math.Abs(single.Forward(new float[,] { { 1, 2, 3 } })[0, 0] - y[0]) < 1e-5, "near values");
        }
    }

    public static void BackwardIsTheSlopeOfTheLoss()
    {
        using (Network network = new Network(Spec))
        using (Session session = new Session(network, new SessionOptions { Backward = true }))
        {
            Tensor x = Four;
            session.Forward(x);
            Tensor ones = new Tensor(new float[] { 1, 1, 1, 1, 1, 1, 1, 1 }, 4, 2);
            Tensor slope = session.Backward(ones);
            Expect.Equal("4, 3", string.Join(", ", slope.Shape));
            const float Small = 1 / 64f;
            double before = Sum(session.Forward(x)), had = x.Values[4];
            x.Values[4] += Small;
            double after = Sum(session.Forward(x));
            x.Values[4] = (float)had;
            Expect.True(Math.Abs((after - before) / Small - slope.Values[4]) < 0.01, "the slope by differences");
            Tensor gradient = session.Gradient("layers.1.weight");
            Expect.True(Sum(gradient) != 0 && gradient[0, 3] == gradient[1, 3], "equal gradients of both outputs");
            session.ClearGradients();
            Expect.True(Sum(session.Gradient("layers.1.weight")) == 0, "no gradient");
        }
    }

    private static double Sum(Tensor tensor)
    {
        double sum = 0;
        foreach (float value in tensor.Values) sum += value;
        return sum;
    }

    public static void FilesAndBytesKeepEveryWeight()
    {
        string path = Path.Combine(Path.GetTempPath(), "wélvet " + Guid.NewGuid().ToString("N") + ".entity");
        using (Network network = new Network(Spec))
        {
            try
            {
                network.Save(path);
                using (Network read = Network.FromFile(path)) Expect.Equal(network.Hash, read.Hash);
            }
            finally
            {
                File.Delete(path);
            }
            using (Network read = Network.FromBytes(network.ToBytes())) Expect.Equal(network.Hash, read.Hash);
            using (Network copy = network.Clone())
            {
                copy.Morph("int8");
                Expect.True(copy.Spec.Contains("int8") && copy.Spec != network.Spec, "another type");
            }
            Expect.Equal("layers.0.weight layers.1.weight", network.Weights[0].Key + " " + network.Weights[1].Key);
            Expect.True(network.Draw().StartsWith("<svg"), "a picture");
            Expect.True(((List<object>)network.Info["grid"]).Count == 4, "a grid of 4 axes");
            Expect.Throws<KeyNotFoundException>(() => network.GetWeight("none"));
        }
        Expect.Fails("NotFound", () => Network.FromFile(path));
        Expect.True(Expect.Fails("UnknownName", () => new Network("{\"layers\": [{\"type\": \"none\"}]}")).Text
            .StartsWith("/layers/0/type"), "the place of the error");
    }

    public static void TrainingLearnsWithTheSameBitsAsOneByOne()
    {
        string config = "{\"loss\": \"mse\", \"learning_rate\": 0.1}";
        float[,] targets = { { 1, 0 }, { 0, 1 }, { 1, 1 }, { 0.5f, 0 } };
        string hash;
        using (Network network = new Network(Spec))
        using (Trainer trainer = new Trainer(network, new[] { 4, 3 }, config))
        {
            TrainingStep first = trainer.Step(Four, targets), last = first;
            for (int i = 1; i < 50; ++i) last = trainer.Step(Four, targets);
            Expect.True(last.Loss < first.Loss / 4 && !last.Skipped && last.Why == "", "a loss that falls");
            Expect.True(trainer.Evaluate(Four, targets, out Tensor output) < last.Loss, "a loss without learning");
            Expect.Equal("4, 2", string.Join(", ", output.Shape));
            Expect.Equal(50L, trainer.Info["steps"]);
            hash = network.Hash;
        }
        using (Network network = new Network(Spec))
        {
            var events = new Events();
            var outcome = Training.Run(
                "{\"loss\": \"mse\", \"learning_rate\": 0.1, \"epochs\": 50, \"batch_size\": 4, \"shuffle\": false}",
                network, Four, targets, options: new TrainingOptions { Progress = events });
            Expect.Equal(hash, network.Hash);
            Expect.Equal(50, ((List<object>)outcome["loss_history"]).Count);
            Expect.Equal(50, events.Epochs);
        }
    }

    private sealed class Events : IProgress<TrainingEvent>
    {
        public int Epochs;

        public void Report(TrainingEvent value)
        {
            if (value.Phase == TrainingPhase.EpochEnd) ++Epochs;
        }
    }

    public static void MeshStatesMoveInTicks()
    {
        using (Network network = new Network(Spec))
        using (StepMesh mesh = new StepMesh(network, new[] { 1, 3 }, new StepMeshOptions { KeepInputs = true }))
        using (StepState state = mesh.State())
        {
            Expect.True(state.Output() == null, "no output before the first tick");
            state.SetInput(new float[] { 1, 2, 3 });
            mesh.Step(state, 2);
            Tensor y = state.Output(), expected = network.Forward(new float[,] { { 1, 2, 3 } });
            Expect.Equal(string.Join(" ", expected.Values), string.Join(" ", y.Values));
            Expect.Equal(2L, state.Ticks);
            using (StepState copy = state.Fork())
            {
                Expect.Equal(state.Hash, copy.Hash);
                mesh.Step(copy);
                Expect.True(state.Hash != copy.Hash, "a copy that moves on its own");
                copy.Restore(state.Snapshot());
                Expect.Equal(state.Hash, copy.Hash);
            }
            string before = network.Hash;
            using (MeshTween tween = mesh.Tween()) tween.Step(new[] { state }, new float[] { 1, -1 }, 0.1);
            Expect.True(before != network.Hash, "weights that moved");
        }
    }

    public static void ThreadsTakeTurnsWithAMesh()
    {
        using (Network network = new Network(Spec))
        using (StepMesh mesh = new StepMesh(network, new[] { 1, 3 }))
        {
            Parallel.For(0, 8, number =>
            {
                using (StepState state = mesh.State())
                {
                    for (int i = 0; i < 50; ++i)
                    {
                        state.SetInput(new float[] { number, 2, 3 });
                        mesh.Step(state, 2);
                        Expect.Equal(2 * (i + 1L), state.Ticks);
                        Expect.Equal(64, state.Hash.Length);
                    }
                }
            });
        }
    }

    public static void PopulationsImprove()
    {
        const string Config = "{\"population\": 8, \"seed\": 1, \"mutation\": {\"node_rate\": 0, " +
                              "\"layer_toggle_rate\": 0}}";
        using (Network network = new Network(
                   "{\"layers\": [{\"type\": \"dense\", \"input_height\": 2, \"output_height\": 1}]}"))
        using (Population population = new Population(network, new[] { 1, 2 }, Config))
        {
            Func<Network, double> judge = each => -Math.Abs(each.Forward(new float[,] { { 1, 1 } })[0, 0] - 3);
            double first = judge(network);
            for (int i = 0; i < 10; ++i) population.Evolve(judge);
            using (Network best = population.Best()) Expect.True(judge(best) > first, "a better network");
            using (Population again = new Population(population.Snapshot(), new[] { 1, 2 }, Config))
            {
                Expect.Equal(Json.Write(population.Evolve(judge)), Json.Write(again.Evolve(judge)));
            }
            Exception thrown = Expect.Throws<InvalidOperationException>(
                () => population.Evolve(Refuse));
            Expect.Equal("judge", thrown.Message);
        }
    }

    private static double Refuse(Network network)
    {
        throw new InvalidOperationException("judge");
    }
}
