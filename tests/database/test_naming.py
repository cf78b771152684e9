"""Names of what is written: derived from the model, for three copies that share none, safe to quote."""

from itertools import chain, combinations

import pytest

from heat_neo4j.database.naming import LinkTypes, PropertyNames, WriteNames


def test_the_default_names():
    names = WriteNames()
    assert (names.model, *names.plain[:3], names.link_type) == (
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
    assert (names.model, names.plain.embedding, names.link_type) == (model, embedding, link_type)


def test_copies_end_in_their_names():
    names = WriteNames(model="m")
    assert names.plain == PropertyNames("mEmbedding", "mRadius", "mRun", "mVector")
    assert names.staged == PropertyNames("mEmbeddingStaged", "mRadiusStaged", "mRunStaged", "mVectorStaged")
    assert names.previous.radius == "mRadiusPrevious"
    assert names.links == LinkTypes("M_PREDICTED", "M_PREDICTED_STAGED", "M_PREDICTED_PREVIOUS")


def test_what_is_published_has_the_plain_names():
    names = WriteNames()
    assert names.plain == ("heatEmbedding", "heatRadius", "heatRun", "heatVector")
    assert names.links.plain == names.link_type == "HEAT_PREDICTED"
    assert names.index_of("Paper") == "heat_Paper"
    assert names.staged_index_of("Paper") == "_heatStaged_Paper"
    assert WriteNames(model="open papers").index_of("a b") == "openPapers_a b"


@pytest.mark.parametrize("model", ["heat staged", "heatStaged", "_heat staged", "_heatStaged"])
def test_no_model_publishes_under_the_name_of_a_staged_index(model):
    assert WriteNames(model=model).index_of("Paper") != WriteNames().staged_index_of("Paper")


def test_copies_share_no_name():
    names = WriteNames(model="m")
    copies = names.plain, names.staged, names.previous
    assert names.properties == tuple(chain(*copies))
    assert all(set(one).isdisjoint(other) for one, other in combinations(copies, 2))
    assert len(set(names.links)) == 3
    assert names.index_of("A") != names.staged_index_of("A")


@pytest.mark.parametrize(
    ("coordinates", "indexed"),
    [("poincare", "heatEmbedding"), ("hyperboloid", "heatVector"), ("klein", "heatVector")],
)
def test_an_index_is_over_points_of_the_poincare_ball(coordinates, indexed):
    assert WriteNames().plain.indexed(coordinates) == indexed
    assert WriteNames().staged.indexed(coordinates) == f"{indexed}Staged"


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"model": ""}, ValueError, "model: "),
        ({"model": None}, TypeError, "model: "),
        ({"model": "a\0b"}, ValueError, "model: "),
        ({"values": ("heatProbability", "password")}, ValueError, "writes no values"),
        ({"values": ("heat", "heat")}, ValueError, "writes no values"),
    ],
)
def test_bad_names_are_refused_by_name(arguments, kind, message):
    with pytest.raises(kind, match=message):
        WriteNames(**arguments)
