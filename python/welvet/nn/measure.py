"""Measurements of models that learn, of numeric types and of ensembles (docs/guide/telemetry.md)."""

from __future__ import annotations

import ctypes
import json

from .. import _native, _tensors
from .._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import Array, DType, Json, Numbers


class AdaptationTracker(_native.Owner):
    """Measures how fast accuracy recovers after the task changes, for a network that learns while it runs.

    Args:
        window_ms: Length of a window that accuracy and throughput are counted in, in milliseconds from now on.
        total_ms: Length of the measurement, in milliseconds; later outputs are not counted.
        task: Name of the first task.

    Raises:
        ValueError: If a length is not above 0.

    >>> tracker = AdaptationTracker(100, 60_000, "xor")
    >>> tracker.record(True)
    >>> tracker.mark("and")
    >>> tracker.info["outputs"]
    1
    """

    def __init__(self, window_ms: float, total_ms: float, task: str = "") -> None:
        self._handle = _native.make(
            library.loom_adaptation_create,
            _native.real(window_ms, "window_ms"),
            _native.real(total_ms, "total_ms"),
            _native.utf8(task, "task"),
        )

    def record(self, correct: bool) -> None:
        """Counts an output.

        Args:
            correct: Whether it was right.
        """
        _native.check(library.loom_adaptation_record(self._handle.value, _native.truth(correct, "correct")))

    def mark(self, task: str) -> None:
        """Marks a change of the task, now.

        Args:
            task: Name of the new task.
        """
        _native.check(library.loom_adaptation_mark(self._handle.value, _native.utf8(task, "task")))

    @property
    def info(self) -> Json:
        """A dict: windows, changes, outputs, accuracy, throughput, availability, score.

        Each of the changes has the accuracy before it and the time to recover.
        """
        return _native.record(library.loom_adaptation_info, self._handle.value)


def simulate_precision(values: Numbers, dtype: str) -> Array:
    """Encodes numbers in a numeric type, with the scales of a matrix of such rows, and decodes them.

    Args:
        values: Numbers in any shape; the last axis is a row.
        dtype: One of the 21 types, as "int8".

    Returns:
        An array of float32 in the same shape.

    Raises:
        ValueError: If there is no such type.

    >>> simulate_precision([1 / 3], "bfloat16").tolist()
    [0.333984375]
    """
    taken = _tensors.given(values, "values")
    out, pointer, count = _tensors.room(taken.shape)
    columns = taken.shape[-1] if taken.shape else 0
    _native.check(
        library.loom_dtype_simulate(taken.pointer, taken.count, columns, _native.utf8(dtype, "dtype"), pointer, count)
    )
    return out


def complementary_matches(right: Sequence[Sequence[bool]], min_coverage: float = 0.0) -> list[Json]:
    """Finds pairs of models that complete each other.

    Args:
        right: For each model a list of bool, whether it gets each case right.
        min_coverage: Smallest part of the cases that one of both gets right, 0 to 1.

    Returns:
        A list of dicts, the best pair first: a and b (places of the models), coverage, overlap, and cosine, which is
        performance_similarity() of both.

    Raises:
        ValueError: If the models have different numbers of cases.

    >>> complementary_matches([[1, 1, 0, 0], [0, 0, 1, 1]], 0.9)[0]["coverage"]
    1.0
    """
    rows = [_cases(row, "right") for row in _native.items(right, "right", "a list of lists of bool")]
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"right: expected as many cases of each model, got {sorted({len(row) for row in rows})}")
    data = b"".join(rows)
    return list(
        json.loads(
            _native.blob(
                library.loom_matches_find, data, len(data), len(rows), _native.real(min_coverage, "min_coverage")
            )
        )
    )


def performance_similarity(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Compares the cases that two models get right.

    Args:
        first: For each case, whether the first model gets it right.
        second: For each case, whether the second model does.

    Returns:
        The cosine: 1 if they get the same cases right, 0 if they have none in common.

    Raises:
        ValueError: If the models have different numbers of cases.

    >>> round(performance_similarity([1, 1, 0, 0], [1, 0, 1, 0]), 6)
    0.5
    """
    a, b = _cases(first, "first"), _cases(second, "second")
    cosine = ctypes.c_double()
    _native.check(library.loom_matches_similarity(a, len(a), b, len(b), ctypes.byref(cosine)))
    return cosine.value


def _cases(row: Sequence[bool], what: str) -> bytes:
    return bytes(_native.truth(case, f"a case of {what}") for case in _native.items(row, what, "a list of bool"))


def tile_sizes(kind: str, dtype: DType = "float32", *, isa: str | None = None) -> Json:
    """Returns the tiles into which the kernels of a layer kind divide its work. No bit of a result depends on them.

    Args:
        kind: "dense", "swiglu", "rnn", "lstm", "gru", "mha", "cnn1" to "cnn3", "convtransposed1" to "convtransposed3",
            or "attention".
        dtype: Numeric type of the weights.
        isa: Instruction set, as "avx2"; None: the best one of this processor.

    Returns:
        A dict with cpu and gpu, each a dict with the rows and outputs of a tile; gpu is None if the kind runs on the
        CPU alone in that type.

    Raises:
        ValueError: If there is no such kind, type or instruction set.

    >>> tile_sizes("dense", "int8")["cpu"]
    {'rows': 16, 'outputs': 16}
    """
    return _native.record(
        library.loom_layer_kind_tiles,
        _native.utf8(kind, "kind"),
        _native.utf8(dtype, "dtype"),
        _native.utf8(isa, "isa") if isa else None,
    )
