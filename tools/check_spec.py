#!/usr/bin/env python3
"""Hold the ids of requirements in the source to their entries in docs/spec.

usage: check_spec.py          every fault on a line of its own, and 1 if there is one
       check_spec.py --list   every id with the number of files that cite it

An id is a letter and a number, "D-33", in a comment or page. "D-01..D-07", "X-20 to X-22" and "V-22/23" cite what lies
between too, where it has an entry. "engine 3.13" and "numerics 1.2" cite a section. Faults: a cited id or section without an entry, an entry that
nothing cites (save those in UNCITED), an id with two entries, entries of a section out of order, and names of tests that begin like an id.
"""
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SPEC = "docs/spec"
ENTRY = re.compile(r"^- \*\*([A-Z])-(\d{2,3})\*\* ")
HEADING = re.compile(r"^#{2,3} (\d+(?:\.\d+)*)\.? ")
LETTERS = "DEFGJLMNSTVWX"
CITED = re.compile(rf"(?<![A-Za-z0-9-])([{LETTERS}])-(\d{{2,3}})(?![\d.]\d|\d)")
RANGE = re.compile(rf"(?<![A-Za-z0-9-])([{LETTERS}])-(\d{{2,3}})(?:\.\.|\.\.\.| to |/)(?:([{LETTERS}])-)?(\d{{2,3}})(?!\d)")
SECTION = re.compile(r"\b([Ee]ngine|[Nn]umerics)(?:\.md)?,? (?:section )?(\d+(?:\.\d+)*)(?!\d)")
TEST_NAME = re.compile(r"\bTEST(?:_[PF])?\(\w+,\s*(\w+)\)")
LIKE_AN_ID = re.compile(r"^[A-Z]\d*_\d+(?:_|$)|^[A-Z]\d+_")
FOLDERS = ("src/", "tests/", "docs/", "examples/", "fuzz/", "tools/", "bench/", "cmake/", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
DATA = ("fuzz/corpus/", "tests/golden/", "tests/determinism/hashes.tsv", "docs/spec/", "tools/check_spec.py", "tools/checks_test.py")
KINDS = (".cpp", ".h", ".inc", ".md", ".py", ".sh", ".cmake", ".txt", ".json", ".mjs")
# Entries that stand although nothing cites them, each with its reason.
UNCITED = {}


def tracked(root=ROOT):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\n") if name.startswith(FOLDERS) and not name.startswith(DATA) and name.endswith(KINDS)]


def key(name):
    return name[0], int(name[2:])


def entries_of(name, text):
    """([(id, line)], {section numbers}, faults) of one page."""
    found, sections, wrong, last = [], set(), [], None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            last = None
            heading = HEADING.match(line)
            if heading:
                sections.add(heading[1])
        match = ENTRY.match(line)
        if not match:
            continue
        this = f"{match[1]}-{match[2]}"
        if last is not None and last[0] == this[0] and key(last) >= key(this):
            wrong.append(f"{name}:{number}: {this} comes after {last}")
        last = this
        found.append((this, number))
    return found, sections, wrong


def citations_of(text):
    """({id}, {(first, last)}: ranges, {(page, section)}) of one file."""
    ids = {f"{a}-{n}" for a, n in CITED.findall(text)}
    ranges = {(f"{a}-{n}", f"{b or a}-{m}") for a, n, b, m in RANGE.findall(text) if not b or a == b}
    ids |= {end for pair in ranges for end in pair}
    return ids, ranges, {(page.lower(), section) for page, section in SECTION.findall(text)}


def faults(pages, files):
    """pages: {name: text} of docs/spec; files: {name: text} of what cites. Gives the faults and {id: files}."""
    wrong, entries, sections = [], {}, {}
    for name, text in sorted(pages.items()):
        found, numbers, here = entries_of(name, text)
        wrong += here
        sections[os.path.basename(name)[:-3]] = numbers
        for this, line in found:
            if this in entries:
                wrong.append(f"{name}:{line}: {this} has an entry in {entries[this]} too")
            entries[this] = f"{name}:{line}"
    cited = collections.defaultdict(set)
    for name, text in sorted(files.items()):
        ids, ranges, numbers = citations_of(text)
        tests = TEST_NAME.findall(text) if name.endswith("_test.cpp") else []
        for this in ids:
            cited[this].add(name)
        for first, last in ranges:
            for this in entries:
                if key(first) <= key(this) <= key(last):
                    cited[this].add(name)
        wrong += [f"{name}: {page} {number} is no section of {SPEC}/{page}.md" for page, number in sorted(numbers) if number not in sections.get(page, set())]
        wrong += [f"{name}: the name {test[:60]} begins like an id: ids belong in a comment" for test in tests if LIKE_AN_ID.match(test)]
    wrong += [f"{sorted(names)[0]}: {this} has no entry in {SPEC}" for this, names in sorted(cited.items(), key=lambda c: key(c[0])) if this not in entries]
    wrong += [f"{entries[this]}: nothing cites {this}" for this in sorted(entries, key=key) if this not in cited and this not in UNCITED]
    return wrong, cited


def read(names, root=ROOT):
    texts = {}
    for name in names:
        try:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                texts[name] = file.read()
        except (FileNotFoundError, UnicodeDecodeError):  # deleted and not yet committed; data
            pass
    return texts


def main():
    pages = read(sorted(f"{SPEC}/{name}" for name in os.listdir(os.path.join(ROOT, SPEC)) if name.endswith(".md")))
    wrong, cited = faults(pages, read(tracked()))
    if "--list" in sys.argv[1:]:
        for this in sorted(cited, key=key):
            print(this, len(cited[this]), *sorted(cited[this])[:3])
    if wrong:
        print("\n".join(wrong))
        sys.exit(1)
    print(f"requirements: {len(cited)} ids are cited, and each has its entry")


if __name__ == "__main__":
    main()
