"""``(:HeatRequest)`` nodes: work that users ask for in Cypher, and that workers claim and answer."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from heat_neo4j._utils.progress import Overall
from heat_neo4j._utils.validation import LONGEST_LEASE
from heat_neo4j.database.connection import Connection, write
from heat_neo4j.database.publish.lease import Renewal
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ConnectionFailed, HeatError

CLAIM_SECONDS = 60.0
"""How long a claim lasts that its worker does not renew."""

CLAIM_ATTEMPTS = 3
"""How many workers may die over a request before it is given up."""

_log = logging.getLogger(__name__)
_REPORT_SECONDS = 2.0  # between two notes of the progress on the node, each of which renews the claim


class RequestQueue:
    """The requests for one model, by their ``requestedAt``; those without come last.

    A request that names no model is for the model ``heat``. A request that nobody can do is marked as failed:
    one for a model that is not in the database, or with properties of other types than requests have.
    """

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection, self._model = connection, model
        self._worker = f"{socket.gethostname()}:{os.getpid()}"
        self._skipped: set[str] = set()  # requests that cannot even be marked as failed

    def waiting(self) -> dict[str, str | None]:
        """Return the element ids of requests that wait, or whose worker has died; with why one must fail.

        There are none while another process holds the lease of the model. A server that is away is not waited
        for.
        """
        statement = load_statement("read/requests")
        values = {"model": self._model, "skipped": list(self._skipped), "longest": LONGEST_LEASE}
        rows = self._connection.read_once(statement, values, doing="looking for requests")
        return {
            row["id"]: None if row["unknown"] is None else f"there is no model {row['unknown']!r} here"
            for row in rows
        }

    def claim(self, requests: Mapping[str, str | None]) -> Claim | None:
        """Claim the first of some requests that is still to be had; None if there is none.

        One that cannot be done, or was claimed too often, is marked as failed, and the next is looked at.
        """
        for request, fault in requests.items():
            claim = Claim(self._connection, request)
            try:
                if claim.take(self._worker, fault):
                    return claim
            except ConnectionFailed:
                raise
            except HeatError as error:
                _log.warning("a request cannot be claimed and is left alone: %s", error)
                self._skipped.add(request)
        return None


class Claim:
    """The right of one worker to answer a request, renewed by a thread while the context lasts.

    `action` and `mode` are what the user asked for, as it stands on the node; None for the usual.
    """

    action: str | None = None
    mode: str | None = None
    _attempts = 1

    def __init__(self, connection: Connection, request: str) -> None:
        self._connection = connection
        self._held = {"id": request, "claim": secrets.token_hex(8)}
        self._overall = Overall()
        self._progress: dict[str, Any] = {"stage": None, "progress": 0.0}
        self._renewal = Renewal(self._renew, _REPORT_SECONDS)

    def take(self, worker: str, fault: str | None = None) -> bool:
        """Claim the request, unless another worker was quicker; return whether it is ours now.

        With a `fault`, or if it has one that the server sees, it is marked as failed instead.
        """
        params = {"worker": worker, "seconds": CLAIM_SECONDS, "attempts": CLAIM_ATTEMPTS, "fault": fault}
        rows = self._write("write/request_claim", params, doing="claiming a request")
        if not rows or rows[0]["fault"] is not None:
            return False
        self.action, self.mode = rows[0]["action"], rows[0]["mode"]
        self._attempts = int(rows[0]["attempts"])
        return True

    def __enter__(self) -> Self:
        self._renewal.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._renewal.__exit__(kind, error, traceback)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Take note of the progress (a `Progress` callback); the node shows it a moment later."""
        self._progress = {"stage": stage, "progress": self._overall(stage, done, total)}

    def answer(self, status: str, outcome: str, message: str, run: str | None) -> bool:
        """Write the answer on the request; return whether it was still ours.

        `status` is "done", "rejected" or "failed". `outcome` says in a word or two what was done, `message`
        in one line what there is to tell, and `run` is the run that was made or published.
        """
        answer = {"status": status, "outcome": outcome, "message": message, "runId": run}
        return bool(self._write("write/request_answer", {"answer": answer}, doing="answering a request"))

    def give_back(self, message: str) -> bool:
        """Have the request wait again, as if it had never been claimed; return whether it was still ours."""
        params = {"message": message, "attempts": self._attempts - 1}
        return bool(self._write("write/request_return", params, doing="answering a request"))

    def _renew(self) -> bool:
        params = {**self._progress, "seconds": CLAIM_SECONDS}
        return bool(self._write("write/request_progress", params, doing="renewing a claim"))

    def _write(self, name: str, params: Mapping[str, Any], *, doing: str) -> Sequence[Mapping[str, Any]]:
        statement = load_statement(name)
        params = {**self._held, **params}
        return write(
            self._connection, lambda transaction: transaction.run(statement, params).records, doing=doing
        )
