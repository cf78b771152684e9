"""A meeting point of threads that costs less than a microsecond: they spin until the last has come.

Between the two halves of a batch threads wait some ten thousand times a second. Waking a thread that sleeps
takes longer than such a half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import atomic_add, atomic_load, yield_processor

__all__ = ["break_barrier", "make_barrier", "meet", "take"]

_LINE = 8  # int64s in a cache line: each field has one of its own
_WAITING, _MEETINGS, _TAKEN, _BROKEN = 0, _LINE, 2 * _LINE, 3 * _LINE
_SPINS = 2000  # then a thread yields: more may want to run than there are processors


def make_barrier() -> NDArray[np.int64]:
    """Return a barrier for `meet`."""
    return np.zeros(4 * _LINE, dtype=np.int64)


def break_barrier(barrier: NDArray[np.int64]) -> None:
    """Let all who wait at it, and all who will, go on at once and be told so."""
    barrier[_BROKEN] = 1


@njit(cache=True, inline="always")
def take(barrier: Any) -> Any:
    """Return 0 to the first thread that asks after a meeting, 1 to the next, and so on.

    Threads that take their work one piece at a time end together even where one is slower than another.
    """
    return atomic_add(barrier, _TAKEN, 1)


@njit(cache=True)
def meet(barrier: Any, n_threads: int) -> bool:
    """Wait until `n_threads` threads have called; return False if the barrier is broken."""
    meeting = atomic_load(barrier, _MEETINGS)
    if atomic_add(barrier, _WAITING, 1) == n_threads - 1:
        atomic_add(barrier, _WAITING, -n_threads)
        atomic_add(barrier, _TAKEN, -atomic_load(barrier, _TAKEN))
        atomic_add(barrier, _MEETINGS, 1)
        return True
    spins = 0
    while atomic_load(barrier, _MEETINGS) == meeting:
        if atomic_load(barrier, _BROKEN) != 0:
            return False
        spins += 1
        if spins > _SPINS:
            yield_processor()
    return True
