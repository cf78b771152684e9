"""The vector index of what is published: made before readers are sent to it, and gone without a trace."""

import logging
import multiprocessing
import os
import signal
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.index import vector_indexes
from heat_neo4j.database.naming import SLOTS, WriteNames
from heat_neo4j.database.query_files import load_query
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.payload import VECTOR_SCALE
from heat_neo4j.errors import LeaseHeld, ProjectionError, WriteFailed, WriteRefused
from heat_neo4j.geometry.hyperboloid import to_poincare
from heat_neo4j.graph import Provenance
from tests.support.live_graph import (
    apart_from_versions,
    before_first,
    expire_lease,
    lose_first_answers,
    make_ring,
    nearest_keys,
    open_cypher,
    published_node,
    random_links,
    random_points,
    ring_graph,
    snapshot,
)

pytestmark = [pytest.mark.live, pytest.mark.both_releases]

N = 40
LABEL = "IndexNode"
NAMES = WriteNames(model="index test")
ONE, TWO, THREE = (NAMES.slot(slot).index_of(LABEL) for slot in SLOTS)
VECTOR = NAMES.slot(1).vector
CREATE = (
    "CREATE VECTOR INDEX `{}` FOR (n:`{}`) ON (n.`{}`) OPTIONS {{indexConfig: {{`vector.dimensions`: {}}}}}"
)


processes = multiprocessing.get_context("forkserver")


@pytest.fixture
def graph(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    store.clear(model=NAMES.model)
    cypher(f"MATCH (n) WHERE n:`{LABEL}` OR n:IndexOther OR n.bare DETACH DELETE n")


@pytest.fixture
def drop_after(cypher):
    """Names of a test's own indexes, to be dropped in the end."""
    names = []
    yield names.append
    for name in names:
        cypher(f"DROP INDEX `{name}` IF EXISTS")


def model_node(cypher):
    return published_node(cypher, NAMES.model)


def without_times(node):
    return {name: node[name] for name in node if name not in ("version", "publishedAt")}


def of_ours(cypher):
    """Return our indexes as the server shows them, by name."""
    rows = cypher(
        "SHOW INDEXES YIELD * "
        "WHERE name STARTS WITH $start OR any(p IN properties WHERE p STARTS WITH $start) "
        "RETURN name, type, state, labelsOrTypes AS labels, properties, options.indexConfig AS config",
        start=NAMES.vector,
    )
    return {row["name"]: row for row in rows}


def expect_index(row, label, slot, dimension):
    assert (row["type"], row["state"]) == ("VECTOR", "ONLINE")
    assert (row["labels"], row["properties"]) == ([label], [NAMES.slot(slot).vector])
    config = row["config"]
    assert config["vector.dimensions"] == dimension
    assert config["vector.similarity_function"] == "EUCLIDEAN"
    assert (config["vector.hnsw.m"], config["vector.hnsw.ef_construction"]) == (32, 200)
    kept = [
        config[key] for key in config if key in ("vector.quantization.enabled", "vector.quantization.type")
    ]
    assert kept
    assert set(kept) <= {False, "NONE"}


def expect_found(cypher, points, keys=None):
    """Check that readers find nearest points in the published index: vectors are those of the points."""
    node = model_node(cypher)
    ball = VECTOR_SCALE * to_poincare(points)
    rows = cypher(
        f"MATCH (n:`{LABEL}`) WHERE n[$run] = $id RETURN n.key AS key, n[$vector] AS vector",
        run=node["runProperty"],
        id=node["run"],
        vector=node["vectorProperty"],
    )
    assert sorted(row["key"] for row in rows) == list(range(N) if keys is None else keys)
    for row in rows:
        np.testing.assert_allclose(row["vector"], ball[row["key"]], rtol=1e-9, atol=1e-9)
    found = cypher(
        "UNWIND $indexes AS index CALL db.index.vector.queryNodes(index, 3, $point) YIELD node, score "
        "RETURN node.key AS key, score ORDER BY score DESC LIMIT 3",
        indexes=node["indexes"],
        point=ball[7].tolist(),
    )
    apart = np.sum((ball - ball[7]) ** 2, axis=1)
    assert [row["key"] for row in found] == np.argsort(apart)[:3].tolist()


# --- what is made ------------------------------------------------------------------------------------------


def test_an_embedding_brings_an_index_that_readers_are_told_of(store, cypher, graph):
    points = random_points(N, 1)
    record = store.write_embedding(graph, points, names=NAMES)
    (row,) = of_ours(cypher).values()
    expect_index(row, LABEL, 1, 3)
    assert record.indexes == (row["name"],) == (ONE,)
    assert record.vector_property == VECTOR
    assert record.stage_seconds["build index"] > 0
    node = model_node(cypher)
    assert (node["vectorProperty"], node["vectorScale"], node["indexes"]) == (VECTOR, VECTOR_SCALE, [ONE])
    expect_found(cypher, points)
    status = store.index_status(NAMES.model)
    assert (status.problems, status.run, status.dimension) == ((), record.run_id, 3)
    assert [(index.name, index.state, index.percent) for index in status.indexes] == [(ONE, "ONLINE", 100.0)]


@pytest.mark.parametrize("limit", [vector_indexes.CORE_SIZE, 7])
def test_readers_are_told_of_the_most_general_nodes(store, cypher, graph, monkeypatch, limit):
    monkeypatch.setattr(vector_indexes, "CORE_SIZE", limit)
    points = random_points(N, 2)
    points[:4] = points[0]
    store.write_embedding(graph, points, names=NAMES)
    core = model_node(cypher)["core"]
    order = sorted(range(N), key=lambda i: (points[i, -1], graph.node_ids[i]))
    assert core == [graph.node_ids[i] for i in order[:limit]]


@pytest.mark.parametrize("kind", ["hyperboloid", "klein"])
def test_the_index_holds_points_of_the_ball_whatever_is_stored(store, cypher, graph, kind):
    points = random_points(N, 3)
    store.write_embedding(graph, points, names=NAMES, coordinates=kind)
    (row,) = of_ours(cypher).values()
    expect_index(row, LABEL, 1, 3)
    expect_found(cypher, points)


def test_slots_take_turns_and_the_indexes_of_the_last_two_versions_are_left(store, cypher, graph):
    there = []
    for seed, slot in enumerate((1, 2, 3, 1, 2)):
        points = random_points(N, seed, d=2 + seed)
        store.write_embedding(graph, points, names=NAMES)
        there = [*there, (NAMES.slot(slot).index_of(LABEL), slot, 2 + seed)][-2:]
        rows = of_ours(cypher)
        assert set(rows) == {name for name, _, _ in there}
        for name, index_slot, dimension in there:
            expect_index(rows[name], LABEL, index_slot, dimension)
        expect_found(cypher, points)


def test_links_alone_leave_the_index_as_it_is(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    before = {key: model_node(cypher)[key] for key in ("indexes", "vectorProperty", "vectorScale", "core")}
    store.write_links(graph, random_links(N, 1), names=NAMES)
    after = model_node(cypher)
    assert {key: after[key] for key in before} == before
    assert list(of_ours(cypher)) == [ONE]
    assert store.index_status(NAMES.model).problems == ()


def test_no_index_is_made_if_none_is_wanted(store, cypher, graph):
    record = store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
    assert record.indexes == ()
    assert of_ours(cypher) == {}
    assert not {"indexes", "vectorProperty", "vectorScale", "core"} & set(model_node(cypher))
    assert cypher("MATCH (n) WHERE n[$vector] IS NOT NULL RETURN count(n) AS c", vector=VECTOR)[0]["c"] == 0
    (problem,) = store.index_status(NAMES.model).problems
    assert problem == "model 'index test' has no vector index: `heat index create` makes one"


def test_a_version_without_index_takes_the_index_of_the_one_before_away(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    for there in ([ONE], []):  # kept with its version, for a rollback
        store.write_embedding(graph, random_points(N, 2), names=NAMES, index=False)
        assert list(of_ours(cypher)) == there
        assert not {"indexes", "vectorProperty", "vectorScale", "core"} & set(model_node(cypher))


def test_nodes_of_several_labels_get_few_indexes(store, cypher, graph):
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key < 25 SET n:IndexOther")
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key >= 22 SET n:`Index``Third`")
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key >= 22 REMOVE n:`{LABEL}`")
    cypher(f"MATCH (n:`{LABEL}`:IndexOther) REMOVE n:`{LABEL}`")
    labels = ["IndexOther", "Index`Third"]
    several = replace(graph, provenance=Provenance({"labels": labels, "relationships": ["NEXT"]}))
    points = random_points(N, 1)
    record = store.write_embedding(several, points, names=NAMES)
    assert record.indexes == tuple(NAMES.slot(1).index_of(label) for label in labels)
    rows = of_ours(cypher)
    for label in labels:
        expect_index(rows[NAMES.slot(1).index_of(label)], label, 1, 3)
    status = store.index_status(NAMES.model)
    assert (len(status.indexes), status.problems) == (2, ())
    near = store.neighbours(graph.node_ids[23], k=N, model=NAMES.model, show=["key"])
    assert [each.properties["key"] for each in near.nodes] == nearest_keys(points, 23)
    assert near.fetch is not None
    store.clear(model=NAMES.model)
    assert of_ours(cypher) == {}
    cypher("MATCH (n:`Index``Third`) DETACH DELETE n")


def test_a_label_outside_the_projection_is_not_used_where_one_of_it_will_do(store, cypher, graph):
    cypher(f"MATCH (n:`{LABEL}`) SET n:IndexOther")
    assert store.write_embedding(graph, random_points(N, 1), names=NAMES).indexes == (ONE,)


def test_nodes_without_a_label_are_published_without_index(store, cypher, graph, caplog):
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key IN [3, 4] SET n.bare = true REMOVE n:`{LABEL}`")
    any_label = replace(graph, provenance=Provenance({"labels": None, "relationships": ["NEXT"]}))
    with caplog.at_level(logging.WARNING, logger="heat_neo4j"):
        record = store.write_embedding(any_label, random_points(N, 1), names=NAMES)
    (warning,) = (each.getMessage() for each in caplog.records)
    assert warning == (
        f"run {record.run_id} is published without a vector index: 2 nodes have no label, "
        "and a vector index is over nodes of a label"
    )
    assert (record.status, record.nodes_written, record.indexes) == ("complete", N, ())
    assert of_ours(cypher) == {}
    with pytest.raises(WriteRefused, match="2 nodes have no label"):
        store.create_index(NAMES.model)
    assert not store.neighbours(graph.node_ids[3], model=NAMES.model, key=None, show=[]).fetch


def test_too_many_dimensions_are_published_without_index(store, cypher, graph, caplog, monkeypatch):
    monkeypatch.setattr(vector_indexes, "LARGEST_DIMENSION", 2)
    with caplog.at_level(logging.WARNING, logger="heat_neo4j"):
        assert store.write_embedding(graph, random_points(N, 1), names=NAMES).indexes == ()
    assert "an index takes at most 2 dimensions, got 3" in caplog.text


# --- readers meanwhile -------------------------------------------------------------------------------------


@contextmanager
def watched(server, store, points_of_run):
    """Look before each statement of `store` at what readers see: it must be in an index that is online."""
    seen = []
    looking = threading.local()
    with open_cypher(server) as cypher:

        def look(statement, parameters):
            if getattr(looking, "now", False):
                return
            looking.now = True
            node = model_node(cypher)
            if "run" in node:
                states = cypher("SHOW INDEXES YIELD name, state WHERE name IN $names", names=node["indexes"])
                assert [row["state"] for row in states] == ["ONLINE"] * len(node["indexes"])
                points = points_of_run(node)
                found = cypher(
                    "CALL db.index.vector.queryNodes($index, 2, $point) YIELD node, score "
                    "RETURN node.key AS key ORDER BY score DESC",
                    index=node["indexes"][0],
                    point=(VECTOR_SCALE * to_poincare(points)[5]).tolist(),
                )
                assert found[0]["key"] == 5
                seen.append((node["slot"], frozenset(of_ours(cypher)), statement))
            looking.now = False

        store.tracer(look)
        yield seen
        store.tracer(None)


@pytest.mark.parametrize("d", [3, 5])
def test_readers_have_an_index_that_is_online_at_every_moment(server, store, cypher, graph, d):
    """Before each statement of a run: the old one until the flip, the new one from then on."""
    versions = {1: random_points(N, 1), 2: random_points(N, 2), 3: random_points(N, 3, d=d)}
    for slot in (1, 2):
        store.write_embedding(graph, versions[slot], names=NAMES)
    with watched(server, store, lambda node: versions[node["slot"]]) as seen:
        store.write_embedding(graph, versions[3], names=NAMES)
    steps = list(dict.fromkeys((slot, indexes) for slot, indexes, _ in seen))
    assert steps == [
        (2, frozenset({ONE, TWO})),
        (2, frozenset({ONE, TWO, THREE})),
        (3, frozenset({ONE, TWO, THREE})),
        (3, frozenset({TWO, THREE})),
    ]
    flips = [statement for slot, _, statement in seen if slot == 2 and "SET m.version" in statement]
    assert len(flips) == 1  # the whole index stood before the flip was sent
    expect_found(cypher, versions[3])


def test_nearest_nodes_are_found_at_every_moment_of_new_versions(server, store, graph):
    """By `neighbours`, and by one statement that knows nothing of us, asked without pause."""
    versions = [random_points(N, 1), random_points(N, 2, d=5)]
    answers = [nearest_keys(points, 0)[:5] for points in versions]
    store.write_embedding(graph, versions[0], names=NAMES)
    done, wrong, asked = threading.Event(), [], {"neighbours": [], "statement": []}
    nearest = load_query("nearest").copy({"label": LABEL, "property": "key"})
    values = {"model": NAMES.model, "value": 0, "k": 5, "fetch": 60}

    def by_neighbours():
        auth = (server.user, server.password)
        with Neo4jStore.connect(server.uri, auth=auth, database=server.database) as reader:
            while not done.is_set():
                near = reader.neighbours("0", key="key", k=5, model=NAMES.model)
                asked["neighbours"].append([each.properties["key"] for each in near.nodes])

    def by_statement():
        with open_cypher(server) as cypher:
            while not done.is_set():
                asked["statement"].append([row["node"] for row in cypher(nearest, **values)])

    def read(ask):
        try:
            ask()
        except Exception as error:
            wrong.append(repr(error))

    readers = [threading.Thread(target=read, args=(ask,)) for ask in (by_neighbours, by_statement)]
    for reader in readers:
        reader.start()
    for turn in range(1, 21):
        store.write_embedding(graph, versions[turn % 2], names=NAMES)
        if turn % 5 == 0:
            store.roll_back(NAMES.model)
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    for found in asked.values():
        assert len(found) > 20
        assert all(answer in answers for answer in found)
        assert all(answer in found for answer in answers)


@pytest.mark.parametrize("refused", [False, True])
def test_an_answer_that_later_versions_overtook_is_void(store, graph, monkeypatch, refused):
    """Three are published, the last in the slot that was asked, before the answer or refusal is heard."""
    versions = [*(random_points(N, seed) for seed in (1, 2, 3)), random_points(N, 4, d=5)]
    answers = [nearest_keys(points, 0)[:5] for points in versions]
    store.write_embedding(graph, versions[0], names=NAMES)
    plain, later = Connection.read, versions[1:]

    def read(self, statement, *arguments, **options):
        records = plain(self, statement, *arguments, **options)
        if "queryNodes" in statement and later:
            while later:
                store.write_embedding(graph, later.pop(0), names=NAMES)
            if refused:
                raise ProjectionError("the index has a configured dimensionality of 5")
        return records

    monkeypatch.setattr(Connection, "read", read)
    near = store.neighbours("0", key="key", k=5, model=NAMES.model)
    assert answers[0] != answers[3]
    assert [each.properties["key"] for each in near.nodes] == answers[3]


def test_an_answer_of_the_version_before_is_an_answer(store, graph, monkeypatch):
    versions = [random_points(N, seed) for seed in (1, 2)]
    store.write_embedding(graph, versions[0], names=NAMES)
    plain, asked = Connection.read, []

    def read(self, statement, *arguments, **options):
        records = plain(self, statement, *arguments, **options)
        if "queryNodes" in statement:
            asked.append(statement)
            store.write_embedding(graph, versions[1], names=NAMES)
        return records

    monkeypatch.setattr(Connection, "read", read)
    near = store.neighbours("0", key="key", k=5, model=NAMES.model)
    assert [each.properties["key"] for each in near.nodes] == nearest_keys(versions[0], 0)[:5]
    assert len(asked) == 1


def test_versions_that_never_rest_are_told(server, store, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    auth = (server.user, server.password)

    def publish_twice(statement, parameters):
        if "queryNodes" in statement:
            for seed in (2, 3):
                store.write_embedding(graph, random_points(N, seed), names=NAMES)

    with Neo4jStore.connect(server.uri, auth=auth, database=server.database) as reader:
        reader.tracer(publish_twice)
        with pytest.raises(ProjectionError, match="published anew again and again: ask later"):
            reader.neighbours("0", key="key", k=5, model=NAMES.model)


# --- removing ----------------------------------------------------------------------------------------------


def test_clearing_leaves_no_index_behind(store, cypher, graph):
    before = snapshot(cypher)
    for seed in range(2):
        store.write_embedding(graph, random_points(N, seed), names=NAMES)
    with store.start_run(graph, names=NAMES) as dead:
        dead.write_embedding(random_points(N, 2))
        dead._build_index()
        assert set(of_ours(cypher)) == {ONE, TWO, THREE}
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == before


def test_what_a_dead_run_had_built_goes_with_the_next(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    with store.start_run(graph, names=NAMES) as dead:
        dead.write_embedding(random_points(N, 2))
        dead._build_index()
    with store.start_run(graph, names=NAMES) as run:
        assert list(of_ours(cypher)) == [ONE]
        run.write_embedding(random_points(N, 3, d=4))
        run.publish()
    assert set(of_ours(cypher)) == {ONE, TWO}
    expect_found(cypher, random_points(N, 3, d=4))


def test_dropping_the_index_leaves_all_else_as_without_one(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
    before, node = apart_from_versions(snapshot(cypher)), without_times(model_node(cypher))
    store.create_index(NAMES.model)
    assert apart_from_versions(snapshot(cypher)) != before
    calls = []
    assert store.drop_index(NAMES.model, on_progress=lambda *call: calls.append(call)) == (ONE,)
    assert apart_from_versions(snapshot(cypher)) == before
    assert without_times(model_node(cypher)) == node
    assert calls == [("write vectors", 0, N), ("write vectors", N, N)]
    assert store.drop_index(NAMES.model) == ()


def test_dropping_the_index_that_an_embedding_brought_leaves_its_coordinates(store, cypher, graph):
    points = random_points(N, 1)
    store.write_embedding(graph, points, names=NAMES, coordinates="hyperboloid")
    assert store.drop_index(NAMES.model) == (ONE,)
    assert of_ours(cypher) == {}
    np.testing.assert_array_equal(store.read_embedding(graph, names=NAMES), points)
    assert cypher("MATCH (n) WHERE n[$vector] IS NOT NULL RETURN count(n) AS c", vector=VECTOR)[0]["c"] == 0


@pytest.mark.parametrize("die_at", range(1, 22, 2))
def test_dropping_is_completed_by_dropping_again(store, cypher, graph, die_at):
    store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
    before, node = apart_from_versions(snapshot(cypher)), without_times(model_node(cypher))
    store.create_index(NAMES.model)
    left = iter(range(1, die_at + 1))

    def die(statement, parameters):
        if next(left, None) == die_at:
            raise KeyboardInterrupt

    store.tracer(die)
    try:
        store.drop_index(NAMES.model)
    except KeyboardInterrupt:
        store.tracer(None)
        store.drop_index(NAMES.model)
    store.tracer(None)
    assert apart_from_versions(snapshot(cypher)) == before
    assert without_times(model_node(cypher)) == node


# --- what others made --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "label", "properties"),
    [
        ("mine", LABEL, VECTOR),
        ("mine", "IndexOther", NAMES.slot(2).vector),
        ("mine", LABEL, NAMES.slot(3).vector),
        (ONE, "IndexOther", "embedding"),
        (TWO, LABEL, "embedding"),
        (THREE, "IndexOther", "embedding"),
    ],
)
def test_an_index_of_others_over_our_vectors_or_of_our_name_is_refused_at_once(
    store, cypher, graph, drop_after, name, label, properties
):
    cypher(CREATE.format(name, label, properties, 3))
    drop_after(name)
    before = snapshot(cypher)
    for dry_run in (True, False):
        with pytest.raises(
            WriteRefused, match=rf"the index '{name}' over '{properties}' is not one of model"
        ):
            store.write_embedding(graph, random_points(N, 1), names=NAMES, dry_run=dry_run)
    assert snapshot(cypher) == before


@pytest.mark.parametrize("kind", ["VECTOR", "RANGE"])
def test_an_index_that_got_our_name_while_we_wrote_is_left_alone(
    store, cypher, graph, drop_after, caplog, kind
):
    with store.start_run(graph, names=NAMES) as run:
        run.write_embedding(random_points(N, 1))
        if kind == "VECTOR":
            cypher(CREATE.format(ONE, LABEL, "embedding", 1))
        else:
            cypher(f"CREATE INDEX `{ONE}` FOR (n:`{LABEL}`) ON (n.`{VECTOR}`)")
        drop_after(ONE)
        there = of_ours(cypher)
        record = run.publish()
    assert f"the index '{ONE}' over" in caplog.text
    assert record.indexes == ()
    assert "indexes" not in model_node(cypher)
    with pytest.raises(WriteRefused, match=f"the index '{ONE}' over"):
        store.create_index(NAMES.model)
    store.clear(model=NAMES.model)
    assert set(of_ours(cypher)) == set(there) == {ONE}


def test_an_index_over_our_vectors_by_another_name_is_left_alone(store, cypher, graph, drop_after):
    store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
    cypher(CREATE.format("mine", LABEL, VECTOR, 3))
    drop_after("mine")
    with pytest.raises(WriteRefused, match="the index 'mine' over"):
        store.create_index(NAMES.model)
    store.drop_index(NAMES.model)
    assert list(of_ours(cypher)) == ["mine"]


@pytest.mark.parametrize("action", ["clear", "drop", "new version"])
def test_an_index_that_got_the_name_of_ours_since_is_not_dropped(store, cypher, graph, drop_after, action):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    cypher(f"DROP INDEX `{ONE}`")
    cypher(CREATE.format(ONE, LABEL, "embedding", 1))
    drop_after(ONE)
    if action == "clear":
        store.clear(model=NAMES.model)
    elif action == "drop":
        store.drop_index(NAMES.model)
    else:  # would go into the other slot, but the one after it could not
        with pytest.raises(WriteRefused, match=f"the index '{ONE}' over 'embedding' is not one of model"):
            store.write_embedding(graph, random_points(N, 2), names=NAMES)
    assert of_ours(cypher)[ONE]["properties"] == ["embedding"]


def test_vectors_of_others_are_not_overwritten(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
    cypher(f"CREATE (:IndexOther {{`{VECTOR}`: [1.0, 2.0, 3.0]}})")
    before = snapshot(cypher)
    with pytest.raises(WriteRefused, match=rf"1 nodes \(e\.g\. .*\) have '{VECTOR}' from elsewhere"):
        store.create_index(NAMES.model)
    assert snapshot(cypher) == before


# --- made afterwards ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["poincare", "hyperboloid", "klein"])
def test_an_index_made_afterwards_is_the_one_that_an_embedding_brings(store, cypher, graph, kind):
    points = random_points(N, 4)
    record = store.write_embedding(graph, points, names=NAMES, coordinates=kind)
    brought = [model_node(cypher)[key] for key in ("indexes", "vectorProperty", "vectorScale", "core")]
    vectors = "MATCH (n) WHERE n[$v] IS NOT NULL RETURN n.key AS key, n[$v] AS vector ORDER BY key"
    wanted = [row["vector"] for row in cypher(vectors, v=VECTOR)]
    store.drop_index(NAMES.model)
    status = store.create_index(NAMES.model)
    assert (status.problems, status.run) == ((), record.run_id)
    assert [index.name for index in status.indexes] == [ONE]
    assert [model_node(cypher)[k] for k in ("indexes", "vectorProperty", "vectorScale", "core")] == brought
    np.testing.assert_allclose([row["vector"] for row in cypher(vectors, v=VECTOR)], wanted, rtol=1e-12)
    expect_index(of_ours(cypher)[ONE], LABEL, 1, 3)
    expect_found(cypher, points)
    assert store.runs(NAMES.model)[0].indexes == (ONE,)


def test_an_index_that_is_as_it_must_be_is_not_touched(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    before, ids = snapshot(cypher), cypher("SHOW INDEXES YIELD id, name")
    statements = []
    store.tracer(lambda statement, parameters: statements.append(statement))
    assert store.create_index(NAMES.model).problems == ()
    assert not [statement for statement in statements if "SET" in statement or "CREATE" in statement]
    assert (snapshot(cypher), cypher("SHOW INDEXES YIELD id, name")) == (before, ids)


@pytest.mark.parametrize("harm", ["dropped", "dimension", "similarity", "told wrong"])
def test_an_index_that_is_not_as_it_must_be_is_repaired(store, cypher, graph, harm):
    points = random_points(N, 1)
    store.write_embedding(graph, points, names=NAMES)
    if harm == "told wrong":
        cypher("MATCH (v:HeatVersion {model: $model}) SET v.indexes = ['gone']", model=NAMES.model)
    else:
        cypher(f"DROP INDEX `{ONE}`")
    if harm == "dimension":
        cypher(CREATE.format(ONE, LABEL, VECTOR, 4))
    if harm == "similarity":
        cypher(CREATE.format(ONE, LABEL, VECTOR, 3))  # cosine is the server's default
    (problem,) = store.index_status(NAMES.model).problems
    assert ("is not as it must be" if harm in ("dimension", "similarity") else "is gone") in problem
    assert store.create_index(NAMES.model).problems == ()
    expect_index(of_ours(cypher)[ONE], LABEL, 1, 3)
    expect_found(cypher, points)


def test_an_index_that_failed_is_told_and_made_anew(store, cypher, graph, monkeypatch):
    """No server was brought to fail one; so one that stands is told as failed."""
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    (old,) = cypher("SHOW INDEXES YIELD id, name WHERE name = $name RETURN id", name=ONE)[0].values()
    plain = vector_indexes._described

    def failed(record):
        index = plain(record)
        (now,) = cypher("SHOW INDEXES YIELD id, name WHERE name = $name RETURN id", name=ONE)[0].values()
        return replace(index, state="FAILED", failure="disk full") if now == old else index

    monkeypatch.setattr(vector_indexes, "_described", failed)
    (problem,) = store.index_status(NAMES.model).problems
    assert problem == f"index {ONE!r} is not as it must be: `heat index create` makes it anew"
    assert store.create_index(NAMES.model).problems == ()
    (new,) = cypher("SHOW INDEXES YIELD id, name WHERE name = $name RETURN id", name=ONE)[0].values()
    assert new != old


def test_an_index_that_fails_while_it_is_built_ends_the_run(store, cypher, graph, monkeypatch):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    plain = vector_indexes._described
    monkeypatch.setattr(
        vector_indexes,
        "_described",
        lambda record: (
            replace(plain(record), state="FAILED", failure="the disk is full")
            if record["name"] == TWO
            else plain(record)
        ),
    )
    with pytest.raises(WriteFailed, match=r"a vector index failed: the disk is full; run .* is incomplete"):
        store.write_embedding(graph, random_points(N, 2), names=NAMES)
    monkeypatch.undo()
    expect_found(cypher, random_points(N, 1))
    store.write_embedding(graph, random_points(N, 3), names=NAMES)
    assert set(of_ours(cypher)) == {ONE, TWO}


def test_an_index_takes_published_coordinates(store, graph):
    for ask in (store.create_index, store.drop_index, store.index_status):
        with pytest.raises(ProjectionError, match="model 'index test' has no published coordinates"):
            ask(NAMES.model)


# --- two at once, lost commits, killed clients -------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ("RETURN labels(n) AS labels", LeaseHeld, "was taken over: nothing was published"),
        ("r.indexes = $indexes", LeaseHeld, "was taken over: nothing was published"),
        (
            "CREATE VECTOR INDEX",
            WriteFailed,
            "what was published before is untouched",
        ),  # unguarded
        ("LIMIT $limit", LeaseHeld, "was taken over: nothing was published"),
    ],
)
def test_a_run_taken_over_while_it_builds_its_index_fails_cleanly(
    server, store, cypher, graph, words, error, message
):
    later = random_points(N, 2, d=4)
    auth = (server.user, server.password)
    with (
        Neo4jStore.connect(server.uri, auth=auth, database=server.database) as second,
        store.start_run(graph, names=NAMES) as earlier,
    ):
        earlier.write_embedding(random_points(N, 1))

        def overtake():
            expire_lease(cypher, NAMES.model)
            second.write_embedding(graph, later, names=NAMES)

        with (
            before_first(store, words, overtake) as acted,
            pytest.raises(error, match=message),
        ):
            earlier.publish()
        assert acted
    expect_found(cypher, later)
    assert store.index_status(NAMES.model).problems == ()
    assert list(of_ours(cypher)) == [ONE]


def test_while_an_index_is_made_no_version_is_published(server, store, cypher, graph):
    points = random_points(N, 1)
    store.write_embedding(graph, points, names=NAMES, index=False)
    auth = (server.user, server.password)
    with Neo4jStore.connect(server.uri, auth=auth, database=server.database) as second:

        def try_it():
            with pytest.raises(LeaseHeld, match="model 'index test' is being written by"):
                second.write_embedding(graph, random_points(N, 2), names=NAMES)

        with before_first(store, "CREATE VECTOR INDEX", try_it) as acted:
            store.create_index(NAMES.model)
    assert acted
    assert set(of_ours(cypher)) == {ONE}
    expect_found(cypher, points)


def test_commits_that_were_not_heard_of_are_repeated_without_a_trace(store, cypher, graph, monkeypatch):
    for seed in (3, 1):
        store.write_embedding(graph, random_points(N, seed), names=NAMES)
    heard = lose_first_answers(monkeypatch)
    points = random_points(N, 2)
    record = store.write_embedding(graph, points, names=NAMES)
    assert {"making an index", "dropping an index", "noting the indexes"} <= {doing for _, doing in heard}
    assert record.indexes == (THREE,)
    assert set(of_ours(cypher)) == {TWO, THREE}
    expect_found(cypher, points)
    assert store.drop_index(NAMES.model) == (THREE,)
    assert set(of_ours(cypher)) == {TWO}
    assert store.create_index(NAMES.model).problems == ()
    expect_found(cypher, points)


def build_and_die(settings, graph, words):
    """Publish a version, and die before the first statement that holds `words`."""
    uri, user, password = settings

    def die(statement, parameters):
        if words in statement:
            os.kill(os.getpid(), signal.SIGKILL)

    with Neo4jStore.connect(uri, auth=(user, password)) as store:
        store.tracer(die)
        store.write_embedding(graph, random_points(graph.n_nodes, 2), names=NAMES)


@pytest.mark.parametrize("words", ["CREATE VECTOR INDEX", "LIMIT $limit", "SET m.version"])
def test_a_client_killed_while_it_builds_leaves_the_published_index(server, store, cypher, graph, words):
    before = snapshot(cypher)
    points = random_points(N, 1)
    store.write_embedding(graph, points, names=NAMES)
    child = processes.Process(target=build_and_die, args=(server.settings, graph, words))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert set(of_ours(cypher)) == ({ONE} if words.startswith("CREATE") else {ONE, TWO})
    assert store.index_status(NAMES.model).problems == ()
    expect_found(cypher, points)
    later = random_points(N, 3, d=6)
    store.write_embedding(graph, later, names=NAMES)
    assert set(of_ours(cypher)) == {ONE, TWO}
    expect_found(cypher, later)
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == before


@pytest.mark.parametrize("coordinates", ["poincare", "klein"])
def test_no_statement_of_ours_makes_the_server_complain(store, graph, caplog, coordinates):
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    for seed in range(2):
        store.write_embedding(graph, random_points(N, seed), names=NAMES, coordinates=coordinates)
    store.drop_index(NAMES.model)
    store.create_index(NAMES.model)
    store.index_status(NAMES.model)
    for exact in (True, False):
        store.neighbours("3", key="key", model=NAMES.model, exact=exact, fetch=2)
        store.neighbours("3", key="key", model=NAMES.model, exact=exact, node_filter="n.key > $k",
                         filter_parameters={"k": 9})  # fmt: skip
    store.neighbours(graph.node_ids[3], model=NAMES.model, labels=[])
    store.clear(model=NAMES.model)
    assert [record.getMessage() for record in caplog.records] == []
