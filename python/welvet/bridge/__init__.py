"""Live models of PyTorch, Keras, JAX and scikit-learn as networks of Loom, in the same process.

stream() makes a network of a model, certify() compares both and returns a Certificate, push() writes the weights back.
compose() joins parts of several frameworks. to_spec() and write_checkpoint() make files without a network. pack() lays
several inputs side by side. A Tree names the weights of a pytree of JAX. Unsupported lists everything that Loom lacks.
build_network_from_pytorch_stream(), build_network_from_keras_stream(), build_network_from_jax_stream() and
build_network_from_sklearn_stream() are stream().

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

# Names of the specification (C-06). Each takes a model of any of the frameworks.
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
