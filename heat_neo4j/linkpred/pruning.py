"""Score only pairs whose log odds can reach a minimum.

The log odds add up one term per feature. Once the known terms and upper bounds of the others stay below the
minimum, a pair is dropped and costs nothing more. No pair that reaches the minimum is lost.

A. Broder et al., "Efficient query evaluation using a two-level retrieval process", CIKM (2003).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.splines import sums_of_least
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.linkpred.link_score import LinkScorer

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Bounds = tuple[NDArray[np.float32], NDArray[np.float32]] | float

_SLACK = 1e-3  # log odds; bounds are rounded to float32
_KEPT = 0.75  # pairs are dropped together, once no more than this share is left


class PrunedScorer:
    """Scores pairs without the direction feature, and drops those that stay below `least` with it.

    Terms are computed in the order that narrows the bounds of the pairs `sample`, shape (m, 2), most in the
    least time. The order changes no result.
    """

    def __init__(
        self, scorer: LinkScorer, least: float, sample: Rows, workers: WorkerThreads = ALONE
    ) -> None:
        self._base, self._least = scorer.table[0][0], least
        self._terms = {
            name: replace(scorer, features={name: feature}, direction=None)
            for name, feature in scorer.features.items()
        }
        bounds = workers.by_key(lambda name: _bounds(self._terms[name], name), self._terms)
        self._constant = {name: each for name, each in bounds.items() if isinstance(each, float)}
        of_ends = (name for name in bounds if name not in self._constant)
        self._column = {name: place for place, name in enumerate(of_ends)}
        self._first, self._second = (_columns(bounds.values(), end, scorer.n_nodes) for end in (0, 1))
        self._direction = 0.0 if scorer.direction is None else max(scorer.table[-1])
        self._rest = self._base + sum(self._constant.values()) + self._direction
        self._order = sorted(self._terms, key=lambda name: -self._gain(name, sample))

    def pairs(self, pairs: Rows) -> tuple[Rows, Array]:
        """Return the pairs that can reach the minimum, and their log odds without the direction feature."""
        most = self._rest + sums_of_least(self._first, self._second, *pairs.T)
        terms: dict[str, Array] = {}
        for name in self._order:
            can = most >= self._least - _SLACK
            if np.count_nonzero(can) < _KEPT * len(can):
                pairs, most = np.asfortranarray(pairs[can]), most[can]
                terms = {each: term[can] for each, term in terms.items()}
            terms[name] = _term(self._terms[name], pairs)
            most += terms[name] - self._bound(name, pairs)
        total = np.full(len(pairs), self._base)
        for name in self._terms:  # always in the same order, for the same bits
            total += terms[name]
        can = total + self._direction >= self._least
        return pairs[can], total[can]

    def _bound(self, name: str, pairs: Rows) -> Array:
        if name in self._constant:
            return np.asarray(self._constant[name])
        column = self._column[name]
        return np.asarray(np.minimum(self._first[pairs[:, 0], column], self._second[pairs[:, 1], column]))

    def _gain(self, name: str, sample: Rows) -> float:
        start = perf_counter()
        term = _term(self._terms[name], sample)
        seconds = perf_counter() - start
        return float((self._bound(name, sample) - term).sum() / max(seconds, 1e-9))


def _term(scorer: LinkScorer, pairs: Rows) -> Array:
    """Return the one term of a scorer for pairs, shape (m,)."""
    ((_, _, term),) = scorer.terms(lambda feature: feature.pairs(pairs))
    return term


def _bounds(term: LinkScorer, name: str) -> Bounds:
    """Return upper bounds of a term for each first and each second node, or one for all pairs."""
    place = term.score.features.index(name)
    knots, heights = np.array(term.score.knots[place]), np.array(term.table[1 + place])
    (feature,) = term.features.values()
    first, second = feature.ceiling(), feature.reversed().ceiling()
    if first is None or second is None:
        return float(max(heights.max(), 0.0))  # 0 if a value is unknown
    return _highest(first, knots, heights), _highest(second, knots, heights)


def _columns(bounds: Iterable[Bounds], end: int, n: int) -> NDArray[np.float32]:
    """Return the bounds of one end of pairs as columns, shape (n, F)."""
    columns = [each[end] for each in bounds if not isinstance(each, float)]
    return np.array(columns, dtype=np.float32).reshape(len(columns), n).T.copy()


def _highest(values: Array, knots: Array, heights: Array) -> NDArray[np.float32]:
    """Return the maximum of a piecewise linear function over all arguments up to each value."""
    below = np.maximum(np.searchsorted(knots, values, side="right") - 1, 0)
    most = np.maximum(np.maximum.accumulate(heights)[below], np.interp(values, knots, heights))
    return np.asarray(most, dtype=np.float32)
