"""Rows of sparse matrices: search in them, and their inner products."""

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit

__all__ = ["first_at_least", "sparse_products"]

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
