"""Loom from Python: neural networks with the same bits on every machine.

The package of the name welvet on the Python Package Index is another project, which has no welvet.version(). This one
comes from tools/wheel of Loom's sources.

A language model that answers, by a path or by a hub id that is in huggingface_hub's cache:

>>> import welvet
>>> lm = welvet.LM("HuggingFaceTB/SmolLM2-360M-Instruct")  # doctest: +SKIP
>>> print(lm.generate("What is the capital of France?"))  # doctest: +SKIP

A network that learns, from lists of numbers or arrays, samples first:

>>> net = welvet.Network({"layers": [{"type": "dense", "in_features": 2, "out_features": 1}]})
>>> trainer = welvet.Trainer(net, (4, 2), loss="mse", learning_rate=0.1)
>>> step = trainer.step([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [2]])
>>> y = net([[0.5, 0.5]])

The package has these names of its own:

    load, LM, Network, Trainer, train   to begin with
    export, inspect, convert, quantize, schema   model and network files
    gpu_report, system_info, verify, version   this machine and the library
    LoomError   base of all errors, with a code; ArgumentError, NotFoundError, CancelledError are kinds of it

Its modules have all the others, for which the package has aliases:

    welvet.lm       LM, Chat, Stream, Generation, Tokenizer, Encoder, Transformer, replay_receipt, content_hash; and
                    lm.Session, of a language model
    welvet.nn       Network, Session, Graph, StepMesh, StepState, MeshTween, LayerEvent, Window, register_kind,
                    unregister_kind, Layer, Tensor, AdaptationTracker, simulate_precision, complementary_matches,
                    performance_similarity, tile_sizes
    welvet.train    train, replay, Run, Trainer, Step, Tween
    welvet.evolve   evolve, Population, mutate, splice, dna, compare_dna, draw_dna, compare, cluster, silhouette, group,
                    dna_points, weight_groups
    welvet.bridge   live models of PyTorch, Keras, JAX and scikit-learn (needs numpy)
    welvet.ray      trainings, populations and models over the workers of Ray (pip install 'ray[data]')

Arrays go in as numpy arrays, tensors of any framework on the CPU, buffers or nested lists. They come back as numpy
arrays of float32, or as memoryviews where numpy is not installed, whose numbers are y[0, 1] and y.tolist(); a network
with "activations": "f64" computes in float64. Calls release the interpreter's lock; threads may share models and
networks, a session is for one at a time. docs/guide/tutorial-python.md is the way in.
"""

from __future__ import annotations

from ._native import ArgumentError, CancelledError, LoomError, NotFoundError
from .library import gpu_report, system_info, verify, version

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from . import bridge as bridge
    from . import lm as lm
    from . import nn as nn
    from . import ray as ray
    from .evolve import Module as _Evolve
    from .evolve import (
        Population,
        cluster,
        compare,
        compare_dna,
        dna,
        dna_points,
        draw_dna,
        group,
        mutate,
        silhouette,
        splice,
        weight_groups,
    )
    from .files import convert, export, inspect, load, quantize, schema
    from .lm import LM, Chat, Encoder, Generation, Stream, Tokenizer, Transformer, content_hash, replay_receipt
    from .nn import (
        AdaptationTracker,
        Graph,
        Layer,
        LayerEvent,
        MeshTween,
        Network,
        Session,
        StepMesh,
        StepState,
        Tensor,
        Window,
        complementary_matches,
        performance_similarity,
        register_kind,
        simulate_precision,
        tile_sizes,
        unregister_kind,
    )
    from .train import Module as _Train
    from .train import Run, Step, Trainer, Tween, replay

    evolve: _Evolve
    train: _Train
else:
    _MODULES = ("bridge", "evolve", "lm", "nn", "ray", "train")  # they are imported at their first use
    _HOMES = {
        "evolve": "Population cluster compare compare_dna dna dna_points draw_dna group mutate silhouette splice "
        "weight_groups",
        "files": "convert export inspect load quantize schema",
        "lm": "LM Chat Encoder Generation Stream Tokenizer Transformer content_hash replay_receipt",
        "nn": "AdaptationTracker Graph Layer LayerEvent MeshTween Network Session StepMesh StepState Tensor Window "
        "complementary_matches performance_similarity register_kind simulate_precision tile_sizes "
        "unregister_kind",
        "train": "Run Step Trainer Tween replay",
    }
    _HOMES = {name: home for home, names in _HOMES.items() for name in names.split()}

    def __getattr__(name):
        home = name if name in _MODULES else _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib  # pylint: disable=import-outside-toplevel

        try:
            module = importlib.import_module("." + home, __name__)
        except ModuleNotFoundError as error:
            if home != "bridge":
                raise
            raise ImportError(f"welvet.bridge needs {error.name}, which is not installed") from error
        if name != home:
            globals()[name] = getattr(module, name)
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *_HOMES, *_MODULES})


__version__ = version()
__all__ = [
    "LM",
    "AdaptationTracker",
    "ArgumentError",
    "CancelledError",
    "Chat",
    "Encoder",
    "Generation",
    "Graph",
    "Layer",
    "LayerEvent",
    "LoomError",
    "MeshTween",
    "Network",
    "NotFoundError",
    "Population",
    "Run",
    "Session",
    "Step",
    "StepMesh",
    "StepState",
    "Stream",
    "Tensor",
    "Tokenizer",
    "Trainer",
    "Transformer",
    "Tween",
    "Window",
    "cluster",
    "compare",
    "compare_dna",
    "complementary_matches",
    "content_hash",
    "convert",
    "dna",
    "dna_points",
    "draw_dna",
    "evolve",
    "export",
    "gpu_report",
    "group",
    "inspect",
    "load",
    "mutate",
    "performance_similarity",
    "quantize",
    "register_kind",
    "replay",
    "replay_receipt",
    "schema",
    "silhouette",
    "simulate_precision",
    "splice",
    "system_info",
    "tile_sizes",
    "train",
    "unregister_kind",
    "verify",
    "version",
    "weight_groups",
]
