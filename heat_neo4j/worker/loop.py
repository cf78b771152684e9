"""`Worker`: one job at a time, by schedule and by request, until it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.publish.requests import Claim
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import HeatError, LeaseHeld, ServerUnreachable
from heat_neo4j.pipeline.job import Job
from heat_neo4j.worker.health import HealthFile
from heat_neo4j.worker.schedule import Schedule
from heat_neo4j.worker.tasks import DONE, Answer, perform

__all__ = [
    "Backoff",
    "Worker",
]

_FIRST, _MOST = 1.0, 300.0


class Backoff:
    """Waits of 1, 2, 4, ... seconds, at most five minutes, up to a time after which to give up.

    Parameters
    ----------
    limit : float
        Seconds from the first failure in a row to the last attempt.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._since: float | None = None
        self._wait = _FIRST

    def succeeded(self) -> bool:
        """Take note that the server answers; return whether it was away."""
        was_away = self._since is not None
        self._since, self._wait = None, _FIRST
        return was_away

    def failed(self, now: float) -> float | None:
        """Return the seconds to wait after a failure at `now` (of a clock, in seconds), None to give up."""
        if self._since is None:
            self._since = now
        left = self._since + self._limit - now
        if left <= 0.0:
            return None
        wait, self._wait = self._wait, min(2.0 * self._wait, _MOST)
        return min(wait, left)


_SLICE_SECONDS = 5.0  # the longest wait without a sign of life
_DAY = 86_400.0


class Worker:
    """Keeps one model fresh: refreshes by a schedule, and answers the requests of users.

    All its work is done by the thread that calls `run`, one task after the other.

    Parameters
    ----------
    connect : callable
        Opens the database.
    job : Job
        What is kept fresh.
    schedule : Schedule, optional
        When to refresh; only by request if not given.
    poll_seconds : float
        How often to look for requests.
    give_up_after : float
        Seconds after which a server that is away is waited for no longer.
    health : HealthFile, optional
        The sign of life.
    on_progress, say : callable
        Told about stages, and in one line each what happens.
    """

    def __init__(
        self,
        connect: Callable[[], Neo4jStore],
        job: Job,
        schedule: Schedule | None = None,
        *,
        poll_seconds: float = 5.0,
        give_up_after: float = _DAY,
        health: HealthFile | None = None,
        on_progress: Progress = no_progress,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._connect, self._job, self._schedule = connect, job, schedule
        self._poll_seconds = poll_seconds
        self._backoff = Backoff(give_up_after)
        self._health = health or HealthFile()
        self._tell, self._say = on_progress, say
        self._due: datetime | None = None
        self._stopping = False
        self._bell: SimpleQueue[None] = SimpleQueue()

    @property
    def stopping(self) -> bool:
        """Whether the worker was asked to stop."""
        return self._stopping

    def stop(self) -> None:
        """Have `run` return: at once while it waits, and at the next report of progress while it works.

        Safe to call from a signal handler and from any thread.
        """
        self._stopping = True
        self._bell.put(None)

    def run(self) -> None:
        """Work until `stop` is called.

        Raises
        ------
        ConfigError
            If the health file cannot be written.
        ConnectionFailed
            If the server refuses the first connection, or is away for too long.
        """
        self._health.open()
        store: Neo4jStore | None = None
        try:
            while not self._stopping:
                try:
                    if store is None:
                        store = self._connected()
                    pause = self._turn(store)
                except HeatError as error:
                    if store is None and not isinstance(error, ServerUnreachable):
                        raise
                    self._wait(self._away(error))
                else:
                    self._back()
                    self._wait(pause, self._due)
        except KeyboardInterrupt:
            if not self._stopping:
                raise
        finally:
            if store is not None:
                store.close()
            self._health.close()
        self._say("stopped")

    def _connected(self) -> Neo4jStore:
        store = self._connect()
        if self._schedule is not None:
            self._due = self._schedule.first(datetime.now().astimezone())
        self._say(f"at work for model {self._job.names.model!r} in database {store.server.database!r}")
        self._waiting()
        return store

    def _turn(self, store: Neo4jStore) -> float:
        """Do what is due, and answer one request; return the seconds to wait after that."""
        queue = store.requests(self._job.names.model)
        waiting = queue.waiting()  # fails at once where a refresh would wait for a server that is away
        if self._due is not None and self._due <= datetime.now().astimezone():
            self._refresh(store)
        claim = queue.claim(waiting)
        if claim is None or not self._answer(store, claim):
            return self._poll_seconds
        return 0.0

    def _refresh(self, store: Neo4jStore) -> None:
        """Do what the schedule asks for; a server that is lost leaves it due."""
        assert self._schedule is not None
        try:
            self._finished(self._perform(store, None, None, self._progress))
            soon = None
        except LeaseHeld as error:
            self._say(f"skipped: {error}")
            soon = timedelta(seconds=self._job.lease_seconds)  # its holder may have died
        now = datetime.now().astimezone()
        self._due = self._schedule.after(now)
        if soon is not None:
            self._due = min(self._due, now + soon)
        self._waiting()

    def _answer(self, store: Neo4jStore, claim: Claim) -> bool:
        """Do what a request asks for, and answer it; return False if it has to wait."""

        def on_progress(stage: str, done: int, total: int) -> None:
            claim.progress(stage, done, total)
            self._progress(stage, done, total)

        self._say(f"request: {claim.action or 'refresh'} {claim.mode or ''}".rstrip())
        try:
            with claim:
                answer = self._perform(store, claim.action, claim.mode, on_progress)
        except LeaseHeld as error:
            claim.give_back(str(error))
            return False
        except KeyboardInterrupt:
            claim.give_back("its worker was stopped")
            raise
        if not claim.answer(answer.status, answer.outcome, answer.message, answer.run):
            self._say("the request was deleted, or taken over while this process was held up")
        self._finished(answer)
        return True

    def _perform(self, store: Neo4jStore, action: object, mode: object, on_progress: Progress) -> Answer:
        self._health.now(state="working", since=_now())
        return perform(store, self._job, action, mode, on_progress=on_progress, say=self._say)

    def _finished(self, answer: Answer) -> None:
        done = answer.outcome if answer.run is None else f"{answer.outcome}, run {answer.run}"
        self._say(f"{answer.status}: {done if answer.status == DONE else answer.message}")
        self._health.now(last=answer.outcome, message=answer.message)
        self._waiting()

    def _progress(self, stage: str, done: int, total: int) -> None:
        if self._stopping:
            raise KeyboardInterrupt
        self._health.now(stage=stage)
        self._tell(stage, done, total)

    def _waiting(self) -> None:
        following = None if self._due is None else _text(self._due)
        self._health.now(state="waiting", since=_now(), stage=None, next=following)

    def _away(self, error: HeatError) -> float:
        """Return how long to wait for a server that does not answer; raise `error` when it took too long."""
        pause = self._backoff.failed(time.monotonic())
        if pause is None:
            raise error
        self._say(f"{error}; next attempt in {pause:.0f} s")
        self._health.now(state="server away", since=_now(), message=str(error))
        return pause

    def _back(self) -> None:
        if self._backoff.succeeded():
            self._say("the server answers again")
            self._waiting()

    def _wait(self, seconds: float, due: datetime | None = None) -> None:
        """Wait so long, at most until something is due or the worker is stopped."""
        end = time.monotonic() + seconds
        while not self._stopping:
            left = end - time.monotonic()
            if due is not None:
                # The clock on the wall may be set, or have gone on while the machine slept.
                left = min(left, (due - datetime.now().astimezone()).total_seconds())
            if left <= 0.0:
                return
            self._health.alive()
            with suppress(Empty):
                self._bell.get(timeout=min(left, _SLICE_SECONDS))


def _now() -> str:
    return _text(datetime.now().astimezone())


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S%z}"
