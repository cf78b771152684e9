"""Logistic regression with a ridge of its own on each weight, around given weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

__all__ = ["logistic"]

Array = NDArray[np.float64]

_ROUNDS = 50
_SMALLEST_STEP = 1e-6
_LITTLE = 1e-6  # of the loss, by which the last step lowers it at most


def logistic(
    values: Array, is_one: ArrayLike, ridge: Array, around: Array, start: Array | None = None
) -> Array:
    """Return the weights, shape (K,), that minimise the log loss of `values`, shape (m, K), plus a ridge.

    The ridge, shape (K,), is on what differs from `around`: the prior of partial pooling. By Newton's method,
    halving steps that do not lower the loss, from `start` or else from `around`.
    """
    truth = np.asarray(is_one, dtype=np.float64)

    def loss(weights: Array) -> float:
        score = values @ weights
        return float(np.sum(np.logaddexp(0.0, score) - truth * score) + 0.5 * ridge @ (weights - around) ** 2)

    weights = (around if start is None else start).copy()
    now = loss(weights)
    for _ in range(_ROUNDS):
        chance = expit(values @ weights)
        slope = values.T @ (chance - truth) + ridge * (weights - around)
        bend = (values * (chance * (1.0 - chance))[:, None]).T @ values + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while size > _SMALLEST_STEP and (after := loss(weights - size * step)) > now:
            size /= 2.0
        if size <= _SMALLEST_STEP:
            break
        weights = weights - size * step
        if now - after < _LITTLE * abs(now):
            break
        now = after
    return weights
