"""Generations whose members are judged by workers."""

from __future__ import annotations

from ..evolve.population import Population
from ..nn.network import Network
from ._crew import STORE, Crew, connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._types import Json, Numbers


class Judge:
    """An actor that judges networks."""

    def __init__(self, judge: Callable[[Network], Numbers]) -> None:
        self._judge = judge

    def fitness(self, network: bytes) -> Numbers:
        """The fitness of a network that came as bytes."""
        return self._judge(Network.from_bytes(network))


def evaluate(
    population: Population | Sequence[Population],
    judge: Callable[[Network], Numbers],
    workers: int = 2,
    *,
    generations: int = 1,
    address: str | None = None,
    store: int = STORE,
) -> list[Json]:
    """Does generations of a population, or of several (islands), whose networks workers judge.

    The result is that of Population.evolve(judge). A worker that is lost is replaced, and its network judged again.

    Args:
        population: A population, or a list of them.
        judge: Function that takes a network and returns its fitness, or a list of objectives. It runs in the workers.
        workers: Number of processes.
        generations: Number of generations.
        address: Address of a cluster, see connect().
        store: Bytes of shared memory of a new local cluster.

    Returns:
        The reports of the last generation, one for each population.

    Raises:
        LostWorkersError: If workers are lost again and again.
        LoomError: If something else called tell() of a population meanwhile (InvalidState).
    """
    people = [population] if isinstance(population, Population) else list(population)
    connect(workers, address=address, store=store)
    crew = Crew(workers, Judge, judge)
    reports: list[Json] = []
    try:
        for _ in range(generations):
            asked = [(p, *p._ask()) for p in people]
            jobs = [(p.network(place).to_bytes(keep_master=True),) for p, places, _ in asked for place in places]
            answers = crew.run("fitness", jobs)
            reports = []
            for p, places, told in asked:
                reports.append(p._tell(answers[: len(places)], told))
                answers = answers[len(places) :]
        return reports
    finally:
        crew.close()
