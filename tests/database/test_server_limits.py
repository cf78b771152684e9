"""Limits of the server: recognised, met by smaller batches, and given up within the patience."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_neo4j.database.batch_size import BatchSize
from heat_neo4j.database.connection import Patience
from heat_neo4j.database.server_errors import server_limit, translated
from heat_neo4j.errors import WriteFailed
from tests.support.refusals import NOT_ENOUGH, OUT_OF_MEMORY, TIMED_OUT, RefusalError

ENDED = "The transaction has been terminated. Reason: "
SLOW = "The transaction has not completed within the specified timeout (db.transaction.timeout)."
NO_LOCKS = (
    f"{ENDED}no more locks can be acquired, because the transaction ran longer than the configured timeout"
)
TOTAL = f"{NOT_ENOUGH}db.memory.transaction.total.max threshold reached"
MOST_CALLS = 1000


class Clock:
    def __init__(self):
        self.now = 0.0

    def read(self):
        return self.now

    def pass_by(self, seconds):
        self.now += seconds


@pytest.mark.parametrize(
    ("code", "message", "setting"),
    [
        (
            OUT_OF_MEMORY,
            f"{NOT_ENOUGH}db.memory.transaction.max threshold reached",
            "db.memory.transaction.max",
        ),
        (OUT_OF_MEMORY, TOTAL, "db.memory.transaction.total.max"),
        (OUT_OF_MEMORY, TOTAL.replace("db.", "dbms."), "dbms.memory.transaction.total.max"),
        ("Neo.ClientError.General.TransactionOutOfMemoryError", "too much", "db.memory.transaction.max"),
        ("Neo.TransientError.General.OutOfMemoryError", "no heap left", "server.memory.heap.max_size"),
        (TIMED_OUT, "too slow", "db.transaction.timeout"),
        (
            "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
            "slow",
            "db.transaction.timeout",
        ),
        ("Neo.ClientError.Transaction.LockClientStopped", NO_LOCKS, "db.transaction.timeout"),
        ("Neo.ClientError.Transaction.Terminated", ENDED + SLOW, "db.transaction.timeout"),
        ("Neo.ClientError.Transaction.Terminated", ENDED + "by a user", None),
        ("Neo.TransientError.Transaction.DeadlockDetected", "db.transaction.timeout", None),
        ("Neo.ClientError.Statement.SyntaxError", "db.memory.transaction.max", None),
    ],
)
def test_a_limit_is_recognised_and_the_message_names_the_setting(code, message, setting):
    error = RefusalError(code, message)
    limit = server_limit(error)
    assert (limit and limit.setting) == setting
    if setting:
        told = refused(message, code)
        assert f"while writing: raise {setting} of the server" in str(told)
        assert server_limit(told) == limit


def counted(error, between=lambda: None):
    """Return a function that always raises `error`, and the list of its calls, which must end."""
    calls = []

    def attempt():
        calls.append(1)
        assert len(calls) < MOST_CALLS, "repeated for ever"
        between()
        raise error

    return attempt, calls


@pytest.mark.parametrize(
    ("code", "message", "divisible", "most_calls"),
    [
        (OUT_OF_MEMORY, NOT_ENOUGH, False, 1),
        (OUT_OF_MEMORY, TOTAL, True, 1),
        (TIMED_OUT, SLOW, True, 1),
        (TIMED_OUT, SLOW, False, 3),
        (OUT_OF_MEMORY, TOTAL, False, 30),
    ],
)
def test_a_limit_is_met_again_only_if_that_may_help(code, message, divisible, most_calls):
    clock = Clock()
    patience = Patience("there", clock=clock.read, sleep=clock.pass_by)
    attempt, calls = counted(RefusalError(code, message))
    with pytest.raises(RefusalError):
        patience.repeated(attempt, "writing", divisible=divisible)
    assert len(calls) <= most_calls
    assert (len(calls) > 3) == (most_calls > 3)
    assert clock.now < 133.0


def test_what_succeeds_beside_it_does_not_prolong_the_patience():
    clock = Clock()
    patience = Patience("there", clock=clock.read, sleep=clock.pass_by)
    attempt, _ = counted(
        RefusalError("Neo.TransientError.Transaction.DeadlockDetected", "deadlock"),
        between=lambda: patience.repeated(lambda: "renewed", "renewing the lease"),
    )
    with pytest.raises(RefusalError):
        patience.repeated(attempt, "writing")
    assert 120.0 <= clock.now < 133.0


def refused(message=NOT_ENOUGH, code=OUT_OF_MEMORY):
    """Return the error of this package for a limit."""
    with pytest.raises(WriteFailed) as caught, translated("there", "writing", refusal=WriteFailed):
        raise RefusalError(code, message)
    return caught.value


@given(total=st.integers(0, 300), rows=st.integers(1, 200), fits=st.integers(1, 200))
def test_every_row_is_in_one_part_that_fits(total, rows, fits):
    error, tried = refused(), []

    def attempt(part):
        tried.append(len(part))
        if len(part) > fits:
            raise error
        return sum(part)

    parts = list(BatchSize(rows, sleep=None).parts(attempt, range(total)))
    assert [row for part, _ in parts for row in part] == list(range(total))
    assert all(total == sum(part) for part, total in parts)
    assert sum(size > fits for size in tried) <= 8


def test_a_row_that_does_not_fit_is_an_error_at_once_and_another_error_too():
    for error in (refused(), WriteFailed("of another kind")):
        size, tried = BatchSize(8, sleep=None), []

        def attempt(part, error=error, tried=tried):
            tried.append(len(part))
            raise error

        with pytest.raises(WriteFailed) as caught:
            list(size.parts(attempt, range(20)))
        assert caught.value is error
        assert tried in ([8, 4, 2, 1], [8])


def test_memory_that_others_hold_is_waited_for_as_long_as_the_patience_lasts():
    clock, error = Clock(), refused(TOTAL)
    size = BatchSize(4, seconds=120.0, clock=clock.read, sleep=clock.pass_by)

    def attempt(rows):
        clock.pass_by(1.0)
        raise error

    with pytest.raises(WriteFailed, match=r"raise db\.memory\.transaction\.total\.max of the server"):
        size.until_done(attempt)
    assert 120.0 <= clock.now < 125.0


def test_a_lane_that_gets_on_does_not_prolong_the_patience_of_another():
    clock, error = Clock(), refused(TOTAL)
    size = BatchSize(1, seconds=120.0, clock=clock.read, sleep=clock.pass_by)

    def go_on():
        for _ in range(MOST_CALLS):
            size.succeeded(lane=0)
            size.shrink(error, 1, lane=1)

    with pytest.raises(WriteFailed):
        go_on()
    assert 120.0 <= clock.now < 125.0


def test_work_goes_on_until_nothing_is_left_in_smaller_steps_after_a_limit():
    error, left, tried = refused(SLOW, TIMED_OUT), 100, []

    def attempt(rows):
        nonlocal left
        tried.append(rows)
        if rows > 20:
            left -= 10  # a statement that commits on its way keeps what it has done
            raise error
        left -= min(rows, left)
        return not left

    BatchSize(80).until_done(attempt)
    assert tried == [80, 40, 20, 20, 20, 20]
