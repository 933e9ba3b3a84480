"""Parts of several frameworks at places of one grid (C-13)."""

from __future__ import annotations

import numpy

from .._native import LoomError
from ..nn.network import Network
from . import api
from . import spec as _spec
from .taps import build

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._types import Json, Numbers


class _Part:
    """Layers with addresses of a list, their weights, and what comes out of them."""

    def __init__(self, source: Any, sample: numpy.typing.NDArray[Any]) -> None:
        self.about: Json = {"sample_shape": list(sample.shape), "sample_type": str(sample.dtype)}
        if isinstance(source, (str, bytes)) or hasattr(source, "__fspath__"):
            source = Network.from_file(str(source))
        if isinstance(source, dict):
            source = [source]
        if isinstance(source, list):
            source = Network({"input_shape": list(sample.shape[1:]), "layers": source})
        if isinstance(source, Network):
            spec = source.spec
            if any(spec.get(extent, 1) != 1 for extent in ("depth", "rows", "cols")):
                raise LoomError("InvalidArgument", "a part has to be a list of layers, not a grid")
            self.layers = spec["layers"]
            self.values = {name: numpy.asarray(source.get(name)) for name in source.weights()}
            self.about["framework"], self.output = "loom", numpy.asarray(source(sample))
            streamed = spec.get("metadata", {}).get("bridge", {})
            if "parts" not in streamed:  # the network of one model, which push() knows again
                self.about.update({**streamed, "sample_shape": list(sample.shape)})
        else:
            graph = api.read_model(source, sample)
            spec, weights, _ = _spec.write_spec(graph)
            self.layers, self.values, self.output = (
                spec["layers"],
                _spec.arrays(weights),
                numpy.asarray(graph.output.value),
            )
            self.about.update(spec["metadata"]["bridge"])


def compose(parts: Mapping[tuple[int, int, int], object], sample: Numbers, identity: str = "composed") -> Network:
    """Makes one network of several parts, each of which reads the output of the one before.

    A model with several outputs is streamed first: {(0, 0, 0): stream(model, sample, output=0)}.

    Args:
        parts: A dict from places (z, y, x), in whose order they run, to parts. A part is a model of any framework, a
            Network, the path of a network file, or layers of Loom: a dict or a list of dicts, as {"type": "permute",
            "axes": [0, 2, 1]} between parts of different shapes.
        sample: A batch for the first part, samples first.
        identity: The id in the spec of the network.

    Returns:
        The network.

    Raises:
        Unsupported: If Loom has no layer for a part of a model.
        LoomError: If there are no parts, or a place is wrong (InvalidArgument).
    """
    if not parts:
        raise LoomError("InvalidArgument", "compose needs at least one part")
    placed, x = [], api.to_array(sample)
    first_shape = list(x.shape[1:])
    for address in sorted(parts, key=api._address):
        part = _Part(parts[address], x)
        placed.append((api._address(address), part))
        x = part.output
    extents = [max(at[axis] for at, _ in placed) + 1 for axis in range(3)]
    depth = max(layer.get("l", i) for _, part in placed for i, layer in enumerate(part.layers)) + 1
    layers: list[Json] = []
    values: dict[str, Any] = {}
    about: list[Json] = []
    for at, part in placed:
        first = ((at[0] * extents[1] + at[1]) * extents[2] + at[2]) * depth
        layers += [_spec.placed(layer, at, layer.get("l", i), first) for i, layer in enumerate(part.layers)]
        values.update({_spec.moved(name, first): value for name, value in part.values.items()})
        about.append({"address": list(at), "first": first, **part.about})
    spec = {
        "id": identity,
        "input_shape": first_shape,
        "init": "none",
        "metadata": {"bridge": {"parts": about}},
        "depth": extents[0],
        "rows": extents[1],
        "cols": extents[2],
        "layers_per_cell": depth,
        "layers": layers,
    }
    return build(spec, values)
