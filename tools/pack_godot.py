#!/usr/bin/env python3
"""Packs the addon for Godot 3 and 4 with built libraries.

    tools/pack_godot.py linux.x86_64=build/libloom.so,build/libloom_godot3.so,build/libloom_godot4.so --output dist

Each platform is given with the name of its folder below addons/loom/bin. The archive is unpacked in a project's folder. The same files give
the same bytes.
"""

import argparse
import os
import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ADDON = ROOT / "bindings/godot/addons/loom"
PLATFORMS = ("linux.x86_64", "windows.x86_64", "macos.universal")


def files_of(platforms):
    """{name: bytes} of the addon, for {platform: [library, ...]}."""
    files = {f"addons/loom/{p.relative_to(ADDON)}": p.read_bytes() for p in ADDON.rglob("*") if p.is_file()}
    files["addons/loom/LICENSE.md"] = (ROOT / "LICENSE").read_bytes()
    # load("res://loom.gdnlib") in a script of Godot 3 gives the class of models.
    files["loom.gdnlib.remap"] = (ROOT / "bindings/godot/demo/loom.gdnlib.remap").read_bytes()
    for platform, libraries in platforms.items():
        if platform not in PLATFORMS:
            raise ValueError(f"{platform}: expected one of {', '.join(PLATFORMS)}")
        for library in libraries:
            files[f"addons/loom/bin/{platform}/{library.name}"] = library.read_bytes()
    return files


def unpack(platforms, project):
    """Writes the addon into the folder of a project."""
    for name, content in files_of(platforms).items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def pack(platforms, output):
    """Writes the archive into a folder and returns its path."""
    files = files_of(platforms)
    output.mkdir(parents=True, exist_ok=True)
    path = output / "loom-godot.zip"
    unfinished = path.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name)  # of 1980: the same bytes each time
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, files[name])
    os.replace(unfinished, path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("platforms", nargs="+", metavar="PLATFORM=LIBRARY,...", help="as linux.x86_64=build/libloom.so,build/libloom_godot4.so")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "dist", help="folder (default: dist)")
    given = parser.parse_args()
    platforms = {}
    for each in given.platforms:
        platform, _, paths = each.partition("=")
        if not platform or not paths:
            parser.error(f"{each}: expected PLATFORM=LIBRARY,...")
        platforms[platform] = [pathlib.Path(path) for path in paths.split(",")]
    try:
        path = pack(platforms, given.output)
    except (OSError, ValueError) as error:
        print(f"pack_godot: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
