#!/usr/bin/env python3
"""Ternary weights in the offline layout of Microsoft's BitNet b1.58 checkpoints, with the products that BitNet's layers give.

usage: bitnet.py     (torch 2.15.0, transformers 5.23.0: pack_weights of its BitNet integration)
Writes tests/golden/bitnet.json: for each shape the packed bytes, the ternary weights, weight_scale, three inputs (one of them all but
zero, so that the floor of 1e-5 counts) and y = x_q W^T * weight_scale * max(max|x|, 1e-5) / 127 in f64, x_q = round(127 x / max|x|).
"""
import base64
import json
import os

import numpy as np
import torch
from transformers.integrations.bitnet import pack_weights

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/golden/bitnet.json")


def text(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def main():
    random = np.random.default_rng(158)
    cases = []
    for rows, cols in [(4, 1), (8, 33), (64, 48), (36, 100)]:
        w = random.integers(-1, 2, (rows, cols)).astype(np.int8)
        packed = pack_weights(torch.tensor(w, dtype=torch.int32)).numpy()
        assert packed.shape == (rows // 4, cols) and packed.dtype == np.uint8
        scale = np.float32(random.uniform(0.5, 2))
        x = random.standard_normal((3, cols)).astype(np.float32)
        x[2] *= np.float32(1e-7)
        largest = np.maximum(np.abs(x).max(1, keepdims=True), np.float32(1e-5)).astype(np.float64)
        q = np.rint(x * (np.float32(127) / largest.astype(np.float32)))
        y = q.astype(np.float64) @ w.T.astype(np.float64) * (float(scale) * largest / 127)
        cases.append({"rows": rows, "cols": cols, "packed": text(packed), "codes": text(w), "weight_scale": float(scale), "x": text(x),
                      "y": text(y.astype("<f8"))})
    with open(OUT, "w", encoding="utf-8") as out:
        json.dump({"made_by": "tools/golden/bitnet.py", "versions": {"torch": "2.15.0", "transformers": "5.23.0"}, "cases": cases}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
