"""The worker on a live server: requests made in Cypher, the schedule, signals, and what is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families

from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish import requests as requests_module
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.pipeline.gate import Gate
from heat_neo4j.worker.loop import Worker
from heat_neo4j.worker.schedule import Schedule
from tests.conftest import LiveServer
from tests.support.commands import invoker
from tests.support.live_graph import open_cypher
from tests.support.refresh_checks import JOB
from tests.support.refresh_toy import MODEL, OPTIONS, TYPE, Papers, first_version, make_job, small_model

pytestmark = pytest.mark.live


def requester(cypher):
    """Return a function that makes a request, and gives back a function that reads it."""

    def made(**properties):
        given = {"model": MODEL, **properties}
        ident = cypher("CREATE (q:HeatRequest) SET q = $given RETURN elementId(q) AS id", given=given)[0][
            "id"
        ]
        statement = "MATCH (q:HeatRequest) WHERE elementId(q) = $id RETURN properties(q) AS q"
        return lambda: cypher(statement, id=ident)[0]["q"]

    return made


@pytest.fixture
def ask(cypher):
    yield requester(cypher)
    cypher("MATCH (q:HeatRequest) DELETE q")


@contextmanager
def working(server, job=JOB, schedule=None, **options):
    """Have a worker at work in a thread; give its lines."""
    told = []
    uri, user, password = server.settings

    def connect():
        return Neo4jStore.connect(uri, auth=(user, password), database=server.database)

    worker = Worker(connect, job, schedule, poll_seconds=0.1, log=told.append, **options)
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


def ended(read):
    until(lambda: read().get("status") in ("done", "rejected", "failed"))
    return read()  # Neo4j reads properties one by one: the first to see the status may miss the rest


def claimed(store):
    queue = store.requests(MODEL)
    return queue.claim(queue.waiting())


def waits(read):
    return read().get("status") in (None, "waiting")


def test_a_request_is_done_and_answered(server, store, papers, ask):
    embedded = first_version(store, JOB).run_id
    first = ask(mode="full")
    with working(server) as told:
        answer = ended(first)
        assert (answer["status"], answer["outcome"]) == ("done", "published")
        assert answer["message"] == "full: asked for"
        assert answer["runId"] == papers.published()["run"] == store.runs(MODEL)[0].run_id
        assert (answer["attempts"], answer["progress"]) == (1, 1.0)
        assert answer["finishedAt"] > answer["claimedAt"]
        assert not {"claim", "claimedUntil", "stage", "lock"} & set(answer)
        assert ended(ask())["outcome"] == "nothing"
        papers.add()
        assert ended(ask(mode="full"))["message"] == "full: asked for"
        now = papers.published()["run"]
        assert ended(ask(action="rollback"))["message"] == f"run {answer['runId']} is published again"
        assert papers.published()["run"] == answer["runId"] not in (now, embedded)
        assert ended(ask(action="prune"))["outcome"] == "pruned"
    assert told[-1] == "stopped"
    assert "request: refresh full" in told


def test_what_cannot_be_done_is_answered(server, store, papers, ask):
    run_id = first_version(store, JOB).run_id
    other, of_nobody = ask(model="other"), ask(model=None)
    with working(server, replace(JOB, model=small_model(walk_length=10))):
        assert ended(ask(mode="quick"))["message"].startswith("mode must be one of auto, local")
        assert ended(ask(action=["refresh"]))["status"] == "failed"
        failed = ended(ask(action="rollback"))
        assert failed["status"] == "failed"
        assert "version before" in failed["message"]
        assert ended(ask(mode="warm"))["message"].startswith("--mode warm needs a published version")
        assert papers.published()["run"] == run_id
        assert ended(other)["message"] == "there is no model 'other' here"
        assert ended(of_nobody)["message"] == "there is no model 'heat' here"


def test_a_rejected_run_answers_the_request(server, store, papers, ask):
    first_version(store, JOB)
    before = papers.seen()
    papers.rewire(40)
    strict = make_job(gate=Gate(1.0, 1.0, 1.0), lease_seconds=1.0)
    with working(server, strict):
        answer = ended(ask(mode="full"))
    assert (answer["status"], answer["outcome"]) == ("rejected", "rejected")
    assert papers.seen() == before
    assert answer["runId"] == store.runs(MODEL)[0].run_id
    assert store.runs(MODEL)[0].status == "rejected"


ODD = (
    "true", "1.5", "-1", "9223372036854775807", "0.0 / 0.0", "date()", "date('+999999999-01-01')",
    "datetime('-999999999-01-01T00:00:00Z')", "duration('P1D')", "point({x: 1, y: 2})", "['a']", "[true]",
)  # fmt: skip
READ = ("status", "model", "action", "mode", "attempts")


def test_a_request_of_other_types_has_failed_and_the_next_is_claimed(store, papers, cypher, ask):
    first_version(store, JOB)
    for name in (*READ, "requestedAt", "claim", "claimedUntil", "worker", "stage", "progress", "message"):
        for value in ODD:
            made = f"CREATE (q:HeatRequest {{model: $model, name: $name}}) SET q[$name] = {value}"
            cypher(made, model=MODEL, name=name)
    ask(model="frsh", name="model")
    ask(name="good")
    queue, claimed_names = store.requests(MODEL), []
    while (claim := queue.claim(queue.waiting())) is not None or queue.waiting():
        if claim is not None:
            statement = "MATCH (q:HeatRequest) WHERE elementId(q) = $id RETURN q.name AS name"
            claimed_names.append(cypher(statement, id=claim._held["id"])[0]["name"])
            assert claim.answer("done", "pruned", "as asked", None)
    assert len(claimed_names) == 7 * len(ODD) + 1  # what a worker writes itself may have been anything
    assert "good" in claimed_names
    failed = cypher("MATCH (q:HeatRequest {status: 'failed'}) RETURN q.name AS name, q.message AS message")
    assert len(failed) == 5 * len(ODD) + 1
    for row in failed:
        said = ("must be", "must not be", "workers that began it died", "there is no model 'frsh' here")
        assert any(text in row["message"] for text in said), row
    assert cypher("MATCH (q:HeatRequest) WHERE NOT q.status IN ['failed', 'done'] RETURN q") == []


def test_a_request_that_cannot_be_marked_is_left_alone_and_the_next_is_claimed(
    store, papers, cypher, ask, caplog
):
    first_version(store, JOB)
    good = ask(requestedAt=2)
    cypher("CREATE (:HeatRequest {model: $model, requestedAt: 1, attempts: true})", model=MODEL)
    cypher("CREATE CONSTRAINT of_the_user FOR (q:HeatRequest) REQUIRE q.outcome IS UNIQUE")
    try:
        cypher("CREATE (:HeatRequest {model: 'another', outcome: 'failed', status: 'done'})")
        queue = store.requests(MODEL)
        assert queue.claim(queue.waiting()) is not None
        assert good()["status"] == "running"
        assert "a request cannot be claimed and is left alone" in caplog.text
        assert queue.waiting() == {}
    finally:
        cypher("DROP CONSTRAINT of_the_user")


def test_workers_never_take_the_same_request(store, papers, cypher, ask):
    cypher("UNWIND range(1, 40) AS i CREATE (:HeatRequest {model: $model, number: i})", model=MODEL)
    start, claims = threading.Barrier(8), []

    def take():
        queue = store.requests(MODEL)
        start.wait()
        while (claim := queue.claim(queue.waiting())) is not None or cypher(
            "MATCH (q:HeatRequest {model: $model}) WHERE q.status IS NULL RETURN q LIMIT 1", model=MODEL
        ):
            if claim is not None:
                claims.append(claim._held)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=200)
    assert len(claims) == 40
    assert len({each["id"] for each in claims}) == len({each["claim"] for each in claims}) == 40
    rows = cypher("MATCH (q:HeatRequest) RETURN q.claim AS claim, q.attempts AS attempts")
    assert {row["claim"] for row in rows} == {each["claim"] for each in claims}
    assert {row["attempts"] for row in rows} == {1}


@pytest.mark.slow
def test_two_workers_share_twenty_requests(server, store, papers, cypher, ask):
    first_version(store, JOB)
    papers.add()
    asked = [ask(action="prune") for _ in range(18)] + [ask(), ask()]
    with working(server) as one, working(server) as two:
        answers = [ended(read) for read in asked]
    assert [answer["status"] for answer in answers] == ["done"] * 20
    assert [answer["attempts"] for answer in answers] == [1] * 20
    lines = [line for line in (*one, *two) if line == "done: pruned"]
    assert len(lines) == 18
    assert sorted(answer["outcome"] for answer in answers[18:]) == ["nothing", "published"]


def test_the_oldest_is_claimed_first(store, papers, ask):
    hours = [3, 12, 1, 8, 5]
    asked = {hour: ask(requestedAt=datetime(2026, 1, 1, hour, tzinfo=UTC)) for hour in hours}
    asked[24] = ask()  # does not tell
    for _, read in sorted(asked.items()):
        claim = claimed(store)
        assert read()["claim"] == claim._held["claim"]


def test_a_claim_that_nobody_renews_is_taken_over_and_given_up_in_the_end(store, papers, cypher, ask):
    read = ask()
    for attempt in (1, 2, 3):
        first = claimed(store)
        assert claimed(store) is None
        assert read()["attempts"] == attempt
        cypher("MATCH (q:HeatRequest) SET q.claimedUntil = datetime() - duration('PT1S')")
        if attempt == 1:
            second = claimed(store)
            assert not first.answer("done", "published", "too late", None)
            assert not first.give_back("too late")
            assert second.give_back("stopped")  # does not count
            assert read()["attempts"] == 1
            assert read()["message"] == "stopped"
    assert claimed(store) is None
    assert (read()["status"], read()["attempts"]) == ("failed", 3)
    assert read()["message"] == "each of 3 workers that began it died: see their logs"


def test_a_claim_is_renewed_and_tells_of_the_progress(store, papers, ask, monkeypatch):
    monkeypatch.setattr(requests_module, "_REPORT_SECONDS", 0.05)
    read = ask()
    claim = claimed(store)
    until_first = read()["claimedUntil"]
    with claim:
        claim.progress("train", 1, 4)
        until(lambda: read().get("stage") == "train")
        assert read()["progress"] == 0.125  # a quarter of what is expected to take half of the time
        until(lambda: read()["claimedUntil"] > until_first)
    assert claim.answer("done", "nothing", "as it was", None)


def test_requests_wait_while_the_lease_is_held(server, store, papers, ask):
    first_version(store, JOB)
    papers.add()
    with working(server) as told:
        with store.lease(MODEL, 60.0):
            read = ask()
            time.sleep(1.0)
            assert waits(read)
            assert told[1:] == []
        assert ended(read)["outcome"] == "published"


def test_the_schedule_refreshes_a_changed_graph(server, store, papers):
    first_version(store, JOB)
    before = papers.seen()
    with working(server, schedule=Schedule.every(0.5)) as told:
        key = papers.add()
        until(lambda: key in papers.seen()[1])
        after = papers.seen()
        until(lambda: "nothing: the graph is as it was" in told)
    assert {name: after[1][name] for name in before[1]} == before[1]
    assert any(line.startswith("local: 1 new node, ") for line in told)


def test_requests_are_no_part_of_a_graph_and_outlive_clear_and_prune(store, papers, cypher, ask):
    read = ask(action="prune")
    first_version(store, JOB)
    everything = Projection(None, [TYPE])
    ids = set(store.read_graph(everything).node_ids)
    assert not ids & {row["id"] for row in cypher("MATCH (q:HeatRequest) RETURN elementId(q) AS id")}
    store.prune(MODEL, records=0, previous=True)
    store.clear(everything=True)
    assert waits(read)


def test_a_signal_stops_it_cleanly_in_the_middle_of_its_work(server, store, papers, cypher, ask, tmp_path):
    first_version(store, JOB)
    before = papers.seen()
    papers.rewire(40)
    read = ask(mode="full")
    health = tmp_path / "health"
    options = ("--walks-per-node", "4000", "--health-file", str(health))
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving(server, *options) as process:
            until(lambda: read().get("stage") not in (None, "read nodes"))
            assert json.loads(health.read_text())["state"] == "working"
            process.send_signal(number)
            _, told = process.communicate(timeout=60)
        assert process.returncode == 0, told
        assert told.splitlines()[-1].endswith(" stopped")
        assert not health.exists()
        assert (read()["status"], read()["message"]) == ("waiting", "its worker was stopped")
        assert read()["attempts"] == 0
        assert papers.seen() == before
        assert "leaseHolder" not in papers.published()
    with working(server):
        assert ended(read)["status"] == "done"


@pytest.mark.slow
def test_a_killed_worker_is_replaced(server, store, papers, cypher, ask):
    first_version(store, JOB)
    before = papers.seen()
    papers.rewire(40)
    read = ask(mode="full")
    with serving(server, "--walks-per-node", "4000") as process:
        until(lambda: read().get("stage") not in (None, "read nodes"))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert read()["status"] == "running"
    assert papers.seen() == before
    with working(server):
        time.sleep(1.0)
        assert read()["attempts"] == 1  # the claim lasts a minute
        cypher("MATCH (q:HeatRequest) SET q.claimedUntil = datetime()")
        answer = ended(read)
    assert (answer["outcome"], answer["attempts"]) == ("published", 2)
    assert papers.seen()[0] == answer["runId"]
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
    told = invoker(server)("serve", *OPTIONS, "--health-file", gone, code=2).stderr
    assert told.startswith("heat: --health-file")
    wrong = LiveServer(server.uri, server.user, "wrong", server.database, server.series, None)
    told = invoker(wrong)("serve", *OPTIONS, code=3).stderr
    assert "refused the login" in told
    assert len(told.splitlines()) == 1


@pytest.mark.slow
def test_a_server_that_restarts_is_waited_for(throwaway_server):
    local = throwaway_server
    server = LiveServer(*local.connection(), database=None, series="throwaway", local=local)
    with open_cypher(server) as cypher:
        papers, ask = Papers(cypher), requester(cypher)
        with Neo4jStore.connect(server.uri, auth=(server.user, server.password)) as store:
            first_version(store, JOB)
        with working(server) as told:
            assert ended(ask(mode="full"))["outcome"] == "published"
            local.stop()
            until(lambda: any("next attempt in" in line for line in told))
            local.start()
            until(lambda: "the server answers again" in told)
            papers.add()
            assert ended(ask())["message"].startswith("local: 1 new node, ")
