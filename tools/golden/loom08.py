#!/usr/bin/env python3
"""Files of Loom 0.8x with what it computes from them: tests/golden/loom08.json, by the package welvet 0.80.0 (PyPI), which holds the
program itself. Its weights are drawn without a seed, so every run writes other numbers.

Each case has the checkpoint as it was written, the .entity in Base64, an input with its shape, and the outputs of two networks: the one
that welvet read back from the checkpoint, and from the .entity. It stores a scale of 1 in the checkpoint of a network that never ran.
"""
import base64
import json
import pathlib
import random

import welvet

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/loom08.json"
TYPES = ("float64 float32 float16 bfloat16 fp8e4m3 fp8e5m2 int64 int32 int16 int8 uint64 uint32 uint16 uint8 int4 uint4 fp4 int2 uint2 "
         "ternary binary").split()
DENSE = {"type": "DENSE", "input_height": 3, "output_height": 3, "activation": "LINEAR"}
CASES = {
    "mha": ([1, 4, 8], [{"type": "MHA", "d_model": 8, "num_heads": 4, "num_kv_heads": 2, "seq_length": 4, "input_height": 8, "output_height": 8}]),
    "swiglu": ([2, 4], [{"type": "SWIGLU", "input_height": 4, "output_height": 6, "activation": "RELU"}]),
    "rmsnorm": ([2, 4], [{"type": "RMSNORM", "input_height": 4, "output_height": 4}]),
    "layernorm": ([2, 4], [{"type": "LAYERNORM", "input_height": 4, "output_height": 4}]),
    "cnn1": ([1, 2, 8], [{"type": "CNN1", "input_channels": 2, "filters": 3, "input_height": 8, "kernel_size": 3, "stride": 2, "padding": 1,
                          "output_height": 4, "activation": "TANH"}]),
    "cnn2": ([1, 2, 4, 4], [{"type": "CNN2", "input_channels": 2, "filters": 3, "input_height": 4, "input_width": 4, "kernel_size": 3, "stride": 1,
                             "padding": 1, "output_height": 4, "output_width": 4, "activation": "RELU"}]),
    "cnn3": ([1, 1, 3, 3, 3], [{"type": "CNN3", "input_channels": 1, "filters": 2, "input_depth": 3, "input_height": 3, "input_width": 3,
                                "kernel_size": 3, "stride": 1, "padding": 1, "output_depth": 3, "output_height": 3, "output_width": 3}]),
    "convtransposed1": ([1, 2, 4], [{"type": "CONVTRANSPOSED1D", "input_channels": 2, "filters": 3, "input_height": 4, "input_width": 4,
                                     "kernel_size": 3, "stride": 2, "padding": 1, "output_height": 7, "output_width": 7}]),
    "convtransposed2": ([1, 2, 4, 4], [{"type": "CONVTRANSPOSED2D", "input_channels": 2, "filters": 3, "input_height": 4, "input_width": 4,
                                        "kernel_size": 3, "stride": 2, "padding": 1, "output_height": 7, "output_width": 7}]),
    "convtransposed3": ([1, 2, 2, 2, 2], [{"type": "CONVTRANSPOSED3D", "input_channels": 2, "filters": 1, "input_depth": 2, "input_height": 2,
                                           "input_width": 2, "kernel_size": 2, "stride": 2, "padding": 0, "output_depth": 4, "output_height": 4,
                                           "output_width": 4}]),
    "rnn": ([1, 4, 3], [{"type": "RNN", "input_height": 3, "output_height": 5, "seq_length": 4, "activation": "RELU"}]),
    "lstm": ([1, 4, 3], [{"type": "LSTM", "input_height": 3, "output_height": 5, "seq_length": 4}]),
    "embedding": ([1, 3], [{"type": "EMBEDDING", "vocab_size": 7, "embedding_dim": 3, "seq_length": 3}]),
    "kmeans": ([1, 4], [{"type": "KMEANS", "num_clusters": 3, "input_height": 4, "output_height": 3, "output_mode": "probabilities"}]),
    "sequential": ([1, 3], [{"type": "SEQUENTIAL", "sequential_layers": [DENSE, dict(DENSE, activation="SILU"), {"type": "RESIDUAL"}]}]),
    "parallel": ([1, 3], [{"type": "PARALLEL", "combine_mode": "concat", "parallel_branches": [DENSE, dict(DENSE, output_height=2, dtype="INT8")]}]),
    "parallel_add": ([1, 3], [{"type": "PARALLEL", "combine_mode": "add", "parallel_branches": [DENSE, dict(DENSE, dtype="FP4")]}]),
    "grid_scatter": ([1, 3], [{"type": "PARALLEL", "combine_mode": "grid_scatter", "parallel_branches": [DENSE, dict(DENSE, output_height=2)]}]),
    "stack": ([1, 3], [DENSE, {"type": "RESIDUAL", "input_height": 3, "output_height": 3},
                       dict(DENSE, output_height=4, activation="LEAKYRELU", dtype="BF16"),
                       {"type": "SOFTMAX", "input_height": 4, "output_height": 4, "softmax_type": 9, "entmax_alpha": 1.25}]),
    "grid_softmax": ([1, 3], [dict(DENSE, output_height=4), {"type": "SOFTMAX", "input_height": 4, "output_height": 4, "softmax_type": 1,
                                                             "softmax_rows": 2, "softmax_cols": 2, "temperature": 2.0}]),
}
CASES |= {f"dense_{t}": ([2, 5], [{"type": "DENSE", "input_height": 5, "output_height": 3, "dtype": t.upper(), "activation": "LINEAR"}]) for t in TYPES}

# Vectors beside matrices, and vectors alone, in types of few bits.
CASES |= {"mha_int8": ([1, 4, 8], [{"type": "MHA", "d_model": 8, "num_heads": 2, "seq_length": 4, "dtype": "INT8"}]),
          "swiglu_fp4": ([2, 4], [{"type": "SWIGLU", "input_height": 4, "output_height": 5, "dtype": "FP4"}]),
          "lstm_int4": ([1, 3, 3], [{"type": "LSTM", "input_height": 3, "output_height": 5, "seq_length": 3, "dtype": "INT4"}]),
          "cnn2_uint8": ([1, 1, 3, 3], [{"type": "CNN2", "input_channels": 1, "filters": 3, "input_height": 3, "input_width": 3, "kernel_size": 3, "stride": 1,
                                         "padding": 1, "output_height": 3, "output_width": 3, "dtype": "UINT8"}]),
          "rmsnorm_fp4": ([2, 5], [{"type": "RMSNORM", "input_height": 5, "output_height": 5, "dtype": "FP4"}]),
          "layernorm_int4": ([2, 5], [{"type": "LAYERNORM", "input_height": 5, "output_height": 5, "dtype": "INT4"}])}


def case(name, shape, layers):
    spec = {"id": name, "depth": 1, "rows": 1, "cols": 1, "layers_per_cell": len(layers),
            "layers": [{"z": 0, "y": 0, "x": 0, "l": i, "activation": "LINEAR", **layer} for i, layer in enumerate(layers)]}
    network = welvet.Network(spec)
    checkpoint, entity = network.serialize(), network.serialize_entity()
    count = 1
    for extent in shape:
        count *= extent
    x = [1, 9, 6] if name == "embedding" else [round(random.uniform(-1, 1), 3) for _ in range(count)]
    outputs = [read.forward_polymorphic(x, shape) for read in (welvet.Network.deserialize(checkpoint), welvet.Network.deserialize_entity(entity))]
    return {"name": name, "checkpoint": checkpoint, "entity": base64.b64encode(entity).decode(), "shape": shape, "input": x,
            "from_checkpoint": outputs[0], "from_entity": outputs[1]}


if __name__ == "__main__":
    random.seed(8)
    GOLDEN.write_text("[\n" + ",\n".join(json.dumps(case(name, *given)) for name, given in CASES.items()) + "\n]\n")
