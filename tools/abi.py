#!/usr/bin/env python3
"""Compares the C ABI with that of the last release.

  tools/abi.py           what changed since api/loom.abi, by abidiff; fails when a program that was compiled then breaks
  tools/abi.py --write   writes api/loom.abi: at a release, and never between two

Functions may be added, and fields at the end of a struct, whose first field is its size. The dump is of loom.h;
tests/outside/shared_library.py holds the library's symbols to it. abidw and abidiff are in Debian's package abigail-tools; without them
this ends with 77, which CTest shows as skipped.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DUMP = ROOT / "api/loom.abi"
SKIPPED = 77
# Lines of abidiff about a struct that grew at its end, and about who uses it. Anything else breaks somebody.
PLACE = re.compile(r"^(Functions|Variables) changes summary:|^\d+ functions? with some|^\[C\] 'function .* has some indirect sub-type changes?:|"
                   r"^parameter \d+ of type .* (has|have) sub-type changes:|^(in )?(pointed to|unqualified underlying|underlying) type .*"
                   r"(:|changed, as reported earlier)$|^\d+ data member insertions?:$")
SIZE = re.compile(r"^type size changed from (\d+) to (\d+) \(in bits\)$")
ADDED = re.compile(r"^'.*', at offset (\d+) \(in bits\)$")


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def must(*command):
    done = run(*command)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")


def header():
    return (ROOT / "include/loom/loom.h").read_text()


def library(folder, text):
    """Functions without bodies, whose debugging information is all of loom.h."""
    (folder / "loom").mkdir(exist_ok=True)
    (folder / "loom/loom.h").write_text(text)
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    declared = re.findall(r"^LOOM_API (.*?);", plain, flags=re.S | re.M)
    (folder / "loom.c").write_text("#include <loom/loom.h>\n" + "".join(f"LOOM_API {each} {{ return 0; }}\n" for each in declared))
    names = "".join(f" {re.search(r'(loom_[a-z0-9_]+)[(]', each)[1]};" for each in declared)
    (folder / "exports.map").write_text(f"LOOM_0 {{ global:{names} local: *; }};\n")
    must("cc", "-std=c99", "-g", "-O0", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-DLOOM_BUILDS_THE_LIBRARY",
         f"-I{folder}", folder / "loom.c", f"-Wl,--version-script={folder}/exports.map", "-o", folder / "libloom.so")
    return folder / "libloom.so"


def dumped(folder, text):
    must("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", folder / "loom.abi", library(folder, text))
    return (folder / "loom.abi").read_text()


def compared(folder, text, old=DUMP):
    """(whether programs break, what abidiff says)."""
    (folder / "new.abi").write_text(dumped(folder, text))
    done = run("abidiff", "--no-added-syms", "--harmless", old, folder / "new.abi")
    if done.returncode & 0b1011:  # an error, or a function that is gone
        return True, done.stdout + done.stderr
    return breaks(done.stdout), done.stdout


def breaks(report):
    """Whether more has changed than structs that grew at their end."""
    size = 0
    for line in filter(None, map(str.strip, report.splitlines())):
        if grown := SIZE.match(line):
            size = int(grown[1])
            if int(grown[2]) < size:
                return True
        elif added := ADDED.match(line):
            if size == 0 or int(added[1]) < size:  # in between, or where older callers have undefined bytes
                return True
        elif line.endswith("type size hasn't changed") or not PLACE.match(line):
            return True
    return False


def installed():
    if shutil.which("abidw") and shutil.which("abidiff"):
        return True
    print("SKIPPED: abidw and abidiff (package abigail-tools) are not installed, so the ABI is not compared with the last release's")
    return False


def main():
    if not installed():
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "--write" in sys.argv[1:]:
            DUMP.write_text(dumped(folder, header()))
            return 0
        broken, words = compared(folder, header())
        print(words, "programs that were compiled against api/loom.abi break" if broken else "no program breaks")
        return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
