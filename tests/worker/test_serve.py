"""The worker on a live server: the schedule, signals, and what is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from heat_neo4j.pipeline.gate import Gate
from heat_neo4j.worker.loop import Worker
from heat_neo4j.worker.schedule import Schedule
from tests.conftest import LiveServer
from tests.support.commands import invoker
from tests.support.live_graph import WithoutIndex, open_cypher
from tests.support.refresh_checks import JOB
from tests.support.refresh_toy import MODEL, OPTIONS, Papers, first_version, make_job, small_model
from tests.support.store import Store

pytestmark = pytest.mark.live


@contextmanager
def working(server, job=JOB, every=0.5, **options):
    """Have a worker at work in a thread; give its lines."""
    told = []
    uri, user, password = server.settings

    def connect():
        return WithoutIndex.open(uri, auth=(user, password), database=server.database)

    worker = Worker(connect, job, Schedule.every(every), poll_seconds=0.1, log=told.append, **options)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield told
    finally:
        worker.stop()
        thread.join(timeout=200)
        assert not thread.is_alive()


@contextmanager
def serving(server, *options):
    """Have ``heat serve`` at work in a process; give the process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "heat_neo4j", "serve", *OPTIONS, *options],
        env={**os.environ, **server.environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def test_a_rejected_run_changes_nothing(server, store, papers):
    first_version(store, JOB)
    before = papers.seen()
    papers.rewire(40)
    strict = make_job(gate=Gate(1.0, 1.0, 1.0), lease_seconds=1.0)
    with working(server, strict) as told:
        until(lambda: any(line.startswith("rejected: ") for line in told))
    assert papers.seen() == before
    assert "rejected" in {run.status for run in store.runs(MODEL)}


def test_a_refresh_waits_while_the_lease_is_held(server, store, papers):
    first_version(store, JOB)
    key = papers.add()
    with store.lease(MODEL, 60.0), working(server) as told:
        until(lambda: any(line.startswith("skipped: ") for line in told))
        assert key not in papers.seen()[1]
    with working(server):
        until(lambda: key in papers.seen()[1])


def test_the_schedule_refreshes_a_changed_graph(server, store, papers):
    first_version(store, JOB)
    before = papers.seen()
    with working(server) as told:
        key = papers.add()
        until(lambda: key in papers.seen()[1])
        after = papers.seen()
        until(lambda: "nothing: the graph is unchanged" in told)
    assert {name: after[1][name] for name in before[1]} == before[1]
    assert any(line.startswith("local: 1 new node, ") for line in told)


def training(health):
    """Return whether a worker has begun to train, by its health file."""
    return health.exists() and json.loads(health.read_text()).get("stage") not in (None, "read nodes")


def test_a_signal_stops_it_cleanly_in_the_middle_of_its_work(server, store, papers, tmp_path):
    first_version(store, JOB)
    before = papers.seen()
    health = tmp_path / "health"
    options = ("--every", "1d", "--walks-per-node", "4000", "--health-file", str(health))
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving(server, *options) as process:
            until(lambda: training(health))
            assert json.loads(health.read_text())["state"] == "working"
            process.send_signal(number)
            _, told = process.communicate(timeout=60)
        assert process.returncode == 0, told
        assert told.splitlines()[-1].endswith(" stopped")
        assert not health.exists()
        assert papers.seen() == before
        assert "leaseHolder" not in papers.published()


@pytest.mark.slow
def test_a_killed_worker_is_replaced(server, store, papers, tmp_path):
    first_version(store, JOB)
    before = papers.seen()
    key, health = papers.add(), tmp_path / "health"
    options = ("--every", "1d", "--walks-per-node", "4000", "--health-file", str(health))
    with serving(server, *options) as process:
        until(lambda: training(health))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert papers.seen() == before
    with working(server):
        until(lambda: key in papers.seen()[1])
    store.prune(MODEL)
    assert {run.status for run in store.runs(MODEL)} <= {"complete", "superseded", "incomplete"}


def test_the_worker_says_what_it_does_and_fails_with_one_line(server, store, papers, tmp_path):
    first_version(store, replace(JOB, model=small_model(walk_length=10)))  # so that it trains in full
    metrics, config = tmp_path / "heat.prom", tmp_path / "heat.toml"
    config.write_text(f"[serve]\nmetrics_file = {json.dumps(str(metrics))}\n")
    with serving(server, "--every", "1h", "--config", str(config)) as process:
        until(lambda: metrics.exists() and 'outcome="published"} 1.0' in metrics.read_text())
        until(lambda: "heat_published_version{" in metrics.read_text())
        told = {
            sample.name: sample.value
            for family in text_string_to_metric_families(metrics.read_text())
            for sample in family.samples
        }
        assert told["heat_published_nodes"] == len(papers.seen()[1])
        assert told["heat_published_links"] == len(papers.seen()[2])
        assert 0.0 <= time.time() - told["heat_published_timestamp_seconds"] < 300.0
        assert 0.0 < told["heat_auroc"] <= 1.0
        assert told["heat_worker_due_timestamp_seconds"] > time.time() + 3000.0
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    lines = told.splitlines()
    assert all(line[:4].isdigit() and line[10] == "T" for line in lines), told
    assert "at work for model 'fresh'" in lines[0]
    assert not metrics.exists()
    gone = str(tmp_path / "gone" / "health")
    told = invoker(server)("serve", *OPTIONS, "--every", "1h", "--health-file", gone, code=2).stderr
    assert told.startswith("heat: --health-file")
    wrong = LiveServer(server.uri, server.user, "wrong", server.database, server.series, None)
    told = invoker(wrong)("serve", *OPTIONS, "--every", "1h", code=3).stderr
    assert "refused the login" in told
    assert len(told.splitlines()) == 1


@pytest.mark.slow
def test_a_server_that_restarts_is_waited_for(throwaway_server):
    local = throwaway_server
    server = LiveServer(*local.connection(), database=None, series="throwaway", local=local)
    with open_cypher(server) as cypher:
        Papers(cypher)
        with Store.open(server.uri, auth=(server.user, server.password)) as store:
            first_version(store, JOB)
        with working(server, every=86_400.0) as told:  # a refresh under way would wait for the server itself
            until(lambda: "done: nothing" in told)
            local.stop()
            until(lambda: any("next attempt in" in line for line in told))
            local.start()
            until(lambda: "the server answers again" in told)
