"""Piecewise linear functions of features, as the design of a regression.

A function has one slope with a weak ridge, and a height at each knot with a strong ridge. With little data it
is a straight line.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.splines import NOWHERE, spline_places, spline_sums, spline_totals

Array = NDArray[np.float64]
Table = tuple[tuple[float, ...], ...]

_QUANTILES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # knots: quantiles of links, and of all pairs, other than 0
_ROUNDING = 1e-12  # values of a feature that differ by less are equal, but for rounding errors
_SLOPE, _BEND = 10.0, 30.0  # ridge on slopes and on heights
INTERCEPT = 1e-3
"""Ridge on the intercept."""


class Splines:
    """One piecewise linear function for each of K features; regression weights are slopes and heights.

    Parameters
    ----------
    knots : tuple of tuple of float
        Knots of each feature, ascending.
    centre, width : float64 array of shape (K,)
        Offset and scale that standardise each feature for its slope.
    strictness : float64 array of shape (K,)
        Factor of the ridge on each feature's slope and heights.
    """

    def __init__(self, knots: Table, centre: Array, width: Array, strictness: Array) -> None:
        self.knots, self.centre, self.width, self.strictness = knots, centre, width, strictness
        counts = [len(each) for each in knots]
        self._starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self._every = np.concatenate([np.zeros(0), *map(np.asarray, knots)])
        self._feature = np.repeat(np.arange(len(knots)), counts)
        self._standard = (self._every - centre[self._feature]) / width[self._feature]

    @classmethod
    def over(cls, values: Array, is_link: NDArray[np.bool_], strictness: Array | None = None) -> Splines:
        """Place knots at 0 and at quantiles of the other values, of links and of all pairs.

        `values` has shape (m, K), NaN if missing; `strictness` defaults to 1.
        """
        knots, centre, width = [], [], []
        for column in values.T:
            known = np.isfinite(column)
            some, links = column[known], column[known & is_link]
            # Most pairs have no path, say: the quantiles of all values would be 0.
            parts = [np.quantile(each[each != 0.0], _QUANTILES) for each in (some, links) if each.any()]
            places = np.unique(np.concatenate([some[some == 0.0][:1], *parts]))
            places = places[np.diff(places, prepend=-np.inf) > _ROUNDING]
            knots.append(tuple(places.tolist()) or (0.0,))
            centre.append(some.mean() if len(some) else 0.0)
            width.append((some.std() if len(some) else 0.0) or 1.0)
        strictness = np.ones(len(knots)) if strictness is None else strictness
        return cls(tuple(knots), np.array(centre), np.array(width), strictness)

    def stricter(self, factor: float) -> Splines:
        """Return the functions with a `factor` times stronger ridge."""
        return Splines(self.knots, self.centre, self.width, factor * self.strictness)

    @property
    def ridge(self) -> Array:
        """Ridge on each weight, in the order intercept, slopes, heights."""
        return np.concatenate(([INTERCEPT], _SLOPE * self.strictness, _BEND * self.strictness[self._feature]))

    def design(self, values: Array) -> SplineDesign:
        """Return the regression design of values of shape (m, K)."""
        return SplineDesign(self, *spline_places(np.asarray(values, np.float64), self._every, self._starts))

    def heights(self, weights: Array) -> Array:
        """Return all functions' values at their knots, concatenated."""
        n = len(self.knots)
        return np.asarray(weights[1 : 1 + n][self._feature] * self._standard + weights[1 + n :])

    def weighed(self, sums: Array) -> Array:
        """Return sums over knots as sums over slopes and heights: the transpose of `heights`."""
        slopes = np.bincount(self._feature, sums * self._standard, minlength=len(self.knots))
        return np.concatenate((slopes, sums))

    def table(self, weights: Array) -> Table:
        """Return the intercept, then each function's values at its knots."""
        parts = np.split(self.heights(weights), self._starts[1:-1])
        return ((float(weights[0]),), *(tuple(each.tolist()) for each in parts))

    @cached_property
    def slopes(self) -> Array:
        """Weight of each slope at each knot, shape (knots, K)."""
        slopes = np.zeros((len(self._every), len(self.knots)))
        slopes[np.arange(len(self._every)), self._feature] = self._standard
        return slopes


class SplineDesign(NamedTuple):
    """The rows of a regression on splines: each value's knot, and the share of the next knot."""

    splines: Splines
    places: NDArray[np.int16]  # (m, K)
    shares: NDArray[np.float32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.places)

    def times(self, weights: Array) -> Array:
        """Return the product with weights, shape (m,)."""
        heights = np.append(self.splines.heights(weights), 0.0)
        return np.asarray(weights[0] + spline_totals(self.places, self.shares, heights))

    def transposed(self, of_rows: Array) -> Array:
        """Return the product of the transpose with one value per row."""
        sums = spline_sums(self.places, self.shares, of_rows, len(self.splines.slopes))
        return np.append(of_rows.sum(), self.splines.weighed(sums))

    def dense(self, step: int) -> Array:
        """Return every `step`-th row as a dense array."""
        places, shares = self.places[::step], self.shares[::step]
        near = np.zeros((len(places), len(self.splines.slopes) + 1))
        rows = np.arange(len(places))
        for place, share in zip(places.T, shares.T, strict=True):
            there = place != NOWHERE
            near[rows[there], place[there]] += 1.0 - share[there]
            near[rows[there], place[there] + 1] += share[there]
        near = near[:, :-1]
        return np.column_stack((np.ones(len(near)), near @ self.splines.slopes, near))

    @classmethod
    def joined(cls, parts: list[SplineDesign]) -> SplineDesign:
        """Concatenate the rows of several designs over the same splines."""
        places, shares = (np.concatenate([each[column] for each in parts]) for column in (1, 2))
        return cls(parts[0].splines, places, shares)
