"""Layer kinds of one's own (docs/internals/adding.md, "A layer kind of your own")."""

from __future__ import annotations

import ctypes
import json
import threading

from .. import _abi, _native
from .._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._types import Function, Json

    Forward = Callable[["Layer", "Tensor"], "Tensor"]


class Tensor:
    """A tensor while a callback of a layer kind runs: a shape without numbers.

    The operators + - * take tensors of the same shape, and numbers.
    """

    __slots__ = ("_layer", "_ref")

    def __init__(self, layer: Layer, ref: int) -> None:
        self._layer, self._ref = layer, ref

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, samples first."""
        extents, rank = (ctypes.c_uint64 * 8)(), ctypes.c_uint64()
        _native.check(library.loom_layer_shape(self._layer._handle, self._ref, extents, 8, ctypes.byref(rank)))
        return tuple(extents[: rank.value])

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
    """A layer of a kind of one's own while one of its callbacks runs: layer["width"] is a setting.

    Its operations take tensors and names of weights, and return tensors. Each is a function of docs/reference/c-abi.md.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __getitem__(self, key: str) -> float:
        value = ctypes.c_double()
        _native.check(library.loom_layer_setting(self._handle, _native.utf8(key, "key"), ctypes.byref(value)))
        return value.value

    def declare(self, name: str, extents: int | Sequence[int], init: str | None = None, size: float = 0) -> None:
        """Adds a weight, in the function `declare` of a kind.

        Args:
            name: Name of the weight.
            extents: Number of elements of a vector, or (outputs, inputs) of a matrix.
            init: Initialiser of its values, as "xavier"; None: that of the network.
            size: Number that the initialiser takes.
        """
        given = (
            [extents]
            if isinstance(extents, int)
            else _native.items(extents, "extents", "a whole number or a list of them")
        )
        numbers = (ctypes.c_uint64 * len(given))(*(_native.whole(n, "an extent", 0, 2**63) for n in given))
        _native.check(
            library.loom_layer_declare_weight(
                self._handle, _native.utf8(name, "name"), numbers, len(given), _text(init), size
            )
        )

    def keep(self, *tensors: Tensor) -> None:
        """Keeps tensors for the backward pass.

        Args:
            *tensors: The tensors.
        """
        for tensor in tensors:
            _native.check(library.loom_layer_keep(self._handle, tensor._ref))

    def kept(self, count: int) -> tuple[Tensor, ...]:
        """Returns tensors that the forward pass kept, the last ones that were not taken yet.

        Args:
            count: Number of tensors.

        Returns:
            The tensors, in the order in which they were kept.
        """
        return tuple(self._op(library.loom_layer_kept) for _ in range(count))[::-1]

    def matmul(self, x: Tensor, weight: str, bias: str | None = None) -> Tensor:
        """Computes y = W x + b along the last axis.

        Args:
            x: The tensor.
            weight: Name of the weight W.
            bias: Name of the weight b; None: none.

        Returns:
            The tensor y.
        """
        return self._op(library.loom_layer_matmul, x._ref, _text(weight), _text(bias))

    def matmul_gradient(self, x: Tensor, dy: Tensor, weight: str, bias: str | None = None) -> Tensor:
        """Computes dx = W^T dy, and adds to the gradients of W and b.

        Args:
            x: The input of matmul().
            dy: The gradient of its output.
            weight: Name of the weight W.
            bias: Name of the weight b; None: none.

        Returns:
            The tensor dx.
        """
        return self._op(library.loom_layer_matmul_gradient, x._ref, dy._ref, _text(weight), _text(bias))

    def product(self, a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
        """Computes a b over the last two axes; the axes before are equal.

        Args:
            a: The first tensor.
            b: The second tensor.
            transpose_a: True transposes the last two axes of `a`.
            transpose_b: True transposes the last two axes of `b`.

        Returns:
            The product.
        """
        return self._op(library.loom_layer_product, a._ref, transpose_a, b._ref, transpose_b)

    def activate(self, x: Tensor, activation: str) -> Tensor:
        """Computes activation(x).

        Args:
            x: The tensor.
            activation: Key of a setting of the type "activation", or name of an activation.

        Returns:
            A tensor of the same shape.
        """
        return self._op(library.loom_layer_activate, x._ref, _text(activation))

    def activate_gradient(self, x: Tensor, dy: Tensor, activation: str) -> Tensor:
        """Computes dy times the derivative of the activation at x.

        Args:
            x: The input of activate().
            dy: The gradient of its output.
            activation: Key of a setting of the type "activation", or name of an activation.

        Returns:
            The gradient of x.
        """
        return self._op(library.loom_layer_activate_gradient, x._ref, dy._ref, _text(activation))

    def gated(self, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        """Computes activation(gate) * up.

        Args:
            gate: The tensor that is activated.
            up: The other factor.
            activation: Key of a setting of the type "activation", or name of an activation.

        Returns:
            A tensor of the same shape.
        """
        return self._op(library.loom_layer_gated, gate._ref, up._ref, _text(activation))

    def gated_gradient(self, gate: Tensor, up: Tensor, dy: Tensor, activation: str) -> tuple[Tensor, Tensor]:
        """Computes the gradients of gated().

        Args:
            gate: The first input of gated().
            up: The second input.
            dy: The gradient of its output.
            activation: Key of a setting of the type "activation", or name of an activation.

        Returns:
            The gradients of `gate` and `up`.
        """
        dgate, dup = ctypes.c_uint64(), ctypes.c_uint64()
        _native.check(
            library.loom_layer_gated_gradient(
                self._handle, gate._ref, up._ref, dy._ref, _text(activation), ctypes.byref(dgate), ctypes.byref(dup)
            )
        )
        return Tensor(self, dgate.value), Tensor(self, dup.value)

    def softmax(self, x: Tensor, temperature: float = 1) -> Tensor:
        """Computes softmax(x / temperature) along the last axis.

        Args:
            x: The tensor.
            temperature: Divisor of x.

        Returns:
            The probabilities, a tensor of the same shape.
        """
        return self._op(library.loom_layer_softmax, x._ref, temperature)

    def softmax_gradient(self, p: Tensor, dy: Tensor, temperature: float = 1) -> Tensor:
        """Computes the gradient of softmax().

        Args:
            p: The output of softmax().
            dy: Its gradient.
            temperature: Divisor of x.

        Returns:
            The gradient of x.
        """
        return self._op(library.loom_layer_softmax_gradient, p._ref, dy._ref, temperature)

    def rms_norm(self, x: Tensor, gamma: str | None = None, eps: float = 1e-6) -> Tensor:
        """Computes x / sqrt(mean of x^2 + eps) * gamma along the last axis.

        Args:
            x: The tensor.
            gamma: Name of the weight gamma; None: 1.
            eps: Number that is added to the mean.

        Returns:
            A tensor of the same shape.
        """
        return self._op(library.loom_layer_rms_norm, x._ref, _text(gamma), eps)

    def rms_norm_gradient(self, x: Tensor, dy: Tensor, gamma: str | None = None, eps: float = 1e-6) -> Tensor:
        """Computes the gradient of rms_norm(), and adds to that of gamma.

        Args:
            x: The input of rms_norm().
            dy: The gradient of its output.
            gamma: Name of the weight gamma; None: 1.
            eps: Number that is added to the mean.

        Returns:
            The gradient of x.
        """
        return self._op(library.loom_layer_rms_norm_gradient, x._ref, dy._ref, _text(gamma), eps)

    def layer_norm(self, x: Tensor, gamma: str | None = None, beta: str | None = None, eps: float = 1e-5) -> Tensor:
        """Computes (x - mean) / sqrt(variance + eps) * gamma + beta along the last axis.

        Args:
            x: The tensor.
            gamma: Name of the weight gamma; None: 1.
            beta: Name of the weight beta; None: 0.
            eps: Number that is added to the variance.

        Returns:
            A tensor of the same shape.
        """
        return self._op(library.loom_layer_layer_norm, x._ref, _text(gamma), _text(beta), eps)

    def layer_norm_gradient(
        self, x: Tensor, dy: Tensor, gamma: str | None = None, beta: str | None = None, eps: float = 1e-5
    ) -> Tensor:
        """Computes the gradient of layer_norm(), and adds to those of gamma and beta.

        Args:
            x: The input of layer_norm().
            dy: The gradient of its output.
            gamma: Name of the weight gamma; None: 1.
            beta: Name of the weight beta; None: 0.
            eps: Number that is added to the variance.

        Returns:
            The gradient of x.
        """
        return self._op(library.loom_layer_layer_norm_gradient, x._ref, dy._ref, _text(gamma), _text(beta), eps)

    def permute(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Reorders the axes of a tensor.

        Args:
            x: The tensor.
            axes: The axes of x in their new order.

        Returns:
            A tensor of the same numbers.
        """
        return self._op(library.loom_layer_permute, x._ref, *_numbers(axes, "axes"))

    def reshape(self, x: Tensor, extents: Sequence[int]) -> Tensor:
        """Changes the extents of a tensor.

        Args:
            x: The tensor.
            extents: The new extents, with the same product.

        Returns:
            A tensor of the same numbers.
        """
        return self._op(library.loom_layer_reshape, x._ref, *_numbers(extents, "extents"))

    def slice(self, x: Tensor, axis: int, first: int, count: int) -> Tensor:
        """Takes a part of an axis. Its gradient is pad(), and the reverse.

        Args:
            x: The tensor.
            axis: The axis.
            first: Index of the first element.
            count: Number of elements.

        Returns:
            The part.
        """
        return self._op(library.loom_layer_slice, x._ref, axis, first, count)

    def pad(self, x: Tensor, axis: int, first: int, extent: int) -> Tensor:
        """Puts a tensor between zeros along an axis.

        Args:
            x: The tensor.
            axis: The axis.
            first: Index of the first element of x in the new axis.
            extent: Extent of the new axis.

        Returns:
            The tensor with zeros.
        """
        return self._op(library.loom_layer_pad, x._ref, axis, first, extent)

    def repeat(self, x: Tensor, axis: int, times: int) -> Tensor:
        """Repeats a tensor along an axis of extent 1.

        Args:
            x: The tensor.
            axis: The axis.
            times: New extent of the axis.

        Returns:
            The repeated tensor.
        """
        return self._op(library.loom_layer_repeat, x._ref, axis, times)

    def mean(self, x: Tensor, axis: int) -> Tensor:
        """Computes the mean along an axis.

        Args:
            x: The tensor.
            axis: The axis, whose extent becomes 1.

        Returns:
            The means.
        """
        return self._op(library.loom_layer_mean, x._ref, axis)

    def dropout(self, x: Tensor, rate: float, which: int = 0) -> Tensor:
        """Sets elements to 0 while a network trains.

        Args:
            x: The tensor.
            rate: Part of the elements, 0 to 1.
            which: Number of the dropout, if a layer has several.

        Returns:
            A tensor of the same shape.
        """
        return self._op(library.loom_layer_dropout, x._ref, rate, which)

    def weight(self, name: str, like: Tensor) -> Tensor:
        """Returns the values of a weight, in each sample of a tensor.

        Args:
            name: Name of the weight.
            like: Tensor with the shape of the result.

        Returns:
            The values.
        """
        return self._op(library.loom_layer_weight, _text(name), like._ref)

    def add_gradient(self, name: str, tensor: Tensor) -> None:
        """Adds the sum of the samples of a tensor to the gradient of a weight.

        Args:
            name: Name of the weight.
            tensor: The gradient in each sample, as weight() gives the values.
        """
        _native.check(library.loom_layer_add_gradient(self._handle, _text(name), tensor._ref))

    def _op(self, function: Function, *args: object) -> Tensor:
        out = ctypes.c_uint64()
        _native.check(function(self._handle, *args, ctypes.byref(out)))
        return Tensor(self, out.value)


def _numbers(values: Sequence[int], what: str) -> tuple[ctypes.Array[ctypes.c_uint64], int]:
    numbers = [_native.whole(n, what, 0, 2**63) for n in _native.items(values, what, "a list of whole numbers")]
    return (ctypes.c_uint64 * len(numbers))(*numbers), len(numbers)


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


def register_kind(
    name: str,
    forward: Forward,
    backward: Forward | None = None,
    declare: Callable[[Layer], None] | None = None,
    *,
    settings: Sequence[Json] = (),
    help: str = "",
    shapes: str = "",
    width_key: str = "",
    sample_axes: int = 0,
) -> None:
    """Adds a layer kind to those of this process.

    The functions run once for each shape, not in every pass. An exception in one is the cause of the error that the
    call raises.

    Args:
        name: Name of the kind, as "my_kind".
        forward: Function (layer, x) that returns the output, a Tensor of the layer's operations.
        backward: Function (layer, dy) that returns the gradient of x; None: the kind does not learn.
        declare: Function (layer) that declares the weights; None: it has none.
        settings: Dicts with key, type ("integer", "number", "boolean", "choice" or "activation"), default, min, max,
            choices, help.
        help: Text for documentation.
        shapes: Text about the shapes, for documentation.
        width_key: Key of the setting that is the width of the output; "": none.
        sample_axes: Number of axes of a sample; 0: any.

    Raises:
        ValueError: If the name is taken or a setting is wrong.
    """
    for function, what in ((forward, "forward"), (backward, "backward"), (declare, "declare")):
        _native.callback(function, what)
    if forward is None:
        raise TypeError("forward must be a function, not NoneType")

    def passed(run: Forward) -> Callable[[Layer], None]:
        def call(layer: Layer) -> None:
            y = run(layer, layer._op(library.loom_layer_input))
            _native.check(library.loom_layer_result(layer._handle, y._ref))

        return call

    description = json.dumps(
        {
            "name": name,
            "help": help,
            "shapes": shapes,
            "width_key": width_key,
            "sample_axes": sample_axes,
            "settings": _native.items(settings, "settings", "a list of dicts"),
        }
    ).encode()
    callbacks = _abi.KindCallbacks(
        declare=_callback(declare),
        forward=_callback(passed(forward)),
        backward=_callback(passed(backward) if backward else None),
    )
    with _lock:
        # Before the call: an exception right after it, as that of Ctrl-C, must not free callbacks that C holds.
        _callbacks.append((_folded(name), callbacks))
        status = library.loom_layer_kind_register(description, len(description), ctypes.byref(callbacks))
        if status != _abi.OK:
            _callbacks.pop()
        _native.check(status)


def unregister_kind(name: str) -> None:
    """Removes a layer kind of register_kind().

    Args:
        name: Name of the kind.

    Raises:
        ValueError: If there is no such kind.
        LoomError: If a network with a layer of it exists (Busy).
    """
    folded = _folded(name)
    with _lock:
        _native.check(library.loom_layer_kind_unregister(_native.utf8(name, "name")))
        _callbacks[:] = [kept for kept in _callbacks if kept[0] != folded]
