#!/usr/bin/env python3
"""Models of 0.5 to 8 billion parameters, with random weights in their published shapes: prompts, writing, load, memory, and equal hashes.

usage: real_size.py [--shapes mistral-7b,...] [--types q4_0,...] [--threads 1,2,...] [--prompts 128,512] [--new-tokens 32] [--devices cpu,gpu]
                    [--rounds 3] [--peer LLAMA_BENCH] [--seconds S] [--files FOLDER] [--keep] [--loom build/bin/loom] [--json FILE]
       real_size.py --from FILE        prints the tables of what was measured before

A row is `loom bench FILE --prompt-tokens N --new-tokens M --repeats 1 --json -t T [--device gpu]`; a round has every row of a file once, and the peer's
rows beside them: llama-bench of llama.cpp with the same tokens and threads (-ngl 0 on the CPU, -ngl 99 on a card). Figures are minimum / median /
maximum of the rounds; a ratio is one of the pairs. Two columns say how disturbed the machine was (cores that others used, the most of all rounds) and what
part of the file was read per second of writing. `loom generate` then writes eight tokens on every device: their hashes must be equal.
--seconds ends the measuring in time: rows that are left are named, not guessed. A file is made by tools/make_random_gguf.py and removed after its rows.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import machine


def whole_numbers(text):
    return [int(part) for part in text.split(",")]


def figures(values, form="{:.1f}"):
    if not values:
        return "-"
    return " / ".join(form.format(v) for v in (min(values), statistics.median(values), max(values)))


class Sizes:
    def __init__(self, a):
        self.a, self.end = a, time.monotonic() + a.seconds
        self.rows, self.left_out, self.hashes = [], [], []

    def is_over(self, row):
        if time.monotonic() < self.end:
            return False
        self.left_out.append(row)
        return True

    def bench(self, row):
        a = self.a
        run = machine.measure(
            [
                a.loom,
                "bench",
                row["path"],
                "--prompt-tokens",
                str(row["prompt"]),
                "--new-tokens",
                str(a.new_tokens),
                "--repeats",
                "3" if row["device"] == "gpu" else "1",  # a card's first pass compiles its shaders
                "--json",
                "-q",
                "-t",
                str(row["threads"]),
                "--device",
                row["device"],
                "--ctx",
                str(row["prompt"] + a.new_tokens),
            ]
        )
        if run.code != 0:
            raise SystemExit(f"loom bench ended with {run.code}: {run.error.strip()[-400:]}")
        return json.loads(run.out), run

    def peer(self, row):
        """Tokens per second of llama-bench: the prompt, and writing after it."""
        out = []
        for words in (
            ["-p", str(row["prompt"]), "-n", "0"],
            ["-p", "0", "-n", str(self.a.new_tokens), "-d", str(row["prompt"])],
        ):
            run = machine.measure(
                [
                    self.a.peer,
                    "-m",
                    row["path"],
                    "-r",
                    "1",
                    "-o",
                    "json",
                    "-t",
                    str(row["threads"]),
                    "-ngl",
                    "99" if row["device"] == "gpu" else "0",
                    *words,
                ],
                # With -ngl 0 too, prompts are computed by a card that llama.cpp sees.
                None
                if row["device"] == "gpu"
                else {**os.environ, "CUDA_VISIBLE_DEVICES": "", "GGML_VK_VISIBLE_DEVICES": ""},
            )
            if run.code != 0:
                raise SystemExit(f"llama-bench ended with {run.code}: {run.error.strip()[-400:]}")
            out.append(json.loads(run.out)[-1]["avg_ts"])
        return out, run

    def measure(self, shape, kind):
        a = self.a
        path = os.path.join(a.files, f"{shape}-{kind}.gguf")
        if not os.path.exists(path):
            subprocess.run(
                [sys.executable, os.path.join(ROOT, "tools/make_random_gguf.py"), shape, path, "--type", kind],
                check=True,
            )
        rows = [
            {
                "shape": shape,
                "type": kind,
                "path": path,
                "device": device,
                "threads": threads,
                "prompt": prompt,
                "loom": [],
                "peer": [],
            }
            for device in a.devices
            for threads in (a.threads if device == "cpu" else a.threads[-1:])
            for prompt in a.prompts
        ]
        for turn in range(a.rounds):
            for row in rows:
                if self.is_over(
                    f"{shape} {kind} {row['device']} {row['threads']} threads, {row['prompt']} tokens, round {turn + 1}"
                ):
                    continue
                for who in ("loom", "peer")[:: 1 if turn % 2 == 0 else -1]:
                    if who == "loom":
                        made, run = self.bench(row)
                        row["loom"].append(
                            {
                                "prefill": made["prefill_tps"],
                                "decode": made["decode_tps"],
                                "load_ms": made["load_ms"],
                                "peak_mb": run.rss_mb,
                                "foreign": run.foreign,
                                "isa": made["isa"],
                            }
                        )
                    elif a.peer:
                        (prefill, decode), run = self.peer(row)
                        row["peer"].append(
                            {"prefill": prefill, "decode": decode, "peak_mb": run.rss_mb, "foreign": run.foreign}
                        )
        for row in rows:
            row["file_mb"] = os.path.getsize(path) / 1e6
        self.rows += rows
        self.compare_hashes(shape, kind, path)
        if not a.keep:
            os.remove(path)

    def compare_hashes(self, shape, kind, path):
        found = {}
        for device in self.a.devices:
            if self.is_over(f"{shape} {kind} hash on {device}"):
                return
            done = subprocess.run(
                [
                    self.a.loom,
                    "generate",
                    path,
                    "--raw",
                    "-p",
                    "hello",
                    "-n",
                    "8",
                    "--json",
                    "-q",
                    "--device",
                    device,
                    "-t",
                    str(self.a.threads[-1]),
                ],
                capture_output=True,
                text=True,
                check=True,
            )
            found[device] = json.loads(done.stdout)["hash"]
        self.hashes.append({"shape": shape, "type": kind, "hashes": found})
        if len(set(found.values())) != 1:
            raise SystemExit(f"{shape} {kind}: hashes differ: {found}")


def tables(result):
    yield f"{result['machine']}, {result['rounds']} rounds, {result['new_tokens']} tokens written after each prompt."
    yield ""
    with_peer = any(row["peer"] for row in result["rows"])
    peer = " llama.cpp prompt | Loom / it | llama.cpp writing | Loom / it |" if with_peer else ""
    yield f"| shape | type | on | prompt | tok/s of it | tok/s after it |{peer} file read in writing GB/s | load ms | peak MB / file MB | others |"
    yield "|---|---|---|---|---|---|" + ("---|---|---|---|" if with_peer else "") + "---|---|---|---|"
    for row in result["rows"]:
        if not row["loom"]:
            continue
        column = {key: [sample[key] for sample in row["loom"]] for key in row["loom"][0]}
        where = "card" if row["device"] == "gpu" else f"CPU, {row['threads']} thread{'s' if row['threads'] > 1 else ''}"
        cells = [
            row["shape"],
            row["type"].upper(),
            where,
            str(row["prompt"]),
            figures(column["prefill"]),
            figures(column["decode"]),
        ]
        if with_peer:
            for what in ("prefill", "decode"):
                other = [sample[what] for sample in row["peer"]]
                cells += [figures(other), figures([a / b for a, b in zip(column[what], other)], "{:.2f}")]
        cells += [
            f"{statistics.median(column['decode']) * row['file_mb'] / 1e3:.1f}",
            f"{min(column['load_ms']):.0f}",
            f"{max(column['peak_mb']):.0f} / {row['file_mb']:.0f}",
            f"{max(column['foreign']):.2f}",
        ]
        yield "| " + " | ".join(cells) + " |"
    yield ""
    for one in result["hashes"]:
        devices = " and ".join({"cpu": "the CPU", "gpu": "the card"}.get(d, d) for d in one["hashes"])
        yield f"- {one['shape']} {one['type'].upper()}, eight tokens on {devices}: {next(iter(one['hashes'].values()))}"
    if result["left_out"]:
        yield f"- not measured, since the time was over: {len(result['left_out'])} rows, from {result['left_out'][0]} on"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument(
        "--shapes",
        default="qwen2.5-0.5b,tinyllama-1.1b,qwen3-4b,mistral-7b,llama-3-8b",
        type=lambda text: text.split(","),
    )
    p.add_argument("--types", default="q4_0,q4_k_m,q8_0,f16", type=lambda text: text.split(","))
    p.add_argument("--threads", default=sorted({1, 2, machine.CORES}), type=whole_numbers)
    p.add_argument("--prompts", default=[128, 512, 4096], type=whole_numbers)
    p.add_argument("--new-tokens", default=32, type=int)
    p.add_argument("--devices", default=["cpu"], type=lambda text: text.split(","))
    p.add_argument("--rounds", default=3, type=int)
    p.add_argument("--peer")
    p.add_argument("--seconds", default=float("inf"), type=float)
    p.add_argument("--files", default="/tmp")
    p.add_argument("--keep", action="store_true")
    p.add_argument("--loom", default=os.path.join(ROOT, "build/bin/loom"))
    p.add_argument("--json")
    p.add_argument("--from", dest="source")
    a = p.parse_args()
    if a.source:
        with open(a.source, encoding="utf-8") as file:
            return print("\n".join(tables(json.load(file))))
    sizes = Sizes(a)
    for shape in a.shapes:
        for kind in a.types:
            if not sizes.is_over(f"{shape} {kind}"):
                sizes.measure(shape, kind)
    about = machine.describe()
    result = {
        "machine": f"{about['cpu']}, {about['cores']} cores, {about['memory']}",
        "rounds": a.rounds,
        "new_tokens": a.new_tokens,
        "rows": sizes.rows,
        "hashes": sizes.hashes,
        "left_out": sizes.left_out,
    }
    if a.json:
        with open(a.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    print("\n".join(tables(result)))


if __name__ == "__main__":
    main()
