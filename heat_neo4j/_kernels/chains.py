"""Chains of directed links, typed two-step paths, and greedy selection of proposals by descending score.

For two-step paths, each node has a row of steps: neighbours in ascending order with the kind of the step,
repeated if several kinds lead there. ``turned[k]`` is the kind of the reverse of a step of kind k.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.sparse import advance

Places = NDArray[np.int64]
Columns = NDArray[np.int32]
Values = NDArray[np.float64]
Mask = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def have_chain(
    indptr: Places, indices: Columns, back_indptr: Places, back_indices: Columns, u: Places, v: Places,
    most_links: int,
) -> NDArray[np.int8]:  # fmt: skip
    """Return 1 if a path of two or more links leads from u[i] to v[i] != u[i], otherwise 0; shape (m,).

    Bidirectional breadth-first search, the cheaper side first. A search that would visit more than
    `most_links` links ends undecided, with -1. The `back` arrays hold the reversed links.
    """
    n = indptr.shape[0] - 1
    found = np.zeros(u.shape[0], dtype=np.int8)
    seen, seen_back = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    room = min(n, most_links + 1)
    queue, queue_back = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    for i in range(u.shape[0]):
        seen[u[i]], seen_back[v[i]] = i, i
        queue[0], queue_back[0] = u[i], v[i]
        begin, end, begin_back, end_back, left = 0, 1, 0, 1, most_links
        while found[i] == 0 and begin < end and begin_back < end_back:
            cost = _links_of(indptr, queue, begin, end)
            cost_back = _links_of(back_indptr, queue_back, begin_back, end_back)
            if min(cost, cost_back) > left:
                found[i] = -1
                break
            left -= min(cost, cost_back)
            if cost <= cost_back:
                found[i], stop = _expand(indptr, indices, queue, begin, end, seen, seen_back, u[i], v[i], i)
                begin, end = end, stop
            else:
                found[i], stop = _expand(
                    back_indptr, back_indices, queue_back, begin_back, end_back, seen_back, seen, v[i], u[i],
                    i,
                )  # fmt: skip
                begin_back, end_back = end_back, stop
    return found


@njit(cache=True, nogil=True)
def _links_of(indptr: Any, queue: Any, begin: int, end: int) -> int:
    total = 0
    for place in range(begin, end):
        total += indptr[queue[place] + 1] - indptr[queue[place]]
    return total


@njit(cache=True, nogil=True)
def _expand(
    indptr: Any, indices: Any, queue: Any, begin: int, end: int, seen: Any, seen_by_other: Any, start: int,
    goal: int, mark: int,
) -> Any:  # fmt: skip
    """Append the next level to the queue; return whether the searches have met, and the queue's end."""
    stop = end
    for place in range(begin, end):
        node = queue[place]
        for k in range(indptr[node], indptr[node + 1]):
            other = indices[k]
            if node == start and other == goal:  # a direct link is no chain
                continue
            if seen_by_other[other] == mark:
                return True, stop
            if seen[other] != mark:
                seen[other] = mark
                queue[stop] = other
                stop += 1
    return False, stop


@njit(cache=True)
def choose(
    allowed: NDArray[np.bool_], groups: Places, room: Places, pair: Places, kind: Places,
    is_forward: NDArray[np.bool_], exclusive: NDArray[np.bool_],
) -> NDArray[np.int8]:  # fmt: skip
    """Select proposals greedily in order; return the first obstacle of each, shape (m,), or -1 if selected.

    Obstacle g < G is a full group: proposal i belongs to groups[g, i] (none if negative), which has capacity
    room[groups[g, i]]. Obstacle G is a selected proposal of the same pair[i] and an exclusive kind:
    exclusive[kind, other kind, 1 if both have the same direction, else 0]. Proposals not `allowed` get -2.
    """
    n_groups, m = groups.shape
    obstacle = np.full(m, -2, dtype=np.int8)
    room = room.copy()
    last = np.full(pair.max() + 1 if m else 0, -1, dtype=np.int64)  # last selected proposal of each pair
    before = np.empty(m, dtype=np.int64)
    for i in range(m):
        if not allowed[i]:
            continue
        obstacle[i] = -1
        for g in range(n_groups):
            if groups[g, i] >= 0 and room[groups[g, i]] <= 0:
                obstacle[i] = g
                break
        other = last[pair[i]]
        while other >= 0 and obstacle[i] == -1:
            if exclusive[kind[i], kind[other], int(is_forward[i] == is_forward[other])]:
                obstacle[i] = n_groups
            other = before[other]
        if obstacle[i] == -1:
            for g in range(n_groups):
                if groups[g, i] >= 0:
                    room[groups[g, i]] -= 1
            before[i], last[pair[i]] = last[pair[i]], i
    return obstacle


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
