"""Golden results of chat templates: jinja2 3.1.6 configured as transformers' chat_template_utils configures it.

    python tools/golden/templates.py <folder with *.jinja> tests-data-folder

writes template_contexts.json (the variables), template_hashes.tsv (template, context, SHA-256 of the prompt or the error),
template_full.json (a handful of whole prompts) and template_cases.json (small expressions and statements).
Errors are "raise <message>" (raise_exception), "undefined <message>" (UndefinedError) or "error" (anything else).
"""
import datetime
import functools
import hashlib
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

assert jinja2.__version__ == "3.1.6", jinja2.__version__
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from template_cases import CASES, CASES_IF_GOOD, CASE_CONTEXT

NOW = datetime.datetime(2025, 3, 7, 14, 5, 9)


class Raised(jinja2.exceptions.TemplateError):
    pass


class Generation(jinja2.ext.Extension):
    """{% generation %} marks what the assistant said; it prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise Raised(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: NOW.strftime(format)
    return env


ENV = environment()


@functools.lru_cache(maxsize=4)
def compiled(source):
    return ENV.from_string(source)


def render(source, context):
    try:
        return True, compiled(source).render(**context)
    except Raised as e:
        return False, "raise " + str(e.message)
    except jinja2.exceptions.UndefinedError as e:
        return False, "undefined " + str(e.message)
    except Exception:
        return False, "error"


def function(name, description, properties, required):
    return {"type": "function", "function": {"name": name, "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required}}}


TOOLS = [
    function("get_weather", "Current weather at a place.", {
        "location": {"type": "string", "description": "City, \"country\""},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    }, ["location"]),
    function("search", "Finds <b>things</b> & more.", {
        "query": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "filter": {"type": "object", "properties": {"year": {"type": ["integer", "null"]}, "score": {"type": "number"}}, "required": ["year"]},
        "exact": {"type": "boolean", "description": "Gr\u00fc\u00dfe \U0001f600"},
    }, []),
    function("now", "", {}, []),
]


def call(name, arguments, id="call12345"):
    return {"type": "function", "id": id, "function": {"name": name, "arguments": arguments}}


def contexts():
    user = {"role": "user", "content": "Hello, who are you?"}
    system = {"role": "system", "content": "You are a helpful pirate.\n"}
    turns = [user, {"role": "assistant", "content": "  A friend.  "}, {"role": "user", "content": "Tell me more\nabout <you> & 'me'"}]
    weather = {"role": "user", "content": "Weather in Paris?"}
    tool_turns = [
        weather,
        {"role": "assistant", "content": "", "tool_calls": [call("get_weather", {"location": "Paris", "unit": "celsius"})]},
        {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": "{\"temperature\": 21.5}"},
        {"role": "assistant", "content": "It is 21.5 degrees."},
        {"role": "user", "content": "And in Berlin?"},
    ]
    two_calls = [
        weather,
        {"role": "assistant", "content": "Let me look.", "reasoning_content": "I need both tools.", "tool_calls": [
            call("search", {"query": "gr\u00fcn \"x\"", "limit": 3, "exact": True, "tags": ["a", "b"], "filter": {"year": None, "score": 0.5}}, "aaaaaaaaa"),
            call("now", {}, "bbbbbbbbb")]},
        {"role": "tool", "name": "search", "tool_call_id": "aaaaaaaaa", "content": "[1, 2]"},
        {"role": "tool", "name": "now", "tool_call_id": "bbbbbbbbb", "content": "noon"},
    ]
    no_content = [dict(m) for m in tool_turns[:3]]
    no_content[1] = {"role": "assistant", "content": None, "tool_calls": [call("get_weather", "{\"location\": \"Paris\"}")]}
    thinking = [user, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."}, {"role": "user", "content": "Again"},
                {"role": "assistant", "content": "Sure.", "reasoning_content": "The user repeats."}, {"role": "user", "content": "/no_think ok"}]
    parts = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image"}, {"type": "text", "text": " \u00e9\u00e8 "}]}]
    unicode = [{"role": "system", "content": "\u00dc\u00f1\u00ef\u00e7\u00f8d\u00e9"}, {"role": "user", "content": "\u4f60\u597d \U0001f44b\U0001f3fd \u05e9\u05dc\u05d5\u05dd\u00a0"}]
    list_ = [
        ("user", [user], {}), ("user_gen", [user], {"add_generation_prompt": True}),
        ("system_gen", [system, user], {"add_generation_prompt": True}), ("turns_gen", turns, {"add_generation_prompt": True}),
        ("system_turns", [system] + turns, {}), ("ends_assistant", turns[:2], {}), ("ends_assistant_gen", turns[:2], {"add_generation_prompt": True}),
        ("tools_gen", [system, weather], {"tools": TOOLS, "add_generation_prompt": True}), ("tools_no_system", [weather], {"tools": TOOLS[:1]}),
        ("tool_turns_gen", tool_turns, {"tools": TOOLS, "add_generation_prompt": True}),
        ("two_calls_gen", [system] + two_calls, {"tools": TOOLS, "add_generation_prompt": True}),
        ("content_none", no_content, {"tools": TOOLS, "add_generation_prompt": True}),
        ("empty_content", [{"role": "system", "content": ""}, {"role": "user", "content": ""}], {"add_generation_prompt": True}),
        ("thinking_on", thinking, {"add_generation_prompt": True, "enable_thinking": True}),
        ("thinking_off", thinking, {"add_generation_prompt": True, "enable_thinking": False}),
        ("parts_gen", parts, {"add_generation_prompt": True}), ("unicode_gen", unicode, {"add_generation_prompt": True}),
        ("two_users", [user, user], {"add_generation_prompt": True}), ("starts_assistant", turns[1:], {}), ("no_messages", [], {"add_generation_prompt": True}),
        ("unknown_role", [{"role": "wizard", "content": "x"}], {}), ("developer", [{"role": "developer", "content": "Be terse."}, user], {"add_generation_prompt": True}),
        ("documents", [user], {"documents": [{"title": "A", "text": "alpha"}, {"title": "B", "text": "beta"}], "add_generation_prompt": True}),
        ("long", [system] + turns[:2] * 9 + [user], {"add_generation_prompt": True}),
    ]
    out = {}
    for name, messages, extra in list_:
        context = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": False, "bos_token": "<s>", "eos_token": "</s>"}
        context.update(extra)
        out[name] = context
    return out


def main():
    templates, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    all_contexts = contexts()
    (target / "template_contexts.json").write_text(json.dumps(all_contexts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    lines, full = [], {}
    for path in sorted(templates.glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        for name, context in all_contexts.items():
            ok, text = render(source, json.loads(json.dumps(context)))
            lines.append(f"{path.name}\t{name}\t" + (hashlib.sha256(text.encode()).hexdigest() if ok else json.dumps(text, ensure_ascii=False)))
            if ok and name in ("two_calls_gen", "turns_gen") and path.name.split(".")[0] in ("Qwen-Qwen3-0", "HuggingFaceTB-SmolLM3-3B", "openai-gpt-oss-120b", "mistralai-Mistral-Nemo-Instruct-2407"):
                full[f"{path.name} {name}"] = text
    (target / "template_hashes.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (target / "template_full.json").write_text(json.dumps(full, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    cases = []
    for source in CASES + CASES_IF_GOOD:
        ok, text = render(source, json.loads(json.dumps(CASE_CONTEXT)))
        if " at 0x" in text:  # an address: no result may hold one
            ok, text = False, "error"
        if source in CASES_IF_GOOD and not ok:
            continue
        cases.append([source, "ok " + text if ok else text])
    rows = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    text = '{"context": ' + json.dumps(CASE_CONTEXT, ensure_ascii=False) + ',\n"cases": [\n' + rows + "\n]}\n"
    (target / "template_cases.json").write_text(text, encoding="utf-8")
    print(len(lines), "prompts,", sum('"' in x.split("\t")[2] for x in lines), "errors,", len(cases), "cases,", sum(not c[1].startswith("ok ") for c in cases), "errors")


main()
