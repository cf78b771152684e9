"""Count typed two-step paths between nodes, and sum weights by the kinds of their steps.

Each node has a row of steps: neighbours in ascending order with the kind of the step, repeated if several
kinds lead there. ``turned[k]`` is the kind of the reverse of a step of kind k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.sparse import advance

Places = NDArray[np.int64]
Columns = NDArray[np.int32]
Values = NDArray[np.float64]
Mask = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def count_paths(
    indptr: Places, neighbours: Columns, kinds: Columns, n_kinds: int, is_hub: Mask, sources: Places,
    own_indptr: Places, own_targets: Columns, is_target: Mask, most: int,
) -> tuple[Values, Values, int]:  # fmt: skip
    """Count paths from `sources` to targets, not through hubs, by the kinds of both steps.

    Returns the counts of all paths and of those that end at one of the source's own targets (rows of a CSR
    array), each of shape (n_kinds, n_kinds), and the number of sources visited; counting stops after `most`
    paths.
    """
    paths, closed = np.zeros((n_kinds, n_kinds)), np.zeros((n_kinds, n_kinds))
    is_own = np.zeros(indptr.shape[0] - 1, np.bool_)
    n_paths, n_sources = 0, 0
    for source in sources:
        if n_paths >= most:
            break
        n_sources += 1
        for place in range(own_indptr[source], own_indptr[source + 1]):
            is_own[own_targets[place]] = True
        for a in range(indptr[source], indptr[source + 1]):
            middle = neighbours[a]
            if is_hub[middle]:
                continue
            for b in range(indptr[middle], indptr[middle + 1]):
                target = neighbours[b]
                if target != source and is_target[target]:
                    n_paths += 1
                    paths[kinds[a], kinds[b]] += 1.0
                    if is_own[target]:
                        closed[kinds[a], kinds[b]] += 1.0
        for place in range(own_indptr[source], own_indptr[source + 1]):
            is_own[own_targets[place]] = False
    return paths, closed, n_sources


@njit(cache=True, nogil=True)
def path_pairs(
    indptr: Places, neighbours: Columns, kinds: Columns, turned: Columns, is_hub: Mask, weights: Values,
    u: Places, v: Places,
) -> Values:  # fmt: skip
    """Return the total weight of paths u[i] -> w -> v[i] over non-hubs w, for each i; shape (m,)."""
    sums = np.empty(u.shape[0])
    for i in range(u.shape[0]):
        a, a_end = indptr[u[i]], indptr[u[i] + 1]
        b, b_end = indptr[v[i]], indptr[v[i] + 1]
        total = 0.0
        while a < a_end and b < b_end:
            middle = neighbours[a]
            if middle < neighbours[b]:
                a = advance(neighbours, a, a_end, neighbours[b])
            elif middle > neighbours[b]:
                b = advance(neighbours, b, b_end, middle)
            elif is_hub[middle]:
                a = advance(neighbours, a, a_end, middle + 1)
            else:
                b_next = b
                while a < a_end and neighbours[a] == middle:
                    b_next = b
                    while b_next < b_end and neighbours[b_next] == middle:
                        total += weights[kinds[a], turned[kinds[b_next]]]
                        b_next += 1
                    a += 1
                b = b_next
        sums[i] = total
    return sums


@njit(cache=True, nogil=True)
def path_rows(
    indptr: Places, neighbours: Columns, kinds: Columns, is_hub: Mask, weights: Values, sources: Places,
) -> Values:  # fmt: skip
    """Return the total weight of paths from each of `sources` to every node, shape (m, N)."""
    sums = np.zeros((sources.shape[0], indptr.shape[0] - 1))
    for row in range(sources.shape[0]):
        for a in range(indptr[sources[row]], indptr[sources[row] + 1]):
            middle = neighbours[a]
            if not is_hub[middle]:
                for b in range(indptr[middle], indptr[middle + 1]):
                    sums[row, neighbours[b]] += weights[kinds[a], kinds[b]]
    return sums
