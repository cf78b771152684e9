"""`Worker`: refreshes a model on a schedule; its health file shows that it is alive."""

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
from heat_neo4j.database.runs import RunRecord
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

REJECTED, FAILED = "rejected", "failed"
_LEVELS = {REJECTED: "warning", FAILED: "error"}

_LONGEST_WAIT = 300.0  # seconds between two attempts to reach a server
_SLICE_SECONDS = 5.0  # the longest wait without writing the health file
_DAY = 86_400.0


@dataclass(frozen=True)
class Answer:
    """The result of a refresh: its outcome, details in one line, and the run that it made."""

    outcome: str  # "published", "nothing", "rejected" or "failed"
    message: str
    run: str | None = None
    record: RunRecord | None = field(default=None, compare=False, repr=False)  # of a run made by a refresh
    error: Exception | None = field(default=None, compare=False, repr=False)  # why it failed


class Observer:
    """Callbacks of a worker, called in its thread; these ignore everything."""

    def begin(self) -> None:
        """Handle the start of the worker; raises ConfigError if the observer cannot start."""

    def state(self, name: str, due: datetime | None) -> None:
        """Handle a new state: "waiting" (until a refresh is `due`), "working" or "server away"."""

    def finished(self, answer: Answer, rejections: int) -> None:
        """Handle the end of a task, after so many rejections in a row."""

    def skipped(self) -> None:
        """Handle a postponed task: another process holds the lease of the model."""

    def server_away(self, error: BaseException) -> None:
        """Handle an unreachable server."""

    def look(self, store: Neo4jStore) -> None:
        """Read what is published; the server answers at this moment."""

    def alive(self) -> None:
        """Handle a sign of life, sent every few seconds."""

    def close(self) -> None:
        """Handle the end of the worker."""


def perform(
    store: Neo4jStore,
    job: Job,
    *,
    on_progress: Progress,
    log: Callable[[str], None],
    task: Callable[..., RefreshReport] = refresh,
) -> Answer:
    """Run a refresh and return its result, also if it failed.

    Raises only `LeaseHeld` and `ConnectionFailed`, after which the worker retries.
    """
    try:
        return _answer(task(store, job, on_progress=on_progress, log=log))
    except QualityRejected as error:
        return Answer(REJECTED, str(error))
    except (LeaseHeld, ConnectionFailed):
        raise
    except HeatError as error:
        lost = error.__cause__
        if not isinstance(lost, ConnectionFailed):
            return Answer(FAILED, " ".join(str(error).split()), error=error)
    except Exception as error:
        # An internal error must not end the worker, and must be logged.
        for line in traceback.format_exc().splitlines():
            log(LogLine(line, event="traceback", level="error"))
        message = redacted(f"internal error: {type(error).__name__}: {' '.join(str(error).split())}")
        return Answer(FAILED, message, error=error)
    raise lost  # outside of the handler, which would replace its cause and make a cycle


def _answer(report: RefreshReport) -> Answer:
    run = None if report.report is None else report.report.run
    message = f"{report.decision}: {report.reason}"
    if report.outcome == REJECTED and run is not None:
        return Answer(REJECTED, f"{message}; {run.error}", run.run_id, run)
    return Answer(report.outcome, message, None if run is None else run.run_id, run)


class HealthFile:
    """A JSON file that the worker rewrites regularly and removes when it ends; without a path there is none.

    The working thread writes it with each progress report, so the file becomes stale if the worker hangs. An
    unchanged state is rewritten after `seconds` at the earliest.
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
        """Write the file; raises ConfigError if that fails."""
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
    """Refreshes one model on a schedule.

    The thread that calls `run` does all work. It checks the server every `poll_seconds`, and waits up to
    `give_up_after` seconds for an unreachable one. `log` receives a `LogLine` for each event, and `observer`
    its callbacks. `perform` runs a task, and `clock` returns seconds.
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
        """Make `run` return: immediately while it waits, with the next progress report while it works.

        Safe to call from a signal handler and from any thread.
        """
        self.stopping = True
        self._wake.put(None)

    def run(self) -> None:
        """Work until `stop` is called.

        Raises ConfigError if the health file cannot be written or the observer cannot start, ProjectionError
        if the model is not published, and ConnectionFailed if the server refuses the first connection or
        stays unreachable.
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
        """Do a turn; retry while the server is unreachable, after pauses of 1, 2, 4, ... seconds.

        The deadline counts from the first failure, because the turn itself may have worked for hours.
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
        """Connect if necessary, and refresh if it is due."""
        if self.stopping:
            raise KeyboardInterrupt
        if self._store is None:
            self._store = self._connected()
        store = self._store
        store.check_reachable()  # fails immediately; a refresh would wait for the server
        self._tell(self._observer.look, store)
        if self._due is not None and self._due <= datetime.now().astimezone():
            self._refresh(store)
            self._tell(self._observer.look, store)

    def _connected(self) -> Neo4jStore:
        """Connect; raises ProjectionError if the model is not published, since retrying would not help."""
        store, model = self._connect(), self._job.names.model
        try:
            store.required_run(model)
        except BaseException:
            store.close()
            raise
        self._due = self._schedule.first(datetime.now().astimezone())
        told = f"at work for model {model!r} in database {store.server.database!r}"
        self._log(LogLine(told, event="started"))
        self._show_waiting()
        return store

    def _refresh(self, store: Neo4jStore) -> None:
        """Run the due refresh; if the server is lost, it stays due."""
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
        told, level = f"{answer.outcome}: {answer.message}", _LEVELS.get(answer.outcome)
        if level is None:
            told = f"done: {answer.outcome}{'' if answer.run is None else f', run {answer.run}'}"
            self._rejections = 0
        elif answer.outcome == REJECTED:
            self._rejections += 1
        fields = {"outcome": answer.outcome, "run": answer.run}
        self._log(LogLine(told, event="finished", level=level or "info", **fields))
        self._health.now(last=answer.outcome, message=answer.message, rejections=self._rejections)
        self._tell(self._observer.finished, answer, self._rejections)
        self._show_waiting()

    def _progress(self, stage: str, done: int, total: int) -> None:
        if self.stopping:
            raise KeyboardInterrupt
        self._health.now(stage=stage)
        self._tell(self._observer.alive)
        self._on_progress(stage, done, total)

    def _tell(self, note: Callable[..., None], *arguments: object) -> None:
        """Call the observer; its internal errors are logged and do not end the worker."""
        try:
            note(*arguments)
        except HeatError:
            raise
        except Exception as error:
            message = f"internal error of an observer: {type(error).__name__}: {' '.join(str(error).split())}"
            if message != self._observer_error:  # some calls repeat every few seconds
                self._observer_error = message
                self._log(LogLine(redacted(message), event="observer_failed", level="error"))

    def _show_waiting(self) -> None:
        due = None if self._due is None else _text(self._due)
        self._show("waiting", stage=None, next=due)

    def _show(self, state: str, **more: str | None) -> None:
        self._health.now(state=state, since=_now(), **more)
        self._tell(self._observer.state, state, self._due)

    def wait(self, seconds: float, due: datetime | None = None) -> None:
        """Wait until the time is over, something is due, or the worker is stopped."""
        end = self.clock() + seconds
        while not self.stopping:
            left = end - self.clock()
            if due is not None:
                # The wall clock may be set, or may have advanced while the machine slept.
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
