"""Files of Windows under Wine: tests/outside/windows_files.cpp with src/core, compiled by MinGW's GCC or by Zig.

    windows_files.py

Takes seconds, since nothing of the engine above src/core is compiled. Exit 77 where there is no Wine or no compiler:
skipped.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import zig_targets

WINE = shutil.which("wine64") or "/usr/lib/wine/wine64"
SOURCES = ("error", "file", "files_read", "folder", "hooks", "nearest", "system", "system/windows")
FLAGS = ("-std=c++20", "-O1", "-DFMT_HEADER_ONLY", "-DNOMINMAX", "-DWIN32_LEAN_AND_MEAN", "-Wall", "-Wextra", "-Wconversion",
         "-Wno-sign-conversion", "-Wno-missing-field-initializers")


def compiler():
    """Returns the words of a compiler for Windows, or None."""
    if found := shutil.which("x86_64-w64-mingw32-g++-posix"):
        return [found, "-static"]
    zig = zig_targets.installed_zig()
    return [zig, "c++", "-target", "x86_64-windows-gnu"] if zig else None


def compile_program(words, folder):
    """Compiles the program; a warning fails."""
    headers = folder / "headers"
    headers.mkdir()
    for name in ("fmt", "tl", "nlohmann"):
        found = next(place for place in ("/usr/include", "/usr/local/include", "/opt/homebrew/include") if pathlib.Path(place, name).exists())
        (headers / name).symlink_to(pathlib.Path(found, name))
    sources = [ROOT / "tests/outside/windows_files.cpp", *(ROOT / f"src/core/{name}.cpp" for name in SOURCES)]
    done = subprocess.run([*words, *FLAGS, "-I", ROOT / "src", "-isystem", headers, *sources, "-o", folder / "files.exe"],
                          capture_output=True, text=True, check=False)
    if done.returncode or "warning:" in done.stderr:
        raise SystemExit(done.stderr)


def main():
    words = compiler()
    if not os.path.exists(WINE) or not words:
        print("skipped: wine64, or MinGW's GCC and Zig, are not installed")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compile_program(words, folder)
        data = folder / "data"
        (data / "real").mkdir(parents=True)
        (folder / "outside").mkdir()
        (data / "real/file").write_text("inside")
        (folder / "outside/secret").write_text("outside")
        (data / "link").symlink_to(folder / "outside")
        (data / "inside").symlink_to("real")
        # Without the parts that a first start of Wine would install for .NET and HTML.
        environment = {**os.environ, "WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe="}
        done = subprocess.run([WINE, "files.exe", "data"], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8",
                              errors="replace", timeout=300, check=False)
        subprocess.run([shutil.which("wineserver") or "/usr/lib/wine/wineserver64", "-k"], env=environment, capture_output=True, check=False)
    print(done.stdout, done.stderr if done.returncode else "", sep="")
    if done.returncode or not re.search(r"^cores \d+, fast \d+", done.stdout, re.MULTILINE):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
