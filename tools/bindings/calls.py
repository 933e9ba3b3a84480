"""tests/support/capi_calls.inc: every function of loom.h as a call whose arguments somebody else chooses.

Tests and the fuzz target bring the chooser, a class A with one member per kind of argument (tests/support/capi_arguments.h).
"""

import re

from bindings.c_types import MADE

NUMBERS = {"i32": "std::int32_t", "u32": "std::uint32_t", "i64": "std::int64_t", "u64": "std::uint64_t", "f32": "float",
           "f64": "double", "size": "std::size_t", "u8": "std::uint8_t"}


def kind_of(api, name):
    return f"LOOM_KIND_{name.upper()}" if name in api.handles else "LOOM_KIND_NONE"


def value(api, name, kind):
    """(declaration of a local, arguments that pass it, lines that look at it when the call succeeded)."""
    optional, kind = kind.endswith("?"), kind.removesuffix("?")
    yes = "true" if optional else "false"
    base = kind.removeprefix("out ")
    if kind in api.handles or kind == "handle":
        return f"const loom_handle {name} = a.handle(\"{name}\", {kind_of(api, kind)}, {yes});", [name], []
    if kind in NUMBERS:
        return f"const auto {name} = a.template number<{NUMBERS[kind]}>(\"{name}\");", [name], []
    if kind == "bool" or kind in api.enums:
        return f"const std::int32_t {name} = a.choice(\"{name}\");", [name], []
    if kind == "text":
        return f"const char* const {name} = a.text(\"{name}\", {yes});", [name], []
    if kind == "user":
        return f"void* const {name} = a.user();", [name], []
    if kind.startswith("callback "):
        return f"const auto {name} = a.template callback<loom_{kind[9:]}>();", [name], []
    if kind in ("bytes", "chars"):
        pointer = "const void*" if kind == "bytes" else "const char*"
        return f"const auto {name} = a.bytes(\"{name}\");", [f"static_cast<{pointer}>({name}.data)", f"{name}.size"], []
    if kind == "memory":
        return f"const auto {name} = a.memory(\"{name}\");", [f"{name}.data", f"{name}.size"], []
    if kind == "text[]":
        return f"const auto {name} = a.texts(\"{name}\");", [f"{name}.data", f"{name}.size"], []
    if kind.startswith("struct "):
        return f"const loom_{kind[7:]}* const {name} = given_{kind[7:]}(a, {yes});", [name], []
    if m := re.fullmatch(r"into (\w+)\[\]", kind):
        return f"const auto {name} = a.template into<{NUMBERS[m[1]]}>(\"{name}\");", [f"{name}.data", f"{name}.size"], []
    if m := re.fullmatch(r"(\w+)\[\]", kind):
        if m[1] in api.handles:
            return f"const auto {name} = a.handles(\"{name}\", {kind_of(api, m[1])});", [f"{name}.data", f"{name}.size"], []
        return f"const auto {name} = a.template array<{NUMBERS[m[1]]}>(\"{name}\");", [f"{name}.data", f"{name}.size"], []
    if m := re.fullmatch(r"view (\w+)(\[\])?", kind):
        item = {"bytes": "void", "chars": "char"}.get(m[1]) or NUMBERS[m[1]]
        return f"const auto {name} = a.template view<{item}>();", [f"{name}.data", f"{name}.size"], \
            [f"a.saw(*{name}.data, *{name}.size);"]
    if kind.startswith("out struct "):
        return f"loom_{kind[11:]}* const {name} = a.template result_struct<loom_{kind[11:]}>();", [name], \
            [f"look_at_{kind[11:]}(a, *{name});"]
    if base in api.handles or base == "handle":
        return f"loom_handle* const {name} = a.template result<loom_handle>();", [name], [f"a.took(*{name});"]
    item = NUMBERS.get(base, "std::int32_t")
    return f"{item}* const {name} = a.template result<{item}>();", [name], []


def fields(api, struct):
    """Fills a struct that goes in; reads what a struct that came out points to."""
    name = f"loom_{struct['name']}"
    out = [f"template <class A>\nconst {name}* given_{struct['name']}(A& a, bool optional) {{\n"
           f"  {name}* const s = a.template given_struct<{name}>(optional);\n  if (s == nullptr || !a.fills()) return s;\n"]
    seen = [f"template <class A>\nvoid look_at_{struct['name']}([[maybe_unused]] A& a, [[maybe_unused]] const {name}& s) {{\n"]
    for field in struct["fields"]:
        kind, label = field[1], field[0]
        if kind.startswith("view "):
            size = f"{label}_size" if kind[5:] in ("bytes", "chars") else f"{label}_count"
            seen.append(f"  a.saw(s.{label}, s.{size});\n")
            continue
        if "[" not in kind or kind.endswith("[]"):
            declared, passed, _ = value(api, label, kind)
            c_names = [p[1] for p in api.declare(label, kind)]
            if kind == "memory" or kind == "u64[]":
                seen.append(f"  a.saw(s.{c_names[0]}, s.{c_names[1]});\n")
            out.append(f"  {declared}\n" + "".join(f"  s->{c} = {p};\n" for c, p in zip(c_names, passed)))
    return "".join(out) + "  return s;\n}\n" + "".join(seen) + "}\n"


def call(api, function):
    name = function["name"]
    items = [value(api, p[0], p[1]) for p in function["params"]]
    out = [f"template <class A>\nloom_status call_{name}([[maybe_unused]] A& a) {{\n"]
    out += [f"  {declared}\n" for declared, _, _ in items]
    arguments = ", ".join(argument for _, passed, _ in items for argument in passed)
    if function.get("returns") == "text":
        return "".join(out) + f"  const char* const text = loom_{name}({arguments});\n  a.said(text);\n  return LOOM_OK;\n}}\n"
    if "returns" in function:
        return "".join(out) + f"  static_cast<void>(loom_{name}({arguments}));\n  return LOOM_OK;\n}}\n"
    out.append(f"  const loom_status status = loom_{name}({arguments});\n")
    looks = [line for _, _, lines in items for line in lines]
    if looks:
        out.append("  if (status == LOOM_OK) {\n" + "".join(f"    {line}\n" for line in looks) + "  }\n")
    return "".join(out) + "  return status;\n}\n"


def library(api):
    given = {p[1].removesuffix("?").split(" ")[-1] for f in api.functions() for p in f["params"] if "struct " in p[1]}
    out = [f"// Every function of loom.h, its arguments chosen by an A (tests/support/capi_arguments.h). {MADE}\n\n"
           "namespace loom_calls {\n\n"]
    out += [fields(api, s) for s in api.json["structs"] if s["name"] in given]
    out += [call(api, f) for f in api.functions()]
    out.append("\ntemplate <class A>\nstruct Named {\n  const char* name;\n  loom_status (*call)(A&);\n"
               "  bool takes_handle;  // a handle that may not be 0\n  bool gives;         // results through pointers\n};\n\n"
               "template <class A>\ninline constexpr Named<A> kCalls[] = {\n")
    for f in api.functions():
        takes = any(p[1] in api.handles or p[1] == "handle" for p in f["params"])
        gives = any(p[1].startswith(("out ", "view ")) for p in f["params"])
        out.append(f"    {{\"{f['name']}\", call_{f['name']}<A>, {str(takes).lower()}, {str(gives).lower()}}},\n")
    return "".join(out) + "};\n\n}  // namespace loom_calls\n"


def outputs(api):
    return {"tests/support/capi_calls.inc": library(api)}
