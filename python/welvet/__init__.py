"""Loom from Python: neural networks with the same bits on every machine.

>>> import welvet
>>> welvet.Transformer.load_model("HuggingFaceTB/SmolLM2-360M-Instruct")  # doctest: +SKIP
>>> print(welvet.Transformer.generate("Once upon a time"))  # doctest: +SKIP
"""

from ._native import ArgumentError, CancelledError, LoomError, NotFoundError
from .chat import Chat
from .evolution import Population, compare, compare_dna, dna, draw_dna, evolve, mutate, splice
from .files import convert, inspect, quantize, schema
from .library import system_info, verify, version
from .lm import LM, Generation, Stream
from .mesh import MeshTween, StepMesh, StepState
from .network import Network, Session
from .tokenizer import Tokenizer
from .trainer import Step, Trainer
from .training import Run, replay, train
from .transformer import Transformer
from .tween import Tween

__version__ = version()
__all__ = ["LM", "ArgumentError", "CancelledError", "Chat", "Generation", "LoomError", "MeshTween", "Network",
           "NotFoundError", "Population", "Run", "Session", "Step", "StepMesh", "StepState", "Stream", "Tokenizer",
           "Trainer", "Transformer", "Tween", "compare", "compare_dna", "convert", "dna", "draw_dna", "evolve",
           "inspect", "mutate", "quantize", "replay", "schema", "splice", "system_info", "train", "verify", "version"]
