"""welvet's networks, trainings, meshes and populations over the library that was just built, with numpy and without."""

import array
import copy
import doctest
import gc
import importlib
import os
import pathlib
import pickle
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
if os.environ.get("WELVET_WITHOUT_NUMPY"):
    sys.modules["numpy"] = None  # importing it fails, as where it is not installed

import welvet  # noqa: E402
from welvet import _tensors  # noqa: E402

np = _tensors.numpy() if not os.environ.get("WELVET_WITHOUT_NUMPY") else None

SPEC = {
    "seed": 5,
    "input_shape": [6],
    "layers": [
        {"type": "dense", "input_height": 6, "output_height": 40, "activation": "tanh"},
        {"type": "dense", "input_height": 40, "output_height": 3},
    ],
}


def values(shape, seed=1):
    """Numbers between -1 and 1 as nested lists."""

    def fill(extents):
        nonlocal seed
        if not extents:
            seed = (seed * 1664525 + 1013904223) % 2**32
            return seed / 2**31 - 1
        return [fill(extents[1:]) for _ in range(extents[0])]

    return fill(list(shape))


def plain(data):
    """Nested lists of whatever holds numbers."""
    return data.tolist() if hasattr(data, "tolist") else data


# Relu of x W, as an ONNX file: fields of protocol buffers by number.
def onnx_file():
    def part(field, data):
        return bytes([field << 3 | 2, len(data)]) + data

    def node(op, inputs, output):
        return part(1, b"".join(part(1, i) for i in inputs) + part(2, output) + part(4, op))

    w = array.array("f", [1, -1, 2, -2])
    tensor = b"\x08\x02\x08\x02\x10\x01" + part(8, b"w") + part(9, w.tobytes())
    graph = (
        node(b"MatMul", [b"x", b"w"], b"m")
        + node(b"Relu", [b"m"], b"y")
        + part(5, tensor)
        + part(11, part(1, b"x"))
        + part(12, part(1, b"y"))
    )
    return b"\x08\x08" + part(7, graph) + part(8, b"\x10\x11")


class Networks(unittest.TestCase):
    def setUp(self):
        self.net = welvet.Network(SPEC)

    def test_a_graph_in_onnx_is_a_network(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "g.onnx")
            path.write_bytes(onnx_file())
            for net in (welvet.Network.from_file(path), welvet.Network.from_bytes(onnx_file())):
                self.assertEqual(plain(net([[1.0, 1.0], [-1.0, 0.0]])), [[3.0, 0.0], [0.0, 1.0]])
                net.save(pathlib.Path(folder, "g.entity"))
                self.assertEqual(welvet.Network.from_file(pathlib.Path(folder, "g.entity")).hash(), net.hash())

    def test_a_network_runs_and_is_saved(self):
        x = values((4, 6))
        y = plain(self.net(x))
        self.assertEqual((len(y), len(y[0])), (4, 3))
        with tempfile.TemporaryDirectory() as folder:
            for name in ("n.entity", "n.json"):
                path = pathlib.Path(folder, name)
                self.net.save(path)
                again = welvet.Network.from_file(path)
                self.assertEqual(again.hash(), self.net.hash())
                self.assertEqual(plain(again(x)), y)
            with self.assertRaises(welvet.NotFoundError):
                welvet.Network.from_file(pathlib.Path(folder, "none.entity"))
        for form in ("entity", "json"):
            self.assertEqual(welvet.Network.from_bytes(self.net.to_bytes(form)).hash(), self.net.hash())
        self.assertEqual(welvet.Network(self.net.spec).hash(), self.net.hash())
        self.assertIn("<svg", self.net._repr_svg_())
        self.assertIn("weights", repr(self.net))

    def test_save_replaces_networks_alone_and_keeps_to_the_ending(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("n.onnx", "n.safetensors", "n.gguf", "n.npz", "n.PT"):
                with self.assertRaisesRegex(
                    ValueError, rf"{name}: a file that ends in .* is no network; expected .entity or .json"
                ):
                    self.net.save(pathlib.Path(folder, name))
                with self.assertRaisesRegex(ValueError, "is no network"):
                    self.net.save(pathlib.Path(folder, name), overwrite=True)
            self.assertEqual(os.listdir(folder), [])
            letter = pathlib.Path(folder, "letter.entity")
            for text in (b"Dear Sir", b'{"dear": "Sir"}', onnx_file()):
                letter.write_bytes(text)
                with self.assertRaisesRegex(ValueError, "letter.entity: exists and is no network; not overwritten"):
                    self.net.save(letter)
                self.assertEqual(letter.read_bytes(), text)
            self.net.save(letter, overwrite=True)
            self.net.save(letter)
            device = pathlib.Path(folder, "pipe.entity")
            os.mkfifo(device)
            for what in (device, folder):
                with self.assertRaisesRegex(ValueError, "is no regular file; not replaced"):
                    self.net.save(what, overwrite=True)
            device.unlink()
            self.assertEqual(os.listdir(folder), ["letter.entity"])
            self.assertEqual(welvet.Network.from_file(letter).hash(), self.net.hash())
            pathlib.Path(folder, "notes.onnx").write_text("keep me")
            with self.assertRaisesRegex(
                ValueError, "notes.onnx: exists and is no ONNX model; not overwritten without overwrite"
            ):
                welvet.export(self.net, pathlib.Path(folder, "notes.onnx"))
            welvet.export(self.net, pathlib.Path(folder, "notes.onnx"), overwrite=True)
            self.assertEqual(sorted(os.listdir(folder)), ["letter.entity", "notes.onnx"])

    def test_what_moves_nothing_is_refused(self):
        for options in (
            {"momentum": 1},
            {"mode": "mirror", "output_step": 0},
            {"mode": "dtp", "feedback_learning_rate": 1},
        ):
            with self.assertRaisesRegex(ValueError, f"/{list(options)[-1]}: expected a number"):
                welvet.Tween(self.net, (4, 6), **options)
        trainer = welvet.Trainer(self.net, (4, 6), loss="bce")
        with self.assertRaisesRegex(ValueError, "bce: target 1 is 2, expected a number from 0 to 1"):
            trainer.step(values((4, 6)), [[1, 2, 0]] * 4)
        with tempfile.TemporaryDirectory() as folder:
            config = {"network": SPEC, "data": {"format": "csv", "path": "none.csv"}}
            with self.assertRaisesRegex(
                welvet.NotFoundError, "holds no training to resume; leave out resume to begin one"
            ):
                welvet.train(config, out=pathlib.Path(folder, "run"), start="resume")
            with self.assertRaisesRegex(ValueError, 'start is "resume" without out'):
                welvet.train(config, start="resume")

    def test_a_network_is_pickled_and_copied(self):
        self.net.morph("int8")
        y = plain(self.net(values((4, 6))))
        for again in (
            pickle.loads(pickle.dumps(self.net)),
            copy.copy(self.net),
            copy.deepcopy({"a": [self.net]})["a"][0],
        ):
            self.assertEqual((again.hash(), again.spec), (self.net.hash(), self.net.spec))
            self.assertEqual(plain(again(values((4, 6)))), y)
            again.set("layers.1.weight", values((3, 40)))
        self.assertEqual(plain(self.net(values((4, 6)))), y)
        with self.assertRaisesRegex(TypeError, "a Session lives in this process alone"):
            pickle.dumps(self.net.session())

    @unittest.skipUnless(hasattr(os, "fork"), "a system with fork()")
    def test_a_network_that_was_used_runs_after_a_fork(self):
        y = plain(self.net(values((4, 6))))
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if plain(self.net(values((4, 6)))) == y else 3)
            finally:
                os._exit(4)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_objects_say_what_they_are(self):
        session, about = self.net.session(), repr(self.net)
        self.assertEqual(repr(session), f"<welvet.Session of {about}>")
        session.close()
        self.assertEqual(repr(session), "<welvet.Session, closed>")
        trainer = welvet.Trainer(self.net, (4, 6), learning_rate=0.25)
        self.assertEqual(repr(trainer), f"<welvet.Trainer of {about}: 0 steps, learning rate 0.25>")
        self.assertIn("generation 0", repr(welvet.Population(self.net, (1, 6), population=8)))
        self.assertEqual(repr(welvet.StepMesh(self.net, (2, 6))), f"<welvet.StepMesh of {about}, input [2, 6]>")

    def test_weights_are_read_and_written(self):
        about = self.net.weights()["layers.1.weight"]
        self.assertEqual((about["shape"], about["dtype"], about["role"]), ([3, 40], "float32", "matrix"))
        new = values((3, 40))
        self.net.set("layers.1.weight", new)
        got = plain(self.net.get("layers.1.weight"))
        self.assertAlmostEqual(got[2][7], new[2][7], places=6)
        with self.assertRaises(KeyError):
            self.net.get("layers.7.weight")
        with self.assertRaises(ValueError):
            self.net.set("layers.1.weight", values((40, 3)))
        with self.assertRaises(welvet.LoomError):
            self.net.set("layers.1.weight", [[float("nan")] * 40] * 3)
        copy = self.net.clone()
        copy.set("layers.1.weight", values((3, 40), 9))
        self.assertNotEqual(copy.hash(), self.net.hash())
        before = copy.hash()
        good = {"layers.0.weight": values((40, 6), 5)}
        nan = [[0.0] * 39 + [float("nan")]] * 3
        for wrong, error in (
            ({"layers.1.weight": values((40, 3))}, ValueError),
            ({"layers.1.weight": nan}, welvet.LoomError),
            ({"layers.1.weight": "abc"}, (TypeError, ValueError)),
            ({"layers.7.weight": [1]}, KeyError),
        ):
            with self.subTest(wrong=list(wrong)), self.assertRaises(error):
                copy.load_state_dict({**good, **wrong})
            self.assertEqual(copy.hash(), before)  # the good one has not been replaced either
        copy.load_state_dict(self.net.state_dict())
        self.assertEqual(copy.hash(), self.net.hash())

    def test_wrong_inputs_are_errors(self):
        for wrong, error in (
            (values((4, 5)), ValueError),
            ([[1, 2], [3]], ValueError),
            ("abc", (TypeError, ValueError)),
            ([["a"] * 6], TypeError),
            (None, TypeError),
            (object(), TypeError),
        ):
            with self.subTest(wrong=wrong), self.assertRaises(error):
                self.net(wrong)
        with self.assertRaises(ValueError):
            welvet.Network({"layers": [{"type": "dens"}]})
        with self.assertRaises(welvet.LoomError):
            welvet.Network("{")
        for path in ("net.entity", "models/net", pathlib.Path("net.json"), __file__):
            with self.assertRaisesRegex(ValueError, r"Network\.from_file\(path\) reads a file"):
                welvet.Network(path)
        for text in ("", "nothing", "[1]", "null"):  # no path: the reader says what is wrong
            with self.assertRaises(welvet.LoomError) as wrong:
                welvet.Network(text)
            self.assertNotIn("from_file", str(wrong.exception))

    def test_buffers_of_the_standard_library_are_taken(self):
        x = array.array("f", [0.5] * 6)
        view = memoryview(x).cast("B").cast("f", (1, 6))
        self.assertEqual(plain(self.net(view)), plain(self.net([[0.5] * 6])))

    def test_gradients_follow_the_function(self):
        session = self.net.session(backward=True)
        x = values((2, 6))
        session.forward(x)
        dx = plain(session.backward([[1.0] * 3] * 2))
        self.assertEqual((len(dx), len(dx[0])), (2, 6))
        gradient = plain(session.gradient("layers.1.weight"))
        w = plain(self.net.get("layers.1.weight"))

        def total(change):
            moved = [list(row) for row in w]
            moved[1][4] += change
            self.net.set("layers.1.weight", moved)
            return sum(sum(row) for row in plain(session.forward(x)))

        self.assertAlmostEqual(gradient[1][4], (total(0.01) - total(-0.01)) / 0.02, places=3)
        session.clear_gradients()
        self.assertEqual(plain(session.gradient("layers.1.weight"))[1][4], 0)

    def test_types_and_places_change(self):
        x = values((3, 6))
        before = plain(self.net(x))
        self.net.morph("int8")
        after = plain(self.net(x))
        self.assertNotEqual(before, after)
        self.assertLess(max(abs(a - b) for p, q in zip(before, after) for a, b in zip(p, q)), 0.2)
        self.net.place((0, 0, 0, 1), {"type": "dense", "input_height": 40, "output_height": 5})
        self.assertEqual(len(plain(self.net(x))[0]), 5)

    def test_bound_memory_is_read_and_filled(self):
        x, y = array.array("f", [0.25] * 12), array.array("f", [0] * 6)
        session = self.net.session(threads=1)
        view = memoryview(x).cast("B").cast("f", (2, 6))
        session.bind(view, y)
        session.run()
        self.assertEqual(list(y), [v for row in plain(self.net([[0.25] * 6] * 2)) for v in row])
        x[0] = 3
        first = list(y)
        session.run()
        self.assertNotEqual(list(y), first)
        for wrong in (array.array("d", [0] * 6), bytes(24)):
            with self.assertRaises((TypeError, ValueError)):
                session.bind(view, wrong)
        with self.assertRaises(ValueError):
            session.bind(view, array.array("f", [0] * 5))
        session.close()
        with self.assertRaises(welvet.LoomError):
            session.run()

    def test_threads_share_a_network(self):
        expected, found, errors = plain(self.net([[0.5] * 6])), [], []

        def work():
            try:
                session = self.net.session(threads=1)
                for _ in range(50):
                    found.append(plain(session.forward([[0.5] * 6])))
            except welvet.LoomError as error:
                errors.append(error)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(errors, [])
        self.assertTrue(all(f == expected for f in found))
        self.assertEqual(len(found), 200)

    def test_a_session_is_closed_when_no_call_copies_from_it(self):
        net = welvet.Network({"input_shape": [4], "layers": [{"type": "activation", "activation": "relu"}]})
        x = [[1.0, 2.0, 3.0, 4.0]] * 20000
        for _ in range(5):
            session, ends = net.session(threads=1), []

            def work():
                try:
                    while True:
                        session.forward(x)
                except welvet.LoomError as error:
                    ends.append(error.code)

            worker = threading.Thread(target=work)
            worker.start()
            session.forward(x)
            session.close()
            worker.join()
            self.assertEqual(ends, ["BadHandle"])

    def test_a_call_from_inside_of_its_own_callback_is_busy(self):
        session = welvet.Network(SPEC).session(threads=1)
        session.watch(lambda _: session.forward([[0.5] * 6]))
        with self.assertRaises(welvet.LoomError) as caught:
            session.forward([[0.5] * 6])
        self.assertEqual(caught.exception.code, "Busy")


@unittest.skipIf(np is None, "numpy's arrays")
class Arrays(unittest.TestCase):
    def test_arrays_of_any_type_and_order_are_taken(self):
        net = welvet.Network(SPEC)
        x = np.arange(24, dtype=np.float64).reshape(4, 6) / 24
        expected = net(x.astype(np.float32))
        self.assertEqual(expected.dtype, np.float32)
        for same in (x, np.asfortranarray(x), x[::-1][::-1], x.astype(">f4"), x.tolist()):
            np.testing.assert_array_equal(net(same), expected)
        frozen = x.astype(np.float32)
        frozen.flags.writeable = False
        np.testing.assert_array_equal(net(frozen), expected)
        with self.assertRaises(TypeError):
            net(x.astype(complex))
        with self.assertRaises(ValueError):
            net(np.zeros((0, 6)))
        with self.assertRaises(ValueError):
            net.session().bind(x.astype(np.float32), frozen[:, :3])

    def test_the_names_of_types_are_those_of_the_library(self):
        text = (ROOT / "python" / "welvet" / "_types.py").read_text()
        names = re.search(r"DType: TypeAlias = Literal\[(.*?)\]", text, re.S).group(1)
        with self.assertRaises(ValueError) as caught:
            welvet.Network(SPEC).morph("int9")
        self.assertEqual(re.findall(r'"(\w+)"', names), str(caught.exception).rpartition("known: ")[2].split())

    def test_numbers_of_numpy_stand_in_specs_and_configs(self):
        layer = {"type": "dense", "input_height": np.int64(6), "output_height": np.int32(3)}
        net = welvet.Network({"seed": np.uint8(5), "input_shape": np.array([6]), "layers": [layer]})
        self.assertEqual(net.spec["layers"][0]["out_features"], 3)
        trainer = welvet.Trainer(net, np.array([2, 6]), learning_rate=np.float64(0.5))
        self.assertEqual(trainer.info["learning_rate"], 0.5)
        with self.assertRaisesRegex(TypeError, "a object is no value of a spec"):
            welvet.Network({"layers": [object()]})

    def test_masked_numbers_are_refused(self):
        net, x = welvet.Network(SPEC), np.ma.masked_less(np.ones((2, 6), np.float32), 2)
        for call in (lambda: net(x), lambda: net.session().bind(x, np.zeros((2, 3), np.float32))):
            with self.assertRaisesRegex(ValueError, "x has masked numbers: fill them"):
                call()
        np.testing.assert_array_equal(net(np.ma.masked_less(x.data, 0)), net(x.data))

    def test_an_input_that_is_bound_may_be_read_only(self):
        net, x, y = welvet.Network(SPEC), np.ones((2, 6), np.float32), np.zeros((2, 3), np.float32)
        x.flags.writeable = False
        session = net.session()
        session.bind(x, y)
        session.run()
        np.testing.assert_array_equal(y, net(x))
        with self.assertRaisesRegex(ValueError, "y is read-only"):
            session.bind(x, x)
        with self.assertRaisesRegex(TypeError, "x must be an array or a buffer of float32, not list"):
            session.bind([1.0], y)

    def test_results_go_to_other_frameworks_without_a_copy(self):
        net = welvet.Network(SPEC)
        for given in (net(np.ones((2, 6), np.float32)), net.get(next(iter(net.weights())))):
            taken = np.from_dlpack(given)
            self.assertEqual(taken.ctypes.data, given.ctypes.data)

    def test_wide_networks_compute_in_double_precision(self):
        net = welvet.Network({**SPEC, "activations": "f64"})
        y = net(np.full((1, 6), 0.1))
        self.assertEqual(y.dtype, np.float64)
        session = net.session(backward=True)
        session.forward(np.full((1, 6), 0.1))
        self.assertEqual(session.backward(np.ones((1, 3))).dtype, np.float64)
        mesh = welvet.StepMesh(net, (1, 6))
        state = mesh.state()
        state.set_input(np.full((1, 6), 0.1))
        mesh.step(state, 3)
        np.testing.assert_array_equal(state.output(), y)
        np.testing.assert_array_equal(welvet.Tween(net, (1, 6)).forward(np.full((1, 6), 0.1)), y)
        self.assertEqual(welvet.Trainer(net, (1, 6)).evaluate([[0.1] * 6], [[0.0] * 3])[1].dtype, np.float64)

    def test_a_batch_has_targets_or_classes(self):
        trainer = welvet.Trainer(welvet.Network(SPEC), (1, 6))
        for more in ({}, {"targets": [[0.0] * 3], "classes": [0]}):
            with self.assertRaisesRegex(ValueError, "targets or classes"):
                trainer.step([[0.1] * 6], **more)


class Learning(unittest.TestCase):
    def test_whole_trainings_are_the_same_with_any_threads(self):
        x = values((60, 6))
        classes = [int(row[0] > 0) + int(row[1] > 0) for row in x]
        config = {
            "epochs": 8,
            "batch_size": 20,
            "shuffle": True,
            "loss": "softmax_crossentropy",
            "optimizer": "adam",
            "learning_rate": 0.02,
        }
        hashes, told = [], []
        for threads in (1, 2):
            net = welvet.Network(SPEC)
            run = welvet.train(config, net, x, classes=classes, threads=threads, progress=told.append)
            self.assertEqual(run.stop_reason, "finished")
            self.assertLess(run.losses[-1], run.losses[0])
            self.assertIn("<svg", run._repr_svg_())
            hashes.append(net.hash())
        self.assertEqual(hashes[0], hashes[1])
        self.assertEqual({t["event"] for t in told} >= {"epoch_end", "batch_end"}, True)
        self.assertEqual([t["stop_reason"] for t in told if t["event"] == "end"], ["finished", "finished"])
        self.assertEqual({t["stop_reason"] for t in told if t["event"] != "end"}, {None})

    def test_a_run_that_diverged_can_be_shown(self):
        x, y = values((20, 6)), values((20, 3))
        config = {"epochs": 40, "learning_rate": 1e12, "loss": "mse"}
        run = welvet.train(config, welvet.Network(SPEC), x, y, progress=False)
        self.assertEqual(run.stop_reason, "diverged")
        self.assertNotEqual(run.losses[-1], run.losses[-1])  # nan
        self.assertIn("loss nan>", repr(run))
        self.assertIn("<svg", run._repr_svg_())

    def test_a_run_leaves_a_journal_that_replays(self):
        lines = "\n".join(",".join(str(v) for v in row) + f",{int(row[0] > 0)}" for row in values((40, 6)))
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "data.csv").write_text("a,b,c,d,e,f,y\n" + lines + "\n")
            config = {
                "epochs": 3,
                "batch_size": 10,
                "network": SPEC,
                "loss": "softmax_crossentropy",
                "data": {"format": "csv", "path": "data.csv", "target_column": "y"},
            }
            out = pathlib.Path(folder, "run")
            run = welvet.train(config, folder=folder, out=out, progress=False)
            again = welvet.replay(out)
            self.assertEqual(again["hash"], run.hash)
            with self.assertRaises(welvet.LoomError):
                welvet.train(config, folder=folder, out=out, progress=False)

    def test_progress_may_end_a_run_or_raise(self):
        x, y = values((20, 6)), values((20, 3))
        run = welvet.train(
            {"epochs": 50, "batch_size": 20}, welvet.Network(SPEC), x, y, progress=lambda about: about["epoch"] < 3
        )
        self.assertEqual(run.stop_reason, "stopped")

        def fails(_):
            raise RuntimeError("mine")

        with self.assertRaisesRegex(RuntimeError, "mine"):
            welvet.train({"epochs": 5, "batch_size": 20}, welvet.Network(SPEC), x, y, progress=fails)

    def test_steps_learn_and_evaluate(self):
        net = welvet.Network(SPEC)
        trainer = welvet.Trainer(net, (8, 6), loss="mse", optimizer="adam", learning_rate=0.02)
        x, y = values((8, 6)), values((8, 3), 7)
        losses = [trainer.step(x, y).loss for _ in range(60)]
        self.assertLess(losses[-1], losses[0] / 4)
        loss, output = trainer.evaluate(x, y)
        self.assertLess(loss, losses[0] / 4)
        self.assertEqual(len(output), 8)
        with self.assertRaises(ValueError):
            trainer.step(x, values((8, 2)))
        with self.assertRaises(ValueError):
            welvet.Trainer(net, (8, 6), epochs=3)

    def test_targets_teach_a_network(self):
        net = welvet.Network(SPEC)
        tween = welvet.Tween(net, (8, 6), mode="layerwise")
        x, y = values((8, 6)), values((8, 3), 7)
        gaps = []
        for _ in range(40):
            tween.forward(x)
            tween.step(y, 0.05)
            gaps.append(tween.info["output_gap"])
        self.assertLess(gaps[-1], gaps[0])

    def test_ctrl_c_ends_ticks_of_a_mesh(self):
        mesh = welvet.StepMesh(welvet.Network(SPEC), (1, 6), keep_inputs=True)
        state, other = mesh.state(), mesh.state()
        for each in (state, other):
            each.set_input(values((1, 6)))
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            mesh.step(state, 2**40)
        timer.join()
        done = state.ticks
        self.assertGreater(done, 0)
        mesh.step(other, done)
        self.assertEqual(state.hash(), other.hash())  # the last tick is whole
        mesh.step(state)
        self.assertEqual(state.ticks, done + 1)

    def test_a_mesh_settles_to_the_plain_output(self):
        net = welvet.Network(SPEC)
        x = values((2, 6))
        expected = plain(welvet.Network(SPEC)(x))
        mesh = welvet.StepMesh(net, (2, 6), history=4, backward=True, keep_inputs=True)
        state = mesh.state()
        self.assertIsNone(state.output())
        state.set_input(x)
        mesh.step(state, 3, capture=True)
        self.assertEqual(plain(state.output()), expected)
        self.assertEqual(state.ticks, 3)
        fork = state.fork()
        mesh.step([state, fork])
        self.assertEqual(state.hash(), fork.hash())
        state.reset()
        state.set_input(x)
        mesh.step(state, 4, capture=True)
        self.assertEqual(len(plain(mesh.backward(state, [[1.0] * 3] * 2))), 2)
        mesh.tween().step(state, values((2, 3)), 0.05)
        self.assertNotEqual(net.hash(), welvet.Network(SPEC).hash())

    def test_a_population_gets_better(self):
        base = welvet.Network(SPEC)
        people = welvet.Population(base, (1, 6), population=10, seed=2, mutation={"node_rate": 0})
        wanted = [0.3, -0.2, 0.1]

        def judge(net):
            y = plain(net([[1.0] * 6]))[0]
            return -sum((a - b) ** 2 for a, b in zip(y, wanted))

        best = [people.evolve(judge)["best"] for _ in range(6)]
        self.assertGreater(max(best), best[0])
        again = welvet.Population.restore(people.snapshot(), (1, 6), population=10, seed=2, mutation={"node_rate": 0})
        self.assertEqual(people.evolve(judge)["hash"], again.evolve(judge)["hash"])
        child = welvet.splice(base, people.best(), mode="uniform", seed=1)
        self.assertLessEqual(welvet.compare_dna(base, child)["overall_overlap"], 1.0)
        self.assertTrue(welvet.compare(base, base)["equal"])

    def test_calls_of_evolve_judge_their_own_generation(self):
        people = welvet.Population(welvet.Network(SPEC), (1, 6), population=8, elites=2, seed=2)

        def judge(net):
            return -sum(y * y for y in plain(net([[1.0] * 6]))[0])

        def evolve_some():
            for _ in range(8):
                people.evolve(judge)

        threads = [threading.Thread(target=evolve_some) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(people.info["generation"], 32)
        judged = [(place, m["fitness"]) for place, m in enumerate(people.info["members"]) if m["fitness"]]
        self.assertGreaterEqual(len(judged), 2)  # the elites
        for place, fitness in judged:
            self.assertEqual(fitness, [judge(people.network(place))])

        def judge_that_evolves(net):
            people.evolve(judge)
            return judge(net)

        with self.assertRaisesRegex(welvet.LoomError, r"InvalidState: another call of tell\(\)"):
            people.evolve(judge_that_evolves)

    def test_an_evolution_runs_by_a_config(self):
        told = []
        outcome = welvet.evolve(
            {
                "task": "xor",
                "population": 16,
                "generations": 3,
                "network": {
                    "layers": [
                        {"type": "dense", "input_height": 2, "output_height": 4, "activation": "tanh"},
                        {"type": "dense", "input_height": 4, "output_height": 1, "activation": "sigmoid"},
                    ]
                },
            },
            progress=told.append,
        )
        self.assertEqual(outcome["generations"], len(told))

    def test_objects_may_go_in_any_order(self):
        mesh = welvet.StepMesh(welvet.Network(SPEC), (1, 6))
        state = mesh.state()
        del mesh
        gc.collect()
        state.set_input(values((1, 6)))
        self.assertEqual(state.ticks, 0)


class Documentation(unittest.TestCase):
    def test_examples_of_docstrings_run(self):
        tried = {}
        for name in ("welvet", *(f"welvet.{p}" for p in ("lm", "nn", "train", "evolve"))):
            package = importlib.import_module(name)
            modules = [
                package,
                *(
                    importlib.import_module(f"{name}.{m.name}")
                    for m in pkgutil.iter_modules(package.__path__)
                    if name != "welvet"
                ),
            ]
            for module in modules:
                failed, tried[module.__name__] = doctest.testmod(module)
                self.assertEqual(failed, 0, module.__name__)
        for name in ("welvet", "welvet.nn.network", "welvet.train.trainer", "welvet.evolve.population"):
            self.assertGreater(tried[name], 0, name)

    def test_everything_public_says_what_it_does(self):
        for name in welvet.__all__:
            value = getattr(welvet, name)
            self.assertIn(name, welvet.__doc__)
            self.assertTrue(value.__doc__, name)
            for member, inner in vars(value).items() if isinstance(value, type) else ():
                if not member.startswith("_") and (callable(inner) or isinstance(inner, (classmethod, property))):
                    self.assertTrue(getattr(value, member).__doc__ or inner.__doc__, f"{name}.{member}")

    def test_an_import_loads_nothing_that_takes_long(self):
        slow = {"asyncio", "numpy", "tempfile", "typing", "welvet._types", "welvet.bridge"}
        for used, other in (
            ("", {"welvet.lm", "welvet.nn"}),
            ("welvet.LM", {"welvet.nn"}),
            ("welvet.Trainer", {"welvet.lm"}),
        ):
            loaded = f"import sys; old = set(sys.modules); import welvet; {used}; print(*set(sys.modules) - old)"
            done = subprocess.run(
                [sys.executable, "-S", "-c", loaded.replace("; ;", ";")],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            )
            modules = set(done.stdout.split())
            self.assertIn("welvet._native", modules)
            self.assertEqual(modules & (slow | other), set(), used)

    def test_the_bridge_is_imported_at_its_first_use(self):
        self.assertIn("bridge", dir(welvet))
        if np is None:
            with self.assertRaisesRegex(ImportError, "welvet.bridge needs numpy"):
                welvet.bridge
        else:
            self.assertTrue(callable(welvet.bridge.stream))
        with self.assertRaises(AttributeError):
            welvet.brigde

    def test_schemas_are_json(self):
        for file in ("network", "training", "evolution"):
            self.assertEqual(welvet.schema(file)["type"], "object")


class Measurements(unittest.TestCase):
    def test_an_adaptation_counts_windows_and_changes(self):
        with welvet.AdaptationTracker(5, 1000, "one") as tracker:
            for turn in range(4):
                tracker.record(turn % 2 == 0)
            tracker.mark("two")
            tracker.record(True)
            info = tracker.info
            self.assertEqual(info["outputs"], 5)
            self.assertAlmostEqual(info["accuracy"], 60)
            self.assertEqual([change["task"] for change in info["changes"]], ["two"])
        with self.assertRaises(ValueError):
            welvet.AdaptationTracker(0, 1000)

    def test_simulated_precision_is_what_a_type_keeps(self):
        exact = [[1.0, -2.0, 0.5], [0.25, 4.0, -8.0]]
        self.assertEqual([list(row) for row in welvet.simulate_precision(exact, "float32").tolist()], exact)
        self.assertEqual(welvet.simulate_precision([1 / 3], "bfloat16").tolist(), [0.333984375])
        with self.assertRaises(ValueError):
            welvet.simulate_precision(exact, "int5")

    def test_models_that_complete_each_other_are_matched(self):
        matches = welvet.complementary_matches([[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]], 0.9)
        self.assertEqual([(m["a"], m["b"], m["coverage"]) for m in matches], [(0, 1, 1.0), (1, 2, 1.0)])
        self.assertEqual(welvet.complementary_matches([[1, 0], [1, 0]], 0.9), [])
        self.assertAlmostEqual(welvet.complementary_matches([[1, 1, 0, 0], [1, 0, 1, 0]])[0]["cosine"], 0.5)
        self.assertAlmostEqual(welvet.performance_similarity([1, 1, 0, 0], [1, 0, 1, 0]), 0.5)
        self.assertEqual(welvet.performance_similarity([1, 0], [0, 0]), 0.0)
        with self.assertRaises(ValueError):
            welvet.complementary_matches([[1, 0], [1]])
        with self.assertRaises(ValueError):
            welvet.performance_similarity([1, 0], [1])


class Windows(unittest.TestCase):
    """Windowed observers of everything that can be watched."""

    SPEC = {
        "seed": 1,
        "layers": [
            {"type": "dense", "input_height": 3, "output_height": 3, "activation": "tanh"},
            {"type": "dense", "input_height": 3, "output_height": 2},
        ],
    }

    def watched(self):
        """Pairs of what is watched and a call that runs two layers, forward."""
        network = welvet.Network(self.SPEC)
        session = network.session()
        yield session, lambda: session.forward([[1, 2, 3]])
        mesh = welvet.StepMesh(welvet.Network(self.SPEC), (1, 3))
        state = mesh.state()
        state.set_input([[1, 2, 3]])
        mesh.step(state, 2)  # both cells have inputs from here on
        yield mesh, lambda: mesh.step(state)
        trainer = welvet.Trainer(welvet.Network(self.SPEC), (1, 3), learning_rate=0.1)
        yield trainer, lambda: trainer.evaluate([[1, 2, 3]], [[0, 1]])

    def test_windows_hold_the_figures_of_their_layers(self):
        for watched, run in self.watched():
            with self.subTest(watched=type(watched).__name__):
                windows, events = [], []
                watched.watch_windows(4, windows.append)
                watched.watch(events.append)
                for _ in range(4):
                    run()
                self.assertEqual([w.layers for w in windows], [4, 4])
                self.assertEqual(len(events), 8)
                for window, part in zip(windows, (events[:4], events[4:])):
                    self.assertEqual(window.greatest, max(e.greatest for e in part))
                    self.assertEqual(window.least, min(e.least for e in part))
                    self.assertAlmostEqual(window.mean, sum(e.mean for e in part) / 4)
                    self.assertAlmostEqual(window.active, sum(e.active for e in part) / 4)
                    self.assertAlmostEqual(
                        window.sparsity, 1 - sum(e.active for e in part) / sum(e.count for e in part)
                    )
                    self.assertEqual((window.first_step, window.last_step), (part[0].step, part[-1].step))
                watched.watch_windows(4, None)
                watched.watch(None)
                run()
                self.assertEqual((len(windows), len(events)), (2, 8))

    def test_a_window_that_raises_ends_the_watch_and_comes_out(self):
        def raises(_):
            raise KeyError("window")

        for watched, run in self.watched():
            with self.subTest(watched=type(watched).__name__):
                watched.watch_windows(1, raises)
                with self.assertRaisesRegex(KeyError, "window"):
                    run()
                run()
                for layers in (0, -1):
                    with self.assertRaises(ValueError):
                        watched.watch_windows(layers, print)
                watched.report_to("tanhi://127.0.0.1:9")
                run()
                watched.report_to(None)
                with self.assertRaises(ValueError):
                    watched.report_to("nowhere")


class WrongTypes(unittest.TestCase):
    """An argument of a wrong type is a TypeError with one line: which argument, what it takes, what came."""

    SPEC = {"layers": [{"type": "dense", "input_height": 2, "output_height": 2}]}

    def wrong_calls(self):
        net = welvet.Network(self.SPEC)
        session, trainer, tween = net.session(backward=True), welvet.Trainer(net, (1, 2)), welvet.Tween(net, (1, 2))
        mesh = welvet.StepMesh(net.clone(), (1, 2), keep_inputs=True)
        state, people = mesh.state(), welvet.Population(net, (1, 2), population=4)
        return {
            "address": lambda: net.place(3, None),
            "layers": lambda: session.watch_windows("4", print),
            "callback": lambda: session.watch(3),
            "lengths": lambda: session.forward([[1, 2]], lengths=3),
            "training": lambda: session.forward([[1, 2]], training="no"),
            "step": lambda: session.forward([[1, 2]], step="x"),
            "shape": lambda: net.prepare(None),
            "values": lambda: net.load_state_dict([1]),
            "networks": lambda: welvet.Network.graft(net),
            "networks ": lambda: welvet.Network.graft([net, 3]),
            "backward": lambda: net.session(backward="yes"),
            "network": lambda: welvet.Session(3),
            "network ": lambda: welvet.Trainer(self.SPEC, (1, 2)),
            "network  ": lambda: welvet.Tween(None, (1, 2)),
            "network   ": lambda: welvet.StepMesh("net", (1, 2)),
            "network    ": lambda: welvet.mutate(3, (1, 2)),
            "network     ": lambda: welvet.dna(3),
            "network      ": lambda: welvet.train({"epochs": 1}, self.SPEC),
            "shape ": lambda: welvet.Trainer(net, "12"),
            "shape  ": lambda: welvet.Trainer(net, 2.5),
            "config": lambda: welvet.Trainer(net, (1, 2), 3),
            "config ": lambda: welvet.Tween(net, (1, 2), [1]),
            "config  ": lambda: welvet.train(3),
            "config   ": lambda: welvet.evolve(3),
            "config    ": lambda: mesh.tween("layerwise"),
            "progress": lambda: welvet.train({}, progress=3),
            "progress ": lambda: welvet.evolve({}, progress=3),
            "progress  ": lambda: welvet.load("x", progress=3),
            "metric": lambda: trainer.observe("x"),
            "epoch": lambda: trainer.set_epoch(1.5),
            "learning_rate": lambda: tween.step([[1, 2]], "x"),
            "learning_rate ": lambda: tween.apply(None),
            "learning_rate  ": lambda: mesh.tween().step(state, [[1, 2]], "x"),
            "states": lambda: mesh.step(3),
            "states ": lambda: mesh.step([3]),
            "state": lambda: mesh.backward(3, [[1, 2]]),
            "cell": lambda: state.output(1.5),
            "hold": lambda: state.set_input([[1, 2]], hold="no"),
            "base": lambda: welvet.Population("net", (1, 2)),
            "judge": lambda: people.evolve(3),
            "judge ": lambda: people.evolve(None),
            "first": lambda: welvet.splice(3, net),
            "second": lambda: welvet.compare(net, 3),
            "nested": lambda: welvet.dna(net, nested="no"),
            "networks  ": lambda: welvet.dna_points(net),
            "assignment": lambda: welvet.silhouette([[0, 1], [1, 0]], 3),
            "plus_plus": lambda: welvet.cluster([[0, 1], [1, 0]], 1, plus_plus="no"),
            "threshold": lambda: welvet.group([[0, 1], [1, 0]], "x"),
            "right": lambda: welvet.complementary_matches(3),
            "right ": lambda: welvet.complementary_matches([1, 0]),
            "first ": lambda: welvet.performance_similarity(3, [1]),
            "correct": lambda: welvet.AdaptationTracker(1, 2).record("no"),
            "window_ms": lambda: welvet.AdaptationTracker("1", 2),
            "strict": lambda: welvet.load("x", strict="no"),
            "tensors": lambda: welvet.inspect("x", tensors="no"),
            "source": lambda: welvet.export(3, "x.onnx"),
            "dequantize": lambda: welvet.export(net, "x.onnx", dequantize="no"),
            "path": lambda: welvet.inspect(3),
            "model": lambda: welvet.Chat(net),
            "model ": lambda: welvet.lm.Session(net),
            "forward": lambda: welvet.register_kind("wrong", None),
            "backward ": lambda: welvet.register_kind("wrong", print, 3),
            "settings": lambda: welvet.register_kind("wrong", print, settings=3),
            "data": lambda: welvet.Network.from_bytes(3),
            "receipt": lambda: welvet.replay_receipt(3),
            "threads": lambda: net.session(threads="2"),
            "context": lambda: net.session(context=None),
            "kv_dtype": lambda: net.session(kv_dtype=8),
            "isa": lambda: net.session(isa=2),
            "device": lambda: net.session(device=0.5),
        }

    def test_wrong_types_are_named(self):
        for name, call in self.wrong_calls().items():
            with (
                self.subTest(name=name),
                self.assertRaisesRegex(TypeError, rf"^(a case of )?{name.strip()} must be .*, not \w+$"),
            ):
                call()


class DocumentedErrors(unittest.TestCase):
    """Errors that the section Raises of a docstring names."""

    SPEC = {"layers": [{"type": "dense", "input_height": 2, "output_height": 2}]}

    def calls(self):
        """Pairs of an exception (with the code of a LoomError) and a call."""
        net = welvet.Network(self.SPEC)
        going, other = (
            welvet.Network({"layers": [{"type": "rnn", "input_height": 2, "output_height": n}]}).session(context=4)
            for n in (3, 4)
        )
        going([[[1, 2]]])
        other([[[1, 2]]])
        plain_session, session = net.session(), net.session(backward=True)
        trainer, tween = welvet.Trainer(net.clone(), (1, 2)), welvet.Tween(net.clone(), (1, 2))
        mesh = welvet.StepMesh(net.clone(), (1, 2))
        state, people = mesh.state(), welvet.Population(net, (1, 2), population=4)
        larger = welvet.StepMesh(net.clone(), (3, 2))
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        config = {"epochs": 1, "batch_size": 1}
        train = lambda **more: welvet.train(config, net.clone(), [[1, 2]], [[1, 2]], out=folder, progress=False, **more)
        train(start="overwrite")
        return {
            "freeze": (welvet.NotFoundError, lambda: net.freeze("layers.9")),
            "morph a layer": (welvet.NotFoundError, lambda: net.morph("int8", "layers.9")),
            "morph": (ValueError, lambda: net.morph("int9")),
            "codes": (welvet.NotFoundError, lambda: net.codes("nothing")),
            "get": (KeyError, lambda: net.get("nothing")),
            "set": (ValueError, lambda: net.set("layers.0.weight", [1])),
            "set a number": ("NonFinite", lambda: net.set("layers.0.weight", [[1, float("nan")], [1, 2]])),
            "place": (ValueError, lambda: net.place((0, 0, 0, 9), None)),
            "place a layer": (ValueError, lambda: net.place((0, 0, 0, 0), {"type": "dens"})),
            "prepare": (ValueError, lambda: net.prepare((1, 3))),
            "graft": (ValueError, lambda: welvet.Network.graft([net, net], "sum")),
            "from_arch": (ValueError, lambda: welvet.Network.from_arch({"nothing": 1})),
            "from_bytes": ("CorruptData", lambda: welvet.Network.from_bytes(b"nothing")),
            "from_file": (welvet.NotFoundError, lambda: welvet.Network.from_file("nothing")),
            "call": (ValueError, lambda: net([[1, 2, 3]])),
            "backward": ("InvalidState", lambda: (plain_session([[1, 2]]), plain_session.backward([[1, 2]]))),
            "backward first": ("InvalidState", lambda: session.backward([[1, 2]])),
            "gradient": ("InvalidState", lambda: plain_session.gradient("layers.0.weight")),
            "gradient of nothing": (KeyError, lambda: session.gradient("nothing")),
            "run": ("InvalidState", plain_session.run),
            "snapshot": ("InvalidState", session.snapshot),
            "rewind first": ("InvalidState", lambda: session.rewind(0)),
            "rewind": (ValueError, lambda: going.rewind(3)),
            "restore": ("CorruptData", lambda: going.restore(other.snapshot())),
            "restore bytes": ("CorruptData", lambda: going.restore(going.snapshot()[:-1])),
            "report_to": (ValueError, lambda: session.report_to("nowhere")),
            "unregister_kind": (ValueError, lambda: welvet.unregister_kind("nothing")),
            "register_kind": (ValueError, lambda: welvet.register_kind("dense", lambda layer, x: x)),
            "step": (ValueError, lambda: trainer.step([[1, 2, 3]], [[1, 2]])),
            "targets": (ValueError, lambda: trainer.step([[1, 2]], [[1, 2, 3]])),
            "evaluate": (ValueError, lambda: trainer.evaluate([[1, 2]], [[1]])),
            "Trainer": (ValueError, lambda: welvet.Trainer(net, (1, 2), los="mse")),
            "tween step": ("InvalidState", lambda: tween.step([[1, 2]], 0.1)),
            "tween backward": ("InvalidState", lambda: tween.backward([[1, 2]])),
            "tween forward": (ValueError, lambda: tween.forward([[1, 2, 3]])),
            "Tween": (ValueError, lambda: welvet.Tween(net, (1, 2), mode="nothing")),
            "cell": (ValueError, lambda: state.output(9)),
            "set_input": (ValueError, lambda: state.set_input([[1, 2, 3]])),
            "mesh backward": ("NoValue", lambda: mesh.backward(state, [[1, 2]])),
            "state of another mesh": (ValueError, lambda: state.restore(larger.state().snapshot())),
            "state restore": ("CorruptData", lambda: state.restore(state.snapshot()[:-1])),
            "member": (ValueError, lambda: people.network(99)),
            "best": ("NoValue", people.best),
            "tell": (ValueError, lambda: people.tell([1])),
            "population restore": (
                "CorruptData",
                lambda: welvet.Population.restore(people.snapshot()[:-1], (1, 2), population=4),
            ),
            "splice": (ValueError, lambda: welvet.splice(net, net, mode="nothing")),
            "mutate": (ValueError, lambda: welvet.mutate(net, (1, 2), nothing=1)),
            "train": (ValueError, train),
            "train file": (TypeError, lambda: welvet.train("config.json", net)),
            "replay": (welvet.NotFoundError, lambda: welvet.replay(folder + "/nothing")),
            "inspect": ("Unsupported", lambda: welvet.inspect(__file__)),
            "load": ("Unsupported", lambda: welvet.load(__file__)),
            "export": (ValueError, lambda: welvet.export(net, folder + "/n.nothing")),
            "quantize": (welvet.NotFoundError, lambda: welvet.quantize("nothing", folder + "/n.gguf", "q4_0")),
            "tile_sizes": (ValueError, lambda: welvet.tile_sizes("nothing")),
            "simulate_precision": (ValueError, lambda: welvet.simulate_precision([1], "int9")),
            "group": (ValueError, lambda: welvet.group([[1, 0], [0, 1]], 3)),
        }

    def test_errors_are_those_of_the_docstrings(self):
        for name, (expected, call) in self.calls().items():
            with (
                self.subTest(name=name),
                self.assertRaises(welvet.LoomError if isinstance(expected, str) else expected) as wrong,
            ):
                call()
            if isinstance(expected, str):
                with self.subTest(name=name):
                    self.assertEqual(wrong.exception.code, expected)


class Clusters(unittest.TestCase):
    def test_points_and_networks_are_clustered(self):
        points = [[0, 0], [10, 10], [0, 1], [11, 10]]
        for plus_plus in (False, True):
            found = welvet.cluster(points, 2, plus_plus=plus_plus, seed=5)
            self.assertEqual(found["assignment"][0], found["assignment"][2])
            self.assertNotEqual(found["assignment"][0], found["assignment"][1])
            self.assertEqual(found, welvet.cluster(points, 2, plus_plus=plus_plus, seed=5))
        self.assertEqual(welvet.cluster(points, 2, max_iterations=1)["iterations"], 1)
        for wrong in (
            lambda: welvet.cluster(points, 5),
            lambda: welvet.cluster(points, 0),
            lambda: welvet.cluster([1, 2], 1),
            lambda: welvet.silhouette(points, [0, 1]),
            lambda: welvet.silhouette(points, [0, 0, 0, 0]),
            lambda: welvet.group(points, 3),
        ):
            with self.assertRaises(ValueError):
                wrong()
        spec = {"layers": [{"type": "dense", "input_height": 2, "output_height": 2}]}
        one, two = welvet.Network({"seed": 1, **spec}), welvet.Network({"seed": 2, **spec})
        self.assertEqual(welvet.group([one, two, one.clone()], 1e-9), [[0, 2], [1]])
        other = welvet.Network({"layers": [{"type": "dense", "input_height": 2, "output_height": 3}]})
        with self.assertRaisesRegex(ValueError, "network 1"):
            welvet.dna_points([one, other])


if __name__ == "__main__":
    unittest.main()
