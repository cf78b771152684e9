"""The share of a whole job that is done never falls, whatever stages it has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_neo4j._utils.progress import Overall

STAGES = st.sampled_from(
    ["reading nodes", "walks", "train", "probability: train", "choose alpha", "links", ""]
)
STEPS = st.tuples(STAGES, st.integers(0, 50), st.integers(0, 50))


@given(st.lists(STEPS, max_size=200))
def test_overall_progress_never_falls_and_stays_between_0_and_1(steps):
    overall = Overall()
    shares = [0.0, *(overall(*step) for step in steps)]
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0


@given(st.lists(st.tuples(STAGES, st.integers(1, 20)), min_size=1, max_size=12))
def test_every_step_of_every_stage_is_seen(stages):
    overall, last = Overall(), 0.0
    for stage, total in stages:
        assert overall(stage, 0, total) == last
        for done in range(1, total + 1):
            share = overall(stage, done, total)
            assert last < share < 1.0
            last = share


def test_a_stage_that_takes_long_takes_half_of_what_is_left():
    overall = Overall()
    assert overall("reading nodes", 1, 1) == 0.1
    assert overall("train", 1, 2) == pytest.approx(0.1 + 0.9 * 0.25)
    assert overall("train", 2, 2) == pytest.approx(0.1 + 0.9 * 0.5)
    assert overall("probability: train", 0, 2) == pytest.approx(0.1 + 0.9 * 0.5)
