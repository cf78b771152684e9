"""The best pairs, kept through many trims."""

from __future__ import annotations

import numpy as np

from heat_neo4j.evaluation.link_figures import BestPairs


def test_the_best_pairs_are_kept_through_many_trims() -> None:
    scores = np.random.default_rng(0).integers(0, 12, 400).astype(float)
    for most in (2, 7, 1000):
        best = BestPairs(most)
        for begin in range(0, 400, 9):
            codes = np.arange(begin, min(begin + 9, 400))
            best.add(3 * codes, scores[codes])
        slow = sorted(range(400), key=lambda code: (-scores[code], code))[:most]
        codes, found = best.pairs()
        assert codes.tolist() == [3 * code for code in slow]
        np.testing.assert_array_equal(found, scores[slow])
