"""Search in rows of sparse matrices, and products of rows.

SciPy's products differ in the last digits on platforms whose compiler fuses multiply-add, such as ARM.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit

Places = NDArray[np.int64]
Columns = NDArray[np.int32]
Values = NDArray[np.float64]

_LONGER = 8  # length ratio of two rows from which searching is faster than scattering


@njit(cache=True)
def first_at_least(indices: Columns, low: int, high: int, column: int) -> int:
    """Return the first position in [low, high) whose index is at least `column`; `high` if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def has_entry(indptr: Any, indices: Columns, row: int, column: int) -> bool:
    """Return whether a row of a CSR matrix with sorted indices has an entry in a column."""
    place = first_at_least(indices, indptr[row], indptr[row + 1], column)
    return bool(place < indptr[row + 1] and indices[place] == column)


@njit(cache=True)
def advance(indices: Columns, place: int, end: int, column: int) -> int:
    """Return the first position from `place` on whose index is at least `column`, by galloping search."""
    step = 1
    while place + step < end and indices[place + step] < column:
        place += step
        step <<= 1
    return int(first_at_least(indices, place, min(place + step, end), column))


@njit(cache=True)
def dense_products(indptr: Any, indices: Any, values: Values, dense: Any) -> Any:
    """Return a CSR array times a dense array, shape (M, D), summed in the order of entries.

    The result has the type of the dense array, float64 or float32.
    """
    products = np.zeros((indptr.shape[0] - 1, dense.shape[1]), dtype=dense.dtype)
    for u in range(products.shape[0]):
        for k in range(indptr[u], indptr[u + 1]):
            for i in range(products.shape[1]):
                products[u, i] += values[k] * dense[indices[k], i]
    return products


@njit(cache=True, nogil=True)
def largest_of_columns(indices: Any, values: Values, n_columns: int) -> Values:
    """Return the largest magnitude in each column of a CSR array, shape (K,)."""
    largest = np.zeros(n_columns)
    for k in range(indices.shape[0]):
        largest[indices[k]] = max(largest[indices[k]], abs(values[k]))
    return largest


@njit(cache=True, nogil=True)
def largest_products(indptr: Any, indices: Any, values: Values, largest: Values) -> Values:
    """Return bounds of a CSR array's products with vectors of at most the magnitudes `largest`, (M,)."""
    products = np.zeros(indptr.shape[0] - 1)
    for u in range(products.shape[0]):
        for k in range(indptr[u], indptr[u + 1]):
            products[u] += abs(values[k]) * largest[indices[k]]
    return products


@njit(cache=True, nogil=True)
def sparse_products(
    left_indptr: Places, left_indices: Columns, left_values: Values, right_indptr: Places,
    right_indices: Columns, right_values: Values, hub_of: Columns, hubs: Any, u: Places, v: Places,
) -> Values:  # fmt: skip
    """Return left[u[i]] . right[v[i]] for each i, shape (m,), summed in ascending column order.

    Both CSR arrays have the same number of columns; indices are strictly increasing within a row. Consecutive
    pairs with the same u scatter its row only once. If hub_of[v] >= 0, row v of `right` is a hub, stored as
    that dense row of `hubs`, (H, K). With a far longer row, the time depends on the shorter one.
    """
    products, row = np.empty(u.shape[0]), np.zeros(hubs.shape[1])
    spread = -1
    for i in range(u.shape[0]):
        a, a_end = left_indptr[u[i]], left_indptr[u[i] + 1]
        if a == a_end:
            products[i] = 0.0
            continue
        b, b_end = right_indptr[v[i]], right_indptr[v[i] + 1]
        if hub_of[v[i]] >= 0:
            products[i] = _spread_product(left_indices, left_values, a, a_end, hubs[hub_of[v[i]]])
            continue
        if b_end - b > _LONGER * (a_end - a):
            total = 0.0
            while a < a_end and b < b_end:
                b = advance(right_indices, b, b_end, left_indices[a])
                if b < b_end and right_indices[b] == left_indices[a]:
                    total += left_values[a] * right_values[b]
                a += 1
            products[i] = total
            continue
        if u[i] != spread:
            if spread >= 0:
                for k in range(left_indptr[spread], left_indptr[spread + 1]):
                    row[left_indices[k]] = 0.0
            for k in range(a, a_end):
                row[left_indices[k]] = left_values[k]
            spread = u[i]
        products[i] = _spread_product(right_indices, right_values, b, b_end, row)
    return products


@njit(cache=True, nogil=True)
def _spread_product(indices: Columns, values: Values, begin: int, end: int, row: Values) -> float:
    total = 0.0
    for k in range(begin, end):
        total += values[k] * row[indices[k]]
    return total


@njit(cache=True, nogil=True)
def path_products(
    left_indptr: Places, left_indices: Columns, left_values: Values, middle_indptr: Places,
    middle_indices: Columns, middle_values: Values, right_indptr: Places, right_indices: Columns,
    right_values: Values, hub_of: Columns, hubs: Any, middle_hub_of: Columns, middle_hubs: Any, u: Places,
    v: Places,
) -> Values:  # fmt: skip
    """Return (left @ middle)[u[i]] . right[v[i]] for each i, shape (m,), summed in the order of entries.

    If `u` is sorted, each row of left @ middle is computed once. If hub_of[v] >= 0, row v of `right` is a
    hub: that row of `hubs` is middle @ right[v]. If middle_hub_of[a] >= 0, row a of `middle` is a hub: that
    column of `middle_hubs`, (N, H), holds its products with all rows of `right`.
    """
    products, row = np.empty(u.shape[0]), np.zeros(right_indices.max() + 1 if len(right_indices) else 0)
    filled, n_filled = np.empty(row.shape[0], np.int32), 0
    is_filled, n_hubs = np.zeros(row.shape[0], np.bool_), 0
    place, weight = np.empty(middle_hubs.shape[1], np.int32), np.empty(middle_hubs.shape[1])
    made = -1
    for i in range(u.shape[0]):
        a, a_end = left_indptr[u[i]], left_indptr[u[i] + 1]
        if a == a_end:
            products[i] = 0.0
            continue
        if hub_of[v[i]] >= 0:
            products[i] = _spread_product(left_indices, left_values, a, a_end, hubs[hub_of[v[i]]])
            continue
        if u[i] != made:
            made = u[i]
            for k in range(n_filled):
                row[filled[k]], is_filled[filled[k]] = 0.0, False
            n_filled = n_hubs = 0
            for k in range(a, a_end):
                through = left_indices[k]
                if middle_hub_of[through] >= 0:
                    place[n_hubs], weight[n_hubs] = middle_hub_of[through], left_values[k]
                    n_hubs += 1
                    continue
                for b in range(middle_indptr[through], middle_indptr[through + 1]):
                    column = middle_indices[b]
                    if column >= row.shape[0]:  # not in `right`
                        continue
                    if not is_filled[column]:
                        is_filled[column] = True
                        filled[n_filled] = column
                        n_filled += 1
                    row[column] += left_values[k] * middle_values[b]
        total = _spread_product(right_indices, right_values, right_indptr[v[i]], right_indptr[v[i] + 1], row)
        for k in range(n_hubs):
            total += weight[k] * middle_hubs[v[i], place[k]]
        products[i] = total
    return products
