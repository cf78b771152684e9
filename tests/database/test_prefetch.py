"""Answers come in the order of the questions, two being asked at once, and no more are taken than needed."""

import threading

import pytest

from heat_neo4j.database.read.reader import ask_ahead


def test_answers_come_in_order_though_two_are_asked_at_once():
    together = threading.Barrier(2, timeout=10)

    def ask(number):
        if number < 2:
            together.wait()  # passes only if both are asked at the same time
        return number * number

    assert list(ask_ahead(ask, range(20))) == [(number, number * number) for number in range(20)]
    assert list(ask_ahead(ask, [])) == []


def test_questions_are_taken_three_ahead_at_most():
    taken = []

    def questions():
        for number in range(10):
            taken.append(number)
            yield number

    for number, _ in ask_ahead(str, questions()):
        assert len(taken) <= number + 3


def test_a_failure_comes_in_its_place_and_ends_it():
    asked = []

    def ask(number):
        asked.append(number)
        if number == 3:
            raise ValueError("three")
        return number

    answers = ask_ahead(ask, range(100))
    assert [next(answers) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(ValueError, match="three"):
        next(answers)
    assert len(asked) <= 6
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("heat-read")]
