"""The version before the published one: kept whole, gone back to, removed; and the lease of a model."""

import json
import multiprocessing
import os
import re
import signal
import socket
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.index.vector_indexes import show_indexes
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.query_files import load_query
from heat_neo4j.errors import ConfigError, LeaseHeld, ProjectionError
from tests.support.live_graph import (
    IMPATIENT,
    LossyConnection,
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
    runs_in_graph,
    snapshot,
)
from tests.support.plain_reading import plain_links, plain_nodes, written_links, written_nodes
from tests.support.slow import slow, slow_with_index
from tests.support.store import Store

pytestmark = pytest.mark.live

N = 24
LABEL = "RingNode"
NAMES = WriteNames(model="ring test")
MODEL = NAMES.model
KEPT = {"previous", "previousRun", "previousSpace", "previousLinkRun"}
INDEX, STAGED_INDEX = NAMES.index_of(LABEL), NAMES.staged_index_of(LABEL)

processes = multiprocessing.get_context("forkserver")


@pytest.fixture
def graph(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    store.clear(model=MODEL)
    ours = "(n:HeatModel AND n.name = $m) OR (n:HeatVersion AND n.model = $m)"
    cypher(f"MATCH (n) WHERE n:`{LABEL}` OR {ours} DETACH DELETE n", m=MODEL)


@pytest.fixture
def second(server, indexed):
    """Another client."""
    with open_store(server, limits=IMPATIENT, index=indexed) as opened:
        yield opened


def points_of(seed):
    return random_points(N, seed, d=3 + seed % 2)


def publish(store, graph, seed, *, links=True, index=True, lease=None):
    """Publish version `seed`; return its run."""
    parts = ["embedding", "links"] if links else ["embedding"]
    with store.start_run(graph, names=NAMES, parts=parts, index=index, lease=lease) as run:
        run.write_embedding(points_of(seed), coordinates="hyperboloid")
        if links:
            run.write_links(random_links(N, seed))
        return run.publish()


def model_node(cypher):
    return published_node(cypher, MODEL)


def without_times(node):
    return {name: node[name] for name in node if name not in ("version", "publishedAt", "rolledBackAt")}


def statuses(store):
    return {run.run_id: run.status for run in store.runs(MODEL)}


def related(cypher):
    """Return the runs that the model's node leads to."""
    rows = cypher("MATCH (:HeatModel {name: $m})-[:HEAT_PUBLISHED]->(r) RETURN r.runId AS run", m=MODEL)
    return {row["run"] for row in rows}


def index_names(store):
    """Return the names of all indexes over coordinates of the model."""
    vectors = [name for copy in (NAMES.plain, NAMES.staged) for name in (copy.embedding, copy.vector)]
    found = show_indexes(store, vectors, [])
    assert {index.state for index in found} <= {"ONLINE"}
    return {index.name for index in found}


def expect_seen(store, cypher, graph, seed, links, index=None):
    """Check that all readers see coordinates `seed` and links `links` (None for none), to the bit.

    These are who reads plain names, who goes by the version, and, where it has an index, who asks that.
    """
    node, points = model_node(cypher), points_of(seed)
    assert plain_nodes(cypher, NAMES) == written_nodes(points, node["run"], "hyperboloid")
    np.testing.assert_array_equal(store.read_embedding(graph, NAMES.model), points)
    expected = {node["run"]}
    found = store.read_links(graph, MODEL)
    if links is None:
        assert found is None
        assert plain_links(cypher, NAMES) == []
        assert not {"linkRun", "linkType"} & set(node)
    else:
        np.testing.assert_array_equal(found.distance, random_links(N, links).distance)
        assert plain_links(cypher, NAMES) == written_links(random_links(N, links), node["linkRun"])
        expected.add(node["linkRun"])
    assert node["dimension"] == points.shape[1]
    if index or (index is None and "indexes" in node):
        assert store.index_status(MODEL).problems == ()
        near = store.neighbours("3", key="key", k=5, model=MODEL)
        assert [each.properties["key"] for each in near.nodes] == nearest_keys(points, 3)[:5]
        assert near.fetch is not None  # the index answered
    else:
        assert not {"indexes", "core"} & set(node)
    assert related(cypher) == expected
    assert {run for run, status in statuses(store).items() if status == "complete"} == expected


def expect_in_graph(cypher, published, previous=None, *, links=True, previous_links=True):
    """Check whose values are in the graph: of all nodes and 30 links, published and before; nothing else.

    `links` and `previous_links` are runs where they are other than those of the coordinates, or None.
    """
    expected = {}
    for copy, run, other in (("plain", published, links), ("previous", previous, previous_links)):
        tied = run if other is True else other
        expected |= {} if run is None else {copy: {run.run_id: N}}
        expected |= {} if tied is None else {f"{copy} links": {tied.run_id: 30}}
    assert runs_in_graph(cypher, LABEL, NAMES) == expected


# --- going back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [False, slow_with_index(True)])
def test_a_rollback_brings_all_of_the_version_before_back_and_a_second_one_returns(
    store, cypher, graph, index
):
    runs = [publish(store, graph, seed, index=index) for seed in range(3)]
    published = model_node(cypher)
    assert (published["previousRun"], published["previousLinkRun"]) == (runs[1].run_id, runs[1].run_id)
    expect_seen(store, cypher, graph, 2, 2)
    for turn in range(2):
        assert store.rollback(MODEL) == (runs[1 + turn].run_id,) * 2
        expect_seen(store, cypher, graph, 1 + turn, 1 + turn)
        node = model_node(cypher)
        assert node["rolledBackAt"] == node["publishedAt"]
        assert (node["previousRun"], node["previousLinkRun"]) == (runs[2 - turn].run_id,) * 2
        expect_in_graph(cypher, runs[1 + turn], runs[2 - turn])
        assert index_names(store) == ({INDEX, STAGED_INDEX} if index else set())
    assert without_times(model_node(cypher)) == without_times(published)
    assert model_node(cypher)["publishedAt"] > published["publishedAt"]


@pytest.mark.parametrize(
    "indexes", [(False, False), slow_with_index((True, False)), slow_with_index((False, True))]
)
def test_what_the_version_before_had_not_is_not_seen_after_a_rollback(store, cypher, graph, indexes):
    publish(store, graph, 0, links=False, index=indexes[0])
    publish(store, graph, 1, index=indexes[1])
    for links in (None, 1):
        store.rollback(MODEL)
        expect_seen(store, cypher, graph, 0 if links is None else 1, links)  # the index of either serves


@pytest.mark.slow
@pytest.mark.vector_index
def test_a_rollback_that_was_not_heard_of_is_not_done_twice(server, store, cypher, graph):
    runs = [publish(store, graph, seed) for seed in range(2)]
    with open_store(server, kind=LossyConnection) as lossy:
        lossy.rollback(MODEL)
    assert {doing for _, doing in lossy.lost} == {
        "taking the lease",
        "rolling back",
        "publishing",
        "making an index",  # of another dimension
        "dropping an index",
        "renewing the lease",
        "giving the lease back",
    }
    expect_seen(store, cypher, graph, 0, 0)
    assert model_node(cypher)["previousRun"] == runs[1].run_id


@pytest.mark.parametrize("dry_run", [False, True])
def test_without_a_version_before_there_is_no_way_back(store, cypher, graph, dry_run):
    refusal = r"^model 'ring test' has no previous version in this database$"
    with pytest.raises(ProjectionError, match=r"^there is no model 'ring test' in this database: "):
        store.rollback(MODEL, dry_run=dry_run)
    publish(store, graph, 0)
    before = snapshot(cypher)
    assert not KEPT & set(model_node(cypher))
    with pytest.raises(ProjectionError, match=refusal):
        store.rollback(MODEL, dry_run=dry_run)
    assert snapshot(cypher) == before


def test_a_dry_run_tells_what_a_rollback_and_a_prune_do_and_changes_nothing(store, second, cypher, graph):
    runs = [publish(store, graph, seed).run_id for seed in range(4)]
    with second.lease(MODEL):  # a dry run needs none
        before = snapshot(cypher)
        told = store.rollback(MODEL, dry_run=True)
        counts = [store.prune(MODEL, records=records, dry_run=True) for records in (0, 1, 9)]
        with_previous = store.prune(MODEL, records=0, previous=True, dry_run=True)
        assert snapshot(cypher) == before
    assert told == (runs[2], runs[2])
    assert (counts, with_previous) == ([2, 1, 0], 3)
    assert store.rollback(MODEL) == told
    assert store.rollback(MODEL) == (runs[3], runs[3])
    assert store.prune(MODEL, records=1) == 1
    assert store.prune(MODEL, records=0, previous=True) == 2


def again(second, graph):
    publish(second, graph, 2)


def pruned(second, graph):
    second.prune(MODEL, previous=True)


def cleared(second, graph):
    second.clear(run_id=second.runs(MODEL)[1].run_id)


def rolled_back(second, graph):
    second.rollback(MODEL)


@pytest.mark.parametrize("act", [again, slow(pruned), slow(cleared), slow(rolled_back)])
def test_while_a_rollback_is_under_way_all_else_is_refused(store, second, cypher, graph, act):
    refused = []

    def try_it():
        with pytest.raises(LeaseHeld, match="is being written by") as caught:
            act(second, graph)
        refused.append(caught.value)

    for version in range(2):
        publish(store, graph, version)
    with before_first(store, "SET m.version", try_it):
        store.rollback(MODEL)
    assert len(refused) == 1
    expect_seen(store, cypher, graph, 0, 0)


@pytest.mark.parametrize(
    ("act", "seed"), [(again, 2), slow(pruned, 1), slow(cleared, 1), slow(rolled_back, 0)]
)
def test_a_rollback_whose_lease_another_took_does_nothing(store, second, cypher, graph, act, seed):
    def overtake():
        expire_lease(cypher, MODEL)
        act(second, graph)

    for version in range(2):
        publish(store, graph, version)
    with (
        before_first(store, "SET m.version", overtake) as acted,
        pytest.raises(LeaseHeld, match="was taken over"),
    ):
        store.rollback(MODEL)
    assert acted
    expect_seen(store, cypher, graph, seed, seed)


def test_what_readers_see_or_can_be_sent_back_to_is_not_removed(store, cypher, graph):
    for seed in range(2):
        publish(store, graph, seed)
    before = snapshot(cypher)
    assert store.prune(MODEL, records=0) == 0
    assert snapshot(cypher) == before


# --- the switch --------------------------------------------------------------------------------------------


def test_a_run_whose_lease_another_took_before_the_switch_publishes_nothing(store, second, cypher, graph):
    def overtake():
        expire_lease(cypher, MODEL)
        publish(second, graph, 1)

    publish(store, graph, 0)
    with (
        before_first(store, "SET m.version", overtake) as acted,
        pytest.raises(LeaseHeld, match="was taken over: nothing was pub"),
    ):
        publish(store, graph, 2)
    assert acted
    expect_seen(store, cypher, graph, 1, 1)
    store.prune(MODEL)
    assert numbers(cypher) == [2, 3, 4]


def test_a_run_whose_lease_another_took_while_it_settled_is_finished_by_that(store, second, cypher, graph):
    def overtake():
        expire_lease(cypher, MODEL)
        second.prune(MODEL)
        expect_seen(second, cypher, graph, 1, 1)

    before = publish(store, graph, 0)
    with before_first(store, "$left", overtake) as acted:
        record = publish(store, graph, 1)
    assert acted
    assert (record.run_id, record.status) == (model_node(cypher)["run"], "complete")
    expect_seen(store, cypher, graph, 1, 1)
    expect_in_graph(cypher, record, before)


@pytest.mark.slow
@pytest.mark.parametrize("publications", [10, slow(20)])
def test_readers_of_a_model_that_is_published_without_pause_see_whole_versions(
    server, store, graph, publications
):
    """Who goes by the version, in one transaction, from the words that its queries begin with."""
    runs = [publish(store, graph, seed) for seed in range(2)]
    expected = {}
    for seed, run in enumerate(runs):
        values = sorted(enumerate(points_of(seed).tolist()))
        expected[run.run_id] = (values, random_links(N, seed).distance.tolist())
    begin = load_query("coverage").statement.split("MATCH (h:HeatRun")[0]
    look = (
        begin + f"MATCH (n:`{LABEL}`) WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space "
        "WITH m, n ORDER BY n.key "
        "WITH m, collect([n.key, coalesce(n[m.stagedEmbedding], n[m.embeddingProperty])]) AS seen "
        "MATCH ()-[p]->() WHERE type(p) = coalesce(m.stagedLinkType, m.linkType) AND p.run = m.linkRun "
        "WITH m, seen, p.distance AS distance ORDER BY distance "
        "RETURN m.run AS run, m.publishing IS NOT NULL AS moving, seen, collect(distance) AS distances"
    )
    done, wrong, asked = threading.Event(), [], set()

    def read():
        with open_cypher(server) as reader:
            while not done.is_set():
                rows = reader(look, model=MODEL)
                asked.update((row["run"], row["moving"]) for row in rows)
                wrong.extend(
                    row["run"]
                    for row in rows
                    if ([tuple(each) for each in row["seen"]], row["distances"]) != expected[row["run"]]
                )
                wrong.extend([] if len(rows) == 1 else [len(rows)])

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(publications):
            store.rollback(MODEL)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert wrong == []
    assert {run for run, _ in asked} == set(expected)
    assert (runs[0].run_id, True) in asked  # while it was published, too


def test_neighbours_are_of_one_version_if_another_is_published_between_the_two_statements(
    store, second, graph
):
    """However quick the second one was: it asks for links of the run that the first one found."""
    second.limits, store.limits = Limits(grace_seconds=0), Limits(version_seconds=600)
    publish(store, graph, 0, index=False)
    asked = []
    with before_first(store, "AS certified", lambda: publish(second, graph, 1, index=False)) as acted:
        overtaken = store.neighbours("3", key="key", k=5, model=MODEL, max_links=9)
        store.tracer = lambda statement, _: asked.append(statement)
        at_rest = store.neighbours("3", key="key", k=5, model=MODEL, max_links=9)
    assert acted
    assert overtaken == at_rest
    assert [each.properties["key"] for each in at_rest.nodes] == nearest_keys(points_of(1), 3)[:5]
    links = store.links_of([each.element_id for each in at_rest.nodes], k=9, model=MODEL, key="key")
    assert {each.element_id: each.links for each in at_rest.nodes} == links
    assert any(links.values())
    assert len(asked) == 2


@pytest.mark.parametrize("status", ["complete", "superseded"])
def test_the_published_run_is_the_one_that_readers_are_sent_to(store, cypher, graph, status):
    """Whatever the runs' nodes say, which a reader can meet in the middle of a switch."""
    assert store.published_run(MODEL) is None
    runs = [publish(store, graph, seed) for seed in range(2)]
    store.rollback(MODEL)
    cypher("MATCH (r:HeatRun {model: $m}) SET r.status = $status", m=MODEL, status=status)
    assert store.published_run(MODEL).run_id == runs[0].run_id


def numbers(cypher):
    """Return the numbers of the nodes of versions."""
    rows = cypher("MATCH (v:HeatVersion {model: $m}) RETURN v.number AS n ORDER BY n", m=MODEL)
    return [row["n"] for row in rows]


@pytest.mark.parametrize("index", [False, slow_with_index(True)])
def test_versions_never_change_and_the_last_two_are_there(server, store, graph, index):
    """Looked at before each statement of all that turns a model."""
    seen, steps, looking = {}, [], threading.local()
    with open_cypher(server) as cypher:

        def look(statement, parameters):
            if getattr(looking, "now", False):
                return
            looking.now = True
            versions = {}
            for row in cypher("MATCH (v:HeatVersion {model: $m}) RETURN properties(v) AS v", m=MODEL):
                version = row["v"]
                versions[version["number"]] = version
                assert seen.setdefault(version["token"], version) == version
            for row in cypher("MATCH (m:HeatModel {name: $m}) RETURN m.version AS n", m=MODEL):
                if row["n"] is not None:
                    assert {row["n"], max(row["n"] - 1, 1)} <= versions.keys()
                    steps.append(row["n"])
            looking.now = False

        store.tracer = look
        runs = [publish(store, graph, seed) for seed in range(3)]
        if index:
            store.drop_index(MODEL)
            store.create_index(MODEL)
        runs.append(store.write_links(graph, random_links(N, 5), names=NAMES))
        store.rollback(MODEL)
        store.rollback(MODEL)
        store.prune(MODEL, previous=True)
        store.clear(run_id=runs[3].run_id)
        store.prune(MODEL)
        store.tracer = None
        # Two for each publication and rollback, and one for each index and removal.
        last = 16 if index else 14
        assert list(dict.fromkeys(steps)) == list(range(1, last + 1))
        assert (len(seen), numbers(cypher)) == (last, [last - 2, last - 1, last])


@pytest.mark.slow
def test_a_run_after_a_rollback_keeps_the_version_that_was_gone_back_to(store, cypher, graph):
    runs = [publish(store, graph, seed) for seed in range(3)]
    store.rollback(MODEL)
    runs.append(publish(store, graph, 3))
    assert runs[3].previous_run == runs[1].run_id
    expect_seen(store, cypher, graph, 3, 3)
    expect_in_graph(cypher, runs[3], runs[1])
    store.rollback(MODEL)
    expect_seen(store, cypher, graph, 1, 1)


def test_a_rollback_while_a_run_writes_is_refused_and_the_run_goes_on(store, second, cypher, graph):
    for seed in range(2):
        publish(store, graph, seed)
    with store.start_run(graph, names=NAMES) as run:
        run.write_embedding(points_of(2), coordinates="hyperboloid")
        with pytest.raises(LeaseHeld, match="is being written by"):
            second.rollback(MODEL)
        expect_seen(second, cypher, graph, 1, 1)
        run.publish()
    expect_seen(store, cypher, graph, 2, 1)


def test_a_rollback_of_links_leaves_the_coordinates(store, cypher, graph):
    run = publish(store, graph, 1)
    coordinates = [values for _, values in sorted(plain_nodes(cypher, NAMES).items())]
    links = store.write_links(graph, random_links(N, 5), names=NAMES)
    expect_seen(store, cypher, graph, 1, 5)
    expect_in_graph(cypher, run, links=links, previous_links=run)
    for expected, published, before in ((1, run, links), (5, links, run)):
        store.rollback(MODEL)
        expect_seen(store, cypher, graph, 1, expected)
        expect_in_graph(cypher, run, links=published, previous_links=before)
    assert [values for _, values in sorted(plain_nodes(cypher, NAMES).items())] == coordinates


@pytest.mark.parametrize("index", [None, slow_with_index(True), slow_with_index(False)])
def test_a_rollback_of_links_does_not_forget_what_became_of_the_index(store, cypher, graph, index):
    publish(store, graph, 1, index=index is False)
    store.write_links(graph, random_links(N, 5), names=NAMES)
    if index:
        store.create_index(MODEL)
    elif index is False:
        store.drop_index(MODEL)
    for links in (1, 5):
        store.rollback(MODEL)
        expect_seen(store, cypher, graph, 1, links, index=index)


# --- clear -------------------------------------------------------------------------------------------------


def test_clearing_the_version_before_forgets_it(store, cypher, graph):
    runs = [publish(store, graph, seed) for seed in range(2)]
    report = store.clear(run_id=runs[0].run_id)
    assert (report.nodes, report.links, report.models) == (N, 30, ())
    assert not KEPT & set(model_node(cypher))
    expect_seen(store, cypher, graph, 1, 1)
    expect_in_graph(cypher, runs[1], previous_links=None)
    with pytest.raises(ProjectionError, match="has no previous version"):
        store.rollback(MODEL)


@pytest.mark.parametrize("half", ["coordinates", "links"])
def test_half_a_version_is_none_to_go_back_to(store, cypher, graph, half):
    """The other half, which no reader can be sent to any more, goes with it."""
    halves = {"coordinates": publish(store, graph, 0, links=False)}
    halves["links"] = store.write_links(graph, random_links(N, 0), names=NAMES)
    newer = publish(store, graph, 1)
    store.clear(run_id=halves[half].run_id)
    expect_in_graph(cypher, newer, previous_links=None)
    assert not KEPT & set(model_node(cypher))
    newest = publish(store, graph, 2)
    expect_in_graph(cypher, newest, newer)


def test_clearing_the_published_version_leaves_the_one_before_to_go_back_to(store, cypher, graph):
    runs = [publish(store, graph, seed) for seed in range(2)]
    store.clear(run_id=runs[1].run_id)
    assert related(cypher) == set()
    with pytest.raises(ProjectionError, match="has no published coordinates"):
        store.read_embedding(graph, NAMES.model)
    expect_in_graph(cypher, None, runs[0], links=None)
    store.rollback(MODEL)
    expect_seen(store, cypher, graph, 0, 0)
    expect_in_graph(cypher, runs[0], previous_links=None)
    assert not KEPT & set(model_node(cypher))


# --- prune -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [False, slow_with_index(True)])
def test_what_dead_runs_left_is_removed(store, cypher, graph, index):
    def die():
        raise KeyboardInterrupt

    published = publish(store, graph, 0)
    started = store.start_run(graph, names=NAMES, parts=["embedding", "links"], batch_size=5)
    with before_first(store, "SET m.version", die), suppress(KeyboardInterrupt), started as run:
        run.write_embedding(points_of(1))
        run.write_links(random_links(N, 1))
        run.publish()
    dead = run.record.run_id
    left = runs_in_graph(cypher, LABEL, NAMES)
    assert (left["staged"], left["staged links"]) == ({dead: N}, {dead: 30})
    indexes = {INDEX, STAGED_INDEX} if index else set()
    assert index_names(store) == indexes
    expect_seen(store, cypher, graph, 0, 0)
    assert model_node(cypher)["staging"] == dead
    assert store.prune(MODEL) == 0
    assert statuses(store) == {published.run_id: "complete"}
    expect_in_graph(cypher, published, previous_links=None)
    assert index_names(store) == indexes
    assert "staging" not in model_node(cypher)
    assert cypher("MATCH (:HeatModel {name: $m})-[lock:HEAT_WRITE_LOCK]->() RETURN lock", m=MODEL) == []
    with pytest.raises(LeaseHeld, match="was taken over"):
        run.write_embedding(points_of(1))
    expect_seen(store, cypher, graph, 0, 0)


def test_what_is_being_written_is_not_removed(store, second, cypher, graph):
    published = publish(store, graph, 0)
    with store.start_run(graph, names=NAMES) as run:
        run.write_embedding(points_of(1))
        before = runs_in_graph(cypher, LABEL, NAMES)
        with pytest.raises(LeaseHeld):
            second.prune(MODEL)
        assert runs_in_graph(cypher, LABEL, NAMES) == before
        run.publish()
    assert statuses(store) == {run.record.run_id: "complete", published.run_id: "complete"}  # its links


def test_a_run_that_died_before_its_first_batch_is_removed(store, cypher, graph):
    with store.start_run(graph, names=NAMES) as run:
        pass
    assert statuses(store) == {run.record.run_id: "incomplete"}
    store.prune(MODEL)
    assert statuses(store) == {}
    assert cypher("MATCH (m:HeatModel {name: $m}) RETURN m", m=MODEL) == []


@pytest.mark.parametrize(("records", "kept"), [slow(100, 4), (2, 2), slow(0, 0)])
def test_the_latest_records_are_kept_and_all_runs_whose_values_are_in_the_graph(
    store, cypher, graph, records, kept
):
    runs = [publish(store, graph, seed) for seed in range(3)]
    rejected = store.start_run(graph, names=NAMES).reject({}, "its AUROC fell")
    runs += [publish(store, graph, seed) for seed in range(3, 5)]
    assert store.prune(MODEL, records=records) == 4 - kept
    of_old = [rejected.run_id, *(run.run_id for run in runs[2::-1])]
    expected = [runs[4].run_id, runs[3].run_id, *of_old[:kept]]
    assert [run.run_id for run in store.runs(MODEL)] == expected
    expect_in_graph(cypher, runs[4], runs[3])
    expect_seen(store, cypher, graph, 4, 4)
    store.rollback(MODEL)
    expect_seen(store, cypher, graph, 3, 3)


def test_pruning_the_version_before_removes_all_of_it(store, cypher, graph):
    runs = [publish(store, graph, seed) for seed in range(3)]
    calls = []
    store.prune(MODEL, previous=True, on_progress=lambda *call: calls.append(call))
    assert calls == [("remove old version", 0, 1), ("remove old version", 1, 1)]
    expect_in_graph(cypher, runs[2], previous_links=None)
    assert not KEPT & set(model_node(cypher))
    expect_seen(store, cypher, graph, 2, 2)
    with pytest.raises(ProjectionError, match="has no previous version"):
        store.rollback(MODEL)
    assert statuses(store).keys() == {run.run_id for run in runs}


@pytest.mark.parametrize("die_at", ["SET m.version", "REMOVE n.", "UNWIND batch AS p", "DETACH DELETE r"])
def test_pruning_is_completed_by_pruning_again(store, cypher, graph, die_at):
    def die():
        raise KeyboardInterrupt

    runs = [publish(store, graph, seed) for seed in range(2)]
    store.start_run(graph, names=NAMES).reject({}, "its AUROC fell")
    with before_first(store, die_at, die) as acted, pytest.raises(KeyboardInterrupt):
        store.prune(MODEL, previous=True, records=0)
    assert acted
    expect_seen(store, cypher, graph, 1, 1)
    store.prune(MODEL, previous=True, records=0)
    expect_seen(store, cypher, graph, 1, 1)
    expect_in_graph(cypher, runs[1], previous_links=None)
    assert statuses(store) == {runs[1].run_id: "complete"}


def test_pruning_says_so_where_it_may_not_or_cannot(store, second, cypher, graph):
    with pytest.raises(ValueError, match="records must be at least 0"):
        store.prune(MODEL, records=-1)
    before = snapshot(cypher)
    with pytest.raises(ProjectionError, match=r"^there is no model 'ring test' in this database: "):
        store.prune(MODEL, previous=True)
    assert snapshot(cypher) == before
    with second.lease(MODEL, 600.0):  # which is not renewed in between
        before = snapshot(cypher)
        with pytest.raises(LeaseHeld, match="is being written by"):
            store.prune(MODEL)
        assert snapshot(cypher) == before


# --- the lease ---------------------------------------------------------------------------------------------


HELD = r"^model 'ring test' is being written by {holder}, whose lease lasts until 2\d{{3}}-.* UTC unless"


def test_a_second_lease_is_refused_and_told_who_holds_it(store, second, cypher, graph):
    me = re.escape(f"{socket.gethostname()}:{os.getpid()}")
    with store.lease(MODEL) as lease:
        lease.check()
        assert re.fullmatch(me + r":[0-9a-f]*:[0-9a-f]+:[0-9a-f]{8}", model_node(cypher)["leaseHolder"])
        for other in (second, store):
            with pytest.raises(LeaseHeld, match=HELD.format(holder=me)), other.lease(MODEL):
                pass
        with second.lease("another model"):  # which is free
            pass
        lease.check()
    with second.lease(MODEL):
        pass


def test_a_lease_leaves_no_trace(store, cypher, graph):
    for _ in range(2):
        before = snapshot(cypher)
        with store.lease(MODEL):
            assert {"leaseHolder", "leaseUntil"} < set(model_node(cypher))
        assert snapshot(cypher) == before
        with pytest.raises(ZeroDivisionError), store.lease(MODEL):
            raise ZeroDivisionError
        assert snapshot(cypher) == before
        publish(store, graph, 0)


def test_a_lease_is_renewed_for_as_long_as_it_is_held(store, second, cypher):
    with store.lease(MODEL, 1.0) as lease:
        first = model_node(cypher)["leaseUntil"]
        time.sleep(3.0)
        assert (model_node(cypher)["leaseUntil"] - first).seconds >= 1
        with pytest.raises(LeaseHeld), second.lease(MODEL):
            pass
        lease.check()
    assert cypher("MATCH (m:HeatModel {name: $m}) RETURN m", m=MODEL) == []


def hold_and_die(settings, model, seconds):
    """Take the lease, and die holding it."""
    uri, user, password = settings
    with Store.open(uri, auth=(user, password)) as store, store.lease(model, seconds):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_lease_of_the_dead_is_taken_over(server, store, cypher, elsewhere):
    """At once if they were of this machine, else when its time is up."""
    child = processes.Process(target=hold_and_die, args=(server.settings, MODEL, 30.0))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    dead = model_node(cypher)["leaseHolder"]
    assert f":{child.pid}:" in dead
    if elsewhere:
        dead = f"elsewhere:{child.pid}:0:0:0"
        cypher("MATCH (m:HeatModel {name: $m}) SET m.leaseHolder = $holder", m=MODEL, holder=dead)
        with pytest.raises(LeaseHeld, match=f"by elsewhere:{child.pid}, whose"), store.lease(MODEL):
            pass
        expire_lease(cypher, MODEL)
    with store.lease(MODEL) as lease:
        assert model_node(cypher)["leaseHolder"] != dead
        lease.check()
    assert cypher("MATCH (m:HeatModel {name: $m}) RETURN m", m=MODEL) == []


def test_who_was_held_up_learns_that_the_lease_was_taken_over(store, second, cypher):
    """At once, not when it is next renewed; and leaves the other's alone."""
    with store.lease(MODEL) as lease:
        expire_lease(cypher, MODEL)
        with second.lease(MODEL) as later:
            with pytest.raises(LeaseHeld, match=r"expired .* taken over: nothing was published"):
                lease.check()
            lease.__exit__(None, None, None)
            later.check()
            assert set(model_node(cypher)) == {"name", "createdBy", "leaseHolder", "leaseUntil"}


def test_an_expired_lease_that_nobody_took_is_held_on(store, second, cypher):
    with store.lease(MODEL) as lease:
        expire_lease(cypher, MODEL)
        lease.check()
        with pytest.raises(LeaseHeld), second.lease(MODEL):
            pass


def test_a_lease_that_ends_later_than_any_does_is_taken_over(store, second, cypher):
    with store.lease(MODEL):
        cypher("MATCH (m:HeatModel {name: $m}) SET m.leaseUntil = datetime() + duration('P2D')", m=MODEL)
        with second.lease(MODEL) as later:
            later.check()
    with pytest.raises(ConfigError, match="at most 86,400 seconds"), store.lease(MODEL, 90_000.0):
        pass


@pytest.mark.parametrize("everything", [True, False])
def test_clearing_waits_for_no_lease(server, store, second, cypher, graph, everything):
    if everything and server.local is None:
        pytest.skip("would clear what others wrote on a server that is not ours")
    before = snapshot(cypher)
    with store.lease(MODEL) as lease:
        publish(store, graph, 0, lease=lease)
        with pytest.raises(LeaseHeld, match="is being written by"):
            second.clear(everything=True) if everything else second.clear(model=MODEL)
        expect_seen(store, cypher, graph, 0, 0)
        lease.check()
    report = second.clear(everything=True) if everything else second.clear(model=MODEL)
    assert (report.nodes, report.models) == (N, (MODEL,))
    assert snapshot(cypher) == before


ANOTHER_NODE = "CREATE (:HeatModel {name: $m, createdBy: 'heat_neo4j'})"


def test_of_several_model_nodes_the_one_with_the_lease_is_kept(store, second, cypher, graph):
    older = "ring test, reserved"
    for publish_first in (False, True):
        if publish_first:
            publish(store, graph, 0)
        cypher(ANOTHER_NODE, m=older)
        with store.lease(MODEL) as lease:
            holder = model_node(cypher)["leaseHolder"]
            cypher("MATCH (m:HeatModel {name: $older}) SET m.name = $m", older=older, m=MODEL)
            cypher(f"UNWIND range(1, 3) AS i {ANOTHER_NODE}", m=MODEL)
            with (
                pytest.raises(LeaseHeld, match=re.escape(f"by {socket.gethostname()}:")),
                second.lease(MODEL),
            ):
                pass
            assert model_node(cypher)["leaseHolder"] == holder
            cypher(ANOTHER_NODE, m=MODEL)
            publish(store, graph, 1, lease=lease)
            assert model_node(cypher)["leaseHolder"] == holder
            lease.check()
    assert not {"leaseHolder", "leaseUntil"} & set(model_node(cypher))


def test_the_lease_is_not_taken_on_a_node_that_was_made_after_the_look(store, second, cypher):
    """Another that asked at the same moment may just have made its own node, which nobody holds: it goes."""
    with store.lease(MODEL) as lease:
        with (
            before_first(second, "AS free", lambda: cypher(ANOTHER_NODE, m=MODEL)) as acted,
            pytest.raises(LeaseHeld),
            second.lease(MODEL),
        ):
            pass
        assert acted
        held = cypher("MATCH (m:HeatModel {name: $m}) RETURN m.leaseHolder IS NOT NULL AS held", m=MODEL)
        assert [row["held"] for row in held] == [True]
        lease.check()
        with pytest.raises(LeaseHeld), second.lease(MODEL):
            pass
    assert cypher("MATCH (m:HeatModel {name: $m}) RETURN m", m=MODEL) == []


def test_a_lease_is_taken_whose_node_others_remove_meanwhile(store, second, cypher):
    with (
        before_first(store, "ORDER BY elementId(m)", lambda: second.clear(model=MODEL)) as acted,
        store.lease(MODEL) as lease,
    ):
        assert acted
        lease.check()
        with pytest.raises(LeaseHeld), second.lease(MODEL):
            pass


def test_a_node_that_is_made_after_the_look_sends_readers_nowhere(store, cypher, graph):
    """Who goes by the model's name would find everything twice."""
    for seed in range(2):
        publish(store, graph, seed)
    with before_first(store, "SET m.version", lambda: cypher(ANOTHER_NODE, m=MODEL)) as acted:
        store.rollback(MODEL)
    assert acted
    found = cypher(load_query("published").text)
    assert [row["model"] for row in found] == [MODEL]
    store.prune(MODEL)
    (node,) = cypher("MATCH (m:HeatModel {name: $m}) RETURN m", m=MODEL)  # the other went with the lease
    assert "version" in node["m"]
    expect_seen(store, cypher, graph, 0, 0)


@pytest.mark.parametrize("_", [0, *(pytest.param(turn, marks=pytest.mark.slow) for turn in range(1, 10))])
def test_of_many_at_once_one_gets_the_lease(store, cypher, _):
    """Of a model that nobody has heard of, so that each tries to make its node."""
    ready, over = threading.Barrier(6), threading.Barrier(6)
    got, refused = [], []

    def work():
        ready.wait()
        try:
            with store.lease(MODEL) as lease:
                got.append(lease)
                over.wait()
        except LeaseHeld as error:
            refused.append(str(error))
            over.wait()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(refused)) == (1, 5)
    assert len(set(refused)) == 1
    assert cypher("MATCH (m:HeatModel {name: $m}) RETURN m", m=MODEL) == []


def test_a_lease_is_not_dead_in_the_moment_that_it_is_taken(server, second):
    refused = []

    class ThenTried(Connection):
        def write_transaction(self, work, *, doing="writing", **options):
            result = super().write_transaction(work, doing=doing, **options)
            is_taken = doing == "taking the lease" and result and result[0].get("free") is not None
            if is_taken and not refused:
                with pytest.raises(LeaseHeld) as caught, second.lease(MODEL):
                    pass
                refused.append(caught.value)
            return result

    with open_store(server, kind=ThenTried) as first, first.lease(MODEL) as lease:
        lease.check()
    assert len(refused) == 1


def test_a_lease_that_was_not_heard_of_is_held_and_given_back(server, cypher):
    before = snapshot(cypher)
    with open_store(server, kind=LossyConnection) as lossy, lossy.lease(MODEL) as lease:
        lease.check()
    assert {doing for _, doing in lossy.lost} == {
        "taking the lease",
        "renewing the lease",
        "giving the lease back",
    }
    assert snapshot(cypher) == before


# --- what is told of a run ---------------------------------------------------------------------------------


def test_runs_that_are_removed_while_they_are_read_are_left_out(store, server, cypher):
    """Neo4j keeps no snapshots: of a node that goes meanwhile, a reader may get none of the properties."""
    make = (
        "UNWIND range(11, 60) AS i CREATE (:HeatModel {name: $m, createdBy: 'heat_neo4j'}) "
        "CREATE (r:HeatRun {runId: '20261127T000000Z-0000000000' + i}) "
        "SET r += {model: $m, parts: ['links'], stored: [], status: 'superseded', createdBy: 'heat_neo4j'}"
    )
    over = threading.Event()

    def come_and_go():
        with open_cypher(server) as others:
            while not over.is_set():
                others(make, m=MODEL)
                others("MATCH (n) WHERE (n:HeatModel AND n.name = $m) OR n.model = $m DELETE n", m=MODEL)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        found = {run.run_id for _ in range(200) for run in store.runs(MODEL)}
    finally:
        over.set()
        thread.join()
    assert found <= {f"20261127T000000Z-{i:012}" for i in range(11, 61)}
    assert found


def test_a_rejected_run_is_recorded_and_changes_nothing_else(server, store, cypher, graph):
    published = publish(store, graph, 0)
    told = {
        "decision": "warm",
        "reason": "5 new nodes",
        "settings": {"alpha": 0.2},
        "fingerprint": {"nodes": "abc"},
        "changes": {"nodes_added": 5},
        "quality": {"auroc": 0.75},
        "drift": {"mean": 0.25},
    }
    before = snapshot(cypher)
    with open_store(server, kind=LossyConnection) as lossy:
        record = lossy.start_run(graph, names=NAMES, facts=told).reject({"final_loss": 0.5}, "AUROC fell")
    told |= {"error": "AUROC fell", "previous_run": published.run_id, "final_loss": 0.5}
    seen = next(run for run in store.runs(MODEL) if run.run_id == record.run_id)
    assert {name: getattr(seen, name) for name in told} == told
    assert (seen.status, seen.stored) == ("rejected", ())
    after = snapshot(cypher)
    (node,) = set(after["nodes"]) - set(before["nodes"])
    assert json.loads(after["nodes"][node][1]["quality"]) == {"auroc": 0.75}
    assert {key: after["nodes"][key] for key in before["nodes"]} == before["nodes"]
    (tie,) = set(after["relationships"]) - set(before["relationships"])
    assert after["relationships"][tie][2] == "HEAT_PREVIOUS"
    expect_seen(store, cypher, graph, 0, 0)
