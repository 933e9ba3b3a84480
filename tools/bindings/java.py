"""bindings/java: java.lang.foreign (Java 22 and later): layouts, and a static method for each function; the codes of errors."""

from bindings.c_types import MADE, call, camel, described, layout, lower_camel, parts, returns, wrapped

TYPES = {"int32_t": ("int", "JAVA_INT"), "uint32_t": ("int", "JAVA_INT"), "int64_t": ("long", "JAVA_LONG"),
         "uint64_t": ("long", "JAVA_LONG"), "float": ("float", "JAVA_FLOAT"), "double": ("double", "JAVA_DOUBLE"),
         "uint8_t": ("byte", "JAVA_BYTE"), "size_t": ("long", "JAVA_LONG")}
WORDS = {"new", "default", "final", "native", "package", "switch", "this", "try", "case", "class", "int", "long"}

HEAD = f"""// The C ABI of Loom: constants, struct layouts and functions of loom.h. {MADE}
// Structs begin with their size: Abi.struct(arena, Abi.STEP) makes one of zeros with its size set. 64-bit systems only.
package welvet.abi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Constants, struct layouts and functions of loom.h, for what the package welvet leaves out. */
public final class Abi {{
    private Abi() {{}}

    private static final SymbolLookup LIBRARY = library();

    /** Finds the library that the property loom.library or the variable WELVET_LIBRARY names, or that of the system. */
    private static SymbolLookup library() {{
        String system = System.mapLibraryName("loom");
        String variable = System.getenv("WELVET_LIBRARY");
        String name = System.getProperty("loom.library", variable == null || variable.isEmpty() ? system : variable);
        try {{
            return SymbolLookup.libraryLookup(name, Arena.global());
        }} catch (IllegalArgumentException e) {{
            throw new UnsatisfiedLinkError(name + " cannot be loaded: set WELVET_LIBRARY to the path of " + system);
        }}
    }}

    private static MethodHandle function(String name, FunctionDescriptor type) {{
        return Linker.nativeLinker().downcallHandle(LIBRARY.find(name).orElseThrow(), type);
    }}

    /** A struct of zeros with its size set. */
    public static MemorySegment struct(Arena arena, StructLayout layout) {{
        MemorySegment made = arena.allocate(layout);
        made.set(JAVA_INT, 0, (int) layout.byteSize());
        return made;
    }}

    /** A text of the library that ends with a NUL. */
    public static String text(MemorySegment address) {{
        return address.reinterpret(Long.MAX_VALUE).getString(0);
    }}

    private static MemorySegment stub(Class<?> kind, Object target, FunctionDescriptor type, Arena arena) {{
        try {{
            MethodType call = type.toMethodType();
            MethodHandle apply = MethodHandles.lookup().findVirtual(kind, "apply", call).bindTo(target);
            return Linker.nativeLinker().upcallStub(apply, type, arena);
        }} catch (ReflectiveOperationException e) {{
            throw new AssertionError(e);
        }}
    }}
"""


def name_of(name):
    name = lower_camel(name)
    return name + "_" if name in WORDS else name


def java(part):
    """(type, layout) of a parameter."""
    return ("MemorySegment", "ADDRESS") if part.is_pointer else TYPES[part.base]


def descriptor(api, item):
    layouts = [java(p)[1] for p in parts(api, item)]
    result = returns(api, item)
    if result is None:
        return f"FunctionDescriptor.ofVoid({', '.join(layouts)})"
    return f"FunctionDescriptor.of({', '.join([java(result)[1]] + layouts)})"


def javadoc(text, indent):
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("*/", "* /")
    one = f"{indent}/** {text} */\n"
    return one if len(one) <= 119 else f"{indent}/**\n" + wrapped(text, indent, " * ") + f"{indent} */\n"


def struct_text(api, struct):
    places, size = layout(api, struct, 8)
    items, at = [], 0
    for part, offset, bytes_ in places:
        if offset > at:
            items.append(f"MemoryLayout.paddingLayout({offset - at})")
        value = java(part)[1]
        value = f"MemoryLayout.sequenceLayout({part.count}, {value})" if part.count else value
        items.append(f'{value}.withName("{part.name}")')
        at = offset + bytes_
    if size > at:
        items.append(f"MemoryLayout.paddingLayout({size - at})")
    name = struct["name"].upper()
    lines = ",\n".join(f"        {item}" for item in items)
    out = "\n" + javadoc(struct["help"], "    ")
    out += f"    public static final StructLayout {name} = MemoryLayout.structLayout(\n{lines}).withName(\"{struct['name']}\");\n"
    words = {f[0]: f[2] for f in struct["fields"]}
    for part, offset, _ in places[1:]:
        out += (javadoc(words[part.name], "    ") if words.get(part.name) else "")
        out += f"    public static final long {name}_{part.name.upper()} = {offset};\n"
    return out


def function_text(api, function):
    items, result = parts(api, function), returns(api, function)
    name = lower_camel(function["name"])
    holder = f"Call{camel(function['name'])}"
    out = f"\n    private static final class {holder} {{\n        static final MethodHandle CALL = function(\n"
    out += f"            \"loom_{function['name']}\",\n            {descriptor(api, function)});\n"
    out += "    }\n\n" + javadoc(described(function), "    ")
    out += call(f"public static {java(result)[0]} {name}", [f"{java(p)[0]} {name_of(p.name)}" for p in items], " {", "    ")
    invoked = call(f"return ({java(result)[0]}) {holder}.CALL.invokeExact", [name_of(p.name) for p in items], ";", "            ")
    return out + f"        try {{\n{invoked}        }} catch (Throwable e) {{\n            throw new AssertionError(e);\n        }}\n    }}\n"


def callback_text(api, callback):
    result = returns(api, callback)
    name = camel(callback["name"])
    types = [f"{java(p)[0]} {name_of(p.name)}" for p in parts(api, callback)]
    out = "\n" + javadoc(callback["help"], "    ") + f"    public interface {name} {{\n"
    out += call(f"{'void' if result is None else java(result)[0]} apply", types, ";", "        ")
    out += "\n        /** A pointer for C, which lasts as long as the arena. */\n        default MemorySegment pointer(Arena arena) {\n"
    return out + f"            return stub({name}.class, this, {descriptor(api, callback)}, arena);\n        }}\n    }}\n"


def library(api):
    out = [HEAD]
    for enum in api.json["enums"]:
        out.append("\n" + wrapped(enum["help"], "    ", "// "))
        for value, number, words in enum["values"]:
            out.append((javadoc(words, "    ") if words else "") +
                       f"    public static final int {enum['prefix'] + value} = {number};\n")
    out += [struct_text(api, struct) for struct in api.json["structs"]]
    out += [callback_text(api, callback) for callback in api.json["callbacks"]]
    out += [function_text(api, function) for function in api.functions()]
    return "".join(out) + "}\n"


CODES = f"""// {MADE}
package welvet;

/** Reason why a call failed. */
public enum ErrorCode {{
"""

CODES_END = """
    private final int number;

    ErrorCode(int number) {
        this.number = number;
    }

    /**
     * Gives the code of a status of the library.
     *
     * @param number the status
     * @return the code, UNKNOWN for a number that this package does not know
     */
    public static ErrorCode of(int number) {
        for (ErrorCode code : values()) {
            if (code.number == number) {
                return code;
            }
        }
        return UNKNOWN;
    }
}
"""


def codes(api):
    values = next(enum for enum in api.json["enums"] if enum["name"] == "status")["values"][1:]
    rows = [javadoc(words[0].upper() + words[1:] + ".", "    ") + f"    {value}({number})" for value, number, words in values]
    rows.append("    /** Number that this package does not know. */\n    UNKNOWN(-1)")
    return CODES + ",\n".join(rows) + ";\n" + CODES_END


def outputs(api):
    folder = "bindings/java/src/main/java/welvet"
    return {f"{folder}/abi/Abi.java": library(api), f"{folder}/ErrorCode.java": codes(api)}
