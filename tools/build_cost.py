#!/usr/bin/env python3
"""Processor time that building the program costs, by module: what a first `./run` pays.

usage: build_cost.py [--source FOLDER] [--json FILE]     builds what ./run builds first, in a scratch folder without ccache, and prints a table
       build_cost.py --whole ..                          the whole program in its place
       build_cost.py --check BUILD_FOLDER                compares the size of each module's objects with the budget in CONTRIBUTING.md

Seconds are user time of the compilers (getrusage), so they depend on the machine: compare two states in one run on one machine
(--source names another checkout). Sizes are the same everywhere and follow the time closely, so ./test holds them to the budget.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLACK = 1.1  # of a module's size over its budget
OTHERS = {"first", "shared", "lm_shared", "static", "welvet", "test_support", "faults", "lost_card"}  # targets that are no module


def module_of(output):
    """core for CMakeFiles/loom_core.dir/..., kernels for every kernel target, cli for the program's own files."""
    name = re.search(r"CMakeFiles/([^/]+)\.dir/", output).group(1)
    if name.startswith("kernels_"):
        return "shaders' recorder" if name.endswith("_record") else "kernels"
    return {"loom": "cli", "loom_first": "cli"}.get(name, re.sub(r"^(first_hot|first|loom|hot)_", "", name))


def run_one(log, command):
    """Runs a compiler and adds its user seconds to the log; the launcher of measure()."""
    done = subprocess.run(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else ""
    with open(log, "a", encoding="utf-8") as out:
        out.write(f"{used.ru_utime:.2f} {used.ru_maxrss} {output}\n")
    return done.returncode


def measure(source, whole):
    with tempfile.TemporaryDirectory(prefix="loom-build-cost-") as folder:
        log = f"{folder}/log"
        launcher = f"{sys.executable};{pathlib.Path(__file__).resolve()};--one;{log}"
        configure = ["cmake", "-G", "Ninja", "-S", str(source), "-B", f"{folder}/build", "-DCMAKE_BUILD_TYPE=Release", "-DLOOM_TESTS=OFF",
                     "-DLOOM_TARGETS=native", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        begin = time.monotonic()
        has_first = "build loom_first:" in (pathlib.Path(folder) / "build/build.ninja").read_text(encoding="utf-8")
        target = "loom_first" if has_first and not whole else "loom"
        subprocess.run(["ninja", "-C", f"{folder}/build", target], check=True, stdout=subprocess.DEVNULL)
        wall = time.monotonic() - begin
        seconds = collections.Counter()
        largest = 0
        for line in open(log, encoding="utf-8"):
            used, memory, output = line.rstrip("\n").split(" ", 2)
            if "CMakeFiles/" in output:
                seconds["headers" if output.endswith(".gch") else module_of(output)] += float(used)
                largest = max(largest, int(memory))
        return seconds, wall, largest / 1024, sizes(pathlib.Path(folder) / "build")


def sizes(build):
    """Bytes of machine code by module, of objects that are in the folder. Kernels depend on the processor and are left out."""
    wanted = re.findall(r"^build (CMakeFiles/(?:(?:loom|first_hot|first|hot)(?:_([a-z_]+))?|kernels_[a-z]+_record)\.dir/\S+\.o):",
                        (build / "build.ninja").read_text(encoding="utf-8"), re.M)
    found = [build / path for path, name in wanted if name not in OTHERS and (build / path).exists()]
    out = collections.Counter()
    listed = subprocess.run(["size", *map(str, found)], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines()[1:]:
        fields = line.split("\t")
        out[module_of(fields[5])] += int(fields[0])
    return out


def budget():
    """{module: kB} of the table in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("| Module | Code, kB |"):].split("\n\n")[0]
    return {row[0].strip("` "): int(row[1]) for row in (line.strip("|").split("|") for line in table.splitlines()[2:])}


def check(build):
    held, found, failed = budget(), sizes(build), False
    print(f"{'module':20} {'kB':>6} {'budget':>7}")
    for module in sorted(held | found):
        kb = round(found.get(module, 0) / 1000)
        print(f"{module:20} {kb:6} {held.get(module, '-'):>7}")
        if module not in held or kb > held[module] * SLACK:
            print(f"build_cost: {module}: {kb} kB of code, expected at most {held.get(module, 0)} + 10 %: building takes longer by as much. "
                  "Look for templates that are instantiated more often, or raise the budget in CONTRIBUTING.md and say why", file=sys.stderr)
            failed = True
    return 1 if failed else 0


def main():
    if sys.argv[1:2] == ["--one"]:
        return run_one(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=ROOT)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path, metavar="BUILD_FOLDER")
    options = parser.parse_args()
    if options.check:
        return check(options.check)
    seconds, wall, memory, code = measure(options.source.resolve(), options.whole)
    print(f"{'module':20} {'seconds':>8} {'kB':>6}")
    for module, used in seconds.most_common():
        print(f"{module:20} {used:8.1f} {round(code.get(module, 0) / 1000):6}")
    print(f"{'in all':20} {sum(seconds.values()):8.1f} {round(sum(code.values()) / 1000):6}   "
          f"{wall:.0f} s of wall time on {os.cpu_count()} cores, largest compiler {memory:.0f} MB")
    if options.json:
        options.json.write_text(json.dumps({"seconds": seconds, "wall": wall, "bytes": code}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
