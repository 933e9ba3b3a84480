"""A loom.dll under Wine: the digest, the hashes and the files of this system's library.

    windows.py LOOM_DLL LIBLOOM_SO [MODEL]    after tools/wheel --platform win_amd64; by hand, since such a build takes long

Compiles port.c for both. Exit 77 where there is no Wine or no Zig: skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import zig_targets

ZIG = zig_targets.installed_zig()
WINE = shutil.which("wine64") or "/usr/lib/wine/wine64"


def compiled(compiler, library, output):
    """port.c, which loads a library."""
    subprocess.run([*compiler, "-I", ROOT / "include", ROOT / "tests/outside/port.c", library, "-o", output], check=True)


def run(command, **more):
    """Runs a program and keeps its output."""
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False, **more)


def main():
    if not os.path.exists(WINE) or not ZIG:
        print(f"SKIPPED: {WINE} does not exist, or Zig is not installed (tools/zig_targets.py)")
        return 77
    dll, so, *model = (pathlib.Path(p).resolve() for p in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        compiled([ZIG, "cc", "-target", "x86_64-windows-gnu"], dll.parent.parent / "libloom.dll.a",
                 folder / "port.exe")
        compiled(["cc"], so, folder / "port")
        shutil.copy(dll, folder)
        wine = {**os.environ, "WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}
        there = run([WINE, "port.exe", "there", *model], cwd=folder, env=wine)
        here = run([folder / "port", "here", *model], cwd=folder, env={**os.environ, "LD_LIBRARY_PATH": str(so.parent)})
        print(there.stdout, there.stderr if there.returncode else "", sep="")
        files = [{p.name for p in (folder / name / "rün").iterdir()} for name in ("there", "here")]
        same = there.stdout.replace("there/", "here/").replace("\r", "").splitlines()
        # The words of an error are the system's.
        lines = [[line if ": IoError" not in line else line.split(":")[0] for line in text]
                 for text in (same, here.stdout.splitlines())]
        if lines[0] != lines[1] or files[0] != files[1]:
            print("here:", here.stdout, here.stderr, files, sep="\n")
            return 1
        for name in ("journal.jsonl", "model.entity"):
            if (folder / "there" / "rün" / name).read_bytes() != (folder / "here" / "rün" / name).read_bytes():
                print(f"{name} differs")
                return 1
    print("equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
