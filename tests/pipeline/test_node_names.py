"""Names of a published model's nodes, by captions or by the keys of its run."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.patterns import Pattern
from heat_neo4j.pipeline import driver
from heat_neo4j.pipeline.driver import LinkExample
from heat_neo4j.pipeline.published_model import PublishedModel, names_of_rows, node_names

COLUMNS = {
    "title": ["Up", None, None, None],
    "name": [None, "Ann " * 80, None, "Tom"],
    "code": [1, 2, 3, 4],
    "kind": ["film", "actor", "film", None],
}
STORE = SimpleNamespace(read_property=lambda graph, name: COLUMNS[name])
GRAPH = Graph(
    sparse.csr_array((4, 4)),
    node_ids=[f"4:59cf:{4750 + row}" for row in range(4)],
    labels={
        "Entity": np.ones(4, bool),
        "Movie": np.array([True, False, True, False]),
        "Person": np.array([False, True, False, True]),
    },
)


def names(caption=None, *, with_keys=False, **projection):
    run = RunRecord("run", "heat", ("embedding",), "complete", projection=projection)
    return node_names(STORE, PublishedModel(run, GRAPH, np.zeros((4, 3))), caption, with_keys=with_keys)


def test_each_label_has_its_own_caption():
    ann = ("Ann " * 80)[:239] + "…"
    assert names({"Movie": "title", "Person": "name"}) == ["Up", ann, "Entity 4752", "Tom"]
    assert names({"Movie": "title", "": "code"}, labels=["Movie", "Person"]) == ["Up", "2", "Movie 4752", "4"]
    assert names("title", labels=["Person"])[1:] == ["Person 4751", "Entity 4752", "Person 4753"]


def test_captions_are_the_keys_of_the_run_unless_given():
    assert names(key="code") == ["1", "2", "3", "4"]
    assert names(key={"Movie": "code"}, labels=["Movie", "Person"]) == [
        "1",
        "Person 4751",
        "3",
        "Person 4753",
    ]
    assert names(key={"Nobody": "code"}) == [f"Entity {4750 + row}" for row in range(4)]
    assert names({"Person": "name"}, key="code")[3] == "Tom"
    assert names() == [f"Entity {4750 + row}" for row in range(4)]


def test_captions_that_several_nodes_share_have_the_key_where_they_are_listed():
    assert names("kind", key="code", with_keys=True) == ["film (1)", "actor", "film (3)", "4"]
    assert names("kind", key="code") == ["film", "actor", "film", "4"]
    assert names("kind", with_keys=True)[::2] == ["film", "film"]


def properties_of(ids, keys, asked=None):
    """Return the named properties of some nodes; the third is gone."""
    if asked is not None:
        asked.extend(ids)
    rows = [row for row in map(GRAPH.node_ids.index, ids) if row != 2]
    return {GRAPH.node_ids[row]: {name: COLUMNS[name][row] for name in keys} for row in rows}


@pytest.mark.parametrize(
    "projection",
    [{"key": "code"}, {"key": {"Movie": "title", "Person": "name"}, "labels": ["Movie", "Person"]}, {}],
)
def test_some_nodes_are_named_as_all_are(projection):
    asked = []
    store = SimpleNamespace(properties_of=lambda ids, keys: properties_of(ids, keys, asked))
    every, rows = names(**projection), [3, 1]
    assert names_of_rows(store, GRAPH, Projection(**projection), rows) == {row: every[row] for row in rows}
    assert asked in ([], [GRAPH.node_ids[row] for row in rows])
    (gone,) = names_of_rows(store, GRAPH, Projection(**projection), [2]).values()
    assert gone.endswith(" 4752")


def test_examples_are_the_likeliest_links_of_the_patterns_with_most():
    few, many = Pattern("Person", "R", "Movie"), Pattern("Person", "S", "Movie")
    links = PredictedLinks(
        source=np.array([1, 3, 3, 1, 1, 3]),
        target=np.array([0, 0, 2, 2, 0, 0]),
        distance=np.arange(6.0),
        probability=np.linspace(0.9, 0.4, 6),
        patterns=(few, many),
        pattern=np.array([1, 1, 0, 1, 1, 0]),
    )
    work = SimpleNamespace(
        session=SimpleNamespace(store=SimpleNamespace(properties_of=properties_of)),
        state=SimpleNamespace(graph=GRAPH),
        job=SimpleNamespace(projection=Projection(key="code")),
    )
    found = driver._examples(work, links)
    assert list(found) == [str(many), str(few)]
    assert found[str(many)] == [
        LinkExample("2", "S", "1", 0.9, 0.0),
        LinkExample("4", "S", "1", pytest.approx(0.8), 1.0),
        LinkExample("2", "S", "Entity 4752", pytest.approx(0.6), 3.0),
    ]
    assert [each.type for each in found[str(few)]] == ["R", "R"]
    assert driver._examples(work, PredictedLinks(*(np.array([0, 1]),) * 3)) == {}


@pytest.mark.parametrize(
    ("caption", "complaint"),
    [
        ({"Moive": "title"}, "no node of the projection has the label 'Moive': did you mean 'Movie'?"),
        ({"Zebra": "title"}, "the label 'Zebra': there are Entity, Movie, Person"),
        ({"Person": "title"}, "no node of label 'Person' has the property 'title' to be named by"),
    ],
)
def test_a_caption_that_names_nothing_is_told(caption, complaint):
    with pytest.raises(ProjectionError) as caught:
        names(caption)
    assert complaint in str(caught.value)
