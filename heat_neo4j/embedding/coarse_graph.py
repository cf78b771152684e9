"""Coarse graphs of a large graph: trained first, so that few walks suffice for the graph itself.

The nodes of a coarse graph are clusters of a few nodes. Its walks are those of the graph itself, seen as
sequences of clusters: so weights, directions, types and attributes count as they do there.

H. Chen, B. Perozzi, Y. Hu and S. Skiena, "HARP: Hierarchical Representation Learning for Networks" (AAAI
2018); size-constrained clusters as in H. Meyerhenke, P. Sanders and C. Schulz, "Partitioning Complex Networks
via Size-Constrained Clustering" (SEA 2014).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.coarse import NO_NODE, join_neighbours, merge_rows
from heat_neo4j._utils.random import Keys, make_keys
from heat_neo4j._utils.scratch import slices
from heat_neo4j.embedding.schedule import Schedule
from heat_neo4j.embedding.walks import Clusters, Walks, draw_walks, walks_from
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph

COARSE_NODES = 50_000
"""Fewest nodes of a graph that starts from coarse graphs."""


class Level(NamedTuple):
    """How a graph or a coarse graph is trained."""

    most: int  # nodes in a cluster, 1 for the graph itself
    walks: float  # share of the walks from each node
    usual: float  # number of clusters relative to N, a little more than measured

    def n_walks(self, walks_per_node: int) -> int:
        """Return the number of walks from each node, at least 1."""
        return max(1, round(self.walks * walks_per_node))

    def schedule(self, schedule: Schedule) -> Schedule:
        """Return the schedule of this level."""
        return replace(schedule, walks_per_node=self.n_walks(schedule.walks_per_node))


LEVELS = (Level(16, 1.0, 0.15), Level(4, 0.3, 0.4), Level(1, 0.3, 1.0))
ONLY = (Level(1, 1.0, 1.0),)


def levels_of(n_nodes: int) -> tuple[Level, ...]:
    """Return the levels of a graph of N nodes without points, the coarsest first; the last is the graph."""
    return LEVELS if n_nodes >= COARSE_NODES else ONLY


def coarse_keys(seed: int, number: int) -> Keys:
    """Return the random keys of coarse graph number 0, 1, ..."""
    return make_keys(int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0]))


def coarsen(
    graph: Graph, walks: Walks, sizes: Sequence[int], generator: np.random.Generator
) -> Iterator[Clusters]:
    """Yield clusters of at most `sizes` nodes, ascending; larger clusters are unions of smaller ones.

    Nodes join in the order of their degrees, ties in random order. A node without neighbours counts as a
    neighbour of a similar node: the one that its first walk meets.
    """
    n = graph.n_nodes
    matrix = graph.adjacency
    csr = matrix.indptr.astype(np.int64), matrix.indices, matrix.data
    similar = similar_nodes(graph, walks)
    counts = np.ones(n, dtype=np.int64)
    of = np.arange(n, dtype=np.int32)
    for most in sizes:
        order = np.lexsort((generator.permutation(len(counts)), np.diff(csr[0])))
        joined = join_neighbours(*csr, similar, counts, most, order)
        merged = clusters_of(np.unique(joined, return_inverse=True)[1])
        of = merged.of[of]
        csr = merge_rows(*csr, *merged)
        counts = np.bincount(merged.of, weights=counts).astype(np.int64)
        similar = _similar_clusters(merged, similar)
        yield clusters_of(of)


def clusters_of(of: NDArray[np.integer]) -> Clusters:
    """Return clusters from the number of each node's cluster, 0 to C - 1, shape (N,)."""
    starts = np.concatenate(([0], np.cumsum(np.bincount(of))))
    return Clusters(of.astype(np.int32), np.argsort(of, kind="stable").astype(np.int32), starts)


def similar_nodes(graph: Graph, walks: Walks) -> NDArray[np.int64]:
    """Return a similar node of each node without neighbours; `NO_NODE` for all others."""
    alone = np.flatnonzero(graph.degrees == 0)
    similar = np.full(graph.n_nodes, NO_NODE, dtype=np.int64)
    nodes, lengths = draw_walks(walks, walks_from(alone, 1, graph.n_nodes))
    similar[alone[lengths > 1]] = nodes[lengths > 1, 1]
    return similar


def _similar_clusters(merged: Clusters, similar: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a similar cluster of each cluster with a node that has one; `NO_NODE` for all others."""
    nodes = np.flatnonzero(similar != NO_NODE)
    own, other = merged.of[nodes], merged.of[similar[nodes]]
    found = np.full(merged.n_clusters, NO_NODE, dtype=np.int64)
    found[own[own != other]] = other[own != other]
    return found


def coarse_walks(walks: Walks, clusters: Clusters, key: np.uint64) -> Walks:
    """Return walks of a graph as those of its clusters."""
    return replace(walks, walker=walks.walker._replace(key=key), clusters=clusters)


def spread(
    points: NDArray[np.float64], rows: NDArray[np.integer], width: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return points[rows], shape (N, d + 1), each spatial coordinate moved by up to `width`."""
    moved = np.empty((len(rows), points.shape[1]))
    for block in slices(len(rows), points.shape[1]):
        near = points[rows[block], :-1]
        moved[block] = lift(near + (2.0 * width * generator.random(near.shape) - width))
    return moved
