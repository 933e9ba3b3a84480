"""Layers of torch.nn, by the names of their classes."""

import math

import numpy

from .graph import pair
from .rules import Rules
from .torch_settings import layer_class
from .torch_values import Constant, LastState, Opaque, Refused, activation_of, is_zero, states
from .weights import Constant as Fixed
from .weights import Parameter, Sum, View, rows

rule = Rules()


def reader_of(module):
    """The rule of a layer of torch.nn; None for all other modules. A subclass may compute something else, so it has
    none."""
    cls = layer_class(module)
    return rule.of(cls.__name__) if cls.__module__.startswith("torch.nn.") else None


def read(reader, module, path, args, kwargs, value):
    found, name = reader_of(module), layer_class(module).__name__
    given = [*args, *kwargs.values()]
    x = next((a for a in given if hasattr(a, "inputs")), None)
    opaque = next((a for a in given if isinstance(a, Opaque)), None)
    if opaque is not None or (x is None and any(isinstance(a, LastState) for a in given)):
        why = opaque.why if opaque is not None else "it reads the whole state h_n; take one layer's, as h_n[-1]"
        return _refused(reader.graph, path, name, why, [x] if x else [], value)
    if x is None:
        return _of_constants(reader, module, name, path, args, kwargs, value)
    if found is None:
        return _refused(reader.graph, path, name, "Loom has no such layer", [x], value)
    call = Call(reader, module, path, args, kwargs, value)
    try:
        return found(call, x)
    except Refused as refused:
        return _refused(reader.graph, path, name, str(refused), [x], value)


def _refused(graph, path, name, why, inputs, value):
    """A node in the place of each tensor of the answer, so that the rest can be read."""
    if isinstance(value, (tuple, list)):
        return tuple(_refused(graph, path, name, why, inputs, v) for v in value)
    return graph.refuse(path, name, why, inputs, value.shape if hasattr(value, "shape") else None)


def _of_constants(reader, module, name, path, args, kwargs, value):
    """A layer whose input does not depend on the input of the model: rows of a table, or a constant."""
    if not reader.torch.is_tensor(value):
        return _refused(reader.graph, path, name, "its input does not depend on the input of the model", [], value)
    if name == "Embedding" and module.max_norm is None and hasattr(args[0], "value"):
        ids = args[0].value.cpu().numpy()
        table = reader.parameter(reader.weight(module, "weight", path))

        def write(rows_):
            array = numpy.array(table.get())
            array[ids] = rows_
            table.set(array)

        key = ("rows", table.key, ids.tobytes(), ids.shape)
        return Constant(value, Parameter(key, lambda: table.get()[ids], write, table.name))
    if any(True for _ in module.parameters()):
        reader.graph.notes.append(f"{path}: its answer does not depend on the input; it stays as it is in training")
    return Constant(value)


class Call:
    """A call of a layer."""

    def __init__(self, reader, module, path, args, kwargs, value):
        self.reader, self.graph, self.module, self.path = reader, reader.graph, module, path
        self.args, self.kwargs, self.value = args, kwargs, value

    def view(self, name, module=None):
        """The weight that is an attribute of the module, or of one inside of it; None where it has none."""
        tensor = self.reader.weight(module or self.module, name, self.path)
        return None if tensor is None else View(self.reader.parameter(tensor))

    def parameter(self, name, module=None):
        return self.reader.parameter(self.reader.weight(module or self.module, name, self.path))

    def want(self, holds, why):
        if not holds:
            raise Refused(why)


@rule("Identity")
def _identity(call, x):
    return x


@rule("Linear", "NonDynamicallyQuantizableLinear")
def _linear(call, x):
    m = call.module
    return call.graph.dense(x, call.view("weight"), call.view("bias"), m.out_features, call.path)


@rule("Conv1d", "Conv2d", "Conv3d")
def _conv(call, x):
    m = call.module
    call.want(m.padding_mode == "zeros", f"padding_mode={m.padding_mode!r}")
    return convolution(
        call.graph,
        x,
        call.view("weight"),
        call.view("bias"),
        m.weight.shape,
        stride=m.stride,
        padding=m.padding,
        dilation=m.dilation,
        groups=m.groups,
        path=call.path,
    )


def convolution(graph, x, weight, bias, shape, *, stride, padding, dilation, groups, path):
    """A convolution with PyTorch's arguments; shape is that of its weight, [filters, channels / groups, extents...]."""
    axes = len(shape) - 2
    kernel, stride, dilation = list(shape[2:]), pair(stride, axes), pair(dilation, axes)
    if padding == "valid":
        padding = 0
    if padding == "same":
        both = [d * (k - 1) for d, k in zip(dilation, kernel)]
        if any(b % 2 for b in both):
            x = graph.pad(x, [(b // 2, b - b // 2) for b in both], path)
            padding = 0
        else:
            padding = [b // 2 for b in both]
    padding = pair(padding, axes)
    sizes = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(x.shape[2:], padding, dilation, kernel, stride)
    ]
    keys = {
        "input_channels": x.shape[1],
        "filters": shape[0],
        "kernel_size": kernel,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "bias": bias is not None,
    }
    weights = {"weight": weight} if bias is None else {"weight": weight, "bias": bias}
    return graph.node(f"cnn{axes}", [x], (x.shape[0], shape[0], *sizes), keys, weights, path)


@rule("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
def _conv_transpose(call, x):
    m = call.module
    axes, groups = m.weight.dim() - 2, m.groups
    call.want(len(call.args) < 2 and not call.kwargs.get("output_size"), "output_size at the call")
    shape = (m.out_channels, m.in_channels // groups, *m.weight.shape[2:])
    if groups == 1:
        weight = View(call.parameter("weight"), "transposed", lambda a: a.swapaxes(0, 1))
    else:
        # [groups * in, out, ...] to [groups * out, in, ...], where `in` and `out` are those of one group
        parts = (groups, m.in_channels // groups, m.out_channels // groups, *m.weight.shape[2:])
        weight = View(call.parameter("weight"), "transposed", lambda a: a.reshape(parts).swapaxes(1, 2), shape)
    keys = {
        "input_channels": m.in_channels,
        "filters": m.out_channels,
        "kernel_size": list(m.kernel_size),
        "stride": list(m.stride),
        "padding": list(m.padding),
        "dilation": list(m.dilation),
        "output_padding": list(m.output_padding),
        "groups": groups,
        "bias": m.bias is not None,
    }
    sizes = [
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, s, p, d, k, o in zip(x.shape[2:], m.stride, m.padding, m.dilation, m.kernel_size, m.output_padding)
    ]
    weights = {"weight": weight} if m.bias is None else {"weight": weight, "bias": call.view("bias")}
    return call.graph.node(f"convtransposed{axes}", [x], (x.shape[0], m.out_channels, *sizes), keys, weights, call.path)


# Pooling.


@rule("MaxPool1d", "MaxPool2d", "MaxPool3d")
def _max_pool(call, x):
    m = call.module
    call.want(not m.return_indices, "return_indices=True")
    return pool(
        call.graph,
        "maxpool",
        x,
        call.value.shape,
        m.kernel_size,
        m.stride,
        m.padding,
        m.ceil_mode,
        call.path,
        dilation=m.dilation,
    )


@rule("AvgPool1d", "AvgPool2d", "AvgPool3d")
def _average_pool(call, x):
    m = call.module
    call.want(getattr(m, "divisor_override", None) is None, "divisor_override")
    return pool(
        call.graph,
        "avgpool",
        x,
        call.value.shape,
        m.kernel_size,
        m.stride,
        m.padding,
        m.ceil_mode,
        call.path,
        count_include_pad=m.count_include_pad,
    )


def pool(graph, kind, x, shape, kernel, stride, padding, ceil_mode, path, dilation=1, count_include_pad=True):
    axes = x.rank - 2
    kernel = pair(kernel, axes)
    stride = kernel if stride is None or stride == [] else pair(stride, axes)
    keys = {"kernel_size": kernel, "stride": stride, "padding": pair(padding, axes), "ceil_mode": bool(ceil_mode)}
    if kind == "maxpool":
        keys["dilation"] = pair(dilation, axes)
    else:
        keys["count_include_pad"] = bool(count_include_pad)
    return graph.node(kind, [x], shape, keys, path=path)


@rule("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d")
def _adaptive_average(call, x):
    return adaptive_pool(call, call.graph, "avgpool", x, call.value.shape, call.path)


@rule("AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d")
def _adaptive_max(call, x):
    call.want(not call.module.return_indices, "return_indices=True")
    return adaptive_pool(call, call.graph, "maxpool", x, call.value.shape, call.path)


def adaptive_pool(call, graph, kind, x, shape, path):
    pairs = list(zip(x.shape[2:], shape[2:]))
    call.want(
        all(n % out == 0 for n, out in pairs), f"windows of unequal size, {list(x.shape[2:])} to {list(shape[2:])}"
    )
    kernel = [n // out for n, out in pairs]
    return graph.node(kind, [x], shape, {"kernel_size": kernel, "stride": kernel}, path=path)


# Norms.


@rule("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
def _batch_norm(call, x):
    m = call.module
    call.want(m.track_running_stats, "track_running_stats=False")
    call.want(m.momentum is not None, "momentum=None")
    call.want(m.affine, "affine=False")
    call.want(m.bias is not None, "bias=False")
    weights = {
        "gamma": call.view("weight"),
        "beta": call.view("bias"),
        "running_mean": call.view("running_mean"),
        "running_var": call.view("running_var"),
    }
    return call.graph.node(
        "batchnorm",
        [x],
        x.shape,
        {"input_height": m.num_features, "momentum": m.momentum, "eps": m.eps},
        weights,
        call.path,
    )


@rule("LayerNorm")
def _layer_norm(call, x):
    m = call.module
    return layer_norm(call.graph, x, m.normalized_shape, call.view("weight"), call.view("bias"), m.eps, call.path)


def layer_norm(graph, x, shape, gamma, beta, eps, path):
    """Over one or several last axes."""
    count = math.prod(shape)
    if len(shape) > 1:
        flat = graph.reshape(x, x.shape[: x.rank - len(shape)] + (count,), path)
        gamma, beta = (w and View(w.parameter, "flat", None, (count,)) for w in (gamma, beta))
    else:
        flat = x
    weights = {"gamma": gamma or _ones(count)}
    if beta is not None:
        weights["beta"] = beta
    keys = {"input_height": count, "eps": eps, "bias": beta is not None}
    return graph.reshape(
        graph.node("layernorm", [flat], flat.shape, keys, weights, path, gamma is None and beta is None), x.shape, path
    )


def _ones(count):
    return Fixed(numpy.ones(count, numpy.float32))


@rule("RMSNorm")
def _rms_norm(call, x):
    m = call.module
    call.want(len(m.normalized_shape) == 1, "several axes")
    eps = m.eps if m.eps is not None else float(numpy.finfo(numpy.float32).eps)
    gamma = call.view("weight")
    return call.graph.node(
        "rmsnorm",
        [x],
        x.shape,
        {"input_height": x.shape[-1], "eps": eps},
        {"gamma": gamma or _ones(x.shape[-1])},
        call.path,
        gamma is None,
    )


@rule("GroupNorm")
def _group_norm(call, x):
    m = call.module
    call.want(m.affine, "affine=False")
    call.want(m.bias is not None, "bias=False")
    keys = {"input_height": m.num_channels, "num_groups": m.num_groups, "eps": m.eps}
    return call.graph.node(
        "groupnorm", [x], x.shape, keys, {"gamma": call.view("weight"), "beta": call.view("bias")}, call.path
    )


@rule("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d")
def _instance_norm(call, x):
    m = call.module
    call.want(not m.track_running_stats, "track_running_stats=True")
    call.want(not m.affine or m.bias is not None, "bias=False")
    weights = {"gamma": call.view("weight"), "beta": call.view("bias")} if m.affine else {}
    return call.graph.node(
        "instancenorm", [x], x.shape, {"input_height": x.shape[1], "eps": m.eps, "affine": m.affine}, weights, call.path
    )


# Sequences.


@rule("Embedding")
def _embedding(call, x):
    m = call.module
    call.want(m.max_norm is None, "max_norm")
    keys = {"vocab_size": m.num_embeddings, "embedding_dim": m.embedding_dim}
    return call.graph.node(
        "embedding", [x], x.shape + (m.embedding_dim,), keys, {"table": call.view("weight")}, call.path
    )


@rule("RNN", "LSTM", "GRU")
def _recurrent(call, x):
    """Returns what the module returns: all steps, and the state, of which the h of the last layer can be taken."""
    m, graph = call.module, call.graph
    call.want(m.batch_first, "batch_first=False: the batch has to be the first axis")
    call.want(not getattr(m, "proj_size", 0), "proj_size")
    state = call.args[1] if len(call.args) > 1 else call.kwargs.get("hx")
    call.want(state is None or is_zero(state), "an initial state")
    kind = layer_class(m).__name__
    names = {"RNN": ("",), "LSTM": ("i.", "f.", "g.", "o."), "GRU": ("r.", "z.", "n.")}[kind]
    steps = []
    for layer in range(m.num_layers):
        weights = {}
        for direction, suffix in (("", ""), ("reverse.", "_reverse"))[: 2 if m.bidirectional else 1]:
            for g, gate in enumerate(names):
                begin, end = g * m.hidden_size, (g + 1) * m.hidden_size

                def part(name):
                    return rows(call.parameter(f"{name}_l{layer}{suffix}"), begin, end)

                name = direction + gate
                weights[name + "weight_ih"], weights[name + "weight_hh"] = part("weight_ih"), part("weight_hh")
                if m.bias and gate == "n.":
                    weights[name + "bias"], weights[name + "bias_hh"] = part("bias_ih"), part("bias_hh")
                elif m.bias:
                    weights[name + "bias"] = Sum(part("bias_ih"), part("bias_hh"))
        keys = {"input_height": x.shape[-1], "output_height": m.hidden_size, "bias": m.bias}
        if m.bidirectional:
            keys["bidirectional"] = True
        if kind == "RNN" and m.nonlinearity != "tanh":
            keys["activation"] = m.nonlinearity
        width = m.hidden_size * (2 if m.bidirectional else 1)
        path = call.path if m.num_layers == 1 else f"{call.path}.l{layer}"
        x = graph.node(kind.lower(), [x], x.shape[:2] + (width,), keys, weights, path)
        steps.append(x)
        if m.dropout and layer + 1 < m.num_layers:
            x = graph.node("dropout", [x], x.shape, {"rate": m.dropout}, path=path)
    return states(kind, steps, m.bidirectional)


@rule("MultiheadAttention")
def _attention(call, x):
    m = call.module
    named = dict(
        zip(
            (
                "query",
                "key",
                "value",
                "key_padding_mask",
                "need_weights",
                "attn_mask",
                "average_attn_weights",
                "is_causal",
            ),
            call.args,
        )
    )
    named.update(call.kwargs)
    call.want(named["key"] is named["query"] and named["value"] is named["query"], "query, key and value differ")
    call.want(named.get("key_padding_mask") is None, "key_padding_mask")
    causal = mask_of(call, named.get("attn_mask"), x.shape[1])
    return attention(call, m, x, causal, call.path), Opaque("it reads the attention weights, which Loom does not give")


def mask_of(call, mask, steps):
    """False for no mask, True for the one that hides later positions."""
    if mask is None:
        return False
    call.want(hasattr(mask, "value") and not hasattr(mask, "inputs"), "a mask that depends on the input")
    array = mask.value.detach().cpu().numpy()
    hidden = array if array.dtype == bool else numpy.isneginf(array)
    call.want(array.dtype == bool or not (array[~hidden] != 0).any(), "a mask of numbers")
    if not hidden.any():
        return False
    call.want(
        array.shape == (steps, steps) and (hidden == numpy.triu(numpy.ones((steps, steps), bool), 1)).all(),
        "a mask that is not causal",
    )
    return True


def attention(call, m, x, causal, path):
    call.want(m.batch_first, "batch_first=False: the batch has to be the first axis")
    call.want(m._qkv_same_embed_dim, "kdim or vdim")
    call.want(m.bias_k is None and not m.add_zero_attn, "add_bias_kv or add_zero_attn")
    if m.dropout:
        call.graph.notes.append(f"{path}: dropout of attention weights is left out; it counts in training alone")
    width = m.embed_dim
    stack, bias = call.parameter("in_proj_weight", m), m.in_proj_bias
    weights = {f"{name}.weight": rows(stack, i * width, (i + 1) * width) for i, name in enumerate("qkv")}
    weights["o.weight"] = call.view("weight", m.out_proj)
    if bias is not None:
        both = call.parameter("in_proj_bias", m)
        weights.update({f"{name}.bias": rows(both, i * width, (i + 1) * width) for i, name in enumerate("qkv")})
    if m.out_proj.bias is not None:
        weights["o.bias"] = call.view("bias", m.out_proj)
    keys = {
        "d_model": width,
        "num_heads": m.num_heads,
        "causal": causal,
        "rope": False,
        "qkv_bias": bias is not None,
        "out_bias": m.out_proj.bias is not None,
        "max_seq_len": max(2048, x.shape[1]),
    }
    return call.graph.node("mha", [x], x.shape, keys, weights, path)


@rule("TransformerEncoderLayer")
def _encoder_layer(call, x):
    named = dict(zip(("src", "src_mask", "src_key_padding_mask", "is_causal"), call.args))
    named.update(call.kwargs)
    call.want(named.get("src_key_padding_mask") is None, "src_key_padding_mask")
    return encoder_layer(call, call.module, x, mask_of(call, named.get("src_mask"), x.shape[1]), call.path)


def encoder_layer(call, m, x, causal, path):
    graph = call.graph

    def norm(x, which):
        n = getattr(m, which)
        return layer_norm(
            graph, x, n.normalized_shape, call.view("weight", n), call.view("bias", n), n.eps, f"{path}.{which}"
        )

    def dropout(x, which):
        rate = getattr(m, which).p
        return graph.node("dropout", [x], x.shape, {"rate": rate}, path=f"{path}.{which}") if rate else x

    def attend(x):
        return dropout(attention(call, m.self_attn, x, causal, f"{path}.self_attn"), "dropout1")

    def feed_forward(x):
        h = graph.dense(
            x, call.view("weight", m.linear1), call.view("bias", m.linear1), m.linear1.out_features, f"{path}.linear1"
        )
        name, keys = activation_of(call, m.activation)
        h = dropout(graph.activation(h, name, f"{path}.linear1", **keys), "dropout")
        h = graph.dense(
            h, call.view("weight", m.linear2), call.view("bias", m.linear2), m.linear2.out_features, f"{path}.linear2"
        )
        return dropout(h, "dropout2")

    if m.norm_first:
        x = graph.add(attend(norm(x, "norm1")), x, path)
        return graph.add(feed_forward(norm(x, "norm2")), x, path)
    x = norm(graph.add(attend(x), x, path), "norm1")
    return norm(graph.add(feed_forward(x), x, path), "norm2")


@rule("TransformerEncoder")
def _encoder(call, x):
    m = call.module
    named = dict(zip(("src", "mask", "src_key_padding_mask", "is_causal"), call.args))
    named.update(call.kwargs)
    call.want(named.get("src_key_padding_mask") is None, "src_key_padding_mask")
    causal = mask_of(call, named.get("mask"), x.shape[1])
    for i, layer in enumerate(m.layers):
        x = encoder_layer(call, layer, x, causal, f"{call.path}.layers.{i}")
    if m.norm is not None:
        x = layer_norm(
            call.graph,
            x,
            m.norm.normalized_shape,
            call.view("weight", m.norm),
            call.view("bias", m.norm),
            m.norm.eps,
            f"{call.path}.norm",
        )
    return x


# Each element, and shapes.


@rule("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
def _dropout(call, x):
    m = call.module
    if not m.p:
        return x
    call.want(type(m).__name__ == "Dropout", "Loom drops single elements")
    return call.graph.node("dropout", [x], x.shape, {"rate": m.p}, path=call.path)


@rule(
    "ReLU",
    "ReLU6",
    "GELU",
    "SiLU",
    "Mish",
    "Tanh",
    "Sigmoid",
    "LeakyReLU",
    "ELU",
    "SELU",
    "Softplus",
    "Softsign",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
)
def _activation(call, x):
    name, keys = activation_of(call, call.module)
    return call.graph.activation(x, name, call.path, **keys)


@rule("Softmax", "Softmax2d")
def _softmax(call, x):
    axis = -3 if type(call.module).__name__ == "Softmax2d" else call.module.dim
    return softmax(call.graph, x, axis, call.path)


def softmax(graph, x, axis, path):
    if axis is None:  # PyTorch's old rule
        axis = 0 if x.rank == 3 else 1
    axis %= x.rank
    if axis == x.rank - 1:
        return graph.activation(x, "softmax", path)
    if axis == 0:
        return graph.refuse(path, "softmax", "over the batch", [x])
    order = [a for a in range(x.rank) if a != axis] + [axis]
    turned = graph.activation(graph.permute(x, order, path), "softmax", path)
    return graph.permute(turned, [order.index(a) for a in range(x.rank)], path)


@rule("Flatten", "Unflatten")
def _reshape(call, x):
    return call.graph.reshape(x, call.value.shape, call.path)


@rule("ZeroPad1d", "ZeroPad2d", "ZeroPad3d")
def _zero_pad(call, x):
    p = list(call.module.padding)
    call.want(all(n >= 0 for n in p), "negative padding")
    return call.graph.pad(x, [(p[i], p[i + 1]) for i in range(len(p) - 2, -1, -2)], call.path)
