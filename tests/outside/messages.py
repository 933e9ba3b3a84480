"""The command and the C ABI refuse the same bad inputs with the same words.

  messages.py loom libloom.so [--count N] [--seed S]

Changes valid files (mutations.py) and gives each to both: files of models and networks to `loom inspect` and loom_file_inspect(),
tokenizers to `loom tokenize` and loom_tokenizer_open(), receipts to `loom replay` and loom_receipt_replay().
"""

import argparse
import ctypes
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import mutations

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests/golden"
# name of the file to write, valid bytes, how they are changed, how both are asked
SOURCES = [
    ("net.json", ROOT / "examples/demo.json", mutations.of_json, "inspect"),
    ("net.entity", GOLDEN / "small.entity", mutations.of_entity, "inspect"),
    ("model.gguf", GOLDEN / "reference.gguf", mutations.of_bytes, "inspect"),
    ("tokenizer.json", GOLDEN / "models/llama2_untied/tokenizer.json", mutations.of_json, "tokenize"),
    ("receipt.json", ROOT / "fuzz/corpus/receipt_fuzz/answer.json", mutations.of_json, "replay"),
]


class Library:
    """Calls of loom.h that return the text of the error, or nothing."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.loom_last_error.restype = ctypes.c_char_p

    def _told(self, status, handle):
        self.c.loom_release(handle)
        return self.c.loom_last_error().decode("utf-8", "replace") if status else None

    def inspect(self, path, _data):
        out = ctypes.c_uint64()
        return self._told(self.c.loom_file_inspect(str(path).encode(), 0, ctypes.byref(out)), out)

    def tokenize(self, path, _data):
        out = ctypes.c_uint64()
        return self._told(self.c.loom_tokenizer_open(str(path).encode(), ctypes.byref(out)), out)

    def replay(self, path, data):
        out = ctypes.c_uint64()
        status = self.c.loom_receipt_replay(bytes(data), ctypes.c_size_t(len(data)), None, None, None, ctypes.c_uint64(0), ctypes.byref(out))
        told = self._told(status, out)
        return told if told is None else f"{path}: {told}"


def told_by_program(program, how, path):
    more = {"inspect": [], "tokenize": ["--text", "a"], "replay": []}[how]
    done = subprocess.run([program, how, str(path), *more], capture_output=True, text=True, errors="replace")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("loom: warning: ")]
    if not lines:
        return None
    if len(lines) != 1 or not lines[0].startswith("loom: "):
        sys.exit(f"{how} {path}: expected one line, got {done.stderr!r}")
    return lines[0].removeprefix("loom: ")


def same(ours, theirs):
    """The command escapes what a terminal would not show, and shortens a line that is too long in its middle."""
    if ours is None or theirs is None:
        return ours == theirs
    theirs = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in theirs)
    begin, *rest = re.split(r" \.\.\. \(\d+ bytes\) \.\.\. ", ours)
    return theirs.startswith(begin) and theirs.endswith(rest[-1]) if rest else ours == theirs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    library, rng, refused, tried = Library(arguments.library), random.Random(arguments.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while refused < arguments.count and tried < 20 * arguments.count:
            name, source, change, how = SOURCES[tried % len(SOURCES)]
            tried += 1
            data = bytes(change(rng, source.read_bytes()))
            path = pathlib.Path(folder, name)
            path.write_bytes(data)
            ours, theirs = told_by_program(arguments.program, how, path), getattr(library, how)(path, data)
            if how == "replay" and ours is not None and theirs is None:
                continue  # by its first bytes the file is no receipt: the command reads it as a journal
            if not same(ours, theirs):
                kept = pathlib.Path(tempfile.gettempdir(), f"messages_{tried}_{name}")
                kept.write_bytes(data)
                sys.exit(f"{how} {kept} (seed {arguments.seed}, input {tried}):\n  command {ours!r}\n  loom.h  {theirs!r}")
            refused += ours is not None
    if refused < arguments.count:
        sys.exit(f"only {refused} of {tried} inputs were refused")
    print(f"{refused} bad inputs of {tried}: the same words from both")


if __name__ == "__main__":
    main()
