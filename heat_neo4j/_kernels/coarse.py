"""Coarse graphs: small clusters of neighbouring nodes, and the weights between clusters."""

from typing import Any

import numpy as np

from heat_neo4j._kernels.jit import njit

NO_NODE = -1


@njit(cache=True, nogil=True)
def join_neighbours(
    indptr: Any, indices: Any, weights: Any, similar: Any, sizes: Any, most: int, order: Any
) -> Any:
    """Group nodes into clusters of at most `most`; return a node of its cluster for each node.

    Node i counts as sizes[i]. In `order`, each node that none has joined yet joins the neighbouring cluster
    with room to which it has most weight relative to that cluster's weight to all others. (Without this
    quotient, every node would join a hub.) If none has room, it waits at the first choice, and all that wait
    there form clusters: the leaves of a hub belong together. A node without neighbours has similar[i] as its
    only one, or `NO_NODE`.
    """
    n = sizes.shape[0]
    cluster, total = np.arange(n), sizes.copy()
    strength, met = np.zeros(n), np.zeros(n)
    waiting = np.full(n, NO_NODE, dtype=np.int64)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            strength[i] += weights[p]
    for i in order:
        if total[i] > sizes[i]:
            continue
        joined = first = np.int64(NO_NODE)
        best = highest = 0.0
        if indptr[i] == indptr[i + 1] and similar[i] != NO_NODE:
            first = cluster[similar[i]]
            if total[first] + sizes[i] <= most:
                joined = first
        for p in range(indptr[i], indptr[i + 1]):
            met[cluster[indices[p]]] += weights[p]
        for p in range(indptr[i], indptr[i + 1]):
            other = cluster[indices[p]]
            rating = met[other] / strength[other]
            met[other] = 0.0
            if rating > highest:
                first, highest = other, rating
            if rating > best and total[other] + sizes[i] <= most:
                joined, best = other, rating
        if joined == NO_NODE and first != NO_NODE:
            joined = waiting[first]
            if joined == NO_NODE or total[joined] + sizes[i] > most:
                waiting[first] = i
                continue
        if joined != NO_NODE:
            cluster[i] = joined
            total[joined] += sizes[i]
            strength[joined] += strength[i]
    return cluster


@njit(cache=True, nogil=True)
def merge_rows(indptr: Any, indices: Any, weights: Any, of: Any, members: Any, starts: Any) -> Any:
    """Return the CSR arrays of the weights between clusters; those within a cluster are left out.

    Node i is in cluster of[i]; cluster c has the nodes members[starts[c] : starts[c + 1]]. The columns of a
    row are in the order in which they are met.
    """
    n_clusters = starts.shape[0] - 1
    begins = np.zeros(n_clusters + 1, dtype=np.int64)
    columns, sums = np.empty(indices.shape[0], dtype=np.int32), np.empty(indices.shape[0])
    place = np.full(n_clusters, -1, dtype=np.int64)
    end = np.int64(0)  # a literal 0 would change its type in the loop
    for c in range(n_clusters):
        for k in range(starts[c], starts[c + 1]):
            for p in range(indptr[members[k]], indptr[members[k] + 1]):
                other = of[indices[p]]
                if other == c:
                    continue
                if place[other] < begins[c]:
                    place[other] = end
                    columns[end], sums[end] = other, 0.0
                    end += 1
                sums[place[other]] += weights[p]
        begins[c + 1] = end
    return begins, columns[:end].copy(), sums[:end].copy()
