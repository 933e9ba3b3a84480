"""The place of each weight of a network in the model that it came from, to read it and to write it back."""

from __future__ import annotations

import numpy

from .._native import LoomError

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Union

    from typing_extensions import TypeAlias

    Array: TypeAlias = numpy.typing.NDArray[Any]
    Key: TypeAlias = Any  # hashable, and equal for equal weights
    Weight: TypeAlias = Union["View", "Sum", "Derived"]


class Parameter:
    """One array of a framework's model.

    key: distinguishes it from all other parameters; equal keys mean one array that several layers use.
    read: returns the array as NumPy has it.
    write: puts an array of the same shape in its place; None: it cannot be written.
    """

    def __init__(
        self, key: Key, read: Callable[[], Array], write: Callable[[Array], object] | None = None, name: str = ""
    ) -> None:
        self.key = key
        self.name = name
        self.get = read
        self._write = write

    @property
    def is_writable(self) -> bool:
        return self._write is not None

    def set(self, array: Array) -> None:
        if self._write is None:
            raise LoomError("Unsupported", f"{self.name or self.key} of the model cannot be written")
        self._write(array)


class View:
    """A weight that is a part of a parameter, with its axes in another order.

    look: takes an array of the parameter's shape and returns the part: it moves numbers and changes none.
    part: distinguishes this part from others of the parameter; None is the whole array as it is. Weights with equal
    keys are one.
    shape: what the network calls the shape of the same values in the same order; None: that of the view.
    """

    def __init__(
        self,
        parameter: Parameter,
        part: Key = None,
        look: Callable[[Array], Array] | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.parameter = parameter
        self._look: Callable[[Array], Array] = look or (lambda array: array)
        self._shape = shape
        self.key: Key = (parameter.key, part)

    @property
    def is_writable(self) -> bool:
        return self.parameter.is_writable

    @property
    def name(self) -> str:
        return self.parameter.name

    def read(self) -> Array:
        array = self._look(self.parameter.get())
        return array if self._shape is None else array.reshape(self._shape)

    def write(self, values: Array) -> None:
        array = numpy.array(self.parameter.get())
        part = self._look(array)
        if numpy.shares_memory(part, array):
            part[...] = values.reshape(part.shape)
        else:  # what look() gives is a copy: its places are found by looking at their numbers
            places = self._look(numpy.arange(array.size).reshape(array.shape))
            array.reshape(-1)[places.reshape(-1)] = values.reshape(-1)
        self.parameter.set(array)


def transposed(parameter: Parameter) -> View:
    """A matrix that the framework keeps as [in, out]."""
    return View(parameter, "transposed", lambda array: array.T)


def rows(parameter: Parameter, begin: int, end: int, axis: int = 0) -> View:
    """A part of a stack of matrices or vectors; with axis 1 of a stack of transposed matrices."""
    if axis == 0:
        return View(parameter, ("rows", begin, end), lambda array: array[begin:end])
    return View(parameter, ("columns", begin, end), lambda array: array[:, begin:end].T)


class Sum:
    """A weight that is the sum of two of the model, as the two biases of PyTorch's LSTM."""

    def __init__(self, first: Weight, second: Weight) -> None:
        self._first, self._second = first, second
        self.key: Key = ("sum", first.key, second.key)

    @property
    def is_writable(self) -> bool:
        return self._first.is_writable and self._second.is_writable

    @property
    def name(self) -> str:
        return f"{self._first.name} + {self._second.name}"

    def read(self) -> Array:
        return self._first.read() + self._second.read()

    def write(self, values: Array) -> None:
        """The second part stays where the sum of both can be the value bit for bit; elsewhere it becomes 0."""
        second = numpy.array(self._second.read())
        first = (values - second).astype(second.dtype)
        exact = (first + second).astype(values.dtype) == values
        if not exact.all():
            second[~exact], first[~exact] = 0, values[~exact]
            self._second.write(second)
        self._first.write(first)


class Derived:
    """A weight that is computed of what the model has."""

    key: Key = None

    def __init__(
        self, read: Callable[[], Array], write: Callable[[Array], object] | None = None, name: str = ""
    ) -> None:
        self.read, self._write, self.name = read, write, name

    @property
    def is_writable(self) -> bool:
        return self._write is not None

    def write(self, values: Array) -> None:
        if self._write is None:
            raise LoomError("Unsupported", f"{self.name or 'a computed weight'} cannot be written back")
        self._write(values)


class Constant(Derived):
    """A weight that stands for no parameter of the model, as the ones that pad a picture. Training leaves it alone."""

    def __init__(self, values: Any) -> None:
        values = numpy.asarray(values)
        super().__init__(lambda: values, name="a constant")


def float32(array: Any) -> numpy.typing.NDArray[numpy.float32]:
    """The values as the network stores them: float32, in C order."""
    return numpy.ascontiguousarray(array, dtype=numpy.float32)


def snapped(array: Any) -> numpy.typing.NDArray[numpy.float32]:
    """The values as a network keeps them: sizes below 2^-51 and the negative zero are 0
    (docs/internals/numerics.md)."""
    array = float32(array)
    return numpy.where(numpy.abs(array) < numpy.float32(2.0**-51), numpy.float32(0), array)
