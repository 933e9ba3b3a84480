#!/usr/bin/env python3
"""Hold the documents to what is there: links and paths lead somewhere, figures name their command, examples use flags that the program has.

usage: check_docs.py [PROGRAM]       PROGRAM: build/bin/loom; without it examples are not looked at

Looks at every Markdown file that git knows. Links: [text](relative/path#heading), images too; a heading must exist in a Markdown target.
Paths: code spans that begin with a folder of the tree. Tables of figures (a column of numbers with fractions, or of hashes): a command stands in
their section. Examples: lines of fenced blocks, and code spans, that begin with "loom " or a path that ends in it.
Capitals are placeholders. tools/check_figures.py runs the commands of the figures.
"""
import functools
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
EXAMPLE = re.compile(r"^(?:\$ )?(?:[\w./-]*/)?loom\s+(\S.*)$")
PATH = re.compile(r"^(?:src|tests|tools|bench|examples|cmake|docs|fuzz)/[\w./*-]*[\w/*]")
COMMAND = re.compile(r"(?:tools|bench|examples)/[\w/]+\.(?:py|sh|cpp)|\b(?:bench|example)_\w+|\b[a-z]+_test\b|\bloom [a-z]+|build/bin/\w+")
FIGURE = re.compile(r"[+-]?\d[\d ]*\.\d|.*\b[0-9a-f]{16}")


def slug(heading):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", "-")


def lines_of(path):
    """(line number, text, whether it stands in a fenced block)"""
    fenced = False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fenced ^= line.lstrip().startswith("```")
            yield number, line.rstrip("\n"), fenced


def tables(path):
    """(line number of the header, code of the section, rows of cells: the header first) by table. A section goes from heading to heading."""
    found, code, rows = [], [], None
    for number, text, fenced in lines_of(path):
        if text.startswith("#") and not fenced:
            code = []
        code += [text] if fenced else re.findall(r"`([^`]+)`", text)
        if fenced or not text.startswith("|"):
            rows = None
            continue
        if rows is None:
            rows = []
            found.append((number, code, rows))
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", text.strip())[1:-1]]
        rows += [] if all(re.fullmatch(":?-+:?", c) for c in cells) else [cells]
    return found


def figure_tables(path):
    """(line number of the header, commands of the section) of every table that has a column of figures, nearly all of them."""
    for number, code, (_, *rows) in tables(path):
        if any(4 * sum(bool(FIGURE.match(cell)) for cell in column) >= 3 * len(column) for column in list(zip(*rows))[1:]):
            yield number, [c for c in code if COMMAND.search(c)]


def missing_path(code):
    match = PATH.match(code)
    if match and not glob.glob(os.path.join(ROOT, match[0])) and not re.search("[A-Z]{3}", match[0]):
        return f"{match[0]}: no such file"


def broken_link(path, target):
    file, _, anchor = target.partition("#")
    there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
    if not os.path.exists(there):
        return f"link to {target}: no such file"
    if anchor and there.endswith(".md") and anchor not in {slug(t.lstrip("#")) for _, t, f in lines_of(there) if t.startswith("#") and not f}:
        return f"link to {target}: no such heading"


@functools.lru_cache(None)
def flags_of(program, command):
    """The flags of a command by its --help; None when there is no such command."""
    done = subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True)
    if done.returncode or f"Usage: {f'loom {command}'.strip()} " not in done.stdout:
        return None
    return {f for line in done.stdout.splitlines() if line.lstrip().startswith("-") for f in line.split()[0].split(",")}


def wrong_example(program, text):
    words = re.sub(r"\"[^\"]*\"|'[^']*'", "TEXT", re.split(r"\s+[#|>&;]", text)[0]).split()
    command = "" if words[0].startswith("-") else words[0]
    if re.fullmatch("[a-z]+", words[1] if len(words) > 1 else "") and flags_of(program, " ".join(words[:2])):  # bench matrix
        command = " ".join(words[:2])
    flags = set(words) if command.isupper() else flags_of(program, command)
    if flags is None:
        return f"loom {command}: no such command"
    used = (w.strip("[]()").split("=")[0] for w in words)
    return next((f"loom {command}: unknown flag {w}" for w in used if re.match(r"--?[A-Za-z]", w) and w not in flags), None)


def main():
    program = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    wrong = []
    for name in listed.split("\n")[:-1]:
        path = os.path.join(ROOT, name)
        wrong += [f"{name}:{number}: a table of figures, and no command that makes them" for number, commands in figure_tables(path) if not commands]
        for number, text, fenced in lines_of(path):
            found = [] if fenced else [broken_link(path, t) for t in LINK.findall(re.sub(r"`[^`]*`", "", text)) if not re.match(r"[a-z]+:", t)]
            found += [] if fenced else [missing_path(code) for code in re.findall(r"`([^`]+)`", text)]
            for example in [text.strip()] if fenced else re.findall(r"`([^`]+)`", text):
                match = EXAMPLE.match(example)
                found += [wrong_example(program, match[1])] if program and match else []
            wrong += [f"{name}:{number}: {w}" for w in found if w]
    print("\n".join(wrong) or "documents: no broken link, no missing file, no wrong example, no figure without its command")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
