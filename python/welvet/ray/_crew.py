"""Workers of a Ray cluster that do jobs; one that is lost is replaced and its job done again."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import sys
import time

import ray
from ray.exceptions import ObjectLostError, OutOfMemoryError, RayActorError, RayTaskError

from .. import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._types import Json, Path

STORE = 200_000_000  # bytes of shared memory of a local cluster
PATIENCE = 60.0  # seconds for a worker to start, which takes about one where there is room
_LONGER = 10  # times that, where no other worker stands
_MOST_LOST = 10  # workers in a row before a job ends: then it is the job that ends them


class LostWorkersError(RuntimeError):
    """Workers were lost again and again while they did the same job."""


def say(line: str) -> None:
    """Writes a line about the workers to stderr."""
    print(f"welvet.ray: {line}", file=sys.stderr, flush=True)


def connect(workers: int, *, address: str | None = None, store: int = STORE) -> bool:
    """Connects to a cluster, or starts a local one.

    Args:
        workers: Number of workers that a new local cluster has room for.
        address: Address of a cluster; None: that of the environment variable RAY_ADDRESS, else one that runs on this
            machine, else a new local one, which ends with this program.
        store: Bytes of shared memory of a new local cluster.

    Returns:
        True if a cluster was started.

    Raises:
        ConnectionError: If there is no cluster at the address.
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
    # Workers import this package from the folder of this process.
    home = str(pathlib.Path(__file__).resolve().parent.parent.parent)
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if home not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([home, *paths])
    ray.init(address="local", num_cpus=workers, object_store_memory=store, include_dashboard=False, **quiet)
    return True


class Crew:
    """So many actors of one class, made with the same arguments.

    patience: seconds that a worker may take to start, for which the cluster may have to find room; the others go on
    without it then. tell: called with a dict whenever a worker is lost, replaced or given up.
    """

    def __init__(
        self,
        workers: int,
        actor: Any,
        *args: object,
        cpus: float = 1,
        patience: float = PATIENCE,
        tell: Callable[[Json], None] | None = None,
    ) -> None:
        _native.whole(workers, "workers", 1, 4096)
        room = ray.cluster_resources().get("CPU", 0)
        if room < workers * cpus:
            raise ValueError(f"{workers} workers need {workers * cpus:g} CPUs: the cluster has {room:g}")
        self._actor = ray.remote(actor).options(num_cpus=cpus, max_restarts=0, max_task_retries=0)
        self._args, self._patience, self._hear = args, patience, tell
        self.workers, self.lost = workers, 0
        self.actors: dict[int, Any] = {}
        self._free: list[int] = []
        self._starting: dict[Any, tuple[int, float]] = {}  # what is ready with a worker, and since when
        for worker in range(workers)[::-1]:
            self._start(worker)

    def run(
        self, method: str, jobs: Sequence[tuple[Any, ...]], done: Callable[[int, Any], None] | None = None
    ) -> list[Any]:
        """Calls a method once for each tuple of arguments, on whichever worker is free; returns the answers in order.

        done: called with the place of an answer and the answer as it comes.
        """
        answers: list[Any] = [None] * len(jobs)
        running: dict[Any, tuple[int, int]] = {}
        try:
            self._run(method, jobs, done, running, answers)
        except Exception:
            for ref in running:  # Ray prints errors that nobody asks for
                try:
                    ray.get(ref, timeout=1)
                except Exception:  # the first one is the one to tell
                    pass
            self._free = [worker for worker in self.actors if worker not in {w for w, _ in self._starting.values()}]
            raise
        return answers

    def _run(
        self,
        method: str,
        jobs: Sequence[tuple[Any, ...]],
        done: Callable[[int, Any], None] | None,
        running: dict[Any, tuple[int, int]],
        answers: list[Any],
    ) -> None:
        waiting, lost = list(range(len(jobs)))[::-1], 0
        while waiting or running:
            while waiting and self._free:
                job, worker = waiting.pop(), self._free.pop()
                running[getattr(self.actors[worker], method).remote(*jobs[job])] = job, worker
            ready, _ = ray.wait([*running, *self._starting], timeout=1)
            for ref in ready:
                job, worker = running.pop(ref, (-1, -1))
                if job < 0:
                    worker, _ = self._starting.pop(ref)
                try:
                    answer = ray.get(ref)
                except (ObjectLostError, OutOfMemoryError, RayActorError):  # of the worker, or what it had left
                    lost += 1
                    if lost > _MOST_LOST:
                        raise LostWorkersError(f"{lost} workers were lost over the same jobs") from None
                    self._replace(worker)
                    waiting += [job] if job >= 0 else []
                    continue
                except RayTaskError as error:
                    raise error.cause if isinstance(error.cause, Exception) else error from None
                self._free.append(worker)
                if job < 0:
                    continue
                answers[job] = answer
                if done is not None:
                    done(job, answer)
            self._give_up_late_ones()

    def _start(self, worker: int) -> None:
        self.actors[worker] = self._actor.remote(*self._args)
        self._starting[self.actors[worker].__ray_ready__.remote()] = worker, time.monotonic()

    def _replace(self, worker: int) -> None:
        self.lost += 1
        say(f"worker {worker + 1} of {self.workers} is lost; a new one does its work again")
        self._tell("lost", worker)
        self._start(worker)

    def _give_up_late_ones(self) -> None:
        # Where none stands there is nobody to go on with: then a cluster that is slow gets more time.
        limit = self._patience * (1 if len(self._starting) < len(self.actors) else _LONGER)
        late = [ref for ref, (_, since) in self._starting.items() if time.monotonic() - since > limit]
        for ref in late:
            worker, _ = self._starting.pop(ref)
            ray.kill(self.actors.pop(worker))
            if not self.actors:
                raise LostWorkersError(
                    f"the cluster had no room for a worker within {limit:g} seconds, and no other is left"
                )
            say(
                f"the cluster has had no room for worker {worker + 1} of {self.workers} for {self._patience:g} "
                f"seconds; {len(self.actors)} go on without it"
            )
            self._tell("given_up", worker)

    def _tell(self, event: str, worker: int) -> None:
        if self._hear is not None:
            self._hear({"event": event, "worker": worker + 1, "workers": self.workers})

    def close(self) -> None:
        """Ends the workers."""
        for actor in self.actors.values():
            ray.kill(actor)
        self.actors, self._free, self._starting = {}, [], {}


class Record:
    """workers.jsonl in the folder of a run: a line for every worker that was lost or given up, and when.

    There is no such file where nothing happened, so that the folder is that of a run in one process.
    """

    def __init__(self, folder: Path | None, start: str) -> None:
        self._path = None if folder is None else pathlib.Path(folder, "workers.jsonl")
        self._at: Json = {}
        self._waiting: list[Json] = []
        self._goes_on = start == "resume"

    def reached(self, **at: int) -> None:
        """Says where the run is. From the first time on the folder is the run's own, and there are lines in it."""
        begins, self._at = not self._at, at
        if begins and self._path is not None and not self._goes_on:
            self._path.unlink(missing_ok=True)
        self._write()

    def __call__(self, about: Json) -> None:
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._waiting.append({**about, **self._at, "time": now})
        if self._at:
            self._write()

    def _write(self) -> None:
        if self._path is None or not self._waiting:
            return
        with open(self._path, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in self._waiting)
        self._waiting = []


def config_of(config: Json | Path, folder: Path | None) -> tuple[str, str]:
    """Returns the text of a config and the folder that its paths start in, for the workers."""
    if isinstance(config, dict):
        return json.dumps(config), str(pathlib.Path(folder or ".").resolve())
    path = pathlib.Path(config)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _native.NotFoundError("NotFound", f"{path}: there is no such file") from None
    return text, str(pathlib.Path(folder or path.parent).resolve())
