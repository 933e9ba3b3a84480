"""Whole trainings: data, epochs, validation, checkpoints, journal, by a config (docs/guide/training.md)."""

from __future__ import annotations

import ctypes
import json

from . import _abi, _native, _tensors
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal
    
    from .network import Network

    from ._types import Function, Json, Numbers, Path, Precision, Start, Tick

_EVENTS = ("begin", "epoch_begin", "batch_begin", "batch_end", "validation_end", "checkpoint", "epoch_end", "end")
_STARTS = {"fresh": _abi.RUN_FRESH, "resume": _abi.RUN_RESUME, "overwrite": _abi.RUN_OVERWRITE}


class Run:
    """A training that has ended: `outcome` is a dict with stop reason, losses by epoch, hash and metrics.

    A notebook shows it as the curve of its losses.
    """

    def __init__(self, outcome: Json) -> None:
        self.outcome = outcome

    @property
    def losses(self) -> list[float]:
        """Mean loss of each epoch."""
        out: list[float] = self.outcome.get("loss_history", [])
        return out

    @property
    def hash(self) -> str:
        """SHA-256 of the final weights, hexadecimal."""
        return str(self.outcome.get("hash", ""))

    @property
    def stop_reason(self) -> str:
        """finished, early_stop, stopped or diverged."""
        return str(self.outcome.get("stop_reason", ""))

    def __repr__(self) -> str:
        loss = f", loss {self.losses[-1]:.6g}" if self.losses else ""
        return f"<welvet.Run {self.stop_reason}: {len(self.losses)} epochs{loss}>"

    def _repr_svg_(self) -> str:
        return curve(self.losses)


def curve(losses: Sequence[float], width: int = 480, height: int = 200) -> str:
    """Returns a picture of losses by epoch, SVG."""
    left, top, right, bottom = 56, 16, width - 12, height - 28
    shown = [v for v in losses if v == v and abs(v) != float("inf")]
    low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
    high = high if high > low else low + 1.0

    def place(i: int, v: float) -> str:
        x = left + (right - left) * (i / max(len(losses) - 1, 1))
        return f"{x:.1f},{bottom - (bottom - top) * (v - low) / (high - low):.1f}"

    points = " ".join(place(i, v) for i, v in enumerate(losses) if v == v and abs(v) != float("inf"))
    label = 'font-family="sans-serif" font-size="11" fill="#444"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
            f'<rect width="100%" height="100%" fill="#fff"/>'
            f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#999"/>'
            f'<polyline points="{points}" fill="none" stroke="#2a6fb0" stroke-width="2"/>'
            f'<text x="{left - 6}" y="{top + 4}" text-anchor="end" {label}>{high:.3g}</text>'
            f'<text x="{left - 6}" y="{bottom}" text-anchor="end" {label}>{low:.3g}</text>'
            f'<text x="{left}" y="{height - 8}" {label}>epoch 1</text>'
            f'<text x="{right}" y="{height - 8}" text-anchor="end" {label}>{len(losses)}</text></svg>')


class _Bar:
    """A bar by tqdm, where it is installed and somebody looks on."""

    def __init__(self) -> None:
        self._bar = _native.bar(unit="epoch")

    def tell(self, about: Json) -> None:
        """Shows an event."""
        if self._bar is None:
            return
        self._bar.total = about["epochs"]
        if about["event"] == "epoch_end":
            self._bar.set_postfix(loss=about["loss"])
            self._bar.update(1)

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()


class _Options:
    """Options of a run for the length of a call, and what was raised in its progress."""

    def __init__(self, out: Path | None, folder: Path | None, start: str, epochs: int | None, threads: int | None,
                 isa: str | None, progress: Tick | Literal[False] | None, device: str | None = None,
                 precision: Precision | None = None) -> None:
        if start not in _STARTS:
            raise ValueError(f"start is {start!r}: expected one of {', '.join(_STARTS)}")
        self._told, self._bar = progress, _Bar() if progress is None else None
        self._raised: BaseException | None = None
        self._callback = _abi.OnTraining(self._tell)
        self.cancel = _native.make(library.loom_cancel_create)
        self.values = _abi.TrainOptions(
            out=_native.utf8(out, "out") if out else None, folder=_native.utf8(folder, "folder") if folder else None,
            start=_STARTS[start], epochs=0 if epochs is None else _native.whole(epochs, "epochs", 1, 10**6),
            thread_count=0 if threads is None else _native.whole(threads, "threads", 1, 256),
            isa=_native.utf8(isa, "isa") if isa else None, cancel=self.cancel.value, progress=self._callback,
            device=_native.device_name(device, precision))

    def _tell(self, _: int | None, event: int, epoch: int, epochs: int, batch: int, batches: int, loss: float,
              learning_rate: float, validation: bytes | None) -> bool:
        try:
            about = {"event": _EVENTS[event], "epoch": epoch, "epochs": epochs, "batch": batch, "batches": batches,
                     "loss": loss, "learning_rate": learning_rate,
                     "validation": json.loads(validation) if validation else None}
            if self._bar is not None:
                self._bar.tell(about)
                return True
            return not self._told or self._told(about) is not False
        except BaseException as error:  # it must not unwind through C
            self._raised = error
            return False

    def run(self, function: Function, *args: object) -> Json:
        """Calls a function that ends with options and an outcome."""
        try:
            out = _native.long_call(lambda: _native.record(function, *args, ctypes.byref(self.values)), self.cancel)
        finally:
            if self._bar is not None:
                self._bar.close()
        if self._raised is not None:
            raise self._raised from None
        return out


def train(config: Json | Path, network: Network | None = None, inputs: Numbers | None = None,
          targets: Numbers | None = None, *, classes: Numbers | None = None,
          validation: tuple[Numbers, Numbers] | None = None, out: Path | None = None, folder: Path | None = None,
          start: Start = "fresh", epochs: int | None = None, threads: int | None = None, isa: str | None = None,
          progress: Tick | Literal[False] | None = None, device: str | None = None,
          precision: Precision | None = None) -> Run:
    """Runs a whole training and returns a Run.

    config: a dict with the keys of docs/guide/training.md, or the path of such a file.
    network: a Network that learns where it is; None: the config names one.
    inputs, and targets or classes: samples in memory, in place of the config's data; validation: a pair of inputs and
    targets (or classes), likewise.
    out: folder of the run, with journal, checkpoint, model and report; None: none, or beside a config file.
    start: "fresh", "resume" or "overwrite". progress: called with a dict at every event, returning False ends the run;
    None: a bar where tqdm is installed and stderr is a terminal; False: nothing.
    device: "cpu" (or None), "auto" or a card of gpu_report(), as "gpu". Weights and journal do not depend on it.
    precision: "strict" (or None), or "fast": a card need not be exact; the journal then says so, and replay() refuses it.
    """
    options = _Options(out, folder, start, epochs, threads, isa, progress, device, precision)
    if not isinstance(config, dict):
        if network is not None or inputs is not None:
            raise TypeError("a config file names its network and data: give a dict beside those in memory")
        return Run(options.run(library.loom_train_file, _native.utf8(config, "config")))
    data, batch, held = _native.to_json(config), None, None
    if inputs is not None:
        batch, _keeps = _tensors.batch(inputs, targets, classes)
    if validation is not None:
        first, second = validation
        held, _keeps_too = _tensors.batch(first, second if classes is None else None,
                                          None if classes is None else second)
    return Run(options.run(library.loom_train, data, len(data), 0 if network is None else network._handle.value,
                           ctypes.byref(batch) if batch else None, ctypes.byref(held) if held else None))


def replay(run: Path, *, folder: Path | None = None, threads: int | None = None, isa: str | None = None,
           progress: Tick | Literal[False] | None = None, device: str | None = None) -> Json:
    """Does the run of a journal again and compares every hash, loss and metric; returns a dict.

    LoomError with the first line that differs.
    """
    options = _Options(None, folder, "fresh", None, threads, isa, progress, device)
    return options.run(library.loom_replay, _native.utf8(run, "run"))
