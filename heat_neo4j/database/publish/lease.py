"""The lease of a model: one process at a time works on it, until it is done or its lease expires."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.transactions import write
from heat_neo4j.errors import HeatError, LeaseHeld, WriteFailed

__all__ = [
    "LEASE_SECONDS",
    "Lease",
    "Renewal",
    "lock_model",
    "make_model",
]


def make_model(connection: Connection, model: str, *, doing: str) -> None:
    """Make the node of `model` if there is none, in a transaction of its own.

    Neo4j keeps no two processes from making it at the same moment, as neither sees the other's before the
    commit. So it is committed first and locked next: `lock_model` then sees both, and leaves one. It may find
    none, if another process removed it in between.
    """
    statement = load_statement("write/model_create")
    write(connection, lambda making: making.run(statement, {"model": model}), doing=doing)


def lock_model(transaction: Transaction, model: str) -> str | None:
    """Lock all model nodes and drop duplicates of `model`; return the element id of its node, if it has one.

    What the transaction then does to the node goes by this id: by its name it would also meet a duplicate
    that was made in between and that nobody holds.
    """
    rows = transaction.run(load_statement("write/models_lock")).records
    mine = [row for row in rows if row["model"].get("name") == model]
    mine.sort(key=lambda row: -len(row["model"].keys() & {"version", "leaseHolder"}))
    if len(mine) > 1:
        transaction.run(load_statement("write/models_delete"), {"ids": [row["id"] for row in mine[1:]]})
    return mine[0]["id"] if mine else None


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


LEASE_SECONDS = 60.0
"""How long a lease lasts that its holder does not renew."""

_ATTEMPTS = 5
_RENEWALS = 3  # in the time that a lease lasts


class Lease:
    """The right to refresh a model, held while the context lasts and renewed by a thread.

    It keeps two refreshes from doing the same work; that what is published is whole does not depend on it.
    Times are the server's. A process that dies stops renewing, and the next one takes over when the time is
    up.

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
        self._connection, self._model, self._seconds = connection, model, seconds
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._renewal = Renewal(self._hold, seconds / _RENEWALS)

    def __enter__(self) -> Self:
        for _ in range(_ATTEMPTS):
            make_model(self._connection, self._model, doing="taking the lease")
            taken = write(self._connection, self._take, doing="taking the lease")
            if taken is not None:
                break
        else:
            raise WriteFailed(f"model {self._model!r} was removed by others, again and again: repeat later")
        free, holder, until = taken
        if not free:
            raise LeaseHeld(
                f"model {self._model!r} is being refreshed by {holder}, whose lease lasts until {until} "
                "unless it is renewed: nothing was done"
            )
        self._renewal.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._renewal.__exit__(kind, error, traceback)
        try:
            write(self._connection, self._release, doing="giving the lease back")
        except HeatError as failure:
            # It expires by itself; the error that ended the work says more.
            _log.warning("the lease of model %r lasts until it expires: %s", self._model, failure)

    def check(self) -> None:
        """See that the lease is still held, and renew it.

        The server is asked, as a process that was held up does not know yet what it missed.

        Raises
        ------
        LeaseHeld
            If it expired, and another process took it or the model was cleared.
        ConnectionFailed
            If the server is lost.
        """
        if not self._hold():
            raise LeaseHeld(
                f"the lease of model {self._model!r} expired while this process was held up, and was taken "
                "over: nothing was published"
            )

    def _hold(self) -> bool:
        """Renew the lease; False if it is not ours any more."""
        return write(self._connection, self._renew, doing="renewing the lease")

    def _take(self, transaction: Transaction) -> tuple[bool, str, str] | None:
        """Return whether it could be taken, who holds it and until when; None if the model has no node."""
        for row in transaction.run(load_statement("write/lease_take"), self._asked(transaction)).records:
            return row["free"], row["holder"], f"{row['until'].to_native():%Y-%m-%d %H:%M:%S %Z}"
        return None

    def _renew(self, transaction: Transaction) -> bool:
        return bool(transaction.run(load_statement("write/lease_renew"), self._asked(transaction)).records)

    def _release(self, transaction: Transaction) -> None:
        asked = self._asked(transaction)
        transaction.run(load_statement("write/lease_release"), asked)
        transaction.run(load_statement("write/model_delete_empty"), asked)

    def _asked(self, transaction: Transaction) -> dict[str, object]:
        """Lock the model's node; return it with what else the statements are given."""
        node = lock_model(transaction, self._model)
        return {"node": node, "holder": self._holder, "seconds": self._seconds}
