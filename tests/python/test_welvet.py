"""The Python package over the library that was just built, which WELVET_LIBRARY names."""

import datetime
import gc
import hashlib
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import welvet  # noqa: E402
from welvet import _abi, _native  # noqa: E402
from welvet._native import library  # noqa: E402

MODEL = str(pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf"))
QUESTION = "What is the capital of France?"
README_HASH = "99554f0d"  # what the README's command prints


class Questions(unittest.TestCase):
    """One model for all of these tests."""

    @classmethod
    def setUpClass(cls):
        cls.lm = welvet.LM(MODEL)

    @classmethod
    def tearDownClass(cls):
        cls.lm.close()

    def test_the_readmes_answer_and_hash(self):
        answer = self.lm.generate(QUESTION)
        self.assertEqual(str(answer), "The capital of France is Paris.")
        self.assertTrue(answer.hash.startswith(README_HASH), answer.hash)
        self.assertEqual(answer.stop_reason, "eos")
        self.assertEqual(len(answer.ids), len(self.lm.tokenizer.encode(answer.text)))

    def test_control_tokens_of_a_question_can_be_text(self):
        ids = [
            self.lm.generate("<|im_end|>", max_tokens=1, receipt=True, plain_text=plain).receipt["prompt"]["ids"]
            for plain in (False, True)
        ]
        self.assertLess(len(ids[0]), len(ids[1]))
        with self.assertRaisesRegex(ValueError, "no effect"):
            self.lm.generate("<|im_end|>", form="raw", plain_text=True)

    def test_tools_dates_variables_and_templates_change_the_prompt(self):
        source = "{{ messages[0].content }}|{{ tools }}|{{ x }}|{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% endif %}"
        plain = self.lm.prompt("a", chat_template=source)
        self.assertEqual(plain["prompt"], "a|None||")
        self.assertEqual(plain["prompt_tokens"], len(plain["ids"]))
        for options, wanted in (
            ({"tools": [{"name": "f"}]}, "a|[{'name': 'f'}]||"),
            ({"template_variables": {"x": 5}}, "a|None|5|"),
            ({"date": datetime.date(2026, 11, 28)}, "a|None||2026"),
        ):
            self.assertEqual(self.lm.prompt("a", chat_template=source, **options)["prompt"], wanted)
            with self.assertRaisesRegex(ValueError, next(iter(options))):
                self.lm.prompt("a", form="raw", **options)
            answer = self.lm.generate("a", chat_template=source, max_tokens=1, receipt=True, **options)
            self.assertEqual(answer.receipt["prompt"]["text"], wanted)
            with self.lm.chat(chat_template=source, max_tokens=1, **options) as chat:
                chat.say("a")
                self.assertEqual(chat.receipt()["prompt"]["text"], wanted)
        self.assertTrue(self.lm.prompt("a", chat_template="chatml")["prompt"].startswith("<|im_start|>user\na"))
        messages = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "1 2 3"}]
        self.assertTrue(self.lm.prompt(messages, continue_final_message=True)["prompt"].endswith("1 2 3"))
        self.assertTrue(
            self.lm.generate(messages, continue_final_message=True, max_tokens=4).text.strip().startswith("4")
        )

    def test_a_prompt_of_more_than_four_contexts_is_refused_before_all_of_it_is_encoded(self):
        with welvet.LM(MODEL, context=16) as small, self.assertRaisesRegex(welvet.LoomError, "more than 64 tokens"):
            small.generate("a b " * 1000, form="raw")

    def test_a_receipt_proves_an_answer(self):
        answer = self.lm.generate(QUESTION, receipt=True, max_tokens=8, temperature=0.5, seed=2**64 - 1)
        self.assertIsNone(self.lm.generate(QUESTION, max_tokens=1).receipt)
        self.assertEqual(answer.receipt["result"]["ids"], answer.ids)
        self.assertEqual(answer.receipt["generation"]["seed"], str(2**64 - 1))
        self.assertEqual(answer.receipt["model"]["sha256"], welvet.content_hash(MODEL))
        self.assertEqual(welvet.replay_receipt(answer.receipt)["difference"], None)
        forged = {**answer.receipt, "result": {**answer.receipt["result"], "text": "no"}}
        self.assertIn("was changed", welvet.replay_receipt(forged)["difference"])
        with tempfile.TemporaryDirectory() as folder, self.lm.chat(max_tokens=4) as chat:
            with self.assertRaises(welvet.LoomError):
                chat.receipt()
            chat.say("Hello")
            path = pathlib.Path(folder, "receipt.json")
            path.write_text(json.dumps(chat.receipt()))
            self.assertTrue(welvet.replay_receipt(path)["equal"])
            with self.assertRaises(welvet.NotFoundError):
                welvet.replay_receipt(path, model=pathlib.Path(folder, "none.gguf"))

    def test_a_stream_joins_to_the_answer_and_may_be_left(self):
        stream = self.lm.stream(QUESTION)
        self.assertEqual("".join(stream), self.lm.generate(QUESTION).text)
        self.assertEqual("".join(stream), "")
        with self.lm.stream(QUESTION) as left:
            next(left)
        with self.assertRaises(welvet.LoomError):
            next(left)

    def test_an_answer_of_a_chat_may_be_left(self):
        with self.lm.chat() as chat:
            stream = chat.stream(QUESTION)
            begun = next(stream)
            stream.close()
            stream.close()
            with self.assertRaises(welvet.LoomError) as wrong:
                next(stream)
            self.assertEqual(wrong.exception.code, "BadHandle")
            self.assertTrue(chat.messages[-1]["content"].startswith(begun.strip()), chat.messages)
            self.assertIn("Paris", str(chat.say(QUESTION)))

    def test_ctrl_c_in_say_keeps_the_half_answer_and_the_chat(self):
        chat = self.lm.chat(max_tokens=2000)
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        for after in (0.05, 0.6):
            signal.setitimer(signal.ITIMER_REAL, after)
            with self.assertRaises(KeyboardInterrupt):
                chat.say("Write a very long story about the sea.")
        self.assertEqual([m["role"] for m in chat.messages], ["user", "assistant"] * 2)
        self.assertIn("Paris", str(chat.say(QUESTION)))

    def test_a_dropped_answer_ends_and_its_half_stays(self):
        chat, said = self.lm.chat(max_tokens=2000), ""
        for piece in chat.stream("Write a very long story about the sea."):
            said += piece
            if len(said) > 20:
                break
        gc.collect()  # PyPy drops the stream when it collects
        self.assertTrue(chat.messages[-1]["content"].startswith(said.strip()), chat.messages)
        chat.rewind(0)
        self.assertIn("Paris", str(chat.say(QUESTION)))

    def test_a_question_is_undone_with_its_answer(self):
        chat = self.lm.chat(system="You are brief.", max_tokens=3)
        with self.assertRaises(IndexError):
            chat.undo()
        first = str(chat.say(QUESTION))
        chat.say("And of Spain?")
        self.assertEqual(chat.undo(), "And of Spain?")
        self.assertEqual([m["role"] for m in chat.messages], ["system", "user", "assistant"])
        self.assertEqual(chat.undo(), QUESTION)
        self.assertEqual([m["content"] for m in chat.messages], ["You are brief."])
        self.assertEqual(str(chat.say(QUESTION)), first)
        held = chat.stream("Write a very long story about the sea.")
        next(held)
        self.assertEqual(chat.undo(), "Write a very long story about the sea.")  # an answer that runs ends
        self.assertEqual(len(chat.messages), 3)

    def test_the_next_message_ends_an_answer_that_somebody_still_holds(self):
        chat = self.lm.chat(max_tokens=2000)
        held = chat.stream("Write a very long story about the sea.")
        next(held)
        with self.assertRaisesRegex(welvet.LoomError, "an answer runs"):
            chat.rewind(0)
        self.assertIn("Paris", str(chat.say(QUESTION)))
        self.assertEqual(len(chat.messages), 4)
        with self.assertRaises(welvet.LoomError):
            next(held)
        held = chat.stream("Write a very long story about the sea.")
        next(held)
        chat.stop()
        self.assertEqual(len(chat.messages), 6)
        del held
        chat.close()

    def test_options_reach_the_sampler(self):
        options = {"max_tokens": 16, "temperature": 0.9, "top_p": 0.95, "form": "raw"}
        one, same, other = (self.lm.generate("Once", seed=s, **options) for s in (1, 1, 2))
        self.assertEqual(one.hash, same.hash)
        self.assertNotEqual(one.ids, other.ids)
        self.assertEqual(one.stop_reason, "length")
        self.assertEqual(self.lm.generate(QUESTION, stop="France").text, "The capital of ")
        self.assertEqual(self.lm.generate(QUESTION, stop=["Paris", "is"]).stop_reason, "stop")

    def test_no_tokens_reads_the_prompt_alone(self):
        none = self.lm.generate(QUESTION, max_tokens=0, receipt=True)
        self.assertEqual((none.text, none.ids, none.stop_reason), ("", [], "length"))
        self.assertGreater(none.prompt_tokens, 0)
        self.assertNotEqual(none.hash, self.lm.generate("Who?", max_tokens=0).hash)
        self.assertTrue(welvet.replay_receipt(none.receipt)["equal"])
        with self.lm.chat(max_tokens=0) as chat:
            self.assertEqual(chat.say(QUESTION).text, "")

    def test_biases_stop_ids_and_logprobs_reach_the_sampler(self):
        plain = self.lm.generate(QUESTION, logprobs=3)
        self.assertEqual([best["id"] for best in plain.logprobs], plain.ids)
        self.assertTrue(all(best["top"][0]["id"] == best["id"] and len(best["top"]) == 3 for best in plain.logprobs))
        self.assertIsNone(self.lm.generate(QUESTION, max_tokens=1).logprobs)
        paris = self.lm.tokenizer.encode(" Paris")[0]
        for bias in (-100.0, float("-inf")):
            other = self.lm.generate(QUESTION, logit_bias={paris: bias}, receipt=True, max_tokens=8)
            self.assertNotIn(paris, other.ids)
            self.assertTrue(welvet.replay_receipt(other.receipt)["equal"], bias)
        liked = self.lm.generate(QUESTION, logit_bias={paris: 1e9}, max_tokens=3)
        self.assertEqual(liked.ids, [paris] * 3)
        ended = self.lm.generate(QUESTION, stop_ids=[paris], receipt=True)
        self.assertEqual((ended.text, ended.stop_reason), ("The capital of France is", "eos"))
        self.assertTrue(welvet.replay_receipt(ended.receipt)["equal"])
        with self.lm.chat(logprobs=1, logit_bias={paris: -100}, max_tokens=8) as chat:
            answer = chat.say(QUESTION)
            self.assertNotIn(paris, answer.ids)
            self.assertEqual([best["id"] for best in answer.logprobs], answer.ids)

    def test_answers_satisfy_their_form(self):
        schema = {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}},
            "required": ["n"],
            "additionalProperties": False,
        }
        for given in (schema, json.dumps(schema)):
            self.assertIn(json.loads(self.lm.generate(QUESTION, schema=given).text)["n"], range(1, 10))
        self.assertRegex(self.lm.generate(QUESTION, regex="[0-9]{3}").text, r"^[0-9]{3}$")
        self.assertIn(self.lm.generate(QUESTION, choices=["Rome", "Paris"]).text, ("Rome", "Paris"))
        self.assertEqual(self.lm.generate(QUESTION, grammar='root ::= "xyz"').text, "xyz")
        cut = self.lm.generate(QUESTION, regex="[0-9]{40}", max_tokens=2)
        self.assertEqual((cut.stop_reason, len(cut.ids)), ("length", 2))
        for options, place in (
            ({"regex": "("}, "byte 0"),
            ({"regex": r"(a)\1"}, "back reference"),
            ({"schema": {"properties": {"a": {"not": {}}}}}, "/properties/a/not"),
            ({"schema": "{"}, "schema"),
            ({"grammar": "root ::= x"}, "rule x"),
            ({"choices": []}, "choices"),
            ({"choices": [""]}, "choice 0"),
            ({"regex": "a", "choices": ["a"]}, "more than one"),
        ):
            with self.assertRaises(ValueError, msg=str(options)) as wrong:
                self.lm.generate(QUESTION, **options)
            self.assertIn(place, str(wrong.exception))

    def test_a_model_from_bytes_answers_the_same(self):
        data = pathlib.Path(MODEL).read_bytes()
        expected = self.lm.generate(QUESTION).hash
        for given in (data, memoryview(data)):
            with welvet.LM.from_bytes(given, threads=1) as lm:
                self.assertEqual(lm.generate(QUESTION).hash, expected)
        for wrong in (b"", b"GGUF", data[:1000]):
            with self.assertRaises(welvet.LoomError):
                welvet.LM.from_bytes(wrong)
        for wrong in ("model.gguf", 3, None):
            with self.assertRaises(TypeError):
                welvet.LM.from_bytes(wrong)

    def test_a_folder_in_memory_is_the_folder_on_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            welvet.export(MODEL, folder + "/model", dtype="float16")
            names = os.listdir(folder + "/model")
            files = {name: pathlib.Path(folder, "model", name).read_bytes() for name in names}
            with welvet.LM(folder + "/model") as on_disk, welvet.LM.from_bytes(files) as in_memory:
                self.assertEqual(
                    in_memory.generate(QUESTION, max_tokens=4).hash, on_disk.generate(QUESTION, max_tokens=4).hash
                )
        self.assertIn("config.json", files)
        for extra in ("pytorch_model.bin", "model-00002-of-00002.safetensors"):
            with self.assertRaisesRegex(ValueError, extra):
                welvet.LM.from_bytes({**files, extra: b"x"})
        for missing in ("config.json", *[n for n in files if n.endswith(".safetensors")]):
            with self.assertRaises(welvet.NotFoundError):
                welvet.LM.from_bytes({name: content for name, content in files.items() if name != missing})

    def test_wrong_arguments_are_exceptions(self):
        for options in (
            {"temperature": -1.0},
            {"top_p": 2.0},
            {"form": "poem"},
            {"stop": [""]},
            {"top_k": 2**32},
            {"max_tokens": -1},
            {"logit_bias": {-1: 1}},
            {"logit_bias": {2**30: 1}},
            {"stop_ids": [-1]},
            {"stop_ids": [2**30]},
            {"logit_bias": {1: float("nan")}},
            {"logprobs": -1},
            {"seed": -1},
            {"top_p": 0},
            {"repetition_window": 0},
            {"top_k": 40},
            {"top_p": 0.9},
            {"min_p": 0.1},
            {"typical_p": 0.9},
            {"seed": 7},
            {"repetition_window": 8},
            {"choices": ["yes", "no"], "stop": "e"},
        ):
            with self.assertRaises(ValueError, msg=str(options)):
                self.lm.generate(QUESTION, **options)
        with self.assertRaises(TypeError):
            self.lm.generate(QUESTION, stop=[3])
        with self.assertRaises(welvet.ArgumentError) as wrong:
            self.lm.generate(QUESTION, min_p=2.0)
        self.assertEqual(pickle.loads(pickle.dumps(wrong.exception)).code, "InvalidArgument")
        for value in (self.lm, self.lm.tokenizer, self.lm.stream(QUESTION)):
            with self.assertRaises(TypeError):
                pickle.dumps(value)
        for prompt in (None, 3):
            with self.assertRaises(TypeError):
                self.lm.generate(prompt)
        with self.assertRaises(ValueError):
            self.lm.tokenizer.decode([2**32 + 300])
        for ids in ([-1], [1, 10**6]):
            with self.assertRaisesRegex(
                welvet.LoomError, rf"ids\[{len(ids) - 1}\] is {ids[-1]}, outside the vocabulary"
            ):
                self.lm.tokenizer.decode(ids)
        with self.assertRaisesRegex(TypeError, "system is an option of chat"):
            self.lm.generate(QUESTION, system="Be brief.")
        with self.assertRaisesRegex(TypeError, "temprature is no option of an answer"):
            self.lm.generate(QUESTION, temprature=1)
        with self.assertRaisesRegex(ValueError, "top_k has no effect at temperature 0"):
            self.lm.generate(QUESTION, top_k=40)
        for options, line in (
            ({"temperature": "hot"}, "temperature must be a number, not str"),
            ({"max_tokens": 1.5}, "max_tokens must be a whole number, not float"),
        ):
            with self.assertRaisesRegex(TypeError, line):
                self.lm.generate(QUESTION, **options)
        for options, line in (
            ({"stop_ids": 3}, "stop_ids must be a list of token ids, not int"),
            ({"stop_ids": "eos"}, "stop_ids must be a list of token ids, not str"),
            ({"stop": 3}, "stop must be a text or a list of texts, not int"),
            ({"logit_bias": [1]}, "logit_bias must be a dict from token id to number, not list"),
            ({"logit_bias": {1: "x"}}, "a logit_bias must be a number, not str"),
            ({"adapters": 0}, "adapters must be a list of numbers or names, not int"),
            ({"adapters": "0"}, "adapters must be a list of numbers or names, not str"),
            ({"ignore_eos": "no"}, "ignore_eos must be True or False, not str"),
            ({"plain_text": []}, "plain_text must be True or False, not list"),
            ({"chat_template": 3}, "chat_template must be a text, not int"),
            ({"tools": 3}, "tools must be a list of dicts, not int"),
            ({"template_variables": [1]}, "template_variables must be a dict from name to value, not list"),
            ({"date": 20261128}, "date must be a datetime.date or a text, as 2026-11-28, not int"),
            ({"continue_final_message": "no"}, "continue_final_message must be True or False, not str"),
            ({"seed": None}, "seed must be a whole number, not NoneType"),
        ):
            with self.assertRaisesRegex(TypeError, line):
                self.lm.generate(QUESTION, **options)
        for call, line in (
            (lambda: self.lm.generate(3), "prompt must be a text or a list of token ids, not int"),
            (lambda: self.lm.prompt([1, 2]), "prompt must be a text or a list of dicts with role and content"),
            (lambda: self.lm.logits(3), "prompt must be a text or a list of token ids, not int"),
            (lambda: self.lm.chat().say(None), "text must be a text or bytes, not NoneType"),
            (lambda: self.lm.chat(3), "system must be a text, not int"),
            (lambda: self.lm.render_chat("Hi"), "messages must be a list of dicts with role and content, not str"),
            (lambda: setattr(self.lm.chat(), "messages", "Hi"), "messages must be a list of dicts"),
            (lambda: self.lm.tokenizer.decode(3), "ids must be a list of token ids, not int"),
            (lambda: self.lm.tokenizer.decode("3"), "ids must be a list of token ids, not str"),
            (lambda: self.lm.session(int8_activations="no"), "int8_activations must be True or False, not str"),
            (lambda: self.lm.session(sequences=1.5), "sequences must be a whole number, not float"),
            (lambda: welvet.LM(MODEL, adapters="folder"), "adapters must be a list of folders, not str"),
            (lambda: welvet.LM(MODEL, progress=3), "progress must be a function or None, not int"),
        ):
            with self.assertRaisesRegex(TypeError, line):
                call()
        for name in (3, None, b"model.gguf"):
            with self.assertRaisesRegex(TypeError, f"as a text: not {type(name).__name__}"):
                welvet.LM(name)
        with self.assertRaisesRegex(ValueError, "NUL"):
            welvet.LM("model\0.gguf")
        for name in ("nowhere.gguf", "n" * 5000, "-c"):
            with self.assertRaises(FileNotFoundError):
                welvet.LM(name)
        with self.assertRaisesRegex(FileNotFoundError, "loom pull some/model"):
            welvet.LM("some/model")
        for name in ("some:model", "some/model:", "some/model/x:Q8_0"):
            with self.assertRaises(FileNotFoundError):
                welvet.LM(name)
        with self.assertRaisesRegex(TypeError, "download must be True or False, not str"):
            welvet.LM("some/model", download="no")
        with self.assertRaises(welvet.LoomError) as wrong:
            welvet.LM(__file__)
        self.assertEqual(wrong.exception.code, "Unsupported")

    def test_a_model_is_fetched_by_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            program = work / "loom"
            changed = {"HF_HUB_CACHE": str(work / "hub"), "LOOM_PROGRAM": str(program)}

            def answers(script):
                program.write_text("#!/bin/sh\n" + script)
                program.chmod(0o755)

            with unittest.mock.patch.dict(os.environ, changed), unittest.mock.patch("sys.stderr", None):
                with self.assertRaises(welvet.LoomError) as none:
                    welvet.LM("org/model", download=True)
                self.assertEqual(none.exception.code, "Unsupported")
                self.assertIn("build it with ./run", none.exception.text)
                answers(f'echo "$@" > {work}/asked; echo {MODEL}\n')
                welvet.LM("org/model:Q4_1", download=True)
                self.assertEqual((work / "asked").read_text(), "pull org/model:Q4_1 --quiet\n")
                for script, kind, code in (
                    ('echo "loom: org/model: status 404, not found" >&2; exit 3', welvet.NotFoundError, "NotFound"),
                    ('echo "loom: no connection: x" >&2; exit 3', welvet.LoomError, "IoError"),
                    ("exit 1", welvet.LoomError, "IoError"),
                    ("exit 130", KeyboardInterrupt, None),
                ):
                    answers(script)
                    with self.assertRaises(kind) as failed:
                        welvet.LM("org/model", download=True)
                    if code:
                        self.assertEqual(failed.exception.code, code)
                        self.assertNotIn("loom: ", failed.exception.text)
                # what the cache has is not fetched
                snapshot = work / "hub/models--org--model/snapshots/abc"
                snapshot.mkdir(parents=True)
                (snapshot / "model-Q4_1.gguf").symlink_to(MODEL)
                (snapshot / "model-Q8_0.gguf").write_bytes(b"no")
                answers("exit 1")
                for name in ("org/model:Q4_1", "org/model:model-Q4_1.gguf"):
                    welvet.LM(name, download=True)
                with self.assertRaisesRegex(ValueError, "several|2 GGUF"):
                    welvet.LM("org/model")
                with self.assertRaises(FileNotFoundError):
                    welvet.LM("org/model:K_M")

    def test_a_load_that_is_told_to_stop_stops(self):
        seen = []
        with self.assertRaises(welvet.CancelledError):
            welvet.LM(MODEL, progress=lambda fraction: seen.append(fraction) or False)
        self.assertEqual(len(seen), 1)
        with self.assertRaises(ZeroDivisionError):
            welvet.LM(MODEL, progress=lambda fraction: 1 / 0)

    def test_a_load_shows_a_bar(self):
        class Bar:
            n, closed = 0.0, False

            def update(self, step):
                assert step >= 0
                self.n += step

            def close(self):
                self.closed = True

        bar = Bar()
        with unittest.mock.patch("welvet._native.bar", lambda **_: bar):
            welvet.LM(MODEL, progress=True)
        self.assertAlmostEqual(bar.n, 1)
        self.assertTrue(bar.closed)

    def test_threads_share_a_model(self):
        expected, answers = self.lm.generate(QUESTION).hash, []
        threads = [threading.Thread(target=lambda: answers.append(self.lm.generate(QUESTION).hash)) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(answers, [expected] * 3)

    def test_threads_may_share_a_stream(self):
        expected, pieces = self.lm.generate("Once", form="raw", max_tokens=60).text, []
        stream = self.lm.stream("Once", form="raw", max_tokens=60)
        threads = [threading.Thread(target=lambda: pieces.extend(stream)) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted("".join(pieces)), sorted(expected))

    def test_ctrl_c_ends_a_load_and_loses_no_text(self):
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            welvet.LM(MODEL, dtype="float64")  # a second and more
        self.assertLess(time.monotonic() - begin, 20)
        expected, text = self.lm.generate("Once", form="raw", max_tokens=60).text, ""
        stream, ended = self.lm.stream("Once", form="raw", max_tokens=60), False
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.03)
        while not ended:
            try:
                for piece in stream:
                    text += piece
                signal.setitimer(signal.ITIMER_REAL, 0)
                ended = True
            except KeyboardInterrupt:
                pass
        self.assertLessEqual(abs(len(expected) - len(text)), 40)  # an interrupt may also come behind the iterator

    def test_tokens(self):
        t = self.lm.tokenizer
        self.assertEqual(t.decode(t.encode("Grüße, 世界!")), "Grüße, 世界!")
        self.assertEqual(t.encode(b"\xff\xfe"), t.encode("\udcff\udcfe"))
        self.assertEqual(t.encode("<|im_end|>"), [t.id_of("<|im_end|>")])
        self.assertGreater(len(t.encode("<|im_end|>", parse_special=False)), 1)
        self.assertIsNone(t.id_of("no such token"))
        self.assertEqual(len(t), 49152)

    def test_a_file_that_is_not_there_is_no_hub_id(self):
        for name in ("nothere.gguf", "folder/model.safetensors", "m.entity"):
            with self.assertRaises(welvet.NotFoundError) as caught:
                welvet.LM(name)
            self.assertNotIn("download", str(caught.exception))

    def test_logits_and_perplexity(self):
        text = "The capital of France is"
        logits = list(self.lm.logits(text))
        self.assertEqual(len(logits), len(self.lm.tokenizer))
        first = self.lm.generate(text, form="raw", max_tokens=1).ids[0]
        self.assertEqual(logits.index(max(logits)), first)
        self.assertEqual(list(self.lm.logits(self.lm.tokenizer.encode(text))), logits)
        scored = self.lm.perplexity("The old clock of the tower struck twelve. " * 20, window=64, max_windows=2)
        self.assertEqual((scored["windows"], len(scored["window_nll"])), (2, 2))
        self.assertGreater(scored["perplexity"], 1)
        self.assertEqual(self.lm.generate(text, stop=None, max_tokens=2).stop_reason, "length")

    def test_errors_are_those_of_the_docstrings(self):
        chat, session = self.lm.chat(max_tokens=1), self.lm.session(context=16)
        for expected, call in (
            (ValueError, lambda: chat.edit(9, "x")),
            (ValueError, lambda: chat.rewind(9)),
            (welvet.NotFoundError, lambda: chat.load("nothing")),
            ("CorruptData", lambda: chat.load(__file__)),
            ("InvalidState", chat.receipt),
            ("InvalidState", self.lm.stream(QUESTION).receipt),
            ("ContextFull", lambda: session.generate("a b " * 20, form="raw")),
            (ValueError, lambda: session.rewind(4)),
            ("CorruptData", lambda: session.restore(b"nothing")),
            (welvet.NotFoundError, lambda: session.choose_adapters([3])),
            ("CorruptData", lambda: welvet.replay_receipt({})),
            (welvet.NotFoundError, lambda: welvet.content_hash("nothing")),
            (welvet.NotFoundError, lambda: welvet.Tokenizer.open("nothing")),
            ("CorruptData", lambda: welvet.Tokenizer.open(__file__)),
            ("Unsupported", lambda: welvet.convert(__file__, "nothing.entity")),
            ("CorruptData", lambda: welvet.Graph(__file__)),
        ):
            with self.assertRaises(welvet.LoomError if isinstance(expected, str) else expected) as wrong:
                call()
            if isinstance(expected, str):
                self.assertEqual(wrong.exception.code, expected)

    def test_no_file_is_converted_onto_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            path, link = os.path.join(folder, "model.gguf"), os.path.join(folder, "link.gguf")
            shutil.copy(MODEL, path)
            os.symlink(path, link)
            before = welvet.content_hash(path)
            for call in (
                lambda: welvet.quantize(path, path, "q8_0"),
                lambda: welvet.quantize(link, path, "q8_0"),
                lambda: welvet.convert(path, link),
                lambda: welvet.export(path, path),
            ):
                with self.assertRaisesRegex(ValueError, r"\.gguf: this file is read; give the output another name"):
                    call()
            self.assertEqual(welvet.content_hash(path), before)

    def test_a_session_reads_once_and_answers_often(self):
        text = "The capital of France is"
        with self.lm.session(sequences=2) as session:
            self.assertIsInstance(session, welvet.lm.Session)
            self.assertEqual(session.info["sequences"], 2)
            logits = session.feed(text)
            self.assertEqual(list(logits), list(self.lm.logits(text)))
            ids = self.lm.tokenizer.encode(text)
            self.assertEqual(session.tokens(), ids)
            self.assertEqual(list(session.feed(ids[:2], 1)), list(self.lm.logits(ids[:2])))
            self.assertEqual(list(session.feed(ids[2:], sequence=1)), list(logits))
            following = session.logits(" Paris")
            self.assertEqual(session.tokens(), ids)
            self.assertEqual(list(following), list(self.lm.logits(text + " Paris")))
            expected = self.lm.generate(text + " the", form="raw", max_tokens=6, receipt=True)
            answer = session.generate(" the", form="raw", max_tokens=6)
            self.assertEqual((answer.ids, answer.hash), (expected.ids, expected.hash))
            self.assertEqual(session.tokens()[: len(ids)], ids)
            session.rewind(len(ids))
            self.assertEqual("".join(session.stream(self.lm.tokenizer.encode(" the"), max_tokens=6)), expected.text)
            session.reset(0)
            self.assertEqual((session.tokens(0), session.tokens(1)), ([], ids))
            session.fork(1, 0)
            self.assertEqual(session.tokens(0), ids)
            session.reset()
            self.assertEqual((session.tokens(0), session.tokens(1)), ([], []))
            self.assertEqual(session.generate(QUESTION).text, "The capital of France is Paris.")

    def test_the_state_of_a_session_is_saved_and_loaded(self):
        text = "The capital of France is"
        with tempfile.TemporaryDirectory() as folder, self.lm.session() as one, self.lm.session(sequences=2) as other:
            path = pathlib.Path(folder, "france.session")
            one.feed(text)
            one.save(path)
            self.assertEqual(os.listdir(folder), ["france.session"])
            other_file = pathlib.Path(folder, "other")
            other_file.touch()
            self.assertEqual(path.stat().st_mode, other_file.stat().st_mode)
            other.load(path, sequence=1)
            self.assertEqual(other.tokens(1), one.tokens())
            self.assertEqual(list(other.feed(" Paris", 1)), list(one.feed(" Paris")))
            other.restore(one.snapshot())
            self.assertEqual(other.tokens(), one.tokens())
            path.write_bytes(path.read_bytes()[:-1])
            with self.assertRaises(welvet.LoomError):
                other.load(path)
            with self.assertRaises(FileNotFoundError):
                other.load(pathlib.Path(folder, "none"))
            with self.assertRaises(FileNotFoundError):
                one.save(pathlib.Path(folder, "none", "file"))
            letter = pathlib.Path(folder, "letter")
            welvet.Network({"layers": [{"type": "dense", "in_features": 2, "out_features": 1}]}).save(letter)
            for text in (b"Dear Sir", letter.read_bytes()):
                letter.write_bytes(text)
                with self.assertRaisesRegex(ValueError, "letter: exists and is no snapshot; not overwritten"):
                    one.save(letter)
                self.assertEqual(letter.read_bytes(), text)
            one.save(letter, overwrite=True)
            one.save(letter)
            other.load(letter)
        with self.assertRaises(welvet.LoomError):
            one.tokens()

    def test_options_of_a_session_are_read(self):
        with self.lm.session(threads=1, context=32, kv_dtype="int8", int8_activations=True, isa="scalar") as session:
            info = session.info
            self.assertEqual(
                (info["threads"], info["context_tokens"], info["activations"], info["isa"]), (1, 32, "int8", "scalar")
            )
            with self.lm.session() as plain:
                self.assertLess(info["token_bytes"], plain.info["token_bytes"])
                self.assertNotEqual(list(session.feed("Once upon")), list(plain.feed("Once upon")))
            self.assertIn("2 tokens>", repr(session))
            with self.assertRaisesRegex(welvet.LoomError, "ContextFull"):
                session.feed([1] * 40)
            with self.assertRaises(ValueError):
                session.feed([2**30])
            self.assertEqual(len(session.tokens()), 2)
            with self.assertRaises(ValueError):
                session.feed("x", sequence=1)
        for wrong in ({"device": "nowhere"}, {"precision": "exact"}, {"sequences": 0}, {"kv_dtype": "int5"}):
            with self.assertRaises(ValueError, msg=str(wrong)):
                self.lm.session(**wrong)
        with self.assertRaises(welvet.NotFoundError):
            self.lm.session(adapters=[0])
        for options in (
            {"form": "chat"},
            {"plain_text": True},
            {"tools": [{}]},
            {"date": "2026-11-28"},
            {"chat_template": "chatml"},
            {"template_variables": {"x": 1}},
            {"continue_final_message": True},
        ):
            with self.assertRaisesRegex(ValueError, f"^{next(iter(options))} has no effect on token ids"):
                self.lm.session().generate([1, 2], **options)

    def test_objects_say_what_they_are(self):
        self.assertRegex(repr(self.lm), "<welvet.LM .*Q4_1.gguf: gguf, 30 layers of 576, 49152 tokens>")
        with self.lm.chat("Be brief.") as chat:
            self.assertIn("<welvet.Chat 1 message, <welvet.LM", repr(chat))
        self.assertEqual(repr(chat), "<welvet.Chat, closed>")

    def test_chats_are_rendered(self):
        text = self.lm.render_chat([{"role": "user", "content": "Hi"}])
        self.assertTrue(text.endswith("<|im_start|>assistant\n"), text)
        with self.assertRaises(ValueError):
            self.lm.render_chat([{"role": "user"}])

    def test_speculation_gives_the_same_answer(self):
        prompt = (
            "Repeat this sentence: The old clock of the tower struck twelve, and the old clock of the church answered."
        )
        plain, told = (self.lm.generate(prompt, max_tokens=40, speculate=s) for s in (None, "ngram"))
        self.assertEqual((told.ids, told.hash, str(told)), (plain.ids, plain.hash, str(plain)))
        self.assertEqual((plain.drafted, plain.accepted, plain.passes), (0, 0, 0))
        self.assertGreater(told.accepted, 5)
        with self.lm.chat(speculate="ngram") as chat:
            self.assertEqual(chat.say(prompt).text, self.lm.chat().say(prompt).text)
        own = self.lm.generate(prompt, max_tokens=40, speculate=self.lm)
        self.assertEqual(own.hash, plain.hash)
        for wrong in ("bigram", 1, True):
            with self.assertRaises(ValueError):
                self.lm.generate(prompt, speculate=wrong)

    def test_what_is_known_of_a_model(self):
        self.assertEqual(self.lm.info["layers"], 30)
        self.assertTrue(self.lm.info["has_chat_template"])


class Snippets(unittest.TestCase):
    """The programs that a newcomer's first minute consists of, as they stand."""

    def run_program(self, text, folder):
        environment = {**os.environ, "HF_HUB_CACHE": folder, "PYTHONPATH": str(ROOT / "python")}
        return subprocess.run(
            [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=300
        )

    def test_a_hub_id_is_found_in_the_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            snapshot = pathlib.Path(folder, "models--HuggingFaceTB--SmolLM2-360M-Instruct", "snapshots", "abc")
            snapshot.mkdir(parents=True)
            (snapshot / "model.gguf").symlink_to(MODEL)
            done = self.run_program(
                'import welvet\nwelvet.Transformer.load_model("HuggingFaceTB/SmolLM2-360M-Instruct")\n'
                'welvet.Transformer.generate("Once upon a time")\n',
                folder,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            done = self.run_program(
                "from welvet import Transformer\n"
                'Transformer.load_tokenizer("HuggingFaceTB/SmolLM2-360M-Instruct")\n'
                'Transformer.load_model("HuggingFaceTB/SmolLM2-360M-Instruct")\n'
                f'result = Transformer.generate("{QUESTION}", max_tokens=50)\nprint(result.text)\n'
                'for token in Transformer.generate_stream("Once upon a time", max_tokens=10):\n'
                "    print(token, end='', flush=True)\n",
                folder,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith("The capital of France is Paris.\n"), done.stdout)

    def test_the_example_tells_another_package_of_the_name(self):
        example = ROOT / "examples" / "python" / "ask.py"
        done = subprocess.run(
            [sys.executable, str(example), MODEL],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            timeout=300,
        )
        self.assertIn(f"The capital of France is Paris.\nhash {README_HASH}", done.stdout, done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "welvet.py").write_text("")
            done = subprocess.run(
                [sys.executable, str(example), MODEL],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": folder},
                timeout=300,
            )
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (1, "", 1))
        self.assertIn("is another project named welvet", done.stderr)

    def test_without_a_model_one_line_says_what_to_do(self):
        done = self.run_program('import welvet\nwelvet.Transformer.generate("x")\n', "/")
        self.assertIn("call Transformer.load_model", done.stderr.splitlines()[-1])

    def test_a_program_may_end_in_the_middle_of_an_answer(self):
        done = self.run_program(
            f"import welvet\ns = welvet.LM({MODEL!r}).stream('Once upon a time')\nprint(next(s))\n", "/"
        )
        self.assertEqual(done.returncode, 0, done.stderr)


class Library(unittest.TestCase):
    def test_the_golden_set_has_the_digest_of_the_table_in_the_repository(self):
        table = (ROOT / "tests" / "determinism" / "hashes.tsv").read_bytes()
        for options in ({}, {"isa": "scalar", "threads": 1}):
            self.assertEqual(welvet.verify(**options), hashlib.sha256(table).hexdigest())
        with self.assertRaises(ValueError):
            welvet.verify(isa="no such set")

    def test_statuses_are_the_engines_codes(self):
        for status, name in _abi.STATUS_NAMES.items():
            self.assertEqual(library.loom_status_name(status).decode(), name)

    def test_what_is_known_of_the_machine(self):
        self.assertEqual(welvet.system_info()["version"], welvet.__version__)
        self.assertIn("scalar", welvet.system_info()["isas"])


class Abi(unittest.TestCase):
    def test_a_library_of_another_interface_is_refused_in_one_sentence(self):
        with unittest.mock.patch.object(_abi, "ABI_VERSION", 7), self.assertRaises(ImportError) as raised:
            _native._load()
        self.assertRegex(str(raised.exception), r"has version \d+ of the C interface, this package needs 7: install")

    def test_handles_are_given_back(self):
        before = welvet.Tokenizer.open(MODEL)._handle.value & 0xFFFFFFFF
        gc.collect()
        self.assertLessEqual(welvet.Tokenizer.open(MODEL)._handle.value & 0xFFFFFFFF, before + 1)


if __name__ == "__main__":
    unittest.main()
