#!/usr/bin/env python3
"""Draws docs/same_bits.svg: one table of networks, six ways to compute it, one digest. Its text is read from the tree.

usage: draw_same_bits.py            writes the picture
       draw_same_bits.py --check    1 if the picture is not what would be written; the tests run this

The digest is the SHA-256 of tests/determinism/hashes.tsv, which `loom verify` prints; the numbers count its lines; the widths of registers are those
of src/simd/targets.inc. Which machines it was computed on stands in docs/internals/numerics.md, "Why these two".
"""
import hashlib
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TABLE, PICTURE = "tests/determinism/hashes.tsv", "docs/same_bits.svg"
LANES, FLOAT = 16, 4  # a vector of the source, bytes of an element
# target of src/simd/targets.inc, what the processor is, where it was run
WAYS = [("scalar", "x86-64, scalar", "AMD and Intel"), ("sse4", "x86-64, SSE4", "AMD Zen 3"), ("avx2", "x86-64, AVX2", "AMD and Intel"),
        ("avx512", "x86-64, AVX-512", "Intel Xeon"), ("neon", "Arm, NEON", "AArch64 in qemu"), ("wasm128", "WebAssembly SIMD", "wasm32 in node")]
WIDTH, HEIGHT, TOP, ROW = 1000, 436, 92, 52


def lanes_of_register(target):
    """Returns how many of the sixteen lanes one register holds."""
    with open(os.path.join(ROOT, "src/simd/targets.inc"), encoding="utf-8") as file:
        return max(1, int(re.search(rf"LOOM_SIMD_TARGET\({target}, \w+, (\d+),", file.read())[1]) // FLOAT)


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def registers(x, y, each):
    """Sixteen small squares, framed by register."""
    size, gap, out = 12, 6, []
    for _ in range(0, LANES, each):
        out.append(f'<rect class="register" x="{x - 2}" y="{y - 2}" width="{each * size + 4}" height="{size + 4}" rx="3"/>')
        for _ in range(each):
            out.append(f'<rect class="lane" x="{x + 1}" y="{y + 1}" width="{size - 2}" height="{size - 2}" rx="1.5"/>')
            x += size
        x += gap
    return "".join(out)


def picture():
    with open(os.path.join(ROOT, TABLE), "rb") as file:
        table = file.read()
    digest, lines = hashlib.sha256(table).hexdigest(), table.decode().splitlines()
    models = sum(line.startswith("decoder ") for line in lines)
    middle = TOP + ROW * len(WAYS) / 2
    out = [f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-labelledby="t d" \
font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" font-size="13" fill="#22303c">
  <title id="t">The same bits on every machine</title>
  <desc id="d">One set of networks runs on x86-64 with scalar code, SSE4, AVX2 and AVX-512, on Arm with NEON and on WebAssembly. The digest of all results is the \
same.</desc>
  <defs>
    <marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="#5b6b78"/></marker>
    <style>
      .box{{stroke:#5b6b78;stroke-width:1.3}} .line{{stroke:#5b6b78;stroke-width:1.5;fill:none;marker-end:url(#arrow)}} .title{{font-weight:bold;font-size:20px}}
      .name{{font-weight:bold;font-size:14px}} .small{{font-size:12px;fill:#44535f}} .mono{{font-family:DejaVu Sans Mono,Menlo,Consolas,monospace;font-size:14px}}
      .register{{fill:#fff;stroke:#b58a3c;stroke-width:1.2}} .lane{{fill:#e8b04b}}
    </style>
  </defs>
  <rect x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="14" fill="#fbfaf7" stroke="#c9ced2"/>''',
           text(32, 40, "One network file, the same bits everywhere", "title"),
           text(32, 64, "sixteen outputs are computed side by side; how many fit one register changes the speed and not the result", "small"),
           f'<rect class="box" x="32" y="{middle - 62}" width="190" height="124" rx="8" fill="#dfeaf7"/>',
           text(127, middle - 34, "network, inputs, seed", "name", "middle")]
    out += [text(127, middle - 10 + 19 * i, words, "small", "middle")
            for i, words in enumerate([f"{models} small language models,", f"{len(lines) - models} results of layers: every", "kind, pass and numeric type"])]
    for i, (target, name, where) in enumerate(WAYS):
        y = TOP + ROW * i
        out += [f'<path class="line" d="M222 {middle} C 250 {middle}, 240 {y + 21}, 268 {y + 21}"/>',
                f'<rect class="box" x="270" y="{y}" width="478" height="42" rx="8" fill="#fdf0d5"/>',
                text(284, y + 18, name, "name"), text(284, y + 34, where, "small"), registers(448, y + 15, lanes_of_register(target)),
                f'<path class="line" d="M748 {y + 21} C 768 {y + 21}, 758 {middle}, 776 {middle}"/>']
    out += [f'<rect class="box" x="778" y="{middle - 62}" width="190" height="124" rx="8" fill="#dff2e6"/>',
            text(873, middle - 34, "one digest", "name", "middle"), text(873, middle - 6, digest[:16], "mono", "middle"),
            text(873, middle + 20, "SHA-256 of all results;", "small", "middle"), text(873, middle + 39, "loom verify prints it", "small", "middle"),
            text(32, HEIGHT - 16, "Also with 1, 2, 3 or 7 threads, in any batch, and with GCC or Clang (docs/internals/numerics.md).", "small"), "</svg>\n"]
    return "\n  ".join(out[:-1]) + "\n" + out[-1]


def main():
    path, drawn = os.path.join(ROOT, PICTURE), picture()
    if "--check" in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            if file.read() != drawn:
                sys.exit(f"{PICTURE} is not what tools/draw_same_bits.py draws")
        return print(f"{PICTURE} is up to date")
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawn)


if __name__ == "__main__":
    main()
