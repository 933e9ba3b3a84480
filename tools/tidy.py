#!/usr/bin/env python3
"""clang-tidy over the sources of the library and the program:  tools/tidy.py BUILD [--all]

Reads BUILD/compile_commands.json and checks what is compiled together there (one file per part of a module), by
.clang-tidy. A part that has passed is not checked again until it, a header or the checks change: passes are kept under
$XDG_CACHE_HOME/loom/tidy. Warnings are errors.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "loom" / "tidy"


def contents(paths):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def key_of(part, common):
    """The part's own files: it includes them by name."""
    names = re.findall(r'#include "([^"]+\.cpp)"', part.read_text())
    files = [path for name in names for path in (pathlib.Path(name), part.parent / name, root / name) if path.is_file()]
    return hashlib.sha256((common + contents(sorted(set(files)))).encode()).hexdigest()


def check(program, build, part):
    done = subprocess.run([program, "-p", build, "--quiet", "--warnings-as-errors=*", part], capture_output=True,
                          text=True)
    found = [line for line in done.stdout.splitlines() if re.search(r": (warning|error): ", line)]
    return found or ([] if done.returncode == 0 else done.stderr.splitlines()[-5:] or ["clang-tidy failed"])


def main():
    program = shutil.which("clang-tidy-19") or shutil.which("clang-tidy")
    if program is None or len(sys.argv) < 2:
        sys.exit("usage: tools/tidy.py BUILD; clang-tidy must be installed")
    build = pathlib.Path(sys.argv[1]).resolve()
    parts = sorted({pathlib.Path(entry["directory"], entry["file"])
                    for entry in json.loads((build / "compile_commands.json").read_text())
                    if re.search(r"together/loom_?[a-z]*_\d+\.cpp$", entry["file"]) and "test" not in entry["file"]})
    common = contents(sorted((root / "src").rglob("*.h")) + sorted((root / "src").rglob("*.inc")) + [root / ".clang-tidy"])
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    keys = {part: key_of(part, version + common) for part in parts}
    cache.mkdir(parents=True, exist_ok=True)
    left = [part for part in parts if "--all" in sys.argv or not (cache / keys[part]).exists()]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part, found in zip(left, pool.map(lambda p: check(program, build, p), left)):
            for line in dict.fromkeys(found):
                print(line)
            bad += bool(found)
            if not found:
                (cache / keys[part]).touch()
    print(f"{len(parts)} parts, {len(left)} checked, {bad} with warnings")
    sys.exit(1 if bad or not parts else 0)


main()
