"""The types that annotations name. Only type checkers read this module, so it may import numpy, which is optional.

Arrays that the library returns are typed as numpy's; where numpy is not installed they are memoryviews of that shape.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypedDict, Union

import numpy
import numpy.typing
from typing_extensions import Buffer, Self, TypeAlias, Unpack

__all__ = [
    "Adapters",
    "AnyArray",
    "Array",
    "Buffer",
    "DType",
    "ForwardOptions",
    "Function",
    "Joined",
    "Json",
    "Kind",
    "LoadOptions",
    "Memory",
    "Numbers",
    "Path",
    "Pointer",
    "Precision",
    "Self",
    "SessionOptions",
    "Shape",
    "Start",
    "Text",
    "Tick",
    "Told",
    "Unpack",
]

Path: TypeAlias = Union[str, "os.PathLike[str]"]
Text: TypeAlias = Union[str, bytes, bytearray, memoryview]  # bytes need not be UTF-8
Json: TypeAlias = dict[str, Any]  # an object of JSON
Shape: TypeAlias = Union[int, Sequence[int]]

Array: TypeAlias = numpy.typing.NDArray[numpy.floating[Any]]  # float32; float64 of a network that computes in it


AnyArray: TypeAlias = numpy.typing.NDArray[Any]  # of any element, as graphs return them


class _Array(Protocol):
    def __array__(self) -> numpy.typing.NDArray[Any]: ...


# Numbers of the caller: a number, lists of numbers to any depth, arrays and tensors.
Numbers: TypeAlias = Union[float, Sequence["Numbers"], Buffer, _Array]

# Memory of float32 that the library reads or fills in place.
Memory: TypeAlias = Union[Buffer, numpy.typing.NDArray[numpy.float32]]

# Which adapters of a model count: their numbers or names; none of them for (), those that it was loaded with for None.
Adapters: TypeAlias = Union[Sequence[Union[int, str]], None]

Start: TypeAlias = Literal["fresh", "resume", "overwrite"]
Precision: TypeAlias = Literal["strict", "fast"]
Joined: TypeAlias = Literal["concat", "add", "avg"]
DType: TypeAlias = Literal[
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "fp8e4m3",
    "fp8e5m2",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "int4",
    "uint4",
    "fp4",
    "int2",
    "uint2",
    "ternary",
    "binary",
    "q4_0",
    "q4_1",
    "q5_0",
    "q5_1",
    "q8_0",
    "q2_k",
    "q3_k",
    "q4_k",
    "q5_k",
    "q6_k",
    "tq1_0",
    "tq2_0",
    "mxfp4",
]
Kind: TypeAlias = Literal["f", "d", "i"]  # float32, float64, int32: the codes of the module array

Told: TypeAlias = Callable[[float], object]  # takes the part that is done, from 0 to 1; returning False ends the call
Tick: TypeAlias = Callable[[Json], object]  # takes an event; returning False ends the run

Function: TypeAlias = Callable[..., int]  # of the library: it returns a status
Pointer: TypeAlias = "ctypes._Pointer[Any]"


class LoadOptions(TypedDict, total=False):
    """Options of a language model."""

    adapters: Sequence[Path]
    dtype: str | None
    threads: int | None
    context: int | None
    progress: Told | None
    device: str | None
    precision: Precision | None
    download: bool


class SessionOptions(TypedDict, total=False):
    """Options of a session of a network."""

    threads: int | None
    backward: bool
    context: int
    kv_dtype: str | None
    isa: str | None
    checkpoint_every: int
    device: str | None
    precision: Precision | None


class ForwardOptions(TypedDict, total=False):
    """Options of a forward pass."""

    training: bool
    step: int
    lengths: Sequence[int] | None
    external: Numbers | None
    mask: Numbers | None
