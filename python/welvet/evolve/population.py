"""Signatures, crosses, mutations, populations (docs/guide/evolution.md)."""

from __future__ import annotations

import ctypes
import json
import threading

from .. import _abi, _native, _tensors
from .._native import LoomError, library
from ..nn.network import Network, handle_of

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import Json, Numbers, Path, Self, Shape, Start, Text, Tick


def _config(config: Json | None, more: Json) -> tuple[bytes, int]:
    data = _native.config_of(config, more)
    return data, len(data)


def dna(network: Network, *, nested: bool = False) -> list[Json]:
    """Returns the signatures of a network: the direction of the weights of each layer.

    Args:
        network: The network.
        nested: True includes layers inside of layers.

    Returns:
        A list of dicts, one per layer: key, type, weights.
    """
    return _native.records(library.loom_dna_extract, handle_of(network), _native.truth(nested, "nested"))


def compare_dna(first: Network, second: Network, *, nested: bool = False) -> Json:
    """Compares the signatures of two networks.

    Args:
        first: A network.
        second: Another one.
        nested: True includes layers inside of layers.

    Returns:
        A dict: overlaps, logic shifts, layers of one network alone.
    """
    return _native.record(
        library.loom_dna_compare,
        handle_of(first, "first"),
        handle_of(second, "second"),
        _native.truth(nested, "nested"),
    )


def draw_dna(first: Network, second: Network, *, nested: bool = False) -> str:
    """Draws the comparison of compare_dna().

    Args:
        first: A network.
        second: Another one.
        nested: True includes layers inside of layers.

    Returns:
        The picture, SVG.
    """
    return _native.blob(
        library.loom_dna_draw, handle_of(first, "first"), handle_of(second, "second"), _native.truth(nested, "nested")
    ).decode()


def compare(first: Network, second: Network) -> Json:
    """Compares the specs and weights of two networks.

    Args:
        first: A network.
        second: Another one.

    Returns:
        A dict of the differences.
    """
    return _native.record(library.loom_network_compare, handle_of(first, "first"), handle_of(second, "second"))


def splice(first: Network, second: Network, **config: Any) -> Network:
    """Crosses two networks.

    Args:
        first: A network.
        second: Another one.
        **config: mode ("blend", "point" or "uniform"), blend_alpha, split_ratio, fitness_a, fitness_b, seed
            (docs/guide/evolution.md).

    Returns:
        The child, a new network.

    Raises:
        ValueError: If a key of the config is unknown or wrong.
    """
    return Network._of(
        _native.make(
            library.loom_network_splice, handle_of(first, "first"), handle_of(second, "second"), *_config(None, config)
        )
    )


def mutate(network: Network, shape: Shape, config: Json | None = None, **more: Any) -> Json:
    """Changes a network at random. Its output keeps its shape.

    Args:
        network: The network, which changes in place.
        shape: Shape of the input, samples first.
        config: A dict like `mutation` of an evolution (docs/guide/evolution.md), with seed, generation, individual;
            None: none.
        **more: Further keys, which replace those of `config`.

    Returns:
        A dict of the changes.

    Raises:
        ValueError: If a key of the config is unknown or wrong.
    """
    extents = _tensors.shape_of(shape, "shape")
    return _native.record(
        library.loom_network_mutate, handle_of(network), extents, len(extents), *_config(config, more)
    )


class Population(_native.Owner):
    """Networks that the caller judges, and that are crossed and mutated, generation by generation.

    Args:
        base: A network; the first generation are mutations of it.
        shape: Shape of the input, samples first.
        config: A dict: population, elites, seed, objectives, mutation, splice, species, novelty
            (docs/guide/evolution.md); None: none.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        **more: Further keys, as population=8, which replace those of `config`.

    Raises:
        ValueError: If a key of the config is unknown or wrong.

    >>> base = Network({"layers": [{"type": "dense", "in_features": 2, "out_features": 1}]})
    >>> people = Population(base, (1, 2), population=8, seed=1, mutation={"node_rate": 0, "layer_toggle_rate": 0})
    >>> for _ in range(20):
    ...     report = people.evolve(lambda net: -abs(float(net([[1, 1]])[0, 0]) - 3))
    >>> float(people.best()([[1, 1]])[0, 0]) > 0
    True
    """

    def __init__(
        self, base: Network, shape: Shape, config: Json | None = None, *, threads: int | None = None, **more: Any
    ) -> None:
        _native.instance(base, Network, "base", "a Network")
        self._make(base, shape, _config(config, more), threads)

    def _make(self, source: Network | Text, shape: Shape, config: tuple[bytes, int], threads: int | None) -> None:
        self._turns, self._evolving = _native.Turns(), threading.RLock()
        self._generations = 0  # calls of tell() that succeeded
        extents, (data, size) = _tensors.shape_of(shape, "shape"), config
        workers = _native.compute(threads)
        if isinstance(source, Network):
            self._handle = _native.make(
                library.loom_population_create, source._handle.value, extents, len(extents), data, size, workers
            )
        else:
            saved = _native.data_of(source, "snapshot")
            self._handle = _native.make(
                library.loom_population_restore, saved, len(saved), extents, len(extents), data, size, workers
            )

    @classmethod
    def restore(
        cls, snapshot: Text, shape: Shape, config: Json | None = None, *, threads: int | None = None, **more: Any
    ) -> Self:
        """Continues from a snapshot.

        Args:
            snapshot: Bytes of snapshot().
            shape: Shape of the input of that population.
            config: Config of that population.
            threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
            **more: Further keys of the config.

        Returns:
            The population.

        Raises:
            LoomError: If the bytes are damaged (CorruptData).
        """
        out = cls.__new__(cls)
        out._make(snapshot, shape, _config(config, more), threads)
        return out

    def ask(self) -> list[int]:
        """Lists the members that have no fitness yet.

        Returns:
            Their places, for network().
        """
        return self._ask()[0]

    def _ask(self) -> tuple[list[int], int]:
        """ask() and the number of generations so far, for _tell()."""
        places, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        with self._turns:  # the places last until the next call
            _native.check(library.loom_population_ask(self._handle.value, ctypes.byref(places), ctypes.byref(count)))
            return places[: count.value], self._generations

    def network(self, place: int) -> Network:
        """Copies a member.

        Args:
            place: Place of the member, from ask().

        Returns:
            The copy.

        Raises:
            ValueError: If there is no such member.
        """
        return Network._of(
            _native.make(library.loom_population_network, self._handle.value, _native.whole(place, "place", 0, 2**32))
        )

    def tell(self, fitness: Numbers) -> Json:
        """Takes the fitness of every member of ask(), and breeds the next generation.

        Args:
            fitness: A number per place of ask(), in that order; more is better, NaN and infinities rank last. With several
                objectives a list of numbers per place.

        Returns:
            A report of the generation, a dict.

        Raises:
            ValueError: If there are more or fewer numbers.
        """
        return self._tell(fitness, None)

    def _tell(self, fitness: Numbers, expected: int | None) -> Json:
        """tell(), unless there have been other calls of it since _ask() returned `expected`."""
        data = _tensors.given(fitness, "fitness", "d")
        with self._turns:
            if expected not in (None, self._generations):
                raise LoomError(
                    "InvalidState",
                    "another call of tell() bred the next generation while this one was judged: judge again",
                )
            report = _native.record(library.loom_population_tell, self._handle.value, data.pointer, data.count)
            self._generations += 1
            return report

    def evolve(self, judge: Callable[[Network], Numbers]) -> Json:
        """Does a generation: ask(), judge, tell(). Calls of other threads wait.

        Args:
            judge: Function that takes a network and returns its fitness, or a list of objectives.

        Returns:
            A report of the generation, a dict.

        Raises:
            LoomError: If something else called tell() meanwhile (InvalidState).
        """
        if judge is None:
            raise TypeError("judge must be a function, not NoneType")
        _native.callback(judge, "judge")
        with self._evolving:
            places, generations = self._ask()
            return self._tell([judge(self.network(place)) for place in places], generations)

    def best(self) -> Network:
        """Copies the network with the best score so far.

        Returns:
            The copy.

        Raises:
            LoomError: If no generation was judged (NoValue).
        """
        return Network._of(_native.make(library.loom_population_best, self._handle.value))

    def _described(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.info.items() if isinstance(value, (int, float, str)))

    @property
    def info(self) -> Json:
        """A dict: generation, best score, members."""
        return _native.record(library.loom_population_info, self._handle.value)

    def snapshot(self) -> bytes:
        """Returns the whole population.

        Returns:
            Bytes for restore(), on any machine.
        """
        return _native.blob(library.loom_population_snapshot, self._handle.value)


def evolve(
    config: Json | Path,
    *,
    out: Path | None = None,
    folder: Path | None = None,
    start: Start = "fresh",
    generations: int | None = None,
    threads: int | None = None,
    isa: str | None = None,
    progress: Tick | None = None,
    device: str | None = None,
) -> Json:
    """Runs a whole evolution. Ctrl-C ends it after a generation.

    Args:
        config: A dict with the keys of docs/guide/evolution.md, or the path of such a file.
        out: Folder of the run, with journal, checkpoint and the best networks; None: none.
        folder: Folder that relative paths of the config start from; None: that of the config file, or the current one.
        start: "fresh", "resume" or "overwrite".
        generations: Number of generations, in place of the config's.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        isa: Instruction set, as "avx2"; None: the best one of this processor. No result depends on it.
        progress: Function that is called with a dict after every generation; returning False ends the run.
        device: Device that judges networks: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result
            depends on it.

    Returns:
        The outcome, a dict.

    Raises:
        NotFoundError: If a file is missing.
        ValueError: If the config has an unknown or wrong key, or `out` holds a run and `start` is "fresh".
    """
    return _run(config, out, folder, start, generations, threads, isa, progress, None, device)


def _run(
    config: Json | Path,
    out: Path | None,
    folder: Path | None,
    start: str,
    generations: int | None,
    threads: int | None,
    isa: str | None,
    progress: Tick | None,
    judging: Any,
    device: str | None = None,
) -> Json:
    """Like evolve(); `judging` is the callback that judges networks in place of the library, or None."""
    _native.callback(progress, "progress")
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
    options = _abi.EvolutionOptions(
        out=_native.utf8(out, "out") if out else None,
        folder=_native.utf8(folder, "folder") if folder else None,
        start=starts[start],
        generations=0 if generations is None else _native.whole(generations, "generations", 1, 2**30),
        compute=_native.compute(threads, isa, device),
        cancel=cancel.value,
        progress=callback,
    )
    if judging is not None:
        options.judging = judging
    args: tuple[object, ...]
    if isinstance(config, dict):
        function, args = library.loom_evolution_run, _config(config, {})
    else:
        function = library.loom_evolution_run_file
        args = (_native.utf8(config, "config", "a dict or the path of a file"),)
    outcome = _native.long_call(lambda: _native.record(function, *args, ctypes.byref(options)), cancel)
    if raised:
        raise raised[0] from None
    return outcome
