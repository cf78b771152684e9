"""Every interleaving of two writers, a reader and mishaps, over the steps of the publication protocol."""

from itertools import combinations_with_replacement

import pytest

from heat_neo4j.database.publish.publication import PUBLICATION, Step
from tests.support.protocol_model import Mistake, ViolationError, explore, initial

JOBS = ("full", "local", "leaving", "rollback")


def moved(step, before):
    """Return the steps with one of them taken before another."""
    others = [each for each in PUBLICATION if each is not step]
    others.insert(others.index(before), step)
    return tuple(others)


MISTAKES = {
    "no fencing": Mistake(is_fenced=False),
    "switched before the index is there": Mistake(moved(Step.SWITCH_TO_STAGED, Step.INDEX_STAGED)),
    "unstaged before readers are switched": Mistake(moved(Step.UNSTAGE, Step.SWITCH_TO_PLAIN)),
    "settled before readers are switched": Mistake(moved(Step.SETTLE, Step.SWITCH_TO_STAGED)),
    "a pointer in two writes": Mistake(is_one_pointer=False),
    "no grace": Mistake(tuple(step for step in PUBLICATION if step is not Step.AWAIT_READERS)),
    "links that are changed in place are not kept": Mistake(keeps_changed_links=False),
}


QUICK = {("full", "local"), ("full", "leaving"), ("local", "rollback")}


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(jobs, id="-".join(jobs), marks=[pytest.mark.slow] * (jobs not in QUICK))
        for jobs in combinations_with_replacement(JOBS, 2)
    ],
)
def test_nothing_is_torn_or_lost_whatever_happens(jobs):
    assert explore(initial(jobs)) > 10_000


def test_nothing_of_a_first_version_is_torn_or_lost():
    assert explore(initial(["full", "full"], is_empty=True)) > 1_000


def test_readers_of_a_first_version_are_awaited_before_it_is_unstaged():
    mistake = Mistake(awaits_readers_of_a_first_version=False)
    with pytest.raises(ViolationError, match="did not see the links"):
        explore(initial(["full"], is_empty=True), mistake)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [("full", "rollback"), ("leaving", "rollback"), ("local", "full")])
def test_nothing_is_torn_or_lost_by_four_mishaps(jobs):
    assert explore(initial(jobs), mishaps=4) > 100_000


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_found(mistake):
    with pytest.raises(ViolationError):
        explore(initial(["full", "rollback"]), MISTAKES[mistake])
