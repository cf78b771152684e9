"""Statements look at nodes of the model's labels only, and leave nothing on nodes that lost theirs."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.reach import EVERYWHERE, labels_met
from heat_neo4j.database.versions import MOST_LABELS, labels_of
from heat_neo4j.graph import Graph
from tests.support.live_graph import make_ring, publish_random, random_links, ring_graph
from tests.support.slow import slow

LABEL, OTHER, N = "RingNode", "ReachOther", 12
NAMES = WriteNames(model="ring test")
STAGED, SETTLED = f"n.`{NAMES.previous.run}` = $before", f"REMOVE n.`{NAMES.staged.embedding}`"
REMOVALS = (f"REMOVE n.`{NAMES.plain.embedding}`", f"REMOVE n.`{NAMES.previous.embedding}`")
FINISHES = (STAGED, SETTLED, "collect(DISTINCT labels(n))")
ONE_NODE = "OPTIONAL MATCH (n) RETURN elementId(n) AS id LIMIT 1"  # of whatever label
VALUES = "MATCH (n) WITH n, [key IN keys(n) WHERE key STARTS WITH 'ringTest'] AS held WHERE size(held) > 0 "
LOSES = f"MATCH (n {{key: 3}}) WHERE n:{LABEL} REMOVE n:{LABEL}"


def version_with(**held):
    return {"run": "a", "nodeLabels": ["A"], "nodeCount": 3} | held


@pytest.mark.parametrize(
    ("versions", "labels"),
    [
        ([version_with()], ("A",)),
        ([version_with(), {}, version_with(nodeLabels=["B", "A"])], ("A", "B")),
        ([], EVERYWHERE),
        ([version_with(), {"run": "b"}], EVERYWHERE),
        ([version_with(nodeLabels=[])], EVERYWHERE),
        ([version_with(nodeLabels=7)], EVERYWHERE),
        ([version_with(nodeLabels=["A", 7])], EVERYWHERE),
        ([version_with(nodeLabels=["A\\u0060) DETACH DELETE n //"])], EVERYWHERE),
        ([version_with(nodeCount="many")], EVERYWHERE),
        ([version_with(nodeLabels=[f"L{i}" for i in range(MOST_LABELS + 1)])], EVERYWHERE),
    ],
)
def test_labels_that_a_version_cannot_have_recorded_are_not_believed(versions, labels):
    assert labels_of(*versions) == labels


@pytest.mark.parametrize(
    ("masks", "chosen", "labels"),
    [
        ({"B": [1, 0], "A": [0, 1]}, [], ("A", "B")),
        ({"B": [1, 0], "A": [1, 0]}, [], EVERYWHERE),  # one node has no label
        ({}, [], EVERYWHERE),
        ({"A": [1, 1], "B": [1, 1]}, ["B"], ("B",)),
        ({f"L{i}": [1, 1] for i in range(MOST_LABELS + 1)}, [], EVERYWHERE),
    ],
)
def test_labels_of_a_graph_are_those_it_was_read_by_or_met(masks, chosen, labels):
    masks = {label: np.array(mask, dtype=bool) for label, mask in masks.items()}
    graph = Graph(sparse.csr_array((2, 2)), labels=masks)
    assert labels_met(graph, chosen) == labels


@pytest.fixture
def ring(cypher, store):
    make_ring(cypher, LABEL, N)
    cypher(f"UNWIND range(0, 2000) AS i CREATE (:{OTHER} {{key: -i}})")
    yield ring_graph(cypher, LABEL)
    store.tracer = None
    store.clear(model=NAMES.model)
    cypher(f"MATCH (n:{LABEL}|{OTHER}|NoMore) DETACH DELETE n")
    cypher("MATCH (n {key: 3}) WHERE size(labels(n)) = 0 DETACH DELETE n")


publish = partial(publish_random, names=NAMES)


def publish_all_kinds(store, graph):
    publish(store, graph, 0)
    publish(store, graph, 1)
    publish(store, graph, 2, changed=np.arange(graph.n_nodes) < 4)
    store.rollback(NAMES.model)
    store.neighbours(graph.node_ids[0], model=NAMES.model, exact=True)


def operators(plan):
    below = [each for child in plan.get("children", ()) for each in operators(child)]
    return [plan["operatorType"].split("@")[0], *below]


@contextmanager
def traced(store):
    """Collect the statements that a store sends."""
    sent = {}
    store.tracer = sent.setdefault
    yield sent
    store.tracer = None


def scanning(cypher, server, statements):
    """Return the statements that look at all nodes of the database."""
    statements = [each for each in statements if ONE_NODE not in each]
    with cypher.driver.session(database=server.database) as session:
        plans = {each: session.run(f"EXPLAIN {each}").consume().plan for each in statements}
    return [statement for statement, plan in plans.items() if "AllNodesScan" in operators(plan)]


@pytest.mark.live
@pytest.mark.one_release
def test_no_statement_of_a_publication_or_a_reader_looks_at_all_nodes(store, cypher, server, ring):
    with traced(store) as sent:
        publish_all_kinds(store, ring)
    assert len(sent) > 25
    assert scanning(cypher, server, sent) == []


def read_by_label(store, graph):
    projection = Projection([LABEL], ["NEXT"], weight="weight", attributes=["tags"], key="key")
    read = store.read_graph(projection)
    store.read_embedding(read, NAMES.model)
    store.read_stored(read, NAMES.model)
    store.read_links(read, NAMES.model)


def write_links(store, graph):
    store.write_links(graph, random_links(N, 3), names=NAMES)


class StoppedError(Exception):
    """Ends a writer in the place of a kill."""


def stop_half_published(store, graph):
    """Publish until the first batch is to be moved to its plain names, and stop there."""

    def stop():
        raise StoppedError

    at(store, SETTLED, stop)
    with pytest.raises(StoppedError):
        publish(store, graph, 3)
    store.tracer = None


WORKS = {
    "reading": (read_by_label, ()),
    "links alone": (write_links, ()),
    "prune": (lambda store, graph: store.prune(NAMES.model), ()),
    # These three find what is on nodes that have lost their labels, too.
    "prune of the version before": (lambda store, graph: store.prune(NAMES.model, previous=True), REMOVALS),
    "clear": (lambda store, graph: store.clear(model=NAMES.model), REMOVALS),
    "take-over": (lambda store, graph: publish(store, graph, 4), FINISHES),
}


@pytest.mark.live
@pytest.mark.one_release
@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
def test_only_removals_and_take_overs_look_at_all_nodes(store, cypher, server, ring, name):
    work, exceptions = WORKS[name]
    publish(store, ring, 0)
    publish(store, ring, 1)
    if name == "take-over":
        stop_half_published(store, ring)
    with traced(store) as sent:
        work(store, ring)
    assert sent
    found = scanning(cypher, server, sent)
    assert bool(found) == bool(exceptions)
    assert [each for each in found if not any(words in each for words in exceptions)] == []


def at(store, words, act):
    """Act before the first statement that holds some words."""
    acted = []

    def trace(statement, parameters):
        if words in statement and not acted:
            acted.append(True)
            act()

    store.tracer = trace
    return acted


@pytest.mark.live
@pytest.mark.one_release
@pytest.mark.parametrize(
    ("kind", "moment", "becomes"),
    [
        ("full", "before", f"SET n:{OTHER}"),
        slow("full", "before", ""),
        slow("full", "while staged", f"SET n:{OTHER}"),
        slow("full", "while staged", ""),
        slow("full", "while unstaged", "SET n:NoMore"),
        slow("local", "before", "SET n:NoMore"),
        slow("local", "before", ""),
        ("local", "while staged", ""),
        slow("local", "while unstaged", f"SET n:{OTHER}"),
        slow("rollback", "before", ""),
        slow("rollback", "while staged", "SET n:NoMore"),
        slow("rollback", "while unstaged", ""),
    ],
)
def test_nothing_is_left_on_a_node_that_loses_its_label(store, cypher, ring, kind, moment, becomes):
    publish(store, ring, 0)
    publish(store, ring, 1)
    (published,) = cypher(f"MATCH (n {{key: 3}}) WHERE n:{LABEL} RETURN elementId(n) AS id")

    def lose():
        cypher(f"{LOSES} {becomes}")

    if moment == "before":
        lose()
    else:
        acted = at(store, {"while staged": STAGED, "while unstaged": SETTLED}[moment], lose)
    now = ring if moment != "before" else ring_graph(cypher, LABEL)
    if kind == "rollback":
        store.rollback(NAMES.model)
    else:
        publish(store, now, 2, changed=None if kind == "full" else np.arange(now.n_nodes) < 6)
    store.tracer = None
    assert moment == "before" or acted
    held = {row["id"]: set(row["held"]) for row in cypher(VALUES + "RETURN elementId(n) AS id, held")}
    assert not any(key in keys for keys in held.values() for key in NAMES.staged)
    spaces = {row["space"] for row in cypher(f"MATCH (n) RETURN DISTINCT n.`{NAMES.run}` AS space")}
    assert spaces <= {None, store.bookkeeping().published(NAMES.model)["space"]}
    if moment == "before" and kind != "rollback":
        assert NAMES.run not in held[published["id"]]  # it has left the projection
        assert NAMES.previous.run in held[published["id"]]
        store.rollback(NAMES.model)
        held = {row["id"]: set(row["held"]) for row in cypher(VALUES + "RETURN elementId(n) AS id, held")}
        assert NAMES.run in held[published["id"]]  # all of the version before is back
    store.clear(model=NAMES.model)
    assert cypher(VALUES + "RETURN held") == []


@pytest.mark.live
@pytest.mark.one_release
def test_a_rollback_finds_a_node_that_loses_its_labels_after_it_has_left(store, cypher, ring):
    publish(store, ring, 0)
    before = cypher(VALUES + "RETURN n.key AS key, properties(n) AS properties ORDER BY key")
    cypher(f"{LOSES} SET n:{OTHER}")
    publish(store, ring_graph(cypher, LABEL), 1)
    cypher(f"MATCH (n:{OTHER} {{key: 3}}) REMOVE n:{OTHER} SET n:NoMore")
    store.rollback(NAMES.model)
    store.prune(NAMES.model, previous=True)
    assert cypher(VALUES + "RETURN n.key AS key, properties(n) AS properties ORDER BY key") == before


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.one_release
def test_values_of_others_on_other_labels_stay(store, cypher, ring):
    mine = {
        NAMES.run: "mine",
        NAMES.staged.run: "mine",
        NAMES.previous.run: "mine",
        NAMES.plain.embedding: [1.0],
    }
    cypher(f"MATCH (n:{OTHER} {{key: 0}}) SET n += $mine", mine=mine)
    publish_all_kinds(store, ring)
    cypher(f"{LOSES} SET n:{OTHER}")
    publish(store, ring_graph(cypher, LABEL), 3)
    store.clear(model=NAMES.model)
    (kept,) = cypher(VALUES + "RETURN properties(n) AS properties")
    assert json.loads(json.dumps(kept["properties"])) == mine | {"key": 0}
