"""Measurements of models that learn, of numeric types and of ensembles (docs/guide/telemetry.md)."""

from __future__ import annotations

import ctypes
import json

from . import _native, _tensors
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._types import Array, DType, Json, Numbers


class AdaptationTracker(_native.Owner):
    """Measures how fast accuracy recovers after the task of a network changes that learns while it runs.

    window_ms: accuracy and throughput are counted in windows of so many milliseconds, from now on.
    total_ms: what comes later is not counted. task: the name of the first task.

    >>> tracker = AdaptationTracker(100, 60_000, "xor")
    >>> tracker.record(True)
    >>> tracker.mark("and")
    >>> tracker.info["outputs"]
    1
    """

    def __init__(self, window_ms: float, total_ms: float, task: str = "") -> None:
        self._handle = _native.make(library.loom_adaptation_create, _native.real(window_ms, "window_ms"),
                                    _native.real(total_ms, "total_ms"), _native.utf8(task, "task"))

    def record(self, correct: bool) -> None:
        """Counts an output, which was right or not."""
        _native.check(library.loom_adaptation_record(self._handle.value, bool(correct)))

    def mark(self, task: str) -> None:
        """The task changes now."""
        _native.check(library.loom_adaptation_mark(self._handle.value, _native.utf8(task, "task")))

    @property
    def info(self) -> Json:
        """A dict: windows so far, changes with accuracy before them and time to recover, accuracy, throughput,
        availability, score."""
        return _native.record(library.loom_adaptation_info, self._handle.value)


def simulate_precision(values: Numbers, dtype: str) -> Array:
    """Returns what numbers become in a numeric type: encoded, with the scales of a matrix of such rows, and decoded.

    values: of any shape; the last axis is a row. dtype: one of the 21 types, as "int8".

    >>> simulate_precision([1 / 3], "bfloat16").tolist()
    [0.333984375]
    """
    taken = _tensors.given(values, "values")
    out, pointer, count = _tensors.room(taken.shape)
    columns = taken.shape[-1] if taken.shape else 0
    _native.check(library.loom_simulate_precision(taken.pointer, taken.count, columns, _native.utf8(dtype, "dtype"),
                                                  pointer, count))
    return out


def complementary_matches(right: Sequence[Sequence[bool]], min_coverage: float = 0.0) -> list[Json]:
    """Finds models that complete each other; returns dicts with a, b, coverage, overlap and cosine, the best first.

    right: for each model, whether it gets each case right. min_coverage: of the cases that one of both gets right.
    cosine: as performance_similarity() of both.

    >>> complementary_matches([[1, 1, 0, 0], [0, 0, 1, 1]], 0.9)[0]["coverage"]
    1.0
    """
    rows = [bytes(bool(case) for case in row) for row in right]
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"right: expected as many cases of each model, got {sorted({len(row) for row in rows})}")
    data = b"".join(rows)
    return list(json.loads(_native.blob(library.loom_complementary_matches, data, len(data), len(rows),
                                        _native.real(min_coverage, "min_coverage"))))


def performance_similarity(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Returns the cosine of the cases that two models get right: 1 where they are the same, 0 where none is.

    >>> round(performance_similarity([1, 1, 0, 0], [1, 0, 1, 0]), 6)
    0.5
    """
    a, b = (bytes(bool(case) for case in row) for row in (first, second))
    cosine = ctypes.c_double()
    _native.check(library.loom_performance_similarity(a, len(a), b, len(b), ctypes.byref(cosine)))
    return cosine.value


def tile_sizes(kind: str, dtype: DType = "float32", *, isa: str | None = None) -> Json:
    """Returns how the kernels of a layer kind divide its work: a dict with cpu and gpu, the rows and outputs that go
    together.

    kind: "dense", "swiglu", "rnn", "lstm", "gru", "mha", "cnn1" to "cnn3", "convtransposed1" to "convtransposed3", or
    "attention". dtype: of the weights. isa: instruction set, as "avx2"; None: the best one of this processor.
    gpu is None where the kind runs on the CPU alone in that type. No bit of a result depends on these sizes.

    >>> tile_sizes("dense", "int8")["cpu"]
    {'rows': 16, 'outputs': 16}
    """
    return _native.record(library.loom_tile_sizes, _native.utf8(kind, "kind"), _native.utf8(dtype, "dtype"),
                          _native.utf8(isa, "isa") if isa else None)
