"""C declarations as other languages need them: what a parameter or field is made of, and the offsets of fields."""

import re

MADE = "Made by tools/gen_bindings.py from api/loom.json."
SCALARS = {"int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "float": 4, "double": 8, "uint8_t": 1, "char": 1}
MODELS = {"wasm32": 4, "lp64": 8}  # sizes of a pointer; in both a value is at a multiple of its size


class Part:
    """One parameter or field: a base type, the pointers to it, and the length of an array."""

    def __init__(self, api, c_type, declared):
        match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", declared)
        self.name, self.count = match[1], int(match[2]) if match[2] else None
        self.pointers = c_type.count("*")
        levels = c_type.split("*")
        self.consts = ["const" in level for level in levels[:-1]]  # of what each pointer points to, inside out
        self.base = levels[0].replace("const", "").strip()
        self.is_text = self.base == "char" and self.pointers == 1
        name = self.base.removeprefix("loom_")
        self.struct = name if name in api.structs else None
        self.callback = name if name in api.callbacks else None
        self.alias = name if name in api.handles | api.enums | {"handle"} and self.base != name else None
        if name in api.handles or name == "handle":
            self.base = "uint64_t"
        elif name in api.enums:
            self.base = "int32_t"

    @property
    def is_pointer(self):
        return self.pointers > 0 or self.callback is not None

    def size(self, pointer):
        if self.is_pointer or self.base == "size_t":
            return pointer
        return SCALARS[self.base]


def parts(api, described):
    """Parameters of a function or a callback."""
    return [Part(api, c_type, name) for c_type, name, _ in api.params(described)]


def fields(api, struct):
    """Fields of a struct, its size first."""
    return [Part(api, "uint32_t", "struct_size")] + [Part(api, c_type, name) for c_type, name, _ in api.fields(struct)]


def layout(api, struct, pointer):
    """([(part, offset, size)], size) of a struct where pointers have that size."""
    at, most, out = 0, 1, []
    for part in fields(api, struct):
        each = part.size(pointer)
        at = (at + each - 1) // each * each
        out.append((part, at, each * (part.count or 1)))
        at += each * (part.count or 1)
        most = max(most, each)
    return out, (at + most - 1) // most * most


def returns(api, described):
    """The result of a function or a callback; None for void."""
    kind = described.get("returns", "status")
    if kind == "void":
        return None
    return Part(api, "loom_status" if kind == "status" else api.c_value(kind), "result")


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def lower_camel(name):
    return name[0] + camel(name)[1:] if "_" in name else name


def wrapped(text, indent, first, more=None, width=118):
    """Comment lines that begin with `first`, the later ones with `more`."""
    import textwrap
    more = first if more is None else more
    lines = textwrap.wrap(text, width - len(indent) - len(first)) or [""]
    return "".join(f"{indent}{first if i == 0 else more}{line}\n" for i, line in enumerate(lines))


def described(item):
    """The words of a function with those of its parameters."""
    words = "; ".join(f"{p[0]}: {p[2]}" for p in item["params"] if len(p) > 2 and p[2])
    return item["help"] + (f" ({words})" if words else "")


def call(head, items, tail, indent="", width=118):
    """head(items)tail over as many lines as it needs."""
    line = f"{indent}{head}({', '.join(items)}){tail}"
    if len(line) <= width:
        return line + "\n"
    lines, now = [], f"{indent}{head}("
    for i, item in enumerate(items):
        part = item + (f"){tail}" if i == len(items) - 1 else ", ")
        if len(now) + len(part) > width and now.strip():
            lines.append(now.rstrip())
            now = indent + "    "
        now += part
    return "\n".join(lines + [now]) + "\n"
