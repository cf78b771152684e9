"""The metrics of a scorer, and the best-scored pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]


@dataclass(frozen=True)
class Limits:
    """Maximum number of sources or targets to rank exactly, and number of sources sampled above it."""

    exact_nodes: int = 10_000  # all pairs are scored; 4 to 27 s per method for 12 thousand on two cores
    nodes: int = 1_000


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class PairFigures:
    """The metrics of one scorer, and the sampling standard errors of those that are not exact."""

    metrics: Mapping[str, float]
    errors: Mapping[str, float] = field(default_factory=dict)
    # False and true positive rates.
    roc: tuple[Array, Array] = field(default=(np.empty(0), np.empty(0)), repr=False)


class BestPairs:
    """Accumulates the codes of the best-scored pairs; ties go to the lowest codes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = -np.inf
        self._scores: Array = np.empty(0)
        self._codes: Pairs = np.empty(0, dtype=np.int64)

    def add(self, codes: Pairs, scores: Array) -> None:
        """Add pairs; codes must increase, also between calls."""
        # A tie with the last pair of a full list ranks after it.
        better = scores > self._least
        self._scores = np.concatenate((self._scores, scores[better]))
        self._codes = np.concatenate((self._codes, codes[better]))
        if self._scores.size > 4 * self._most:
            self._trim()

    def pairs(self) -> tuple[Pairs, Array]:
        """Return the codes of the best pairs and their scores, best first."""
        self._trim()
        return self._codes, self._scores

    def _trim(self) -> None:
        order = np.argsort(-self._scores, kind="stable")[: self._most]  # codes are ascending among equals
        self._scores, self._codes = self._scores[order], self._codes[order]
        if order.size == self._most:
            self._least = float(self._scores[-1])


def finite(scores: Array) -> Array:
    """Return the scores; raises ValueError if one is NaN or infinite."""
    if not np.isfinite(scores).all():
        raise ValueError("a scorer returned a NaN or infinite score")
    return scores
