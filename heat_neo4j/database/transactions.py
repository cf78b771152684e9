"""Write transactions that are repeated when the driver alone would not."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import neo4j
from neo4j import exceptions as driver_errors

from heat_neo4j.database.connection import PATIENCE_SECONDS, Connection, Parameters, Transaction
from heat_neo4j.database.server_errors import is_deleted_meanwhile
from heat_neo4j.errors import ConnectionFailed, HeatError, LeaseHeld, WriteFailed, WriteRefused

T = TypeVar("T")
_ATTEMPTS = 4
_READ_ONLY_CODES = ("WriteOnReadOnlyAccessDatabase", "ForbiddenOnReadOnlyDatabase")


class Withdrawn(WriteRefused):
    """A constraint of the database prevented a publication; the version before is published again."""


def write(
    connection: Connection, work: Callable[[Transaction], T], *, doing: str, divisible: bool = False
) -> T:
    """Run `work` in a managed write transaction; return its result.

    The connection repeats what a lost server or a deadlock undid. Two more cases are repeated here, so `work`
    must change nothing when it is repeated after a commit (all statements of this package are so): the
    connection broke while the commit was on its way, and nobody knows whether it happened; or something that
    was matched had been deleted by another transaction before it could be locked. A WriteRefused if the user
    may not write, or the database is read-only. For `divisible` see `Patience.repeated`.
    """
    return _repeated(lambda: connection.write_transaction(work, doing=doing, divisible=divisible))


def write_batches(
    connection: Connection, statement: str, parameters: Parameters, *, doing: str
) -> list[neo4j.Record]:
    """Run a statement that makes transactions of its own on the server; return its rows.

    It is repeated as `write` repeats its work, so a repetition must go on with what the tries before have
    left.
    """
    return _repeated(lambda: connection.run_batches(statement, parameters, doing=doing))


def _repeated(once: Callable[[], T]) -> T:
    failing_since: float | None = None
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return once()
        except (ConnectionFailed, WriteFailed) as error:
            if _is_forbidden(error):
                advice = "use a user who may write to this database, or grant this one the right"
                raise WriteRefused(f"{error}; {advice}") from error.__cause__
            now = time.monotonic()
            failing_since = now if failing_since is None else failing_since
            is_over = attempt == _ATTEMPTS or now - failing_since >= PATIENCE_SECONDS
            if is_over or not _is_repeatable(error):
                raise
    raise AssertionError("unreachable")


@contextmanager
def stopping(run_id: str, *, publishing: bool = False, settling: bool = False) -> Iterator[None]:
    """Turn what stops run `run_id` into `WriteFailed` that says what is in the graph now.

    A server lost while the run was `publishing` leaves open whether the switch was committed; one lost while
    it was `settling` leaves values that are not under their plain names yet.
    """
    try:
        yield
    except (LeaseHeld, Withdrawn):
        raise
    except HeatError as error:
        if publishing and isinstance(error, ConnectionFailed):
            state = f"run {run_id} is published whole or not at all: `heat runs` tells which"
        elif settling:
            state = (
                f"run {run_id} is published, but plain names still hold values of the version before: "
                f"the next command that writes finishes that, `heat prune` for one"
            )
        else:
            state = (
                f"run {run_id} is incomplete and what was published before is untouched: "
                f"repeat, or remove the rest with `heat clear --run {run_id}`"
            )
        raise WriteFailed(f"{error}; {state}") from error


def _is_forbidden(error: HeatError) -> bool:
    cause = error.__cause__
    return isinstance(cause, driver_errors.Forbidden) or _code(cause) in _READ_ONLY_CODES


def _is_repeatable(error: HeatError) -> bool:
    return isinstance(error.__cause__, driver_errors.IncompleteCommit) or is_deleted_meanwhile(error)


def _code(cause: BaseException | None) -> str:
    return str(getattr(cause, "code", "")).rsplit(".", 1)[-1]
