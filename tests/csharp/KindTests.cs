using System;
using System.Collections.Generic;
using System.Linq;
using Welvet;

public static class TestKinds
{
    private const string Settings = "[{\"key\": \"input_height\", \"type\": \"integer\", \"min\": 1}, " +
        "{\"key\": \"output_height\", \"type\": \"integer\", \"min\": 1}, " +
        "{\"key\": \"activation\", \"type\": \"activation\", \"default\": \"silu\"}]";

    private static void Declare(LayerContext layer)
    {
        int d = (int)layer["input_height"], n = (int)layer["output_height"];
        foreach (string name in new[] { "gate.weight", "up.weight" }) layer.Declare(name, new[] { n, d });
        layer.Declare("down.weight", new[] { d, n });
    }

    private static LayerTensor Forward(LayerContext layer, LayerTensor x)
    {
        LayerTensor gate = layer.Matmul(x, "gate.weight"), up = layer.Matmul(x, "up.weight");
        LayerTensor hidden = layer.Gated(gate, up, "activation");
        layer.Keep(x, gate, up, hidden);
        return layer.Matmul(hidden, "down.weight");
    }

    private static LayerTensor Backward(LayerContext layer, LayerTensor dy)
    {
        LayerTensor[] kept = layer.Kept(4);
        LayerTensor up, hidden = layer.MatmulGradient(kept[3], dy, "down.weight");
        LayerTensor gate = layer.GatedGradient(kept[1], kept[2], hidden, "activation", out up);
        return layer.MatmulGradient(kept[0], gate, "gate.weight") + layer.MatmulGradient(kept[0], up, "up.weight");
    }

    private static Network NetworkOf(string kind, string dtype = "float32")
    {
        return new Network("{\"seed\": 3, \"input_shape\": [4], \"default_dtype\": \"" + dtype + "\", \"layers\": [" +
            "{\"type\": \"dense\", \"input_height\": 4, \"output_height\": 8, \"activation\": \"tanh\"}, " +
            "{\"type\": \"" + kind + "\", \"input_height\": 8, \"output_height\": 12}, " +
            "{\"type\": \"dense\", \"input_height\": 8, \"output_height\": 2}]}");
    }

    private static List<double> Losses(Network network)
    {
        float[] x = new float[64];
        int[] odd = new int[16];
        for (int i = 0; i < 64; ++i) x[i] = i / 4 >> i % 4 & 1;
        for (int i = 0; i < 16; ++i) odd[i] = (i ^ i >> 1 ^ i >> 2 ^ i >> 3) & 1;
        List<double> losses = new List<double>();
        using (Trainer trainer = new Trainer(network, new[] { 16, 4 },
                   "{\"loss\": \"softmax_crossentropy\", \"optimizer\": \"adam\", \"learning_rate\": 0.02}"))
        {
            for (int i = 0; i < 60; ++i) losses.Add(trainer.Step(new Tensor(x, new[] { 16, 4 }), odd).Loss);
        }
        return losses;
    }

    public static void AKindHasTheBitsOfTheBuiltInOne()
    {
        LayerKinds.Register("cs_swiglu", Forward, Backward, Declare, Settings, widthKey: "input_height");
        Expect.Fails("InvalidArgument", () => LayerKinds.Register("CsSwiglu", Forward));
        foreach (string dtype in new[] { "float32", "int8", "ternary" })
        {
            using (Network mine = NetworkOf("cs_swiglu", dtype))
            using (Network built = NetworkOf("swiglu", dtype))
            {
                List<double> losses = Losses(mine);
                Expect.True(losses.SequenceEqual(Losses(built)) && losses[59] < losses[0], "the losses of swiglu");
                Expect.Equal(string.Join(" ", built.Weights.Select(w => w.Key)),
                    string.Join(" ", mine.Weights.Select(w => w.Key)));
                using (Network again = Network.FromBytes(mine.ToBytes(keepMaster: true)))
                    Expect.Equal(mine.Hash, again.Hash);
                Expect.Fails("InvalidState", () => LayerKinds.Unregister("cs_swiglu"));
            }
        }
        GC.Collect();
        LayerKinds.Unregister("CsSwiglu");
        Expect.Fails("UnknownName", () => NetworkOf("cs_swiglu"));
        Expect.Throws<LoomException>(() => LayerKinds.Unregister("cs_swiglu"));
    }

    public static void ExceptionsOfFunctionsAreTheCause()
    {
        LayerFunction fails = (layer, x) => { throw new KeyNotFoundException("no such table"); };
        LayerFunction mixes = (layer, x) => x + layer.Slice(x, 1, 0, 1);
        LayerFunction returnsNothing = (layer, x) => null;
        foreach (KeyValuePair<LayerFunction, string> each in new Dictionary<LayerFunction, string>
                     { { fails, "InvalidState" }, { mixes, "ShapeMismatch" }, { returnsNothing, "InvalidState" } })
        {
            LayerKinds.Register("cs_fails", each.Key);
            using (Network network = new Network("{\"layers\": [{\"type\": \"cs_fails\"}]}"))
            {
                LoomException error = Expect.Fails(each.Value, () => network.Forward(new float[,] { { 1, 2 } }));
                Expect.True(error.Text.Contains("cs_fails: forward"), "the kind in the message");
                Type expected = each.Key == fails ? typeof(KeyNotFoundException)
                    : each.Key == mixes ? typeof(LoomException) : typeof(InvalidOperationException);
                Expect.Equal(expected, error.InnerException.GetType());
                Expect.Equal(null, Expect.Fails("NotFound", () => Network.FromFile("none.json")).InnerException);
            }
            LayerKinds.Unregister("cs_fails");
        }
        Expect.Throws<ArgumentNullException>(() => LayerKinds.Register("cs_fails", null));
    }

    /// <summary>Each operation against numbers that are easy to compute.</summary>
    public static void OperationsComputeWhatTheyAreCalled()
    {
        int[] shape = null;
        KeyValuePair<string, LayerFunction>[] operations =
        {
            Of("3 5 7 9", (layer, x) => x * 2 + 1), Of("0 0 0 0", (layer, x) => x - x),
            Of("1 4 9 16", (layer, x) => x * x), Of("0 1 2 3", (layer, x) => x - 1), Of("2 3", (layer, x) => layer.Slice(x, 1, 1, 2)),
            Of("1 3 2 4", (layer, x) => layer.Permute(layer.Reshape(x, x.Shape[0], 2, 2), 0, 2, 1)),
            Of("0 1 2 3 4 0", (layer, x) => layer.Pad(x, 1, 1, 6)), Of("2.5", (layer, x) => layer.Mean(x, 1)),
            Of("2.5 2.5 2.5", (layer, x) => layer.Repeat(layer.Mean(x, 1), 1, 3)),
            Of("1 2 3 4", (layer, x) => layer.Activate(layer.Dropout(x, 0.5), "relu")),
            Of("0.25 0.25 0.25 0.25", (layer, x) => layer.Softmax(x * 0)),
            Of("1 1 1 1", (layer, x) => layer.RmsNorm(x * 0 + 1, eps: 0)),
            Of("0 0 0 0", (layer, x) => layer.LayerNorm(x * 0 + 1)),
            Of("7 10 15 22", (layer, x) => Squared(layer, x, out shape)),
            Of("0 0 0 0", (layer, x) => layer.SoftmaxGradient(layer.Softmax(x * 0), x * 0 + 1)),
            Of("1 2 3 4", (layer, x) => layer.ActivateGradient(x, x, "relu")),
        };
        foreach (KeyValuePair<string, LayerFunction> each in operations)
        {
            LayerKinds.Register("cs_op", each.Value);
            using (Network network = new Network("{\"layers\": [{\"type\": \"cs_op\"}]}"))
            {
                float[] y = network.Forward(new float[,] { { 1, 2, 3, 4 } }).Values;
                Expect.Equal(each.Key, string.Join(" ", y.Select(v => Math.Round(v, 4) + 0.0)));
            }
            LayerKinds.Unregister("cs_op");
        }
        Expect.Equal("1 2 2", string.Join(" ", shape));
    }

    public static void GradientsReachWeights()
    {
        LayerKinds.Register("cs_norms", (layer, x) =>
        {
            layer.Keep(x);
            return layer.LayerNorm(x, "gamma", "beta") + layer.RmsNorm(x, "scale") + layer.Weight("shift", x);
        }, (layer, dy) =>
        {
            LayerTensor x = layer.Kept(1)[0];
            layer.AddGradient("shift", dy);
            return layer.LayerNormGradient(x, dy, "gamma", "beta") + layer.RmsNormGradient(x, dy, "scale");
        }, layer =>
        {
            foreach (string name in new[] { "gamma", "scale" }) layer.Declare(name, new[] { 3 }, "ones");
            foreach (string name in new[] { "beta", "shift" }) layer.Declare(name, new[] { 3 });
        });
        using (Network network = new Network("{\"layers\": [{\"type\": \"cs_norms\"}]}"))
        using (Session session = new Session(network, new SessionOptions { Backward = true }))
        {
            float[] x = { 1, 2, 4, 3, -1, 0.5f };
            float before = session.Forward(new Tensor(x, new[] { 2, 3 })).Values[0];
            Tensor dx = session.Backward(new Tensor(new float[] { 1, 0, 0, 1, 0, 0 }, new[] { 2, 3 }));
            Expect.Equal("2 0 0", string.Join(" ", session.Gradient("layers.0.shift").Values));
            Expect.Equal("2 0 0", string.Join(" ", session.Gradient("layers.0.beta").Values));
            Expect.True(session.Gradient("layers.0.scale").Values[0] > 1, "a gradient of the scale");
            x[1] += 1e-2f;
            float after = session.Forward(new Tensor(x, new[] { 2, 3 })).Values[0];
            Expect.True(Math.Abs((after - before) / 1e-2f - dx.Values[1]) < 1e-2, "the gradient is the difference");
        }
        LayerKinds.Unregister("cs_norms");
    }

    private static KeyValuePair<string, LayerFunction> Of(string expected, LayerFunction function)
    {
        return new KeyValuePair<string, LayerFunction>(expected, function);
    }

    private static LayerTensor Squared(LayerContext layer, LayerTensor x, out int[] shape)
    {
        LayerTensor matrix = layer.Reshape(x, x.Shape[0], 2, 2);
        shape = matrix.Shape;
        return layer.Product(matrix, matrix);
    }
}
