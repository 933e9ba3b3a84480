"""Workers of a Ray cluster that do jobs; one that is lost is replaced and its job done again."""

from __future__ import annotations

import os
import pathlib
import sys

import ray
from ray.exceptions import ObjectLostError, OutOfMemoryError, RayActorError, RayTaskError

from .. import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

STORE = 200_000_000  # bytes of shared memory of a local cluster
_MOST_LOST = 10  # workers in a row before a job ends: then it is the job that ends them


class LostWorkersError(RuntimeError):
    """Workers were lost again and again while they did the same job."""


def say(line: str) -> None:
    """Tells a line about the workers to whoever looks on."""
    print(f"welvet.ray: {line}", file=sys.stderr, flush=True)


def connect(workers: int, *, address: str | None = None, store: int = STORE) -> bool:
    """Connects to a cluster and returns whether it was started here.

    address: of a cluster; None: that of the environment's RAY_ADDRESS, else one that runs on this machine, else a new
    local one with a place for each worker, which ends with this program. store: bytes of its shared memory.
    """
    if ray.is_initialized():
        return False
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        ray.init(address=address or os.environ.get("RAY_ADDRESS") or "auto", **quiet)
        return False
    except ConnectionError:
        if address or os.environ.get("RAY_ADDRESS"):
            raise
    # Workers import this package from where this process has it.
    here = str(pathlib.Path(__file__).resolve().parent.parent.parent)
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *paths])
    ray.init(address="local", num_cpus=workers, object_store_memory=store, include_dashboard=False, **quiet)
    return True


class Crew:
    """So many actors of one class, made with the same arguments."""

    def __init__(self, workers: int, actor: Any, *args: object, cpus: float = 1) -> None:
        _native.whole(workers, "workers", 1, 4096)
        room = ray.cluster_resources().get("CPU", 0)
        if room < workers * cpus:
            raise ValueError(f"{workers} workers need {workers * cpus:g} CPUs: the cluster has {room:g}")
        self._actor = ray.remote(actor).options(num_cpus=cpus, max_restarts=0, max_task_retries=0)
        self._args = args
        self.actors = [self._actor.remote(*args) for _ in range(workers)]
        self.lost = 0

    def run(self, method: str, jobs: Sequence[tuple[Any, ...]],
            done: Callable[[int, Any], None] | None = None) -> list[Any]:
        """Calls a method once for each tuple of arguments, on whichever worker is free; returns the answers in order.

        done: called with the place of an answer and the answer as it comes.
        """
        waiting, answers = list(range(len(jobs)))[::-1], [None] * len(jobs)
        running: dict[Any, tuple[int, int]] = {}
        try:
            self._run(method, jobs, done, waiting, running, answers)
        except Exception:
            for ref in running:  # Ray prints errors that nobody asks for
                try:
                    ray.get(ref, timeout=1)
                except Exception:  # the first one is the one to tell
                    pass
            raise
        return answers

    def _run(self, method: str, jobs: Sequence[tuple[Any, ...]], done: Callable[[int, Any], None] | None,
             waiting: list[int], running: dict[Any, tuple[int, int]], answers: list[Any]) -> None:
        free, lost = list(range(len(self.actors)))[::-1], 0
        while waiting or running:
            while waiting and free:
                job, worker = waiting.pop(), free.pop()
                running[getattr(self.actors[worker], method).remote(*jobs[job])] = job, worker
            ready, _ = ray.wait(list(running), timeout=1)
            for ref in ready:
                job, worker = running.pop(ref)
                free.append(worker)
                try:
                    answers[job] = ray.get(ref)
                except (ObjectLostError, OutOfMemoryError, RayActorError):  # of the worker, or what it had left
                    lost += 1
                    if lost > _MOST_LOST:
                        raise LostWorkersError(f"{lost} workers were lost over the same jobs") from None
                    self._replace(worker)
                    waiting.append(job)
                    continue
                except RayTaskError as error:
                    raise error.cause if isinstance(error.cause, Exception) else error from None
                if done is not None:
                    done(job, answers[job])

    def _replace(self, worker: int) -> None:
        self.lost += 1
        say(f"worker {worker + 1} of {len(self.actors)} is lost; a new one does its work again")
        self.actors[worker] = self._actor.remote(*self._args)

    def close(self) -> None:
        """Ends the workers."""
        for actor in self.actors:
            ray.kill(actor)
        self.actors = []
