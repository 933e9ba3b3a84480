"""Differences between the layers of a network and those of the model that it came from."""

from __future__ import annotations

import numpy

from ..nn.network import Network
from .spec import feed_from

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._types import Json, Numbers
    from .graph import Node

_TAPS = 16  # layers whose outputs one run gives; more would copy the same numbers too often


def build(spec: Json, values: Mapping[str, Numbers]) -> Network:
    """The network of a spec with these weights."""
    network = Network(spec)
    for name, value in values.items():
        network.set(name, value)
    return network


def largest_error(expected: Any, found: Any) -> float:
    """The largest difference; infinity where only one of the two is a number. Equal infinities and NaN in the same
    place do not differ."""
    expected, found = numpy.asarray(expected, numpy.float64), numpy.asarray(found, numpy.float64)
    if expected.shape != found.shape:
        return float("inf")
    same = (expected == found) | (numpy.isnan(expected) & numpy.isnan(found))
    if same.all():
        return 0.0
    with numpy.errstate(invalid="ignore"):
        error = numpy.abs(expected - found)[~same]
    return float("inf") if numpy.isnan(error).any() else float(error.max())


def layer_errors(spec: Json, state: Mapping[str, Numbers], x: Any, known: list[tuple[int, Node]]) -> list[float]:
    found: list[float] = []
    for begin in range(0, len(known), _TAPS):
        some = known[begin : begin + _TAPS]
        tapped = build(
            {**spec, "layers": spec["layers"] + _taps([cell for cell, _ in some], len(spec["layers"]))}, state
        )
        row = numpy.asarray(tapped(x)).reshape(len(x), -1)
        end = row.shape[1]
        for _, node in some:
            value = numpy.asarray(node.value)
            width = value[0].size
            found.append(largest_error(value.reshape(len(x), -1), row[:, end - width : end]))
            end -= width
    return found


def _taps(cells: list[int], first: int) -> list[Json]:
    """Layers that put the outputs of some cells side by side, the last one first."""

    layers: list[Json] = []
    for i, cell in enumerate(cells):
        layers.append({"type": "reshape", "shape": [-1], **feed_from(cell, "replace")})
        if i:
            link = feed_from(first + len(layers) - 2, "concat")
            layers.append({"type": "activation", "activation": "linear", **link})
    return layers
