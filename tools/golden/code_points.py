#!/usr/bin/env python3
"""Writes tests/golden/tokenizers/code_points.tsv: what the tokenizers package does with every code point, as counts and hashes.

Usage: tools/golden/code_points.py DATA    DATA holds tokenizers/<name>/tokenizer.json. Made with tokenizers 0.23.3.
src/text/tokenizer/code_points_test.cpp makes the same rows: change both together. Its patterns know Unicode 16.0, so that
is the version of src/text/unicode. Other parts know others, and rows of kinds "normalizer", "pieces" and "ids" ask only about code
points that 16.0 has assigned.
"""
import json
import os
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, pre_tokenizers

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "tokenizers", "code_points.tsv")
MASK = (1 << 64) - 1
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CHUNK = 4096
PATTERNS = ["\\p{%s}" % p for p in "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn L M N P S Z C LC Word Space".split()]
PATTERNS += ["\\w", "\\W", "\\s", "\\S", "\\d", "\\D", "\\h", "(?i:s)", "(?i:k)", "(?i:[a-z])", "(?i:[α-ω])"]
PATTERNS += ["[[:%s:]]" % p for p in "alpha alnum digit upper lower punct space word".split()]
PIECES = [{"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"}, {"type": "WhitespaceSplit"},
          {"type": "Whitespace"}, {"type": "BertPreTokenizer"}]
BERT = {"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
NORMALIZERS = [({"type": t}, "", "") for t in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase")]
# Followed by a mark of class 1, whose place in the result shows the combining class.
NORMALIZERS += [({"type": "NFD"}, "a", "\u0334"), ({"type": "NFC"}, "a", "\u0334\u0301"), ({"type": "StripAccents"}, "a", "")]
NORMALIZERS += [(dict(BERT, **{k: True}), "a", "a") for k in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")]
# All assigned code points in one text, each after such a prefix: where UnicodeScripts cuts.
SCRIPT_PREFIXES = ["", "a", "\u6f22", "\u0301", "1", " "]
TOKENIZERS = ["llama3", "qwen3", "gpt4o", "deepseek_v3"]


class Row:
    def __init__(self):
        self.count, self.hash = 0, 0xCBF29CE484222325

    def add(self, data):
        self.count += 1
        for b in data:
            self.hash = ((self.hash ^ b) * 0x100000001B3) & MASK


def u32(n):
    return n.to_bytes(4, "little")


def runs(points):
    """Yields the runs of consecutive code points, each as its first and last."""
    first = last = None
    for c in points:
        if last is not None and c == last + 1:
            last = c
            continue
        if last is not None:
            yield first, last
        first = last = c
    if last is not None:
        yield first, last


def matches(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    out = []
    for at in range(0, len(POINTS), CHUNK):
        points = POINTS[at:at + CHUNK]
        kept = {ord(x) for piece, _ in split.pre_tokenize_str("".join(map(chr, points))) for x in piece}
        out += [c for c in points if c not in kept]
    return out


def component(kind, spec):
    tok = json.loads(Tokenizer(tokenizers.models.WordLevel({"a": 0}, "a")).to_str())
    tok[kind] = spec
    return getattr(Tokenizer.from_str(json.dumps(tok)), kind)


def name(value):
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def main():
    assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
    lines = []

    def write(kind, what, row):
        lines.append("\t".join([kind, what, str(row.count), "%016x" % row.hash]))

    for pattern in PATTERNS:
        row = Row()
        for first, last in runs(matches(pattern)):
            row.add(u32(first) + u32(last))
        write("pattern", pattern, row)
    unassigned = set(matches("\\p{Cn}"))
    assigned = [c for c in POINTS if c not in unassigned]
    for spec, before, after in NORMALIZERS:
        row, step = Row(), component("normalizer", spec)
        for c in assigned:
            text = before + chr(c) + after
            out = step.normalize_str(text)
            if out != text:
                row.add(u32(c) + out.encode() + b"\xff")
        write("normalizer", name([spec, before, after]), row)
    for spec in PIECES:
        row, step = Row(), component("pre_tokenizer", spec)
        for c in assigned:
            pieces = step.pre_tokenize_str("a" + chr(c) + "a")
            if len(pieces) != 1:
                row.add(u32(c) + u32(len(pieces)))
        write("pieces", name(spec), row)
    for prefix in SCRIPT_PREFIXES:
        row, step = Row(), pre_tokenizers.UnicodeScripts()
        for at in range(0, len(assigned), CHUNK):
            for piece, _ in step.pre_tokenize_str("".join(prefix + chr(c) for c in assigned[at:at + CHUNK])):
                row.add(u32(ord(piece[0])) + u32(len(piece)))
        write("scripts", name(prefix), row)
    for each in TOKENIZERS:
        row, tok = Row(), Tokenizer.from_file(f"{sys.argv[1]}/tokenizers/{each}/tokenizer.json")
        for c in assigned:
            row.add(b"".join(u32(i) for i in tok.encode(" " + chr(c) + "a\u03011", add_special_tokens=False).ids))
        write("ids", each, row)
    with open(OUT, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


main()
