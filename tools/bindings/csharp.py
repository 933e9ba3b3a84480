"""bindings/csharp: P/Invoke declarations in C# 7.3, which .NET, Mono and Unity compile; LibraryImport from .NET 7 on."""

from bindings.c_types import MADE, call, camel, described, fields, lower_camel, parts, returns, wrapped

TYPES = {"int32_t": "int", "uint32_t": "uint", "int64_t": "long", "uint64_t": "ulong", "float": "float",
         "double": "double", "uint8_t": "byte", "size_t": "UIntPtr", "char": "byte", "void": "void"}
WORDS = {"in", "out", "ref", "params", "is", "as", "base", "lock", "object", "string", "checked", "fixed", "event", "operator"}

HEAD = f"""// The C ABI of Loom: constants, structs and functions of loom.h. {MADE}
// Structs begin with their size: `var options = ModelOptions.Create();` sets it.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

#pragma warning disable 1591  // fields and constants whose name says all have no comment

namespace Welvet.Interop
{{
"""

# Attributes of every function: the marshaller that the compiler writes from .NET 7 on, the runtime's before.
IMPORT = """#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_{0}")]
        [UnmanagedCallConv(CallConvs = new[] {{ typeof(CallConvCdecl) }})]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_{0}", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
"""


def name_of(name):
    name = lower_camel(name)
    return "@" + name if name in WORDS else name


def type_of(part):
    if part.callback:
        return "IntPtr"
    return (camel(part.struct) if part.struct else TYPES[part.base]) + "*" * part.pointers


def result_of(api, item):
    part = returns(api, item)
    return "void" if part is None else type_of(part)


def summary(text, indent):
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return wrapped(f"<summary>{text}</summary>", indent, "/// ")


def structs(api):
    out = []
    for struct in api.json["structs"]:
        name = camel(struct["name"])
        out.append(summary(struct["help"], "    ") + "    [StructLayout(LayoutKind.Sequential)]\n"
                   f"    public unsafe struct {name}\n    {{\n")
        words = {f[0]: f[2] for f in struct["fields"]}
        for part in fields(api, struct):
            if words.get(part.name):
                out.append(summary(words[part.name], "        "))
            if part.count:
                out.append(f"        public fixed {TYPES[part.base]} {camel(part.name)}[{part.count}];\n")
            else:
                out.append(f"        public {type_of(part)} {camel(part.name)};\n")
        out.append(f"\n        public static {name} Create()\n        {{\n"
                   f"            return new {name} {{ StructSize = (uint)sizeof({name}) }};\n        }}\n    }}\n\n")
    return "".join(out)


def library(api):
    out = [HEAD]
    for callback in api.json["callbacks"]:
        out.append(summary(callback["help"], "    ") + "    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]\n")
        types = [f"{type_of(p)} {name_of(p.name)}" for p in parts(api, callback)]
        out.append(call(f"public unsafe delegate {result_of(api, callback)} {camel(callback['name'])}", types, ";", "    ") + "\n")
    out += [structs(api), "    /// <summary>The functions and constants of loom.h.</summary>\n"
            "    public static unsafe partial class Abi\n    {\n#if UNITY_IOS && !UNITY_EDITOR\n"
            "        private const string Library = \"__Internal\"; // linked into the program\n#else\n"
            "        private const string Library = \"loom\";\n#endif\n"]
    for enum in api.json["enums"]:
        out.append("\n" + wrapped(enum["help"], "        ", "// "))
        for value, number, words in enum["values"]:
            out.append((summary(words, "        ") if words else "") +
                       f"        public const int {camel((enum['prefix'] + value).lower())} = {number};\n")
    for function in api.functions():
        out.append("\n" + summary(described(function), "        "))
        out.append(IMPORT.format(function["name"]))
        types = [f"{type_of(p)} {name_of(p.name)}" for p in parts(api, function)]
        out.append(call(f"{result_of(api, function)} {camel(function['name'])}", types, ";", "            "))
    return "".join(out) + "    }\n}\n"


def outputs(api):
    return {"bindings/csharp/Abi.cs": library(api)}
