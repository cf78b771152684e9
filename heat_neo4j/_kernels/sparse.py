"""Rows of sparse matrices: search in them, and their inner products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit

__all__ = [
    "first_at_least",
    "sparse_products",
]


@njit(cache=True)
def first_at_least(indices: NDArray[np.int32], low: int, high: int, column: int) -> int:
    """Return the first place in [low, high) whose index is at least `column`; `high` if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _advance(indices: NDArray[np.int32], place: int, end: int, column: int) -> int:
    """Return the first place from `place` on whose index is at least `column`, by steps that double."""
    step = 1
    while place + step < end and indices[place + step] < column:
        place += step
        step <<= 1
    found: int = first_at_least(indices, place, min(place + step, end), column)
    return found


@njit(cache=True)
def sparse_products(
    left_indptr: NDArray[np.int64],
    left_indices: NDArray[np.int32],
    left_values: NDArray[np.float64],
    right_indptr: NDArray[np.int64],
    right_indices: NDArray[np.int32],
    right_values: NDArray[np.float64],
    u: NDArray[np.int64],
    v: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return left[u[i]] . right[v[i]] for each i, added up by rising column.

    Parameters
    ----------
    left_indptr, left_indices, left_values, right_indptr, right_indices, right_values
        Two CSR arrays with as many columns, their indices sorted and different within a row. A short row
        against a long one takes time by the short one.
    u, v : int64 arrays of shape (m,)
        Rows of the one and of the other.
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
