"""Processes that end at a chosen place: nothing of ours is caught or sent after it."""

import itertools


class Killed(BaseException):
    """Stands for the end of the process."""


def stop_at(store, count):
    """Let the process end before statement number `count`, and send nothing after it."""
    sent = itertools.count(1)

    def trace(statement, parameters):
        if next(sent) >= count:
            raise Killed

    store.tracer = trace


def stop_at_words(store, words):
    """Let the process end before the first statement that holds some words."""

    def trace(statement, parameters):
        if words in statement:
            raise Killed

    store.tracer = trace
