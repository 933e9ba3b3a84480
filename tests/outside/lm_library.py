#!/usr/bin/env python3
"""libloom-lm.so, the library of language models alone: it gives README's answer to a program in C, and is less than 0.6 of libloom.so.

usage: lm_library.py BUILD
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUESTION, ANSWER, HASH = "What is the capital of France?", "The capital of France is Paris.", "99554f0dd10b063f"
LM = (
    "blob",
    "cancel",
    "chat",
    "encoder",
    "generation",
    "generator",
    "gpu",
    "grammar",
    "last_error",
    "library",
    "model",
    "release",
    "session",
    "status",
    "stop",
    "system",
    "token",
    "version",
)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"lm_library: {words[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def main(build):
    model = pathlib.Path(os.environ.get("LOOM_DATA", ""), "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    compiler = shutil.which("cc")
    if not model.is_file() or compiler is None:
        print("skipped: no SmolLM2 in LOOM_DATA, or no program cc")
        return 77
    library, whole = build / "libloom-lm.so", build / "libloom.so"
    names = [
        line.split()[2].split("@")[0]
        for line in run("nm", "-D", "--defined-only", library).splitlines()
        if " T " in line
    ]
    strangers = [name for name in names if not name.removeprefix("loom_").startswith(LM)]
    if strangers or "loom_session_create" not in names:
        sys.exit(
            f"lm_library: exports {strangers or names}, expected those of language models, tokenizers and encoders"
        )
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for path in (library, whole):
            run("strip", "-o", f"{folder}/stripped", path)
            sizes.append(os.path.getsize(f"{folder}/stripped"))
        print(f"{sizes[0]} of {sizes[1]} bytes")
        if sizes[0] > 0.6 * sizes[1]:
            sys.exit("lm_library: expected at most 0.6 of the whole library")
        run(
            compiler,
            "-std=c89",
            "-I",
            ROOT / "include",
            ROOT / "examples/c/ask.c",
            library,
            f"-Wl,-rpath,{build}",
            "-o",
            f"{folder}/ask",
        )
        said = run(f"{folder}/ask", model, QUESTION)
    if ANSWER not in said or HASH not in said:
        sys.exit(f"lm_library: answered {said!r}, expected {ANSWER!r} and {HASH}")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
