"""The nearest vectors of each vector by cosine: random trees, then neighbours of neighbours.

Each tree splits the vectors in halves by the difference of two of them, down to leaves, in which all pairs
are compared (S. Dasgupta and Y. Freund, "Random projection trees and low dimensional manifolds", STOC 2008).
Then each vector is compared with the neighbours of its neighbours (W. Dong, C. Moses and K. Li, "Efficient
k-nearest neighbor graph construction for generic similarity measures", WWW 2011), from a copy of all lists,
so that the result does not depend on threads. It is exact where one leaf holds all vectors.
"""

from typing import Any

import numpy as np

from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import mix, step, stream
from heat_neo4j._kernels.vectors import dot_short_rows
from heat_neo4j._kernels.worksharing import next_index

NOBODY = -1
_KEY = np.uint64(0xC2B2AE3D27D4EB4F)
_TRIALS = 8  # draws of a second vector that differs from the first


@njit(cache=True)
def _drawn(state: np.uint64, size: int) -> Any:
    return np.int64(mix(state) % np.uint64(size))


@njit(cache=True, nogil=True)
def grow_trees(rows: Any, leaf: int, orders: Any, shared: Any, thread: int, n_threads: int) -> None:
    """Fill each row of `orders`, shape (trees, N), with an order in which leaves are consecutive.

    `leaves` gives their bounds. Run by a team.
    """
    n = rows.shape[0]
    direction = np.zeros((1, rows.shape[1]), dtype=np.float32)
    heights = np.empty(n, dtype=np.float32)
    begins, ends = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    tree = next_index(shared)
    while tree < orders.shape[0]:
        order = orders[tree]
        for i in range(n):
            order[i] = i
        state = stream(_KEY, tree)
        begins[0], ends[0] = 0, n
        waiting = np.int64(1)
        while waiting > 0:
            waiting -= 1
            begin, end = begins[waiting], ends[waiting]
            size = end - begin
            if size <= leaf:
                continue
            state = step(state)
            one = order[begin + _drawn(state, size)]
            for _ in range(_TRIALS):
                state = step(state)
                other = order[begin + _drawn(state, size)]
                differs = False
                for column in range(rows.shape[1]):
                    direction[0, column] = rows[one, column] - rows[other, column]
                    differs = differs or direction[0, column] != 0.0
                if differs:
                    break
            for i in range(size):
                heights[i] = dot_short_rows(rows, order[begin + i], direction, 0)
            places = np.argsort(heights[:size], kind="mergesort")
            order[begin:end] = order[begin:end][places]
            middle = begin + (size >> 1)
            begins[waiting], ends[waiting] = middle, end
            begins[waiting + 1], ends[waiting + 1] = begin, middle
            waiting += 2
        tree = next_index(shared)


def leaves(n: int, leaf: int) -> Any:
    """Return the bounds of the leaves of each tree, shape (L + 1,)."""
    bounds = [(0, n)]
    while (sizes := [end - begin for begin, end in bounds]) and max(sizes) > leaf:
        halves = []
        for begin, end in bounds:
            if end - begin <= leaf:
                halves.append((begin, end))
            else:
                middle = begin + ((end - begin) >> 1)
                halves += [(begin, middle), (middle, end)]
        bounds = halves
    return np.array([0, *(end for _, end in bounds)], dtype=np.int64)


@njit(cache=True, inline="always")
def _offer(near: Any, cosines: Any, u: int, v: int, cosine: float) -> None:
    """Insert v into the list of u, by descending cosine, unless it is there or the list is full of better."""
    k = near.shape[1]
    if cosine <= cosines[u, k - 1]:
        return
    place = k - 1
    for i in range(k):
        if near[u, i] == v:
            return
        if cosines[u, i] < cosine:
            place = i
            break
    for i in range(place + 1, k):
        if near[u, i] == v:
            return
    for i in range(k - 1, place, -1):
        near[u, i], cosines[u, i] = near[u, i - 1], cosines[u, i - 1]
    near[u, place], cosines[u, place] = v, cosine


@njit(cache=True, nogil=True)
def compare_leaves(
    rows: Any, order: Any, bounds: Any, near: Any, cosines: Any, shared: Any, thread: int, n_threads: int
) -> None:
    """Offer all nodes of each leaf of a tree to one another. Run by a team.

    `near` and `cosines`, shape (N, k), hold the lists; free places have the cosine 0 and NOBODY, as only
    positive cosines count.
    """
    leaf = next_index(shared)
    while leaf < bounds.shape[0] - 1:
        for i in range(bounds[leaf], bounds[leaf + 1]):
            for j in range(bounds[leaf], i):
                u, v = order[i], order[j]
                cosine = dot_short_rows(rows, u, rows, v)
                _offer(near, cosines, u, v, cosine)
                _offer(near, cosines, v, u, cosine)
        leaf = next_index(shared)


@njit(cache=True, nogil=True)
def compare_neighbours(
    rows: Any, earlier: Any, first: int, near: Any, cosines: Any, shared: Any, thread: int, n_threads: int
) -> None:
    """Offer each node the `first` neighbours of its `first` neighbours in `earlier`. Run by a team."""
    n = rows.shape[0]
    met = np.full(n, -1, dtype=np.int32)
    u = next_index(shared)
    while u < n:
        met[u] = u
        for i in range(earlier.shape[1]):
            if earlier[u, i] != NOBODY:
                met[earlier[u, i]] = u
        for i in range(first):
            v = earlier[u, i]
            if v == NOBODY:
                break
            for j in range(first):
                w = earlier[v, j]
                if w == NOBODY:
                    break
                if met[w] != u:
                    met[w] = u
                    _offer(near, cosines, u, w, dot_short_rows(rows, u, rows, w))
        u = next_index(shared)


@njit(cache=True, nogil=True)
def cumulate_cubes(cosines: Any) -> None:
    """Replace the cosines of each list by the cumulative sums of their cubes, in place."""
    for u in range(cosines.shape[0]):
        running = 0.0
        for i in range(cosines.shape[1]):
            cosine = np.float64(cosines[u, i])
            running += cosine * cosine * cosine
            cosines[u, i] = np.float32(running)
