"""Files of models and networks."""

from __future__ import annotations

import ctypes

from . import _abi, _native, _tensors
from ._native import library
from .encoder import Encoder
from .graph import Graph
from .lm import LM
from .network import Network

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from typing import Any, Literal

    from ._types import Function, Json, Path, Shape, Told


def load(path: Path, *, hints: Path | None = None, strict: bool = True, dtype: str | None = None,
         threads: int | None = None, progress: Told | bool | None = None) -> Network | LM | Encoder | Graph:
    """Opens whatever a file or folder holds, and returns a Network, an LM, an Encoder or a Graph.

    hints: a JSON file of what the shapes of bare tensors (.safetensors, .npz) do not say, docs/reference/formats.md.
    strict: unknown keys of a network's spec are errors. dtype: quantises the matrices of a model or an encoder on load.
    threads: of a model, an encoder or a graph; None: one per physical core. progress: as that of LM.
    NotFoundError where there is no such file, LoomError with the code Unsupported or CorruptData for other contents.
    """
    count = 0 if threads is None else _native.whole(threads, "threads", 1, 256)
    options = _abi.LoadOptions(hints=_native.utf8(hints, "hints") if hints else None, thread_count=count,
                               dtype=_native.utf8(dtype, "dtype") if dtype else None, lenient=not strict)
    handle, report, kind = _native.Handle(), _native.Handle(), ctypes.c_int32()
    cancel = _native.make(library.loom_cancel_create)
    options.cancel, name = cancel.value, _native.utf8(path, "path")

    def run() -> None:
        _native.check(library.loom_load(name, ctypes.byref(options), ctypes.byref(handle._holder),
                                        ctypes.byref(report._holder)))

    with _native.Progress(progress) as told:
        options.progress = told.callback
        _native.long_call(run, cancel)
    _native.check(library.loom_kind_of(handle.value, ctypes.byref(kind)))
    if kind.value == _abi.KIND_NETWORK:
        return Network._of(handle)
    if kind.value == _abi.KIND_MODEL:
        return LM._of(handle, str(path), threads)
    return Encoder._of(handle) if kind.value == _abi.KIND_ENCODER else Graph._of(handle, threads)


def export(source: Path | Network, target: Path, *, input_shape: Shape | None = None, dequantize: bool = False,
           dtype: str | None = None, hints: Path | None = None, progress: Told | bool | None = None) -> Json:
    """Writes a network or a language model in the files of others; returns a report, a dict.

    source: a Network as it stands, or a file. target: of a network FILE.onnx or FILE.safetensors; of a language model
    FILE.gguf, or a folder as Hugging Face has it. input_shape: onnx, of one sample; None: the network's own.
    dequantize: integer weights of a network as float32. dtype: matrices of a language model to this type.
    hints: of a file of bare tensors. LoomError with the code Unsupported, before a byte is written, for what the format
    cannot express; it names the place.
    """
    shape = None if input_shape is None else _tensors.shape_of(input_shape, "input_shape")
    values = _abi.ExportOptions(input_shape=shape, input_shape_count=0 if shape is None else len(shape),
                                dequantize=dequantize, dtype=_native.utf8(dtype, "dtype") if dtype else None,
                                hints=_native.utf8(hints, "hints") if hints else None)
    function, of = ((library.loom_network_export, source._handle.value) if isinstance(source, Network) else
                    (library.loom_export_file, _native.utf8(source, "source")))
    cancel, to = _native.make(library.loom_cancel_create), _native.utf8(target, "target")
    values.cancel = cancel.value
    with _native.Progress(progress) as told:
        values.progress = told.callback
        return _native.long_call(lambda: _native.record(function, of, to, ctypes.byref(values)), cancel)


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
