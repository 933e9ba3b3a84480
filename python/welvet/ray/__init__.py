"""Loom over the processes and machines of a Ray cluster, with the bits of one process.

    train      a training by a config; its shards are divided over workers, and lost workers are replaced
    evolve     an evolution by a config; its networks are judged by workers
    evaluate   generations of a population, or of several, judged by workers
    map        a model's outputs for a Ray dataset
    connect    the cluster: one that is running, or a local one

LostWorkersError ends a call whose workers are lost again and again. `python -m welvet.ray train CONFIG --workers 5`
does the first from a shell, `evolve` the second. docs/guide/tutorial-ray.md is the way in.
"""

from __future__ import annotations

__all__ = ["LostWorkersError", "connect", "evaluate", "evolve", "map", "train"]

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from ._crew import LostWorkersError, connect
    from ._datasets import map
    from ._evolution import evolve
    from ._populations import evaluate
    from ._training import train
else:
    _MODULES = {
        "LostWorkersError": "_crew",
        "connect": "_crew",
        "map": "_datasets",
        "evolve": "_evolution",
        "evaluate": "_populations",
        "train": "_training",
    }

    def __getattr__(name):
        """Imports Ray at the first use: the program's --help and its hint do without."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib  # pylint: disable=import-outside-toplevel

        for needed in ("numpy", "ray"):
            try:
                importlib.import_module(needed)
            except ImportError as error:
                raise ImportError(f"welvet.ray needs {needed}: pip install welvet[ray]", name=needed) from error
        return getattr(importlib.import_module("." + _MODULES[name], __name__), name)

    def __dir__():
        return sorted(__all__)
