"""Threads that share the work of one compiled function."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from heat_neo4j._kernels.worksharing import give_up, share_work
from heat_neo4j._processors import available_processors
from heat_neo4j._validation import check_integer

__all__ = ["ALONE", "Team", "resolve_threads"]


class Team:
    """The calling thread and `n_threads` - 1 more; a context manager that ends them.

    Parameters
    ----------
    n_threads : int
        How many there are.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._others = ThreadPoolExecutor(max(n_threads - 1, 1), thread_name_prefix="heat")

    def run(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call ``function(*arguments, shared, thread, n_threads)`` on every thread, and wait for all.

        The function must be compiled with ``nogil=True``. `shared` is for the functions of
        `heat_neo4j._kernels.worksharing`, by which it shares out its work.
        """
        shared = share_work()
        try:
            others = [
                self._others.submit(function, *arguments, shared, thread, self.n_threads)
                for thread in range(1, self.n_threads)
            ]
            function(*arguments, shared, 0, self.n_threads)
            for other in others:
                other.result()
        except BaseException:  # the others would wait for this thread for ever
            give_up(shared)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._others.shutdown()


ALONE = Team(1)
"""The calling thread and no other."""


def resolve_threads(n_threads: int | None) -> int:
    """Return how many threads to use: `n_threads`, or one for each processor that this process may use.

    Raises
    ------
    TypeError, ValueError
        If `n_threads` is not an integer of at least 1.
    """
    if n_threads is None:
        return available_processors()[0]
    return check_integer("n_threads", n_threads, minimum=1)
