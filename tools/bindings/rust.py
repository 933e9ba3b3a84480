"""bindings/rust: extern "C" declarations, structs whose layout the compiler checks, enums of the crate's own surface."""

from bindings.c_types import MADE, MODELS, call, camel, described, fields, layout, parts, returns, wrapped

TYPES = {"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "float": "f32", "double": "f64",
         "uint8_t": "u8", "size_t": "usize", "char": "c_char", "void": "c_void"}
WORDS = {"as", "box", "const", "do", "dyn", "else", "enum", "final", "fn", "for", "if", "impl", "in", "let", "loop", "macro",
         "match", "mod", "move", "mut", "pub", "ref", "return", "static", "struct", "trait", "try", "type", "use", "where",
         "while", "yield"}

HEAD = f"""//! The C ABI of Loom: constants, structs and functions of loom.h. {MADE}
//!
//! Structs begin with their size, which `Default` sets; the other fields are 0, which means their defaults.

use core::ffi::{{c_char, c_void}};

/// Any of the handles below. 0 stands for none.
pub type Handle = u64;
"""


def name_of(name):
    return f"r#{name}" if name in WORDS else name


def type_of(part):
    name = part.struct or part.callback or part.alias
    base = camel(name) if name else TYPES[part.base]
    out = base
    for const in part.consts:
        out = ("*const " if const else "*mut ") + out
    return f"[{out}; {part.count}]" if part.count else out


def result_of(api, item):
    part = returns(api, item)
    return "" if part is None else f" -> {type_of(part)}"


def structs(api):
    out = []
    for struct in api.json["structs"]:
        name = camel(struct["name"])
        out.append("\n" + wrapped(struct["help"], "", "/// ") + f"#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name} {{\n")
        out.append("    /// The size of the struct.\n    pub struct_size: u32,\n")
        words = {f[0]: f[2] for f in struct["fields"]}
        for part in fields(api, struct)[1:]:
            if words.get(part.name):
                out.append(wrapped(words[part.name], "    ", "/// "))
            out.append(f"    pub {name_of(part.name)}: {type_of(part)},\n")
        out.append("}\n\n" + f"impl Default for {name} {{\n    fn default() -> Self {{\n"
                   "        // Numbers, pointers and optional functions may all be 0.\n"
                   f"        let mut value: Self = unsafe {{ core::mem::zeroed() }};\n"
                   f"        value.struct_size = core::mem::size_of::<Self>() as u32;\n        value\n    }}\n}}\n")
    return "".join(out)


def checks(api):
    """The compiler compares the layout with the one of the C compilers."""
    out = []
    for pointer in MODELS.values():
        out.append(f'\n#[cfg(target_pointer_width = "{pointer * 8}")]\nconst _: () = {{\n')
        for struct in api.json["structs"]:
            name = camel(struct["name"])
            places, size = layout(api, struct, pointer)
            out.append(f"    assert!(core::mem::size_of::<{name}>() == {size});\n")
            out += [f"    assert!(core::mem::offset_of!({name}, {name_of(p.name)}) == {at});\n" for p, at, _ in places]
        out.append("};\n")
    return "".join(out)


def library(api):
    out = [HEAD]
    for handle in api.json["handles"]:
        out.append(wrapped(handle["help"], "", "/// ") + f"pub type {camel(handle['name'])} = Handle;\n")
    for enum in api.json["enums"]:
        name = camel(enum["name"])
        out.append("\n" + wrapped(enum["help"], "", "/// ") + f"pub type {name} = i32;\n")
        for value, number, words in enum["values"]:
            out.append((wrapped(words, "", "/// ") if words else "") + f"pub const {enum['prefix']}{value}: {name} = {number};\n")
    for callback in api.json["callbacks"]:
        out.append("\n" + wrapped(callback["help"], "", "/// "))
        types = [f"{name_of(p.name)}: {type_of(p)}" for p in parts(api, callback)]
        out.append(call(f"pub type {camel(callback['name'])} = Option<unsafe extern \"C\" fn", types,
                        f"{result_of(api, callback)}>;"))
    out += [structs(api), checks(api), '\n#[link(name = "loom")]\nextern "C" {\n']
    for i, function in enumerate(api.functions()):
        out.append(("\n" if i else "") + wrapped(described(function), "    ", "/// "))
        types = [f"{name_of(p.name)}: {type_of(p)}" for p in parts(api, function)]
        out.append(call(f"pub fn loom_{function['name']}", types, f"{result_of(api, function)};", "    "))
    return "".join(out) + "}\n"


def enum_text(enum, name, words):
    """An enum of Rust with its conversion from the number that the library gives."""
    values = [(camel(value.lower()), number, about) for value, number, about in enum["values"]]
    variants = "".join(wrapped(f"{(about or value)[0].upper()}{(about or value)[1:]}.", "    ", "/// ", width=100)
                       + f"    {value},\n" for value, _, about in values)
    cases = "".join(f"            {number} => Self::{value},\n" for value, number, _ in values)
    return (f"\n/// {words}\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\npub enum {name} {{\n{variants}"
            f"    /// A number that this crate does not know.\n    Unknown(i32),\n}}\n\nimpl From<i32> for {name} {{\n"
            f"    fn from(number: i32) -> Self {{\n        match number {{\n{cases}            other => Self::Unknown(other),\n"
            "        }\n    }\n}\n")


def codes(api):
    enums = {enum["name"]: enum for enum in api.json["enums"]}
    return (f"//! Enums of results. {MADE}\n" + enum_text(enums["status"], "Code", "Reason why a call failed.")
            + enum_text(enums["stop"], "StopReason", "Reason why an answer ended."))


def outputs(api):
    return {"bindings/rust/src/sys.rs": library(api), "bindings/rust/src/codes.rs": codes(api)}
