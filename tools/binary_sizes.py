#!/usr/bin/env python3
"""How many bytes of a program or library each instruction set and each kind of number takes.

usage: binary_sizes.py FILE [--functions N]      FILE with symbols, as the preset release builds them

Reads what `nm -S -C` prints. A symbol belongs to the instruction set of its namespace, and to the first kind of KINDS
that its name holds. What belongs to no instruction set is a line of its own. Sections of data that are no symbols
(strings, unwinding) are not counted.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys

SYMBOL = re.compile(r"^[0-9a-f]+ ([0-9a-f]+) ([tTrRdDvVwWuU]) (.+)$")
KINDS = (("float64", re.compile(r"\bdouble\b")), ("integers of 16 to 64 bits", re.compile(r"\bWideCodec<")),
         ("float16, bfloat16, fp8", re.compile(r"\b(Float16|BFloat16|Fp8\w+)Codec\b|\bEvenOdd")),
         ("quantised weights", re.compile(r"\bBlockForm\b|\b(row_many|group_rows|block_rows|code_rows)\b")))
# Names that nm cannot demangle have lengths in front of their parts.
ISA = re.compile(r"(?:\bloom::|4loom\d)(scalar|sse4|avx2|avx512|amx|neondot|neoni8mm|neon|wasm128|record)(?=::|\d)")


def read_symbols(text):
    """Yields (bytes, name) of every symbol that has a size."""
    for line in text.splitlines():
        if found := SYMBOL.match(line):
            yield int(found[1], 16), found[3]


def classify(name):
    """Returns (instruction set or "none", kind) of a symbol."""
    found = ISA.search(name)
    if not found:
        return "none", ""
    return found[1], next((kind for kind, pattern in KINDS if pattern.search(name)), "float32 and the rest")


def count(symbols):
    sizes = collections.Counter()
    for size, name in symbols:
        sizes[classify(name)] += size
    return sizes


def table(sizes):
    """Returns a table in Markdown: a row for each kind, a column for each instruction set."""
    isas = [isa for isa in ("scalar", "sse4", "avx2", "avx512", "amx", "neon", "neondot", "neoni8mm", "record") if any(key[0] == isa for key in sizes)]
    kinds = sorted({key[1] for key in sizes if key[0] in isas}, key=lambda kind: -sum(sizes[isa, kind] for isa in isas))
    lines = ["| kB | " + " | ".join(isas) + " |", "| --- |" + " --- |" * len(isas)]
    for kind in kinds:
        lines.append(f"| {kind} | " + " | ".join(f"{sizes[isa, kind] / 1e3:.0f}" if sizes[isa, kind] else "" for isa in isas) + " |")
    lines.append("| all | " + " | ".join(f"{sum(size for key, size in sizes.items() if key[0] == isa) / 1e3:.0f}" for isa in isas) + " |")
    return "\n".join(lines) + f"\n\nBelonging to no instruction set: {sum(size for key, size in sizes.items() if key[0] == 'none') / 1e3:.0f} kB\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="print the N largest symbols, too")
    options = parser.parse_args()
    nm = shutil.which("nm") or shutil.which("llvm-nm")
    if not nm:
        raise SystemExit("binary_sizes: nm is not installed")
    done = subprocess.run([nm, "-S", "-C", options.file], capture_output=True, text=True, errors="replace", check=False)
    symbols = list(read_symbols(done.stdout))
    if not symbols:
        raise SystemExit(f"binary_sizes: {options.file}: no symbols: {done.stderr.strip() or 'build it without -s'}")
    print(table(count(symbols)), end="")
    for size, name in sorted(symbols, reverse=True)[: options.functions]:
        print(f"{size:>9}  {name[:200]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
