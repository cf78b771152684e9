"""Rows of sparse matrices: search in them, and their products.

SciPy's own end in other digits where its compiler has fused multiplications and additions, as for ARM.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit

__all__ = ["dense_products", "first_at_least", "path_products", "sparse_products"]

Places = NDArray[np.int64]
Columns = NDArray[np.int32]
Values = NDArray[np.float64]


@njit(cache=True)
def first_at_least(indices: Columns, low: int, high: int, column: int) -> int:
    """Return the first place in [low, high) whose index is at least `column`; `high` if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _advance(indices: Columns, place: int, end: int, column: int) -> int:
    """Return the first place from `place` on whose index is at least `column`, by steps that double."""
    step = 1
    while place + step < end and indices[place + step] < column:
        place += step
        step <<= 1
    return int(first_at_least(indices, place, min(place + step, end), column))


@njit(cache=True)
def dense_products(indptr: Any, indices: Any, values: Values, dense: Any) -> Any:
    """Return a CSR array times a dense one, shape (M, D), each row added up by the order of entries.

    It has the type of the dense one, float64 or float32.
    """
    products = np.zeros((indptr.shape[0] - 1, dense.shape[1]), dtype=dense.dtype)
    for u in range(products.shape[0]):
        for k in range(indptr[u], indptr[u + 1]):
            for i in range(products.shape[1]):
                products[u, i] += values[k] * dense[indices[k], i]
    return products


@njit(cache=True)
def sparse_products(
    left_indptr: Places, left_indices: Columns, left_values: Values, right_indptr: Places,
    right_indices: Columns, right_values: Values, u: Places, v: Places,
) -> Values:  # fmt: skip
    """Return left[u[i]] . right[v[i]] for each i, shape (m,), added up by rising column.

    Both CSR arrays have as many columns, their indices sorted and different within a row. A short row against
    a long one takes time by the short one.
    """
    products = np.empty(u.shape[0])
    for i in range(u.shape[0]):
        a, a_end = left_indptr[u[i]], left_indptr[u[i] + 1]
        b, b_end = right_indptr[v[i]], right_indptr[v[i] + 1]
        total = 0.0
        while a < a_end and b < b_end:
            if left_indices[a] < right_indices[b]:
                a = _advance(left_indices, a, a_end, right_indices[b])
            elif left_indices[a] > right_indices[b]:
                b = _advance(right_indices, b, b_end, left_indices[a])
            else:
                total += left_values[a] * right_values[b]
                a += 1
                b += 1
        products[i] = total
    return products


@njit(cache=True)
def path_products(
    left_indptr: Places, left_indices: Columns, left_values: Values, middle_indptr: Places,
    middle_indices: Columns, middle_values: Values, right_indptr: Places, right_indices: Columns,
    right_values: Values, n_columns: int, u: Places, v: Places,
) -> Values:  # fmt: skip
    """Return (left @ middle)[u[i]] . right[v[i]] for each i, shape (m,), added up by the order of entries.

    `middle` and `right` have `n_columns` columns. A row of the product is made once if `u` is sorted.
    """
    products, row = np.empty(u.shape[0]), np.zeros(n_columns)
    filled, is_filled, n_filled = np.empty(n_columns, np.int32), np.zeros(n_columns, np.bool_), 0
    for i in range(u.shape[0]):
        if i == 0 or u[i] != u[i - 1]:
            for place in range(n_filled):
                row[filled[place]], is_filled[filled[place]] = 0.0, False
            n_filled = 0
            for a in range(left_indptr[u[i]], left_indptr[u[i] + 1]):
                through = left_indices[a]
                for b in range(middle_indptr[through], middle_indptr[through + 1]):
                    column = middle_indices[b]
                    if not is_filled[column]:
                        is_filled[column] = True
                        filled[n_filled] = column
                        n_filled += 1
                    row[column] += left_values[a] * middle_values[b]
        total = 0.0
        for b in range(right_indptr[v[i]], right_indptr[v[i] + 1]):
            total += row[right_indices[b]] * right_values[b]
        products[i] = total
    return products
