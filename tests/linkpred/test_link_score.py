"""The score of links: its sum, its fit, what patterns share, what is measured, and the search by it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from scipy import optimize, sparse, stats
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from heat_neo4j.geometry.hyperboloid import distance, lift
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred import link_score as module
from heat_neo4j.linkpred import samples as sampling
from heat_neo4j.linkpred.calibration import CalibrationError, embed_without, hold_out
from heat_neo4j.linkpred.candidates import CandidatePairs, candidate_pairs, patterns_of, relationships_of
from heat_neo4j.linkpred.features import DIRECTION, FEATURES, ISOLATED, PairFeatures
from heat_neo4j.linkpred.link_score import LinkScore, LinkScorer, PatternFigures, fit_link_score, link_score
from heat_neo4j.linkpred.logistic import DenseDesign, logistic
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.rankings import MostSources
from heat_neo4j.linkpred.recommendation import likeliest_partners, probabilities, probability_among_rivals
from heat_neo4j.linkpred.rules.learning import learn_schema_rules
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.linkpred.splits import EdgeSplit, joins_held_out, split_edges
from heat_neo4j.patterns import Pattern
from tests.linkpred.test_pattern_laws import KINDS, a_score, directed, linear_score, made_of

MODEL = HEAT(3, walks_per_node=2, walk_length=10, random_state=0, n_threads=1)
MANY, FEW, NONE = Pattern("A", "R", "A"), Pattern("A", "S", "B"), Pattern("B", "T", "B")


def clustered(n: int = 150, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, size=n)
    chance = np.where(group[:, None] == group, 0.25, 0.01)
    upper = np.triu(rng.random((n, n)) < chance, k=1) * rng.uniform(0.5, 2.0, size=(n, n))
    labels = {"Even": np.arange(n) % 2 == 0, "Odd": np.arange(n) % 2 == 1}
    attributes = np.eye(5)[group] + rng.random((n, 5))
    return Graph(adjacency=sparse.csr_array(upper), attributes=attributes, labels=labels)


def some_points(n: int, seed: int = 1) -> np.ndarray:
    return lift(np.random.default_rng(seed).normal(size=(n, 3)))


def weighted(**weights: float) -> LinkScore:
    """Return a score of any pattern with the given weights of features."""
    return linear_score((*weights, "direction"), (-0.3, *weights.values(), 0.0))


@cache
def fitted() -> tuple[np.ndarray, Graph, LinkScore]:
    points, graph = directed()
    return points, graph, fit_link_score(MODEL, graph)


@cache
def fitted_pairs() -> tuple[np.ndarray, Graph, LinkScore]:
    """Return points, a graph without directions, and its score."""
    graph = clustered()
    return some_points(150), graph, fit_link_score(MODEL, graph)


@pytest.mark.parametrize("pattern", ["A-R->A", "A-S->B"])
def test_contributions_add_up_to_the_log_odds(pattern: str) -> None:
    points, graph, found = fitted()
    (chosen,) = (each for each in patterns_of(graph) if str(each) == pattern)
    for score in (found, a_score(patterns_of(graph), 1, KINDS["everything"])):
        scorer = score.scorers(points, graph)(chosen)
        for pair in ((0, 3), (5, 50), (17, 80)):
            parts = scorer.contributions(pair)
            assert parts[0].feature == "base"
            assert len({part.feature for part in parts}) == len(parts)
            total = sum(part.log_odds for part in parts)
            assert total == pytest.approx(scorer.pairs(np.array([pair]))[0], rel=1e-12, abs=1e-12)
    own = [part.feature for part in parts if part.feature in FEATURES]
    assert own == sorted(own, key=FEATURES.index)


def test_contributions_of_a_graph_without_directions_add_up_too() -> None:
    points, graph, score = fitted_pairs()
    scorer = score.scorers(points, graph)(None)
    for pair in ((0, 3), (5, 50)):
        parts = scorer.contributions(pair)
        assert parts[0].feature == "base"
        assert "direction" not in {part.feature for part in parts}
        total = sum(part.log_odds for part in parts)
        assert total == pytest.approx(scorer.pairs(np.array([pair]))[0], rel=1e-12, abs=1e-12)


def test_a_function_is_linear_between_knots_and_constant_beyond() -> None:
    points, graph, _ = fitted()
    knots, heights = (-1.6, -1.0, -0.8), (-2.0, 1.0, 1.5)
    data = weighted(distance=1.0).to_dict()
    data |= {"knots": [list(knots), [0.0]], "common": [[0.5], list(heights), [0.0]]}
    scorer = LinkScore.from_dict(data).scorers(points, graph)(MANY)
    pairs = np.array([(0, v) for v in range(1, 45)])
    near = -distance(points[pairs[:, 0]], points[pairs[:, 1]])
    assert near.min() < knots[0] < knots[-1] < near.max()
    np.testing.assert_allclose(scorer.pairs(pairs), 0.5 + np.interp(near, knots, heights), rtol=1e-9)


def test_two_directions_have_chances_that_add_up_to_one() -> None:
    points, graph, found = fitted()
    for score in (found, a_score((MANY,), 1, KINDS["everything"])):
        scorer = score.scorers(points, graph)(MANY)
        pairs = np.array([(u, v) for u in range(20) for v in range(u)])
        there, back = scorer.direction_log_odds(pairs), scorer.direction_log_odds(pairs[:, ::-1])
        if there is not None:
            np.testing.assert_allclose(expit(there) + expit(back), 1.0, rtol=1e-14)
            assert np.ptp(there) > 0.0
    assert found.scorers(points, graph)(FEW).direction is None


@pytest.mark.parametrize("made", [fitted, fitted_pairs])
def test_a_score_comes_back_from_json_with_the_same_bits(made: Any) -> None:
    points, graph, score = made()
    again = LinkScore.from_dict(json.loads(json.dumps(score.to_dict())))
    assert again == score
    assert LinkScore.from_dict(score.to_dict()) == score
    assert score.reliability
    first, second = (predict_links(points, graph, 3, score=each) for each in (score, again))
    assert first.probability.tobytes() == second.probability.tobytes()
    assert first.source.tobytes() == second.source.tobytes()


@pytest.mark.parametrize("pattern", [MANY, FEW])
def test_a_sample_is_scored_as_its_pairs_are(pattern: Pattern) -> None:
    _, graph, score = fitted()
    split, points = embed_without(MODEL, graph)
    features, lists = PairFeatures(points, split.train), Surroundings(points, split.train)
    most = MostSources()
    rules = learn_schema_rules(split.train, [pattern])
    sample = sampling._sample(split, features.of(pattern), lists, rules, graph, pattern, FEATURES, most)
    scorer = score.scorers(points, split.train)(pattern)
    np.testing.assert_allclose(
        module._log_odds(sample, score, str(pattern)), scorer.pairs(sample.pairs), rtol=1e-9
    )
    assert (np.diff(sample.pairs[sample.is_candidate, 0]) >= 0).all()
    n, own = graph.n_nodes, np.column_stack(relationships_of(graph, pattern))
    held = own[joins_held_out(split, own)]
    assert sample.n_links == len(held)
    codes = sample.pairs @ (n, 1)
    np.testing.assert_array_equal(sample.is_link, np.isin(codes, held @ (n, 1)))
    assert sample.n_links >= sample.n_asked >= np.count_nonzero(sample.is_link & sample.is_candidate)
    known = np.column_stack(relationships_of(split.train, pattern))
    assert not np.isin(codes, known @ (n, 1)).any()
    # Candidates come with their source, and by chance besides.
    assert (np.exp(-sample.offset) > sample.is_candidate / sample.weight).all()
    # No relationship leads back, which would make them no candidates.
    assert not candidate_pairs(split.train, pattern).are_joined(sample.pairs).any()


def test_a_scorer_of_some_nodes_turned_round_scores_the_same() -> None:
    points, graph, score = fitted()
    scorer = score.scorers(points, graph)(MANY)
    first, second = np.array([30, 2, 9]), np.array([5, 41])
    expected = np.array([[scorer.pairs(np.array([[u, v]]))[0] for v in second] for u in first])
    np.testing.assert_allclose(scorer.between(first, second).rows(0, 3), expected, rtol=1e-9)
    turned = scorer.reversed().between(second, first)
    np.testing.assert_allclose(turned.rows(0, 2), expected.T, rtol=1e-9)
    assert turned.n_nodes == 3


# --- the fit ------------------------------------------------------------------------------------------------


def sample(seed: int, n: int, weights: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, len(weights)))
    return values, rng.random(n) < expit(values @ weights)


def fitted_to(values: np.ndarray, *arguments: Any, **others: Any) -> np.ndarray:
    return logistic(DenseDesign(values), *arguments, **others)


def loss(weights, values, truth, around, ridge):
    score = values @ weights
    return np.sum(np.logaddexp(0, score) - truth * score) + 0.5 * ridge @ (weights - around) ** 2


@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
def test_the_logistic_regression_is_that_of_scikit_learn(ridge: float) -> None:
    values, truth = sample(1, 400, (1.0, -0.5, 0.2))
    theirs = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-10, max_iter=1000)
    found = fitted_to(values, truth, np.full(3, ridge), np.zeros(3))
    np.testing.assert_allclose(found, theirs.fit(values, truth).coef_[0], atol=1e-4)
    far = fitted_to(values, truth, np.full(3, ridge), np.zeros(3), np.array([3.0, 3.0, -3.0]))
    np.testing.assert_allclose(far, found, atol=2e-3)


@pytest.mark.parametrize("around", [0.0, 1.5])
def test_the_logistic_regression_is_the_least_of_its_loss(around: float) -> None:
    values, truth = sample(1, 400, (1.0, -0.5, 0.2))
    values[:, 0] = 1.0
    ridge, centre = np.array([1e-3, 2.0, 50.0]), np.full(3, around)
    found = fitted_to(values, truth, ridge, centre)
    least = optimize.minimize(
        loss, np.zeros(3), (values, truth, centre, ridge), method="BFGS", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(found, least.x, atol=2e-3)
    assert loss(found, values, truth, centre, ridge) <= least.fun * (1 + 1e-6)


def test_an_offset_is_part_of_the_log_odds() -> None:
    values, truth = sample(1, 400, (1.0, -0.5, 0.2))
    part, ridge = np.array([0.3, 0.1, -2.0]), np.full(3, 1e-6)
    found = fitted_to(values, truth, ridge, np.zeros(3), offset=values @ part)
    np.testing.assert_allclose(found + part, fitted_to(values, truth, ridge, np.zeros(3)), atol=1e-3)


def test_a_curvature_of_some_rows_leads_to_the_same_weights() -> None:
    values, truth = sample(1, 400, (1.0, -0.5, 0.2))
    every = fitted_to(values, truth, np.ones(3), np.zeros(3))
    some = fitted_to(values, truth, np.ones(3), np.zeros(3), curved=20)
    np.testing.assert_allclose(some, every, atol=1e-3)


def test_a_large_ridge_keeps_the_given_weights() -> None:
    values, truth = sample(1, 400, (1.0, -0.5))
    around = np.array([-2.0, 3.0])
    np.testing.assert_allclose(fitted_to(values, truth, np.full(2, 1e9), around), around, atol=1e-5)


def test_separable_links_have_finite_weights() -> None:
    values = np.column_stack((np.ones(40), np.linspace(-1, 1, 40) * 1e3))
    found = fitted_to(values, values[:, 1] > 0, np.array([1e-3, 1.0]), np.zeros(2))
    assert np.isfinite(found).all()
    around = np.array([2.0, 3.0])
    assert fitted_to(values[:0], [], np.ones(2), around).tolist() == [2.0, 3.0]


def test_other_pairs_are_drawn_as_often_as_their_rate_says() -> None:
    n, links = 8, np.array([[0, 5], [0, 6], [1, 5], [2, 7]] * 500)
    ends = np.zeros((2, n), dtype=np.bool_)
    ends[0, :4], ends[1, 4:] = True, True
    candidates = CandidatePairs(
        Pattern("A", "R", "B"), np.arange(4), np.arange(4, n), sparse.csr_array((n, n)), ends[0], ends[1]
    )
    pairs = np.array([(u, v) for u in range(4) for v in range(4, n)])
    drawn = sampling._others(candidates, np.sort(np.unique(links @ (n, 1))), links)
    is_link = np.isin(pairs @ (n, 1), links @ (n, 1))
    counts = np.bincount(drawn @ (n, 1), minlength=n * n)[pairs @ (n, 1)]
    assert not counts[is_link].any()
    expected = sampling._rate(candidates, links, pairs)[~is_link]
    assert stats.chi2.sf(np.sum((counts[~is_link] - expected) ** 2 / expected), len(expected)) > 0.001


def made_sample(seed: int, n_links: int, n_others: int, slope: float, n_features: int = 3) -> sampling.Sample:
    """Return a sample of links whose first feature is higher than that of other pairs."""
    rng = np.random.default_rng(seed)
    n = n_links + n_others
    is_link = np.arange(n) < n_links
    values, direction = rng.normal(size=(n, n_features)), rng.normal(size=(n, len(DIRECTION)))
    values[:n_links, 0] += slope
    pairs = np.column_stack((rng.integers(0, 2, size=n), np.zeros(n, dtype=np.int64)))
    return sampling.Sample(
        n_relationships=n_links,
        n_links=n_links,
        n_asked=n_links,
        n_sources=len(np.unique(pairs[:n_links, 0])),
        pairs=pairs,
        place=pairs[:, 0],
        values=values,
        is_link=is_link,
        is_fitted=np.ones(n, dtype=np.bool_),
        is_candidate=np.ones(n, dtype=np.bool_),
        weight=np.ones(n),
        offset=np.zeros(n),
        direction=direction,
        one_way=is_link,
        standing=np.ones(n),
        share=np.ones(n),
        is_lost=np.zeros((n, 2), dtype=np.bool_),
        is_reopened=np.zeros(n, dtype=np.bool_),
        one_link=np.full((n, 2), -1),
    )


def test_of_a_node_with_at_most_one_link_only_the_likeliest_pair_calibrates() -> None:
    rng = np.random.default_rng(0)
    sample, log_odds = made_sample(0, 30, 270, 1.0), rng.normal(size=300)
    every = module._Measured.of(sample, log_odds)
    assert len(every.likeliest().log_odds) == 300
    nodes = np.where([True, False], rng.integers(0, 40, size=(300, 2)), -1)
    found = module._Measured.of(sample._replace(one_link=nodes), log_odds).likeliest()
    best = {max(log_odds[nodes[:, 0] == node]) for node in np.unique(nodes[:, 0])}
    assert sorted(found.log_odds) == sorted(best)
    # A sample of another time has the same nodes with other links.
    twice = sampling.Sample.joined([sample._replace(one_link=nodes)] * 2)
    both = module._Measured.of(twice, np.append(log_odds, log_odds)).likeliest()
    assert sorted(both.log_odds) == sorted([*best, *best])


def test_patterns_with_few_links_keep_the_common_function_and_others_get_their_own() -> None:
    samples = {
        "many": made_sample(1, 2000, 20_000, 1.5),
        "other": made_sample(2, 2000, 20_000, 0.5),
        "few": made_sample(3, 4, 40, -1.5),
        "none": made_sample(4, 0, 0, 0.0),
    }
    fit = module._Fit.of(samples)
    np.testing.assert_array_equal(fit.own["none"], fit.common)

    def rise(name: str) -> float:
        """Return by how much a pattern's log odds rise from -1 to 1 of the first feature."""
        heights = fit.functions.table(fit.common if name == "common" else fit.own[name])[1]
        low, high = np.interp([-1.0, 1.0], fit.functions.knots[0], heights)
        return float(high - low)

    assert rise("many") == pytest.approx(3.0, abs=0.5)  # of two normal distributions: the slope times 2
    assert rise("other") == pytest.approx(1.0, abs=0.5)
    assert abs(rise("few") - rise("common")) < 1.0  # its own links alone would give it -3


def fitted_without(samples: dict[str, sampling.Sample]) -> list[LinkScore]:
    """Return the scores that were fitted without each fold."""
    return [
        replace(weighted(distance=1.0), **module._Fit.of(samples, fold).of_patterns()) for fold in range(2)
    ]


def test_directions_of_noise_are_told_by_chance_alone() -> None:
    """Without folds they would flatter: of 20 links with 12 features of a direction, by far."""
    found = []
    for seed in range(20):
        samples = {"it": made_sample(seed, 20, 100, 0.0)}
        found.append(module._direction_accuracy(samples["it"], fitted_without(samples), "it"))
    assert abs(np.mean(found) - 0.5) < 0.08
    clear = made_sample(0, 60, 300, 0.0)
    clear.direction[:, 4] += np.where(clear.is_link, 3.0, 0.0)
    assert module._direction_accuracy(clear, fitted_without({"it": clear}), "it") > 0.9


def test_a_graph_with_directions_gets_a_score_of_its_patterns() -> None:
    _, _, score = fitted()
    assert set(score.tables) == set(score.figures) == {"A-R->A", "A-S->B"}
    assert set(score.directions) == {"A-R->A"}
    assert score.features == (*FEATURES, "direction")
    for figures in score.figures.values():
        assert figures.n_links >= 10
        assert 0.0 < figures.mrr < 1.0
        assert 0.0 <= figures.precision_at_10 <= 1.0
        assert 0.0 <= figures.precision_at_written <= 1.0
        assert figures.baseline_mrr >= figures.popularity_mrr
    of_both = score.figures.values()  # each has few links
    assert sum(each.mrr for each in of_both) > sum(each.popularity_mrr for each in of_both)
    assert score.figures["A-S->B"].direction_accuracy is None
    assert 0.0 <= score.figures["A-R->A"].direction_accuracy <= 1.0
    assert score.n_edges > 30
    assert score.distance_auroc > 0.5
    assert not hasattr(MODEL, "embedding_")


def test_roles_that_only_some_training_graphs_leave_open_give_no_direction() -> None:
    """Of one label, but sources and targets are apart: only nodes that lose all their links may be both."""
    generator = np.random.default_rng(1)
    found = [(u, "R", v) for u in range(30) for v in (30 + generator.choice(25, 4, replace=False)).tolist()]
    found += [(int(generator.integers(30)), "R", v) for v in range(55, 60)]
    graph = made_of(60, [{"A"}] * 60, found, 0)
    (pattern,) = patterns_of(graph)
    held_out = hold_out(MODEL, graph)
    either = {candidate_pairs(each.split.train, pattern).has_either_way for each in held_out}
    assert either == {True, False}
    assert link_score(held_out, graph).directions == {}


def test_a_graph_without_directions_gets_a_score_without_a_pattern() -> None:
    _, _, score = fitted_pairs()
    assert set(score.tables) == set(score.figures) == set(score.reliability) == {""}
    assert score.directions == {}
    assert score.n_non_edges == 5 * score.n_edges
    figures = score.figures[""]
    assert figures.n_links == 2 * score.n_edges
    assert figures.direction_accuracy is None
    assert figures.mrr > figures.popularity_mrr


def test_held_out_links_rank_better_than_by_popularity_and_by_chance() -> None:
    ours, popular, chance = [], [], []
    for seed in range(2):
        graph = clustered(200, seed)
        split = split_edges(graph, 0.15, random_state=seed)
        model = HEAT(4, walks_per_node=3, walk_length=20, random_state=seed, n_threads=1).fit(split.train)
        scorer = fit_link_score(model, split.train).scorers(model.embedding_, split.train)(None)
        rows, joined = scorer.rows(0, 200), split.train.adjacency.toarray() > 0
        degree = np.tile(split.train.degrees, (200, 1)).astype(float)
        for u, v in np.concatenate((split.test_edges, split.test_edges[:, ::-1])).tolist():
            others = ~joined[u] & (np.arange(200) != u)
            for scores, into in ((rows, ours), (degree, popular)):
                into.append(1 / (1 + np.sum(scores[u, others] > scores[u, v])))
            chance.append(np.mean(1 / np.arange(1, others.sum() + 1)))
    assert np.mean(ours) > 1.5 * np.mean(popular)
    assert np.mean(ours) > 2.0 * np.mean(chance)


@pytest.mark.parametrize("step", [1, 2, 4])
def test_folds_are_balanced_if_labels_take_turns_in_the_rows(step: int) -> None:
    rng = np.random.default_rng(0)
    group, n = rng.integers(0, 5, size=(2, 120)), 120
    user, item = np.nonzero(rng.random((n, n)) < np.where(group[0][:, None] == group[1], 0.3, 0.01))
    is_user = np.arange(2 * n) < n if step == 1 else np.arange(step * n) % step == 0
    is_item = ~is_user if step == 1 else np.arange(step * n) % step == 1
    ends = np.flatnonzero(is_user)[user], np.flatnonzero(is_item)[item]
    graph = Graph(
        sparse.csr_array((np.ones(len(user)), ends), shape=(len(is_user), len(is_user))),
        labels={"User": is_user, "Item": is_item},
        relationships=Relationships.from_pairs({"R": ends}),
    )
    held_out = embed_without(MODEL, graph)
    (sample,) = sampling.samples_of(held_out, graph).values()
    for part in (sample.fold, sample.place // 2 % 2):
        assert np.bincount(part[sample.is_link], minlength=2).min() > 0.3 * sample.is_link.sum()
    score = link_score([held_out], graph)
    (figures,) = score.figures.values()
    assert figures.mrr is not None
    assert figures.mrr > 0.05
    scorer = score.scorers(held_out.embedding, held_out.split.train)(Pattern("User", "R", "Item"))
    own = sample.is_candidate
    expected = scorer.probability(scorer.pairs(sample.pairs[own]))
    assert np.sum(expected) == pytest.approx(np.sum(sample.is_link[own]), rel=0.5)


def test_rounding_errors_of_a_feature_tell_no_pairs_apart() -> None:
    """In a star, the SVD gives two leaves a value of about 1e-18, and a leaf without links exactly 0."""
    n = 1_000
    ends = np.zeros(n - 1, dtype=np.int64), np.arange(1, n)
    graph = Graph(sparse.csr_array((np.ones(n - 1), ends), shape=(n, n)))
    score = fit_link_score(MODEL, graph)
    for name, knots, heights in zip(score.features, score.knots, score.common[1:], strict=True):
        close = np.diff(knots) < 1e-12
        assert not close.any() or np.ptp(heights) < 1e-9, name
    model = clone(MODEL).fit(graph)
    assert len(predict_links(model, graph, 3, score=score)) == 0  # leaves are not linked to one another


def test_a_smaller_sample_counts_for_as_many_pairs() -> None:
    _, graph = directed()
    held_out = embed_without(MODEL, graph)
    usual = sampling.samples_of(held_out, graph)
    for name, small in sampling.samples_of(held_out, graph, most=MostSources(others=8, per_root=0.0)).items():
        linked = np.unique(small.pairs[small.is_link, 0])
        assert len(np.setdiff1d(small.pairs[small.is_candidate, 0], linked)) <= 8
        assert small.weight.sum() == pytest.approx(usual[name].weight.sum(), rel=0.2)


def test_sources_that_are_only_measured_change_no_fit() -> None:
    _, graph = directed()
    held_out = embed_without(MODEL, graph)
    few, more = (
        sampling.samples_of(held_out, graph, most=MostSources(linked=20, others=8, per_root=per_root))
        for per_root in (0.0, 4.0)
    )
    for name, own in few.items():
        also = more[name]
        assert also.is_candidate.sum() > own.is_candidate.sum()
        for column in ("pairs", "is_link", "offset", "values"):
            fitted, known = (getattr(each, column)[each.is_fitted] for each in (also, own))
            np.testing.assert_array_equal(fitted, known)


def test_a_node_without_links_has_finite_scores() -> None:
    for points, graph, pattern in ((*directed(), MANY), (some_points(150), clustered(), None)):
        kept = graph.adjacency.tolil()
        kept[7, :] = kept[:, 7] = 0.0
        parts: dict[str, Any] = {"attributes": graph.attributes, "labels": graph.labels}
        if graph.relationships is not None:
            away = np.array([(min(7, v), max(7, v)) for v in range(graph.n_nodes) if v != 7])
            parts["relationships"] = graph.relationships.without(away, graph.n_nodes)
        alone = Graph(sparse.csr_array(kept), **parts)
        assert alone.degrees[7] == 0
        score = fit_link_score(MODEL, alone)
        scorer = score.scorers(points, alone)(pattern)
        for scores in (scorer.rows(7, 8), scorer.reversed().rows(7, 8)):
            assert np.isfinite(scores).all()
            chances = scorer.probability(scores)
            assert ((chances >= 0.0) & (chances <= 1.0)).all()


def test_a_small_graph_is_measured_on_links_held_out_several_times() -> None:
    _, graph, score = fitted()
    every = [sampling.samples_of(each, graph) for each in hold_out(MODEL, graph)]
    for name in every[0]:
        own = [each[name] for each in every]
        whole = sampling.Sample.joined(own)
        assert score.figures[name].n_links == whole.n_links == sum(each.n_links for each in own)
        ends = np.cumsum([len(each.pairs) for each in own])
        for first, sample, end in zip((0, *ends), own, ends, strict=False):
            np.testing.assert_array_equal(whole.fold[first:end], sample.fold)
            np.testing.assert_array_equal(whole.values[first:end], sample.values)
        others = np.concatenate([each.is_fitted & ~each.is_link for each in own])
        kept = whole.is_fitted & ~whole.is_link
        assert not (kept & ~others).any()
        assert kept.sum() == pytest.approx(others.sum() / 4, rel=0.1)
        # All links beside a quarter of the others: the odds of a link are four times those of one time.
        odds = np.exp(np.concatenate([each.offset for each in own]))
        np.testing.assert_allclose(np.exp(whole.offset), 4.0 * odds)
        # Without a few links, a training graph can lack a feature that others have.
        own[0].values[:, :3] = np.nan
        alone = np.concatenate([module._log_odds(each, score, name) for each in own])
        np.testing.assert_array_equal(module._log_odds(sampling.Sample.joined(own), score, name), alone)
        assert np.isfinite(alone).all()
        places = [set(part.tolist()) for part in np.split(whole.place, ends[:-1])]
        assert len(set.union(*places)) == sum(map(len, places))  # a source is ranked each time by itself


def test_the_latest_links_are_counted_once() -> None:
    _, graph, _ = fitted()
    times = np.random.default_rng(0).permutation(graph.n_edges).astype(float)
    dated = replace(graph, edge_times=times)
    held_out = hold_out(MODEL, dated)
    once, often = (link_score(each, dated) for each in (held_out[:1], held_out))
    for name, figures in often.figures.items():
        assert (figures.n_links, figures.recall) == (once.figures[name].n_links, once.figures[name].recall)
    assert often.tables != once.tables


def test_a_score_is_fitted_to_a_part_of_very_many_links() -> None:
    graph = clustered(200)
    held_out = embed_without(MODEL, graph)
    n_links = 2 * len(held_out.split.test_edges)  # in both directions
    whole, part = (
        sampling.samples_of(held_out, graph, most=MostSources(fitted_links=most))[""]
        for most in (n_links, n_links // 5)
    )
    assert part.n_links == whole.n_links == n_links
    assert (part.n_asked, part.n_sources) == (whole.n_asked, whole.n_sources)
    fitted = whole.pairs[whole.is_link & whole.is_fitted]
    assert len(fitted) == n_links
    some = part.pairs[part.is_link & part.is_fitted]
    assert n_links // 6 <= len(some) <= n_links // 5
    assert len(np.unique(some[:, 0])) > len(some) // 2  # spread over the sources


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("features",), "features but knots of"),
        (("knots",), "features but knots of"),
        (("common",), "the table 'common' does not fit the knots"),
        (("common", 3), "the table 'common' does not fit the knots"),
        (("tables", "A-R->A", 0), "the table 'A-R->A' does not fit the knots"),
        (("directions", "A-R->A"), "'A-R->A' has"),
        (("direction_width",), "'direction_width' has"),
        (("reliability", "A-R->A", "low"), "the reliability of 'A-R->A'"),
    ],
)
def test_a_record_that_was_cut_by_hand_is_refused_in_one_line(path: tuple[Any, ...], line: str) -> None:
    data = json.loads(json.dumps(fitted()[2].to_dict()))
    assert LinkScore.from_dict(data) == fitted()[2]
    part = data
    for step in path:
        part = part[step]
    del part[-1]
    with pytest.raises(ValueError, match=f"no link score: .*{line}.*; fit it again"):
        LinkScore.from_dict(data)


@pytest.mark.filterwarnings("error")
def test_a_pattern_without_a_held_out_link_has_the_common_score() -> None:
    _, graph, _ = fitted()
    held_out = embed_without(MODEL, graph)
    train = held_out.split.train
    kinds = {name: (graph if name == "S" else train).relationships.of(name) for name in ("R", "S")}
    train = replace(train, relationships=Relationships.from_pairs(kinds))
    score = link_score([held_out._replace(split=replace(held_out.split, train=train))], graph)
    assert score.figures["A-S->B"].n_links == 0
    np.testing.assert_allclose(
        np.concatenate(score.tables["A-S->B"]), np.concatenate(score.common), atol=1e-6
    )


def test_features_that_a_graph_has_not_add_nothing() -> None:
    graph = Graph(adjacency=clustered().adjacency)
    score = fit_link_score(MODEL, graph)
    scorer = score.scorers(some_points(150), graph)(None)
    assert "attributes" not in scorer.features
    assert np.isfinite(scorer.rows(0, 2)).all()
    place = score.features.index("attributes")
    assert set(score.common[place + 1]) == {0.0}


def test_the_bits_are_the_same_with_one_thread_and_with_two() -> None:
    _, graph, score = fitted()
    two = HEAT(3, walks_per_node=2, walk_length=10, random_state=0, n_threads=2)
    assert fit_link_score(two, graph) == score


def test_probabilities_of_a_pattern_that_was_not_measured_are_the_logistic_of_the_log_odds() -> None:
    points, graph, _ = fitted()
    scorer = weighted(distance=1.0).scorers(points, graph)(MANY)
    np.testing.assert_allclose(scorer.probability([-2.0, 0.0, 3.0]), expit([-2.0, 0.0, 3.0]))
    assert scorer.interval(0.0) is None


def test_probabilities_of_a_measured_pattern_lie_in_their_interval() -> None:
    points, graph, score = fitted()
    scorer = score.scorers(points, graph)(MANY)
    odds = np.linspace(-9.0, 9.0, 50)
    low, high = np.array([scorer.interval(each) for each in odds]).T
    chances = scorer.probability(odds)
    assert ((low <= chances) & (chances <= high)).all()
    assert (np.diff(chances) >= 0.0).all()
    assert ((low >= 0.0) & (high <= 1.0)).all()


def test_figures_of_too_few_links_are_missing() -> None:
    sampled = made_sample(1, 6, 60, 1.0)
    found = module._figures(sampled, [], "", np.zeros(len(sampled.pairs)))
    assert found == PatternFigures(6, None, None, None, None, None, None, None, None)


def test_a_pattern_with_few_held_out_links_borrows_the_curve_of_all() -> None:
    few, many, more = module._LINKS_OF_CURVE // 6, 36, 54  # held out each of four times
    groups = np.arange(300) // 30
    ends = {}
    for seed, (name, count) in enumerate({"FEW": 10 * few, "MANY": 10 * many, "MORE": 10 * more}.items()):
        rng = np.random.default_rng(seed)
        source = rng.integers(0, 300, 4 * count)
        target = (source + rng.integers(1, 30, 4 * count)) % 30 + 30 * groups[source]
        pairs = np.unique(np.column_stack((source, target))[source != target], axis=0)
        ends[name] = tuple(rng.permutation(pairs)[:count].T)
    source, target = (np.concatenate([each[end] for each in ends.values()]) for end in (0, 1))
    adjacency = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(300, 300))
    graph = Graph(adjacency, labels={"A": np.ones(300, bool)}, relationships=Relationships.from_pairs(ends))
    found = fit_link_score(MODEL, graph).reliability
    own = {name: sum(curve.n_pairs) for name, curve in found.items()}
    assert own["A-FEW->A"] > own["A-MORE->A"] + own["A-MANY->A"]
    assert own["A-MANY->A"] != own["A-MORE->A"]


def test_nodes_that_lose_all_edges_stand_for_the_isolated_ones() -> None:
    ring = np.column_stack((np.arange(12), (np.arange(12) + 1) % 12))
    graph = Graph(sparse.csr_array((np.ones(12), (ring[:, 0], ring[:, 1])), shape=(15, 15)))
    edges = np.sort(ring, axis=1)
    held_out = edges[[0, 1, 2, 5, 6]]  # 1, 2 and 6 are left without edges
    kept = edges[[3, 4, 7, 8, 9, 10, 11]]
    train = Graph(sparse.csr_array((np.ones(7), (kept[:, 0], kept[:, 1])), shape=(15, 15)))
    split = EdgeSplit(train, held_out, np.empty((0, 2), dtype=np.int64))
    is_end = np.arange(15) != 13
    lost, isolated = [1, 2, 6], [12, 13, 14]
    expected = np.ones(15)
    expected[lost], expected[isolated] = 2 / 3, 0.0
    np.testing.assert_array_equal(sampling._End.of(split, graph, is_end).standing, expected)
    # By time, 6 had an earlier edge, so it does not stand for nodes that never had one.
    times = np.where(
        np.isin(graph.edges.row * 15 + graph.edges.col, held_out[[0, 1, 2, 3]] @ (15, 1)), 9.0, 1.0
    )
    expected[[1, 2]], expected[6] = 1.0, 0.0
    by_time = replace(split, since=9.0)
    by_time_of_ends = sampling._End.of(by_time, replace(graph, edge_times=times), is_end)
    np.testing.assert_array_equal(by_time_of_ends.standing, expected)


def test_a_node_that_may_have_one_link_is_no_surer_of_it_than_nodes_that_have_lost_theirs() -> None:
    n_tunes, n_books = 800, 20
    rng, tunes = np.random.default_rng(0), np.arange(800)
    book = n_tunes + tunes % n_books
    key = n_tunes + n_books + 2 * (tunes % n_books) + rng.integers(0, 2, n_tunes)  # nothing says which of two
    n = n_tunes + 3 * n_books
    ends = {"IN_BOOK": (tunes, book), "IN_KEY": (tunes, key)}
    rows, columns = (np.concatenate([each[end] for each in ends.values()]) for end in (0, 1))
    kinds = np.repeat(["Tune", "Book", "Key"], [n_tunes, n_books, 2 * n_books])
    graph = Graph(
        sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)),
        labels={name: kinds == name for name in ("Tune", "Book", "Key")},
        relationships=Relationships.from_pairs(ends),
    )
    curve = fit_link_score(MODEL, graph).reliability["Tune-IN_KEY->Key"]
    assert 0.3 < curve.probability[-1] < 0.75
    assert (np.array(curve.low) <= curve.probability).all()
    assert (np.array(curve.high) >= curve.probability).all()
    np.testing.assert_array_less(np.array(curve.n_links) / curve.n_pairs, 0.75)


@pytest.mark.parametrize(
    ("n_isolated", "expected"), [(4, 1.0), (10, (4 / 11) ** 0.5), (20, 4 / 21), (95, 4 / 96)]
)
def test_isolated_nodes_count_as_new_unless_most_nodes_are_isolated(n_isolated: int, expected: float) -> None:
    n = 10 + n_isolated
    path = np.column_stack((np.arange(9), np.arange(1, 10)))
    graph, train = (
        Graph(sparse.csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n)))
        for pairs in (path, path[3:])  # 0, 1 and 2 lose all edges
    )
    split = EdgeSplit(train, path[:3], np.empty((0, 2), dtype=np.int64))
    assert sampling._End.of(split, graph, np.ones(n, dtype=np.bool_)).share_linked == pytest.approx(expected)


@pytest.mark.parametrize("n_isolated", [60, 2_000])
def test_few_links_of_isolated_nodes_are_expected_where_most_nodes_are_isolated(n_isolated: int) -> None:
    linked = clustered(240)
    n = 240 + n_isolated
    groups = np.append(np.arange(240) // 10, np.arange(n_isolated) % 24)
    graph = Graph(
        sparse.csr_array((linked.edges.data, (linked.edges.row, linked.edges.col)), shape=(n, n)),
        attributes=np.eye(24)[groups],
    )
    points = np.vstack((some_points(240), some_points(240)[np.arange(n_isolated) % 240]))
    score = fit_link_score(MODEL, graph)
    links = predict_links(points, graph, None, max_links=50 * n, min_probability=0.0, score=score)
    has_isolated = (graph.degrees[np.array([links.source, links.target])] == 0).any(axis=0)
    per_node = links.probability[has_isolated].sum() / n_isolated
    is_normal = n_isolated > 240
    assert (per_node < 0.1) == is_normal
    note = "most nodes have no relationships (2,000 of 2,240), so links of these get low probabilities"
    assert (note in links.notes) == is_normal


def test_a_source_that_has_its_only_target_is_not_measured() -> None:
    """Nine in ten films have their one director; probabilities are those of the others."""
    rng = np.random.default_rng(0)
    n_films, n_directors = 400, 40
    n = n_films + n_directors
    is_film = np.arange(n) < n_films
    films = np.arange(n_films)
    directors = n_films + (films % 8) * 5 + rng.integers(0, 5, n_films)
    is_known = rng.random(n_films) < 0.9
    ends = films[is_known], directors[is_known]
    graph = Graph(
        sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n)),
        attributes=np.eye(8)[np.append(films % 8, np.arange(n_directors) // 5)],
        labels={"Film": is_film, "Director": ~is_film},
        relationships=Relationships.from_pairs({"BY": ends}),
    )
    held_out = embed_without(MODEL, graph)
    (sample,) = sampling.samples_of(held_out, graph).values()
    assert (held_out.split.train.degrees[sample.pairs[sample.is_candidate, 0]] == 0).all()
    assert (held_out.split.train.degrees[sample.pairs[~sample.is_candidate, 0]] > 0).any()
    (curve,) = link_score([held_out], graph).reliability.values()
    assert 0.13 < curve.probability[-1] < 0.27  # one in five of the director's group


@pytest.mark.parametrize("per_group", [2, 3])
def test_a_source_that_lost_its_only_target_is_not_measured_but_its_link_is(per_group: int) -> None:
    """Films have a country, too, and a tenth of the directors is missing, as the calibration assumes."""
    rng = np.random.default_rng(1)
    n_films, n_directors = 600, 8 * per_group
    n = n_films + n_directors + 4
    films = np.arange(n_films)
    directors = n_films + (films % 8) * per_group + rng.integers(0, per_group, n_films)
    countries = n_films + n_directors + rng.integers(0, 4, n_films)
    is_known = rng.permutation(n_films) >= n_films // 10
    ends = {"BY": (films[is_known], directors[is_known]), "IN": (films, countries)}
    both = tuple(np.concatenate([each[end] for each in ends.values()]) for end in (0, 1))
    place = np.arange(n)
    labels = {"Film": place < n_films, "Country": place >= n_films + n_directors}
    labels["Director"] = ~labels["Film"] & ~labels["Country"]
    group = np.concatenate((films % 8, np.arange(n_directors) // per_group, np.full(4, 8)))
    graph = Graph(
        sparse.csr_array((np.ones(len(both[0])), both), shape=(n, n)),
        attributes=np.eye(9)[group],
        labels=labels,
        relationships=Relationships.from_pairs(ends),
    )
    score = fit_link_score(MODEL, graph)
    pattern = Pattern("Film", "BY", "Director")
    scorer, rules = (
        score.scorers(MODEL.fit(graph).embedding_, graph)(pattern),
        learn_schema_rules(graph, [pattern]),
    )
    pairs = np.array([(u, v) for u in films[~is_known] for v in range(n_films, n_films + n_directors)])
    found = probability_among_rivals(scorer, rules, graph, pattern, pairs, scorer.pairs(pairs))
    is_true = pairs[:, 1] == directors[pairs[:, 0]]
    assert found.sum() == pytest.approx(is_true.sum(), rel=0.35)


class _FixedScorer:
    """Scores pairs by a matrix of calibrated log odds."""

    def __init__(self, log_odds: Any) -> None:
        self._log_odds = log_odds

    def probability(self, log_odds: Any) -> Any:
        return expit(log_odds)

    def reversed(self) -> _FixedScorer:
        return _FixedScorer(self._log_odds.T)

    def between(self, first: Any, second: Any) -> _FixedScorer:
        return _FixedScorer(self._log_odds[np.ix_(first, second)])

    def rows(self, begin: int, end: int) -> Any:
        return self._log_odds[begin:end]

    def pairs(self, pairs: Any) -> Any:
        return self._log_odds[tuple(pairs.T)]


@pytest.fixture
def films() -> tuple[Graph, Pattern, Any]:
    """Return films, of which all but two have one of ten directors, and equal log odds of all links."""
    source, is_film = np.arange(2, 100), np.arange(110) < 100
    target = 100 + source % 10
    graph = Graph(
        sparse.csr_array((np.ones(98), (source, target)), shape=(110, 110)),
        labels={"Film": is_film, "Director": ~is_film},
        relationships=Relationships.from_pairs({"BY": (source, target)}),
    )
    return graph, Pattern("Film", "BY", "Director"), np.zeros((110, 110))


def test_rivals_for_the_only_link_of_a_node_share_one_probability(films: tuple[Graph, Pattern, Any]) -> None:
    graph, pattern, log_odds = films
    log_odds[:, 100] = 3.0
    scorer, rules = cast(LinkScorer, _FixedScorer(log_odds)), learn_schema_rules(graph, [pattern])
    for film in (0, 10):  # the tenth is linked to its likeliest director
        pairs = np.column_stack((np.full(10, film), np.arange(100, 110)))
        chance = probability_among_rivals(scorer, rules, graph, pattern, pairs, log_odds[film, 100:])
        assert chance[0] == expit(3.0)
        assert chance[1:] == pytest.approx((1 - expit(3.0)) / 9)
        found, *_ = probabilities(graph, lambda _: scorer, rules, [pattern], pairs)
        np.testing.assert_array_equal(found, chance)


def test_recommended_sources_are_ranked_by_what_their_rivals_leave(films: tuple[Graph, Pattern, Any]) -> None:
    graph, pattern, log_odds = films
    log_odds[[0, 1, 0], [100, 100, 101]] = 2.0, 1.0, 4.0
    (found,) = likeliest_partners(
        np.tile([0.0, 0.0, 1.0], (110, 1)),
        graph,
        [pattern],
        100,
        1,
        reverse=True,
        scorers=lambda _: cast(LinkScorer, _FixedScorer(log_odds)),
        rules=learn_schema_rules(graph, [pattern]),
    )
    assert (found.partner.tolist(), found.chance(0)) == ([1], expit(1.0))


def test_links_that_only_new_nodes_get_do_not_make_others_likely() -> None:
    """The latest edges join nodes that had none before, so pairs of old nodes are no likely links."""
    plain = clustered(180)
    edges = np.column_stack((plain.edges.row, plain.edges.col))
    is_new = np.arange(180) >= 150
    dated = replace(plain, edge_times=is_new[edges].any(axis=1).astype(float))
    without, by_time = (fit_link_score(MODEL, graph) for graph in (plain, dated))
    assert by_time.reliability[""].probability[-1] < 0.2 * without.reliability[""].probability[-1]
    assert (without.since, by_time.since) == (None, "1")


def test_a_type_without_times_is_measured_on_random_links() -> None:
    """Half of the edges are of a type that no time dates; the other half came evenly."""
    plain = clustered(180)
    ends, rng = np.column_stack((plain.edges.row, plain.edges.col)), np.random.default_rng(0)
    knows = rng.random(len(ends)) < 0.5
    graph = Graph(
        sparse.csr_array((np.ones(len(ends)), tuple(ends.T)), shape=plain.adjacency.shape),
        labels={"A": np.ones(180, dtype=bool)},
        relationships=Relationships.from_pairs(
            {"KNOWS": tuple(ends[knows].T), "LIKES": tuple(ends[~knows].T)}
        ),
    )
    np.testing.assert_array_equal(np.column_stack((graph.edges.row, graph.edges.col)), ends)
    times = np.where(knows, rng.random(len(ends)), np.nan)
    without, dated = (fit_link_score(MODEL, each) for each in (graph, replace(graph, edge_times=times)))
    assert {name: each.by_time for name, each in dated.figures.items()} == {
        "A-KNOWS->A": True,
        "A-LIKES->A": False,
    }
    links = {name: each.n_links for name, each in dated.figures.items()}
    assert links["A-LIKES->A"] > 3 * links["A-KNOWS->A"]  # held out four times, and once
    tops = [each.reliability["A-LIKES->A"].probability[-1] for each in (without, dated)]
    assert tops[1] == pytest.approx(tops[0], rel=0.35)
    heights = dict(zip(dated.features, dated.tables["A-LIKES->A"][1:], strict=True))
    assert not any(heights["source_age"] + heights["target_age"])


def test_isolated_sources_are_comparable_with_others_by_time() -> None:
    """Old users rarely rate a film of late, and none of their taste; new users rate those of theirs."""
    rng = np.random.default_rng(0)
    n_users, n_films = 260, 40
    n, is_late = n_users + n_films, np.repeat([False, True], [1600, 300])
    user = np.concatenate((np.repeat(np.arange(200), 8), np.repeat(np.arange(200, 240), 6), np.arange(60)))
    film = n_users + (2 * rng.integers(0, 20, len(user)) + user % 2) % n_films
    film[-60:] = n_users + (film[-60:] - n_users + 1) % n_films
    pairs, first = np.unique(np.column_stack((user, film)), axis=0, return_index=True)
    is_user = np.arange(n) < n_users
    graph = Graph(
        sparse.csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n)),
        attributes=np.column_stack((np.arange(n) % 2 == 0, np.arange(n) % 2 == 1)).astype(float),
        labels={"User": is_user, "Film": ~is_user},
        relationships=Relationships.from_pairs({"RATED": tuple(pairs.T)}),
    )
    times = np.empty(len(pairs))
    times[np.lexsort((graph.edges.col, graph.edges.row))] = is_late[first]
    scorer = fit_link_score(MODEL, replace(graph, edge_times=times)).scorers(some_points(n), graph)(
        Pattern("User", "RATED", "Film")
    )
    every = np.stack(np.meshgrid(np.arange(n_users), np.arange(n_users, n), indexing="ij"), -1)
    chance = scorer.probability(scorer.pairs(every.reshape(-1, 2))).reshape(n_users, n_films)
    assert chance[:200].max(axis=1).mean() < 0.07 < 0.2 < chance[240:].max(axis=1).mean()
    assert set(ISOLATED) <= set(scorer.score.features)
    assert not set(ISOLATED) & set(fit_link_score(MODEL, graph).features)


def test_users_who_have_left_get_no_links_by_time() -> None:
    """Each user rates films for a while; then only those who have rated of late rate another one."""
    rng = np.random.default_rng(0)
    n_users, n_films = 240, 30
    user = np.repeat(np.arange(n_users), 9)
    time = 4.0 * (user % 60) // 10 + rng.integers(0, 4, len(user))
    film = n_users + rng.integers(0, n_films, len(user))
    pairs, first = np.unique(np.column_stack((user, film)), axis=0, return_index=True)
    is_user = np.arange(n_users + n_films) < n_users
    graph = Graph(
        sparse.csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(is_user), len(is_user))),
        labels={"User": is_user, "Film": ~is_user},
        relationships=Relationships.from_pairs({"RATED": tuple(pairs.T)}),
    )
    times = np.empty(len(pairs))
    times[np.lexsort((graph.edges.col, graph.edges.row))] = time[first]
    rated, points = Pattern("User", "RATED", "Film"), some_points(len(is_user))
    chances = {}
    for name, dated in (("by time", replace(graph, edge_times=times)), ("random", graph)):
        score = fit_link_score(MODEL, dated)
        scorer = score.scorers(points, dated)(rated)
        every = np.stack(np.meshgrid(np.arange(n_users), np.arange(n_users, len(is_user)), indexing="ij"), -1)
        chance = scorer.probability(scorer.pairs(every.reshape(-1, 2))).reshape(n_users, n_films).mean(axis=1)
        left, present = np.arange(n_users) % 60 < 30, np.arange(n_users) % 60 >= 50
        chances[name] = chance[present].mean() / chance[left].mean()
        assert ("source_age" in score.features) == (name == "by time")
    assert chances["by time"] > 5.0 > 2.0 > chances["random"]


def test_as_many_links_are_expected_as_came_last() -> None:
    """A score fitted to a tenth of the earlier edges expects as many links as the latest, here .3 of all."""
    plain = clustered(240)
    is_latest = np.random.default_rng(0).random(plain.n_edges) < 0.3
    shares = []
    for graph in (plain, replace(plain, edge_times=is_latest.astype(float))):
        held_out = embed_without(MODEL, graph)
        train = held_out.split.train
        scorer = link_score([held_out], graph).scorers(held_out.embedding, train)(None)
        pairs = np.column_stack(np.nonzero(np.triu(train.adjacency.toarray() == 0.0, k=1)))
        n_links = is_latest.sum() if graph.edge_times is not None else len(held_out.split.test_edges)
        shares.append(expit(scorer.pairs(pairs)).sum() / n_links)
    assert shares[1] == pytest.approx(shares[0], rel=0.2)


def test_too_few_relationships_are_said_so() -> None:
    _, graph, _ = fitted()
    held_out = embed_without(MODEL, graph)
    few = held_out._replace(split=replace(held_out.split, train=graph))
    with pytest.raises(CalibrationError, match="fewer than 10 relationships of the patterns"):
        link_score([few], graph)
    triangle = Graph(adjacency=sparse.csr_array(np.ones((3, 3)) - np.eye(3)))
    with pytest.raises(CalibrationError, match="no link score"):
        fit_link_score(MODEL, triangle)


# --- the search ---------------------------------------------------------------------------------------------


def best_by_hand(score: LinkScore, points: np.ndarray, graph: Graph, k: int | None) -> list:
    """Return the pairs that are among the k best of either end, best first."""
    n, scorer = graph.n_nodes, score.scorers(points, graph)(None)
    odds = {
        (u, v): float(scorer.pairs(np.array([[u, v]]))[0])
        for u in range(n)
        for v in range(u + 1, n)
        if not graph.adjacency[u, v]
    }
    kept = set()
    for u in range(n):
        mine = sorted((pair for pair in odds if u in pair), key=lambda pair: (-odds[pair], sum(pair) - u))
        kept |= set(mine[:k])
    return sorted(kept, key=lambda pair: (-odds[pair], pair))


@pytest.mark.parametrize(("k", "top"), [(3, None), (None, 25), (2, 10)])
@pytest.mark.usefixtures("small_blocks")
def test_the_best_scored_pairs_are_found(k: int | None, top: int | None) -> None:
    """Of 30 nodes all are on the lists of each."""
    graph, points = clustered(30), some_points(30)
    score = weighted(distance=1.0, target_in=0.4, paths_of_three=0.7)
    found = predict_links(points, graph, k, max_links=top, score=score)
    expected = best_by_hand(score, points, graph, k)[: top or graph.n_edges]
    assert list(zip(found.source.tolist(), found.target.tolist(), strict=True)) == expected
    np.testing.assert_array_equal(found.distance, distance(points[found.source], points[found.target]))
    assert (np.diff(found.probability) <= 0).all()


@pytest.mark.usefixtures("small_blocks")
def test_the_search_gives_the_same_on_any_number_of_threads_and_tells_its_progress() -> None:
    graph, points, told = clustered(60), some_points(60), []
    one, three = (
        predict_links(
            points,
            graph,
            3,
            score=weighted(target_in=0.0),
            n_threads=threads,
            on_progress=lambda *call: told.append(call),
        )
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one.source, three.source)
    np.testing.assert_array_equal(one.probability, three.probability)
    nearest = [("nearest", done, 60) for done in (0, 20, 40, 60)]
    assert told == 2 * [*nearest, *(("links", done, 60) for done in (0, 25, 50, 60))]


def test_small_blocks_find_the_same(request: pytest.FixtureRequest) -> None:
    graph, points = clustered(60), some_points(60)
    score = weighted(distance=1.0, common_neighbours=0.5)
    whole = predict_links(points, graph, None, max_links=40, min_degree=5, score=score)
    request.getfixturevalue("small_blocks")
    parts = predict_links(points, graph, None, max_links=40, min_degree=5, score=score)
    np.testing.assert_array_equal(whole.source, parts.source)
    np.testing.assert_array_equal(whole.target, parts.target)
    np.testing.assert_array_equal(whole.probability, parts.probability)
    assert (graph.degrees[whole.source] >= 5).all()


def test_a_graph_with_nothing_to_link_gives_no_pair() -> None:
    full = Graph(adjacency=sparse.csr_array(np.ones((4, 4)) - np.eye(4)), attributes=np.eye(4))
    assert len(predict_links(some_points(4), full, 3, score=weighted(distance=1.0))) == 0
