"""loom serve asked by litellm, langchain-openai, instructor, the command llm and schemathesis as their users do:
python_clients.py LOOM.

Each is left out, with its name, where it is not installed: tools/requirements-clients.txt lists them with their
versions. Ends with 77, which CTest shows as skipped, where none is.
"""

import asyncio
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import typing
import unittest

LOOM = sys.argv.pop(1)
MODEL = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
ENCODER = pathlib.Path(os.environ["LOOM_DATA"], "minilm")
QUESTION = "What is gravity?"
MESSAGES = [{"role": "user", "content": QUESTION}]
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"],
                   "additionalProperties": False}}}
FORCED = {"type": "function", "function": {"name": "get_weather"}}
KEY = "a key"


def missing(module):
    return unittest.skipIf(importlib.util.find_spec(module) is None, f"{module} is not installed")


class Server:
    """One loom serve for all clients."""
    process, said, text = None, None, None


def setUpModule():
    environment = {**os.environ, "LOOM_API_KEY": KEY}
    Server.process = subprocess.Popen([LOOM, "serve", MODEL, "--encoder", ENCODER, "--port", "0", "--json", "-q", "-t", "1",
                                       "--max-tokens", "128"],
                                      stdout=subprocess.PIPE, text=True, env=environment)
    text = ""
    while not text.rstrip().endswith("}"):
        line = Server.process.stdout.readline()
        if not line:
            raise SystemExit("loom serve ended")
        text += line
    Server.said = json.loads(text)
    run = subprocess.run([LOOM, "generate", MODEL, "-p", QUESTION, "-n", "16", "-q", "--json"], capture_output=True,
                         text=True, check=True)
    Server.text = json.loads(run.stdout)["text"]


def tearDownModule():
    Server.process.send_signal(signal.SIGTERM)
    assert Server.process.wait(30) == 0
    Server.process.stdout.close()


def city_model():
    import pydantic

    class City(pydantic.BaseModel, extra="forbid"):
        city: typing.Literal["Oslo", "Rome"]
        degrees: int = pydantic.Field(ge=-50, le=50)  # a small model writes digits without end

    return City


@missing("litellm")
class LiteLlm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # asks no other server for prices
        import litellm
        litellm.telemetry = False
        cls.litellm = litellm

    def where(self, model=None):
        return {"model": "openai/" + (model or Server.said["model"]), "api_base": Server.said["url"], "api_key": KEY,
                "num_retries": 0}

    def ask(self, **more):
        return self.litellm.completion(**{**self.where(), "messages": MESSAGES, "max_tokens": 16, **more})

    def test_chat_whole_and_in_pieces(self):
        self.assertEqual(self.ask().choices[0].message.content, Server.text)
        pieces = list(self.ask(stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(p.choices[0].delta.content or "" for p in pieces if p.choices), Server.text)
        self.assertEqual(self.litellm.stream_chunk_builder(pieces).usage.completion_tokens, 16)

    def test_asynchronous_chats(self):
        async def both():
            one = self.litellm.acompletion(**self.where(), messages=MESSAGES, max_tokens=16)
            two = self.litellm.acompletion(**self.where(), messages=MESSAGES, max_tokens=16, seed=2**64 - 1, temperature=0.9)
            return await asyncio.gather(one, two)
        first, second = asyncio.run(both())
        self.assertEqual(first.choices[0].message.content, Server.text)
        self.assertEqual(second.usage.completion_tokens, 16)

    def test_a_function_is_called(self):
        answer = self.ask(tools=[WEATHER], tool_choice=FORCED, parallel_tool_calls=False, max_tokens=64)
        call = answer.choices[0].message.tool_calls[0]
        self.assertIn(json.loads(call.function.arguments)["city"], ["Oslo", "Rome"])

    def test_an_object(self):
        answer = self.ask(response_format=city_model(), max_tokens=64)
        self.assertIn(json.loads(answer.choices[0].message.content)["city"], ["Oslo", "Rome"])

    def test_texts_vectors_and_responses(self):
        text = self.litellm.text_completion(model="text-completion-openai/" + Server.said["model"], prompt="Gravity is",
                                            api_base=Server.said["url"], api_key=KEY, max_tokens=8)
        self.assertEqual(text.usage.completion_tokens, 8)
        made = self.litellm.embedding(**self.where("minilm"), input=["A cat sleeps.", "Stars are far away."])
        self.assertEqual([len(each["embedding"]) for each in made.data], [384, 384])
        response = self.litellm.responses(**self.where(), input=QUESTION, max_output_tokens=16)
        self.assertEqual(response.output[0].content[0].text, Server.text)

    def test_errors(self):
        with self.assertRaises(self.litellm.NotFoundError):
            self.litellm.completion(**self.where("gpt"), messages=MESSAGES)
        with self.assertRaises(self.litellm.BadRequestError):
            self.ask(n=0)
        with self.assertRaises(self.litellm.ContextWindowExceededError):
            self.ask(messages=[{"role": "user", "content": "word " * 9000}])


@missing("langchain_openai")
class LangChain(unittest.TestCase):
    def chat(self, **more):
        import langchain_openai
        return langchain_openai.ChatOpenAI(**{"model": Server.said["model"], "base_url": Server.said["url"], "api_key": KEY,
                                              "max_retries": 0, "temperature": 0, "max_tokens": 16, **more})

    def test_invoke_stream_and_batch(self):
        whole = self.chat().invoke(QUESTION)
        self.assertEqual(whole.content, Server.text)
        self.assertEqual(whole.usage_metadata["output_tokens"], 16)
        self.assertEqual("".join(piece.content for piece in self.chat(stream_usage=True).stream(QUESTION)), Server.text)
        self.assertEqual([each.content for each in self.chat().batch([QUESTION] * 3)], [Server.text] * 3)
        self.assertEqual(asyncio.run(self.chat().ainvoke(QUESTION)).content, Server.text)

    def test_chains_and_logprobs(self):
        import langchain_core.prompts
        prompt = langchain_core.prompts.ChatPromptTemplate.from_messages([("user", "What is {thing}?")])
        self.assertEqual((prompt | self.chat()).invoke({"thing": "gravity"}).content, Server.text)
        answer = self.chat(logprobs=True, top_logprobs=2).invoke(QUESTION)
        self.assertEqual(len(answer.response_metadata["logprobs"]["content"]), 16)

    def test_objects(self):
        for method in ("json_schema", "function_calling"):
            with self.subTest(method):
                chat = self.chat(max_tokens=96).with_structured_output(city_model(), method=method)
                self.assertIn(chat.invoke(QUESTION).city, ["Oslo", "Rome"])

    def test_a_function_is_called_and_its_result_goes_back(self):
        import langchain_core.messages
        chat = self.chat(max_tokens=64).bind_tools([WEATHER], tool_choice="get_weather", parallel_tool_calls=False)
        answer = chat.invoke(QUESTION)
        self.assertIn(answer.tool_calls[0]["args"]["city"], ["Oslo", "Rome"])
        result = langchain_core.messages.ToolMessage("rain", tool_call_id=answer.tool_calls[0]["id"])
        history = [langchain_core.messages.HumanMessage(QUESTION), answer, result]
        self.assertTrue(self.chat().bind_tools([WEATHER]).invoke(history).response_metadata["finish_reason"])

    def test_responses(self):
        answer = self.chat(use_responses_api=True).invoke(QUESTION)
        self.assertEqual(answer.text, Server.text)

    def test_texts_and_vectors(self):
        import langchain_openai
        where = {"base_url": Server.said["url"], "api_key": KEY, "max_retries": 0}
        text = langchain_openai.OpenAI(model=Server.said["model"], max_tokens=8, temperature=0, **where).invoke("Gravity is")
        self.assertTrue(text)
        vectors = langchain_openai.OpenAIEmbeddings(model="minilm", check_embedding_ctx_length=False, **where)
        self.assertEqual([len(each) for each in vectors.embed_documents(["A cat.", "Stars."])], [384, 384])
        self.assertEqual(vectors.embed_query("A cat."), vectors.embed_documents(["A cat."])[0])


@missing("instructor")
class Instructor(unittest.TestCase):
    def ask(self, mode, name="create", model=None, **more):
        import instructor
        import openai
        client = instructor.from_openai(openai.OpenAI(base_url=Server.said["url"], api_key=KEY, max_retries=0), mode=mode)
        return getattr(client.chat.completions, name)(model=Server.said["model"], messages=MESSAGES, max_tokens=128,
                                                      max_retries=0, response_model=model or city_model(), **more)

    def test_objects_in_every_mode(self):
        import instructor
        for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA):
            with self.subTest(mode):
                self.assertIn(self.ask(mode).city, ["Oslo", "Rome"])

    def test_partial_objects(self):
        import instructor
        last = list(self.ask(instructor.Mode.TOOLS, "create_partial"))[-1]
        self.assertIn(last.city, ["Oslo", "Rome"])


@missing("llm")
class LlmCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        model = {"model_id": "loom", "model_name": Server.said["model"], "api_base": Server.said["url"], "api_key_name": "loom",
                 "supports_schema": True, "supports_tools": True}
        pathlib.Path(cls.folder.name, "extra-openai-models.yaml").write_text(json.dumps([model]), encoding="utf-8")
        pathlib.Path(cls.folder.name, "keys.json").write_text(json.dumps({"loom": KEY}), encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_llm(self, *args, text=""):
        command = [sys.executable, "-m", "llm", *args]
        run = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300,
                             env={**os.environ, "LLM_USER_PATH": self.folder.name})
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.strip()

    def test_answers_whole_and_in_pieces(self):
        for more in ([], ["--no-stream"]):
            self.assertEqual(self.run_llm("-m", "loom", QUESTION, "-o", "max_tokens", "16", *more), Server.text.strip())
        self.assertTrue(self.run_llm("-m", "loom", "-c", "And then?", "-o", "max_tokens", "8"))  # continues

    def test_a_pipe_with_a_system_message_and_a_schema(self):
        self.assertTrue(self.run_llm("-m", "loom", "-s", "Be short.", "-o", "max_tokens", "8", text=QUESTION))
        made = self.run_llm("-m", "loom", "--schema", "age int, city", "-o", "max_tokens", "96", QUESTION)
        self.assertEqual(sorted(json.loads(made)), ["age", "city"])

    def test_tools(self):
        self.assertTrue(self.run_llm("-m", "loom", "--functions", "def twice(n: int) -> int:\n    return 2 * n\n", "-o",
                                     "max_tokens", "8", QUESTION))


@missing("schemathesis")
class Schemathesis(unittest.TestCase):
    """Requests that our OpenAPI file allows, and others: no server error, and what the file forbids is refused."""

    def test_requests_of_the_description(self):
        whole = os.environ.get("LOOM_OUTSIDE") == "whole"
        root = Server.said["url"].removesuffix("/v1")
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{root}/openapi.json", "-H", f"Authorization: Bearer {KEY}",
                   "--seed", "1", "--max-examples", "60" if whole else "8", "--request-timeout", "120", "--workers", "1",
                   "--checks", "not_a_server_error,negative_data_rejection,content_type_conformance,"
                   "status_code_conformance,unsupported_method,ignored_auth",
                   "--phases", "examples,coverage,fuzzing", "--no-color", "--continue-on-failure"]
        with tempfile.TemporaryDirectory() as folder:  # where it keeps a cache
            run = subprocess.run(command, capture_output=True, text=True, timeout=1500, cwd=folder)
        self.assertEqual(run.returncode, 0, run.stdout[-6000:] + run.stderr[-1000:])
        print("schemathesis:", *re.findall(r"\d+ generated.*", run.stdout))


if __name__ == "__main__":
    os.environ.pop("LOOM_API_KEY", None)
    names = ["litellm", "langchain_openai", "instructor", "llm", "schemathesis"]
    absent = [name for name in names if importlib.util.find_spec(name) is None]
    if absent:
        print("SKIPPED:", ", ".join(absent), "not installed: tools/requirements-clients.txt")
    if absent == names:
        sys.exit(77)
    unittest.main()
