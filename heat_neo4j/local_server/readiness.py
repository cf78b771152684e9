"""Ask a server that is starting whether it serves yet."""

from __future__ import annotations

import base64
import http.client
import json
from enum import Enum

from heat_neo4j.local_server.resources import ADDRESS

__all__ = ["Answer", "ask"]

ANSWER_TIMEOUT = 30.0
"""Seconds for one answer: the first query compiles half of Neo4j, on a busy machine for several seconds."""


class Answer(Enum):
    """What the server said."""

    READY = "ready"
    NOT_YET = "not yet"
    WRONG_PASSWORD = "wrong password"


def ask(http_port: int, password: str) -> tuple[Answer, str]:
    """Run ``RETURN 1`` in database ``neo4j`` over HTTP, as user ``neo4j``.

    This is more than an open port: it says that the database is online and that the password fits. HTTP
    and not Bolt, because the driver belongs to another layer. To be called only after it is known that the
    port belongs to our process: the password is sent there.

    Parameters
    ----------
    http_port : int
        Port of 127.0.0.1.
    password : str
        Of user ``neo4j``.

    Returns
    -------
    tuple of (Answer, str)
        The answer, and the server's own words if it is not ready.
    """
    token = base64.b64encode(f"neo4j:{password}".encode()).decode("ascii")
    headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(ADDRESS, http_port, timeout=ANSWER_TIMEOUT)
    try:
        connection.request("POST", "/db/neo4j/query/v2", json.dumps({"statement": "RETURN 1"}), headers)
        response = connection.getresponse()
        body = response.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return Answer.NOT_YET, str(error)
    finally:
        connection.close()
    if response.status == http.client.UNAUTHORIZED:
        return Answer.WRONG_PASSWORD, _message(body)
    if response.status == http.client.ACCEPTED:
        return Answer.READY, ""
    return Answer.NOT_YET, _message(body)


def _message(body: str) -> str:
    try:
        return str(json.loads(body)["errors"][0]["message"])
    except (ValueError, LookupError, TypeError):
        return body[:200]
