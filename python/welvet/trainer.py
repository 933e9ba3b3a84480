"""Networks that learn, step by step, from batches of the caller."""

from __future__ import annotations

import ctypes
import dataclasses

from . import _abi, _native, _tensors
from ._native import library
from .watch import LayerEvent, Watches, Window, report_to

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .network import Network

    from ._types import Array, Json, Numbers, Precision, Shape


@dataclasses.dataclass(frozen=True)
class Step:
    """What one step did: loss of the batch before it, learning rate, gradient norm where the config clips by it.

    skipped: a loss, a gradient or an update was not finite, and everything is as before; why: what it was.
    """

    loss: float
    learning_rate: float
    gradient_norm: float
    skipped: bool
    why: str


class Trainer(_native.Owner):
    """A network that learns.

    network: it learns where it is; nobody else may change it meanwhile.
    shape: of the input of a batch, samples first.
    config: a dict with keys of docs/guide/training.md: loss, optimizer, learning_rate, schedule, clip_norm, tween, ...
    threads: workers; None: one per physical core. The weights do not depend on it.
    device: "cpu" (or None), "auto" or a card of gpu_report(), as "gpu". The weights do not depend on it; they come from
    there when something else reads them.

    >>> from welvet import Network
    >>> net = Network({"layers": [{"type": "dense", "input_height": 2, "output_height": 1}]})
    >>> trainer = Trainer(net, (4, 2), learning_rate=0.1)
    >>> steps = [trainer.step([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [2]]) for _ in range(50)]
    >>> steps[-1].loss < steps[0].loss
    True
    """

    def __init__(self, network: Network, shape: Shape, config: Json | None = None, *, threads: int | None = None,
                 isa: str | None = None, device: str | None = None, precision: Precision | None = None, **more: Any) -> None:
        data = _native.to_json({**(config or {}), **more})
        options = _abi.TrainerOptions(
            thread_count=0 if threads is None else _native.whole(threads, "threads", 1, 256),
            isa=_native.utf8(isa, "isa") if isa else None, device=_native.device_name(device, precision))
        extents = _tensors.shape_of(shape, "shape")
        self.network = network
        self._watches = Watches()
        self._handle = _native.make(library.loom_trainer_create, network._handle.value, data, len(data), extents,
                                    len(extents), ctypes.byref(options))

    def step(self, inputs: Numbers, targets: Numbers | None = None, *, classes: Numbers | None = None) -> Step:
        """Learns from one batch and returns what it did, a Step.

        inputs: [samples, ...]. targets: in the shape of the output; or classes: an id from 0 per row of the output, for
        losses as "softmax_crossentropy". ValueError where they do not fit. Numbers that are not finite raise nothing:
        the step is skipped, and its `why` names the layer.
        """
        batch, _keeps = _tensors.batch(inputs, targets, classes)
        out = _abi.TrainingStep()
        status = library.loom_trainer_step(self._handle.value, ctypes.byref(batch), 0, ctypes.byref(out))
        if self._watches.is_set:
            self._watches.raise_again()
        _native.check(status)
        why = ctypes.string_at(out.why, out.why_size).decode("utf-8", "replace") if out.why_size else ""
        return Step(out.loss, out.learning_rate, out.gradient_norm, bool(out.skipped), why)

    def evaluate(self, inputs: Numbers, targets: Numbers | None = None, *,
                 classes: Numbers | None = None) -> tuple[float, Array]:
        """Returns the loss of a batch, parameters as those of step(), and the network's output; no weight changes."""
        batch, _keeps = _tensors.batch(inputs, targets, classes)
        loss, pointer, count = ctypes.c_double(), ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        shape, rank = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        status = library.loom_trainer_evaluate(
            self._handle.value, ctypes.byref(batch), ctypes.byref(loss), ctypes.byref(pointer), ctypes.byref(count),
            ctypes.byref(shape), ctypes.byref(rank))
        if self._watches.is_set:
            self._watches.raise_again()
        _native.check(status)
        return loss.value, _tensors.copied(pointer, count.value, tuple(shape[:rank.value]))

    def watch(self, told: Callable[[LayerEvent], object] | None) -> None:
        """Calls told(event) with a LayerEvent behind every layer of the steps to come, as Session.watch() does."""
        self._watches.set_layers(library.loom_trainer_watch, self._handle.value, told)

    def watch_windows(self, layers: int, told: Callable[[Window], object] | None) -> None:
        """Calls told(window) with a Window after every so many layers of the steps to come, as
        Session.watch_windows() does."""
        self._watches.set_windows(library.loom_trainer_watch_windows, self._handle.value, layers, told)

    def report_to(self, address: str | None) -> None:
        """Sends a report of every layer of the steps to come to a program that listens, as Session.report_to() does."""
        report_to(library.loom_trainer_report_to, self._handle.value, address)

    def set_epoch(self, epoch: int) -> None:
        """Tells schedules that count epochs which one it is, from 0."""
        _native.check(library.loom_trainer_set_epoch(self._handle.value, _native.whole(epoch, "epoch", 0, 2**40)))

    def observe(self, metric: float) -> None:
        """Gives the schedule "plateau" a validation metric."""
        _native.check(library.loom_trainer_observe(self._handle.value, metric))

    def _described(self) -> str:
        info = self.info
        return f"of {self.network!r}: {info['steps']} steps, learning rate {info['learning_rate']:g}"

    @property
    def info(self) -> Json:
        """Steps, skipped ones, learning rate, memory in bytes, a dict."""
        return _native.record(library.loom_trainer_info, self._handle.value)
