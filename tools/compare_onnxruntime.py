#!/usr/bin/env python3
"""Compares Loom with onnxruntime on random small graphs: 1 to 4 nodes, over Loom's operations and their attributes.

usage: compare_onnxruntime.py [--count N] [--seed S] [--only OP,OP] [--golden OUT.bin [--each N] [--extreme]]

Needs numpy, onnx, onnxruntime and welvet (WELVET_LIBRARY=libloom.so PYTHONPATH=python). Case I of a seed is always the same graph;
--seed S --case I runs it alone and prints it. A graph that onnxruntime refuses is drawn again. Graphs that Loom refuses are counted by message.
Exit status 1 where a number differs. --golden writes the graphs with onnxruntime's answers, in the format of tests/golden/onnx/nodes.bin.
"""
import argparse
import collections
import io
import json
import pathlib
import struct
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

F32 = np.float32
EXTREME = np.array([0, -0.0, 1, -1, 0.5, -2.5, 1e-30, -1e-30, 88, -88, 100, -104, 1000, -1000, 1e10, -1e10, 3e38, -3e38, np.inf, -np.inf, np.nan], F32)
MAKERS = {}


def op(*names, opset=21, domain=""):
    def register(maker):
        for name in names:
            MAKERS[name] = (maker, opset, domain)
        return maker
    return register


class Draw:
    """Random choices of one case."""

    def __init__(self, rng):
        self.rng = rng

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def flip(self, p=0.5):
        return bool(self.rng.random() < p)

    def pick(self, *values):
        return values[self.int(0, len(values) - 1)]

    def shape(self, low=1, high=4, most=5):
        return [self.int(1, most) for _ in range(self.int(low, high))]

    def floats(self, shape, scale=1.0, dtype=F32):
        return (self.rng.standard_normal(shape) * scale).astype(dtype)

    def some_floats(self, shape):
        """Usual numbers, or, in one case of four, extreme ones among them."""
        x = self.floats(shape, self.pick(0.5, 1.0, 3.0, 20.0))
        if self.flip(0.25) and x.size:
            where = self.rng.random(x.shape) < 0.4
            x = np.where(where, self.rng.choice(EXTREME[:-3] if self.flip(0.7) else EXTREME, x.shape), x)
        return x.astype(F32)

    def ints(self, shape, low, high, dtype=np.int64):
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def stretched(self, shape):
        """A shape that stretches to the given one."""
        cut = self.int(0, len(shape))
        return [1 if self.flip(0.3) else d for d in shape[cut:]]

    def axis(self, rank):
        return self.int(-rank, rank - 1)

    def maybe(self, attributes, name, *values):
        """Sets an attribute in half of the cases."""
        if self.flip():
            attributes[name] = self.pick(*values)


def i64(*values):
    return np.array(values, np.int64)


# ---- element by element ----

@op("Abs", "Neg", "Sign", "Ceil", "Floor", "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh",
    "Asinh", "Acosh", "Atanh", "Tanh", "Sigmoid", "Erf", "Relu", "Softplus", "Softsign", "HardSwish", "Mish", "Identity", "IsNaN")
def unary(d, name):
    x = d.some_floats(d.shape())
    return {}, [np.where(np.isnan(x), F32(1), x) if name == "Relu" else x]


@op("LeakyRelu", "Elu", "Celu", "ThresholdedRelu")
def with_alpha(d, name):
    a = {}
    d.maybe(a, "alpha", 0.3, 1.7, 0.01)
    return a, [d.some_floats(d.shape())]


@op("Selu")
def selu(d, name):
    a = {}
    d.maybe(a, "alpha", 1.2, 2.0)
    d.maybe(a, "gamma", 0.7, 1.5)
    return a, [d.some_floats(d.shape())]


@op("HardSigmoid")
def hard_sigmoid(d, name):
    a = {}
    d.maybe(a, "alpha", 0.1, 0.5)
    d.maybe(a, "beta", 0.25, 0.6)
    return a, [d.some_floats(d.shape())]


@op("Shrink")
def shrink(d, name):
    a = {}
    d.maybe(a, "bias", 0.2, 1.0)
    d.maybe(a, "lambd", 0.1, 1.5)
    return a, [d.some_floats(d.shape())]


@op("Gelu")
def gelu(d, name):
    a = {}
    d.maybe(a, "approximate", "none", "tanh")
    return a, [d.some_floats(d.shape())]


@op("IsInf")
def is_inf(d, name):
    a = {}
    d.maybe(a, "detect_negative", 0, 1)
    d.maybe(a, "detect_positive", 0, 1)
    return a, [d.some_floats(d.shape())]


@op("Clip")
def clip(d, name):
    low, high = sorted(d.floats([2]).tolist())
    x = np.nan_to_num(d.some_floats(d.shape()))  # without a bound onnxruntime makes infinity the largest number
    return {}, [x, np.array(low, F32) if d.flip() else None, np.array(high, F32) if d.flip() else None]


@op("Cast")
def cast(d, name):
    kinds = {TensorProto.FLOAT: F32, TensorProto.INT64: np.int64, TensorProto.INT32: np.int32, TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8,
             TensorProto.DOUBLE: np.float64, TensorProto.FLOAT16: np.float16, TensorProto.BOOL: np.bool_}
    source = d.pick(F32, np.int64, np.int32, np.uint8, np.float16, np.float64, np.bool_)
    x = d.floats(d.shape(), 20)
    x = np.abs(x) if source == np.uint8 else x
    return {"to": d.pick(*kinds)}, [np.clip(x, -100, 100).astype(source) if source != F32 else np.clip(np.abs(x), 0, 100).astype(F32)]


@op("Add", "Sub", "Mul", "Div", "PRelu", "Max", "Min", "Sum", "Mean", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
def binary(d, name):
    shape = d.shape()
    pair = [d.some_floats(shape), d.some_floats(d.stretched(shape))]
    if name in ("Max", "Min", "Sum", "Mean") and d.flip():
        pair.append(d.some_floats(shape))
    if name not in ("PRelu", "Max", "Min", "Sum", "Mean") and d.flip(0.3):
        pair = [np.nan_to_num(np.clip(x, -50, 50)).astype(np.int64) for x in pair]
        pair[1] = np.where(pair[1] == 0, 3, pair[1]) if name == "Div" else pair[1]
    return {}, pair


@op("Pow")
def power(d, name):
    shape = d.shape()
    return {}, [np.abs(d.some_floats(shape)), d.pick(np.array(d.pick(2, 0.5, -1, 3, 0), F32), d.floats(d.stretched(shape)))]


@op("Mod")
def modulo(d, name):
    shape = d.shape()
    if d.flip():
        return {"fmod": 1}, [d.some_floats(shape), d.some_floats(shape)]
    divisor = d.ints(shape, 1, 7) * d.pick(1, -1)
    return {"fmod": d.pick(0, 1)}, [d.ints(shape, -20, 20), divisor]


@op("And", "Or", "Xor")
def truths(d, name):
    shape = d.shape()
    return {}, [d.ints(shape, 0, 1, bool), d.ints(d.stretched(shape), 0, 1, bool)]


@op("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bits(d, name):
    shape = d.shape()
    return {}, [d.ints(shape, -100, 100, np.int32), d.ints(d.stretched(shape), -100, 100, np.int32)]


@op("BitShift")
def shift(d, name):
    shape = d.shape()
    return {"direction": d.pick("LEFT", "RIGHT")}, [d.ints(shape, 0, 200, np.uint8), d.ints(shape, 0, 7, np.uint8)]


@op("Where")
def where(d, name):
    shape = d.shape()
    return {}, [d.ints(shape, 0, 1, bool), d.some_floats(shape), d.some_floats(d.stretched(shape))]


# ---- shapes and places ----

@op("Transpose")
def transpose(d, name):
    shape = d.shape()
    return ({"perm": [int(p) for p in d.rng.permutation(len(shape))]} if d.flip(0.8) else {}), [d.floats(shape)]


@op("Concat")
def concat(d, name):
    shape, axis = d.shape(), 0
    axis = d.axis(len(shape))
    others = []
    for _ in range(d.int(1, 3)):
        other = list(shape)
        other[axis] = d.int(1, 3)
        others.append(d.floats(other))
    return {"axis": axis}, others


@op("Slice")
def slices(d, name):
    shape = d.shape()
    axes = [int(a) for a in d.rng.permutation(len(shape))[:d.int(1, len(shape))]]
    steps = [d.pick(1, 1, 2, -1, -2) for _ in axes]
    return {}, [d.floats(shape), i64(*[d.int(-6, 6) for _ in axes]), i64(*[d.int(-6, 6) for _ in axes]), i64(*axes), i64(*steps)]


@op("Pad")
def pad(d, name):
    shape = d.shape(1, 4, 5)
    mode = d.pick("constant", "reflect", "edge", "wrap")
    least = min(shape)
    pads = [d.int(0, max(0, min(3, least - 1))) for _ in range(2 * len(shape))]
    return {"mode": mode}, [d.floats(shape), i64(*pads)] + ([np.array(d.floats([])[()], F32)] if mode == "constant" and d.flip() else [])


@op("Tile")
def tile(d, name):
    shape = d.shape(1, 3)
    return {}, [d.floats(shape), i64(*[d.int(1, 3) for _ in shape])]


@op("Expand")
def expand(d, name):
    shape = d.shape(1, 4)
    return {}, [d.floats(d.stretched(shape)), i64(*shape)]


@op("Trilu")
def trilu(d, name):
    a = {}
    d.maybe(a, "upper", 0, 1)
    return a, [d.floats(d.shape(2, 4))] + ([np.array(d.int(-3, 3), np.int64)] if d.flip() else [])


@op("DepthToSpace")
def depth_to_space(d, name):
    b = d.int(1, 3)
    return {"blocksize": b, "mode": d.pick("DCR", "CRD")}, [d.floats([d.int(1, 2), b * b * d.int(1, 3), d.int(1, 3), d.int(1, 3)])]


@op("SpaceToDepth")
def space_to_depth(d, name):
    b = d.int(1, 3)
    return {"blocksize": b}, [d.floats([d.int(1, 2), d.int(1, 3), b * d.int(1, 3), b * d.int(1, 3)])]


@op("CenterCropPad")
def center_crop_pad(d, name):
    shape = d.shape(1, 3)
    return {"axes": list(range(len(shape)))}, [d.floats(shape), i64(*[d.int(1, 7) for _ in shape])]


@op("Gather", "GatherElements")
def gather(d, name):
    shape = d.shape()
    axis = d.axis(len(shape))
    n = shape[axis]
    indices = d.ints(d.shape(0, 2) if name == "Gather" else shape, -n, n - 1)
    return {"axis": axis}, [d.floats(shape), indices]


@op("GatherND")
def gather_nd(d, name):
    shape = d.shape(2, 3)
    return {}, [d.floats(shape), np.stack([d.ints([3], 0, n - 1) for n in shape[:2]], -1)]


@op("ScatterElements")
def scatter_elements(d, name):
    shape = d.shape(1, 3)
    axis = d.axis(len(shape))
    order = np.argsort(d.rng.random(shape), axis=axis).astype(np.int64)
    return {"axis": axis, "reduction": d.pick("none", "add", "mul", "max", "min")}, [d.floats(shape), order, d.floats(shape)]


@op("ScatterND")
def scatter_nd(d, name):
    n, m = d.int(2, 5), d.int(1, 3)
    k = d.int(1, n)
    return {"reduction": d.pick("none", "add", "mul", "max", "min")}, [d.floats([n, m]), d.rng.permutation(n)[:k].reshape(k, 1).astype(np.int64), d.floats([k, m])]


@op("CumSum")
def cum_sum(d, name):
    shape, a = d.shape(), {}
    d.maybe(a, "exclusive", 0, 1)
    d.maybe(a, "reverse", 0, 1)
    return a, [d.floats(shape), np.array(d.axis(len(shape)), np.int64)]


@op("ReverseSequence")
def reverse_sequence(d, name):
    t, b = d.int(1, 5), d.int(1, 4)
    if d.flip():
        return {"batch_axis": 1, "time_axis": 0}, [d.floats([t, b, 2]), d.ints([b], 1, t)]
    return {"batch_axis": 0, "time_axis": 1}, [d.floats([b, t, 2]), d.ints([b], 1, t)]


@op("OneHot")
def one_hot(d, name):
    return {"axis": d.pick(-1, 0, 1)}, [d.ints(d.shape(1, 2), -3, 3), np.array(4, np.int64), np.array([0.5, 2], F32)]


@op("EyeLike")
def eye_like(d, name):
    a = {"dtype": d.pick(1, 7)}
    d.maybe(a, "k", -1, 1, 2)
    return a, [d.floats([d.int(1, 4), d.int(1, 4)])]


@op("TopK")
def top_k(d, name):
    shape = d.shape()
    axis = d.axis(len(shape))
    return {"axis": axis, "largest": d.pick(0, 1)}, [d.floats(shape), i64(d.int(1, shape[axis]))]


# ---- sums ----

@op("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
def reduce(d, name):
    shape, a = d.shape(), {}
    axes = [int(p) for p in d.rng.permutation(len(shape))[:d.int(0, len(shape))]]
    d.maybe(a, "keepdims", 0, 1)
    d.maybe(a, "noop_with_empty_axes", 0, 1)
    x = d.some_floats(shape)
    if name in ("ReduceMax", "ReduceMin"):  # onnxruntime's answer to a NaN depends on its place
        x = np.where(np.isnan(x), F32(1), x)
    if name in ("ReduceSum", "ReduceMean", "ReduceLogSum", "ReduceProd"):  # in f32 extreme numbers cancel or overflow where they do not in f64
        x = np.abs(d.floats(shape)) + F32(0.1)
    return a, [x] + ([i64(*axes)] if axes or d.flip() else [])


@op("ArgMax", "ArgMin")
def arg(d, name):
    shape, a = d.shape(), {}
    a["axis"] = d.axis(len(shape))
    d.maybe(a, "keepdims", 0, 1)
    d.maybe(a, "select_last_index", 0, 1)
    return a, [np.round(d.floats(shape, 2)).astype(F32)]


@op("Softmax", "LogSoftmax", "Hardmax")
def soft(d, name):
    shape = d.shape()
    x = d.floats(shape, d.pick(1, 30, 500))
    return {"axis": d.axis(len(shape))}, [x]


@op("LpNormalization")
def lp_normalization(d, name):
    shape = d.shape()
    return {"axis": d.axis(len(shape)), "p": d.pick(1, 2)}, [d.floats(shape, d.pick(1, 1e-15, 1e15))]


@op("MeanVarianceNormalization")
def mean_variance(d, name):
    return {"axes": [0, 2, 3]}, [d.floats([2, 3, 2, 2], d.pick(1, 50))]


@op("LayerNormalization")
def layer_normalization(d, name):
    shape = d.shape(2, 4)
    axis = d.int(1, len(shape) - 1)
    a = {"axis": axis}
    d.maybe(a, "epsilon", 1e-3, 1e-6)
    return a, [d.floats(shape, d.pick(1, 100)), d.floats(shape[axis:])] + ([d.floats(shape[axis:])] if d.flip() else [])


@op("InstanceNormalization")
def instance_normalization(d, name):
    a = {}
    d.maybe(a, "epsilon", 1e-3)
    return a, [d.floats([2, 3, 4, 2]), d.floats([3]), d.floats([3])]


@op("GroupNormalization")
def group_normalization(d, name):
    g = d.int(1, 3)
    a = {"num_groups": g}
    d.maybe(a, "epsilon", 1e-3)
    return a, [d.floats([2, 2 * g, 4]), d.floats([2 * g]), d.floats([2 * g])]


@op("BatchNormalization")
def batch_normalization(d, name):
    c, a = d.int(1, 4), {}
    d.maybe(a, "epsilon", 1e-3)
    return a, [d.floats([2, c] + d.shape(0, 2)), d.floats([c]), d.floats([c]), d.floats([c]), np.abs(d.floats([c])) + F32(0.1)]


@op("LRN")
def lrn(d, name):
    a = {"size": d.pick(1, 3, 5)}
    for key, value in (("alpha", 0.3), ("beta", 0.6), ("bias", 2.0)):
        d.maybe(a, key, value)
    return a, [d.floats([2, 5, 3, 2])]


# ---- products ----

@op("MatMul")
def matmul(d, name):
    m, k, n = d.int(1, 5), d.int(1, 6), d.int(1, 5)
    lead = d.shape(0, 2, 3)
    return {}, [d.floats(lead + [m, k]), d.floats(d.stretched(lead) + [k, n])]


@op("Gemm")
def gemm(d, name):
    m, k, n, a = d.int(1, 5), d.int(1, 6), d.int(1, 5), {}
    for key in ("transA", "transB"):
        d.maybe(a, key, 0, 1)
    d.maybe(a, "alpha", 0.5, 2.0)
    d.maybe(a, "beta", 0.5, 3.0)
    x, w = d.floats([k, m] if a.get("transA") else [m, k]), d.floats([n, k] if a.get("transB") else [k, n])
    return a, [x, w] + ([d.floats(d.pick([n], [1, n], [m, 1], [m, n]))] if d.flip() else [])


@op("Einsum")
def einsum(d, name):
    text, shapes = d.pick(("ij,jk->ik", ["ij", "jk"]), ("bij,bjk", ["bij", "bjk"]), ("ii->i", ["ii"]), ("ij->", ["ij"]), ("...ij,...jk->...ik", ["xij", "xjk"]),
                          ("...ii->...i", ["xyii"]), ("i...,i...->...", ["ixy", "ixy"]), ("...j,j", ["xyj", "j"]), ("a...,...b->...ab", ["axy", "xyb"]),
                          ("bhqd,bhkd->bhqk", ["bhqd", "bhkd"]))
    extents = {c: d.int(1, 4) for c in "abhijkqdxy"}
    return {"equation": text}, [d.floats([extents[c] for c in s]) for s in shapes]


def window_attributes(d, axes, kernel, pool=False):
    a = {"strides": [d.int(1, 3) for _ in range(axes)]}
    if d.flip(0.3):
        a["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        a["pads"] = [d.int(0, min(2, kernel[i % axes] - 1)) for i in range(2 * axes)]
    if d.flip(0.3) and "SAME" not in a.get("auto_pad", ""):
        a["dilations"] = [d.int(1, 2) for _ in range(axes)]
    return a


@op("Conv")
def conv(d, name):
    axes, group = d.int(1, 3), d.int(1, 2)
    kernel = [d.int(1, 3) for _ in range(axes)]
    a = window_attributes(d, axes, kernel) | {"group": group}
    c, f = d.int(1, 3), d.int(1, 3) * group
    return a, [d.floats([d.int(1, 2), c * group] + [d.int(5, 8) for _ in range(axes)]), d.floats([f, c] + kernel)] + ([d.floats([f])] if d.flip() else [])


@op("ConvTranspose")
def conv_transpose(d, name):
    axes, group = d.int(1, 2), d.int(1, 2)
    kernel, size = [d.int(1, 4) for _ in range(axes)], [d.int(2, 5) for _ in range(axes)]
    strides = [d.int(1, 3) for _ in range(axes)]
    a = {"group": group, "strides": strides}
    way = d.int(0, 3)
    if way == 0:
        a["pads"] = [d.int(0, 1) if kernel[i % axes] > 2 else 0 for i in range(2 * axes)]
        if d.flip():
            a["output_padding"] = [d.int(0, s - 1) for s in strides]
    elif way == 1:
        # ONNX and onnxruntime disagree where a kernel is smaller than its stride.
        a["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID") if all(k >= s for k, s in zip(kernel, strides)) else "VALID"
    else:
        whole = [s * (n - 1) + k for s, n, k in zip(strides, size, kernel)]
        a["output_shape"] = [max(1, w + d.int(-min(3, w - 1), 2)) for w in whole]
        if d.flip():
            a["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "NOTSET")
    c, f = d.int(1, 3), d.int(1, 3)
    return a, [d.floats([d.int(1, 2), c * group] + size), d.floats([c * group, f] + kernel)] + ([d.floats([f * group])] if d.flip() else [])


@op("ConvInteger", "QLinearConv")
def conv_of_codes(d, name):
    kernel, c, f = [d.int(2, 3), d.int(2, 3)], d.int(1, 3), d.int(1, 3)
    a = window_attributes(d, 2, kernel)
    x, w = d.ints([1, c, 6, 5], 0, 255, np.uint8), d.ints([f, c] + kernel, 0, 255, np.uint8)
    zero = lambda: np.array(d.int(0, 200), np.uint8)
    scale = lambda s: np.array(s, F32)
    if name == "ConvInteger":
        return a, [x, w, zero(), zero()]
    return a, [x, scale(0.02), zero(), w, scale(0.03), zero(), scale(0.9), zero()]


@op("If")
def conditions(d, name):
    def branch(value):
        tensor = numpy_helper.from_array(d.floats([2]), "value")
        return helper.make_graph([helper.make_node("Constant", [], ["out"], value=tensor)], value, [], [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2])])
    return {"then_branch": branch("then"), "else_branch": branch("else")}, [np.array(d.flip())]


@op("MaxPool", "AveragePool", "LpPool")
def pools(d, name):
    axes = d.int(1, 3)
    kernel = [d.int(1, 3) for _ in range(axes)]
    a = window_attributes(d, axes, kernel) | {"kernel_shape": kernel}
    if "SAME" in a.get("auto_pad", ""):  # onnxruntime moves its windows where a kernel is smaller than its stride
        a["strides"] = [min(k, s) for k, s in zip(kernel, a["strides"])]
    d.maybe(a, "ceil_mode", 0, 1)
    if name == "AveragePool":
        d.maybe(a, "count_include_pad", 0, 1)
    if name == "LpPool":
        d.maybe(a, "p", 1, 2, 3)
    return a, [d.floats([d.int(1, 2), d.int(1, 3)] + [d.int(4, 7) for _ in range(axes)])]


@op("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pools(d, name):
    a = {"p": d.pick(1, 2, 3)} if name == "GlobalLpPool" and d.flip() else {}
    return a, [d.floats([2, 3] + d.shape(1, 3))]


@op("Resize", opset=19)
def resize(d, name):
    mode = d.pick("nearest", "linear", "cubic")
    a = {"mode": mode, "coordinate_transformation_mode": d.pick("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")}
    if mode == "nearest":
        a["nearest_mode"] = d.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    elif d.flip():
        a["antialias"] = 1
    if mode == "cubic":
        d.maybe(a, "exclude_outside", 0, 1)
        d.maybe(a, "cubic_coeff_a", -0.5, -0.75)
    shape = [1, d.int(1, 2), d.int(2, 7), d.int(2, 7)]
    # With align_corners and scales, ONNX's cases divide by the extent before it is cut, onnxruntime by the extent after.
    if a["coordinate_transformation_mode"] != "align_corners" and d.flip():
        return a, [d.floats(shape), None, np.array([1, 1, d.pick(0.4, 0.6, 1.5, 2.0), d.pick(0.5, 0.7, 1.0, 2.5)], F32)]
    return a, [d.floats(shape), None, None, i64(*shape[:2], d.int(1, 9), d.int(1, 9))]


@op("GridSample", opset=20)
def grid_sample(d, name):
    axes = d.pick(2, 2, 3)
    a = {"mode": d.pick("linear", "nearest") if axes == 3 else d.pick("linear", "nearest", "cubic"), "padding_mode": d.pick("zeros", "border", "reflection")}
    d.maybe(a, "align_corners", 0, 1)
    shape = [2, 2] + [d.int(2, 5) for _ in range(axes)]
    return a, [d.floats(shape), d.floats([2] + [d.int(1, 4) for _ in range(axes)] + [axes], 0.8)]


@op("AffineGrid", opset=20)
def affine_grid(d, name):
    axes, a = d.pick(2, 3), {}
    d.maybe(a, "align_corners", 0, 1)
    return a, [d.floats([2, axes, axes + 1]), i64(2, 3, *[d.int(2, 5) for _ in range(axes)])]


@op("NonMaxSuppression")
def non_max_suppression(d, name):
    n, a = d.int(1, 8), {}
    d.maybe(a, "center_point_box", 0, 1)
    boxes = np.concatenate([d.rng.random([2, n, 2]), 0.3 + d.rng.random([2, n, 2])], -1).astype(F32)
    return a, [boxes, d.rng.random([2, 2, n]).astype(F32), i64(d.int(0, 5)), np.array([d.pick(0.2, 0.5)], F32)] + ([np.array([0.3], F32)] if d.flip() else [])


# ---- signals ----

@op("DFT", opset=20)
def dft(d, name):
    n, a = d.int(1, 9), {}
    d.maybe(a, "inverse", 0, 1)
    real = d.flip()
    if real and not a.get("inverse"):
        d.maybe(a, "onesided", 0, 1)
    return a, [d.floats([2, n, 3, 1 if real else 2]), np.array(d.int(1, 10), np.int64) if d.flip() else None, np.array(d.pick(1, -3), np.int64)]


@op("STFT", opset=17)
def stft(d, name):
    n, a = d.int(2, 8), {}
    d.maybe(a, "onesided", 0, 1)
    return a, [d.floats([2, 24, 1]), np.array(d.int(1, 4), np.int64)] + ([d.floats([n]), np.array(n, np.int64)] if d.flip() else [None, np.array(n, np.int64)])


@op("HannWindow", "HammingWindow", "BlackmanWindow", opset=17)
def windows(d, name):
    a = {}
    d.maybe(a, "periodic", 0, 1)
    return a, [np.array(d.int(2, 12), np.int64)]


# ---- sequences and attention ----

@op("LSTM", "GRU", "RNN")
def recurrent(d, name):
    gates, each = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}[name]
    direction = d.pick("forward", "reverse", "bidirectional")
    n, t, b, i, u = 2 if direction == "bidirectional" else 1, d.int(1, 4), d.int(1, 3), d.int(1, 4), d.int(1, 4)
    a = {"hidden_size": u, "direction": direction}
    if d.flip(0.6):
        reads = {"Sigmoid": 0, "Tanh": 0, "Relu": 0, "Softsign": 0, "Softplus": 0, "HardSigmoid": 2, "LeakyRelu": 1, "ThresholdedRelu": 1, "Elu": 1, "Affine": 2, "ScaledTanh": 2}
        names = [d.pick(*reads) for _ in range(each * n)]
        a["activations"] = names
        a["activation_alpha"] = [d.pick(0.3, 0.6, 0.9) for x in names if reads[x] > 0]
        a["activation_beta"] = [d.pick(0.2, 0.5) for x in names if reads[x] > 1]
        a = {k: v for k, v in a.items() if v != []}
    if d.flip(0.3):
        a["clip"] = 0.8
    if name == "GRU":
        d.maybe(a, "linear_before_reset", 0, 1)
    if name == "LSTM":
        d.maybe(a, "input_forget", 0, 1)
    ins = [d.floats([t, b, i]), d.floats([n, gates * u, i]), d.floats([n, gates * u, u]), d.floats([n, 2 * gates * u]) if d.flip() else None,
           d.ints([b], 1, t, np.int32) if d.flip(0.3) else None, d.floats([n, b, u]) if d.flip() else None]
    if name == "LSTM":
        ins += [d.floats([n, b, u]) if d.flip() else None, d.floats([n, 3 * u]) if d.flip(0.3) else None]
    return a, ins, 3 if name == "LSTM" else 2


@op("DynamicQuantizeLSTM", domain="com.microsoft")
def quantized_lstm(d, name):
    direction, kind = d.pick("forward", "reverse", "bidirectional"), d.pick(np.uint8, np.int8)
    n, t, i, u = 2 if direction == "bidirectional" else 1, d.int(1, 4), d.int(1, 5), d.int(1, 5)
    low, high = (0, 255) if kind == np.uint8 else (-127, 127)
    wide = d.flip()
    scale = lambda: (np.abs(d.floats([n, 4 * u] if wide else [n])) * 0.01 + 0.002).astype(F32)
    zero = lambda: d.ints([n, 4 * u] if wide else [n], 0, 0 if wide and kind == np.int8 else 3, kind)
    return {"hidden_size": u, "direction": direction}, [d.floats([t, 1, i]), d.ints([n, i, 4 * u], low, high, kind), d.ints([n, u, 4 * u], low, high, kind),
            d.floats([n, 8 * u]) if d.flip() else None, None, None, None, None, scale(), zero(), scale(), zero()], 3


@op("Attention", opset=23)
def attention(d, name):
    group, kv, b, q, k, size, v = d.int(1, 2), d.int(1, 2), d.int(1, 2), d.int(1, 4), d.int(1, 5), d.int(1, 4), d.int(1, 4)
    heads, a = group * kv, {}
    d.maybe(a, "scale", 0.3, 1.5)
    d.maybe(a, "is_causal", 0, 1)
    d.maybe(a, "softcap", 0.0, 2.0)
    if d.flip():
        a |= {"q_num_heads": heads, "kv_num_heads": kv}
        ins = [d.floats([b, q, heads * size]), d.floats([b, k, kv * size]), d.floats([b, k, kv * v])]
    else:
        ins = [d.floats([b, heads, q, size]), d.floats([b, kv, k, size]), d.floats([b, kv, k, v])]
    past, outs = (d.int(1, 3), 3) if d.flip(0.3) else (0, 1)
    way = d.int(0, 2)
    shape = d.pick([q, k + past], [1, 1, q, k + past], [b, heads, q, k + past])
    mask = None if way == 0 else d.floats(shape) if way == 1 else np.logical_or(d.ints(shape, 0, 1, bool), np.arange(k + past) == 0)
    ins += [mask] + ([d.floats([b, kv, past, size]), d.floats([b, kv, past, v])] if past else [])
    return a, ins, outs


@op("RotaryEmbedding", opset=23)
def rotary(d, name):
    b, h, s, half, a = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.int(1, 3), {}
    d.maybe(a, "interleaved", 0, 1)
    rest = d.pick(0, 2)
    size = 2 * half + rest
    if rest:
        a["rotary_embedding_dim"] = 2 * half
    flat = d.flip()
    if flat:
        a["num_heads"] = h
    x = d.floats([b, s, h * size] if flat else [b, h, s, size])
    if d.flip():
        return a, [x, d.floats([8, half]), d.floats([8, half]), d.ints([b, s], 0, 7)]
    return a, [x, d.floats([b, s, half]), d.floats([b, s, half])]


# ---- graphs ----

# Neither Relu nor Clip, of which ones without NaN alone are compared: a NaN loses against a number in Loom (docs/internals/numerics.md) and stays in onnxruntime.
FOLLOW = ["Abs", "Neg", "Tanh", "Sigmoid", "Add", "Mul", "Sub", "LeakyRelu", "Softmax", "Transpose", "Identity"]


def model_of(d, name):
    maker, opset, domain = MAKERS[name]
    attributes, ins, *outs = maker(d, name)
    outs = outs[0] if outs else 2 if name == "TopK" else 1
    nodes, inputs, constants, feeds = [], [], [], {}

    def name_of(value):
        if value is None:
            return ""
        name = "v%d" % (len(inputs) + len(constants))
        if d.flip(0.6):
            constants.append(numpy_helper.from_array(value, name))
        else:
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
            feeds[name] = value
        return name

    names = [name_of(x) for x in ins]
    while names and not names[-1]:
        names.pop()
    results = ["y%d" % i for i in range(outs)]
    nodes.append(helper.make_node(name, names, results, domain=domain, **attributes))
    if outs == 1 and ins[0] is not None and ins[0].dtype == F32 and name not in ("IsNaN", "IsInf", "NonMaxSuppression", "ArgMax", "ArgMin", "Cast", "EyeLike"):
        for i in range(d.int(0, 3)):
            follow, last = d.pick(*FOLLOW), results[0]
            other = [name_of(d.floats([1]))] if follow in ("Add", "Mul", "Sub") else []
            settings = {"alpha": 0.2} if follow == "LeakyRelu" else {}
            results = ["n%d" % i]
            nodes.append(helper.make_node(follow, [last] + other, results, **settings))
    graph = helper.make_graph(nodes, "graph", inputs, [helper.make_empty_tensor_value_info(r) for r in results], constants)
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=10), feeds


def answer_of_onnxruntime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def drawn(seed, case, only):
    """The graph of a case: the first one that onnxruntime takes."""
    for attempt in range(30):
        d = Draw(np.random.default_rng([seed, case, attempt]))
        name = d.pick(*only)
        model, feeds = model_of(d, name)
        try:
            return name, model, feeds, answer_of_onnxruntime(model, feeds)
        except Exception as error:  # onnxruntime's own kinds of errors
            last = error
    raise SystemExit("case %d: onnxruntime takes none of 30 graphs: %s" % (case, last))


def difference(got, wanted):
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return "%s %s, expected %s %s" % (got.dtype, got.shape, wanted.dtype, wanted.shape)
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    finite = b[np.isfinite(b)]
    bound = 1e-5 + 2e-4 * np.abs(b) + 2e-6 * (np.abs(finite).max() if finite.size else 0)
    with np.errstate(invalid="ignore"):
        good = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= bound)
    good |= np.isinf(a) & (np.abs(b) > 3e38) | np.isinf(b) & (np.abs(a) > 3e38)
    if good.all():
        return ""
    at = tuple(int(i[0]) for i in np.where(~good)) if good.ndim else ()
    return "element %s is %r, expected %r" % (list(at), float(a[at]), float(b[at]))


def packed(data):
    return struct.pack("<I", len(data)) + data


def record(name, model, feeds, wanted):
    out = io.BytesIO()
    out.write(packed(name.encode()) + struct.pack("<dd", 2e-4, 1e-5) + packed(model.SerializeToString(deterministic=True)))
    for values, infos in ((feeds, model.graph.input), (dict(zip([o.name for o in model.graph.output], wanted)), model.graph.output)):
        out.write(struct.pack("<I", len(infos)))
        for info in infos:
            out.write(packed(numpy_helper.from_array(values[info.name], info.name).SerializeToString(deterministic=True)))
    return out.getvalue()


def write_golden(path, seed, each, finite):
    """Some graphs of every operation; those that are kept have finite answers, whose differences a tolerance can bound."""
    head = {"made_by": "tools/compare_onnxruntime.py --golden", "versions": {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, "numpy": np.__version__}}
    out = [packed(json.dumps(head).encode())]
    for number, op_name in enumerate(sorted(MAKERS)):
        for case in range(each):
            _, model, feeds, wanted = drawn(seed, number * 1000 + case, [op_name])
            if not finite or all(np.isfinite(w.astype(np.float64)).all() for w in wanted):
                out.append(record("%s_%d" % (op_name, case), model, feeds, wanted))
    pathlib.Path(path).write_bytes(b"".join(out))
    print("%d graphs, %d bytes" % (len(out) - 1, sum(map(len, out))))


def main():
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int)
    parser.add_argument("--only")
    parser.add_argument("--golden")
    parser.add_argument("--each", type=int, default=3, help="graphs of an operation in the golden file")
    parser.add_argument("--extreme", action="store_true", help="golden files hold answers that are not finite too")
    given = parser.parse_args()
    if given.golden:
        return write_golden(given.golden, given.seed, given.each, not given.extreme)
    import welvet
    only = given.only.split(",") if given.only else sorted(MAKERS)
    same, differ, refused = 0, 0, collections.Counter()
    for case in [given.case] if given.case is not None else range(given.count):
        name, model, feeds, wanted = drawn(given.seed, case, only)
        if given.case is not None:
            print(onnx.printer.to_text(model), feeds, wanted, sep="\n")
        try:
            got = welvet.Graph.from_bytes(model.SerializeToString(), threads=1)(feeds)
        except Exception as error:  # LoomError and ValueError of an argument
            refused["%s: %s" % (name, error)] += 1
            continue
        bad = [difference(np.asarray(got[o.name]), w) for o, w in zip(model.graph.output, wanted)]
        if any(bad):
            differ += 1
            print("case %d (%s): %s" % (case, " ".join(n.op_type for n in model.graph.node), "; ".join(b for b in bad if b)))
        else:
            same += 1
    for message, times in refused.most_common():
        print("refused %d: %s" % (times, message))
    print("%d graphs: %d equal, %d differ, %d refused" % (same + differ + sum(refused.values()), same, differ, sum(refused.values())))
    return 1 if differ else 0


sys.exit(main())
