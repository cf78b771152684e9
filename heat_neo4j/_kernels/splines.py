"""Sums of piecewise linear functions, one per column, over the rows of a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit

Array = NDArray[np.float64]
Places = NDArray[np.int16]
Shares = NDArray[np.float32]

NOWHERE = -1
"""Knot index of a missing value, which contributes nothing."""


@njit(cache=True, nogil=True)
def spline_places(values: Array, knots: Array, starts: NDArray[np.int64]) -> tuple[Places, Shares]:
    """Return the knot at or below each value, and the fraction of the way to the next; both (m, K).

    The knots of column k start at `starts[k]`. Values outside are clipped to the nearest knot; NaN gives
    `NOWHERE`.
    """
    m, n = values.shape
    places, shares = np.empty((m, n), dtype=np.int16), np.zeros((m, n), dtype=np.float32)
    for k in range(n):
        first, last = starts[k], starts[k + 1] - 1
        for i in range(m):
            value = values[i, k]
            if np.isnan(value):
                places[i, k] = NOWHERE
                continue
            place = first
            while place < last - 1 and value >= knots[place + 1]:
                place += 1
            places[i, k] = place
            if last > first:
                share = (value - knots[place]) / (knots[place + 1] - knots[place])
                shares[i, k] = min(max(share, 0.0), 1.0)
    return places, shares


@njit(cache=True, nogil=True)
def spline_totals(places: Places, shares: Shares, heights: Array) -> Array:
    """Return the sum of the functions in each row, shape (m,); `heights` has one padding entry at the end."""
    totals = np.empty(places.shape[0])
    for i in range(places.shape[0]):
        total = 0.0
        for k in range(places.shape[1]):
            place = places[i, k]
            if place != NOWHERE:
                total += heights[place] + shares[i, k] * (heights[place + 1] - heights[place])
        totals[i] = total
    return totals


@njit(cache=True, nogil=True)
def spline_sums(places: Places, shares: Shares, weights: Array, n_knots: int) -> Array:
    """Return the sum of row weights at each knot, interpolated between neighbouring knots."""
    sums = np.zeros(n_knots + 1)
    for i in range(places.shape[0]):
        for k in range(places.shape[1]):
            place = places[i, k]
            if place != NOWHERE:
                part = shares[i, k] * weights[i]
                sums[place] += weights[i] - part
                sums[place + 1] += part
    return sums[:n_knots]


@njit(cache=True, nogil=True)
def sums_of_least(
    first: NDArray[np.float32], second: NDArray[np.float32], u: NDArray[np.int64], v: NDArray[np.int64]
) -> Array:
    """Return the sum over columns of the smaller of ``first[u]`` and ``second[v]`` for pairs, shape (m,)."""
    sums = np.zeros(u.shape[0])
    for i in range(u.shape[0]):
        total = 0.0
        for k in range(first.shape[1]):
            total += min(first[u[i], k], second[v[i], k])
        sums[i] = total
    return sums
