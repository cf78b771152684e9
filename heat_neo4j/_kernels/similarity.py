"""Sample v with probability proportional to max(cos(z_u, z_v), 0), v != u, for standardised rows z.

Standardised values are stored as sparse differences d from a background b common to all nodes: z = b + d.
With base_v = b . d_v + b . b / 2, the dot product of two rows is a sparse one plus two scalars::

    z_u . z_v = d_u . d_v + base_u + base_v

Its positive part is at most the sum of the positive terms of d_u . d_v plus max(base_u + base_v, 0). This
envelope can be sampled without scanning all nodes: by the owners of each column, and by the nodes with a base
above -base_u, which are a prefix in the order of bases. A proposal is accepted with the ratio of the two.
Nodes with a low acceptance rate are identified in advance, and sample from a list of similar nodes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import prefetch
from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import (
    alias_slots,
    draw_cumulative,
    draw_slot,
    first_above,
    mix,
    slot_position,
    step,
    stream,
    unit,
)
from heat_neo4j._kernels.sparse import first_at_least
from heat_neo4j._kernels.worksharing import next_index

NO_SIMILAR = -1
# Columns of `Similarity.scalars`: 1 / |z|, or 0 for a row of zeros; the base; and the part of the envelope's
# weight that comes from bases, the sum of max(base_u + base_v, 0) / |z_v| over all v.
INVERSE_NORM, BASE, APART = range(3)
_SCALARS = 3
_ROUNDING = 1e-12  # a sum below this share of its terms is a rounding error
_PROBES = 64  # a node gets a list if this many proposals are all rejected
_PROBE_KEY = np.uint64(0x243F6A8885A308D3)
_COIN_KEY = np.uint64(0x13198A2E03707344)
_SHORTER = 8  # length ratio of two rows from which binary search replaces merging


_INTEGERS, _SHORT_INTEGERS = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
_ONE_START = np.zeros(1, dtype=np.int64)
_FLOATS, _NO_ROWS = np.zeros(0), np.zeros((0, 0), dtype=np.float32)


class Similarity(NamedTuple):
    """The tables for sampling; a sampler fills those that it needs. Without any, no nodes are similar."""

    table: NDArray[np.float32] = _NO_ROWS  # (N, N) or (0, 0): cumulative similarities, unnormalised
    indptr: NDArray[np.int64] = _ONE_START  # d as a CSR array, one row per node
    indices: NDArray[np.int32] = _SHORT_INTEGERS
    values: NDArray[np.float64] = _FLOATS
    # (N, 3) or (0, 3): `INVERSE_NORM`, `BASE` and `APART` of each node
    scalars: NDArray[np.float64] = np.zeros((0, _SCALARS))
    owned_cumulative: NDArray[np.float64] = _FLOATS  # (nnz,): cumulative envelope weights of a node's columns
    col_indptr: NDArray[np.int64] = _ONE_START  # of a CSC array
    col_nodes: NDArray[np.int32] = _SHORT_INTEGERS  # owners of each column: first those with d > 0
    # Alias tables of both parts, weighted by abs(d) / |z|
    col_slots: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
    col_split: NDArray[np.int64] = _INTEGERS  # (F,): start of the second part of each column
    by_base: NDArray[np.int32] = _SHORT_INTEGERS  # (N,): nodes by descending base
    # (N + 1, 2): cumulative 1 / |z| and base / |z| in that order
    base_sums: NDArray[np.float64] = np.zeros((1, 2))
    reach: NDArray[np.int64] = _INTEGERS  # (N,): number of nodes in that order with a base above -base_u
    # (N,): whether a node samples from its list, which may be empty
    listed: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
    listed_from: NDArray[np.int64] = _ONE_START  # (N + 1,): start of each node's list
    listed_nodes: NDArray[np.int32] = _SHORT_INTEGERS
    listed_cumulative: NDArray[np.float64] = _FLOATS  # cumulative weights within each list
    near: NDArray[np.int32] = np.zeros((0, 0), dtype=np.int32)  # (N, k): nodes with similar vectors
    near_cumulative: NDArray[np.float32] = _NO_ROWS  # (N, k): cumulative weights of each row
    near_share: float = 0.0  # of the draws that follow vectors, at nodes that are similar in both ways


@njit(cache=True, error_model="numpy")
def node_scalars(indptr: Any, indices: Any, values: Any, background: Any) -> Any:
    """Return `Similarity.scalars`, without `APART`."""
    n = indptr.shape[0] - 1
    total = 0.0
    for f in range(background.shape[0]):
        total += background[f] * background[f]
    scalars = np.zeros((n, _SCALARS))
    for u in range(n):
        square, terms, shift, rest = 0.0, total, 0.0, total
        for k in range(indptr[u], indptr[u + 1]):
            b = background[indices[k]]
            z = values[k] + b
            square += z * z
            terms += values[k] * values[k]
            shift += values[k] * b
            rest -= b * b
        if rest > _ROUNDING * total:
            square += rest
        scalars[u, BASE] = shift + 0.5 * total
        if square > _ROUNDING * _ROUNDING * terms:
            scalars[u, INVERSE_NORM] = 1.0 / np.sqrt(square)
    return scalars


@njit(cache=True, inline="always")
def _positive(dot: float, one: float, other: float) -> float:
    """Return a sum that includes two bases, or 0 if it is negative or a rounding error."""
    return dot if dot > _ROUNDING * (abs(one) + abs(other)) else 0.0


@njit(cache=True, nogil=True)
def table_rows(
    indptr: Any, indices: Any, values: Any, scalars: Any, columns: int, table: Any,
    shared: Any, thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Fill the (N, N) float32 table of cumulative max(cos, 0), zero diagonal. Run by a team."""
    n = indptr.shape[0] - 1
    dense = np.zeros(columns)
    u = next_index(shared)
    while u < n:
        for k in range(indptr[u], indptr[u + 1]):
            dense[indices[k]] = values[k]
        running = 0.0
        for v in range(n):
            dot = scalars[u, BASE] + scalars[v, BASE]
            for k in range(indptr[v], indptr[v + 1]):
                dot += dense[indices[k]] * values[k]
            if v != u:
                dot = _positive(dot, scalars[u, BASE], scalars[v, BASE])
                running += dot * scalars[u, INVERSE_NORM] * scalars[v, INVERSE_NORM]
            table[u, v] = running
        for k in range(indptr[u], indptr[u + 1]):
            dense[indices[k]] = 0.0
        u = next_index(shared)


@njit(cache=True)
def owner_slots(col_indptr: Any, col_nodes: Any, col_values: Any, inverse_norm: Any) -> Any:
    """Sort each column's owners, those with d > 0 first, and build alias tables of both parts.

    Returns col_nodes, d in that order, col_slots and col_split of `Similarity`; then the sum of abs(d) / |z|
    and the maximum of abs(d) for both parts, shape (F, 2), 0 if a part has fewer than two owners.
    """
    columns = col_indptr.shape[0] - 1
    nodes, values = np.empty_like(col_nodes), np.empty_like(col_values)
    weights = np.empty(col_nodes.shape[0])
    slots = np.zeros(col_nodes.shape[0], dtype=np.uint64)
    split = np.empty(columns, dtype=np.int64)
    sums, most = np.zeros((columns, 2)), np.zeros((columns, 2))
    for f in range(columns):
        at = col_indptr[f]
        for part in range(2):
            begin = at
            total, largest = 0.0, 0.0
            for k in range(col_indptr[f], col_indptr[f + 1]):
                d = col_values[k]
                if (d > 0.0) == (part == 0):
                    nodes[at], values[at] = col_nodes[k], d
                    weights[at] = abs(d) * inverse_norm[col_nodes[k]]
                    total += weights[at]
                    largest = max(largest, abs(d))
                    at += 1
            if at - begin > 1 and total > 0.0:
                sums[f, part], most[f, part] = total, largest
                made = alias_slots(weights[begin:at])
                for i in range(at - begin):  # assigning to a slice takes seconds to compile
                    slots[begin + i] = made[i]
            if part == 0:
                split[f] = at
    return nodes, values, slots, split, sums, most


@njit(cache=True)
def envelopes(indptr: Any, indices: Any, values: Any, sums: Any, by_base: Any, scalars: Any) -> Any:
    """Return (owned_cumulative, base_sums, reach) of `Similarity`; fill in `APART`."""
    n = scalars.shape[0]
    base_sums = np.zeros((n + 1, 2))
    for i in range(n):
        node = by_base[i]
        inverse = scalars[node, INVERSE_NORM]
        base_sums[i + 1, 0] = base_sums[i, 0] + inverse
        base_sums[i + 1, 1] = base_sums[i, 1] + inverse * scalars[node, BASE]
    owned = np.empty(indices.shape[0])
    reach = np.zeros(n, dtype=np.int64)
    for u in range(n):
        running = 0.0
        for k in range(indptr[u], indptr[u + 1]):
            running += abs(values[k]) * sums[indices[k], 0 if values[k] > 0.0 else 1]
            owned[k] = running
        base = scalars[u, BASE]
        low, high = 0, n
        while low < high:
            middle = (low + high) >> 1
            other = scalars[by_base[middle], BASE]
            if _positive(base + other, base, other) > 0.0:
                low = middle + 1
            else:
                high = middle
        reach[u] = low
        scalars[u, APART] = max(base * base_sums[low, 0] + base_sums[low, 1], 0.0)
    return owned, base_sums, reach


@njit(cache=True, inline="always")
def _dot_and_envelope(s: Any, u: int, v: int) -> tuple[float, float]:
    """Return the positive part of z_u . z_v, and the envelope, both without norms."""
    both, above = 0.0, 0.0
    i, i_end = s.indptr[u], s.indptr[u + 1]
    j, j_end = s.indptr[v], s.indptr[v + 1]
    if i_end - i > j_end - j:
        i, i_end, j, j_end = j, j_end, i, i_end
    if (i_end - i) * _SHORTER < j_end - j:
        while i < i_end and j < j_end:
            j = first_at_least(s.indices, j, j_end, s.indices[i])
            if j < j_end and s.indices[j] == s.indices[i]:
                product = s.values[i] * s.values[j]
                both += product
                above += max(product, 0.0)
            i += 1
    while i < i_end and j < j_end:
        a, b = s.indices[i], s.indices[j]
        if a == b:
            product = s.values[i] * s.values[j]
            both += product
            above += max(product, 0.0)
            i += 1
            j += 1
        elif a < b:
            i += 1
        else:
            j += 1
    one, other = s.scalars[u, BASE], s.scalars[v, BASE]
    return _positive(both + (one + other), one, other), above + _positive(one + other, one, other)


@njit(cache=True, inline="always")
def _aim(s: Any, u: int, state: np.uint64) -> tuple[Any, Any, Any]:
    """Draw the component of u's envelope: the owners of a column, or a node by its base.

    Returns the state; then the index of the first owner and the number of owners, or the node's index and 0.
    """
    first, last = s.indptr[u], s.indptr[u + 1]
    owned = s.owned_cumulative[last - 1] if last > first else 0.0
    state = step(state)
    target = unit(state) * (owned + s.scalars[u, APART])
    if target < owned:
        k = first_above(s.owned_cumulative, first, last, target)
        f = np.int64(s.indices[k])
        if s.values[k] > 0.0:
            begin, end = s.col_indptr[f], s.col_split[f]
        else:
            begin, end = s.col_split[f], s.col_indptr[f + 1]
        return step(state), begin, end - begin
    target -= owned
    base = s.scalars[u, BASE]
    low, high = np.int64(0), s.reach[u] - 1
    while low < high:
        middle = (low + high) >> 1
        if base * s.base_sums[middle + 1, 0] + s.base_sums[middle + 1, 1] > target:
            high = middle
        else:
            low = middle + 1
    return state, low, np.int64(0)


@njit(cache=True, inline="always")
def _propose(s: Any, u: int, state: np.uint64) -> tuple[Any, Any]:
    """Draw v from the envelope of u: by a shared column, or by its base."""
    state, begin, size = _aim(s, u, state)
    if size == 0:
        return state, np.int64(s.by_base[begin])
    return state, np.int64(s.col_nodes[begin + draw_slot(s.col_slots, begin, size, state)])


@njit(cache=True, inline="always")
def _has_envelope(s: Any, u: int) -> bool:
    """Return whether a node has any proposals."""
    last = s.indptr[u + 1]
    owned = last > s.indptr[u] and s.owned_cumulative[last - 1] > 0.0
    return s.scalars[u, INVERSE_NORM] > 0.0 and (owned or s.scalars[u, APART] > 0.0)


@njit(cache=True, nogil=True)
def find_crowded(s: Any, shared: Any, thread: int, n_threads: int) -> None:
    """Set `listed` for nodes with a low acceptance rate, and clear it for others. Run by a team."""
    n = s.scalars.shape[0]
    u = np.int64(next_index(shared))
    while u < n:
        suits = False
        if _has_envelope(s, u):
            state = stream(_PROBE_KEY, u)
            for _ in range(_PROBES):
                state, v = _propose(s, u, state)
                state = step(state)
                if v != u:
                    dot, envelope = _dot_and_envelope(s, u, v)
                    if unit(state) * envelope < dot:
                        suits = True
                        break
        s.listed[u] = not suits
        u = np.int64(next_index(shared))


@njit(cache=True, inline="always")
def _may_be_similar(s: Any, most: Any, u: int) -> bool:
    """Return whether an upper bound of z_u . z_v over all v is positive."""
    if not _has_envelope(s, u):
        return False
    base, other = s.scalars[u, BASE], s.scalars[s.by_base[0], BASE]
    bound = base + other
    for k in range(s.indptr[u], s.indptr[u + 1]):
        bound += abs(s.values[k]) * most[s.indices[k], 0 if s.values[k] > 0.0 else 1]
    return _positive(bound, base, other) > 0.0


@njit(cache=True)
def _gather(s: Any, col_values: Any, u: int, dots: Any, met: Any, similar: Any) -> Any:
    """Write the nodes similar to u to `similar`, and their weights to `dots`; return their number.

    `dots` must be all 0 and `met` all False; afterwards they are again, except for the weights.
    """
    size = np.int64(0)  # a literal 0 would compile another specialisation of every callee
    for k in range(s.indptr[u], s.indptr[u + 1]):
        f = s.indices[k]
        for j in range(s.col_indptr[f], s.col_indptr[f + 1]):
            v = s.col_nodes[j]
            dots[v] += s.values[k] * col_values[j]
            if not met[v]:
                met[v] = True
                similar[size] = v
                size += 1
    for i in range(s.reach[u]):
        v = s.by_base[i]
        if not met[v]:
            met[v] = True
            similar[size] = v
            size += 1
    n_similar = np.int64(0)
    one = s.scalars[u, BASE]
    for i in range(size):
        v = similar[i]
        met[v] = False
        other = s.scalars[v, BASE]
        dot = _positive(dots[v] + (one + other), one, other)
        dots[v] = 0.0
        if v != u and dot > 0.0 and s.scalars[v, INVERSE_NORM] > 0.0:
            dots[v] = dot * s.scalars[v, INVERSE_NORM]
            similar[n_similar] = v
            n_similar += 1
    return n_similar


@njit(cache=True, nogil=True)
def count_similar(
    s: Any, most: Any, col_values: Any, crowded: Any, counts: Any, shared: Any, thread: int, n_threads: int
) -> None:
    """Write the number of nodes similar to each of `crowded` to `counts`. Run by a team."""
    n = s.scalars.shape[0]
    dots, met, similar = np.zeros(n), np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
    i = next_index(shared)
    while i < crowded.shape[0]:
        counts[i] = 0
        if _may_be_similar(s, most, crowded[i]):
            counts[i] = _gather(s, col_values, crowded[i], dots, met, similar)
            for j in range(counts[i]):
                dots[similar[j]] = 0.0
        i = next_index(shared)


@njit(cache=True, nogil=True)
def list_similar(
    s: Any, col_values: Any, crowded: Any, counts: Any, shared: Any, thread: int, n_threads: int
) -> None:
    """Fill the lists of the `crowded` nodes, which have `counts` similar nodes each. Run by a team.

    A list that is too short receives a weighted sample with replacement instead.
    """
    n = s.scalars.shape[0]
    dots, met, similar = np.zeros(n), np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
    cumulative = np.empty(n)
    i = next_index(shared)
    while i < crowded.shape[0]:
        if counts[i] > 0:
            u = crowded[i]
            size = _gather(s, col_values, u, dots, met, similar)
            running = 0.0
            for j in range(size):
                running += dots[similar[j]]
                dots[similar[j]] = 0.0
                cumulative[j] = running
            begin = s.listed_from[u]
            room = s.listed_from[u + 1] - begin
            state = stream(_PROBE_KEY, n + u)
            for j in range(room):
                if room == size:
                    s.listed_nodes[begin + j], s.listed_cumulative[begin + j] = similar[j], cumulative[j]
                else:
                    state = step(state)
                    drawn = draw_cumulative(cumulative, 0, size, state)
                    s.listed_nodes[begin + j], s.listed_cumulative[begin + j] = similar[drawn], j + 1.0
        i = next_index(shared)


@njit(cache=True)
def _draw_by_rejection(s: Any, nodes: Any, states: Any, places: Any, n: int, chosen: Any) -> None:
    """See `sample_similar`. All samples advance in lockstep, so that prefetches overlap."""
    state = np.empty(n, dtype=np.uint64)
    sizes = np.empty(n, dtype=np.int64)
    at = np.empty(n, dtype=np.int64)
    pending = np.empty(n, dtype=np.int64)
    waiting = 0
    for a in range(n):
        i = places[a]
        if not s.listed[nodes[i]]:
            state[waiting] = mix(states[i])
            pending[waiting] = i
            waiting += 1
            begin = s.indptr[nodes[i]]
            prefetch(s.owned_cumulative, begin)
            prefetch(s.indices, begin)
            prefetch(s.values, begin)
    while waiting > 0:
        for w in range(waiting):
            state[w], at[w], sizes[w] = _aim(s, nodes[pending[w]], state[w])
            if sizes[w] > 0:
                prefetch(s.col_slots, at[w] + slot_position(sizes[w], state[w]))
            else:
                prefetch(s.by_base, at[w])
        for w in range(waiting):
            if sizes[w] > 0:
                at[w] += draw_slot(s.col_slots, at[w], sizes[w], state[w])
                prefetch(s.col_nodes, at[w])
        for w in range(waiting):
            v = s.col_nodes[at[w]] if sizes[w] > 0 else s.by_base[at[w]]
            at[w] = v
            prefetch(s.indptr, v)
            prefetch(s.scalars, v)
        for w in range(waiting):
            begin = s.indptr[at[w]]
            prefetch(s.indices, begin)
            prefetch(s.values, begin)
        left = 0
        for w in range(waiting):
            u, v = nodes[pending[w]], at[w]
            moved = state[w]
            if v != u:
                dot, envelope = _dot_and_envelope(s, u, v)
                moved = step(moved)
                if unit(moved) * envelope < dot:
                    chosen[pending[w]] = v
                    continue
            state[left], pending[left] = moved, pending[w]
            left += 1
        waiting = left


@njit(cache=True)
def expect_similar(s: Any, u: int) -> None:
    """Prefetch the data of a node that `sample_similar` reads."""
    if s.scalars.shape[0] > 0:
        prefetch(s.indptr, u)
        prefetch(s.scalars, u)
        prefetch(s.listed, u)


@njit(cache=True)
def sample_similar(s: Any, nodes: Any, states: Any, places: Any, n: int, chosen: Any) -> None:
    """Draw a similar node for several nodes at once; each is a pure function of graph, node and state.

    The first `n` entries of `places` index `nodes`, `states` (one stream each) and `chosen`, which receives a
    node drawn from Y_u, or NO_SIMILAR.
    """
    if s.near.shape[0] > 0:
        _draw_near(s, nodes, states, places, n, chosen)
        return
    _draw_others(s, nodes, states, places, n, chosen)


@njit(cache=True)
def _draw_near(s: Any, nodes: Any, states: Any, places: Any, n: int, chosen: Any) -> None:
    """See `sample_similar`: draw by vectors, or by the other attributes where a coin says so."""
    others = np.empty(n, dtype=np.int64)
    n_others = np.int64(0)
    for a in range(n):
        if unit(mix(states[places[a]] ^ _COIN_KEY)) >= s.near_share:
            others[n_others] = places[a]
            n_others += 1
        chosen[places[a]] = NO_SIMILAR
    if n_others > 0:
        _draw_others(s, nodes, states, others, n_others, chosen)
    n_others = np.int64(0)
    last = s.near.shape[1] - 1
    for a in range(n):
        i = places[a]
        if chosen[i] == NO_SIMILAR:
            weights = s.near_cumulative[nodes[i]]
            if weights[last] > 0.0:
                chosen[i] = s.near[nodes[i], draw_cumulative(weights, 0, last + 1, states[i])]
            elif s.near_share < 1.0:
                others[n_others] = i
                n_others += 1
    if n_others > 0:
        _draw_others(s, nodes, states, others, n_others, chosen)


@njit(cache=True)
def _draw_others(s: Any, nodes: Any, states: Any, places: Any, n: int, chosen: Any) -> None:
    """See `sample_similar`: draw by the attributes that are not vectors."""
    size = s.table.shape[0]
    lists = s.listed.shape[0] > 0
    for a in range(n):
        i = places[a]
        row = nodes[i]
        chosen[i] = NO_SIMILAR
        if size > 0 and s.table[row, size - 1] > 0.0:
            chosen[i] = draw_cumulative(s.table[row], 0, size, states[i])
        elif lists and s.listed[row] and s.listed_from[row + 1] > s.listed_from[row]:
            first, last = s.listed_from[row], s.listed_from[row + 1]
            chosen[i] = s.listed_nodes[draw_cumulative(s.listed_cumulative, first, last, states[i])]
    if s.scalars.shape[0] > 0:
        _draw_by_rejection(s, nodes, states, places, n, chosen)
