"""The bridge without a framework: networks of tests/golden/planets answer as the models that they came from, which
tools/golden/planets.py wrote down.

Needs NumPy, of this interpreter or of the one that LOOM_PYTHON names.
"""

import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "planets"
FRAMEWORKS = ("torch", "keras", "jax", "sklearn")
BEDROCKS = (
    "dense",
    "cnn1",
    "cnn2",
    "cnn3",
    "mha",
    "lstm",
    "rnn",
    "layernorm",
    "embedding",
    "rmsnorm",
    "swiglu",
    "residual",
    "mixer_v1",
    "mixer_v2",
)

try:
    import numpy
except ImportError:
    other = os.environ.get("LOOM_PYTHON")
    if not other or os.path.abspath(other) == os.path.abspath(sys.executable):
        sys.exit("test_goldens.py: needs numpy; LOOM_PYTHON may name an interpreter that has it")
    os.execv(other, [other, "-B", *sys.argv])

sys.path[:0] = [str(ROOT / "python"), str(pathlib.Path(__file__).resolve().parent)]

import recorded_torch  # noqa: E402
import welvet  # noqa: E402
from welvet import bridge  # noqa: E402
from welvet.bridge import api, graph, settings, weights  # noqa: E402
from welvet.bridge import spec as bridge_spec  # noqa: E402
from welvet.bridge.certificate import largest_error  # noqa: E402


def cases(framework):
    specs = json.loads((GOLDEN / (framework + ".json")).read_text())["specs"]
    with numpy.load(GOLDEN / (framework + ".npz")) as arrays:
        for name, spec in specs.items():
            mine = {key[len(name) + 1 :]: arrays[key] for key in arrays.files if key.startswith(name + "/")}
            values = {key[len("weight/") :]: value for key, value in mine.items() if key.startswith("weight/")}
            yield name, spec, values, mine["x"], mine["y"]


class Goldens(unittest.TestCase):
    def test_networks_answer_as_their_models(self):
        for framework in FRAMEWORKS:
            for name, spec, values, x, y in cases(framework):
                with self.subTest(framework + " " + name):
                    net = api.build(spec, values)
                    found = numpy.asarray(net(x))
                    self.assertEqual(found.shape, y.shape)
                    self.assertLessEqual(float(numpy.abs(found - y).max()), 0 if name == "embedding" else 1e-5)
                    with tempfile.TemporaryDirectory() as folder:
                        net.save(folder + "/net.entity")
                        again = welvet.Network.from_file(folder + "/net.entity")
                    self.assertEqual(numpy.asarray(again(x)).tobytes(), found.tobytes())
                    self.assertEqual(again.hash(), net.hash())
                    self.assertEqual(again.spec["metadata"], spec["metadata"])

    def test_a_checkpoint_is_the_same_network(self):
        for name, spec, values, _, _ in cases("torch"):
            with self.subTest(name):
                net = welvet.Network(bridge.write_checkpoint(spec, values))
                self.assertEqual(net.hash(), api.build(spec, values).hash())

    def test_every_bedrock_of_every_framework_that_has_them_is_there(self):
        for framework in ("torch", "keras", "jax"):
            self.assertLessEqual(set(BEDROCKS), {name for name, *_ in cases(framework)})

    def test_parts_of_several_frameworks_are_one_network(self):
        """Slices and links of PyTorch, a layer of Loom, a shared layer of Keras: in a grid as one behind the other."""
        torch = next(c for c in cases("torch") if c[0] == "twice")
        keras = next(c for c in cases("keras") if c[0] == "twice")
        first, second = api.build(*torch[1:3]), api.build(*keras[1:3])
        between, x = {"type": "dense", "input_height": 6, "output_height": 4}, torch[3]
        net = bridge.compose({(1, 0, 0): second, (0, 0, 0): first, (0, 0, 1): between}, x)
        middle = welvet.Network({"layers": [between]})
        chained = numpy.asarray(second(numpy.asarray(middle(numpy.asarray(first(x))))))
        self.assertEqual(numpy.asarray(net(x)).tobytes(), chained.tobytes())
        with tempfile.TemporaryDirectory() as folder:
            net.save(folder + "/grid.entity")
            again = welvet.Network.from_file(folder + "/grid.entity")
        self.assertEqual(numpy.asarray(again(x)).tobytes(), chained.tobytes())
        self.assertEqual(
            [p["address"] for p in again.spec["metadata"]["bridge"]["parts"]], [[0, 0, 0], [0, 0, 1], [1, 0, 0]]
        )

    def test_networks_of_models_learn_in_every_way(self):
        """Int8 and ternary matrices, and targets instead of gradients, on what came from PyTorch and Keras."""
        for framework in ("torch", "keras"):
            name, spec, values, x, y = next(c for c in cases(framework) if c[0] == "dense")
            targets = numpy.roll(y, 1, 0)
            for how, config in (("float32", {}), ("int8", {}), ("ternary", {}), ("tween", {"tween": {}})):
                with self.subTest(f"{framework} {how}"):
                    net = api.build(spec, values)
                    if how in ("int8", "ternary"):
                        net.morph(how)
                    trainer = welvet.Trainer(net, x.shape, {"learning_rate": 0.05, "loss": "mse", **config})
                    losses = [trainer.step(x, targets).loss for _ in range(80)]
                    self.assertLess(min(losses[-10:]), losses[0])


class Recorded(unittest.TestCase):
    """The reader of PyTorch on traces that were recorded: those of torch.fx, and those of torch.export."""

    def recordings(self):
        about = json.loads((GOLDEN / "graphs.json").read_text())
        with numpy.load(GOLDEN / "graphs.npz") as file:
            arrays = dict(file)
        for name, model in about["models"].items():
            recording = recorded_torch.Recording(model, arrays)
            yield name, recording, model["options"], arrays[f"{name}/x"], arrays[f"{name}/y"]

    def test_models_of_both_roads_answer_as_in_pytorch(self):
        roads = set()
        with recorded_torch.installed():
            for name, recording, options, x, y in self.recordings():
                with self.subTest(name):
                    net = bridge.stream(recording.model, x, **options)
                    self.assertLessEqual(float(numpy.abs(numpy.asarray(net(x)) - y).max()), 1e-5)
                    certificate = bridge.certify(net, recording.model, x)
                    self.assertTrue(certificate.passed, certificate)
                    self.assertEqual(certificate.output, str(options.get("output", "")))
                    bridge.push(net, recording.model)
                    roads.add(recording.is_exported)
        self.assertEqual(roads, {False, True})

    def test_several_outputs_are_never_the_first_one_in_silence(self):
        with recorded_torch.installed():
            for name, recording, options, x, _ in self.recordings():
                if options:
                    with (
                        self.subTest(name),
                        self.assertRaisesRegex(bridge.Unsupported, "it gives 2 outputs .*: choose one"),
                    ):
                        bridge.stream(recording.model, x)


class Settings(unittest.TestCase):
    """Every argument of every layer that is read is known: read, refused by name, or without effect for a reason."""

    KINDS = {"read", "refused", "checked", "training", "fit", "rounding", "harmless"}

    def setUp(self):
        self.golden = json.loads((GOLDEN / "arguments.json").read_text())

    def test_every_argument_is_in_the_table(self):
        for framework, found in self.golden.items():
            table = getattr(settings, framework)
            self.assertEqual(set(table), set(found["classes"]), framework)
            for name, arguments in found["classes"].items():
                with self.subTest(f"{framework} {found['version']} {name}"):
                    self.assertEqual([a for a in arguments if table[name].get(a) not in self.KINDS], [])

    def test_what_is_harmless_has_a_reason(self):
        for framework in self.golden:
            for name, table in getattr(settings, framework).items():
                for argument, kind in table.items():
                    with self.subTest(f"{framework} {name} {argument}"):
                        self.assertIn(kind, self.KINDS)
                        if kind == "harmless":
                            self.assertTrue(settings.reason_of(argument))

    def test_every_layer_that_a_reader_knows_is_in_a_table(self):
        from welvet.bridge import jax_layers, keras_reader, sklearn_reader, torch_modules

        self.assertEqual(set(torch_modules.rule._by_name) - set(settings.TORCH), set())
        self.assertEqual(set(sklearn_reader._names()) - set(settings.SKLEARN), set())
        self.assertEqual(set(jax_layers.rule._by_name) - set(settings.FLAX) - set(settings.EQUINOX), set())
        layers = {name for name in keras_reader.rule._by_name if name in settings.KERAS}
        self.assertEqual(set(settings.KERAS) - layers, set())

    def test_an_argument_that_is_not_read_is_named_where_it_is_not_the_default(self):
        class Layer:
            def __init__(self, units, mode="plain", penalty=None, device=None, later=0):
                self.units, self.mode, self.penalty, self.device, self.later = units, mode, penalty, device, later

        table = {"units": "read", "mode": "refused", "penalty": "training", "device": "harmless"}

        def changed(*given, **options):
            layer = Layer(*given, **options)
            return settings.changed(table, Layer, lambda name: getattr(layer, name))

        self.assertEqual(changed(3), ([], []))
        self.assertEqual(changed(3, device="gpu"), ([], []))
        self.assertEqual(changed(3, mode="wild"), ([("mode", "wild")], []))
        self.assertEqual(changed(3, penalty=0.1), ([], ["penalty"]))
        self.assertEqual(changed(3, later=1), ([("later", 1)], []))  # of a newer version


class Parts(unittest.TestCase):
    """What only unusual models reach."""

    def test_padding_on_one_side_is_exact(self):
        draws = numpy.random.RandomState(3)
        for padding in ([(0, 1)], [(2, 0)], [(1, 3), (2, 1)], [(0, 2), (1, 1), (3, 0)]):
            x = draws.randn(2, 3, *range(4, 4 + len(padding))).astype("float32")
            g = graph.Graph("test", x)
            g.output = g.pad(g.input, padding)
            spec, values, _ = bridge_spec.write_spec(g)
            found = numpy.asarray(api.build(spec, bridge_spec.arrays(values))(x))
            self.assertTrue(numpy.array_equal(found, numpy.pad(x, [(0, 0), (0, 0), *padding])))

    def test_parts_of_axes_are_exact(self):
        x = numpy.random.RandomState(3).randn(2, 6, 5, 7).astype("float32")
        for axis, begin, count, step in ((1, 0, 3, 1), (1, 2, 2, 2), (2, 4, 1, 1), (3, 1, 3, 2), (3, 6, 1, 1)):
            g = graph.Graph("test", x)
            g.output = g.part(g.input, axis, begin, count, step)
            spec, values, _ = bridge_spec.write_spec(g)
            found = numpy.asarray(api.build(spec, bridge_spec.arrays(values))(x))
            self.assertTrue(
                numpy.array_equal(found, x.take(range(begin, begin + count * step, step), axis)), (axis, begin)
            )

    def test_a_sum_of_two_biases_takes_any_value_exactly(self):
        draws = numpy.random.RandomState(5)
        held = {"a": draws.randn(999).astype("float32"), "b": (draws.randn(999) * 1e6).astype("float32")}

        def parameter(name):
            return weights.View(
                weights.Parameter(name, lambda: held[name], lambda values: held.__setitem__(name, values))
            )

        both = weights.Sum(parameter("a"), parameter("b"))
        values = draws.randn(999).astype("float32")
        both.write(values)
        self.assertEqual((held["a"] + held["b"]).tobytes(), values.tobytes())

    def test_errors_of_outputs_count_what_is_not_finite(self):
        self.assertEqual(largest_error([1.0, float("inf"), float("nan")], [1.5, float("inf"), float("nan")]), 0.5)
        self.assertEqual(largest_error([1.0], [float("nan")]), float("inf"))
        self.assertEqual(largest_error([1.0, 2.0], [1.0]), float("inf"))

    def test_other_objects_are_refused(self):
        for thing in (None, object(), 3, "model", lambda x: x, (1, 2)):
            with self.assertRaises(welvet.LoomError):
                bridge.stream(thing, numpy.zeros((2, 3), "float32"))
        with self.assertRaises(welvet.LoomError):
            bridge.push(welvet.Network({"layers": [{"type": "softmax"}]}), object())
        with self.assertRaises(welvet.LoomError):
            bridge.compose({}, numpy.zeros((2, 3), "float32"))

    def test_samples_that_are_no_batch_of_numbers_are_refused(self):
        masked = numpy.ma.masked_less(numpy.ones((2, 3)), 2)
        for sample, line in (
            (numpy.zeros(4), "a batch"),
            ("abc", "numbers are expected"),
            (None, "holds nothing"),
            (masked, "fill them"),
            (numpy.ones((2, 3), complex), "holds complex128"),
        ):
            with self.subTest(line), self.assertRaisesRegex(welvet.LoomError, line):
                api.to_array(sample)

    def test_all_that_is_refused_is_told_at_once(self):
        x = numpy.zeros((2, 3), "float32")
        g = graph.Graph("test", x)
        one = g.refuse("a.b", "First", "no such layer", [g.input], (2, 3))
        g.output = g.refuse("c", "Second", "no such layer", [one])
        with self.assertRaises(bridge.Unsupported) as caught:
            g.check()
        self.assertEqual([path for path, _, _ in caught.exception.parts], ["a.b", "c"])
        self.assertIn(
            "2 parts of the model cannot be streamed: a.b: First: no such layer; c: Second", str(caught.exception)
        )

    def test_the_missions_names_are_there(self):
        for name in ("pytorch", "keras", "jax", "sklearn"):
            self.assertIs(getattr(bridge, f"build_network_from_{name}_stream"), bridge.stream)


if __name__ == "__main__":
    unittest.main(verbosity=1)
