"""A model as a graph of Loom's layers: the readers of all frameworks build it, and the spec is written from it.

A node is one layer with the nodes that it reads. Shapes have the batch in front, as tensors of the network have. Kinds
are those of docs/reference/layers.md and three that become links of cells: "input", "add" (two nodes) and "concat" (two
nodes, by their last axis).
"""

from __future__ import annotations

import math

import numpy

from .._native import LoomError
from .weights import Constant

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Unsupported(LoomError):
    """Loom has no layer for parts of a model. The error lists all of them.

    Args:
        parts: Tuples (path in the model, kind, reason).

    Attributes:
        parts: A list of the tuples.
    """

    def __init__(self, parts: Iterable[tuple[str, str, str]]) -> None:
        self.parts = list(parts)
        lines = "; ".join(f"{path or 'the model'}: {what}: {why}" for path, what, why in self.parts)
        count = len(self.parts)
        super().__init__(
            "Unsupported", f"{count} {'part' if count == 1 else 'parts'} of the model cannot be streamed: {lines}"
        )

    def __reduce__(self):
        return type(self), (self.parts,)


class Packed(numpy.ndarray):
    """Several inputs of a model side by side, a row of float32 for each sample: what its network takes.

    parts: a list of them as the model takes them.
    """

    parts: list[numpy.ndarray]


def pack(inputs: Iterable[Any]) -> Packed:
    """Lays several inputs of a model side by side, as its network takes them.

    Args:
        inputs: Arrays or tensors of one batch, samples first.

    Returns:
        An array of float32 with a row for each sample; its attribute `parts` has the inputs.

    Raises:
        LoomError: If the inputs have different numbers of samples (ShapeMismatch).
    """
    parts = [numpy.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x) for x in inputs]
    if not parts or any(p.ndim < 1 or 0 in p.shape or len(p) != len(parts[0]) for p in parts):
        shapes = ", ".join(str(list(p.shape)) for p in parts)
        raise LoomError("ShapeMismatch", f"inputs of one batch are expected, not of the shapes {shapes or '(none)'}")
    rows = [p.reshape(len(p), -1).astype(numpy.float32) for p in parts]
    packed = numpy.concatenate(rows, axis=1).view(Packed)
    packed.parts = parts
    return packed


def choose_output(graph, kind, outputs, choice):
    """The name of the output that is read; None where it has to be chosen, which is then refused.

    kind: the name of the model's class. outputs: shapes by name. choice: what the caller gave as output=.
    """
    listed = ", ".join(f"{name or 0}: {list(shape)}" for name, shape in outputs.items())
    if choice is None and len(outputs) == 1:
        return next(iter(outputs))
    if choice is None:
        first = next(iter(outputs), "")
        shown = first if first.isdigit() else repr(first)
        why = f"it gives {len(outputs)} outputs ({listed}): choose one, as output={shown}"
        graph.refuse("", kind, why if outputs else "it gives no tensor")
        return None
    name = str(choice)
    if isinstance(choice, int) and name not in outputs and 0 <= choice < len(outputs):
        name = list(outputs)[choice]
    if name not in outputs and outputs.keys() != {""}:
        graph.refuse("", kind, f"it has no output {choice!r}; it has {listed}")
        return None
    if outputs.keys() == {""}:
        if name not in ("0", ""):
            graph.refuse("", kind, f"it has no output {choice!r}; it has one, which output= need not name")
            return None
        name = ""
    graph.chosen = name
    return name


# The spacing of numbers next to 1 in the types that models compute in.
_SPACING = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def spacing(element):
    """The spacing of a type next to 1; of a type that is not listed that of 8-bit floats."""
    return _SPACING.get(element, 2.0**-2)


def coarsest(elements):
    """The coarsest of some float types, by their names; float32 where there is none."""
    floats = [e for e in elements if "float" in e]
    return max(floats, key=spacing) if floats else "float32"


def largest(values):
    """The largest size of a finite number."""
    values = numpy.abs(numpy.asarray(values, numpy.float64))
    finite = values[numpy.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


def is_close(expected, found, element="float32"):
    """True if two answers agree but for rounding, relative to the largest number.

    element: the type that they are computed in.
    """
    expected, found = numpy.asarray(expected, numpy.float64), numpy.asarray(found, numpy.float64)
    if expected.shape != found.shape:
        return False
    limit = max(1e-3, 16 * spacing(element)) * largest(expected) + 1e-5
    return bool(numpy.allclose(found, expected, rtol=0, atol=limit, equal_nan=True))


def to_model(graph, kind, parts, call):
    """The answer of the model for the sample; what it raises is refused by name, and None is returned."""
    try:
        return call()
    except Exception as error:
        given = ", ".join(f"{list(p.shape)} {str(p.dtype).rpartition('.')[2]}" for p in parts)
        lines = str(error).strip().splitlines() or [""]
        why = f"it does not take the sample ({given}): {type(error).__name__}: {lines[0]}"
        graph.refuse("", kind, why + "; give a batch that the model itself answers")
        return None


class Node:
    """A layer, what it reads, and where it came from."""

    def __init__(self, kind, inputs, shape, keys=None, weights=None, path="", frozen=False):
        self.kind = kind
        self.inputs = list(inputs)
        self.shape = tuple(int(n) for n in shape)
        self.keys = dict(keys or {})
        self.weights = dict(weights or {})
        self.path = path
        self.frozen = frozen
        self.value = None  # the value that the framework computed for the sample
        self.again = None  # the node whose layer, with its weights, runs once more

    @property
    def rank(self):
        return len(self.shape)


class Graph:
    """Nodes in an order in which they can run, and all that could not be read."""

    def __init__(self, framework, sample):
        self.framework = framework
        self.sample_type = str(sample.dtype)
        self.model, self.rebuild = None, None
        self.nodes = []
        self.unsupported = []
        self.unused = []  # parts of the model that its answer does not depend on
        self.notes = []  # what differs in training alone
        self.input = self.node("input", [], sample.shape)
        self.input.value = sample
        self.inputs = self._unpacked(sample.parts) if isinstance(sample, Packed) else [self.input]
        self.output = None
        self.element = "float32"  # the coarsest type that the model computes in
        self.chosen = None  # the name of the output that is read, where the caller chose one

    def _unpacked(self, parts):
        """The nodes of inputs that are side by side. They are cut apart in pieces as large as all of them allow."""
        sizes = [math.prod(p.shape[1:]) for p in parts]
        piece = math.gcd(*sizes)
        pieces = self.reshape(self.input, (len(parts[0]), sum(sizes) // piece, piece))
        found, begin = [], 0
        for part, size in zip(parts, sizes):
            node = self.part(pieces, 1, begin // piece, size // piece)
            found.append(self.reshape(node, part.shape if part.ndim > 1 else (len(part), 1)))
            found[-1].value = part.reshape(found[-1].shape)
            begin += size
        return found

    def node(self, kind, inputs, shape, keys=None, weights=None, path="", frozen=False):
        node = Node(kind, inputs, shape, keys, weights, path, frozen)
        self.nodes.append(node)
        return node

    def refuse(self, path, what, why, inputs=(), shape=None):
        """Notes what is unsupported. The node that stands for it lets the rest be read, so that one error lists
        everything."""
        entry = (path, what, why)
        if entry not in self.unsupported:
            self.unsupported.append(entry)
        return self.node(
            "unsupported", inputs, shape if shape is not None else (inputs[0].shape if inputs else ()), path=path
        )

    def finish(self):
        """The model after its weights were written: itself, or the new one where models cannot change."""
        return self.model if self.rebuild is None else self.rebuild()

    def check(self):
        """Raises Unsupported with everything that was refused."""
        if self.unsupported:
            raise Unsupported(self.unsupported)

    # Layers of one kind of their own.

    def activation(self, x, name, path="", **keys):
        if name == "softmax":
            return self.node("softmax", [x], x.shape, path=path)
        if x.kind == "permute":  # the axes are turned after it, where the next layer may turn them back
            before = self.activation(x.inputs[0], name, path, **keys)
            return self.permute(before, x.keys["axes"], path)
        return self.node("activation", [x], x.shape, {"activation": name, **keys}, path=path)

    def identity(self, x, path=""):
        return self.node("activation", [x], x.shape, {"activation": "linear"}, path=path)

    def dense(self, x, weight, bias, outputs, path="", frozen=False):
        weights = {"weight": weight}
        if bias is not None:
            weights["bias"] = bias
        keys = {"input_height": x.shape[-1], "output_height": int(outputs), "bias": bias is not None}
        return self.node("dense", [x], x.shape[:-1] + (int(outputs),), keys, weights, path, frozen)

    def reshape(self, x, shape, path=""):
        """shape has the batch in front, which stays."""
        shape = tuple(int(n) for n in shape)
        if shape == x.shape:
            return x
        if not shape or shape[0] != x.shape[0] or math.prod(shape) != math.prod(x.shape):
            return self.refuse(
                path, "reshape", f"{list(x.shape)} to {list(shape)} moves samples of the batch", [x], shape
            )
        if len(shape) == 1:
            return self.refuse(
                path, "reshape", f"{list(x.shape)} to {list(shape)} leaves no axis beside the batch", [x], shape
            )
        if x.kind == "reshape":
            return self.reshape(x.inputs[0], shape, path)
        return self.node("reshape", [x], shape, {"shape": list(shape[1:])}, path=path)

    def permute(self, x, axes, path=""):
        axes = [int(a) % x.rank for a in axes]
        if axes == list(range(x.rank)):
            return x
        shape = tuple(x.shape[a] for a in axes)
        if axes[0] != 0:
            return self.refuse(path, "permute", "the batch does not stay in front", [x], shape)
        if x.kind == "permute":
            inner = x.keys["axes"]
            return self.permute(x.inputs[0], [inner[a] for a in axes], path)
        return self.node("permute", [x], shape, {"axes": axes}, path=path)

    def add(self, x, y, path=""):
        if x.shape != y.shape:
            return self.refuse(path, "add", f"shapes {list(x.shape)} and {list(y.shape)} differ", [x, y])
        if x.kind == y.kind == "permute" and x.keys == y.keys:
            return self.permute(self.add(x.inputs[0], y.inputs[0], path), x.keys["axes"], path)
        return self.node("add", [x, y], x.shape, path=path)

    def concat(self, parts, axis, path=""):
        """Side by side along any axis but the batch: along the last one, once all axes after it are in one row."""
        axis = axis % parts[0].rank
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        if axis == 0:
            return self.refuse(path, "concat", "along the batch", parts, shape)
        whole = None
        for part in parts:
            row = part.shape[:axis] + (math.prod(part.shape[axis:]),)
            part = self.reshape(part, row, path)
            if whole is None:
                whole = part
            else:
                width = whole.shape[-1] + part.shape[-1]
                whole = self.node("concat", [whole, part], part.shape[:-1] + (width,), path=path)
        return self.reshape(whole, shape, path)

    # Functions that Loom has no kind for, from kinds that it has. Their weights are constants.

    def channels(self, x, weight, bias, path="", frozen=True):
        """x [B, C, ...] times a number per channel, and another one added; either may be None."""
        count, flat = x.shape[1], self.reshape(x, (x.shape[0], x.shape[1], math.prod(x.shape[2:])), path)
        weights = {"weight": weight or Constant(numpy.ones((count, 1, 1), numpy.float32))}
        if bias is not None:
            weights["bias"] = bias
        keys = {"input_channels": count, "filters": count, "groups": count, "kernel_size": 1, "bias": bias is not None}
        return self.reshape(self.node("cnn1", [flat], flat.shape, keys, weights, path, frozen), x.shape, path)

    def features(self, x, weight, bias, path="", frozen=True):
        """Like channels(), for the last axis."""
        flat = self.reshape(x, (x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1]), path)
        turned = self.channels(self.permute(flat, (0, 2, 1), path), weight, bias, path, frozen)
        return self.reshape(self.permute(turned, (0, 2, 1), path), x.shape, path)

    def scale(self, x, factor=1.0, offset=0.0, path=""):
        """x * factor + offset."""
        row = self.reshape(x, (x.shape[0], 1, math.prod(x.shape[1:])), path)
        bias = Constant(numpy.full(1, offset, numpy.float32)) if offset else None
        row = self.channels(row, Constant(numpy.full((1, 1, 1), factor, numpy.float32)), bias, path)
        return self.reshape(row, x.shape, path)

    def whole(self, x, path=""):
        """Numbers cut to whole ones, which an embedding does by itself and no other layer."""
        return self.node("whole", [x], x.shape, path=path)

    def part(self, x, axis, begin, count, step=1, path=""):
        """Places begin, begin + step and so on of an axis: a filter that reads one place of its window."""
        axis = axis % x.rank
        if begin == 0 and step == 1 and count == x.shape[axis]:
            return x
        order = [a for a in range(x.rank) if a != axis] + [axis]
        last = self.permute(x, order, path)
        lead = math.prod(last.shape[1:-1])
        flat = self.reshape(last, (x.shape[0], lead, x.shape[axis]), path)
        taps = numpy.zeros((lead, 1, begin + 1), numpy.float32)
        taps[:, :, begin] = 1
        keys = {
            "input_channels": lead,
            "filters": lead,
            "groups": lead,
            "kernel_size": begin + 1,
            "stride": step,
            "output_height": count,
        }
        flat = self.node("cnn1", [flat], (x.shape[0], lead, count), keys, {"weight": Constant(taps)}, path, True)
        back = self.reshape(flat, last.shape[:-1] + (count,), path)
        return self.permute(back, [order.index(a) for a in range(x.rank)], path)

    def pick(self, x, axis, index, path=""):
        """One place of an axis, which goes away."""
        axis, shape = axis % x.rank, list(x.shape)
        one = self.part(x, axis, index % shape[axis], 1, path=path)
        del shape[axis]
        return self.reshape(one, shape, path)

    def pad(self, x, padding, path=""):
        """Zeros around the axes after the channels: padding is a list of (before, after)."""
        axes, extents = len(padding), [n + b + e for n, (b, e) in zip(x.shape[2:], padding)]
        count = x.shape[1]
        ones = Constant(numpy.ones((count, 1) + (1,) * axes, numpy.float32))
        keys = {"input_channels": count, "filters": count, "groups": count, "kernel_size": [1] * axes}
        before = [b for b, _ in padding]
        more = [max(0, e - b) for b, e in padding]
        if any(before):
            shape = [min(n + 2 * b, want) for n, b, want in zip(x.shape[2:], before, extents)]
            sizes = named_sizes(shape)
            x = self.node(
                f"cnn{axes}",
                [x],
                x.shape[:2] + tuple(shape),
                {**keys, "padding": before, **sizes},
                {"weight": ones},
                path,
                True,
            )
        if any(more):
            # A transposed convolution of one tap whose output is longer at its end. The dilation of one tap only
            # bounds output_padding.
            longer = {"output_padding": more, "dilation": [max(more) + 1] * axes}
            x = self.node(
                f"convtransposed{axes}",
                [x],
                x.shape[:2] + tuple(extents),
                {**keys, **longer},
                {"weight": ones},
                path,
                True,
            )
        return x

    def global_average(self, x, axes, keep=False, path=""):
        """The mean over some axes, not the batch."""
        axes = sorted(a % x.rank for a in axes)
        if 0 in axes:
            return self.refuse(path, "mean", "over the batch", [x])
        kept = [a for a in range(1, x.rank) if a not in axes]
        turned = self.permute(x, [0] + kept + axes, path)
        lead = math.prod(x.shape[a] for a in kept)
        flat = self.reshape(turned, (x.shape[0], lead, math.prod(x.shape[a] for a in axes)), path)
        pooled = self.node("avgpool", [flat], flat.shape[:2] + (1,), {"global": True}, path=path)
        shape = (
            [1 if a in axes else n for a, n in enumerate(x.shape)]
            if keep
            else [x.shape[0]] + [x.shape[a] for a in kept]
        )
        if len(shape) == 1:
            shape.append(1)
        return self.reshape(pooled, shape, path)

    def last_step(self, x, path=""):
        """The last step of x [B, T, F]. A recurrent layer gives it by itself if nobody reads its other steps
        (spec.py)."""
        if x.kind in ("rnn", "lstm", "gru") and not x.keys.get("bidirectional"):
            return self.node("last", [x], (x.shape[0], x.shape[2]), path=path)
        return self.pick(x, 1, -1, path)

    def insert(self, place, build):
        """Puts the nodes that build() makes in front of those from `place` on; returns what it returns."""
        rest = self.nodes[place:]
        del self.nodes[place:]
        found = build()
        self.nodes += rest
        return found


def pair(value, axes):
    """One number per axis, from one number or a sequence."""
    if isinstance(value, (int, numpy.integer)):
        return [int(value)] * axes
    values = [int(v) for v in value]
    return values * axes if len(values) == 1 else values


def named_sizes(sizes):
    """The keys of a convolution that state its output's extents."""
    return dict(zip(("output_depth", "output_height", "output_width")[0 if len(sizes) == 3 else 1 :], sizes))
