"""The worker without a server: waiting, giving up, signs of life, and the names of what came of a task."""

import itertools
import json
import threading
from datetime import datetime
from types import SimpleNamespace

import pytest

from heat_neo4j.errors import (
    ConfigError,
    ConnectionFailed,
    LeaseHeld,
    ProjectionError,
    QualityRejected,
    ServerUnreachable,
    WriteFailed,
)
from heat_neo4j.worker import loop
from heat_neo4j.worker.loop import HealthFile, Worker
from heat_neo4j.worker.schedule import Schedule

NEVER = Schedule.cron("0 0 29 2 *")
JOB = SimpleNamespace(names=SimpleNamespace(model="m"), records=3, lease_seconds=30.0)


def test_the_health_file_is_one_json_document_at_any_time(tmp_path):
    path = tmp_path / "health"
    health = HealthFile(path, seconds=0.0)
    health.write()
    over = threading.Event()
    broken = []

    def look():
        while not over.is_set():
            try:
                json.loads(path.read_text())
            except (OSError, ValueError) as error:
                broken.append(error)

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(300):
        health.now(state="working", stage=f"{number}")
    over.set()
    reader.join()
    assert broken == []
    assert json.loads(path.read_text())["stage"] == "299"
    assert list(tmp_path.iterdir()) == [path]
    health.close()
    assert list(tmp_path.iterdir()) == []


def test_the_health_file_is_written_seldom_unless_something_changes(tmp_path):
    clock = SimpleNamespace(now=0.0)
    path = tmp_path / "health"
    health = HealthFile(path, seconds=5.0, clock=lambda: clock.now)
    health.write()
    path.unlink()
    clock.now = 4.9
    health.now()
    assert not path.exists()
    health.now(state="working")
    assert json.loads(path.read_text())["state"] == "working"
    path.unlink()
    health.now(state="working")
    assert not path.exists()
    clock.now = 9.9
    health.now()
    assert path.exists()


def test_a_health_file_that_cannot_be_written_is_refused_first_and_grows_old_later(tmp_path):
    folder = tmp_path / "gone"
    with pytest.raises(ConfigError, match="No such file"):
        HealthFile(folder / "health").write()
    folder.mkdir()
    health = HealthFile(folder / "health")
    health.write()
    (folder / "health").unlink()
    folder.rmdir()
    health.now(state="waiting")
    health.close()


# --- tasks ------------------------------------------------------------------------------------------------


def perform(effect):
    told = []

    def refresh(store, job, *, on_progress, log):
        if isinstance(effect, BaseException):
            raise effect
        return effect

    answer = loop.perform(None, JOB, on_progress=lambda *_: None, log=told.append, task=refresh)
    return answer, told


def report(outcome, run=None):
    return SimpleNamespace(outcome=outcome, decision="local", reason="2 nodes are new", report=run)


def test_the_answer_says_what_a_refresh_did():
    run = SimpleNamespace(run=SimpleNamespace(run_id="r1", error=None))
    answer, _ = perform(report("published", run))
    assert answer == loop.Answer("published", "local: 2 nodes are new", "r1")
    answer, _ = perform(report("nothing"))
    assert (answer.outcome, answer.run) == ("nothing", None)


def test_a_rejected_run_is_named():
    run = SimpleNamespace(run=SimpleNamespace(run_id="r2", error="AUROC fell"))
    answer, _ = perform(report("rejected", run))
    assert answer == loop.Answer("rejected", "local: 2 nodes are new; AUROC fell", "r2")
    assert perform(QualityRejected("as before"))[0].outcome == "rejected"


def test_errors_are_answers_unless_the_server_or_the_lease_is_at_fault():
    answer, told = perform(ProjectionError("no such\nlabel"))
    assert (answer.outcome, answer.message, told) == ("failed", "no such label", [])
    answer, told = perform(ZeroDivisionError("of ours"))
    assert answer.message == "internal error: ZeroDivisionError: of ours"
    assert any("Traceback" in line for line in told)
    for error in (LeaseHeld("busy"), ServerUnreachable("away")):
        with pytest.raises(type(error)):
            perform(error)
    lost, of_driver = WriteFailed("half-way"), OSError("reset")
    lost.__cause__ = ConnectionFailed("lost")
    lost.__cause__.__cause__ = of_driver
    with pytest.raises(ConnectionFailed, match="lost") as caught:
        perform(lost)
    assert caught.value.__cause__ is of_driver
    assert caught.value.__context__ is None
    assert perform(WriteFailed("no room"))[0].outcome == "failed"


# --- the loop ---------------------------------------------------------------------------------------------


class Store:
    """A database that a worker can look at; each entry of `looks` is what an attempt to reach it meets."""

    server = SimpleNamespace(database="neo4j")

    def __init__(self, looks=()):
        self.looks, self.closed = iter(looks), False

    def required_run(self, model):
        return object()

    def check_reachable(self):
        error = next(self.looks, None)
        if error is not None:
            raise error

    def close(self):
        self.closed = True


class Sleepless(Worker):
    """A worker that does not sleep, with a clock of its own; stopped when it waits for the `turns`th time."""

    def __init__(self, connect, turns, schedule=NEVER, **options):
        super().__init__(connect, JOB, schedule, **options)
        self.turns, self.now = turns, 0.0
        self.waits, self.dues = [], []
        self.clock = lambda: self.now

    def wait(self, seconds, due=None):
        self.waits.append(seconds)
        self.dues.append(due)
        self.now += seconds
        if len(self.waits) >= self.turns:
            self.stop()


def test_a_server_that_is_away_is_waited_for_and_met_again():
    away, told = ServerUnreachable("nobody there"), []
    store = Store([None, away, away, None])
    attempts = iter([away, away, away, store])

    def connect():
        found = next(attempts)
        if isinstance(found, Exception):
            raise found
        return found

    worker = Sleepless(connect, 7, log=told.append)
    worker.run()
    assert worker.waits == [1, 2, 4, 5, 1, 2, 5]  # it polls every five seconds while all is well
    assert told[0] == "nobody there; next attempt in 1 s"
    assert told.count("the server answers again") == 2
    assert told[-1] == "stopped"
    assert store.closed


def test_waits_double_up_to_five_minutes_and_end_with_the_limit():
    def connect():
        raise ServerUnreachable("nobody there")

    worker = Sleepless(connect, 100, give_up_after=3600.0)
    with pytest.raises(ServerUnreachable):
        worker.run()
    waits = worker.waits
    assert waits[:10] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert max(waits) == 300.0
    assert worker.now == 3600.0  # the last attempt is at the limit


def test_the_time_to_give_up_begins_with_the_first_failure():
    def connect():
        if not worker.waits:
            worker.now += 10_000.0  # at work for longer than the limit
        raise ServerUnreachable("nobody there")

    worker = Sleepless(connect, 100, give_up_after=60.0)
    with pytest.raises(ServerUnreachable):
        worker.run()
    assert sum(worker.waits) == 60.0


def test_it_gives_up_after_its_time_and_at_once_where_waiting_is_no_use(tmp_path):
    path = tmp_path / "health"

    def connect():
        raise ServerUnreachable("nobody there")

    worker = Sleepless(connect, 100, give_up_after=60.0, health=HealthFile(path))
    with pytest.raises(ServerUnreachable):
        worker.run()
    assert worker.now == 60.0
    assert not path.exists()

    def refused():
        raise ConnectionFailed("refused the login")

    worker = Sleepless(refused, 100)
    with pytest.raises(ConnectionFailed):
        worker.run()


def test_a_refresh_that_met_the_lease_of_another_is_tried_again_before_the_next_time():
    effects = iter([LeaseHeld("busy"), loop.Answer("nothing", "as it was")])

    def performed(*arguments, **options):
        effect = next(effects)
        if isinstance(effect, Exception):
            raise effect
        return effect

    told = []
    worker = Sleepless(Store, 2, Schedule.every(86400.0), log=told.append)
    worker.perform = performed
    worker.run()
    now = datetime.now().astimezone()
    assert told[1] == "skipped: busy"
    assert 0 < (worker.dues[0] - now).total_seconds() <= 30.0
    worker = Sleepless(Store, 2, Schedule.every(86400.0))
    worker.perform = performed
    worker.run()
    assert (worker.dues[0] - now).total_seconds() > 86000.0


def test_the_health_file_counts_rejections_in_a_row(tmp_path):
    outcomes = iter(["rejected", "rejected", "failed", "nothing"])
    path, seen = tmp_path / "health", []
    always = SimpleNamespace(first=lambda now: now, after=lambda now: now)

    class Watched(Sleepless):
        def wait(self, seconds, due=None):
            seen.append(json.loads(path.read_text())["rejections"])
            super().wait(seconds, due)

    worker = Watched(Store, 4, always, health=HealthFile(path))
    worker.perform = lambda *_, **__: loop.Answer(next(outcomes), "as it was")
    worker.run()
    assert seen == [1, 2, 2, 0]


def test_a_lost_server_leaves_the_refresh_due():
    effects = itertools.chain([ServerUnreachable("lost")] * 2, itertools.repeat(None))
    done = []

    def performed(*arguments, **options):
        error = next(effects)
        if error is not None:
            raise error
        done.append(True)
        return loop.Answer("published", "place: 1 node is new", "r")

    worker = Sleepless(Store, 5, Schedule.every(3600.0))
    worker.perform = performed
    worker.run()
    assert done == [True]
    assert worker.waits == [1, 2, 5, 5, 5]


def test_it_stops_while_it_waits_and_in_the_middle_of_its_work():
    worker = Worker(Store, JOB, NEVER, poll_seconds=600.0)
    thread = threading.Thread(target=worker.run)
    thread.start()
    worker.stop()
    thread.join(timeout=20)
    assert not thread.is_alive()

    told = []

    def performed(*arguments, on_progress, **options):
        worker.stop()
        on_progress("train", 1, 2)
        raise AssertionError("the work went on")

    worker = Worker(Store, JOB, Schedule.every(1.0), log=told.append)
    worker.perform = performed
    worker.run()
    assert told[-1] == "stopped"


def test_an_interrupt_that_nobody_asked_for_is_passed_on():
    def performed(*arguments, **options):
        raise KeyboardInterrupt

    worker = Worker(Store, JOB, Schedule.every(1.0))
    worker.perform = performed
    with pytest.raises(KeyboardInterrupt):
        worker.run()
