"""Vectors of unit length: random projection to fewer dimensions, and centring.

Sums run in the order of input columns within each row, so the bits depend neither on the host nor on how rows
are cut into blocks.
"""

from typing import Any

import numpy as np

from heat_neo4j._kernels.jit import njit
from heat_neo4j._kernels.random import mix, stream

_KEY = np.uint64(0x9D39247E33776D41)
_ROWS = 16  # rows that share a pass over the signs
_ONE = np.uint64(1)


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
