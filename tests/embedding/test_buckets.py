"""Training by buckets: the tournament, the pairs of each bucket, and the whole against its twin."""

import random
from concurrent.futures import Future, ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_neo4j._kernels.pairs import contains
from heat_neo4j._kernels.random import alias_slots, slot_weights
from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding import buckets as by_buckets
from heat_neo4j.embedding.batches import batch_shape
from heat_neo4j.embedding.pairs import collect_pairs
from heat_neo4j.embedding.parts import draw_pairs, make_parts
from heat_neo4j.embedding.schedule import Schedule, late_moments
from heat_neo4j.embedding.tournament import Bucket, play, tournament
from heat_neo4j.embedding.training import train
from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.geometry.hyperboloid import lift
from tests.embedding.test_kernels import hub_graph, toy
from tests.support import naive, naive_buckets


@given(n_parts=st.integers(1, 40))
def test_each_part_meets_each_once_and_is_in_one_bucket_of_every_turn(n_parts):
    turns = tournament(n_parts)
    assert len(turns) == n_parts
    for turn, buckets in enumerate(turns):
        parts = [part for bucket in buckets for part in {bucket.first, bucket.second}]
        assert sorted(parts) == list(range(n_parts))
        assert all(bucket.turn == turn and bucket.first <= bucket.second for bucket in buckets)
    numbers = [bucket.number(n_parts) for buckets in turns for bucket in buckets]
    assert sorted(numbers) == list(range(n_parts * (n_parts + 1) // 2))


@settings(max_examples=30, deadline=None)
@given(n_parts=st.integers(1, 9), n_workers=st.integers(1, 4), seed=st.integers(0, 2**16))
def test_buckets_of_a_part_are_trained_one_after_the_other_in_the_order_of_their_turns(
    n_parts, n_workers, seed
):
    delays, busy, order = random.Random(seed), set(), {part: [] for part in range(n_parts)}

    def train(bucket, delay):
        parts = {bucket.first, bucket.second}
        assert not parts & busy
        busy.update(parts)
        sleep(delay)
        for part in parts:
            order[part].append(bucket.turn)
        busy.difference_update(parts)
        return bucket

    with ThreadPoolExecutor(n_workers) as pool:
        yielded = list(
            play(
                tournament(n_parts),
                lambda bucket: pool.submit(train, bucket, delays.random() / 1000),
                n_workers,
            )
        )
    assert all(bucket == result for bucket, result in yielded)
    assert len(yielded) == n_parts * (n_parts + 1) // 2
    assert all(turns == list(range(n_parts)) for turns in order.values())


def test_the_error_of_a_bucket_is_raised():
    def start(bucket):
        future: Future[None] = Future()
        if bucket == Bucket(1, 0, 3):
            future.set_exception(MemoryError("no room"))
        else:
            future.set_result(None)
        return future

    with pytest.raises(MemoryError, match="no room"):
        list(play(tournament(4), start, 2))


@settings(max_examples=20, deadline=None)
@given(n=st.integers(2, 300), n_parts=st.integers(1, 12), seed=st.integers(0, 99))
def test_parts_hold_each_node_once(n, n_parts, seed):
    parts = make_parts(n, n_parts, np.random.default_rng(seed))
    assert sorted(parts.nodes) == list(range(n))
    assert (parts.positions(parts.nodes) == np.arange(n)).all()
    spans = [parts.part(number) for number in range(n_parts)]
    assert np.concatenate([np.arange(n)[span] for span in spans]).tolist() == list(range(n))
    numbers = parts.addresses[parts.nodes] >> parts.place_bits
    assert all((numbers[span] == number).all() for number, span in enumerate(spans))


@pytest.mark.parametrize("n_parts", [1, 2, 5, 8])
@pytest.mark.parametrize("place_bits", [None, 17])
def test_the_pairs_of_each_bucket_are_those_of_the_walks(n_parts, place_bits):
    walks = make_walks(toy(), alpha=0.3, walk_length=20, key=np.uint64(5))
    parts = make_parts(60, n_parts, np.random.default_rng(1))
    if place_bits is not None:  # parts so large that a pair takes 8 bytes
        part, place = divmod(parts.positions(np.arange(60)), parts.size)
        addresses = (part << place_bits | place).astype(np.uint32)
        parts = parts._replace(place_bits=place_bits, addresses=addresses)
    indices = np.arange(100, 150)
    block = draw_pairs(walks, indices, 3, parts)
    assert block.pairs.dtype == (np.uint32 if place_bits is None else np.uint64)
    nodes, lengths = draw_walks(walks, indices)
    drawn = [row[:length].tolist() for row, length in zip(nodes, lengths, strict=True)]
    part_of = parts.positions(np.arange(60)) // parts.size
    for buckets in tournament(n_parts):
        for bucket in buckets:
            expected = naive_buckets.bucket_pairs(drawn, 3, part_of, bucket.first, bucket.second)
            found = {}
            for pair in block.of(bucket.number(n_parts)):
                places = int(pair) >> parts.place_bits, int(pair) & ((1 << parts.place_bits) - 1)
                ends = [
                    int(parts.nodes[parts.part(part).start + place])
                    for part, place in zip((bucket.first, bucket.second), places, strict=True)
                ]
                for pair_ in (tuple(ends), tuple(ends[::-1])):
                    found[pair_] = found.get(pair_, 0) + 1
            assert found == expected


def trained_slowly(start, walks, negatives, schedule, keys, n_parts):
    """Train as `train` does, all points in one table; return points, losses, pairs, skipped and damped."""
    n, weights = len(start), slot_weights(negatives.slots)
    met = {u: {v for v in range(n) if contains(negatives, u, v)} for u in range(n)}
    points, moments, seen = start.copy(), late_moments(), [[] for _ in range(n)]
    n_turns = schedule.walks_per_node * n_parts
    losses, trained, skipped, damped = [], 0, 0, 0
    for number in range(schedule.walks_per_node):
        seed = np.random.SeedSequence([int(keys.negatives), number])
        parts = make_parts(n, n_parts, np.random.Generator(np.random.PCG64(seed)))
        round_key = int(seed.generate_state(1, np.uint64)[0])
        nodes, lengths = draw_walks(walks, np.arange(number * n, (number + 1) * n))
        drawn = [row[:length].tolist() for row, length in zip(nodes, lengths, strict=True)]
        part_of = parts.positions(np.arange(n)) // parts.size
        loss = pairs = 0
        for turn, buckets in enumerate(tournament(n_parts)):
            for bucket in buckets:
                keys_ = np.random.SeedSequence([round_key, bucket.number(n_parts)]).generate_state(
                    2, np.uint64
                )
                in_parts = {
                    part: parts.nodes[parts.part(part)].tolist() for part in (bucket.first, bucket.second)
                }
                rows = [node for part in sorted(in_parts) for node in in_parts[part]]
                counted = naive_buckets.bucket_pairs(drawn, 3, part_of, bucket.first, bucket.second)
                ordered = naive_buckets.positions(
                    counted, rows, by_buckets._CONTEXTS, by_buckets._TIMES, keys_[0]
                )
                lost = 0

                def draw(
                    source, contexts, at, bucket=bucket, in_parts=in_parts, keys_=keys_, part_of=part_of
                ):
                    nonlocal lost
                    other = bucket.first if part_of[source] == bucket.second else bucket.second
                    there = in_parts[other]
                    a, b = negatives.listed_from[source], negatives.listed_from[source + 1]
                    if b > a:
                        there = [node for node in there if node in negatives.listed[a:b]]
                        there = sorted(there, key=lambda node: negatives.listed[a:b].tolist().index(node))
                    if not negatives.exists[source] or not there:
                        lost += sum(times for _, times in contexts)
                        return None
                    law = weights[there]
                    if b > a:
                        own = dict(
                            zip(
                                negatives.listed[a:b].tolist(),
                                slot_weights(negatives.listed_slots[a:b]),
                                strict=True,
                            )
                        )
                        law = np.array([own[node] for node in there])
                    table = naive.alias_rows(alias_slots(law))
                    avoided = set() if b > a else met[source]
                    return naive_buckets.negatives(
                        source, at, schedule.n_negatives, there, table, avoided, keys_[1]
                    )

                at_turn = number * n_parts + turn
                rates = [schedule.learning_rate * (1 - share / n_turns) for share in (at_turn, at_turn + 1)]
                segments, in_segment = batch_shape(schedule.batch_size, len(rows), len(rows))
                points, more, damped_ = naive_buckets.train_bucket(
                    points, ordered, draw, segments * in_segment, schedule.sigma, *rates
                )
                loss, damped, skipped = loss + more, damped + damped_, skipped + lost
                pairs += sum(counted.values()) - lost
                if any(at_turn / n_turns < moment <= (at_turn + 1) / n_turns for moment in moments):
                    for node in rows:
                        seen[node].append(points[node])
        losses.append(loss / pairs)
        trained += pairs
    sums = np.array([np.sum(each, axis=0) for each in seen])
    square = sums[:, -1:] ** 2 - (sums[:, :-1] ** 2).sum(axis=1, keepdims=True)
    return sums / np.sqrt(square), losses, trained, skipped, damped


@pytest.mark.parametrize(
    ("graph", "n_parts", "rate"),
    [
        (toy(90), 2, 0.004),
        (toy(90), 3, 0.004),
        (toy(90, isolated=(3, 7)), 4, 0.05),
        (hub_graph(60), 4, 0.001),
    ],
    ids=["two", "three", "damped", "hub"],
)
def test_training_agrees_with_the_twin(graph, n_parts, rate):
    keys = make_keys(3)
    walks = make_walks(graph, alpha=0.2, walk_length=12, key=keys.walks)
    negatives = collect_pairs(walks, walks_per_node=2, window_size=3, negative_exponent=0.5).negatives
    schedule = Schedule(2, 3, 4, 0.8, rate, 20, 1, n_parts)
    start = lift(np.random.default_rng(1).normal(size=(graph.n_nodes, 3)))
    with WorkerThreads(2) as team:
        result = train(start, walks, negatives, schedule, keys, team=team)
    points, losses, pairs, skipped, damped = trained_slowly(start, walks, negatives, schedule, keys, n_parts)
    assert (result.n_pairs, result.n_skipped, result.n_damped) == (pairs, skipped, damped)
    assert (result.n_damped > 0) == (rate == 0.05)
    assert result.n_parts == n_parts
    assert result.losses == pytest.approx(losses, rel=1e-9)
    np.testing.assert_allclose(result.points, points, rtol=1e-7, atol=1e-9)
    assert np.abs(result.points - start).max() > 1e-3
