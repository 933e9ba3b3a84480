#!/usr/bin/env python3
"""Packs the C# package and built libraries for Unity's package manager.

    tools/pack_unity.py x86_64=build/libloom.so x86_64=build/loom.dll --output dist

Each library is given with the name of its folder below Runtime/Plugins. The same files give the same bytes.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings/unity"
SOURCES = ROOT / "bindings/csharp"


def meta_of(name):
    """The file that gives an asset its GUID, which its name decides: without one Unity ignores it."""
    return f"fileFormatVersion: 2\nguid: {hashlib.md5(name.encode()).hexdigest()}\n".encode()


def files_of(libraries):
    """{name: bytes} of the package."""
    files = {str(p.relative_to(PACKAGE)): p.read_bytes() for p in PACKAGE.rglob("*") if p.is_file()}
    for path in [SOURCES / "Abi.cs", *(SOURCES / "Welvet").glob("*.cs")]:
        files[f"Runtime/{path.name}"] = path.read_bytes()
    files["LICENSE.md"] = (ROOT / "LICENSE").read_bytes()
    for folder, path in libraries:
        files[f"Runtime/Plugins/{folder}/{path.name}"] = path.read_bytes()
    folders = {str(parent) for name in files for parent in pathlib.PurePath(name).parents if str(parent) != "."}
    for name in sorted({*files, *folders}):
        if "~" not in name:  # Unity does not look into such folders
            files[f"{name}.meta"] = meta_of(name)
    return files


def pack(libraries, output):
    """Writes the package into a folder and returns its path."""
    files = files_of(libraries)
    about = json.loads(files["package.json"])
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{about['name']}-{about['version']}.tgz"
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(files[name]), 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(gzip.compress(memory.getvalue(), 9, mtime=0))
    os.replace(unfinished, path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("libraries", nargs="+", metavar="FOLDER=LIBRARY", help="as x86_64=build/libloom.so")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "dist", help="folder (default: dist)")
    given = parser.parse_args()
    libraries = []
    for each in given.libraries:
        folder, _, path = each.partition("=")
        if not folder or not path:
            parser.error(f"{each}: expected FOLDER=LIBRARY")
        libraries.append((folder, pathlib.Path(path)))
    try:
        path = pack(libraries, given.output)
    except OSError as error:
        print(f"pack_unity: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
