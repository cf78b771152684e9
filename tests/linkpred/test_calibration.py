"""Held-out edges with an embedding that has not seen them, and how often pairs of a score are links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator

from heat_neo4j.evaluation import evaluate_links
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.calibration import (
    WALKS_HELD_OUT,
    CalibrationError,
    Reliability,
    embed_without,
    hold_out,
    reliability,
    times_held_out,
)
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.splits import latest_and_earlier, split_edges


def communities(n: int = 120, groups: int = 4, seed: int = 0) -> Graph:
    """Groups with many relationships inside and few between."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % groups
    chance = np.where(group[:, None] == group[None, :], 0.25, 0.01)
    return Graph(adjacency=sparse.csr_array(np.triu(rng.random((n, n)) < chance, k=1).astype(float)))


def quick_heat(**parameters: Any) -> HEAT:
    return HEAT(n_components=3, walks_per_node=3, walk_length=20, **parameters)


@dataclass
class Fixed(BaseEstimator):
    """An estimator that answers with given points and remembers what it was fitted on."""

    points: Any
    random_state: int | None = 0
    walks_per_node: int = 10
    n_threads: int | None = None
    hierarchy: str | None = None
    seen = None

    def fit(self, graph: Graph, *, on_progress: Any) -> Fixed:
        Fixed.seen = (graph, self.walks_per_node, self.random_state)
        self.embedding_ = lift(self.points)
        return self


# --- what is held out ---------------------------------------------------------------------------------------


def test_training_sees_the_split_alone_with_fewer_walks() -> None:
    graph = communities()
    points = np.random.default_rng(0).normal(size=(120, 2))
    split, found = embed_without(Fixed(points, random_state=4), graph, share=0.2)
    train, walks, seed = Fixed.seen
    expected = split_edges(graph, 0.2, random_state=4, how="random", non_edges_per_edge=5)
    np.testing.assert_array_equal(split.test_edges, expected.test_edges)
    np.testing.assert_array_equal(split.test_non_edges, expected.test_non_edges)
    assert (train.adjacency != expected.train.adjacency).nnz == 0
    assert not train.adjacency[split.test_edges[:, 0], split.test_edges[:, 1]].any()
    assert (walks, seed) == (round(10 * WALKS_HELD_OUT), 4)
    np.testing.assert_array_equal(found, lift(points))


def test_a_model_trains_without_a_hierarchy_that_is_held_out() -> None:
    kinds = {"UNDER": ([0], [50]), "LINK": (np.arange(1, 60), np.arange(59))}
    source, target = np.hstack(list(kinds.values()))
    adjacency = sparse.csr_array((np.ones(60), (source, target)), shape=(60, 60))
    graph = Graph(adjacency, relationships=Relationships.from_pairs(kinds))
    model = quick_heat(hierarchy="UNDER", random_state=0)
    splits = [embed_without(model, graph, share=0.5, time=time).split for time in range(8)]
    assert {split.train.relationships.types for split in splits} == {("LINK",), ("LINK", "UNDER")}
    seed = next(
        seed for seed in range(8) if "UNDER" not in split_edges(graph, 0.5, seed).train.relationships.types
    )
    found = evaluate_links(graph, model, ["*-LINK->*"], share=0.5, seeds=[seed], methods={})
    assert found.row("HEAT", "-LINK->").figures


def test_a_small_graph_holds_out_other_edges_each_time() -> None:
    graph = communities()
    every = hold_out(Fixed(np.zeros((120, 2)), random_state=4), graph)
    first = embed_without(Fixed(np.zeros((120, 2)), random_state=4), graph)
    np.testing.assert_array_equal(every[0].split.test_edges, first.split.test_edges)
    codes = [set((each.split.test_edges @ (120, 1)).tolist()) for each in every]
    shared = [len(one & other) / len(one) for one, other in pairwise(codes)]
    assert len(every) == times_held_out(graph.n_edges, 1)
    assert max(shared) < 0.4  # a tenth by chance
    of_edges = {0: 4, 999: 4, 1000: 10, 5000: 10, 5001: 4, 50_000: 4, 66_667: 2, 100_000: 2, 100_001: 1}
    assert {n: times_held_out(n, 10) for n in of_edges} == of_edges
    assert times_held_out(5000, 11) == 4


def test_a_node_may_lose_all_its_edges() -> None:
    graph = communities()
    split, _ = embed_without(Fixed(np.zeros((120, 2))), graph, share=0.8)
    assert ((split.train.degrees == 0) & (graph.degrees > 0)).any()
    assert len(split.test_edges) == round(0.8 * graph.n_edges)


def test_some_nodes_of_a_dense_graph_lose_all_edges_if_others_have_none() -> None:
    plain, n = communities(600, 40), 700
    adjacency = sparse.csr_array(sparse.block_diag((plain.adjacency, sparse.csr_array((100, 100)))))
    labels = {"A": np.arange(n) % 2 == 0, "B": np.arange(n) % 2 == 1}
    graph = Graph(adjacency, labels=labels)
    none = embed_without(Fixed(np.zeros((600, 2))), plain, share=0.3).split
    assert (none.train.degrees[plain.degrees > 6] > 0).all()
    split = embed_without(Fixed(np.zeros((n, 2))), graph, share=0.3).split
    lost = (split.train.degrees == 0) & (graph.degrees > 6)
    assert 3 < lost.sum() < 50
    assert graph.degrees[lost].sum() <= 0.1 * len(split.test_edges)
    assert graph.degrees[lost].max() <= np.median(plain.degrees)
    assert len(split.test_edges) == round(0.3 * graph.n_edges)
    # Of labels without isolated nodes none loses its edges.
    typed = Graph(adjacency, labels={"A": np.arange(n) < 300, "B": np.arange(n) >= 300})
    split = embed_without(Fixed(np.zeros((n, 2))), typed, share=0.3).split
    lost = (split.train.degrees == 0) & (graph.degrees > 6)
    assert not lost[:300].any()
    assert lost[300:].any()


def test_most_nodes_of_a_rare_label_keep_their_edges_though_many_others_have_none() -> None:
    plain, n_items, n_linked = communities(600, 40), 100, 20
    n, items = 600 + n_items, 600 + np.arange(n_linked)
    bought = sparse.coo_array((np.ones(n_linked), (np.arange(n_linked), items)), shape=(n, n))
    users = sparse.block_diag((plain.adjacency, sparse.csr_array((n_items, n_items))))
    labels = {"User": np.arange(n) < 600, "Item": np.arange(n) >= 600}
    graph = Graph(sparse.csr_array(users + bought + bought.T), labels=labels)
    split = embed_without(Fixed(np.zeros((n, 2))), graph).split
    assert 0.1 * len(split.test_edges) > n_linked  # room for all of them
    assert 4 <= np.count_nonzero(split.train.degrees[items] == 0) <= 8  # a fifth, and some of a random tenth


def test_the_latest_edges_are_held_out_where_the_graph_has_times() -> None:
    plain = communities()
    times = np.random.default_rng(0).permutation(plain.n_edges).astype(float)
    graph = Graph(plain.adjacency, edge_times=times)
    split, _ = embed_without(Fixed(np.zeros((120, 2))), graph)
    expected = latest_and_earlier(graph, 0.1, 0)
    np.testing.assert_array_equal(split.test_edges, expected.test_edges)
    assert split.since == expected.since is not None


def test_the_model_stays_as_it_is_and_the_fit_is_repeated_to_the_bit() -> None:
    graph = communities()
    model = quick_heat(random_state=5).fit(graph)
    before = model.embedding_.copy()
    first, again = fit_link_score(model, graph), fit_link_score(model, graph)
    assert first == again
    np.testing.assert_array_equal(model.embedding_, before)
    assert model.walks_per_node == 3


def test_an_unfitted_model_without_a_seed_will_do() -> None:
    score = fit_link_score(quick_heat(), communities())
    assert np.isfinite([each for part in score.common for each in part]).all()


def test_perfectly_parted_distances_give_a_finite_score() -> None:
    graph = Graph(adjacency=sparse.block_diag([sparse.coo_array(np.ones((12, 12)))] * 2, format="csr"))
    points = np.repeat([[-4.0, 0.0], [4.0, 0.0]], 12, axis=0)
    score = fit_link_score(Fixed(points), graph, share=0.2)
    assert score.distance_auroc == 1.0
    assert np.isfinite([each for part in score.tables[""] for each in part]).all()
    scorer = score.scorers(lift(points), graph)(None)
    near, far = scorer.pairs(np.array([[0, 1], [0, 20]]))
    assert near > far
    assert scorer.probability(near) > 0.5 > 0.2 > scorer.probability(far)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(adjacency=sparse.csr_array((5, 5))), "no edge .*can be held out"),
        (communities(n=28), "edges and .* can be held out"),
        (Graph(adjacency=sparse.csr_array(np.ones((30, 30)))), "the graph of 30 nodes is complete"),
    ],
    ids=["no edges", "few edges", "complete"],
)
def test_says_why_there_is_no_score(graph: Graph, message: str) -> None:
    with pytest.raises(CalibrationError, match=f"^no link score: .*{message}"):
        fit_link_score(quick_heat(random_state=0), graph)


@pytest.mark.parametrize(("edges", "held"), [(60, 10), (40, 8), (200, 20)])
def test_a_small_graph_loses_ten_edges_but_no_more_than_a_fifth(edges: int, held: int) -> None:
    ring = np.arange(edges)
    adjacency = sparse.csr_array((np.ones(edges), (ring, (ring + 1) % edges)), shape=(edges, edges))
    graph = Graph(sparse.csr_array(adjacency + adjacency.T))
    if held < 10:
        with pytest.raises(CalibrationError, match=f"{held} edges and .* can be held out"):
            embed_without(quick_heat(random_state=0), graph)
    else:
        split, _ = embed_without(quick_heat(random_state=0), graph)
        assert len(split.test_edges) == held


@pytest.mark.parametrize("share", [0.0, 1.0, 1.5])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(CalibrationError, match=r"no link score: .*share"):
        embed_without(quick_heat(random_state=0), communities(), share=share)


# --- how often pairs are links ------------------------------------------------------------------------------


def scored_pairs(seed: int, n: int = 40_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log odds, links drawn at these odds, and weights of 1."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-3.0, 2.0, size=n)
    return odds, rng.random(n) < expit(odds), np.ones(n)


PARTS = np.random.default_rng(9).integers(0, 2, size=40_000)


def test_what_is_expected_comes_from_the_other_part() -> None:
    odds, links, weight = scored_pairs(1)
    links &= (PARTS == 0) | (np.arange(len(links)) % 3 > 0)
    found = reliability(odds, links, weight, PARTS)
    expected = np.empty(len(odds))
    for part in (0, 1):
        other = part != PARTS
        curve = reliability(odds[other], links[other], weight[other], PARTS[other])
        expected[~other] = curve.at(odds[~other])
    bins = np.cumsum([0, *map(round, found.n_pairs)])
    rising = expected[np.argsort(odds)]
    np.testing.assert_allclose(found.expected, [rising[a:b].mean() for a, b in pairwise(bins)])
    differences = np.abs(np.array(found.n_links) - np.array(found.n_pairs) * found.expected)
    assert differences.sum() / len(odds) < 0.01


def test_known_rates_lie_in_the_intervals() -> None:
    inside, errors = [], []
    for seed in range(8):
        odds, links, weight = scored_pairs(seed)
        found = reliability(odds, links, weight, PARTS[: len(odds)])
        at = np.array(found.log_odds)
        low, high = found.interval(at)
        bins = np.cumsum([0, *map(round, found.n_pairs)])
        rising = np.sort(odds)
        rate = [expit(rising[a:b]).mean() for a, b in pairwise(bins)]
        inside += ((low <= rate) & (rate <= high)).tolist()
        errors.append(np.abs(found.at(at) - rate).max())
    assert np.mean(inside) > 0.85  # of 95 %; bins end at links, which costs some
    assert np.mean(errors) < 0.1


def test_shares_rise_lie_in_their_intervals_and_counts_add_up() -> None:
    odds, links, _ = scored_pairs(1, 5000)
    weight = np.random.default_rng(2).integers(1, 5, size=5000).astype(float)
    found = reliability(odds, links, weight, PARTS[: len(odds)])
    assert len(found.log_odds) == 12 + int(np.log2(links.sum() / 12 / 8))  # the best of 12 is halved
    assert (np.diff(found.log_odds) > 0).all()
    assert (np.diff(found.probability) >= 0).all()
    for low, share, high in zip(found.low, found.probability, found.high, strict=True):
        assert 0.0 <= low <= share <= high <= 1.0
    assert sum(found.n_pairs) == pytest.approx(weight.sum())
    assert sum(found.n_links) == pytest.approx(weight[links].sum())


@pytest.mark.parametrize("seed", range(3))
def test_links_that_the_graph_lacks_are_no_evidence_against_others(seed: int) -> None:
    """Half of the links are held out, half are missing, as the calibration assumes."""
    rng = np.random.default_rng(seed)
    score = rng.normal(-3.0, 3.0, size=60_000)
    is_link = rng.random(len(score)) < expit(score)
    is_held_out = is_link & (rng.random(len(score)) < 0.5)
    left, is_missing = ~is_held_out, is_link & ~is_held_out
    ones, part = np.ones(len(score)), np.arange(len(score)) % 2
    found = reliability(score, is_held_out, ones, part, lacks_as_many=True)
    for low, high in ((-4.0, -2.0), (-2.0, 0.0), (0.0, 1.0)):
        some = left & (score > low) & (score < high)
        assert found.at(score[some]).mean() == pytest.approx(is_missing[some].mean(), rel=0.15)
    without = reliability(score, is_held_out, ones, part)
    assert without.at(1.0) < 0.8 * found.at(1.0)
    assert (np.array(found.low) <= found.probability).all()
    assert (np.array(found.high) >= found.probability).all()
    assert max(found.high) <= 1.0
    np.testing.assert_allclose(found.expected, found.probability, rtol=0.5)
    scaled = found.scaled_to(score, is_held_out, ones, 5_000, lacks_as_many=True)
    assert scaled.probability[-1] == pytest.approx(found.probability[-1], rel=0.1)


def test_a_borrowed_curve_is_scaled_to_the_links_among_the_best_pairs() -> None:
    odds, links, weight = scored_pairs(1, 5000)
    curve = reliability(odds, links, weight, PARTS[:5000])
    top = np.argsort(-odds)[:200]
    worse = links & (np.arange(5000) % 4 == 0)
    for found in (links, worse, np.zeros(5000, bool)):
        scaled = curve.scaled_to(odds, found, weight, 200)
        factor = (found[top].sum() + 2) / (curve.at(odds[top]).sum() + 2)
        for name in ("probability", "low", "high", "expected"):
            expected = np.minimum(factor * np.array(getattr(curve, name)), 1.0)
            np.testing.assert_allclose(getattr(scaled, name), expected, rtol=1e-12)
        np.testing.assert_allclose(
            np.array(scaled.n_links) / scaled.n_pairs,
            np.minimum(factor * np.array(curve.n_links) / curve.n_pairs, 1.0),
        )
    assert 0.0 < scaled.probability[-1] < 0.1 * curve.probability[-1]


def test_a_limited_curve_is_the_ratio_of_held_out_links_to_other_pairs() -> None:
    columns = *scored_pairs(1, 5000)[:2], np.ones(5000), PARTS[:5000]
    share, curve = (reliability(*columns, lacks_as_many=lacks) for lacks in (False, True))
    ratio = np.array(share.probability) / (1.0 - np.array(share.probability))
    reduced = np.array(share.probability) > 1.0 / 3.0
    assert reduced.any()
    assert (np.array(curve.probability)[reduced] < np.minimum(ratio, 1.0)[reduced]).all()
    for limit in (0.4, 0.9):
        most = replace(share, **{name: (limit,) * len(share.low) for name in ("probability", "low", "high")})
        found, limits = curve.at_most(most), most.at(np.array(curve.log_odds))
        np.testing.assert_allclose(found.probability, np.minimum(ratio, limits))
        observed = np.array(share.n_links) / np.array(share.n_pairs)
        np.testing.assert_allclose(
            np.array(found.n_links) / curve.n_pairs,
            np.minimum(observed / np.maximum(1.0 - observed, 1e-9), limits),
            rtol=1e-6,
        )
        assert (np.diff(found.probability) >= 0.0).all()
        assert found.n_pairs == curve.n_pairs


@pytest.mark.parametrize(("by", "found"), [(-1.0, -1.0), (0.0, 0.0), (2.0, 2.0), (50.0, 5.0), (-50.0, -5.0)])
def test_a_shift_makes_scores_comparable_within_limits(by: float, found: float) -> None:
    rng = np.random.default_rng(5)
    score = rng.normal(-2.0, 2.0, size=60_000)
    is_link, ones = rng.random(len(score)) < expit(score), np.ones(len(score))
    curve = reliability(score, is_link, ones, np.arange(len(score)) % 2)
    others = rng.normal(-2.0, 2.0, size=60_000)
    rises = rng.random(len(others)) < expit(others + by)
    assert curve.shift_of(others, rises, ones) == pytest.approx(found, abs=0.2)


def test_a_shift_by_few_pairs_is_small() -> None:
    score = np.linspace(-4.0, 1.0, 400)
    is_link = np.random.default_rng(0).random(400) < expit(score)
    curve = reliability(score, is_link, np.ones(400), np.arange(400) % 2)
    few = np.full(3, -3.0)
    shifts = [curve.shift_of(few, np.arange(3) < n, np.ones(3)) for n in (0, 1, 3)]
    assert -0.1 < shifts[0] < 0.0 < shifts[1] < shifts[2] < 1.5


def test_terms_by_a_value_make_as_many_links_likely_as_there_are() -> None:
    rng = np.random.default_rng(5)
    score, value = rng.normal(-3.0, 1.0, size=60_000), rng.choice([0.0, 10.0, 40.0], size=60_000)
    rises = np.interp(value, (0.0, 10.0, 40.0), (1.0, 0.0, -2.0))
    is_link, knots = rng.random(len(score)) < expit(score + rises), np.array([0.0, 10.0, 40.0])
    for weight in (np.ones(len(score)), np.where(is_link, 1.0, 3.0)):
        curve = reliability(score, is_link, weight, np.arange(len(score)) % 2)
        terms = curve.terms_at(knots, value, score, is_link, weight)
        for knot, term in zip(knots, terms, strict=True):
            own = value == knot
            ratio = (weight[own] @ is_link[own]) / (weight[own] @ curve.at(score[own]))
            assert term == pytest.approx(np.log(ratio), abs=0.05)
    halfway = curve.terms_at(np.array([0.0, 20.0]), np.full(len(score), 10.0), score, is_link, weight)
    assert halfway[0] == pytest.approx(halfway[1])


def test_weights_stand_for_pairs_that_were_not_drawn() -> None:
    """Links among sampled sources count as often as their source; intervals are not narrower for it."""
    odds, links, weight = scored_pairs(3, 5000)
    once, thrice = (reliability(odds, links, each, PARTS[:5000]) for each in (weight, 3 * weight))
    np.testing.assert_allclose(thrice.probability, once.probability)
    np.testing.assert_allclose(thrice.n_pairs, 3 * np.array(once.n_pairs))
    np.testing.assert_allclose(thrice.low, once.low)
    np.testing.assert_allclose(thrice.high, once.high)


def test_between_bins_logs_of_probabilities_are_interpolated_and_below_them_fall_as_their_odds() -> None:
    known = Reliability((-2.0, 0.0, 1.0), (0.1, 0.3, 0.7), (0.05, 0.2, 0.5), (0.2, 0.4, 0.9), (), (), ())
    below = 0.1 * np.exp(-7.0)
    between = np.sqrt([0.1 * 0.3, 0.3 * 0.7])
    expected = [below, 0.1, between[0], between[1], 0.7, 0.7]
    np.testing.assert_allclose(known.at([-9.0, -2.0, -1.0, 0.5, 1.0, 50.0]), expected)
    np.testing.assert_allclose([known.log_odds_at(share) for share in expected[:-1]], [-9, -2, -1, 0.5, 1])
    low, high = known.interval([-1.0, 9.0])
    np.testing.assert_allclose(low, [0.1, 0.5])
    np.testing.assert_allclose(high, [np.sqrt(0.2 * 0.4), 0.9])
    assert known.at(0.5).shape == ()
    assert known.at(np.zeros((0,))).shape == (0,)


@pytest.mark.parametrize("seed", range(5))
def test_between_few_links_and_all_other_pairs_probabilities_are_the_true_rates(seed: int) -> None:
    """The lowest bin holds nearly all pairs: bins at their mean scores give 1.9 times the rate or more."""
    rng = np.random.default_rng(seed)
    score = rng.normal(-15.0, 5.0, size=40_000)
    rate = expit(score)
    found = reliability(score, rng.random(len(score)) < rate, np.ones(len(score)), np.arange(len(score)) % 2)
    between = (rate > 0.001) & (rate < 0.05)
    assert 0.6 < found.at(score[between]).sum() / rate[between].sum() < 1.8


def test_a_few_links_and_nothing_else_do_not_make_a_link_certain() -> None:
    odds = np.linspace(1.0, -1.0, 1000)
    links = np.arange(1000) < 8
    links[100:900:100] = True
    found = reliability(odds, links, np.ones(1000), PARTS[:1000])
    assert found.probability[-1] == pytest.approx(8 / 9)
    assert found.probability[0] == pytest.approx(8 / 992)


@pytest.mark.parametrize("all_links", [False, True])
def test_pairs_that_are_all_links_or_none_have_intervals(all_links: bool) -> None:
    odds = np.linspace(-1.0, 1.0, 50)
    found = reliability(odds, np.full(50, all_links), np.full(50, 2.0), PARTS[:50])
    assert found.probability == pytest.approx([50 / 51 if all_links else 0.0] * len(found.n_pairs))
    assert sum(found.n_pairs) == 100.0
    for low, high in zip(found.low, found.high, strict=True):
        assert (low > 0.5, high == 1.0) if all_links else (low == 0.0, 0.0 < high < 0.2)


def test_a_sampled_pair_that_stands_for_many_counts_when_a_curve_is_scaled() -> None:
    curve = Reliability(
        (0.0, 4.0), (0.1, 0.2), (0.0, 0.1), (0.2, 0.3), (10.0, 8.0), (100.0, 40.0), (0.1, 0.2)
    )
    log_odds = np.array([4.0] * 8 + [3.0, 0.0])
    is_link, weight = np.arange(10) < 8, np.array([1.0] * 8 + [300.0, 300.0])
    # The best 108 pairs are 8 links and 100 of the next; without these, 8 links would be due to 8 pairs.
    found = curve.scaled_to(log_odds, is_link, weight, 108.0)
    factor = (8 + 2) / (8 * 0.2 + 100 * 0.1 * 2**0.75 + 2)
    np.testing.assert_allclose(found.probability, np.array([0.1, 0.2]) * factor)


def test_a_pair_more_counts_as_much_as_sampled_pairs_do() -> None:
    log_odds, is_link, part = np.array([9.0] * 8 + [1.0] * 92), np.arange(100) < 8, np.arange(100) % 2
    for each in (1.0, 50.0):
        weight = np.where(is_link, 1.0, each)
        found = reliability(log_odds, is_link, weight, part).probability[-1]
        assert found == pytest.approx(8 / (weight.sum() + weight.mean()))
