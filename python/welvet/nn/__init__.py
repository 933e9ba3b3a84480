"""Networks of any layers: grids of cells, sessions, step meshes, graphs, layer kinds of one's own, measurements.

Network is a grid of layers with their weights. Session runs one: it has the activations, gradients and states of one
user. StepMesh moves all cells at once, in ticks; a StepState is one user of it, MeshTween teaches it by targets. Graph
runs ONNX models. register_kind() and unregister_kind() add layer kinds, which are written with Layer and Tensor.
LayerEvent and Window are reports of a watch. AdaptationTracker, simulate_precision(), complementary_matches(),
performance_similarity() and tile_sizes() measure.
"""

from .graph import Graph
from .kinds import Layer, Tensor, register_kind, unregister_kind
from .measure import AdaptationTracker, complementary_matches, performance_similarity, simulate_precision, tile_sizes
from .mesh import MeshTween, StepMesh, StepState
from .network import Network, Session
from .watch import LayerEvent, Window

__all__ = [
    "AdaptationTracker",
    "Graph",
    "Layer",
    "LayerEvent",
    "MeshTween",
    "Network",
    "Session",
    "StepMesh",
    "StepState",
    "Tensor",
    "Window",
    "complementary_matches",
    "performance_similarity",
    "register_kind",
    "simulate_precision",
    "tile_sizes",
    "unregister_kind",
]
