"""Target propagation in single calls; Trainer with the key `tween` does whole steps."""

from __future__ import annotations

import ctypes

from . import _abi, _native, _tensors
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from typing import Any
    
    from .network import Network

    from ._types import Array, Json, Numbers, Precision, Shape


class Tween(_native.Owner):
    """A network that learns by targets instead of gradients.

    shape: of a batch, samples first. config: options of docs/guide/tween.md, as mode="layerwise".
    """

    def __init__(self, network: Network, shape: Shape, config: Json | None = None, *, threads: int | None = None,
                 isa: str | None = None, device: str | None = None, precision: Precision | None = None, **more: Any) -> None:
        data, extents = _native.to_json({**(config or {}), **more}), _tensors.shape_of(shape, "shape")
        options = _abi.TrainerOptions(thread_count=0 if threads is None else _native.whole(threads, "threads", 1, 256),
                                      isa=_native.utf8(isa, "isa") if isa else None,
                                      device=_native.device_name(device, precision))
        self.network = network
        self._handle = _native.make(library.loom_tween_create, network._handle.value, data, len(data), extents,
                                    len(extents), ctypes.byref(options))

    def forward(self, x: Numbers) -> Array:
        """Runs the network on x [samples, ...] and returns its output."""
        data = _tensors.given(x, "x")
        pointer, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        shape, rank = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        _native.check(library.loom_tween_forward(
            self._handle.value, data.pointer, data.count, data.extents(), len(data.shape), ctypes.byref(pointer),
            ctypes.byref(count), ctypes.byref(shape), ctypes.byref(rank)))
        return _tensors.copied(pointer, count.value, tuple(shape[:rank.value]))

    def step(self, target: Numbers, learning_rate: float) -> None:
        """Does the rest of a step behind forward(): gaps, budgets, updates.

        target: the output that is wanted, in its shape. LoomError without a forward before it.
        """
        data = _tensors.given(target, "target")
        _native.check(library.loom_tween_step(self._handle.value, data.pointer, data.count, learning_rate))

    def backward(self, target: Numbers) -> None:
        """Begins the same in three calls, backward(), budgets(), apply(): gives every cell its target."""
        data = _tensors.given(target, "target")
        _native.check(library.loom_tween_backward(self._handle.value, data.pointer, data.count))

    def budgets(self) -> None:
        """Measures how well each cell agrees with its target."""
        _native.check(library.loom_tween_budgets(self._handle.value))

    def apply(self, learning_rate: float) -> None:
        """Moves the weights towards the targets, the last of the three calls."""
        _native.check(library.loom_tween_apply(self._handle.value, learning_rate))

    @property
    def info(self) -> Json:
        """The gap of the output, and of each use of a layer gap, budget and size of the update, a dict."""
        return _native.record(library.loom_tween_info, self._handle.value)
