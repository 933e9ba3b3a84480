"""Actors of test_ray.py that end their own process in a step. They are a module, so that workers can import them."""

import contextlib
import os
import pathlib

from welvet.ray import _evolution, _training


def end_once():
    """Ends the process, once: the file that WELVET_TEST_FLAG names says whether that was done."""
    with contextlib.suppress(FileExistsError):
        pathlib.Path(os.environ["WELVET_TEST_FLAG"]).touch(exist_ok=False)
        os._exit(9)


class Once(_training.Replica):
    """Ends in one step of a run, once."""

    def sums(self, at, masters, nodes):
        if at[2] == 5:
            end_once()
        return super().sums(at, masters, nodes)


class OnceReferee(_evolution.Referee):
    """Ends while it judges, once."""

    def fitness(self, networks):
        end_once()
        return super().fitness(networks)


class Elsewhere(_training.Replica):
    """Reads the data of another folder, as every worker of a cluster might."""

    def __init__(self, config, folder):
        super().__init__(config, os.environ["WELVET_TEST_ELSEWHERE"])


class Always(_training.Replica):
    """Ends in every step."""

    def sums(self, at, masters, nodes):
        os._exit(3)


class Stranger(_training.Replica):
    """Says that it has read other files than the worker of shard 0."""

    def sums(self, at, masters, nodes):
        sums, data = super().sums(at, masters, nodes)
        return sums, data if nodes[0][0] == 0 else ["other"]
