"""What a version sends readers to, and what each change makes of it; no function alters what it is given."""

import copy
import datetime

import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.versions import (
    at_rest,
    being_published,
    checked,
    previous_of,
    published,
    rolled_back,
    runs_of,
    without_previous,
    without_runs,
)

NAMES = WriteNames()
A, B, C = (f"20261127T000000Z-{number:012x}" for number in range(3))
"""Ids of runs."""
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
    assert without_previous({}) == without_runs({}, [A]) == at_rest({}, NO_INDEX) == {}


def test_a_first_version_has_none_before_it():
    first = history(both(A))
    assert first == both(A)
    assert previous_of(first) == {}


def test_the_version_before_is_remembered_and_not_the_one_before_that():
    third = history(both(A), both(B), both(C))
    assert address(third) == both(C)
    assert previous_of(third) == both(B)
    assert (third["previousRun"], third["previousSpace"], third["previousLinkRun"]) == (B, B, B)


def test_what_a_run_has_not_written_stays_published():
    version = history(both(A), links(B), coordinates(C, index=False) | NO_INDEX)
    assert address(version) == coordinates(C, index=False) | links(B)
    assert previous_of(version) == coordinates(A) | links(B)


# --- while it is published ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "parts", "publishing", "staged"),
    [
        ([], coordinates(B), ("embedding",), STAGED_COORDINATES),
        ([], links(B), ("links",), STAGED_LINKS),
        ([both(A)], both(B), ("embedding", "links"), STAGED_COORDINATES | STAGED_LINKS),
        ([both(A)], coordinates(B), ("embedding",), STAGED_COORDINATES),
        ([both(A)], coordinates(B, space=A), ("embedding",), STAGED_COORDINATES),
        ([both(A)], links(B), ("links",), STAGED_LINKS),
        (
            [both(A)],
            coordinates(B, kind="klein"),
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
    "change", [lambda v: coming(v, both(C)), lambda v: rolled_back(v, NAMES, index=True)]
)
def test_at_rest_a_version_says_nothing_of_staged_names(change):
    version = change(as_read(history(both(A), coordinates(B))))
    rest = settle(as_read(version))
    assert being_published(version)
    assert being_published(rest) == ()
    assert rest == {name: value for name, value in version.items() if name not in PUBLISHING}


def test_at_rest_readers_go_by_the_plain_indexes():
    version = coming(history(both(A)), both(B)) | {"indexes": ["_heatStaged_Paper"], "core": [B]}
    rest = at_rest(version, indexed(B))
    assert address(rest) == both(B)
    assert previous_of(rest) == both(A)
    assert address(at_rest(version, NO_INDEX)) == coordinates(B, index=False) | links(B)


# --- back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "publishing"),
    [
        ([both(A), both(B)], ("embedding", "links")),
        ([coordinates(A), both(B)], ("embedding", "links")),
        ([both(A), links(B)], ("links",)),
        ([both(A), coordinates(B, space=A)], ("embedding",)),
        ([both(A), coordinates(B, index=False) | NO_INDEX], ("embedding",)),
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
    back = rolled_back(history(coordinates(A), links(B)), NAMES, index=True)
    assert being_published(back) == ("links",)
    assert not {"linkRun", "linkType", "stagedLinkType"} & set(back)
    back = rolled_back(history(links(A), coordinates(B)), NAMES, index=True)
    assert being_published(back) == ("embedding",)
    assert not {"run", "space", "stagedEmbedding", "stagedRun"} & set(back)


# --- indexes -----------------------------------------------------------------------------------------------


def test_an_index_comes_and_goes():
    version = history(both(A), both(B))
    without = at_rest(as_read(version), NO_INDEX)
    assert address(without) == coordinates(B, index=False) | links(B)
    assert previous_of(without) == both(A)
    assert at_rest(without, indexed(B)) == version


def test_where_only_links_came_since_the_index_is_that_of_both_versions():
    """The coordinates before are the same ones, so what became of their index holds there too."""
    version = at_rest(history(both(A), links(B)), NO_INDEX)
    assert previous_of(version) == coordinates(A, index=False) | links(A)
    before = settle(rolled_back(version, NAMES, index=False))
    assert address(before) == coordinates(A, index=False) | links(A)


# --- removing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "now", "before"),
    [
        (["nobody"], coordinates(C) | links(B), both(B)),
        ([C], links(B), both(B)),
        ([B], coordinates(C), {}),
        ([B, C], {}, {}),
    ],
)
def test_what_a_run_wrote_goes_and_with_it_what_needs_it(runs, now, before):
    version = as_read(history(both(B), coordinates(C)))
    left = without_runs(version, runs)
    assert address(left) == now
    assert previous_of(left) == before


@pytest.mark.parametrize(
    ("runs", "now", "before"),
    [
        # Nodes that did not move are the same ones in both versions: with them goes the one before.
        ([B], links(A), {}),
        # All nodes that did not move carry the run that trained, so without it there are no coordinates.
        ([A], {}, {}),
        (["nobody"], coordinates(B, space=A) | links(A), both(A)),
    ],
)
def test_with_a_local_run_goes_what_shares_its_nodes(runs, now, before):
    left = without_runs(history(both(A), coordinates(B, space=A)), runs)
    assert address(left) == now
    assert previous_of(left) == before


def test_the_links_of_a_local_run_go_alone():
    version = history(both(A), coordinates(B, space=A), links(C))
    left = without_runs(version, [C])
    assert address(left) == coordinates(B, space=A)
    assert previous_of(left) == coordinates(B, space=A) | links(A)


def test_what_is_left_is_not_what_it_would_be_rolled_back_to():
    version = history(coordinates(A), links(B))
    assert previous_of(without_runs(version, [B])) == {}
    assert address(without_runs(version, [B])) == coordinates(A)


def test_the_version_before_can_be_forgotten():
    version = without_previous(as_read(history(both(A), both(B))))
    assert address(version) == version == both(B)


# --- damage ------------------------------------------------------------------------------------------------

BEING_PUBLISHED = {"publishing": ["embedding", "links"], "indexWanted": True}
WHOLE = both(A) | BEING_PUBLISHED | STAGED_COORDINATES | STAGED_LINKS


def test_a_version_that_a_run_wrote_is_whole():
    for version in ({}, both(A), links(A), coordinates(A, index=False), WHOLE):
        assert checked(version) == (version, ())


@pytest.mark.parametrize("absent", [True, False])
@pytest.mark.parametrize(
    ("name", "left"),
    [
        *dict.fromkeys(coordinates(A, index=False), links(A) | STAGED_LINKS).items(),
        *dict.fromkeys(links(A), coordinates(A) | STAGED_COORDINATES).items(),
    ],
)
def test_without_a_property_that_readers_need_its_part_is_gone(name, left, absent):
    version = {key: value for key, value in WHOLE.items() if key != name}
    if not absent:
        version[name] = None
    sound, damaged = checked(version)
    assert sound == left | BEING_PUBLISHED
    assert damaged == (name,)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("coordinates", ["x" * 10**6, 10**30, ["poincare"], ""]),
        ("run", [[A], "", 7, "a run", f"{A}\n"]),
        ("space", [False, [A]]),
        ("radiusProperty", [3, float("nan"), "", "a\0b"]),
        ("dimension", [2**63 - 1, True, 3.0, 0, "3"]),
        ("linkRun", [[A], 7, "x" * 10**6]),
        ("linkType", [3, ["HEAT_PREDICTED"]]),
        ("indexes", [float("nan"), [1, 2], "heat_Paper", [""]]),
        ("core", [[1, 2], "a"]),
        ("nodeLabels", [b"\0", [1.5], "Paper", datetime.date(2026, 1, 1)]),
        ("nodeCount", [float("nan"), True, "3"]),
        ("upwardTypes", ["PART_OF", [1]]),
        ("publishing", [["nodes"], "links", True]),
        ("indexWanted", ["yes", 1]),
        ("stagedRadius", [3, ""]),
        ("stagedLinkType", [3.5]),
    ],
)
def test_a_value_that_no_run_writes_is_left_out_and_named(name, values):
    without = {key: value for key, value in WHOLE.items() if key != name}
    sound, _ = checked(without)
    for value in values:
        assert checked({**WHOLE, name: value}) == (sound, (name,)), value


def test_a_version_never_changes():
    version = as_read(history(both(A), coordinates(B)))
    kept = copy.deepcopy(version)
    coming(version, both(C))
    settle(rolled_back(version, NAMES, index=True))
    at_rest(version, NO_INDEX)
    without_runs(version, [B])
    without_previous(version)
    assert version == kept
