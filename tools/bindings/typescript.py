"""js/src/abi: constants and struct layouts as a module, and its types; functions as a WebAssembly module has them; signatures for koffi."""

from bindings.c_types import MADE, MODELS, described, layout, parts, returns, wrapped

VIEWS = {"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "float": "f32", "double": "f64",
         "uint8_t": "u8"}


def doc(text, indent):
    one = f"{indent}/** {text} */\n"
    return one if len(one) <= 119 else f"{indent}/**\n" + wrapped(text, indent, " * ") + f"{indent} */\n"


def type_of(part):
    if part.is_pointer or part.base == "size_t":
        return "Pointer"
    if part.alias:
        return pascal(part.alias)
    return "bigint" if part.base in ("int64_t", "uint64_t") else "number"


def kind_of(part):
    if part.is_pointer:
        return "pointer"
    return "size" if part.base == "size_t" else VIEWS[part.base]


def module(api):
    out = [f"// The C ABI of Loom: constants, and offsets of the fields of structs. {MADE}\n"]
    for enum in api.json["enums"]:
        out.append(f"\n// {enum['help']}\n")
        out += [f"export const {enum['prefix'] + value} = {number};\n" for value, number, _ in enum["values"]]
    out.append("\n// Sizes and offsets in bytes: of WebAssembly with 32 bits, and of systems with 64. A bundler drops what is not imported.\n")
    for model, pointer in MODELS.items():
        out.append(f"export const {model} = {{\n")
        for struct in api.json["structs"]:
            places, size = layout(api, struct, pointer)
            out.append(f"  {struct['name']}: {{\n    size: {size},\n    fields: {{\n")
            for part, at, bytes_ in places:
                out.append(f"      {part.name}: {{ offset: {at}, size: {bytes_}, kind: '{kind_of(part)}' }},\n")
            out.append("    },\n  },\n")
        out.append("};\n")
    return "".join(out) + f"export const layouts = {{ {', '.join(MODELS)} }};\n"


def types(api):
    out = [f"// The C ABI of Loom: constants, layouts of structs, functions. {MADE}\n"]
    for enum in api.json["enums"]:
        out.append("\n")
        for value, number, words in enum["values"]:
            out.append((doc(words, "") if words else "") + f"export declare const {enum['prefix'] + value}: {number};\n")
        values = " | ".join(str(number) for _, number, _ in enum["values"])
        out.append(doc(enum["help"], "") + f"export type {pascal(enum['name'])} =\n" +
                   wrapped(values, "  ", "").rstrip("\n") + ";\n")
    out.append("\n/** Any of the handles below. 0n stands for none. */\nexport type Handle = bigint;\n")
    for handle in api.json["handles"]:
        out.append(doc(handle["help"], "") + f"export type {pascal(handle['name'])} = Handle;\n")
    out.append("""
export interface Field {
  readonly offset: number;
  readonly size: number;
  /** A pointer and a size have 4 bytes in wasm32 and 8 in lp64; u8 may be an array of them. */
  readonly kind: 'i32' | 'u32' | 'i64' | 'u64' | 'f32' | 'f64' | 'u8' | 'size' | 'pointer';
}
export interface Layout<Name extends string> {
  readonly size: number;
  readonly fields: Readonly<Record<'struct_size' | Name, Field>>;
}
export interface Layouts {
""")
    for struct in api.json["structs"]:
        names = " | ".join(f"'{part.name}'" for part, _, _ in layout(api, struct, 4)[0][1:])
        out.append(doc(struct["help"], "  ") + f"  readonly {struct['name']}: Layout<\n" +
                   wrapped(names, "    ", "").rstrip("\n") + "\n  >;\n")
    out.append("}\n/** Sizes and offsets in bytes: of WebAssembly with 32 bits, and of systems with 64. */\n"
               "export declare const wasm32: Layouts;\nexport declare const lp64: Layouts;\n"
               "export declare const layouts: { readonly wasm32: Layouts; readonly lp64: Layouts };\n")
    for callback in api.json["callbacks"]:
        result = returns(api, callback)
        items = ", ".join(f"{part.name}: {type_of(part)}" for part in parts(api, callback))
        out.append("\n" + doc(callback["help"], "") + f"export type {pascal(callback['name'])}<Pointer = number> = "
                   f"({items}) => {'void' if result is None else type_of(result)};\n")
    out.append("\n/** The functions as they are exported; pointers are numbers in wasm32. */\nexport interface Functions<Pointer = number> {\n")
    for function in api.functions():
        items = [f"{part.name}: {type_of(part)}" for part in parts(api, function)]
        line = f"  loom_{function['name']}({', '.join(items)}): {type_of(returns(api, function))};\n"
        if len(line) > 119:
            line = f"  loom_{function['name']}(\n" + "".join(f"    {item},\n" for item in items) + \
                f"  ): {type_of(returns(api, function))};\n"
        out.append(doc(described(function), "  ") + line)
    return "".join(out) + "}\n"


CODES = {"int32_t": "i", "uint32_t": "u", "int64_t": "l", "uint64_t": "U", "float": "f", "double": "d", "size_t": "z"}


def signature(api, described):
    """Result and parameters as letters; p is a pointer, v nothing."""
    def code(part):
        return "v" if part is None else "p" if part.is_pointer else CODES[part.base]

    return f"{code(returns(api, described))}:{''.join(code(part) for part in parts(api, described))}"


def signatures(api):
    out = [f"""// Signatures of the C ABI of Loom, as letters: the result, then the parameters. {MADE}
// v void, i int32, u uint32, l int64, U uint64 (handles too), z size_t, f float, d double, p pointer.
export const functions = {{
"""]
    out += [f"  {function['name']}: '{signature(api, function)}',\n" for function in api.functions()]
    out.append("};\nexport const callbacks = {\n")
    out += [f"  {callback['name']}: '{signature(api, callback)}',\n" for callback in api.json["callbacks"]]
    return "".join(out) + "};\n"


def pascal(name):
    return "".join(word.capitalize() for word in name.split("_"))


def outputs(api):
    return {"js/src/abi/loom_abi.js": module(api), "js/src/abi/loom_abi.d.ts": types(api),
            "js/src/abi/signatures.js": signatures(api)}
