#!/usr/bin/env python3
"""Initial weights of layers, from the documented rules alone: Philox4x32-10 (Salmon et al. 2011), FNV-1a sites, He, Xavier and the rest.

Made with numpy 2.4. python3 tools/golden/init.py > tests/golden/init.json
"""
import json
import math

import numpy as np

MASK = 0xFFFFFFFF


def philox(key, counter):
    c0, c1, c2, c3 = counter
    k0, k1 = key & MASK, key >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & MASK, (a >> 32) ^ c3 ^ k1, a & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def site(path):
    h = 2166136261
    for byte in path.encode():
        h = ((h ^ byte) * 16777619) & MASK
    return h


def uniforms(seed, path, count):
    """In (0, 1): ((word >> 9) + 0.5) / 2^23, element n is word n mod 4 of block n / 4; domain 1."""
    words = [w for block in range(-(-count // 4)) for w in philox(seed, (block & MASK, 1 << 16 | block >> 32, 0, site(path)))]
    return np.array([((w >> 9) + 0.5) / 2**23 for w in words[:count]])


def normals(seed, path, count):
    u = uniforms(seed, path, count + count % 2)
    radius, angle = np.sqrt(-2 * np.log(u[0::2])), 2 * math.pi * u[1::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()[:count]


def uniform(width):
    return lambda seed, path, n: (2 * uniforms(seed, path, n) - 1) * width


def normal(deviation):
    return lambda seed, path, n: normals(seed, path, n) * deviation


def he(fan_in):
    return normal(math.sqrt(2 / fan_in))


def xavier(fan_in, fan_out):
    return uniform(math.sqrt(6 / (fan_in + fan_out)))


def constant(value):
    return lambda seed, path, n: np.full(n, float(value))


DENSE = {"type": "dense", "input_height": 7, "output_height": 5}
CONV = {"type": "cnn2", "input_channels": 6, "filters": 4, "kernel_size": [3, 2], "groups": 2}
# A layer, the network's keys, and {weight: (rule, elements)}.
CASES = [
    (DENSE, {}, {"weight": (xavier(7, 5), 35)}),
    (DENSE | {"activation": "relu", "bias": True}, {}, {"weight": (he(7), 35), "bias": (constant(0), 5)}),
    (DENSE | {"activation": "leakyrelu"}, {}, {"weight": (he(7), 35)}),
    (DENSE | {"activation": "silu"}, {}, {"weight": (xavier(7, 5), 35)}),
    (DENSE | {"init": "he"}, {}, {"weight": (he(7), 35)}),
    (DENSE | {"init": "xavier", "activation": "relu"}, {}, {"weight": (xavier(7, 5), 35)}),
    (DENSE | {"init": "uniform"}, {}, {"weight": (uniform(0.1), 35)}),
    (DENSE | {"init": "uniform", "init_scale": 0.3}, {}, {"weight": (uniform(0.3), 35)}),
    (DENSE | {"init": "normal"}, {}, {"weight": (normal(0.02), 35)}),
    (DENSE | {"init": "normal", "init_scale": 0.5}, {}, {"weight": (normal(0.5), 35)}),
    (DENSE | {"init": "zeros"}, {}, {"weight": (constant(0), 35)}),
    (DENSE, {"init": "he"}, {"weight": (he(7), 35)}),
    (CONV, {}, {"weight": (xavier(3 * 6, 2 * 6), 4 * 3 * 6)}),
    (CONV | {"activation": "relu"}, {}, {"weight": (he(3 * 6), 4 * 3 * 6)}),
    ({"type": "cnn1", "input_channels": 3, "filters": 4, "kernel_size": 5}, {}, {"weight": (xavier(15, 20), 60)}),
    ({"type": "convtransposed1", "input_channels": 3, "filters": 4, "kernel_size": 5}, {"init": "normal"}, {"weight": (normal(0.02), 60)}),
    ({"type": "lstm", "input_height": 3, "output_height": 4}, {},
     {"i.weight_ih": (uniform(0.5), 12), "o.weight_hh": (uniform(0.5), 16), "f.bias": (constant(1), 4), "i.bias": (constant(0), 4)}),
    ({"type": "embedding", "vocab_size": 9, "embedding_dim": 4}, {}, {"table": (normal(0.02), 36)}),
    ({"type": "swiglu", "input_height": 4, "output_height": 6}, {},
     {"gate.weight": (xavier(4, 6), 24), "up.weight": (xavier(4, 6), 24), "down.weight": (xavier(6, 4), 24)}),
    ({"type": "kmeans", "input_height": 4, "num_clusters": 3}, {}, {"centers": (xavier(4, 3), 12)}),
    ({"type": "rmsnorm", "input_height": 4}, {}, {"gamma": (constant(1), 4)}),
    ({"type": "layernorm", "input_height": 4}, {}, {"gamma": (constant(1), 4), "beta": (constant(0), 4)}),
    ({"type": "batchnorm", "input_height": 4}, {}, {"gamma": (constant(1), 4), "beta": (constant(0), 4)}),
    ({"type": "groupnorm", "input_height": 4, "num_groups": 2}, {}, {"gamma": (constant(1), 4), "beta": (constant(0), 4)}),
]


def main():
    cases = []
    for index, (layer, network, weights) in enumerate(CASES):
        for seed in (0, 2**40 + index):
            spec = network | {"seed": seed, "layers": [layer]}
            values = {name: rule(seed, "layers.0." + name, n).tolist() for name, (rule, n) in weights.items()}
            cases.append({"spec": spec, "weights": values})
    print(json.dumps({"numpy": np.__version__, "cases": cases}))


if __name__ == "__main__":
    main()
