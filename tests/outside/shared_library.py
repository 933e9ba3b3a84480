"""The shared library shows the functions of loom.h alone, needs the C library alone, and brings none of the C++ library's locales."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SYSTEM = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def main():
    library = sys.argv[1]
    shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[2].split("@")[0] for line in shown.splitlines()} - {"LOOM_0"}
    groups = json.loads((ROOT / "api/loom.json").read_text())["groups"]
    expected = {f"loom_{function['name']}" for group in groups for function in group["functions"]}
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    faults = [f"shown, not in loom.h: {n}" for n in sorted(names - expected)]
    faults += [f"in loom.h, not shown: {n}" for n in sorted(expected - names)]
    faults += [f"needs {n}" for n in sorted(needed - SYSTEM)]
    # Streams (std::ifstream) and fmt's {:L} bring the locales, 0.4 MB; the text about exceptions brings the reader of mangled names.
    symbols = subprocess.run(["nm", "-C", library], capture_output=True, text=True, check=True).stdout
    faults += [
        f"has {found}: what uses a stream or a locale?"
        for found in sorted(set(re.findall(r"vtable for (std::\S*(?:time|money)_get)<", symbols)))
    ]
    if b"terminate called" in pathlib.Path(library).read_bytes():
        faults.append("prints the name of an exception that nobody caught")
    print("\n".join(faults) or f"{len(names)} functions, needs {', '.join(sorted(needed))}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
