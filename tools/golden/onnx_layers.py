"""ONNX nodes as layers: activations, shapes, dense layers, convolutions, pooling, norms, softmax (engine 3.2 to 3.6, 3.10 to 3.13)."""
import numpy

from onnx_node import Unmapped, op, shortest

SIZES = {1: ["input_height"], 2: ["input_height", "input_width"], 3: ["input_depth", "input_height", "input_width"]}


# ---- activations and other elementwise nodes ----

@op("activation", "Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "Mish", "HardSwish", "Identity", "Elu", "LeakyRelu", "Selu", "Celu", "Gelu",
    "Swish", "HardSigmoid", "ThresholdedRelu", "Shrink", "PRelu", "Clip")
def activation(n):
    x, y = n.ins[0], n.outs[0]
    if not hasattr(x, "dtype"):
        raise Unmapped("a sequence or optional value")
    layer = {"type": "activation", **activation_keys(n)}
    if x.size > 4096:
        n.notes.append(f"every 8th of {x.size} values")
        x, y = x[::8], y[::8]
    return {"layer": layer, "x": x, "y": y}


def activation_keys(n):
    same = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Softplus": "softplus", "Softsign": "softsign", "Mish": "mish",
            "HardSwish": "hard_swish", "Identity": "linear"}
    alpha = n.attribute("alpha")
    if n.op in same:
        return {"activation": same[n.op]}
    if n.op == "Elu":
        return {"activation": "elu", "elu_alpha": alpha or 1.0}
    if n.op == "LeakyRelu":
        return {"activation": "leakyrelu", "leaky_slope": alpha or 0.01}
    if n.op == "Gelu":
        return {"activation": "gelu" if n.attribute("approximate") == "tanh" else "gelu_exact"}
    if n.op == "Selu" and alpha is None and n.attribute("gamma") is None:
        return {"activation": "selu"}
    if n.op == "Swish" and alpha == 1.0:
        return {"activation": "silu"}
    if n.op == "Clip":
        bounds = tuple(None if n.input(i) is None else float(n.input(i)) for i in (1, 2))
        names = {(None, None): "linear", (0.0, None): "relu", (0.0, 6.0): "relu6", (-1.0, 1.0): "hard_tanh"}
        if bounds in names:
            return {"activation": names[bounds]}
        raise Unmapped("Clip with bounds of no Loom activation")
    reasons = {"Selu": "selu's constants are fixed", "HardSigmoid": "hard_sigmoid is clamp(x / 6 + 0.5), no other slope and offset",
               "Celu": "no celu", "ThresholdedRelu": "no threshold", "Shrink": "no shrink", "PRelu": "slopes per element"}
    raise Unmapped(reasons[n.op])


@op("shape", "Dropout")
def dropout(n):
    ratio = n.input(1)
    rate = shortest(ratio) if ratio is not None else n.attribute("ratio", 0.5)
    training = bool(n.input(2)) if n.input(2) is not None else False
    if training and rate:
        raise Unmapped("another random stream")
    return {"layer": {"type": "dropout", "rate": rate}, "training": training, "x": n.ins[0], "y": n.outs[0]}


# ---- shapes: a batch of one sample stands in front, since Loom keeps the batch axis ----

@op("shape", "Reshape", "Flatten")
def reshape(n):
    x, y = n.ins[0], n.outs[0]
    if x.size == 0:
        raise Unmapped("an empty tensor")
    shape = n.ins[1].tolist() if n.op == "Reshape" else list(y.shape)
    return {"layer": {"type": "reshape", "shape": shape}, "x": x[None], "y": y[None]}


@op("shape", "Transpose")
def permute(n):
    x = n.ins[0]
    axes = n.attribute("perm", list(range(x.ndim))[::-1])
    return {"layer": {"type": "permute", "axes": [0] + [1 + a for a in axes]}, "x": x[None], "y": n.outs[0][None]}


@op("shape", "Gather")
def embedding(n):
    table, ids, axis = n.ins[0], n.ins[1], n.attribute("axis", 0)
    if (ids < 0).any():
        raise Unmapped("negative indices: Error IndexOutOfRange in Loom")
    rows = numpy.moveaxis(table, axis, 0)
    y = numpy.moveaxis(n.outs[0], range(axis, axis + ids.ndim), range(ids.ndim))
    width = rows[0].size
    return {"layer": {"type": "embedding", "vocab_size": len(rows), "embedding_dim": width}, "weights": {"table": rows.reshape(len(rows), width)},
            "x": ids, "y": y.reshape(*ids.shape, width)}


# ---- dense ----

@op("dense", "Gemm")
def gemm(n):
    a, b, c = n.ins[0], n.ins[1], n.input(2)
    a = a.T if n.attribute("transA", 0) else a
    b = b if n.attribute("transB", 0) else b.T
    weights = {"weight": b * numpy.float32(n.attribute("alpha", 1.0))}
    if c is not None:
        if c.ndim == 2 and len(c) != 1:
            raise Unmapped("a bias per row")
        weights["bias"] = numpy.broadcast_to(c.reshape(-1), len(b)) * numpy.float32(n.attribute("beta", 1.0))
    return dense(a, weights, n.outs[0])


@op("dense", "MatMul")
def matmul(n):
    a, b = n.ins
    if b.ndim > 2:
        raise Unmapped("a product of two batches of matrices")
    y = n.outs[0] if b.ndim == 2 else n.outs[0][..., None]
    return dense(a, {"weight": b.T if b.ndim == 2 else b[None]}, y)


def dense(x, weights, y):
    rows, cols = weights["weight"].shape
    layer = {"type": "dense", "input_height": cols, "output_height": rows, "bias": "bias" in weights}
    return {"layer": layer, "weights": weights, "x": x, "y": y}


@op("dense", "SwiGLU")
def swiglu(n):
    """x holds the gate's and the other operand; W_down puts the product in the first half of x's width."""
    a, b = n.ins
    if n.attribute("alpha", 1.0) != 1.0:
        raise Unmapped("the gate's alpha")
    one, zero = numpy.eye(a.shape[-1]), numpy.zeros((a.shape[-1],) * 2)
    weights = {"gate.weight": numpy.hstack([one, zero]), "up.weight": numpy.hstack([zero, one]), "down.weight": numpy.vstack([one, zero])}
    layer = {"type": "swiglu", "input_height": 2 * a.shape[-1], "output_height": a.shape[-1], "bias": False}
    y = n.outs[0]
    return {"layer": layer, "weights": weights, "x": numpy.concatenate([a, b], -1), "y": numpy.concatenate([y, numpy.zeros_like(y)], -1)}


# ---- convolutions and pooling ----

def pads(n, sizes, kernel, stride, dilation):
    """(begin, end) of every axis."""
    mode, axes = n.attribute("auto_pad", "NOTSET"), len(sizes)
    if mode == "NOTSET":
        flat = n.attribute("pads", [0] * 2 * axes)
        return list(zip(flat[:axes], flat[axes:]))
    result = []
    for size, k, s, d in zip(sizes, kernel, stride, dilation):
        total = 0 if mode == "VALID" else max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        small = total // 2
        result.append((small, total - small) if mode == "SAME_UPPER" else (total - small, small))
    return result


def equal_pads(pairs):
    if any(begin != end for begin, end in pairs):
        raise Unmapped("padding differs between the ends of an axis")
    return [begin for begin, _ in pairs]


def window(n, kernel, axes):
    return list(kernel), *(n.attribute(key, [1] * axes) for key in ("strides", "dilations"))


def conv_layer(kind, x, weight, bias, options):
    """`weight` [filters, channels / groups, k...]."""
    axes = x.ndim - 2
    layer = {"type": f"{kind}{axes}", "input_channels": x.shape[1], "filters": len(weight), **dict(zip(SIZES[axes], x.shape[2:])),
             "kernel_size": list(weight.shape[2:]), **options, "bias": bias is not None}
    return {"layer": layer, "weights": {"weight": weight} if bias is None else {"weight": weight, "bias": bias}, "x": x}


@op("conv", "Conv")
def conv(n):
    x, weight = n.ins[0], n.ins[1]
    axes = x.ndim - 2
    kernel, stride, dilation = window(n, weight.shape[2:], axes)
    padding = equal_pads(pads(n, x.shape[2:], kernel, stride, dilation))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": n.attribute("group", 1)}
    return {**conv_layer("cnn", x, weight, n.input(2), options), "y": n.outs[0]}


@op("conv", "ConvTranspose")
def conv_transpose(n):
    x, weight, y, groups = n.ins[0], n.ins[1], n.outs[0], n.attribute("group", 1)
    axes = x.ndim - 2
    kernel, stride, dilation = window(n, weight.shape[2:], axes)
    full = [(i - 1) * s + (k - 1) * d + 1 for i, k, s, d in zip(x.shape[2:], kernel, stride, dilation)]
    mode, added = n.attribute("auto_pad", "NOTSET"), n.attribute("output_padding", [0] * axes)
    begin = [b for b, _ in pads(n, x.shape[2:], kernel, stride, dilation)]
    if mode != "NOTSET" or n.attribute("output_shape"):
        total = [max(f + a - o, 0) for f, a, o in zip(full, added, y.shape[2:])]
        begin = [t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in total]
    # The difference between 2 * begin and the padding that the output wants becomes output_padding, or a crop at the end by the declared
    # size (S-04).
    rest = [o - f + 2 * b for o, f, b in zip(y.shape[2:], full, begin)]
    if any(r >= max(s, d) for r, s, d in zip(rest, stride, dilation)):
        raise Unmapped("output_padding of a stride or more")
    options = {"stride": stride, "padding": begin, "dilation": dilation, "groups": groups, "output_padding": [max(r, 0) for r in rest]}
    if min(rest) < 0:
        options.update(zip([s.replace("input", "output") for s in SIZES[axes]], y.shape[2:]))
    filter_major = numpy.concatenate([part.swapaxes(0, 1) for part in numpy.split(weight, groups)])
    return {**conv_layer("convtransposed", x, filter_major, n.input(2), options), "y": y}


@op("conv", "CausalConvWithState")
def causal_conv(n):
    """The past (zeros at the start) stands in front of x: a depthwise cnn1 without padding."""
    x, weight, bias, past = n.ins[0], n.ins[1], n.input(2), n.input(3)
    if past is None:
        past = numpy.zeros((*x.shape[:2], weight.shape[2] - 1), x.dtype)
    name = n.attribute("activation", "none")
    options = {"groups": x.shape[1], "activation": {"none": "linear", "swish": "silu"}.get(name, name)}
    return {**conv_layer("cnn", numpy.concatenate([past, x], 2), weight, bias, options), "y": n.outs[0]}


@op("pool", "MaxPool", "AveragePool")
def pool(n):
    x = n.ins[0]
    kernel, stride, dilation = window(n, n.attribute("kernel_shape"), x.ndim - 2)
    padding = equal_pads(pads(n, x.shape[2:], kernel, stride, dilation))
    layer = {"type": "maxpool" if n.op == "MaxPool" else "avgpool", "kernel_size": kernel, "stride": stride, "padding": padding}
    if any(p > k // 2 for p, k in zip(padding, kernel)):
        raise Unmapped("padding above half the kernel")
    if n.op == "MaxPool":
        layer["dilation"] = dilation
    elif any(d != 1 for d in dilation):
        raise Unmapped("avgpool has no dilation")
    else:
        layer["count_include_pad"] = bool(n.attribute("count_include_pad", 0))
    return {"layer": {**layer, "ceil_mode": bool(n.attribute("ceil_mode", 0))}, "x": x, "y": n.outs[0]}


@op("pool", "GlobalMaxPool", "GlobalAveragePool")
def global_pool(n):
    return {"layer": {"type": "maxpool" if n.op == "GlobalMaxPool" else "avgpool", "global": True}, "x": n.ins[0], "y": n.outs[0]}


# ---- norms and softmax ----

@op("norm", "LayerNormalization", "RMSNormalization")
def row_norm(n):
    """The axes from `axis` on become one row."""
    x, gamma = n.ins[0], n.ins[1]
    width = int(numpy.prod(x.shape[n.attribute("axis", -1):]))
    weights, eps = {"gamma": gamma.reshape(width)}, n.attribute("epsilon", 1e-5)
    layer = {"type": "rmsnorm", "input_height": width, "rms_norm_eps": eps}
    if n.op == "LayerNormalization":
        layer = {"type": "layernorm", "input_height": width, "eps": eps}
        weights["beta"] = numpy.zeros(width) if n.input(2) is None else n.ins[2].reshape(width)
    return {"layer": layer, "weights": weights, "x": x.reshape(-1, width), "y": n.outs[0].reshape(-1, width)}


@op("norm", "GroupNormalization", "InstanceNormalization")
def group_norm(n):
    x, gamma, beta = n.ins
    groups = n.attribute("num_groups") if n.op == "GroupNormalization" else x.shape[1]
    layer = {"type": "groupnorm", "input_height": x.shape[1], "num_groups": groups, "eps": n.attribute("epsilon", 1e-5)}
    return {"layer": layer, "weights": {"gamma": gamma, "beta": beta}, "x": x, "y": n.outs[0]}


@op("norm", "BatchNormalization")
def batch_norm(n):
    weights = dict(zip(("gamma", "beta", "running_mean", "running_var"), n.ins[1:]))
    layer = {"type": "batchnorm", "input_height": n.ins[0].shape[1], "momentum": round(1 - n.attribute("momentum", 0.9), 6),
             "eps": n.attribute("epsilon", 1e-5)}
    case = {"layer": layer, "training": bool(n.attribute("training_mode", 0)), "weights": weights, "x": n.ins[0], "y": n.outs[0]}
    if case["training"]:
        case["after"] = {"running_mean": n.outs[1]}
        n.outs[1] = None
        n.notes.append("running_var: ONNX keeps the biased variance, Loom the unbiased one")
    return case


@op("softmax", "Softmax", "Hardmax", "LogSoftmax")
def softmax(n):
    """The axis becomes the last one; Hardmax is the hard forward of gumbel without noise."""
    if n.op == "LogSoftmax":
        raise Unmapped("no logarithm of softmax")
    x, y = (numpy.moveaxis(v, n.attribute("axis", -1), -1) for v in (n.ins[0], n.outs[0]))
    hard = {"softmax_type": "gumbel", "gumbel_noise": False, "gumbel_hard": True}
    return {"layer": {"type": "softmax", **(hard if n.op == "Hardmax" else {"softmax_type": "standard"})}, "x": x, "y": y}
