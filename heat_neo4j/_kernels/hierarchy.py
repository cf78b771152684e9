"""A hierarchy's closure, a start by nested caps, and the candidates of training on the closure.

Every node is a source once a round. Its contexts are its ancestors, and the nodes that a short walk meets
before its first step along the hierarchy. Its negatives are proposed by two laws, children of its ancestors
and all nodes by weight, and kept only where they are near: those far away would have no force.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import advance, draw_slot, stream, unit
from heat_neo4j._kernels.sparse import has_entry
from heat_neo4j._kernels.vectors import dot_rows

MOST_ANCESTORS = 64  # contexts of a position that are ancestors; a node with more trains a share at a time
_NEAR = 3.0  # a negative's largest cosh of the distance, in units of the farthest context's
_SHORTEST = 1e-9  # of a direction; one dimension has nothing across


class Closure(NamedTuple):
    """What the draw of candidates reads. Each list of rows is a CSR matrix with sorted indices."""

    starts: NDArray[np.int64]  # (N + 1,): the ancestors of each node
    ancestors: NDArray[np.int32]
    child_starts: NDArray[np.int64]  # (N + 1,): the children of each node
    children: NDArray[np.int32]
    other_starts: NDArray[np.int64]  # (N + 1,): neighbours by other relationships, which are no negatives
    others: NDArray[np.int32]
    slots: NDArray[np.uint64]  # (N,): alias table of the noise distribution


@njit(cache=True)
def _reach(indptr: Any, indices: Any, stamp: Any, queue: Any, source: int) -> int:
    """Write the nodes that paths from `source` reach, the nearest first; return their number."""
    stamp[source] = source
    count = done = 0
    here = source
    while True:
        for k in range(indptr[here], indptr[here + 1]):
            above = indices[k]
            if stamp[above] != source:
                stamp[above] = source
                queue[count] = above
                count += 1
        if done == count:
            return count
        here = queue[done]
        done += 1


@njit(cache=True)
def count_closure(
    indptr: Any, indices: Any, component: Any, most: int, ancestors: Any, descendants: Any
) -> int:
    """Count each node's ancestors and descendants outside its component; return the number of pairs.

    The count ends once it is above `most`.
    """
    n = component.shape[0]
    stamp, queue = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int32)
    total = 0
    for source in range(n):
        for i in range(_reach(indptr, indices, stamp, queue, source)):
            if component[queue[i]] != component[source]:
                ancestors[source] += 1
                descendants[queue[i]] += 1
        total += ancestors[source]
        if total > most:
            break
    return total


@njit(cache=True)
def fill_closure(indptr: Any, indices: Any, component: Any, starts: Any, ancestors: Any) -> None:
    """Write each node's ancestors outside its component, the nearest first."""
    n = component.shape[0]
    stamp, queue = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int32)
    for source in range(n):
        place = starts[source]
        for i in range(_reach(indptr, indices, stamp, queue, source)):
            if component[queue[i]] != component[source]:
                ancestors[place] = queue[i]
                place += 1


@njit(cache=True, error_model="numpy")
def place_caps(
    order: Any, parent_starts: Any, parents: Any, caps: Any, spread: float, directions: Any
) -> None:
    """Turn each node's direction into the cap of its parents.

    `order` lists nodes below others, parents before children; `directions`, shape (N, d), holds random unit
    vectors and receives the results. The way of a node with one parent leads from the parent's by `spread`
    times the angle of its cap; of one with several, from their mean, the small caps first, by half of it.
    """
    d = directions.shape[1]
    middle, across = np.empty(d), np.empty(d)
    for node in order:
        first, last = parent_starts[node], parent_starts[node + 1]
        middle[:] = 0.0
        cap = caps[parents[first]]
        for k in range(first, last):
            above = parents[k]
            cap = min(cap, caps[above])
            for i in range(d):
                middle[i] += directions[above, i] / caps[above]
        length = along = 0.0
        for i in range(d):
            length += middle[i] * middle[i]
        length = np.sqrt(length)
        for i in range(d):
            middle[i] /= length
            along += directions[node, i] * middle[i]
        length = 0.0
        for i in range(d):
            across[i] = directions[node, i] - along * middle[i]
            length += across[i] * across[i]
        angle = spread * cap if last - first == 1 else 0.5 * spread * cap
        factor = angle / np.sqrt(length) if length > _SHORTEST else 0.0
        length = 0.0
        for i in range(d):
            directions[node, i] = middle[i] + factor * across[i]
            length += directions[node, i] * directions[node, i]
        for i in range(d):
            directions[node, i] /= np.sqrt(length)


@njit(cache=True)
def bounds(starts: Any, ancestors: Any, radii: Any, outer: Any, inner: Any) -> None:
    """Write the largest radius of a node and its ancestors, and the smallest of it and its descendants."""
    for node in range(radii.shape[0]):
        outer[node] = radii[node]
        inner[node] = radii[node]
    for node in range(radii.shape[0]):
        for k in range(starts[node], starts[node + 1]):
            outer[node] = max(outer[node], radii[ancestors[k]])
            inner[ancestors[k]] = min(inner[ancestors[k]], radii[node])


@njit(cache=True, inline="always")
def _cosh(points: Any, time: Any, u: Any, v: Any) -> Any:
    """Return cosh of a distance, not accurate for close points."""
    return 2.0 * points[u, time] * points[v, time] - dot_rows(points, u, points, v)


@njit(cache=True, error_model="numpy")
def draw_relatives(
    points: Any, time: int, nodes: Any, lengths: Any, begin: int, end: int, closure: Any, n_negatives: int,
    n_children: int, n_proposals: int, key: Any, sources: Any, contexts: Any, ends: Any, candidates: Any,
    tally: Any,
) -> int:  # fmt: skip
    """Write the candidates of the sources of walks [begin, end); return how many sources have any.

    `n_proposals` negatives are proposed for each source, the first `n_children` of them children of its
    ancestors, and at most `n_negatives` kept.
    """
    starts, ancestors, child_starts, children, other_starts, others, slots = closure
    used = slot = 0
    for walk in range(begin, end):
        source = nodes[walk, 0]
        state = stream(key, source)
        first, size = starts[source], starts[source + 1] - starts[source]
        count = min(size, MOST_ANCESTORS)
        shift = np.int64(unit(state) * size)
        farthest = 1.0
        for k in range(count):
            candidates[used + k] = ancestors[first + (shift + k) % size]
        for at in range(1, lengths[walk]):
            here, before = nodes[walk, at], nodes[walk, at - 1]
            if has_entry(starts, ancestors, before, here) or has_entry(starts, ancestors, here, before):
                break
            if here != source:
                candidates[used + count] = here
                count += 1
        if count == 0:
            continue
        for k in range(count):
            farthest = max(farthest, _cosh(points, time, source, candidates[used + k]))
        found = 0
        for i in range(n_proposals):
            draw = advance(state, 2 * i + 1)
            if i < n_children:
                place = np.int64(unit(draw) * (size + 1))
                above = source if place == size else ancestors[first + place]
                n_below = child_starts[above + 1] - child_starts[above]
                if n_below == 0:
                    continue
                below = np.int64(unit(advance(state, 2 * i + 2)) * n_below)
                other = np.int64(children[child_starts[above] + below])
            else:
                other = draw_slot(slots, 0, slots.shape[0], draw)
            if (
                other == source
                or _cosh(points, time, source, other) > _NEAR * farthest
                or has_entry(starts, ancestors, source, other)
                or has_entry(other_starts, others, source, other)
            ):
                continue
            candidates[used + count + found] = other
            found += 1
            if found == n_negatives:
                break
        if found == 0:
            tally[1] += count
            continue
        tally[0] += count
        used += count + found
        sources[slot] = source
        contexts[slot] = count
        ends[slot] = used
        slot += 1
    return slot
