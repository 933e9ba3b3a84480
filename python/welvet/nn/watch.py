"""Watches: reports of every layer that runs."""

from __future__ import annotations

import dataclasses

from .. import _abi, _native, _tensors

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import Array, Function, Kind

_PASSES = ("forward", "backward", "tick", "tween")  # by _abi.PASS_FORWARD ...


@dataclasses.dataclass(frozen=True)
class LayerEvent:
    """A layer that ran.

    The figures are of its output; after a backward pass of the gradient of its input.

    Attributes:
        event: "forward", "backward", "tick" or "tween".
        path: Path of the layer, as "layers.3".
        layer: Kind of the layer.
        dtype: Numeric type of its weights.
        cell: Index of the cell that holds it.
        step: Step of the call; of a mesh the number of ticks.
        mean: Mean of the numbers.
        deviation: Their standard deviation.
        greatest: The greatest number.
        least: The least number.
        active: How many numbers are above 1e-6 in size.
        count: How many numbers there are.
        values: A copy of the numbers, an array with one axis.
    """

    event: str
    path: str
    layer: str
    dtype: str
    cell: int
    step: int
    mean: float
    deviation: float
    greatest: float
    least: float
    active: int
    count: int
    values: Array


@dataclasses.dataclass(frozen=True)
class Window:
    """Figures of several layers that ran, one after the other.

    Attributes:
        layers: Number of layers.
        mean: Mean of the layers' means.
        deviation: Mean of their standard deviations.
        greatest: The greatest number of all.
        least: The least number of all.
        active: Mean number of values above 1e-6 in size.
        sparsity: Part of the values that are not above it, 0 to 1.
        first_step: Step of the first layer.
        last_step: Step of the last layer.
    """

    layers: int
    mean: float
    deviation: float
    greatest: float
    least: float
    active: float
    sparsity: float
    first_step: int
    last_step: int


class _Heard:
    """A callback of the library that calls a function. An exception in it ends the watch, and the call raises it."""

    _raised: BaseException | None = None

    def _hear(self, told: Callable[[], object]) -> bool:
        try:
            return told() is not False
        except BaseException as error:  # it must not unwind through C
            self._raised = error
            return False

    def raise_again(self) -> None:
        """Raises the exception of the callback, once."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised


class Watch(_Heard):
    """Reports every layer."""

    def __init__(self, told: Callable[[LayerEvent], object]) -> None:
        self._told = told
        self.callback = _abi.OnLayer(self._tell)

    def _tell(self, _: int | None, event: Any) -> bool:
        def tell() -> object:
            e, values = event.contents, event.contents.values.contents
            kind: Kind = "d" if values.element == _abi.ELEMENT_FLOAT64 else "f"
            count = values.data_size // (8 if kind == "d" else 4)
            kept = _tensors.copied(values.data or 0, count, (count,), kind)
            return self._told(
                LayerEvent(
                    _PASSES[getattr(e, "pass")],
                    e.path.decode(),
                    e.layer.decode(),
                    e.dtype.decode(),
                    e.cell,
                    e.step,
                    e.mean,
                    e.deviation,
                    e.greatest,
                    e.least,
                    e.active,
                    count,
                    kept,
                )
            )

        return self._hear(tell)


class WindowWatch(_Heard):
    """Reports every so many layers."""

    def __init__(self, told: Callable[[Window], object]) -> None:
        self._told = told
        self.callback = _abi.OnWindow(self._tell)

    def _tell(self, _: int | None, event: Any) -> bool:
        window = Window(*(getattr(event.contents, field.name) for field in dataclasses.fields(Window)))
        return self._hear(lambda: self._told(window))


class Watches:
    """The watches of one object: by layer, by window."""

    def __init__(self) -> None:
        self._by_layer: Watch | None = None
        self._by_window: WindowWatch | None = None
        self.is_set = False  # read by every call: cheap where nobody watches

    def set_layers(self, function: Function, handle: int, told: Callable[[LayerEvent], object] | None) -> None:
        """Calls a function as loom_network_session_watch(), and keeps the callback alive."""
        _native.callback(told, "callback")
        watch = None if told is None else Watch(told)
        _native.check(function(handle, _abi.OnLayer() if watch is None else watch.callback, None))
        self._by_layer = watch
        self.is_set = self._by_layer is not None or self._by_window is not None

    def set_windows(
        self, function: Function, handle: int, layers: int, told: Callable[[Window], object] | None
    ) -> None:
        """Calls a function as loom_network_session_watch_windows(), and keeps the callback alive."""
        _native.callback(told, "callback")
        count = _native.whole(layers, "layers", 1, 2**40)
        watch = None if told is None else WindowWatch(told)
        _native.check(function(handle, count, _abi.OnWindow() if watch is None else watch.callback, None))
        self._by_window = watch
        self.is_set = self._by_layer is not None or self._by_window is not None

    def raise_again(self) -> None:
        """Raises the exception of a callback, once."""
        for watch in (self._by_layer, self._by_window):
            if watch is not None:
                watch.raise_again()


def report_to(function: Function, handle: int, address: str | None) -> None:
    """Calls a function as loom_network_session_report_to()."""
    _native.check(function(handle, _native.utf8(address, "address") if address else None))
