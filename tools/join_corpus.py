#!/usr/bin/env python3
"""Joins the inputs of a fuzz target whose format lets one file hold several: journal_fuzz, with the byte 0xFF between two.

usage: join_corpus.py IN... OUT    reads the files of the folders IN and writes few files into the new folder OUT

After a long run of a target (build/fuzz/bin/journal_fuzz build/fuzz/found/journal_fuzz fuzz/corpus/journal_fuzz), inputs that reach no
further edge go first: mkdir least && build/fuzz/bin/journal_fuzz -merge=1 -set_cover_merge=1 -use_counters=0 least FOUND CORPUS.
Files are at most as long as the inputs that libFuzzer makes without -max_len. Names do not depend on the machine: a file is named after its hash.
"""
import hashlib
import pathlib
import sys

SEPARATOR = b"\xff"
LONGEST = 4096


def joined(inputs):
    """Returns texts of at most LONGEST bytes that hold all inputs; a longer input stays alone."""
    parts, texts = sorted({part for text in inputs for part in text.split(SEPARATOR)}, key=lambda part: (len(part), part)), []
    for part in parts:
        if texts and len(texts[-1]) + 1 + len(part) <= LONGEST:
            texts[-1] += SEPARATOR + part
        else:
            texts.append(part)
    return texts


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    *folders, out = (pathlib.Path(name) for name in sys.argv[1:])
    out.mkdir(parents=True)
    for text in joined(file.read_bytes() for folder in folders for file in sorted(folder.iterdir())):
        (out / hashlib.sha1(text).hexdigest()).write_bytes(text)


if __name__ == "__main__":
    main()
