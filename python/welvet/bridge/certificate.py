"""How well a network answers as the model that it came from: largest error per layer and at the end, and both
hashes."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy

from . import api
from . import spec as _spec
from .graph import largest, spacing
from .spec import feed_from
from .weights import snapped

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._types import Json, Numbers
    from ..network import Network
    from .graph import Node

_TAPS = 16  # layers whose outputs one run gives; more would copy the same numbers too often


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What a comparison found.

    framework: the model's.
    layers: a list of {"cell", "path", "kind", "error"} in order, error the largest difference of a number of the
    layer's output.
    error: that of the network's output, None where the model is weights alone and has no output.
    output: which of the model's outputs was compared, where it has several; "" where it has one.
    largest: the largest number of that output.
    element: the coarsest type that the model computes in, as "float16"; the network computes in float32.
    source_hash: SHA-256 of all weights as the model has them; network_hash: as the network has them. They are equal
    where no bit was lost.
    output_hash: of the network's output for the sample.
    tolerance: what `passed` compares the error with, times the largest number where that is above 1; a model that
    rounds to a coarser type than float32 is given 16 of its steps.
    """

    framework: str
    layers: list[Json]
    error: float | None
    source_hash: str
    network_hash: str
    output_hash: str
    tolerance: float = 1e-5
    output: str = ""
    largest: float = 0.0
    element: str = "float32"

    @property
    def limit(self) -> float:
        """The largest error that passes."""
        step = 16 * spacing(self.element) if spacing(self.element) > spacing("float32") else 0.0
        return max(self.tolerance, step) * max(1.0, self.largest)

    @property
    def passed(self) -> bool:
        """True if the weights are equal bit for bit and the outputs within the limit."""
        return self.source_hash == self.network_hash and (self.error is None or self.error <= self.limit)

    def _rounder(self) -> str:
        if spacing(self.element) > spacing("float32"):
            return f"model, which computes in {self.element},"
        return f"network, since the model has {self.element},"

    def to_json(self) -> str:
        """Returns the certificate as JSON text."""
        return json.dumps({**dataclasses.asdict(self), "passed": self.passed})

    def __repr__(self) -> str:
        worst = max(self.layers, key=lambda layer: layer["error"], default=None)
        where = f", largest in a layer {worst['error']:.1e} ({worst['path'] or worst['kind']})" if worst else ""
        same = "weights equal" if self.source_hash == self.network_hash else "weights differ"
        which = f" of output {self.output!r}" if self.output else ""
        error = "no output to compare"
        if self.error is not None:
            error = f"error {self.error:.1e}{which} of at most {self.limit:.1e}"
        rounds = "" if self.element == "float32" else f", the {self._rounder()} rounds"
        return (
            f"<Certificate {self.framework}: {'passed' if self.passed else 'failed'}, {error}{where}{rounds}, {same}, "
            f"{self.source_hash[:16]} {self.network_hash[:16]}>"
        )


def hash_of(values: Mapping[str, Numbers]) -> str:
    """SHA-256 over names, shapes and float32 bits as a network keeps them, in order of the names."""
    digest = hashlib.sha256()
    for name in sorted(values):
        array = snapped(values[name])
        digest.update(f"{name} {list(array.shape)}\n".encode())
        digest.update(array.astype("<f4", copy=False).tobytes())
    return digest.hexdigest()


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


def certify(
    network: Network, model: object, sample: Numbers, *, tolerance: float = 1e-5, **options: Any
) -> Certificate:
    """Runs the model and its network on a batch and returns the Certificate; parameters as those of stream().

    Of a model with several outputs the one is compared that the network was made with.
    """
    about = network.spec.get("metadata", {}).get("bridge", {})
    graph = api.read_model(model, sample, **{**api.chosen_output(about), **options})
    spec, weights, cells = _spec.write_spec(graph)
    state = {name: numpy.asarray(network.get(name)) for name in weights}
    x = api.to_array(sample)
    output = numpy.asarray(network(x))
    known = [(cell, node) for cell, node in cells if node.value is not None]
    errors = layer_errors(spec, state, x, known)
    layers = [
        {"cell": cell, "path": node.path, "kind": spec["layers"][cell].get("type", "link"), "error": error}
        for (cell, node), error in zip(known, errors)
    ]
    error = None if graph.output.value is None else largest_error(graph.output.value, output)
    return Certificate(
        graph.framework,
        layers,
        error,
        hash_of(_spec.arrays(weights)),
        hash_of(state),
        hash_of({"output": output}),
        tolerance,
        graph.chosen or "",
        0.0 if graph.output.value is None else largest(graph.output.value),
        graph.element,
    )


def layer_errors(spec: Json, state: Mapping[str, Numbers], x: Any, known: list[tuple[int, Node]]) -> list[float]:
    found: list[float] = []
    for begin in range(0, len(known), _TAPS):
        some = known[begin : begin + _TAPS]
        tapped = api.build(
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
