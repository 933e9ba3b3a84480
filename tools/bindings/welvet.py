"""libwelvet.so: welvet_compat.h with the names of Loom 0.8x, and the bodies of those that only say that they are unsupported."""

import json

from bindings.c_types import call

MADE = "Made by tools/gen_bindings.py from api/welvet_compat.json."
TYPES = {"#": "int64_t", "$": "const char*", "@": "const float*", "&": "int*", "~": "float"}
RESULTS = {"s": "char*", "h": "int64_t", "i": "int", "d": "double", "v": "void"}
REFUSED = {"s": "return welvet::unsupported(\"{0}\");", "h": "return welvet::no_handle(\"{0}\");", "i": "return welvet::no_number(\"{0}\");",
           "d": "return welvet::no_number(\"{0}\");", "v": "welvet::no_number(\"{0}\");"}
WORDS = {"in", "out", "default", "new", "int"}

HEAD = f"""/* The names of Loom 0.8x over loom.h. {MADE}

   A handle is positive and of one kind; one that was released or is of another kind is an error, never a crash.
   Constructors return -1 when they fail, and LoomLastError() says why. Texts that are returned are freed by
   FreeLoomString(); one that begins {{"error": is an error. api/welvet_compat.json describes each name. */
#ifndef LOOM_WELVET_COMPAT_H
#define LOOM_WELVET_COMPAT_H

#include <stdint.h>

#if defined(_WIN32)
#define WELVET_API __declspec(dllexport)
#else
#define WELVET_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {{
#endif

/* An index that is out of range gives a Type of -1. */
typedef struct LoomLayerSpec {{
  int Z, Y, X, L, Type, Activation, DType, InputHeight, InputWidth, InputDepth, OutputHeight, OutputWidth, OutputDepth;
  int InputChannels, Filters, KernelSize, Stride, Padding, NumHeads, NumKVHeads, DModel, SeqLength, VocabSize, EmbeddingDim;
  int NumClusters, UseTiling, TileSize;
}} LoomLayerSpec;

typedef struct LoomLayerStats {{
  float Avg, Max, Min;
  int Active, Total;
}} LoomLayerStats;

"""


def parameter(text):
    kind, name = (TYPES[text[0]], text[1:]) if text[0] in TYPES else ("int", text)
    if name == "tokens":
        kind = "const uint32_t*"
    return kind, name + "_" if name in WORDS else name


def declared(name, params, result, named=True):
    items = [f"{kind} {label}" if named else kind for kind, label in map(parameter, params)]
    return call(f"{RESULTS.get(result, result)} {name}", items or ["void"], "{}")[:-3]


def header(names):
    out = [HEAD]
    for name, params, result, _ in names:
        out.append("WELVET_API " + declared(name, params, result) + ";\n")
    return "".join(out) + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"


def refusals(names):
    out = [f"// The names of Loom 0.8x that this library does not serve, and those that are another one. {MADE}\n\n"]
    for name, params, result, status in names:
        items = [parameter(p) for p in params]
        if status == "unsupported":
            body = REFUSED.get(result, "return welvet::no_" + ("spec" if result == "LoomLayerSpec" else "stats") + "(\"{0}\");").format(name)
            out.append(f"{declared(name, params, result, False)} {{ {body} }}\n")
        elif status.startswith("alias "):
            given = ", ".join(label for _, label in items)
            back = "" if result == "v" else "return "
            out.append(f"{declared(name, params, result)} {{ {back}{status[6:]}({given}); }}\n")
    return "".join(out)


def methods(names):
    """The names that are served, for LoomGetMethodsJSON()."""
    served = ",\n".join(f'    "{name}"' for name, _, _, status in names if status != "unsupported")
    return f"\nnamespace welvet {{\n\ninline constexpr const char* kServed[] = {{\n{served}}};\n\n}}  // namespace welvet\n"


def exports(names):
    return "/* " + MADE + " */\nWELVET_0 {\n  global:\n" + "".join(f"    {n[0]};\n" for n in names) + "  local: *;\n};\n"


def outputs(api):
    table = json.loads((api.root / "api/welvet_compat.json").read_text())
    names = table["names"] + table["added"]
    return {"include/loom/welvet_compat.h": header(names), "src/legacy/names/other_names.inc": refusals(names) + methods(names),
            "src/legacy/names/exports.map": exports(names)}
