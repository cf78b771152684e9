"""Killed clients and killed servers: whatever dies, what is published is one whole version."""

from contextlib import contextmanager

import neo4j
import numpy as np
import pytest

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.errors import WriteFailed
from tests.conftest import LiveServer
from tests.support.doomed import BATCH, Statement, clear_model, killed, roll_back_model, write_version
from tests.support.live_graph import (
    make_ring,
    open_cypher,
    published_node,
    random_links,
    random_points,
    ring_graph,
    runs_in_graph,
    snapshot,
)
from tests.support.plain_reading import plain_links, plain_nodes, written_links, written_nodes
from tests.support.refresh_checks import crash
from tests.support.slow import slow, slow_with_index
from tests.support.store import Store

pytestmark = pytest.mark.live

N = 30
LABEL = "RingNode"
NAMES = WriteNames(model="ring test")


@pytest.fixture
def graph(cypher, store):
    make_ring(cypher, LABEL, N)
    yield ring_graph(cypher, LABEL)
    store.clear(model=NAMES.model)
    cypher(f"MATCH (n:`{LABEL}`) DETACH DELETE n")


def assert_whole(store, graph, seed):
    """Check that readers by version see version `seed`, coordinates and links, to the bit."""
    np.testing.assert_array_equal(store.read_embedding(graph, NAMES.model), random_points(N, seed))
    found, links = store.read_links(graph, NAMES.model), random_links(N, seed)
    order = np.lexsort((links.target, links.source, links.distance))
    for name in ("source", "target", "distance", "probability"):
        np.testing.assert_array_equal(getattr(found, name), getattr(links, name)[order])


def assert_at_rest(cypher, store, graph, seed, before, indexed=True):
    """Check that plain names hold version `seed` and nothing else, and that only one before it is kept."""
    assert_whole(store, graph, seed)
    node = published_node(cypher, NAMES.model)
    run = node["run"]
    assert plain_nodes(cypher, NAMES) == written_nodes(random_points(N, seed), run, "hyperboloid")
    assert plain_links(cypher, NAMES) == written_links(random_links(N, seed), run)
    assert runs_in_graph(cypher, LABEL, NAMES) == {
        "plain": {run: N},
        "plain links": {run: 30},
        "previous": {node["previousRun"]: N},
        "previous links": {node["previousRun"]: 30},
    }
    assert not {"staging", "leaseHolder", "publishing"} & node.keys()
    index, staged_index = NAMES.index_of(LABEL), NAMES.staged_index_of(LABEL)
    assert node.get("indexes", []) == ([index] if indexed else [])
    assert index_names(cypher) == ([staged_index, index] if indexed else [])
    assert {record.status for record in store.runs(NAMES.model) if record.run_id != run} <= {"superseded"}
    store.rollback(NAMES.model)
    assert_whole(store, graph, before)


def index_names(cypher):
    rows = cypher(
        "SHOW VECTOR INDEXES YIELD name, properties AS p WHERE p[0] STARTS WITH $v RETURN name ORDER BY name",
        v=NAMES.plain.vector,
    )
    return [row["name"] for row in rows]


STAGING_LINKS = Statement(("p.distance = $distance[i]",), 2)
SETTLING = Statement(("$left",))
SETTLING_LINKS = Statement((NAMES.link_type + "_STAGED`", "SET p = properties(s)"))
UNSTAGING_LINKS = Statement((NAMES.link_type + "_STAGED`", "DELETE p"))


indexed_or_not = pytest.mark.parametrize("index", [False, slow_with_index(True)])


@indexed_or_not
@pytest.mark.parametrize(
    ("die_at", "is_published"),
    [slow(STAGING_LINKS, False), (SETTLING, True), slow(SETTLING_LINKS, True), slow(UNSTAGING_LINKS, True)],
    ids=["staging", "between the switch and settling", "settling", "unstaging"],
)
def test_a_publication_of_a_killed_client_is_undone_or_finished_by_the_next(
    server, store, cypher, graph, die_at, is_published, index
):
    clean = snapshot(cypher)
    for seed in range(2):
        write_version(server.settings, graph, NAMES, seed, index=index)
    killed(write_version, server.settings, graph, NAMES, 2, die_at, index=index)
    seed, before = (2, 1) if is_published else (1, 0)
    assert_whole(store, graph, seed)
    assert published_node(cypher, NAMES.model)["staging"] == store.runs(NAMES.model)[0].run_id
    store.prune(NAMES.model)
    assert_at_rest(cypher, store, graph, seed, before, index)
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == clean


@indexed_or_not
def test_a_rollback_of_a_killed_client_is_finished_by_the_next_run(server, store, cypher, graph, index):
    for seed in range(2):
        write_version(server.settings, graph, NAMES, seed, index=index)
    killed(roll_back_model, server.settings, NAMES, SETTLING_LINKS)
    assert_whole(store, graph, 0)
    write_version(server.settings, graph, NAMES, 2, index=index)
    assert_at_rest(cypher, store, graph, 2, 0, index)


@indexed_or_not
def test_a_clear_of_a_killed_client_is_completed_by_another(server, store, cypher, graph, index):
    clean = snapshot(cypher)
    for seed in range(2):
        write_version(server.settings, graph, NAMES, seed, index=index)
    killed(clear_model, server.settings, NAMES, Statement(("UNWIND batch AS p",)))
    assert not runs_in_graph(cypher, LABEL, NAMES).keys() & {"plain", "previous"}
    store.clear(model=NAMES.model)
    assert snapshot(cypher) == clean


# --- the server ---------------------------------------------------------------------------------------------


@pytest.fixture
def doomed(throwaway_server):
    """A server that a test may kill, and a graph of which a version is published there."""
    local = throwaway_server
    server = LiveServer(*local.connection(), database=None, series="throwaway", local=local)
    with open_cypher(server) as cypher:
        make_ring(cypher, LABEL, N)
        graph = ring_graph(cypher, LABEL)
    write_version(server.settings, graph, NAMES, 0)
    return server, graph


@contextmanager
def patient_store(server):
    """Open a store that waits for a restart, which takes longer than the driver does on a busy machine."""
    auth = (server.user, server.password)
    with neo4j.GraphDatabase.driver(server.uri, auth=auth, max_transaction_retry_time=180) as driver:
        yield Store(driver)


@pytest.mark.slow
def test_a_server_killed_while_it_writes(doomed):
    server, graph = doomed
    local, auth = server.local, (server.user, server.password)
    with neo4j.GraphDatabase.driver(server.uri, auth=auth, max_transaction_retry_time=1) as driver:
        store = Store(driver)
        store.tracer = before_statement("$radii", 3, lambda: crash(local))
        with pytest.raises(
            WriteFailed, match=r"was lost while in stage 'write coordinates'.*is incomplete and what"
        ):
            store.write_embedding(graph, random_points(N, 1), names=NAMES, batch_size=BATCH)
    local.start()
    with open_cypher(server) as cypher, patient_store(server) as store:
        assert_whole(store, graph, 0)
        dead = store.runs(NAMES.model)[0]
        assert (dead.status, dead.error) == ("incomplete", None)
        written = runs_in_graph(cypher, LABEL, NAMES)
        published = published_node(cypher, NAMES.model)["run"]
        assert written["plain"] == {published: N}
        assert written["staged"] in ({dead.run_id: BATCH}, {dead.run_id: 2 * BATCH})  # of two at once


@pytest.mark.slow
def test_a_server_that_restarts_quickly_is_written_to_as_if_nothing_had_happened(doomed):
    server, graph = doomed

    def restart():
        crash(server.local)
        server.local.start()

    with open_cypher(server) as cypher, patient_store(server) as store:
        write_version(server.settings, graph, NAMES, 1)
        store.tracer = before_statement("$radii", 2, restart)
        with store.start_run(graph, names=NAMES, parts=["embedding", "links"], batch_size=BATCH) as run:
            run.write_embedding(random_points(N, 2), coordinates="hyperboloid")
            run.write_links(random_links(N, 2))
            store.tracer = before_statement("$left", 1, restart)
            run.publish()
        assert_at_rest(cypher, store, graph, 2, 1)


def before_statement(words, number, act):
    """Return a tracer that acts once, before the given statement that holds `words`."""
    left = iter(range(1, number + 1))

    def trace(statement, parameters):
        if words in statement and next(left, None) == number:
            act()

    return trace
