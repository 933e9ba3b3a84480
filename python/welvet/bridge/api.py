"""The functions that a program calls: a model in, a network out, and back."""

from __future__ import annotations

import importlib
import inspect

import numpy

from .._native import LoomError
from ..nn.network import Network
from . import spec as _spec
from .graph import Packed, Unsupported, is_close, largest, pack, spacing
from .taps import build, layer_errors
from .weights import snapped

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, TypeVar

    from .._types import Json, Numbers
    from .graph import Graph

    Floats = numpy.typing.NDArray[numpy.float32]
    Model = TypeVar("Model")

_READERS = (
    "keras_reader",
    "torch_reader",
    "jax_reader",
    "sklearn_reader",
)  # a layer of Keras may be a module of torch as well


def _reader_of(model: object) -> ModuleType:
    """The module that reads this framework's models. No reader imports its framework before it has met a model of
    it."""
    for name in _READERS:
        reader = importlib.import_module("." + name, __package__)
        if reader.is_model(model):
            return reader
    raise LoomError(
        "Unsupported",
        f"{type(model).__module__}.{type(model).__qualname__} is no model of torch, Keras, JAX or scikit-learn",
    )


def read_model(model: object, sample: Numbers, **options: Any) -> Graph:
    """The graph of a model; Unsupported with everything that Loom has no layer for."""
    reader, array = _reader_of(model), to_array(sample)
    if isinstance(array, Packed) and not getattr(reader, "SEVERAL_INPUTS", False):
        why = f"{len(array.parts)} inputs are given; several are read of models of PyTorch and Keras alone"
        raise Unsupported([("", type(model).__name__, why)])
    inspect.signature(reader.read).bind(model, array, **options)  # TypeError for an option that it does not take
    try:
        graph: Graph = reader.read(model, array, **options)
    except (LoomError, MemoryError):
        raise
    except Exception as error:  # whatever a framework raises
        lines = str(error).strip().splitlines() or [""]
        why = f"reading it failed: {type(error).__name__}: {lines[0]}"
        raise Unsupported([("", type(model).__name__, why)]) from error
    graph.check()
    return graph


def to_array(sample: Any) -> numpy.typing.NDArray[Any]:
    """A batch as a NumPy array, of NumPy or of a framework; a tuple of several as pack() has it."""
    if isinstance(sample, tuple):
        return pack(sample)
    if isinstance(sample, Packed):
        return sample
    if hasattr(sample, "detach"):
        sample = sample.detach().cpu()
        sample = (sample.float() if str(sample.dtype) == "torch.bfloat16" else sample).numpy()
    if numpy.ma.is_masked(sample):
        raise LoomError("InvalidArgument", "the sample has masked numbers: fill them, as by sample.filled(0)")
    array = numpy.asarray(sample)
    if array.dtype.kind == "V" and "float" in array.dtype.name:  # a float type that NumPy lacks
        array = array.astype(numpy.float32)
    if array.dtype.kind not in "fiub":
        what = "nothing" if sample is None else str(array.dtype)
        raise LoomError("InvalidArgument", f"the sample holds {what}: numbers are expected")
    if array.ndim < 2 or 0 in array.shape:
        raise LoomError(
            "ShapeMismatch",
            f"the sample has the shape {list(array.shape)}; a batch, with the samples in front, is expected",
        )
    return array


def to_spec(model: object, sample: Numbers, **options: Any) -> tuple[Json, dict[str, Floats]]:
    """Describes a model as a network, without making one.

    Args:
        model: A model of PyTorch, Keras, JAX or scikit-learn.
        sample: One batch for the model, samples first.
        **options: As of stream().

    Returns:
        The spec, a dict, and the weights, a dict from their names in the network to arrays of float32.

    Raises:
        Unsupported: If Loom has no layer for a part of the model.
    """
    return _written(read_model(model, sample, **options))[:2]


def _written(graph: Graph) -> tuple[Json, dict[str, Floats], list[tuple[int, Any]]]:
    spec, weights, cells = _spec.write_spec(graph)
    return spec, _spec.arrays(weights), cells


def stream(model: object, sample: Numbers, **options: Any) -> Network:
    """Makes a network of a live model: the same layers, the same weights, the same answers.

    Args:
        model: A model of PyTorch, Keras, JAX or scikit-learn.
        sample: One batch for the model, samples first: an array, or a tensor of its framework. The values matter only
            if the model branches on them. For a model with several inputs a tuple of batches, which its network takes
            side by side, as pack() lays them.
        **options: `output`, the number or name of one of several outputs of the model; and options of the framework's
            reader (docs/guide/bridge-python.md).

    Returns:
        The network.

    Raises:
        Unsupported: If Loom has no layer for a part of the model, or a layer gives another answer for the sample. The
            error lists all of them.
        TypeError: If an option is unknown.
    """
    graph = read_model(model, sample, **options)
    spec, weights, cells = _written(graph)
    network = build(spec, weights)
    _compare(graph, network, sample, spec, weights, cells)
    return network


def _compare(graph: Graph, network: Network, sample: Numbers, spec: Json, weights: Any, cells: Any) -> None:
    """Raises Unsupported where the network gives another answer for the sample than the model, beyond rounding."""
    output = None if graph.output is None else graph.output.value
    x = to_array(sample)
    if output is None or is_close(output, numpy.asarray(network(x)).reshape(numpy.shape(output)), graph.element):
        return
    known = [(cell, node) for cell, node in cells if node.value is not None]
    limits = [max(1e-3, 16 * spacing(graph.element)) * largest(node.value) + 1e-5 for _, node in known]
    errors = layer_errors(spec, weights, x, known)
    wrong = [(node, error) for (_, node), error, limit in zip(known, errors, limits) if error > limit]
    node, error = wrong[0] if wrong else (graph.output, float("nan"))
    why = f"its answer for the sample is {error:.2g} off the model's: it has a setting that is not read"
    raise Unsupported([(node.path, node.kind, why)])


def _address(at: Sequence[int]) -> tuple[int, int, int]:
    place = tuple(int(a) for a in at)
    if len(place) != 3 or min(place) < 0:
        raise LoomError("InvalidArgument", f"a place in the grid is (z, y, x), not {place}")
    return place


def chosen_output(about: Json) -> dict[str, Any]:
    """The option output= that a network was made with."""
    return {"output": about["output"]} if "output" in about else {}


def bindings(
    network: Network, model: object, at: Sequence[int] | None = None, **options: Any
) -> tuple[dict[str, Any], Graph]:
    """The weights of the model by the names that the network has for them: by what the network remembers of the model
    it came from."""
    about = network.spec.get("metadata", {}).get("bridge")
    if about is None:
        raise LoomError(
            "InvalidState", 'the network does not come from welvet.bridge: its metadata have no key "bridge"'
        )
    first = 0
    if "parts" in about:
        places = {tuple(part["address"]): part for part in about["parts"]}
        if at is None or _address(at) not in places:
            raise LoomError(
                "InvalidArgument", f"the network has parts at {sorted(places)}; `at` has to name one of them"
            )
        about = places[_address(at)]
        first = about["first"]
    sample = numpy.zeros(about["sample_shape"], about["sample_type"])
    if "inputs" in about:
        sample = pack(numpy.zeros(x["shape"], x["type"]) for x in about["inputs"])
    graph = read_model(model, sample, **{**chosen_output(about), **options})
    _, weights, _ = _spec.write_spec(graph)
    named = {_spec.moved(name, first): weight for name, weight in weights.items()}
    known = network.weights()
    missing = [name for name in named if name not in known]
    if missing:
        raise LoomError(
            "ShapeMismatch", f"the model has another structure than the network: {missing[0]} is not in the network"
        )
    return named, graph


def push(network: Network, model: Model, at: Sequence[int] | None = None, **options: Any) -> Model:
    """Writes the weights of a network back into its model, whole or not at all.

    A weight that has the bits of the model already is not touched.

    Args:
        network: A network of stream() or compose().
        model: The model that it came from, or another one of the same structure.
        at: Place (z, y, x) of the model in a network of compose(); None: the network is of one model.
        **options: As of stream().

    Returns:
        The model, which changed in place if it is of PyTorch, Keras, scikit-learn or flax.nnx. Other models of JAX
        cannot
        change: it is then a new one of the same kind.

    Raises:
        LoomError: If the network does not come from such a model (InvalidState, ShapeMismatch), or the model computes a
            weight, which then cannot be written (Unsupported).
    """
    named, graph = bindings(network, model, at, **options)
    changed = []
    for name, weight in named.items():
        values, now = numpy.asarray(network.get(name)), snapped(weight.read())
        if values.shape != now.shape:
            raise LoomError("ShapeMismatch", f"{name} is {values.shape} in the network and {now.shape} in the model")
        if values.astype(numpy.float32).tobytes() != now.tobytes():
            changed.append((weight, values))
            if not weight.is_writable:
                why = "the model computes it: it cannot be written back"
                raise LoomError("Unsupported", f"{name} ({weight.name or 'a computed weight'}): {why}")
    for weight, values in changed:  # after all were looked at: a model is written whole or not at all
        weight.write(values)
    finished: Model = graph.finish()
    return finished
