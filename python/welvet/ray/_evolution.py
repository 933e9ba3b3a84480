"""Evolutions by a config whose networks are judged by workers."""

from __future__ import annotations

import ctypes
import hashlib
import json

from .. import _abi, _native, evolution
from .._native import library
from ._crew import STORE, Crew, Record, config_of, connect

TYPE_CHECKING = False
if TYPE_CHECKING:
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
            options = _abi.EvolveOptions(folder=_native.utf8(self._folder, "folder"), thread_count=1)
            self._handle = _native.make(library.loom_judge_create, self._config, len(self._config),
                                        ctypes.byref(options))
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
            _native.check(library.loom_judge_fitness(judge, network, len(network), ctypes.byref(numbers),
                                                     ctypes.byref(count)))
            out.append(numbers[:count.value])
        return out, self.identity()


class _Generations:
    """Answers what a run asks for, generation by generation."""

    def __init__(self, crew: Crew, identity: str, record: Record) -> None:
        self._crew, self._identity, self._record = crew, identity, record
        self._judged = 0  # networks, before the generation that runs
        self.raised: BaseException | None = None
        self.callback = _abi.OnJudging(self._judge)

    def _judge(self, _: int | None, count: int, networks: int, ends: int, width: int, fitness: int) -> bool:
        try:
            self._record.reached(judged=self._judged)
            places = [0, *(ctypes.c_uint64 * count).from_address(ends)]
            files = [ctypes.string_at(networks + a, b - a) for a, b in zip(places, places[1:])]
            share = max(1, min(_SHARE, -(-count // self._crew.workers)))

            def take(job: int, given: tuple[list[list[float]], str]) -> None:
                answer, identity = given
                if identity != self._identity:
                    raise ValueError("a worker reads other data than this process: the hashes of their files differ")
                for place, told in enumerate(answer, job * share):
                    if len(told) != width:
                        raise ValueError(f"a worker gives {len(told)} numbers for a network, this process {width}")
                    ctypes.memmove(fitness + 8 * place * width, (ctypes.c_double * width)(*told), 8 * width)

            self._crew.run("fitness", [(files[at:at + share],) for at in range(0, count, share)], take)
            self._judged += count
            return True
        except BaseException as error:  # it must not unwind through C
            self.raised = error
            return False


def evolve(config: Json | Path, workers: int = 2, *, out: Path | None = None, folder: Path | None = None,
           start: Start = "fresh", generations: int | None = None, address: str | None = None, store: int = STORE,
           progress: Tick | None = None) -> Json:
    """Runs a whole evolution whose networks are judged by the workers of a Ray cluster; returns its outcome, a dict.

    config: as of `loom evolve` (docs/guide/evolution.md), a dict or the path of a file, with islands or without. The hash is
    that of welvet.evolve, whatever the number of workers and whether some are lost.
    workers: processes, with a thread each, that read the task's data from the same paths. A lost one is replaced, or
    given up where the cluster has no room for a minute; workers.jsonl in `out` then says which and when.
    The other arguments: as of welvet.evolve and connect().
    """
    text, at = config_of(config, folder)
    _native.whole(workers, "workers", 1, 4096)
    own = Referee(text, at).identity()  # what is wrong with the config is said before there are workers
    connect(workers, address=address, store=store)
    record = Record(out, start)
    crew = Crew(workers, Referee, text, at, tell=record)
    try:
        judging = _Generations(crew, own, record)
        try:
            outcome = evolution._run(config, out, at, start, generations, 1, None, progress, judging.callback)
        except _native.LoomError:
            if judging.raised is not None:
                raise judging.raised from None
            raise
        outcome["workers"], outcome["lost_workers"] = workers, crew.lost
        return outcome
    finally:
        crew.close()
