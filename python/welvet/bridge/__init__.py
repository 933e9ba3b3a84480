"""Live models of PyTorch, Keras, JAX and scikit-learn as networks of Loom, in the same process.

>>> net = welvet.bridge.stream(model, sample)    # doctest: +SKIP
>>> net(sample)                                  # doctest: +SKIP
>>> welvet.bridge.push(net, model)               # doctest: +SKIP
"""

from .api import read_model, to_spec
from .graph import Unsupported
from .spec import write_checkpoint

__all__ = ["Unsupported", "read_model", "to_spec", "write_checkpoint"]
