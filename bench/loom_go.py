"""Layers beside the Go Loom 0.80 (PyPI package welvet 0.80.0), interleaved, as its Python users meet it: python bench/loom_go.py [--program BENCH_LAYERS]

Forward passes in f32 of rows of bench/layers.json that it can build. Its only shape-aware call takes and gives text: the time to write the
output as JSON is part of what its users wait for, so a second column takes off the time of a layer that only copies as many values.
"""
import argparse
import json

import welvet

from beside import loom_lines, program, table, timed

ROWS = ["dense 512 b1", "dense 512 b32", "dense 1024 b1", "dense 1024 b32", "cnn2 3-16 3x3 32x32 b1", "cnn2 64-64 3x3 28x28 b1", "cnn3 8-16 3x3x3 12^3 b2",
        "lstm 128 T32 b1", "lstm 128 T32 b32", "mha 256 h8 T64", "mha 256 h8 T256", "layernorm 512 b256", "rmsnorm 512 b256"]
SECONDS, ROUNDS = 0.5, 3


def network(layer, shape):
    """The layer as a network of one cell, in the names of 0.80."""
    keys = {k: v for k, v in layer.items() if k not in ("bias", "causal")}
    keys["type"] = keys["type"].upper()
    if keys["type"].startswith("CNN"):
        extents = dict(zip(("input_height", "input_width", "input_depth"), shape[2:]))
        keys |= {"stride": 1, "input_channels": layer["input_channels"], **extents, **{k.replace("input", "output"): v for k, v in extents.items()}}
    if keys["type"] in ("MHA", "LSTM"):
        keys["seq_length"] = shape[1]  # without it one step is computed
    if keys["type"] == "MHA":
        keys["num_kv_heads"] = layer["num_heads"]
    if keys["type"] in ("LAYERNORM", "RMSNORM"):
        keys["output_height"] = layer["input_height"]
    cell = {"z": 0, "y": 0, "x": 0, "l": 0, "activation": "LINEAR", "dtype": "F32", **keys}
    return welvet.Network(json.dumps({"id": "bench", "depth": 1, "rows": 1, "cols": 1, "layers_per_cell": 1, "layers": [cell]}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=program("bench_layers"))
    options = parser.parse_args()
    rows = {r["name"]: r for r in table("layers.json")}
    print(f"{'us, least of both':28}{'Loom':>12}{'Go 0.80':>14}{'without text':>14}{'ratio':>9}{'without text':>14}")
    for name in ROWS:
        layer, shape = rows[name]["layer"], rows[name]["x"]
        count = 1
        for n in shape:
            count *= n
        x = [((i * 2654435761) % 1000) / 1000 - 0.5 for i in range(count)]
        net = network(layer, shape)
        out = len(net.forward_polymorphic(x, shape))
        copy = network({"type": "dense", "input_height": 1, "output_height": 1}, [1, 1])
        mine, theirs, text = [], [], []
        for _ in range(ROUNDS):
            mine += [line[2] for line in loom_lines(options.program, "layers.json", name, SECONDS, 1) if line[:2] == [name, "forward"]]
            theirs.append(timed(lambda: net.forward_polymorphic(x, shape), SECONDS, 3)[0])
            text.append(timed(lambda: copy.forward_polymorphic([0.123456] * out, [out, 1]), SECONDS, 3)[0])
        bare = max(min(theirs) - min(text), 0.0)
        print(f"{name:28}{min(mine):12.1f}{min(theirs):14.1f}{bare:14.1f}{min(theirs) / min(mine):9.1f}{bare / min(mine):14.1f}", flush=True)


if __name__ == "__main__":
    main()
