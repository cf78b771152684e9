"""Answers come in the order of the requests, two being fetched at once, and no more are taken than needed."""

import threading

import pytest

from heat_neo4j.database.read.cursors import prefetch


def test_answers_come_in_order_though_two_are_fetched_at_once():
    together = threading.Barrier(2, timeout=10)

    def fetch(number):
        if number < 2:
            together.wait()  # passes only if both are fetched at the same time
        return number * number

    assert list(prefetch(fetch, range(20))) == [(number, number * number) for number in range(20)]
    assert list(prefetch(fetch, [])) == []


def test_requests_are_taken_three_ahead_at_most():
    taken = []

    def requests():
        for number in range(10):
            taken.append(number)
            yield number

    for number, _ in prefetch(str, requests()):
        assert len(taken) <= number + 3


def test_a_failure_is_raised_in_order_and_ends_it():
    asked = []

    def fetch(number):
        asked.append(number)
        if number == 3:
            raise ValueError("three")
        return number

    answers = prefetch(fetch, range(100))
    assert [next(answers) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(ValueError, match="three"):
        next(answers)
    assert len(asked) <= 6
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("heat-read")]
