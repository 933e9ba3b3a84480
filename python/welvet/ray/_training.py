"""Trainings whose shards are divided over workers."""

from __future__ import annotations

import ctypes
import pathlib

import numpy
import ray

from .. import _abi, _native
from .._native import library
from ..train import runs
from ._crew import STORE, Crew, Record, config_of, connect, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from .._types import Json, Path, Start, Tick


def nodes_of(first: int, last: int, shards: int) -> list[tuple[int, int]]:
    """Shards [first, last) as the fewest nodes of the tree that adds all shards: pairs of first and count."""
    out = []
    while first < last:
        count = 1
        # The node twice as large has to begin at the same shard, and may end after the last one.
        while first % (2 * count) == 0 and min(first + 2 * count, shards) <= last and first + count < shards:
            count *= 2
        out.append((first, min(count, shards - first)))
        first += out[-1][1]
    return out


class Replica:
    """An actor: a copy of the network, which computes gradients of some shards of a step."""

    def __init__(self, config: str, folder: str) -> None:
        self._config, self._folder = config.encode(), folder
        self._handle: _native.Handle | None = None
        self._info: Json = {}

    def _open(self) -> _native.Handle:
        if self._handle is None:  # not while the actor is made: errors of a call are the caller's, word for word
            options = _abi.TrainingOptions(folder=_native.utf8(self._folder, "folder"), compute=_native.compute(1))
            self._handle = _native.make(
                library.loom_replica_create, self._config, len(self._config), ctypes.byref(options)
            )
            self._info = _native.record(library.loom_replica_info, self._handle.value)
        return self._handle

    def info(self) -> Json:
        """Opens the config and returns its facts."""
        self._open()
        return self._info

    def sums(self, at: tuple[int, int, int, float], masters: Any, nodes: list[tuple[int, int]]) -> Any:
        """Gradients of nodes, a list of (first, count, loss, gradients), and the hashes of the data."""
        replica = self._open().value
        address = masters.__array_interface__["data"][0]
        _native.check(library.loom_replica_begin(replica, *at, address, masters.nbytes))
        out = []
        for first, count in nodes:
            loss, blob = ctypes.c_double(), _native.Handle()
            _native.check(
                library.loom_replica_sum(replica, first, count, ctypes.byref(loss), ctypes.byref(blob._holder))
            )
            data, size = ctypes.c_void_p(), ctypes.c_size_t()
            _native.check(library.loom_blob_view(blob.value, ctypes.byref(data), ctypes.byref(size)))
            gradients = numpy.empty(size.value, numpy.uint8)
            ctypes.memmove(gradients.ctypes.data, data.value or 0, size.value)
            blob.close()
            out.append((first, count, loss.value, gradients))
        return out, self._info["data"]


def data_of(config: str, folder: str) -> list[str]:
    """The hashes of the data as this process reads them."""
    options = _abi.TrainingOptions(folder=_native.utf8(folder, "folder"), compute=_native.compute(1))
    replica = _native.make(library.loom_replica_create, config.encode(), len(config.encode()), ctypes.byref(options))
    data: list[str] = _native.record(library.loom_replica_info, replica.value)["data"]
    replica.close()
    return data


class _Steps:
    """Answers what a run asks for, step by step."""

    def __init__(self, crew: Crew, data: list[str], record: Record) -> None:
        self._crew, self._data, self._record = crew, data, record
        self.raised: BaseException | None = None
        self.callback = _abi.OnShards(self._tell)

    def _tell(self, _: int | None, event: Any) -> bool:
        try:
            e = event.contents
            size, shards = e.gradient_size, e.shards
            weights = numpy.empty(e.masters_size, numpy.uint8)
            ctypes.memmove(weights.ctypes.data, e.masters, e.masters_size)
            where, workers = ray.put(weights), self._crew.workers
            self._record.reached(epoch=e.epoch, step=e.step)
            gradients = ctypes.addressof(e.gradients.contents)

            def take(_: int, answer: Any) -> None:
                sums, data = answer
                if data != self._data:
                    raise ValueError("a worker reads other data than this process: the hashes of their files differ")
                for first, count, loss, values in sums:
                    ctypes.memmove(gradients + first * size, values.ctypes.data, size)
                    e.losses[first], e.counts[first] = loss, count

            shares = [nodes_of(w * shards // workers, (w + 1) * shards // workers, shards) for w in range(workers)]
            at = e.epoch, e.position, e.step, e.loss_scale
            self._crew.run("sums", [(at, where, share) for share in shares if share], take)
            return True
        except BaseException as error:  # it must not unwind through C
            self.raised = error
            return False


class _Lines:
    """A line for every epoch, where there is no bar."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def __call__(self, about: Json) -> bool:
        if self._bar is not None:
            self._bar.tell(about)
        if about["event"] == "epoch_end" and (self._bar is None or self._bar._bar is None):
            say(f"epoch {about['epoch'] + 1} of {about['epochs']}: loss {about['loss']:.6g}")
        return True


def train(
    config: Json | Path,
    workers: int = 2,
    *,
    out: Path | None = None,
    folder: Path | None = None,
    start: Start = "fresh",
    epochs: int | None = None,
    address: str | None = None,
    store: int = STORE,
    progress: Tick | Literal[False] | None = None,
) -> runs.Run:
    """Runs a whole training over the workers of a Ray cluster, as welvet.train does in one process.

    The `shards` of the config, 2 or more, are divided over the workers; the weights do not depend on their number. A
    lost worker is replaced, or given up if the cluster has no room for a minute; workers.jsonl in the run's folder then
    has which and when.

    Args:
        config: A dict with the keys of docs/guide/training.md, or the path of such a file.
        workers: Number of processes, with a thread each. They read the data from the same paths. More than the shards
            have no work.
        out: Folder of the run; None: none, or beside a config file.
        folder: Folder that relative paths of the config start from; None: that of the config file, or the current one.
        start: "fresh", "resume" or "overwrite".
        epochs: Number of epochs, in place of the config's.
        address: Address of a cluster, see connect().
        store: Bytes of shared memory of a new local cluster.
        progress: Function that is called with a dict at every event; returning False ends the run. None: a bar, or a
            line for each epoch; False: nothing.

    Returns:
        The outcome; `outcome` has the numbers workers and lost_workers.

    Raises:
        LostWorkersError: If workers are lost again and again.
        ValueError: If the config has an unknown or wrong key, or no shards.
    """
    text, at = config_of(config, folder)
    if out is None and not isinstance(config, dict):
        out = pathlib.Path(config).with_suffix(".run")  # where welvet.train writes too
    _native.whole(workers, "workers", 1, 4096)
    data = data_of(text, at)  # refuses a config that cannot be divided, before a cluster starts
    connect(workers, address=address, store=store)
    record = Record(out, start)
    crew = Crew(workers, Replica, text, at, tell=record)
    try:
        crew.run("info", [()])  # refuses a worker that cannot open the config, before a folder is made
        steps = _Steps(crew, data, record)
        shown: Tick | Literal[False] | None = progress
        bar = None
        if progress is None:
            bar = runs._Bar()
            shown = _Lines(bar)
        options = runs._Options(out, folder, start, epochs, None, None, shown)
        options.values.shards = steps.callback
        try:
            if isinstance(config, dict):
                sent = text.encode()
                run = runs.Run(options.run(library.loom_training_run, sent, len(sent), 0, None, None))
            else:
                run = runs.Run(options.run(library.loom_training_run_file, _native.utf8(config, "config")))
        finally:
            if bar is not None:
                bar.close()
        if steps.raised is not None:
            raise steps.raised from None
        run.outcome["workers"], run.outcome["lost_workers"] = workers, crew.lost
        return run
    finally:
        crew.close()
