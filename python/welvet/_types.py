"""The types that annotations name. Only type checkers read this module, so it may import numpy, which is optional.

Arrays that the library returns are typed as numpy's; where numpy is not installed they are memoryviews of that shape.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict, Union

import numpy
import numpy.typing
from typing_extensions import Buffer, Self, TypeAlias, Unpack

from .lm import LM

__all__ = ["Adapters", "AnswerOptions", "AnyArray", "Array", "Buffer", "DType", "ForwardOptions", "Function", "Joined", "Json", "Kind", "LoadOptions", "Memory",
           "Numbers", "Path", "PieceOptions", "Pointer", "Precision", "PromptForm", "Sampling", "Self", "SessionOptions", "Shape",
           "Speculate", "Start", "StreamOptions", "Text", "Tick", "Told", "Unpack"]

Path: TypeAlias = Union[str, "os.PathLike[str]"]
Text: TypeAlias = Union[str, bytes, bytearray, memoryview]  # bytes need not be UTF-8
Json: TypeAlias = dict[str, Any]  # an object of JSON
Shape: TypeAlias = Union[int, Sequence[int]]

Array: TypeAlias = numpy.typing.NDArray[numpy.floating[Any]]  # float32; float64 of a network that computes in it


AnyArray: TypeAlias = numpy.typing.NDArray[Any]  # of any element, as graphs return them


class _Array(Protocol):
    def __array__(self) -> numpy.typing.NDArray[Any]: ...


# What is taken as numbers: a number, lists of numbers to any depth, arrays and tensors.
Numbers: TypeAlias = Union[float, Sequence["Numbers"], Buffer, _Array]

# What the library reads or fills where it is: of float32.
Memory: TypeAlias = Union[Buffer, numpy.typing.NDArray[numpy.float32]]

# Which adapters of a model count: their numbers or names; none of them for (), those that it was loaded with for None.
Adapters: TypeAlias = Union[Sequence[Union[int, str]], None]

# What drafts tokens: those that followed before, or a smaller model.
Speculate: TypeAlias = Union[Literal["ngram"], LM, None]
PromptForm: TypeAlias = Literal["auto", "raw", "chat"]
Start: TypeAlias = Literal["fresh", "resume", "overwrite"]
Precision: TypeAlias = Literal["strict", "fast"]
Joined: TypeAlias = Literal["concat", "add", "avg"]
DType: TypeAlias = Literal["float64", "float32", "float16", "bfloat16", "fp8e4m3", "fp8e5m2", "int64", "int32",
                           "int16", "int8", "uint64", "uint32", "uint16", "uint8", "int4", "uint4", "fp4", "int2",
                           "uint2", "ternary", "binary", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k",
                           "q4_k", "q5_k", "q6_k", "tq1_0", "tq2_0", "mxfp4"]
Kind: TypeAlias = Literal["f", "d", "i"]  # float32, float64, int32: the codes of the module array

Told: TypeAlias = Callable[[float], object]  # hears the part that is done, from 0 to 1; returning False ends the call
Tick: TypeAlias = Callable[[Json], object]  # hears of an event; returning False ends the run

Function: TypeAlias = Callable[..., int]  # of the library: it returns a status
Pointer: TypeAlias = "ctypes._Pointer[Any]"


class Sampling(TypedDict, total=False):
    """How the tokens of an answer are chosen."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    typical_p: float
    repetition_penalty: float
    repetition_window: int
    frequency_penalty: float
    presence_penalty: float
    min_tokens: int
    ignore_eos: bool
    stop: str | Sequence[str] | None
    stop_ids: Sequence[int]
    logit_bias: Mapping[int, float] | None
    logprobs: int
    seed: int
    speculate: Speculate
    plain_text: bool


class AnswerOptions(Sampling, total=False):
    """Options of an answer."""

    max_tokens: int | None


class PieceOptions(Sampling, total=False):
    """Options of a call that takes `max_tokens` as a parameter of its own."""

    form: PromptForm


class StreamOptions(AnswerOptions, total=False):
    """Options of an answer to a prompt."""

    form: PromptForm
    adapters: Adapters


class LoadOptions(TypedDict, total=False):
    """Options of a language model."""

    adapters: Sequence[Path]
    dtype: str | None
    threads: int | None
    context: int | None
    progress: Told | None
    device: str | None
    precision: Precision | None


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
