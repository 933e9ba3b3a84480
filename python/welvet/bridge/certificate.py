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
from .taps import largest_error, layer_errors
from .weights import snapped

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._types import Json, Numbers
    from ..nn.network import Network


@dataclasses.dataclass(frozen=True)
class Certificate:
    """The result of a comparison of a network with its model.

    Attributes:
        framework: Framework of the model.
        layers: A dict per layer, in order: cell, path, kind, and error, the largest difference of a number of its
            output.
        error: Largest difference of a number of the output; None if the model is weights alone and has no output.
        source_hash: SHA-256 of all weights as the model has them.
        network_hash: SHA-256 of all weights as the network has them; it is equal if no bit was lost.
        output_hash: SHA-256 of the output of the network for the sample.
        tolerance: Largest error that passes, times the largest number if that is above 1. A model that rounds to a
            coarser type than float32 may differ by 16 steps of that type.
        output: Name of the compared output, if the model has several; else "".
        largest: The largest number of that output.
        element: The coarsest type that the model computes in, as "float16"; the network computes in float32.
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
        """Returns the certificate as JSON.

        Returns:
            The text, with the fields of the class and `passed`.
        """
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


def certify(
    network: Network, model: object, sample: Numbers, *, tolerance: float = 1e-5, **options: Any
) -> Certificate:
    """Runs a model and its network on a batch, and compares all layers.

    Args:
        network: A network of stream().
        model: The model that it came from.
        sample: One batch for the model, as of stream().
        tolerance: Largest error that passes.
        **options: As of stream(). Of several outputs the default is that of the network.

    Returns:
        The certificate.

    Raises:
        Unsupported: If Loom has no layer for a part of the model.
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
