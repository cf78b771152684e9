"""Work sharing between threads, in pieces and phases.

A phase ends with its last piece, without a barrier, so a preempted thread delays the others only while it
holds a piece. An idle thread spins for some microseconds, yields for some more, then sleeps, which frees the
processor for the preempted thread or another program.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import atomic_add, atomic_load, compare_and_swap, sched_yield, usleep
from heat_neo4j._kernels.jit import njit

_LINE = 8  # int64s per cache line; each field has its own line
_TAKEN, _NOW, _FINISHED, _GIVEN_UP, _OWN = (field * _LINE for field in range(5))
_SPINS, _YIELDS, _SLEEP = 2000, 200, 50  # some microseconds of each
# A thread's own field holds the phase (high half) and the number of pieces taken (low half).
_PHASE = np.int64(32)
_PIECES = np.int64(0xFFFFFFFF)


def share_work(n_threads: int) -> NDArray[np.int64]:
    """Return the shared state at the start of phase 0."""
    return np.zeros(_OWN + n_threads * _LINE, dtype=np.int64)


def give_up(shared: NDArray[np.int64]) -> None:
    """Abort the work: waiting threads return soon, now and later."""
    shared[_GIVEN_UP] = 1


@njit(cache=True, inline="always")
def next_index(shared: Any) -> Any:
    """Return 0, 1, 2, ... over the calls of all threads; for work with a single phase."""
    return atomic_add(shared, _TAKEN, 1)


@njit(cache=True)
def next_piece(shared: Any, phase: int, pieces: int, thread: int, n_threads: int) -> int:
    """Claim a piece of the phase; return -1 if none is left or the phase is over.

    Each thread has its own range of pieces, the same in every phase, for cache locality. It steals pieces
    from other ranges once its own is used up.
    """
    for turn in range(n_threads):
        owner = (thread + turn) % n_threads
        begin = owner * pieces // n_threads
        size = (owner + 1) * pieces // n_threads - begin
        field = _OWN + owner * _LINE
        state = atomic_load(shared, field)
        while state >> _PHASE <= phase:
            taken = state & _PIECES if state >> _PHASE == phase else np.int64(0)
            if taken >= size:
                break
            before = compare_and_swap(shared, field, state, (np.int64(phase) << _PHASE) + taken + 1)
            if before == state:
                return int(begin + taken)
            state = before
    return -1


@njit(cache=True)
def finish_pieces(shared: Any, done: int, pieces: int) -> None:
    """Count `done` pieces as finished; the last piece starts the next phase."""
    if done == 0 or atomic_add(shared, _FINISHED, done) + done < pieces:
        return
    atomic_add(shared, _FINISHED, -pieces)
    atomic_add(shared, _NOW, 1)


@njit(cache=True)
def next_phase(shared: Any, phase: int) -> int:
    """Wait until `phase` is over; return the current phase, or -1 after `give_up`."""
    turn = 0
    while atomic_load(shared, _NOW) == phase and atomic_load(shared, _GIVEN_UP) == 0:
        turn += 1
        if turn > _SPINS + _YIELDS:
            usleep(_SLEEP)
        elif turn > _SPINS:
            sched_yield()
    if atomic_load(shared, _GIVEN_UP) != 0:
        return -1
    return atomic_load(shared, _NOW)
