"""Logistic regression with a separate ridge penalty per weight, centred on given weights."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

Array = NDArray[np.float64]

_ROUNDS = 100
_SMALLEST_GAIN = 1e-6  # relative decrease of the loss at which to stop


class Design(Protocol):
    """A matrix of shape (m, K) that a regression accesses by products only."""

    @property
    def n_rows(self) -> int:
        """Return m."""

    def times(self, weights: Array) -> Array:
        """Return the product with weights, shape (m,)."""

    def transposed(self, of_rows: Array) -> Array:
        """Return the product of the transpose with one value per row, shape (K,)."""

    def dense(self, step: int) -> Array:
        """Return every `step`-th row."""


class DenseDesign(NamedTuple):
    """A design matrix stored as an array."""

    values: Array

    @property
    def n_rows(self) -> int:
        """Return m."""
        return len(self.values)

    def times(self, weights: Array) -> Array:
        """Return the product with weights, shape (m,)."""
        return np.asarray(self.values @ weights)

    def transposed(self, of_rows: Array) -> Array:
        """Return the product of the transpose with one value per row, shape (K,)."""
        return np.asarray(self.values.T @ of_rows)

    def dense(self, step: int) -> Array:
        """Return every `step`-th row."""
        return self.values[::step]


def logistic(
    design: Design,
    is_one: ArrayLike,
    ridge: Array,
    around: Array,
    start: Array | None = None,
    offset: ArrayLike = 0.0,
    curved: int = 8_000,
) -> Array:
    """Return the weights, shape (K,), that minimise the log loss of a design, shape (m, K), plus a ridge.

    The ridge, shape (K,), penalises the difference from `around`: the prior of partial pooling. `offset`,
    shape (m,), is added to the log odds. L-BFGS starts at `start`, or at `around`, in coordinates
    preconditioned by the Hessian there, which is estimated on at most `curved` rows.
    """
    truth = np.asarray(is_one, dtype=np.float64)
    known = np.broadcast_to(np.asarray(offset, dtype=np.float64), truth.shape)
    weights = around if start is None else start
    step = max(-(-design.n_rows // curved), 1)
    some = design.dense(step)
    chance = expit(some @ weights + known[::step])
    bend = step * (some * (chance * (1.0 - chance))[:, None]).T @ some + np.diag(ridge)
    factor = cholesky(bend)

    def loss(place: Array) -> tuple[float, Array]:
        own = weights + solve_triangular(factor, place)
        score = design.times(own) + known
        away = own - around
        slope = design.transposed(expit(score) - truth) + ridge * away
        value = np.sum(np.logaddexp(0.0, score) - truth * score) + 0.5 * ridge @ away**2
        return float(value), np.asarray(solve_triangular(factor, slope, trans="T"))

    found = minimize(
        loss,
        np.zeros(len(weights)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _ROUNDS, "ftol": _SMALLEST_GAIN, "gtol": 0.0},
    )
    return np.asarray(weights + solve_triangular(factor, found.x))
