"""Several cursors on the server: threads fetch answers, each in its own transaction, to be taken in order."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from heat_neo4j.database.batch_size import BatchSize, Rows

Request = TypeVar("Request")
Answer = TypeVar("Answer")

CURSORS = 2


def prefetch(
    fetch: Callable[[Request], Answer], requests: Iterable[Request]
) -> Iterator[tuple[Request, Answer]]:
    """Yield each request with its answer, in order, while other threads fetch the next two.

    Requests are taken at most three ahead of the answers that were yielded. An error of `fetch` is raised in
    place of its answer.
    """
    waiting: deque[tuple[Request, Future[Answer]]] = deque()
    pool = ThreadPoolExecutor(CURSORS, "heat-read")
    try:
        for request in requests:
            waiting.append((request, pool.submit(fetch, request)))
            if len(waiting) > CURSORS:
                first, answer = waiting.popleft()
                yield first, answer.result()
        while waiting:
            first, answer = waiting.popleft()
            yield first, answer.result()
    finally:
        pool.shutdown(cancel_futures=True)


def prefetch_parts(
    fetch: Callable[[Rows], Answer], requests: Iterable[Rows]
) -> Iterator[tuple[Rows, Answer]]:
    """Like `prefetch`, but split requests, which are rows, that reach a limit of the server.

    Yield each part with its answer.
    """
    size = BatchSize(sys.maxsize)
    for _, answers in prefetch(lambda rows: list(size.parts(fetch, rows)), requests):
        yield from answers
