"""Batches with write locks, halved where the server's memory does not hold them; no row twice or left out."""

import threading
from types import SimpleNamespace

import pytest

from heat_neo4j.database.limits import Limits
from heat_neo4j.database.server_errors import translated
from heat_neo4j.database.write import batches
from heat_neo4j.errors import ConnectionFailed, LeaseHeld, WriteFailed
from tests.support.refusals import OUT_OF_MEMORY, RefusalError


class Server:
    """Takes transactions of at most so many rows."""

    def __init__(self, most, code=OUT_OF_MEMORY):
        self.most, self.code = most, code
        self.rows, self.refused, self.locks, self.checks = [], 0, [], 0
        self.held = True
        self.limits = Limits()

    def write_transaction(self, work, *, doing, divisible):
        assert divisible
        with translated("there", doing, refusal=WriteFailed):
            return work(self)

    def checked(self):
        self.checks += 1
        if not self.held:
            raise LeaseHeld("taken over")

    def run(self, statement, parameters):
        rows = parameters["rows"]
        assert (parameters["model"], parameters["holder"]) == ("m", "h")
        self.locks.append(parameters["lock"])
        if not self.held:  # the lock is gone, so nothing is matched
            return SimpleNamespace(records=[{"written": 0}])
        if len(rows) > self.most:
            self.refused += 1
            raise RefusalError(self.code)
        self.rows += rows
        return SimpleNamespace(records=[{"written": len(rows)}])


def send(server, rounds=(((0, 1000),),), rows=400):
    told = []
    written = batches.send(
        server, "", lambda begin, end: {"rows": list(range(begin, end))},
        held={"model": "m", "holder": "h"}, check=server.checked, stage="s", rounds=rounds, rows=rows,
        on_progress=lambda *call: told.append(call[1]),
    )  # fmt: skip
    return written, told


def test_batches_fit_the_server():
    server = Server(most=150)
    written, told = send(server)
    assert written == 1000
    assert server.rows == list(range(1000))
    assert server.refused == 2  # 400 and 200; 100 is kept to
    assert told == [*range(0, 1000, 100), 1000]
    assert server.checks == 0  # a batch that wrote held its lock


def test_a_batch_that_writes_nothing_is_a_matter_of_the_lease():
    """Its lock may be gone: then another has the lease, and no further batch is sent."""
    server = Server(most=1000)
    server.held = False
    with pytest.raises(LeaseHeld, match="taken over"):
        send(server)
    assert server.locks == [0]


def test_where_the_lease_is_held_a_batch_without_rows_is_of_nodes_that_are_gone():
    server = Server(most=1000)
    plain_run = server.run

    def run(statement, parameters):
        gone = parameters["rows"][0] == 400
        return SimpleNamespace(records=[{"written": 0}]) if gone else plain_run(statement, parameters)

    server.run = run
    written, told = send(server)
    assert (written, told, server.checks) == (600, [0, 400, 800, 1000], 1)
    server.run = lambda statement, parameters: SimpleNamespace(records=[{"written": 0}])
    with pytest.raises(WriteFailed, match="none of the graph's nodes is in this database"):
        send(server)


def test_a_server_that_takes_not_even_one_row_is_given_up():
    server = Server(most=0)
    with pytest.raises(WriteFailed, match=r"raise db.memory.transaction.max of the server \(.*2.0 MiB"):
        send(server)
    assert server.rows == []


def test_other_refusals_are_not_taken_for_a_lack_of_memory():
    server = Server(most=150, code="Neo.ClientError.Statement.SyntaxError")
    with pytest.raises(ConnectionFailed):
        send(server)
    assert server.refused == 1


def test_the_ranges_of_a_round_are_written_at_once_and_rounds_one_after_the_other():
    server = Server(most=100)
    together = threading.Barrier(2, timeout=10)
    plain_run = server.run

    def run(statement, parameters):
        if parameters["rows"][0] in (0, 500):  # the first batches of the first round
            together.wait()
        if parameters["rows"][0] >= 1000:
            assert sorted(server.rows)[:1000] == list(range(1000))
        return plain_run(statement, parameters)

    server.run = run
    written, told = send(server, rounds=(((0, 500), (500, 1000)), ((1000, 1000), (1000, 1250))), rows=100)
    assert written == 1250
    assert sorted(server.rows) == list(range(1250))
    assert server.locks.count(0) == 5
    assert server.locks.count(1) == 5 + 3
    assert told == [*range(0, 1250, 100), 1250]


def test_both_lanes_shrink_their_batches():
    server = Server(most=150)
    written, _ = send(server, rounds=(((0, 600), (600, 1200)),))
    assert written == 1200
    assert sorted(server.rows) == list(range(1200))
    assert 2 <= server.refused <= 4


def test_after_a_failure_no_lane_goes_on():
    server = Server(most=1000)
    plain_run = server.run
    failed = threading.Event()

    def run(statement, parameters):
        if parameters["rows"][0] == 100:
            failed.set()
            raise RefusalError("Neo.ClientError.Statement.SyntaxError")
        if parameters["rows"][0] == 1100:
            failed.wait(10)
        return plain_run(statement, parameters)

    server.run = run
    with pytest.raises(ConnectionFailed):
        send(server, rounds=(((0, 1000), (1000, 2000)),), rows=100)
    assert len(server.rows) <= 400
