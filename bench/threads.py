#!/usr/bin/env python3
"""Speed over threads: prompts read, tokens written, steps of training. Prints tables and draws docs/benchmarks/threads.svg from docs/benchmarks/threads.json.

usage: threads.py [--threads 1,2,4,8,16] [--model FILE.gguf] [--prompt-tokens 512] [--new-tokens 64] [--rounds 3] [--only PART] [--wait SECONDS]
                  [--loom build/bin/loom] [--training build/bin/bench_training] [--json docs/benchmarks/threads.json] [--svg docs/benchmarks/threads.svg]
       threads.py --from docs/benchmarks/threads.json [--svg docs/benchmarks/threads.svg]      draws and prints what was measured before

The command is `loom bench MODEL --prompt-tokens N --new-tokens N -t T` for reading and writing, and bench_training for rows of bench/training.json and
bench/training_large.json. A round has every number of threads once; figures are medians of the rounds. A sample beside which others used the processor is
taken again, as in llama_cpp.py; after three failures the figure is left out. Without --threads: powers of two up to the processor's, and all of them.
"""
import argparse
import json
import math
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, ".."))
sys.path[:0] = [HERE, os.path.join(ROOT, "tools")]
import fetch_data
import machine
from llama_cpp import Failed, parsed, quiet_sample

# name in the picture, table, row, seconds of a sample
STEPS = [("MLP", "training.json", "MLP 784-512-256-10 step b64 adam", 0.4),
         ("CNN", "training.json", "CNN 3x32x32 step b32 momentum", 0.4),
         ("LSTM", "training.json", "LSTM 32-128 T32 step b32 adam", 0.4),
         ("transformer, 2 blocks", "training.json", "transformer 2x128 h4 T32 step b16 adam", 0.4),
         ("transformer, 4 blocks", "training_large.json", "transformer 4x256 h4 T128 step b32 adam", 1.0),
         ("MLP, int8 weights", "training.json", "MLP 784-512-256-10 int8 step b64 momentum", 0.4),
         ("NPC", "training.json", "NPC 4-64-64-3 step b64 adam", 0.4)]
COLOURS = {"prefill": "#1f6fb4", "decode": "#c2571a", "training": "#2e7d4f"}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 400, 56, 24, 200, 44  # RIGHT has the names of the lines
NAME_HEIGHT = 15


# --- measuring -----------------------------------------------------------------------------------------------------------------------

def default_threads():
    return sorted({2**i for i in range(machine.CORES.bit_length())} | {machine.CORES})


def sample_model(a, threads):
    run = machine.measure([a.loom, "bench", a.model, "--prompt-tokens", str(a.prompt_tokens), "--new-tokens", str(a.new_tokens), "--repeats", "1",
                           "-t", str(threads), "--json"])
    result = parsed(run, "loom bench")
    return {"prefill": result["prefill_tps"], "decode": result["decode_tps"]}, [run]


def sample_step(a, step, threads):
    name, table, row, seconds = step
    run = machine.measure([a.training, os.path.join(HERE, table), row, str(seconds), str(threads)])
    for line in run.out.splitlines():
        if line.split("\t")[0] == row:
            return {name: float(line.split("\t")[2]) / 1000}, [run]
    raise Failed(f"bench_training has no row {row}: {run.error[-300:]}")


def measured(a):
    """{threads, lines}: a line is a group, a name, a unit and a figure for each number of threads, null where none was measured."""
    takes = [lambda threads: sample_model(a, threads)] if a.only in "prefill decode" else []
    takes += [lambda threads, step=step: sample_step(a, step, threads) for step in STEPS if a.only in f"training {step[0]}"]
    figures = {}
    for take in takes:
        for _ in range(a.rounds):
            for threads in a.threads:
                try:
                    sample = quiet_sample(lambda: take(threads), threads, a.wait)
                except Failed as reason:
                    print(f"threads: {threads} threads: {reason}", file=sys.stderr)
                    continue
                for name in sample.keys() - {"foreign", "steal", "rss_mb"}:
                    figures.setdefault(name, {}).setdefault(threads, []).append(sample[name])
    wanted = [("prefill", f"prefill, {a.prompt_tokens} tokens", "prefill", "tok/s"), ("decode", f"decode, {a.new_tokens} tokens", "decode", "tok/s")]
    wanted += [("training", name, name, "ms") for name, *_ in STEPS]
    return {"machine": machine.describe(), "model": os.path.basename(a.model), "rounds": a.rounds, "threads": a.threads,
            "lines": [{"group": group, "name": name, "unit": unit,
                       "values": [statistics.median(figures[key][t]) if t in figures[key] else None for t in a.threads]}
                      for group, name, key, unit in wanted if key in figures]}


# --- showing -------------------------------------------------------------------------------------------------------------------------

def speeds(line):
    """How many times as fast as with the first number of threads; None where that or this is missing."""
    first = line["values"][0]
    return [None if not v or not first else v / first if line["unit"] == "tok/s" else first / v for v in line["values"]]


def tables(record):
    out, first = [], record["threads"][0]
    for unit, head in (("tok/s", "tok/s (efficiency) with threads"), ("ms", "step, milliseconds (times as fast) with threads")):
        lines = [line for line in record["lines"] if line["unit"] == unit]
        if not lines:
            continue
        out += [f"| {head} | " + " | ".join(map(str, record["threads"])) + " |", "| --- |" + " --- |" * len(record["threads"])]
        for line in lines:
            cells = []
            for threads, value, speed in zip(record["threads"], line["values"], speeds(line)):
                cells.append("-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}")
                if speed is not None and threads != first:
                    cells[-1] += f" ({100 * speed * first / threads:.0f} %)" if unit == "tok/s" else f" ({speed:.{2 if speed < 2 else 1}f})"
            out.append(f"| {line['name']} | " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)


def spread_out(heights):
    """Places for names as near as can be to where their lines end, none upon another."""
    groups = []  # [sum of the ideal places of first names, names]: a run of names that touch
    for height in heights:
        groups.append([height, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] + groups[-2][1] * NAME_HEIGHT > groups[-1][0] / groups[-1][1]:
            wanted, names = groups.pop()
            groups[-1][0] += wanted - names * groups[-1][1] * NAME_HEIGHT
            groups[-1][1] += names
    return [wanted / names + i * NAME_HEIGHT for wanted, names in groups for i in range(names)]


def picture(record):
    lines = [(line, [(t, s) for t, s in zip(record["threads"], speeds(line)) if s is not None]) for line in record["lines"]]
    lines = [(line, points) for line, points in lines if points]
    first, most = record["threads"][0], record["threads"][-1] / record["threads"][0]
    low = min(1, 2 ** math.floor(math.log2(min(s for _, points in lines for _, s in points))))
    high = max(most, *(s for _, points in lines for _, s in points))

    def x_of(threads):
        return LEFT + math.log2(threads / first) / max(math.log2(most), 1) * (WIDTH - LEFT - RIGHT)

    def y_of(speed):
        return TOP + math.log2(high / speed) / math.log2(high / low) * (HEIGHT - TOP - BOTTOM)

    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<title>Speed over threads, in multiples of {"one thread" if first == 1 else f"{first} threads"}</title>',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    for threads in record["threads"]:
        x = x_of(threads)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#e3e3e3"/>'
                   f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#333">{threads}</text>')
    for power in range(round(math.log2(low)), math.floor(math.log2(high)) + 1):
        y = y_of(2**power)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{"#bbb" if power == 0 else "#e3e3e3"}"/>'
                   f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#333">{2.0**power:g}x</text>')
    out.append(f'<text x="{(LEFT + right) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#333">threads</text>')
    out.append(f'<polyline fill="none" stroke="#999" stroke-width="2" stroke-dasharray="4 4" points="{x_of(first):.1f},{y_of(1):.1f} '
               f'{x_of(first * most):.1f},{y_of(most):.1f}"/>')
    for line, points in lines:
        places, colour = [(x_of(t), y_of(s)) for t, s in points], COLOURS[line["group"]]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    ends = [(y_of(most), x_of(first * most), "as many times", "#777")]
    ends += [(y_of(points[-1][1]), x_of(points[-1][0]), line["name"], COLOURS[line["group"]]) for line, points in lines]
    ends.sort(key=lambda end: end[0])
    for (y, x, name, colour), place in zip(ends, spread_out([end[0] for end in ends])):
        out.append(f'<path fill="none" stroke="{colour}" stroke-width="0.8" d="M{x + 4:.1f} {y:.1f} L{right + 18} {place:.1f} h4"/>')
        out.append(f'<text x="{right + 26}" y="{place + 4:.1f}" fill="{colour}">{name}</text>')
    for at, group in enumerate(g for g in COLOURS if any(line["group"] == g for line, _ in lines)):
        title = "steps of training" if group == "training" else group
        out.append(f'<text x="{LEFT + 12}" y="{TOP + 16 + 16 * at}" fill="{COLOURS[group]}" font-weight="bold">{title}</text>')
    return "\n".join(out) + "\n</svg>\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--from", dest="record")
    parser.add_argument("--threads", default=default_threads(), type=lambda s: sorted(int(t) for t in s.split(",")))
    parser.add_argument("--model", default=os.path.join(fetch_data.data_folder(), fetch_data.MODEL))
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--wait", type=float, default=20)
    parser.add_argument("--loom", default=os.path.join(ROOT, "build", "bin", "loom"))
    parser.add_argument("--training", default=os.path.join(ROOT, "build", "bin", "bench_training"))
    parser.add_argument("--json", default=os.path.join(ROOT, "docs", "benchmarks", "threads.json"))
    parser.add_argument("--svg", default=os.path.join(ROOT, "docs", "benchmarks", "threads.svg"))
    chosen = parser.parse_args()
    if len(chosen.threads) < 2:
        parser.error("--threads: two numbers or more are expected, lines have to begin and to end")
    return chosen


def main():
    a = arguments()
    if a.record:
        with open(a.record, encoding="utf-8") as file:
            record = json.load(file)
    else:
        record = measured(a)
        if not record["lines"]:
            raise Failed("nothing was measured")
        with open(a.json, "w", encoding="utf-8") as out:
            json.dump(record, out, indent=1)
    print(tables(record))
    with open(a.svg, "w", encoding="utf-8") as out:
        out.write(picture(record))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError, ValueError) as error:
        print(f"threads: {error}", file=sys.stderr)
        sys.exit(1)
