"""Functions and methods of PyTorch's tensors, by their names: those of torch.fx, and the operations of torch.export."""

import numpy

from .rules import Rules
from .torch_modules import adaptive_pool, convolution, layer_norm, mask_of, pool, softmax
from .torch_values import (
    ACTIVATIONS,
    LastState,
    Opaque,
    Refused,
    is_zero,
    named_activation,
    plain,
    states,
)
from .weights import Constant as Fixed
from .weights import Sum, View, rows

rule = Rules()


class Call:
    """A call: its arguments as nodes of the graph, constants and plain values, and what it returned for the sample."""

    def __init__(self, reader, n, value):
        self.reader, self.graph, self.value, self.n = reader, reader.graph, value, n
        self.path = str(n.name)
        self.args = list(reader.of(n.args))
        self.kwargs = dict(reader.of(dict(n.kwargs)))

    def want(self, holds, why):
        if not holds:
            raise Refused(why)

    def get(self, position, name, default=None):
        """An argument after the tensor, by its place or its name."""
        found = self.args[position] if len(self.args) > position else self.kwargs.get(name, default)
        return plain(found)

    def view(self, constant):
        if constant is None:
            return None
        if constant.parameter is None:
            return Fixed(constant.value.detach().cpu().float().numpy())
        return View(constant.parameter)

    def turned(self, constant):
        """A matrix [in, out] as a layer keeps it. A view of a matrix of the model is that matrix, tied ones too."""
        if constant.parameter is None:
            return Fixed(constant.value.detach().float().numpy().T)
        matrix = constant.value.T
        if matrix.is_contiguous():
            return View(self.reader.parameter(matrix))
        return View(constant.parameter, "transposed", lambda a: a.T)

    @property
    def shape(self):
        return tuple(self.value.shape)


def is_node(value):
    return hasattr(value, "inputs")


def name_of(n):
    if n.op == "call_method":
        return n.target
    target = n.target
    packet = getattr(target, "overloadpacket", None)
    name = packet.__name__ if packet is not None else getattr(target, "__name__", str(target))
    return name


def read(reader, n, value):
    if isinstance(n.target, type) and not reader.torch.is_tensor(value):  # a named tuple or a dataclass
        return n.target(*reader.of(n.args), **reader.of(dict(n.kwargs)))
    call = Call(reader, n, value)
    given = list(_flat([call.args, call.kwargs]))
    nodes = [a for a in given if is_node(a)]
    name = name_of(n).strip("_") if not name_of(n).startswith("__") else name_of(n)
    of_tuple = name == "getitem" and isinstance(call.args[0], (tuple, list))
    if of_tuple:
        return call.args[0][call.args[1]]
    opaque = next((a for a in given if isinstance(a, (Opaque, LastState))), None)
    if not nodes and opaque is None or not any(reader.torch.is_tensor(v) for v in _flat(value)):
        return _constant(reader, call, value)
    shape = value.shape if hasattr(value, "shape") else None
    follows = opaque is None or (isinstance(opaque, LastState) and name in _OF_STATES)
    found = rule.of(name) if follows else None
    if found is None:
        why = "Loom has no such function" if opaque is None else opaque.why
        return reader.graph.refuse(call.path, name, why, nodes, shape)
    try:
        for keyword, setting in call.kwargs.items():
            call.want(keyword in _KEYWORDS or setting is None, f"{keyword}={setting!r}")
        return found(call)
    except Refused as refused:
        return reader.graph.refuse(call.path, name, str(refused), nodes, shape)


# The keyword arguments that the rules read, or that do not change an answer.
_KEYWORDS = frozenset(
    "alpha approximate attn_mask axis beta bias ceil_mode chunks copy count_include_pad destination device dilation "
    "dim dim0 dim1 dims divisor_override dropout_p dtype enable_gqa end end_dim eps groups index inplace input "
    "is_causal keepdim kernel_size layout length max_norm max_val memory_format min_val mode momentum negative_slope "
    "non_blocking norm_type normalized_shape other output_size p pad padding padding_idx pin_memory requires_grad "
    "return_indices running_mean running_var scale scale_grad_by_freq self shape size sizes source sparse split_size "
    "split_size_or_sections split_sizes start start_dim step stride tensors threshold training unflattened_size value "
    "weight".split()
)
_OF_STATES = frozenset(
    ("getitem", "select", "squeeze", "view", "reshape", "flatten", "unbind", "permute", "transpose", "swapaxes")
)


def _constant(reader, call, value):
    """A value that does not depend on the input, as sizes and masks; a parameter that is only looked at stays one."""
    if not reader.torch.is_tensor(value):
        return value
    if any(m in reader.depends for m in call.n.all_input_nodes):
        why = "it depends on the input by numbers that are no tensor"
        return reader.graph.refuse(call.path, name_of(call.n), why, [reader.graph.input], value.shape)
    found = reader.constant(value, _flat([call.args, call.kwargs]))
    if found.is_learnt and found.parameter is None:
        note = f"{call.path}: {name_of(call.n)} of parameters alone stays as it is in training"
        if note not in reader.graph.notes:
            reader.graph.notes.append(note)
    return found


def _flat(value):
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, (list, tuple)) or type(value).__name__ == "dict_values":
        for item in value:
            yield from _flat(item)
    else:
        yield value


# Activations, by function.


@rule(*ACTIVATIONS)
def _activation(call):
    places = {"negative_slope": 1, "alpha": 1, "approximate": 1, "beta": 1, "threshold": 2, "min_val": 1, "max_val": 2}
    name, keys = named_activation(
        call, ACTIVATIONS[name_of(call.n).strip("_")], lambda key, default: call.get(places[key], key, default)
    )
    return call.graph.activation(call.args[0], name, call.path, **keys)


@rule("softmax")
def _softmax(call):
    return softmax(call.graph, call.args[0], call.get(1, "dim"), call.path)


# Sums and products.


def _both(call):
    x, y = plain(call.args[0]), plain(call.args[1] if len(call.args) > 1 else call.kwargs.get("other"))
    call.want(call.kwargs.get("alpha", 1) == 1, "alpha")
    return _number(x, y), _number(y, x)


def _number(constant, other):
    """A constant that holds one number at every place, as that number."""
    if not is_node(other) or is_node(constant) or getattr(constant, "parameter", constant) is not None:
        return constant
    value = constant.value
    fits = value.dim() <= other.rank and all(n in (1, m) for n, m in zip(reversed(value.shape), reversed(other.shape)))
    is_one = fits and value.numel() and bool((value == value.flatten()[0]).all())
    return value.flatten()[0].item() if is_one else constant


def _vector(call, x, other):
    """A constant tensor that goes with the last axis, or with the channels, as the axis and a weight; None where it
    goes with neither."""
    if not hasattr(other, "value"):
        return None
    shape = list(other.value.shape)
    long = [a for a, n in enumerate(shape) if n != 1]
    if len(long) > 1:
        return None
    axis = long[0] - len(shape) if long else -1
    if x.rank + axis < 1 or shape[axis] != x.shape[axis]:
        return None
    return axis, other


@rule("add", "iadd")
def _add(call):
    x, y = _both(call)
    if is_node(x) and is_node(y):
        return _sum(call, x, y)
    x, y = (x, y) if is_node(x) else (y, x)
    if isinstance(y, (int, float)):
        return call.graph.scale(x, 1.0, float(y), call.path)
    return _position(call, x, y) or _along(call, x, y, True)


def _sum(call, x, y):
    call.want(x.shape == y.shape, f"shapes {list(x.shape)} and {list(y.shape)} differ")
    return call.graph.add(x, y, call.path)


def _position(call, x, y):
    """A table that is added to each step of x [B, T, F]: learnt positions."""
    table = getattr(y, "value", None)
    if (
        table is None
        or x.rank != 3
        or tuple(table.shape[-2:]) != x.shape[1:]
        or table.numel() != x.shape[1] * x.shape[2]
    ):
        return None
    view = (
        View(y.parameter, "flat", None, x.shape[1:])
        if y.parameter
        else Fixed(table.detach().float().numpy().reshape(x.shape[1:]))
    )
    keys = {"max_seq_len": x.shape[1], "embedding_dim": x.shape[2]}
    return call.graph.node("position_embedding", [x], x.shape, keys, {"table": view}, call.path, y.parameter is None)


def _along(call, x, y, is_sum):
    found = _vector(call, x, y)
    call.want(found is not None, "a constant tensor of that shape")
    axis, constant = found
    count = x.shape[axis]
    shape = (count,) if is_sum else (count, 1, 1)
    if constant.parameter is None:
        weight = Fixed(constant.value.detach().float().numpy().reshape(-1) * numpy.ones(count, numpy.float32))
        weight = Fixed(weight.read().reshape(shape))
    else:
        call.want(constant.value.numel() == count, "a parameter of one number")
        weight = View(constant.parameter, "flat", None, shape)
    pair = (None, weight) if is_sum else (weight, None)
    frozen = constant.parameter is None
    # PyTorch trains this vector alone, Loom a layer with all its weights: a sum's filters of ones would move with it.
    frozen = frozen or is_sum
    if axis == -1:
        return call.graph.features(x, *pair, call.path, frozen)
    order = [0, x.rank + axis] + [a for a in range(1, x.rank) if a != x.rank + axis]
    turned = call.graph.channels(call.graph.permute(x, order, call.path), *pair, call.path, frozen)
    return call.graph.permute(turned, [order.index(a) for a in range(x.rank)], call.path)


@rule("sub", "isub")
def _subtract(call):
    x, y = _both(call)
    if is_node(x) and is_node(y):
        return _sum(call, x, call.graph.scale(y, -1.0, 0.0, call.path))
    if is_node(x) and isinstance(y, (int, float)):
        return call.graph.scale(x, 1.0, -float(y), call.path)
    call.want(is_node(y) and isinstance(x, (int, float)), "a tensor of the model")
    return call.graph.scale(y, -1.0, float(x), call.path)


@rule("rsub")
def _subtract_from(call):
    x, y = _both(call)
    call.want(isinstance(y, (int, float)), "a tensor")
    return call.graph.scale(x, -1.0, float(y), call.path)


@rule("neg")
def _negate(call):
    return call.graph.scale(call.args[0], -1.0, 0.0, call.path)


@rule("mul", "imul")
def _multiply(call):
    x, y = _both(call)
    if is_node(x) and is_node(y):
        call.want(x.shape == y.shape, f"shapes {list(x.shape)} and {list(y.shape)} differ")
        return call.graph.node("mul", [x, y], x.shape, path=call.path)
    x, y = (x, y) if is_node(x) else (y, x)
    if isinstance(y, (int, float)):
        return call.graph.scale(x, float(y), 0.0, call.path)
    return _along(call, x, y, False)


@rule("truediv", "div", "itruediv")
def _divide(call):
    x, y = _both(call)
    call.want(is_node(x) and isinstance(y, (int, float)) and y != 0, "by a tensor")
    return call.graph.scale(x, 1.0 / float(y), 0.0, call.path)


# Shapes.


@rule("reshape", "view", "flatten", "unflatten", "squeeze", "unsqueeze", "unsafe_view")
def _reshape(call):
    before = call.reader.values.get(call.n.args[0]) if hasattr(call.n.args[0], "op") else None
    call.want(getattr(before, "dtype", call.value.dtype) == call.value.dtype, "the bits of another type")
    if isinstance(call.args[0], LastState):
        call.want(call.args[0].count == 1, call.args[0].why)
        return call.graph.reshape(call.args[0].at(call.graph, 0, call.path), call.shape, call.path)
    return call.graph.reshape(call.args[0], call.shape, call.path)


@rule("permute", "transpose", "swapaxes", "movedim", "mT", "t")
def _permute(call):
    x = call.args[0]
    if not isinstance(x, LastState):
        return call.graph.permute(x, _axes(call, x.rank), call.path)
    # h_n with the batch in front, [B, layers * directions, H]
    call.want(_axes(call, 3) == [1, 0, 2], x.why)
    batch, width = x.steps[0].shape[0], x.steps[0].shape[2] // x.directions
    parts = [x.at(call.graph, i, call.path) for i in range(x.count)]
    return call.graph.concat([call.graph.reshape(p, (batch, 1, width), call.path) for p in parts], 1, call.path)


def _axes(call, rank):
    """The order of axes after the call."""
    name, rest = name_of(call.n), [plain(a) for a in call.args[1:]]
    if name == "permute":
        axes = rest[0] if rest and isinstance(rest[0], (tuple, list)) else rest or list(call.kwargs["dims"])
        return [a % rank for a in axes]
    if name in ("transpose", "swapaxes", "t"):
        first, second = (rest + list(call.kwargs.values()))[:2] if name != "t" else (0, 1)
        axes = list(range(rank))
        axes[first], axes[second] = axes[second], axes[first]
        return axes
    return _moved(rank, *((-1, -2) if name == "mT" else rest))


def _moved(rank, source, destination):
    marks = numpy.moveaxis(numpy.empty(tuple(range(2, rank + 2)), numpy.uint8), source, destination).shape
    return [m - 2 for m in marks]


@rule(
    "contiguous",
    "clone",
    "detach",
    "to",
    "float",
    "double",
    "half",
    "bfloat16",
    "type",
    "type_as",
    "long",
    "int",
    "alias",
    "cpu",
    "_to_copy",
    "to_copy",
    "lift_fresh_copy",
    "identity",
    "expand_as",
    "requires_grad",
)
def _same(call):
    call.want(call.shape == call.args[0].shape, "another shape")
    before = call.reader.values[call.n.args[0]] if hasattr(call.n.args[0], "op") else call.value
    if before.is_floating_point() and not call.value.is_floating_point():
        return call.graph.whole(call.args[0], call.path)
    return call.args[0]


@rule("dropout", "native_dropout")
def _dropout(call):
    rate, is_on = call.get(1, "p", 0.5), call.get(2, "training", True)
    call.want(not is_on or not rate, "it drops numbers in eval mode too: give training=self.training")
    return call.args[0]


@rule("feature_dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d")
def _dropout_of_channels(call):
    return _dropout(call)


@rule("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "new_tensor")
def _filled(call):
    """A tensor of one number, of the input's shape."""
    return call.reader.constant(call.value, ())


@rule("cat", "concat", "concatenate")
def _concat(call):
    parts = call.args[0] if call.args else call.kwargs["tensors"]
    call.want(all(is_node(p) for p in parts), "with a constant")
    return call.graph.concat(list(parts), call.get(1, "dim", call.kwargs.get("axis", 0)), call.path)


@rule("getitem")
def _item(call):
    x, index = call.args[0], call.args[1]
    if isinstance(x, LastState):
        call.want(isinstance(index, int), x.why)
        return x.at(call.graph, index, call.path)
    index = index if isinstance(index, tuple) else (index,)
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index = index[:at] + (slice(None),) * (x.rank - (len(index) - 1)) + index[at + 1 :]
    call.want(all(isinstance(i, (int, slice)) or i is None for i in index), "an index that is a tensor")
    call.want(None not in index, "a new axis")
    call.want(index[0] == slice(None), "samples of the batch")
    axis = 0
    for i in index:
        if isinstance(i, int):
            x = (
                call.graph.last_step(x, call.path)
                if i in (-1, x.shape[1] - 1) and axis == 1 and x.rank == 3
                else call.graph.pick(x, axis, i, call.path)
            )
            continue
        begin, end, step = i.indices(x.shape[axis])
        call.want(step > 0, "a negative step")
        x = call.graph.part(x, axis, begin, len(range(begin, end, step)), step, call.path)
        axis += 1
    return x


@rule("select")
def _select(call):
    x, axis, index = call.args[0], call.get(1, "dim"), call.get(2, "index")
    if isinstance(x, LastState):
        call.want(axis == 0, x.why)
        return x.at(call.graph, index, call.path)
    call.want(axis % x.rank != 0, "samples of the batch")
    if axis % x.rank == 1 and x.rank == 3 and index in (-1, x.shape[1] - 1):
        return call.graph.last_step(x, call.path)
    return call.graph.pick(x, axis, index, call.path)


@rule("slice", "narrow")
def _slice(call):
    x, axis = call.args[0], call.get(1, "dim", 0)
    if name_of(call.n) == "narrow":
        begin, step = call.get(2, "start"), 1
    else:
        begin, _, step = slice(call.get(2, "start"), call.get(3, "end"), call.get(4, "step", 1)).indices(x.shape[axis])
    call.want(axis % x.rank != 0 or call.shape == x.shape, "samples of the batch")
    return x if call.shape == x.shape else call.graph.part(x, axis, begin, call.shape[axis], step, call.path)


@rule("chunk", "split", "split_with_sizes", "unbind")
def _split(call):
    x = call.args[0]
    if isinstance(x, LastState):
        call.want(name_of(call.n) == "unbind" and call.get(1, "dim", 0) == 0, x.why)
        return tuple(x.at(call.graph, i, call.path) for i in range(x.count))
    axis = call.get(1 if name_of(call.n) == "unbind" else 2, "dim", 0) % x.rank
    call.want(axis != 0, "samples of the batch")
    found, begin = [], 0
    for piece in call.value:
        count = 1 if piece.dim() < x.rank else piece.shape[axis]
        node = call.graph.part(x, axis, begin, count, path=call.path)
        found.append(call.graph.reshape(node, piece.shape, call.path))
        begin += count
    return tuple(found)


@rule("mean")
def _mean(call):
    x, axes = call.args[0], call.get(1, "dim")
    axes = list(range(1, x.rank)) if axes is None else [axes] if isinstance(axes, int) else list(axes)
    call.want(call.get(1, "dim") is not None, "over the batch")
    return call.graph.global_average(x, axes, bool(call.get(2, "keepdim", False)), call.path)


@rule("pad")
def _pad(call):
    x, padding = call.args[0], list(call.get(1, "pad"))
    call.want(call.get(2, "mode", "constant") == "constant" and not call.get(3, "value"), "a mode or a value")
    call.want(
        len(padding) == 2 * (x.rank - 2) and min(padding) >= 0,
        "other axes than those after the channels, or negative ones",
    )
    return call.graph.pad(x, [(padding[i], padding[i + 1]) for i in range(len(padding) - 2, -1, -2)], call.path)


# Layers as functions of their weights.


@rule("linear")
def _linear(call):
    weight, bias = call.args[1], call.get(2, "bias")
    call.want(hasattr(weight, "value"), "a weight that depends on the input")
    return call.graph.dense(call.args[0], call.view(weight), call.view(bias), weight.value.shape[0], call.path)


@rule("addmm")
def _addmm(call):
    """bias + x W, of torch.export's lower form."""
    bias, x, weight = call.args[:3]
    call.want(is_node(x) and hasattr(weight, "parameter") and weight.parameter is not None, "its operands")
    return call.graph.dense(x, call.turned(weight), call.view(bias), weight.value.shape[1], call.path)


@rule("matmul", "mm")
def _matmul(call):
    x, weight = call.args[:2]
    call.want(is_node(x) and hasattr(weight, "value") and weight.value.dim() == 2, "two outputs of layers")
    frozen = weight.parameter is None
    return call.graph.dense(x, call.turned(weight), None, weight.value.shape[1], call.path, frozen)


@rule("conv1d", "conv2d", "conv3d")
def _conv(call):
    weight = call.args[1]
    return convolution(
        call.graph,
        call.args[0],
        call.view(weight),
        call.view(call.get(2, "bias")),
        weight.value.shape,
        stride=call.get(3, "stride", 1),
        padding=call.get(4, "padding", 0),
        dilation=call.get(5, "dilation", 1),
        groups=call.get(6, "groups", 1),
        path=call.path,
    )


@rule("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(call):
    ceil = call.get(5, "ceil_mode", False)
    return pool(
        call.graph,
        "maxpool",
        call.args[0],
        call.shape,
        call.get(1, "kernel_size"),
        call.get(2, "stride"),
        call.get(3, "padding", 0),
        ceil,
        call.path,
        dilation=call.get(4, "dilation", 1),
    )


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _average_pool(call):
    call.want(call.get(6, "divisor_override") is None, "divisor_override")
    return pool(
        call.graph,
        "avgpool",
        call.args[0],
        call.shape,
        call.get(1, "kernel_size"),
        call.get(2, "stride"),
        call.get(3, "padding", 0),
        call.get(4, "ceil_mode", False),
        call.path,
        count_include_pad=call.get(5, "count_include_pad", True),
    )


@rule("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive_average(call):
    return adaptive_pool(call, call.graph, "avgpool", call.args[0], call.shape, call.path)


@rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(call):
    return adaptive_pool(call, call.graph, "maxpool", call.args[0], call.shape, call.path)


@rule("layer_norm")
def _layer_norm(call):
    return layer_norm(
        call.graph,
        call.args[0],
        list(call.get(1, "normalized_shape")),
        call.view(call.get(2, "weight")),
        call.view(call.get(3, "bias")),
        call.get(4, "eps", 1e-5),
        call.path,
    )


@rule("rms_norm")
def _rms_norm(call):
    x, shape, weight, eps = (
        call.args[0],
        list(call.get(1, "normalized_shape")),
        call.get(2, "weight"),
        call.get(3, "eps"),
    )
    call.want(len(shape) == 1, "several axes")
    eps = float(numpy.finfo(numpy.float32).eps) if eps is None else eps
    gamma = call.view(weight) or Fixed(numpy.ones(shape, numpy.float32))
    return call.graph.node(
        "rmsnorm", [x], x.shape, {"input_height": x.shape[-1], "eps": eps}, {"gamma": gamma}, call.path, weight is None
    )


@rule("batch_norm", "native_batch_norm_legit_no_training")
def _batch_norm(call):
    """aten: x, weight, bias, mean, variance, training, momentum, eps. torch.nn.functional: x, mean, variance, weight,
    bias, and so on."""
    parts = [call.get(i, name) for i, name in enumerate(("input", "running_mean", "running_var", "weight", "bias"))]
    is_legit = "legit" in name_of(call.n)  # it has no argument `training`
    call.want(is_legit or not call.get(5, "training", False), "statistics of the batch: training=True")
    if hasattr(call.n.target, "overloadpacket"):
        parts = [parts[0], parts[3], call.args[4], parts[1], parts[2]]
    x, mean, variance, weight, bias = parts
    call.want(all(p is not None for p in parts), "without weights or statistics")
    weights = {
        "gamma": call.view(weight),
        "beta": call.view(bias),
        "running_mean": call.view(mean),
        "running_var": call.view(variance),
    }
    at = 5 if is_legit else 6
    keys = {"input_height": x.shape[1], "momentum": call.get(at, "momentum", 0.1), "eps": call.get(at + 1, "eps", 1e-5)}
    return call.graph.node("batchnorm", [x], x.shape, keys, weights, call.path)


@rule("embedding")
def _embedding(call):
    first, second = call.args[0], call.args[1]
    ids, table = (first, second) if is_node(first) else (second, first)
    call.want(is_node(ids), "a table that depends on the input")
    if not hasattr(call.n.target, "overloadpacket"):
        call.want(call.get(3, "max_norm") is None, "max_norm")
    keys = {"vocab_size": table.value.shape[0], "embedding_dim": table.value.shape[1]}
    return call.graph.node(
        "embedding", [ids], ids.shape + (table.value.shape[1],), keys, {"table": call.view(table)}, call.path
    )


@rule("lstm", "gru", "rnn_tanh", "rnn_relu")
def _recurrent(call):
    """aten: x, states, weights, has_biases, layers, dropout, training, bidirectional, batch_first."""
    kind = name_of(call.n)
    x, state, flat, has_bias, layers, _, _, both, batch_first = call.args[:9]
    call.want(batch_first, "batch_first=False: the batch has to be the first axis")
    call.want(is_zero(state), "an initial state")
    names = {"lstm": ("i.", "f.", "g.", "o."), "gru": ("r.", "z.", "n.")}.get(kind, ("",))
    flat = [w.parameter for w in flat]
    steps = []
    for _ in range(layers):
        weights = {}
        for direction in ("", "reverse.")[: 2 if both else 1]:
            mine = [flat.pop(0) for _ in range(4 if has_bias else 2)]
            size = mine[1].get().shape[1]
            for g, gate in enumerate(names):
                part = [rows(p, g * size, (g + 1) * size) for p in mine]
                name = direction + gate
                weights[name + "weight_ih"], weights[name + "weight_hh"] = part[:2]
                if has_bias and gate == "n.":
                    weights[name + "bias"], weights[name + "bias_hh"] = part[2:]
                elif has_bias:
                    weights[name + "bias"] = Sum(*part[2:])
        keys = {"input_height": x.shape[-1], "output_height": size, "bias": bool(has_bias), "bidirectional": bool(both)}
        if kind == "rnn_relu":
            keys["activation"] = "relu"
        x = call.graph.node(
            kind.partition("_")[0], [x], x.shape[:2] + (size * (2 if both else 1),), keys, weights, call.path
        )
        steps.append(x)
    steps, last = states(kind.upper(), steps, both)
    return (steps, *last) if kind == "lstm" else (steps, last)


@rule("scaled_dot_product_attention")
def _attention(call):
    """Heads of three products; write_spec joins it with them, since mha has its products inside."""
    q, k, v = call.args[:3]
    call.want(all(is_node(a) for a in (q, k, v)), "a query, key or value that does not depend on the input")
    mask = call.args[3] if len(call.args) > 3 else call.kwargs.get("attn_mask")
    call.want(not call.get(4, "dropout_p", 0.0), "dropout_p drops in eval mode too: give 0 unless self.training")
    causal = bool(call.get(5, "is_causal", False))
    if mask is not None:
        keep = mask.value if hasattr(mask, "value") else mask
        inverted = type(mask)(~keep) if getattr(keep, "dtype", None) == call.reader.torch.bool else mask
        causal = mask_of(call, inverted, q.shape[-2])
    keys = {"causal": causal, "scale": call.get(6, "scale")}
    return call.graph.node("sdpa", [q, k, v], call.shape, keys, path=call.path)
