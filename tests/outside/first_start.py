"""The program that ./run builds first answers as the whole one does, and hands over what it lacks.

usage: first_start.py LOOM LOOM_FIRST
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = SOURCE / "tests/golden"
NEEDS_REST = 75  # cmake/first_start.cpp
TIMES = {"prefill_tps", "decode_tps", "load_ms", "peak_rss_mb", "seconds"}
LANGUAGE = {"chat", "generate", "logits", "perplexity", "tokenize", "detokenize"}  # what the first program does by itself
loom, first = sys.argv[1:3]


def run(program, *arguments, text=""):
    done = subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def without_times(text):
    try:
        return {key: value for key, value in json.loads(text).items() if key not in TIMES}
    except ValueError:
        return [line for line in text.splitlines() if "tok/s" not in line and " MB" not in line]


def same(*arguments, text=""):
    """Both programs say the same, and the first one needs nothing."""
    ours, whole = run(first, *arguments, text=text), run(loom, *arguments, text=text)
    assert ours[0] == whole[0] and without_times(ours[1]) == without_times(whole[1]) and ours[2] == whole[2], (arguments, ours, whole)
    return ours


model = pathlib.Path(subprocess.run([SOURCE / "tools/fetch_data.sh", "--model"], capture_output=True, text=True, check=True).stdout.strip())
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    question = ["generate", model, "-p", "What is the capital of France?"]
    assert same(*question)[0] == 0
    for more in (["--json"], ["--raw"], ["-s", "Answer in one word."], ["--temp", "0.7", "--seed", "3", "--top-k", "20", "--top-p", "0.9", "--min-p", "0.05"],
                 ["--repeat-penalty", "1.2"], ["--stop", "Paris"], ["--kv-dtype", "int8"], ["--kv-dtype", "bfloat16"], ["--activations", "float32"],
                 ["--dtype", "int8"], ["--dtype", "float64"], ["--dtype", "ternary"], ["--ctx", "256"], ["-t", "1"], ["--isa", "nothing"], ["--no-such"]):
        same(*question, "-n", "12", *more)
    answered = 0
    for golden in sorted((GOLDEN / "models").iterdir()):
        answered += same("generate", golden, "--raw", "-p", "hello", "-n", "8", "--json")[0] == 0
        same("logits", golden, "-p", "hello", "--raw")
    assert answered >= 10, answered
    adapters = [case / "adapter" for case in sorted((GOLDEN / "adapters").iterdir()) if (case / "adapter").is_dir()]
    fitting = [same("logits", base, "--adapter", adapter, "--ids", "5,6,7")[0] == 0
               for base in sorted((GOLDEN / "adapters/bases").iterdir()) for adapter in adapters]
    assert sum(fitting) >= len(adapters) / 2, (sum(fitting), len(adapters))
    assert same("tokenize", model, "--text", "Héllo <|im_end|>")[0] == 0
    same("perplexity", model, SOURCE / "LICENSE", "--window", "128", "--max-windows", "2")
    words = ["/help", "Hello", "/stats", f"/save {folder}/chat.json", f"/load {folder}/chat.json", "/system Be brief.", "Who are you?", "/adapter",
             "/adapter load nowhere", "/adapter NAME on", "/reset", "Hello", "/nonsense", "/quit"]
    same("chat", model, "-n", "8", text="\n".join(words) + "\n")
    for wrong in (["generate", "nowhere.gguf", "-p", "x"], ["generate", GOLDEN / "reference.safetensors", "-p", "x"], ["nonsense"], []):
        assert same(*wrong)[0] != 0
    # Nobody waits minutes for a compiler to hear that a file is none.
    for name, content in {"text": b"not a model", "empty": b"", "cut.gguf": b"GGUF\3", "list.json": b"[1]", "object.json": b"{}",
                          "archive.zip": b"PK\3\4", "array.npy": b"\x93NUMPY\1"}.items():
        (folder / name).write_bytes(content)
        for command in ("generate", "logits"):
            assert same(command, folder / name, "-p", "x")[0] != 0
    # All else is handed over before anything is said.
    for command in run(loom, "--commands")[1].split():
        if command not in LANGUAGE:
            assert run(first, command, "--help") == (NEEDS_REST, "", ""), command
    assert run(first, *question, "--device", "gpu") == (NEEDS_REST, "", "")
    assert run(first, "generate", GOLDEN / "small.entity", "-p", "x") == (NEEDS_REST, "", "")

    # ./run builds the rest when the first program asks for it, and gives it the same words.
    (folder / "build/bin").mkdir(parents=True)
    (folder / "tools").mkdir()
    shutil.copy(SOURCE / "run", folder)
    scripts = {"build/build.ninja": "", "tools/fetch_data.sh": "echo model", "ninja": f'[ "$3" = loom ] && ln -sf "{folder}/whole" build/bin/loom; exit 0',
               "whole": 'printf "whole:"; printf " [%s]" "$@"; exit 3',
               "build/bin/loom-first": '[ "$1" = --commands ] && { echo train; exit 0; }\n[ "$1" = train ] && exit 75\nprintf "first:"; printf " [%s]" "$@"'}
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    assert run(folder / "run", "Who is it?")[:2] == (0, "first: [generate] [model] [--prompt] [Who is it?]")
    assert run(folder / "run")[:2] == (0, "first: [chat] [model]")
    status, said, told = run(folder / "run", "train", "a b")
    assert (status, said) == (3, "whole: [train] [a b]") and "Building the rest" in told, (status, said, told)
    assert run(folder / "run", "Who is it?")[:2] == (3, "whole: [generate] [model] [--prompt] [Who is it?]")
print("the first program answers as the whole one, and hands over the rest")
