"""Layer kinds of one's own in Python: the bits of the built-in kind, training, files, errors with their cause."""

import gc
import os
import pathlib
import sys
import tempfile
import threading
import unittest
import unittest.mock
import weakref

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
if os.environ.get("WELVET_WITHOUT_NUMPY"):
    sys.modules["numpy"] = None

import welvet  # noqa: E402
from welvet._native import library  # noqa: E402

SETTINGS = [
    {"key": "input_height", "type": "integer", "min": 1, "help": "Required. Features of input and output"},
    {"key": "output_height", "type": "integer", "min": 1},
    {"key": "activation", "type": "activation", "default": "silu"},
]


def declare(layer):
    d, n = int(layer["input_height"]), int(layer["output_height"])
    for name in ("gate.weight", "up.weight"):
        layer.declare(name, (n, d))
    layer.declare("down.weight", (d, n))


def forward(layer, x):
    gate, up = layer.matmul(x, "gate.weight"), layer.matmul(x, "up.weight")
    hidden = layer.gated(gate, up, "activation")
    layer.keep(x, gate, up, hidden)
    return layer.matmul(hidden, "down.weight")


def backward(layer, dy):
    x, gate, up, hidden = layer.kept(4)
    dgate, dup = layer.gated_gradient(gate, up, layer.matmul_gradient(hidden, dy, "down.weight"), "activation")
    return layer.matmul_gradient(x, dgate, "gate.weight") + layer.matmul_gradient(x, dup, "up.weight")


def spec(kind, dtype="float32"):
    return {
        "seed": 3,
        "input_shape": [4],
        "default_dtype": dtype,
        "layers": [
            {"type": "dense", "input_height": 4, "output_height": 8, "activation": "tanh"},
            {"type": kind, "input_height": 8, "output_height": 12},
            {"type": "dense", "input_height": 8, "output_height": 2},
        ],
    }


X = [[float(i >> k & 1) for k in range(4)] for i in range(16)]
ODD = [bin(i).count("1") % 2 for i in range(16)]


def trained(kind, dtype):
    net = welvet.Network(spec(kind, dtype))
    with welvet.Trainer(
        net, (16, 4), loss="softmax_crossentropy", optimizer="adam", learning_rate=0.02, threads=2
    ) as trainer:
        return net, [trainer.step(X, classes=ODD).loss for _ in range(120)]


class Kinds(unittest.TestCase):
    def test_a_kind_has_the_bits_of_the_built_in_one(self):
        welvet.register_kind("py_swiglu", forward, backward, declare, settings=SETTINGS, width_key="input_height")
        with self.assertRaises(welvet.ArgumentError):
            welvet.register_kind("py_swiglu", forward)
        for dtype in ("float32", "int8", "ternary"):
            mine, losses = trained("py_swiglu", dtype)
            theirs, expected = trained("swiglu", dtype)
            self.assertEqual(losses, expected)
            self.assertLess(losses[-1], losses[0])
            self.assertEqual(list(mine.weights()), list(theirs.weights()))
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "net.entity")
                mine.save(path, keep_master=True)
                again = welvet.Network.from_file(path)
                self.assertEqual(again.hash(), mine.hash())
                again.close()
            with self.assertRaises(welvet.LoomError):
                welvet.unregister_kind("py_swiglu")
            mine.close()
            theirs.close()
        welvet.unregister_kind("py_swiglu")
        with self.assertRaisesRegex(welvet.ArgumentError, '"py_swiglu" is neither built in nor registered'):
            welvet.Network(spec("py_swiglu"))

    def test_what_a_callback_raises_is_the_cause(self):
        def fails(layer, x):
            raise KeyError("no such table")

        def mixes(layer, x):
            return x + layer.slice(x, 1, 0, 1)

        for run, code, cause in ((fails, "InvalidState", KeyError), (mixes, "ShapeMismatch", welvet.ArgumentError)):
            welvet.register_kind("py_fails", run)
            net = welvet.Network({"layers": [{"type": "py_fails"}]})
            with self.assertRaises(welvet.LoomError) as caught:
                net([[1.0, 2.0]])
            self.assertEqual(caught.exception.code, code)
            self.assertIsInstance(caught.exception.__cause__, cause)
            self.assertIn("py_fails: forward", caught.exception.text)
            net.close()
            welvet.unregister_kind("py_fails")

    def test_a_network_that_ran_leaves_without_the_garbage_collector(self):
        welvet.register_kind("py_leaves", lambda layer, x: x + x)
        gc.disable()
        try:
            net = welvet.Network({"layers": [{"type": "py_leaves"}]})
            self.assertEqual(net([[1.0]]).tolist(), [[2]])
            del net
            if sys.implementation.name == "pypy":  # which counts no references
                gc.collect()
            welvet.unregister_kind("py_leaves")
        finally:
            gc.enable()

    def test_what_ends_a_program_comes_out_as_itself(self):
        for kind in (KeyboardInterrupt, SystemExit):
            raised = kind()

            def ends(layer, x):
                raise raised

            welvet.register_kind("py_ends", ends)
            with welvet.Network({"layers": [{"type": "py_ends"}]}) as net:
                with self.assertRaises(kind) as caught:
                    net([[1.0]])
                self.assertIs(caught.exception, raised)
            welvet.unregister_kind("py_ends")

    def test_ctrl_c_behind_the_call_frees_nothing_that_c_holds(self):
        call = library.loom_layer_kind_register

        def interrupted(*args):
            self.assertEqual(call(*args), 0)
            raise KeyboardInterrupt

        def run(layer, x):
            return x + x

        rule = weakref.ref(run)
        with unittest.mock.patch.object(library, "loom_layer_kind_register", interrupted):
            with self.assertRaises(KeyboardInterrupt):
                welvet.register_kind("py_interrupted", run)
        del run
        gc.collect()
        self.assertIsNotNone(rule())
        with self.assertRaises(welvet.ArgumentError):  # which frees no rule but its own
            welvet.register_kind("py_interrupted", forward)
        with welvet.Network({"layers": [{"type": "py_interrupted"}]}) as net:
            self.assertEqual(net([[1.0, 2.0]]).tolist(), [[2, 4]])
        welvet.unregister_kind("PyInterrupted")  # C takes it for the same name
        gc.collect()
        self.assertIsNone(rule())

    def test_a_registration_meanwhile_is_kept(self):
        call, rules, threads = library.loom_layer_kind_unregister, [], []

        def again():
            def run(layer, x):
                return x + x

            rules.append(weakref.ref(run))
            welvet.register_kind("py_meanwhile", run)

        def slow(name):
            status = call(name)
            threads.append(threading.Thread(target=again))
            threads[0].start()
            threads[0].join(0.2)
            return status

        welvet.register_kind("py_meanwhile", forward)
        with unittest.mock.patch.object(library, "loom_layer_kind_unregister", slow):
            welvet.unregister_kind("py_meanwhile")
        threads[0].join()
        gc.collect()
        self.assertIsNotNone(rules[0]())
        welvet.unregister_kind("py_meanwhile")

    def test_operators(self):
        seen = []

        def run(layer, x):
            seen.append((x.shape, layer))
            return 2 * x - (1 - x) * x + -x + 1

        welvet.register_kind("py_operators", run)
        with welvet.Network({"layers": [{"type": "py_operators"}]}) as net:
            y = net([[0.5, 3.0]])
            self.assertEqual(y.tolist(), [[2 * v - (1 - v) * v - v + 1 for v in (0.5, 3.0)]])

            # Each thread that plans a pass may call back; passes of a known shape do not.
            def elsewhere():
                with welvet.Session(net) as session:
                    session.forward([[1.0, 1.0]])

            threads = [threading.Thread(target=elsewhere) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual({shape for shape, _ in seen}, {(1, 2)})
        with self.assertRaises(welvet.LoomError):  # its time is over
            seen[0][1].matmul(welvet.Tensor(seen[0][1], 1), "w")
        welvet.unregister_kind("py_operators")


if __name__ == "__main__":
    unittest.main()
