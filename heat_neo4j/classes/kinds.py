"""Two kinds of property: one of several classes, or a number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls
from scipy.special import log_softmax, ndtri, softmax
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression, Ridge

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_FIT: Mapping[str, Any] = {"tol": 1e-3, "max_iter": 100}
_LEAST = 1e-4  # added to each probability: a model may rule out a class that it has not seen
_LEAST_SHARE = 1e-3  # of what arrives at a node comes from all nodes alike
_SURE = 0.8  # share of the intervals that are to hold the number
_LIKE_ALL = 20.0  # a node of which nothing is known is like its like, and like as many of all nodes


class Classes:
    """Log probabilities of classes; the truth is an index."""

    neighbours = "classes of neighbours"
    strengths: tuple[float, ...] = (1.0, 10.0, 100.0)

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def regression(self, learned: Array, truth: Codes, asked: Array, strength: float) -> Array:
        """Use multinomial logistic regression; classes that it has not seen are hardly possible."""
        chances = np.zeros((len(asked), self.n_classes))
        if (truth == truth[0]).all():  # scikit-learn refuses a single class
            chances[:, truth[0]] = 1.0
        elif len(asked):
            model = LogisticRegression(C=strength, **_FIT)
            with warnings.catch_warnings():
                # Held-out nodes judge the model, also if its fit has not converged or classes are many.
                warnings.simplefilter("ignore", UserWarning)
                model.fit(learned.astype(np.float32), truth)  # takes half of the time
            chances[:, model.classes_] = model.predict_proba(asked.astype(np.float32))
        return log_chances(chances)

    def loss(self, said: Array, truth: Codes) -> float:
        """Return the log loss."""
        return -float(said[np.arange(len(truth)), truth].mean())

    def seeds(self, truth: Codes) -> Array:
        """Spread one of each node's class."""
        return np.eye(self.n_classes)[truth]

    def spread(self, found: Array, seeds: Array) -> Array:
        """Return the share of each class."""
        found = found + _LEAST_SHARE * seeds.mean(axis=0) / seeds.mean(axis=0).sum()
        return log_chances(found / found.sum(axis=1, keepdims=True))

    def weights(self, said: Array, truth: Codes) -> Array:
        """Minimise the log loss."""
        return fit_pool(said, truth)

    def usual(self, like: Codes, truth: Codes) -> Array:
        """Return how frequent each class is."""
        all_of_them, alike = (np.bincount(each, minlength=self.n_classes) for each in (truth, like))
        return log_chances((alike + _LIKE_ALL * all_of_them / len(truth)) / (len(like) + _LIKE_ALL))

    def margin(self, said: Array, truth: Codes) -> float:
        """Return 0: classes have probabilities instead."""
        return 0.0


class Numbers:
    """Numbers, by the normal score of their rank: a few large ones do not rule, and 0 is the median."""

    neighbours = "values of neighbours"
    strengths: tuple[float, ...] = (0.1, 1.0, 10.0)

    def __init__(self, values: Array) -> None:
        self.scores: Array = ndtri((rankdata(values) - 0.5) / len(values))
        self._values, first = np.unique(values, return_index=True)
        self._places = self.scores[first]

    def values(self, scores: Array) -> Array:
        """Return the numbers of scores, at most the largest and at least the smallest there is."""
        return np.interp(scores, self._places, self._values)

    def regression(self, learned: Array, truth: Array, asked: Array, strength: float) -> Array:
        """Use ridge regression."""
        if not len(asked):
            return np.empty((0, 1))
        model = Ridge(alpha=1.0 / strength, solver="cholesky").fit(learned, truth)
        return np.asarray(model.predict(asked), dtype=np.float64)[:, None]

    def loss(self, said: Array, truth: Array) -> float:
        """Return the mean squared error."""
        return float(((said[:, 0] - truth) ** 2).mean())

    def seeds(self, truth: Array) -> Array:
        """Spread the number, and one for each that has it."""
        return np.column_stack((truth, np.ones(len(truth))))

    def spread(self, found: Array, seeds: Array) -> Array:
        """Return the mean."""
        mean: Array = found[:, :1] / (found[:, 1:] + _LEAST_SHARE * seeds[:, 1:].mean())
        return mean

    def weights(self, said: Array, truth: Array) -> Array:
        """Minimise the squared error."""
        return np.asarray(nnls(said[:, :, 0].T, truth)[0], dtype=np.float64)

    def usual(self, like: Array, truth: Array) -> Array:
        """Return the mean."""
        return np.array([(like.sum() + _LIKE_ALL * truth.mean()) / (len(like) + _LIKE_ALL)])

    def margin(self, said: Array, truth: Array) -> float:
        """Return how far off 80 % of such nodes are, and one more node: split-conformal prediction.

        Source: Lei et al., Distribution-free predictive inference for regression (2018).
        """
        errors = np.sort(np.abs(said[:, 0] - truth))
        return float(errors[min(math.ceil((len(errors) + 1) * _SURE), len(errors)) - 1])


Kind = Classes | Numbers


def log_chances(probability: Array) -> Array:
    """Return smoothed log probabilities, all finite; same shape."""
    chances = probability + _LEAST
    logs: Array = np.log(chances / chances.sum(axis=-1, keepdims=True))
    return logs


def fit_pool(logs: Array, truth: Codes) -> Array:
    """Return the weights, shape (M,), of a pool of M models with log probabilities `logs`, (M, n, C).

    p(c) of the pool is proportional to the product over models of p_m(c) ** w_m. The weights, at least 0,
    minimise the log loss on predictions for nodes that the models had not seen. So a model that adds nothing
    gets weight 0, and the pool is calibrated: their sum is an inverse temperature. A prior counts like one
    node, so that nothing is certain where all of few nodes were predicted right.

    Source: Hinton, Products of experts (1999); Guo et al., On calibration of modern neural networks (2017).
    """
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
