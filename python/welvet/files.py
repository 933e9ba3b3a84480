"""Files of models and networks."""

from __future__ import annotations

import ctypes

from . import _abi, _native
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from typing import Any, Literal

    from ._types import Function, Json, Path, Told


def inspect(path: Path, *, tensors: bool = False) -> Json:
    """Returns what a file holds, a dict: a language model, a network, a checkpoint. tensors: lists those of a model.

    NotFoundError where there is no such file, LoomError with the code Unsupported for one of another kind.
    """
    return _native.record(library.loom_inspect, _native.utf8(path, "path"), tensors)


def _report(function: Function, first: tuple[bytes, ...], progress: Told | bool | None, **options: Any) -> Json:
    values = _abi.ConvertOptions(**options)
    with _native.Progress(progress) as told:
        values.progress = told.callback
        return _native.record(function, *first, ctypes.byref(values))


def convert(source: Path, target: Path, *, dtype: str | None = None, adapter: Path | None = None,
            threads: int | None = None, progress: Told | bool | None = None) -> Json:
    """Writes a language model of any format as .entity, whole or not at all; returns a report, a dict.

    dtype: matrices to this type. adapter: folder of an adapter to merge. progress: called with a part from 0 to 1; True shows a bar by tqdm.
    """
    return _report(library.loom_convert, (_native.utf8(source, "source"), _native.utf8(target, "target")), progress,
                   dtype=_native.utf8(dtype, "dtype") if dtype else None,
                   adapter=_native.utf8(adapter, "adapter") if adapter else None,
                   thread_count=0 if threads is None else _native.whole(threads, "threads", 1, 256))


def quantize(source: Path, target: Path, dtype: str, *, progress: Told | bool | None = None) -> Json:
    """Writes a GGUF file with the matrices of another one in a type, as "q4_0"; returns a report, a dict.

    progress: called with the part that is done, from 0 to 1; returning False cancels, a CancelledError.
    """
    return _report(library.loom_quantize, (_native.utf8(source, "source"), _native.utf8(target, "target"),
                                           _native.utf8(dtype, "dtype")), progress)


def schema(file: Literal["network", "training", "evolution"] = "network") -> Json:
    """Returns the JSON Schema of a file that Loom reads: "network", "training" or "evolution"."""
    files = {"network": _abi.SCHEMA_NETWORK, "training": _abi.SCHEMA_TRAINING, "evolution": _abi.SCHEMA_EVOLUTION}
    if file not in files:
        raise ValueError(f"file is {file!r}: expected one of {', '.join(files)}")
    return _native.record(library.loom_schema, files[file])
