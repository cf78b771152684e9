"""A weighted pool of models: p(c) is proportional to the product over models of p_m(c) ** w_m.

The weights, at least 0, minimise the log loss on predictions for nodes that the models had not seen. So a
model that adds nothing gets weight 0, and the pool is calibrated: their sum is an inverse temperature. A
prior counts like one node, so that nothing is certain where all of few nodes were predicted right.
Source: Hinton, Products of experts (1999); Guo et al., On calibration of modern neural networks (2017).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_LEAST = 1e-4  # added to each probability: a model may rule out a class that it has not seen


def log_chances(probability: Array) -> Array:
    """Return smoothed log probabilities, all finite; same shape."""
    chances = probability + _LEAST
    logs: Array = np.log(chances / chances.sum(axis=-1, keepdims=True))
    return logs


def fit_pool(logs: Array, truth: Codes) -> Array:
    """Return the weights, shape (M,), for log probabilities of M models, shape (M, n, C)."""
    rows = np.arange(len(truth))
    right = logs[:, rows, truth].mean(axis=1)

    def loss(weights: Array) -> tuple[float, Array]:
        mixed = np.tensordot(weights, logs, 1)
        expected = (softmax(mixed, axis=1) * logs).sum(axis=2).mean(axis=1)
        penalty, slope = (weights**2).sum() / (2.0 * len(truth)), weights / len(truth)
        return penalty - float(log_softmax(mixed, axis=1)[rows, truth].mean()), expected - right + slope

    start = np.full(len(logs), 1.0 / len(logs))
    found = minimize(loss, start, jac=True, bounds=[(0.0, None)] * len(logs), method="L-BFGS-B")
    return np.asarray(found.x, dtype=np.float64)
