"""Killed clients and killed servers: whatever dies, what is published is one whole version."""

import multiprocessing
import random
import signal
import time

import neo4j
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import WriteFailed
from tests.conftest import LiveServer
from tests.support.doomed import BATCH, clear_model, write_version, write_versions_until_killed
from tests.support.live_graph import (
    make_ring,
    open_cypher,
    published_node,
    published_values,
    random_links,
    random_points,
    ring_graph,
    runs_in_graph,
    snapshot,
)
from tests.support.refresh_checks import crash

pytestmark = [pytest.mark.live, pytest.mark.both_releases]

N = 30
LABEL = "KillNode"
NAMES = WriteNames(model="kill test")

# A server of processes that has the imports done, so that a child costs milliseconds.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.support.doomed"])


@pytest.fixture
def graph(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    store.clear(model=NAMES.model)
    cypher(f"MATCH (n:`{LABEL}`) DETACH DELETE n")


def assert_whole(cypher, seeds):
    """Check that readers see one of the versions `seeds`, whole; return its run."""
    node, seen = published_values(cypher, LABEL, NAMES.model)
    versions = {tuple(map(tuple, random_points(N, seed))): seed for seed in seeds}
    version = versions[tuple(tuple(seen[key][0]) for key in range(N))]
    assert {values[2] for values in seen.values()} == {node["run"]}
    rows = cypher(
        "MATCH (a)-[p]->(b) WHERE type(p) = $type AND p.run = $run "
        "RETURN a.key AS a, b.key AS b, p.distance AS d",
        type=node["linkType"],
        run=node["linkRun"],
    )
    links = random_links(N, version)
    assert node["linkRun"] == node["run"]
    assert {(row["a"], row["b"]): row["d"] for row in rows} == {
        (int(a), int(b)): d
        for a, b, d in zip(links.source, links.target, links.distance.tolist(), strict=True)
    }
    return node["run"]


def assert_alone(cypher, store, run):
    """Check that besides a run only the version before it is kept, and nothing at all if that is pruned."""
    node, _ = published_values(cypher, LABEL, NAMES.model)
    kept = {run, node["previousRun"]}
    assert len(kept) == 2
    assert node["previousLinkRun"] == node["previousRun"]
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "nodes": dict.fromkeys(kept, N),
        "links": dict.fromkeys(kept, 30),
        "untagged": {},
    }
    assert {record.status for record in store.runs(NAMES.model) if record.run_id != run} <= {"superseded"}


def assert_alone_when_pruned(cypher, store, run):
    """Check the same, and that nothing of any other run is left when the version before it is pruned."""
    assert_alone(cypher, store, run)
    store.prune(NAMES.model, previous=True, records=0)
    assert runs_in_graph(cypher, LABEL, NAMES) == {"nodes": {run: N}, "links": {run: 30}, "untagged": {}}
    assert [record.run_id for record in store.runs(NAMES.model)] == [run]
    indexes = cypher(
        "SHOW VECTOR INDEXES YIELD name, properties AS p WHERE p[0] STARTS WITH $v RETURN name",
        v=NAMES.vector,
    )
    assert [row["name"] for row in indexes] == published_node(cypher, NAMES.model)["indexes"]
    versions = cypher("MATCH (v:HeatVersion {model: $m}) RETURN count(v) AS count", m=NAMES.model)
    assert versions[0]["count"] <= 2


def run_is_old(cypher, run):
    """Say whether the model still points to `run`."""
    return bool(published_node(cypher, NAMES.model)["run"] == run)


def kill(process):
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def test_a_client_killed_before_any_statement(server, store, cypher, graph):
    before = snapshot(cypher)
    for _ in range(3):  # the third is the first that removes one
        statements = write_version(server.settings, graph, NAMES, 0)
    assert statements > 40  # the survey, six batches, the flip and the removal of the old version
    for die_at in range(1, statements + 1, 5 if server.series == "2026" else 2):
        published = store.runs(NAMES.model)[0].run_id
        child = processes.Process(target=write_version, args=(server.settings, graph, NAMES, 1, die_at))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL, f"statement {die_at}"
        run = assert_whole(cypher, [0] if run_is_old(cypher, published) else [1])
        dead = [record for record in store.runs(NAMES.model) if record.run_id not in (run, published)]
        assert {record.status for record in dead} <= {"incomplete", "superseded"}
        write_version(server.settings, graph, NAMES, 0)
        assert_alone(cypher, store, assert_whole(cypher, [0]))
    assert_alone_when_pruned(cypher, store, assert_whole(cypher, [0]))
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == before


def test_a_client_killed_at_any_moment(server, store, cypher, graph):
    moments = random.Random(20)
    write_version(server.settings, graph, NAMES, 0)
    for _ in range(10):
        child = processes.Process(
            target=write_versions_until_killed, args=(server.settings, graph, NAMES, [1, 2, 0])
        )
        child.start()
        time.sleep(0.2 + moments.random() * 0.6)
        kill(child)
        assert_whole(cypher, [0, 1, 2])
    write_version(server.settings, graph, NAMES, 3)
    assert_alone_when_pruned(cypher, store, assert_whole(cypher, [3]))


def test_a_client_killed_during_a_clear(server, store, cypher, graph):
    before = snapshot(cypher)
    for seed in range(2):
        write_version(server.settings, graph, NAMES, seed)
    statements = clear_model(server.settings, NAMES)
    for die_at in range(1, statements + 1, 3):
        for seed in range(2):
            write_version(server.settings, graph, NAMES, seed)
        child = processes.Process(target=clear_model, args=(server.settings, NAMES, die_at))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL, f"statement {die_at}"
        assert {record.status for record in store.runs(NAMES.model)} in (
            {"complete", "superseded"},
            {"removing"},
            set(),
        )
        store.clear(model=NAMES.model)
        assert snapshot(cypher) == before


# --- the server ---------------------------------------------------------------------------------------------


def test_a_server_killed_while_it_writes(throwaway_server):
    """Once so that the client gives up; once restarted so quickly that the client just goes on."""
    local = throwaway_server
    server = LiveServer(*local.connection(), database=None, series="throwaway", local=local)
    with open_cypher(server) as cypher:
        make_ring(cypher, LABEL, N)
        graph = ring_graph(cypher, LABEL)
    write_version(server.settings, graph, NAMES, 0)

    auth = (server.user, server.password)
    with neo4j.GraphDatabase.driver(server.uri, auth=auth, max_transaction_retry_time=1) as driver:
        store = Neo4jStore(driver)
        store.tracer(at_batch(3, lambda: crash(local)))
        with pytest.raises(
            WriteFailed, match=r"was lost while in stage 'write coordinates'.*is incomplete and what"
        ):
            store.write_embedding(graph, random_points(N, 1), names=NAMES, batch_size=BATCH)
    local.start()
    # On a busy machine a restart takes longer than the driver's 30 seconds.
    patient = neo4j.GraphDatabase.driver(server.uri, auth=auth, max_transaction_retry_time=180)
    with open_cypher(server) as cypher, patient:
        store = Neo4jStore(patient)
        published = assert_whole(cypher, [0])
        dead = store.runs(NAMES.model)[0]
        assert (dead.status, dead.error) == ("incomplete", None)
        written = runs_in_graph(cypher, LABEL, NAMES)["nodes"]
        assert written.pop(published) == N
        assert written in ({dead.run_id: BATCH}, {dead.run_id: 2 * BATCH})  # of two lanes

        def restart():
            crash(local)
            local.start()

        store.tracer(at_batch(2, restart))
        with store.start_run(graph, names=NAMES, parts=["embedding", "links"], batch_size=BATCH) as run:
            run.write_embedding(random_points(N, 2), coordinates="hyperboloid")
            run.write_links(random_links(N, 2))
            run.publish()
        assert_alone_when_pruned(cypher, store, assert_whole(cypher, [2]))


def at_batch(number, act):
    """Return a tracer that acts once, before the given batch of coordinates."""
    left = iter(range(1, number + 1))

    def trace(statement, parameters):
        if "$radii" in statement and next(left, None) == number:
            act()

    return trace
