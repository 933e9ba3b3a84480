"""loom serve asked by the package openai as its users do: openai_client.py LOOM.

Ends with 77, which CTest shows as skipped, where the package is not installed (tools/requirements-test.txt has it).
"""

import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

try:
    import openai
except ImportError:
    print("SKIPPED: the package openai is not installed")
    sys.exit(77)

LOOM = sys.argv.pop(1)
MODEL = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
ENCODER = pathlib.Path(os.environ["LOOM_DATA"], "minilm")
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"],
                   "additionalProperties": False}}}
FORCED = {"type": "function", "function": {"name": "get_weather"}}
# Hermes' form of calls, in few words.
TOOL_TEMPLATE = """{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>
{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
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
        cls.server, cls.said = start("-t", "1", "--encoder", ENCODER)
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
        self.assertEqual([m.id for m in self.client.models.list()], [self.name, "minilm"])
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

    def call(self, create, tool, **more):
        return create(model=self.name, messages=QUESTION, max_tokens=64, tools=[tool], parallel_tool_calls=False,
                      tool_choice=FORCED, **more)

    def test_a_forced_function_is_called(self):
        answer = self.call(self.client.chat.completions.create, WEATHER)
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
        call = answer.choices[0].message.tool_calls[0]
        self.assertEqual(call.function.name, "get_weather")
        self.assertIn(json.loads(call.function.arguments)["city"], ["Oslo", "Rome"])
        again = self.call(self.client.chat.completions.create, WEATHER)
        self.assertEqual(again.choices[0].message.tool_calls[0].id, call.id)
        self.assertEqual(again.loom["hash"], answer.loom["hash"])
        turn = [*QUESTION, answer.choices[0].message.model_dump(exclude_none=True),
                {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
        told = self.client.chat.completions.create(model=self.name, messages=turn, tools=[WEATHER], max_tokens=8)
        self.assertEqual(told.usage.completion_tokens, 8)

    def test_a_forced_function_is_streamed(self):
        strict = {"type": "function", "function": {**WEATHER["function"], "strict": True}}  # as the package wants it
        whole = self.call(self.client.chat.completions.create, strict)
        with self.call(self.client.chat.completions.stream, strict) as stream:
            final = stream.get_final_completion()
        expected, call = (answer.choices[0].message.tool_calls[0] for answer in (whole, final))
        self.assertEqual((call.id, call.function.name, call.function.arguments),
                         (expected.id, expected.function.name, expected.function.arguments))
        self.assertEqual(final.choices[0].finish_reason, "tool_calls")

    def test_json_schema(self):
        schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "additionalProperties": False}
        answer = self.ask(response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}})
        self.assertIn(json.loads(answer.choices[0].message.content)["n"], [1, 2])

    def test_vectors(self):
        texts = ["A cat sleeps.", "Stars are far away."]
        made = self.client.embeddings.create(model="minilm", input=texts)  # the package asks for base64
        plain = self.client.embeddings.create(model="minilm", input=texts, encoding_format="float")
        self.assertEqual([list(v.embedding) for v in made.data], [v.embedding for v in plain.data])
        run = subprocess.run([LOOM, "embed", ENCODER, "--json", "-q", *texts], capture_output=True, text=True, check=True)
        self.assertEqual(made.loom["hash"], json.loads(run.stdout)["hash"])
        with self.assertRaises(openai.BadRequestError):
            self.client.embeddings.create(model="minilm", input=texts, dimensions=7000)
        self.assertEqual(len(self.client.embeddings.create(model="minilm", input=texts, dimensions=7).data[0].embedding), 7)
        ids = [[101, 1037, 4937, 25126, 1012, 102]]  # of the first text
        self.assertEqual(self.client.embeddings.create(model="minilm", input=ids).data[0].embedding, made.data[0].embedding)

    def test_responses(self):
        chat = self.ask()
        made = self.client.responses.create(model=self.name, input=QUESTION, max_output_tokens=16)
        self.assertEqual(made.output_text, chat.choices[0].message.content)
        self.assertEqual(made.loom["hash"], chat.loom["hash"])
        self.assertEqual(made.status, "incomplete")
        with self.client.responses.stream(model=self.name, input=QUESTION, max_output_tokens=16) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        self.assertEqual(text, made.output_text)
        tool = {"type": "function", "strict": True, **WEATHER["function"]}
        called = self.client.responses.create(model=self.name, input=QUESTION, tools=[tool], max_output_tokens=64,
                                              tool_choice={"type": "function", "name": "get_weather"},
                                              parallel_tool_calls=False)
        self.assertEqual([item.type for item in called.output], ["function_call"])
        self.assertIn(json.loads(called.output[0].arguments)["city"], ["Oslo", "Rome"])
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.responses.create(model=self.name, input="x", previous_response_id=made.id)
        self.assertIn("previous_response_id", caught.exception.message)

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

    def test_idle_connections_keep_no_request_waiting(self):
        def times():
            begin = time.monotonic()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as response:
                self.assertEqual(response.status, 200)
            middle = time.monotonic()
            digest = client(self.said).chat.completions.create(model=self.name, messages=QUESTION, max_tokens=16).loom["hash"]
            return middle - begin, time.monotonic() - middle, digest
        port = urllib.parse.urlparse(self.said["url"]).port
        health, chat, expected = times()
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        try:
            for number in range(0, 200, 4):  # some are slow, not idle
                idle[number].sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
            beside = times()
            self.assertEqual(beside[2], expected)
            self.assertLess(beside[0], 10 * health + 1)
            self.assertLess(beside[1], 2 * chat + 1)
        finally:
            for each in idle:
                each.close()

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


class Tools(unittest.TestCase):
    def test_a_call_is_the_same_alone_and_in_a_crowd(self):
        with tempfile.TemporaryDirectory() as folder:
            template = pathlib.Path(folder, "tools.jinja")
            template.write_text(TOOL_TEMPLATE, encoding="utf-8")
            server, said = start("-t", "2", "--parallel", "16", "--batch-tokens", "7", "--ctx", "512", "--chat-template", template)
        try:
            many = client(said)

            def ask(number):
                more = {"tools": [WEATHER], "tool_choice": FORCED} if number % 2 else {}
                answer = many.chat.completions.create(model=said["model"], messages=QUESTION, max_tokens=64,
                                                      temperature=0.8, seed=number, **more)
                calls = [(call.id, call.function.arguments) for call in answer.choices[0].message.tool_calls or []]
                return answer.loom["hash"], answer.choices[0].message.content, calls
            alone = [ask(number) for number in range(16)]
            self.assertEqual(alone[1][2][0][1][:8], '{"city":')
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                self.assertEqual(list(pool.map(ask, range(16))), alone)
        finally:
            stop(self, server, signal.SIGTERM)


class Limits(unittest.TestCase):
    def test_tokens_time_and_bytes(self):
        server, said = start("-t", "1", "--max-tokens", "8", "--max-body", "4000")
        try:
            few = client(said)
            ask = lambda **more: few.chat.completions.create(model=said["model"], messages=QUESTION,
                                                             extra_body={"ignore_eos": True}, **more)
            self.assertEqual(ask().usage.completion_tokens, 8)
            with self.assertRaises(openai.BadRequestError):
                ask(max_tokens=9)
            with self.assertRaises(openai.APIStatusError) as caught:
                ask(user="x" * 5000)
            self.assertEqual(caught.exception.status_code, 413)
        finally:
            stop(self, server, signal.SIGTERM)
        server, said = start("-t", "1", "--timeout", "1.5")
        try:
            answer = client(said).chat.completions.create(model=said["model"], messages=QUESTION, max_tokens=8000,
                                                          extra_body={"ignore_eos": True})
            self.assertEqual(answer.choices[0].finish_reason, "length")
            self.assertLess(answer.usage.completion_tokens, 7900)
        finally:
            stop(self, server, signal.SIGTERM)


class Key(unittest.TestCase):
    def test_a_key_comes_from_a_file_and_a_public_address_needs_one(self):
        refused = subprocess.run([LOOM, "serve", MODEL, "--port", "0", "--host", "0.0.0.0"], capture_output=True, text=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertEqual(len(refused.stderr.strip().splitlines()), 1, refused.stderr)
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder, "key")
            key.write_text("from-a-file\n", encoding="utf-8")
            server, said = start("--api-key-file", key, "-t", "1")
        try:
            with self.assertRaises(openai.AuthenticationError):
                client(said, "wrong").models.list()
            self.assertEqual(len(client(said, "from-a-file").models.list().data), 1)
        finally:
            stop(self, server, signal.SIGINT)

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
