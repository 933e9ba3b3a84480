"""Loom from Python: neural networks with the same bits on every machine.

>>> import welvet
>>> welvet.Transformer.load_model("HuggingFaceTB/SmolLM2-360M-Instruct")  # doctest: +SKIP
>>> print(welvet.Transformer.generate("Once upon a time"))  # doctest: +SKIP
"""

from ._native import ArgumentError, CancelledError, LoomError, NotFoundError
from .library import system_info, verify, version
from .lm import LM, Generation, Stream
from .network import Network, Session
from .tokenizer import Tokenizer
from .trainer import Step, Trainer
from .transformer import Transformer

__version__ = version()
__all__ = ["LM", "ArgumentError", "CancelledError", "Generation", "LoomError", "Network", "NotFoundError", "Session", "Step",
           "Stream", "Tokenizer", "Trainer", "Transformer", "system_info", "verify", "version"]
