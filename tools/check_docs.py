#!/usr/bin/env python3
"""Compare the documents with the tree: links and paths lead somewhere, figures name their command, examples use commands and flags that exist.

usage: check_docs.py [PROGRAM]       PROGRAM: build/bin/loom; without it commands and flags are read from src/cli

Looks at every Markdown file that git knows. Links: [text](relative/path#heading), images too; a heading must exist in a Markdown target.
Paths: code spans that begin with a folder of the tree or of src, and names of source files; capitals are placeholders. Tables of figures (a column of
numbers with fractions, or of hashes): a command stands in their section. Examples: lines of fenced blocks, and code spans, that begin with "loom ",
a path that ends in it, or "./run". Commands: each has a row in a table, and each folder of src one in docs/internals/architecture.md. Pages: an index
links to each, and those that sources name exist. "Not yet": a sentence that says so names something of MISSING that does not exist. Words: a folder
has as many words and openings to avoid as tools/plain_words.tsv allows. Names: each loom_... is one of loom.h, an old one in a table whose first column
is "Before", or a target or key that OTHER_NAMES lists with its file; `loom_graph_*` begins one. Of the changelog this holds for the part "Unreleased".
tools/check_figures.py runs the commands of the figures, tools/check_spec.py holds the ids of requirements to docs/spec, tools/checks_test.py shows that each
of these checks can fail.
"""
import functools
import glob
import os
import re
import subprocess
import sys

import plain_words

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
EXAMPLE = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:(?:[\w./-]*/)?(loom)|(\./run))\s+(\S.*)$")
PATH = re.compile(r"^[\w.-]+(?:/[\w.*-]+)+/?")
TOP = ("src", "tests", "tools", "bench", "examples", "cmake", "docs", "fuzz", ".ci", "include", "bindings")
PAGE = re.compile(r"(?<![\w/.])docs/[\w/-]+\.(?:md|svg|json)\b")
SOURCE = re.compile(r"^\w+\.(?:h|cpp|py|cmake|mjs|tsv)$")
# Words for things that do not exist, in pages about the present; plan.md, the decisions and the changelog describe other times.
NOT_YET = re.compile(r"\bnot (?:yet )?(?:built|implemented)\b|\bnot(?: done| there| supported)? yet\b|\bno\b[^.;:]{1,40}\byet\b|\blater work\b", re.IGNORECASE)
OTHER_TIMES = ("docs/plan.md", "docs/decisions/", "CHANGELOG.md")
MISSING = {  # name in prose: the file or folder that would hold it
    "WebGPU": "src/backend/webgpu", "GPU": "src/backend/webgpu", "C ABI": "src/capi/networks.cpp", "bindings": "bindings", "server": "src/server", "ONNX": "src/io/onnx",
    "installed package": "cmake/LoomConfig.cmake.in", "0.8x": "src/io/entity_v1",
}
C_NAME = re.compile(r"(?<![\w/.-])(loom_[a-z0-9_]+)(\*?)")
OTHER_NAMES = {  # what loom.h does not have: the file that does
    "loom_shared": "cmake/LoomModules.cmake", "loom_lm_shared": "cmake/LoomModules.cmake", "loom_welvet": "cmake/LoomModules.cmake", "loom_pkgconfig": "bindings/go/pkgconfig.go",
    "loom_wasm_modules": "cmake/LoomWasm.cmake", "loom_js": "tests/outside/wasm_imports.txt", "loom_gpu": "tests/outside/wasm_imports.txt",
    "loom_receipt": "src/host/receipt.cpp", "loom_godot3": "cmake/LoomGodot.cmake", "loom_godot4": "cmake/LoomGodot.cmake",
}
COMMAND = re.compile(r"(?:tools|bench|examples)/[\w/]+\.(?:py|sh|cpp|mjs)|\b(?:bench|example)_\w+|\b[a-z]+_test\b|\bloom [a-z]+|build/bin/\w+")
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


def tree():
    """(folders of src, names of all files that git knows)"""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    return {name.split("/")[1] for name in listed if name.startswith("src/") and name.count("/") > 1}, {os.path.basename(name) for name in listed}


def missing_path(code, modules, names):
    if SOURCE.match(code):
        return None if code in names or re.search("[A-Z]{3}", code) else f"{code}: no file of this name"
    match = PATH.match(code)
    if not match or match[0] != code.split(" ")[0].rstrip(",:") or re.search("[A-Z]{3}", code):
        return None
    first = match[0].split("/")[0]
    if first not in TOP and first not in modules:
        return None
    if not any(glob.glob(os.path.join(ROOT, folder, match[0])) for folder in ("", "src")):
        return f"{match[0]}: no such file"


def untrue_absence(text):
    """Returns the fault of a paragraph, given with its heading, that calls an existing thing absent; None where there is none."""
    said = NOT_YET.search(text)
    if not said:
        return None
    things = [name for name in MISSING if re.search(rf"\b{re.escape(name)}", text)]
    there = next((MISSING[name] for name in things if os.path.exists(os.path.join(ROOT, MISSING[name]))), None)
    if there:
        return f"says \"{said[0]}\", and {there} exists"
    return None if things else f"says \"{said[0]}\" of nothing that MISSING in tools/check_docs.py knows to be absent"


def broken_link(path, target):
    file, _, anchor = target.partition("#")
    there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
    if not os.path.exists(there):
        return f"link to {target}: no such file"
    if anchor and there.endswith(".md") and anchor not in {slug(t.lstrip("#")) for _, t, f in lines_of(there) if t.startswith("#") and not f}:
        return f"link to {target}: no such heading"


def unlisted_pages(names):
    """Pages below docs that neither docs/README.md nor the README.md of their folder links to; none without an index."""
    listed = set()
    for index in (name for name in names if name.startswith("docs/") and os.path.basename(name) == "README.md"):
        path = os.path.join(ROOT, index)
        targets = {target.partition("#")[0] for _, text, fenced in lines_of(path) if not fenced for target in LINK.findall(text)}
        listed |= {index, *(os.path.normpath(os.path.join(os.path.dirname(index), target)) for target in targets)}
    return [name for name in names if listed and name.startswith("docs/") and name not in listed]


def lost_pages():
    """(file, line number, page) where sources, tests and tools name pages below docs that do not exist. Tests of the checks name pages of their own."""
    folders = ("src/", "tests/", "tools/", "python/", "bindings/", "include/", "api/", "bench/", "examples/", "cmake/", ".ci/", "test", "run", "CMakeLists.txt", "pyproject.toml")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    for name in (n for n in listed if n.startswith(folders) and not n.startswith("tests/golden/") and n != "tools/checks_test.py"):
        try:
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                text = file.read()
        except (FileNotFoundError, UnicodeDecodeError):
            continue
        for match in PAGE.finditer(text):
            if not os.path.exists(os.path.join(ROOT, match[0])):
                yield name, text.count("\n", 0, match.start()) + 1, match[0]


def read(name):
    """The text of a file of the tree; empty where there is none."""
    path = os.path.join(ROOT, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def lost_names(page, header):
    """(line number, name) of a page's names that begin with loom_ and are none of the C header's text."""
    known = set(re.findall(r"\bloom_\w+", header))
    known |= {name for name, place in OTHER_NAMES.items() if re.search(rf"\b{name}\b", read(place))}
    path = os.path.join(ROOT, page)
    old = {name for _, _, (head, *rows) in tables(path) if head[0] == "Before" for row in rows for name in re.findall(r"loom_\w+", row[0])}
    present = page != "CHANGELOG.md"
    for number, text, _ in lines_of(path):
        if page == "CHANGELOG.md" and text.startswith("## "):
            present = text == "## [Unreleased]"
        if page == "CHANGELOG.md" and not present:
            continue
        for name, star in C_NAME.findall(text):
            begins = star and any(k.startswith(name) for k in known)
            if name not in known and not begins and not (text.startswith("|") and name in old):
                yield number, name + star


def sources_of_program():
    texts = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "src/cli/*.*"))):
        if path.endswith((".cpp", ".h")) and not path.endswith("_test.cpp"):
            with open(path, encoding="utf-8") as file:
                texts[path] = file.read()
    return texts


@functools.lru_cache(None)
def source_commands():
    """Names of the commands by the table in src/cli/main.cpp."""
    with open(os.path.join(ROOT, "src/cli/main.cpp"), encoding="utf-8") as file:
        table = re.search(r"kCommands\[\] = \{(.*?)\n\};", file.read(), re.DOTALL)[1]
    return re.findall(r'\{"(\w+)", ', table)


@functools.lru_cache(None)
def source_functions():
    """{name: (flags that it registers, names of functions that it passes an application on to)} of the functions that take a CLI::App."""
    functions = {}
    for text in sources_of_program().values():
        for match in re.finditer(r"\b(\w+)\(CLI::App& \w+[^;{]*\{", text):
            begin, depth, end = match.end(), 1, match.end()
            while depth and end < len(text):
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            body = text[begin:end]
            flags = {f for names in re.findall(r'"((?:-\w,)?--[a-z][\w-]*(?:,(?:--)?\w[\w-]*)*)"', body) for f in names.split(",") if f[0] == "-"}
            known, called = functions.get(match[1], (set(), set()))
            functions[match[1]] = known | flags, called | set(re.findall(r"\b(\w+)\((?:\*?\w+, )?\*?(?:app|sub|matrix)\b", body))
    return functions


@functools.lru_cache(None)
def source_flags(command):
    """The flags of a command by src/cli; at times a few more than it has. None when there is no such command."""
    words = command.split()
    if words and words[0] not in source_commands():
        return None
    flags, open_, done = {"-h", "--help"}, [f"{words[0]}_command"] if words else [], set()
    if not words:
        return flags | {"--version", "--commands"}
    while open_:
        name = open_.pop()
        if name in done or name not in source_functions():
            continue
        done.add(name)
        flags |= source_functions()[name][0]
        open_ += source_functions()[name][1]
    return flags


@functools.lru_cache(None)
def flags_of(program, command):
    """The flags of a command by its --help, or by the source without a program; None when there is no such command."""
    if program is None:
        return source_flags(command) if len(command.split()) < 2 or command == "bench matrix" else None
    done = subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True)
    if done.returncode or f"Usage: {f'loom {command}'.strip()} " not in done.stdout:
        return None
    return {f for line in done.stdout.splitlines() if line.lstrip().startswith("-") for f in line.split()[0].split(",")}


def commands_of(program):
    return subprocess.run([program, "--commands"], check=True, capture_output=True, text=True).stdout.split() if program else source_commands()


def wrong_example(program, text, by_run=False):
    """Returns the fault of an example, given as the text after "loom", or after "./run", which takes a question as well; None where there is none."""
    words = re.sub(r"\"[^\"]*\"|'[^']*'", "TEXT", re.split(r"\s+[#|>&;]", text)[0]).split()
    command = "" if words[0].startswith("-") else words[0]
    if by_run and (words[0] == "--" or command.lower() not in commands_of(program)):
        command, words = "", [w for w in words[:1] if w.startswith("-") and w != "--"]
        if not words:
            return None
    if re.fullmatch("[a-z]+", words[1] if len(words) > 1 else "") and flags_of(program, " ".join(words[:2])):  # bench matrix
        command = " ".join(words[:2])
    flags = set(words) if command.isupper() else flags_of(program, command)
    if flags is None:
        return f"loom {command}: no such command"
    used = (w.strip("[]()").split("=")[0] for w in words)
    return next((f"loom {command}: unknown flag {w}" for w in used if re.match(r"--?[A-Za-z]", w) and w not in flags), None)


def commands_without_row(program, names):
    """Commands that stand in the first column of no table."""
    rows = {match[1] for name in names for _, _, table in tables(os.path.join(ROOT, name)) for row in table if row
            for match in [re.match(r"`loom (\w+)", row[0])] if match}
    return [command for command in commands_of(program) if command not in rows]


def paragraphs(path):
    """(line number, text) of prose outside of fenced blocks: a paragraph after its heading, a row of a table; without code spans and quoted text."""
    heading, number, parts = "", 1, []
    for at, text, fenced in [*lines_of(path), (0, "", False)]:
        text = re.sub(r"`[^`]*`|\"[^\"]*\"", "", text.strip())
        if parts and (fenced or not text or text.startswith(("#", "|", "-"))):
            yield number, " ".join([heading, *parts])
            heading, parts = "", []
        if fenced or not text or text.startswith("```"):
            continue
        if text.startswith("#"):
            heading = text
        elif text.startswith("|"):
            yield at, text
        else:
            number = number if parts else at
            parts.append(text)


def faults(program=None):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = [name for name in listed.split("\n")[:-1] if os.path.exists(os.path.join(ROOT, name))]
    modules, files = tree()
    wrong = []
    for name in names:
        path = os.path.join(ROOT, name)
        wrong += [f"{name}:{number}: a table of figures, and no command that makes them" for number, commands in figure_tables(path) if not commands]
        for number, text, fenced in lines_of(path):
            found = [] if fenced else [broken_link(path, t) for t in LINK.findall(re.sub(r"`[^`]*`", "", text)) if not re.match(r"[a-z]+:", t)]
            if not name.startswith(OTHER_TIMES):
                found += [] if fenced else [missing_path(code, modules, files) for code in re.findall(r"`([^`]+)`", text)]
            for example in [text.strip()] if fenced else re.findall(r"`([^`]+)`", text):
                match = EXAMPLE.match(example)
                found += [wrong_example(program, match[3], match[2] is not None)] if match else []
            wrong += [f"{name}:{number}: {w}" for w in found if w]
        if not name.startswith(OTHER_TIMES):
            wrong += [f"{name}:{number}: {w}" for number, text in paragraphs(path) for w in [untrue_absence(text)] if w]
    header = read("include/loom/loom.h")
    present = [name for name in names if header and (name == "CHANGELOG.md" or not name.startswith(OTHER_TIMES))]
    wrong += [f"{name}:{number}: {lost}: no such name in loom.h" for name in present for number, lost in lost_names(name, header)]
    wrong += [f"loom {command}: no table of the documents has a row for it" for command in commands_without_row(program, names)]
    wrong += [f"{name}:{number}: {page}: no such page" for name, number, page in lost_pages()]
    wrong += [f"{name}: no index of docs links to it" for name in unlisted_pages(names)]
    wrong += plain_words.faults(ROOT)
    architecture = os.path.join(ROOT, "docs/internals/architecture.md")
    if os.path.exists(architecture):
        rows = {row[0] for _, _, table in tables(architecture) for row in table if row}
        wrong += [f"docs/internals/architecture.md: no row for src/{module}" for module in sorted(modules) if f"`{module}`" not in rows]
    if program:  # so that the reading of the source can be trusted where there is no program
        wrong += [f"src/cli: {command} has {flag}, which tools/check_docs.py does not find in the source" for command in commands_of(program)
                  for flag in sorted(flags_of(program, command) - source_flags(command))]
    return wrong


def main():
    wrong = faults(os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None)
    print("\n".join(wrong) or "documents: no broken link, no missing file, no wrong example, no figure without its command, no command without a row, no unknown name of loom.h, no word above its allowance")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
