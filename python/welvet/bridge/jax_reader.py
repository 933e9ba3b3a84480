"""JAX: flax.linen modules with their variables, flax.nnx and equinox modules, functions of a pytree, and pytrees with
a spec.

The model is traced once. Products, convolutions, pooling and shapes are read as operations; activations are recognised
by what they compute, since JAX
writes them out; norms, attention and recurrent layers of the libraries are read as layers (jax_layers.py).
"""

from __future__ import annotations

import math
import sys

import numpy

from . import jax_layers, jax_trace
from .functions import recognise
from .graph import Graph, choose_output, coarsest, named_sizes, to_model
from .rules import Rules
from .torch_modules import softmax
from .weights import Constant, Parameter, View

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from typing import Any


class Tree:
    """A pytree of arrays with the layers whose weights they are, as a model for stream().

    Args:
        params: The pytree.
        layers: Layers as in a spec, each with "weights", a dict from the names in the layer to places in the tree, as
            "layers.0.w"; a place that ends in ".T" is transposed.

    Attributes:
        params: The pytree.
        layers: The layers.
    """

    def __init__(self, params: object, layers: list[dict[str, Any]]) -> None:
        self.params, self.layers = params, layers


def is_model(model):
    if isinstance(model, Tree):
        return True
    if "jax" not in sys.modules:
        return False
    return _kind_of(model) is not None


def _kind_of(model):
    linen, nnx, equinox = sys.modules.get("flax.linen"), sys.modules.get("flax.nnx"), sys.modules.get("equinox")
    if linen is not None and isinstance(model, linen.Module):
        return "linen"
    if nnx is not None and isinstance(model, nnx.Module):
        return "nnx"
    if equinox is not None and isinstance(model, equinox.Module) and callable(model):
        return "equinox"
    if (
        isinstance(model, tuple)
        and len(model) == 2
        and (callable(model[0]) or linen is not None and isinstance(model[0], linen.Module))
    ):
        return "linen" if linen is not None and isinstance(model[0], linen.Module) else "function"
    return None


class Reader:
    """One reading: the trace, and what its values became."""

    def __init__(self, model, sample, graph, unbatched):
        self.model, self.sample, self.graph = model, sample, graph
        self.shift = 1 if unbatched else 0  # axes of the trace lack the batch in front
        self.found = {}  # nodes by the identity of their Var
        self.vars = []  # (node, Var) of all that can be compared
        self.updates = {}
        self.scans = {}  # the recurrent layer of a scan, which has several outputs

    # Weights.

    def parameter(self, var):
        """The parameter of the model that a Var is; it is written by what the model's kind makes of `updates`."""
        index = self.trace.params.index(var)

        def read():
            value = self.updates.get(index, self.trace.leaves[index])
            return numpy.asarray(value, numpy.float32 if str(value.dtype) == "bfloat16" else None)

        return Parameter((id(self.trace), index), read, lambda array: self.updates.__setitem__(index, array), var.path)

    def origin(self, var):
        """(parameter, look, part) of a Var that holds a parameter's numbers in another shape or order; None for all
        others."""
        if var.path is not None:
            return var, lambda a: a, ()
        op = var.op
        if op is None or op.name not in _MOVES:
            return None
        before = self.origin(op.inputs[0])
        if before is None or op.name == "convert_element_type" and not is_float(var.aval.dtype):
            return None
        base, look, part = before
        step = _MOVES[op.name]
        return base, lambda a: step(op, look(a)), (*part, (op.name, str(op.params)))

    def weight(self, var, part=None, look=None, shape=None):
        """A View of a parameter, or a Constant."""
        origin = self.origin(var)
        if origin is None:
            value = numpy.asarray(self.value(var))
            value = look(value) if look else value
            return Constant(value if shape is None else value.reshape(shape))
        base, before, key = origin
        whole = not key and look is None and shape is None
        return View(
            self.parameter(base),
            None if whole else (key, part, shape),
            lambda a: look(before(a)) if look else before(a),
            shape,
        )

    def is_parameter(self, var):
        return self.origin(var) is not None

    def value(self, var):
        """The value of a Var that does not depend on the input."""
        if var.op is None:
            return var.value
        return self.trace.evaluate(None, [var])[0]

    # Nodes.

    def shape(self, var):
        return (self.sample.shape[0], *var.shape) if self.shift else var.shape

    def name(self, var):
        """A path for what is computed with this parameter: that of the array without its own name."""
        origin = self.origin(var)
        if origin is None:
            return ""
        path = origin[0].path.removeprefix("params.")
        return path.rpartition(".")[0] or path

    def node(self, var):
        if id(var) not in self.found:
            node = self.found[id(var)] = self._make(var)
            self.vars.append((node, var))
        return self.found[id(var)]

    def _make(self, var):
        if var is self.trace.input:
            return self.graph.input
        op = var.op
        if op is None:
            return self.refuse(op, "a constant", "it does not depend on the input", var)
        found = rule.of(op.name)
        if op.name in _COMPUTES:
            known = self._recognised(var)
            if known is not None:
                return known
        if found is None:
            return self.refuse(op, op.name, "Loom has no such operation", var)
        try:
            made = found(self, op, var)
            want(made.shape == self.shape(var), f"the shape {list(made.shape)} in place of {list(self.shape(var))}")
            return made
        except jax_layers.Refused as refused:
            return self.refuse(op, refused.what or op.name, str(refused), var, refused.path)

    def refuse(self, op, what, why, var, path=""):
        inputs = [self.node(v) for v in op.inputs if v.depends] if op is not None else [self.graph.input]
        return self.graph.refuse(path or _place(op), what, why, inputs, self.shape(var))

    def _recognised(self, var):
        """A function of one value that JAX writes out in several operations: found by what it computes, from as far
        back as it can be."""
        best = None
        for source in self._sources(var):
            if source.shape != var.shape:
                continue

            def function(x, source=source):
                return numpy.asarray(self.trace.evaluate(None, [var], {id(source): x.astype(source.aval.dtype)})[0])

            found = recognise(function, source.shape)
            if found is not None:
                best = source, found
        if best is None:
            return None
        source, (name, keys, axis) = best
        x = self.node(source)
        if name == "softmax":
            return softmax(self.graph, x, axis + self.shift, "")
        return self.graph.activation(x, name, **keys)

    def _sources(self, var):
        """Values that a value is a function of alone, the nearest one first: where all ways back from it meet."""
        front, found = {id(var): var}, []
        for _ in range(64):
            last = max(front.values(), key=lambda v: v.op.number if v.op else -1)
            if last is not var and len(front) == 1:
                found.append(last)
            op = last.op
            if (
                op is None
                or op.name not in _COMPUTES | _WITHIN
                or any(v.of_parameters and not v.depends for v in op.inputs)
            ):
                break
            del front[id(last)]
            front.update((id(v), v) for v in op.inputs if v.depends)
        return found[:4]


def _place(op):
    """Where in the program an operation stands, as far as JAX says it."""
    from jax._src import source_info_util  # pylint: disable=import-outside-toplevel

    try:
        return source_info_util.summarize(op.eqn.source_info).rpartition("/")[2]
    except Exception:
        return ""


# Operations that move the numbers of a parameter.

_MOVES = {
    "transpose": lambda op, a: a.transpose(op.params["permutation"]),
    "reshape": lambda op, a: a.reshape(op.params["new_sizes"]),
    "squeeze": lambda op, a: a.reshape(op.outputs[0].shape),
    "expand_dims": lambda op, a: a.reshape(op.outputs[0].shape),
    "broadcast_in_dim": lambda op, a: numpy.broadcast_to(
        a.reshape(
            [
                op.inputs[0].shape[op.params["broadcast_dimensions"].index(d)]
                if d in op.params["broadcast_dimensions"]
                else 1
                for d in range(len(op.params["shape"]))
            ]
        ),
        op.params["shape"],
    ),
    "rev": lambda op, a: numpy.flip(a, op.params["dimensions"]),
    "slice": lambda op, a: a[
        tuple(
            slice(b, e, s)
            for b, e, s in zip(
                op.params["start_indices"], op.params["limit_indices"], op.params["strides"] or [1] * a.ndim
            )
        )
    ],
    "convert_element_type": lambda op, a: a,
    "copy": lambda op, a: a,
    "stop_gradient": lambda op, a: a,
}

# Operations that functions of one value are written in, and those that may be inside of them.
_COMPUTES = frozenset(
    (
        "add",
        "sub",
        "mul",
        "div",
        "neg",
        "max",
        "min",
        "tanh",
        "logistic",
        "exp",
        "exp2",
        "log",
        "log1p",
        "expm1",
        "erf",
        "integer_pow",
        "pow",
        "sqrt",
        "rsqrt",
        "abs",
        "sign",
        "select_n",
        "square",
        "erfc",
        "add_any",
        "clamp",
    )
)
_WITHIN = frozenset(
    (
        "lt",
        "gt",
        "le",
        "ge",
        "eq",
        "ne",
        "and",
        "or",
        "not",
        "is_finite",
        "reduce_max",
        "reduce_sum",
        "stop_gradient",
        "broadcast_in_dim",
        "convert_element_type",
        "copy",
        "squeeze",
        "expand_dims",
    )
)
rule = Rules()


def want(holds, why):
    if not holds:
        raise jax_layers.Refused(why)


@rule("convert_element_type")
def _converted(r, op, var):
    before, after = op.inputs[0].aval.dtype, var.aval.dtype
    is_cut = is_float(before) and not is_float(after)
    return r.graph.whole(r.node(op.inputs[0])) if is_cut else r.node(op.inputs[0])


def is_float(dtype):
    """True for the float types of JAX, those that NumPy lacks included."""
    return "float" in str(dtype)


@rule(
    "copy",
    "stop_gradient",
    "loom_enter",
    "copy_p",
    "optimization_barrier",
    "sharding_constraint",
    "reduce_precision",
)
def _same(r, op, var):
    return r.node(op.inputs[0])


@rule("loom_leave")
def _layer(r, op, var):
    tag = op.params["tag"]
    name, module, path = r.layers.met[tag]
    try:
        return jax_layers.read(r, name, module, path, r.trace.marks[tag], op, var)
    except jax_layers.Refused as refused:
        raise jax_layers.Refused(str(refused), refused.what or name, refused.path or path) from None


@rule("scan")
def _scan(r, op, var):
    return jax_layers.read_scan(r, op, var)


# Sums and products.


@rule("add", "add_any")
def _add(r, op, var):
    x, y = op.inputs
    if x.depends and y.depends:
        return r.graph.add(r.node(x), r.node(y))
    x, y = (x, y) if x.depends else (y, x)
    node = r.node(x)
    if not r.is_parameter(y) and _is_number(r, y):
        return r.graph.scale(node, 1.0, _number(r, y))
    return _biased(r, node, x, y) or _along(r, node, x, y, True)


def _is_number(r, y):
    value = numpy.asarray(r.value(y))
    return value.size and (value == value.reshape(-1)[0]).all()


def _number(r, y):
    return float(numpy.asarray(r.value(y)).reshape(-1)[0])


def _axis_of(y, x):
    """The one axis of x that a constant goes along, counted from the end; None if it goes along several."""
    shape = (1,) * (len(x.shape) - len(y.shape)) + y.shape
    long = [a for a, n in enumerate(shape) if n != 1]
    return long[0] - len(shape) if len(long) == 1 else -1 if not long and x.shape and x.shape[-1] == 1 else None


def _vector(r, y):
    """The parameter itself where JAX has spread it over the axes of a product; else the constant."""
    v = y
    while (
        v.op is not None
        and v.op.name in ("broadcast_in_dim", "reshape", "expand_dims", "convert_element_type", "squeeze")
        and v.path is None
    ):
        v = v.op.inputs[0]
    return v


def _biased(r, node, x, y):
    """The bias of a product that has none yet and that nobody else has read."""
    small = _vector(r, y)
    count = math.prod(small.shape)
    layer = node
    chain = []
    while layer.kind in ("permute", "reshape"):
        chain.append(layer)
        layer = layer.inputs[0]
    if (
        layer.kind not in ("dense", "cnn1", "cnn2", "cnn3", "convtransposed1", "convtransposed2", "convtransposed3")
        or layer.keys.get("bias")
        or layer.frozen
    ):
        return None
    outputs = layer.shape[-1] if layer.kind == "dense" else layer.shape[1]
    if count != outputs or not r.is_parameter(small) or any(node in n.inputs for n in r.graph.nodes):
        return None
    # Which output each number of the bias is added to, seen through the moves between the layer and the sum.
    marks = numpy.arange(outputs)
    if layer.kind == "dense":
        marks = numpy.broadcast_to(marks, layer.shape)
    else:
        marks = numpy.broadcast_to(marks.reshape((1, -1) + (1,) * (layer.rank - 2)), layer.shape)
    for step in reversed(chain):
        marks = marks.reshape(step.shape) if step.kind == "reshape" else marks.transpose(step.keys["axes"])
    moved = numpy.arange(count).reshape(small.shape)
    v, ops = y, []
    while v is not small:
        ops.append(v.op)
        v = v.op.inputs[0]
    for o in reversed(ops):
        moved = _MOVES[o.name](o, moved)
    if not numpy.array_equal(
        numpy.broadcast_to(moved, x.shape) if not r.shift else numpy.broadcast_to(moved, r.shape(x)), marks
    ):
        return None
    # The network has no node for the value before the sum.
    r.vars = [(n, v) for n, v in r.vars if n is not layer and all(n is not c for c in chain)]
    layer.keys["bias"] = True
    layer.weights["bias"] = r.weight(small, "flat", None, (count,)) if len(small.shape) != 1 else r.weight(small)
    return node


def _along(r, node, x, y, is_sum):
    """A vector of the model that is added to or multiplied with an axis; a table that is added to all samples."""
    small = _vector(r, y)
    axis = (
        _axis_of(y, x) if y.shape and math.prod(y.shape) == math.prod(small.shape) else _axis_of(_squeezed(small, y), x)
    )
    frozen = is_sum or not r.is_parameter(small)
    if axis is None:
        steps = math.prod(small.shape) == math.prod(node.shape[1:])
        want(is_sum and node.rank == 3 and steps, "a constant of that shape")
        keys = {"max_seq_len": node.shape[1], "embedding_dim": node.shape[2]}
        table = r.weight(small, "flat", None, node.shape[1:])
        return r.graph.node(
            "position_embedding", [node], node.shape, keys, {"table": table}, r.name(small), not r.is_parameter(small)
        )
    count = node.shape[axis]
    want(math.prod(small.shape) == count, "a constant of that shape")
    want(node.rank + axis > 0, "a constant along the batch")
    weight = r.weight(small, "flat", None, (count,) if is_sum else (count, 1, 1))
    pair = (None, weight) if is_sum else (weight, None)
    if axis == -1:
        return r.graph.features(node, *pair, r.name(small), frozen)
    order = [0, node.rank + axis] + [a for a in range(1, node.rank) if a != node.rank + axis]
    turned = r.graph.channels(r.graph.permute(node, order), *pair, r.name(small), frozen)
    return r.graph.permute(turned, [order.index(a) for a in range(node.rank)])


def _squeezed(small, y):
    """A spread constant as it was before it was repeated, at the axes where it varies."""
    value = numpy.asarray(numpy.arange(math.prod(small.shape)).reshape(small.shape))
    v, ops = y, []
    while v is not small:
        ops.append(v.op)
        v = v.op.inputs[0]
    for o in reversed(ops):
        value = _MOVES[o.name](o, value)
    shape = [n if n > 1 and (numpy.diff(value, axis=a) != 0).any() else 1 for a, n in enumerate(value.shape)]

    class Shaped:  # only its shape is asked for
        pass

    found = Shaped()
    found.shape = tuple(shape)
    return found


@rule("sub")
def _subtract(r, op, var):
    x, y = op.inputs
    if x.depends and y.depends:
        return r.graph.add(r.node(x), r.graph.scale(r.node(y), -1.0))
    if x.depends and _is_number(r, y):
        return r.graph.scale(r.node(x), 1.0, -_number(r, y))
    want(y.depends and _is_number(r, x), "a tensor of the model")
    return r.graph.scale(r.node(y), -1.0, _number(r, x))


@rule("neg")
def _negate(r, op, var):
    return r.graph.scale(r.node(op.inputs[0]), -1.0)


@rule("mul")
def _multiply(r, op, var):
    x, y = op.inputs
    if x.depends and y.depends:
        a, b = r.node(x), r.node(y)
        want(a.shape == b.shape, f"shapes {list(a.shape)} and {list(b.shape)} differ")
        return r.graph.node("mul", [a, b], a.shape)
    x, y = (x, y) if x.depends else (y, x)
    node = r.node(x)
    if not r.is_parameter(y) and _is_number(r, y):
        return _scaled(r, node, _number(r, y))
    return _along(r, node, x, y, False)


@rule("div")
def _divide(r, op, var):
    x, y = op.inputs
    want(x.depends and not y.depends and _is_number(r, y) and not r.is_parameter(y), "by a tensor")
    return _scaled(r, r.node(x), 1 / _number(r, y))


def _scaled(r, node, factor):
    """A sum over a window that is divided by its size is a mean."""
    mean = getattr(node, "mean", None)
    if mean is not None and abs(factor * node.count - 1) < 1e-6:
        return mean
    return r.graph.scale(node, factor)


@rule("dot_general")
def _dot(r, op, var):
    (lhs_axes, rhs_axes), (lhs_batch, rhs_batch) = op.params["dimension_numbers"]
    lhs, rhs = op.inputs
    want(lhs.depends != rhs.depends, "two outputs of layers")
    want(not lhs_batch and not rhs_batch, "a product for each sample")
    x, w, x_axes, w_axes = (lhs, rhs, lhs_axes, rhs_axes) if lhs.depends else (rhs, lhs, rhs_axes, lhs_axes)
    node = r.node(x)
    x_axes, shift = [a + r.shift for a in x_axes], r.shift
    want(0 not in x_axes or shift, "a sum over the batch")
    free = [a for a in range(node.rank) if a not in x_axes]
    w_free = [a for a in range(len(w.shape)) if a not in w_axes]
    inputs, outputs = math.prod(w.shape[a] for a in w_axes), math.prod(w.shape[a] for a in w_free)
    turned = r.graph.permute(node, free + x_axes)
    flat = r.graph.reshape(turned, [node.shape[a] for a in free] + [inputs])
    order = (*w_free, *w_axes)
    if order == (0, 1) and len(w.shape) == 2:
        weight = r.weight(w)
    else:
        weight = r.weight(w, ("product", order), lambda a: a.transpose(order), (outputs, inputs))
    dense = r.graph.dense(flat, weight, None, outputs, r.name(w), not r.is_parameter(w))
    rows, columns = [node.shape[a] for a in free], [w.shape[a] for a in w_free]
    full = r.graph.reshape(dense, rows + columns)
    if lhs.depends:
        return full
    # The weight stands in front: its axes come first in the result of JAX, after the batch if it has one.
    lead = list(range(shift))
    order = lead + list(range(len(rows), len(rows) + len(columns))) + list(range(shift, len(rows)))
    want(shift or len(rows) == 0 or not columns or order[0] == 0, "the batch does not stay in front")
    return r.graph.permute(full, order)


def _channels_first(r, x, spec):
    """The pictures [B, C, ...]; without a batch JAX has one of 1 in their place."""
    node = r.node(x)
    if not r.shift:
        return r.graph.permute(node, spec)
    want(x.shape[spec[0]] == 1, "several pictures in a sample")
    node = r.graph.permute(node, [0] + [a + 1 for a in spec])
    return r.graph.reshape(node, (node.shape[0], *node.shape[2:]))


def _transposed_keys(p, extents, spatial):
    """A convolution over an input with zeros in between is a transposed one, of a turned filter."""
    step, dilation, padding = p["lhs_dilation"], p["rhs_dilation"], p["padding"]
    want(all(s == 1 for s in p["window_strides"]), "strides and dilated inputs together")
    cut = [d * (k - 1) - b for d, k, (b, _) in zip(dilation, extents, padding)]
    more = [e - b for b, e in padding]
    fits = all(c >= 0 for c in cut) and all(m < max(s, d) for m, s, d in zip(more, step, dilation))
    want(fits, f"padding {padding} of a transposed convolution")
    return {"stride": list(step), "padding": cut, "output_padding": [max(m, 0) for m in more], **named_sizes(spatial)}


@rule("conv_general_dilated")
def _conv(r, op, var):
    p, (x, w) = op.params, op.inputs
    want(x.depends and not w.depends, "a filter that depends on the input")
    want(p["batch_group_count"] == 1, "batch_group_count")
    numbers, axes, path = p["dimension_numbers"], len(p["window_strides"]), r.name(w)
    rhs, out = list(numbers.rhs_spec), list(numbers.out_spec)
    node = _channels_first(r, x, list(numbers.lhs_spec))
    filters, extents = w.shape[rhs[0]], [w.shape[a] for a in rhs[2:]]
    spatial = [r.shape(var)[a + r.shift] for a in out[2:]]
    keys = {"input_channels": node.shape[1], "filters": filters, "kernel_size": extents, "bias": False}
    keys.update(dilation=list(p["rhs_dilation"]), groups=p["feature_group_count"])
    if any(s > 1 for s in p["lhs_dilation"]):
        keys.update(_transposed_keys(p, extents, spatial))
        turn = (slice(None), slice(None)) + (slice(None, None, -1),) * axes
        kind, weight = "convtransposed", r.weight(w, ("filters", *rhs, "turned"), lambda a: a.transpose(rhs)[turn])
    else:
        padding = [tuple(e) for e in p["padding"]]
        want(all(b >= 0 and e >= 0 for b, e in padding), "negative padding")
        if any(b != e for b, e in padding):
            node, padding = r.graph.pad(node, padding, path), [(0, 0)] * axes
        keys.update(stride=list(p["window_strides"]), padding=[b for b, _ in padding])
        kind, weight = "cnn", r.weight(w, ("filters", *rhs), lambda a: a.transpose(rhs))
    shape = (node.shape[0], filters, *spatial)
    made = r.graph.node(f"{kind}{axes}", [node], shape, keys, {"weight": weight}, path, not r.is_parameter(w))
    if r.shift:
        made = r.graph.reshape(made, (made.shape[0], 1, *made.shape[1:]))
        return r.graph.permute(made, [0] + [out.index(a) + 1 for a in range(len(out))])
    return r.graph.permute(made, [out.index(a) for a in range(len(out))])


# Windows.


def _windows(r, op, node):
    """(order of axes, number of axes that windows run over, keys of a pool)"""
    p, shift = op.params, r.shift
    window, stride = list(p["window_dimensions"]), list(p["window_strides"])
    padding, dilation = [tuple(e) for e in p["padding"]], list(p["window_dilation"])
    want(all(d == 1 for d in p["base_dilation"]), "base_dilation")
    over = [a for a, n in enumerate(window) if n > 1 or stride[a] > 1 or padding[a] != (0, 0)]
    want(over and (shift or 0 not in over), "over the batch")
    want(len(over) <= 3, "more than three axes")
    order = [0] + [a for a in range(1, node.rank) if a - shift not in over] + [a + shift for a in over]
    keys = {
        "kernel_size": [window[a] for a in over],
        "stride": [stride[a] for a in over],
        "padding": [padding[a][0] for a in over],
    }
    uneven = [padding[a][1] - padding[a][0] for a in over]
    if any(uneven):
        want(all(0 <= u < stride[a] for u, a in zip(uneven, over)), f"padding {padding}")
        keys["ceil_mode"] = True
    return order, len(over), keys, [dilation[a] for a in over], any(uneven)


def _pooled(r, op, var, kind):
    node = r.node(op.inputs[0])
    order, axes, keys, dilation, uneven = _windows(r, op, node)
    if kind == "maxpool":
        keys["dilation"] = dilation
    else:
        want(all(d == 1 for d in dilation) and not uneven, "an uneven window")
    turned = r.graph.permute(node, order)
    flat = r.graph.reshape(turned, (node.shape[0], math.prod(turned.shape[1:-axes]), *turned.shape[-axes:]))
    after = [r.shape(var)[a] for a in order]
    pooled = r.graph.node(kind, [flat], (*flat.shape[:2], *after[-axes:]), keys)
    full = r.graph.reshape(pooled, after)
    return r.graph.permute(full, [order.index(a) for a in range(len(order))]), math.prod(keys["kernel_size"])


@rule("reduce_window_max")
def _max_pool(r, op, var):
    return _pooled(r, op, var, "maxpool")[0]


@rule("reduce_window")
def _window(r, op, var):
    want(False, "another function of a window than its sum or its largest value")


@rule("reduce_window_sum")
def _sum_pool(r, op, var):
    mean, count = _pooled(r, op, var, "avgpool")
    return _sum_of(r, mean, count)


def _sum_of(r, mean, count):
    node = r.graph.scale(mean, float(count))
    node.mean, node.count = mean, count
    return node


@rule("reduce_sum")
def _sum(r, op, var):
    node = r.node(op.inputs[0])
    axes = [a + r.shift for a in op.params["axes"]]
    want(0 not in axes, "over the batch")
    mean = r.graph.global_average(node, axes)
    want(mean.shape == r.shape(var), "over all that a sample has")
    return _sum_of(r, mean, math.prod(node.shape[a] for a in axes))


@rule("reduce_max")
def _max(r, op, var):
    node = r.node(op.inputs[0])
    axes = [a + r.shift for a in op.params["axes"]]
    want(0 not in axes, "over the batch")
    kept = [a for a in range(1, node.rank) if a not in axes]
    turned = r.graph.permute(node, [0, *kept, *axes])
    flat = r.graph.reshape(
        turned, (node.shape[0], math.prod(node.shape[a] for a in kept), math.prod(node.shape[a] for a in axes))
    )
    pooled = r.graph.node("maxpool", [flat], (*flat.shape[:2], 1), {"global": True})
    return r.graph.reshape(pooled, r.shape(var))


# Shapes.


@rule("reshape", "squeeze", "expand_dims")
def _reshape(r, op, var):
    return r.graph.reshape(r.node(op.inputs[0]), r.shape(var))


@rule("broadcast_in_dim")
def _broadcast(r, op, var):
    want(math.prod(var.shape) == math.prod(op.inputs[0].shape), "the same numbers several times")
    return r.graph.reshape(r.node(op.inputs[0]), r.shape(var))


@rule("transpose")
def _transpose(r, op, var):
    return r.graph.permute(r.node(op.inputs[0]), list(range(r.shift)) + [a + r.shift for a in op.params["permutation"]])


@rule("concatenate")
def _concat(r, op, var):
    want(all(v.depends for v in op.inputs), "with a constant")
    return r.graph.concat([r.node(v) for v in op.inputs], op.params["dimension"] + r.shift)


@rule("slice")
def _slice(r, op, var):
    p = op.params
    return _part(r, op, p["start_indices"], p["strides"] or [1] * len(p["start_indices"]), var)


@rule("dynamic_slice")
def _dynamic_slice(r, op, var):
    want(not any(v.depends for v in op.inputs[1:]), "an index that depends on the input")
    starts = [int(numpy.asarray(r.value(v))) for v in op.inputs[1:]]
    sizes = zip(starts, op.inputs[0].shape, var.shape)
    return _part(r, op, [min(max(s, 0), n - m) for s, n, m in sizes], [1] * len(starts), var)


def _part(r, op, starts, strides, var):
    node = r.node(op.inputs[0])
    for axis, (start, stride, count) in enumerate(zip(starts, strides, var.shape)):
        at = axis + r.shift
        if count == node.shape[at] and start == 0:
            continue
        want(at != 0, "samples of the batch")
        if at == 1 and node.rank == 3 and count == 1 and start == node.shape[1] - 1:
            node = r.graph.reshape(r.graph.last_step(node), (node.shape[0], 1, node.shape[2]))
        else:
            node = r.graph.part(node, at, start, count, stride)
    return node


@rule("split")
def _split(r, op, var):
    axis, begin = op.params["axis"], 0
    for size, output in zip(op.params["sizes"], op.outputs):
        if output is var:
            return r.graph.part(r.node(op.inputs[0]), axis + r.shift, begin, size)
        begin += size
    raise AssertionError("a part that nobody made")


@rule("pad")
def _pad(r, op, var):
    x, value = op.inputs
    config = op.params["padding_config"]
    node = r.node(x)
    want(not value.depends and _is_number(r, value) and _number(r, value) == 0, "with another number than 0")
    want(all(lo >= 0 and hi >= 0 and inner == 0 for lo, hi, inner in config), "negative padding, or zeros in between")
    over = [a for a, e in enumerate(config) if e[0] or e[1]]
    want((r.shift or 0 not in over) and 0 < len(over) <= 3, "the batch, or more than three axes")
    order = [0] + [a for a in range(1, node.rank) if a - r.shift not in over] + [a + r.shift for a in over]
    turned = r.graph.permute(node, order)
    lead = turned.shape[1 : -len(over)]
    flat = r.graph.reshape(turned, (node.shape[0], math.prod(lead), *turned.shape[-len(over) :]))
    padded = r.graph.pad(flat, [config[a][:2] for a in over])
    full = r.graph.reshape(padded, (node.shape[0], *lead, *padded.shape[2:]))
    return r.graph.permute(full, [order.index(a) for a in range(node.rank)])


@rule("gather")
def _gather(r, op, var):
    """Rows of a table by ids of the input, as jnp.take and indexing write it."""
    table, ids = op.inputs
    want(ids.depends and r.is_parameter(table) and len(table.shape) == 2, "other than rows of a table of the model")
    want(tuple(op.params["slice_sizes"]) == (1, table.shape[1]), "parts of rows")
    v, open_ = None, [ids]
    while open_:  # through what makes negative ids positive
        u = open_.pop()
        if u.depends and u.op is not None and u.op.name in _COMPUTES | _WITHIN and id(u) not in r.found:
            open_ += u.op.inputs
        elif u.depends:
            want(v is None or v is u, "ids that are computed")
            v = u
    return jax_layers.embedding(r, v, table, r.name(table))


def read(model, sample, output=None, **call):
    """output: which of the model's outputs is read. call: keyword arguments of the model's call, as train=False."""
    if isinstance(model, Tree):
        return _read_tree(model, sample)
    import jax

    graph = Graph("jax", sample)
    kind = _kind_of(model)
    sample_ = jax.numpy.asarray(sample)
    reader = Reader(model, sample, graph, kind == "equinox")
    reader.layers = jax_trace.Layers()
    open_ = getattr(jax_layers, "open_" + kind)
    function, params, close = open_(reader, model, call)
    with jax_trace.deep(), jax_layers.patched(reader.layers, kind):
        one = sample_[0] if reader.shift else sample_
        reader.trace = to_model(graph, kind, [one], lambda: jax_trace.Trace(function, params, one))
        if reader.trace is not None:
            _read_output(reader, kind, output)
    if not graph.unsupported:
        _values(reader, sample_)
    graph.model = model
    graph.rebuild = lambda: close(reader.updates)
    return graph


def _read_output(reader, kind, output):
    graph, trace = reader.graph, reader.trace
    name = choose_output(graph, kind, {name: reader.shape(var) for name, var in trace.named.items()}, output)
    if name is None:
        return
    avals = [v.aval for op in trace.ops for v in op.outputs] + [v.aval for v in trace.params]
    graph.element = coarsest({str(a.dtype) for a in avals if hasattr(a, "dtype")})
    var = trace.named[name]
    if var.depends:
        graph.output = reader.node(var)
    else:
        what = f"output {name}" if name else kind
        graph.output = graph.refuse("", what, "it does not depend on the input", [graph.input])


def _values(reader, sample):
    """The values that the framework computed at each node, for the certificate."""
    import jax

    wanted = [var for _, var in reader.vars]
    known = [var.depends for var in wanted]
    wanted = [var for var, depends in zip(wanted, known) if depends]

    def all_of(x):
        return reader.trace.evaluate(x, wanted)

    values = jax.vmap(all_of)(sample) if reader.shift else all_of(sample)
    for node, value in zip([node for (node, _), depends in zip(reader.vars, known) if depends], values):
        if value is not None and tuple(value.shape) == node.shape:
            node.value = numpy.asarray(value)


def _read_tree(tree, sample):
    """The layers are given; the tree has their weights."""
    import jax

    graph = Graph("jax", sample)
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree.params)
    values = {jax.tree_util.keystr(path, simple=True, separator="."): value for path, value in leaves}
    updates = {}
    from ..nn.network import Network

    node, shape = graph.input, sample
    for layer in tree.layers:
        layer = dict(layer)
        kind, places = layer.pop("type"), layer.pop("weights", {})
        weights = {}
        for name, place in places.items():
            base, turned = (place[:-2], True) if place.endswith(".T") else (place, False)
            if base not in values:
                graph.refuse(place, kind, f"the tree has no {base}; it has {', '.join(values)}", [node])
                continue
            parameter = Parameter(
                (id(tree), base),
                lambda base=base: numpy.asarray(updates.get(base, values[base])),
                lambda array, base=base: updates.__setitem__(base, array),
                base,
            )
            weights[name] = View(parameter, "transposed", lambda a: a.T) if turned else View(parameter)
        shape = numpy.zeros(
            Network(
                {"init": "none", "input_shape": list(shape.shape[1:]), "layers": [{"type": kind, **layer}]}
            ).prepare(shape.shape),
            numpy.float32,
        )
        node = graph.node(kind, [node], shape.shape, layer, weights, layer.get("name", ""))
    graph.output, graph.model = node, tree

    def rebuild():
        done = [jax.numpy.asarray(updates.get(path, value)) for path, value in values.items()]
        tree.params = jax.tree_util.tree_unflatten(structure, done)
        return tree

    graph.rebuild = rebuild
    return graph
