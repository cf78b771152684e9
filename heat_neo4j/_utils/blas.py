"""BLAS on one thread, where its sums are part of what is the same to the bit for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["one_blas_thread"]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread: its sums depend on the number, and on small arrays more threads are slower.

    It serves as a decorator too. Numba's threads, on which HEAT trains, are others. The limit is of the whole
    process: another thread's BLAS has one thread too meanwhile.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        yield
