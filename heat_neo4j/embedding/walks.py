"""Teleport random walks, drawn in blocks when they are needed."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.similarity import Similarity
from heat_neo4j._kernels.walks import Walker, draw_block
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.similarity import make_similarity, no_similarity
from heat_neo4j.graph import Graph

__all__ = ["WALKS_PER_BLOCK", "Walks", "draw_walks", "make_walks", "walks_from"]

WALKS_PER_BLOCK = 16384  # walks that are drawn, and held, at a time


@dataclass(frozen=True)
class Walks:
    """All that decides a walk; walk i is a pure function of it and i."""

    walker: Walker
    similarity: Similarity

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return int(self.walker.indptr.shape[0] - 1)

    @property
    def length(self) -> int:
        """Nodes in a walk."""
        return self.walker.length


def make_walks(
    graph: Graph,
    *,
    alpha: float,
    walk_length: int,
    key: np.uint64,
    similarity: Similarity | None = None,
    team: WorkerThreads = ALONE,
) -> Walks:
    """Prepare the walks of a graph; attribute steps follow its own attributes if no `similarity` is given.

    A step follows attribute similarity with probability `alpha`. (The paper prints the rule the other way
    round; its tables, its text and the authors' program have it so.)
    """
    if similarity is None:
        # Without teleports only a node that has no neighbours asks for a similar one.
        needed = alpha > 0 or bool((graph.degrees == 0).any())
        similarity = make_similarity(graph, team=team) if needed else no_similarity()
    adjacency = graph.adjacency
    indptr = adjacency.indptr.astype(np.int64)
    walker = Walker(
        indptr=indptr,
        indices=adjacency.indices.astype(np.int32),
        cumulative=_row_cumulative(adjacency.data, indptr),
        alpha=float(alpha),
        length=int(walk_length),
        key=key,
    )
    return Walks(walker, similarity)


def walks_from(nodes: NDArray[np.int64], walks_per_node: int, n_nodes: int) -> NDArray[np.int64]:
    """Return which walks start from some nodes: `walks_per_node` from each, as `draw_walks` counts them."""
    return np.add.outer(np.arange(walks_per_node) * n_nodes, nodes).ravel()


def draw_walks(
    walks: Walks, indices: NDArray[np.int64], team: WorkerThreads = ALONE
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Draw walks `indices`, shape (B,); walk r N + v is the r-th from node v, for any number of threads.

    Return the nodes of each, shape (B, L), and how many it has, shape (B,); what lies behind is meaningless.
    """
    nodes = np.empty((len(indices), walks.length), dtype=np.int32)
    lengths = np.empty(len(indices), dtype=np.int64)
    team.run(draw_block, walks.walker, walks.similarity, indices, nodes, lengths)
    return nodes, lengths


def _row_cumulative(data: NDArray[np.float64], indptr: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cumulative sums of each row, started anew so that no row inherits another's rounding."""
    result = np.empty_like(data)
    for first, last in pairwise(indptr):
        np.cumsum(data[first:last], out=result[first:last])
    return result
