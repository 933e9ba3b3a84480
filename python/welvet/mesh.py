"""Step meshes: networks that move in ticks, and learn between them."""

from __future__ import annotations

import ctypes

from . import _abi, _native, _tensors
from ._native import library
from .watch import LayerEvent, Watches, Window, report_to

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .network import Network

    from ._types import Array, Json, Numbers, Precision, Shape, Text


def _handles(states: StepState | Iterable[StepState]) -> ctypes.Array[ctypes.c_uint64]:
    """The handles of a state or of several, as the library takes them."""
    numbers = [s._handle.value for s in ([states] if isinstance(states, StepState) else states)]
    return (ctypes.c_uint64 * len(numbers))(*numbers)


class StepMesh(_native.Owner):
    """A network whose cells all move at once: in each tick a cell reads what the others left in the tick before.

    The states of its users are StepStates, made by state(). shape: of the input, samples first.
    history: captured ticks that a state keeps, for backward().
    keep_inputs: every tick leaves what it read, which a MeshTween starts from.
    device: "cpu" (or None), "auto" or a card of gpu_report(), as "gpu". The results do not depend on it.
    """

    def __init__(self, network: Network, shape: Shape, *, threads: int | None = None, history: int = 0,
                 backward: bool = False, keep_inputs: bool = False, isa: str | None = None,
                 device: str | None = None, precision: Precision | None = None) -> None:
        options = _abi.StepMeshOptions(
            thread_count=0 if threads is None else _native.whole(threads, "threads", 1, 256),
            isa=_native.utf8(isa, "isa") if isa else None, history=_native.whole(history, "history", 0, 65536),
            backward=backward, keep_inputs=keep_inputs, device=_native.device_name(device, precision))
        extents = _tensors.shape_of(shape, "shape")
        self.network, self._shape = network, tuple(extents)
        self._handle = _native.make(library.loom_step_mesh_create, network._handle.value, extents, len(extents),
                                    ctypes.byref(options))
        self._watches = Watches()
        self._turns = _native.Turns()  # its states' too: a tick writes the outputs of all that it moves

    def state(self) -> StepState:
        """Returns a StepState without outputs."""
        return StepState(self, _native.make(library.loom_step_state_create, self._handle.value))

    def step(self, states: StepState | Iterable[StepState], ticks: int = 1, *, capture: bool = False,
             training: bool = False) -> None:
        """Moves a state, or a list of states, by some ticks. capture: keeps what backward() needs of them."""
        handles = _handles(states)
        options = _abi.TickOptions(ticks=_native.whole(ticks, "ticks", 1, 2**40), capture=capture, training=training)
        with self._turns:
            status = library.loom_step_mesh_step(self._handle.value, handles, len(handles), ctypes.byref(options))
            if self._watches.is_set:
                self._watches.raise_again()
            _native.check(status)

    def watch(self, told: Callable[[LayerEvent], object] | None) -> None:
        """Calls told(event) with a LayerEvent after every layer of the ticks to come; None ends it.

        No bit of a result changes; cells run one after the other. Returning False ends the watch, too; what it raises
        comes out of step().
        """
        self._watches.set_layers(library.loom_step_mesh_watch, self._handle.value, told)

    def watch_windows(self, layers: int, told: Callable[[Window], object] | None) -> None:
        """Calls told(window) with a Window after every so many layers of the ticks to come, under the same rules."""
        self._watches.set_windows(library.loom_step_mesh_watch_windows, self._handle.value, layers, told)

    def report_to(self, address: str | None) -> None:
        """Sends a report of every layer of the ticks to come to a program that listens, as Session.report_to() does."""
        report_to(library.loom_step_mesh_report_to, self._handle.value, address)

    def backward(self, state: StepState, output_gradient: Numbers, ticks: int = 0) -> Array | None:
        """Goes back through at most so many captured ticks (0: all) from a gradient of the last cell's output.

        output_gradient: in the shape of that output. Adds to the gradients of the weights; returns that of the newest
        tick's input in its shape, None where there was none. LoomError where no ticks were captured.
        """
        data = _tensors.given(output_gradient, "output_gradient")
        pointer, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        most = _native.whole(ticks, "ticks", 0, 65536)
        with self._turns:
            _native.check(library.loom_step_mesh_backward(
                self._handle.value, state._handle.value, data.pointer, data.count, most, ctypes.byref(pointer),
                ctypes.byref(count)))
            return _tensors.copied(pointer, count.value, self._shape) if count.value else None

    def gradient(self, weight: str) -> Array:
        """Returns the gradient of a weight in its shape, added up since clear_gradients().

        KeyError for an unknown name.
        """
        out, pointer, count = _tensors.room(self.network._about(weight)["shape"])
        _native.check(library.loom_step_mesh_gradient(self._handle.value, _native.utf8(weight, "weight"), pointer,
                                                      count))
        return out

    def clear_gradients(self) -> None:
        """Sets every gradient to 0."""
        _native.check(library.loom_step_mesh_clear_gradients(self._handle.value))

    @property
    def info(self) -> Json:
        """Cells, memory of a state in bytes, warnings, a dict."""
        return _native.record(library.loom_step_mesh_info, self._handle.value)

    def _described(self) -> str:
        return f"of {self.network!r}, input {list(self._shape)}"

    def tween(self, config: Json | None = None, *, ticks: int = 0, **more: Any) -> MeshTween:
        """Returns a MeshTween: learning by targets, options as in docs/guide/tween.md."""
        data = _native.to_json({**(config or {}), **more})
        return MeshTween(_native.make(library.loom_mesh_tween_create, self._handle.value, data, len(data),
                                      _native.whole(ticks, "ticks", 0, 65536)))


class StepState(_native.Owner):
    """One user of a mesh: outputs of the cells, recurrent states, captured ticks. Made by StepMesh.state()."""

    def __init__(self, mesh: StepMesh, handle: _native.Handle) -> None:
        self.mesh, self._handle, self._turns = mesh, handle, mesh._turns

    def set_input(self, x: Numbers, *, hold: bool = True) -> None:
        """Lays an input in front of the first cell, until it is replaced or, without hold, for the next tick alone."""
        data = _tensors.given(x, "x")
        _native.check(library.loom_step_state_set_input(self._handle.value, data.pointer, data.count, hold))

    def clear_input(self) -> None:
        """Takes the input away."""
        _native.check(library.loom_step_state_clear_input(self._handle.value))

    def output(self, cell: int = -1) -> Array | None:
        """Returns what a cell left in the last tick, [samples, ...]; None before data arrived there.

        cell: its index in the order of addresses; -1: the last one.
        """
        pointer, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        shape, rank = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        with self._turns:  # the output lasts until the next tick
            status = library.loom_step_state_output(self._handle.value, cell, ctypes.byref(pointer),
                                                    ctypes.byref(count), ctypes.byref(shape), ctypes.byref(rank))
            if status == _abi.NO_VALUE:
                return None
            _native.check(status)
            return _tensors.copied(pointer, count.value, tuple(shape[:rank.value]))

    def reset(self) -> None:
        """Begins anew: no input, no outputs, no history, tick 0."""
        with self._turns:
            _native.check(library.loom_step_state_reset(self._handle.value))

    def fork(self) -> StepState:
        """Returns a copy that goes its own way."""
        return StepState(self.mesh, _native.make(library.loom_step_state_fork, self._handle.value))

    def snapshot(self) -> bytes:
        """Returns the whole state, bytes that any machine reads."""
        return _native.blob(library.loom_step_state_snapshot, self._handle.value)

    def restore(self, snapshot: Text) -> None:
        """Puts a snapshot back."""
        data = _native.data_of(snapshot, "snapshot")
        with self._turns:
            _native.check(library.loom_step_state_restore(self._handle.value, data, len(data)))

    def hash(self) -> str:
        """Returns the SHA-256 of the whole state, hexadecimal."""
        return _native.blob(library.loom_step_state_hash, self._handle.value).decode()

    @property
    def ticks(self) -> int:
        """Ticks since the start."""
        out = ctypes.c_uint64()
        _native.check(library.loom_step_state_ticks(self._handle.value, ctypes.byref(out)))
        return out.value


class MeshTween(_native.Owner):
    """Learning by targets between ticks. Made by StepMesh.tween()."""

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def step(self, states: StepState | Iterable[StepState], targets: Numbers, learning_rate: float) -> None:
        """Moves all weights once towards targets of the last cell's outputs, one per state."""
        handles = _handles(states)
        data = _tensors.given(targets, "targets")
        _native.check(library.loom_mesh_tween_step(self._handle.value, handles, len(handles), data.pointer,
                                                   data.count, learning_rate))
