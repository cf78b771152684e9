"""Which pairs the relationships of a type join, at once or by a chain."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from heat_neo4j._kernels.chains import have_chain
from heat_neo4j.graph import Graph, entries
from heat_neo4j.linkpred.candidates import relationships_of
from heat_neo4j.patterns import Pattern

Rows = NDArray[np.int64]

_SEARCHED_LINKS = 2_000  # relationships visited per pair by the chain search


class LinksOfType:
    """Relationships of one type, or the edges of a graph without types."""

    def __init__(self, matrix: sparse.csr_array) -> None:
        self._matrix = matrix

    @classmethod
    def of(cls, graph: Graph, kind: str) -> Self:
        """Return the relationships of a type of a graph."""
        of_type = graph.relationships
        return cls(graph.adjacency if of_type is None else of_type.matrix(kind, graph.n_nodes))

    def join(self, u: Rows, v: Rows) -> NDArray[np.bool_]:
        """Return a mask of the pairs that a relationship joins in this direction."""
        return np.asarray(entries(self._matrix, np.column_stack((u, v))) != 0.0)

    def join_back(self, u: Rows, v: Rows) -> NDArray[np.bool_]:
        """Return a mask of the pairs that a relationship joins in the opposite direction."""
        return self.join(v, u)

    def lead_back(self, u: Rows, v: Rows) -> NDArray[np.bool_]:
        """Return a mask of the pairs with a directed path from v to u."""
        return self.join(v, u) | self.chain(v, u)

    def chain(self, u: Rows, v: Rows, *, undecided: bool = False) -> NDArray[np.bool_]:
        """Return a mask of the pairs with a path of length >= 2 from u to v; `undecided` at the limit."""
        if not len(u):
            return np.empty(0, dtype=np.bool_)
        # The kernel is compiled for contiguous arrays.
        found = have_chain(*self._arrays, *map(np.ascontiguousarray, (u, v)), _SEARCHED_LINKS)
        return np.asarray((found == 1) | (undecided & (found < 0)))

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        back = self._matrix.T.tocsr()
        return tuple(
            array
            for each in (self._matrix, back)
            for array in (each.indptr.astype(np.int64), each.indices.astype(np.int32))
        )

    @cached_property
    def component(self) -> NDArray[np.int32]:
        """Strongly connected component of each node."""
        _, component = connected_components(self._matrix, connection="strong")
        return np.asarray(component)

    @cached_property
    def lead_to_cycle(self) -> NDArray[np.bool_]:
        """Mask of the nodes from which a path leads to a cycle, and of those on one."""
        n = len(self.component)
        on_cycle = np.flatnonzero(np.bincount(self.component)[self.component] > 1)
        # The search starts from one more node, with a step to each node on a cycle, and goes back from there.
        source, target = (ends.astype(np.int64) for ends in self._matrix.nonzero())
        first, second = np.append(target, np.full(len(on_cycle), n)), np.append(source, on_cycle)
        back = sparse.csr_array((np.ones(len(first)), (first, second)), shape=(n + 1, n + 1))
        found = np.zeros(n + 1, dtype=np.bool_)
        found[breadth_first_order(back, n, return_predecessors=False)] = True
        return found[:n]


def counts_at(graph: Graph, pattern: Pattern | None, end: int, *, of_type: bool = False) -> Rows:
    """Return each node's number of relationships of a pattern as source (0) or target (1).

    With `of_type`, all relationships of the type count.
    """
    if not of_type or pattern is None or graph.relationships is None:
        return np.bincount(relationships_of(graph, pattern)[end], minlength=graph.n_nodes)
    return np.bincount(graph.relationships.of(pattern.type)[end], minlength=graph.n_nodes)
