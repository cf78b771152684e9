"""The score of links by pattern: its sum, its fit, what patterns share, and what is measured."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred import pattern_score as module
from heat_neo4j.linkpred.calibration import CalibrationError, embed_without
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.combined_score import LinkScore
from heat_neo4j.linkpred.features import DIRECTION, FEATURES
from heat_neo4j.linkpred.pattern_score import BY_DISTANCE, PatternScore, fit_link_score, pattern_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.patterns import Pattern
from tests.linkpred.test_pattern_laws import KINDS, a_score, directed

MODEL = HEAT(3, walks_per_node=2, walk_length=10, random_state=0, n_threads=1)
MANY, FEW, NONE = Pattern("A", "R", "A"), Pattern("A", "S", "B"), Pattern("B", "T", "B")


@cache
def fitted() -> tuple[np.ndarray, Graph, PatternScore]:
    points, graph = directed()
    return points, graph, fit_link_score(MODEL, graph)


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


def test_values_beyond_those_of_the_fit_are_taken_for_its_ends() -> None:
    points, graph, _ = fitted()
    k = len(BY_DISTANCE)
    score = PatternScore(
        BY_DISTANCE, (-1.0, 0.0), (2.0, 1.0), (-0.3, -1.0), (0.2, 1.0), (0.5, 3.0, 0.0),
        {}, DIRECTION, (1.0,) * 12, {}, {}, 10, 10, 0.5,
    )  # fmt: skip
    assert k == 2
    pairs = np.array([(0, v) for v in range(1, 90)])
    scorer = score.scorers(points, graph)(patterns_of(graph)[0])
    distances = scorer.features["distance"].pairs(pairs)
    np.testing.assert_allclose(
        scorer.pairs(pairs), 0.5 + 3.0 * np.clip((distances + 1.0) / 2.0, -0.3, 0.2), rtol=1e-12
    )


def test_two_directions_have_chances_that_add_up_to_one() -> None:
    points, graph, found = fitted()
    for score in (found, a_score((Pattern("A", "R", "A"),), 1, KINDS["everything"])):
        scorer = score.scorers(points, graph)(Pattern("A", "R", "A"))
        pairs = np.array([(u, v) for u in range(20) for v in range(u)])
        there, back = scorer.direction_log_odds(pairs), scorer.direction_log_odds(pairs[:, ::-1])
        if there is not None:
            np.testing.assert_allclose(expit(there) + expit(back), 1.0, rtol=1e-14)
            assert np.ptp(there) > 0.0
    assert found.scorers(points, graph)(Pattern("A", "S", "B")).direction is None


def test_a_score_comes_back_from_json_with_the_same_bits() -> None:
    points, graph, score = fitted()
    again = PatternScore.from_dict(json.loads(json.dumps(score.to_dict())))
    assert again == score
    assert PatternScore.from_dict(score.to_dict()) == score
    first, second = (predict_links(points, graph, 3, score=each) for each in (score, again))
    assert first.probability.tobytes() == second.probability.tobytes()
    assert first.source.tobytes() == second.source.tobytes()


def test_a_scorer_of_some_nodes_turned_round_scores_the_same() -> None:
    points, graph, score = fitted()
    scorer = score.scorers(points, graph)(Pattern("A", "R", "A"))
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


def loss(weights, values, truth, share, around, ridge):
    score = values @ weights
    return share @ (np.logaddexp(0, score) - truth * score) + 0.5 * ridge @ (weights - around) ** 2


@pytest.mark.parametrize("with_ones", [True, False])
@pytest.mark.parametrize("around", [0.0, 1.5])
def test_the_logistic_regression_is_the_least_of_its_loss(with_ones: bool, around: float) -> None:
    values, truth = sample(1, 400, (1.0, -0.5, 0.2))
    ridge = np.full(3, module._RIDGE)
    if with_ones:
        values[:, 0], ridge[0] = 1.0, 1e-3
    share = np.random.default_rng(2).uniform(0.5, 2.0, 400)
    centre = np.full(3, around)
    found = module._logistic(values, truth, share, centre)
    least = optimize.minimize(
        loss, np.zeros(3), (values, truth, share, centre, ridge), method="BFGS", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(found, least.x, atol=1e-5)
    for place in range(3):
        step = np.eye(3)[place] * 1e-5
        ahead, behind = (loss(found + way, values, truth, share, centre, ridge) for way in (step, -step))
        assert abs(ahead - behind) / 2e-5 < 1e-4


def test_separable_links_have_finite_weights() -> None:
    values = np.column_stack((np.ones(40), np.linspace(-1, 1, 40) * 1e3))
    found = module._logistic(values, values[:, 1] > 0, np.ones(40), np.zeros(2))
    assert np.isfinite(found).all()
    assert module._logistic(values[:0], [], np.ones(0), np.array([2.0, 3.0])).tolist() == [2.0, 3.0]


def test_patterns_with_few_links_keep_the_common_weights_and_others_get_their_own() -> None:
    parts = {
        MANY: sample(1, 20_000, (2.0, -1.0)),
        FEW: sample(2, 8, (-2.0, 1.0)),
        NONE: (np.zeros((0, 2)), np.zeros(0, dtype=bool)),
        Pattern("B", "R", "B"): sample(3, 20_000, (-1.0, 0.5)),
    }
    standard = {pattern: values for pattern, (values, _) in parts.items()}
    links = {pattern: truth for pattern, (_, truth) in parts.items()}
    common, weights = module._pooled_weights(standard, links)
    np.testing.assert_array_equal(weights[NONE], common)
    for pattern, truth in ((MANY, (2.0, -1.0)), (Pattern("B", "R", "B"), (-1.0, 0.5))):
        values = module._with_ones(standard[pattern])
        alone = optimize.minimize(
            loss, np.zeros(3), (values, links[pattern], module._even(links[pattern]), 0.0, np.zeros(3))
        ).x
        np.testing.assert_allclose(weights[pattern], alone, atol=0.1)
        np.testing.assert_allclose(weights[pattern][1:], truth, atol=0.15)
        assert np.abs(weights[pattern] - common).max() > 0.3
    assert np.abs(weights[FEW][1:] - common[1:]).max() < 0.3


def noise(seed: int, n_links: int, n_others: int, n_features: int = 3) -> module._Sample:
    rng = np.random.default_rng(seed)
    n = n_links + n_others
    is_link = np.arange(n) < n_links
    direction = rng.normal(size=(n, len(DIRECTION)))
    return module._Sample(rng.normal(size=(n, n_features)), is_link, direction, is_link, rng.normal(size=n))


def test_figures_of_noise_are_those_of_chance() -> None:
    """Without cross-validation they would flatter: of 20 links with 12 features of a direction, by far."""
    figures = []
    for number in range(60):
        alone = noise(number, 20, 100)
        standard = {MANY: np.column_stack((alone.values, np.zeros(120)))}
        found = module._figures({MANY: alone}, standard, np.ones(len(DIRECTION)), (0.0, 1.0))
        figures.append(found[MANY])
    assert {each.n_links for each in figures} == {20}
    # Means over 60: their errors are about 0.01, and 0.015 of directions.
    assert abs(np.mean([each.auroc for each in figures]) - 0.5) < 0.05
    assert abs(np.mean([each.popularity_auroc for each in figures]) - 0.5) < 0.05
    assert abs(np.mean([each.direction_accuracy for each in figures]) - 0.5) < 0.06


def test_figures_of_what_tells_are_high_and_of_too_few_links_there_are_none() -> None:
    clear = noise(0, 60, 300)
    clear.values[:60, 0] += 3.0
    clear.direction[:, 4] += np.where(clear.is_link, 3.0, 0.0)
    samples = {MANY: clear, FEW: noise(1, 6, 60), NONE: noise(2, 0, 0)}
    standard = {p: np.column_stack((each.values, np.zeros(len(each.is_link)))) for p, each in samples.items()}
    figures = module._figures(samples, standard, np.ones(len(DIRECTION)), (0.0, 1.0))
    assert figures[MANY].auroc > 0.9
    assert figures[MANY].direction_accuracy > 0.9
    assert figures[FEW] == module.PatternFigures(6, None, None, None)
    assert figures[NONE] == module.PatternFigures(0, None, None, None)


def test_a_graph_with_directions_gets_a_score_of_its_patterns() -> None:
    _, graph, score = fitted()
    assert set(score.weights) == set(score.figures) == {"A-R->A", "A-S->B"}
    assert set(score.directions) == {"A-R->A"}
    assert score.features == (*FEATURES, "direction")
    assert score.figures["A-R->A"].auroc > 0.6
    assert score.figures["A-S->B"].direction_accuracy is None
    assert not score.by_distance
    assert not hasattr(MODEL, "embedding_")
    twice = fit_link_score(MODEL, graph, times=2)
    assert twice.figures["A-R->A"].n_links > 1.5 * score.figures["A-R->A"].n_links


def test_a_score_of_the_distance_alone_and_its_direction() -> None:
    points, graph, _ = fitted()
    score = pattern_score([embed_without(MODEL, graph)], graph, BY_DISTANCE[:1])
    assert score.by_distance
    assert score.features == BY_DISTANCE
    links, plain = predict_links(points, graph, 3, score=score), predict_links(points, graph, 3)
    assert (np.diff(links.probability) <= 0).all()

    def ends(found):
        return {
            (frozenset(pair), kind)
            for *pair, kind in zip(found.source, found.target, found.types, strict=True)
        }

    assert ends(links) == ends(plain)


def test_a_graph_without_directions_gets_a_score_of_pairs() -> None:
    graph = directed()[1]
    plain = Graph(adjacency=graph.adjacency)
    assert isinstance(fit_link_score(MODEL, plain), LinkScore)


def test_too_few_relationships_are_said_so() -> None:
    _, graph, _ = fitted()
    held_out = embed_without(MODEL, graph)
    split = held_out.split
    few = held_out._replace(split=type(split)(split.train, split.test_edges[:4], split.test_non_edges))
    with pytest.raises(CalibrationError, match="takes 10 relationships of patterns"):
        pattern_score([few], graph)
