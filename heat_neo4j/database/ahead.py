"""Several questions to the server at once, their answers in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ask_ahead"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_AT_ONCE = 2


def ask_ahead(
    ask: Callable[[Question], Answer], questions: Iterable[Question]
) -> Iterator[tuple[Question, Answer]]:
    """Yield each question with its answer, while the next are being asked.

    Parameters
    ----------
    ask : callable
        Called in other threads, two at a time.
    questions : iterable
        Taken one by one, at most three ahead of the answers that were yielded.

    Yields
    ------
    question, answer
        In the order of the questions.

    Raises
    ------
    Exception
        What `ask` raised, in the place of its answer.
    """
    waiting: deque[tuple[Question, Future[Answer]]] = deque()
    pool = ThreadPoolExecutor(_AT_ONCE, "heat-read")
    try:
        for question in questions:
            waiting.append((question, pool.submit(ask, question)))
            if len(waiting) > _AT_ONCE:
                asked, answer = waiting.popleft()
                yield asked, answer.result()
        while waiting:
            asked, answer = waiting.popleft()
            yield asked, answer.result()
    finally:
        pool.shutdown(cancel_futures=True)
