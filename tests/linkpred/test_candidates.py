"""Pairs of a pattern: those that are drawn are of it, and none of its relationships."""

import numpy as np
from scipy import sparse

from heat_neo4j.linkpred.candidates import CandidatePairs


def pairs_of(sources: list[int], targets: list[int]) -> CandidatePairs:
    is_source, is_target = (np.isin(np.arange(9), ends) for ends in (sources, targets))
    return CandidatePairs(
        None, np.array(sources), np.array(targets), sparse.csr_array((9, 9)), is_source, is_target
    )


def test_other_pairs_are_of_the_pattern_and_no_relationships_of_it() -> None:
    codes = np.sort([0 * 9 + 5, 1 * 9 + 6, 2 * 9 + 2])
    generator = np.random.default_rng(0)
    found = pairs_of([0, 1, 2, 5], [2, 5, 6]).other_pairs(codes, 400, generator)
    assert len(found) == 400
    assert set(map(tuple, found.tolist())) == {
        (0, 2), (0, 6), (1, 2), (1, 5), (2, 5), (2, 6), (5, 2), (5, 6)
    }  # fmt: skip
    assert len(pairs_of([3], [3]).other_pairs(codes, 50, generator)) == 0
