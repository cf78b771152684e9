"""Names of a published model's nodes, by captions or by the keys of its run."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.database.runs import RunRecord
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.published_model import PublishedModel, node_names

COLUMNS = {"title": ["Up", None, None, None], "name": [None, "Ann " * 30, None, "Tom"], "code": [1, 2, 3, 4]}
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


def names(caption=None, **projection):
    run = RunRecord("run", "heat", ("embedding",), "complete", projection=projection)
    return node_names(STORE, PublishedModel(run, GRAPH, np.zeros((4, 3))), caption)


def test_each_label_has_its_own_caption():
    ann = ("Ann " * 30)[:39] + "…"
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
