#!/usr/bin/env python3
"""Packs built libraries and the C# package Welvet into a .nupkg, with mcs as its only compiler.

    tools/pack_nuget.py linux-x64=build/libloom.so win-x64=build/loom.dll --output dist

pyproject.toml has the version and the description; the same files give the same bytes.
"""

import argparse
import hashlib
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bindings/csharp"
_NAMES = {"linux": "libloom.so", "win": "loom.dll", "osx": "libloom.dylib"}

NUSPEC = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>Welvet</id>
    <version>{version}</version>
    <authors>Loom maintainers</authors>
    <description>{description}</description>
    <license type="file">LICENSE</license>
    <readme>README.md</readme>
    <dependencies>
      <group targetFramework=".NETStandard2.0" />
    </dependencies>
  </metadata>
</package>
"""

RELATIONS = """<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/Welvet.nuspec" Id="R1" />
</Relationships>
"""


def types_of(names):
    """The file [Content_Types].xml of a package with these files."""
    suffixes = sorted({"rels", "nuspec"} | {name.rpartition(".")[2] for name in names if "." in name})
    kinds = {"rels": "application/vnd.openxmlformats-package.relationships+xml"}
    lines = [f'  <Default Extension="{s}" ContentType="{kinds.get(s, "application/octet-stream")}" />'
             for s in suffixes]
    lines += [f'  <Override PartName="/{name}" ContentType="application/octet-stream" />'
              for name in names if "." not in name.rpartition("/")[2]]
    return ('<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
            'content-types">\n' + "\n".join(lines) + "\n</Types>\n")


def guid_place(data):
    """Where the module's GUID is in the bytes of an assembly (ECMA-335, II.24 and II.25)."""
    header = struct.unpack_from("<I", data, 0x3C)[0]
    sections, optional = struct.unpack_from("<H", data, header + 6)[0], struct.unpack_from("<H", data, header + 20)[0]
    directories = header + 24 + (112 if struct.unpack_from("<H", data, header + 24)[0] == 0x20B else 96)
    table = header + 24 + optional

    def at(address):
        for i in range(sections):
            size, start, raw_size, raw = struct.unpack_from("<IIII", data, table + 40 * i + 8)
            if start <= address < start + max(size, raw_size):
                return raw + address - start
        raise ValueError(f"address {address:#x} is in no section")

    runtime = at(struct.unpack_from("<I", data, directories + 14 * 8)[0])
    metadata = at(struct.unpack_from("<I", data, runtime + 8)[0])
    place = metadata + 16 + struct.unpack_from("<I", data, metadata + 12)[0]
    streams, place = struct.unpack_from("<H", data, place + 2)[0], place + 4
    for _ in range(streams):
        offset = struct.unpack_from("<I", data, place)[0]
        end = data.index(b"\0", place + 8)
        if data[place + 8:end] == b"#GUID":
            return metadata + offset
        place += 8 + (end - place - 8) // 4 * 4 + 4
    raise ValueError("the assembly has no GUID")


def reproducible(assembly):
    """The assembly with a time of 0 and a GUID that its content gives, in place of those that mcs draws."""
    data = bytearray(assembly)
    header = struct.unpack_from("<I", data, 0x3C)[0]
    data[header + 8:header + 12] = bytes(4)
    place = guid_place(data)
    data[place:place + 16] = bytes(16)
    data[place:place + 16] = hashlib.sha256(data).digest()[:16]
    return bytes(data)


def compiled(version):
    """{name: bytes} of the assembly and its documentation."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        about = folder / "About.cs"
        about.write_text(f'[assembly: System.Reflection.AssemblyVersion("{version}.0")]\n'
                         f'[assembly: System.Reflection.AssemblyInformationalVersion("{version}")]\n')
        command = ["mcs", "-unsafe", "-optimize", "-langversion:7.2", "-warnaserror", "-target:library",
                   "-doc:Welvet.xml", "-out:Welvet.dll", SOURCES / "Abi.cs", *sorted((SOURCES / "Welvet").glob("*.cs")),
                   about]
        done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(done.stdout + done.stderr)
        return {"Welvet.dll": reproducible((folder / "Welvet.dll").read_bytes()),
                "Welvet.xml": (folder / "Welvet.xml").read_bytes()}


def pack(libraries, output):
    """Writes the package of {RID: path of a library} into a folder and returns its path."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    version = project["version"]
    files = {f"lib/netstandard2.0/{name}": data for name, data in compiled(version).items()}
    for rid, path in libraries.items():
        files[f"runtimes/{rid}/native/{_NAMES[rid.partition('-')[0]]}"] = path.read_bytes()
    files["README.md"] = (SOURCES / "README.md").read_bytes()
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files["Welvet.nuspec"] = NUSPEC.format(version=version, description=escape(project["description"])).encode()
    files["_rels/.rels"] = RELATIONS.encode()
    files["[Content_Types].xml"] = types_of(sorted(files)).encode()
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"Welvet.{version}.nupkg"
    unfinished = path.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as package:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            package.writestr(entry, files[name], zipfile.ZIP_DEFLATED)
    os.replace(unfinished, path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("libraries", nargs="+", metavar="RID=LIBRARY", help="as linux-x64=build/libloom.so")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "dist", help="folder (default: dist)")
    given = parser.parse_args()
    libraries = {}
    for each in given.libraries:
        rid, _, path = each.partition("=")
        if rid.partition("-")[0] not in _NAMES or not path:
            parser.error(f"{each}: expected RID=LIBRARY, the RID beginning with {', '.join(_NAMES)}")
        libraries[rid] = pathlib.Path(path)
    try:
        path = pack(libraries, given.output)
    except OSError as error:
        print(f"pack_nuget: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
