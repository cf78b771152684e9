"""What is written into a live graph, what is refused, what is removed: read back past the package."""

import threading
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from neo4j import exceptions as driver_errors

from heat_neo4j.database.connection import Transaction
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.publish.lease import WRITE_LOCKS
from heat_neo4j.database.write.payload import check_coordinates, check_links
from heat_neo4j.errors import LeaseHeld, ProjectionError, WriteFailed, WriteRefused
from heat_neo4j.geometry.hyperboloid import radius, to_klein, to_poincare
from heat_neo4j.graph import Provenance
from tests.support.live_graph import (
    IMPATIENT,
    LossyConnection,
    apart_from_versions,
    before_first,
    expire_lease,
    make_ring,
    open_store,
    published_node,
    published_values,
    random_links,
    random_points,
    ring_graph,
    runs_in_graph,
    snapshot,
)
from tests.support.slow import slow_with_index

pytestmark = pytest.mark.live

N = 40
LABEL = "RingNode"
NAMES = WriteNames(model="ring test")
OTHER = WriteNames(model="ring other")


@pytest.fixture
def graph(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    for names in (NAMES, OTHER):
        store.clear(model=names.model)
    cypher(f"MATCH (n) WHERE n:`{LABEL}` OR n:WriterForeign DETACH DELETE n")


# --- what is written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "convert"), [("poincare", to_poincare), ("klein", to_klein), ("hyperboloid", None)]
)
def test_coordinates_are_read_back_bit_for_bit(store, cypher, graph, kind, convert):
    points = random_points(N, 1)
    record = store.write_embedding(graph, points, names=NAMES, coordinates=kind, batch_size=7)
    node, seen = published_values(cypher, LABEL, NAMES.model)
    expected = points if convert is None else convert(points)
    assert {key: tuple(values[0]) for key, values in seen.items()} == dict(enumerate(map(tuple, expected)))
    assert [seen[key][1] for key in range(N)] == radius(points).tolist()
    assert {values[2] for values in seen.values()} == {record.run_id}
    assert (node["run"], node["coordinates"], node["dimension"]) == (record.run_id, kind, expected.shape[1])
    assert (record.status, record.nodes_written, record.nodes_missing) == ("complete", N, 0)


def test_coordinates_come_back_as_points_in_the_order_of_the_graph(store, graph):
    points = random_points(N, 2)
    store.write_embedding(graph, points, names=NAMES, coordinates="hyperboloid")
    np.testing.assert_array_equal(store.read_embedding(graph, NAMES.model), points)
    turned = replace(graph, node_ids=graph.node_ids[::-1])
    np.testing.assert_array_equal(store.read_embedding(turned, NAMES.model), points[::-1])
    store.write_embedding(graph, points, names=NAMES)
    np.testing.assert_allclose(store.read_embedding(graph, NAMES.model), points, rtol=0, atol=1e-12)


@pytest.mark.parametrize("later", [[1], [1, 2]])
def test_coordinates_published_anew_while_they_are_read_are_read_again(store, graph, later):
    points = [random_points(N, seed) for seed in range(3)]
    store.write_embedding(graph, points[0], names=NAMES)

    def publish():
        for version in later:
            store.write_embedding(graph, points[version], names=NAMES)

    with before_first(store, "AS coordinates", publish) as acted:
        found = store.read_embedding(graph, NAMES.model)
    assert acted
    np.testing.assert_allclose(found, points[later[-1]], rtol=0, atol=1e-12)


def test_links_published_anew_while_they_are_read_are_read_again(store, graph):
    links = [random_links(N, seed) for seed in range(2)]
    store.write_links(graph, links[0], names=NAMES)
    with before_first(
        store, "AS probabilities", lambda: store.write_links(graph, links[1], names=NAMES)
    ) as acted:
        found = store.read_links(graph, NAMES.model)
    assert acted
    np.testing.assert_array_equal(found.distance, links[1].distance)


def test_what_is_published_anew_whenever_it_is_read_is_told(server, store, graph):
    store.limits = IMPATIENT
    store.write_embedding(graph, random_points(N, 0), names=NAMES, index=False)
    store.write_links(graph, random_links(N, 0), names=NAMES)

    def publish(statement, parameters):
        if "AS coordinates" in statement:
            store.write_embedding(graph, random_points(N, 1), names=NAMES, index=False)
        if "AS probabilities" in statement:
            store.write_links(graph, random_links(N, 1), names=NAMES)

    with open_store(server) as reader:
        reader.tracer = publish
        for read in (
            lambda: reader.read_embedding(graph, NAMES.model),
            lambda: reader.read_stored(graph, NAMES.model),
            lambda: reader.read_links(graph, NAMES.model),
        ):
            with pytest.raises(ProjectionError, match="is republished repeatedly: retry later"):
                read()


def test_links_are_one_relationship_per_pair(store, cypher, graph):
    links = random_links(N, 3)
    record = store.write_links(graph, links, names=NAMES, batch_size=7)
    rows = cypher(
        "MATCH (a)-[p]->(b) WHERE type(p) = $type RETURN a.key AS a, b.key AS b, properties(p) AS p",
        type=NAMES.link_type,
    )
    expected = {
        (int(a), int(b)): {
            **{"distance": d, "probability": q, "rank": r, "patternRank": r, "type": ""},
            "run": record.run_id,
        }
        for a, b, d, q, r in zip(
            links.source,
            links.target,
            links.distance.tolist(),
            links.probability.tolist(),
            links.rank.tolist(),
            strict=True,
        )
    }
    assert len(rows) == len(expected)
    assert {(row["a"], row["b"]): row["p"] for row in rows} == expected
    node = published_node(cypher, NAMES.model)
    assert (node["linkRun"], node["linkType"]) == (record.run_id, NAMES.link_type)


def test_links_without_probability_have_none(store, cypher, graph):
    links = replace(random_links(N, 3), probability=None)
    store.write_links(graph, links, names=NAMES)
    rows = cypher("MATCH ()-[p]->() WHERE type(p) = $type RETURN keys(p) AS k", type=NAMES.link_type)
    assert {tuple(sorted(row["k"])) for row in rows} == {("distance", "patternRank", "rank", "run", "type")}


def test_no_links_at_all_can_be_published(store, cypher, graph):
    first = store.write_links(graph, random_links(N, 1), names=NAMES)
    record = store.write_links(graph, random_links(N, 1, count=0), names=NAMES)
    assert (record.status, record.links_written) == ("complete", 0)
    assert runs_in_graph(cypher, LABEL, NAMES) == {"previous links": {first.run_id: 30}}
    store.write_links(graph, random_links(N, 1, count=0), names=NAMES)
    assert runs_in_graph(cypher, LABEL, NAMES) == {}


def test_hostile_names_are_only_names(store, cypher, graph):
    names = WriteNames(model="`}) DETACH DELETE n //")
    before = snapshot(cypher)
    points = random_points(N, 4)
    store.write_embedding(graph, points, names=names, coordinates="hyperboloid")
    store.write_links(graph, random_links(N, 4), names=names)
    np.testing.assert_array_equal(store.read_embedding(graph, names.model), points)
    store.clear(model=names.model)
    assert snapshot(cypher) == before


BUILT = ["write coordinates", "settle", "build index"]


@pytest.mark.parametrize(
    "stages_of_versions",
    [
        [["write coordinates", "settle"]] * 2,
        slow_with_index([BUILT, [BUILT[0], "index new version", *BUILT[1:]]]),
    ],
)
def test_progress_runs_to_its_end(store, graph, stages_of_versions):
    calls = []
    for stages in stages_of_versions:
        calls.clear()
        store.write_embedding(
            graph,
            random_points(N, 5),
            names=NAMES,
            batch_size=10,
            on_progress=lambda *call: calls.append(call),
        )
        assert list(dict.fromkeys(call[0] for call in calls)) == stages
        assert calls[:5] == [("write coordinates", done, N) for done in (0, 10, 20, 30, 40)]
        last = {call[0]: call[1:] for call in calls}
        assert all(done == total for done, total in last.values())


def test_no_statement_of_ours_makes_the_server_complain(store, graph):
    codes = set()

    class Listening(Transaction):
        def run(self, statement, parameters=None):
            result = super().run(statement, parameters)
            codes.update(status.gql_status for status in result.summary.gql_status_objects)
            return result

    store.transaction = Listening
    for seed in range(2):
        store.write_embedding(graph, random_points(N, seed), names=NAMES)
        store.write_links(graph, random_links(N, seed), names=NAMES)
    store.read_embedding(graph, NAMES.model)
    store.runs()
    store.clear(model=NAMES.model)
    assert codes <= {"00000", "00001", "02000"}


# --- one version after another -----------------------------------------------------------------------------


def test_the_version_before_the_last_is_kept_and_nothing_else(store, cypher, graph):
    records = []
    for seed in range(3):
        with store.start_run(graph, names=NAMES, parts=["embedding", "links"]) as run:
            run.write_embedding(random_points(N, seed))
            run.write_links(random_links(N, seed))
            staged = runs_in_graph(cypher, LABEL, NAMES)
            assert staged["staged"] == {run.record.run_id: N}  # where nobody reads it
            assert staged["staged links"] == {run.record.run_id: 30}
            records.append(run.publish())
        last, *before = (record.run_id for record in records[-2:][::-1])
        expected = {"plain": {last: N}, "plain links": {last: 30}}
        for run_id in before:
            expected |= {"previous": {run_id: N}, "previous links": {run_id: 30}}
        assert runs_in_graph(cypher, LABEL, NAMES) == expected


def test_plain_names_hold_the_published_version_and_nothing_else(store, cypher, graph):
    """So that a query which knows nothing of versions needs no condition."""
    points, links = random_points(N, 2), random_links(N, 2)
    for seed in range(3):
        record = store.write_embedding(graph, random_points(N, seed), names=NAMES)
        drawn = store.write_links(graph, random_links(N, seed), names=NAMES)
    rows = cypher(
        "MATCH (n) WHERE n.ringTestEmbedding IS NOT NULL RETURN n.key AS key, n.ringTestEmbedding AS e, "
        "n.ringTestRadius AS r, n.ringTestRun AS run, n.ringTestVector AS v ORDER BY key"
    )
    assert [row["key"] for row in rows] == list(range(N))
    np.testing.assert_array_equal([row["e"] for row in rows], to_poincare(points))
    np.testing.assert_array_equal([row["r"] for row in rows], radius(points))
    assert {(row["run"], row["v"]) for row in rows} == {(record.run_id, None)}
    rows = cypher(
        "MATCH (a)-[p:RING_TEST_PREDICTED]->(b) RETURN a.key AS a, b.key AS b, p.run AS run ORDER BY p.rank"
    )
    assert [(row["a"], row["b"]) for row in rows] == list(
        zip(links.source.tolist(), links.target.tolist(), strict=True)
    )
    assert {row["run"] for row in rows} == {drawn.run_id}


def test_a_version_of_links_alone_leaves_coordinates_alone(store, cypher, graph):
    """What is kept is what the model pointed to: then the same coordinates, with other links."""
    links = []
    for seed in range(2):
        record = store.write_embedding(graph, random_points(N, seed), names=NAMES)
        before = runs_in_graph(cypher, LABEL, NAMES)
        nodes = snapshot(cypher)["nodes"]
        links.append(store.write_links(graph, random_links(N, seed), names=NAMES).run_id)
        found = runs_in_graph(cypher, LABEL, NAMES)
        assert found.pop("plain links") == {links[-1]: 30}
        assert found.pop("previous links", {}) == ({links[0]: 30} if seed else {})
        assert found == {copy: runs for copy, runs in before.items() if "links" not in copy}
        assert {each: nodes[each] for each in graph.node_ids} == {
            each: snapshot(cypher)["nodes"][each] for each in graph.node_ids
        }
    node = published_node(cypher, NAMES.model)
    assert (node["run"], node["previousRun"]) == (record.run_id, record.run_id)
    assert (node["linkRun"], node["previousLinkRun"]) == (links[1], links[0])


def test_ids_of_published_nodes_are_read_only_if_some_left(store, cypher, graph):
    points = random_points(N, 1)
    store.write_embedding(graph, points, names=NAMES)
    moved = np.arange(N) == 3
    for left in (False, True):
        sent = []
        if left:
            cypher(f"MATCH (n:`{LABEL}` {{key: 5}}) REMOVE n:`{LABEL}` SET n:WriterForeign")
            graph = ring_graph(cypher, LABEL)
            points, moved = np.delete(points, 5, axis=0), np.delete(moved, 5)
        store.tracer = lambda statement, _, sent=sent: sent.append(statement)
        with store.start_run(graph, names=NAMES) as run:
            run.send_coordinates(check_coordinates(points, len(points), "poincare"), {}, changed=moved)
            run.publish()
        store.tracer = None
        reads_ids = [each for each in sent if "WHERE n.`ringTestRun` = $space\nRETURN elementId(n)" in each]
        assert bool(reads_ids) == left


@pytest.mark.parametrize("kind", ["poincare", "klein"])
def test_a_run_of_some_nodes_writes_no_others(store, cypher, graph, kind):
    """Nodes that did not move keep the run that trained them, and are not written to."""
    points = random_points(N, 1)
    cypher(f"MATCH (n:`{LABEL}` {{key: 39}}) REMOVE n:`{LABEL}` SET n:WriterForeign")
    first = store.write_embedding(ring_graph(cypher, LABEL), points[:39], names=NAMES, coordinates=kind)
    before = snapshot(cypher)["nodes"]
    cypher(f"MATCH (n:WriterForeign {{key: 39}}) SET n:`{LABEL}` REMOVE n:WriterForeign")  # new
    cypher(f"MATCH (n:`{LABEL}` {{key: 5}}) REMOVE n:`{LABEL}` SET n:WriterForeign")  # left
    changed = ring_graph(cypher, LABEL)
    rows = [key for key in range(N) if key != 5]
    points[[0, 7]] = random_points(2, 2)
    moved = np.isin(rows, [0, 7, 39])
    with store.start_run(changed, names=NAMES) as run:
        run.send_coordinates(check_coordinates(points[rows], N - 1, kind), {}, changed=moved)
        assert runs_in_graph(cypher, LABEL, NAMES)["staged"] == {first.run_id: 3}
        record = run.publish()
    after = snapshot(cypher)["nodes"]
    still = [graph.node_ids[key] for key in rows if key not in (0, 7, 39)]
    assert {node: after[node] for node in still} == {node: before[node] for node in still}
    node, seen = published_values(cypher, LABEL, NAMES.model)
    assert sorted(seen) == rows
    assert {values[2] for values in seen.values()} == {first.run_id}
    assert (node["run"], node["space"], record.nodes_written) == (record.run_id, first.run_id, N - 1)
    expected = (to_poincare if kind == "poincare" else to_klein)(points)
    np.testing.assert_array_equal([seen[key][0] for key in rows], expected[rows])
    left = after[graph.node_ids[5]][1]
    assert not {"ringTestEmbedding", "ringTestRadius", "ringTestRun", "ringTestVector"} & set(left)
    assert not any(name.endswith("Staged") for _, held in after.values() for name in held)
    kept = [held for _, held in after.values() if "ringTestRunPrevious" in held]
    assert {(held["key"], held["ringTestRunPrevious"]) for held in kept} == {
        (key, first.run_id) for key in (0, 5, 7, 39)
    }
    store.rollback(NAMES.model)
    back = snapshot(cypher)["nodes"]
    values = ("ringTestEmbedding", "ringTestRadius", "ringTestRun", "ringTestVector")
    for identity in graph.node_ids:
        assert [back[identity][1].get(name) for name in values] == [
            before[identity][1].get(name) for name in values
        ]


def test_a_node_that_left_the_projection_loses_its_old_coordinates(store, cypher, graph):
    first = store.write_embedding(graph, random_points(N, 1), names=NAMES)
    cypher(f"MATCH (n:`{LABEL}` {{key: 5}}) REMOVE n:`{LABEL}` SET n:WriterForeign")
    smaller = ring_graph(cypher, LABEL)
    for seed in (2, 3):
        before = store.published_run(NAMES.model)
        record = store.write_embedding(smaller, random_points(N - 1, seed), names=NAMES)
        assert runs_in_graph(cypher, LABEL, NAMES) == {
            "plain": {record.run_id: N - 1},
            "previous": {before.run_id: N - 1},
            "torn": {first.run_id: 1},  # what it had is kept: of the first run, that is for one rollback
        }
    store.rollback(NAMES.model)
    assert runs_in_graph(cypher, LABEL, NAMES)["plain"] == {before.run_id: N - 1}
    assert "torn" in runs_in_graph(cypher, LABEL, NAMES)
    store.clear(model=NAMES.model)
    assert runs_in_graph(cypher, LABEL, NAMES) == {}


# --- the graph changes meanwhile ---------------------------------------------------------------------------


def test_nodes_deleted_meanwhile_are_counted(store, cypher, graph):
    cypher(f"MATCH (n:`{LABEL}`) WHERE n.key < 3 DETACH DELETE n")
    record = store.write_embedding(graph, random_points(N, 1), names=NAMES)
    assert (record.nodes_written, record.nodes_missing) == (N - 3, 3)
    links = random_links(N, 1)
    gone = int(((links.source < 3) | (links.target < 3)).sum())
    record = store.write_links(graph, links, names=NAMES)
    assert (record.links_written, record.links_missing) == (30 - gone, gone)
    with pytest.raises(ProjectionError, match="3 of 40 nodes have no coordinates"):
        store.read_embedding(graph, NAMES.model)


def test_an_element_id_that_means_another_node_now_is_left_alone(store, cypher, graph):
    cypher("CREATE (:WriterForeign {name: 'new owner of an old id'})")
    reused = cypher("MATCH (n:WriterForeign) RETURN elementId(n) AS id")[0]["id"]
    stale = replace(graph, node_ids=[reused, *graph.node_ids[1:]])
    record = store.write_embedding(stale, random_points(N, 1), names=NAMES)
    links = store.write_links(stale, replace(random_links(N, 1)), names=NAMES)
    assert record.nodes_missing == 1
    assert links.links_missing == int((random_links(N, 1).source == 0).sum())
    assert cypher("MATCH (n:WriterForeign) RETURN properties(n) AS p, COUNT { (n)--() } AS d")[
        0
    ].values() == [
        {"name": "new owner of an old id"},
        0,
    ]


def test_without_labels_our_own_nodes_are_never_taken_for_the_users(store, cypher, graph):
    record = store.write_embedding(graph, random_points(N, 1), names=NAMES)
    run_node = cypher("MATCH (r:HeatRun {runId: $run}) RETURN elementId(r) AS id", run=record.run_id)[0]["id"]
    stale = replace(graph, node_ids=[run_node, *graph.node_ids[1:]], provenance=Provenance({"labels": None}))
    assert store.write_embedding(stale, random_points(N, 2), names=NAMES).nodes_missing == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda store, graph, links: store.write_embedding(graph, random_points(N, 1), names=NAMES),
        lambda store, graph, links: store.write_links(graph, links, names=NAMES),
    ],
    ids=["coordinates", "links"],
)
def test_a_node_deleted_while_its_batch_waits_for_it_is_counted(store, cypher, graph, write):
    links = random_links(N, 1, count=300)
    gone = int(((links.source == 7) | (links.target == 7)).sum())
    cypher(f"MATCH (:`{LABEL}` {{key: 7}})-[r]-() DELETE r")
    with cypher.driver.session() as session, session.begin_transaction() as deletion:
        deletion.run(f"MATCH (n:`{LABEL}` {{key: 7}}) DELETE n").consume()
        release = threading.Timer(1.0, deletion.commit)
        release.start()
        record = write(store, graph, links)
        release.join()
    assert (record.nodes_missing, record.links_missing) in [(1, 0), (0, gone)]
    written = record.nodes_written + record.links_written
    assert written + record.nodes_missing + record.links_missing in (N, 300)


def test_a_graph_from_another_database_is_not_published(store, cypher, graph):
    elsewhere = replace(graph, node_ids=[f"4:00000000-0000-0000-0000-000000000000:{i}" for i in range(N)])
    with pytest.raises(WriteFailed, match="none of the graph's nodes is in this database"):
        store.write_embedding(elsewhere, random_points(N, 1), names=NAMES)
    assert "run" not in published_node(cypher, NAMES.model)


# --- repetitions -------------------------------------------------------------------------------------------


def test_commits_that_were_not_heard_of_are_repeated_without_a_trace(server, store, cypher, graph):
    points, links = random_points(N, 1), random_links(N, 1)
    for seed in (3, 2):
        before = store.write_embedding(graph, random_points(N, seed), names=NAMES)
    with open_store(server, kind=LossyConnection, index=False) as lossy:
        record = lossy.write_embedding(graph, points, names=NAMES, batch_size=16, coordinates="hyperboloid")
        drawn = lossy.write_links(graph, links, names=NAMES, batch_size=16)
    assert (record.nodes_written, drawn.links_written) == (N, 30)
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "plain": {record.run_id: N},
        "previous": {before.run_id: N},
        "plain links": {drawn.run_id: 30},
    }
    np.testing.assert_array_equal(store.read_embedding(graph, NAMES.model), points)
    assert len(store.runs(NAMES.model)) == 4


# --- two at once -------------------------------------------------------------------------------------------


def assert_only_run(store, cypher, graph, record, points):
    """Check that `points` are published by the run of a record, and that the model has no other."""
    np.testing.assert_array_equal(store.read_embedding(graph, NAMES.model), points)
    assert runs_in_graph(cypher, LABEL, NAMES) == {"plain": {record.run_id: N}}
    assert [run.run_id for run in store.runs(NAMES.model)] == [record.run_id]


def test_of_two_runs_the_second_is_refused_and_the_first_goes_on(store, cypher, graph):
    points = random_points(N, 2)
    with store.start_run(graph, names=NAMES, batch_size=10) as first:
        first.write_embedding(points, coordinates="hyperboloid")
        with pytest.raises(LeaseHeld, match="model 'ring test' is being written by"):
            store.write_embedding(graph, random_points(N, 1), names=NAMES)
        record = first.publish()
    assert_only_run(store, cypher, graph, record, points)


def test_a_run_whose_lease_another_took_fails_cleanly(store, cypher, graph):
    points = random_points(N, 2)
    with store.start_run(graph, names=NAMES, batch_size=10) as earlier:
        earlier.write_embedding(random_points(N, 1))
        expire_lease(cypher, NAMES.model)
        with store.start_run(graph, names=NAMES) as later:
            later.write_embedding(points, coordinates="hyperboloid")
            for late in (lambda: earlier.write_embedding(random_points(N, 1)), earlier.publish):
                with pytest.raises(LeaseHeld, match=r"expired .* and was taken over: nothing was published"):
                    late()
            record = later.publish()
        with pytest.raises(LeaseHeld, match="was taken over"):
            earlier.publish()
    assert_only_run(store, cypher, graph, record, points)


def test_a_run_can_write_nothing_from_the_moment_it_is_taken_over(server, store, cypher, graph):
    """While the later run still looks for what the earlier wrote, the earlier must not write more."""
    refused = []

    def let_the_earlier_write(statement, parameters):
        if "REMOVE n.`ringTestEmbeddingStaged`" in statement and not refused:
            with pytest.raises(LeaseHeld, match="was taken over") as caught:
                earlier.write_embedding(random_points(N, 1))
            refused.append(caught.value)

    with open_store(server, index=False) as second:
        second.tracer = let_the_earlier_write
        with store.start_run(graph, names=NAMES) as earlier:
            earlier.write_embedding(random_points(N, 1))
            expire_lease(cypher, NAMES.model)
            record = second.write_embedding(graph, random_points(N, 2), names=NAMES)
    assert len(refused) == 1
    assert runs_in_graph(cypher, LABEL, NAMES) == {"plain": {record.run_id: N}}


def test_what_the_dead_wrote_is_gone_before_the_first_value_is_written(store, cypher, graph):
    first = store.write_embedding(graph, random_points(N, 1), names=NAMES)
    with store.start_run(graph, names=NAMES) as dead:
        dead.write_embedding(random_points(N, 2))
    seen = []

    def look(stage, done, total):
        if stage == "write coordinates" and done == 0:
            seen.append(runs_in_graph(cypher, LABEL, NAMES))

    store.write_embedding(graph, random_points(N, 3), names=NAMES, on_progress=look)
    assert seen == [{"plain": {first.run_id: N}}]


def test_what_is_published_or_kept_is_not_pruned(store, cypher, graph):
    parts, records = ("embedding", "links"), []
    for seed in range(3):
        with store.start_run(graph, names=NAMES, parts=parts) as run:
            run.write_embedding(random_points(N, seed))
            run.write_links(random_links(N, seed))
            if seed < 2:
                records.append(run.publish().run_id)
            else:
                with pytest.raises(LeaseHeld, match="is being written by"):
                    store.prune(NAMES.model)
    store.prune(NAMES.model)
    before, now = records
    found = {"plain": {now: N}, "plain links": {now: 30}}
    assert runs_in_graph(cypher, LABEL, NAMES) == found | {
        "previous": {before: N},
        "previous links": {before: 30},
    }
    store.prune(NAMES.model, previous=True)
    assert runs_in_graph(cypher, LABEL, NAMES) == found


def test_a_run_that_writes_is_not_cleared_before_its_lease_is_over(store, cypher, graph):
    before = snapshot(cypher)
    with store.start_run(graph, names=NAMES) as run:
        run.write_embedding(random_points(N, 1))
        with pytest.raises(LeaseHeld, match="is being written by"):
            store.clear(run_id=run.record.run_id)
        expire_lease(cypher, NAMES.model)
        report = store.clear(run_id=run.record.run_id)
        assert report.runs == (run.record.run_id,)
        with pytest.raises(LeaseHeld, match="was taken over"):
            run.publish()
    assert snapshot(cypher) == before


@pytest.mark.parametrize("lock", range(WRITE_LOCKS))
def test_taking_over_waits_for_the_batches_that_are_being_written(server, store, cypher, graph, lock):
    """A batch holds its lock; what it wrote must be seen, and removed, by the run that takes over."""
    undone, records, taking = [], [], threading.Event()

    def write_late():
        with suppress(LeaseHeld):  # a batch that is not under way yet finds its lock gone
            earlier.write_embedding(random_points(N, 1))

    def take_over():
        records.append(second.write_embedding(graph, random_points(N, 2), names=NAMES))

    def look(statement, parameters):
        if "DELETE lock" in statement:
            taking.set()
        if "REMOVE n." in statement:
            undone.append(statement)

    def await_batch():
        asked = (
            "SHOW TRANSACTIONS YIELD currentQuery AS q, status WHERE status STARTS WITH 'Blocked' RETURN q"
        )
        deadline = time.monotonic() + 60
        while not any("$values" in row["q"] for row in cypher(asked)):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    threads = [threading.Thread(target=act, daemon=True) for act in (write_late, take_over)]
    with (
        open_store(server, index=False) as second,
        store.lease(NAMES.model, seconds=600) as lease,  # which is not renewed meanwhile
        store.start_run(graph, names=NAMES, batch_size=N // WRITE_LOCKS, lease=lease) as earlier,
    ):
        second.tracer = look
        with cypher.driver.session() as session, session.begin_transaction() as user:
            held = user.run(
                f"MATCH (n:`{LABEL}` {{key: $key}}) SET n.held = 1 REMOVE n.held", key=N // WRITE_LOCKS * lock
            )
            held.consume()
            threads[0].start()
            await_batch()
            expire_lease(cypher, NAMES.model)
            threads[1].start()
            assert taking.wait(60)
            assert undone == []
            user.commit()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    assert undone
    assert runs_in_graph(cypher, LABEL, NAMES) == {"plain": {records[0].run_id: N}}


def test_many_first_runs_at_once_leave_one_whole_version(store, cypher, graph):
    points = {seed: random_points(N, seed) for seed in range(4)}
    outcomes = {}

    def write(seed):
        try:
            outcomes[seed] = store.write_embedding(
                graph, points[seed], names=NAMES, coordinates="hyperboloid", batch_size=8
            )
        except LeaseHeld as error:
            outcomes[seed] = error

    threads = [threading.Thread(target=write, args=(seed,)) for seed in points]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cypher("MATCH (m:HeatModel {name: $name}) RETURN count(m) AS c", name=NAMES.model)[0]["c"] == 1
    node, seen = published_values(cypher, LABEL, NAMES.model)
    (winner,) = (
        seed for seed, outcome in outcomes.items() if getattr(outcome, "run_id", None) == node["run"]
    )
    assert {key: tuple(values[0]) for key, values in seen.items()} == dict(
        enumerate(map(tuple, points[winner]))
    )
    assert runs_in_graph(cypher, LABEL, NAMES) == {"plain": {node["run"]: N}}
    assert all(
        "is being written by" in str(outcome)
        for outcome in outcomes.values()
        if isinstance(outcome, LeaseHeld)
    )


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copy", ["plain", "staged", "previous"])
@pytest.mark.parametrize("which", ["embedding", "radius", "run", "vector"])
def test_a_users_own_property_is_not_overwritten(store, cypher, graph, copy, which):
    mine = getattr(getattr(NAMES, copy), which)
    cypher(f"MATCH (n:`{LABEL}` {{key: 3}}) SET n.`{mine}` = 'mine'")
    before = snapshot(cypher)
    with pytest.raises(WriteRefused, match=r"on 1 node \(e\.g\. .*\) is not from a run"):
        store.write_embedding(graph, random_points(N, 1), names=NAMES)
    assert snapshot(cypher) == before


def test_overwriting_is_possible_when_asked_for(store, cypher, graph):
    cypher(f"MATCH (n:`{LABEL}` {{key: 3}}) SET n.ringTestEmbedding = 'mine'")
    record = store.write_embedding(graph, random_points(N, 1), names=NAMES, overwrite=True)
    assert runs_in_graph(cypher, LABEL, NAMES) == {"plain": {record.run_id: N}}


@pytest.mark.parametrize("copy", ["plain", "staged", "previous"])
def test_a_users_own_relationships_are_never_changed(store, cypher, graph, copy):
    link_type = getattr(NAMES.links, copy)
    cypher(
        f"MATCH (a:`{LABEL}`) MATCH (b:`{LABEL}` {{key: a.key + 2}}) "
        f"CREATE (a)-[:{link_type} {{run: a.key}}]->(b)"
    )
    before = snapshot(cypher)
    with pytest.raises(WriteRefused, match=rf"^type '{link_type}' on 38 relationships .* is not from a run"):
        store.write_links(graph, random_links(N, 1), names=NAMES)
    assert snapshot(cypher) == before
    for seed in range(3):
        store.write_links(graph, random_links(N, seed), names=NAMES, overwrite=True)
    ours = 30 + 30 + 1  # those published, those before, and HEAT_PUBLISHED
    assert len(snapshot(cypher)["relationships"]) == len(before["relationships"]) + ours
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == before


@pytest.mark.parametrize(
    ("part", "what"), [("embedding", "ringTestEmbedding"), ("links", "RING_TEST_PREDICTED")]
)
def test_names_of_another_model_are_taken(store, cypher, graph, part, what):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    store.write_links(graph, random_links(N, 1), names=NAMES)
    before = snapshot(cypher)
    with (
        pytest.raises(WriteRefused, match=f"'{what}'.* belongs to model 'ring test'"),
        store.start_run(graph, names=WriteNames("ring-test"), parts=[part], overwrite=True),
    ):
        pass
    assert snapshot(cypher) == before


@pytest.mark.parametrize(
    ("projection", "parts"),
    [
        ({"attributes": ["ringTestEmbedding"]}, ["embedding"]),
        ({"attributes": ["ringTestRunStaged"]}, ["embedding"]),
        ({"text": ["ringTestRadius"]}, ["embedding"]),
        ({"label_attributes": {LABEL: ["ringTestEmbedding"]}}, ["embedding"]),
        ({"key": "ringTestRadiusPrevious"}, ["embedding"]),
        ({"key": {"Any": "id", "Other": "ringTestRadius"}}, ["embedding"]),
        ({"relationships": ["NEXT", "RING_TEST_PREDICTED"]}, ["links"]),
        ({"relationships": ["RING_TEST_PREDICTED_PREVIOUS"]}, ["links"]),
    ],
)
def test_what_the_projection_reads_is_not_written_to(store, cypher, graph, projection, parts):
    graph = ring_graph(cypher, LABEL, **projection)
    with pytest.raises(WriteRefused, match="is read by the projection"):
        store.start_run(graph, names=NAMES, parts=parts, overwrite=True)


def test_values_that_are_not_finite_leave_no_trace(store, cypher, graph):
    before = snapshot(cypher)
    bad = random_points(N, 1)
    bad[3, 1] = np.nan
    with pytest.raises(WriteRefused, match="NaN or infinity"):
        store.write_embedding(graph, bad, names=NAMES)
    links = random_links(N, 1)
    links.distance[4] = np.inf
    with pytest.raises(WriteRefused, match="distance"):
        store.write_links(graph, links, names=NAMES)
    assert snapshot(cypher) == before


def test_a_dry_run_says_what_it_would_write_and_writes_nothing(store, cypher, graph):
    before = snapshot(cypher)
    coordinates, links = (
        check_coordinates(random_points(N, 1), N, "poincare"),
        check_links(random_links(N, 1), N),
    )
    plan = store.start_run(graph, names=NAMES).plan(coordinates)
    assert (plan.status, plan.nodes_written, plan.dimension) == ("dry run", N, 3)
    assert (plan.embedding_property, plan.radius_property) == ("ringTestEmbedding", "ringTestRadius")
    plan = store.start_run(graph, parts=["links"], names=NAMES).plan(links=links)
    assert (plan.status, plan.links_written, plan.link_type) == ("dry run", 30, "RING_TEST_PREDICTED")
    assert snapshot(cypher) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node_ids": ()}, "no node_ids"),
    ],
)
def test_wrong_arguments_are_told_before_anything_is_sent(store, graph, change, message):
    options = {"names": NAMES, **change}
    if "node_ids" in options:
        graph = replace(graph, node_ids=options.pop("node_ids"))
    with pytest.raises(ValueError, match=message):
        store.start_run(graph, **options)


def test_a_run_must_write_what_it_was_started_for(store, graph):
    with store.start_run(graph, names=NAMES, parts=["links"]) as run:
        with pytest.raises(ValueError, match="started for links, not for embedding"):
            run.write_embedding(random_points(N, 1))
        with pytest.raises(ValueError, match="must write its links"):
            run.publish()
    with pytest.raises(ValueError, match="has not started"):
        store.start_run(graph, names=NAMES).write_embedding(random_points(N, 1))


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("Security.Forbidden", "grant this one the right"),
        ("General.WriteOnReadOnlyAccessDatabase", "make the database writable"),
    ],
)
def test_a_user_who_may_not_write_is_told(store, cypher, graph, code, advice):
    before = snapshot(cypher)

    class Forbidden(Transaction):
        def run(self, statement, parameters=None):
            if "CREATE (:HeatModel" in statement:
                raise driver_errors.Neo4jError._hydrate_neo4j(
                    code=f"Neo.ClientError.{code}", message="Create node is not allowed for user 'reader'."
                )
            return super().run(statement, parameters)

    store.transaction = Forbidden
    with pytest.raises(WriteRefused, match=f"Create node is not allowed .*{advice}"):
        store.write_embedding(graph, random_points(N, 1), names=NAMES)
    assert snapshot(cypher) == before


# --- clear -------------------------------------------------------------------------------------------------


@pytest.fixture
def crowded(cypher, graph, store):
    """Beside the ring: a user's own nodes that look like ours, and another model."""
    cypher(
        "CREATE (:HeatRun:WriterForeign {runId: 'mine', model: $model, status: 'complete', "
        "stored: ['embedding'], runProperty: 'ringTestRun'}) "
        "CREATE (:HeatModel:WriterForeign {name: $model, run: 'mine'})",
        model=NAMES.model,
    )
    store.write_embedding(graph, random_points(N, 9), names=OTHER)
    store.write_links(graph, random_links(N, 9), names=OTHER)
    return graph


def test_clearing_a_run_leaves_exactly_what_was_there_before_it(store, cypher, crowded):
    before = snapshot(cypher)
    embedding = store.write_embedding(crowded, random_points(N, 1), names=NAMES)
    between, node = apart_from_versions(snapshot(cypher)), published_node(cypher, NAMES.model)
    links = store.write_links(crowded, random_links(N, 1), names=NAMES)
    report = store.clear(run_id=links.run_id)
    assert (report.runs, report.nodes, report.links, report.models) == ((links.run_id,), 0, 30, ())
    assert apart_from_versions(snapshot(cypher)) == between
    assert apart_from_time(published_node(cypher, NAMES.model)) == apart_from_time(node)
    report = store.clear(run_id=embedding.run_id)
    assert (report.nodes, report.links, report.models) == (N, 0, (NAMES.model,))
    assert snapshot(cypher) == before


def test_clearing_a_model_leaves_exactly_what_was_there_before_it(store, cypher, crowded):
    before = snapshot(cypher)
    for seed in range(3):
        with store.start_run(crowded, names=NAMES, parts=["embedding", "links"]) as run:
            run.write_embedding(random_points(N, seed))
            run.write_links(random_links(N, seed))
            run.publish()
    with store.start_run(crowded, names=NAMES) as run:
        run.write_embedding(random_points(N, 3))
    full = snapshot(cypher)
    plan = store.clear(model=NAMES.model, dry_run=True)
    assert snapshot(cypher) == full
    calls = []
    report = store.clear(model=NAMES.model, on_progress=lambda *call: calls.append(call))
    # Of the published version, and of the one before; what the dead run staged goes when the lease is taken.
    assert (report.nodes, report.links, report.models) == (2 * N, 2 * 30, (NAMES.model,))
    assert replace(plan, dry_run=False) == report
    assert calls == [("remove", 0, 1), ("remove", 1, 1)]
    assert snapshot(cypher) == before


def test_clearing_everything_leaves_exactly_what_was_there_before_us(server, store, cypher, graph):
    if server.local is None:
        pytest.skip("would clear what others wrote on a server that is not ours")
    store.clear(everything=True)
    before = snapshot(cypher)
    for names in (NAMES, OTHER):
        store.write_embedding(graph, random_points(N, 1), names=names)
        store.write_links(graph, random_links(N, 1), names=names)
    report = store.clear(everything=True)
    assert (report.nodes, report.links, len(report.runs)) == (2 * N, 60, 4)
    assert report.models == (OTHER.model, NAMES.model)
    assert snapshot(cypher) == before
    assert store.clear(everything=True).to_dict() == {
        "runs": (),
        "models": (),
        "nodes": 0,
        "links": 0,
        "dry_run": False,
        "others": (),
    }


def test_clearing_what_a_user_added_to_it_later_spares_that(store, cypher, graph):
    """What does not say any more that it is ours is the user's from then on."""
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    store.write_links(graph, random_links(N, 1), names=NAMES)
    cypher(f"MATCH (n:`{LABEL}` {{key: 1}}) SET n.ringTestRun = 'kept'")
    cypher(f"MATCH ()-[p:{NAMES.link_type} {{rank: 1}}]->() REMOVE p.run")
    report = store.clear(model=NAMES.model)
    assert (report.nodes, report.links) == (N - 1, 29)
    assert cypher("MATCH (n) WHERE n.ringTestEmbedding IS NOT NULL RETURN n.key AS k")[0]["k"] == 1
    cypher(f"MATCH (n:`{LABEL}` {{key: 1}}) REMOVE n.ringTestEmbedding, n.ringTestRadius, n.ringTestRun")


def test_what_goes_over_the_graph_in_many_batches_leaves_nothing_out(store, cypher, graph):
    store.limits = Limits(rows=7)
    before, records = snapshot(cypher), []
    for seed in range(2):
        with store.start_run(graph, names=NAMES, parts=["embedding", "links"]) as run:
            run.write_embedding(random_points(N, seed))
            run.write_links(random_links(N, seed))
            records.append(run.publish().run_id)
    for first, second in (records, records[::-1]):
        assert runs_in_graph(cypher, LABEL, NAMES) == {
            "plain": {second: N}, "previous": {first: N},
            "plain links": {second: 30}, "previous links": {first: 30},
        }  # fmt: skip
        store.rollback(NAMES.model)
    report = store.clear(model=NAMES.model)
    assert (report.nodes, report.links) == (2 * N, 60)
    assert snapshot(cypher) == before


@pytest.mark.parametrize("choice", [{}, {"run_id": "x", "model": "y"}, {"model": "y", "everything": True}])
def test_clear_needs_one_thing_to_clear(store, choice):
    with pytest.raises(ValueError, match="exactly one of run_id, model and everything"):
        store.clear(**choice)


def test_clearing_an_unknown_run_is_refused_and_an_unknown_model_is_nothing(store):
    with pytest.raises(WriteRefused, match="there is no run 'nosuch'"):
        store.clear(run_id="nosuch")
    assert store.clear(model="nosuch").runs == ()


# --- reading back ------------------------------------------------------------------------------------------


def test_reading_what_was_never_published_says_so(store, graph):
    with pytest.raises(ProjectionError, match="model 'ring test' has no published coordinates"):
        store.read_embedding(graph, NAMES.model)


def test_reading_values_that_somebody_changed_says_so(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    for value in ("[1.0]", "'text'", "['a', 'b', 'c']"):
        cypher(f"MATCH (n:`{LABEL}` {{key: 2}}) SET n.ringTestEmbedding = {value}")
        with pytest.raises(ProjectionError, match="'ringTestEmbedding' holds values that are not 3"):
            store.read_embedding(graph, NAMES.model)


def test_reading_while_a_new_version_is_published_gives_one_of_them_whole(store, graph):
    versions = [random_points(N, seed) for seed in range(2)]
    store.write_embedding(graph, versions[0], names=NAMES, coordinates="hyperboloid")
    done = threading.Event()

    def publish():
        for turn in range(1, 7):
            store.write_embedding(graph, versions[turn % 2], names=NAMES, coordinates="hyperboloid")
        done.set()

    publishing = threading.Thread(target=publish)
    publishing.start()
    while not done.is_set():
        with suppress(ProjectionError):  # this thread may get too little of the processor to keep up
            seen = store.read_embedding(graph, NAMES.model)
            assert any(np.array_equal(seen, version) for version in versions)
    publishing.join()


def apart_from_time(node):
    return {name: node[name] for name in node if name not in ("version", "publishedAt")}
