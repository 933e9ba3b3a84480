#!/usr/bin/env python3
"""What a WebAssembly module consists of: bytes by module of the sources, by object and by function.

usage: wasm_sizes.py MODULE.wasm [--map FILE] [--functions N]

The map is what the linker writes beside the module (MODULE.map; cmake/LoomWasm.cmake asks for it). `gzip` of a group is
the size of its bytes compressed alone, so the groups add up to somewhat more than the whole. Prints the whole compressed
by gzip, too, and by brotli where node is installed.
"""

import argparse
import gzip
import pathlib
import re
import shutil
import subprocess
import sys

ROW = re.compile(r"^\s*\S+\s+([0-9a-f]+)\s+([0-9a-f]+)\s+(\S[^:]*):\((.+)\)$")
TARGETS = re.compile(r"(?:^|[^a-z])\d*(scalar|wasm128|record)(?=\d|[A-Z]|::|$)")
SECTION = re.compile(r"^\s*\S+\s+([0-9a-f]+)\s+([0-9a-f]+)\s+([A-Z]+|CUSTOM\(\S+\))$")


def module_of(path, symbol):
    """The module of an object and the SIMD target of a symbol, as "ops wasm128"."""
    found = re.search(r"libloom_(\w+)\.a\(", path) or re.search(r"loom_(\w+?)\.dir/", path)
    if found is None:
        return "C and C++ library" if "lib" in path else "other"
    target = TARGETS.search(symbol)
    return f"{found[1]} {target[1]}" if target else found[1]


def object_of(path):
    found = re.search(r"\(([^)]*)\)$", path)
    return found[1] if found else pathlib.PurePath(path).name


def read_map(text):
    """Returns (offset, size, path of the object, symbol) of every part, and the sizes of sections by name."""
    parts, sections = [], {}
    for line in text.splitlines():
        if found := ROW.match(line):
            if found[4].startswith((".bss", ".tbss")):  # takes no bytes of the module
                continue
            parts.append((int(found[1], 16), int(found[2], 16), found[3], found[4]))
        elif found := SECTION.match(line):
            sections[found[3]] = int(found[2], 16)
    return parts, sections


def print_table(title, groups, data):
    print(f"\n{title:<52} {'bytes':>9} {'gzip':>9}")
    for name, spans in groups:
        body = b"".join(data[at : at + size] for at, size in spans)
        print(f"{name[-52:]:<52} {len(body):>9} {len(gzip.compress(body, 9)):>9}")


def ranked(parts, key):
    groups = {}
    for at, size, path, symbol in parts:
        groups.setdefault(key(path, symbol), []).append((at, size))
    return sorted(groups.items(), key=lambda item: -sum(size for _, size in item[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("--map", type=pathlib.Path)
    parser.add_argument("--functions", type=int, default=20, metavar="N")
    given = parser.parse_args()
    data = given.module.read_bytes()
    print(f"{given.module.name}: {len(data)} bytes, gzip {len(gzip.compress(data, 9))}", end="")
    if shutil.which("node"):
        script = "console.log(require('zlib').brotliCompressSync(require('fs').readFileSync(process.argv[1])).length)"
        size = subprocess.run(["node", "-e", script, given.module], capture_output=True, check=True, text=True).stdout
        print(f", brotli {size.strip()}", end="")
    print()
    layout = given.map or given.module.with_suffix(".map")
    if not layout.exists():
        print(f"wasm_sizes.py: there is no {layout}: expected the linker's map", file=sys.stderr)
        return 1
    parts, sections = read_map(layout.read_text("utf-8"))
    print(", ".join(f"{name} {size}" for name, size in sections.items() if size >= 1000))
    print_table("module", ranked(parts, module_of), data)
    print_table("object", ranked(parts, lambda path, symbol: f"{module_of(path, symbol)}: {object_of(path)}")[: given.functions], data)
    print_table("function or data", ranked(parts, lambda path, symbol: symbol)[: given.functions], data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
