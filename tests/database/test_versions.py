"""What a version sends readers to, and what each change makes of it; no function alters what it is given."""

import copy

import pytest

from heat_neo4j.database.versions import (
    address_of,
    previous_address,
    published,
    rolled_back,
    runs_of,
    version_of,
    with_index,
    without_previous,
    without_runs,
)


def coordinates(run, *, index=True):
    known = {"run": run, "slot": ord(run) % 3 + 1, "embeddingProperty": f"embedding {run}", "dimension": 3}
    return known | (indexed(run) if index else {})


def indexed(run):
    return {"indexes": [f"index {run}"], "vectorProperty": f"vector {run}", "vectorScale": 1e4, "core": [run]}


def links(run):
    return {"linkRun": run, "linkType": f"type {run}", "linkRadius": 1.5}


def both(run):
    return coordinates(run) | links(run)


NO_INDEX = {"vectorProperty": None, "vectorScale": None, "indexes": None, "core": None}


def history(*parts):
    """Return the version after these were published one after the other, as its node has it."""
    version = {}
    for part in parts:
        version = published(version, part)
    return {"name": "heat", "model": "heat", "number": len(parts), "version": len(parts), **version}


def test_nothing_is_published_at_first():
    assert version_of({}) == address_of({}) == previous_address({}) == {}
    assert runs_of({}) == (None, None)
    assert rolled_back({}) == without_previous({}) == without_runs({}, ["a"]) == {}


def test_a_first_version_has_none_before_it():
    first = history(both("a"))
    assert address_of(first) == version_of(first) == both("a")
    assert previous_address(first) == {}


def test_the_version_before_is_remembered_and_not_the_one_before_that():
    third = history(both("a"), both("b"), both("c"))
    assert address_of(third) == both("c")
    assert previous_address(third) == both("b")
    assert (third["previousRun"], third["previousLinkRun"]) == ("b", "b")


def test_what_a_run_has_not_written_stays_published():
    version = history(both("a"), links("b"), coordinates("c", index=False) | NO_INDEX)
    assert address_of(version) == coordinates("c", index=False) | links("b")
    assert previous_address(version) == coordinates("a") | links("b")


@pytest.mark.parametrize(
    "parts",
    [
        [both("a"), both("b")],
        [coordinates("a"), both("b")],
        [both("a"), links("b")],
        [both("a"), coordinates("b", index=False) | NO_INDEX],
    ],
)
def test_to_go_back_twice_is_to_stay(parts):
    version = history(*parts)
    before = rolled_back(version)
    assert address_of(before) == previous_address(version) == address_of(history(*parts[:-1]))
    assert previous_address(before) == address_of(version)
    assert rolled_back(before) == version_of(version)


def test_an_index_comes_and_goes():
    version = history(both("a"), both("b"))
    without = with_index(version, NO_INDEX)
    assert address_of(without) == coordinates("b", index=False) | links("b")
    assert previous_address(without) == both("a")
    assert with_index(without, indexed("b")) == version_of(version)


def test_where_only_links_came_since_the_index_is_that_of_both_versions():
    """The coordinates before are the same ones, so what became of their index holds there too."""
    version = with_index(history(both("a"), links("b")), NO_INDEX)
    assert previous_address(version) == coordinates("a", index=False) | links("a")
    assert address_of(rolled_back(version)) == coordinates("a", index=False) | links("a")


@pytest.mark.parametrize(
    ("runs", "now", "before"),
    [
        (["nobody"], coordinates("c") | links("b"), both("b")),
        (["c"], links("b"), both("b")),
        (["b"], coordinates("c"), {}),
        (["b", "c"], {}, {}),
    ],
)
def test_what_a_run_wrote_goes_and_with_it_what_needs_it(runs, now, before):
    version = history(both("b"), coordinates("c"))
    left = without_runs(version, runs)
    assert address_of(left) == now
    assert previous_address(left) == before


def test_what_is_left_is_not_what_it_would_be_rolled_back_to():
    version = history(coordinates("a"), links("b"))
    assert previous_address(without_runs(version, ["b"])) == {}
    assert address_of(without_runs(version, ["b"])) == coordinates("a")


def test_the_version_before_can_be_forgotten():
    version = without_previous(history(both("a"), both("b")))
    assert address_of(version) == version == both("b")


def test_a_version_never_changes():
    version = history(both("a"), coordinates("b"))
    kept = copy.deepcopy(version)
    published(version, both("c"))
    rolled_back(version)
    with_index(version, NO_INDEX)
    without_runs(version, ["b"])
    without_previous(version)
    assert version == kept
