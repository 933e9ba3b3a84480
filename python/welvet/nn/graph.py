"""ONNX models: tensors in by name, tensors out."""

from __future__ import annotations

import ctypes
import time

from .. import _abi, _native, _tensors
from .._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._types import AnyArray, Json, Numbers, Path, Precision, Self, Text


_BRIEF = 0.02  # seconds; a thread for each run of a small graph would take longer than the run


class Graph(_native.Owner):
    """An ONNX model of opset 7 or later: tensors in by name, tensors out.

    Several threads may share a Graph: their runs take turns.

    Args:
        path: An .onnx file, or an .entity with one.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        max_bytes: Most bytes of all values of a run; None: 16 GiB.
        device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends on it.
        precision: "strict" (or None), or "fast": a graphics card need not be exact.

    Attributes:
        info: A dict: inputs, outputs, opset, operations.

    Raises:
        NotFoundError: If there is no such file.
        LoomError: If Loom lacks an operation (Unsupported, the message lists all of them), or the file is damaged
            (CorruptData).

    >>> graph = Graph("silero_vad.onnx")  # doctest: +SKIP
    >>> graph({"input": sound, "state": state, "sr": 16000})["output"]  # doctest: +SKIP
    """

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        max_bytes: int | None = None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        options, place = _abi.GraphOptions(max_bytes=_bytes(max_bytes)), _native.device_name(device, precision)
        self._take(
            _native.make(library.loom_graph_open, _native.utf8(path, "path"), ctypes.byref(options)), threads, place
        )

    @classmethod
    def from_bytes(
        cls,
        data: Text,
        *,
        threads: int | None = None,
        max_bytes: int | None = None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> Self:
        """Reads the contents of a file. Tensors in other files cannot be read.

        Args:
            data: The contents of an .onnx file or of an .entity.
            threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
            max_bytes: Most bytes of all values of a run; None: 16 GiB.
            device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends on it.
            precision: "strict" (or None), or "fast": a graphics card need not be exact.

        Returns:
            The graph.

        Raises:
            LoomError: If Loom lacks an operation (Unsupported), or the contents are damaged (CorruptData).
        """
        content, options = _native.data_of(data, "data"), _abi.GraphOptions(max_bytes=_bytes(max_bytes))
        place = _native.device_name(device, precision)
        return cls._of(
            _native.make(library.loom_graph_from_memory, content, len(content), ctypes.byref(options)), threads, place
        )

    @classmethod
    def _of(cls, handle: _native.Handle, threads: int | None = None, device: bytes | None = None) -> Self:
        out = cls.__new__(cls)
        out._take(handle, threads, device)
        return out

    def _take(self, handle: _native.Handle, threads: int | None, device: bytes | None) -> None:
        self._handle, self._turns = handle, _native.Turns()
        self.info: Json = _native.record(library.loom_graph_info, handle.value)
        options = _native.compute(threads)
        options.contents.device = device
        self._session = _native.make(library.loom_graph_session_create, handle.value, options)
        self._brief: object = None  # shapes of the inputs of the last run, if it was a brief one

    @property
    def inputs(self) -> list[Json]:
        """The inputs, dicts: name, type as "float32", and shape as far as the file has it, "?" for any extent."""
        return list(self.info["inputs"])

    @property
    def outputs(self) -> list[Json]:
        """The outputs, dicts like those of `inputs`."""
        return list(self.info["outputs"])

    def __call__(self, inputs: Numbers | Mapping[str, Numbers]) -> dict[str, AnyArray]:
        """Runs the graph.

        bfloat16 comes as uint16 and 8-bit floats as uint8, which are their codes; 4-bit codes come two in a byte.

        Args:
            inputs: A dict from name to numbers, or the numbers of the only input. Arrays of the right type are read
                without a copy; other numbers are converted.

        Returns:
            A dict from name to array.

        Raises:
            ValueError: If an input is missing, unknown or of another shape.
            TypeError: If an input has numbers of another type.
        """
        given: Mapping[str, Numbers]
        if isinstance(inputs, dict) or hasattr(inputs, "keys"):
            given = inputs  # type: ignore[assignment]
        elif len(self.info["inputs"]) == 1:
            given = {self.info["inputs"][0]["name"]: inputs}
        else:
            raise ValueError(f"the graph has {len(self.info['inputs'])} inputs: give a dict by name")
        types = {i["name"]: i["type"] for i in self.info["inputs"]}
        keeps: list[object] = []  # what is bound must last until it is unbound
        shapes: dict[str, tuple[int, ...]] = {}
        cancel = _native.make(library.loom_cancel_create)

        def run() -> None:
            _native.check(library.loom_graph_session_run(self._session.value, cancel.value))

        with self._turns:
            try:
                for name, value in given.items():
                    kept, shapes[name] = self._bind(name, value, types.get(name, ""))
                    keeps.append(kept)
                begin = time.perf_counter()
                if shapes == self._brief:
                    run()
                else:
                    _native.long_call(run, cancel)
                self._brief = shapes if time.perf_counter() - begin < _BRIEF else None
            finally:
                _native.check(library.loom_graph_session_unbind(self._session.value))
                del keeps
            return {output["name"]: self._output(output["name"]) for output in self.info["outputs"]}

    def _bind(self, name: str, value: Numbers, expected: str) -> tuple[object, tuple[int, ...]]:
        """Binds an input, and returns the object that keeps it alive and its shape."""
        element, address, size, shape, keeps = _tensors.tensor(value, name, expected)
        extents = (ctypes.c_uint64 * len(shape))(*shape)
        given = _abi.Tensor(element=element, data=address, data_size=size, shape=extents, shape_count=len(extents))
        _native.check(
            library.loom_graph_session_bind(self._session.value, _native.utf8(name, "input"), ctypes.byref(given))
        )
        return keeps, shape

    def _output(self, name: str) -> AnyArray:
        y = _abi.Tensor()
        _native.check(
            library.loom_graph_session_output(self._session.value, _native.utf8(name, "output"), ctypes.byref(y))
        )
        return _tensors.copied_tensor(y.element, y.data or 0, y.data_size, tuple(y.shape[: y.shape_count]))

    def hash(self) -> str:
        """Hashes all outputs of the last run, as `loom run` does. The hash is equal on every machine.

        Returns:
            The SHA-256, hexadecimal.

        Raises:
            LoomError: If there was no run (InvalidState).
        """
        with self._turns:
            return _native.blob(library.loom_graph_session_hash, self._session.value).decode()

    def close(self) -> None:
        """Releases the graph."""
        if hasattr(self, "_session"):
            with self._turns:
                self._session.close()
        super().close()

    def __repr__(self) -> str:
        shown = ", ".join(f"{i['name']}: {i['type']}" for i in self.info["inputs"])
        return f"<welvet.Graph ({shown}) -> {', '.join(o['name'] for o in self.info['outputs'])}>"


def _bytes(most: int | None) -> int:
    return 0 if most is None else _native.whole(most, "max_bytes", 1, 2**63 - 1)
