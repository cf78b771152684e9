"""Figures of predicted classes on nodes whose class is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from heat_neo4j._utils.frames import Result

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_BINS = 10


@dataclass(frozen=True, repr=False)
class ClassFigures(Result):
    """How well classes were predicted for labelled nodes that the models had not seen.

    Parameters
    ----------
    nodes : int
        Labelled nodes that were predicted, each by models fitted without it.
    classes : int
        Number of classes.
    f1_micro, f1_macro : float
        F1 over all nodes, which is the share of right predictions, and the mean over classes; [0, 1].
    calibration_error : float
        Expected calibration error in ten bins: mean difference between probability and share of right
        predictions, [0, 1].
    majority : float
        Micro F1 of always predicting the largest class.
    attributes_alone : float or None
        Micro F1 of logistic regression on the node's own attributes; None without attributes.
    """

    nodes: int
    classes: int
    f1_micro: float
    f1_macro: float
    calibration_error: float
    majority: float
    attributes_alone: float | None


def f1_scores(probability: Array, truth: Codes) -> tuple[float, float]:
    """Return micro and macro F1 of the likeliest classes."""
    found = probability.argmax(axis=1)
    micro, macro = (f1_score(truth, found, average=each, zero_division=0.0) for each in ("micro", "macro"))
    return float(micro), float(macro)


def calibration_error(probability: Array, truth: Codes) -> float:
    """Return the expected calibration error of the likeliest classes, in ten bins of equal width."""
    highest, right = probability.max(axis=1), probability.argmax(axis=1) == truth
    place = np.minimum((highest * _BINS).astype(np.int64), _BINS - 1)
    gap = np.bincount(place, weights=highest - right, minlength=_BINS)
    return float(np.abs(gap).sum() / len(truth))


@dataclass(frozen=True, repr=False)
class NumberFigures(Result):
    """How well numbers were predicted for nodes that the models had not seen.

    Parameters
    ----------
    nodes : int
        Nodes with a number that were predicted, each by models fitted without it.
    different : int
        How many different numbers there are.
    error : float
        Mean absolute error.
    median_error : float
        That of always predicting the median.
    neighbours_error : float
        That of the mean of neighbours, in which near ones count most.
    rank_correlation : float
        Spearman's, with the true numbers, [-1, 1]: a few huge numbers rule the errors, but not this.
    """

    nodes: int
    different: int
    error: float
    median_error: float
    neighbours_error: float
    rank_correlation: float
