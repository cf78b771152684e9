"""Metrics of the worker: what Prometheus' own parsers read after simulated outcomes, where, and when."""

import re
import socket
import sys
import threading
import urllib.request
from datetime import UTC, datetime
from types import SimpleNamespace

import neo4j.time
import pytest
from click.testing import CliRunner
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text_metrics

from heat_neo4j import __version__
from heat_neo4j.cli import heat
from heat_neo4j.database.runs import Bookkeeping, RunRecord
from heat_neo4j.errors import ConfigError, LeaseHeld, ServerUnreachable, WriteRefused
from heat_neo4j.worker import loop
from heat_neo4j.worker.loop import Answer, Observer, Worker
from heat_neo4j.worker.metrics import ADDRESS, FAMILIES, OUTCOMES, STATES, Metrics
from heat_neo4j.worker.schedule import Schedule
from tests.docs.pages import PAGES
from tests.docs.tables import first_column

MODEL = "m"
HOSTILE = 'a"b\\c\n# EOF\nheat_tasks_total 7\r\u2028\ud800{x="y"}'
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def run_record(run_id="r1", status="complete", **facts):
    known = {"auroc": 0.9, "overlap": 0.8, "mean_move": 0.25, "quality": {"degree_auroc": 0.7}}
    known |= {"stage_seconds": {"read": 1.5, "train": 20.0}, "nodes_written": 60, "links_written": 20}
    return RunRecord(run_id, MODEL, ("embedding", "links"), status, ("embedding",), **{**known, **facts})


def book(*runs, model=MODEL, **version):
    node = {"name": model, "version": 3, "run": "r1", "linkRun": "r1", "publishedAt": AT, **version}
    return Bookkeeping([node], runs)


class Store:
    """A database of which a worker can see what is published."""

    server = SimpleNamespace(database="neo4j")

    def __init__(self, seen=None):
        self.seen, self.looks = seen or book(run_record()), 0

    def bookkeeping(self):
        self.looks += 1
        return self.seen

    def required_run(self, model):
        return self.seen.required_run(model)

    def check_reachable(self):
        pass

    def close(self):
        pass


def samples_of(text, parse=open_metrics):
    return [sample for family in parse(text) for sample in family.samples]


def read(told):
    """Return {(name, labels but the model): value}, as Prometheus' parser of OpenMetrics reads it."""
    text = told if isinstance(told, str) else generate_latest(told.registry).decode()
    found = {}
    for sample in samples_of(text):
        labels = [value for name, value in sorted(sample.labels.items()) if name != "model"]
        found[sample.name, *labels] = sample.value
    return found


def test_what_came_of_tasks_is_counted():
    told = Metrics(MODEL)
    before = read(told)
    assert {key: value for key, value in before.items() if key[0] == "heat_tasks_total"} == {
        ("heat_tasks_total", outcome): 0 for outcome in OUTCOMES
    }
    for outcome, count in (("published", 2), ("nothing", 3)):
        for _ in range(count):
            told.finished(Answer(outcome, ""), 0)
    told.skipped()
    told.finished(Answer("rejected", "as before"), 0)
    told.finished(Answer("failed", "no", error=WriteRefused("no")), 0)
    told.finished(Answer("failed", "a defect", error=ZeroDivisionError("ours")), 0)
    told.server_away(ServerUnreachable("away"))
    told.server_away(ServerUnreachable("away"))
    now = read(told)
    counted = {key[1]: value for key, value in now.items() if key[0] == "heat_tasks_total"}
    assert counted == {
        "published": 2, "nothing": 3, "skipped": 1, "rejected": 1, "failed": 2,
    }  # fmt: skip
    failures = {key[1:]: value for key, value in now.items() if key[0] == "heat_failures_total"}
    assert failures == {
        ("5", "WriteRefused"): 1, ("1", "ZeroDivisionError"): 1, ("3", "ServerUnreachable"): 2,
    }  # fmt: skip
    last = now["heat_last_failure_timestamp_seconds",]
    assert abs(last - datetime.now(UTC).timestamp()) < 60


def test_rejections_in_a_row_are_those_that_the_worker_counts():
    told = Metrics(MODEL)
    for count in (2, 0):
        told.finished(Answer("rejected", "run r2 of this graph was rejected"), count)
        assert read(told)["heat_rejections_in_a_row",] == count


def test_the_worker_says_what_it_is_at_and_which_build_it_is():
    told = Metrics(MODEL)
    told.state("working", None)
    told.alive()
    now = read(told)
    assert {state: now["heat_worker_state", state] for state in STATES} == {
        "waiting": 0, "working": 1, "server away": 0,
    }  # fmt: skip
    assert any(key[0] == "heat_build_info" and __version__ in key for key in now)
    assert ("heat_worker_due_timestamp_seconds",) not in now
    told.state("waiting", AT)
    assert read(told)["heat_worker_due_timestamp_seconds",] == AT.timestamp()


def test_what_is_published_is_read_from_the_graph_and_a_rejected_run_stands_beside_it():
    told, store = Metrics(MODEL), Store()
    told.look(store)
    now = read(told)
    assert now["heat_published_timestamp_seconds",] == AT.timestamp()
    assert now["heat_published_version",] == 3
    assert (now["heat_published_nodes",], now["heat_published_links",]) == (60, 20)
    figures = [now[f"heat_{name}", "published"] for name in ("auroc", "degree_auroc", "overlap", "mean_move")]
    assert figures == [0.9, 0.7, 0.8, 0.25]
    assert now["heat_stage_seconds", "published", "train"] == 20.0
    rejected = run_record("r2", "rejected", auroc=0.6, stage_seconds={"read": 2.0})
    told.finished(Answer("rejected", "", "r2", rejected), 0)
    told.look(store)
    now = read(told)
    assert (now["heat_auroc", "published"], now["heat_auroc", "rejected"]) == (0.9, 0.6)
    assert ("heat_stage_seconds", "rejected", "train") not in now
    store.seen = book(run_record(auroc=0.95), run_record("r3", links_written=7), linkRun="r3", version=4)
    told.finished(Answer("published", "", "r1", run_record()), 0)
    told.look(store)
    now = read(told)
    assert now["heat_auroc", "published"] == 0.95
    assert now["heat_published_links",] == 7  # of another run, which only predicted links
    assert not [key for key in now if "rejected" in key and key[0] != "heat_tasks_total"]


def test_it_looks_after_each_task_and_every_minute():
    clock = SimpleNamespace(now=1000.0)
    told, store = Metrics(MODEL), Store()
    told.clock = lambda: clock.now
    for after, looks in ((0, 1), (59, 1), (2, 2), (1, 2)):
        clock.now += after
        told.look(store)
        assert store.looks == looks
    told.finished(Answer("nothing", ""), 0)
    told.look(store)
    assert store.looks == 3


@pytest.mark.parametrize(
    "seen",
    [
        Bookkeeping([], ()),
        book(),
        book(publishedAt="yesterday", version="x", run=None, linkRun=None),
        book(run_record(auroc=None, overlap=None, quality={"degree_auroc": "high"}, stage_seconds={})),
        book(run_record(stage_seconds={"read": 10**400, "train": 1.0}, quality={"degree_auroc": 10**400})),
    ],
)
def test_what_is_missing_or_damaged_in_the_graph_is_left_out(seen):
    told = Metrics(MODEL)
    told.look(Store(seen))
    now = read(told)
    assert "heat_degree_auroc" not in {key[0] for key in now}
    assert ("heat_stage_seconds", "published", "read") not in now


def test_names_from_the_database_cannot_break_the_format(tmp_path):
    record = run_record(stage_seconds={HOSTILE: 1.0, "x" * 10: 2.0})
    record = RunRecord(**{**vars(record), "model": HOSTILE})
    told = Metrics(HOSTILE, file=tmp_path / "heat.prom")
    told.look(Store(book(record, model=HOSTILE)))
    told.alive()
    text = generate_latest(told.registry).decode()
    samples = samples_of(text)
    assert {sample.labels["model"] for sample in samples} == {samples[0].labels["model"]}
    assert len(samples) == text.count("} ")
    assert text.count("# EOF") == 1 + text.count("\\n# EOF")
    assert not set(re.findall(r"[^\n\x20-\x7e]", text))
    in_file = samples_of((tmp_path / "heat.prom").read_text(), text_metrics)
    shown, written = (
        [(each.labels, each.value) for each in found if each.name == "heat_stage_seconds"]
        for found in (samples, in_file)
    )
    assert len(shown) == 2
    assert shown == written


def test_a_run_s_node_that_others_wrote_cannot_fill_prometheus():
    told = Metrics(MODEL)
    told.look(Store(book(run_record(stage_seconds={f"{i}": 1.0 for i in range(10_000)}))))
    assert len([key for key in read(told) if key[0] == "heat_stage_seconds"]) == 50


# --- where ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listening():
    told = Metrics(MODEL, port=0)
    told.begin()
    yield told
    told.close()


def test_the_port_answers_in_openmetrics_and_in_the_older_format(listening):
    address = "http://{}:{}/metrics".format(*listening.address)
    accepted = {"Accept": "application/openmetrics-text; version=1.0.0"}
    asking = urllib.request.Request(address, headers=accepted)
    with urllib.request.urlopen(asking, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        assert read(answer.read().decode()).keys() == read(listening).keys()
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert list(text_metrics(answer.read().decode()))


def test_the_port_listens_on_this_machine_only(listening):
    host, port = listening.address
    assert host == ADDRESS == "127.0.0.1"
    # 127.0.0.2 is this machine too: who listens on all addresses answers there.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), timeout=5)


def test_a_connection_that_asks_nothing_is_closed():
    told = Metrics(MODEL, port=0)
    told.request_seconds = 0.05
    told.begin()
    try:
        with socket.create_connection(told.address, timeout=30) as connection:
            assert connection.recv(1) == b""
    finally:
        told.close()


def test_a_port_that_is_taken_is_told_in_one_line_and_is_free_after_the_end(listening):
    _, port = listening.address
    second = Metrics(MODEL, port=port)
    with pytest.raises(ConfigError, match=rf"^\[serve\] metrics_port {port}: cannot listen there: .*in use"):
        second.begin()
    second.close()
    third = Metrics(MODEL, port=0)
    third.begin()
    address = third.address
    third.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=5)


def test_the_file_is_whole_at_any_moment_and_goes_at_the_end(tmp_path):
    path = tmp_path / "heat.prom"
    told = Metrics(MODEL, file=path)
    told.begin()
    over, broken, seen = threading.Event(), [], set()

    def look():
        while not over.is_set():
            names = [sample.name for sample in samples_of(path.read_text(), text_metrics)]
            seen.add(names.count("heat_tasks_total"))
            if names[:1] != ["heat_build_info"]:
                broken.append(names)

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(100):
        told.finished(Answer("nothing", ""), 0)
        told.alive()
    over.set()
    reader.join()
    assert (broken, seen) == ([], {len(OUTCOMES)})
    assert list(tmp_path.iterdir()) == [path]
    told.close()
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_written_seldom_unless_something_changes(tmp_path):
    clock = SimpleNamespace(now=1000.0)
    path = tmp_path / "heat.prom"
    told = Metrics(MODEL, file=path)
    told.clock = lambda: clock.now
    told.begin()
    for after, changes, is_written in (
        (1, False, False),
        (0, True, True),
        (14, False, False),
        (2, False, True),
    ):
        path.unlink(missing_ok=True)
        clock.now += after
        if changes:
            told.skipped()
        told.alive()
        assert path.exists() == is_written


def test_a_file_that_cannot_be_written_is_refused_first_and_grows_old_later(tmp_path):
    folder = tmp_path / "gone"
    with pytest.raises(ConfigError, match=r"^\[serve\] metrics_file .*No such file"):
        Metrics(MODEL, file=folder / "heat.prom").begin()
    folder.mkdir()
    told = Metrics(MODEL, file=folder / "heat.prom")
    told.begin()
    (folder / "heat.prom").unlink()
    folder.rmdir()
    told.skipped()
    told.alive()
    told.close()


# --- in the worker ----------------------------------------------------------------------------------------


JOB = SimpleNamespace(names=SimpleNamespace(model=MODEL), records=3, lease_seconds=30.0)


def test_the_worker_tells_of_all_that_happens(tmp_path):
    path = tmp_path / "heat.prom"
    effects = iter([
        LeaseHeld("busy"), ServerUnreachable("away"), Answer("published", "full", "r1", run_record()),
        Answer("failed", "no", error=WriteRefused("no")),
    ])  # fmt: skip

    def performed(*arguments, on_progress, **options):
        effect = next(effects)
        on_progress("train", 1, 2)
        states.append(read(told)["heat_worker_state", "working"])
        if isinstance(effect, Exception):
            raise effect
        return effect

    states, waits, told = [], [], Metrics(MODEL, file=path)
    in_file = set()

    class Watched(Worker):
        def wait(self, seconds, due=None):
            now = read(told)
            waits.append([state for state in STATES if now["heat_worker_state", state]])
            if len(waits) == 5:
                in_file.update(each.name for each in samples_of(path.read_text(), text_metrics))
                self.stop()
            told.alive()

    always = SimpleNamespace(first=lambda now: now, after=lambda now: now)
    worker = Watched(Store, JOB, always, observer=told)
    worker.perform = performed
    effects = iter([*effects, Answer("nothing", "as it was")])
    worker.run()
    assert states == [1] * 5
    assert waits == [["waiting"], ["server away"], ["waiting"], ["waiting"], ["waiting"]]
    now = read(told)
    counted = {key[1]: value for key, value in now.items() if key[0] == "heat_tasks_total" and value}
    assert counted == {"skipped": 1, "published": 1, "failed": 1, "nothing": 1}
    assert {key[2] for key in now if key[0] == "heat_failures_total"} == {"ServerUnreachable", "WriteRefused"}
    assert {"heat_published_version", "heat_worker_due_timestamp_seconds", "heat_auroc"} <= in_file
    assert not path.exists()


@pytest.mark.parametrize(
    "moment", [neo4j.time.DateTime(1, 1, 1), neo4j.time.DateTime(9999, 12, 31, 23, 59, 59), "now", 3]
)
def test_a_time_that_python_cannot_hold_is_not_published(moment):
    told = Metrics(MODEL)
    told.look(Store(book(run_record(), publishedAt=moment)))
    assert read(told)["heat_published_version",] == 3


def test_a_defect_of_an_observer_is_logged_once_and_does_not_end_the_worker():
    class Defective(Observer):
        def look(self, store):
            raise ValueError("year 0 is out of range")

        def close(self):
            raise ZeroDivisionError("ours")

    waits, lines = [], []
    never = Schedule.cron("0 0 29 2 *")

    class Watched(Worker):
        def wait(self, seconds, due=None):
            waits.append(seconds)
            if len(waits) == 3:
                self.stop()

    Watched(Store, JOB, never, observer=Defective(), log=lines.append).run()
    assert len(waits) == 3
    assert [line for line in lines if "observer" in line] == [
        "internal error of an observer: ValueError: year 0 is out of range",
        "internal error of an observer: ZeroDivisionError: ours",
    ]


def test_tasks_say_what_they_met():
    def answer(effect):
        def refresh(*arguments, **options):
            if isinstance(effect, Exception):
                raise effect
            return effect

        return loop.perform(None, JOB, on_progress=print, log=lambda line: None, task=refresh)

    record = run_record("r2", "rejected")
    ran = SimpleNamespace(run=record)
    report = SimpleNamespace(decision="full", reason="", outcome="rejected", report=ran)
    assert answer(report).record is record
    error = WriteRefused("no")
    assert answer(error).error is error
    assert isinstance(answer(ZeroDivisionError("ours")).error, ZeroDivisionError)


# --- the command ------------------------------------------------------------------------------------------


def refused(line, tmp_path, monkeypatch):
    """Return what a worker that a line of heat.toml stops at once says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.toml").write_text(f"[serve]\n{line}\n")
    ended = CliRunner().invoke(
        heat, ["serve", "--every", "1h", "--uri", "bolt://127.0.0.1:1"], env={"NEO4J_PASSWORD": "x"}
    )
    assert ended.exit_code == 2
    assert ended.stderr.count("\n") == 1
    return ended.stderr


@pytest.mark.parametrize("line", ["metrics_port = 9464", "metrics_file = 'heat.prom'"])
def test_without_the_extra_the_worker_ends_with_one_line(line, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    told = "heat: metrics need the extra 'metrics': pip install 'heat-neo4j[metrics]'\n"
    assert refused(line, tmp_path, monkeypatch) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("metrics_port = 0", "[serve] metrics_port of heat.toml: 0 is not in the range"),
        ("metrics_port = 70000", "[serve] metrics_port of heat.toml: 70000 is not in the range"),
        ("metrics_file = 'gone/heat.prom'", "[serve] metrics_file gone/heat.prom: cannot be written"),
    ],
)
def test_settings_that_cannot_be_are_told_before_neo4j_is_asked(line, told, tmp_path, monkeypatch):
    assert told in refused(line, tmp_path, monkeypatch)


def test_the_reference_tells_of_every_metric():
    endings = {"counter": "_total", "info": "_info"}
    names = {family.name + endings.get(family.kind, "") for family in FAMILIES}
    assert first_column(PAGES["docs/how-to/deploy.md"], "### Metrics") == names
