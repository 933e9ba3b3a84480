"""The targets that Zig's compiler builds Loom for, and how this machine runs their programs (tools/build_all, tools/digest_matrix).

As a program it prints the path of Zig's program, which it installs first where it is missing (tools/wheel).
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), "loom")
# x86-64 and AArch64 without the plain kernels, which no such processor in use would choose: 1.8 MB less.
X86, ARM = "sse4;avx2;avx512", "neon;neondot"


class Target:
    """One row: Zig's name of it, the instruction sets to compile, and the names of its files."""

    def __init__(self, name, zig, isas, shared=True, parts=()):
        self.name, self.zig, self.isas, self.shared, self.parts = name, zig, isas, shared, parts
        self.processor, self.system = name.split("-")[:2] if "-" in name else (name, "wasi")
        self.program = "loom.exe" if self.system == "windows" else "loom"
        self.library = {"windows": "loom.dll", "macos": "libloom.dylib"}.get(self.system, "libloom.so") if shared else None
        self.archive = None if parts or not zig else "libloom.a"

    @property
    def glibc(self):
        """The newest version of glibc's symbols that the files may need, or None."""
        return tuple(map(int, self.zig.split("gnu")[1].lstrip("eabihf").lstrip(".").split("."))) if self.zig and "linux-gnu" in self.zig else None


TARGETS = [
    Target("x86_64-linux-musl", "x86_64-linux-musl", X86, shared=False),
    Target("aarch64-linux-musl", "aarch64-linux-musl", ARM, shared=False),
    Target("armv7-linux-musl", "arm-linux-musleabihf", "scalar", shared=False),
    Target("riscv64-linux-musl", "riscv64-linux-musl", "scalar", shared=False),
    Target("i686-linux-musl", "x86-linux-musl", "scalar", shared=False),
    Target("x86_64-linux-gnu", "x86_64-linux-gnu.2.17", X86),
    Target("aarch64-linux-gnu", "aarch64-linux-gnu.2.17", ARM),
    Target("armv7-linux-gnu", "arm-linux-gnueabihf.2.17", "scalar"),
    Target("riscv64-linux-gnu", "riscv64-linux-gnu.2.27", "scalar"),  # glibc's first for this processor
    Target("x86_64-windows", "x86_64-windows-gnu", X86),
    Target("aarch64-windows", "aarch64-windows-gnu", ARM),
    Target("x86_64-macos", "x86_64-macos.11.0", X86),
    Target("aarch64-macos", "aarch64-macos.11.0", ARM),
    Target("universal-macos", None, "", parts=("x86_64-macos", "aarch64-macos")),
    Target("wasm32", None, "", shared=False),
]
BY_NAME = {target.name: target for target in TARGETS}


class CannotRun(Exception):
    """Why this machine does not run the programs of a target."""


PINNED = ROOT / "tools/requirements-zig.txt"
VERSION = next(line.split("==")[1].split()[0] for line in PINNED.read_text("utf-8").splitlines() if line.startswith("ziglang=="))
FOLDER = CACHE / f"zig-{VERSION}"


def installed_zig():
    """Returns the path of Zig's program of the pinned version, or None where it is not installed."""
    os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(CACHE / "zig-cache"))
    return next(iter(sorted(FOLDER.glob("lib/python*/site-packages/ziglang/zig"))), None)


def zig_program():
    """Returns the path of Zig's program; the pinned package is installed into the user's cache the first time."""
    if not installed_zig():
        print(f"installing Zig {VERSION} into {FOLDER}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
        subprocess.run([FOLDER / "bin/python", "-m", "pip", "install", "-q", "-r", PINNED], check=True)
    found = installed_zig()
    if not found:
        raise SystemExit(f"the package ziglang {VERSION} has no program zig")
    return found


def native():
    """Processor and system of this machine, as targets name them."""
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine()), {"Darwin": "macos"}.get(platform.system(), platform.system().lower())


def _first(*names):
    for name in names:
        if found := shutil.which(name):
            return found
    raise CannotRun(f"{' or '.join(names)} is not installed")


def runner(target, glibc_root="/usr"):
    """Returns (words before the program, name of the way, environment) for programs of the target. CannotRun where this machine has no way."""
    processor, system = native()
    if target.system == system and (target.processor == processor or (processor, target.processor) == ("x86_64", "i686")):
        return [], "natively", {}
    if target.system == "linux" and system == "linux":
        short = {"armv7": "arm"}.get(target.processor, target.processor)
        found = _first(f"qemu-{short}-static", f"qemu-{short}")
        if target.glibc:
            triple = "arm-linux-gnueabihf" if target.processor == "armv7" else f"{target.processor}-linux-gnu"
            sysroot = pathlib.Path(glibc_root, triple)
            if not sysroot.exists():
                raise CannotRun(f"no C library of {triple} is installed")
            return [found, "-L", str(sysroot)], "under qemu", {}
        return [found], "under qemu", {}
    if target.system == "windows" and target.processor == processor:
        wine = shutil.which("wine64") or "/usr/lib/wine/wine64"
        if not os.path.exists(wine):
            raise CannotRun("wine64 is not installed")
        return [wine], "under Wine", {"WINEPREFIX": str(ROOT / "build/wine"), "WINEDEBUG": "-all"}
    raise CannotRun("linked only")


def cpu_flags():
    """The features that this machine's processor lists; empty where Linux does not report them."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return set()
    return set(next((line.split(":")[1] for line in lines if line.startswith(("flags", "Features"))), "").split())


def best_isa(target, flags=None, machine=None):
    """The instruction set that a build for the target has to choose on this machine; None where that is unknown.
    Equal hashes would hide a library that does not find it. `machine`: this machine's processor."""
    flags = cpu_flags() if flags is None else flags
    if target.processor == "aarch64":
        if (machine or native()[0]) != "aarch64":
            return "neoni8mm"  # qemu's processor has every extension
        if not flags:
            return None
        return "neoni8mm" if {"asimddp", "i8mm"} <= flags else "neondot" if "asimddp" in flags else "neon"
    if target.processor in ("armv7", "riscv64", "i686"):
        return "scalar"
    if target.processor == "wasm32":
        return "wasm128"
    if not flags:
        return None
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"} <= flags:
        tiles = {"amx_tile", "amx_bf16"} <= flags and target.system == "linux"
        return "amx" if tiles else "avx512"
    return "avx2" if {"avx2", "fma", "f16c", "bmi2"} <= flags else "sse4" if {"sse4_1", "ssse3"} <= flags else "scalar"


if __name__ == "__main__":
    print(zig_program())
