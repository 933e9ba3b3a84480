"""What the layers of a pass did."""

from __future__ import annotations

import dataclasses

from . import _abi, _tensors

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._types import Array


@dataclasses.dataclass(frozen=True)
class LayerEvent:
    """A layer that ran.

    event: "forward", "backward", "tick" or "tween". path: of the layer, "layers.3"; layer: its kind; dtype: of its weights.
    cell: index of the cell that holds it. step: of the call, or the number of ticks.
    mean, deviation, greatest, least: of its output, or of the gradient of its input. active: how many of the `count`
    numbers are above 1e-6 in size. values: a copy of them, all in one row.
    """

    event: str
    path: str
    layer: str
    dtype: str
    cell: int
    step: int
    mean: float
    deviation: float
    greatest: float
    least: float
    active: int
    count: int
    values: Array


class Watch:
    """A callback of Python behind one of the library. An exception there ends the watch and comes out of the call."""

    def __init__(self, told: Callable[[LayerEvent], object]) -> None:
        self._told, self._raised = told, None
        self.callback = _abi.OnLayerEvent(self._tell)

    _raised: BaseException | None

    def _tell(self, _: int | None, event: bytes, path: bytes, layer: bytes, dtype: bytes, cell: int, step: int,
              mean: float, deviation: float, greatest: float, least: float, active: int, count: int, values: int | None,
              is_double: int) -> bool:
        try:
            kept = _tensors.copied(values or 0, count, (count,), "d" if is_double else "f")
            return self._told(LayerEvent(event.decode(), path.decode(), layer.decode(), dtype.decode(), cell, step, mean,
                                         deviation, greatest, least, active, count, kept)) is not False
        except BaseException as error:  # it must not unwind through C
            self._raised = error
            return False

    def raise_again(self) -> None:
        """Raises what the callback has raised, once."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
