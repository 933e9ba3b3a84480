"""loom serve asked by the package ollama as its users do: ollama_client.py LOOM.

Ends with 77, which CTest shows as skipped, where the package is not installed (tools/requirements-test.txt has it).
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

try:
    import ollama
except ImportError:
    print("SKIPPED: the package ollama is not installed")
    sys.exit(77)

LOOM = sys.argv.pop(1)
MODEL = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
ENCODER = pathlib.Path(os.environ["LOOM_DATA"], "minilm")
NAME = "SmolLM2-135M-Instruct.Q4_1"
QUESTION = [{"role": "user", "content": "What is gravity?"}]


def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: its name
    """
    return f"rain in {city}"


def text_by_program(tokens):
    run = subprocess.run([LOOM, "generate", MODEL, "-p", QUESTION[0]["content"], "-n", str(tokens), "-q", "--json"],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["text"]


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([LOOM, "serve", MODEL, "--encoder", ENCODER, "--port", "0", "-q", "-t", "1"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        url = cls.server.stdout.readline().strip()
        if not url:
            raise SystemExit(f"loom serve ended: {cls.server.stderr.read()}")
        cls.client = ollama.Client(url.removesuffix("/v1"))

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        assert cls.server.wait(30) == 0, cls.server.stderr.read()
        cls.server.stdout.close()
        cls.server.stderr.close()

    def test_models_are_listed_and_shown(self):
        self.assertEqual([m.model for m in self.client.list().models], [f"{NAME}:latest", "minilm:latest"])
        self.assertEqual([m.model for m in self.client.ps().models], [f"{NAME}:latest", "minilm:latest"])
        shown = self.client.show(NAME)
        self.assertEqual(shown.details.family, "llama")
        self.assertIn("completion", shown.capabilities)
        self.assertEqual(self.client.show("minilm").capabilities, ["embedding"])
        with self.assertRaises(ollama.ResponseError) as caught:
            self.client.show("nobody")
        self.assertEqual(caught.exception.status_code, 404)

    def test_chat_and_generate_give_the_text_of_the_program(self):
        expected = text_by_program(16)
        options = {"num_predict": 16}
        whole = self.client.chat(NAME, QUESTION, options=options)
        self.assertEqual(whole.message.content, expected)
        self.assertEqual((whole.done, whole.done_reason, whole.eval_count), (True, "length", 16))
        self.assertGreater(whole.total_duration, whole.eval_duration)
        parts = list(self.client.chat(NAME, QUESTION, options=options, stream=True))
        self.assertEqual("".join(part.message.content for part in parts), expected)
        self.assertTrue(parts[-1].done and not parts[0].done)
        prompt = QUESTION[0]["content"]
        self.assertEqual(self.client.generate(NAME, prompt, options=options).response, expected)
        stream = self.client.generate(NAME, prompt, options=options, stream=True)
        self.assertEqual("".join(part.response for part in stream), expected)

    def test_formats_and_tools(self):
        schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "additionalProperties": False}
        formed = self.client.chat(NAME, QUESTION, format=schema, options={"num_predict": 30})
        self.assertIn(json.loads(formed.message.content)["n"], [1, 2])
        answer = self.client.chat(NAME, QUESTION, tools=[get_weather], options={"num_predict": 24})
        self.assertTrue(answer.done)
        turn = [*QUESTION,
                {"role": "assistant", "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]},
                {"role": "tool", "tool_name": "get_weather", "content": get_weather("Oslo")}]
        self.assertEqual(self.client.chat(NAME, turn, tools=[get_weather], options={"num_predict": 4}).eval_count, 4)

    def test_vectors(self):
        made = self.client.embed("minilm", ["A cat sleeps.", "Stars are far away."])
        self.assertEqual([len(v) for v in made.embeddings], [384, 384])
        one = self.client.embeddings("minilm", "A cat sleeps.")
        self.assertEqual(list(one.embedding), list(made.embeddings[0]))

    def test_errors_have_a_status_and_a_text(self):
        for more, status in [({"options": {"mirostat": 2}}, 400), ({"think": True}, 400), ({"format": "xml"}, 400)]:
            with self.subTest(more), self.assertRaises((ollama.ResponseError, ValueError)) as caught:
                self.client.chat(NAME, QUESTION, **more)
            if isinstance(caught.exception, ollama.ResponseError):
                self.assertEqual(caught.exception.status_code, status)
                self.assertNotIn("{", caught.exception.error)


if __name__ == "__main__":
    os.environ.pop("LOOM_API_KEY", None)
    unittest.main()
