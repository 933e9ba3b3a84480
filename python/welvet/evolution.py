"""Signatures, crosses, mutations, populations (docs/guide/evolution.md)."""

from __future__ import annotations

import ctypes
import json

from . import _abi, _native, _tensors
from ._native import library
from .network import Network

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Json, Numbers, Path, Self, Shape, Start, Text, Tick


def _config(config: Json | None, more: Json) -> tuple[bytes, int]:
    data = _native.to_json({**(config or {}), **more})
    return data, len(data)


def dna(network: Network, *, nested: bool = False) -> list[Json]:
    """Returns a network's signatures, a list of dicts: by layer the direction of its weights."""
    return _native.records(library.loom_dna_extract, network._handle.value, nested)


def compare_dna(first: Network, second: Network, *, nested: bool = False) -> Json:
    """Compares two networks layer by layer, a dict: overlaps, logic shifts, what stands in one alone."""
    return _native.record(library.loom_dna_compare, first._handle.value, second._handle.value, nested)


def draw_dna(first: Network, second: Network, *, nested: bool = False) -> str:
    """Returns that as a picture, SVG."""
    return _native.blob(library.loom_dna_draw, first._handle.value, second._handle.value, nested).decode()


def compare(first: Network, second: Network) -> Json:
    """Returns what differs between the specs and weights of two networks, a dict."""
    return _native.record(library.loom_network_compare, first._handle.value, second._handle.value)


def splice(first: Network, second: Network, **config: Any) -> Network:
    """Returns a child of two networks, a new Network.

    config: mode ("blend", "point" or "uniform"), blend_alpha, split_ratio, fitness_a, fitness_b, seed
    (docs/guide/evolution.md).
    """
    return Network._of(_native.make(library.loom_network_splice, first._handle.value, second._handle.value,
                                    *_config(None, config)))


def mutate(network: Network, shape: Shape, config: Json | None = None, **more: Any) -> Json:
    """Changes a network at random and returns what was done, a dict; its output keeps its shape.

    shape: of the input, samples first. config: as `mutation` of an evolution, and seed, generation, individual.
    """
    extents = _tensors.shape_of(shape, "shape")
    return _native.record(library.loom_network_mutate, network._handle.value, extents, len(extents),
                          *_config(config, more))


class Population(_native.Owner):
    """Networks that the caller judges, and that are mixed and changed, generation by generation.

    base: the first generation are mutations of it. shape: of the input, samples first.
    config: population, elites, seed, objectives, mutation, splice, species, novelty (docs/guide/evolution.md).

    >>> base = Network({"layers": [{"type": "dense", "input_height": 2, "output_height": 1}]})
    >>> people = Population(base, (1, 2), population=8, seed=1, mutation={"node_rate": 0, "layer_toggle_rate": 0})
    >>> for _ in range(20):
    ...     report = people.evolve(lambda net: -abs(float(net([[1, 1]])[0, 0]) - 3))
    >>> float(people.best()([[1, 1]])[0, 0]) > 0
    True
    """

    def __init__(self, base: Network, shape: Shape, config: Json | None = None, *, threads: int | None = None,
                 **more: Any) -> None:
        self._make(base, shape, {**(config or {}), **more}, threads)

    def _make(self, source: Network | Text, shape: Shape, config: Json, threads: int | None) -> None:
        extents, (data, size) = _tensors.shape_of(shape, "shape"), _config(config, {})
        workers = 0 if threads is None else _native.whole(threads, "threads", 1, 256)
        if isinstance(source, Network):
            self._handle = _native.make(library.loom_population_create, source._handle.value, extents, len(extents),
                                        data, size, workers)
        else:
            saved = _native.data_of(source, "snapshot")
            self._handle = _native.make(library.loom_population_restore, saved, len(saved), extents, len(extents),
                                        data, size, workers)

    @classmethod
    def restore(cls, snapshot: Text, shape: Shape, config: Json | None = None, *, threads: int | None = None,
                **more: Any) -> Self:
        """Goes on from a snapshot, with the shape and config of its population."""
        out = cls.__new__(cls)
        out._make(snapshot, shape, {**(config or {}), **more}, threads)
        return out

    def ask(self) -> list[int]:
        """Returns the places of the members that have no fitness yet, a list of whole numbers for network()."""
        places, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        _native.check(library.loom_population_ask(self._handle.value, ctypes.byref(places), ctypes.byref(count)))
        return places[:count.value]

    def network(self, place: int) -> Network:
        """Returns a copy of a member."""
        return Network._of(_native.make(library.loom_population_network, self._handle.value,
                                        _native.whole(place, "place", 0, 2**32)))

    def tell(self, fitness: Numbers) -> Json:
        """Takes a fitness per place of ask(), in that order, breeds the next generation and returns a report, a dict.

        More is better, NaN ranks last. With several objectives each fitness is a list of so many numbers.
        """
        data = _tensors.given(fitness, "fitness", "d")
        return _native.record(library.loom_population_tell, self._handle.value, data.pointer, data.count)

    def evolve(self, judge: Callable[[Network], Numbers]) -> Json:
        """Does a generation: judge(network) gives a fitness, or a list of objectives; returns the report of tell()."""
        return self.tell([judge(self.network(place)) for place in self.ask()])

    def best(self) -> Network:
        """Returns a copy of the network with the best score so far."""
        return Network._of(_native.make(library.loom_population_best, self._handle.value))

    def _described(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.info.items() if isinstance(value, (int, float, str)))

    @property
    def info(self) -> Json:
        """Generation, best score, members, a dict."""
        return _native.record(library.loom_population_info, self._handle.value)

    def snapshot(self) -> bytes:
        """Returns the population as bytes, to go on from elsewhere."""
        return _native.blob(library.loom_population_snapshot, self._handle.value)


def evolve(config: Json | Path, *, out: Path | None = None, folder: Path | None = None, start: Start = "fresh",
           generations: int | None = None, threads: int | None = None, isa: str | None = None,
           progress: Tick | None = None, device: str | None = None) -> Json:
    """Runs a whole evolution by a config, a dict or the path of a file, and returns its outcome, a dict.

    progress: called with a dict behind every generation; returning False ends the run.
    device: where networks are judged, "cpu" (or None), "auto" or a card of gpu_report(), as "gpu". The outcome does not
    depend on it.
    """
    return _run(config, out, folder, start, generations, threads, isa, progress, None, device)


def _run(config: Json | Path, out: Path | None, folder: Path | None, start: str, generations: int | None,
         threads: int | None, isa: str | None, progress: Tick | None, judging: Any,
         device: str | None = None) -> Json:
    """The same with networks that somebody else judges, by a callback, or None."""
    starts = {"fresh": _abi.RUN_FRESH, "resume": _abi.RUN_RESUME, "overwrite": _abi.RUN_OVERWRITE}
    if start not in starts:
        raise ValueError(f"start is {start!r}: expected one of {', '.join(starts)}")
    raised: list[BaseException] = []

    def tell(_: int | None, report: bytes) -> bool:
        try:
            return not progress or progress(json.loads(report)) is not False
        except BaseException as error:  # it must not unwind through C
            raised.append(error)
            return False

    cancel, callback = _native.make(library.loom_cancel_create), _abi.OnGeneration(tell)
    options = _abi.EvolveOptions(
        out=_native.utf8(out, "out") if out else None, folder=_native.utf8(folder, "folder") if folder else None,
        start=starts[start],
        generations=0 if generations is None else _native.whole(generations, "generations", 1, 2**30),
        thread_count=0 if threads is None else _native.whole(threads, "threads", 1, 256),
        isa=_native.utf8(isa, "isa") if isa else None, cancel=cancel.value, progress=callback,
        device=_native.device_name(device))
    if judging is not None:
        options.judging = judging
    args: tuple[object, ...]
    if isinstance(config, dict):
        function, args = library.loom_evolve, _config(config, {})
    else:
        function, args = library.loom_evolve_file, (_native.utf8(config, "config"),)
    outcome = _native.long_call(lambda: _native.record(function, *args, ctypes.byref(options)), cancel)
    if raised:
        raise raised[0] from None
    return outcome
