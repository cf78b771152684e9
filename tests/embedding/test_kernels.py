"""Compiled walks, pairs, negatives and training against their slow twins."""

from functools import cache
from time import perf_counter

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import logsumexp

from heat_neo4j._kernels.pairs import RING, Negatives, PairSet, contains, draw_negatives, list_negatives
from heat_neo4j._kernels.random import advance, alias_slots, draw_slot, step, stream, unit
from heat_neo4j._kernels.training import softmax, train_batches
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.batches import make_workspace
from heat_neo4j.embedding.pairs import collect_pairs, make_pair_set
from heat_neo4j.embedding.schedule import LateMean, Schedule
from heat_neo4j.embedding.similarity import longest_list, make_similarity
from heat_neo4j.embedding.training import start_points, train
from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.geometry.hyperboloid import distance, lift
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.support import naive
from tests.support.shapes import make_shape


def toy(n=60, seed=0, attributes=True, isolated=()):
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.random((n, n)) < 3 / n, 1) * rng.integers(1, 5, (n, n))
    dense[list(isolated)] = 0
    dense[:, list(isolated)] = 0
    x = (rng.random((n, 12)) < 0.3) * rng.random((n, 12)) if attributes else None
    return Graph(adjacency=sparse.csr_array(dense.astype(float)), attributes=x)


def walks_of(graph, alpha=0.3, length=20, key=5):
    return make_walks(graph, alpha=alpha, walk_length=length, key=np.uint64(key))


def test_streams_agree_with_the_twin():
    twin = naive.Stream(123, 45)
    state = stream(np.uint64(123), 45)
    slots = np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64)
    for _ in range(50):
        state = step(np.uint64(state))
        assert unit(np.uint64(state)) == twin.unit()
        state = step(np.uint64(state))
        assert draw_slot(slots, 10, 990, np.uint64(state)) == twin.slot(naive.alias_rows(slots[10:]))


def drawn(walks, indices):
    """The nodes of some walks, as lists."""
    nodes, lengths = draw_walks(walks, np.array(indices))
    return [row[:length].tolist() for row, length in zip(nodes, lengths, strict=True)]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("attributes", [True, False])
def test_walks_agree_with_the_twin(alpha, attributes):
    graph = toy(attributes=attributes, isolated=(3, 7))
    walks = walks_of(graph, alpha=alpha)
    dense = graph.adjacency.toarray()
    table = walks.similarity.table if attributes else None
    for index, nodes in enumerate(drawn(walks, range(60))):
        assert nodes == naive.walk(dense, table, alpha, 20, 5, index, index)


def test_a_node_with_neither_neighbours_nor_similar_nodes_ends_its_walk():
    graph = toy(attributes=False, isolated=(3,))
    assert drawn(walks_of(graph), [3]) == [[3]]


def test_an_isolated_node_with_attributes_teleports_even_at_alpha_0():
    graph = toy(isolated=(3,))
    (nodes,) = drawn(walks_of(graph, alpha=0.0), [3])
    assert len(nodes) == 20
    assert naive.similarity(graph.attributes)[3, nodes[1]] > 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_pairs_and_occurrences_agree_with_the_twin(threads):
    graph = toy()
    walks = walks_of(graph)
    with WorkerThreads(threads) as team:
        pairs = collect_pairs(walks, walks_per_node=3, window_size=3, negative_exponent=0.75, team=team)
    found = drawn(walks, range(180))
    expected = naive.pairs(found, 3)
    assert pairs.n_pairs == len(expected)
    assert pairs.exclusion == "exact"
    members = {(u, v) for u in range(60) for v in range(60) if contains(pairs.negatives, u, v)}
    assert members == set(expected)
    assert pairs.occurrences.tolist() == np.bincount(np.concatenate(found), minlength=60).tolist()


def test_a_bloom_filter_holds_every_pair_and_says_how_many_others_it_takes_for_one():
    graph = toy(300)
    walks = walks_of(graph)
    filter_ = make_pair_set(300, 2, 20, 3, exact_bytes=0)
    assert filter_.row_words == 0
    pairs = collect_pairs(walks, walks_per_node=2, window_size=3, negative_exponent=0.75, pair_set=filter_)
    expected = set(naive.pairs(drawn(walks, range(600)), 3))
    assert all(contains(pairs.negatives, u, v) for u, v in expected)
    outside = [(u, v) for u in range(300) for v in range(300) if (u, v) not in expected]
    wrong = np.mean([contains(pairs.negatives, u, v) for u, v in outside])
    assert pairs.exclusion == "bloom filter"
    assert wrong == pytest.approx(pairs.false_positive_share, abs=0.005)
    assert wrong < 0.05


def draw_negative(negatives, source, state):
    """Draw one negative as the trainer draws several."""
    slots, _, *listed, words, row_words = negatives
    drawn = np.full(2, -1, dtype=np.int32)
    used, _ = draw_negatives(
        slots, *listed, words, row_words, source, state, 0, 0, np.zeros(RING, np.int32), drawn, 1, 1
    )
    return advance(state, used), drawn[1]


def twin_negatives(negatives, source, contexts, stream, count):
    """Draw as `draw_negative` should."""
    a, b = negatives.listed_from[source], negatives.listed_from[source + 1]
    return naive.negatives(
        source, contexts, naive.alias_rows(negatives.slots), stream, count,
        negatives.listed[a:b], naive.alias_rows(negatives.listed_slots[a:b]),
    )  # fmt: skip


@pytest.mark.parametrize("window", [1, 2, 6])
def test_negatives_agree_with_the_twin_and_follow_the_noise_law(window):
    graph = toy(80)
    pairs = collect_pairs(walks_of(graph), walks_per_node=2, window_size=window, negative_exponent=0.75)
    contexts = {u: {v for v in range(80) if contains(pairs.negatives, u, v)} for u in range(80)}
    source = 11
    assert (pairs.negatives.listed_from[source + 1] > pairs.negatives.listed_from[source]) == (window == 6)
    expected = twin_negatives(pairs.negatives, source, contexts, naive.Stream(9, 4), 20_000)
    state = np.uint64(stream(np.uint64(9), 4))
    found = []
    for _ in range(20_000):
        state, v = draw_negative(pairs.negatives, source, np.uint64(state))
        found.append(v)
    assert found == expected
    law = pairs.occurrences**0.75
    law[[source, *contexts[source]]] = 0
    seen = np.bincount(found, minlength=80)
    assert (seen[law == 0] == 0).all()
    assert stats.chisquare(seen[law > 0], law[law > 0] / law.sum() * len(found)).pvalue > 0.001


def outside(pairs, u):
    """The negatives of a node, by trying all."""
    return [v for v in range(len(pairs.occurrences)) if v != u and not contains(pairs.negatives, u, v)]


@pytest.mark.parametrize("exact_bytes", [2**28, 0])
def test_lists_hold_exactly_the_nodes_never_met_and_keep_to_their_budget(monkeypatch, exact_bytes):
    walks = walks_of(toy(80))

    def collected():
        pair_set = make_pair_set(80, 2, walks.length, 5, exact_bytes)
        return collect_pairs(
            walks, walks_per_node=2, window_size=5, negative_exponent=0.75, pair_set=pair_set
        )

    pairs = collected()
    full, weights = pairs.negatives, pairs.occurrences**0.75
    sizes = np.diff(full.listed_from)
    share = np.array([sum(weights[v] for v in outside(pairs, u)) for u in range(80)]) / weights.sum()
    assert ((sizes > 0) == ((share > 0) & (share < 0.2))).all()
    assert 0 < (sizes > 0).sum() == pairs.n_crowded < 80
    for u in np.flatnonzero(sizes):
        assert full.listed[full.listed_from[u] : full.listed_from[u + 1]].tolist() == outside(pairs, u)
    monkeypatch.setattr("heat_neo4j.embedding.pairs.LISTED_BYTES", 12 * int(sizes.sum()) // 2)
    some = np.diff(collected().negatives.listed_from)
    assert sizes.sum() // 2 - len(sizes) < some.sum() <= sizes.sum() // 2
    assert (some == np.minimum(sizes, some.max())).all()


def test_a_list_without_room_for_all_is_a_fair_sample():
    pairs = collect_pairs(walks_of(toy(80)), walks_per_node=2, window_size=5, negative_exponent=0.75)
    weights, set_ = pairs.occurrences**0.75, PairSet(pairs.negatives.words, pairs.negatives.row_words)
    u = np.argmax(np.diff(pairs.negatives.listed_from))
    nodes, room = outside(pairs, u), 4
    listed_from = np.where(np.arange(81) > u, room, 0)
    listed, slots, seen = np.empty(room, np.int32), np.empty(room, np.uint64), np.zeros(80)
    for key in range(2000):
        ALONE.run(
            list_negatives, set_, weights, np.array([u]), np.array([len(nodes)]), np.uint64(key), listed_from,
            listed, slots,
        )  # fmt: skip
        np.add.at(seen, listed, 1)
    law = weights[nodes] / weights[nodes].sum()
    assert seen[nodes].sum() == 2000 * room
    assert stats.chisquare(seen[nodes], law * seen.sum()).pvalue > 0.001
    assert [
        draw_slot(slots, 0, room, state)
        for state in np.random.default_rng(0).integers(0, 2**64, 5000, dtype=np.uint64)
    ].count(2) == pytest.approx(1250, abs=150)


def hub_graph(n):
    """A ring of n nodes, the first of which is joined to all but the last ten."""
    ring = sparse.lil_array((n, n))
    ring.setdiag(1, 1)
    ring[0, : n - 10] = 1
    ring[0, 0] = 0
    return Graph(adjacency=sparse.csr_array(ring))


@pytest.mark.parametrize("exact_bytes", [2**28, 0])
def test_the_negatives_of_a_hub_are_listed_and_cost_one_draw_each(exact_bytes):
    walks, pair_set = walks_of(hub_graph(400), length=40), make_pair_set(400, 10, 40, 3, exact_bytes)
    pairs = collect_pairs(walks, walks_per_node=10, window_size=3, negative_exponent=0.5, pair_set=pair_set)
    state = np.uint64(stream(np.uint64(1), 1))
    after, v = draw_negative(pairs.negatives, 0, state)
    assert v in outside(pairs, 0)
    assert len(outside(pairs, 0)) < 12
    assert after == advance(state, 1)


def test_a_filter_too_small_for_the_pairs_excludes_nothing_but_says_so():
    pairs = collect_pairs(
        walks_of(toy(80)), walks_per_node=2, window_size=3, negative_exponent=0.75,
        pair_set=PairSet(np.zeros(1, dtype=np.uint64), 0),
    )  # fmt: skip
    assert pairs.exclusion == "crowded nodes"
    assert pairs.false_positive_share > 0.99
    unlisted = np.flatnonzero(pairs.negatives.exists & (np.diff(pairs.negatives.listed_from) == 0))
    assert len(unlisted) == 0 or not any(contains(pairs.negatives, u, v) for u in unlisted for v in range(80))


def test_draws_end_where_every_node_looks_met():
    weights = np.ones(50)
    full = Negatives(
        alias_slots(weights), np.ones(50, np.bool_), np.zeros(51, np.int64), np.zeros(0, np.int32),
        np.zeros(0, np.uint64), np.full(1, ~np.uint64(0)), 0,
    )  # fmt: skip
    everyone = {u: set(range(50)) for u in range(50)}
    assert draw_negative(full, 7, np.uint64(stream(np.uint64(9), 4)))[1] == naive.negatives(
        7, everyone, naive.alias_rows(full.slots), naive.Stream(9, 4), 1
    ).pop()  # fmt: skip


def test_alias_slots_give_each_position_its_share():
    weights = np.array([0.0, 1.0, 2.0, 10.0, 0.5])
    share = np.zeros(5)
    for i, (threshold, alias) in enumerate(naive.alias_rows(alias_slots(weights))):
        share[i] += threshold / 5
        share[alias] += (1 - threshold) / 5
    assert share == pytest.approx(weights / weights.sum(), abs=1e-9)


def test_a_node_that_met_every_other_has_no_negative():
    complete = Graph(adjacency=sparse.csr_array(np.ones((6, 6)) - np.eye(6)))
    pairs = collect_pairs(walks_of(complete), walks_per_node=5, window_size=3, negative_exponent=0.75)
    assert not pairs.negatives.exists.any()


def spread_points(n, d, seed=1, scale=1.0):
    return lift(np.random.default_rng(seed).normal(scale=scale, size=(n, d)))


class Training:
    """What the training of a few batches starts from."""

    n, d, length, window, m, sigma = 360, 3, 20, 2, 4, 0.8
    rates = (0.01, 0.008, 0.006)

    def __init__(self):
        self.graph, self.keys = toy(self.n), make_keys(3)
        self.walks = make_walks(self.graph, alpha=0.2, walk_length=self.length, key=self.keys.walks)
        self.negatives = collect_pairs(
            self.walks, walks_per_node=1, window_size=self.window, negative_exponent=0.75
        ).negatives
        self.indices = np.random.default_rng(0).permutation(self.n)
        self.points = spread_points(self.n, self.d)
        self.contexts = {
            u: {v for v in range(self.n) if contains(self.negatives, u, v)} for u in range(self.n)
        }

    def frozen(self, some):
        return np.random.default_rng(8).random(self.n) < (0.5 if some else 0.0)


@cache  # the same for any number of threads
def trained_slowly(training, segments, positions, pace, some_frozen):
    """Return the points, the loss, the number of pairs and the number of damped pulls."""
    dense, window = training.graph.adjacency.toarray(), training.window
    points, loss, count, damped = training.points.copy(), 0.0, 0, 0
    for batch, rate in enumerate(training.rates):
        batch_pairs = []
        first = training.n // segments - 1 + batch
        for segment in range(first * segments, (first + 1) * segments):
            start = int(training.indices[segment % training.n])
            begin = (segment // training.n) * positions
            nodes = naive.walk(
                dense,
                training.walks.similarity.table,
                0.2,
                training.length,
                training.keys.walks,
                start,
                start,
            )
            twin = naive.Stream(naive.Stream(training.keys.negatives, start).state, begin)
            for at in range(begin, min(begin + positions, training.length, len(nodes))):
                near = [n for n in nodes[max(at - window, 0) : at + window + 1] if n != nodes[at]]
                shared = (
                    twin_negatives(training.negatives, nodes[at], training.contexts, twin, training.m)
                    if near
                    else []
                )
                batch_pairs += [(nodes[at], [context, *shared]) for context in near]
        points, batch_loss, batch_damped = naive.train_batch(
            points, batch_pairs, training.sigma, pace * rate, training.frozen(some_frozen)
        )
        loss += batch_loss
        damped += batch_damped
        count += len(batch_pairs)
    return points, loss, count, damped


@pytest.fixture(scope="module")
def training():
    return Training()


@pytest.mark.parametrize("some_frozen", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("batch_size", "pace"), [(20, 1.0), (7, 1.0), (40, 1.0), (20, 20.0), (40, 20.0)])
def test_training_agrees_with_the_twin(training, batch_size, pace, threads, some_frozen):
    n, d, window, m, sigma = training.n, training.d, training.window, training.m, training.sigma
    schedule = Schedule(1, window, m, sigma, 0.05, batch_size, 1)
    w = make_workspace(n, d, schedule, training.length, threads)
    frozen = training.frozen(some_frozen)
    if some_frozen:
        w = w._replace(frozen=frozen)
    segments, positions, _ = w.pulls.shape
    per_walk = -(-training.length // positions)
    first = n // segments - 1  # the last batch of first segments, then two of second ones
    wide = np.pad(training.points, ((0, 0), (0, padded_width(d + 1) - d - 1)))
    with WorkerThreads(threads) as team:
        team.run(
            train_batches, wide, d, training.indices, *draw_walks(training.walks, training.indices),
            w, positions, per_walk * len(training.indices), first, 1, pace * np.array(training.rates), sigma,
            training.keys.negatives, training.negatives, window, None, 0, 0, m,
        )  # fmt: skip
    new = wide[:, : d + 1]
    loss = w.losses.sum()
    trained, skipped = w.tallies.sum(axis=0)

    expected, total, count, damped = trained_slowly(training, segments, positions, pace, some_frozen)
    assert trained == count
    assert skipped == 0
    assert w.n_damped.sum() == damped
    assert (damped > 0) == (pace > 1)
    assert loss == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(new, expected, rtol=1e-9, atol=1e-11)
    assert np.abs(new - training.points).max() > 1e-3
    assert new[frozen].tobytes() == training.points[frozen].tobytes()


def softmax_of(positions, scale, times=None):
    """Run the kernel on positions of (distances of contexts, distances of negatives)."""
    contexts = np.array([len(near) for near, _ in positions])
    ends = np.cumsum([len(near) + len(others) for near, others in positions])
    distances = np.concatenate([part for position in positions for part in position])
    weights, stiffness = np.empty(len(distances)), np.empty(len(distances))
    z = 2 * np.sinh(distances / 2) ** 2
    loss = softmax(
        z, len(positions), contexts, ends, scale, weights, stiffness, np.empty(len(distances)), times
    )
    return loss, weights, stiffness


@pytest.mark.parametrize("reach", [4e-4, 1.3e-3, 2e-3, 1.0])  # all by the series, some, none twice
def test_the_softmax_is_exact_for_near_points(reach):
    distances = reach * np.array([0.9, 1.0, 1.1, 1.2])
    scale = 1.0 / reach**2
    loss, weights, stiffness = softmax_of([(distances[:1], distances[1:])], scale)
    p = np.exp(-scale * distances**2)
    p /= p.sum()
    away = np.array([1.0, 0, 0, 0]) - p
    assert loss == pytest.approx(-np.log(p[0]), rel=1e-8)
    assert stiffness == pytest.approx(np.abs(away), rel=1e-8)
    assert weights == pytest.approx(away * distances / np.sinh(distances), rel=1e-8)


@pytest.mark.parametrize("far", [1.0, 8.0, 18.0])  # at 18, d^2 / 2 sigma^2 reaches 1300: exp(-1300) is 0
def test_contexts_share_their_negatives(far):
    positions = [
        (far * np.array([0.3, 1.0, 2.0]), far * np.array([0.9, 1.1, 1.7])),
        (far * np.array([1.9]), far * np.array([0.2, 0.4])),
    ]
    loss, weights, stiffness = softmax_of(positions, 1.0)
    expected, away = 0.0, []
    for near, others in positions:
        pulls = np.zeros(len(near) + len(others))
        for context, d in enumerate(near):
            logits = -(np.append(d, others) ** 2)
            expected += logsumexp(logits) - logits[0]
            p = np.exp(logits - logsumexp(logits))
            pulls[context] += 1.0 - p[0]
            pulls[len(near) :] -= p[1:]
        away.append(pulls)
    away = np.concatenate(away)
    distances = np.concatenate([part for position in positions for part in position])
    assert loss == pytest.approx(expected, rel=1e-9)
    assert stiffness == pytest.approx(np.abs(away), rel=1e-6, abs=1e-12)
    assert weights == pytest.approx(away * distances / np.sinh(distances), rel=1e-6, abs=1e-12)


def test_a_context_that_stands_for_several_pairs_counts_as_these():
    near, others = np.linspace(0.2, 2.0, 7), np.array([0.9, 1.1, 1.7])
    times = np.append(np.arange(1.0, 8.0), np.zeros(3))
    several = [(np.repeat(near, np.arange(1, 8)), others)]
    loss, weights, stiffness = softmax_of([(near, others)], 0.7, times)
    expected, each_weight, each_stiffness = softmax_of(several, 0.7)
    first = np.cumsum(np.arange(7))  # of each context, among those that stand for one pair
    assert loss == pytest.approx(expected, rel=1e-12)
    for ours, of_each in ((weights, each_weight), (stiffness, each_stiffness)):
        assert ours[:7] == pytest.approx(times[:7] * of_each[first], rel=1e-12)
        assert ours[7:] == pytest.approx(of_each[28:], rel=1e-12)


def test_a_loss_too_large_for_one_logarithm_is_added_up():
    near, others = np.full(200, 3.0), np.full(5000, 1.0)  # (1 + 5000 e^4)^200 is no float64
    loss, _, _ = softmax_of([(near, others)], 0.5)
    assert loss == pytest.approx(200 * np.log(1 + 5000 * np.exp(4.0)), rel=1e-12)


def test_directions_are_the_negative_gradient_of_the_loss():
    """Finite differences of the loss along tangent directions at the source and at each candidate."""
    points = spread_points(6, 3, seed=4)
    candidates = np.array([1, 2, 3, 4, 5])
    sigma, h = 0.7, 1e-6
    _, at_source, at_candidates, _ = naive.loss_and_directions(points, 0, candidates, sigma)
    directions = {0: at_source, **dict(zip(candidates.tolist(), at_candidates, strict=True))}
    rng = np.random.default_rng(0)
    for node, direction in directions.items():
        tangent = naive.project_tangent(points[node], rng.normal(size=4))
        ends = []
        for sign in (1, -1):
            moved = points.copy()
            moved[node] = naive.exp_map(points[node], sign * h * tangent)
            ends.append(naive.loss_and_directions(moved, 0, candidates, sigma)[0])
        slope = (ends[0] - ends[1]) / (2 * h)
        inner = np.sum(direction[:-1] * tangent[:-1]) - direction[-1] * tangent[-1]
        assert slope == pytest.approx(-inner, rel=1e-5, abs=1e-8)


def test_training_descends_and_stays_on_the_hyperboloid():
    graph = toy(200)
    keys = make_keys(0)
    walks = make_walks(graph, alpha=0.2, walk_length=20, key=keys.walks)
    pairs = collect_pairs(walks, walks_per_node=5, window_size=3, negative_exponent=0.75)
    schedule = Schedule(5, 3, 5, 1.0, 0.05, 320, 2)
    result = train(start_points(200, 4, keys.start), walks, pairs.negatives, schedule, keys)
    assert result.losses[-1] < result.losses[0] < np.log(6) + 0.01
    spatial, time = result.points[:, :-1], result.points[:, -1]
    np.testing.assert_allclose(time**2 - (spatial**2).sum(axis=1), 1.0, rtol=1e-12)


def test_the_result_is_the_centroid_of_the_points_of_the_last_half(monkeypatch):
    graph = toy(200)
    keys = make_keys(0)
    walks = make_walks(graph, alpha=0.2, walk_length=20, key=keys.walks)
    pairs = collect_pairs(walks, walks_per_node=28, window_size=3, negative_exponent=0.5)
    schedule = Schedule(28, 3, 5, 1.0, 0.05, 320, 1)
    seen, look = [], LateMean.look
    monkeypatch.setattr(
        LateMean,
        "look",
        lambda mean, points, share: (seen.append((share, points.copy())), look(mean, points, share)),
    )
    result = train(start_points(200, 4, keys.start), walks, pairs.negatives, schedule, keys)
    late, moment = [], 1  # of 32
    for share, points in seen:
        if share >= 0.5 + moment / 64:
            late.append(points)
            moment = int((share - 0.5) * 64) + 1
    assert len(late) > 20
    summed = np.sum(late, axis=0)
    square = summed[:, -1:] ** 2 - (summed[:, :-1] ** 2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result.points, summed / np.sqrt(square), atol=1e-9)
    assert np.abs(result.points - seen[-1][1]).max() > 1e-3


def test_a_time_limit_ends_training_early_with_points_that_are_valid_and_have_learnt():
    graph = toy(400)
    keys = make_keys(0)
    walks = make_walks(graph, alpha=0.2, walk_length=80, key=keys.walks)
    pairs = collect_pairs(walks, walks_per_node=2, window_size=3, negative_exponent=0.5)
    calls = []
    began = perf_counter()
    long = Schedule(10_000, 3, 5, 1.0, 0.05, 320, 1)  # an hour
    result = train(
        start_points(400, 4, keys.start), walks, pairs.negatives, long, keys, time_limit=0.4,
        on_batch=lambda done, total: calls.append((done, total)),
    )  # fmt: skip
    assert perf_counter() - began < 20
    assert 0 < result.share < 0.5
    assert calls[-1] == (calls[0][1], calls[0][1])
    assert len(result.losses) < 10_000
    assert (result.losses > 0).all()  # no round that was not begun
    assert result.losses[-1] < result.losses[0]
    spatial, time = result.points[:, :-1], result.points[:, -1]
    np.testing.assert_allclose(time**2 - (spatial**2).sum(axis=1), 1.0, rtol=1e-12)
    assert (
        distance(*result.points[np.stack(graph.edges.coords)]).mean()
        < 0.8 * distance(result.points[:200], result.points[200:]).mean()
    )


def test_even_no_time_at_all_leaves_an_embedding():
    graph = toy(100)
    keys = make_keys(0)
    walks = make_walks(graph, alpha=0.2, walk_length=80, key=keys.walks)
    pairs = collect_pairs(walks, walks_per_node=1, window_size=3, negative_exponent=0.5)
    start = start_points(100, 4, keys.start)
    result = train(
        start, walks, pairs.negatives, Schedule(100, 3, 5, 1.0, 0.05, 320, 1), keys, time_limit=0.0
    )
    assert result.points.shape == (100, 5)
    assert np.isfinite(result.points).all()
    assert result.n_pairs > 0


@cache
def states(draws):
    return np.array([stream(np.uint64(17), i) for i in range(draws)], dtype=np.uint64)


def assert_follows_law(graph, node, table_limit, draws=40_000):
    """Chi-square of drawn similar nodes against the exact law, fixed seed."""
    from heat_neo4j._kernels.similarity import sample_similar

    law = naive.similarity(
        graph.attributes.toarray() if sparse.issparse(graph.attributes) else graph.attributes
    )[node]
    tables = make_similarity(graph, table_limit=table_limit)
    drawn = np.empty(draws, dtype=np.int64)
    sample_similar(tables, np.full(draws, node), states(draws), np.arange(draws), draws, drawn)
    if law.sum() < 1e-9:
        assert set(drawn.tolist()) == {-1}
        return
    counts = np.bincount(drawn, minlength=len(law))
    assert counts[law < 1e-12].sum() == 0
    expected = law / law.sum() * draws
    big = expected >= 5
    if expected[~big].sum() > 0:
        observed = np.append(counts[big], counts[~big].sum())
        expected = np.append(expected[big], expected[~big].sum())
    else:
        observed, expected = counts[big], expected[big]
    chi2 = ((observed - expected) ** 2 / expected).sum()
    freedom = max(len(expected) - 1, 1)
    assert chi2 < freedom + 4 * np.sqrt(2 * freedom) + 8  # about four standard deviations


def attribute_cases():
    rng = np.random.default_rng(2)
    sparse_words = sparse.csr_array((rng.random((120, 40)) < 0.08) * rng.random((120, 40)))
    one_hot = np.eye(4)[rng.integers(0, 4, 120)]
    gaussian = rng.normal(size=(120, 6)) + 3
    mixed = np.column_stack([sparse_words.toarray()[:, :10], gaussian[:, :2], -one_hot[:, :2]])
    constant = np.column_stack([one_hot, np.full(120, 7.0)])
    lonely = np.zeros((120, 3))
    lonely[5] = [1.0, 2.0, 3.0]
    return {
        "sparse words": sparse_words, "one hot": one_hot, "gaussian": gaussian, "mixed signs": mixed,
        "constant column": constant, "one odd node": lonely, "all equal": np.ones((120, 4)),
        "one lacks what all have": one_lacks(sparse_words), "unique words": unique_words(),
    }  # fmt: skip


def one_lacks(words):
    """A column that only node 5 lacks, one in which seven in eight have the same value, and words."""
    shared, usual = np.full(120, 3.0), np.full(120, -2.0)
    shared[5], usual[::8] = 0.0, np.arange(15.0)
    return np.column_stack((shared, usual, words.toarray()))


def unique_words():
    """Three categories of three, and up to 24 words that no other node has: hardly a proposal suits."""
    rng = np.random.default_rng(3)
    categories = [np.eye(3)[rng.integers(0, 3, 120)] for _ in range(3)]
    words = np.repeat(np.arange(120), np.arange(120) % 25)
    return np.column_stack((*categories, np.eye(120)[:, words]))


@pytest.mark.parametrize("name", attribute_cases())
@pytest.mark.parametrize("table_limit", [0, 1000], ids=["rejection", "table"])
def test_similar_nodes_follow_the_exact_law(name, table_limit):
    attributes = attribute_cases()[name]
    graph = Graph(adjacency=sparse.csr_array((120, 120)), attributes=attributes)
    for node in (0, 5, 77):
        assert_follows_law(graph, node, table_limit)


def crowded_graph():
    return Graph(adjacency=sparse.csr_array((120, 120)), attributes=unique_words())


def test_nodes_to_which_hardly_a_proposal_suits_draw_from_lists_of_all_that_do():
    law = naive.similarity(unique_words())
    lists = make_similarity(crowded_graph(), table_limit=0)
    sizes = np.diff(lists.listed_from)
    assert (sizes[~lists.listed] == 0).all()
    assert (law[lists.listed & (sizes == 0)] < 1e-9).all()  # nothing is similar to them
    crowded = np.flatnonzero(sizes)
    assert len(crowded) >= 3
    for node in crowded:
        part = slice(lists.listed_from[node], lists.listed_from[node + 1])
        weights = np.zeros(120)
        weights[lists.listed_nodes[part]] = np.diff(lists.listed_cumulative[part], prepend=0.0)
        np.testing.assert_allclose(weights / weights.sum(), law[node] / law[node].sum(), atol=1e-9)
        assert_follows_law(crowded_graph(), node, 0, draws=5000)


def test_lists_that_would_not_fit_are_drawn_by_the_law(monkeypatch):
    whole = make_similarity(crowded_graph(), table_limit=0)
    monkeypatch.setattr("heat_neo4j.embedding.similarity._LISTED_BYTES", 0)
    monkeypatch.setattr("heat_neo4j.embedding.similarity._FEWEST_LISTED", 2)
    cut = make_similarity(crowded_graph(), table_limit=0)
    assert np.diff(cut.listed_from).max() == 2
    law, chances = naive.similarity(unique_words()), []
    for node in np.flatnonzero(np.diff(whole.listed_from) > 2):
        drawn = cut.listed_nodes[cut.listed_from[node] : cut.listed_from[node + 1]]
        share = law[node] / law[node].sum()
        assert (share[drawn] > 0).all()
        order = np.cumsum(share)
        chances += [order[v] - share[v] / 2 for v in drawn]
        np.testing.assert_array_equal(cut.listed_cumulative[cut.listed_from[node] :][:2], [1, 2])
    assert abs(np.mean(chances) - 0.5) < 4 / np.sqrt(12 * len(chances))  # uniform, if drawn by the law


def test_room_is_shared_among_lists_from_the_shortest():
    assert longest_list(np.array([3, 900, 500]), 2000) == 900
    assert longest_list(np.array([3, 900, 500]), 1003) == 500
    assert longest_list(np.array([3, 900, 500]), 803) == 400
    assert longest_list(np.array([], dtype=np.int64), 100) == 0


def test_the_lists_do_not_depend_on_the_threads():
    with WorkerThreads(3) as team:
        many = make_similarity(crowded_graph(), table_limit=0, team=team)
    for one, other in zip(make_similarity(crowded_graph(), table_limit=0), many, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["all the same", "nearly all share", "half isolated", "grid"])
def test_a_draw_needs_no_list_where_many_nodes_are_similar(name):
    graph = make_shape(name, 2000, attributes=True)
    assert make_similarity(graph, table_limit=0).listed.sum() <= 5


def test_a_long_row_is_looked_up_in_and_a_short_one_walked_along():
    """A node with very many words proposes, and is proposed to, nodes with few."""
    words = sparse.random_array((120, 400), density=0.02, format="lil", rng=np.random.default_rng(4))
    words[7, :300] = 1.0
    graph = Graph(adjacency=sparse.csr_array((120, 120)), attributes=sparse.csr_array(words))
    for node in (7, 20):
        assert_follows_law(graph, node, 0)


def test_small_components_do_not_make_training_diverge():
    """A walk in a component of two nodes repeats one pair; a batch of whole walks lost hold of such nodes."""
    rng = np.random.default_rng(0)
    first = np.arange(0, 600, 2)
    u, v = rng.integers(600, 1200, size=(2, 1800))
    rows, columns = np.concatenate((first, u)), np.concatenate((first + 1, v))
    graph = Graph(adjacency=sparse.csr_array((np.ones(2100), (rows, columns)), shape=(1200, 1200)))
    model = HEAT(2, alpha=0.0, walks_per_node=3, refine=False, random_state=0).fit(graph)
    assert model.loss_curve_[-1] < model.loss_curve_[0] < np.log(11)
    assert distance(model.embedding_[first], model.embedding_[first + 1]).max() < 0.4
