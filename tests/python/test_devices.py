"""welvet on a graphics card gives what it gives on the CPU; a card that is not there is told in one line.

Run by tools/with_gpu.sh; without a card the tests of it are skipped, unless LOOM_NEEDS_GPU is set.
"""

import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import welvet  # noqa: E402

SPEC = {
    "seed": 5,
    "input_shape": [40],
    "layers": [
        {"type": "dense", "input_height": 40, "output_height": 130, "activation": "tanh", "bias": True},
        {"type": "dense", "input_height": 130, "output_height": 3, "bias": True},
    ],
}


def values(rows, cols, seed=1):
    """Numbers between -1 and 1."""
    out = []
    for _ in range(rows):
        row = []
        for _ in range(cols):
            seed = (seed * 1664525 + 1013904223) % 2**32
            row.append(seed / 2**31 - 1)
        out.append(row)
    return out


def plain(data):
    return data.tolist() if hasattr(data, "tolist") else data


def halved(data):
    return [halved(row) for row in data] if isinstance(data, list) else data / 2


def has_card():
    try:
        return bool(welvet.gpu_report()["adapters"])
    except welvet.LoomError:
        if os.environ.get("LOOM_NEEDS_GPU"):
            raise
        return False


@unittest.skipUnless(has_card(), "no graphics card")
class OnACard(unittest.TestCase):
    """The same calls here and there."""

    def same(self, work):
        here = work("cpu")
        self.assertEqual(work("gpu"), here)
        return here

    def test_report(self):
        card = welvet.gpu_report()["adapters"][0]
        self.assertEqual(card["device"], "gpu:0")
        self.assertGreater(card["limits"]["binding_bytes"], 0)

    def test_sessions_trainers_and_targets(self):
        x, y = values(67, 40), values(67, 3, 2)

        def work(device):
            net = welvet.Network(SPEC)
            session = net.session(backward=True, device=device)
            out = [plain(session.forward(x)), plain(session.backward(y))]
            trainer = welvet.Trainer(net, (67, 40), loss="mse", optimizer="adam", learning_rate=0.01, device=device)
            out += [trainer.step(x, y).loss for _ in range(3)]
            out.append(plain(net(x)))  # on the CPU, by the weights of the card
            out.append(net.hash())
            tween = welvet.Tween(net, (67, 40), mode="layerwise", device=device)
            for _ in range(2):
                out.append(plain(tween.forward(x)))
                tween.step(y, 0.05)
            return out + [net.hash()]

        self.same(work)

    def test_weights_that_are_set_between_steps(self):
        x, y = values(67, 40), values(67, 3, 2)

        def work(device):
            out = []
            for dtype in ("float32", "int8"):
                spec = json.loads(json.dumps(SPEC))
                for layer in spec["layers"]:
                    layer["dtype"] = dtype
                net = welvet.Network(spec)
                trainer = welvet.Trainer(net, (67, 40), loss="mse", optimizer="sgd", learning_rate=0.1, device=device)
                for path in ("weight", "bias"):
                    out += [trainer.step(x, y).loss for _ in range(2)]
                    name = next(key for key in net.weights() if key.endswith(path))
                    net.set(name, halved(plain(net.get(name))))
                out += [trainer.step(x, y).loss for _ in range(2)] + [net.hash()]
            return out

        self.same(work)

    @unittest.skipUnless(os.environ.get("LOOM_DATA"), "LOOM_DATA names no folder with models")
    def test_graphs(self):
        folder = pathlib.Path(os.environ["LOOM_DATA"])
        sound = [row[0] for row in values(576, 1)]

        def work(device):
            graph = welvet.Graph(folder / "vad/silero_vad.onnx", device=device)
            state, out = [[[0.0] * 128]] * 2, []
            for sr, length in ((16000, 576), (16000, 576), (8000, 288)):
                y = graph({"input": [sound[:length]], "state": state, "sr": sr})
                out += [plain(y["output"]), plain(y["stateN"]), graph.hash()]
            data = (folder / "vad/silero_vad_half.onnx").read_bytes()
            half = welvet.Graph.from_bytes(data, device=device, threads=3)
            return [*out, plain(half({"input": [sound], "state": state})["output"])]

        self.same(work)
        graph = welvet.Graph(folder / "vad/silero_vad_half.onnx", device="auto")  # a software adapter is never taken
        graph({"input": [sound], "state": [[[0.0] * 128]] * 2})
        with self.assertRaisesRegex(welvet.LoomError, "no graphics adapter of number 99"):
            welvet.Graph(folder / "vad/silero_vad.onnx", device="gpu:99")

    def test_meshes(self):
        x, y = values(19, 40), values(19, 3, 2)

        def work(device):
            net = welvet.Network(SPEC)
            mesh = welvet.StepMesh(net, (19, 40), keep_inputs=True, device=device)
            state, tween = mesh.state(), mesh.tween()
            state.set_input(x)
            out = []
            for _ in range(3):
                mesh.step(state, ticks=2)
                out.append(plain(state.output()))
                tween.step(state, y, 0.05)
            return out + [net.hash(), state.hash()]

        self.same(work)

    def test_evolutions(self):
        config = {
            "task": "xor",
            "population": 10,
            "generations": 3,
            "seed": 4,
            "islands": 2,
            "mutation": {"weight_perturb_rate": 0.5, "dtype_rate": 0.3},
            "network": {
                "seed": 1,
                "layers": [
                    {"type": "dense", "input_height": 2, "output_height": 40, "activation": "tanh"},
                    {"type": "dense", "input_height": 40, "output_height": 1},
                ],
            },
        }

        def work(device):
            done = welvet.evolve(config, threads=3, device=device)
            return [done[key] for key in ("hash", "best", "best_id", "evaluated")]

        self.assertEqual(work("auto"), self.same(work))
        with self.assertRaises(welvet.LoomError):
            welvet.evolve(config, device="gpu:fast")

    def test_whole_trainings_and_their_replay(self):
        x, y = values(60, 40), values(60, 3, 2)
        config = {"epochs": 2, "batch_size": 20, "loss": "mse", "optimizer": "adam", "learning_rate": 0.01}

        def work(device):
            net = welvet.Network(SPEC)
            welvet.train(config, net, x, y, progress=False, device=device)
            return net.hash()

        self.same(work)
        with tempfile.TemporaryDirectory() as folder:
            rows = "".join(f"{i / 30:.3f},{i % 7 / 7:.3f},{i % 2}\n" for i in range(30))
            pathlib.Path(folder, "x.csv").write_text(rows, encoding="utf-8")
            config = {
                "network": {"layers": [{"type": "dense", "input_height": 2, "output_height": 2}]},
                "epochs": 2,
                "data": {"format": "csv", "path": "x.csv", "header": False, "class_ids": True},
                "batch_size": 10,
                "loss": "softmax_crossentropy",
            }
            pathlib.Path(folder, "c.json").write_text(json.dumps(config), encoding="utf-8")
            welvet.train(pathlib.Path(folder, "c.json"), out=folder + "/run", progress=False, device="gpu")
            for device in (None, "gpu"):
                welvet.replay(folder + "/run", progress=False, device=device)
            config["mode"] = "gpu"  # which names the card by itself
            pathlib.Path(folder, "m.json").write_text(json.dumps(config), encoding="utf-8")
            welvet.train(pathlib.Path(folder, "m.json"), out=folder + "/mode", progress=False)
            welvet.replay(folder + "/mode", progress=False)
            timings = pathlib.Path(folder, "mode", "timings.jsonl").read_text(encoding="utf-8")
            self.assertNotIn("runs on the CPU", timings)

    def test_precision_fast(self):
        x = values(67, 40)
        net = welvet.Network(SPEC)
        near, exact = (plain(net.session(device="gpu", precision=p).forward(x)) for p in ("fast", "strict"))
        self.assertEqual(exact, plain(net(x)))
        for row, wanted in zip(near, exact):
            for a, b in zip(row, wanted):
                self.assertAlmostEqual(a, b, places=4)
        self.assertIn(welvet.gpu_report()["adapters"][0]["tier"], ("strict-float", "fast"))

    def test_threads_take_turns(self):
        x = values(67, 40)
        wanted = plain(welvet.Network(SPEC)(x))
        got = [None] * 4

        def work(i):
            session = welvet.Network(SPEC).session(device="gpu")
            for _ in range(5):
                got[i] = plain(session.forward(x))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(got))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [wanted] * len(got))


class WithoutACard(unittest.TestCase):
    """One line says what is missing."""

    def test_errors(self):
        net = welvet.Network(SPEC)
        with unittest.mock.patch.dict(os.environ, LOOM_WEBGPU_LIB="/nowhere/lib.so"):
            with self.assertRaises(welvet.LoomError) as caught:
                net.session(device="gpu:9")
            self.assertEqual(caught.exception.code, "IoError")
            self.assertIn("/nowhere/lib.so", caught.exception.text)
            self.assertNotIn("\n", caught.exception.text)
            with self.assertRaises(welvet.LoomError):
                welvet.gpu_report()
        with self.assertRaises(welvet.ArgumentError):
            welvet.Trainer(net, (4, 40), device="tpu")
        with self.assertRaises(TypeError):
            net.session(device=3)
        for device in (None, "cpu"):
            with self.assertRaises(welvet.ArgumentError) as caught:
                net.session(device=device, precision="fast")
            self.assertIn("the CPU is always exact", caught.exception.text)
        with self.assertRaises(ValueError):
            net.session(device="gpu", precision="exact")


if __name__ == "__main__":
    unittest.main()
