"""Arrays of the caller as the library takes them, and the other way round. numpy is used where it is installed."""

from __future__ import annotations

import array
import ctypes
import math

from . import _abi, _native

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from ._types import AnyArray, Array, Kind, Memory, Numbers, Pointer, Shape

_POINTERS: dict[str, Any] = {
    "f": ctypes.POINTER(ctypes.c_float),
    "d": ctypes.POINTER(ctypes.c_double),
    "i": ctypes.POINTER(ctypes.c_int32),
}
# Element and bytes of a number.
NUMBERS = {"f": (_abi.ELEMENT_FLOAT32, 4), "d": (_abi.ELEMENT_FLOAT64, 8), "i": (_abi.ELEMENT_INT32, 4)}
_NUMPY = {"f": "float32", "d": "float64", "i": "int32"}


_looked_for = False  # looking for a module that is not installed takes longer than a small network
_numpy: ModuleType | None = None


def numpy() -> ModuleType | None:
    """The module, or None where it is not installed."""
    global _looked_for, _numpy  # pylint: disable=global-statement
    if not _looked_for:
        try:
            import numpy as _numpy  # pylint: disable=import-outside-toplevel
        except ImportError:
            _numpy = None
        _looked_for = True
    return _numpy


class Given:
    """An array for the length of a call: address, count and shape, and what keeps the memory alive."""

    __slots__ = ("address", "count", "shape", "keeps", "kind")

    def __init__(self, address: int, count: int, shape: tuple[int, ...], keeps: object, kind: Kind) -> None:
        self.address, self.count, self.shape, self.keeps, self.kind = address, count, shape, keeps, kind

    @property
    def pointer(self) -> Pointer:
        """The address as ctypes takes it for an array of numbers."""
        return ctypes.cast(self.address, _POINTERS[self.kind])

    def extents(self) -> ctypes.Array[ctypes.c_uint64]:
        """The shape as the library takes it."""
        return (ctypes.c_uint64 * len(self.shape))(*self.shape)

    def is_finite(self) -> bool:
        """Whether no value is NaN or infinite."""
        np, keeps = numpy(), self.keeps
        if np is not None and isinstance(keeps, np.ndarray):
            return bool(np.isfinite(keeps).all())
        return all(map(math.isfinite, self.pointer[: self.count]))

    def tensor(self) -> _abi.Tensor:
        """The array as the library takes tensors; it must live as long as the call."""
        return tensor_at(self.address, self.count, self.kind, self.extents())


def tensor_at(
    address: int | Pointer, count: int, kind: Kind, extents: ctypes.Array[ctypes.c_uint64] | None = None
) -> _abi.Tensor:
    """Returns numbers of the caller as a tensor of the library, to read or to fill; no extents: those of the call."""
    element, size = NUMBERS[kind]
    at = address if isinstance(address, int) else ctypes.cast(address, ctypes.c_void_p)
    return _abi.Tensor(
        element=element,
        data=at,
        data_size=count * size,
        shape=extents,
        shape_count=0 if extents is None else len(extents),
    )


def _address(data: Any) -> int:
    """Where a numpy array begins; its own attributes take three times as long to say so."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(data))
    except (BufferError, TypeError, ValueError):  # read-only, or empty
        return int(data.__array_interface__["data"][0])


def given(value: Numbers, what: str, kind: Kind = "f") -> Given:
    """A Given of numbers of that kind ("f", "d", "i") in row-major order: without a copy where the memory allows it.

    value: a numpy array, whatever speaks DLPack or the buffer protocol, or nested lists of numbers.
    """
    np = numpy()
    if np is not None:
        data: Any = value
        # An array that is right takes this path in a microsecond.
        if (
            type(data) is not np.ndarray
            or data.dtype.char != kind
            or not data.dtype.isnative
            or not data.flags.c_contiguous
        ):
            data = _as_numpy(np, value, what, kind)
        return Given(_address(data), data.size, data.shape, data, kind)
    numbers, shape = _plain(value, what, kind)
    memory = (ctypes.c_char * (len(numbers) * numbers.itemsize)).from_buffer(numbers)
    return Given(ctypes.addressof(memory), len(numbers), tuple(shape), (numbers, memory), kind)


# Elements of graphs: name, numpy's type of the same bits, and the code of the module array, where it has one.
_ELEMENTS = {
    _abi.ELEMENT_FLOAT32: ("float32", "float32", "f"),
    _abi.ELEMENT_FLOAT64: ("float64", "float64", "d"),
    _abi.ELEMENT_INT64: ("int64", "int64", "q"),
    _abi.ELEMENT_INT32: ("int32", "int32", "i"),
    _abi.ELEMENT_INT16: ("int16", "int16", "h"),
    _abi.ELEMENT_INT8: ("int8", "int8", "b"),
    _abi.ELEMENT_UINT64: ("uint64", "uint64", "Q"),
    _abi.ELEMENT_UINT32: ("uint32", "uint32", "I"),
    _abi.ELEMENT_UINT16: ("uint16", "uint16", "H"),
    _abi.ELEMENT_UINT8: ("uint8", "uint8", "B"),
    _abi.ELEMENT_BOOL: ("bool", "bool", "?"),
    _abi.ELEMENT_FLOAT16: ("float16", "float16", ""),
    _abi.ELEMENT_BFLOAT16: ("bfloat16", "uint16", ""),
    _abi.ELEMENT_FLOAT8_E4M3FN: ("float8e4m3fn", "uint8", ""),
    _abi.ELEMENT_FLOAT8_E5M2: ("float8e5m2", "uint8", ""),
    _abi.ELEMENT_UINT4: ("uint4", "uint8", ""),
    _abi.ELEMENT_INT4: ("int4", "uint8", ""),
}
_CODES = {name: code for code, (name, _, _) in _ELEMENTS.items()}


def tensor(value: Numbers, what: str, expected: str) -> tuple[int, int, int, tuple[int, ...], object]:
    """Numbers as a graph takes them: (element, address, bytes, shape, what keeps the memory alive).

    expected: name of the type, as "int64"; of an unknown one the array's own counts, float32 for lists.
    """
    np = numpy()
    if np is None:
        return _plain_tensor(value, what, expected)
    _refuse_masks(np, value, what)
    data = value if isinstance(value, np.ndarray) else np.asarray(value.detach() if hasattr(value, "detach") else value)
    if expected not in _CODES:
        expected = data.dtype.name if isinstance(value, np.ndarray) and data.dtype.name in _CODES else "float32"
    kind = _ELEMENTS[_CODES[expected]][1]
    if data.dtype.kind not in "fiub" or (expected.startswith(("bfloat", "float8")) and data.dtype.name != kind):
        taken = expected if expected in _NUMPY_OWN else f"{kind}, its codes"
        raise TypeError(f"{what} holds {data.dtype}: expected {taken}")
    if kind[0] != "f" and data.dtype.kind == "f":
        raise TypeError(f"{what} holds {data.dtype}: expected whole numbers, {expected}")
    if data.dtype.kind in "iu" and kind.lstrip("u").startswith("int") and data.size:
        limits = np.iinfo(kind)
        if int(data.min()) < limits.min or int(data.max()) > limits.max:
            raise ValueError(f"{what} holds numbers beyond {expected}")
    with np.errstate(over="ignore"):
        data = np.ascontiguousarray(data, dtype=kind).reshape(data.shape)
    return _CODES[expected], _address(data), data.nbytes, data.shape, data


_NUMPY_OWN = {name for name, kind, _ in _ELEMENTS.values() if name == kind}


def _plain_tensor(value: Any, what: str, expected: str) -> tuple[int, int, int, tuple[int, ...], object]:
    expected = expected if expected in _CODES else "float32"
    letter = _ELEMENTS[_CODES[expected]][2]
    if not letter:
        raise TypeError(f"{what} is {expected}, which needs numpy")
    numbers, shape = _plain(value, what, "B" if letter == "?" else letter)
    memory = (ctypes.c_char * (len(numbers) * numbers.itemsize)).from_buffer(numbers)
    return _CODES[expected], ctypes.addressof(memory), len(memory), tuple(shape), (numbers, memory)


def copied_tensor(element: int, address: int, size: int, shape: Sequence[int]) -> AnyArray:
    """A copy of a graph's output: a numpy array, or a memoryview of that shape where there is no numpy."""
    _, kind, letter = _ELEMENTS[element]
    np = numpy()
    if np is not None:
        packed = element in (_abi.ELEMENT_UINT4, _abi.ELEMENT_INT4)
        out: AnyArray = np.empty((size,) if packed else shape, kind)
        ctypes.memmove(_address(out), address, size)
        return out
    view: Any = memoryview(ctypes.string_at(address, size))
    letter = letter or ("H" if element in (_abi.ELEMENT_FLOAT16, _abi.ELEMENT_BFLOAT16) else "B")
    plain: AnyArray = view.cast(letter, shape) if size else view
    return plain


def batch(inputs: Numbers, targets: Numbers | None, classes: Numbers | None) -> tuple[_abi.Batch, object]:
    """Samples with their targets or classes as the library takes them, and what keeps them alive."""
    data = given(inputs, "inputs")
    if (targets is None) == (classes is None):
        raise ValueError("a batch has targets or classes: expected one of them")
    more = given(targets, "targets") if targets is not None else given(classes, "classes", "i")  # type: ignore[arg-type]
    tensors = data.tensor(), more.tensor()
    return _abi.Batch(inputs=ctypes.pointer(tensors[0]), targets=ctypes.pointer(tensors[1])), (data, more, tensors)


def array_of(out: _abi.Tensor, shape: Sequence[int] | None = None) -> Array:
    """A copy of a tensor that the library gives, in its shape or another one."""
    kind: Kind = "d" if out.element == _abi.ELEMENT_FLOAT64 else "f"
    extents = tuple(out.shape[: out.shape_count]) if shape is None else shape
    return copied(out.data or 0, out.data_size // NUMBERS[kind][1], extents, kind)


def _refuse_masks(np: ModuleType, value: Any, what: str) -> None:
    """Refuses masked arrays: numbers below a mask, which count for nothing in numpy, would count in Loom."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{what} has masked numbers: fill them, as by {what}.filled(0)")


def _as_numpy(np: ModuleType, value: Any, what: str, kind: Kind) -> Any:
    _refuse_masks(np, value, what)
    if hasattr(value, "detach"):  # a tensor of torch that learns does not give its memory away
        value = value.detach()
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        try:
            value = np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # memory of another device, or a type that DLPack does not name: as an array then
    try:
        data = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    if data.dtype.kind not in ("iub" if kind == "i" else "fiub"):
        raise TypeError(f"{what} holds {data.dtype}: expected {'whole ' if kind == 'i' else ''}numbers")
    if kind == "i" and data.size and (data.min() < -(2**31) or data.max() >= 2**31):
        raise ValueError(f"{what} holds numbers beyond 32 bits")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(data, dtype=_NUMPY[kind]).reshape(data.shape)


def _plain(value: Any, what: str, kind: str) -> tuple[array.array[Any], Sequence[int]]:
    if not isinstance(value, (list, tuple, int, float)):
        try:
            view = memoryview(value)
        except TypeError:
            raise TypeError(f"{what} must be numbers, not {type(value).__name__}") from None
        return array.array(kind, _flat(view.tolist(), view.shape or (), what)), view.shape or ()
    shape: list[int] = []
    inner = value
    while isinstance(inner, (list, tuple)):
        shape.append(len(inner))
        inner = inner[0] if inner else 0
    return array.array(kind, _flat(value, shape, what)), shape


def _flat(value: Any, shape: Sequence[int], what: str) -> list[Any]:
    if not shape:
        if isinstance(value, (list, tuple)):
            raise ValueError(f"{what}: lists of different depths")
        return [value]
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise ValueError(f"{what}: lists of different lengths")
    return [number for part in value for number in _flat(part, shape[1:], what)]


def room(shape: Sequence[int], kind: Kind = "f") -> tuple[Array, Pointer, int]:
    """An array of that shape to be filled: (array, pointer, count)."""
    count = math.prod(shape)
    np = numpy()
    if np is not None:
        out = np.empty(shape, _NUMPY[kind])
        return out, out.ctypes.data_as(_POINTERS[kind]), count
    memory = bytearray(count * (8 if kind == "d" else 4))
    pointer = ctypes.cast((ctypes.c_char * max(len(memory), 1)).from_buffer(memory or bytearray(1)), _POINTERS[kind])
    view: Any = memoryview(memory)
    return view.cast(kind, shape) if count else view, pointer, count


def pointer_to(kind: Kind) -> Pointer:
    """An empty pointer to numbers of that kind, for the library to set."""
    out: Pointer = _POINTERS[kind]()
    return out


def copied(pointer: Pointer | int, count: int, shape: Sequence[int], kind: Kind = "f") -> Array:
    """A copy of the library's memory: a numpy array, or a memoryview of that shape where there is no numpy."""
    np = numpy()
    if np is not None:
        out: Array = np.empty(shape, kind)
        ctypes.memmove(_address(out), pointer, count * (8 if kind == "d" else 4))
        return out
    out, to, _ = room(shape, kind)
    ctypes.memmove(to, pointer, count * (8 if kind == "d" else 4))
    return out


def _memory(value: Memory, what: str, fill: bool = False) -> memoryview:
    """The caller's own memory of float32, one number after the other."""
    try:
        view: memoryview = memoryview(value)  # type: ignore[arg-type,unused-ignore]  # numpy's stubs say so since 3.12
    except TypeError:
        raise TypeError(f"{what} must be an array or a buffer of float32, not {type(value).__name__}") from None
    if fill and view.readonly:
        raise ValueError(f"{what} is read-only")
    if view.format not in ("f", "<f") or not view.c_contiguous:
        raise TypeError(f"{what} must be float32 in row-major order, one number after the other")
    return view


def writable(value: Memory, what: str) -> tuple[Pointer, int, tuple[int, ...], object]:
    """Memory of float32 for the library to fill: (pointer, count, shape, what keeps it alive)."""
    view = _memory(value, what, fill=True)
    memory = (ctypes.c_char * view.nbytes).from_buffer(view)
    return ctypes.cast(memory, _POINTERS["f"]), view.nbytes // 4, view.shape or (), (view, memory)


def bound(value: Memory, what: str) -> tuple[Pointer, int, tuple[int, ...], object]:
    """Memory that the library reads again and again, read-only too: nothing is copied, so it must be float32."""
    np, view = numpy(), _memory(value, what)
    if np is not None:
        _refuse_masks(np, value, what)
    if not view.readonly or np is None:
        return writable(value, what)
    data = np.asarray(view)
    return ctypes.cast(_address(data), _POINTERS["f"]), data.size, data.shape, (view, data)


def shape_of(extents: Shape, what: str) -> ctypes.Array[ctypes.c_uint64]:
    """Extents as the library takes them, from a whole number or a sequence."""
    numbers = (
        [extents] if isinstance(extents, int) else _native.items(extents, what, "a whole number or a list of them")
    )
    numbers = [_native.whole(n, what, 1, 2**40) for n in numbers]
    return (ctypes.c_uint64 * len(numbers))(*numbers)
