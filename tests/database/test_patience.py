"""A server that accepts connections and falls silent is waited for as long as stated, and the log says so."""

import logging
import socket
import threading
from contextlib import suppress

import pytest
from neo4j.exceptions import ClientError, IncompleteCommit, ServiceUnavailable, TransientError

from heat_neo4j.cli.commands.serve import dated
from heat_neo4j.cli.output import Log, log_lines
from heat_neo4j.database.connection import Connection, Patience
from heat_neo4j.database.limits import Limits
from heat_neo4j.errors import ServerUnreachable

HINT = b"\xd0\x1fconnection.recv_timeout_seconds\x01"
HELLO = b"\xb1\x70\xa3\x86server\x8cNeo4j/5.26.0\x8dconnection_id\x81x\x85hints\xa1" + HINT
NOTHING = b"\xb1\x70\xa0"
ANSWERS = {0x01: HELLO, 0x0F: NOTHING, 0x6A: NOTHING}  # to HELLO, RESET and LOGON


class SilentServer:
    """A server on 127.0.0.1 that speaks Bolt 5.2 up to a point, and then says nothing any more."""

    def __init__(self, until):
        self.until, self.accepted = until, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = []
        self.uri = f"bolt://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.accepted += 1
                self._open.append(client)
                threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client):
        with suppress(OSError, ValueError):
            stream = client.makefile("rb")
            stream.read(20)
            if self.until == "accepting":
                return
            client.sendall(b"\0\0\2\5")
            while self.until == "reading":
                message = b""
                while size := int.from_bytes(stream.read(2), "big"):
                    message += stream.read(size)
                answer = ANSWERS.get(message[1]) if message else None
                if answer is None:
                    return
                client.sendall(len(answer).to_bytes(2, "big") + answer + b"\0\0")

    def close(self):
        for each in (self._listener, *self._open):
            each.close()


SHORT = Limits(patience_seconds=1.5, connect_seconds=0.5)


@pytest.mark.parametrize("until", ["accepting", "shaking hands", "reading"])
def test_a_server_that_falls_silent_is_given_up_and_the_log_says_that_it_is_waited_for(until, capsys):
    server, ended = SilentServer(until), []

    def connect():
        try:
            Connection.open(server.uri, auth=("neo4j", "x"), limits=SHORT)
        except ServerUnreachable as error:
            ended.append(str(error))

    try:
        with log_lines(Log(dated)):
            working = threading.Thread(target=connect, daemon=True)
            working.start()
            working.join(timeout=60)
    finally:
        server.close()
    assert len(ended) == 1, "still waiting"
    assert server.accepted >= (2 if until == "reading" else 1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= (1 if until == "reading" else 0)
    assert all("waiting for Neo4j at bolt://127.0.0.1:" in line and line[4] == "-" for line in lines)


class DeletedError(ClientError):
    code = "Neo.ClientError.Statement.EntityNotFound"


class Clock:
    def __init__(self):
        self.now = 0.0

    def pass_by(self, seconds):
        self.now += seconds

    def patience(self, seconds=120.0):
        return Patience("there", Limits(patience_seconds=seconds), clock=lambda: self.now, sleep=self.pass_by)


@pytest.fixture
def clock():
    return Clock()


def lost(clock, seconds=0.0, cause=None):
    def attempt():
        clock.pass_by(seconds)
        raise ServiceUnavailable("gone") from cause

    return attempt


def test_a_lost_server_is_waited_for_so_long_and_what_comes_after_is_tried_once(clock):
    waiting = clock.patience()
    with pytest.raises(ServiceUnavailable):
        waiting.repeated(lost(clock), "writing")
    assert 120.0 <= clock.now < 133.0
    before = clock.now
    for _ in range(3):
        with pytest.raises(ServiceUnavailable):
            waiting.repeated(lost(clock, 1.0), "giving back the lease")
    assert clock.now == before + 3.0
    assert waiting.repeated(lambda: "back", "reading") == "back"
    with pytest.raises(ServiceUnavailable):
        waiting.repeated(lost(clock), "writing")
    assert clock.now > before + 120.0


@pytest.mark.parametrize("error", [IncompleteCommit(), DeletedError("gone")])
def test_work_whose_outcome_is_unknown_is_repeated_at_once_if_it_is_idempotent(clock, error):
    calls = []

    def attempt():
        calls.append(1)
        raise error

    for idempotent, expected in ((True, 4), (False, 1)):
        calls.clear()
        with pytest.raises(type(error)):
            clock.patience(0.0).repeated(attempt, "writing", idempotent=idempotent)
        assert (len(calls), clock.now) == (expected, 0.0)


def test_a_silence_counts_from_its_beginning(clock):
    with pytest.raises(ServiceUnavailable):
        clock.patience().repeated(lost(clock, 120.0, TimeoutError()), "reading")
    assert clock.now == 120.0


def test_what_can_be_repeated_is_and_other_errors_are_not(clock, caplog):
    calls = []

    def attempt():
        calls.append(1)
        if len(calls) < 4:
            raise TransientError("deadlock")
        return "done"

    with caplog.at_level(logging.INFO, logger="heat_neo4j"):
        assert clock.patience().repeated(attempt, "writing") == "done"
    assert caplog.messages == ["waiting for Neo4j at there: writing, 1 s", *caplog.messages[1:]]
    assert len(caplog.messages) == 2

    def wrong():
        calls.append(1)
        raise KeyError("x")

    with pytest.raises(KeyError):
        clock.patience().repeated(wrong, "writing")
    assert len(calls) == 5
