"""Threads that share work: every piece is done once, meetings hold, and an interruption frees the others."""

import threading

import numpy as np
import pytest
from numba import njit

from heat_neo4j._kernels.barrier import meet, take
from heat_neo4j._kernels.intrinsics import atomic_add, atomic_or
from heat_neo4j._team import ALONE, Team, resolve_threads


@njit(nogil=True)
def take_all(done, barrier, thread, n_threads):
    piece = take(barrier)
    while piece < done.shape[0]:
        done[piece] += 1
        piece = take(barrier)


@njit(nogil=True)
def in_turns(seen, wrong, barrier, thread, n_threads):
    """Each writes, all meet, each checks that all have written, all meet; work begins anew each time."""
    for turn in range(1, 2001):
        seen[thread] = turn
        if not meet(barrier, n_threads):
            return
        for other in range(n_threads):
            wrong[thread] += seen[other] != turn
        wrong[thread] += take(barrier) >= n_threads
        meet(barrier, n_threads)


@njit(nogil=True)
def count_and_mark(total, words, barrier, thread, n_threads):
    i = take(barrier)
    while i < 100_000:
        atomic_add(total, 0, i)
        atomic_or(words, i % 7, np.uint64(1) << np.uint64(i % 64))
        i = take(barrier)


@njit(nogil=True)
def wait(barrier, thread, n_threads):
    meet(barrier, n_threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_piece_of_work_is_done_once(threads):
    done = np.zeros(10_000, dtype=np.int64)
    with Team(threads) as team:
        for times in (1, 2):
            team.run(take_all, done)
            assert (done == times).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_no_thread_passes_a_meeting_before_all_have_come(threads):
    seen, wrong = np.zeros(threads, dtype=np.int64), np.zeros(threads, dtype=np.int64)
    with Team(threads) as team:
        team.run(in_turns, seen, wrong)
    assert wrong.tolist() == [0] * threads


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_nothing_added_or_marked_is_lost(threads):
    total, words = np.zeros(1, dtype=np.int64), np.zeros(7, dtype=np.uint64)
    with Team(threads) as team:
        team.run(count_and_mark, total, words)
    assert total[0] == 100_000 * 99_999 // 2
    assert (words == np.uint64(2**64 - 1)).all()


def test_an_interruption_frees_those_who_wait():
    def interrupted(barrier, thread, n_threads):
        if thread == 0:
            raise KeyboardInterrupt
        wait(barrier, thread, n_threads)

    wait_alone = threading.active_count()
    with pytest.raises(KeyboardInterrupt), Team(3) as team:
        team.run(interrupted)
    assert threading.active_count() == wait_alone


def test_an_error_of_another_thread_is_told():
    def failing(barrier, thread, n_threads):
        if thread == 1:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"), Team(2) as team:
        team.run(failing)


def test_a_team_of_one_needs_no_other_thread():
    before = threading.active_count()
    done = np.zeros(5, dtype=np.int64)
    ALONE.run(take_all, done)
    assert done.tolist() == [1] * 5
    assert threading.active_count() == before


def test_the_number_of_threads_is_checked():
    assert resolve_threads(3) == 3
    assert resolve_threads(None) >= 1
    with pytest.raises(ValueError, match="n_threads must be at least 1, got 0"):
        resolve_threads(0)
    with pytest.raises(TypeError, match="n_threads must be an integer"):
        resolve_threads(1.5)
