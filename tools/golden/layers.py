#!/usr/bin/env python3
"""Golden values of layers from PyTorch in f64, forward and gradients: tests/golden/layers/<name>.json.

usage: layers.py tests/golden/layers [family ...]      (needs torch and numpy; every file states their versions)

A file is {"made_by", "versions", "cases"}, one case per line: name, layer (its JSON spec), training, x, external, lengths, state, mask, weights, y,
y_state, dy, dx, d_external, grads, after; what a case lacks is absent. A tensor is {"shape", "f32" or "f64": base64 of little-endian values}:
what goes in is exact in f32, what is expected is f64. `mask` is 1 where a key (mha: [B, keys]) or an entry (softmax: [rows, n]) is seen.
Names and layouts of weights: engine section 3; a container's child has its index as prefix, the filter gate "gate".
"""
import pathlib
import sys

import torch

import layers_case
import layers_containers
import layers_dense
import layers_feed
import layers_mha
import layers_recurrent
import layers_scan
import layers_softmax
import layers_spatial

FAMILIES = {
    "dense": layers_dense.dense_cases,
    "norms": layers_dense.norm_cases,
    "instancenorm": layers_dense.instancenorm_cases,
    "conv": layers_spatial.conv_cases,
    "pool": layers_spatial.pool_cases,
    "rnn": layers_recurrent.rnn_cases,
    "lstm": layers_recurrent.lstm_cases,
    "gru": layers_recurrent.gru_cases,
    "s6": layers_scan.s6_cases,
    "swiglu": layers_feed.swiglu_cases,
    "embedding": layers_feed.embedding_cases,
    "mha": layers_mha.mha_cases,
    "softmax": layers_softmax.softmax_cases,
    "kmeans": layers_softmax.kmeans_cases,
    "sequential": layers_containers.sequential_cases,
    "parallel": layers_containers.parallel_cases,
}


def file_of(kind):
    """Returns the file with the cases of a kind."""
    for name, kinds in {"conv": ("cnn", "convtransposed"), "pool": ("avgpool", "maxpool")}.items():
        if kind.startswith(kinds):
            return f"{name}.json"
    return f"{kind}.json"


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for family in sys.argv[2:] or FAMILIES:
        files = {}
        for case in FAMILIES[family]():
            files.setdefault(file_of(case["layer"]["type"]), []).append(case)
        for name, cases in files.items():
            path = pathlib.Path(sys.argv[1]) / name
            layers_case.write(path, cases)
            print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
