"""Training by buckets: the tournament, the pairs of each bucket, and the whole against its twin."""

import itertools
import random
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from heat_neo4j._kernels import buckets as kernels
from heat_neo4j._kernels.buckets import SPARE, Draws, Positions
from heat_neo4j._kernels.pairs import contains
from heat_neo4j._kernels.random import alias_slots, slot_weights
from heat_neo4j._utils.array_store import ArraysInMemory
from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding import bucket_tasks
from heat_neo4j.embedding import parts as by_bucket
from heat_neo4j.embedding.batches import batch_shape
from heat_neo4j.embedding.pairs import collect_pairs
from heat_neo4j.embedding.parts import draw_pairs, hubs_of, make_parts
from heat_neo4j.embedding.schedule import Schedule, late_moments
from heat_neo4j.embedding.tournament import Bucket, play, tournament
from heat_neo4j.embedding.training import make_tasks, start_points, train, train_tasks
from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.embedding.warm_start import fit_warm
from heat_neo4j.geometry.hyperboloid import distance, lift
from heat_neo4j.heat import HEAT
from tests.embedding.test_kernels import hub_graph, toy
from tests.support import naive, naive_buckets
from tests.support.slow import slow
from tests.support.small_training import DIVERGING, star

ROUNDS = 3


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
@given(n=st.integers(2, 300), n_parts=st.integers(1, 12), n_hubs=st.integers(0, 2), seed=st.integers(0, 99))
def test_parts_hold_each_node_once_and_hubs_each_time(n, n_parts, n_hubs, seed):
    hubs = np.arange(n_hubs, dtype=np.int32)
    parts = make_parts(n, hubs, n_parts, np.random.default_rng(seed))
    own = []
    for number in range(n_parts):
        nodes = parts.nodes[parts.part(number)]
        assert nodes[:n_hubs].tolist() == hubs.tolist()
        own.append(nodes[n_hubs:].tolist())
        addresses = parts.addresses[nodes[n_hubs:]]
        assert (addresses >> parts.place_bits == number).all()
        place = (1 << parts.place_bits) - 1
        assert (addresses & place).tolist() == list(range(n_hubs, len(nodes)))
        assert (parts.addresses[hubs] == (n_parts << parts.place_bits | hubs)).all()
    assert sorted(np.concatenate(own)) == list(range(n_hubs, n))
    assert max(map(len, own)) - min(map(len, own)) <= 1


def part_of(parts, key, walk, at, node):
    """The part in which a walk meets a node at its step `at`."""
    part = int(parts.addresses[node]) >> parts.place_bits
    if part < parts.n_parts:
        return part
    stream = naive.Stream(key, walk)
    state = (stream.state + at * naive.GOLDEN) & naive.MASK
    return ((naive.mix(state) >> 32) * parts.n_parts) >> 32


def counted_pairs(walks, indices, window, parts, key):
    """How often each pair of (part, node) and (part, node) is in the walks, by its parts, both directions."""
    found = {}
    nodes, lengths = draw_walks(walks, indices)
    for walk, row, length in zip(indices, nodes.tolist(), lengths, strict=True):
        met = [(part_of(parts, key, int(walk), at, node), node) for at, node in enumerate(row[:length])]
        for a, b in itertools.permutations(range(length), 2):
            if abs(a - b) <= window and met[a][1] != met[b][1]:
                bucket = tuple(sorted((met[a][0], met[b][0])))
                pairs = found.setdefault(bucket, Counter())
                pairs[met[a], met[b]] += 1
    return found


@pytest.mark.parametrize("n_parts", [1, 2, 5, 8])
@pytest.mark.parametrize(("hubs", "wide"), [((), False), ((4, 9), False), ((4, 9), True)])
def test_the_pairs_of_each_bucket_are_those_of_the_walks(n_parts, hubs, wide):
    walks = make_walks(toy(), alpha=0.3, walk_length=20, key=np.uint64(5))
    parts = make_parts(60, np.array(hubs, dtype=np.int32), n_parts, np.random.default_rng(1))
    if wide:  # parts so large that a pair takes 8 bytes
        part, place = parts.addresses >> parts.place_bits, parts.addresses & ((1 << parts.place_bits) - 1)
        parts = parts._replace(place_bits=17, addresses=part << 17 | place)
    indices = np.arange(100, 150)
    block = draw_pairs(walks, indices, 3, parts, np.uint64(7))
    assert block.pairs.dtype == (np.uint64 if wide else np.uint32)
    expected = counted_pairs(walks, indices, 3, parts, 7)
    for buckets in tournament(n_parts):
        for bucket in buckets:
            found = Counter()
            for pair in block.of(bucket.number(n_parts)):
                places = int(pair) >> parts.place_bits, int(pair) & ((1 << parts.place_bits) - 1)
                ends = [
                    (part, int(parts.nodes[parts.part(part).start + place]))
                    for part, place in zip((bucket.first, bucket.second), places, strict=True)
                ]
                found[tuple(ends)] += 1
                found[tuple(ends[::-1])] += 1
            assert found == expected.get((bucket.first, bucket.second), Counter())


def hub_centroids(rows, n):
    """The centroid of all rows of each node, (part, node) to point."""
    sums = np.zeros((n, len(next(iter(rows.values())))))
    for (_, node), point in rows.items():
        sums[node] += point
    return sums / np.sqrt(sums[:, -1:] ** 2 - (sums[:, :-1] ** 2).sum(axis=1, keepdims=True))


def trained_slowly(start, walks, negatives, occurrences, schedule, keys, n_parts):
    """Train as `train` does, by (part, node); return points, losses, pairs, skipped and damped."""
    n, weights = len(start), slot_weights(negatives.slots)
    met = {u: {v for v in range(n) if contains(negatives, u, v)} for u in range(n)}
    points, moments, seen = start.copy(), late_moments(), np.zeros_like(start)
    portions = -(-ROUNDS // schedule.walks_per_node)
    n_turns = schedule.walks_per_node * portions * n_parts
    losses, trained, skipped, damped = [], 0, 0, 0
    for number in range(schedule.walks_per_node * portions):
        seed = np.random.SeedSequence([int(keys.negatives), number])
        hubs = hubs_of(occurrences, n_parts)
        parts = make_parts(n, hubs, n_parts, np.random.Generator(np.random.PCG64(seed)))
        round_key, hub_key = (int(key) for key in seed.generate_state(2, np.uint64))
        repetition, portion = divmod(number, portions)
        indices = np.arange(repetition * n, (repetition + 1) * n)[portion::portions]
        counted = counted_pairs(walks, indices, schedule.window_size, parts, hub_key)
        rows = {
            (part, node): points[node]
            for part in range(n_parts)
            for node in parts.nodes[parts.part(part)].tolist()
        }
        tally = {"loss": 0.0, "pairs": 0, "skipped": 0}
        for turn, buckets in enumerate(tournament(n_parts)):
            for bucket in buckets:
                both = {bucket.first, bucket.second}
                here = [row for part in sorted(both) for row in rows if row[0] == part]
                order_key, key = np.random.SeedSequence([round_key, bucket.number(n_parts)]).generate_state(
                    2, np.uint64
                )
                pairs = counted.get((bucket.first, bucket.second), Counter())
                ordered = naive_buckets.positions(
                    pairs, here, by_bucket.MOST_CONTEXTS, by_bucket._TIMES, order_key
                )
                law = Law(negatives, weights, met, hubs, n_parts, [row for row in rows if row[0] in both])
                step = schedule.learning_rate * bucket_tasks.BUCKET_RATE
                at_turn = number * n_parts + turn
                rates = [step * (1 - share / n_turns) for share in (at_turn, at_turn + 1)]
                segments, in_segment = batch_shape(schedule.batch_size, len(here), len(here))
                local = {row: i for i, row in enumerate(here)}

                def draw(source, contexts, at, law=law, key=key, both=both, tally=tally, local=local):
                    drawn = law.draw(source, at, schedule.n_negatives, key, both)
                    if drawn is None:
                        tally["skipped"] += sum(times for _, times in contexts)
                        return None
                    return [local[row] for row in drawn]

                moved, loss, damped_ = naive_buckets.train_bucket(
                    np.array([rows[row] for row in here]), ordered, local, draw, segments * in_segment,
                    schedule.sigma, *rates,
                )  # fmt: skip
                rows.update(zip(here, moved, strict=True))
                tally["loss"] += loss
                damped += damped_
                if any(at_turn / n_turns < moment <= (at_turn + 1) / n_turns for moment in moments):
                    for _, node in here:
                        seen[node] += rows[_, node]
        points = hub_centroids(rows, n)
        total = sum(sum(each.values()) for each in counted.values())
        losses.append(tally["loss"] / (total - tally["skipped"]))
        trained += total - tally["skipped"]
        skipped += tally["skipped"]
    square = seen[:, -1:] ** 2 - (seen[:, :-1] ** 2).sum(axis=1, keepdims=True)
    return seen / np.sqrt(square), losses, trained, skipped, damped


class Law:
    """What negatives are drawn from in a bucket."""

    def __init__(self, negatives, weights, met, hubs, n_parts, rows):
        self.negatives, self.weights, self.met = negatives, weights, met
        self.shares = {int(hub): 1 / n_parts for hub in hubs}
        self.rows = rows

    def draw(self, source, at, count, key, both):
        part, node = source
        other = part if len(both) == 1 else min(both - {part})
        there = [row for row in self.rows if row[0] == other]
        a, b = self.negatives.listed_from[node], self.negatives.listed_from[node + 1]
        listed = self.negatives.listed[a:b].tolist()
        law = self.weights
        if listed:
            own = dict(zip(listed, slot_weights(self.negatives.listed_slots[a:b]), strict=True))
            law = [own.get(v, 0.0) for v in range(len(self.weights))]
            ordered = [v for v in listed if v not in self.shares] + [v for v in listed if v in self.shares]
            there = [(other, v) for v in ordered if (other, v) in there]
        if not self.negatives.exists[node] or not there:
            return None
        table = naive.alias_rows(alias_slots(np.array([law[v] * self.shares.get(v, 1.0) for _, v in there])))
        avoided = {node} if listed else {node} | self.met[node]
        return naive_buckets.negatives(at, count, there, table, avoided, node, key)


@pytest.mark.parametrize(
    ("graph", "n_parts", "rate"),
    [
        slow(toy(36), 2, 0.004),
        (toy(36), 3, 0.004),
        (toy(50, isolated=(3, 7)), 4, 0.05),
        slow(hub_graph(44), 4, 0.001),
    ],
    ids=["two", "three", "damped", "hub"],
)
def test_training_agrees_with_the_twin(graph, n_parts, rate):
    keys = make_keys(3)
    walks = make_walks(graph, alpha=0.2, walk_length=12, key=keys.walks)
    collected = collect_pairs(walks, walks_per_node=1, window_size=3, negative_exponent=0.5)
    negatives, occurrences = collected.negatives, collected.occurrences
    schedule = Schedule(1, 3, 4, 0.8, rate, 20, 1, n_parts, fewest_rounds=ROUNDS)
    start = lift(np.random.default_rng(1).normal(size=(graph.n_nodes, 3)))
    with WorkerThreads(2) as team:
        result = train(start, walks, negatives, schedule, keys, team=team, occurrences=occurrences)
    points, losses, pairs, skipped, damped = trained_slowly(
        start, walks, negatives, occurrences, schedule, keys, n_parts
    )
    assert (result.n_pairs, result.n_skipped, result.n_damped) == (pairs, skipped, damped)
    assert (result.n_damped > 0) == (rate == 0.05)
    assert result.n_parts == n_parts
    assert result.losses == pytest.approx(losses, rel=1e-9)
    np.testing.assert_allclose(result.points, points, rtol=1e-7, atol=1e-9)
    assert np.abs(result.points - start).max() > 1e-3


def test_negatives_are_drawn_from_the_contexts_part_by_the_noise_law_outside_what_the_source_has_met():
    graph, n_parts, draws = hub_graph(400), 2, 6000
    walks = make_walks(graph, alpha=0.0, walk_length=20, key=np.uint64(5))
    collected = collect_pairs(walks, walks_per_node=2, window_size=2, negative_exponent=0.5)
    negatives, weights = collected.negatives, collected.occurrences**0.5
    hubs = hubs_of(collected.occurrences, n_parts)
    parts = make_parts(400, hubs, n_parts, np.random.default_rng(0))
    lists = by_bucket.lists_by_part(negatives, parts)
    slots = by_bucket.slots_by_part(slot_weights(negatives.slots), parts)
    bucket = Bucket(1, 0, 1)
    nodes = by_bucket.bucket_nodes(parts, slots, lists, bucket, negatives)
    places = {"hub": 0, "first part": len(hubs) + 3, "second part": nodes.first + len(hubs) + 5}
    assert hubs.tolist() == [0]
    assert nodes.list_of[places["hub"]] >= 0 > nodes.list_of[places["first part"]]
    for where, row in places.items():
        in_first = row < nodes.first
        context = len(nodes.names) - 1 if in_first else nodes.first - 1
        positions = Positions(
            *(np.full(draws, each, dtype=kind) for each, kind in ((row, np.int32), (0, np.int64))),
            *(np.ones(draws, dtype=np.int32) for _ in range(2)),
            np.array([context], dtype=np.int32), np.ones(1, dtype=np.float32),
        )  # fmt: skip
        drawn = drawn_by(nodes, positions, draws)
        there = np.arange(nodes.first, len(nodes.names)) if in_first else np.arange(nodes.first)
        law = np.zeros(len(nodes.names))
        for other in there:
            node = int(nodes.names[other])
            if node != nodes.names[row] and not contains(negatives, int(nodes.names[row]), node):
                law[other] = weights[node] / (n_parts if node in hubs else 1)
        seen = np.bincount(drawn, minlength=len(law))
        assert (seen[law == 0] == 0).all(), where
        expected = law[law > 0] / law.sum() * len(drawn)
        assert stats.chisquare(seen[law > 0], expected).pvalue > 0.001, where


def drawn_by(nodes, positions, count):
    """The negatives that the kernel draws, one for each position, after its context."""
    n_draws = count * (1 + SPARE)
    draws = Draws(
        np.empty(n_draws, np.int32), np.empty(n_draws, np.int64), np.empty(n_draws, np.uint64),
        np.empty(2 * count),
    )  # fmt: skip
    sources, contexts, ends = np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int64)
    candidates, tally = np.empty(2 * count, np.int32), np.zeros(2, np.int64)
    key = np.uint64(3)
    kernels._propose(positions, 0, count, 1, nodes, key, draws, 0)
    slots = kernels._draw(
        positions, 0, count, 1, nodes, key, draws, 0, sources, contexts, ends, candidates, draws.times, tally
    )
    assert slots == tally[0] == count
    return candidates[1::2]


def test_a_time_limit_ends_training_by_buckets_early_with_points_that_are_valid():
    graph, keys = toy(400), make_keys(0)
    walks = make_walks(graph, alpha=0.2, walk_length=80, key=keys.walks)
    negatives = collect_pairs(walks, walks_per_node=1, window_size=3, negative_exponent=0.5).negatives
    calls = []
    long = Schedule(10_000, 3, 5, 1.0, 0.05, 320, 1, 4)
    for limit in (0.0, 0.4):
        result = train(
            start_points(400, 4, keys.start), walks, negatives, long, keys, time_limit=limit,
            on_batch=lambda done, total: calls.append((done, total)),
        )  # fmt: skip
        assert 0 <= result.share < 0.5
        assert calls[-1] == (16 * 10_000,) * 2
        assert (result.losses > 0).all()
        spatial, time = result.points[:, :-1], result.points[:, -1]
        np.testing.assert_allclose(time**2 - (spatial**2).sum(axis=1), 1.0, rtol=1e-12)
    assert result.losses[-1] < result.losses[0]


def test_a_training_by_buckets_whose_points_get_too_far_out_begins_anew_with_half_the_rate():
    model = HEAT(**DIVERGING, learning_rate=100.0).fit(star())
    halved = model.training_["learning_rate_halved"]
    assert 1 < halved < 8
    again = HEAT(**DIVERGING, learning_rate=100.0 / 2**halved).fit(star())
    assert again.training_["learning_rate_halved"] == 0
    assert again.embedding_.tobytes() == model.embedding_.tobytes()


def test_a_warm_start_by_buckets_stays_near_its_start():
    graph = toy(300)
    model = HEAT(n_parts=4, walks_per_node=4, random_state=0).fit(graph)
    warm = fit_warm(model, graph, model.embedding_, np.zeros(300, dtype=bool))
    assert warm.training_["parts"] == 4
    moved = distance(warm.embedding_, model.embedding_).mean()
    apart = distance(model.embedding_, np.roll(model.embedding_, 1, axis=0)).mean()
    assert 0 < moved < 0.3 * apart


def test_what_a_round_needed_is_gone_when_the_next_has_begun():
    held, keys = [], make_keys(0)

    class Watched(ArraysInMemory):
        def save(self, name, array):
            super().save(name, array)
            # A copy, since the other thread saves arrays meanwhile.
            names = list(self._arrays)
            held.append({name.split("/")[1] for name in names if "/" in name and "tally" not in name})

    walks = make_walks(toy(90), alpha=0.2, walk_length=10, key=keys.walks)
    pairs = collect_pairs(walks, walks_per_node=7, window_size=3, negative_exponent=0.5)
    schedule = Schedule(7, 3, 4, 0.8, 0.004, 20, 1, n_parts=3)
    start = start_points(90, 2, keys.start)
    tasks = make_tasks(Watched(), start, walks, pairs.negatives, pairs.occurrences, schedule, keys)
    with WorkerThreads(2) as team:
        train_tasks(tasks, team)
    rounds = [{name for name in names if name.startswith("round")} for names in held]
    assert max(map(len, rounds)) == 2
    assert max(len({name for name in names if name.startswith("pairs")}) for names in held) == 1
    assert {"round6"} in rounds
