"""Evolutions by a config whose networks are judged by workers."""

from __future__ import annotations

import ctypes
import hashlib
import json

from .. import _abi, _native
from .._native import library
from ..evolve import population
from ._crew import STORE, Crew, Record, config_of, connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Json, Path, Start, Tick

_SHARE = 8  # networks that a worker judges at once, at most: a call costs more than a small network


class Referee:
    """An actor: the task of a config."""

    def __init__(self, config: str, folder: str) -> None:
        self._config, self._folder = config.encode(), folder
        self._handle: _native.Handle | None = None
        self._identity = ""

    def _open(self) -> _native.Handle:
        if self._handle is None:  # not while the actor is made: errors of a call are the caller's, word for word
            options = _abi.EvolutionOptions(folder=_native.utf8(self._folder, "folder"), compute=_native.compute(1))
            self._handle = _native.make(
                library.loom_judge_create, self._config, len(self._config), ctypes.byref(options)
            )
        return self._handle

    def identity(self) -> str:
        """The hash of all that a run is a function of, where files count as their bytes."""
        if not self._identity:
            about = _native.record(library.loom_judge_info, self._open().value)["identity"]
            self._identity = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return self._identity

    def fitness(self, networks: list[bytes]) -> tuple[list[list[float]], str]:
        """The numbers of networks that came as files, and identity()."""
        judge, out = self._open().value, []
        for network in networks:
            numbers, count = ctypes.POINTER(ctypes.c_double)(), ctypes.c_size_t()
            _native.check(
                library.loom_judge_fitness(judge, network, len(network), ctypes.byref(numbers), ctypes.byref(count))
            )
            out.append(numbers[: count.value])
        return out, self.identity()


class _Generations:
    """Answers what a run asks for, generation by generation."""

    def __init__(self, crew: Crew, identity: str, record: Record) -> None:
        self._crew, self._identity, self._record = crew, identity, record
        self._judged = 0  # networks, before the generation that runs
        self.raised: BaseException | None = None
        self.callback = _abi.OnJudging(self._judge)

    def _judge(self, _: int | None, event: Any) -> bool:
        try:
            e = event.contents
            count, width, fitness = e.ends_count, e.width, ctypes.addressof(e.fitness.contents)
            self._record.reached(judged=self._judged)
            places = [0, *e.ends[:count]]
            files = [ctypes.string_at(e.networks + a, b - a) for a, b in zip(places, places[1:])]
            share = max(1, min(_SHARE, -(-count // self._crew.workers)))

            def take(job: int, given: tuple[list[list[float]], str]) -> None:
                answer, identity = given
                if identity != self._identity:
                    raise ValueError("a worker reads other data than this process: the hashes of their files differ")
                for place, told in enumerate(answer, job * share):
                    if len(told) != width:
                        raise ValueError(f"a worker gives {len(told)} numbers for a network, this process {width}")
                    ctypes.memmove(fitness + 8 * place * width, (ctypes.c_double * width)(*told), 8 * width)

            self._crew.run("fitness", [(files[at : at + share],) for at in range(0, count, share)], take)
            self._judged += count
            return True
        except BaseException as error:  # it must not unwind through C
            self.raised = error
            return False


def evolve(
    config: Json | Path,
    workers: int = 2,
    *,
    out: Path | None = None,
    folder: Path | None = None,
    start: Start = "fresh",
    generations: int | None = None,
    address: str | None = None,
    store: int = STORE,
    progress: Tick | None = None,
) -> Json:
    """Runs a whole evolution whose networks the workers of a Ray cluster judge.

    The outcome is that of welvet.evolve, whatever the number of workers and whether some are lost. A lost worker is
    replaced, or given up if the cluster has no room for a minute; workers.jsonl in `out` then has which and when.

    Args:
        config: A dict with the keys of docs/guide/evolution.md, or the path of such a file.
        workers: Number of processes, with a thread each. They read the task's data from the same paths.
        out: Folder of the run; None: none.
        folder: Folder that relative paths of the config start from; None: that of the config file, or the current one.
        start: "fresh", "resume" or "overwrite".
        generations: Number of generations, in place of the config's.
        address: Address of a cluster, see connect().
        store: Bytes of shared memory of a new local cluster.
        progress: Function that is called with a dict after every generation; returning False ends the run.

    Returns:
        The outcome, a dict; workers and lost_workers are numbers.

    Raises:
        LostWorkersError: If workers are lost again and again.
        ValueError: If the config has an unknown or wrong key.
    """
    text, at = config_of(config, folder)
    _native.whole(workers, "workers", 1, 4096)
    own = Referee(text, at).identity()  # refuses a wrong config before workers start
    connect(workers, address=address, store=store)
    record = Record(out, start)
    crew = Crew(workers, Referee, text, at, tell=record)
    try:
        judging = _Generations(crew, own, record)
        try:
            outcome = population._run(config, out, at, start, generations, 1, None, progress, judging.callback)
        except _native.LoomError:
            if judging.raised is not None:
                raise judging.raised from None
            raise
        outcome["workers"], outcome["lost_workers"] = workers, crew.lost
        return outcome
    finally:
        crew.close()
