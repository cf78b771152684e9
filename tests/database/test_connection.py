from __future__ import annotations

import os
import threading

import pytest
from neo4j import exceptions as driver_errors

from heat_neo4j.database.connection import Transaction
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.server_errors import is_deleted_meanwhile, one_line, translated
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConnectionFailed, ProjectionError, WriteFailed, WriteRefused
from tests.support.live_graph import open_store


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        (
            "bolt://127.0.0.1:1",
            "no Neo4j answers at bolt://127.0.0.1:1 .*Connection refused.*heat server start",
        ),
        ("neo4j://127.0.0.1:1", "no Neo4j answers at neo4j://127.0.0.1:1"),
        (
            "http://127.0.0.1:7474",
            "the server address is one for a browser: give one such as neo4j://localhost",
        ),
        ("localhost:7687", "the server address is malformed: give one such as neo4j://localhost:7687"),
        ("bolt://", "the server address is malformed"),
        ("", "the server address is malformed"),
        ("bolt://localhost:port", "the server address is malformed: give one such as neo4j://localhost:7687"),
        ("bolt://me:secret@localhost", "the server address must not hold a user name or password"),
    ],
)
def test_no_server(uri, message):
    with pytest.raises(ConnectionFailed, match=message) as caught:
        Neo4jStore.open(uri, auth=("neo4j", "a password"))
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "a password" not in str(caught.value)


def server_error(kind, code, message="the server's words\nand more"):
    """Return an error as the driver raises it for a server's refusal."""
    return type(kind.__name__, (kind,), {"code": code, "message": message})(message)


LOST = driver_errors.ServiceUnavailable("Failed to read\n(reason [Errno 104] Connection reset by peer)")
CASES = {
    "lost": (LOST, ConnectionFailed, "was lost while testing (Connection reset by peer): check that it runs"),
    "expired": (
        driver_errors.SessionExpired("gone"),
        ConnectionFailed,
        "was lost while testing: check that it runs",
    ),
    "broken": (ConnectionResetError("reset"), ConnectionFailed, "was lost while testing"),
    "login": (
        server_error(driver_errors.AuthError, "Neo.ClientError.Security.Unauthorized"),
        ConnectionFailed,
        "refused the login: check user name and password (NEO4J_USERNAME, NEO4J_PASSWORD)",
    ),
    "logins": (
        server_error(driver_errors.ClientError, "Neo.ClientError.Security.AuthenticationRateLimit"),
        ConnectionFailed,
        "refuses logins after several wrong passwords: wait some seconds",
    ),
    "rights": (
        server_error(driver_errors.Forbidden, "Neo.ClientError.Security.Forbidden"),
        WriteRefused,
        "denied permission while testing: the server's words; use a user who may write",
    ),
    "read-only": (
        server_error(
            driver_errors.Forbidden, "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase", "No writes."
        ),
        WriteRefused,
        "denied permission while testing: No writes; make the database writable, or use another one",
    ),
    "database": (
        server_error(driver_errors.ClientError, "Neo.ClientError.Database.DatabaseNotFound"),
        ConnectionFailed,
        "has no database 'db': SHOW DATABASES lists them",
    ),
    "statement": (
        server_error(driver_errors.CypherSyntaxError, "Neo.ClientError.Statement.SyntaxError"),
        WriteFailed,
        "refused a statement while testing: the server's words",
    ),
    "access": (
        server_error(driver_errors.ClientError, "Neo.ClientError.Statement.AccessMode"),
        WriteFailed,
        "refused to write while testing: a filter may only read",
    ),
    "memory": (
        server_error(driver_errors.TransientError, "Neo.TransientError.General.MemoryPoolOutOfMemoryError"),
        WriteFailed,
        "reached a limit while testing: raise db.memory.transaction.max of the server (the server's words)",
    ),
    "server": (
        server_error(driver_errors.DatabaseError, "Neo.DatabaseError.General.UnknownError"),
        ConnectionFailed,
        "failed while testing: the server's words",
    ),
}


@pytest.mark.parametrize(("error", "kind", "message"), CASES.values(), ids=CASES)
def test_every_driver_error_becomes_one_of_ours_in_one_line(error, kind, message):
    with pytest.raises(kind) as caught, translated("bolt://here", "testing", "db", WriteFailed):
        raise error
    assert str(caught.value).startswith("Neo4j at bolt://here ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is error


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError), translated("bolt://here", "testing"):
        raise ZeroDivisionError


def test_a_deletion_meanwhile_is_known_by_its_code():
    for code, expected in (("Neo.ClientError.Statement.EntityNotFound", True), ("Neo.ClientError.X", False)):
        assert is_deleted_meanwhile(server_error(driver_errors.ClientError, code)) is expected
    assert not is_deleted_meanwhile(ProjectionError("ours"))


def test_what_the_server_says_becomes_one_short_line():
    assert (
        one_line(ValueError("Invalid input 'x' (line 3, column 5 (offset: 20))\n\"...\"\n   ^"))
        == "Invalid input 'x'"
    )
    assert one_line(ValueError("a" * 1000)) == "a" * 300 + "..."
    assert one_line(ValueError()) == "ValueError"


@pytest.mark.live
def test_a_statement_that_was_lost_is_sent_again_and_one_that_is_refused_is_not(store):
    lost, sent = [driver_errors.ServiceUnavailable("gone")], []

    class Losing(Transaction):
        def run(self, statement, parameters=None):
            answer = super().run(statement, parameters)
            if lost:
                raise lost.pop()
            return answer

    store.transaction = Losing
    store.tracer = lambda statement, _: sent.append(statement)
    assert store.query("published") is not None
    assert len(sent) == 2
    lost.append(driver_errors.ServiceUnavailable("gone"))
    with pytest.raises(ConnectionFailed, match="was lost while testing"):
        store.read_once("RETURN 1", doing="testing")
    del sent[:]
    with pytest.raises(ProjectionError, match="refused a statement"):
        store.read("RETURN nothing")
    assert len(sent) == 1


@pytest.mark.live
def test_neither_a_connection_nor_a_failed_attempt_leaves_a_thread(connection_settings):
    uri, user, password = connection_settings
    before, tasks = set(threading.enumerate()), len(os.listdir("/proc/self/task"))
    for _ in range(3):
        Neo4jStore.open(uri, auth=(user, password)).close()
        for address in (uri, "bolt://127.0.0.1:1"):
            with pytest.raises(ConnectionFailed):
                Neo4jStore.open(address, auth=("nobody", "wrong"))
    assert not set(threading.enumerate()) - before
    assert len(os.listdir("/proc/self/task")) <= tasks


@pytest.mark.live
def test_a_statement_ends_on_the_server_after_the_seconds_of_the_limits(server):
    slow = "UNWIND range(1, 10_000) AS a UNWIND range(1, 10_000) AS b RETURN sum(a * b) AS sum"
    limits = Limits(statement_seconds=0.2, patience_seconds=0.0)
    with open_store(server, limits=limits) as store:
        for ask in (store.read_once, lambda text: store.read_transaction(lambda inner: inner.run(text))):
            with pytest.raises(ProjectionError, match=r"db\.transaction\.timeout"):
                ask(slow)
