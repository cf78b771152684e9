"""Starting points of nodes among others that have points already."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.embedding.walks import Walks, draw_walks, walks_from
from heat_neo4j.geometry.hyperboloid import centroids
from heat_neo4j.graph import Graph

_MEETINGS = 32  # walks of a node without neighbours to find similar nodes


def place_among(
    points: NDArray[np.float64], has_point: NDArray[np.bool_], graph: Graph, walks: Walks
) -> NDArray[np.float64]:
    """Return `points`, shape (N, d + 1), with the nodes that have none moved to those that have.

    `has_point` is a mask of shape (N,). A node goes to the weighted Lorentz centroid of its neighbours with
    points. If all its neighbours have none, these are placed first, and so on. A node without neighbours goes
    to the centroid of the similar nodes that the first steps of `walks` reach. All others stay.
    """
    placed, has_point = points.copy(), has_point.copy()
    left = _by_neighbours(placed, has_point, np.flatnonzero(~has_point), graph.adjacency)
    if left.size and _by_neighbours(placed, has_point, left, _met(walks, left)).size < left.size:
        _by_neighbours(placed, has_point, np.flatnonzero(~has_point), graph.adjacency)
    return placed


def _by_neighbours(
    placed: NDArray[np.float64],
    has_point: NDArray[np.bool_],
    left: NDArray[np.int64],
    near: sparse.csr_array,
) -> NDArray[np.int64]:
    """Place nodes at the centroid of placed neighbours, repeatedly; return the nodes left over."""
    while left.size and has_point.any():
        weights = sparse.csr_array(near[left] @ sparse.diags_array(has_point.astype(np.float64)))
        is_near = np.asarray(weights.sum(axis=1)).ravel() > 0
        if not is_near.any():
            break
        placed[left[is_near]] = centroids(weights[is_near], placed)
        has_point[left[is_near]] = True
        left = left[~is_near]
    return left


def _met(walks: Walks, nodes: NDArray[np.int64]) -> sparse.csr_array:
    """Return how often the first step of each node's walks reaches each other node, shape (N, N)."""
    n = walks.n_nodes
    indices = walks_from(nodes, _MEETINGS, n)
    drawn, lengths = draw_walks(walks, indices)
    walked = lengths > 1
    ends = indices[walked] % n, drawn[walked, 1].astype(np.int64)
    return sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
