"""What a worker does when it is asked to, and how it says what came of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass

from heat_neo4j._utils.progress import Progress
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConnectionFailed, HeatError, LeaseHeld, QualityRejected
from heat_neo4j.pipeline.job import Job
from heat_neo4j.pipeline.plan import MODES
from heat_neo4j.pipeline.refresh import refresh

__all__ = ["ACTIONS", "DONE", "Answer", "perform"]

ACTIONS = ("refresh", "rollback", "prune")
Say = Callable[[str], None]
DONE, REJECTED, FAILED = "done", "rejected", "failed"


@dataclass(frozen=True)
class Answer:
    """How a task ended.

    Parameters
    ----------
    status : {"done", "rejected", "failed"}
        Whether it did what was asked for.
    outcome : str
        What it did, in a word or two.
    message : str
        What there is to say, in one line.
    run : str, optional
        The run that was made or published.
    """

    status: str
    outcome: str
    message: str
    run: str | None = None


def perform(
    store: Neo4jStore,
    job: Job,
    action: object,
    mode: object,
    *,
    on_progress: Progress,
    say: Say,
) -> Answer:
    """Refresh, roll back or prune; what goes wrong with that is part of the answer.

    Parameters
    ----------
    store : Neo4jStore
        The database.
    job : Job
        What is kept fresh.
    action, mode : object
        As a user wrote them, None for "refresh" and "auto".
    on_progress, say : callable
        Told about stages, and in lines what is found.

    Raises
    ------
    LeaseHeld
        If another process writes versions of the model.
    ConnectionFailed
        If the server was lost.
    """
    action, mode = action or ACTIONS[0], mode or MODES[0]
    if action not in ACTIONS or mode not in MODES:
        what, given, known = ("action", action, ACTIONS) if action not in ACTIONS else ("mode", mode, MODES)
        return Answer(FAILED, FAILED, f"{what} must be one of {', '.join(known)}, got {given!r}")
    try:
        return _DO[str(action)](store, job, str(mode), on_progress, say)
    except QualityRejected as error:
        return Answer(REJECTED, REJECTED, str(error))
    except (LeaseHeld, ConnectionFailed):
        raise
    except HeatError as error:
        if isinstance(error.__cause__, ConnectionFailed):
            raise error.__cause__ from error
        return Answer(FAILED, FAILED, " ".join(str(error).split()))
    except Exception as error:
        # A defect of ours must not end a worker that others rely on, nor go unseen.
        for line in traceback.format_exc().splitlines():
            say(line)
        return Answer(
            FAILED, FAILED, f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"
        )


def _refresh(store: Neo4jStore, job: Job, mode: str, on_progress: Progress, say: Say) -> Answer:
    report = refresh(store, job, mode=mode, on_progress=on_progress, say=say)
    run = None if report.report is None else report.report.run
    message = f"{report.decision}: {report.reason}"
    if report.outcome == REJECTED and run is not None:
        return Answer(REJECTED, REJECTED, f"{message}; {run.error}", run.run_id)
    return Answer(DONE, report.outcome, message, None if run is None else run.run_id)


def _roll_back(store: Neo4jStore, job: Job, mode: str, on_progress: Progress, say: Say) -> Answer:
    run, _ = store.roll_back(job.names.model)
    return Answer(DONE, "rolled back", f"run {run} is published again", run)


def _prune(store: Neo4jStore, job: Job, mode: str, on_progress: Progress, say: Say) -> Answer:
    count = store.prune(job.names.model, records=job.records, on_progress=on_progress)
    return Answer(DONE, "pruned", f"{count} records of earlier runs removed")


_DO = dict(zip(ACTIONS, (_refresh, _roll_back, _prune), strict=True))
