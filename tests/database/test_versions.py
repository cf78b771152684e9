"""What a version sends readers to, and what each change makes of it; no function alters what it is given."""

import copy

import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.versions import (
    at_rest,
    being_published,
    previous_of,
    published,
    rolled_back,
    runs_of,
    without_previous,
    without_runs,
)

NAMES = WriteNames()
NO_INDEX = {"indexes": None, "core": None}
STAGED_COORDINATES = {
    "stagedEmbedding": "heatEmbeddingStaged",
    "stagedRadius": "heatRadiusStaged",
    "stagedRun": "heatRunStaged",
    "stagedVector": "heatEmbeddingStaged",
}
STAGED_LINKS = {"stagedLinkType": "HEAT_PREDICTED_STAGED"}
PUBLISHING = {"publishing", "indexWanted", *STAGED_COORDINATES, *STAGED_LINKS}


def coordinates(run, *, space=None, kind="poincare", index=True):
    """Return the part of a version that coordinates have; of a space of their own if none is given."""
    known = {
        "run": run,
        "space": space or run,
        "embeddingProperty": "heatEmbedding",
        "radiusProperty": "heatRadius",
        "runProperty": "heatRun",
        "vectorProperty": NAMES.plain.indexed(kind),
        "coordinates": kind,
        "dimension": 3,
    }
    return known | (indexed(run) if index else {})


def indexed(run):
    return {"indexes": ["heat_Paper"], "core": [run]}


def links(run):
    return {"linkRun": run, "linkType": "HEAT_PREDICTED"}


def both(run):
    return coordinates(run) | links(run)


def coming(version, parts, *, index=True):
    return published(version, parts, NAMES, index=index)


def settle(version):
    """Return a version that was being published at rest; what came with the parts stands for its indexes."""
    return at_rest(version, {})


def address(version):
    """Return what readers by a version at rest go by."""
    return {name: value for name, value in version.items() if not name.startswith("previous")}


def history(*parts):
    """Return the version after these were published one after the other, as its node has it."""
    version = {}
    for part in parts:
        version = settle(coming(version, part))
    return version


def as_read(version):
    """Return a version as it is read: with the properties of the model's node, and its own."""
    return {"name": "heat", "model": "heat", "number": 3, "version": 3, "staging": "x", **version}


def test_nothing_is_published_at_first():
    assert previous_of({}) == {}
    assert being_published({}) == ()
    assert runs_of({}) == (None, None)
    assert without_previous({}) == without_runs({}, ["a"]) == at_rest({}, NO_INDEX) == {}


def test_a_first_version_has_none_before_it():
    first = history(both("a"))
    assert first == both("a")
    assert previous_of(first) == {}


def test_the_version_before_is_remembered_and_not_the_one_before_that():
    third = history(both("a"), both("b"), both("c"))
    assert address(third) == both("c")
    assert previous_of(third) == both("b")
    assert (third["previousRun"], third["previousSpace"], third["previousLinkRun"]) == ("b", "b", "b")


def test_what_a_run_has_not_written_stays_published():
    version = history(both("a"), links("b"), coordinates("c", index=False) | NO_INDEX)
    assert address(version) == coordinates("c", index=False) | links("b")
    assert previous_of(version) == coordinates("a") | links("b")


# --- while it is published ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "parts", "publishing", "staged"),
    [
        ([], coordinates("b"), ("embedding",), STAGED_COORDINATES),
        ([], links("b"), ("links",), STAGED_LINKS),
        ([both("a")], both("b"), ("embedding", "links"), STAGED_COORDINATES | STAGED_LINKS),
        ([both("a")], coordinates("b"), ("embedding",), STAGED_COORDINATES),
        ([both("a")], coordinates("b", space="a"), ("embedding",), STAGED_COORDINATES),
        ([both("a")], links("b"), ("links",), STAGED_LINKS),
        (
            [both("a")],
            coordinates("b", kind="klein"),
            ("embedding",),
            STAGED_COORDINATES | {"stagedVector": "heatVectorStaged"},
        ),
    ],
)
def test_readers_are_sent_to_staged_names_of_the_parts_that_change_and_of_no_others(
    before, parts, publishing, staged
):
    first = as_read(history(*before))
    version = coming(first, parts)
    assert being_published(version) == publishing
    assert {name: version[name] for name in version.keys() & PUBLISHING} == staged | {
        "publishing": list(publishing),
        "indexWanted": True,
    }
    assert {name: version.get(name) for name in parts} == parts
    assert runs_of(previous_of(version)) == runs_of(first)
    assert coming(first, parts, index=False) == version | {"indexWanted": False}


@pytest.mark.parametrize(
    "change", [lambda v: coming(v, both("c")), lambda v: rolled_back(v, NAMES, index=True)]
)
def test_at_rest_a_version_says_nothing_of_staged_names(change):
    version = change(as_read(history(both("a"), coordinates("b"))))
    rest = settle(as_read(version))
    assert being_published(version)
    assert being_published(rest) == ()
    assert rest == {name: value for name, value in version.items() if name not in PUBLISHING}


def test_at_rest_readers_go_by_the_plain_indexes():
    version = coming(history(both("a")), both("b")) | {"indexes": ["_heatStaged_Paper"], "core": ["b"]}
    rest = at_rest(version, indexed("b"))
    assert address(rest) == both("b")
    assert previous_of(rest) == both("a")
    assert address(at_rest(version, NO_INDEX)) == coordinates("b", index=False) | links("b")


# --- back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "publishing"),
    [
        ([both("a"), both("b")], ("embedding", "links")),
        ([coordinates("a"), both("b")], ("embedding", "links")),
        ([both("a"), links("b")], ("links",)),
        ([both("a"), coordinates("b", space="a")], ("embedding",)),
        ([both("a"), coordinates("b", index=False) | NO_INDEX], ("embedding",)),
    ],
)
def test_to_go_back_twice_is_to_stay(parts, publishing):
    version = history(*parts)
    back = rolled_back(as_read(version), NAMES, index=True)
    assert being_published(back) == publishing
    before = settle(back)
    assert address(before) == previous_of(version) == address(history(*parts[:-1]))
    assert previous_of(before) == address(version)
    assert settle(rolled_back(as_read(before), NAMES, index=True)) == version


def test_a_part_that_was_not_there_before_is_staged_nowhere():
    """Plain names lose it when they are settled; readers by version read none of it from the switch on."""
    back = rolled_back(history(coordinates("a"), links("b")), NAMES, index=True)
    assert being_published(back) == ("links",)
    assert not {"linkRun", "linkType", "stagedLinkType"} & set(back)
    back = rolled_back(history(links("a"), coordinates("b")), NAMES, index=True)
    assert being_published(back) == ("embedding",)
    assert not {"run", "space", "stagedEmbedding", "stagedRun"} & set(back)


# --- indexes -----------------------------------------------------------------------------------------------


def test_an_index_comes_and_goes():
    version = history(both("a"), both("b"))
    without = at_rest(as_read(version), NO_INDEX)
    assert address(without) == coordinates("b", index=False) | links("b")
    assert previous_of(without) == both("a")
    assert at_rest(without, indexed("b")) == version


def test_where_only_links_came_since_the_index_is_that_of_both_versions():
    """The coordinates before are the same ones, so what became of their index holds there too."""
    version = at_rest(history(both("a"), links("b")), NO_INDEX)
    assert previous_of(version) == coordinates("a", index=False) | links("a")
    before = settle(rolled_back(version, NAMES, index=False))
    assert address(before) == coordinates("a", index=False) | links("a")


# --- removing ----------------------------------------------------------------------------------------------


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
    version = as_read(history(both("b"), coordinates("c")))
    left = without_runs(version, runs)
    assert address(left) == now
    assert previous_of(left) == before


@pytest.mark.parametrize(
    ("runs", "now", "before"),
    [
        # Nodes that did not move are the same ones in both versions: with them goes the one before.
        (["b"], links("a"), {}),
        # All nodes that did not move carry the run that trained, so without it there are no coordinates.
        (["a"], {}, {}),
        (["nobody"], coordinates("b", space="a") | links("a"), both("a")),
    ],
)
def test_with_a_local_run_goes_what_shares_its_nodes(runs, now, before):
    left = without_runs(history(both("a"), coordinates("b", space="a")), runs)
    assert address(left) == now
    assert previous_of(left) == before


def test_the_links_of_a_local_run_go_alone():
    version = history(both("a"), coordinates("b", space="a"), links("c"))
    left = without_runs(version, ["c"])
    assert address(left) == coordinates("b", space="a")
    assert previous_of(left) == coordinates("b", space="a") | links("a")


def test_what_is_left_is_not_what_it_would_be_rolled_back_to():
    version = history(coordinates("a"), links("b"))
    assert previous_of(without_runs(version, ["b"])) == {}
    assert address(without_runs(version, ["b"])) == coordinates("a")


def test_the_version_before_can_be_forgotten():
    version = without_previous(as_read(history(both("a"), both("b"))))
    assert address(version) == version == both("b")


def test_a_version_never_changes():
    version = as_read(history(both("a"), coordinates("b")))
    kept = copy.deepcopy(version)
    coming(version, both("c"))
    settle(rolled_back(version, NAMES, index=True))
    at_rest(version, NO_INDEX)
    without_runs(version, ["b"])
    without_previous(version)
    assert version == kept
