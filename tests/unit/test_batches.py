"""Batches that the server's memory does not hold are halved; nothing is written twice or left out."""

from types import SimpleNamespace

import pytest
from neo4j.exceptions import Neo4jError

from heat_neo4j.database import batches
from heat_neo4j.database.transactions import BatchTooLarge

OUT_OF_MEMORY = "Neo.TransientError.General.MemoryPoolOutOfMemoryError"


class RefusalError(Neo4jError):
    """What the driver raises, with a code of ours."""

    message = "the allocation would use more than 2 MiB"

    def __init__(self, code):
        super().__init__(self.message)
        self._given = code

    @property
    def code(self):
        return self._given


class Server:
    """Takes transactions of at most so many rows."""

    def __init__(self, most, code=OUT_OF_MEMORY):
        self.most, self.code = most, code
        self.rows, self.refused = [], 0

    def run(self, statement, parameters):
        rows = parameters["rows"]
        if len(rows) > self.most:
            self.refused += 1
            raise RefusalError(self.code)
        self.rows += rows
        return SimpleNamespace(records=[{"written": len(rows)}])


def send(monkeypatch, server, total=1000, rows=400):
    monkeypatch.setattr(batches, "hold_run", lambda *_: None)
    monkeypatch.setattr(batches, "write", lambda connection, work, doing: work(server))
    told = []
    written = batches.send(
        None, SimpleNamespace(run_id="r", model="m"), "",
        lambda begin, end: {"rows": list(range(begin, end))}, stage="s", total=total, rows=rows,
        on_progress=lambda *call: told.append(call[1]),
    )  # fmt: skip
    return written, told


def test_batches_fit_the_server(monkeypatch):
    server = Server(most=150)
    written, told = send(monkeypatch, server)
    assert written == 1000
    assert server.rows == list(range(1000))
    assert server.refused == 2  # 400 and 200; 100 is kept to
    assert told == [*range(0, 1000, 100), 1000]


def test_a_server_that_takes_not_even_a_few_rows_is_given_up(monkeypatch):
    server = Server(most=10)
    with pytest.raises(BatchTooLarge, match=r"too little memory for a transaction: .*2 MiB"):
        send(monkeypatch, server)
    assert server.rows == []


def test_other_refusals_are_not_taken_for_a_lack_of_memory(monkeypatch):
    server = Server(most=150, code="Neo.ClientError.Statement.SyntaxError")
    with pytest.raises(Neo4jError):
        send(monkeypatch, server)
    assert server.refused == 1
