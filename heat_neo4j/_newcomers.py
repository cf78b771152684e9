"""Where nodes that an embedding does not know yet begin: among their neighbours, or among similar nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Graph
from heat_neo4j.hyperboloid import centroids
from heat_neo4j.training import start_points
from heat_neo4j.walks import Walks, draw_walks, walks_from

__all__ = ["with_newcomers"]

Array = NDArray[np.float64]

_MEETINGS = 32  # walks by which a node without neighbours looks for similar ones


def with_newcomers(
    points: Array, new: NDArray[np.bool_], graph: Graph, walks: Walks, generator: np.random.Generator
) -> Array:
    """Return points with the rows of new nodes put in.

    A new node begins at the weighted Lorentz centroid of its neighbours that are known; one whose neighbours
    are all new, at that of theirs, and so on; one without neighbours, at that of the nodes it meets by
    attributes. Of the others nothing is known: they begin close to the origin.

    Parameters
    ----------
    points : float64 array of shape (N, d + 1)
        Points of the hyperboloid; rows of new nodes are not looked at.
    new : bool array of shape (N,)
        Which nodes are new.
    graph : Graph
        Of all N.
    walks : Walks
        Of the graph; their second node is a neighbour, or a similar node.
    generator : numpy Generator
        For those of which nothing is known.
    """
    placed = points.copy()
    left = np.flatnonzero(new)
    placed[left] = start_points(len(left), points.shape[1] - 1, generator)
    known = ~new
    left = _by_neighbours(placed, known, left, graph.adjacency)
    if left.size:
        met = _met(walks, left)
        if _by_neighbours(placed, known, left, met).size < left.size:
            left = np.flatnonzero(~known)
            _by_neighbours(placed, known, left, graph.adjacency)
    return placed


def _by_neighbours(
    placed: Array, known: NDArray[np.bool_], left: NDArray[np.int64], near: sparse.csr_array
) -> NDArray[np.int64]:
    """Put nodes among known ones that are near, then those near to these; return who is left."""
    while left.size and known.any():
        weights = sparse.csr_array(near[left] @ sparse.diags_array(known.astype(np.float64)))
        found = np.asarray(weights.sum(axis=1)).ravel() > 0
        if not found.any():
            break
        placed[left[found]] = centroids(weights[found], placed)
        known[left[found]] = True
        left = left[~found]
    return left


def _met(walks: Walks, nodes: NDArray[np.int64]) -> sparse.csr_array:
    """Return how often each of `nodes` meets any node in the first step of its walks, shape (N, N)."""
    n = walks.n_nodes
    indices = walks_from(nodes, _MEETINGS, n)
    drawn, lengths = draw_walks(walks, indices)
    walked = lengths > 1
    ends = indices[walked] % n, drawn[walked, 1].astype(np.int64)
    return sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
