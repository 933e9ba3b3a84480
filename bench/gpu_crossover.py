#!/usr/bin/env python3
"""Draws docs/benchmarks/gpu_crossover.svg: the time of a pass on the CPU and on a graphics card over its multiply-adds.

usage: bench/gpu_crossover.py RESULTS [OUT.svg]      RESULTS: what bench_gpu_crossover printed

A dot for each shape: how many times as long this computer takes as the card. Above the line the card is faster; filled dots are
those that `--device auto` gives to the card.
"""
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 420, 70, 56, 20, 60
COLOURS = {"dense": "#2266aa", "conv": "#bb5522"}


def read(path):
    notes, rows = [], []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            notes.append(line[2:])
        else:
            name, work, here, card, _, _, choice = line.split("\t")
            rows.append((name, float(work), float(here), float(card), choice))
    return notes, rows


def main():
    notes, rows = read(sys.argv[1])
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/benchmarks/gpu_crossover.svg"
    ratios = [here / card for _, _, here, card, _ in rows]
    low_x, high_x = (f(math.log10(work) for _, work, *_ in rows) for f in (min, max))
    low_x, high_x = math.floor(low_x), math.ceil(high_x)
    low_y = min(-1, math.floor(min(map(math.log10, ratios))))
    high_y = max(1, math.ceil(max(map(math.log10, ratios))))

    def x_of(work):
        return LEFT + (math.log10(work) - low_x) / (high_x - low_x) * (WIDTH - LEFT - RIGHT)

    def y_of(ratio):
        return TOP + (high_y - math.log10(ratio)) / (high_y - low_y) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             f'<text x="{LEFT}" y="20" font-size="14">Time of a pass on the CPU over that on {notes[0]}</text>',
             f'<text x="{LEFT}" y="38" fill="#555555">{notes[-1]}</text>']
    for decade in range(low_x, high_x + 1):
        x = x_of(10**decade)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">1e{decade}</text>')
    for decade in range(low_y, high_y + 1):
        y = y_of(10.0**decade)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{"#888888" if decade == 0 else "#e4e4e4"}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**decade:g}x</text>')
    for (name, work, _, _, choice), ratio in zip(rows, ratios):
        colour = COLOURS[name.split()[0]]
        fill = colour if choice == "gpu" else "#ffffff"
        parts.append(f'<circle cx="{x_of(work):.1f}" cy="{y_of(ratio):.1f}" r="5" fill="{fill}" stroke="{colour}" stroke-width="1.5">'
                     f'<title>{name}: {ratio:.2g}x</title></circle>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 24}" text-anchor="middle">multiply-adds of a pass</text>')
    for i, (name, colour) in enumerate(COLOURS.items()):
        parts.append(f'<circle cx="{LEFT + 14 + 90 * i}" cy="{HEIGHT - 10}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 24 + 90 * i}" y="{HEIGHT - 6}">{name}</text>')
    parts.append(f'<text x="{LEFT + 200}" y="{HEIGHT - 6}">filled: auto takes the card</text></svg>')
    out.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
