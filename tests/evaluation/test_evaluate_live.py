"""``heat evaluate`` and `read_property` on a live server, which both leave as it is."""

from __future__ import annotations

import json
from functools import partial

import pytest

from heat_neo4j.client import Database
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.projection import Projection
from heat_neo4j.errors import ProjectionError
from heat_neo4j.evaluation import evaluate_links
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.support.commands import invoker
from tests.support.live_graph import open_cypher, snapshot

pytestmark = pytest.mark.live

LABEL, TYPE = "EvaluateNode", "EVALUATE_LINK"
PROJECTION = Projection([LABEL], [TYPE], key="key", time="since")
QUICK = ("--n-components", "2", "--walks-per-node", "2", "--walk-length", "8", "--n-threads", "1")
NAMES = ("--label", LABEL, "--relationship", TYPE, "--key", "key")


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        run(
            f"UNWIND range(0, 59) AS i CREATE (n:{LABEL} {{key: i, field: ['a', 'b', 'c'][i % 3], "
            "topics: CASE WHEN i % 2 = 0 THEN ['x', 'y'] ELSE ['z'] END})"
        )
        run(f"MATCH (n:{LABEL}) WHERE n.key % 4 = 0 SET n:EvaluateSpecial")
        run(f"MATCH (n:{LABEL} {{key: 7}}) REMOVE n.field")
        run(
            f"MATCH (a:{LABEL}) MATCH (b:{LABEL}) WHERE (b.key - a.key + 60) % 60 IN [3, 6, 10] "
            f"CREATE (a)-[:{TYPE} {{since: date('2024-01-01') + duration({{days: a.key + b.key}})}}]->(b)"
        )
        yield run
        run(f"MATCH (n:{LABEL}) DETACH DELETE n")


@pytest.fixture
def invoke(server):
    return partial(invoker(server), "evaluate")


def test_links_are_evaluated_on_the_graph_that_is_there_and_nothing_is_written(invoke, cypher, store):
    before = snapshot(cypher)
    document = json.loads(invoke("links", *NAMES, *QUICK, "--seeds", "2", "--no-baselines", "--json").stdout)
    assert snapshot(cypher) == before
    model = HEAT(2, walks_per_node=2, walk_length=8)
    graph, pattern = store.read_graph(PROJECTION), f"{LABEL}-{TYPE}->{LABEL}"
    found = evaluate_links(graph, model, seeds=(0, 1), methods={}, score="distance")
    row = document["methods"][0]
    assert row["pattern"] == pattern
    for name, figure in found.row("HEAT", pattern=pattern).figures.items():
        assert row["metrics"][name]["values"] == list(figure.values)
    options = {"seeds": (0, 1), "baselines": False, "score": "distance"}
    same = Database(store).evaluate_links(PROJECTION, model, **options)
    assert same.row("HEAT", pattern=pattern).figures == found.row("HEAT", pattern=pattern).figures


def test_a_published_model_is_evaluated_with_its_settings(server, invoke, cypher):
    heat, name = invoker(server), ("--model", "evaluated")
    pattern, asked = f"{LABEL}-{TYPE}->{LABEL}", ("links", "--no-baselines", "--score", "distance", "--json")
    try:
        heat("embed", *NAMES, *QUICK, *name, "--predict", pattern, "--score", "distance", "--no-index")
        before = snapshot(cypher)
        found = json.loads(invoke(*asked, *name).stdout)
        own = json.loads(invoke(*asked, *NAMES, *QUICK, "--predict", pattern).stdout)
        other = json.loads(invoke(*asked, *name, "--n-components", "3").stdout)
        assert snapshot(cypher) == before
        for document in (found, own, other):
            document["methods"] = [row["metrics"] for row in document["methods"]]
        assert found == own
        assert other["settings"] == {**own["settings"], "n_components": 3}
        wrong = invoke("links", "--model", "evaluates", code=4).stderr
        assert "did you mean 'evaluated'" in wrong
    finally:
        heat("clear", *name, "--yes")


def test_the_latest_relationships_are_held_out(invoke, cypher):
    more = ("--time", "since", "--split", "time", "--seeds", "1", "--no-baselines")
    assert "the latest edges are held out, from 2024-0" in invoke("links", *NAMES, *QUICK, *more).stdout
    result = invoke("links", *NAMES, *QUICK, "--split", "time", code=4)
    assert result.stderr.splitlines()[-1].startswith("heat: --split time needs times")


def test_a_property_is_read_as_it_is_in_the_order_of_the_rows(cypher, store, monkeypatch):
    store.limits = Limits(nodes=7)
    graph = store.read_graph(PROJECTION)
    assert store.read_property(graph, "key") == list(range(60))
    fields = store.read_property(graph, "field")
    assert fields == ["abc"[key % 3] if key != 7 else None for key in range(60)]
    assert store.read_property(graph, "topics")[:2] == [["x", "y"], ["z"]]
    cypher(f"MATCH (n:{LABEL} {{key: 9}}) SET n.`odd ``name\"` = date('2024-02-03')")
    assert str(store.read_property(graph, 'odd `name"')[9]) == "2024-02-03"


def test_a_property_that_cannot_be_read_is_one_line(cypher, store):
    graph = store.read_graph(PROJECTION)
    with pytest.raises(ProjectionError, match=r"no node of the projection has a property 'feild': did you"):
        store.read_property(graph, "feild")
    cypher(f"MATCH (n:{LABEL}) WHERE n.key IN [3, 5] DETACH DELETE n")
    with pytest.raises(ProjectionError, match="2 of 60 nodes were deleted since the graph was read"):
        store.read_property(graph, "key")
    with pytest.raises(ValueError, match="was not read from a database"):
        store.read_property(Graph(graph.adjacency), "key")
