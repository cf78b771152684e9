"""The lease of a model: one process at a time works on it, until it is done or its lease expires."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.transactions import write
from heat_neo4j.database.write.batches import lease_lost
from heat_neo4j.errors import HeatError, LeaseHeld, WriteFailed

__all__ = ["LEASE_SECONDS", "Lease", "Renewal", "leased"]

LEASE_SECONDS = 60.0
"""How long a lease lasts that its holder does not renew."""

_ATTEMPTS = 5
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
    or at once if both are of one machine. Who takes over marks the runs that the older holder was writing for
    removal, and each transaction that starts a run, publishes, rolls back or removes looks whose the lease is
    while it holds the model's lock: so a late write of an older holder is refused by the database.

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
        self._connection, self.model, self._seconds = connection, model, seconds
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
            write(self._connection, self._release, doing="giving the lease back")
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
            raise lease_lost(self.model)

    def lock(self, transaction: Transaction) -> str:
        """Lock the model's node until the end of the transaction; return its element id.

        What the transaction then does to the node goes by this id: by its name it would also meet a duplicate
        that was made in between and that nobody holds.

        Raises
        ------
        LeaseHeld
            If the lease is another's by now.
        """
        row = _lock_model(transaction, self.model)
        if row is None or row["model"].get("leaseHolder") != self.holder:
            raise lease_lost(self.model)
        return str(row["id"])

    def _take_over(self) -> None:
        """Take the lease, from a dead holder if need be."""
        dead: str | None = None
        for _ in range(_ATTEMPTS):
            _make_model(self._connection, self.model)
            row = write(self._connection, partial(self._take, dead=dead), doing=_TAKING)
            if row is None:
                continue
            if row["free"]:
                return
            if not _is_dead(row["holder"]):
                until = f"{row['until'].to_native():%Y-%m-%d %H:%M:%S %Z}"
                raise LeaseHeld(
                    f"model {self.model!r} is being written by {row['holder']}, whose lease lasts until "
                    f"{until} unless it is renewed: nothing was done"
                )
            dead = row["holder"]
        raise WriteFailed(f"model {self.model!r} was removed by others, again and again: repeat later")

    def _hold(self) -> bool:
        """Renew the lease; False if it is not ours any more."""
        return write(self._connection, self._renew, doing="renewing the lease")

    def _take(self, transaction: Transaction, *, dead: str | None) -> Mapping[str, Any] | None:
        """Return whether it could be taken, who holds it and until when; None if the model has no node."""
        parameters = {**self._parameters(transaction), "dead": dead}
        rows = transaction.run(load_statement("write/lease_take"), parameters).records
        if rows and rows[0]["free"]:
            transaction.run(load_statement("write/runs_abandon"), {"model": self.model})
        return dict(rows[0]) if rows else None

    def _renew(self, transaction: Transaction) -> bool:
        statement = load_statement("write/lease_renew")
        return bool(transaction.run(statement, self._parameters(transaction)).records)

    def _release(self, transaction: Transaction) -> None:
        parameters = self._parameters(transaction)
        transaction.run(load_statement("write/lease_release"), parameters)
        transaction.run(load_statement("write/model_delete_empty"), parameters)

    def _parameters(self, transaction: Transaction) -> dict[str, Any]:
        """Lock the model's node; return it with what else the statements take."""
        row = _lock_model(transaction, self.model)
        return {"node": row and row["id"], "holder": self.holder, "seconds": self._seconds}


@contextmanager
def leased(connection: Connection, model: str, lease: Lease | None) -> Iterator[Lease]:
    """Give the `lease` that the caller holds, or take it for as long as the context lasts."""
    if lease is not None:
        yield lease
    else:
        with Lease(connection, model) as taken:
            yield taken


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
    """Make the node of `model` if there is none, in a transaction of its own.

    Neo4j keeps no two processes from making it at the same moment, as neither sees the other's before the
    commit. So it is committed first and locked next: `_lock_model` then sees both, and leaves one. It may
    find none, if another process removed it in between.
    """
    statement = load_statement("write/model_create")
    write(connection, lambda making: making.run(statement, {"model": model}), doing=_TAKING)


def _lock_model(transaction: Transaction, model: str) -> Mapping[str, Any] | None:
    """Lock all model nodes and drop duplicates of `model`; return the id and the properties of its node."""
    rows = transaction.run(load_statement("write/models_lock")).records
    mine = [dict(row) for row in rows if row["model"].get("name") == model]
    mine.sort(key=lambda row: -len(row["model"].keys() & {"version", "leaseHolder"}))
    if len(mine) > 1:
        transaction.run(load_statement("write/models_delete"), {"ids": [row["id"] for row in mine[1:]]})
    return mine[0] if mine else None
