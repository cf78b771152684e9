"""Rows of dense matrices: inner products, unit length, centring, projection and whitening.

Sums run in the order of columns. The inner loops run over rows, so unlike BLAS the sums are bitwise the same
for any vector width, any number of threads and any blocks of rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import mix, stream

Rows = NDArray[np.float32]
Places = NDArray[np.int64]

_KEY = np.uint64(0x9D39247E33776D41)
_ROWS = 16  # rows that share a pass over the signs
_ONE = np.uint64(1)
_PANEL = 128  # rows of the second matrix per panel
_DEPTH = 128  # columns per panel, a multiple of 4; a panel fits the L2 cache


@njit(cache=True, nogil=True)
def pair_products(first: Any, second: Any, u: Places, v: Places) -> Any:
    """Return first[u[i]] . second[v[i]] for each i, shape (m,), in their type; 0 if an index is negative."""
    products = np.zeros(u.shape[0], dtype=first.dtype)
    for i in range(u.shape[0]):
        if u[i] < 0 or v[i] < 0:
            continue
        total = products[i]  # 0 of the right type
        for column in range(first.shape[1]):
            total += first[u[i], column] * second[v[i], column]
        products[i] = total
    return products


@njit(cache=True, nogil=True)
def all_products(first: Rows, second: Rows, u: Places, v: Places) -> Rows:
    """Return first[u[i]] . second[v[j]] for all i and j, shape (m, n); 0 if an index is negative."""
    products = np.zeros((u.shape[0], v.shape[0]), dtype=np.float32)
    panel = np.zeros((_DEPTH, _PANEL), dtype=np.float32)
    left = np.zeros(_DEPTH, dtype=np.float32)
    for begin in range(0, v.shape[0], _PANEL):
        width = min(_PANEL, v.shape[0] - begin)
        for low in range(0, first.shape[1], _DEPTH):
            depth = min(_DEPTH, first.shape[1] - low)
            panel[:] = np.float32(0.0)
            left[:] = np.float32(0.0)
            for j in range(width):
                if v[begin + j] >= 0:
                    for column in range(depth):
                        panel[column, j] = second[v[begin + j], low + column]
            for i in range(u.shape[0]):
                if u[i] < 0:
                    continue
                for column in range(depth):
                    left[column] = first[u[i], low + column]
                _add_products(left, panel, depth, products[i, begin : begin + width])
    return products


@njit(cache=True, nogil=True)
def _add_products(left: Any, panel: Any, depth: int, total: Any) -> None:
    """Add left @ panel to the sums of a row, four columns at a time, in column order."""
    for column in range(0, depth, 4):
        a, b, c, e = left[column], left[column + 1], left[column + 2], left[column + 3]
        for j in range(total.shape[0]):
            total[j] = (
                ((total[j] + a * panel[column, j]) + b * panel[column + 1, j]) + c * panel[column + 2, j]
            ) + e * panel[column + 3, j]


@njit(cache=True)
def random_signs(rows: int, columns: int) -> Any:
    """Return a matrix of random signs, -1 or 1, float32; each is a pure function of its row and column."""
    signs = np.empty((rows, columns), dtype=np.float32)
    for i in range(rows):
        state = stream(_KEY, i)
        for j in range(columns):
            signs[i, j] = 1.0 if mix(state + np.uint64(j)) & _ONE else -1.0
    return signs


@njit(cache=True, nogil=True)
def make_unit(rows: Any) -> None:
    """Scale each row to length 1 in place; rows of zeros stay as they are."""
    for i in range(rows.shape[0]):
        square = 0.0
        for column in range(rows.shape[1]):
            square += np.float64(rows[i, column]) * np.float64(rows[i, column])
        if square > 0.0:
            scale = 1.0 / np.sqrt(square)
            for column in range(rows.shape[1]):
                rows[i, column] = np.float32(rows[i, column] * scale)


@njit(cache=True, nogil=True)
def project(rows: Any, signs: Any) -> Any:
    """Return ``rows @ signs``, float32; rows are float32 and of unit length, so sums cannot overflow.

    D. Achlioptas, "Database-friendly random projections" (JCSS 2003).
    """
    n, wide, narrow = rows.shape[0], signs.shape[0], signs.shape[1]
    projected = np.zeros((n, narrow), dtype=np.float32)
    for begin in range(0, n, _ROWS):
        end = min(begin + _ROWS, n)
        for column in range(wide):
            for i in range(begin, end):
                value = rows[i, column]
                for j in range(narrow):
                    projected[i, j] += value * signs[column, j]
    return projected


@njit(cache=True, nogil=True)
def mean_of(values: Any, places: Any) -> Any:
    """Return the mean of some rows, float64, summed in their order; zeros if there are none."""
    total = np.zeros(values.shape[1])
    for place in places:
        for column in range(values.shape[1]):
            total[column] += values[place, column]
    return total / max(places.shape[0], 1)


@njit(cache=True, nogil=True)
def centre(rows: Any, mean: Any) -> None:
    """Subtract `mean` from each row that is not 0, and scale it to length 1, in place."""
    for i in range(rows.shape[0]):
        is_zero = True
        for column in range(rows.shape[1]):
            is_zero = is_zero and rows[i, column] == 0.0
        if not is_zero:
            for column in range(rows.shape[1]):
                rows[i, column] = np.float32(rows[i, column] - mean[column])
    make_unit(rows)


@njit(cache=True, nogil=True)
def second_moments(rows: Any) -> Any:
    """Return ``rows.T @ rows / n``, float64, summed in the order of the n rows; zeros if there are none."""
    width = rows.shape[1]
    total = np.zeros((width, width))
    for row in rows:
        for i in range(width):
            value = np.float64(row[i])
            for j in range(width):
                total[i, j] += value * row[j]
    return total / max(rows.shape[0], 1)


@njit(cache=True, nogil=True)
def whitening(covariance: Any) -> Any:
    """Return the transposed inverse W of the Cholesky factor: W.T @ covariance @ W = I.

    The covariance is positive definite.
    """
    width = covariance.shape[0]
    lower, inverse = np.zeros((width, width)), np.zeros((width, width))
    for i in range(width):
        for j in range(i + 1):
            value = covariance[i, j]
            for k in range(j):
                value -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(value) if i == j else value / lower[j, j]
        inverse[i, i] = 1.0
        for k in range(i):
            for j in range(k + 1):
                inverse[i, j] -= lower[i, k] * inverse[k, j]
        for j in range(i + 1):
            inverse[i, j] /= lower[i, i]
    return inverse.T.copy()
