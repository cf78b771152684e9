"""The model of Fellegi and Sunter: log odds that two nodes are the same thing, without labelled pairs.

Each comparison of a pair has a level, such as "same words". Its weight is the log of how much more frequent
the level is among duplicates (m) than among other pairs (u). u and the share of duplicates are found on the
candidates by expectation and maximisation. m is given, but m of a grid follows the duplicates that are found.
Estimates of all m were worse: nodes that are alike but not the same, such as the modules of one program,
outnumber the duplicates.

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
_LEAST, _MOST = 0.0005, 0.5  # share of duplicates among the candidates
_CLEAR = 2.0  # standard errors beyond chance
_FEW = 20.0  # random pairs that agree in a property: fewer may be duplicates, which agree in all of them
_PRIOR = 3.0  # duplicates on which m of a grid counts as observed


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
    m : float64 array of shape (L,)
        Frequency of each level among duplicates.
    u : float64 array of shape (L,), optional
        Frequency of each level among other pairs; counted on the candidates if not given.
    usual : float, or float64 array of shape (L,)
        Pseudo-counts per level, added to the counts of candidates.
    chance : float64 array of shape (m,), optional
        How often other pairs agree in the value that a pair agrees in, in place of u; NaN to use u.
    grid : (int, int), optional
        Shape of the levels if each is a pair of two; m of both is then counted on the graph's duplicates.
    others : int64 array, optional
        Levels of random pairs, the same for all comparisons that have them.
    """

    name: str
    reasons: tuple[str, ...]
    levels: Levels
    m: Array
    u: Array | None = None
    usual: Array | float = 0.5
    chance: Array | None = None
    grid: tuple[int, int] | None = None
    others: Levels | None = None

    def among(self, stays: NDArray[np.bool_]) -> Comparison:
        """Return the comparison in some of the pairs."""
        chance = None if self.chance is None else self.chance[stays]
        return replace(self, levels=self.levels[stays], chance=chance)

    def weights(self, duplicate: Array) -> Array:
        """Return each pair's contribution to its log odds, shape (m,).

        `duplicate` holds the probability that each pair is a duplicate; the others are counted for u.
        """
        known, levels = self.levels != MISSING, np.maximum(self.levels, 0)
        u = self.u
        if u is None:
            counts = np.bincount(levels[known], 1.0 - duplicate[known], minlength=len(self.m)) + self.usual
            u = counts / counts.sum()
        m = self.m
        if self.grid is not None:
            seen = np.bincount(levels[known], duplicate[known], minlength=len(m)) + _PRIOR * m
            both = seen.reshape(self.grid)
            m = np.outer(both.sum(axis=1), both.sum(axis=0)).ravel() / seen.sum() ** 2
            ratio = (m / u).reshape(self.grid)
            # The least alike in both never counts for a pair, and common neighbours never more against it.
            ratio[0, 0] = min(ratio[0, 0], 1.0)
            u = m / np.maximum(ratio, np.minimum(ratio[0], 1.0)).ravel()
        of_pairs = (
            u[levels] if self.chance is None else np.where(np.isnan(self.chance), u[levels], self.chance)
        )
        return np.where(known, np.log(m[levels] / of_pairs), 0.0)


def count_once(comparisons: Sequence[Comparison], n_pairs: int) -> list[Comparison]:
    """Return comparisons of properties in which agreement that follows from another adds nothing.

    Nodes of one city are in one country. For a pair that agrees in the city, which weighs more, the chance of
    the same country is that of random pairs of one city. `n_pairs` is the number of all pairs.
    """
    agree = [each.levels > 0 for each in comparisons]
    weights = [each.weights(np.zeros(len(each.levels))) for each in comparisons]
    counted = []
    for place, each in enumerate(comparisons):
        implied = np.zeros(len(each.levels))
        for other, stronger in enumerate(comparisons):
            if other != place:
                more = weights[other] - weights[place]
                before = agree[other] & ((more > 0.0) | ((more == 0.0) & (other < place)))
                implied[before] = np.maximum(implied[before], _implied(stronger, each, n_pairs))
        chance = implied + (1.0 - implied) * np.asarray(each.chance)
        counted.append(replace(each, chance=np.minimum(chance, each.m[each.levels])))
    return counted


def _implied(stronger: Comparison, weaker: Comparison, n_pairs: int) -> float:
    """Return how often a random pair that agrees in `stronger` therefore agrees in `weaker`, [0, 1]."""
    others, own = (np.asarray(each.others) for each in (stronger, weaker))
    known = (others != MISSING) & (own != MISSING)
    first, second = others[known] > 0, own[known] > 0
    if second.all():
        return 0.0
    by_chance, n_first = float(second.mean()), int(np.count_nonzero(first))
    error = _CLEAR * (by_chance * (1.0 - by_chance) * n_first) ** 0.5
    more = np.count_nonzero(first & second) - by_chance * n_first - error
    few = _FEW * max(1.0, len(known) / n_pairs)  # random pairs repeat those of a small graph
    return float(max(0.0, more / (1.0 - by_chance) / (n_first + few)))


class Fitted(NamedTuple):
    """The weights and log odds of m candidates."""

    weights: Array  # of each of C comparisons, shape (m, C)
    log_odds: Array  # shape (m,): the sum of the weights, and the log odds of any candidate


def fit_weights(comparisons: Sequence[Comparison]) -> Fitted:
    """Return the weights and log odds of the candidates; the first round has the first comparison only."""
    n = len(comparisons[0].levels)
    duplicate = expit(comparisons[0].weights(np.zeros(n)) + logit(_GUESS))
    for _ in range(_ROUNDS):
        share = min(_LEAST + float(duplicate.sum()) / max(1, n), _MOST)
        weights = np.column_stack([each.weights(duplicate) for each in comparisons])
        log_odds = weights.sum(axis=1) + logit(share)
        before, duplicate = duplicate, expit(log_odds)
        if n == 0 or np.abs(duplicate - before).max() <= _CONVERGED:
            break
    return Fitted(weights, log_odds)
