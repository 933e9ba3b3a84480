#!/usr/bin/env python3
"""Compares lists and counts of the pages with the tables of the code.

usage: check_lists.py     every fault on a line of its own, and 1 if there is one

- docs/reference/formats.md, the first table: each folder of src/io and src/data that reads or writes a format is named by a row, each output of the program
  (OutputKind in src/io/output_file.h) has a row that says how it is written, and opsets are those of the code
- docs/reference/models.md: types of GGUF and safetensors files (kDTypes), model families (kFamilies), instruction sets (targets.inc), kinds of layers
- counts in words and figures, as "12 losses", in PAGES: the number of entries of the code's table
- docs/internals/adding.md, the first table: the files that a complete addition takes are as many as its rows list, and those without a placeholder exist
- README.md and docs/plan.md: as long as LIMITS says, or shorter
- .gitattributes: marks every file that says in its first lines which tool makes it
- docs/internals/architecture.md, "What is missing": what it names is known to ABSENT and does not exist
"""
import os
import re
import subprocess
import sys

import check_docs

ROOT = check_docs.ROOT
FORMATS, MODELS = "docs/reference/formats.md", "docs/reference/models.md"
ARCHITECTURE, ADDING = "docs/internals/architecture.md", "docs/internals/adding.md"
PAGES = ("README.md", MODELS, ARCHITECTURE, "docs/guide/networks.md", "docs/guide/start.md", "docs/guide/training.md")
# The most words or lines of a page.
LIMITS = {"README.md": ("words", 900), "docs/plan.md": ("lines", 120)}
# Where the row of an output of the program begins; a new enumerator needs an entry.
OUTPUTS = {
    "model": ".entity version 2", "kv": ".entity version 2", "graph": ".entity version 2", "network": ".entity version 2", "gguf": "GGUF", "onnx": "ONNX",
    "safetensors": "safetensors", "npy": ".npy", "tensor": "JSON lists of numbers", "tensors": "JSON lists of numbers", "svg": "pictures and pages", "html": "pictures and pages",
}
# Folders of src/data that hold no format.
NO_FORMAT = {"pipeline", "numpy", "series"}
# Least and greatest opset that is read, and the one that is written.
OPSETS = (("src/graph/model.h", r"kLeastOpset = "), ("src/graph/model.h", r"kMostOpset = "), ("src/io/onnx_writer/graph_writer.cpp", r"kOpset = "))
# Named as missing: where it would be.
ABSENT = {"Apps for phones": "examples/phones"}


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def body(name, begin, end):
    """The text of a table of the code, between two patterns."""
    match = re.search(begin + r"(.*?)" + end, read(name), re.DOTALL)
    if not match:
        raise ValueError(f"{name}: no table that begins with {begin}")
    return match[1]


def dtypes():
    """[(name, whether it is a block format, number in GGUF files, name in safetensors files)]"""
    rows = re.findall(r'\{T::(\w+), "[^"]*", \d+, \d+, \d+, C::(\w+), (-?\d+), "(\w*)"', body("src/dtypes/dtype.h", r"std::array<DTypeInfo, kNumDTypes>\{\{", r"\}\};"))
    return [(name, kind == "Block", int(number), tensor) for name, kind, number, tensor in rows]


def counts():
    """{pattern of a noun: number of entries in the code}"""
    types = dtypes()
    return {
        "kinds of layers": len(re.findall(r"&\w+::", body("src/layers/all.cpp", r"kKinds\[\] = \{", r"\};"))),
        "losses": len(re.findall(r"&k\w+Loss", read("src/learning/losses/all.cpp"))),
        "optimisers": len(re.findall(r"^LOOM_UPDATE\(", read("src/ops/update/rules.inc"), re.MULTILINE)),
        "schedules": len(re.findall(r'"[^"]+"', body("src/learning/schedule.cpp", r"kSchedules = \{", r"\};"))),
        "(?:numeric )?types": sum(not block for _, block, _, _ in types),
        "block types": sum(block for _, block, _, _ in types),
    }


def wrong_counts(pages, known):
    for page, text in pages.items():
        text = " ".join(text.split())
        for noun, number in known.items():
            before = r"(?:any of(?: the)? |any layer in any of |the )" if noun.endswith("types") and "block" not in noun else ""
            for match in re.finditer(rf"{before}\b(\d+) {noun}\b", text):
                if int(match[1]) != number:
                    yield f"{page}: \"{match[0]}\": the code has {number}"


def wrong_formats(rows):
    """rows: [(format, read, written, code)] of the first table."""
    code = " ".join(row[3] for row in rows)
    for folder in ("src/io", "src/data"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if os.path.isdir(os.path.join(ROOT, folder, name)) and name not in NO_FORMAT and not re.search(rf"`{folder}/{name}\b", code):
                yield f"{FORMATS}: no row names {folder}/{name}"
    kinds = [kind.strip() for kind in body("src/io/output_file.h", r"enum class OutputKind \{", r"\}").split(",")]
    for kind in kinds:
        row = next((row for row in rows if kind in OUTPUTS and row[0].startswith(OUTPUTS[kind])), None)
        if row is None:
            yield f"{FORMATS}: no row for what the program writes as OutputKind::{kind}; OUTPUTS in tools/check_lists.py says which one it is"
        elif row[2] in ("", "no"):
            yield f"{FORMATS}: \"{row[0]}\" is not written, and the program writes it (OutputKind::{kind})"
    opsets = [body(file, pattern, "[,;]") for file, pattern in OPSETS]
    row = next(row for row in rows if row[0].startswith("ONNX"))
    if re.findall(r"opset (\d+) to (\d+)", row[0]) != [tuple(opsets[:2])] or re.findall(r"opset (\d+)", row[2]) != opsets[2:]:
        yield f"{FORMATS}: the row of ONNX: the code reads opset {opsets[0]} to {opsets[1]} and writes opset {opsets[2]}"
    yield from (f"{FORMATS}: OUTPUTS in tools/check_lists.py has {kind}, which OutputKind lacks" for kind in OUTPUTS if kind not in kinds)


def wrong_models(page):
    """page: {row: cell} of docs/reference/models.md."""
    def missing(row, wanted, fold=str.upper):
        said = set(re.findall(r"[\w.]+", fold(page[row])))
        yield from (f"{MODELS}, \"{row}\": {word} is missing" for word in wanted if fold(word) not in said)
    types = dtypes()
    floats = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
    stored = [floats.get(name, name) for name, block, number, _ in types if number >= 0 and (block or name in floats)]
    yield from missing("Weights in GGUF", stored)
    wrong = set(re.findall(r"\b[A-Z]+\d\w*\b", page["Weights in GGUF"])) - {name.upper() for name in stored}
    yield from (f"{MODELS}, \"Weights in GGUF\": {word} is no type of the code" for word in sorted(wrong))
    yield from missing("Weights in safetensors", sorted({tensor.split("_")[0] for name, _, _, tensor in types if tensor[:1] in ("F", "B")}))
    families = re.findall(r'^    \{\.type = "(\w+)",', body("src/lm/config_json.cpp", r"kFamilies\[\] = \{", r"\n\};"), re.MULTILINE)
    yield from missing("Language models", families, str.lower)
    targets = {"scalar": "scalar", "sse4": "SSE4", "avx2": "AVX2", "avx512": "512", "amx": "AMX", "neon": "NEON", "neondot": "SDOT", "neoni8mm": "SMMLA", "wasm128": "wasm32"}
    listed = re.findall(r"^LOOM_SIMD_(?:TARGET|VARIANT)\((\w+)", read("src/simd/targets.inc"), re.MULTILINE)
    yield from missing("Processors", [targets.get(name, name) for name in listed])


def wrong_kinds(text):
    """The list of kinds of docs/reference/models.md against docs/reference/layers.md, which the tests of src/network hold to the code."""
    kinds = re.findall(r"^- `(\w+)`(?: \([^)]*\))?: .*Shapes:", read("docs/reference/layers.md"), re.MULTILINE)
    said = " ".join(text.partition("## Kinds of layers")[2].split())
    said = re.sub(r"\b([a-z]+)1 to \1(\d)", lambda m: ", ".join(f"{m[1]}{n}" for n in range(1, int(m[2]) + 1)), said)
    yield from (f"{MODELS}, \"Kinds of layers\": {kind} is missing" for kind in kinds if not re.search(rf"\b{kind}\b", said))


def wrong_absence(text):
    """The section "What is missing": every sentence names something of ABSENT, or leads to the plan."""
    for sentence in re.split(r"(?<=[.;])\s+", " ".join(text.split())):
        named = [thing for thing in ABSENT if thing in sentence]
        if not named and "plan.md" not in sentence and sentence:
            yield f"{ARCHITECTURE}, \"What is missing\": \"{sentence}\" names nothing that ABSENT in tools/check_lists.py knows"
        yield from (f"{ARCHITECTURE}, \"What is missing\": {ABSENT[thing]} exists" for thing in named if os.path.exists(os.path.join(ROOT, ABSENT[thing])))


def wrong_recipes(rows):
    """rows: [(addition, files to run, files to be complete, those that complete it)] of docs/internals/adding.md. Capitals stand for a name."""
    for what, run, complete, listed in rows:
        spans = re.findall(r"`([^`]+/[^`]+)`", listed.replace("`tools/gen_bindings.py`", ""))
        if int(run) + len(spans) != int(complete):
            yield f"{ADDING}, \"{what}\": {run} files and {len(spans)} listed ones, but {complete} to be complete"
        yield from (f"{ADDING}, \"{what}\": {name}: no such file" for name in spans if "NAME" not in name and not os.path.exists(os.path.join(ROOT, name)))


def unmarked(root=ROOT):
    """Files that a tool makes and .gitattributes does not mark as generated."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True).stdout.split("\n")
    made = []
    for name in sorted({*listed} - {""}):
        if not name.startswith("tools/") and not name.endswith("_test.cpp") and os.path.isfile(os.path.join(root, name)):
            with open(os.path.join(root, name), "rb") as file:
                made += [name] if re.search(rb"(?:made|generated) by tools/", file.read(600), re.IGNORECASE) else []
    marks = subprocess.run(["git", "check-attr", "linguist-generated", "--", *made], cwd=root, check=True, capture_output=True, text=True).stdout
    yield from (f".gitattributes: {line.rpartition(': linguist')[0]} is made by a tool and not marked as linguist-generated"
                for line in marks.split("\n") if line and not line.endswith(": set"))


def too_long(texts):
    for page, (unit, most) in LIMITS.items():
        size = len(texts[page].split()) if unit == "words" else texts[page].count("\n")
        if size > most:
            yield f"{page}: {size} {unit}, at most {most}"


def faults():
    _, _, (_, *recipes) = check_docs.tables(os.path.join(ROOT, ADDING))[0]
    _, _, (_, *rows) = check_docs.tables(os.path.join(ROOT, FORMATS))[0]
    _, _, (_, *models) = check_docs.tables(os.path.join(ROOT, MODELS))[0]
    return [*wrong_formats(rows), *wrong_models(dict(models)), *wrong_kinds(read(MODELS)), *wrong_recipes(recipes),
            *wrong_counts({page: read(page) for page in PAGES}, counts()), *too_long({page: read(page) for page in LIMITS}),
            *unmarked(), *wrong_absence(read(ARCHITECTURE).partition("## What is missing\n")[2].partition("\n## ")[0])]


def main():
    wrong = faults()
    print("\n".join(wrong) or "pages: their lists and counts are those of the code")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
