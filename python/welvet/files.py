"""Model and network files."""

from __future__ import annotations

import ctypes

from . import _abi, _native, _tensors
from ._native import library
from .lm.encoder import Encoder
from .lm.model import LM
from .nn.graph import Graph
from .nn.network import Network

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from typing import Any, Literal

    from ._types import Function, Json, Path, Shape, Told


def load(
    path: Path,
    *,
    hints: Path | None = None,
    strict: bool = True,
    dtype: str | None = None,
    threads: int | None = None,
    progress: Told | bool | None = None,
) -> Network | LM | Encoder | Graph:
    """Opens a model or network file, or a folder, by its contents.

    Args:
        path: The file or folder.
        hints: A JSON file about bare tensors (.safetensors, .npz), for facts that shapes do not show
            (docs/reference/formats.md).
        strict: True refuses unknown keys of a network's spec; False is for networks alone.
        dtype: Numeric type that the matrices of a model or an encoder are quantised to, as "int8"; None: as stored.
        threads: Workers of a model, an encoder or a graph, not of a network; None: one per physical core.
        progress: Function that is called with the part that is loaded, from 0 to 1; returning False cancels. True shows
            a bar, if tqdm is installed and stderr is a terminal.

    Returns:
        A Network, an LM, an Encoder or a Graph.

    Raises:
        NotFoundError: If there is no such file.
        ValueError: If the kind of file does not use `dtype`, `threads` or `strict`.
        LoomError: If its contents are something else (Unsupported) or damaged (CorruptData).
    """
    options = _abi.FileOpenOptions(
        hints=_native.utf8(hints, "hints") if hints else None,
        compute=_native.compute(threads),
        dtype=_native.utf8(dtype, "dtype") if dtype else None,
        lenient=not _native.truth(strict, "strict"),
    )
    handle, report, kind = _native.Handle(), _native.Handle(), ctypes.c_int32()
    cancel = _native.make(library.loom_cancel_create)
    options.cancel, name = cancel.value, _native.utf8(path, "path")

    def run() -> None:
        _native.check(
            library.loom_file_open(
                name, ctypes.byref(options), ctypes.byref(handle._holder), ctypes.byref(report._holder)
            )
        )

    with _native.Progress(progress) as told:
        options.progress = told.callback
        _native.long_call(run, cancel)
    _native.check(library.loom_kind_of(handle.value, ctypes.byref(kind)))
    if kind.value == _abi.KIND_NETWORK:
        return Network._of(handle)
    if kind.value == _abi.KIND_MODEL:
        return LM._of(handle, str(path), threads)
    return Encoder._of(handle) if kind.value == _abi.KIND_ENCODER else Graph._of(handle, threads)


def export(
    source: Path | Network,
    target: Path,
    *,
    input_shape: Shape | None = None,
    dequantize: bool = False,
    dtype: str | None = None,
    hints: Path | None = None,
    overwrite: bool = False,
    progress: Told | bool | None = None,
) -> Json:
    """Writes a network or a language model in a format of other programs.

    Args:
        source: A Network, or a file of a network or language model.
        target: FILE.onnx or FILE.safetensors of a network; FILE.gguf of a language model, or a folder as Hugging Face
            has it.
        input_shape: Shape of one sample, for ONNX; None: that of the network.
        dequantize: True writes integer weights of a network as float32.
        dtype: Numeric type of the matrices of a language model, as "float16"; None: as they are.
        hints: A JSON file about bare tensors, see load().
        overwrite: True replaces a file of another kind than the one that is written, too.
        progress: Function that is called with the part that is done, from 0 to 1; returning False cancels. True shows a
            bar.

    Returns:
        A report, a dict.

    Raises:
        NotFoundError: If there is no such file.
        ValueError: If the ending of `target` names no format, or `target` is a file of another kind.
        LoomError: If the format cannot express a part of the model (Unsupported); the message names it, and no byte is
            written.
    """
    shape = None if input_shape is None else _tensors.shape_of(input_shape, "input_shape")
    values = _abi.FileExportOptions(
        input_shape=shape,
        input_shape_count=0 if shape is None else len(shape),
        dequantize=_native.truth(dequantize, "dequantize"),
        dtype=_native.utf8(dtype, "dtype") if dtype else None,
        hints=_native.utf8(hints, "hints") if hints else None,
        overwrite=_native.truth(overwrite, "overwrite"),
    )
    function, of = (
        (library.loom_network_export, source._handle.value)
        if isinstance(source, Network)
        else (library.loom_file_export, _native.utf8(source, "source", "a Network or the path of a file"))
    )
    cancel, to = _native.make(library.loom_cancel_create), _native.utf8(target, "target")
    values.cancel = cancel.value
    with _native.Progress(progress) as told:
        values.progress = told.callback
        return _native.long_call(lambda: _native.record(function, of, to, ctypes.byref(values)), cancel)


def inspect(path: Path, *, tensors: bool = False) -> Json:
    """Describes a file of a language model or network, or a checkpoint, without loading it.

    Args:
        path: The file or folder.
        tensors: True lists the tensors of a model.

    Returns:
        A dict: format, types, sizes and more.

    Raises:
        NotFoundError: If there is no such file.
        LoomError: If the file is of another kind (Unsupported) or damaged (CorruptData).
    """
    return _native.record(library.loom_file_inspect, _native.utf8(path, "path"), _native.truth(tensors, "tensors"))


def _report(function: Function, first: tuple[bytes, ...], progress: Told | bool | None, **options: Any) -> Json:
    values = _abi.FileConvertOptions(**options)
    with _native.Progress(progress) as told:
        values.progress = told.callback
        return _native.record(function, *first, ctypes.byref(values))


def convert(
    source: Path,
    target: Path,
    *,
    dtype: str | None = None,
    adapter: Path | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Told | bool | None = None,
) -> Json:
    """Writes a language model of any format as .entity, whole or not at all.

    Args:
        source: The model.
        target: The .entity, which is replaced if it holds a language model.
        dtype: Numeric type of the matrices, as "int8"; None: as stored.
        adapter: Folder of an adapter that is merged; None: none.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        overwrite: True replaces a file of another kind than the one that is written, too.
        progress: Function that is called with the part that is done, from 0 to 1; returning False cancels. True shows a
            bar.

    Returns:
        A report, a dict.

    Raises:
        NotFoundError: If there is no such file.
        ValueError: If `target` has the ending of another format, or is a file of another kind.
        LoomError: If the file is not a language model (Unsupported) or damaged (CorruptData).
    """
    return _report(
        library.loom_file_convert,
        (_native.utf8(source, "source"), _native.utf8(target, "target")),
        progress,
        dtype=_native.utf8(dtype, "dtype") if dtype else None,
        adapter=_native.utf8(adapter, "adapter") if adapter else None,
        compute=_native.compute(threads),
        overwrite=_native.truth(overwrite, "overwrite"),
    )


def quantize(
    source: Path, target: Path, dtype: str, *, overwrite: bool = False, progress: Told | bool | None = None
) -> Json:
    """Writes a GGUF file with the matrices of another one in another type.

    Args:
        source: A GGUF file.
        target: The GGUF file that is written, and replaced if it is one.
        dtype: Type of the matrices, as "q4_0".
        overwrite: True replaces a file of another kind than the one that is written, too.
        progress: Function that is called with the part that is done, from 0 to 1; returning False cancels. True shows a
            bar.

    Returns:
        A report, a dict.

    Raises:
        NotFoundError: If there is no such file.
        ValueError: If there is no such type, or `target` has the ending of another format or is a file of another kind.
        CancelledError: If `progress` returned False.
    """
    return _report(
        library.loom_file_quantize,
        (_native.utf8(source, "source"), _native.utf8(target, "target"), _native.utf8(dtype, "dtype")),
        progress,
        overwrite=_native.truth(overwrite, "overwrite"),
    )


def schema(file: Literal["network", "training", "evolution"] = "network") -> Json:
    """Returns the JSON Schema of a file that Loom reads.

    Args:
        file: "network", "training" or "evolution".

    Returns:
        The schema, a dict.
    """
    files = {"network": _abi.SCHEMA_NETWORK, "training": _abi.SCHEMA_TRAINING, "evolution": _abi.SCHEMA_EVOLUTION}
    if file not in files:
        raise ValueError(f"file is {file!r}: expected one of {', '.join(files)}")
    return _native.record(library.loom_file_schema, files[file])
