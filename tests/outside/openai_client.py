"""loom serve asked by the package openai as its users do: openai_client.py LOOM.

Ends with 77, which CTest shows as skipped, where the package is not installed (tools/requirements-test.txt has it).
"""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

try:
    import openai
except ImportError:
    print("SKIPPED: the package openai is not installed")
    sys.exit(77)

LOOM = sys.argv.pop(1)
MODEL = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
QUESTION = [{"role": "user", "content": "What is gravity?"}]


def start(*flags):
    server = subprocess.Popen([LOOM, "serve", MODEL, "--port", "0", "--json", "-q", *flags], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    text = ""
    while not text.rstrip().endswith("}"):  # one object over several lines
        line = server.stdout.readline()
        if not line:
            raise SystemExit(f"loom serve ended: {server.stderr.read()}")
        text += line
    return server, json.loads(text)


def stop(case, server, number):
    server.send_signal(number)
    case.assertEqual(server.wait(30), 0)
    server.stdout.close()
    server.stderr.close()


def client(said, key="x"):
    return openai.OpenAI(base_url=said["url"], api_key=key, max_retries=0)


def hash_by_program(tokens, prompt=QUESTION[0]["content"], *flags):
    run = subprocess.run([LOOM, "generate", MODEL, "-p", prompt, "-n", str(tokens), "-q", "--json", *flags],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["hash"]


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.said = start("-t", "1")
        cls.client = client(cls.said)
        cls.name = cls.said["model"]

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        assert cls.server.wait(30) == 0, cls.server.stderr.read()
        cls.server.stdout.close()
        cls.server.stderr.close()

    def ask(self, **more):
        return self.client.chat.completions.create(model=self.name, messages=QUESTION, max_tokens=16, **more)

    def test_models_are_listed(self):
        self.assertEqual([m.id for m in self.client.models.list()], [self.name])
        self.assertEqual(self.client.models.retrieve(self.name).owned_by, "loom")

    def test_whole_and_streamed_answers_have_the_hash_of_the_program(self):
        expected = hash_by_program(16)
        whole = self.ask()
        self.assertEqual(whole.loom["hash"], expected)
        self.assertEqual(whole.choices[0].finish_reason, "length")
        self.assertEqual(whole.usage.total_tokens, whole.usage.prompt_tokens + 16)
        text, last = "", None
        for chunk in self.ask(stream=True, stream_options={"include_usage": True}):
            text += "".join(choice.delta.content or "" for choice in chunk.choices)
            last = chunk
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(last.loom["hash"], expected)
        self.assertEqual(last.usage.completion_tokens, 16)

    def test_a_text_is_continued(self):
        whole = self.client.completions.create(model=self.name, prompt="Gravity is", max_tokens=8)
        self.assertEqual(whole.loom["hash"], hash_by_program(8, "Gravity is", "--raw"))
        stream = self.client.completions.create(model=self.name, prompt="Gravity is", max_tokens=8, stream=True)
        self.assertEqual("".join(chunk.choices[0].text for chunk in stream), whole.choices[0].text)

    def test_logprobs_and_stop(self):
        whole = self.ask(logprobs=True, top_logprobs=2)
        content = whole.choices[0].logprobs.content
        self.assertEqual("".join(t.token for t in content), whole.choices[0].message.content)
        self.assertEqual([len(t.top_logprobs) for t in content], [2] * 16)
        word = whole.choices[0].message.content.split()[2]
        cut = self.ask(stop=[word]).choices[0]
        self.assertEqual(cut.finish_reason, "stop")
        self.assertNotIn(word, cut.message.content)

    def test_eight_at_once_get_the_answers_of_one_alone(self):
        alone = [self.ask(temperature=0.9, seed=seed).loom["hash"] for seed in range(8)]
        self.assertEqual(len(set(alone)), 8)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda seed: self.ask(temperature=0.9, seed=seed).loom["hash"], range(8)))
        self.assertEqual(together, alone)

    def test_thirty_two_at_once_with_forms_among_them(self):
        schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 99}},
                  "required": ["n"], "additionalProperties": False}
        form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}

        def ask(client, number):
            more = {"response_format": form} if number % 4 == 0 else {}
            question = [{"role": "user", "content": "Count to ten. " * (number % 5) + "What is light?"}]
            answer = client.chat.completions.create(model=self.name, messages=question, max_tokens=12, temperature=0.8,
                                                    seed=number, **more)
            return answer.loom["hash"], answer.choices[0].message.content

        alone = [ask(self.client, number) for number in range(32)]
        self.assertGreater(len(set(alone)), 24)
        for number in range(0, 32, 4):
            self.assertRegex(alone[number][1], r'^\s*\{')
        server, said = start("-t", "2", "--parallel", "32", "--batch-tokens", "7", "--ctx", "512")
        try:
            many = client(said)
            with concurrent.futures.ThreadPoolExecutor(33) as pool:
                leaving = pool.submit(self.leave, many)
                together = list(pool.map(lambda number: ask(many, number), range(32)))
                leaving.result()
            self.assertEqual(together, alone)
        finally:
            stop(self, server, signal.SIGTERM)

    def leave(self, client):
        with client.chat.completions.create(model=self.name, messages=QUESTION, max_tokens=400, stream=True,
                                            extra_body={"ignore_eos": True}) as stream:
            next(iter(stream))

    def test_more_than_may_wait_get_status_429(self):
        server, said = start("-t", "1", "--parallel", "1", "--max-waiting", "1", "--cache-tokens", "512", "--ctx", "512")
        try:
            few = client(said)

            def ask(_):
                try:
                    return few.chat.completions.create(model=self.name, messages=QUESTION, max_tokens=48,
                                                       extra_body={"ignore_eos": True}).loom["hash"]
                except openai.RateLimitError as error:
                    return error.code
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                ends = list(pool.map(ask, range(6)))
            self.assertIn("rate_limit_exceeded", ends)
            self.assertEqual(len({end for end in ends if end != "rate_limit_exceeded"}), 1)
            self.assertEqual(ask(0), next(end for end in ends if end != "rate_limit_exceeded"))  # it goes on
        finally:
            stop(self, server, signal.SIGTERM)

    def test_choices_of_one_request(self):
        one = self.ask(temperature=0.9, seed=4)
        three = self.ask(temperature=0.9, seed=4, n=3)
        self.assertEqual([choice.index for choice in three.choices], [0, 1, 2])
        self.assertEqual(three.choices[0].message.content, one.choices[0].message.content)
        self.assertEqual(three.choices[0].loom["hash"], one.loom["hash"])
        self.assertEqual(len({choice.message.content for choice in three.choices}), 3)
        self.assertEqual(three.usage.completion_tokens, 48)

    def test_a_prompt_that_begins_like_another_is_read_once(self):
        long = [{"role": "user", "content": "Gravity is a force. " * 40 + "Why?"}]
        ask = lambda messages: self.client.chat.completions.create(model=self.name, messages=messages, max_tokens=4)
        first = ask(long)
        again = ask(long)
        self.assertEqual(again.usage.prompt_tokens_details.cached_tokens, again.usage.prompt_tokens - 1)
        self.assertEqual(again.loom["hash"], first.loom["hash"])
        turn = [*long, {"role": "assistant", "content": first.choices[0].message.content},
                {"role": "user", "content": "And then?"}]
        self.assertGreater(ask(turn).usage.prompt_tokens_details.cached_tokens, 150)

    def test_many_at_once_are_answered_together(self):
        def first_token(_):
            stream = self.client.chat.completions.create(model=self.name, messages=QUESTION, max_tokens=64, stream=True,
                                                         extra_body={"ignore_eos": True})
            times = [time.monotonic() for chunk in stream if chunk.choices and chunk.choices[0].delta.content]
            return times[0], times[-1]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            spans = list(pool.map(first_token, range(4)))
        self.assertLess(max(first for first, _ in spans), min(last for _, last in spans))  # all begin before one ends

    def test_a_client_that_leaves_does_not_hold_the_others(self):
        with self.client.chat.completions.create(model=self.name, messages=QUESTION, max_tokens=4000, stream=True,
                                                 extra_body={"ignore_eos": True}) as stream:
            next(iter(stream))
        self.assertEqual(self.ask().usage.completion_tokens, 16)  # in seconds, where 4000 tokens take a minute

    def test_errors_are_those_of_the_package(self):
        for kind, more in [(openai.NotFoundError, {"model": "gpt"}), (openai.BadRequestError, {"n": 0}),
                           (openai.BadRequestError, {"extra_body": {"temprature": 1}}),
                           (openai.BadRequestError, {"temperature": -1})]:
            with self.subTest(more), self.assertRaises(kind) as caught:
                self.client.chat.completions.create(**{"model": self.name, "messages": QUESTION, **more})
            self.assertIn("message", caught.exception.body)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(model=self.name, messages=[{"role": "user", "content": "word " * 5000}])
        self.assertEqual(caught.exception.code, "context_length_exceeded")


class Key(unittest.TestCase):
    def test_a_key_is_asked_for(self):
        server, said = start("--api-key", "secret", "-t", "1")
        try:
            with self.assertRaises(openai.AuthenticationError):
                client(said, "wrong").models.list()
            self.assertEqual(len(client(said, "secret").models.list().data), 1)
        finally:
            stop(self, server, signal.SIGINT)


if __name__ == "__main__":
    os.environ.pop("LOOM_API_KEY", None)
    unittest.main()
