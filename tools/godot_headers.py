#!/usr/bin/env python3
"""Fetches the C interfaces of Godot 3 and 4, by the names of two crates, and prints their folder: the value of LOOM_GODOT_HEADERS.

usage: godot_headers.py [FOLDER]     by default godot in Loom's folder of the user's cache

gdnative/ has the headers of GDNative. gdextension/gdextension_interface.h is made from the description in the crate gdextension-api, as the engine's
own script makes it; gdextension/api.tsv has hashes of methods and sizes of types for each version of Godot 4. Needs cargo; prints nothing and
fails with 77 where it is missing.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CRATES = {"gdnative-sys": "0.11.3", "gdextension-api": "0.5.1"}
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
# The classes and types that bindings/godot/gdextension uses.
CLASSES = ("Object", "RefCounted", "ProjectSettings")
TYPES = ("PackedByteArray", "PackedInt32Array", "PackedInt64Array", "PackedFloat32Array", "PackedFloat64Array", "Array", "String", "StringName")


def declaration(kind, name):
    """"const char*" and "x" as a declaration."""
    return f"{kind} {name}" if name else kind


def parameters(function):
    return ", ".join(declaration(a["type"], a.get("name", "")) for a in function.get("arguments", [])) or "void"


def header_of(interface):
    """The C header of a description: types in their order, then a pointer type for each function."""
    lines = ["/* Made by tools/godot_headers.py from gdextension_interface.json of Godot. */", "#pragma once", "#include <stddef.h>",
             "#include <stdint.h>", "#ifndef __cplusplus", "typedef uint32_t char32_t;", "typedef uint16_t char16_t;", "#include <wchar.h>", "#endif",
             "#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for each in interface["types"]:
        name, kind = each["name"], each["kind"]
        if kind == "enum":
            values = ", ".join(f"{v['name']} = {v['value']}" for v in each["values"])
            lines.append(f"typedef enum {{ {values} }} {name};")
        elif kind == "handle":
            lines.append(f"typedef {'const ' if each.get('is_const') or each.get('const') else ''}void* {name};")
        elif kind == "alias":
            lines.append(f"typedef {each['type']} {name};")
        elif kind == "struct":
            members = " ".join(f"{m['type']} {m['name']};" for m in each["members"])
            lines.append(f"typedef struct {name} {{ {members} }} {name};")
        elif kind == "function":
            result = each.get("return_value", {}).get("type", "void")
            lines.append(f"typedef {result} (*{name})({parameters(each)});")
        else:
            raise SystemExit(f"{name}: unknown kind {kind}")
    for each in interface["interface"]:
        result = each.get("return_value", {}).get("type", "void")
        name = "GDExtensionInterface" + "".join(word.capitalize() for word in each["name"].split("_"))
        lines.append(f"typedef {result} (*{name})({parameters(each)});")
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", ""])


def rows_of(api):
    """(what, name, number) of one version: hashes of methods and sizes of types on 64 bits."""
    for of in api["classes"]:
        if of["name"] in CLASSES:
            for method in of.get("methods", []):
                for value in [method.get("hash"), *method.get("hash_compatibility", [])]:
                    if value is not None:
                        yield "method", f"{of['name']}.{method['name']}", value
    for of in api["builtin_classes"]:
        if of["name"] in TYPES:
            yield from (("builtin", f"{of['name']}.{method['name']}", method["hash"]) for method in of.get("methods", []))
    for sizes in api["builtin_class_sizes"]:
        if sizes["build_configuration"] == "float_64":
            yield from (("size", each["name"], each["size"]) for each in sizes["sizes"])


def fetch(folder):
    with tempfile.TemporaryDirectory() as scratch:
        project = pathlib.Path(scratch)
        needs = "".join(f'{name} = "={version}"\n' for name, version in CRATES.items())
        (project / "Cargo.toml").write_text(f'[package]\nname = "headers"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{needs}')
        (project / "src").mkdir()
        (project / "src/lib.rs").write_text("")
        subprocess.run(["cargo", "vendor", "--quiet", "vendor"], cwd=project, check=True, stdout=subprocess.DEVNULL)
        unfinished = folder.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(project / "vendor/gdnative-sys/godot_headers", unfinished / "gdnative")
        source = project / "vendor/gdextension-api/src"
        (unfinished / "gdextension").mkdir()
        interface = json.loads((source / "gdextension_interface.json").read_text())
        (unfinished / "gdextension/gdextension_interface.h").write_text(header_of(interface))
        rows = ["version\twhat\tname\tvalue"]
        for path in sorted(source.glob("4.*/extension_api.json")):
            rows += ["\t".join(map(str, (path.parent.name, *row))) for row in rows_of(json.loads(path.read_text()))]
        # Functions exist from a version on.
        rows += ["\t".join((each["since"], "function", each["name"], "0")) for each in interface["interface"]]
        (unfinished / "gdextension/api.tsv").write_text("\n".join(rows) + "\n")
        (unfinished / "crates").write_text(str(CRATES))
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else CACHE / "loom/godot").resolve()
    about = folder / "crates"
    if not about.is_file() or about.read_text() != str(CRATES):
        if not shutil.which("cargo"):
            print("godot_headers.py: cargo is not installed", file=sys.stderr)
            return 77
        folder.parent.mkdir(parents=True, exist_ok=True)
        fetch(folder)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
