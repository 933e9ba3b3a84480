"""Layer kinds of one's own (docs/internals/adding.md, "A layer kind of your own")."""

from __future__ import annotations

import ctypes
import json
import threading

from . import _abi, _native
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._types import Function, Json

    Forward = Callable[["Layer", "Tensor"], "Tensor"]


class Tensor:
    """A tensor of one call of a callback: a shape and no numbers. + - * take tensors of that shape and numbers."""

    __slots__ = ("_layer", "_ref")

    def __init__(self, layer: Layer, ref: int) -> None:
        self._layer, self._ref = layer, ref

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents, samples first."""
        extents, rank = (ctypes.c_uint64 * 8)(), ctypes.c_uint64()
        _native.check(library.loom_layer_shape(self._layer._handle, self._ref, extents, 8, ctypes.byref(rank)))
        return tuple(extents[:rank.value])

    def _filled(self, value: float) -> Tensor:
        return self._layer._op(library.loom_layer_fill, self._ref, value)

    def __add__(self, other: Tensor | float) -> Tensor:
        other = other if isinstance(other, Tensor) else self._filled(other)
        return self._layer._op(library.loom_layer_add, self._ref, other._ref)

    def __mul__(self, other: Tensor | float) -> Tensor:
        if isinstance(other, Tensor):
            return self._layer._op(library.loom_layer_multiply, self._ref, other._ref)
        return self._layer._op(library.loom_layer_scale, self._ref, other)

    def __neg__(self) -> Tensor:
        return self * -1

    def __sub__(self, other: Tensor | float) -> Tensor:
        return self + -other

    def __rsub__(self, other: float) -> Tensor:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__


class Layer:
    """A layer of a kind of one's own while one of its callbacks runs: layer["width"] is a setting; ops name tensors and
    weights, and give new tensors. docs/reference/c-abi.md says what each does.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __getitem__(self, key: str) -> float:
        value = ctypes.c_double()
        _native.check(library.loom_layer_setting(self._handle, _native.utf8(key, "key"), ctypes.byref(value)))
        return value.value

    def declare(self, name: str, extents: int | Sequence[int], init: str | None = None, size: float = 0) -> None:
        """Adds a weight, a vector or a matrix whose rows are outputs, which `init` fills."""
        given = [extents] if isinstance(extents, int) else extents
        numbers = (ctypes.c_uint64 * len(given))(*(_native.whole(n, "an extent", 0, 2**63) for n in given))
        _native.check(library.loom_layer_declare_weight(self._handle, _native.utf8(name, "name"), numbers, len(given),
                                                        _text(init), size))

    def keep(self, *tensors: Tensor) -> None:
        """Keeps tensors for backward."""
        for tensor in tensors:
            _native.check(library.loom_layer_keep(self._handle, tensor._ref))

    def kept(self, count: int) -> tuple[Tensor, ...]:
        """Gives the last tensors that forward kept and nobody took so far, in the order in which it kept them."""
        return tuple(self._op(library.loom_layer_kept) for _ in range(count))[::-1]

    def matmul(self, x: Tensor, weight: str, bias: str | None = None) -> Tensor:
        """y = W x + b along the last axis."""
        return self._op(library.loom_layer_matmul, x._ref, _text(weight), _text(bias))

    def matmul_gradient(self, x: Tensor, dy: Tensor, weight: str, bias: str | None = None) -> Tensor:
        """dx = W^T dy; adds to the gradients of W and b."""
        return self._op(library.loom_layer_matmul_gradient, x._ref, dy._ref, _text(weight), _text(bias))

    def product(self, a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
        """a b over the last two axes, either transposed; the axes before are equal."""
        return self._op(library.loom_layer_product, a._ref, transpose_a, b._ref, transpose_b)

    def activate(self, x: Tensor, activation: str) -> Tensor:
        """activation(x): the key of a setting of that type, or a name."""
        return self._op(library.loom_layer_activate, x._ref, _text(activation))

    def activate_gradient(self, x: Tensor, dy: Tensor, activation: str) -> Tensor:
        """dy times the activation's derivative at x."""
        return self._op(library.loom_layer_activate_gradient, x._ref, dy._ref, _text(activation))

    def gated(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        """activation(gate) * up."""
        return self._op(library.loom_layer_gated, gate._ref, up._ref, _text(activation))

    def gated_gradient(self, gate: Tensor, up: Tensor, dy: Tensor, activation: str) -> tuple[Tensor, Tensor]:
        """The gradients of both."""
        dgate, dup = ctypes.c_uint64(), ctypes.c_uint64()
        _native.check(library.loom_layer_gated_gradient(self._handle, gate._ref, up._ref, dy._ref, _text(activation),
                                                        ctypes.byref(dgate), ctypes.byref(dup)))
        return Tensor(self, dgate.value), Tensor(self, dup.value)

    def softmax(self, x: Tensor, temperature: float = 1) -> Tensor:
        """softmax(x / temperature) along the last axis."""
        return self._op(library.loom_layer_softmax, x._ref, temperature)

    def softmax_gradient(self, p: Tensor, dy: Tensor, temperature: float = 1) -> Tensor:
        """dx from what softmax gave."""
        return self._op(library.loom_layer_softmax_gradient, p._ref, dy._ref, temperature)

    def rms_norm(self, x: Tensor, gamma: str | None = None, eps: float = 1e-6) -> Tensor:
        """x / sqrt(mean of x^2 + eps) * gamma along the last axis."""
        return self._op(library.loom_layer_rms_norm, x._ref, _text(gamma), eps)

    def rms_norm_gradient(self, x: Tensor, dy: Tensor, gamma: str | None = None, eps: float = 1e-6) -> Tensor:
        """dx; adds to the gradient of gamma."""
        return self._op(library.loom_layer_rms_norm_gradient, x._ref, dy._ref, _text(gamma), eps)

    def layer_norm(self, x: Tensor, gamma: str | None = None, beta: str | None = None, eps: float = 1e-5) -> Tensor:
        """(x - mean) / sqrt(variance + eps) * gamma + beta along the last axis."""
        return self._op(library.loom_layer_layer_norm, x._ref, _text(gamma), _text(beta), eps)

    def layer_norm_gradient(self, x: Tensor, dy: Tensor, gamma: str | None = None, beta: str | None = None,
                            eps: float = 1e-5) -> Tensor:
        """dx; adds to the gradients of gamma and beta."""
        return self._op(library.loom_layer_layer_norm_gradient, x._ref, dy._ref, _text(gamma), _text(beta), eps)

    def permute(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """x with its axes in another order."""
        return self._op(library.loom_layer_permute, x._ref, (ctypes.c_uint64 * len(axes))(*axes), len(axes))

    def reshape(self, x: Tensor, extents: Sequence[int]) -> Tensor:
        """x with other extents."""
        return self._op(library.loom_layer_reshape, x._ref, (ctypes.c_uint64 * len(extents))(*extents), len(extents))

    def slice(self, x: Tensor, axis: int, first: int, count: int) -> Tensor:
        """[first, first + count) of an axis; its gradient is that of pad, and the reverse."""
        return self._op(library.loom_layer_slice, x._ref, axis, first, count)

    def pad(self, x: Tensor, axis: int, first: int, extent: int) -> Tensor:
        """x at `first` of an axis of another extent, zeros elsewhere."""
        return self._op(library.loom_layer_pad, x._ref, axis, first, extent)

    def repeat(self, x: Tensor, axis: int, times: int) -> Tensor:
        """x, whose axis has the extent 1, as often along that axis."""
        return self._op(library.loom_layer_repeat, x._ref, axis, times)

    def mean(self, x: Tensor, axis: int) -> Tensor:
        """The mean along an axis, which has the extent 1 then."""
        return self._op(library.loom_layer_mean, x._ref, axis)

    def dropout(self, x: Tensor, rate: float, which: int = 0) -> Tensor:
        """x with elements left out while a network trains; `which` tells the dropouts of a layer apart."""
        return self._op(library.loom_layer_dropout, x._ref, rate, which)

    def weight(self, name: str, like: Tensor) -> Tensor:
        """A weight's values in each sample of the shape of `like`."""
        return self._op(library.loom_layer_weight, _text(name), like._ref)

    def add_gradient(self, name: str, tensor: Tensor) -> None:
        """Adds the sum of such pieces of a tensor to a weight's gradient."""
        _native.check(library.loom_layer_add_gradient(self._handle, _text(name), tensor._ref))

    def _op(self, function: Function, *args: object) -> Tensor:
        out = ctypes.c_uint64()
        _native.check(function(self._handle, *args, ctypes.byref(out)))
        return Tensor(self, out.value)


def _text(text: str | None) -> bytes | None:
    return None if text is None else _native.utf8(text, "a name")


# Functions that C may call as long as their kind is registered, with its name as C compares it.
_callbacks: list[tuple[bytes, _abi.KindCallbacks]] = []
_lock = threading.Lock()  # around C's list and this one


def _folded(name: str) -> bytes:
    """The rule of C's folded_name: MyKind is my_kind."""
    return _native.utf8(name, "name")[:64].translate(None, b"_-").lower()


def _callback(run: Callable[[Layer], None] | None) -> Any:
    if run is None:
        return _abi.LayerRule()  # NULL

    def called(_: int | None, handle: int) -> int:
        try:
            run(Layer(handle))
        except BaseException as error:  # it must not unwind through C
            _native.remember_cause(error)
            return _abi.INVALID_STATE
        return _abi.OK

    return _abi.LayerRule(called)


def register_kind(name: str, forward: Forward, backward: Forward | None = None,
                  declare: Callable[[Layer], None] | None = None, *, settings: Sequence[Json] = (), help: str = "",
                  shapes: str = "", width_key: str = "", sample_axes: int = 0) -> None:
    """Adds a layer kind to those of this process.

    declare(layer) declares the weights; forward(layer, x) returns the output and backward(layer, dy) the gradient of x,
    both as tensors that ops give. They run once for each shape, not in every pass. settings: dicts with key, type
    ("integer", "number", "boolean", "choice" or "activation"), default, min, max, choices, help.

    What a callback raises is the cause of the error that the call ends with.
    """

    def passed(run: Forward) -> Callable[[Layer], None]:
        def call(layer: Layer) -> None:
            y = run(layer, layer._op(library.loom_layer_input))
            _native.check(library.loom_layer_result(layer._handle, y._ref))

        return call

    description = json.dumps({"name": name, "help": help, "shapes": shapes, "width_key": width_key,
                              "sample_axes": sample_axes, "settings": list(settings)}).encode()
    callbacks = _abi.KindCallbacks(declare=_callback(declare), forward=_callback(passed(forward)),
                                   backward=_callback(passed(backward) if backward else None))
    with _lock:
        # Before the call: an exception right behind it, as that of Ctrl-C, must not free what C holds.
        _callbacks.append((_folded(name), callbacks))
        status = library.loom_register_kind(description, len(description), ctypes.byref(callbacks))
        if status != _abi.OK:
            _callbacks.pop()
        _native.check(status)


def unregister_kind(name: str) -> None:
    """Takes a kind back. LoomError while a network with a layer of it lives."""
    folded = _folded(name)
    with _lock:
        _native.check(library.loom_unregister_kind(_native.utf8(name, "name")))
        _callbacks[:] = [kept for kept in _callbacks if kept[0] != folded]
