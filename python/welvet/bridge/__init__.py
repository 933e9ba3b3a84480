"""Live models of PyTorch, Keras, JAX and scikit-learn as networks of Loom, in the same process.

>>> net = welvet.bridge.stream(model, sample)             # doctest: +SKIP
>>> welvet.bridge.certify(net, model, sample).passed      # doctest: +SKIP
True
>>> welvet.bridge.push(net, model)                        # doctest: +SKIP
"""

from .api import push, stream, to_spec
from .certificate import Certificate, certify
from .composition import compose
from .graph import Unsupported, pack
from .jax_reader import Tree
from .spec import write_checkpoint

# The mission's names (C-06). Each takes a model of any of the frameworks.
build_network_from_pytorch_stream = stream
build_network_from_keras_stream = stream
build_network_from_jax_stream = stream
build_network_from_sklearn_stream = stream

__all__ = [
    "Certificate",
    "Tree",
    "Unsupported",
    "build_network_from_jax_stream",
    "build_network_from_keras_stream",
    "build_network_from_pytorch_stream",
    "build_network_from_sklearn_stream",
    "certify",
    "compose",
    "pack",
    "push",
    "stream",
    "to_spec",
    "write_checkpoint",
]
