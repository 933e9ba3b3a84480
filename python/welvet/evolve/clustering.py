"""Groups of points, of networks and of a network's weights (docs/guide/clustering.md)."""

from __future__ import annotations

import ctypes
import json

from .. import _native, _tensors
from .._native import library
from ..nn.network import Network, handle_of
from .population import dna

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import Json, Numbers


def dna_points(networks: Sequence[Network], *, nested: bool = False) -> list[list[float]]:
    """Returns a point per network: the directions of its layers' weights, one layer after the other.

    Args:
        networks: Networks with equal layers.
        nested: True includes layers inside of layers.

    Returns:
        A list of float per network.

    Raises:
        ValueError: If layers differ in kind, place or size: the points would have no common space.
    """
    points: list[list[float]] = []
    first: list[tuple[str, str, int]] = []
    for number, network in enumerate(_native.items(networks, "networks", "a list of networks")):
        signatures = dna(network, nested=nested)
        layers = [(s["key"], s["type"], len(s["weights"])) for s in signatures]
        first = first or layers
        if layers != first:
            raise ValueError(f"network {number} has the layers {layers}, network 0 has {first}: expected equal ones")
        points.append([value for s in signatures for value in s["weights"]])
    return points


def _points(given: Numbers | Sequence[Network]) -> _tensors.Given:
    numbers: Any = given
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, Network) for one in given):
        numbers = dna_points(given)
    data = _tensors.given(numbers, "points", "d")
    if len(data.shape) != 2:
        raise ValueError(f"points have the shape {data.shape}: expected [points, numbers], or a list of networks")
    return data


def cluster(
    points: Numbers | Sequence[Network],
    clusters: int,
    *,
    plus_plus: bool = False,
    max_iterations: int = 100,
    seed: int = 0,
) -> Json:
    """Groups points around centres (k-means). The result is equal on every machine.

    Args:
        points: Numbers [points, numbers], or a list of networks with equal layers, whose dna_points() are taken.
        clusters: Number of clusters.
        plus_plus: True lets the centres start far apart (k-means++).
        max_iterations: Most iterations.
        seed: Seed of the draws.

    Returns:
        A dict with assignment, centres, iterations and converged.

    Raises:
        ValueError: If there are fewer points than clusters.

    >>> cluster([[0, 0], [0, 1], [9, 9], [9, 8]], 2, seed=1)["centres"]
    [[9.0, 8.5], [0.0, 0.5]]
    """
    data = _points(points)
    return _native.record(
        library.loom_points_cluster,
        data.pointer,
        data.count,
        data.shape[0],
        _native.whole(clusters, "clusters", 1, data.shape[0]),
        _native.whole(max_iterations, "max_iterations", 1, 2**40),
        _native.truth(plus_plus, "plus_plus"),
        _native.whole(seed, "seed", 0, 2**64 - 1),
    )


def silhouette(points: Numbers | Sequence[Network], assignment: Sequence[int]) -> float:
    """Measures a clustering.

    Args:
        points: Numbers [points, numbers], or a list of networks with equal layers.
        assignment: Number of the cluster of each point.

    Returns:
        The mean silhouette, -1 to 1: near 1 if points are close to their own cluster and far from the next one.

    Raises:
        ValueError: If there is one cluster only, or a point has none.

    >>> round(silhouette([[0, 0], [0, 1], [9, 9], [9, 8]], [0, 0, 1, 1]), 4)
    0.917
    """
    data = _points(points)
    numbers = [
        _native.whole(number, "a cluster", 0, 2**32 - 1)
        for number in _native.items(assignment, "assignment", "a list of whole numbers")
    ]
    value = ctypes.c_double()
    _native.check(
        library.loom_points_silhouette(
            data.pointer,
            data.count,
            data.shape[0],
            (ctypes.c_uint64 * len(numbers))(*numbers),
            len(numbers),
            ctypes.byref(value),
        )
    )
    return value.value


def group(points: Numbers | Sequence[Network], threshold: float) -> list[list[int]]:
    """Groups points that are linked by steps of a small distance.

    Args:
        points: Numbers [points, numbers], or a list of networks with equal layers.
        threshold: Greatest cosine distance of a step, 0 to 2.

    Returns:
        A list of groups, each a list of the places of its points.

    Raises:
        ValueError: If the threshold is out of range.

    >>> group([[1, 0], [0, 1], [2, 0.1], [0, 3]], 0.01)
    [[0, 2], [1, 3]]
    """
    data = _points(points)
    return list(
        json.loads(
            _native.blob(
                library.loom_points_group, data.pointer, data.count, data.shape[0], _native.real(threshold, "threshold")
            )
        )
    )


def weight_groups(network: Network) -> Json:
    """Groups the weights of a network by the layer and block in their names.

    Args:
        network: The network.

    Returns:
        A dict with groups (prefix, layer, block, tensors) and unresolved (names without such a prefix, with the
        reason).
    """
    return _native.record(library.loom_network_groups, handle_of(network))
