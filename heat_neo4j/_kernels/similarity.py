"""Sampling v with probability proportional to max(cos(z_u, z_v), 0), v != u, z standard-scaled.

Scaled values are never stored. With e = x / std (zero where x is zero) and m = mean / std per column,
z = e - m, so a dot product of scaled rows is a sparse dot product of e plus per-node scalars::

    z_u . z_v = sum_both e_u e_v - cross_u - cross_v + mass - mass_u - mass_v

where, over the columns a node owns (stored entries), cross = sum (e - m) m and mass_u = sum m^2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from heat_neo4j._kernels.barrier import take
from heat_neo4j._kernels.intrinsics import prefetch
from heat_neo4j._kernels.random import alias_slots, draw_slot, mix, step, unit

__all__ = [
    "INVERSE_NORM",
    "NO_SIMILAR",
    "Similarity",
    "expect_similar",
    "feature_weights",
    "node_scalars",
    "owner_slots",
    "sample_similar",
    "table_rows",
]

NO_SIMILAR = -1
INVERSE_NORM, CROSS, CROSS_ABS, MASS, FREE = range(5)
_SCALARS = 5
_MAX_PROPOSALS = 2000  # after so many rejections one full scan is cheaper, and just as exact
_ROUNDING = 1e-12  # a difference of sums below this share of them is rounding, not weight


class Similarity(NamedTuple):
    """All that sampling needs; which arrays are filled depends on `use_table`.

    Attributes
    ----------
    use_table : bool
        Sample from `table`; otherwise by rejection under the feature envelope.
    table : float32 array of shape (N, N), or (0, 0)
        Cumulative similarities of each row, unnormalised; last entry 0 where nothing is similar.
    indptr, indices, values : CSR arrays
        e = x / std, one row per node.
    shift : float64 array of shape (F,)
        m = mean / std per column.
    scalars : float64 array of shape (N, 5)
        Of each node: `INVERSE_NORM`, 1 / |z_v|, 0 for a row of zeros; over its owned columns, `CROSS`, sum
        (e - m) m, `CROSS_ABS`, sum abs((e - m) m), and `MASS`, sum m^2; `FREE`, the part of `everything` that
        belongs to columns it does not own.
    total_mass : float
        sum of m^2 over all columns.
    owned_cumulative : float64 array of shape (nnz,)
        Envelope weight of each owned column, cumulative within its row.
    column_slots : uint64 array of shape (F,)
        Alias table over the envelope weights of columns, for a node that does not own them.
    col_indptr, col_nodes, col_slots : CSC arrays
        Owners of each column: first those above the mean, then the others; an alias table by abs(z) / norm
        over either part.
    col_split : int64 array of shape (F,)
        Where in the column the second part begins.
    col_sums : float64 array of shape (F, 2)
        Sums of abs(z) / norm over both parts.
    absent : float64 array of shape (F,)
        Sum of 1 / |z_v| over the nodes that do not own the column.
    node_slots : uint64 array of shape (N,)
        Alias table over 1 / |z_v|.
    near_nodes, near_cumulative : int32 and float64 arrays of shape (N, K), or (0, 0)
        If there are any, the only nodes that are drawn; their weights, cumulative, last entry 0 where there
        is none.
    none_found : int8 array of shape (N,)
        Set to 1 once a full scan has shown that nothing is similar to the node.
    """

    use_table: bool
    table: NDArray[np.float32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    shift: NDArray[np.float64]
    scalars: NDArray[np.float64]
    total_mass: float
    owned_cumulative: NDArray[np.float64]
    column_slots: NDArray[np.uint64]
    col_indptr: NDArray[np.int64]
    col_nodes: NDArray[np.int32]
    col_slots: NDArray[np.uint64]
    col_split: NDArray[np.int64]
    col_sums: NDArray[np.float64]
    absent: NDArray[np.float64]
    node_slots: NDArray[np.uint64]
    near_nodes: NDArray[np.int32]
    near_cumulative: NDArray[np.float64]
    none_found: NDArray[np.int8]


@njit(cache=True, error_model="numpy")
def node_scalars(indptr: Any, indices: Any, values: Any, shift: Any) -> Any:
    """Return `Similarity.scalars`, all but `FREE` filled in."""
    n = indptr.shape[0] - 1
    total = 0.0
    for f in range(shift.shape[0]):
        total += shift[f] * shift[f]
    scalars = np.zeros((n, _SCALARS))
    for u in range(n):
        square = 0.0
        for k in range(indptr[u], indptr[u + 1]):
            m = shift[indices[k]]
            z = values[k] - m
            square += z * z
            scalars[u, CROSS] += z * m
            scalars[u, CROSS_ABS] += abs(z * m)
            scalars[u, MASS] += m * m
        square += max(total - scalars[u, MASS], 0.0)
        if square > 0.0:
            scalars[u, INVERSE_NORM] = 1.0 / np.sqrt(square)
    return scalars


@njit(cache=True, nogil=True)
def table_rows(
    indptr: Any, indices: Any, values: Any, scalars: Any, total_mass: float, columns: int, table: Any,
    barrier: Any, thread: int, n_threads: int,
) -> None:  # fmt: skip
    """Fill the (N, N) float32 table of cumulative max(cos, 0), zero diagonal. Run by a team."""
    n = indptr.shape[0] - 1
    dense = np.zeros(columns)
    u = take(barrier)
    while u < n:
        for k in range(indptr[u], indptr[u + 1]):
            dense[indices[k]] = values[k]
        running = 0.0
        for v in range(n):
            dot = total_mass - scalars[u, MASS] - scalars[v, MASS] - scalars[u, CROSS] - scalars[v, CROSS]
            for k in range(indptr[v], indptr[v + 1]):
                dot += dense[indices[k]] * values[k]
            if dot > 0.0 and v != u:
                running += dot * scalars[u, INVERSE_NORM] * scalars[v, INVERSE_NORM]
            table[u, v] = running
        for k in range(indptr[u], indptr[u + 1]):
            dense[indices[k]] = 0.0
        u = take(barrier)


@njit(cache=True)
def owner_slots(col_indptr: Any, col_nodes: Any, col_values: Any, shift: Any, inverse_norm: Any) -> Any:
    """Sort each column's owners, those above the mean first, and make alias tables over both parts.

    Returns
    -------
    nodes, slots, split, sums, absent
        As in `Similarity`: col_nodes, col_slots, col_split, col_sums, absent.
    """
    columns = shift.shape[0]
    nodes = np.empty_like(col_nodes)
    weights = np.empty(col_nodes.shape[0])
    slots = np.empty(col_nodes.shape[0], dtype=np.uint64)
    split = np.empty(columns, dtype=np.int64)
    sums = np.zeros((columns, 2))
    absent = np.empty(columns)
    everywhere = inverse_norm.sum()
    for f in range(columns):
        at = col_indptr[f]
        owners = 0.0
        for part in range(2):
            begin = at
            for k in range(col_indptr[f], col_indptr[f + 1]):
                z = col_values[k] - shift[f]
                if (z > 0.0) == (part == 0):
                    node = col_nodes[k]
                    owners += inverse_norm[node]
                    nodes[at] = node
                    weights[at] = abs(z) * inverse_norm[node]
                    sums[f, part] += weights[at]
                    at += 1
            if sums[f, part] > 0.0:
                made = alias_slots(weights[begin:at])
                for i in range(at - begin):  # assigning to a slice takes seconds to compile
                    slots[begin + i] = made[i]
            if part == 0:
                split[f] = at
        absent[f] = everywhere - owners
        if absent[f] < _ROUNDING * everywhere:
            absent[f] = 0.0
    return nodes, slots, split, sums, absent


@njit(cache=True)
def feature_weights(
    indptr: Any, indices: Any, values: Any, shift: Any, sums: Any, absent: Any, scalars: Any
) -> Any:
    """Return (owned_cumulative, weight of each column for a node that does not own it); fill in `FREE`."""
    columns = shift.shape[0]
    above, under = sums[:, 0].copy(), sums[:, 1].copy()  # over all nodes, of the two signs of z / norm
    weights = np.empty(columns)
    for f in range(columns):
        if shift[f] > 0.0:
            under[f] += shift[f] * absent[f]
            weights[f] = shift[f] * under[f]
        else:
            above[f] -= shift[f] * absent[f]
            weights[f] = -shift[f] * above[f]
    everything = weights.sum()
    owned = np.empty(indices.shape[0])
    for u in range(indptr.shape[0] - 1):
        running = 0.0
        free = everything
        for k in range(indptr[u], indptr[u + 1]):
            f = indices[k]
            z = values[k] - shift[f]
            running += z * above[f] if z > 0.0 else -z * under[f]
            owned[k] = running
            free -= weights[f]
        if free < _ROUNDING * everything or indptr[u + 1] - indptr[u] == columns:
            free = 0.0
        scalars[u, FREE] = free
    return owned, weights


@njit(cache=True, inline="always")
def _search(cumulative: Any, first: int, last: int, target: float) -> int:
    """Return the first k in [first, last) with cumulative[k] > target, or last - 1."""
    low, high = first, last - 1
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, inline="always")
def _owns(indptr: Any, indices: Any, node: int, column: int) -> bool:
    low, high = indptr[node], indptr[node + 1]
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low < indptr[node + 1] and indices[low] == column


@njit(cache=True, inline="always")
def _dot_and_envelope(s: Any, u: int, v: int) -> tuple[float, float]:
    """Return (z_u . z_v, sum of its positive terms), both without the norms."""
    both = 0.0
    both_abs = 0.0
    i, i_end = s.indptr[u], s.indptr[u + 1]
    j, j_end = s.indptr[v], s.indptr[v + 1]
    while i < i_end and j < j_end:
        a, b = s.indices[i], s.indices[j]
        if a == b:
            m = s.shift[a]
            both += s.values[i] * s.values[j]
            both_abs += (abs(s.values[i] - m) - abs(m)) * (abs(s.values[j] - m) - abs(m))
            i += 1
            j += 1
        elif a < b:
            i += 1
        else:
            j += 1
    one, other = s.scalars[u], s.scalars[v]
    rest = s.total_mass - one[MASS] - other[MASS]
    dot = both - one[CROSS] - other[CROSS] + rest
    absolute = both_abs + one[CROSS_ABS] + other[CROSS_ABS] + rest
    return dot, 0.5 * (dot + absolute)


@njit(cache=True, inline="always")
def _propose(s: Any, u: int, state: np.uint64) -> tuple[Any, Any]:
    """Draw v under the feature envelope of u: first a column and a sign, then a node."""
    first, last = s.indptr[u], s.indptr[u + 1]
    owned = s.owned_cumulative[last - 1] if last > first else 0.0
    state = step(state)
    target = unit(state) * (owned + s.scalars[u, FREE])
    if target < owned:
        k = _search(s.owned_cumulative, first, last, target)
        f = np.int64(s.indices[k])
        positive = s.values[k] > s.shift[f]
    else:
        state = step(state)
        f = draw_slot(s.column_slots, 0, s.column_slots.shape[0], state)
        while _owns(s.indptr, s.indices, u, f):
            state = step(state)
            f = draw_slot(s.column_slots, 0, s.column_slots.shape[0], state)
        positive = s.shift[f] < 0.0
    if positive:
        begin, end, owners = s.col_indptr[f], s.col_split[f], s.col_sums[f, 0]
    else:
        begin, end, owners = s.col_split[f], s.col_indptr[f + 1], s.col_sums[f, 1]
    others = abs(s.shift[f]) * s.absent[f] if positive == (s.shift[f] < 0.0) else 0.0
    state = step(state)
    target = unit(state) * (owners + others)
    state = step(state)
    if target < owners:
        return state, np.int64(s.col_nodes[begin + draw_slot(s.col_slots, begin, end - begin, state)])
    v = draw_slot(s.node_slots, 0, s.node_slots.shape[0], state)
    while _owns(s.indptr, s.indices, v, f):
        state = step(state)
        v = draw_slot(s.node_slots, 0, s.node_slots.shape[0], state)
    return state, v


@njit(cache=True)
def _scan(s: Any, u: int, state: np.uint64) -> int:
    """Draw v exactly in one pass over all nodes (weighted reservoir), or NO_SIMILAR."""
    chosen = NO_SIMILAR
    running = 0.0
    for v in range(s.scalars.shape[0]):
        if v == u or s.scalars[v, INVERSE_NORM] == 0.0:
            continue
        dot = _dot_and_envelope(s, u, v)[0]
        if dot > 0.0:
            weight = dot * s.scalars[v, INVERSE_NORM]
            running += weight
            state = step(state)
            if unit(state) * running < weight:
                chosen = v
    return chosen


@njit(cache=True)
def _draw_by_rejection(s: Any, nodes: Any, states: Any, asking: Any, n: int, chosen: Any) -> None:
    """See `sample_similar`. All propose before any is judged: their memory is fetched meanwhile."""
    state = np.empty(n, dtype=np.uint64)
    proposed = np.empty(n, dtype=np.int64)
    pending = np.empty(n, dtype=np.int64)
    waiting = 0
    for a in range(n):
        i = asking[a]
        u = nodes[i]
        chosen[i] = NO_SIMILAR
        if s.scalars[u, INVERSE_NORM] > 0.0 and s.none_found[u] == 0:
            state[waiting] = mix(states[i])
            pending[waiting] = i
            waiting += 1
    for _ in range(_MAX_PROPOSALS):
        if waiting == 0:
            return
        for w in range(waiting):
            state[w], proposed[w] = _propose(s, nodes[pending[w]], state[w])
            prefetch(s.indptr, proposed[w])
            prefetch(s.scalars, proposed[w])
        for w in range(waiting):
            begin = s.indptr[proposed[w]]
            prefetch(s.indices, begin)
            prefetch(s.values, begin)
        left = 0
        for w in range(waiting):
            u, v = nodes[pending[w]], proposed[w]
            moved = state[w]
            if v != u:
                dot, envelope = _dot_and_envelope(s, u, v)
                moved = step(moved)
                if dot > 0.0 and unit(moved) * envelope < dot:
                    chosen[pending[w]] = v
                    continue
            state[left], pending[left] = moved, pending[w]
            left += 1
        waiting = left
    for w in range(waiting):
        u = nodes[pending[w]]
        chosen[pending[w]] = _scan(s, u, state[w])
        if chosen[pending[w]] == NO_SIMILAR:
            s.none_found[u] = 1


@njit(cache=True)
def expect_similar(s: Any, u: int) -> None:
    """Fetch what `sample_similar` will want to know of a node."""
    if not s.use_table and s.scalars.shape[0] > 0:
        prefetch(s.indptr, u)
        prefetch(s.scalars, u)


@njit(cache=True)
def sample_similar(s: Any, nodes: Any, states: Any, asking: Any, n: int, chosen: Any) -> None:
    """Draw a similar node for some nodes at once; each a pure function of the graph, node and state.

    Parameters
    ----------
    s : Similarity
        The law Y.
    nodes, states : int64 array, uint64 array
        Nodes u, and the state of a stream for each.
    asking : int64 array
        Its first `n` entries are the places in `nodes` that ask.
    n : int
        See `asking`.
    chosen : int64 array
        Receives, at those places, a node drawn from Y_u, or NO_SIMILAR.
    """
    if not s.use_table and s.scalars.shape[0] > 0:
        _draw_by_rejection(s, nodes, states, asking, n, chosen)
        return
    size = s.table.shape[0]
    near = s.near_nodes.shape[1]
    for a in range(n):
        i = asking[a]
        row = nodes[i]
        chosen[i] = NO_SIMILAR
        if near > 0 and s.near_cumulative[row, near - 1] > 0.0:
            target = unit(states[i]) * s.near_cumulative[row, near - 1]
            chosen[i] = s.near_nodes[row, _search(s.near_cumulative[row], 0, near, target)]
        if size > 0 and s.table[row, size - 1] > 0.0:
            chosen[i] = _search(s.table[row], 0, size, unit(states[i]) * s.table[row, size - 1])
