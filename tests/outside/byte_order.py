"""Configuring for a big-endian target stops with one sentence: byte_order.py CMAKE."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def configure(order):
    script = ROOT / "cmake/LoomByteOrder.cmake"
    return subprocess.run([sys.argv[1], f"-DCMAKE_CXX_BYTE_ORDER={order}", "-P", script], capture_output=True, text=True, check=False)


def main():
    big, little, unknown = map(configure, ("BIG_ENDIAN", "LITTLE_ENDIAN", ""))
    print(big.stderr, little.stderr, unknown.stderr)
    if big.returncode == 0 or "little-endian processors only" not in " ".join(big.stderr.split()):
        raise SystemExit("expected an error for a big-endian target")
    if little.returncode or unknown.returncode:
        raise SystemExit("expected no error for other targets")
    if "include(LoomByteOrder)" not in (ROOT / "CMakeLists.txt").read_text("utf-8"):
        raise SystemExit("expected CMakeLists.txt to check the byte order")


if __name__ == "__main__":
    main()
