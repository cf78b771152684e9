"""The lease of a model: one process at a time works on it, until it is done or its lease expires."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.statements import Fragment, load_statement
from heat_neo4j.database.transactions import write, write_batches
from heat_neo4j.errors import HeatError, LeaseHeld, WriteFailed

__all__ = ["LANES", "LEASE_SECONDS", "Lease", "Renewal", "lock_models"]

LANES = 2
"""Batches that are written at once. With four, relationships deadlock and the gain is lost."""

LEASE_SECONDS = 60.0
"""How long a lease lasts that its holder does not renew."""

_ATTEMPTS = 5
_ROWS = 10_000
_RENEWALS = 3  # in the time that a lease lasts
_log = logging.getLogger(__name__)


class Renewal:
    """Calls `renew` at intervals while the context lasts, or until it is told that there is nothing to renew.

    A server that is away is no matter here: the work itself will meet it.

    Parameters
    ----------
    renew : callable
        Renews; returns whether it is still ours.
    seconds : float
        Between two calls.
    """

    def __init__(self, renew: Callable[[], bool], seconds: float) -> None:
        self._renew, self._seconds = renew, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="heat renewal", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _repeat(self) -> None:
        while not self._over.wait(self._seconds):
            try:
                if not self._renew():
                    return
            except HeatError as error:
                _log.debug("not renewed: %s", error)


class Lease:
    """The right to write versions of a model, held while the context lasts and renewed by a thread.

    Times are the server's. A process that dies stops renewing: the next one takes over when the time is up,
    or at once if both are of one machine. The holder's name is a fencing token: each statement that starts a
    run, publishes or removes looks whose the lease is while it holds the model's lock, and each batch holds a
    lane of the lease, a relationship from the model's node to itself. Who takes over deletes the lanes, which
    waits for batches under way: so a late write of an older holder is refused by the database.

    Parameters
    ----------
    connection : Connection
        Where the model is; its node is made if there is none.
    model : str
        The model's name.
    seconds : float
        How long the lease lasts without being renewed, above 0.

    Raises
    ------
    LeaseHeld
        On entering, if another process holds it.
    WriteFailed
        On entering, if others removed the model's node, again and again.
    """

    def __init__(self, connection: Connection, model: str, seconds: float = LEASE_SECONDS) -> None:
        self.connection, self.model, self._seconds = connection, model, seconds
        self.staging: str | None = None  # the run whose publication was under way when the lease was taken
        self._node = ""
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{_processes_seen()}{secrets.token_hex(4)}"
        self._renewal = Renewal(self._hold, seconds / _RENEWALS)

    def __enter__(self) -> Self:
        _ours.add(self.holder)  # first: other threads of this process must not take it for dead
        try:
            self._take_over()
        except BaseException:
            _ours.discard(self.holder)
            raise
        self._renewal.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._renewal.__exit__(kind, error, traceback)
        try:
            self._run("write/lease_release", doing="giving the lease back")
        except HeatError as failure:
            # It expires by itself; an error that ended the work says more.
            level = logging.WARNING if error is None else logging.DEBUG
            _log.log(level, "the lease of model %r lasts until it expires: %s", self.model, failure)
        finally:
            _ours.discard(self.holder)

    def check(self) -> None:
        """See that the lease is still held, and renew it.

        The server is asked, as a process that was held up does not know yet what it missed.

        Raises
        ------
        LeaseHeld
            If it expired, and another process took it.
        ConnectionFailed
            If the server is lost.
        """
        if not self._hold():
            raise _lease_lost(self.model)

    def write(self, name: str, *, doing: str, **parameters: Any) -> Mapping[str, Any]:
        """Run one statement with the model's node locked, in a transaction of its own; return its first row.

        Raises
        ------
        LeaseHeld
            If there is no row, as the lease is another's by now.
        """
        rows = self._run(name, doing=doing, **parameters)
        if not rows:
            raise _lease_lost(self.model)
        return rows[0]

    def run(self, transaction: Transaction, name: str, **parameters: Any) -> Mapping[str, Any]:
        """Do as `write`, within a transaction."""
        statement = load_statement(name, lease=_fragment("lease_hold"))
        rows = transaction.run(statement, {**self._parameters, **parameters}).records
        if not rows:
            raise _lease_lost(self.model)
        return rows[0]

    @property
    def lanes(self) -> dict[str, str]:
        """The parameters by which the statements of `batch` find the lanes of the lease."""
        return {"model": self.model, "holder": self.holder}

    def batch(self, name: str, **identifiers: str | Sequence[str]) -> str:
        """Return a statement that writes a batch while it holds a lane of the lease."""
        return load_statement(name, lane=_fragment("lane_hold"), **identifiers)

    def write_all(
        self,
        name: str,
        *,
        doing: str,
        identifiers: Mapping[str, str],
        rows: int = _ROWS,
        **parameters: Any,
    ) -> int:
        """Run a statement that goes over the graph in batches on the server; return how much it wrote.

        Parameters
        ----------
        name : str
            The statement; to repeat it after some batches must complete it.
        doing : str
            What for, in messages.
        identifiers : mapping of str to str
            Its placeholders.
        rows : int
            Nodes or relationships in a batch.
        **parameters
            Of the statement, beside those of the lane.

        Raises
        ------
        LeaseHeld
            If the lease is another's by now.
        """
        asked = {**self.lanes, "lane": 0, "rows": rows, **parameters}
        batches = write_batches(self.connection, self.batch(name, **identifiers), asked, doing=doing)
        written = [int(batch["written"]) for batch in batches]
        if 0 in written:  # it was repeated, or the lane was not ours any more
            self.check()
        return sum(written)

    def _take_over(self) -> None:
        """Take the lease, from a dead holder if need be."""
        asked: dict[str, Any] = {"model": self.model, "holder": self.holder, "dead": None}
        asked |= {"seconds": self._seconds, "lanes": LANES}
        statement = load_statement("write/lease_take")
        for _ in range(_ATTEMPTS):
            rows = write(self.connection, partial(_run, statement, asked), doing=_TAKING)
            if not rows:
                _make_model(self.connection, self.model)
                continue
            (row,) = rows
            if row["free"]:
                self.staging, self._node = row["staging"], row["node"]
                return
            if not _is_dead(row["holder"]):
                until = f"{row['until'].to_native():%Y-%m-%d %H:%M:%S %Z}"
                raise LeaseHeld(
                    f"model {self.model!r} is being written by {row['holder']}, whose lease lasts until "
                    f"{until} unless it is renewed: nothing was done"
                )
            asked["dead"] = row["holder"]
        raise WriteFailed(f"model {self.model!r} was removed by others, again and again: repeat later")

    def _hold(self) -> bool:
        """Renew the lease; False if it is not ours any more."""
        return bool(self._run("write/lease_check", doing="renewing the lease", seconds=self._seconds))

    @property
    def _parameters(self) -> dict[str, Any]:
        return {"node": self._node, "holder": self.holder}

    def _run(self, name: str, *, doing: str, **parameters: Any) -> Sequence[Mapping[str, Any]]:
        statement = load_statement(name, lease=_fragment("lease_hold"))
        asked = {**self._parameters, **parameters}
        return write(self.connection, partial(_run, statement, asked), doing=doing)


def _lease_lost(model: str) -> LeaseHeld:
    """Return the error of a writer whose lease another has by now."""
    return LeaseHeld(
        f"the lease of model {model!r} expired while this process was held up, and was taken over: "
        "nothing was published"
    )


def _fragment(name: str) -> Fragment:
    return Fragment(load_statement(f"write/{name}"))


_TAKING = "taking the lease"
_ours: set[str] = set()  # holders of this process whose leases are held now


def _is_dead(holder: object) -> bool:
    """Return whether a holder was a process of this machine, or a lease of this process, that is no more."""
    rest, _, token = str(holder).rpartition(":")
    host, _, process = rest.rpartition(":")
    here = host == socket.gethostname() and token.startswith(_processes_seen())
    if not here or not process.isdecimal():
        return False
    if int(process) == os.getpid():
        return holder not in _ours
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def _processes_seen() -> str:
    """Return which processes this one can see: containers may share a host's name, but not its processes."""
    try:
        return os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]") + "-"
    except OSError:  # not Linux
        return ""


def _make_model(connection: Connection, model: str) -> None:
    """Make the node of `model` if there is none, and drop all but one of several.

    Neo4j keeps no two processes from making it at the same moment, as neither sees the other's before the
    commit. So it is committed first and locked next: that sees both, and leaves one.
    """
    made = {"model": model}
    write(connection, partial(_run, load_statement("write/model_create"), made), doing=_TAKING)
    write(connection, partial(lock_models, model=model), doing=_TAKING)


def _run(
    statement: str, parameters: Mapping[str, Any], transaction: Transaction
) -> Sequence[Mapping[str, Any]]:
    return transaction.run(statement, parameters).records


def lock_models(transaction: Transaction, model: str) -> list[Mapping[str, Any]]:
    """Lock all model nodes until the transaction ends, drop duplicates of `model`; return what they say.

    All of them, so that two models cannot claim the same property names at the same time.
    """
    rows = transaction.run(load_statement("write/models_lock")).records
    mine = [dict(row) for row in rows if row["model"].get("name") == model]
    mine.sort(key=lambda row: -len(row["model"].keys() & {"version", "leaseHolder"}))
    if len(mine) > 1:
        transaction.run(load_statement("write/models_delete"), {"ids": [row["id"] for row in mine[1:]]})
    return [row["model"] for row in rows]
