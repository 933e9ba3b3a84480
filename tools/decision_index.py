#!/usr/bin/env python3
"""Writes docs/decisions/README.md, the index of decisions, from the files beside it.

usage: decision_index.py           write the index
       decision_index.py --check   say what is wrong with a file, or that the index differs, and fail

A decision is a file NNN-title.md: the number of the decision before it plus one, a heading that says what was decided, a line "Subject: ..." with one
of SUBJECTS, and the reason. A decision that another one replaces keeps its file and says "Replaced by [NNN](NNN-title.md)".
"""
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
FOLDER = "docs/decisions"
NAME = re.compile(r"(\d{3})-[a-z0-9]+(?:-[a-z0-9]+)*\.md")
SUBJECTS = (
    "Numbers", "Types and memory", "Structure", "Dependencies", "Layers and operations", "Networks and specs", "Graphs of ONNX", "Files of Loom 0.8x", "Text and templates",
    "The program", "Language models", "Data", "Training", "Run folders and saves", "Targets", "Step mesh and telemetry", "Evolution", "The C ABI and bindings",
    "Graphics cards", "Tests and proof", "The creature", "Measured and refused",
)
HEAD = """# Decisions

One file for each decision: what was decided, and why. To add one, write the next number's file and run:

```sh
tools/decision_index.py
```

A decision that is replaced keeps its file, which then names the one that replaces it.
"""


def decisions(texts):
    """([(number, file, title, subject)], faults) of {name: text of a file}."""
    found, wrong = [], []
    for at, name in enumerate(sorted(texts), 1):
        match = NAME.fullmatch(name)
        if not match:
            wrong.append(f"{FOLDER}/{name}: expected a name like 001-title.md")
            continue
        if int(match[1]) != at:
            wrong.append(f"{FOLDER}/{name}: expected the number {at:03}")
        head = re.match(r"# (\S.*)\n\nSubject: (.*)\n\n\S", texts[name])
        if not head:
            wrong.append(f"{FOLDER}/{name}: expected \"# Title\", \"Subject: ...\" and the reason, with empty lines between them")
        elif head[2] not in SUBJECTS:
            wrong.append(f"{FOLDER}/{name}: unknown subject \"{head[2]}\"; tools/decision_index.py lists them")
        else:
            found.append((match[1], name, head[1], head[2]))
    return found, wrong


def index(found):
    parts = [HEAD]
    for subject in SUBJECTS:
        rows = [f"- {number} [{title}]({name})" for number, name, title, of in found if of == subject]
        if rows:
            parts.append(f"## {subject}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: decision_index.py [--check]")
    folder = os.path.join(ROOT, FOLDER)
    texts = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            texts[name] = file.read()
    old = texts.pop("README.md", "")
    found, wrong = decisions(texts)
    if wrong:
        sys.exit("\n".join(wrong))
    if "--check" in sys.argv:
        sys.exit(None if index(found) == old else f"{FOLDER}/README.md differs from the files beside it; run tools/decision_index.py")
    with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as file:
        file.write(index(found))


if __name__ == "__main__":
    main()
