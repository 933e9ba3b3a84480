"""The functions that a program calls: a model in, a network out, and back."""

import numpy

from .._native import LoomError
from . import spec as _spec


def _reader_of(model):
    """The module that reads this framework's models. It is imported only if the model shows that the framework is there."""
    from . import jax_reader, keras_reader, sklearn_reader, torch_reader

    for reader in (torch_reader, keras_reader, jax_reader, sklearn_reader):
        if reader.is_model(model):
            return reader
    raise LoomError("Unsupported", f"{type(model).__module__}.{type(model).__qualname__} is no model of torch, Keras, JAX or scikit-learn")


def read_model(model, sample, **options):
    """The graph of a model; Unsupported with everything that Loom has no layer for."""
    graph = _reader_of(model).read(model, to_array(sample), **options)
    graph.check()
    return graph


def to_array(sample):
    """A batch as a NumPy array, of NumPy or of a framework."""
    if hasattr(sample, "detach"):
        sample = sample.detach().cpu().numpy()
    array = numpy.asarray(sample)
    if array.ndim < 2 or 0 in array.shape:
        raise LoomError("ShapeMismatch", f"the sample has the shape {list(array.shape)}; a batch, with the samples in front, is expected")
    return array


def to_spec(model, sample, **options):
    """Returns the spec of a network, a dict, and its weights, a dict of float32 arrays by the names that the network gives them."""
    spec, weights, _ = _spec.write_spec(read_model(model, sample, **options))
    return spec, _spec.arrays(weights)
