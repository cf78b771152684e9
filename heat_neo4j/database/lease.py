"""The lease of a model: a promise in the graph that one process at a time works on it, which expires."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from types import TracebackType
from typing import Self

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.model_nodes import lock_model, make_model
from heat_neo4j.database.renewal import Renewal
from heat_neo4j.database.statements import load_statement
from heat_neo4j.database.transactions import write
from heat_neo4j.errors import HeatError, LeaseHeld, WriteFailed

__all__ = ["LEASE_SECONDS", "Lease"]

LEASE_SECONDS = 60.0
"""How long a lease lasts that its holder does not renew."""

_ATTEMPTS = 5
_RENEWALS = 3  # in the time that a lease lasts
_log = logging.getLogger(__name__)


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
