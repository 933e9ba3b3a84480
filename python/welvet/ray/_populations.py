"""Generations whose members are judged by workers."""

from __future__ import annotations

from ..evolution import Population
from ..network import Network
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


def evaluate(population: Population | Sequence[Population], judge: Callable[[Network], Numbers], workers: int = 2, *,
             generations: int = 1, address: str | None = None, store: int = STORE) -> list[Json]:
    """Does generations of a population, or of several (islands), and returns the reports of the last one, one for each.

    judge(network) runs in the workers and gives a fitness, or a list of objectives. Fitnesses are told in the order of
    ask(), so that a population becomes what it becomes with Population.evolve(judge). A worker that is lost is
    replaced, and the network that it judged is judged again.
    """
    people = [population] if isinstance(population, Population) else list(population)
    connect(workers, address=address, store=store)
    crew = Crew(workers, Judge, judge)
    reports: list[Json] = []
    try:
        for _ in range(generations):
            asked = [(p, p.ask()) for p in people]
            jobs = [(p.network(place).to_bytes(keep_master=True),) for p, places in asked for place in places]
            answers = crew.run("fitness", jobs)
            reports = []
            for p, places in asked:
                reports.append(p.tell(answers[:len(places)]))
                answers = answers[len(places):]
        return reports
    finally:
        crew.close()
