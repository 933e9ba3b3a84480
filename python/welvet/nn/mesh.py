"""Step meshes: networks that move in ticks, and learn between them."""

from __future__ import annotations

import ctypes

from .. import _abi, _native, _tensors
from .._native import library
from .network import handle_of, kind_of
from .watch import LayerEvent, Watches, Window, report_to

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .._types import Array, Json, Kind, Numbers, Precision, Shape, Text
    from .network import Network


def _handles(states: StepState | Iterable[StepState]) -> ctypes.Array[ctypes.c_uint64]:
    """The handles of a state or of several, as the library takes them."""
    several = (
        [states] if isinstance(states, StepState) else _native.items(states, "states", "a StepState or a list of them")
    )
    for each in several:
        _native.instance(each, StepState, "states", "a StepState or a list of them")
    numbers = [s._handle.value for s in several]
    return (ctypes.c_uint64 * len(numbers))(*numbers)


class StepMesh(_native.Owner):
    """A network whose cells all move at once: in each tick a cell reads the outputs of the tick before.

    Its users have a StepState each, which state() makes.

    Args:
        network: The network.
        shape: Shape of the input, samples first.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        history: Number of captured ticks that a state keeps, for backward().
        backward: True keeps the activations that backward() needs.
        keep_inputs: True keeps the inputs of every tick, which a MeshTween starts from.
        isa: Instruction set, as "avx2"; None: the best one of this processor. No result depends on it.
        device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends on it.
        precision: "strict" (or None), or "fast": a graphics card need not be exact.

    Attributes:
        network: The network.

    Raises:
        ValueError: If the shape does not fit, or an option is out of range.
    """

    def __init__(
        self,
        network: Network,
        shape: Shape,
        *,
        threads: int | None = None,
        history: int = 0,
        backward: bool = False,
        keep_inputs: bool = False,
        isa: str | None = None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        network_handle = handle_of(network)
        options = _abi.StepMeshOptions(
            compute=_native.compute(threads, isa, device, precision),
            history=_native.whole(history, "history", 0, 65536),
            backward=_native.truth(backward, "backward"),
            keep_inputs=_native.truth(keep_inputs, "keep_inputs"),
        )
        extents = _tensors.shape_of(shape, "shape")
        self.network, self._shape, self._kind = network, tuple(extents), kind_of(network)
        self._handle = _native.make(
            library.loom_step_mesh_create, network_handle, extents, len(extents), ctypes.byref(options)
        )
        self._watches = Watches()
        self._turns = _native.Turns()  # its states' too: a tick writes the outputs of all that it moves

    def state(self) -> StepState:
        """Makes a user of the mesh.

        Returns:
            A state without input and outputs.
        """
        return StepState(self, _native.make(library.loom_step_state_create, self._handle.value))

    def step(
        self, states: StepState | Iterable[StepState], ticks: int = 1, *, capture: bool = False, training: bool = False
    ) -> None:
        """Moves states by some ticks.

        Args:
            states: A state, or a list of states.
            ticks: Number of ticks.
            capture: True keeps them in the history of the states, for backward().
            training: True drops in dropout layers, and uses the statistics of the batch.

        Ctrl-C ends several ticks before the next cell; the states stay at the last whole tick.
        """
        handles = _handles(states)
        options = _abi.TickOptions(
            ticks=_native.whole(ticks, "ticks", 1, 2**40),
            capture=_native.truth(capture, "capture"),
            training=_native.truth(training, "training"),
        )
        with self._turns:
            if self._watches.is_set:  # callbacks come on this thread
                status = library.loom_step_mesh_step(self._handle.value, handles, len(handles), ctypes.byref(options))
                self._watches.raise_again()
                _native.check(status)
            elif ticks > 1:
                cancel = _native.make(library.loom_cancel_create)
                options.cancel = cancel.value
                _native.long_call(
                    lambda: _native.check(
                        library.loom_step_mesh_step(self._handle.value, handles, len(handles), ctypes.byref(options))
                    ),
                    cancel,
                )
            else:  # one tick is shorter than a thread takes to begin
                _native.check(
                    library.loom_step_mesh_step(self._handle.value, handles, len(handles), ctypes.byref(options))
                )

    def watch(self, callback: Callable[[LayerEvent], object] | None) -> None:
        """Calls a function after every layer of the ticks to come. No bit of a result changes; cells run one by one.

        Args:
            callback: Function that takes a LayerEvent; returning False ends the watch. An exception in it ends the
                watch and step() raises it. None: ends the watch.
        """
        self._watches.set_layers(library.loom_step_mesh_watch, self._handle.value, callback)

    def watch_windows(self, layers: int, callback: Callable[[Window], object] | None) -> None:
        """Calls a function after every so many layers of the ticks to come. It runs beside watch().

        Args:
            layers: Number of layers of a window.
            callback: Function that takes a Window, under the rules of watch(). None: ends the watch.
        """
        self._watches.set_windows(library.loom_step_mesh_watch_windows, self._handle.value, layers, callback)

    def report_to(self, address: str | None) -> None:
        """Sends a report of every layer of the ticks to come to another program, as Session.report_to() does.

        Args:
            address: "http://HOST:PORT/PATH" for a POST each, "tanhi://HOST:PORT" for a datagram each; None: ends it.

        Raises:
            ValueError: If the address has another form.
        """
        report_to(library.loom_step_mesh_report_to, self._handle.value, address)

    def backward(self, state: StepState, output_gradient: Numbers, ticks: int = 0) -> Array | None:
        """Adds the gradients of captured ticks to those of the weights.

        Args:
            state: The state whose ticks are read.
            output_gradient: Gradient of the loss by the output of the last cell, in its shape.
            ticks: Most ticks to go back; 0: all that were captured.

        Returns:
            The gradient of the newest tick's input, an array in its shape; None if that tick had no input.

        Raises:
            LoomError: If no ticks were captured (NoValue).
        """
        _native.instance(state, StepState, "state", "a StepState")
        data, dx = _tensors.given(output_gradient, "output_gradient", self._kind), _abi.Tensor()
        most = _native.whole(ticks, "ticks", 0, 65536)
        with self._turns:
            _native.check(
                library.loom_step_mesh_backward(
                    self._handle.value, state._handle.value, ctypes.byref(data.tensor()), most, ctypes.byref(dx)
                )
            )
            return _tensors.array_of(dx, self._shape) if dx.data_size else None

    def gradient(self, weight: str) -> Array:
        """Returns the gradient of a weight, added up since clear_gradients().

        Args:
            weight: Name of the weight, as "layers.0.weight".

        Returns:
            An array in the shape of the weight.

        Raises:
            KeyError: If the network has no such weight.
        """
        out, pointer, count = _tensors.room(self.network._about(weight)["shape"], self._kind)
        to = _tensors.tensor_at(pointer, count, self._kind)
        _native.check(
            library.loom_step_mesh_gradient(self._handle.value, _native.utf8(weight, "weight"), ctypes.byref(to))
        )
        return out

    def clear_gradients(self) -> None:
        """Sets every gradient to 0."""
        _native.check(library.loom_step_mesh_clear_gradients(self._handle.value))

    @property
    def info(self) -> Json:
        """A dict: cells, memory of a state in bytes, warnings."""
        return _native.record(library.loom_step_mesh_info, self._handle.value)

    def _described(self) -> str:
        return f"of {self.network!r}, input {list(self._shape)}"

    def tween(self, config: Json | None = None, *, ticks: int = 0, **more: Any) -> MeshTween:
        """Begins learning by targets.

        Args:
            config: A dict with options of docs/guide/tween.md; None: none.
            ticks: Number of captured ticks that a step goes back through; 0: the last tick alone.
            **more: Further options, as mode="layerwise".

        Returns:
            An object whose step() moves the weights.

        Raises:
            ValueError: If an option is unknown or out of range.
        """
        data = _native.config_of(config, more)
        return MeshTween(
            _native.make(
                library.loom_mesh_tween_create,
                self._handle.value,
                data,
                len(data),
                _native.whole(ticks, "ticks", 0, 65536),
            ),
            self._kind,
        )


class StepState(_native.Owner):
    """One user of a mesh: outputs of the cells, recurrent states, captured ticks. StepMesh.state() makes one.

    Attributes:
        mesh: The StepMesh.
    """

    def __init__(self, mesh: StepMesh, handle: _native.Handle) -> None:
        self.mesh, self._handle, self._turns = mesh, handle, mesh._turns

    def set_input(self, x: Numbers, *, hold: bool = True) -> None:
        """Sets the input of the first cell.

        Args:
            x: Numbers in the shape of the mesh, [samples, ...].
            hold: True keeps the input until it is replaced; False removes it after the next tick.

        Raises:
            ValueError: If the shape is another one.
        """
        data = _tensors.given(x, "x", self.mesh._kind)
        _native.check(
            library.loom_step_state_set_input(
                self._handle.value, ctypes.byref(data.tensor()), _native.truth(hold, "hold")
            )
        )

    def clear_input(self) -> None:
        """Removes the input."""
        _native.check(library.loom_step_state_clear_input(self._handle.value))

    def output(self, cell: int = -1) -> Array | None:
        """Returns the output of a cell in the last tick.

        Args:
            cell: Index of the cell in the order of addresses; -1: the last one.

        Returns:
            An array [samples, ...]; None if no data has reached the cell.

        Raises:
            ValueError: If there is no such cell.
        """
        place = _native.whole(cell, "cell", -1, 2**31 - 1)
        output = _abi.Tensor()
        with self._turns:  # the output lasts until the next tick
            status = library.loom_step_state_output(self._handle.value, place, ctypes.byref(output))
            if status == _abi.NO_VALUE:
                return None
            _native.check(status)
            return _tensors.array_of(output)

    def reset(self) -> None:
        """Resets the state to its beginning: no input, no outputs, no history, tick 0."""
        with self._turns:
            _native.check(library.loom_step_state_reset(self._handle.value))

    def fork(self) -> StepState:
        """Copies the state.

        Returns:
            A state of the same mesh, which moves on its own.
        """
        return StepState(self.mesh, _native.make(library.loom_step_state_fork, self._handle.value))

    def snapshot(self) -> bytes:
        """Returns the whole state.

        Returns:
            Bytes for restore(), on any machine.
        """
        return _native.blob(library.loom_step_state_snapshot, self._handle.value)

    def restore(self, snapshot: Text) -> None:
        """Replaces the state.

        Args:
            snapshot: Bytes of snapshot(), of a state of an equal mesh.

        Raises:
            ValueError: If the snapshot is of another mesh.
            LoomError: If the bytes are damaged (CorruptData).
        """
        data = _native.data_of(snapshot, "snapshot")
        with self._turns:
            _native.check(library.loom_step_state_restore(self._handle.value, data, len(data)))

    def hash(self) -> str:
        """Hashes the whole state. The hash is equal on every machine.

        Returns:
            The SHA-256, hexadecimal.
        """
        return _native.blob(library.loom_step_state_hash, self._handle.value).decode()

    @property
    def ticks(self) -> int:
        """Number of ticks since the start."""
        out = ctypes.c_uint64()
        _native.check(library.loom_step_state_ticks(self._handle.value, ctypes.byref(out)))
        return out.value


class MeshTween(_native.Owner):
    """Learning by targets between ticks. StepMesh.tween() makes one."""

    def __init__(self, handle: _native.Handle, kind: Kind) -> None:
        self._handle, self._kind = handle, kind

    def step(self, states: StepState | Iterable[StepState], targets: Numbers, learning_rate: float) -> None:
        """Moves all weights once towards targets.

        Args:
            states: A state, or a list of states.
            targets: Targets of the last cell's outputs, one per state.
            learning_rate: Size of the step.

        Raises:
            ValueError: If the targets have another size.
        """
        handles = _handles(states)
        data = _tensors.given(targets, "targets", self._kind)
        _native.check(
            library.loom_mesh_tween_step(
                self._handle.value,
                handles,
                len(handles),
                ctypes.byref(data.tensor()),
                _native.real(learning_rate, "learning_rate"),
            )
        )
