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
from heat_neo4j._kernels.random import mix, step, unit

__all__ = [
    "NO_SIMILAR",
    "Similarity",
    "feature_cumulative",
    "feature_sums",
    "node_scalars",
    "owner_cumulative",
    "sample_similar",
    "table_rows",
]

NO_SIMILAR = -1
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
    inverse_norm : float64 array of shape (N,)
        1 / |z_v|, 0 for a row of zeros.
    cross, cross_abs, mass : float64 arrays of shape (N,)
        Per node, over its owned columns: sum (e - m) m, sum abs((e - m) m), sum m^2.
    total_mass : float
        sum of m^2 over all columns.
    owned_cumulative : float64 array of shape (nnz,)
        Envelope weight of each owned column, cumulative within its row.
    global_cumulative : float64 array of shape (F,)
        Envelope weight of each column for a node that does not own it (to be scaled by the node), cumulative.
    global_owned : float64 array of shape (N,)
        Part of the last entry of `global_cumulative` that belongs to columns the node owns.
    col_indptr, col_nodes, col_cumulative : CSC arrays
        Owners of each column: first those above the mean, then the others; cumulative abs(z) / norm.
    col_split : int64 array of shape (F,)
        Where in the column the second part begins.
    absent : float64 array of shape (F,)
        Sum of 1 / |z_v| over the nodes that do not own the column.
    node_cumulative : float64 array of shape (N,)
        Cumulative 1 / |z_v|.
    none_found : int8 array of shape (N,)
        Set to 1 once a full scan has shown that nothing is similar to the node.
    """

    use_table: bool
    table: NDArray[np.float32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    shift: NDArray[np.float64]
    inverse_norm: NDArray[np.float64]
    cross: NDArray[np.float64]
    cross_abs: NDArray[np.float64]
    mass: NDArray[np.float64]
    total_mass: float
    owned_cumulative: NDArray[np.float64]
    global_cumulative: NDArray[np.float64]
    global_owned: NDArray[np.float64]
    col_indptr: NDArray[np.int64]
    col_nodes: NDArray[np.int32]
    col_cumulative: NDArray[np.float64]
    col_split: NDArray[np.int64]
    absent: NDArray[np.float64]
    node_cumulative: NDArray[np.float64]
    none_found: NDArray[np.int8]


@njit(cache=True)
def node_scalars(indptr: Any, indices: Any, values: Any, shift: Any) -> Any:
    """Return (inverse_norm, cross, cross_abs, mass), each of shape (N,)."""
    n = indptr.shape[0] - 1
    total = 0.0
    for f in range(shift.shape[0]):
        total += shift[f] * shift[f]
    inverse_norm = np.zeros(n)
    cross = np.zeros(n)
    cross_abs = np.zeros(n)
    mass = np.zeros(n)
    for u in range(n):
        square = 0.0
        for k in range(indptr[u], indptr[u + 1]):
            m = shift[indices[k]]
            z = values[k] - m
            square += z * z
            cross[u] += z * m
            cross_abs[u] += abs(z * m)
            mass[u] += m * m
        square += max(total - mass[u], 0.0)
        if square > 0.0:
            inverse_norm[u] = 1.0 / np.sqrt(square)
    return inverse_norm, cross, cross_abs, mass


@njit(cache=True, nogil=True)
def table_rows(
    indptr: Any, indices: Any, values: Any, inverse_norm: Any, cross: Any, mass: Any, total_mass: float,
    columns: int, table: Any, barrier: Any, thread: int, n_threads: int,
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
            dot = total_mass - mass[u] - mass[v] - cross[u] - cross[v]
            for k in range(indptr[v], indptr[v + 1]):
                dot += dense[indices[k]] * values[k]
            if dot > 0.0 and v != u:
                running += dot * inverse_norm[u] * inverse_norm[v]
            table[u, v] = running
        for k in range(indptr[u], indptr[u + 1]):
            dense[indices[k]] = 0.0
        u = take(barrier)


@njit(cache=True)
def owner_cumulative(col_indptr: Any, col_nodes: Any, col_values: Any, shift: Any, inverse_norm: Any) -> Any:
    """Sort each column's owners (above the mean first) and return their cumulative abs(z) / norm.

    Returns
    -------
    nodes, cumulative, split, absent
        As in `Similarity`: col_nodes, col_cumulative, col_split, absent.
    """
    columns = shift.shape[0]
    nodes = np.empty_like(col_nodes)
    cumulative = np.empty(col_nodes.shape[0])
    split = np.empty(columns, dtype=np.int64)
    absent = np.empty(columns)
    everywhere = inverse_norm.sum()
    for f in range(columns):
        at = col_indptr[f]
        running = 0.0
        owners = 0.0
        for sign in range(2):
            for k in range(col_indptr[f], col_indptr[f + 1]):
                z = col_values[k] - shift[f]
                if (z > 0.0) == (sign == 0):
                    node = col_nodes[k]
                    running += abs(z) * inverse_norm[node]
                    owners += inverse_norm[node]
                    nodes[at] = node
                    cumulative[at] = running
                    at += 1
            if sign == 0:
                split[f] = at
        absent[f] = everywhere - owners
        if absent[f] < _ROUNDING * everywhere:
            absent[f] = 0.0
    return nodes, cumulative, split, absent


@njit(cache=True)
def feature_sums(col_indptr: Any, cumulative: Any, split: Any, absent: Any, shift: Any) -> Any:
    """Return (above, under): per column, the sums over nodes of the two parts (z > 0, z < 0) of z / norm."""
    columns = shift.shape[0]
    above = np.zeros(columns)
    under = np.zeros(columns)
    for f in range(columns):
        first, middle, last = col_indptr[f], split[f], col_indptr[f + 1]
        if middle > first:
            above[f] = cumulative[middle - 1]
        if last > middle:
            under[f] = cumulative[last - 1] - above[f]
        if shift[f] > 0.0:
            under[f] += shift[f] * absent[f]
        else:
            above[f] -= shift[f] * absent[f]
    return above, under


@njit(cache=True)
def feature_cumulative(indptr: Any, indices: Any, values: Any, shift: Any, above: Any, under: Any) -> Any:
    """Return (owned_cumulative, global_cumulative, global_owned) as in `Similarity`."""
    columns = shift.shape[0]
    weights = np.empty(columns)
    for f in range(columns):
        weights[f] = shift[f] * under[f] if shift[f] > 0.0 else -shift[f] * above[f]
    n = indptr.shape[0] - 1
    owned = np.empty(indices.shape[0])
    global_owned = np.zeros(n)
    for u in range(n):
        running = 0.0
        for k in range(indptr[u], indptr[u + 1]):
            f = indices[k]
            z = values[k] - shift[f]
            running += z * above[f] if z > 0.0 else -z * under[f]
            owned[k] = running
            global_owned[u] += weights[f]
    return owned, np.cumsum(weights), global_owned


@njit(cache=True)
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


@njit(cache=True)
def _owns(indptr: Any, indices: Any, node: int, column: int) -> bool:
    low, high = indptr[node], indptr[node + 1]
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low < indptr[node + 1] and indices[low] == column


@njit(cache=True)
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
    rest = s.total_mass - s.mass[u] - s.mass[v]
    dot = both - s.cross[u] - s.cross[v] + rest
    absolute = both_abs + s.cross_abs[u] + s.cross_abs[v] + rest
    return dot, 0.5 * (dot + absolute)


@njit(cache=True)
def _propose(s: Any, u: int, state: np.uint64) -> tuple[np.uint64, int]:
    """Draw v under the feature envelope of u: first a column and a sign, then a node."""
    first, last = s.indptr[u], s.indptr[u + 1]
    columns = s.shift.shape[0]
    owned = s.owned_cumulative[last - 1] if last > first else 0.0
    everything = s.global_cumulative[columns - 1]
    free = everything - s.global_owned[u]
    if free < _ROUNDING * everything or last - first == columns:
        free = 0.0
    state = step(state)
    target = unit(state) * (owned + free)
    if target < owned:
        k = _search(s.owned_cumulative, first, last, target)
        f = s.indices[k]
        positive = s.values[k] > s.shift[f]
    else:
        f = columns
        while f == columns or _owns(s.indptr, s.indices, u, f):
            state = step(state)
            f = _search(s.global_cumulative, 0, columns, unit(state) * everything)
        positive = s.shift[f] < 0.0
    begin, end = (s.col_indptr[f], s.col_split[f]) if positive else (s.col_split[f], s.col_indptr[f + 1])
    base = s.col_cumulative[begin - 1] if begin > s.col_indptr[f] else 0.0
    owners = s.col_cumulative[end - 1] - base if end > begin else 0.0
    others = abs(s.shift[f]) * s.absent[f] if positive == (s.shift[f] < 0.0) else 0.0
    state = step(state)
    target = unit(state) * (owners + others)
    if target < owners:
        return state, s.col_nodes[_search(s.col_cumulative, begin, end, base + target)]
    n = s.node_cumulative.shape[0]
    v = n
    while v == n or _owns(s.indptr, s.indices, v, f):
        state = step(state)
        v = _search(s.node_cumulative, 0, n, unit(state) * s.node_cumulative[n - 1])
    return state, v


@njit(cache=True)
def _scan(s: Any, u: int, state: np.uint64) -> int:
    """Draw v exactly in one pass over all nodes (weighted reservoir), or NO_SIMILAR."""
    chosen = NO_SIMILAR
    running = 0.0
    for v in range(s.inverse_norm.shape[0]):
        if v == u or s.inverse_norm[v] == 0.0:
            continue
        dot = _dot_and_envelope(s, u, v)[0]
        if dot > 0.0:
            weight = dot * s.inverse_norm[v]
            running += weight
            state = step(state)
            if unit(state) * running < weight:
                chosen = v
    return chosen


@njit(cache=True)
def sample_similar(s: Any, u: int, state: np.uint64) -> int:
    """Return a node drawn from Y_u, or NO_SIMILAR; a pure function of the graph, `u` and `state`."""
    if s.use_table:
        n = s.table.shape[0]
        total = s.table[u, n - 1]
        if total <= 0.0:
            return NO_SIMILAR
        return _search(s.table[u], 0, n, unit(state) * total)
    if s.inverse_norm.shape[0] == 0 or s.inverse_norm[u] == 0.0 or s.none_found[u] == 1:
        return NO_SIMILAR
    state = mix(state)
    for _ in range(_MAX_PROPOSALS):
        state, v = _propose(s, u, state)
        if v == u:
            continue
        dot, envelope = _dot_and_envelope(s, u, v)
        state = step(state)
        if dot > 0.0 and unit(state) * envelope < dot:
            return v
    chosen = _scan(s, u, state)
    if chosen == NO_SIMILAR:
        s.none_found[u] = 1
    return chosen
