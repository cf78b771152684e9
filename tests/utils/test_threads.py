"""Threads that share work: each piece is done once, in phases; an interruption frees those who wait."""

import threading

import numpy as np
import pytest
from numba import njit

from heat_neo4j._kernels.intrinsics import atomic_add, atomic_or
from heat_neo4j._kernels.worksharing import finish_pieces, next_index, next_phase, next_piece, share_work
from heat_neo4j._utils.threads import ALONE, BestCount, WorkerThreads, resolve_threads


@njit(nogil=True)
def take_all(done, shared, thread, n_threads):
    piece = next_index(shared)
    while piece < done.shape[0]:
        done[piece] += 1
        piece = next_index(shared)


@njit(nogil=True)
def in_phases(done, wrong, phases, shared, thread, n_threads):
    """In every phase each piece is done once, and none before all of the phase before are."""
    pieces = done.shape[0]
    phase = next_phase(shared, -1)
    while 0 <= phase < phases:
        finished = 0
        piece = next_piece(shared, phase, pieces, thread, n_threads)
        while piece >= 0:
            for other in range(pieces):
                wrong[thread] += done[other] < phase
            wrong[thread] += done[piece] != phase
            done[piece] += 1
            finished += 1
            piece = next_piece(shared, phase, pieces, thread, n_threads)
        finish_pieces(shared, finished, pieces)
        phase = next_phase(shared, phase)


@njit(nogil=True)
def count_and_mark(total, words, shared, thread, n_threads):
    i = next_index(shared)
    while i < 100_000:
        atomic_add(total, 0, i)
        atomic_or(words, i % 7, np.uint64(1) << np.uint64(i % 64))
        i = next_index(shared)


@njit(nogil=True)
def wait(shared, thread, n_threads):
    next_phase(shared, 0)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_piece_of_work_is_done_once(threads):
    done = np.zeros(10_000, dtype=np.int64)
    with WorkerThreads(threads) as team:
        for times in (1, 2):
            team.run(take_all, done)
            assert (done == times).all()


@pytest.mark.parametrize("pieces", [1, 7, 64])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_no_phase_begins_before_the_one_before_is_done(threads, pieces):
    done, wrong = np.zeros(pieces, dtype=np.int64), np.zeros(threads, dtype=np.int64)
    with WorkerThreads(threads) as team:
        team.run(in_phases, done, wrong, 2000)
    assert wrong.tolist() == [0] * threads
    assert done.tolist() == [2000] * pieces


def test_a_thread_takes_pieces_of_its_own_range_first():
    shared = share_work(3)
    assert [next_piece(shared, 0, 7, 1, 3) for _ in range(3)] == [2, 3, 4]
    assert [next_piece(shared, 0, 7, 0, 3) for _ in range(5)] == [0, 1, 5, 6, -1]
    finish_pieces(shared, 7, 7)
    assert next_piece(shared, 1, 7, 2, 3) == 4
    assert next_piece(shared, 0, 7, 2, 3) == -1, "the phase is over"


def test_a_thread_that_does_not_come_holds_nobody_up():
    done, wrong = np.zeros(16, dtype=np.int64), np.zeros(3, dtype=np.int64)
    late = threading.Event()

    def one_is_late(shared, thread, n_threads):
        if thread == 1:
            late.wait()
        in_phases(done, wrong, 50, shared, thread, n_threads)
        late.set()  # by the others, when all is done

    with WorkerThreads(3) as team:
        team.run(one_is_late)
    assert done.tolist() == [50] * 16
    assert wrong.tolist() == [0] * 3


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_nothing_added_or_marked_is_lost(threads):
    total, words = np.zeros(1, dtype=np.int64), np.zeros(7, dtype=np.uint64)
    with WorkerThreads(threads) as team:
        team.run(count_and_mark, total, words)
    assert total[0] == 100_000 * 99_999 // 2
    assert (words == np.uint64(2**64 - 1)).all()


def test_an_interruption_frees_those_who_wait():
    def interrupted(shared, thread, n_threads):
        if thread == 0:
            raise KeyboardInterrupt
        wait(shared, thread, n_threads)

    wait_alone = threading.active_count()
    with pytest.raises(KeyboardInterrupt), WorkerThreads(3) as team:
        team.run(interrupted)
    assert threading.active_count() == wait_alone


def test_an_error_of_another_thread_is_told():
    def failing(shared, thread, n_threads):
        if thread == 1:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"), WorkerThreads(2) as team:
        team.run(failing)


def test_a_team_of_one_needs_no_other_thread():
    before = threading.active_count()
    done = np.zeros(5, dtype=np.int64)
    ALONE.run(take_all, done)
    assert done.tolist() == [1] * 5
    assert threading.active_count() == before


def test_some_threads_of_a_team_can_work_alone():
    done, wrong = np.zeros(16, dtype=np.int64), np.zeros(4, dtype=np.int64)
    with WorkerThreads(4) as team:
        for phases, count in ((10, 2), (25, 4), (30, 1)):
            done[:] = 0
            team.run(in_phases, done, wrong, phases, count=count)
            assert done.tolist() == [phases] * 16
    assert not wrong.any()


# --- how many threads --------------------------------------------------------------------------------------


def counts_of(most, speeds, calls, noise=0.0, seed=0):
    """Return the count of every call of a machine that does so much in a second with each count."""
    generator = np.random.default_rng(seed)
    best, counts = BestCount(most), []
    for call in range(calls):
        counts.append(best.count)
        speed = speeds(best.count, call) * (1 + noise * generator.uniform(-1, 1))
        best.ran(1000, 1000 / speed)
    return counts


@pytest.mark.parametrize("most", [2, 4, 16, 64])
def test_on_a_quiet_machine_nearly_all_calls_have_all_threads(most):
    counts = counts_of(most, lambda count, _: count**0.7, 400, noise=0.05)
    assert np.mean(np.array(counts) == most) > 0.95
    assert counts[0] == most


@pytest.mark.parametrize(("most", "fastest"), [(2, 1), (8, 1), (8, 5), (16, 15), (64, 40)])
def test_beside_busy_programs_the_fastest_count_is_found(most, fastest):
    def speeds(count, _):
        return count if count <= fastest else 0.7 * count

    counts = counts_of(most, speeds, 600)
    lost = 1 - np.mean([speeds(count, 0) for count in counts[200:]]) / fastest
    assert lost < (0.05 if most < 64 else 0.1)


def test_a_count_that_is_hardly_slower_is_not_given_up_for_noise():
    worse = counts_of(2, lambda count, _: 0.9 + 0.1 * (count == 2), 2000, noise=0.05)
    assert np.mean(np.array(worse) == 2) > 0.9


def test_a_machine_that_changes_is_noticed():
    """Busy at first and quiet from call 500 on, and busy again from call 1,000 on."""

    def speeds(count, call):
        return 1.7 if count == 2 and 500 <= call < 1000 else 0.6 if count == 2 else 1.0

    counts = np.array(counts_of(2, speeds, 1500, noise=0.05))
    assert np.mean(counts[20:500] == 1) > 0.95
    assert np.mean(counts[600:1000] == 2) > 0.95
    assert np.mean(counts[1020:] == 1) > 0.95


def test_a_trial_takes_a_quarter_of_a_call_at_a_time():
    best, calls = BestCount(2), []
    for _ in range(40):
        parts = []
        for begin, end, count in best.parts(100):
            assert begin == (parts[-1][1] if parts else 0)
            parts.append((begin, end, count))
        assert parts[-1][1] == 100
        calls.append(parts)
    assert [count for *_, count in calls[0]] == [2]
    alone = [end - begin for parts in calls for begin, end, count in parts if count == 1]
    assert alone[0] == 25


def test_one_thread_has_no_choice():
    assert set(counts_of(1, lambda count, call: 1.0, 100)) == {1}


def test_the_number_of_threads_is_checked(eight_processors):
    assert resolve_threads(3) == 3
    assert resolve_threads(None) == 8
    assert resolve_threads(9) == 8
    with pytest.raises(ValueError, match="n_threads must be at least 1, got 0"):
        resolve_threads(0)
    with pytest.raises(TypeError, match="n_threads must be an integer"):
        resolve_threads(1.5)
