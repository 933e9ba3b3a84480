#!/usr/bin/env python3
"""Packs a library that is built already and the Python package into a wheel, without compiling anything.

    tools/pack_wheel.py build/libloom.so --platform manylinux_2_17_x86_64 --output dist

pyproject.toml has the wheel's name and requirements; the same files give the same bytes.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import sys
import sysconfig
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
_NAMES = {".so": "libloom.so", ".dll": "loom.dll", ".dylib": "libloom.dylib"}


def metadata_of(project: dict) -> str:
    """The file METADATA of a project's table in pyproject.toml."""
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {line}" for line in project.get("classifiers", [])]
    for extra, needs in project.get("optional-dependencies", {}).items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text("utf-8")]
    return "\n".join(lines)


def pack(library: pathlib.Path, platform: str, output: pathlib.Path) -> pathlib.Path:
    """Writes the wheel of a library for a platform into a folder and returns its path."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    tag = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"
    name = f"{project['name']}-{project['version']}"
    package = ROOT / "python" / project["name"]
    files = {str(p.relative_to(package.parent)): p.read_bytes() for p in package.rglob("*")
             if p.suffix == ".py" or p.name == "py.typed"}
    files[f"{project['name']}/{_NAMES[library.suffix]}"] = library.read_bytes()
    about = f"{name}.dist-info"
    files[f"{about}/METADATA"] = metadata_of(project).encode()
    files[f"{about}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: loom\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},"
                     f"{len(data)}\n" for path, data in sorted(files.items()))
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{name}-{tag}.whl"
    unfinished = path.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for inside in sorted(files, key=lambda p: (p.startswith(about), p)):
            entry = zipfile.ZipInfo(inside, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if inside.endswith(tuple(_NAMES)) else 0o644) << 16
            wheel.writestr(entry, files[inside], zipfile.ZIP_DEFLATED)
    os.replace(unfinished, path)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=pathlib.Path, help="libloom.so, loom.dll or libloom.dylib")
    parser.add_argument("--platform", default=sysconfig.get_platform(), help="tag (default: this machine's)")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "dist", help="folder (default: dist)")
    given = parser.parse_args()
    if given.library.suffix not in _NAMES:
        parser.error(f"{given.library}: expected a file that ends in {', '.join(_NAMES)}")
    try:
        path = pack(given.library, given.platform, given.output)
    except OSError as error:
        print(f"pack_wheel: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
