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

from heat_neo4j._utils.validation import MOST_COMPONENTS
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.query_files import load_query
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import LeaseHeld, ProjectionError, WriteFailed, WriteRefused
from heat_neo4j.geometry.hyperboloid import to_poincare
from heat_neo4j.graph import Provenance
from tests.support.live_graph import (
    IMPATIENT,
    LossyConnection,
    apart_from_versions,
    before_first,
    expire_lease,
    make_ring,
    nearest_keys,
    open_cypher,
    open_store,
    published_node,
    random_links,
    random_points,
    ring_graph,
    snapshot,
)
from tests.support.slow import slow
from tests.support.store import Store

pytestmark = [pytest.mark.live, pytest.mark.vector_index]

N = 40
LABEL = "RingNode"
NAMES = WriteNames(model="ring test")
INDEX, STAGED = NAMES.index_of(LABEL), NAMES.staged_index_of(LABEL)
EMBEDDING, VECTOR, STAGED_RUN = NAMES.plain.embedding, NAMES.plain.vector, NAMES.staged.run
FACTS = ("indexes", "vectorProperty", "core")
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
    """Return our indexes as the server shows them, by name; `INDEX` comes before `STAGED`."""
    rows = cypher(
        "SHOW INDEXES YIELD * "
        "WHERE name STARTS WITH $start OR name STARTS WITH '_' + $start "
        "OR any(p IN properties WHERE p STARTS WITH $start) "
        "RETURN name, type, state, labelsOrTypes AS labels, properties, options.indexConfig AS config "
        "ORDER BY name STARTS WITH '_', name",
        start=NAMES.plain.embedding.removesuffix("Embedding"),
    )
    return {row["name"]: row for row in rows}


def expect_index(row, label, dimension, over=EMBEDDING):
    assert (row["type"], row["state"]) == ("VECTOR", "ONLINE")
    assert (row["labels"], row["properties"]) == ([label], [over])
    config = row["config"]
    assert config["vector.dimensions"] == dimension
    assert config["vector.similarity_function"] == "EUCLIDEAN"
    assert (config["vector.hnsw.m"], config["vector.hnsw.ef_construction"]) == (32, 200)
    kept = [
        config[key] for key in config if key in ("vector.quantization.enabled", "vector.quantization.type")
    ]
    assert kept
    assert set(kept) <= {False, "NONE"}


def expect_core(core, points, graph, most=Limits.core):
    """Check that readers are told of the most general nodes in their order."""
    order = sorted(range(N), key=lambda i: (points[i, -1], graph.node_ids[i]))
    assert core == [graph.node_ids[i] for i in order[:most]]


def expect_found(cypher, points, keys=None):
    """Check that readers find nearest points in the published index, which holds those of the ball."""
    node = model_node(cypher)
    ball = to_poincare(points)
    rows = cypher(
        f"MATCH (n:`{LABEL}`) WHERE n[$run] = $id RETURN n.key AS key, n[$vector] AS vector",
        run=node["runProperty"],
        id=node["space"],
        vector=node["vectorProperty"],
    )
    assert sorted(row["key"] for row in rows) == list(range(N) if keys is None else keys)
    for row in rows:
        np.testing.assert_allclose(row["vector"], ball[row["key"]], rtol=1e-12, atol=1e-13)
    found = cypher(
        "UNWIND $indexes AS index CALL db.index.vector.queryNodes(index, 3, $point) YIELD node, score "
        "RETURN node.key AS key, score ORDER BY score DESC LIMIT 3",
        indexes=node["indexes"],
        point=ball[7].tolist(),
    )
    apart = np.sum((ball - ball[7]) ** 2, axis=1)
    assert [row["key"] for row in found] == np.argsort(apart)[:3].tolist()
    np.testing.assert_allclose([row["score"] for row in found], 1 / (1 + np.sort(apart)[:3]), rtol=1e-5)


# --- what is made ------------------------------------------------------------------------------------------


@pytest.mark.both_releases
def test_an_embedding_brings_an_index_that_readers_are_told_of(store, cypher, graph):
    points = random_points(N, 1)
    record = store.write_embedding(graph, points, names=NAMES)
    (row,) = of_ours(cypher).values()
    expect_index(row, LABEL, 3)
    assert record.indexes == (row["name"],) == (INDEX,)
    assert record.stage_seconds["build index"] > 0
    node = model_node(cypher)
    assert (node["vectorProperty"], node["indexes"]) == (EMBEDDING, [INDEX])
    expect_found(cypher, points)
    expect_core(node["core"], points, graph)
    status = store.index_status(NAMES.model)
    assert (status.problems, status.run, status.dimension) == ((), record.run_id, 3)
    assert [(index.name, index.state, index.percent) for index in status.indexes] == [
        (INDEX, "ONLINE", 100.0)
    ]


@pytest.mark.slow
def test_readers_are_told_of_so_many_of_the_most_general_nodes(store, cypher, graph):
    store.limits = Limits(core=7)
    points = random_points(N, 2)
    points[:4] = points[0]
    store.write_embedding(graph, points, names=NAMES)
    expect_core(model_node(cypher)["core"], points, graph, 7)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hyperboloid", "klein"])
def test_the_index_holds_points_of_the_ball_whatever_is_stored(store, cypher, graph, kind):
    points = random_points(N, 3)
    store.write_embedding(graph, points, names=NAMES, coordinates=kind)
    (row,) = of_ours(cypher).values()
    expect_index(row, LABEL, 3, over=VECTOR)
    expect_found(cypher, points)


@pytest.mark.slow
def test_there_is_one_index_by_one_name_whatever_is_published(store, cypher, graph):
    for seed in range(2):
        points = random_points(N, seed, d=2 + seed)
        store.write_embedding(graph, points, names=NAMES)
        published, *staged = of_ours(cypher).values()
        assert published["name"] == INDEX
        assert [row["name"] for row in staged] == ([STAGED] if seed else [])
        expect_index(published, LABEL, 2 + seed)
        expect_found(cypher, points)
    store.rollback(NAMES.model)
    assert list(of_ours(cypher)) == [INDEX, STAGED]
    expect_index(of_ours(cypher)[INDEX], LABEL, 2)
    expect_found(cypher, random_points(N, 0, d=2))


@pytest.mark.slow
def test_indexes_of_the_same_dimension_go_on(store, cypher, graph):
    """The server takes new points into them: no version but the first two changes its schema."""
    for seed in range(2):
        store.write_embedding(graph, random_points(N, seed), names=NAMES)
    before = cypher("SHOW INDEXES YIELD id, name")
    statements = []
    store.tracer = lambda statement, parameters: statements.append(statement)
    store.write_embedding(graph, random_points(N, 2), names=NAMES)
    expect_found(cypher, random_points(N, 2))
    store.rollback(NAMES.model)
    expect_found(cypher, random_points(N, 1))
    assert cypher("SHOW INDEXES YIELD id, name") == before
    assert not [each for each in statements if "INDEX `" in each]
    empty = "CALL db.index.vector.queryNodes($index, 5, [0.1, 0.1, 0.1]) YIELD node RETURN count(*) AS n"
    assert cypher(empty, index=STAGED) == [{"n": 0}]


@pytest.mark.slow
def test_links_alone_leave_the_index_as_it_is(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    before = {key: model_node(cypher)[key] for key in FACTS}
    store.write_links(graph, random_links(N, 1), names=NAMES)
    after = model_node(cypher)
    assert {key: after[key] for key in before} == before
    assert list(of_ours(cypher)) == [INDEX]
    assert store.index_status(NAMES.model).problems == ()


@pytest.mark.slow
def test_no_index_is_made_if_none_is_wanted(store, cypher, graph):
    record = store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
    assert record.indexes == ()
    assert of_ours(cypher) == {}
    assert not {"indexes", "core"} & set(model_node(cypher))
    (problem,) = store.index_status(NAMES.model).problems
    assert problem == "model 'ring test' has no vector index: run `heat index create`"


@pytest.mark.slow
def test_a_version_without_index_takes_the_index_of_the_one_before_away(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    store.write_embedding(graph, random_points(N, 2), names=NAMES, index=False)
    assert of_ours(cypher) == {}
    assert not {"indexes", "core"} & set(model_node(cypher))
    store.rollback(NAMES.model)  # which had one
    assert list(of_ours(cypher)) == [INDEX, STAGED]
    expect_found(cypher, random_points(N, 1))


@pytest.mark.slow
def test_nodes_of_several_labels_get_few_indexes(store, cypher, graph):
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key < 25 SET n:IndexOther")
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key >= 22 SET n:`Index``Third`")
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key >= 22 REMOVE n:`{LABEL}`")
    cypher(f"MATCH (n:`{LABEL}`:IndexOther) REMOVE n:`{LABEL}`")
    labels = ["IndexOther", "Index`Third"]
    several = replace(graph, provenance=Provenance({"labels": labels, "relationships": ["NEXT"]}))
    points = random_points(N, 1)
    record = store.write_embedding(several, points, names=NAMES)
    assert record.indexes == tuple(NAMES.index_of(label) for label in labels)
    rows = of_ours(cypher)
    for label in labels:
        expect_index(rows[NAMES.index_of(label)], label, 3)
    status = store.index_status(NAMES.model)
    assert (len(status.indexes), status.problems) == (2, ())
    near = store.neighbours(graph.node_ids[23], k=N, model=NAMES.model, show=["key"])
    assert [each.properties["key"] for each in near.nodes] == nearest_keys(points, 23)
    assert near.fetch is not None
    store.write_embedding(several, points, names=NAMES)
    assert len(of_ours(cypher)) == 4
    cypher("MATCH (n:IndexOther) SET n:`Index``Third`")  # now one label will do
    store.write_embedding(several, points, names=NAMES)
    assert list(of_ours(cypher)) == [NAMES.index_of("Index`Third"), NAMES.staged_index_of("Index`Third")]
    store.clear(model=NAMES.model)
    assert of_ours(cypher) == {}
    cypher("MATCH (n:`Index``Third`) DETACH DELETE n")


@pytest.mark.slow
def test_a_label_outside_the_projection_is_not_used_where_one_of_it_will_do(store, cypher, graph):
    cypher(f"MATCH (n:`{LABEL}`) SET n:IndexOther")
    assert store.write_embedding(graph, random_points(N, 1), names=NAMES).indexes == (INDEX,)


def test_nodes_without_a_label_are_published_without_index(store, cypher, graph, caplog):
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key IN [3, 4] SET n.bare = true REMOVE n:`{LABEL}`")
    any_label = replace(graph, provenance=Provenance({"labels": None, "relationships": ["NEXT"]}))
    for seed in range(2):  # the second could have an index over its staged copy, too
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="heat_neo4j"):
            record = store.write_embedding(any_label, random_points(N, seed), names=NAMES)
        (warning,) = (each.getMessage() for each in caplog.records)
        assert warning == (
            "model 'ring test' is published without a vector index: "
            "2 nodes without a label that can be quoted cannot be in a vector index"
        )
    assert (record.status, record.nodes_written, record.indexes) == ("complete", N, ())
    assert of_ours(cypher) == {}
    with pytest.raises(WriteRefused, match="2 nodes without a label that can be quoted cannot"):
        store.create_index(NAMES.model)
    assert not store.neighbours(graph.node_ids[3], model=NAMES.model, key=None, show=[]).fetch


@pytest.mark.slow
def test_too_many_dimensions_are_published_without_index(store, cypher, graph, caplog):
    points = random_points(N, 1, d=MOST_COMPONENTS + 1)
    with caplog.at_level(logging.WARNING, logger="heat_neo4j"):
        assert store.write_embedding(graph, points, names=NAMES).indexes == ()
    assert "an index takes at most 4096 dimensions, got 4097" in caplog.text


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
                    point=to_poincare(points)[5].tolist(),
                )
                assert found[0]["key"] == 5
                seen.append((node["run"], *node["indexes"], frozenset(of_ours(cypher)), statement))
            looking.now = False

        store.tracer = look
        yield seen
        store.tracer = None


@pytest.mark.parametrize("d", [slow(3), 5])
def test_readers_have_an_index_that_is_online_at_every_moment(server, store, cypher, graph, d):
    """Before each statement of a run: the plain one; the staged one from the first switch; the plain one."""
    versions = [random_points(N, 1), random_points(N, 2, d=d)]
    old = store.write_embedding(graph, versions[0], names=NAMES).run_id
    with watched(server, store, lambda node: versions[node["run"] != old]) as seen:
        new = store.write_embedding(graph, versions[1], names=NAMES).run_id
    steps = list(dict.fromkeys(step[:3] for step in seen))
    assert steps == list(
        dict.fromkeys(
            [
                (old, INDEX, frozenset({INDEX})),
                (old, INDEX, frozenset({INDEX, STAGED})),
                (new, STAGED, frozenset({INDEX, STAGED})),
                *(
                    [(new, STAGED, frozenset({STAGED}))] if d != 3 else []
                ),  # one of another dimension is made anew
                (new, INDEX, frozenset({INDEX, STAGED})),
            ]
        )
    )
    switches = [run for run, *_, statement in seen if "SET m.version" in statement]
    assert switches == [old, new]  # the whole index stood before either was sent
    expect_found(cypher, versions[1])


@pytest.mark.slow
def test_nearest_nodes_are_found_at_every_moment_of_new_versions(server, store, graph):
    """By `neighbours`, and by one statement that knows nothing of us, asked without pause."""
    versions = [random_points(N, 1), random_points(N, 2, d=5)]
    answers = [nearest_keys(points, 0)[:5] for points in versions]
    store.write_embedding(graph, versions[0], names=NAMES)
    done, wrong, asked = threading.Event(), [], {"neighbours": [], "statement": []}
    nearest = load_query("nearest").copy({"label": LABEL, "property": "key"})
    values = {"model": NAMES.model, "value": 0, "k": 5, "fetch": 60}

    def by_neighbours():
        with open_store(server) as reader:
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
    for turn in range(1, 3):
        store.write_embedding(graph, versions[turn % 2], names=NAMES)
    store.rollback(NAMES.model)
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    for found in asked.values():
        assert len(found) > 5
        assert all(answer in answers for answer in found)
        assert all(answer in found for answer in answers)


@pytest.mark.slow
@pytest.mark.parametrize("heard", [slow("late"), "as a refusal", slow("in time")])
def test_an_answer_that_a_later_version_may_have_overtaken_is_void(server, store, graph, heard):
    """It is published before the answer is heard, which is whole if that took no longer than writers wait."""
    versions = [random_points(N, 1), random_points(N, 4, d=5)]
    answers = [nearest_keys(points, 0)[:5] for points in versions]
    store.write_embedding(graph, versions[0], names=NAMES)
    later = versions[1:]

    class Overtaken(Connection):
        def read(self, statement, *arguments, **options):
            records = super().read(statement, *arguments, **options)
            if "queryNodes" in statement and later:
                store.write_embedding(graph, later.pop(), names=NAMES)
                if heard == "as a refusal":
                    raise ProjectionError("the index has a configured dimensionality of 5")
            return records

    limits = Limits(version_seconds=0.0 if heard == "late" else 600.0)
    with open_store(server, kind=Overtaken, limits=limits) as reader:
        near = reader.neighbours("0", key="key", k=5, model=NAMES.model)
    assert answers[0] != answers[1]
    assert [each.properties["key"] for each in near.nodes] == answers[heard != "in time"]


@pytest.mark.slow
def test_versions_that_never_rest_are_told(server, store, graph):
    store.limits = IMPATIENT
    store.write_embedding(graph, random_points(N, 1), names=NAMES)

    def publish(statement, parameters):
        if "queryNodes" in statement:
            store.write_embedding(graph, random_points(N, 2), names=NAMES)

    with open_store(server) as reader:
        reader.tracer = publish
        with pytest.raises(ProjectionError, match="republished repeatedly: retry later"):
            reader.neighbours("0", key="key", k=5, model=NAMES.model)


# --- removing ----------------------------------------------------------------------------------------------


def die_before_the_switch(store, graph, points):
    """Stage a version with its index, and stop before readers are sent to it."""

    def stop(statement, parameters):
        if "SET m.version" in statement:
            raise KeyboardInterrupt

    store.tracer = stop
    with pytest.raises(KeyboardInterrupt):
        store.write_embedding(graph, points, names=NAMES)
    store.tracer = None


def test_clearing_leaves_no_index_behind(store, cypher, graph):
    before = snapshot(cypher)
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    die_before_the_switch(store, graph, random_points(N, 2))
    assert set(of_ours(cypher)) == {INDEX, STAGED}
    expect_index(of_ours(cypher)[STAGED], LABEL, 3, over=NAMES.staged.embedding)
    expect_found(cypher, random_points(N, 1))
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == before


@pytest.mark.slow
def test_what_a_dead_run_had_staged_goes_with_the_next(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    die_before_the_switch(store, graph, random_points(N, 2))
    with store.start_run(graph, names=NAMES) as run:
        assert not cypher(f"MATCH (n:`{LABEL}`) WHERE n[$staged] IS NOT NULL RETURN n", staged=STAGED_RUN)
        run.write_embedding(random_points(N, 3, d=4))
        run.publish()
    assert list(of_ours(cypher)) == [INDEX, STAGED]
    expect_found(cypher, random_points(N, 3, d=4))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [slow("poincare"), "klein"])
def test_an_index_comes_and_goes_and_no_node_is_written_to(store, cypher, graph, kind):
    store.write_embedding(graph, random_points(N, 1), names=NAMES, coordinates=kind, index=False)
    before, node = apart_from_versions(snapshot(cypher)), without_times(model_node(cypher))
    calls = []
    store.create_index(NAMES.model, on_progress=lambda *call: calls.append(call))
    assert calls[0] == ("build index", 0, N)
    assert calls[-1] == ("build index", N, N)
    nodes = snapshot(cypher)["nodes"]
    assert {each: nodes[each] for each in graph.node_ids} == {
        each: before["nodes"][each] for each in graph.node_ids
    }
    assert store.drop_index(NAMES.model) == (INDEX,)
    assert apart_from_versions(snapshot(cypher)) == before
    assert without_times(model_node(cypher)) == node
    assert store.drop_index(NAMES.model) == ()


@pytest.mark.slow
def test_dropping_is_completed_by_dropping_again(store, cypher, graph):
    """Wherever it was stopped: the statements are counted until it comes to its end."""
    store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
    before, node = apart_from_versions(snapshot(cypher)), without_times(model_node(cypher))
    died, die_at = True, 0
    while died:
        store.create_index(NAMES.model)
        died, die_at = False, die_at + 1
        left = iter(range(1, die_at + 1))

        def die(statement, parameters, left=left, die_at=die_at):
            if next(left, None) == die_at:
                raise KeyboardInterrupt

        store.tracer = die
        try:
            store.drop_index(NAMES.model)
        except KeyboardInterrupt:
            died = True
            store.tracer = None
            store.drop_index(NAMES.model)
        store.tracer = None
        assert apart_from_versions(snapshot(cypher)) == before
        assert without_times(model_node(cypher)) == node
    assert die_at > 5


# --- what others made --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "label", "properties"),
    [
        ("mine", LABEL, EMBEDDING),
        pytest.param("mine", "IndexOther", VECTOR, marks=pytest.mark.slow),
        pytest.param("mine", LABEL, NAMES.staged.embedding, marks=pytest.mark.slow),
        pytest.param(INDEX, "IndexOther", "embedding", marks=pytest.mark.slow),
        (STAGED, LABEL, "embedding"),
    ],
)
def test_an_index_of_others_over_our_vectors_or_of_our_name_is_refused_at_once(
    store, cypher, graph, drop_after, name, label, properties
):
    cypher(CREATE.format(name, label, properties, 3))
    drop_after(name)
    before = snapshot(cypher)
    with pytest.raises(WriteRefused, match=rf"the index '{name}' over '{properties}' is not one of model"):
        store.write_embedding(graph, random_points(N, 1), names=NAMES)
    assert snapshot(cypher) == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", [slow("VECTOR"), "RANGE"])
def test_an_index_that_got_our_name_while_we_wrote_is_left_alone(
    store, cypher, graph, drop_after, caplog, kind
):
    with store.start_run(graph, names=NAMES) as run:
        run.write_embedding(random_points(N, 1))
        if kind == "VECTOR":
            cypher(CREATE.format(INDEX, LABEL, "embedding", 1))
        else:
            cypher(f"CREATE INDEX `{INDEX}` FOR (n:`{LABEL}`) ON (n.`{EMBEDDING}`)")
        drop_after(INDEX)
        there = of_ours(cypher)
        record = run.publish()
    assert f"the index '{INDEX}' over" in caplog.text
    assert record.indexes == ()
    assert "indexes" not in model_node(cypher)
    with pytest.raises(WriteRefused, match=f"the index '{INDEX}' over"):
        store.create_index(NAMES.model)
    store.clear(model=NAMES.model)
    assert set(of_ours(cypher)) == set(there) == {INDEX}


@pytest.mark.slow
def test_a_staged_index_that_cannot_be_is_done_without(store, cypher, graph, drop_after, caplog):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    with store.start_run(graph, names=NAMES) as run:
        run.write_embedding(random_points(N, 2))
        cypher(CREATE.format(STAGED, LABEL, "embedding", 1))
        drop_after(STAGED)
        record = run.publish()
    assert f"the index '{STAGED}' over" in caplog.text
    assert (record.status, record.indexes) == ("complete", ())
    assert set(of_ours(cypher)) == {STAGED}
    near = store.neighbours("0", key="key", k=5, model=NAMES.model)
    assert [each.properties["key"] for each in near.nodes] == nearest_keys(random_points(N, 2), 0)[:5]
    assert store.create_index(NAMES.model).problems == ()
    assert set(of_ours(cypher)) == {INDEX, STAGED}


@pytest.mark.slow
def test_an_index_over_our_coordinates_by_another_name_is_left_alone(store, cypher, graph, drop_after):
    store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
    cypher(CREATE.format("mine", LABEL, EMBEDDING, 3))
    drop_after("mine")
    with pytest.raises(WriteRefused, match="the index 'mine' over"):
        store.create_index(NAMES.model)
    store.drop_index(NAMES.model)
    assert list(of_ours(cypher)) == ["mine"]


@pytest.mark.slow
@pytest.mark.parametrize("action", [slow("clear"), slow("drop"), "new version"])
def test_an_index_that_got_the_name_of_ours_since_is_not_dropped(store, cypher, graph, drop_after, action):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    cypher(f"DROP INDEX `{INDEX}`")
    cypher(CREATE.format(INDEX, LABEL, "embedding", 1))
    drop_after(INDEX)
    if action == "clear":
        store.clear(model=NAMES.model)
    elif action == "drop":
        store.drop_index(NAMES.model)
    else:
        with pytest.raises(WriteRefused, match=f"the index '{INDEX}' over 'embedding' is not one of model"):
            store.write_embedding(graph, random_points(N, 2), names=NAMES)
    assert of_ours(cypher)[INDEX]["properties"] == ["embedding"]


# --- made afterwards ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["poincare", "hyperboloid", "klein"])
def test_an_index_made_afterwards_is_the_one_that_an_embedding_brings(store, cypher, graph, kind):
    points = random_points(N, 4)
    record = store.write_embedding(graph, points, names=NAMES, coordinates=kind)
    brought = [model_node(cypher)[key] for key in FACTS]
    store.drop_index(NAMES.model)
    status = store.create_index(NAMES.model)
    assert (status.problems, status.run) == ((), record.run_id)
    assert [index.name for index in status.indexes] == [INDEX]
    assert [model_node(cypher)[key] for key in FACTS] == brought
    expect_index(of_ours(cypher)[INDEX], LABEL, 3, over=EMBEDDING if kind == "poincare" else VECTOR)
    expect_found(cypher, points)
    assert store.runs(NAMES.model)[0].indexes == (INDEX,)


@pytest.mark.slow
def test_an_index_that_is_as_it_must_be_is_not_touched(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    before, ids = snapshot(cypher), cypher("SHOW INDEXES YIELD id, name")
    statements = []
    store.tracer = lambda statement, parameters: statements.append(statement)
    assert store.create_index(NAMES.model).problems == ()
    assert not [statement for statement in statements if "SET" in statement or "CREATE" in statement]
    assert (snapshot(cypher), cypher("SHOW INDEXES YIELD id, name")) == (before, ids)


@pytest.mark.parametrize("harm", [slow("dropped"), "dimension", slow("similarity"), slow("told wrong")])
def test_an_index_that_is_not_as_it_must_be_is_repaired(store, cypher, graph, caplog, harm):
    caplog.set_level(logging.DEBUG, logger="neo4j.notifications")
    points = random_points(N, 1)
    store.write_embedding(graph, points, names=NAMES)
    if harm == "told wrong":
        cypher("MATCH (v:HeatVersion {model: $model}) SET v.indexes = ['gone']", model=NAMES.model)
    else:
        cypher(f"DROP INDEX `{INDEX}`")
    if harm == "dimension":
        cypher(CREATE.format(INDEX, LABEL, EMBEDDING, 4))
    if harm == "similarity":
        cypher(CREATE.format(INDEX, LABEL, EMBEDDING, 3))  # cosine is the server's default
    (problem,) = store.index_status(NAMES.model).problems
    assert ("has wrong settings" if harm in ("dimension", "similarity") else "is missing") in problem
    assert store.create_index(NAMES.model).problems == ()
    assert caplog.messages == []
    expect_index(of_ours(cypher)[INDEX], LABEL, 3)
    expect_found(cypher, points)


def failing_index(is_failed, failure):
    """Return a connection by which some vector indexes have failed."""

    class Failing(Connection):
        def read(self, statement, *arguments, **options):
            records = super().read(statement, *arguments, **options)
            if statement != load_statement("read/indexes"):
                return records
            failed = {"state": "FAILED", "failure": failure}
            return [{**record, **(failed if is_failed(record) else {})} for record in map(dict, records)]

    return Failing


@pytest.mark.slow
def test_an_index_that_failed_is_told_and_made_anew(server, store, cypher, graph):
    """No server was brought to fail one; so one that stands is told as failed."""
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    (old,) = cypher("SHOW INDEXES YIELD id, name WHERE name = $name RETURN id", name=INDEX)[0].values()

    def is_failed(index):
        (now,) = cypher("SHOW INDEXES YIELD id, name WHERE name = $name RETURN id", name=INDEX)[0].values()
        return index["name"] == INDEX and now == old

    with open_store(server, kind=failing_index(is_failed, "disk full")) as failing:
        (problem,) = failing.index_status(NAMES.model).problems
        assert problem == f"index {INDEX!r} has wrong settings: run `heat index create`"
        assert failing.create_index(NAMES.model).problems == ()
    (new,) = cypher("SHOW INDEXES YIELD id, name WHERE name = $name RETURN id", name=INDEX)[0].values()
    assert new != old


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (STAGED, r"a vector index failed: the disk is full; run .* is incomplete"),
        pytest.param(
            INDEX,
            r"a vector index failed: the disk is full; run .* is published, but some properties",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_index_that_fails_while_it_is_built_ends_the_run(server, store, cypher, graph, name, message):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    kind = failing_index(lambda index: index["name"] == name, "the disk is full")
    with open_store(server, kind=kind) as failing, pytest.raises(WriteFailed, match=message):
        failing.write_embedding(graph, random_points(N, 2, d=4), names=NAMES)
    seen = random_points(N, 1) if name == STAGED else random_points(N, 2, d=4)
    near = store.neighbours("0", key="key", k=5, model=NAMES.model)
    assert near.fetch is not None
    assert [each.properties["key"] for each in near.nodes] == nearest_keys(seen, 0)[:5]
    with store.lease(NAMES.model):
        expect_found(cypher, seen)
    assert list(of_ours(cypher)) == [INDEX, STAGED]


def test_an_index_takes_published_coordinates(store, graph):
    for ask in (store.create_index, store.drop_index, store.index_status):
        with pytest.raises(ProjectionError, match="model 'ring test' has no published coordinates"):
            ask(NAMES.model)


# --- two at once, lost commits, killed clients -------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        slow("RETURN labels(n) AS labels"),
        "CREATE VECTOR INDEX",
        slow("SHOW INDEXES"),
        slow("MERGE (v:HeatVersion"),
    ],
)
def test_a_run_taken_over_while_it_builds_its_index_fails_cleanly(server, store, cypher, graph, words):
    store.write_embedding(graph, random_points(N, 3), names=NAMES)
    later = random_points(N, 2, d=4)
    with (
        open_store(server, limits=IMPATIENT) as second,
        store.start_run(graph, names=NAMES) as earlier,
    ):
        earlier.write_embedding(random_points(N, 1))

        def overtake():
            expire_lease(cypher, NAMES.model)
            second.write_embedding(graph, later, names=NAMES)

        with (
            before_first(store, words, overtake) as acted,
            pytest.raises(LeaseHeld, match="was taken over: nothing was published"),
        ):
            earlier.publish()
        assert acted
    expect_found(cypher, later)
    assert store.index_status(NAMES.model).problems == ()
    # No lease guards the making of an index: one that comes too late finds that of the new holder.
    assert list(of_ours(cypher)) == [INDEX, STAGED]
    store.write_embedding(graph, later, names=NAMES)
    assert list(of_ours(cypher)) == [INDEX, STAGED]
    expect_found(cypher, later)


@pytest.mark.slow
@pytest.mark.parametrize("action", [slow("clear"), "drop"])
def test_who_is_overtaken_before_it_drops_an_index_drops_none(server, store, cypher, graph, action):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    later = random_points(N, 2)
    with open_store(server, limits=IMPATIENT) as second:

        def overtake():
            expire_lease(cypher, NAMES.model)
            second.write_embedding(graph, later, names=NAMES, overwrite=True)

        act = store.clear if action == "clear" else store.drop_index
        with (
            before_first(store, "SHOW TRANSACTIONS", overtake) as acted,
            pytest.raises(LeaseHeld, match="was taken over"),
        ):
            act(model=NAMES.model)
        assert acted
    assert INDEX in of_ours(cypher)
    expect_found(cypher, later)


def test_while_an_index_is_made_no_version_is_published(server, store, cypher, graph):
    points = random_points(N, 1)
    store.write_embedding(graph, points, names=NAMES, index=False)
    with open_store(server) as second:

        def try_it():
            with pytest.raises(LeaseHeld, match="model 'ring test' is being written by"):
                second.write_embedding(graph, random_points(N, 2), names=NAMES)

        with before_first(store, "CREATE VECTOR INDEX", try_it) as acted:
            store.create_index(NAMES.model)
    assert acted
    assert set(of_ours(cypher)) == {INDEX}
    expect_found(cypher, points)


@pytest.mark.slow
def test_commits_that_were_not_heard_of_are_repeated_without_a_trace(server, store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    points = random_points(N, 2, d=4)
    with open_store(server, kind=LossyConnection) as lossy:
        record = lossy.write_embedding(graph, points, names=NAMES)
        done = {doing for _, doing in lossy.lost}
        assert {"making an index", "dropping an index", "publishing"} <= done
        assert record.indexes == (INDEX,)
        assert list(of_ours(cypher)) == [INDEX, STAGED]
        expect_found(cypher, points)
        assert set(lossy.drop_index(NAMES.model)) == {INDEX, STAGED}
        assert of_ours(cypher) == {}
        assert lossy.create_index(NAMES.model).problems == ()
    expect_found(cypher, points)


def build_and_die(settings, graph, words):
    """Publish a version, and die before the first statement that holds `words`."""
    uri, user, password = settings

    def die(statement, parameters):
        if words in statement:
            os.kill(os.getpid(), signal.SIGKILL)

    with Store.open(uri, auth=(user, password)) as store:
        store.tracer = die
        store.write_embedding(graph, random_points(graph.n_nodes, 2), names=NAMES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [slow("CREATE VECTOR INDEX"), slow("MERGE (v:HeatVersion"), "SET m.version"]
)
def test_a_client_killed_while_it_builds_leaves_the_published_index(server, store, cypher, graph, words):
    before = snapshot(cypher)
    points = random_points(N, 1)
    store.write_embedding(graph, points, names=NAMES)
    child = processes.Process(target=build_and_die, args=(server.settings, graph, words))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert set(of_ours(cypher)) == ({INDEX} if words.startswith("CREATE") else {INDEX, STAGED})
    assert store.index_status(NAMES.model).problems == ()
    expect_found(cypher, points)
    later = random_points(N, 3, d=6)
    store.write_embedding(graph, later, names=NAMES)
    assert list(of_ours(cypher)) == [INDEX, STAGED]
    expect_found(cypher, later)
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == before


@pytest.mark.slow
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
