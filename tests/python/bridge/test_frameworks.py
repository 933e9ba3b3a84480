"""The bridge with the frameworks themselves: test_frameworks.py torch keras jax sklearn, those that the interpreter
has.

Every case: the network's answer against the framework's, layer by layer too, the same bits after a reload, and push()
that changes no bit. Then training
that follows the framework's losses, weights that come back, and models that have to be refused.
"""

import importlib
import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent.parent / "python")]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import welvet  # noqa: E402
from welvet import bridge  # noqa: E402

TOLERANCE = 1e-5


class Framework:
    """Tests of one framework; `models` names its module."""

    def test_answers(self):
        further = list(getattr(self.models, "further", list)())
        for name, model, sample in [*self.models.cases(), *further]:
            with self.subTest(name):
                before, expected = self.models.state(model), self.models.answer(model, sample)
                # Answers of further models may be large: there the tolerance is one part of the largest.
                scale = max(1.0, numpy.abs(expected).max()) if any(name == f[0] for f in further) else 1.0
                net = bridge.stream(model, sample)
                x = bridge.pack(sample) if isinstance(sample, tuple) else sample
                found = numpy.asarray(net(x))
                self.assertEqual(found.shape, expected.shape)
                error = float(numpy.abs(found - expected).max())
                self.assertLessEqual(error, 0 if name == "embedding" else TOLERANCE * scale)
                certificate = bridge.certify(net, model, sample)
                self.assertTrue(certificate.passed, certificate)
                errors = [layer["error"] for layer in certificate.layers]
                self.assertLessEqual(max(errors), TOLERANCE * scale, certificate)
                with tempfile.TemporaryDirectory() as folder:
                    net.save(folder + "/net.entity")
                    again = welvet.Network.from_file(folder + "/net.entity")
                self.assertEqual(numpy.asarray(again(x)).tobytes(), found.tobytes())
                pushed = bridge.push(again, model)
                self.assertEqual(self.models.state(pushed), before)

    def test_certificates_notice_a_changed_weight(self):
        _, model, sample = next(iter(self.models.cases()))
        net = bridge.stream(model, sample)
        name = next(iter(net.weights()))
        values = numpy.array(net.get(name))
        values.flat[0] += 0.5
        net.set(name, values)
        certificate = bridge.certify(net, model, sample)
        self.assertFalse(certificate.passed)
        self.assertNotEqual(certificate.source_hash, certificate.network_hash)
        self.assertFalse(json.loads(certificate.to_json())["passed"])

    def test_weights_come_back(self):
        for name, model, sample in self.models.cases():
            with self.subTest(name):
                net = bridge.stream(model, sample)
                frozen = {
                    f"layers.{i}" for i, layer in enumerate(net.spec["layers"]) if layer.get("trainable") is False
                }
                for place in net.weights():
                    if ".".join(place.split(".")[:2]) not in frozen:
                        net.set(place, numpy.asarray(net.get(place)) * numpy.float32(1.25))
                pushed = bridge.push(net, model)
                self.assertTrue(bridge.certify(net, pushed, sample).passed)
                self.assertLessEqual(
                    numpy.abs(numpy.asarray(net(sample)) - self.models.answer(pushed, sample)).max(), TOLERANCE
                )

    def test_training_goes_on_as_there(self):
        for name, model, inputs, targets in self.models.trained():
            # At 0.1 PyTorch itself differs by 2e-5 between float32 and float64 (cnn): a rate at which losses can be
            # compared.
            for rule, rate in (("sgd", 0.02), ("adam", 0.01)):
                with self.subTest(name, rule=rule):
                    x, y = numpy.asarray(inputs), numpy.asarray(targets)
                    net = bridge.stream(model, x)
                    trainer = welvet.Trainer(net, x.shape, optimizer={"name": rule}, learning_rate=rate, loss="mse")
                    for expected in self.models.losses(model, inputs, targets, rule, rate, 50):
                        self.assertAlmostEqual(trainer.step(x, y).loss, expected, delta=1e-4)

    def test_all_that_is_unsupported_is_named(self):
        model, sample, parts = self.models.unsupported()
        with self.assertRaises(bridge.Unsupported) as caught:
            bridge.stream(model, sample)
        named = {word for path, what, _ in caught.exception.parts for word in (path, what)}
        self.assertLessEqual(parts, named)

    def test_one_of_several_outputs_is_chosen(self):
        for model, sample, choice, pick in getattr(self.models, "outputs", list)():
            with self.subTest(choice):
                with self.assertRaisesRegex(bridge.Unsupported, r"it gives \d outputs .*: choose one, as output="):
                    bridge.stream(model, sample)
                with self.assertRaisesRegex(bridge.Unsupported, "it has no output 'none'"):
                    bridge.stream(model, sample, output="none")
                net = bridge.stream(model, sample, output=choice)
                expected = numpy.asarray(pick(self.models.answers(model, sample)))
                self.assertLessEqual(numpy.abs(numpy.asarray(net(sample)) - expected).max(), TOLERANCE)
                certificate = bridge.certify(net, model, sample)
                self.assertTrue(certificate.passed, certificate)
                self.assertEqual(certificate.output, net.spec["metadata"]["bridge"]["output"])
                self.assertIn(f"of output {certificate.output!r}", repr(certificate))
                bridge.push(net, model)

    def test_every_argument_is_read_or_refused_by_name(self):
        for name, argument, kind, model, sample in getattr(self.models, "arguments", list)():
            with self.subTest(f"{name}({argument}), {kind}"):
                try:
                    net = bridge.stream(model, sample)
                except bridge.Unsupported as error:
                    self.assertIn(kind, ("refused", "checked"))
                    self.assertTrue(
                        argument in str(error)
                        or "several outputs" in str(error)
                        or "it gives 2 outputs" in str(error)
                        or "single elements" in str(error),
                        error,
                    )
                    continue
                certificate = bridge.certify(net, model, sample)
                self.assertTrue(certificate.passed, certificate)
                if kind == "training":
                    self.assertIn(argument, str(net.spec["metadata"]["bridge"]["notes"]))

    def test_a_certificate_says_who_rounds(self):
        for model, sample, element, who in getattr(self.models, "rounded", list)():
            with self.subTest(element):
                certificate = bridge.certify(bridge.stream(model, sample), model, sample)
                self.assertTrue(certificate.passed, certificate)
                self.assertEqual(certificate.element, element)
                self.assertRegex(repr(certificate), f"the {who}, .*{element},? rounds")

    def test_a_sample_stays_as_it_is(self):
        for name, model, sample in getattr(self.models, "further", list)():
            if not isinstance(sample, tuple):
                with self.subTest(name):
                    before = numpy.array(sample)
                    bridge.stream(model, sample)
                    self.assertEqual(numpy.asarray(sample).tobytes(), before.tobytes())

    def test_what_is_refused_is_one_clear_line(self):
        for model, sample, line in getattr(self.models, "refused", list)():
            with self.subTest(line), self.assertRaisesRegex(bridge.Unsupported, line) as caught:
                bridge.stream(model, sample)
            self.assertEqual(len(str(caught.exception).splitlines()), 1)


class Page(unittest.TestCase):
    """The examples of docs/guide/bridge-python.md that need no framework but those that are here."""

    def test_examples(self):
        page = (HERE.parent.parent.parent / "docs" / "guide" / "bridge-python.md").read_text()
        here = os.getcwd()
        for example in re.findall(r"```python\n(.*?)```", page, re.S):
            needed = {line.split()[1].split(".")[0] for line in example.splitlines() if line.startswith("import ")}
            if any(importlib.util.find_spec(name) is None for name in needed):
                continue
            with self.subTest(example.splitlines()[0]), tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                try:
                    exec(compile(example, "docs/guide/bridge-python.md", "exec"), {"__name__": "example"})
                finally:
                    os.chdir(here)


def write(framework, folder):
    """The cases for tests that have no framework."""
    models = importlib.import_module("models_" + framework)
    specs, arrays = {}, {}
    for name, model, sample in models.cases():
        spec, weights = bridge.to_spec(model, sample)
        specs[name] = spec
        arrays.update({f"{name}/weight/{key}": value for key, value in weights.items()})
        arrays[f"{name}/x"], arrays[f"{name}/y"] = sample, models.answer(model, sample)
    modules = {
        "torch": ["torch"],
        "keras": ["keras", "tensorflow"],
        "jax": ["jax", "flax", "equinox"],
        "sklearn": ["sklearn"],
    }
    versions = {m: importlib.import_module(m).__version__ for m in [*modules[framework], "numpy"]}
    about = {"made_by": f"tools/golden/planets.py {framework}", "versions": versions, "specs": specs}
    pathlib.Path(folder, framework + ".json").write_text(json.dumps(about, indent=None, separators=(",", ":")) + "\n")
    numpy.savez(pathlib.Path(folder, framework + ".npz"), **arrays)


def tests_of(framework):
    return type(
        f"Test_{framework}", (Framework, unittest.TestCase), {"models": importlib.import_module("models_" + framework)}
    )


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")] or ["torch", "keras", "jax", "sklearn"]
    suite = unittest.TestSuite()
    for framework in chosen:
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(tests_of(framework)))
    suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(Page))
    done = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not done.wasSuccessful())
