#!/usr/bin/env python3
"""Writes the tables of docs/reference/commands.md from `loom --help` and `loom COMMAND --help`.

usage: command_page.py PROGRAM           write the page
       command_page.py PROGRAM --check   say whether the page differs, and fail

PROGRAM is build/bin/loom. The text above the first marker is written by hand; what stands below it is replaced.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PAGE = "docs/reference/commands.md"
MARKER = "<!-- Made by tools/command_page.py from the program's --help: edit the help texts in src/cli instead. -->\n"
COLUMN = 30  # where descriptions of options begin in --help


def help_of(program, *command):
    """Returns what `loom COMMAND --help` prints; variables of the environment that options read do not count."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("LOOM_")}
    return subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True, env=plain).stdout


def sections(text):
    """{title: lines} of a help text; the lines before the first title stand under ""."""
    found, title = {"": []}, ""
    for line in text.splitlines():
        match = re.fullmatch(r"(Positionals|Options|Subcommands):", line)
        if match:
            title = match[1]
            found[title] = []
        elif title and not line.startswith("  "):
            title = ""
        else:
            found[title].append(line)
    return found


def entries(lines):
    """[(names and type, description)] of the lines of one section. A long name has its description on the next line."""
    found, lines = [], [line for line in lines if line.strip()]
    for at, line in enumerate(lines):
        described_below = at + 1 < len(lines) and lines[at + 1].startswith(" " * COLUMN)
        if line.startswith(" " * COLUMN):
            found[-1] = found[-1][0], f"{found[-1][1]} {line.strip()}".strip()
        elif described_below:
            found.append((line.strip(), ""))
        elif line[COLUMN - 1:COLUMN] == " " and line[COLUMN:COLUMN + 1].strip():
            found.append((line[:COLUMN].strip(), line[COLUMN:].strip()))
        else:
            found.append((line.strip(), ""))
    return found


def names_of(lines):
    """[(name, description)] of the lines of the section "Subcommands", whose column follows the longest name."""
    parts = (line.strip().partition(" ") for line in lines if line.strip())
    return [(name, what.strip()) for name, _, what in parts]


def cell(text):
    """Text as a cell of a table: `|`, `<` and `*` are no markup in it."""
    return re.sub(r"([|<*])", r"\\\1", text)


def value_of(spec):
    """Describes the values of an option, given the part of an entry after its names: "INT:INT in [1 - 256]=64" gives "INT from 1 to 256; default 64"."""
    notes = []
    for pattern, note in ((r" ?Excludes: ((?:--[\w-]+ ?)+)", "not with {}"), (r" ?Needs: ((?:--[\w-]+ ?)+)", "needs {}"), (r" ?\(Env:(\w+)\)", "or the variable {}")):
        match = re.search(pattern, spec)
        if match:
            spec = spec.replace(match[0], " ").strip()
            notes.append(note.format(", ".join(f"`{name}`" for name in match[1].split())))
    if "REQUIRED" in spec:
        spec = spec.replace("REQUIRED", "").strip()
        notes.insert(0, "required")
    spec = re.sub(r":SIZE \[.*?\]", ":SIZE", spec)
    repeated = " ..." in spec
    spec, _, default = spec.replace(" ...", "").partition("=")
    notes += [f"default `{default}`"] if default.strip('"') else []
    kind, _, limits = spec.partition(":")
    if limits.startswith("{"):
        kind = " or ".join(f"`{choice}`" for choice in limits.strip("{}").split(","))
    else:
        between = re.search(r"in \[(\S+) - (\S+)\]", limits)
        kind = f"`{kind}`" if kind else ""
        kind += f" from {between[1]} to {between[2]}" if between else " as 500M, 6G" if "SIZE" in limits else ""
    return "; ".join(part for part in [kind + (" ..." if repeated else ""), *notes] if part)


def rows(lines):
    for names, described in entries(lines):
        first, _, spec = names.partition(" ")
        if first == "-h,--help":
            continue
        shown = ", ".join(f"`{name}`" for name in first.split(","))
        yield f"| {shown} | {cell(value_of(spec))} | {cell(described)} |"


def described(program, command, depth):
    """The section of a command, and those of its own commands."""
    text = help_of(program, *command)
    parts = sections(text)
    usage = next(line for line in parts[""] if line.startswith("Usage: ")).removeprefix("Usage: ")
    written = [f"{'#' * depth} loom {' '.join(command)}\n", f"{text.splitlines()[0].rstrip('.')}.\n", f"    {usage}\n"]
    table = [*rows(parts.get("Positionals", [])), *rows(parts.get("Options", []))]
    if table:
        written += ["| Option | Value | Meaning |\n| --- | --- | --- |\n" + "\n".join(table) + "\n"]
    for name, _ in names_of(parts.get("Subcommands", [])):
        written += described(program, [*command, name], depth + 1)
    return written


def page(program):
    """The part of the page that is made: the table of all commands, and a section for each."""
    top = names_of(sections(help_of(program))["Subcommands"])
    inner = {name: names_of(sections(help_of(program, name)).get("Subcommands", [])) for name, _ in top}
    every = [row for name, what in top for row in [(name, what), *((f"{name} {sub}", said) for sub, said in inner[name])]]
    table = "\n".join(f"| `loom {name}` | {cell(what)} | [options](#loom-{name.replace(' ', '-')}) |" for name, what in every)
    parts = [f"## All commands\n\n| Command | What it does | |\n| --- | --- | --- |\n{table}\n"]
    for name, _ in top:
        parts += described(program, [name], 2)
    return MARKER + "\n" + "\n".join(parts)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-") or sys.argv[2:] not in ([], ["--check"]):
        sys.exit("usage: command_page.py PROGRAM [--check]")
    path = os.path.join(ROOT, PAGE)
    with open(path, encoding="utf-8") as file:
        old = file.read()
    if MARKER not in old:
        sys.exit(f"{PAGE} has lost its marker: {MARKER.strip()}")
    new = old.partition(MARKER)[0] + page(os.path.abspath(sys.argv[1]))
    if "--check" not in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
    elif old != new:
        line = next((n for n, (a, b) in enumerate(zip(old.splitlines() + [""], new.splitlines() + [""]), 1) if a != b), len(new.splitlines()))
        sys.exit(f"{PAGE}:{line} differs from what the program's --help says; run tools/command_page.py {sys.argv[1]}")


if __name__ == "__main__":
    main()
