#!/usr/bin/env python3
"""Files of version 1 that Loom wrote, with what the package welvet 0.80.0 (PyPI), which holds Loom 0.8x itself, computes from them:
tests/golden/loom08_written.json.  Usage: tools/golden/loom08_written.py build/bin/loom

Each case has the spec, the SHA-256 of the file that `loom convert --entity-version 1` makes of it, an input with its shape, and welvet's
output. Weights follow from the seed of the spec, so a test makes the same file.
"""
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import welvet

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/loom08_written.json"
TYPES = "float64 float16 bfloat16 fp8e4m3 fp8e5m2 int64 int32 int16 int8 int4 fp4 int2 ternary binary".split()
DENSE = {"type": "dense", "input_height": 6, "output_height": 4}
CONV = {"input_channels": 2, "filters": 3, "kernel_size": 3, "padding": 1, "input_height": 5, "output_height": 5}
CASES = {
    "dense": ([2, 6], [DENSE, {"type": "dense", "input_height": 4, "output_height": 3, "activation": "gelu"}]),
    "mha": ([1, 4, 8], [{"type": "mha", "d_model": 8, "num_heads": 4, "num_kv_heads": 2}]),
    "swiglu": ([2, 6], [{"type": "swiglu", "input_height": 6, "output_height": 10}]),
    "norms": ([2, 6], [{"type": "rmsnorm", "input_height": 6}, DENSE, {"type": "layernorm", "input_height": 4}]),
    "cnn1": ([1, 2, 5], [{"type": "cnn1", **CONV, "activation": "tanh"}]),
    "cnn2": ([1, 2, 5, 5], [{"type": "cnn2", **CONV, "activation": "relu"}]),
    "cnn3": ([1, 2, 5, 5, 5], [{"type": "cnn3", **CONV}]),
    "convtransposed2": ([1, 2, 5, 5], [{"type": "convtransposed2", **CONV}]),
    "rnn": ([1, 3, 6], [{"type": "rnn", "input_height": 6, "output_height": 5, "seq_length": 3}]),
    "lstm": ([1, 3, 6], [{"type": "lstm", "input_height": 6, "output_height": 5, "seq_length": 3}]),
    "sequential": ([1, 6], [{"type": "sequential", "sequential_layers": [dict(DENSE, output_height=6, activation="sigmoid"), {"type": "residual"}]}]),
    "parallel": ([1, 6], [{"type": "parallel", "flatten": True, "parallel_branches": [DENSE, dict(DENSE, output_height=2, activation="silu")]}]),
    "parallel_avg": ([1, 6], [{"type": "parallel", "combine_mode": "avg", "parallel_branches": [DENSE, dict(DENSE, activation="leakyrelu")]}]),
    "softmax": ([1, 6], [DENSE, {"type": "softmax", "input_height": 4, "temperature": 0.5}]),
    **{f"dense_{t}": ([2, 6], [dict(DENSE, dtype=t)]) for t in TYPES},
}


def case(loom, folder, name, shape, layers):
    spec = {"depth": 1, "rows": 1, "cols": 1, "layers_per_cell": len(layers), "seed": len(name),
            "layers": [{"z": 0, "y": 0, "x": 0, "l": i, **layer} for i, layer in enumerate(layers)]}
    source, made = folder / "n.json", folder / "n.entity"
    source.write_text(json.dumps(spec))
    subprocess.run([loom, "convert", source, made, "--entity-version", "1", "--allow-loss", "--overwrite", "-q"], check=True)
    count = 1
    for extent in shape:
        count *= extent
    x = [round(random.uniform(-1, 1), 3) for _ in range(count)]
    output = welvet.Network.deserialize_entity(made.read_bytes()).forward_polymorphic(x, shape)
    return {"name": name, "spec": spec, "sha256": hashlib.sha256(made.read_bytes()).hexdigest(), "shape": shape, "input": x, "output": output}


if __name__ == "__main__":
    random.seed(15)
    with tempfile.TemporaryDirectory() as folder:
        lines = [json.dumps(case(sys.argv[1], pathlib.Path(folder), name, *given)) for name, given in CASES.items()]
    GOLDEN.write_text("[\n" + ",\n".join(lines) + "\n]\n")
