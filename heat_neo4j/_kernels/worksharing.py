"""Work that threads share piece by piece, in phases.

A phase is over when its last piece is finished, not when every thread has come: a thread that the operating
system has put aside holds the others up only while it holds a piece. Who finds no piece left spins for some
microseconds, then sleeps, so that the processor is free for that thread or for another program.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.intrinsics import (
    atomic_add,
    atomic_load,
    compare_and_swap,
    pthread_cond_broadcast,
    pthread_cond_wait,
    pthread_mutex_lock,
    pthread_mutex_unlock,
)
from heat_neo4j._kernels.jit import njit

__all__ = ["finish_piece", "give_up", "next_phase", "next_piece", "share_work", "take"]

_LINE = 8  # int64s in a cache line: each field has one of its own
_NEXT, _FINISHED, _ASLEEP, _GIVEN_UP, _MUTEX, _CONDITION = (field * _LINE for field in (0, 1, 2, 3, 4, 6))
_FIELDS = 8 * _LINE  # a mutex and a condition of POSIX threads take up to two lines each
_SPINS = 2000  # a few microseconds
_PHASE = np.int64(32)  # the high half of the field _NEXT is the phase, the low half its next piece
_PIECE = np.int64(0xFFFFFFFF)


def share_work() -> NDArray[np.int64]:
    """Return the state of work that is about to be shared: phase 0, of which no piece is taken."""
    shared = np.zeros(_FIELDS, dtype=np.int64)
    posix = ctypes.CDLL(None)
    posix.pthread_mutex_init(_address(shared, _MUTEX), None)
    posix.pthread_cond_init(_address(shared, _CONDITION), None)
    return shared


def give_up(shared: NDArray[np.int64]) -> None:
    """Let all who wait, and all who will, go on at once and find no more work."""
    shared[_GIVEN_UP] = 1
    posix = ctypes.CDLL(None)
    posix.pthread_mutex_lock(_address(shared, _MUTEX))
    posix.pthread_cond_broadcast(_address(shared, _CONDITION))
    posix.pthread_mutex_unlock(_address(shared, _MUTEX))


def _address(shared: NDArray[np.int64], field: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(shared.ctypes.data + field * shared.itemsize)


@njit(cache=True, inline="always")
def take(shared: Any) -> Any:
    """Return 0 to the first thread that asks, 1 to the next, and so on: for work of a single phase."""
    return atomic_add(shared, _NEXT, 1)


@njit(cache=True)
def next_piece(shared: Any, phase: int, pieces: int) -> int:
    """Return a piece of the phase that no thread has taken yet; -1 if there is none, or the phase is over."""
    seen = atomic_load(shared, _NEXT)
    while seen >> _PHASE == phase and (seen & _PIECE) < pieces:
        before = compare_and_swap(shared, _NEXT, seen, seen + 1)
        if before == seen:
            return seen & _PIECE
        seen = before
    return -1


@njit(cache=True)
def finish_piece(shared: Any, pieces: int) -> None:
    """Say that a piece is done; with the last of them the next phase begins."""
    if atomic_add(shared, _FINISHED, 1) < pieces - 1:
        return
    atomic_add(shared, _FINISHED, -pieces)
    atomic_add(shared, _NEXT, (np.int64(1) << _PHASE) - pieces)
    if atomic_load(shared, _ASLEEP) > 0:
        pthread_mutex_lock(shared, _MUTEX)
        pthread_cond_broadcast(shared, _CONDITION)
        pthread_mutex_unlock(shared, _MUTEX)


@njit(cache=True)
def next_phase(shared: Any, phase: int) -> int:
    """Wait until a phase is over; return which it is now, or -1 if the work is given up."""
    for _ in range(_SPINS):
        if atomic_load(shared, _NEXT) >> _PHASE != phase:
            break
    else:
        pthread_mutex_lock(shared, _MUTEX)
        atomic_add(shared, _ASLEEP, 1)
        while atomic_load(shared, _NEXT) >> _PHASE == phase and atomic_load(shared, _GIVEN_UP) == 0:
            pthread_cond_wait(shared, _CONDITION, _MUTEX)
        atomic_add(shared, _ASLEEP, -1)
        pthread_mutex_unlock(shared, _MUTEX)
    if atomic_load(shared, _GIVEN_UP) != 0:
        return -1
    return atomic_load(shared, _NEXT) >> _PHASE
