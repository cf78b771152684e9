"""The simulated schedule: what no schedule can undercut, and that it is the trainer's."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_neo4j.embedding import tournament as trainer
from heat_neo4j.embedding.tournament import Bucket, play, tournament
from tests.benchmarks.schedule import Cluster, Outcome, Round, _Simulation, simulate, worth

BAD = Cluster(0, latency=0.1, variation=0.5, slow=0.3, deaths=60.0, absence=20.0)
WORK = Round(8, seconds=4.0, part_bytes=1e9, pair_bytes=1e9)


def longest_chain(simulation: _Simulation) -> float:
    """Return the seconds of training that must follow each other in the round that was played last."""
    ends = [0.0] * simulation.work.n_parts
    for buckets in tournament(simulation.work.n_parts):
        for bucket in buckets:
            end = max(ends[bucket.first], ends[bucket.second]) + simulation.seconds[bucket]
            ends[bucket.first] = ends[bucket.second] = end
    return max(ends)


@settings(max_examples=20, deadline=None)
@given(n_parts=st.integers(1, 20), variation=st.floats(0.0, 1.0), seed=st.integers(0, 99))
def test_one_worker_has_no_idle_time(n_parts: int, variation: float, seed: int) -> None:
    cluster = Cluster(1, latency=0.1, variation=variation)
    outcome = simulate(replace(WORK, n_parts=n_parts), cluster, rounds=2, seed=seed)
    assert outcome.idle == pytest.approx(0.0, abs=1e-9)
    moved = 2 * (n_parts * (2 * n_parts * 1e9 + n_parts * 0.5e9) / 1e9 + n_parts * (n_parts + 1) / 2 * 0.1)
    assert outcome.held == pytest.approx(outcome.work + moved)


@settings(max_examples=30, deadline=None)
@given(
    n_parts=st.integers(1, 20),
    workers=st.integers(1, 24),
    cluster=st.sampled_from([BAD, Cluster(0), Cluster(0, variation=1.0)]),
    seed=st.integers(0, 99),
)
def test_no_round_is_shorter_than_the_work_shared_out_or_its_longest_chain(
    n_parts: int, workers: int, cluster: Cluster, seed: int
) -> None:
    work = replace(WORK, n_parts=n_parts)
    simulation = _Simulation(work, replace(cluster, workers=workers), seed)
    simulation.play()
    assert simulation.now >= simulation.total / workers * (1 - 1e-9)
    assert simulation.now >= longest_chain(simulation) * (1 - 1e-9)
    moved = (2 * n_parts**2 * work.part_bytes + n_parts**2 * work.pair_bytes / 2) / cluster.bandwidth
    assert simulation.now >= moved * (1 - 1e-9)
    assert not simulation.holds
    assert {bucket for _, bucket in simulation.begun} == set(simulation.seconds)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 99))
def test_a_seed_has_one_result(seed: int) -> None:
    cluster = replace(BAD, workers=5)
    outcome = simulate(WORK, cluster, rounds=2, seed=seed)
    assert outcome == simulate(WORK, cluster, rounds=2, seed=seed)
    assert outcome != simulate(WORK, cluster, rounds=2, seed=seed + 1)


@settings(max_examples=50, deadline=None)
@given(n_parts=st.integers(1, 24), workers=st.integers(1, 16), seed=st.integers(0, 99))
def test_buckets_begin_as_the_trainer_begins_them(n_parts: int, workers: int, seed: int) -> None:
    simulation = _Simulation(Round(n_parts, seconds=1.0), Cluster(workers, variation=1.0), seed)
    simulation.play()
    now, ends, begun = 0.0, {}, []

    def start(bucket: Bucket) -> Future[None]:
        future: Future[None] = Future()
        ends[future] = now + simulation.seconds[bucket]
        begun.append((now, bucket))
        return future

    def wait(running: dict[Future[None], Bucket], return_when: str = "") -> tuple[set[Future[None]], None]:
        nonlocal now
        if not running:
            return set(), None
        first = min(running, key=ends.__getitem__)
        now = ends[first]
        first.set_result(None)
        return {first}, None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "wait", wait)
        assert len(list(play(tournament(n_parts), start, workers))) == n_parts * (n_parts + 1) // 2
    assert simulation.begun == begun
    assert simulation.now == now


def test_slow_workers_and_deaths_cost_time() -> None:
    calm, slow, dying = (
        simulate(Round(16, seconds=10.0), replace(cluster, workers=4))
        for cluster in (Cluster(0), Cluster(0, slow=0.25), Cluster(0, deaths=60.0))
    )
    assert calm.time == pytest.approx(1.0, abs=0.05)
    assert slow.time > calm.time
    assert dying.time > calm.time
    assert len(calm.begun) == len(slow.begun) == 16 * 17 // 2 < len(dying.begun)


def test_the_bucket_of_a_worker_that_dies_is_the_next_to_begin() -> None:
    order, again = (
        [bucket for _, bucket in simulate(Round(8, seconds=30.0), cluster).begun]
        for cluster in (Cluster(1), Cluster(1, deaths=20.0))
    )
    assert len(again) > len(order)
    assert [bucket for bucket, _ in groupby(again)] == order


def test_more_workers_than_half_of_the_parts_have_nothing_to_do() -> None:
    half, all_, more = (simulate(Round(16, seconds=10.0), Cluster(number)) for number in (8, 16, 64))
    assert half.idle == pytest.approx(0.0, abs=1e-9)
    assert half.seconds == pytest.approx(all_.seconds, rel=0.05)
    assert all_.seconds == more.seconds


def test_a_folder_is_shared_evenly() -> None:
    # Both read 3 bytes of two parts and their pairs together, train a second, and write 2.
    work = Round(4, seconds=1.0, part_bytes=1.0, pair_bytes=1.0)
    alone, together = (simulate(work, Cluster(number, bandwidth=1.0, link=1.0)) for number in (1, 2))
    assert alone.seconds == pytest.approx(4 * (1.5 + 0.5 + 1) + 6 * (3 + 1 + 2))
    assert together.seconds == pytest.approx(2 * (3 + 0.5 + 2) + 3 * (6 + 1 + 4))


def test_workers_are_worth_it_while_twice_as_many_are_half_as_fast_again() -> None:
    def outcome(workers: int, seconds: float) -> Outcome:
        return Outcome([], seconds, 1.0, 1.0, 1.0, workers)

    assert worth([outcome(1, 9.0), outcome(2, 6.0), outcome(4, 4.1)]).workers == 2
    assert worth([outcome(1, 9.0), outcome(2, 6.0), outcome(4, 4.0)]).workers == 4
    assert worth([outcome(1, 9.0), outcome(2, 6.1), outcome(4, 1.0)]).workers == 1
