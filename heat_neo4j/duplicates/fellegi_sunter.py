"""The model of Fellegi and Sunter: log odds that two nodes are the same thing, without labelled pairs.

Each comparison of a pair has a level, such as "same words". Its weight is the log of how much more frequent
the level is among duplicates (m) than among other pairs (u). u is counted on the candidates, of which few are
duplicates; m is given; the share of duplicates is found by expectation and maximisation. Estimates of m were
worse: nodes that are alike but not the same, such as the modules of one program, outnumber the duplicates.

I. Fellegi and A. Sunter, "A theory for record linkage", JASA 64 (1969); W. Winkler, "Using the EM algorithm
for weight computation in the Fellegi-Sunter model of record linkage", ASA (1988).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Array = NDArray[np.float64]
Levels = NDArray[np.int64]

MISSING = -1
"""Level of a pair that cannot be compared; it weighs nothing."""

_GUESS = 0.002  # share of the candidates, before the first round
_ROUNDS = 100
_CONVERGED = 1e-6
_MOST = 0.5  # share of duplicates


@dataclass(frozen=True, eq=False)
class Comparison:
    """How one thing compares in the candidate pairs.

    Parameters
    ----------
    name : str
        What is compared, such as "name" or a property.
    reasons : tuple of str
        What each of the L levels means, from the least alike to the most.
    levels : int64 array of shape (m,)
        Level of each pair; `MISSING` where there is nothing to compare.
    u : float64 array of shape (L,), or (m, L)
        Frequency of each level among the candidates; for each pair where it depends on the value.
    m : float64 array of shape (L,)
        Frequency of each level among duplicates.
    chance_agreement : float
        For a property, how often two random nodes agree; 1 for other comparisons.
    """

    name: str
    reasons: tuple[str, ...]
    levels: Levels
    u: Array
    m: Array
    chance_agreement: float = 1.0

    def among(self, stays: NDArray[np.bool_]) -> Comparison:
        """Return the comparison in some of the pairs."""
        u = self.u if self.u.ndim == 1 else self.u[stays]
        return replace(self, levels=self.levels[stays], u=u)


class Fitted(NamedTuple):
    """The weights and log odds of m candidates."""

    weights: Array  # of each of C comparisons, shape (m, C)
    log_odds: Array  # shape (m,): the sum of the weights, and the log odds of any candidate


def fit_weights(comparisons: Sequence[Comparison]) -> Fitted:
    """Return the weights and log odds of the candidates."""
    weights = np.column_stack([_weights(each) for each in comparisons])
    total, n = weights.sum(axis=1), max(1, len(weights))
    share = before = _GUESS
    for _ in range(_ROUNDS):
        before, share = share, min(max(1.0, float(expit(total + logit(share)).sum())) / n, _MOST)
        if abs(share - before) <= _CONVERGED * share:
            break
    return Fitted(weights, total + logit(share))


def _weights(each: Comparison) -> Array:
    levels = np.maximum(each.levels, 0)
    u = each.u[levels] if each.u.ndim == 1 else each.u[np.arange(len(levels)), levels]
    return np.where(each.levels == MISSING, 0.0, np.log(each.m[levels] / u))
