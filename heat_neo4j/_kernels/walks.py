"""Random walks that teleport along attribute similarity (HEAT, section 3.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from heat_neo4j._kernels.barrier import take
from heat_neo4j._kernels.random import step, stream, unit
from heat_neo4j._kernels.similarity import NO_SIMILAR, sample_similar

__all__ = ["Walker", "draw_block", "walk"]


class Walker(NamedTuple):
    """What a walk needs.

    Attributes
    ----------
    indptr, indices : CSR arrays
        Neighbours of each node.
    cumulative : float64 array of shape (nnz,)
        Edge weights, cumulative within each row.
    alpha : float
        Probability that a step follows attribute similarity.
    length : int
        Nodes in a walk.
    key : uint64
        Key of the random streams; walk i draws from stream i.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    cumulative: NDArray[np.float64]
    alpha: float
    length: int
    key: np.uint64


@njit(cache=True)
def walk(walker: Any, similarity: Any, index: int, start: int, out: Any) -> int:
    """Fill `out` with the first nodes of walk `index`, from node `start` on; return how many there are.

    Each step follows Y with probability alpha, else W. A node without neighbours takes the attribute
    step, one without similar nodes the topological step; a node with neither ends the walk.
    """
    state = stream(walker.key, index)
    node = start
    out[0] = node
    for at in range(1, out.shape[0]):
        first, last = walker.indptr[node], walker.indptr[node + 1]
        state = step(state)
        following = NO_SIMILAR
        if last == first or unit(state) < walker.alpha:
            state = step(state)
            following = sample_similar(similarity, node, state)
        if following == NO_SIMILAR:
            if last == first:
                return at
            state = step(state)
            target = unit(state) * walker.cumulative[last - 1]
            low, high = first, last - 1
            while low < high:
                middle = (low + high) >> 1
                if walker.cumulative[middle] > target:
                    high = middle
                else:
                    low = middle + 1
            following = walker.indices[low]
        node = following
        out[at] = node
    return out.shape[0]


@njit(cache=True, nogil=True)
def draw_block(
    walker: Any, similarity: Any, indices: Any, nodes: Any, lengths: Any, barrier: Any, thread: int,
    n_threads: int,
) -> None:  # fmt: skip
    """Draw some walks, each from the node that its index names. Run by a team.

    Parameters
    ----------
    walker, similarity : Walker, Similarity
        See there.
    indices : int64 array of shape (B,)
        Which walks; walk r N + v is the r-th from node v.
    nodes : int32 array of shape (B, L)
        Row i receives the nodes of walk indices[i].
    lengths : int64 array of shape (B,)
        Receives how many they are.
    """
    n_nodes = walker.indptr.shape[0] - 1
    i = take(barrier)
    while i < indices.shape[0]:
        index = indices[i]
        lengths[i] = walk(walker, similarity, index, index % n_nodes, nodes[i])
        i = take(barrier)
