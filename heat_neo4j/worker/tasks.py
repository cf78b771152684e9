"""The tasks of a worker, and their results."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass

from heat_neo4j._utils.progress import Progress
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConnectionFailed, HeatError, LeaseHeld, QualityRejected
from heat_neo4j.pipeline.embed import refresh
from heat_neo4j.pipeline.job import Job
from heat_neo4j.pipeline.plan import MODES

__all__ = ["ACTIONS", "DONE", "Answer", "perform"]

ACTIONS = ("refresh", "rollback", "prune")
Log = Callable[[str], None]
DONE, REJECTED, FAILED = "done", "rejected", "failed"


@dataclass(frozen=True)
class Answer:
    """The result of a task.

    Parameters
    ----------
    status : {"done", "rejected", "failed"}
        Whether it succeeded.
    outcome : str
        What it did, in a word or two.
    message : str
        Details, in one line.
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
    log: Log,
) -> Answer:
    """Refresh, roll back or prune; an error of the task becomes its answer.

    Parameters
    ----------
    store : Neo4jStore
        The database.
    job : Job
        The model, and how to refresh it.
    action, mode : object
        As a user wrote them; None for "refresh" and "auto".
    on_progress, log : callable
        Called with stages, and with lines for the log.

    Raises
    ------
    LeaseHeld
        If another process writes versions of the model.
    ConnectionFailed
        If the server was lost.
    """
    action, mode = action or ACTIONS[0], mode or MODES[0]
    for name, value, allowed in (("action", action, ACTIONS), ("mode", mode, MODES)):
        if value not in allowed:
            return Answer(FAILED, FAILED, f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    try:
        return _TASKS[str(action)](store, job, str(mode), on_progress, log)
    except QualityRejected as error:
        return Answer(REJECTED, REJECTED, str(error))
    except (LeaseHeld, ConnectionFailed):
        raise
    except HeatError as error:
        if isinstance(error.__cause__, ConnectionFailed):
            raise error.__cause__ from error
        return Answer(FAILED, FAILED, " ".join(str(error).split()))
    except Exception as error:
        # A defect of ours must not end the worker, nor go unseen.
        for line in traceback.format_exc().splitlines():
            log(line)
        message = f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"
        return Answer(FAILED, FAILED, message)


def _refresh(store: Neo4jStore, job: Job, mode: str, on_progress: Progress, log: Log) -> Answer:
    report = refresh(store, job, mode=mode, on_progress=on_progress, say=log)
    run = None if report.report is None else report.report.run
    message = f"{report.decision}: {report.reason}"
    if report.outcome == REJECTED and run is not None:
        return Answer(REJECTED, REJECTED, f"{message}; {run.error}", run.run_id)
    return Answer(DONE, report.outcome, message, None if run is None else run.run_id)


def _roll_back(store: Neo4jStore, job: Job, mode: str, on_progress: Progress, log: Log) -> Answer:
    run, _ = store.roll_back(job.names.model)
    return Answer(DONE, "rolled back", f"run {run} is published again", run)


def _prune(store: Neo4jStore, job: Job, mode: str, on_progress: Progress, log: Log) -> Answer:
    count = store.prune(job.names.model, records=job.records, on_progress=on_progress)
    return Answer(DONE, "pruned", f"{count} records of earlier runs removed")


_TASKS = dict(zip(ACTIONS, (_refresh, _roll_back, _prune), strict=True))
