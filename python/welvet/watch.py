"""What the layers of a pass did."""

from __future__ import annotations

import dataclasses

from . import _abi, _native, _tensors

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._types import Array, Function


@dataclasses.dataclass(frozen=True)
class LayerEvent:
    """A layer that ran.

    event: "forward", "backward", "tick" or "tween". path: of the layer, "layers.3"; layer: its kind; dtype: of its weights.
    cell: index of the cell that holds it. step: of the call, or the number of ticks.
    mean, deviation, greatest, least: of its output, or of the gradient of its input. active: how many of the `count`
    numbers are above 1e-6 in size. values: a copy of them, all in one row.
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
    """Figures of so many layers that ran, one after the other.

    layers: how many. mean, deviation: means of those of the layers. greatest, least: of all. active: mean number of
    values above 1e-6 in size. sparsity: the part of the values that is not. first_step, last_step: of the first layer
    and of the last.
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
    """A callback of Python behind one of the library. An exception there ends the watch and comes out of the call."""

    _raised: BaseException | None = None

    def _hear(self, told: Callable[[], object]) -> bool:
        try:
            return told() is not False
        except BaseException as error:  # it must not unwind through C
            self._raised = error
            return False

    def raise_again(self) -> None:
        """Raises what the callback has raised, once."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised


class Watch(_Heard):
    """Hears of every layer."""

    def __init__(self, told: Callable[[LayerEvent], object]) -> None:
        self._told = told
        self.callback = _abi.OnLayerEvent(self._tell)

    def _tell(self, _: int | None, event: bytes, path: bytes, layer: bytes, dtype: bytes, cell: int, step: int,
              mean: float, deviation: float, greatest: float, least: float, active: int, count: int, values: int | None,
              is_double: int) -> bool:
        def tell() -> object:
            kept = _tensors.copied(values or 0, count, (count,), "d" if is_double else "f")
            return self._told(LayerEvent(event.decode(), path.decode(), layer.decode(), dtype.decode(), cell, step,
                                         mean, deviation, greatest, least, active, count, kept))

        return self._hear(tell)


class WindowWatch(_Heard):
    """Hears of every so many layers."""

    def __init__(self, told: Callable[[Window], object]) -> None:
        self._told = told
        self.callback = _abi.OnWindow(self._tell)

    def _tell(self, _: int | None, layers: int, mean: float, deviation: float, greatest: float, least: float,
              active: float, sparsity: float, first_step: int, last_step: int) -> bool:
        window = Window(layers, mean, deviation, greatest, least, active, sparsity, first_step, last_step)
        return self._hear(lambda: self._told(window))


class Watches:
    """Who watches one object: by layer, by window."""

    def __init__(self) -> None:
        self._by_layer: Watch | None = None
        self._by_window: WindowWatch | None = None
        self.is_set = False  # read by every call: cheap where nobody watches

    def set_layers(self, function: Function, handle: int, told: Callable[[LayerEvent], object] | None) -> None:
        """Calls a function as loom_network_session_watch(), and keeps the callback alive."""
        watch = None if told is None else Watch(told)
        _native.check(function(handle, _abi.OnLayerEvent() if watch is None else watch.callback, None))
        self._by_layer = watch
        self.is_set = self._by_layer is not None or self._by_window is not None

    def set_windows(self, function: Function, handle: int, layers: int,
                    told: Callable[[Window], object] | None) -> None:
        """Calls a function as loom_network_session_watch_windows(), and keeps the callback alive."""
        count = _native.whole(layers, "layers", 1, 2**40)
        watch = None if told is None else WindowWatch(told)
        _native.check(function(handle, count, _abi.OnWindow() if watch is None else watch.callback, None))
        self._by_window = watch
        self.is_set = self._by_layer is not None or self._by_window is not None

    def raise_again(self) -> None:
        """Raises what a callback has raised, once."""
        for watch in (self._by_layer, self._by_window):
            if watch is not None:
                watch.raise_again()


def report_to(function: Function, handle: int, address: str | None) -> None:
    """Calls a function as loom_network_session_report_to()."""
    _native.check(function(handle, _native.utf8(address, "address") if address else None))
