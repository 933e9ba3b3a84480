"""Whole trainings: data, epochs, validation, checkpoints, journal, by a config (docs/guide/training.md)."""

from __future__ import annotations

import ctypes
import json

from .. import _abi, _native, _tensors
from .._native import library
from ..nn.network import handle_of

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from .._types import Function, Json, Numbers, Path, Precision, Start, Tick
    from ..nn.network import Network

_EVENTS = ("begin", "epoch_begin", "batch_begin", "batch_end", "validation_end", "checkpoint", "epoch_end", "end")
_STARTS = {"fresh": _abi.RUN_FRESH, "resume": _abi.RUN_RESUME, "overwrite": _abi.RUN_OVERWRITE}


class Run:
    """A training that has ended. A notebook shows it as the curve of its losses.

    Attributes:
        outcome: A dict with stop reason, losses by epoch, hash and metrics.
    """

    def __init__(self, outcome: Json) -> None:
        self.outcome = outcome

    @property
    def losses(self) -> list[float]:
        """The mean loss of each epoch, a list of float; nan for one that was not finite."""
        return [float("nan") if loss is None else loss for loss in self.outcome.get("loss_history", [])]

    @property
    def hash(self) -> str:
        """The SHA-256 of the final weights, hexadecimal."""
        return str(self.outcome.get("hash", ""))

    @property
    def stop_reason(self) -> str:
        """ "finished", "early_stop", "stopped" or "diverged"."""
        return str(self.outcome.get("stop_reason", ""))

    def __repr__(self) -> str:
        loss = f", loss {self.losses[-1]:.6g}" if self.losses else ""
        return f"<welvet.Run {self.stop_reason}: {len(self.losses)} epochs{loss}>"

    def _repr_svg_(self) -> str:
        return curve(self.losses)


def curve(losses: Sequence[float], width: int = 480, height: int = 200) -> str:
    """Draws losses by epoch, as SVG."""
    left, top, right, bottom = 56, 16, width - 12, height - 28
    shown = [v for v in losses if v == v and abs(v) != float("inf")]
    low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
    high = high if high > low else low + 1.0

    def place(i: int, v: float) -> str:
        x = left + (right - left) * (i / max(len(losses) - 1, 1))
        return f"{x:.1f},{bottom - (bottom - top) * (v - low) / (high - low):.1f}"

    points = " ".join(place(i, v) for i, v in enumerate(losses) if v == v and abs(v) != float("inf"))
    label = 'font-family="sans-serif" font-size="11" fill="#444"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#999"/>'
        f'<polyline points="{points}" fill="none" stroke="#2a6fb0" stroke-width="2"/>'
        f'<text x="{left - 6}" y="{top + 4}" text-anchor="end" {label}>{high:.3g}</text>'
        f'<text x="{left - 6}" y="{bottom}" text-anchor="end" {label}>{low:.3g}</text>'
        f'<text x="{left}" y="{height - 8}" {label}>epoch 1</text>'
        f'<text x="{right}" y="{height - 8}" text-anchor="end" {label}>{len(losses)}</text></svg>'
    )


class _Bar:
    """A bar by tqdm, if it is installed and stderr is a terminal."""

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
    """Options of a run for the length of a call, and the exception of its progress."""

    def __init__(
        self,
        out: Path | None,
        folder: Path | None,
        start: str,
        epochs: int | None,
        threads: int | None,
        isa: str | None,
        progress: Tick | Literal[False] | None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        if start not in _STARTS:
            raise ValueError(f"start is {start!r}: expected one of {', '.join(_STARTS)}")
        self._told = _native.callback(progress, "progress") if progress is not False else progress
        self._bar = _Bar() if progress is None else None
        self._raised: BaseException | None = None
        self._callback = _abi.OnTraining(self._tell)
        self.cancel = _native.make(library.loom_cancel_create)
        self.values = _abi.TrainingOptions(
            out=_native.utf8(out, "out") if out else None,
            folder=_native.utf8(folder, "folder") if folder else None,
            start=_STARTS[start],
            epochs=0 if epochs is None else _native.whole(epochs, "epochs", 1, 10**6),
            compute=_native.compute(threads, isa, device, precision),
            cancel=self.cancel.value,
            progress=self._callback,
        )

    def _tell(self, _: int | None, event: Any) -> bool:
        try:
            e = event.contents
            about = {
                "event": _EVENTS[e.phase],
                "epoch": e.epoch,
                "epochs": e.epochs,
                "batch": e.batch,
                "batches": e.batches,
                "loss": e.loss,
                "learning_rate": e.learning_rate,
                "validation": json.loads(e.validation) if e.validation else None,
                "stop_reason": library.loom_training_stop_name(e.stop).decode() or None,
            }
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


def train(
    config: Json | Path,
    network: Network | None = None,
    inputs: Numbers | None = None,
    targets: Numbers | None = None,
    *,
    classes: Numbers | None = None,
    validation: tuple[Numbers, Numbers] | None = None,
    out: Path | None = None,
    folder: Path | None = None,
    start: Start = "fresh",
    epochs: int | None = None,
    threads: int | None = None,
    isa: str | None = None,
    progress: Tick | Literal[False] | None = None,
    device: str | None = None,
    precision: Precision | None = None,
) -> Run:
    """Runs a whole training. Ctrl-C ends it after a step.

    Args:
        config: A dict with the keys of docs/guide/training.md, or the path of such a file.
        network: A network, which learns in place; None: the config names one.
        inputs: Samples [samples, ...], in place of the config's data.
        targets: Targets of the samples, in the shape of the output.
        classes: In place of targets, an id from 0 per row of the output.
        validation: A pair of inputs and targets (or classes), in place of the config's data.
        out: Folder of the run, with journal, checkpoint, model and report; None: none, or beside a config file.
        folder: Folder that relative paths of the config start from; None: that of the config file, or the current one.
        start: "fresh", "resume" or "overwrite".
        epochs: Number of epochs, in place of the config's.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        isa: Instruction set, as "avx2"; None: the best one of this processor. No result depends on it.
        progress: Function that is called with a dict at every event; returning False ends the run. None: a bar, if tqdm
            is installed and stderr is a terminal; False: nothing.
        device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends on it.
        precision: "strict" (or None), or "fast": a graphics card need not be exact; replay() refuses such a journal.

    Returns:
        The outcome.

    Raises:
        NotFoundError: If a file is missing.
        ValueError: If the config has an unknown or wrong key, the samples do not fit, or `out` holds a run and `start`
            is "fresh".
        TypeError: If a config file is given together with a network or samples.
    """
    options = _Options(out, folder, start, epochs, threads, isa, progress, device, precision)
    if not isinstance(config, dict):
        if network is not None or inputs is not None:
            raise TypeError("a config file names its network and data: give a dict beside those in memory")
        return Run(
            options.run(library.loom_training_run_file, _native.utf8(config, "config", "a dict or the path of a file"))
        )
    learner = 0 if network is None else handle_of(network)
    data, batch, held = _native.to_json(config), None, None
    if inputs is not None:
        batch, _keeps = _tensors.batch(inputs, targets, classes)
    if validation is not None:
        first, second = validation
        held, _keeps_too = _tensors.batch(
            first, second if classes is None else None, None if classes is None else second
        )
    return Run(
        options.run(
            library.loom_training_run,
            data,
            len(data),
            learner,
            ctypes.byref(batch) if batch else None,
            ctypes.byref(held) if held else None,
        )
    )


def replay(
    run: Path,
    *,
    folder: Path | None = None,
    threads: int | None = None,
    isa: str | None = None,
    progress: Tick | Literal[False] | None = None,
    device: str | None = None,
) -> Json:
    """Runs the training of a journal again, and compares every hash, loss and metric.

    Args:
        run: Folder of the run.
        folder: Folder that relative paths of the config start from; None: that of the run.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        isa: Instruction set, as "avx2"; None: the best one of this processor. No result depends on it.
        progress: As of train().
        device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends on it.

    Returns:
        A dict: the outcome.

    Raises:
        NotFoundError: If there is no such run.
        LoomError: If a line of the journal differs; the message has the first one.
    """
    options = _Options(None, folder, "fresh", None, threads, isa, progress, device)
    return options.run(library.loom_training_replay, _native.utf8(run, "run"))
