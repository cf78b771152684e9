"""Random walks with teleports, drawn in blocks on demand."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.elementwise import power
from heat_neo4j._kernels.similarity import Similarity
from heat_neo4j._kernels.walks import Walker, draw_block
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.similarity import make_similarity
from heat_neo4j.graph import Graph

WALKS_PER_BLOCK = 16384  # walks drawn and held in memory at a time


class Clusters(NamedTuple):
    """Clusters of the N nodes of a graph: the C nodes of a coarse graph."""

    of: NDArray[np.int32]  # (N,): the cluster of each node
    members: NDArray[np.int32]  # (N,): nodes sorted by cluster
    starts: NDArray[np.int64]  # (C + 1,): the first member of each cluster, and N

    @property
    def n_clusters(self) -> int:
        """Number of clusters C."""
        return len(self.starts) - 1


@dataclass(frozen=True)
class Walks:
    """The parameters of all walks; walk i is a pure function of them and i.

    With `clusters`, the nodes of the walks are clusters of the graph's nodes: walk r of a cluster is a walk
    in the graph from one of its nodes, each in turn.
    """

    walker: Walker
    similarity: Similarity
    clusters: Clusters | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes N, or of clusters."""
        if self.clusters is not None:
            return self.clusters.n_clusters
        return int(self.walker.indptr.shape[0] - 1)

    @property
    def length(self) -> int:
        """Number of nodes per walk."""
        return self.walker.length


def make_walks(
    graph: Graph,
    *,
    alpha: float,
    walk_length: int,
    key: np.uint64,
    forward: float = 0.5,
    type_balance: float = 0.0,
    similarity: Similarity | None = None,
    team: WorkerThreads = ALONE,
) -> Walks:
    """Prepare the walks of a graph; `similarity` defaults to that of the graph's attributes.

    A step follows attribute similarity with probability `alpha`, otherwise an edge by `step_weights`. (The
    paper's formula swaps the two cases; its tables, its text and the authors' program do not.)
    """
    steps = step_weights(graph, forward, type_balance)
    indptr = steps.indptr.astype(np.int64)
    if similarity is None:
        # Without teleports, only nodes without neighbours step to a similar node.
        needed = alpha > 0 or bool((np.diff(indptr) == 0).any())
        similarity = make_similarity(graph, team=team) if needed else Similarity()
    walker = Walker(
        indptr=indptr,
        indices=steps.indices.astype(np.int32),
        cumulative=_row_cumulative(steps.data, indptr),
        alpha=float(alpha),
        length=int(walk_length),
        key=key,
    )
    return Walks(walker, similarity)


def step_weights(graph: Graph, forward: float = 0.5, type_balance: float = 0.0) -> sparse.csr_array:
    """Return the step weights of walks from each node (row) to its neighbours, shape (N, N).

    A relationship has weight `forward` from its source and 1 - `forward` from its target; relationships of
    the same pair share its weight evenly. At each node, the weights of a type are then divided by their sum
    to the power `type_balance`; at 1, all types are equally likely. Raises ValueError if the graph is
    undirected and a parameter is not at its default.
    """
    if forward == 0.5 and type_balance == 0.0:
        return graph.adjacency
    if graph.relationships is None:
        raise ValueError("`forward` and `type_balance` need a graph with directed, typed relationships")
    n = graph.n_nodes
    ahead = [graph.relationships.matrix(name, n) for name in graph.relationships.types]
    back = [sparse.csr_array(way.T) for way in ahead]
    nothing = sparse.csr_array((n, n))
    share = sparse.csr_array(sum((*ahead, *back), start=nothing))
    share.data = 1.0 / share.data
    each = sparse.csr_array(graph.adjacency * share)
    steps = nothing
    for way, way_back in zip(ahead, back, strict=True):
        own = sparse.csr_array(each * (forward * way + (1.0 - forward) * way_back))
        total = np.asarray(own.sum(axis=1))
        total[total == 0.0] = 1.0
        steps = steps + sparse.diags_array(power(total, -type_balance)) @ own
    steps = sparse.csr_array(steps)
    steps.sort_indices()
    return steps


def walks_from(nodes: NDArray[np.int64], walks_per_node: int, n_nodes: int) -> NDArray[np.int64]:
    """Return the indices of the walks from some nodes, `walks_per_node` each, as used by `draw_walks`."""
    return np.add.outer(np.arange(walks_per_node) * n_nodes, nodes).ravel()


def draw_walks(
    walks: Walks, indices: NDArray[np.int64], team: WorkerThreads = ALONE
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Draw walks `indices`, shape (B,); walk r N + v is the r-th from node v, for any number of threads.

    Returns the nodes of each walk, shape (B, L), and its length, shape (B,); entries beyond are undefined.
    """
    nodes = np.empty((len(indices), walks.length), dtype=np.int32)
    lengths = np.empty(len(indices), dtype=np.int64)
    clusters = walks.clusters
    if clusters is not None:
        indices = _from_members(clusters, indices)
    team.run(draw_block, walks.walker, walks.similarity, indices, nodes, lengths)
    if clusters is not None:
        nodes = np.take(clusters.of, nodes, mode="clip")  # clip: some entries are undefined
    return nodes, lengths


def _from_members(clusters: Clusters, indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of walks in the graph from those of walks of its clusters."""
    turn, cluster = indices // clusters.n_clusters, indices % clusters.n_clusters
    first, end = clusters.starts[cluster], clusters.starts[cluster + 1]
    members = clusters.members[first + turn % (end - first)]
    return np.asarray(turn // (end - first) * len(clusters.of) + members, dtype=np.int64)


def _row_cumulative(data: NDArray[np.float64], indptr: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return cumulative sums per row; each row starts at 0, so rounding errors do not carry over."""
    result = np.empty_like(data)
    for first, last in pairwise(indptr):
        np.cumsum(data[first:last], out=result[first:last])
    return result
