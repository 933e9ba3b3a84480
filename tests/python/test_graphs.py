"""welvet's graphs, encoders, adapters, exports and watches over the library that was just built, with numpy and without.

LOOM_PROGRAM names the program, whose `loom run` has to give the same hash."""

import array
import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
if os.environ.get("WELVET_WITHOUT_NUMPY"):
    sys.modules["numpy"] = None  # importing it fails, as where it is not installed

import welvet  # noqa: E402
from welvet import _abi, _native, _tensors  # noqa: E402

np = _tensors.numpy()
DATA = pathlib.Path(os.environ["LOOM_DATA"])
SILERO = DATA / "vad/silero_vad.onnx"
SPEC = {
    "seed": 5,
    "input_shape": [6],
    "layers": [
        {"type": "dense", "input_height": 6, "output_height": 40, "activation": "tanh"},
        {"type": "dense", "input_height": 40, "output_height": 3},
    ],
}


def plain(data):
    return data.tolist() if hasattr(data, "tolist") else data


def wave(count):
    return [(i * 7919 % 201 - 100) / 250 for i in range(count)]


@contextlib.contextmanager
def interrupted(test, name, cancel_of):
    """Ctrl-C while a function of the library runs, and again while it ends; it ends by its cancel, as it should."""
    cancelled, ended, set_cancel = [], [], _native.library.loom_cancel_set

    def set_it(cancel, value):
        cancelled.append(cancel)
        return set_cancel(cancel, value)

    def slow(*args):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            time.sleep(0.01)
            if cancel_of(args) in cancelled:
                break
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        ended.append(name)
        return _abi.CANCELLED

    with (
        unittest.mock.patch.object(_native.library, name, slow),
        unittest.mock.patch.object(_native.library, "loom_cancel_set", set_it),
    ):
        with test.assertRaises(KeyboardInterrupt):
            yield ended
        test.assertEqual(ended, [name])


def silero():
    return {"input": [wave(576)], "state": [[[0.0] * 128]] * 2, "sr": 16000}


class Graphs(unittest.TestCase):
    def setUp(self):
        self.graph = welvet.Graph(SILERO, threads=1)

    def test_a_graph_says_what_it_takes_and_gives(self):
        self.assertEqual([i["name"] for i in self.graph.inputs], ["input", "state", "sr"])
        self.assertEqual(self.graph.inputs[0], {"name": "input", "type": "float32", "shape": ["?", "?"]})
        self.assertEqual(self.graph.outputs[0]["shape"], ["?", 1])
        self.assertIn("sr: int64", repr(self.graph))

    def test_the_hash_is_that_of_loom_run(self):
        out = self.graph(silero())
        self.assertTrue(0 < plain(out["output"])[0][0] < 1)
        self.assertEqual(tuple(out["stateN"].shape), (2, 1, 128))
        with tempfile.TemporaryDirectory() as folder:
            command = [os.environ["LOOM_PROGRAM"], "run", str(SILERO), "--json"]
            for name, value in silero().items():
                path = pathlib.Path(folder, f"{name}.json")
                path.write_text(json.dumps(value))
                command += ["--input", f"{name}={path}"]
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        self.assertEqual(self.graph.hash(), said["hash"])
        again = welvet.Graph.from_bytes(SILERO.read_bytes(), threads=2)
        again(silero())
        self.assertEqual(again.hash(), said["hash"])

    @unittest.skipIf(np is None, "needs numpy")
    def test_arrays_are_read_where_they_lie(self):
        x, state = np.array([wave(576)], np.float32), np.zeros((2, 1, 128), np.float32)
        _, address, size, shape, _ = _tensors.tensor(x, "x", "float32")
        self.assertEqual((address, size, shape), (x.ctypes.data, x.nbytes, x.shape))
        given = {"input": x, "state": state, "sr": np.int64(16000)}
        first = self.graph(given)
        self.graph(
            {**given, "input": x.astype(np.float64), "sr": np.array(16000, np.int32)}
        )  # other types become these
        same = self.graph.hash()
        self.graph(given)
        self.assertEqual(self.graph.hash(), same)
        state[:] = first["stateN"]
        self.graph(given)
        self.assertNotEqual(self.graph.hash(), same)
        del x, state, given  # nothing of a run is read later
        self.graph(silero())
        self.assertEqual(self.graph.hash(), same)
        for wrong, error in (
            (np.array([1j]), TypeError),
            (np.array(["a"]), TypeError),
            (np.array([[2.0**100]]), ValueError),
        ):
            with self.subTest(wrong=wrong), self.assertRaises(error):
                self.graph({**silero(), "input": wrong})
        for wrong in (1.5, np.array([1.0]), [16000.0]):
            with self.subTest(sr=wrong), self.assertRaises(TypeError):
                self.graph({**silero(), "sr": wrong})
        with self.assertRaises(ValueError):
            self.graph({**silero(), "sr": np.array(2**63, np.uint64)})

    @unittest.skipIf(np is None, "needs numpy")
    def test_magika_takes_int32(self):
        graph = welvet.Graph(DATA / "onnx/magika_v3_3.onnx")
        self.assertEqual(graph.inputs[0]["type"], "int32")
        data = np.frombuffer(pathlib.Path(__file__).read_bytes()[:1024], np.uint8)
        padded = np.full((1, 2048), 256, np.int32)
        padded[0, :1024] = data
        out = graph(padded)
        self.assertEqual(list(out), [graph.outputs[0]["name"]])
        self.assertAlmostEqual(float(out[graph.outputs[0]["name"]].sum()), 1, places=3)

    def test_wrong_inputs_are_exceptions_and_leave_it_usable(self):
        self.graph(silero())
        expected = self.graph.hash()
        missing = silero()
        del missing["sr"]
        for wrong in (missing, {**silero(), "sound": [1.0]}, {**silero(), "state": [[[0.0] * 64]] * 2}, [1.0]):
            with self.assertRaises(ValueError):
                self.graph(wrong)
        with self.assertRaises(TypeError):
            self.graph({**silero(), "input": object()})
        with self.assertRaises(welvet.NotFoundError):
            welvet.Graph("nowhere.onnx")
        with self.assertRaises(welvet.LoomError):
            welvet.Graph.from_bytes(b"nothing")
        with self.assertRaises(welvet.LoomError) as raised:
            welvet.Graph(SILERO, max_bytes=4096)(silero())
        self.assertEqual(raised.exception.code, "SizeOverflow")
        self.graph(silero())
        self.assertEqual(self.graph.hash(), expected)
        self.graph.close()
        with self.assertRaises(welvet.LoomError):
            self.graph(silero())

    def test_an_input_that_fails_leaves_none_bound(self):
        with self.assertRaises(TypeError):
            self.graph({"input": [wave(576)], "state": object()})
        with self.assertRaisesRegex(ValueError, "input"):  # it would be read where it was
            self.graph({"state": [[[0.0] * 128]] * 2, "sr": 16000})

    def test_ctrl_c_ends_a_run_before_its_inputs_go(self):
        order, unbind = [], _native.library.loom_graph_session_unbind

        def unbound(session):
            order.extend(ended)
            return unbind(session)

        with (
            interrupted(self, "loom_graph_session_run", lambda args: args[1]) as ended,
            unittest.mock.patch.object(_native.library, "loom_graph_session_unbind", unbound),
        ):
            self.graph(silero())
        self.assertEqual(order, ["loom_graph_session_run"])
        self.assertTrue(0 < plain(self.graph(silero())["output"])[0][0] < 1)

    def test_a_run_like_a_brief_one_takes_no_thread(self):
        calls, long_call = [], _native.long_call

        def counted(call, cancel):
            calls.append(call)
            return long_call(call, cancel)

        with (
            unittest.mock.patch("welvet._native.long_call", counted),
            unittest.mock.patch("welvet.nn.graph._BRIEF", 60),
        ):
            for count, expected in ((576, 1), (576, 1), (288, 2), (288, 2), (576, 3)):
                self.graph({**silero(), "input": [wave(count)]})
                self.assertEqual(len(calls), expected)
        with unittest.mock.patch("welvet._native.long_call", counted), unittest.mock.patch("welvet.nn.graph._BRIEF", 0):
            for expected in (3, 4):  # this run was like a brief one and was none
                self.graph(silero())
                self.assertEqual(len(calls), expected)

    def test_threads_may_share_a_graph(self):
        expected, got = plain(self.graph(silero())["output"]), []

        def run():
            for _ in range(5):
                got.append(plain(self.graph(silero())["output"]))

        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [expected] * 15)


class LongCalls(unittest.TestCase):
    def test_an_interrupted_start_leaves_no_call_behind(self):
        start, ended = threading.Thread.start, []

        def call():
            time.sleep(0.1)
            ended.append(1)

        def begun(thread):
            start(thread)
            time.sleep(0.05)
            raise KeyboardInterrupt

        def never(thread):
            raise KeyboardInterrupt

        for way, expected in ((begun, [1]), (never, [])):
            del ended[:]
            with unittest.mock.patch("threading.Thread.start", way), self.assertRaises(KeyboardInterrupt):
                _native.long_call(call, _native.make(_native.library.loom_cancel_create))
            self.assertEqual(ended, expected)


class Encoders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.encoder = welvet.Encoder(DATA / "minilm", threads=2)

    def test_cosines_are_those_that_sentence_transformers_publishes(self):
        vectors = plain(
            self.encoder.embed(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
        )

        def cosine(a, b):
            return sum(x * y for x, y in zip(vectors[a], vectors[b]))  # their lengths are 1

        self.assertEqual((len(vectors), len(vectors[0])), (3, self.encoder.info["dimensions"]))
        for (a, b), published in (((0, 1), 0.6660), ((0, 2), 0.1046), ((1, 2), 0.1411)):
            self.assertAlmostEqual(cosine(a, b), published, delta=5e-5)
        self.assertEqual(plain(self.encoder.embed("It's so sunny outside!")), vectors[1])

    def test_ctrl_c_ends_a_long_call(self):
        texts = [f"{i}: " + "all work and no play " * 60 for i in range(2000)]
        timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.encoder.embed(texts)
        timer.join()
        self.assertEqual(len(plain(self.encoder.embed("It rains."))), 384)

    def test_a_prompt_is_chosen_by_text_or_by_name(self):
        def vector(text, **options):
            encoder = welvet.Encoder(ROOT / "tests/golden/encoders/prompts", threads=1, **options)
            return list(plain(encoder.embed(text)))

        query, bare = vector("query: hello", prompt=""), vector("hello", prompt="")
        self.assertNotEqual(query, bare)
        self.assertEqual(vector("hello"), query, "the folder's default prompt")
        self.assertEqual(vector("hello", prompt_name="query"), query)
        self.assertEqual(vector("hello", prompt_name="document"), bare)
        self.assertEqual(vector("hello", prompt="query: "), query)
        for options in ({"prompt_name": "passage"}, {"prompt_name": ""}, {"prompt": "a", "prompt_name": "query"}):
            with self.assertRaises(welvet.LoomError, msg=options):
                vector("hello", **options)

    def test_what_is_wrong_is_an_exception(self):
        with self.assertRaises(ValueError):
            self.encoder.embed([])
        with self.assertRaises(ValueError):
            self.encoder.embed("a\0b")
        with self.assertRaises(TypeError):
            self.encoder.embed([3])
        with self.assertRaises(welvet.NotFoundError):
            welvet.Encoder("nowhere/such")
        self.assertEqual(self.encoder.info["pooling"], "mean")
        self.assertEqual(len(self.encoder.tokenizer.encode("It rains.")), 5)


class Files(unittest.TestCase):
    def test_load_finds_out_what_a_file_holds(self):
        net = welvet.Network(SPEC)
        x = [[0.1, -0.2, 0.3, 0.4, -0.5, 0.6]]
        with tempfile.TemporaryDirectory() as folder:
            for name in ("n.entity", "n.json", "n.safetensors", "n.onnx"):
                path = pathlib.Path(folder, name)
                if path.suffix in (".onnx", ".safetensors"):
                    report = welvet.export(net, path)
                    self.assertEqual((report["format"], report["bytes"]), (path.suffix[1:], path.stat().st_size))
                else:
                    net.save(path)
                workers = 1 if path.suffix == ".onnx" else None  # a network's sessions have their own
                found = welvet.load(path, threads=workers)
                if path.suffix != ".onnx":
                    self.assertEqual(found.hash(), net.hash())
                else:
                    self.assertIsInstance(found, welvet.Graph)
                    for a, b in zip(plain(next(iter(found(x).values())))[0], plain(net(x))[0]):
                        self.assertAlmostEqual(a, b, places=5)
                self.assertIs(
                    type(found), type(welvet.load(path.rename(pathlib.Path(folder, "noending")), threads=workers))
                )
                pathlib.Path(folder, "noending").rename(path.with_suffix(".gguf"))
                self.assertIs(type(found), type(welvet.load(path.with_suffix(".gguf"), threads=workers)))
                path.with_suffix(".gguf").rename(path)
            for option in ({"threads": 1}, {"dtype": "int8"}):
                with self.assertRaisesRegex(ValueError, next(iter(option))):
                    welvet.load(pathlib.Path(folder, "n.entity"), **option)
            with self.assertRaisesRegex(ValueError, "lenient"):
                welvet.load(pathlib.Path(folder, "n.onnx"), strict=False)
            with self.assertRaises(welvet.LoomError) as raised:
                welvet.export(net, pathlib.Path(folder, "n.gguf"))
            self.assertEqual(raised.exception.code, "Unsupported")
            copy = pathlib.Path(folder, "copy.onnx")
            self.assertEqual(welvet.export(pathlib.Path(folder, "n.entity"), copy)["format"], "onnx")
            with self.assertRaises(ValueError):
                welvet.export(net, copy, input_shape=7)
        self.assertIsInstance(welvet.load(DATA / "minilm", threads=1), welvet.Encoder)
        found = welvet.load(DATA / "rnn/g2p_en_gru.npz", hints=ROOT / "examples/hints/g2p_encoder.json")
        self.assertIsInstance(found, welvet.Network)
        with self.assertRaises(welvet.NotFoundError):
            welvet.load("nowhere")

    def test_ctrl_c_ends_a_load_and_an_export(self):
        net = welvet.Network(SPEC)
        with interrupted(self, "loom_file_open", lambda args: args[1]._obj.cancel):
            welvet.load(SILERO)
        with interrupted(self, "loom_network_export", lambda args: args[2]._obj.cancel):
            welvet.export(net, "never.onnx")
        with interrupted(self, "loom_file_export", lambda args: args[2]._obj.cancel):
            welvet.export(SILERO, "never.onnx")

    def test_a_language_model_is_loaded_and_exported(self):
        lm = welvet.load(ROOT / "tests/golden/models/llama2_untied", threads=1)
        self.assertIsInstance(lm, welvet.LM)
        with tempfile.TemporaryDirectory() as folder:
            parts = []
            report = welvet.export(lm.path, pathlib.Path(folder, "model"), dtype="bfloat16", progress=parts.append)
            self.assertEqual(report["format"], "huggingface")
            self.assertEqual(parts[-1], 1)
            self.assertEqual(welvet.inspect(pathlib.Path(folder, "model"))["layers"], lm.info["layers"])


def write_adapter(folder, config, seed):
    """An adapter of q_proj in every layer, as PEFT writes it."""
    hidden = config["hidden_size"]
    tensors, data = {}, b""
    for layer in range(config["num_hidden_layers"]):
        for part, shape in (("A", (2, hidden)), ("B", (hidden, 2))):
            numbers = array.array(
                "f", [((i * 7919 + seed * 104729) % 201 - 100) / 300 for i in range(shape[0] * shape[1])]
            )
            name = f"base_model.model.model.layers.{layer}.self_attn.q_proj.lora_{part}.weight"
            tensors[name] = {
                "dtype": "F32",
                "shape": list(shape),
                "data_offsets": [len(data), len(data) + 4 * len(numbers)],
            }
            data += numbers.tobytes()
    head = json.dumps(tensors).encode()
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    (folder / "adapter_config.json").write_text(
        json.dumps(
            {
                "peft_type": "LORA",
                "task_type": "CAUSAL_LM",
                "r": 2,
                "lora_alpha": 64,
                "target_modules": ["q_proj"],
                "bias": "none",
            }
        )
    )


class Adapters(unittest.TestCase):
    def test_each_call_chooses_the_adapters_that_count(self):
        base = ROOT / "tests/golden/models/llama2_untied"
        config = json.loads((base / "config.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            folders = [pathlib.Path(folder, "one"), pathlib.Path(folder, "two")]
            for seed, each in enumerate(folders):
                write_adapter(each, config, seed)
            lm = welvet.LM(base, adapters=folders, threads=1)
            self.assertEqual([(a["name"], a["rank"], a["alpha"]) for a in lm.adapters], [("0", 2, 64), ("1", 2, 64)])

            def hash_of(model, **options):
                return model.generate("ab", form="raw", max_tokens=8, **options).hash

            plain_hash = hash_of(welvet.LM(base, threads=1))
            first, both = hash_of(welvet.LM(base, adapters=folders[:1], threads=1)), hash_of(lm)
            self.assertEqual(len({plain_hash, first, both}), 3)
            self.assertEqual(hash_of(lm, adapters=()), plain_hash)
            self.assertEqual(hash_of(lm, adapters=[0]), first)
            self.assertEqual(hash_of(lm, adapters=["1", 0]), both)
            with self.assertRaises(welvet.NotFoundError):
                hash_of(lm, adapters=[2])
            with self.assertRaises(TypeError):
                welvet.LM(base, adapters=str(folders[0]))
            with self.assertRaises(welvet.LoomError):
                welvet.LM(base, adapters=[folder])


class Watches(unittest.TestCase):
    def test_a_session_and_a_trainer_are_watched(self):
        net, events = welvet.Network(SPEC), []
        session, x = net.session(), [[0.1] * 6] * 2
        session.watch(events.append)
        y = plain(session.forward(x))
        self.assertEqual(
            [(e.event, e.path, e.layer, e.count) for e in events],
            [("forward", "layers.0", "dense", 80), ("forward", "layers.1", "dense", 6)],
        )
        self.assertEqual(plain(events[1].values), [v for row in y for v in row])
        self.assertAlmostEqual(events[1].mean, sum(plain(events[1].values)) / 6, places=6)
        session.watch(None)
        session.forward(x)
        self.assertEqual(len(events), 2)

        def fails(event):
            raise KeyError(event.path)

        session.watch(fails)
        with self.assertRaises(KeyError):
            session.forward(x)
        self.assertEqual(plain(session.forward(x)), y)
        with self.assertRaises(ValueError):
            session.report_to("nonsense")
        session.report_to("tanhi://127.0.0.1:9")
        session.forward(x)
        session.report_to(None)

        del events[:]
        with welvet.Trainer(net, (2, 6), loss="mse") as trainer:
            trainer.watch(events.append)
            trainer.step(x, [[0.0] * 3] * 2)
        self.assertEqual({e.event for e in events}, {"forward", "backward"})
        self.assertEqual(net.blueprint()["layers"][0]["path"], "layers.0")

    def test_what_a_watch_raises_comes_out_of_its_own_call(self):
        net, x, y = welvet.Network(SPEC), [[0.1] * 6] * 2, [[0.0] * 3] * 2

        def fails(event):
            raise KeyError(event.path)

        def failing(name):
            call = getattr(_native.library, name)
            return unittest.mock.patch.object(_native.library, name, lambda *args: call(*args) or _abi.INVALID_STATE)

        with welvet.Trainer(net, (2, 6), loss="mse") as trainer, net.session(backward=True) as session:
            for call, name in (
                (lambda: trainer.evaluate(x, y), "loom_trainer_evaluate"),
                (lambda: trainer.step(x, y), "loom_trainer_step"),
                (lambda: session.backward(y), "loom_network_session_backward"),
            ):
                for way in (contextlib.nullcontext(), failing(name)):  # also where the call fails too
                    session.watch(None)
                    session.forward(x)
                    session.watch(fails)
                    trainer.watch(fails)
                    with self.subTest(name), way, self.assertRaises(KeyError):
                        call()


if __name__ == "__main__":
    unittest.main()
