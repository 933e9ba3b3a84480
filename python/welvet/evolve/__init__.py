"""Evolution of networks: populations, crosses, mutations, signatures, clusters.

evolve() runs a whole evolution by a config, Population asks the caller how good its networks are. mutate() and splice()
are its single operations. dna(), compare_dna(), draw_dna() and compare() show how networks differ. cluster(),
silhouette() and group() work on points or networks, dna_points() makes points of networks, weight_groups() sorts the
weights of one. The module itself may be called: welvet.evolve(...) is welvet.evolve.evolve(...).
"""

from .._modules import make_callable
from .clustering import cluster, dna_points, group, silhouette, weight_groups
from .population import Population, compare, compare_dna, dna, draw_dna, evolve, mutate, splice

make_callable(__name__, evolve)

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:

    class Module:
        """The type of this module."""

        from .population import Population as Population

        __call__ = staticmethod(evolve)
        cluster = staticmethod(cluster)
        compare = staticmethod(compare)
        compare_dna = staticmethod(compare_dna)
        dna = staticmethod(dna)
        dna_points = staticmethod(dna_points)
        draw_dna = staticmethod(draw_dna)
        evolve = staticmethod(evolve)
        group = staticmethod(group)
        mutate = staticmethod(mutate)
        silhouette = staticmethod(silhouette)
        splice = staticmethod(splice)
        weight_groups = staticmethod(weight_groups)


__all__ = [
    "Population",
    "cluster",
    "compare",
    "compare_dna",
    "dna",
    "dna_points",
    "draw_dna",
    "evolve",
    "group",
    "mutate",
    "silhouette",
    "splice",
    "weight_groups",
]
