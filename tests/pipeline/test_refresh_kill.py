"""A refresh whose client or server is killed: what is published is one whole version, old or new."""

import multiprocessing
import signal

import neo4j
import pytest

from heat_neo4j.errors import HeatError
from heat_neo4j.pipeline.embed import refresh
from tests.conftest import LiveServer
from tests.support.doomed import Statement, refresh_model
from tests.support.live_graph import before_first, open_cypher, snapshot
from tests.support.refresh_checks import JOB, assert_nothing_else, assert_whole, crash, refreshed
from tests.support.refresh_toy import MODEL, Papers, first_version
from tests.support.slow import slow_with_index
from tests.support.store import Store

pytestmark = pytest.mark.live

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.support.doomed"])

SWITCHING, SETTLING = "SET m.version", "$left"


@pytest.mark.parametrize(
    ("kind", "die_at"),
    [
        ("local", Statement((SWITCHING,), 2)),
        slow_with_index("local", Statement((SWITCHING,), 2)),
        slow_with_index("warm", Statement((SWITCHING,), 1)),
    ],
    ids=["local, settled", "local, settled, index", "warm, staged, index"],
)
def test_a_refresh_of_a_killed_client_is_finished_or_undone_by_the_next(
    server, cypher, store, papers, indexed, kind, die_at
):
    clean = snapshot(cypher)
    first_version(store, JOB)
    before = papers.seen()
    if kind == "local":
        papers.add()
    else:
        papers.rewire()
    child = processes.Process(target=refresh_model, args=(server.settings, die_at), kwargs={"index": indexed})
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    run = assert_whole(papers, store, before, indexed=indexed)
    assert (run == before[0]) == (die_at.turn == 1)
    report = refreshed(store)
    assert report.outcome == ("published" if run == before[0] else "nothing")
    now = assert_whole(papers, store, before, indexed=indexed)
    assert now != before[0]
    assert_nothing_else(cypher, store, now, indexed=indexed)
    store.clear(model=MODEL)
    assert snapshot(cypher)["indexes"] == clean["indexes"]


@pytest.mark.slow
def test_a_server_killed_during_a_refresh(throwaway_server):
    local = throwaway_server
    server = LiveServer(*local.connection(), database=None, series="throwaway", local=local)
    auth = (server.user, server.password)
    patient = neo4j.GraphDatabase.driver(server.uri, auth=auth, max_transaction_retry_time=180)
    with open_cypher(server) as cypher, patient:
        papers, store = Papers(cypher), Store(patient)
        first_version(store, JOB)
        before = papers.seen()
        papers.add()
        with neo4j.GraphDatabase.driver(server.uri, auth=auth, max_transaction_retry_time=1) as driver:
            doomed = Store(driver)
            with (
                before_first(doomed, SETTLING, lambda: crash(local)),
                pytest.raises(HeatError, match="some properties still hold values of the previous version"),
            ):
                refresh(doomed, JOB)
        local.start()
        run = assert_whole(papers, store, before)
        assert run != before[0]
        assert refreshed(store).outcome == "nothing"
        assert_nothing_else(cypher, store, run)
