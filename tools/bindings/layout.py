"""bindings/c/layout.c: the offsets of the fields of structs, checked by the compiler and printed, in C89."""

from bindings.c_types import MADE, fields, layout


def program(api):
    out = [f"/* Sizes and offsets of the structs of loom.h. {MADE}\n"
           "   A size or offset that differs from what other languages declare is an array of -1 elements. */\n"
           "#include <loom/loom.h>\n\n"
           "#define AT(type, field, wasm32, lp64) \\\n"
           "  typedef char at_##type##_##field[offsetof(type, field) == (sizeof(void*) == 4 ? wasm32 : lp64) ? 1 : -1]\n"
           "#define SIZE(type, wasm32, lp64) \\\n"
           "  typedef char size_##type[sizeof(type) == (sizeof(void*) == 4 ? wasm32 : lp64) ? 1 : -1]\n\n"]
    for struct in api.json["structs"]:
        name = f"loom_{struct['name']}"
        small, small_size = layout(api, struct, 4)
        large, large_size = layout(api, struct, 8)
        out.append(f"SIZE({name}, {small_size}, {large_size});\n")
        out += [f"AT({name}, {a[0].name}, {a[1]}, {b[1]});\n" for a, b in zip(small, large)]
        out.append("\n")
    out.append("#ifdef LOOM_PRINT_LAYOUT\n#include <stdio.h>\n\n"
               "#define SHOW(type, field) \\\n"
               "  printf(#type \" \" #field \" %lu %lu\\n\", (unsigned long)offsetof(type, field), \\\n"
               "         (unsigned long)sizeof(((type*)0)->field))\n\nint main(void) {\n")
    for struct in api.json["structs"]:
        name = f"loom_{struct['name']}"
        out.append(f"  printf(\"{name} %lu\\n\", (unsigned long)sizeof({name}));\n")
        out += [f"  SHOW({name}, {part.name});\n" for part in fields(api, struct)]
    return "".join(out) + "  return 0;\n}\n#endif\n"


def outputs(api):
    return {"bindings/c/layout.c": program(api)}
