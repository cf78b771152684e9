"""A refresh whose client or server is killed: what is published is one whole version, old or new."""

import multiprocessing
import random
import signal
from contextlib import suppress

import neo4j
import pytest

from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import HeatError
from heat_neo4j.pipeline.embed import refresh
from tests.conftest import LiveServer
from tests.support.doomed import refresh_model
from tests.support.live_graph import open_cypher, snapshot
from tests.support.refresh_checks import JOB, assert_nothing_else, assert_whole, crash, refreshed
from tests.support.refresh_toy import MODEL, Papers

pytestmark = pytest.mark.live

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.support.doomed"])


@pytest.mark.parametrize("kind", ["local", "warm"])
def test_a_client_killed_at_ten_points_of_a_refresh(server, cypher, store, papers, kind):
    clean = snapshot(cypher)
    change = papers.add if kind == "local" else papers.rewire
    refreshed(store)
    change()
    statements = refresh_model(server.settings)
    assert statements > 40
    points = random.Random(7).sample(range(1, statements), 10)
    outcomes = set()
    for die_at in points:
        before = papers.seen()
        change()
        child = processes.Process(target=refresh_model, args=(server.settings, die_at))
        child.start()
        child.join()
        # The lease is renewed now and then: a run that was quick came to its end before.
        assert child.exitcode in (-signal.SIGKILL, 0), f"statement {die_at}"
        run = assert_whole(papers, store, before)
        outcomes.add(run == before[0])
        report = refreshed(store)
        assert report.outcome in ({"published"} if run == before[0] else {"nothing", "published"})
        run = assert_whole(papers, store, before)
        assert run != before[0]
        assert_nothing_else(cypher, store, run)
    assert outcomes >= {True}
    store.clear(model=MODEL)
    assert snapshot(cypher)["indexes"] == clean["indexes"]


def test_a_server_killed_during_refreshes(throwaway_server):
    local = throwaway_server
    server = LiveServer(*local.connection(), database=None, series="throwaway", local=local)
    moments = random.Random(3)
    auth = (server.user, server.password)
    with open_cypher(server) as cypher:
        papers = Papers(cypher)
        patient = neo4j.GraphDatabase.driver(server.uri, auth=auth, max_transaction_retry_time=180)
        with patient:
            store = Neo4jStore(patient)
            refreshed(store)
            statements = refresh_model(server.settings)
            for _ in range(3):
                before = papers.seen()
                papers.add()
                with neo4j.GraphDatabase.driver(
                    server.uri, auth=auth, max_transaction_retry_time=1
                ) as driver:
                    doomed = Neo4jStore(driver)
                    left = iter(range(moments.randrange(statements // 2, 2 * statements)))

                    def trace(statement, parameters, left=left):
                        if next(left, None) is None and local.status().running:
                            crash(local)

                    doomed.tracer(trace)
                    with suppress(HeatError):
                        refresh(doomed, JOB)
                local.start()
                assert_whole(papers, store, before)
                refreshed(store)
                run = assert_whole(papers, store, before)
                assert_nothing_else(cypher, store, run)
