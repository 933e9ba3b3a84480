"""Which template of a folder counts, and what it is given: prompts of transformers 5.24.0.

    python tools/golden/template_choice.py > tests/golden/template/template_choice.json

A case has the files of a folder, messages, tools, the name of a template, and the prompt; null where transformers refuses.
"""
import copy
import json
import pathlib
import sys
import tempfile

import transformers
from transformers import AutoTokenizer

assert transformers.__version__ == "5.24.0", transformers.__version__
ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENIZER = (ROOT / "tests/golden/models/llama2_untied/tokenizer.json").read_text(encoding="utf-8")

HELLO = [{"role": "user", "content": "hi"}]
CLOCK = [{"type": "function", "function": {"name": "clock", "description": "d", "parameters": {"type": "object", "properties": {}}}}]
DEFAULT = "D:{{ messages[0].content }}:{{ tools | length if tools else 'none' if tools is none else 'empty' }}"
TOOL = "T:{{ messages[0].content }}:{{ tools | length }}"
RAG = "R:{{ messages[0].content }}:{{ documents is none }}"


def config(**keys):
    return json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **keys})


def named(**templates):
    return [{"name": name, "template": source} for name, source in templates.items()]


LAYOUTS = {
    "text": {"tokenizer_config.json": config(chat_template=DEFAULT)},
    "list": {"tokenizer_config.json": config(chat_template=named(default=DEFAULT, tool_use=TOOL, rag=RAG))},
    "list of one": {"tokenizer_config.json": config(chat_template=named(default=DEFAULT))},
    "list without default": {"tokenizer_config.json": config(chat_template=named(tool_use=TOOL, rag=RAG))},
    "list with a name twice": {"tokenizer_config.json": config(chat_template=named(default=DEFAULT) + named(default=RAG))},
    "object": {"tokenizer_config.json": config(chat_template={"default": DEFAULT, "tool_use": TOOL})},
    "file": {"tokenizer_config.json": config(), "chat_template.jinja": DEFAULT},
    "file and text": {"tokenizer_config.json": config(chat_template=RAG), "chat_template.jinja": DEFAULT},
    "file and list": {"tokenizer_config.json": config(chat_template=named(default=RAG, tool_use=TOOL)), "chat_template.jinja": DEFAULT},
    "files": {"tokenizer_config.json": config(), "chat_template.jinja": DEFAULT, "additional_chat_templates/tool_use.jinja": TOOL,
              "additional_chat_templates/rag.jinja": RAG, "additional_chat_templates/notes.txt": "no template"},
    "files without default": {"tokenizer_config.json": config(chat_template=DEFAULT), "additional_chat_templates/tool_use.jinja": TOOL},
    "default among the files": {"tokenizer_config.json": config(), "chat_template.jinja": RAG, "additional_chat_templates/default.jinja": DEFAULT},
    "none": {"tokenizer_config.json": config()},
    "null": {"tokenizer_config.json": config(chat_template=None)},
}

TOKENS = ("{% for name, value in [('bos', bos_token), ('eos', eos_token), ('unk', unk_token), ('sep', sep_token), ('pad', pad_token), ('cls', cls_token), "
          "('mask', mask_token), ('image', image_token), ('eot', eot_token)] %}{{ name }}={{ value if value is defined else '-' }} {% endfor %}")
TOKEN_CONFIGS = {
    "no tokens": [config(chat_template=TOKENS), None],
    "texts": [config(chat_template=TOKENS, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>", sep_token="|", cls_token="c", mask_token="m"), None],
    "objects": [config(chat_template=TOKENS, bos_token={"__type": "AddedToken", "content": "<s>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False},
                       eos_token="</s>", pad_token=None), None],
    "own": [config(chat_template=TOKENS, bos_token="<s>", image_token="<img>", extra_special_tokens={"eot_token": "<eot>"}), None],
    "map alone": [config(chat_template=TOKENS), json.dumps({"bos_token": "<b>", "eos_token": {"content": "<e>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}})],
    "map and config": [config(chat_template=TOKENS, bos_token="<s>", pad_token="<p>"), json.dumps({"bos_token": "<b>"})],
    "map beside added_tokens_decoder": [config(chat_template=TOKENS, bos_token="<s>", added_tokens_decoder={"300": {"content": "<s>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}}), json.dumps({"bos_token": "<b>", "unk_token": "<u>"})],
}

# Printed member by member: which exist, and their values.
SHOW = ("{% for m in messages %}[{{ m.role }}{% for key in ['content', 'tool_calls', 'reasoning_content', 'thinking', 'reasoning', 'name', 'tool_call_id'] %}"
        "{% if key in m %}|{{ key }}={{ m[key] | tojson }}{% endif %}{% endfor %}]{% endfor %}{% if add_generation_prompt %}>{% endif %}")
CALL = {"id": "1", "type": "function", "function": {"name": "clock", "arguments": {"zone": None}}}
MESSAGES = [
    [{"role": "user", "content": "2 + 2?", "name": None, "tool_calls": None}, {"role": "assistant", "content": "4", "tool_calls": None, "refusal": None}],
    [{"role": "user", "content": "time?"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}, {"role": "tool", "content": "noon", "tool_call_id": "1"}],
    [{"role": "user", "content": "time?"}, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "", "tool_call_id": None}],
    [{"role": "user", "content": ""}, {"role": "assistant", "content": "", "tool_calls": []}],
    [{"role": "user", "content": None}, {"role": "assistant", "content": None}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": "r"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning": "r"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "thinking": "t", "reasoning": "r"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": None, "thinking": "", "reasoning": "r"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "reasoning": "r", "tool_calls": [CALL]}],
]

CHATML = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
STRIPPED = CHATML.replace("m.content", "m.content | trim")
WITHOUT_LAST = "{% for m in messages[:-1] %}{{ m.content }}{% endfor %}"
SHOUTED = CHATML.replace("m.content", "m.content | upper")
CONTINUED = ["The answer", "The answer ", "  The answer\n\n", "", " ", "a\u00a0", "answer 4 4", "The\nanswer \n"]


def prompt(files, messages, tools=None, name=None, **more):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {"tokenizer.json": TOKENIZER, **files}.items():
            to = pathlib.Path(folder, path)
            to.parent.mkdir(exist_ok=True)
            to.write_text(text, encoding="utf-8")
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
            return tokenizer.apply_chat_template(copy.deepcopy(messages), tools=tools, chat_template=name, tokenize=False, **more)
        except Exception as error:
            print(f"{type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
            return None


def main():
    cases = []

    def add(title, files, messages, tools=None, name=None, continues=False):
        more = {"continue_final_message": True} if continues else {"add_generation_prompt": True}
        cases.append({"title": title, "files": files, "messages": messages, "tools": tools, "name": name, "continues": continues,
                      "prompt": prompt(files, messages, tools, name, **more)})

    for title, files in LAYOUTS.items():
        for tools in (None, [], CLOCK):
            add(title, files, HELLO, tools)
    for name in ("default", "tool_use", "rag"):
        for title in ("list", "files"):
            add(f"{title}, {name} by name", LAYOUTS[title], HELLO, None, name)
    for title, (text, tokens_map) in TOKEN_CONFIGS.items():
        files = {"tokenizer_config.json": text}
        if tokens_map:
            files["special_tokens_map.json"] = tokens_map
        add("tokens: " + title, files, HELLO)
    for i, messages in enumerate(MESSAGES):
        add(f"members {i}", {"tokenizer_config.json": config(chat_template=SHOW)}, messages)
    for text in CONTINUED:
        for title, source in (("plain", CHATML), ("stripped", STRIPPED), ("without", WITHOUT_LAST), ("upper", SHOUTED)):
            add(f"continued {title} {text!r}", {"tokenizer_config.json": config(chat_template=source)},
                [*HELLO, {"role": "assistant", "content": text}], continues=True)
    json.dump(cases, sys.stdout, ensure_ascii=False, indent=1)
    print()


main()
