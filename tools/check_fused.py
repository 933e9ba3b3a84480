#!/usr/bin/env python3
"""Fails where an object of kernels has a fused multiply-add that is not one of exact products:  check_fused.py BUILD

Fusing changes bits (docs/internals/numerics.md), so compilers are told not to, though AVX2's flags allow the
instruction. Only add_chain() and add_chains() with kFused may have it (src/simd/fused.h), whose products are exact.
"""

import pathlib
import re
import subprocess
import sys

FUSED = re.compile(r"\t(vfn?m(add|sub)\w*|fn?m(add|sub)|fml[as])\b")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
ALLOWED = re.compile(r"::add_chains?<float, (\w+, )+true>\(")


def fused_in(objects: list[pathlib.Path]) -> set[str]:
    """Names of the functions of objects that have such an instruction."""
    found, name = set(), ""
    command = ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", *map(str, objects)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as listing:
        assert listing.stdout is not None
        for line in listing.stdout:
            if function := FUNCTION.match(line):
                name = function[1]
            elif FUSED.search(line):
                found.add(name)
    if listing.returncode != 0:
        sys.exit(f"check_fused.py: objdump ended with {listing.returncode}")
    return found


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    objects = sorted(build.glob("CMakeFiles/kernels_*/**/*.o"))
    if not objects:
        sys.exit(f"check_fused.py: {build} has no objects of kernels")
    found = fused_in(objects)
    wrong = sorted(name for name in found if not ALLOWED.search(name))
    for name in wrong:
        print(f"a fused multiply-add: {name}")
    print(f"{len(objects)} objects, {len(found) - len(wrong)} functions of exact products, {len(wrong)} others")
    if not found and any("_avx" in str(o) for o in objects):
        sys.exit("check_fused.py: expected the functions of exact products; the pattern finds none")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
