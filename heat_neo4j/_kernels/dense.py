"""Inner products of rows of dense matrices, summed in column order.

The inner loops run over rows, so unlike BLAS the sums are bitwise the same for any vector width and any
number of threads.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit

Rows = NDArray[np.float32]
Places = NDArray[np.int64]

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
