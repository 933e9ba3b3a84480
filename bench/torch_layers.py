"""Layers beside PyTorch, one thread each, interleaved: python bench/torch_layers.py [BENCH_LAYERS] [PART_OF_NAME]

Per row and pass: least and median microseconds of both, and the ratio (above 1: Loom is faster). A row of bench/layers.json is a layer's
spec and its input; a kind is added by one function in KINDS that makes PyTorch's module of a spec.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, SECONDS = 5, 0.2


def conv(spec):
    axes = int(spec["type"][-1])
    name = ("ConvTranspose" if "transposed" in spec["type"] else "Conv") + f"{axes}d"
    keys = {k: spec[k] for k in ("stride", "padding", "dilation", "groups", "output_padding", "bias") if k in spec}
    return getattr(torch.nn, name)(spec["input_channels"], spec["filters"], spec["kernel_size"], **{"bias": False, **keys})


KINDS = {f"{kind}{axes}": conv for kind in ("cnn", "convtransposed") for axes in (1, 2, 3)}


def passes(row):
    module = KINDS[row["layer"]["type"]](row["layer"])
    x = torch.rand(row["x"]) - 0.5
    wanted = x.clone().requires_grad_()
    with torch.no_grad():
        dy = torch.rand_like(module(x)) - 0.5

    def forward():
        with torch.inference_mode():
            module(x)

    def both():
        module.zero_grad(set_to_none=True)
        wanted.grad = None
        module(wanted).backward(dy)

    return {"forward": forward, "forward+backward": both}


def timed(f):
    f()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < SECONDS or len(times) < 5:
        start = time.perf_counter()
        f()
        times.append((time.perf_counter() - start) * 1e6)
    return min(times), statistics.median(times)


def main():
    torch.set_num_threads(1)
    program = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "build", "bin", "bench_layers")
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    table = os.path.join(HERE, "layers.json")
    with open(table, encoding="utf-8") as file:
        rows = [r for r in json.load(file) if part in r["name"]]
    print(f"{'us, least and median':36}{'Loom':>20}{'PyTorch':>20}{'least':>8}{'median':>8}")
    for row in rows:
        mine, theirs = {}, {}
        for _ in range(ROUNDS):
            out = subprocess.run([program, table, row["name"], str(SECONDS)], check=True, capture_output=True, text=True).stdout
            for line in out.splitlines():
                name, which, least, median = line.split("\t")
                if name == row["name"]:
                    mine.setdefault(which, []).append((float(least), float(median)))
            for which, f in passes(row).items():
                theirs.setdefault(which, []).append(timed(f))
        for which, short in (("forward", "f"), ("forward+backward", "f+b")):
            a, b = ((min(t[0] for t in s[which]), statistics.median(t[1] for t in s[which])) for s in (mine, theirs))
            print(f"{row['name'] + ' ' + short:36}{a[0]:10.1f}{a[1]:10.1f}{b[0]:10.1f}{b[1]:10.1f}{b[0] / a[0]:8.2f}{b[1] / a[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
