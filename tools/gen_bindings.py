#!/usr/bin/env python3
"""Writes the header and the declarations of every language from api/loom.json.

  tools/gen_bindings.py           write the files
  tools/gen_bindings.py --check   say which files differ, and fail

  include/loom/loom.h         the header, C89
  src/capi/exports.map        the symbols that the shared library shows
  python/welvet/_abi.py       ctypes: constants, structs, functions
  docs/reference/c-abi.md               the reference
  bindings/, js/src/abi/      the declarations of other languages (tools/bindings/)
"""

import argparse
import json
import pathlib
import re
import sys
import textwrap

import bindings

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBERS = {
    "i32": ("int32_t", "c_int32"), "u32": ("uint32_t", "c_uint32"), "i64": ("int64_t", "c_int64"),
    "u64": ("uint64_t", "c_uint64"), "f32": ("float", "c_float"), "f64": ("double", "c_double"),
    "size": ("size_t", "c_size_t"), "bool": ("int32_t", "c_int32"), "u8": ("uint8_t", "c_uint8"),
}
MADE = "Made by tools/gen_bindings.py from api/loom.json."


class Api:
    """The description, with each type expanded into C declarations."""

    def __init__(self, path):
        self.json = json.loads(path.read_text())
        self.root = ROOT
        self.handles = {h["name"] for h in self.json["handles"]}
        self.enums = {e["name"] for e in self.json["enums"]}
        self.structs = {s["name"] for s in self.json["structs"]}
        self.callbacks = {c["name"] for c in self.json["callbacks"]}

    def functions(self):
        for group in self.json["groups"]:
            yield from group["functions"]

    def c_value(self, kind):
        """The C type of a value that is passed as it is."""
        if kind in NUMBERS:
            return NUMBERS[kind][0]
        if kind in self.handles:
            return f"loom_{kind}"
        if kind == "handle":
            return "loom_handle"
        if kind in self.enums:
            return f"loom_{kind}"
        if kind == "text":
            return "const char*"
        if kind == "user":
            return "void*"
        if kind.startswith("callback "):
            return f"loom_{kind[9:]}"
        raise ValueError(f"unknown type: {kind}")

    def declare(self, name, kind):
        """[(C type, name, ctypes type)] of one parameter or field."""
        kind = kind.removesuffix("?")
        if m := re.fullmatch(r"(\w+)\[(\d+)\]", kind):
            return [(NUMBERS[m[1]][0], f"{name}[{m[2]}]", f"{NUMBERS[m[1]][1]} * {m[2]}")]
        view, out = kind.startswith("view "), kind.startswith("out ")
        if m := re.fullmatch(r"into (\w+)\[\]", kind):
            c_type, ctype = NUMBERS[m[1]]
            return [(f"{c_type}*", name, f"POINTER({ctype})"), ("size_t", f"{name}_count", "c_size_t")]
        if kind == "memory":
            return [("void*", name, "c_void_p"), ("size_t", f"{name}_size", "c_size_t")]
        if (plain := kind.removeprefix("view ")) in ("bytes", "chars"):
            c_type = "const void*" if plain == "bytes" else "const char*"
            return [(c_type, name, "c_void_p", view), ("size_t", f"{name}_size", "c_size_t", view)]
        if m := re.fullmatch(r"(view )?(\w+)\[\]", kind):
            c_type = "const char* const*" if m[2] == "text" else f"const {self.c_value(m[2])}*"
            ctype = f"POINTER({self.py_value(m[2])})"
            return [(c_type, name, ctype, view), ("size_t", f"{name}_count", "c_size_t", view)]
        if out and kind.startswith("out struct "):
            return [(f"loom_{kind[11:]}*", name, f"POINTER({camel(kind[11:])})")]
        if kind.startswith("struct "):
            return [(f"const loom_{kind[7:]}*", name, f"POINTER({camel(kind[7:])})")]
        if out:
            return [(f"{self.c_value(kind[4:])}*", name, f"POINTER({self.py_value(kind[4:])})")]
        return [(self.c_value(kind), name, self.py_value(kind))]

    def py_value(self, kind):
        if kind in NUMBERS:
            return NUMBERS[kind][1]
        if kind in self.handles or kind == "handle":
            return "c_uint64"
        if kind in self.enums:
            return "c_int32"
        if kind == "text":
            return "c_char_p"
        if kind == "user":
            return "c_void_p"
        return camel(kind[9:])

    def params(self, function):
        """[(C type, name, ctypes type)] of a function; a view becomes two pointers."""
        out = []
        for param in function["params"]:
            for part in self.declare(param[0], param[1]):
                pointer = len(part) > 3 and part[3]
                out.append((part[0] + "*", part[1], f"POINTER({part[2]})") if pointer else part[:3])
        return out

    def fields(self, struct):
        """Returns the fields of a struct in C: a view is a pointer and a count."""
        return [part[:3] for field in struct["fields"] for part in self.declare(field[0], field[1])]


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def comment(text, indent=""):
    if not text:
        return ""
    lines = textwrap.wrap(text, 114 - len(indent))
    return f"{indent}/* " + f"\n{indent}   ".join(lines) + " */\n"


def notes(params):
    """The notes of parameters, by name."""
    return "; ".join(f"{p[0]}: {p[2]}" for p in params if len(p) > 2 and p[2])


def signature(api, function):
    params = ", ".join(f"{c} {n}" for c, n, _ in api.params(function)) or "void"
    returns = api.c_value(function["returns"]) if "returns" in function else "loom_status"
    return f"{returns} loom_{function['name']}({params})"


def header(api):
    j = api.json
    out = [f"/* {j['help'].split('.')[0]}. {MADE}\n\n{HEADER_WORDS} */\n",
           "#ifndef LOOM_LOOM_H\n#define LOOM_LOOM_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n",
           "#if defined(_WIN32)\n#if defined(LOOM_BUILDS_THE_LIBRARY)\n#define LOOM_API __declspec(dllexport)\n"
           "#elif !defined(LOOM_STATIC)\n#define LOOM_API __declspec(dllimport)\n#else\n#define LOOM_API\n#endif\n"
           "#elif defined(LOOM_BUILDS_THE_LIBRARY)\n"
           "#define LOOM_API __attribute__((visibility(\"default\")))\n#else\n#define LOOM_API\n#endif\n\n",
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"]
    for enum in j["enums"]:
        out.append(comment(enum["help"]))
        out.append(f"typedef int32_t loom_{enum['name']};\n")
        width = max(len(enum["prefix"] + v[0]) for v in enum["values"])
        for name, value, words in enum["values"]:
            line = f"#define LOOM_{enum['prefix'] + name:<{width}} {value}"
            out.append(f"{line} /* {words} */\n" if words else f"{line}\n")
        out.append("\n")
    out.append("/* Any of the handles below. 0 stands for none. */\ntypedef uint64_t loom_handle;\n")
    for handle in j["handles"]:
        out.append(comment(handle["help"]) + f"typedef loom_handle loom_{handle['name']};\n")
    out.append("\n")
    out += [f"typedef struct loom_{struct['name']} loom_{struct['name']};\n" for struct in j["structs"]] + ["\n"]
    for callback in j["callbacks"]:
        params = ", ".join(f"{c} {n}" for c, n, _ in api.params(callback))
        returns = "void" if callback["returns"] == "void" else api.c_value(callback["returns"])
        out.append(comment(callback["help"]) + f"typedef {returns} (*loom_{callback['name']})({params});\n")
    for struct in j["structs"]:
        out.append("\n" + comment(struct["help"]) + f"struct loom_{struct['name']} {{\n")
        setter = "the library" if struct["name"].endswith("_event") else "the caller"
        out.append(f"  uint32_t struct_size; /* sizeof(loom_{struct['name']}), set by {setter} */\n")
        for field in struct["fields"]:
            parts = api.declare(field[0], field[1])
            words = f" /* {field[2]} */" if field[2] else ""
            if len(words) + sum(len(p[0]) for p in parts) > 90:
                out.append(comment(field[2], "  "))
                words = ""
            for i, part in enumerate(parts):
                out.append(f"  {part[0]} {part[1]};{words if i == 0 else ''}\n")
        out.append(f"}}; /* loom_{struct['name']} */\n")
    for group in j["groups"]:
        title = f"---- {group['name']} ----"
        out.append("\n/* " + title + (" */\n" if not group["help"] else " */\n" + comment(group["help"])))
        for function in group["functions"]:
            extra = notes(function["params"])
            words = function["help"] + (f" ({extra})" if extra else "")
            out.append("\n" + comment(words) + wrap_declaration("LOOM_API " + signature(api, function) + ";") + "\n")
    out.append("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
    return "".join(out)


HEADER_WORDS = """   Every function returns a loom_status: LOOM_OK, or why it failed; loom_last_error() has the text for this thread.
   Handles are numbers and stand for reference-counted objects: loom_release() gives one back. Structs begin with
   their size, which the caller sets; set the rest to 0 for the defaults:
     loom_session_options options = {sizeof options};
   Texts are UTF-8. Strings and arrays that go in need to last during the call only. Callbacks come on the thread that
   made the call. Functions may be called from any thread; an object that another thread uses answers LOOM_BUSY,
   except those that are immutable (models, tokenizers, blobs). Callbacks must not throw or jump out, and they run with
   Loom's settings of the floating-point unit. A call that fails leaves its results as they were."""


def wrap_declaration(text):
    if len(text) <= 118:
        return text
    head, tail = text.split("(", 1)
    lines, line = [], head + "("
    for part in tail.split(", "):
        if len(line) + len(part) + 2 > 116:
            lines.append(line.rstrip())
            line = "    "
        line += part + ("" if part.endswith(";") else ", ")
    return "\n".join(lines + [line])


def exports(api):
    names = "".join(f"    loom_{f['name']};\n" for f in api.functions())
    return f"/* {MADE} */\nLOOM_0 {{\n  global:\n{names}  local: *;\n}};\n"


def python(api):
    j = api.json
    out = [f'"""The C ABI for ctypes. {MADE}"""\n\nfrom __future__ import annotations\n\n',
           "from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int32,\n"
           "                    c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p, sizeof)\n"]
    for enum in j["enums"]:
        out.append(f"\n# {enum['help']}\n")
        out += [f"{enum['prefix'] + name} = {value}\n" for name, value, _ in enum["values"]]
    out.append("\nSTATUS_NAMES = {\n" + "".join(
        f"    {v}: \"{camel(n.lower())}\",\n" for n, v, _ in next(e for e in j["enums"] if e["name"] == "status")["values"]) + "}\n")
    # Callbacks take structs, and structs of options hold callbacks.
    with_callbacks = [s for s in j["structs"] if any(f[1].startswith("callback ") for f in s["fields"])]
    plain = [s for s in j["structs"] if s not in with_callbacks]
    plain.sort(key=lambda s: any(f[1].startswith("struct ") for f in s["fields"]))
    out += [python_struct(api, struct) for struct in plain]
    for callback in j["callbacks"]:
        returns = "None" if callback["returns"] == "void" else api.py_value(callback["returns"])
        params = ", ".join(p for _, _, p in api.params(callback))
        out.append(f"\n{camel(callback['name'])} = CFUNCTYPE({returns}, {params})\n")
    out += [python_struct(api, struct) for struct in with_callbacks]
    out.append("\n\ndef declare(library: CDLL) -> None:\n    \"\"\"Declares the parameters of every function to ctypes.\"\"\"\n")
    for function in api.functions():
        params = ", ".join(p for _, _, p in api.params(function))
        returns = "c_char_p" if function.get("returns") == "text" else "c_int32"
        line = f"    _declare(library, \"loom_{function['name']}\", {returns}, [{params}])\n"
        out.append(line if len(line) <= 120 else line.replace(", [", ",\n             [", 1))
    out.append("\n\ndef _declare(library: CDLL, name: str, returns: type[c_char_p] | type[c_int32], params: list[type]) -> None:\n    function = getattr(library, name)\n"
               "    function.restype = returns\n    function.argtypes = params\n")
    return "".join(out)


def python_struct(api, struct):
    fields = "".join(f'        ("{n.split("[")[0]}", {p}),\n' for _, n, p in api.fields(struct))
    return (f'\n\nclass {camel(struct["name"])}(Structure):\n    _fields_ = [\n        ("struct_size", c_uint32),\n'
            f"{fields}    ]\n\n    def __init__(self, **values: object) -> None:\n"
            "        super().__init__(struct_size=sizeof(self.__class__), **values)\n")


def reference_words():
    """The words at the top of the header, its line of code as a block."""
    out = []
    for line in textwrap.dedent(HEADER_WORDS).splitlines():
        out.append(f"\n```c\n{line.strip()}\n```\n" if line.startswith("  ") else line)
    return "\n".join(out) + "\n"


def reference(api):
    j = api.json
    out = [f"# The C ABI\n\n<!-- {MADE} -->\n\n`#include <loom/loom.h>`, link with `-lloom`.\n\n",
           reference_words()]
    for group in j["groups"]:
        out.append(f"\n## {group['name'].capitalize()}\n\n" + (group["help"] + "\n\n" if group["help"] else ""))
        for function in group["functions"]:
            out.append(f"### loom_{function['name']}\n\n```c\n{wrap_declaration(signature(api, function) + ';')}\n```\n\n")
            out.append(function["help"] + "\n\n")
            out += [f"- `{p[0]}`: {p[2]}\n" for p in function["params"] if len(p) > 2 and p[2]]
            if any(len(p) > 2 and p[2] for p in function["params"]):
                out.append("\n")
    out.append("## Structs\n")
    for struct in j["structs"]:
        out.append(f"\n### loom_{struct['name']}\n\n{struct['help']}\n\n| field | type | |\n|---|---|---|\n")
        out.append("| struct_size | uint32_t | sizeof of the struct |\n")
        for field in struct["fields"]:
            parts = api.declare(field[0], field[1])
            out.append(f"| {', '.join(p[1] for p in parts)} | {', '.join(p[0] for p in parts)} | {field[2]} |\n")
    out.append("\n## Callbacks\n")
    for callback in j["callbacks"]:
        params = ", ".join(f"{c} {n}" for c, n, _ in api.params(callback))
        returns = "void" if callback["returns"] == "void" else api.c_value(callback["returns"])
        out.append(f"\n### loom_{callback['name']}\n\n`{returns} ({params})`. {callback['help']}\n")
    out.append("\n## Constants\n")
    for enum in j["enums"]:
        out.append(f"\n### loom_{enum['name']}\n\n{enum['help']}\n\n| | | |\n|---|---|---|\n")
        out += [f"| LOOM_{enum['prefix']}{n} | {v} | {w} |\n" for n, v, w in enum["values"]]
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file differs")
    check = parser.parse_args().check
    api = Api(ROOT / "api" / "loom.json")
    files = {"include/loom/loom.h": header(api), "src/capi/exports.map": exports(api),
             "python/welvet/_abi.py": python(api), "docs/reference/c-abi.md": reference(api), **bindings.outputs(api)}
    differing = [name for name, text in files.items()
                 if not (ROOT / name).is_file() or (ROOT / name).read_text() != text]
    for name in differing:
        if check:
            print(f"{name} differs from api/loom.json: run tools/gen_bindings.py")
        else:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(files[name])
            print(f"wrote {name}")
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
