"""What is written into a live graph, what is refused, what is removed: read back past the package."""

import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from neo4j import exceptions as driver_errors

from heat_neo4j.database.connection import Transaction
from heat_neo4j.database.naming import SLOTS, WriteNames
from heat_neo4j.database.publish import removal
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.batches import LANES
from heat_neo4j.errors import LeaseHeld, ProjectionError, WriteFailed, WriteRefused
from heat_neo4j.geometry.hyperboloid import radius, to_klein, to_poincare
from heat_neo4j.graph import Provenance
from tests.support.live_graph import (
    apart_from_versions,
    before_first,
    expire_lease,
    lose_first_answers,
    make_ring,
    published_node,
    published_values,
    random_links,
    random_points,
    ring_graph,
    runs_in_graph,
    snapshot,
)

pytestmark = pytest.mark.live

N = 40
LABEL = "WriterNode"
NAMES = WriteNames(model="writer test")
OTHER = WriteNames(model="writer other")


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
    np.testing.assert_array_equal(store.read_embedding(graph, names=NAMES), points)
    turned = replace(graph, node_ids=graph.node_ids[::-1])
    np.testing.assert_array_equal(store.read_embedding(turned, names=NAMES), points[::-1])
    store.write_embedding(graph, points, names=NAMES)
    np.testing.assert_allclose(store.read_embedding(graph, names=NAMES), points, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("later", "expected"), [([1], 0), ([1, 2], 2)])
def test_coordinates_published_anew_while_they_are_read_are_read_whole_or_again(
    store, graph, later, expected
):
    """One flip leaves what is being read where it is; the second removes it."""
    points = [random_points(N, seed) for seed in range(3)]
    store.write_embedding(graph, points[0], names=NAMES)

    def publish():
        for version in later:
            store.write_embedding(graph, points[version], names=NAMES)

    with before_first(store, "AS coordinates", publish) as acted:
        found = store.read_embedding(graph, names=NAMES)
    assert acted
    np.testing.assert_allclose(found, points[expected], rtol=0, atol=1e-12)


def test_links_published_anew_while_they_are_read_are_told_when_they_are_not_kept(store, graph):
    """One flip leaves what is being read where it is; the second removes it."""
    store.write_links(graph, random_links(N, 1), names=NAMES)
    first = store.read_links(graph, NAMES.model)
    with before_first(
        store, "AS probabilities", partial(store.write_links, graph, random_links(N, 2), names=NAMES)
    ) as acted:
        found = store.read_links(graph, NAMES.model)
    assert acted
    np.testing.assert_array_equal(found.distance, first.distance)

    def twice():
        for seed in (3, 4):
            store.write_links(graph, random_links(N, seed), names=NAMES)

    with (
        before_first(store, "AS probabilities", twice) as acted,
        pytest.raises(ProjectionError, match="published anew while its links were read: read again"),
    ):
        store.read_links(graph, NAMES.model)
    assert acted


def test_links_are_one_relationship_per_pair(store, cypher, graph):
    links = random_links(N, 3)
    record = store.write_links(graph, links, names=NAMES, batch_size=7)
    rows = cypher(
        "MATCH (a)-[p]->(b) WHERE type(p) = $type RETURN a.key AS a, b.key AS b, properties(p) AS p",
        type=NAMES.link_type,
    )
    expected = {
        (int(a), int(b)): {"distance": d, "probability": q, "rank": r, "run": record.run_id}
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
    assert (node["linkRadius"], node["linkTemperature"]) == (1.25, 0.5)


def test_links_without_probability_have_none(store, cypher, graph):
    links = replace(random_links(N, 3), probability=None, calibration=None)
    store.write_links(graph, links, names=NAMES)
    rows = cypher("MATCH ()-[p]->() WHERE type(p) = $type RETURN keys(p) AS k", type=NAMES.link_type)
    assert {tuple(sorted(row["k"])) for row in rows} == {("distance", "rank", "run")}


def test_no_links_at_all_can_be_published(store, cypher, graph):
    first = store.write_links(graph, random_links(N, 1), names=NAMES)
    record = store.write_links(graph, random_links(N, 1, count=0), names=NAMES)
    assert (record.status, record.links_written) == ("complete", 0)
    assert runs_in_graph(cypher, LABEL, NAMES)["links"] == {first.run_id: 30}
    store.write_links(graph, random_links(N, 1, count=0), names=NAMES)
    assert not runs_in_graph(cypher, LABEL, NAMES)["links"]


def test_hostile_names_are_only_names(store, cypher, graph):
    names = WriteNames(
        model="`}) DETACH DELETE n //", embedding="e` = 1 //", radius="r'\"", run="$u {}", link_type="A`|B:C"
    )
    before = snapshot(cypher)
    points = random_points(N, 4)
    store.write_embedding(graph, points, names=names, coordinates="hyperboloid")
    store.write_links(graph, random_links(N, 4), names=names)
    np.testing.assert_array_equal(store.read_embedding(graph, names=names), points)
    store.clear(model=names.model)
    assert snapshot(cypher) == before


def test_progress_runs_to_its_end(store, graph):
    calls = []
    for _ in range(3):
        assert "remove old version" not in {call[0] for call in calls}  # the second keeps the first
        store.write_embedding(
            graph,
            random_points(N, 5),
            names=NAMES,
            batch_size=10,
            on_progress=lambda *call: calls.append(call),
        )
    written = [call for call in calls if call[0] == "write coordinates"]
    assert written[:5] == [("write coordinates", done, N) for done in (0, 10, 20, 30, 40)]
    assert calls[-1] == ("remove old version", N, N)


def test_no_statement_of_ours_makes_the_server_complain(store, graph, monkeypatch):
    codes = set()
    plain = Transaction.run

    def listen(self, statement, parameters=None):
        result = plain(self, statement, parameters)
        codes.update(status.gql_status for status in result.summary.gql_status_objects)
        return result

    monkeypatch.setattr(Transaction, "run", listen)
    for seed in range(2):
        store.write_embedding(graph, random_points(N, seed), names=NAMES)
        store.write_links(graph, random_links(N, seed), names=NAMES)
    store.read_embedding(graph, names=NAMES)
    store.runs()
    store.clear(model=NAMES.model)
    assert codes <= {"00000", "00001", "02000"}


# --- one version after another -----------------------------------------------------------------------------


def test_a_new_version_takes_the_free_slot_and_the_one_before_the_last_goes(store, cypher, graph):
    records = []
    for seed in range(5):
        with store.start_run(graph, names=NAMES, parts=["embedding", "links"]) as run:
            run.write_embedding(random_points(N, seed))
            run.write_links(random_links(N, seed))
            records.append(run.publish())
        assert runs_in_graph(cypher, LABEL, NAMES) == {
            "nodes": {record.run_id: N for record in records[-2:]},
            "links": {record.run_id: 30 for record in records[-2:]},
            "untagged": {},
        }
    assert [record.slot for record in records] == [1, 2, 3, 1, 2]


def test_a_version_of_links_alone_keeps_the_slot_and_the_links_before_it(store, cypher, graph):
    """What is kept is what the model pointed to: then the same coordinates, with other links."""
    slots, links = [], []
    for seed in range(3):
        record = store.write_embedding(graph, random_points(N, seed), names=NAMES)
        links.append(store.write_links(graph, random_links(N, seed), names=NAMES))
        slots.append(record.slot)
        assert runs_in_graph(cypher, LABEL, NAMES) == {
            "nodes": {record.run_id: N},
            "links": {each.run_id: 30 for each in links[-2:]},
            "untagged": {},
        }
    assert slots == [1, 2, 1]


def test_a_node_that_left_the_projection_loses_its_old_coordinates(store, cypher, graph):
    first = store.write_embedding(graph, random_points(N, 1), names=NAMES)
    cypher(f"MATCH (n:`{LABEL}` {{key: 5}}) REMOVE n:`{LABEL}` SET n:WriterForeign")
    smaller = ring_graph(cypher, LABEL)
    record = store.write_embedding(smaller, random_points(N - 1, 2), names=NAMES)
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "nodes": {first.run_id: N - 1, record.run_id: N - 1},
        "links": {},
        "untagged": {first.run_id: 1},
    }
    newest = store.write_embedding(smaller, random_points(N - 1, 3), names=NAMES)
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "nodes": {record.run_id: N - 1, newest.run_id: N - 1},
        "links": {},
        "untagged": {},
    }


def test_another_name_for_the_same_model_moves_the_values(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    renamed = WriteNames(model=NAMES.model, embedding="writerMoved")
    old = "MATCH (n) WHERE n.writerTestEmbedding1 IS NOT NULL RETURN count(n) AS c"
    moved = [store.write_embedding(graph, random_points(N, 2), names=renamed)]
    assert cypher(old)[0]["c"] == N  # kept for a rollback
    moved.append(store.write_embedding(graph, random_points(N, 3), names=renamed))
    assert cypher(old)[0]["c"] == 0
    assert runs_in_graph(cypher, LABEL, renamed) == {
        "nodes": {record.run_id: N for record in moved},
        "links": {},
        "untagged": {},
    }


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
        store.read_embedding(graph, names=NAMES)


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


def test_commits_that_were_not_heard_of_are_repeated_without_a_trace(store, cypher, graph, monkeypatch):
    points, links = random_points(N, 1), random_links(N, 1)
    for seed in (3, 2):
        store.write_embedding(graph, random_points(N, seed), names=NAMES)
    lose_first_answers(monkeypatch)
    record = store.write_embedding(graph, points, names=NAMES, batch_size=16, coordinates="hyperboloid")
    drawn = store.write_links(graph, links, names=NAMES, batch_size=16)
    monkeypatch.undo()
    assert (record.nodes_written, drawn.links_written) == (N, 30)
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "nodes": {record.run_id: N},
        "links": {drawn.run_id: 30},
        "untagged": {},
    }
    np.testing.assert_array_equal(store.read_embedding(graph, names=NAMES), points)
    assert len(store.runs(NAMES.model)) == 4


# --- two at once -------------------------------------------------------------------------------------------


def test_of_two_runs_the_second_is_refused_and_the_first_goes_on(store, cypher, graph):
    points = random_points(N, 2)
    with store.start_run(graph, names=NAMES, batch_size=10) as first:
        first.write_embedding(points, coordinates="hyperboloid")
        with pytest.raises(LeaseHeld, match="model 'writer test' is being written by"):
            store.write_embedding(graph, random_points(N, 1), names=NAMES)
        record = first.publish()
    np.testing.assert_array_equal(store.read_embedding(graph, names=NAMES), points)
    assert runs_in_graph(cypher, LABEL, NAMES)["nodes"] == {record.run_id: N}
    assert [run.run_id for run in store.runs(NAMES.model)] == [record.run_id]


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
    np.testing.assert_array_equal(store.read_embedding(graph, names=NAMES), points)
    assert runs_in_graph(cypher, LABEL, NAMES)["nodes"] == {record.run_id: N}
    assert [run.run_id for run in store.runs(NAMES.model)] == [record.run_id]


def test_a_run_can_write_nothing_from_the_moment_it_is_taken_over(server, store, cypher, graph):
    """While the later run still looks for what the earlier wrote, the earlier must not write more."""
    refused = []

    def let_the_earlier_write(statement, parameters):
        if "collect(elementId(n))" in statement and not refused:
            with pytest.raises(LeaseHeld, match="was taken over") as caught:
                earlier.write_embedding(random_points(N, 1))
            refused.append(caught.value)

    auth = (server.user, server.password)
    with Neo4jStore.connect(server.uri, auth=auth, database=server.database) as second:
        second.tracer(let_the_earlier_write)
        with store.start_run(graph, names=NAMES) as earlier:
            earlier.write_embedding(random_points(N, 1))
            expire_lease(cypher, NAMES.model)
            record = second.write_embedding(graph, random_points(N, 2), names=NAMES)
    assert len(refused) == 1
    assert runs_in_graph(cypher, LABEL, NAMES)["nodes"] == {record.run_id: N}


def test_what_the_dead_wrote_is_gone_before_the_first_value_is_written(store, cypher, graph):
    first = store.write_embedding(graph, random_points(N, 1), names=NAMES)
    with store.start_run(graph, names=NAMES) as dead:
        dead.write_embedding(random_points(N, 2))
    seen = []

    def look(stage, done, total):
        if stage == "write coordinates" and done == 0:
            seen.append(runs_in_graph(cypher, LABEL, NAMES)["nodes"])

    store.write_embedding(graph, random_points(N, 3), names=NAMES, on_progress=look)
    assert seen == [{first.run_id: N}]


def test_what_is_published_or_kept_or_being_written_cannot_be_swept(store, cypher, graph):
    """Not even by a sweep that was told to when things were different."""
    parts, records = ("embedding", "links"), []
    counter = removal._Counter(lambda *call: None, "remove", 3 * N)
    for seed in range(3):
        with store.start_run(graph, names=NAMES, parts=parts) as run:
            run.write_embedding(random_points(N, seed))
            run.write_links(random_links(N, seed))
            records.append(run.publish() if seed < 2 else run.record)
            for record in records if seed == 2 else ():
                for part in parts:
                    assert removal._remove(store._connection, run._held_lease, record, part, counter) == 0
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "nodes": {record.run_id: N for record in records},
        "links": {record.run_id: 30 for record in records},
        "untagged": {},
    }


def test_a_run_that_writes_is_not_cleared_before_its_lease_is_over(store, cypher, graph):
    before = snapshot(cypher)
    with store.start_run(graph, names=NAMES) as run:
        run.write_embedding(random_points(N, 1))
        with pytest.raises(LeaseHeld, match="is being written by"):
            store.clear(run_id=run.record.run_id)
        expire_lease(cypher, NAMES.model)
        report = store.clear(run_id=run.record.run_id)
        assert report.nodes == N
        with pytest.raises(LeaseHeld, match="was taken over"):
            run.publish()
    assert snapshot(cypher) == before


@pytest.mark.parametrize("lane", range(LANES))
def test_taking_over_waits_for_the_batches_that_are_being_written(store, cypher, graph, lane):
    """A batch holds its lane; what it wrote must be seen, and removed, by the run that takes over."""
    in_batch, removing, overtaken = threading.Event(), threading.Event(), []
    first = N // LANES * lane
    with store.start_run(graph, names=NAMES, batch_size=N // LANES) as earlier:

        def pause(statement, parameters):
            ours = "$values" in statement and parameters["run"] == earlier.record.run_id
            if ours and parameters["ids"][0] == graph.node_ids[first]:
                in_batch.set()
                overtaken.append(removing.wait(2.0))
            if "collect(elementId(n))" in statement:  # the later run looks for what the earlier wrote
                removing.set()

        def write():
            with suppress(LeaseHeld):  # a batch that is not under way yet may find its lane gone
                earlier.write_embedding(random_points(N, 1))

        store.tracer(pause)
        writing = threading.Thread(target=write)
        writing.start()
        assert in_batch.wait(10)
        expire_lease(cypher, NAMES.model)
        record = store.write_embedding(graph, random_points(N, 2), names=NAMES)
        assert not writing.is_alive()
        writing.join()
        store.tracer(None)
    assert overtaken == [False]
    assert runs_in_graph(cypher, LABEL, NAMES)["nodes"] == {record.run_id: N}


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
    assert runs_in_graph(cypher, LABEL, NAMES)["nodes"] == {node["run"]: N}
    assert all(
        "is being written by" in str(outcome)
        for outcome in outcomes.values()
        if isinstance(outcome, LeaseHeld)
    )


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("which", ["embedding", "radius", "run"])
def test_a_users_own_property_is_not_overwritten(store, cypher, graph, slot, which):
    mine = getattr(NAMES.slot(slot), which)
    cypher(f"MATCH (n:`{LABEL}` {{key: 3}}) SET n.`{mine}` = 'mine'")
    before = snapshot(cypher)
    for dry_run in (True, False):
        with pytest.raises(WriteRefused, match=r"1 nodes \(e\.g\. .*\) have .* from elsewhere"):
            store.write_embedding(graph, random_points(N, 1), names=NAMES, dry_run=dry_run)
    assert snapshot(cypher) == before


def test_overwriting_is_possible_when_asked_for(store, cypher, graph):
    cypher(f"MATCH (n:`{LABEL}` {{key: 3}}) SET n.writerTestEmbedding1 = 'mine'")
    record = store.write_embedding(graph, random_points(N, 1), names=NAMES, overwrite=True)
    assert runs_in_graph(cypher, LABEL, NAMES)["nodes"] == {record.run_id: N}


def test_a_users_own_relationships_are_never_changed(store, cypher, graph):
    cypher(
        f"MATCH (a:`{LABEL}`) MATCH (b:`{LABEL}` {{key: a.key + 2}}) "
        f"CREATE (a)-[:{NAMES.link_type} {{run: a.key}}]->(b)"
    )
    before = snapshot(cypher)
    with pytest.raises(WriteRefused, match=r"38 relationships .* of type 'WRITER_TEST_PREDICTED'"):
        store.write_links(graph, random_links(N, 1), names=NAMES)
    assert snapshot(cypher) == before
    for seed in range(3):
        store.write_links(graph, random_links(N, seed), names=NAMES, overwrite=True)
    ours = 30 + 30 + 1  # those published, those before, and HEAT_PUBLISHED
    assert len(snapshot(cypher)["relationships"]) == len(before["relationships"]) + ours
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == before


@pytest.mark.parametrize(
    ("names", "what"),
    [
        ({"embedding": NAMES.embedding}, "writerTestEmbedding1"),
        ({"radius": NAMES.run}, "writerTestRun1"),
        ({"link_type": NAMES.link_type}, "WRITER_TEST_PREDICTED"),
    ],
)
def test_names_of_another_model_are_taken(store, cypher, graph, names, what):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    store.write_links(graph, random_links(N, 1), names=NAMES)
    before = snapshot(cypher)
    with (
        pytest.raises(WriteRefused, match=f"'{what}' belongs to model 'writer test'"),
        store.start_run(
            graph, names=WriteNames(model=OTHER.model, **names), parts=["embedding", "links"], overwrite=True
        ),
    ):
        pass
    assert snapshot(cypher) == before


@pytest.mark.parametrize(
    ("projection", "parts"),
    [
        ({"attributes": ["writerTestEmbedding2"]}, ["embedding"]),
        ({"key": "writerTestRadius1"}, ["embedding"]),
        ({"relationships": ["NEXT", "WRITER_TEST_PREDICTED"]}, ["links"]),
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
    plan = store.write_embedding(graph, random_points(N, 1), names=NAMES, dry_run=True)
    assert (plan.status, plan.nodes_written, plan.slot, plan.dimension) == ("dry run", N, 1, 3)
    assert (plan.embedding_property, plan.radius_property) == ("writerTestEmbedding1", "writerTestRadius1")
    plan = store.write_links(graph, random_links(N, 1), names=NAMES, dry_run=True)
    assert (plan.status, plan.links_written, plan.link_type) == ("dry run", 30, "WRITER_TEST_PREDICTED")
    assert snapshot(cypher) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node_ids": ()}, "no node_ids"),
        ({"parts": ["coordinates"]}, "parts must be"),
        ({"parts": []}, "parts must be"),
        ({"parts": "links"}, "parts must be"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
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


@pytest.mark.parametrize("code", ["Security.Forbidden", "General.WriteOnReadOnlyAccessDatabase"])
def test_a_user_who_may_not_write_is_told(store, cypher, graph, monkeypatch, code):
    before = snapshot(cypher)
    plain = Transaction.run

    def forbid(self, statement, parameters=None):
        if statement.startswith("MERGE"):
            raise driver_errors.Neo4jError._hydrate_neo4j(
                code=f"Neo.ClientError.{code}", message="Create node is not allowed for user 'reader'."
            )
        return plain(self, statement, parameters)

    monkeypatch.setattr(Transaction, "run", forbid)
    with pytest.raises(WriteRefused, match=r"Create node is not allowed .*grant this one the right"):
        store.write_embedding(graph, random_points(N, 1), names=NAMES)
    monkeypatch.undo()
    assert snapshot(cypher) == before


# --- clear -------------------------------------------------------------------------------------------------


@pytest.fixture
def crowded(cypher, graph, store):
    """Beside the ring: a user's own nodes that look like ours, and another model."""
    cypher(
        "CREATE (:HeatRun:WriterForeign {runId: 'mine', model: $model, status: 'complete', "
        "stored: ['embedding'], runProperty: 'writerTestRun1'}) "
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
    everything = 3 * N + 2 * 30  # the published version, the one before, and what the dead run wrote
    assert (report.nodes, report.links, report.models) == (3 * N, 2 * 30, (NAMES.model,))
    assert replace(plan, dry_run=False) == report
    assert calls[0] == ("remove", 0, everything)
    assert calls[-1] == ("remove", everything, everything)
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
        "runs": [],
        "models": [],
        "nodes": 0,
        "links": 0,
        "dry_run": False,
    }


def test_clearing_what_a_user_added_to_it_later_spares_that(store, cypher, graph):
    """What does not say any more that it is ours is the user's from then on."""
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    store.write_links(graph, random_links(N, 1), names=NAMES)
    cypher(f"MATCH (n:`{LABEL}` {{key: 1}}) SET n.writerTestRun1 = 'kept'")
    cypher(f"MATCH ()-[p:{NAMES.link_type} {{rank: 1}}]->() REMOVE p.run")
    report = store.clear(model=NAMES.model)
    assert (report.nodes, report.links) == (N - 1, 29)
    assert cypher("MATCH (n) WHERE n.writerTestEmbedding1 IS NOT NULL RETURN n.key AS k")[0]["k"] == 1
    cypher(
        f"MATCH (n:`{LABEL}` {{key: 1}}) REMOVE n.writerTestEmbedding1, n.writerTestRadius1, n.writerTestRun1"
    )


def test_more_values_than_one_scan_finds_are_all_removed(store, cypher, graph, monkeypatch):
    monkeypatch.setattr("heat_neo4j.database.publish.removal._IDS_PER_SCAN", 12)
    monkeypatch.setattr("heat_neo4j.database.publish.removal._BATCH", 5)
    before = snapshot(cypher)
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    store.write_links(graph, random_links(N, 1), names=NAMES)
    report = store.clear(model=NAMES.model)
    assert (report.nodes, report.links) == (N, 30)
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
    with pytest.raises(ProjectionError, match="model 'writer test' has no published coordinates"):
        store.read_embedding(graph, names=NAMES)


def test_reading_values_that_somebody_changed_says_so(store, cypher, graph):
    store.write_embedding(graph, random_points(N, 1), names=NAMES)
    for value in ("[1.0]", "'text'", "['a', 'b', 'c']"):
        cypher(f"MATCH (n:`{LABEL}` {{key: 2}}) SET n.writerTestEmbedding1 = {value}")
        with pytest.raises(ProjectionError, match="'writerTestEmbedding1' holds values that are not 3"):
            store.read_embedding(graph, names=NAMES)


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
        seen = store.read_embedding(graph, names=NAMES)
        assert any(np.array_equal(seen, version) for version in versions)
    publishing.join()


def apart_from_time(node):
    return {name: node[name] for name in node if name not in ("version", "publishedAt")}
