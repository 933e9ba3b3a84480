#!/usr/bin/env python3
"""Golden values of the numeric codecs, from implementations of other projects.

gguf 0.19.0 (block formats), numpy 2.4.6 (float16), ml_dtypes 0.6.0 (bfloat16, fp8, fp4).
Writes tests/golden/dtypes.json: SHA-256 of the results for inputs that the test generates in the same way, and a few rows.
Run: python tools/golden/dtypes.py
"""
import hashlib
import json
import pathlib

import gguf
import ml_dtypes
import numpy as np
from gguf import GGMLQuantizationType as G

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/dtypes.json"
BLOCKS = 96
EDGES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF]  # zero, least subnormal, largest subnormal, least normal, largest

# Format: offsets of its f16 scales within a block.
FORMATS = {
    "q4_0": [0], "q4_1": [0, 2], "q5_0": [0], "q5_1": [0, 2], "q8_0": [0], "q2_k": [80, 82], "q3_k": [108],
    "q4_k": [0, 2], "q5_k": [0, 2], "q6_k": [208], "tq1_0": [52], "tq2_0": [64], "mxfp4": [],
}


def splitmix(seed, n):
    """The first n outputs of splitmix64."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def hexes(values):
    return [f"{v:08x}" for v in np.asarray(values, np.float32).view(np.uint32).ravel().tolist()]


def block_bytes(name, index):
    """Random blocks whose f16 scales are finite; every eighth block takes its scales from EDGES."""
    size = gguf.GGML_QUANT_SIZES[G[name.upper()]][1]
    raw = (splitmix(1000 + index, BLOCKS * size) >> np.uint64(56)).astype(np.uint8).reshape(BLOCKS, size)
    for b in range(BLOCKS):
        for k, at in enumerate(FORMATS[name]):
            h = int(raw[b, at]) | int(raw[b, at + 1]) << 8
            if b % 8 == 0:
                h = EDGES[(b // 8 + k) % 8]
            elif h & 0x7C00 == 0x7C00:
                h &= 0xBFFF
            raw[b, at], raw[b, at + 1] = h & 255, h >> 8
    return raw


def decoded(name, raw):
    y = gguf.quants.dequantize(raw, G[name.upper()]).astype(np.float32) + np.float32(0)  # -0 becomes +0
    if name == "mxfp4":
        y[raw[:, 0] < 104] = 0  # scales below 2^-24 read as 0 (numerics.md 1.2)
    return y


def weights(n):
    """Values around 2^-12 .. 2^11, another size per 256; every 512 elements 32 equal ones, 32 zeros and 32 of alternating sign."""
    u = splitmix(7, n)
    x = ((u >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24) - np.float32(0.5)).reshape(-1, 256)
    x = x * (np.float32(2) ** (np.arange(x.shape[0]) % 24 - 12).astype(np.float32))[:, None]
    x = x.ravel()
    for at in range(0, n, 512):
        x[at : at + 32] = np.float32(0.75)
        x[at + 32 : at + 64] = 0
        x[at + 64 : at + 96] = np.where(np.arange(32) % 2 == 0, np.float32(-1.5), np.float32(1.5))
    return x


def canonical(f32):
    bits = np.asarray(f32, np.float32).view(np.uint32).copy()
    bits[(bits & 0x7FFFFFFF) > 0x7F800000] = 0x7FC00000
    return bits


def neighbours(values):
    """Every finite f32 value given, the midpoint to the next one, the f32 just below and above both, and the two zeros."""
    v = np.unique(np.asarray(values, np.float32)[np.isfinite(values)].astype(np.float64))
    points = np.concatenate([v, (v[1:] + v[:-1]) / 2]).astype(np.float32)
    points = np.concatenate([points, np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(-np.inf))])
    points = points[np.isfinite(points) & (points != 0)]
    return np.concatenate([points, np.array([0.0, -0.0], np.float32)])


def encode_cases(name, dtype, unsigned, largest):
    codes = np.arange(1 << min(8 * np.dtype(dtype).itemsize, 16), dtype=unsigned)
    if name == "fp4e2m1":
        codes = codes[:16]
    values = codes.view(dtype).astype(np.float32)
    points = np.unique(neighbours(values).view(np.uint32)).view(np.float32)
    with np.errstate(over="ignore"):
        out = np.clip(points, -largest, largest).astype(dtype).view(unsigned)  # Loom saturates
    return {"decode": digest(canonical(values)), "points": int(points.size), "inputs": digest(points), "encode": digest(out)}


# The quantiser of engine 4.1 written a second time, with numpy's arithmetic and ml_dtypes' casts.
#   name: (scale rule, span, lowest and highest code, type of a code in memory)
TYPES = {
    "float64": (None, 0, 0, 0, np.float64), "float32": (None, 0, 0, 0, np.float32), "float16": (None, 0, 0, 0, np.float16),
    "bfloat16": (None, 0, 0, 0, ml_dtypes.bfloat16), "fp8e4m3": ("pow2", 96, 0, 448, ml_dtypes.float8_e4m3fn),
    "fp8e5m2": ("pow2", 96, 0, 57344, ml_dtypes.float8_e5m2), "int64": ("max", 96, 1 - 2**53, 2**53 - 1, np.int64),
    "int32": ("max", 96, 1 - 2**31, 2**31 - 1, np.int32), "int16": ("max", 96, -32767, 32767, np.int16), "int8": ("max", 96, -127, 127, np.int8),
    "uint64": ("range", 96, 0, 2**53 - 1, np.uint64), "uint32": ("range", 96, 0, 2**32 - 1, np.uint32),
    "uint16": ("range", 96, 0, 65535, np.uint16), "uint8": ("range", 96, 0, 255, np.uint8), "int4": ("max", 32, -7, 7, np.int8),
    "uint4": ("range", 32, 0, 15, np.uint8), "fp4": ("max", 32, -6, 6, ml_dtypes.float4_e2m1fn), "int2": ("signed", 32, -2, 1, np.int8),
    "uint2": ("range", 32, 0, 3, np.uint8), "ternary": ("mean", 16 * 96, -1, 1, np.int8), "binary": ("mean", 96, -1, 1, np.int8),
}


def normal(seed, n):
    u = (splitmix(seed, 4 * n) >> np.uint64(40)).astype(np.float32).reshape(n, 4) * np.float32(2.0**-24)
    x = np.full(n, -2, np.float32)
    for k in range(4):
        x = x + u[:, k]
    return x


def span_scale(name, w, real):
    rule, _, low, high, _ = TYPES[name]
    m = np.abs(w).max()
    if rule == "pow2":
        return np.float32(2.0 ** np.ceil(np.log2(np.float64(m) / high)))
    if rule == "max":
        s = real(m) / real(high)
    if rule == "range":
        s = (np.float64(max(w.max(), 0)) - np.float64(min(w.min(), 0))) / high
    if rule == "signed":
        s = w[np.abs(w).argmax()] / real(-2)
    if rule == "mean":
        lanes = np.abs(w).astype(np.float32).reshape(-1, 16)  # lanes16: sixteen chains in blocks of 64
        total = np.zeros(16, np.float32)
        for first in range(0, len(lanes), 64):
            block = np.zeros(16, np.float32)
            for row in lanes[first : first + 64]:
                block = block + row
            total = total + block
        for n in (8, 4, 2, 1):
            total = total[:n] + total[n : 2 * n]
        return np.float32(total[0] / np.float32(w.size))
    s = real(s)
    if TYPES[name][1] == 32:  # nine significant bits, uint4 eight, away from zero
        keep = 8 if name == "uint4" else 9
        mantissa, exponent = np.frexp(np.float64(s))
        s = np.float32(np.ldexp(np.sign(mantissa) * np.ceil(np.abs(mantissa) * 2.0**keep), int(exponent) - keep))
    return s


def quantised(name, w):
    rule, span, low, high, code = TYPES[name]
    if rule is None:
        return w.astype(code).tobytes()
    real = np.float64 if name in ("int64", "int32", "uint64", "uint32") else np.float32
    codes, scales = b"", []
    for part in w.reshape(-1, span):
        s = span_scale(name, part, real)
        q = (part.astype(real) / real(s)).astype(real)
        if code not in (np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8):
            bits = q.astype(code).view(np.uint8).copy()
            bits[q.astype(code).astype(np.float32) == 0] = 0
            codes += bits.tobytes()
        elif name == "binary":
            codes += np.where(part >= 0, 1, -1).astype(code).tobytes()
        else:
            zero = np.clip(np.rint(real(-min(part.min(), np.float32(0))) / real(s)), 0, high) if rule == "range" else 0
            codes += np.clip(np.rint(q).astype(np.float64) + np.float64(zero), low, high).astype(code).tobytes()
        scales.append(np.float64(s))
    return codes + np.array(scales).tobytes()


def main():
    golden = {"versions": {"gguf": "0.19.0", "numpy": np.__version__, "ml_dtypes": ml_dtypes.__version__}, "blocks": {}, "encode": {}, "floats": {}}
    for index, name in enumerate(FORMATS):
        raw = block_bytes(name, index)
        y = decoded(name, raw)
        golden["blocks"][name] = {"bytes": digest(raw), "values": digest(y), "row": hexes(y[1][:16])}
    x = weights(1 << 16)
    golden["weights"] = digest(x)
    for name in ["q8_0", "q4_0", "q4_1", "tq2_0"]:
        golden["encode"][name] = digest(gguf.quants.quantize(x.reshape(64, -1), G[name.upper()]))
    for name, dtype, unsigned, largest in [
        ("float16", np.float16, np.uint16, 65504.0),
        ("bfloat16", ml_dtypes.bfloat16, np.uint16, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)),
        ("fp8e4m3", ml_dtypes.float8_e4m3fn, np.uint8, 448.0),
        ("fp8e5m2", ml_dtypes.float8_e5m2, np.uint8, 57344.0),
        ("fp4e2m1", ml_dtypes.float4_e2m1fn, np.uint8, 6.0),
    ]:
        golden["floats"][name] = encode_cases(name, dtype, unsigned, np.float32(largest))
    golden["quantize"] = {name: digest(np.frombuffer(quantised(name, normal(t, 16 * 96)), np.uint8)) for t, name in enumerate(TYPES)}
    OUT.write_text(json.dumps(golden, indent=1) + "\n")


main()
