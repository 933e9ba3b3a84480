"""Loom from Python: neural networks with the same bits on every machine.

The package of the name welvet on the Python Package Index is another project, which has no welvet.version(). This one
comes from tools/wheel of Loom's sources.

A language model that answers, by a path or by a hub id that is in huggingface_hub's cache:

>>> import welvet
>>> lm = welvet.LM("HuggingFaceTB/SmolLM2-360M-Instruct")  # doctest: +SKIP
>>> print(lm.generate("What is the capital of France?"))  # doctest: +SKIP

A network that learns, from lists of numbers or arrays, samples first:

>>> net = welvet.Network({"layers": [{"type": "dense", "input_height": 2, "output_height": 1}]})
>>> trainer = welvet.Trainer(net, (4, 2), loss="mse", learning_rate=0.1)
>>> step = trainer.step([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [2]])
>>> y = net([[0.5, 0.5]])

What there is:

    language models   LM, Chat, Tokenizer, Transformer (one model for the whole program), Stream, Generation
    networks          Network, Session (states, gradients, bound buffers), StepMesh and StepState (cells in ticks),
                      LayerEvent, Window (what a watch of a Session, a Trainer or a StepMesh hears)
    learning          train, replay, Run (whole trainings); Trainer, Step (batch by batch); Tween, MeshTween (targets)
    evolution         Population, evolve, mutate, splice; dna, compare_dna, draw_dna, compare
    clusters          cluster, silhouette, group: of points or networks; dna_points, weight_groups
    graphs            Graph: ONNX models
    texts to vectors  Encoder
    files             load, export, inspect, convert, quantize, schema
    layer kinds       register_kind, unregister_kind: kinds of one's own, by Layer and Tensor
    measurements      AdaptationTracker, simulate_precision, complementary_matches, performance_similarity,
                      tile_sizes
    proofs            replay_receipt, content_hash; Generation.receipt, Chat.receipt, Encoder.receipt
    this machine      gpu_report, system_info, verify, version
    errors            LoomError, with a code; ArgumentError, NotFoundError, CancelledError are kinds of it
    frameworks        welvet.bridge: live models of PyTorch, Keras, JAX and scikit-learn (needs numpy)
    machines          welvet.ray: trainings, populations and models over the workers of Ray (pip install 'ray[data]')

Arrays go in as numpy arrays, tensors of any framework on the CPU, buffers or nested lists. They come back as numpy
arrays of float32, or as memoryviews where numpy is not installed, whose numbers are y[0, 1] and y.tolist(); a network
with "activations": "f64" computes in float64. Calls release the interpreter's lock; threads may share models and
networks, a session is for one at a time. docs/guide/tutorial-python.md is the way in.
"""

from __future__ import annotations

from ._native import ArgumentError, CancelledError, LoomError, NotFoundError
from .chat import Chat
from .clustering import cluster, dna_points, group, silhouette, weight_groups
from .encoder import Encoder
from .evolution import Population, compare, compare_dna, dna, draw_dna, evolve, mutate, splice
from .files import convert, export, inspect, load, quantize, schema
from .graph import Graph
from .kinds import Layer, Tensor, register_kind, unregister_kind
from .library import gpu_report, system_info, verify, version
from .lm import LM, Generation, Stream
from .measure import AdaptationTracker, complementary_matches, performance_similarity, simulate_precision, tile_sizes
from .mesh import MeshTween, StepMesh, StepState
from .network import Network, Session
from .receipts import content_hash, replay_receipt
from .tokenizer import Tokenizer
from .trainer import Step, Trainer
from .training import Run, replay, train
from .transformer import Transformer
from .tween import Tween
from .watch import LayerEvent, Window

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from . import bridge
else:

    def __getattr__(name):
        """Imports welvet.bridge at its first use: it needs numpy."""
        if name == "bridge":
            import importlib  # pylint: disable=import-outside-toplevel

            try:
                return importlib.import_module(".bridge", __name__)
            except ModuleNotFoundError as error:
                raise ImportError(f"welvet.bridge needs {error.name}, which is not installed") from error
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), "bridge"})


__version__ = version()
__all__ = ["LM", "AdaptationTracker", "ArgumentError", "CancelledError", "Chat", "Encoder", "Generation", "Graph",
           "Layer", "LayerEvent", "LoomError", "MeshTween", "Network", "NotFoundError", "Population", "Run", "Session",
           "Step", "StepMesh", "StepState", "Stream", "Tensor", "Tokenizer", "Trainer", "Transformer", "Tween",
           "Window", "cluster", "compare", "compare_dna", "complementary_matches", "content_hash", "convert", "dna",
           "dna_points", "draw_dna", "evolve", "export", "gpu_report", "group", "inspect", "load", "mutate",
           "performance_similarity", "quantize", "register_kind", "replay", "replay_receipt", "schema", "silhouette",
           "simulate_precision", "splice", "system_info", "tile_sizes", "train", "unregister_kind", "verify", "version",
           "weight_groups"]
