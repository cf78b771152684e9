"""`Worker`: refreshes a model by a schedule; its health file shows that it is alive."""

import json
import os
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from heat_neo4j._utils.log_line import LogLine
from heat_neo4j._utils.output_file import write_output
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.runs import RunRecord, nothing_published
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import (
    ConfigError,
    ConnectionFailed,
    HeatError,
    LeaseHeld,
    QualityRejected,
    ServerUnreachable,
)
from heat_neo4j.errors.redaction import redacted
from heat_neo4j.pipeline.embed import RefreshReport, refresh
from heat_neo4j.pipeline.job import Job
from heat_neo4j.worker.schedule import Schedule

DONE, REJECTED, FAILED = "done", "rejected", "failed"
NOT_REJECTED = ("published", "nothing")
"""Outcomes of a refresh that end a row of rejections."""
_LEVELS = {DONE: "info", REJECTED: "warning", FAILED: "error"}

_LONGEST_WAIT = 300.0  # seconds between two attempts to reach a server
_SLICE_SECONDS = 5.0  # the longest wait without writing the health file
_DAY = 86_400.0


@dataclass(frozen=True)
class Answer:
    """The result of a refresh: its outcome in a word, details in one line, and the run that it made."""

    status: str
    outcome: str
    message: str
    run: str | None = None
    record: RunRecord | None = field(default=None, compare=False, repr=False)  # of a run made by a refresh
    error: Exception | None = field(default=None, compare=False, repr=False)  # why it failed


class Observer:
    """What a worker tells of itself, in its own thread; this one takes no note of it."""

    def begin(self) -> None:
        """Note that the worker begins; a ConfigError if that is not possible."""

    def state(self, name: str, due: datetime | None) -> None:
        """Note what the worker is at: "waiting" (until a refresh is `due`), "working" or "server away"."""

    def finished(self, answer: Answer) -> None:
        """Note that a task is over."""

    def skipped(self) -> None:
        """Note that a task was put off: another process holds the lease of the model."""

    def server_away(self, error: BaseException) -> None:
        """Note that the server is away."""

    def look(self, store: Neo4jStore) -> None:
        """Ask the server, which answers now, what is published."""

    def alive(self) -> None:
        """Note a sign of life; there is one every few seconds."""

    def close(self) -> None:
        """Note that the worker ends."""


def perform(
    store: Neo4jStore,
    job: Job,
    *,
    on_progress: Progress,
    log: Callable[[str], None],
    task: Callable[..., RefreshReport] = refresh,
) -> Answer:
    """Run `task`, a refresh; an error of the task becomes its answer.

    Only `LeaseHeld` and `ConnectionFailed` are raised, for the worker to try again.
    """
    try:
        return _answer(task(store, job, on_progress=on_progress, log=log))
    except QualityRejected as error:
        return Answer(REJECTED, REJECTED, str(error))
    except (LeaseHeld, ConnectionFailed):
        raise
    except HeatError as error:
        lost = error.__cause__
        if not isinstance(lost, ConnectionFailed):
            return Answer(FAILED, FAILED, " ".join(str(error).split()), error=error)
    except Exception as error:
        # A defect of ours must not end the worker, nor go unseen.
        for line in traceback.format_exc().splitlines():
            log(LogLine(line, event="traceback", level="error"))
        message = redacted(f"internal error: {type(error).__name__}: {' '.join(str(error).split())}")
        return Answer(FAILED, FAILED, message, error=error)
    raise lost  # here, where no error is handled: its own cause stays, and no circle is made


def _answer(report: RefreshReport) -> Answer:
    run = None if report.report is None else report.report.run
    message = f"{report.decision}: {report.reason}"
    if report.outcome == REJECTED and run is not None:
        return Answer(REJECTED, REJECTED, f"{message}; {run.error}", run.run_id, run)
    return Answer(DONE, report.outcome, message, None if run is None else run.run_id, run)


class HealthFile:
    """A JSON file that the worker writes again and again, and removes when it ends; none without a path.

    The thread that does the work writes it at each report of progress: the file of a worker that hangs grows
    old. The same state is written again after `seconds` at the earliest.
    """

    def __init__(
        self,
        path: Path | None = None,
        seconds: float = 5.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._seconds, self._clock = path, seconds, clock
        self._state: dict[str, Any] = {}
        self._written = -seconds

    def write(self) -> None:
        """Write the file; a ConfigError if it cannot be written."""
        if self._path is None:
            return
        self._written = self._clock()
        content = {"pid": os.getpid(), "written": _now(), **self._state}
        write_output(self._path, f"{json.dumps(content, indent=2)}\n".encode(), "--health-file")

    def now(self, **state: Any) -> None:
        """Update the state, and write it if it changed or the file is old; failures only let the file age."""
        changed = any(self._state.get(name, self) != value for name, value in state.items())
        self._state.update(state)
        if changed or self._clock() - self._written >= self._seconds:
            with suppress(ConfigError):
                self.write()

    def close(self) -> None:
        """Remove the file."""
        if self._path is not None:
            with suppress(OSError):
                self._path.resolve().unlink(missing_ok=True)


class Worker:
    """Keeps one model fresh: refreshes it by a schedule.

    The thread that calls `run` does all work. It asks every `poll_seconds` whether the server answers, and
    waits for one that is away, `give_up_after` seconds at most. `log` takes one line for each event, a
    `LogLine`, and `observer` is told of all that happens. `perform` is the function that runs a task, and
    `clock` counts seconds.
    """

    def __init__(
        self,
        connect: Callable[[], Neo4jStore],
        job: Job,
        schedule: Schedule,
        *,
        poll_seconds: float = 5.0,
        give_up_after: float = _DAY,
        health: HealthFile | None = None,
        observer: Observer | None = None,
        on_progress: Progress = no_progress,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._connect, self._job, self._schedule = connect, job, schedule
        self._poll_seconds, self._give_up_after = poll_seconds, give_up_after
        self._health, self._observer = health or HealthFile(), observer or Observer()
        self._on_progress, self._log = on_progress, log
        self._store: Neo4jStore | None = None
        self._due: datetime | None = None
        self._rejections = 0  # since the last refresh that was not rejected
        self._observer_error = ""  # logged last
        self.perform, self.clock = perform, time.monotonic
        self.stopping = False
        self._wake: SimpleQueue[None] = SimpleQueue()

    def stop(self) -> None:
        """Make `run` return: at once while it waits, at the next report of progress while it works.

        Safe to call from a signal handler and from any thread.
        """
        self.stopping = True
        self._wake.put(None)

    def run(self) -> None:
        """Work until `stop` is called.

        A health file that cannot be written, or an observer that cannot begin, is a ConfigError; a model that
        is not published a ProjectionError; a server that refuses the first connection, or is away for too
        long, a `ConnectionFailed`.
        """
        self._health.write()
        try:
            self._observer.begin()
            while not self.stopping:
                self._turn_once_the_server_answers()
                self.wait(self._poll_seconds, self._due)
        except KeyboardInterrupt:
            if not self.stopping:
                raise
        finally:
            if self._store is not None:
                self._store.close()
            self._health.close()
            self._tell(self._observer.close)
        self._log(LogLine("stopped", event="stopped"))

    def _turn_once_the_server_answers(self) -> None:
        """Do a turn; repeat it while the server is away, after pauses of 1, 2, 4, ... seconds.

        The time to give up begins with the first failure: the turn itself may have worked for hours.
        """
        pause, end = 1.0, None
        while True:
            try:
                self._turn()
                break
            except HeatError as error:
                now = self.clock()
                end = now + self._give_up_after if end is None else end
                is_temporary = self._store is not None or isinstance(error, ServerUnreachable)
                if not is_temporary or now >= end:
                    raise
                self._server_away(error, min(pause, end - now))
            pause = min(2.0 * pause, _LONGEST_WAIT)
        if end is not None:
            self._log(LogLine("the server answers again", event="server_back"))
            self._show_waiting()

    def _server_away(self, error: HeatError, pause: float) -> None:
        told = f"{error}; next attempt in {pause:.0f} s"
        self._log(LogLine(told, event="server_away", level="warning"))
        self._tell(self._observer.server_away, error)
        self._show("server away", message=str(error))
        self.wait(pause)

    def _turn(self) -> None:
        """Connect if need be, and refresh if it is due."""
        if self.stopping:
            raise KeyboardInterrupt
        if self._store is None:
            self._store = self._connected()
        store = self._store
        store.check_reachable()  # fails at once where a refresh would wait for a server that is away
        self._tell(self._observer.look, store)
        if self._due is not None and self._due <= datetime.now().astimezone():
            self._refresh(store)
            self._tell(self._observer.look, store)

    def _connected(self) -> Neo4jStore:
        """Connect; a ProjectionError if the model is not published, which no waiting can cure."""
        store, model = self._connect(), self._job.names.model
        try:
            if store.published_run(model) is None:
                raise nothing_published(model, store.bookkeeping())
        except BaseException:
            store.close()
            raise
        self._due = self._schedule.first(datetime.now().astimezone())
        told = f"at work for model {model!r} in database {store.server.database!r}"
        self._log(LogLine(told, event="started"))
        self._show_waiting()
        return store

    def _refresh(self, store: Neo4jStore) -> None:
        """Refresh by the schedule; if the server is lost, the refresh stays due."""
        try:
            self._show("working")
            self._finished(self.perform(store, self._job, on_progress=self._progress, log=self._log))
            self._due = self._schedule.after(datetime.now().astimezone())
        except LeaseHeld as error:
            self._log(LogLine(f"skipped: {error}", event="skipped"))
            self._tell(self._observer.skipped)
            now = datetime.now().astimezone()
            lease_end = now + timedelta(seconds=self._job.lease_seconds)  # its holder may have died
            self._due = min(self._schedule.after(now), lease_end)
        self._show_waiting()

    def _finished(self, answer: Answer) -> None:
        result = answer.outcome if answer.run is None else f"{answer.outcome}, run {answer.run}"
        told = f"{answer.status}: {result if answer.status == DONE else answer.message}"
        fields = {"outcome": answer.outcome, "run": answer.run}
        self._log(LogLine(told, event="finished", level=_LEVELS[answer.status], **fields))
        if answer.outcome == REJECTED:
            self._rejections += 1
        elif answer.outcome in NOT_REJECTED:
            self._rejections = 0
        self._health.now(last=answer.outcome, message=answer.message, rejections=self._rejections)
        self._tell(self._observer.finished, answer)
        self._show_waiting()

    def _progress(self, stage: str, done: int, total: int) -> None:
        if self.stopping:
            raise KeyboardInterrupt
        self._health.now(stage=stage)
        self._tell(self._observer.alive)
        self._on_progress(stage, done, total)

    def _tell(self, note: Callable[..., None], *arguments: object) -> None:
        """Tell the observer something; its own defects are logged, and do not end the worker."""
        try:
            note(*arguments)
        except HeatError:
            raise
        except Exception as error:
            message = f"internal error of an observer: {type(error).__name__}: {' '.join(str(error).split())}"
            if message != self._observer_error:  # some are told every few seconds
                self._observer_error = message
                self._log(LogLine(redacted(message), event="observer_failed", level="error"))

    def _show_waiting(self) -> None:
        due = None if self._due is None else _text(self._due)
        self._show("waiting", stage=None, next=due)

    def _show(self, state: str, **more: str | None) -> None:
        self._health.now(state=state, since=_now(), **more)
        self._tell(self._observer.state, state, self._due)

    def wait(self, seconds: float, due: datetime | None = None) -> None:
        """Wait, at most until something is due or the worker is stopped."""
        end = self.clock() + seconds
        while not self.stopping:
            left = end - self.clock()
            if due is not None:
                # The clock on the wall may be set, or have gone on while the machine slept.
                left = min(left, (due - datetime.now().astimezone()).total_seconds())
            if left <= 0.0:
                return
            self._health.now()
            self._tell(self._observer.alive)
            with suppress(Empty):
                self._wake.get(timeout=min(left, _SLICE_SECONDS))


def _now() -> str:
    return _text(datetime.now().astimezone())


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S%z}"
