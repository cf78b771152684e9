"""Random walks that teleport along attribute similarity (HEAT, section 3.2)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import prefetch
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import draw_cumulative, step, stream, unit
from heat_neo4j._kernels.similarity import NO_SIMILAR, expect_similar, sample_similar
from heat_neo4j._kernels.worksharing import next_index

_TOGETHER = 64


class Walker(NamedTuple):
    """The parameters of a walk."""

    indptr: NDArray[np.int64]  # neighbours of each node, as a CSR array
    indices: NDArray[np.int32]
    cumulative: NDArray[np.float64]  # cumulative edge weights within each row
    alpha: float  # probability that a step follows attribute similarity
    length: int  # nodes in a walk
    key: np.uint64  # seed of the random streams; walk i uses stream i


@njit(cache=True)
def draw_together(
    walker: Any, similarity: Any, indices: Any, nodes: Any, lengths: Any, begin: int, end: int
) -> None:
    """Draw walks [begin, end) of a block in lockstep; see `draw_block`.

    Each step follows Y with probability alpha, otherwise W. A node without neighbours takes the attribute
    step, one without similar nodes the topological step; a node with neither ends the walk. Lockstep overlaps
    the memory accesses of the walks.
    """
    count = end - begin
    n_nodes = walker.indptr.shape[0] - 1
    length = nodes.shape[1]
    states = np.empty(count, dtype=np.uint64)
    here = np.empty(count, dtype=np.int64)
    following = np.empty(count, dtype=np.int64)
    places = np.empty(count, dtype=np.int64)
    for i in range(count):
        index = indices[begin + i]
        states[i] = stream(walker.key, index)
        here[i] = index % n_nodes
        nodes[begin + i, 0] = here[i]
        lengths[begin + i] = length
    for at in range(1, length):
        n_places = np.int64(0)  # a literal 0 would compile another specialisation of every callee
        for i in range(count):
            if lengths[begin + i] < length:
                continue
            first, last = walker.indptr[here[i]], walker.indptr[here[i] + 1]
            following[i] = NO_SIMILAR
            states[i] = step(states[i])
            if last == first or unit(states[i]) < walker.alpha:
                states[i] = step(states[i])
                places[n_places] = i
                n_places += 1
                expect_similar(similarity, here[i])
            else:
                prefetch(walker.cumulative, first)
                prefetch(walker.cumulative, last - 1)
                prefetch(walker.indices, first)
        sample_similar(similarity, here, states, places, n_places, following)
        for i in range(count):
            if lengths[begin + i] < length:
                continue
            if following[i] == NO_SIMILAR:
                first, last = walker.indptr[here[i]], walker.indptr[here[i] + 1]
                if last == first:
                    lengths[begin + i] = at
                    continue
                states[i] = step(states[i])
                following[i] = walker.indices[draw_cumulative(walker.cumulative, first, last, states[i])]
            here[i] = following[i]
            nodes[begin + i, at] = here[i]
            prefetch(walker.indptr, here[i])


@njit(cache=True, nogil=True)
def draw_block(
    walker: Any, similarity: Any, indices: Any, nodes: Any, lengths: Any, shared: Any, thread: int,
    n_threads: int,
) -> None:  # fmt: skip
    """Draw walks `indices`. Run by a team.

    Walk r N + v is the r-th walk from node v. Row i of `nodes`, shape (B, L), receives the nodes of walk
    indices[i], and lengths[i] their number.
    """
    begin = next_index(shared) * _TOGETHER
    while begin < indices.shape[0]:
        end = min(begin + _TOGETHER, indices.shape[0])
        draw_together(walker, similarity, indices, nodes, lengths, begin, end)
        begin = next_index(shared) * _TOGETHER
