"""BLAS on one thread, for results that must have the same bits on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["one_blas_thread"]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, as its sums depend on the number; a decorator too.

    The limit holds for the whole process meanwhile. Numba's threads, on which HEAT trains, are not limited.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        yield
