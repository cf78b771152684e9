"""Names of what is written: derived from the model, in three slots, safe to quote."""

import pytest

from heat_neo4j.database.naming import SLOTS, SlotNames, WriteNames


def test_the_default_names():
    names = WriteNames()
    assert (names.model, names.embedding, names.radius, names.run, names.link_type) == (
        "heat",
        "heatEmbedding",
        "heatRadius",
        "heatRun",
        "HEAT_PREDICTED",
    )


@pytest.mark.parametrize(
    ("model", "embedding", "link_type"),
    [
        ("papers", "papersEmbedding", "PAPERS_PREDICTED"),
        ("open papers", "openPapersEmbedding", "OPEN_PAPERS_PREDICTED"),
        ("open-papers_2024", "openPapers2024Embedding", "OPEN_PAPERS_2024_PREDICTED"),
        ("openPapers", "openPapersEmbedding", "OPEN_PAPERS_PREDICTED"),
        ("PPI", "ppiEmbedding", "PPI_PREDICTED"),
        ("straße", "straßeEmbedding", "STRASSE_PREDICTED"),
        ("論文", "論文Embedding", "論文_PREDICTED"),
        ("`; DROP", "dropEmbedding", "DROP_PREDICTED"),
        ("!!!", "heatEmbedding", "HEAT_PREDICTED"),
    ],
)
def test_names_follow_the_model(model, embedding, link_type):
    names = WriteNames(model=model)
    assert (names.model, names.embedding, names.link_type) == (model, embedding, link_type)


def test_given_names_are_taken_as_they_are():
    names = WriteNames(model="m", embedding="a `b`", radius="r", run="w", link_type="Maybe")
    assert names.slot(1) == SlotNames("a `b`1", "r1", "w1", "mVector1")
    assert names.link_type == "Maybe"


def test_slots_share_no_property():
    names = WriteNames(model="m")
    assert set(names.slot(1)).isdisjoint(names.slot(2))
    assert names.properties == names.slot(1) + names.slot(2) + names.slot(3)
    assert SLOTS == (1, 2, 3)


@pytest.mark.parametrize("slot", [0, 4, None, "1"])
def test_there_are_three_slots(slot):
    with pytest.raises(ValueError, match="a slot is 1, 2 or 3"):
        WriteNames().slot(slot)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"model": ""}, ValueError, "model: "),
        ({"model": None}, TypeError, "model: "),
        ({"model": "a\0b"}, ValueError, "model: "),
        ({"embedding": "a\0b"}, ValueError, "embedding: "),
        ({"radius": 3}, TypeError, "radius: "),
        ({"link_type": "a\\u0060b"}, ValueError, "link_type: "),
        ({"embedding": "same", "radius": "same"}, ValueError, "must differ"),
        ({"embedding": "a", "radius": "b", "run": "b"}, ValueError, "must differ"),
    ],
)
def test_bad_names_are_refused_by_name(arguments, kind, message):
    with pytest.raises(kind, match=message):
        WriteNames(**arguments)
