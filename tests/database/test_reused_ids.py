"""Neo4j gives the element ids of deleted nodes to new ones, which never get values of the former nodes."""

import time

import numpy as np
import pytest

from heat_neo4j.cli.report import describe
from heat_neo4j.database.keys import NodeKeys
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.element_ids import StoredKeys
from heat_neo4j.database.write.payload import check_coordinates
from tests.support.live_graph import before_first, make_ring, random_links, random_points
from tests.support.slow import slow

pytestmark = pytest.mark.live

N, LABEL = 40, "RingNode"
NAMES = WriteNames(model="ring test")
REPLACED = (0, 7, 21)


@pytest.fixture
def ring(cypher, store):
    make_ring(cypher, LABEL, N)
    yield
    store.clear(model=NAMES.model)
    cypher(f"MATCH (n:`{LABEL}`) DETACH DELETE n")


def replace_nodes(cypher, graph):
    """Make other nodes of some rows, as if these had been deleted and others had got their element ids."""
    ids = [graph.node_ids[row] for row in REPLACED]
    cypher("MATCH (n)-[r]-() WHERE elementId(n) IN $ids DELETE r", ids=ids)
    cypher("MATCH (n) WHERE elementId(n) IN $ids SET n = {key: 1000 + n.key}", ids=ids)


def reuse_ids(cypher, graph):
    """Delete the nodes of some rows and create others until Neo4j gives one of these an id of theirs."""
    ids = {graph.node_ids[row] for row in REPLACED}
    cypher("MATCH (n) WHERE elementId(n) IN $ids DETACH DELETE n", ids=list(ids))
    create = "UNWIND range(1, 1000) AS i CREATE (n:Filler) RETURN elementId(n) AS id"
    join = f"SET n:`{LABEL}`, n.key = 1000 + toInteger(split(elementId(n), ':')[2]) REMOVE n:Filler"
    try:
        for _ in range(60):  # other tests have freed ids, too
            if given := ids & {row["id"] for row in cypher(create)}:
                cypher(f"MATCH (n:Filler) WHERE elementId(n) IN $ids {join}", ids=list(given))
                return
            time.sleep(0.5)
    finally:
        cypher("MATCH (n:Filler) DELETE n")
    raise AssertionError("the server gives no id again")


def read(store, key):
    return store.read_graph(Projection([LABEL], ["NEXT"], key=key))


def write(store, graph):
    with store.start_run(graph, parts=["embedding", "links"], names=NAMES) as run:
        run.write_embedding(random_points(N, 0))
        run.write_links(random_links(N, 0))
        run.publish()


def rows_at_replaced(links):
    return int((np.isin(links.source, REPLACED) | np.isin(links.target, REPLACED)).sum())


def ours_on_replaced(cypher):
    """Return all that new nodes have got: properties other than their own, and relationships."""
    rows = cypher(
        f"MATCH (n:`{LABEL}`) WHERE n.key >= 1000 OPTIONAL MATCH (n)-[r]-() "
        "RETURN [k IN keys(n) WHERE k <> 'key'] AS properties, type(r) AS type"
    )
    return [found for row in rows for found in (*row["properties"], row["type"]) if found is not None]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("first", None),
        slow("first", "key"),
        ("full", "key"),
        slow("full", None),
        ("local", None),
        slow("local", "key"),
        ("links", "key"),
        slow("links", None),
    ],
)
def test_a_new_node_gets_nothing_of_the_one_that_had_its_id(cypher, store, ring, key, kind):
    links, points = random_links(N, 1), random_points(N, 1)
    if kind != "first":
        write(store, read(store, key))
    graph = read(store, key)
    stored = None if kind == "first" else store.read_stored(graph, NAMES.model)
    replace_nodes(cypher, graph)
    parts = ["links"] if kind == "links" else ["embedding", "links"]
    with store.start_run(graph, parts=parts, names=NAMES) as run:
        if kind == "local":
            changed = np.arange(N) % 7 == 0
            kept = type(stored)(stored.run, stored.kind, stored.values, stored.radii, ~changed)
            run.send_coordinates(kept.kept_in(check_coordinates(points, N, "poincare")), {}, changed)
        elif kind != "links":
            run.write_embedding(points)
        run.write_links(links)
        record = run.publish()
    assert ours_on_replaced(cypher) == []
    assert record.nodes_missing == (0 if kind == "links" else len(REPLACED))
    assert record.links_missing == rows_at_replaced(links)
    assert record.links_written == len(links.source) - record.links_missing


@pytest.mark.slow
@pytest.mark.parametrize("key", ["key", None])
def test_a_node_with_the_id_of_one_deleted_during_the_run_gets_nothing(cypher, store, ring, key):
    links = random_links(N, 1)
    write(store, read(store, key))
    graph = read(store, key)
    with store.start_run(graph, parts=["embedding", "links"], names=NAMES) as run:
        reuse_ids(cypher, graph)
        run.write_embedding(random_points(N, 1))
        run.write_links(links)
        record = run.publish()
    assert ours_on_replaced(cypher) == []
    left_out = rows_at_replaced(links)
    assert (record.nodes_missing, record.links_missing) == (len(REPLACED), left_out)
    for count in (f"{len(REPLACED)} nodes", f"{left_out} predicted links"):
        line = f"{count} not written: nodes were deleted or replaced after the graph was read"
        assert ("", line) in list(describe(record, stages=False))


@pytest.mark.parametrize("key", ["key", None])
def test_values_of_a_new_node_are_not_read_as_those_of_the_one_before(cypher, store, ring, key):
    graph = read(store, key)
    write(store, graph)
    replace_nodes(cypher, graph)
    # A later version gives coordinates to the new nodes, too.
    write(store, read(store, None))
    found = store.read_stored(graph, NAMES.model).found
    assert np.flatnonzero(~found).tolist() == list(REPLACED)
    links = store.read_links(graph, NAMES.model)
    assert not set(REPLACED) & {*links.source.tolist(), *links.target.tolist()}


def test_a_new_node_is_not_marked_as_one_that_left_the_projection(cypher, store, ring):
    store.write_embedding(read(store, "key"), random_points(N, 0), names=NAMES)
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key IN $keys SET n:Gone REMOVE n:`{LABEL}`", keys=list(REPLACED))
    cypher("MATCH (:Gone)-[r]-() DELETE r")
    graph, stored = read(store, "key"), store.read_stored(read(store, "key"), NAMES.model)

    def reuse():
        cypher(f"MATCH (n:Gone) SET n = {{key: 1000}}, n:`{LABEL}` REMOVE n:Gone")

    points = check_coordinates(random_points(graph.n_nodes, 1), graph.n_nodes, "poincare")
    changed = np.arange(graph.n_nodes) == 1
    kept = type(stored)(stored.run, stored.kind, stored.values, stored.radii, ~changed)
    with (
        before_first(store, "elementId(n) IN $ids", reuse) as acted,
        store.start_run(graph, parts=["embedding"], names=NAMES) as run,
    ):
        run.send_coordinates(kept.kept_in(points), {}, changed)
        run.publish()
    assert acted
    assert ours_on_replaced(cypher) == []


def test_nodes_that_only_a_label_identifies_and_lost_relationships_are_still_written(cypher, store, ring):
    """Without a key, one of the first relationships is enough, and none if there was none."""
    cypher(f"CREATE (:`{LABEL}` {{key: {N}}})")
    graph = read(store, None)
    cypher(f"MATCH (:`{LABEL}` {{key: 3}})-[r:NEXT]->() DELETE r")
    record = store.write_embedding(graph, random_points(N + 1, 1), names=NAMES)
    assert (record.nodes_written, record.nodes_missing) == (N + 1, 0)


def test_each_of_many_labels_can_have_a_key():
    keys = NodeKeys.of({f"L{i:03}": f"key{i:03}" for i in range(300)})
    places, values = np.arange(300), [f"value {i}" for i in range(300)]
    stored = StoredKeys.of(keys, places, values)
    assert stored.places.tolist() == places.tolist()
    assert stored.values(places) == values


def test_stored_keys_are_the_keys():
    keys = NodeKeys.of({"A": "number", "B": "text"})
    places, values = np.array([0, 1, 1, -1, 0]), [-3, "", "ä\0b", "4:x:3", 2**63 - 1]
    stored = StoredKeys.of(keys, places, values)
    assert stored.values(np.arange(5)) == [-3, "", "ä\0b", None, 2**63 - 1]
    assert stored.values(np.array([4, 1])) == [2**63 - 1, ""]
