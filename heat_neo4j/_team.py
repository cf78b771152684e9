"""Threads that share the work of one compiled function."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from heat_neo4j._kernels.barrier import break_barrier, make_barrier
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
        """Call ``function(*arguments, barrier, thread, n_threads)`` on every thread, and wait for all.

        The function must be compiled with ``nogil=True``. It shares its work out by `take`, or waits for the
        others by `meet`, see `heat_neo4j._kernels.barrier`.
        """
        barrier = make_barrier()
        try:
            others = [
                self._others.submit(function, *arguments, barrier, thread, self.n_threads)
                for thread in range(1, self.n_threads)
            ]
            function(*arguments, barrier, 0, self.n_threads)
            for other in others:
                other.result()
        except BaseException:  # the others would wait for this thread for ever
            break_barrier(barrier)
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
    """Return how many threads to use: `n_threads`, or every core this process may run on.

    Raises
    ------
    TypeError, ValueError
        If `n_threads` is not an integer of at least 1.
    """
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_integer("n_threads", n_threads, minimum=1)
