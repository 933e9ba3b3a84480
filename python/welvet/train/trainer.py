"""Networks that learn, step by step, from batches of the caller."""

from __future__ import annotations

import ctypes
import dataclasses

from .. import _abi, _native, _tensors
from .._native import library
from ..nn.network import handle_of
from ..nn.watch import LayerEvent, Watches, Window, report_to

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import Array, Json, Numbers, Precision, Shape
    from ..nn.network import Network


@dataclasses.dataclass(frozen=True)
class Step:
    """The outcome of a step of training.

    Attributes:
        loss: Loss of the batch, before the step.
        learning_rate: Learning rate of the step.
        gradient_norm: Norm of the gradients, if the config clips by it; else 0.
        skipped: True if a loss, a gradient or an update was not finite; everything is then as before.
        why: The layer and the number that were not finite, if the step was skipped.
    """

    loss: float
    learning_rate: float
    gradient_norm: float
    skipped: bool
    why: str


class Trainer(_native.Owner):
    """Training of a network, step by step, with batches of the caller.

    Args:
        network: The network, which learns in place. Nothing else may change it meanwhile.
        shape: Shape of the input of a batch, samples first.
        config: A dict with keys of docs/guide/training.md: loss, optimizer, learning_rate, schedule, clip_norm, tween
            and others; None: none.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        isa: Instruction set, as "avx2"; None: the best one of this processor. No result depends on it.
        device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends on it.
        precision: "strict" (or None), or "fast": a graphics card need not be exact.
        **more: Further keys, as loss="mse", which replace those of `config`.

    Attributes:
        network: The network.

    Raises:
        ValueError: If a key is unknown or out of range, or the shape does not fit.

    >>> from welvet import Network
    >>> net = Network({"layers": [{"type": "dense", "in_features": 2, "out_features": 1}]})
    >>> trainer = Trainer(net, (4, 2), learning_rate=0.1)
    >>> steps = [trainer.step([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [2]]) for _ in range(50)]
    >>> steps[-1].loss < steps[0].loss
    True
    """

    def __init__(
        self,
        network: Network,
        shape: Shape,
        config: Json | None = None,
        *,
        threads: int | None = None,
        isa: str | None = None,
        device: str | None = None,
        precision: Precision | None = None,
        **more: Any,
    ) -> None:
        network_handle, data = handle_of(network), _native.config_of(config, more)
        options = _native.compute(threads, isa, device, precision)
        extents = _tensors.shape_of(shape, "shape")
        self.network = network
        self._watches = Watches()
        self._handle = _native.make(
            library.loom_trainer_create, network_handle, data, len(data), extents, len(extents), options
        )

    def step(self, inputs: Numbers, targets: Numbers | None = None, *, classes: Numbers | None = None) -> Step:
        """Learns from one batch. A step with numbers that are not finite is skipped.

        Args:
            inputs: Numbers [samples, ...].
            targets: Numbers in the shape of the output.
            classes: In place of targets, an id from 0 per row of the output, for losses as "softmax_crossentropy".

        Returns:
            The outcome.

        Raises:
            ValueError: If inputs, targets or classes do not fit.
        """
        batch, _keeps = _tensors.batch(inputs, targets, classes)
        out = _abi.TrainingStep()
        status = library.loom_trainer_step(self._handle.value, ctypes.byref(batch), 0, ctypes.byref(out))
        if self._watches.is_set:
            self._watches.raise_again()
        _native.check(status)
        why = ctypes.string_at(out.why, out.why_size).decode("utf-8", "replace") if out.why_size else ""
        return Step(out.loss, out.learning_rate, out.gradient_norm, bool(out.skipped), why)

    def evaluate(
        self, inputs: Numbers, targets: Numbers | None = None, *, classes: Numbers | None = None
    ) -> tuple[float, Array]:
        """Runs the network on a batch without learning.

        Args:
            inputs: Numbers [samples, ...].
            targets: Numbers in the shape of the output.
            classes: In place of targets, an id from 0 per row of the output.

        Returns:
            The loss, and the output, an array.

        Raises:
            ValueError: If inputs, targets or classes do not fit.
        """
        batch, _keeps = _tensors.batch(inputs, targets, classes)
        loss, output = ctypes.c_double(), _abi.Tensor()
        status = library.loom_trainer_evaluate(
            self._handle.value, ctypes.byref(batch), ctypes.byref(loss), ctypes.byref(output)
        )
        if self._watches.is_set:
            self._watches.raise_again()
        _native.check(status)
        return loss.value, _tensors.array_of(output)

    def watch(self, callback: Callable[[LayerEvent], object] | None) -> None:
        """Calls a function after every layer of the steps to come. No bit of a result changes.

        Args:
            callback: Function that takes a LayerEvent; returning False ends the watch. An exception in it ends the
                watch and the step raises it. None: ends the watch.
        """
        self._watches.set_layers(library.loom_trainer_watch, self._handle.value, callback)

    def watch_windows(self, layers: int, callback: Callable[[Window], object] | None) -> None:
        """Calls a function after every so many layers of the steps to come. It runs beside watch().

        Args:
            layers: Number of layers of a window.
            callback: Function that takes a Window, under the rules of watch(). None: ends the watch.
        """
        self._watches.set_windows(library.loom_trainer_watch_windows, self._handle.value, layers, callback)

    def report_to(self, address: str | None) -> None:
        """Sends a report of every layer of the steps to come to another program, as Session.report_to() does.

        Args:
            address: "http://HOST:PORT/PATH" for a POST each, "tanhi://HOST:PORT" for a datagram each; None: ends it.

        Raises:
            ValueError: If the address has another form.
        """
        report_to(library.loom_trainer_report_to, self._handle.value, address)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, for schedules that count epochs.

        Args:
            epoch: Number of the epoch, from 0.
        """
        _native.check(library.loom_trainer_set_epoch(self._handle.value, _native.whole(epoch, "epoch", 0, 2**40)))

    def observe(self, metric: float) -> None:
        """Gives the schedule "plateau" a validation metric.

        Args:
            metric: The metric; less is better.
        """
        _native.check(library.loom_trainer_observe(self._handle.value, _native.real(metric, "metric")))

    def _described(self) -> str:
        info = self.info
        return f"of {self.network!r}: {info['steps']} steps, learning rate {info['learning_rate']:g}"

    @property
    def info(self) -> Json:
        """A dict: steps, skipped steps, learning rate, memory in bytes."""
        return _native.record(library.loom_trainer_info, self._handle.value)
