"""Predicted numbers: near the truth, in intervals that hold what they promise, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph, PredictedNumbers
from heat_neo4j.classes.prediction import ClassificationError, predict_property
from heat_neo4j.classes.results import USUAL
from tests.classes.test_classes import predict_classes

N, LONELY = 900, 100


def shop(seed: int = 0, n: int = N) -> tuple[Graph, list[float]]:
    """Return products bought together, with tags, and skewed prices that follow both; the last are alone."""
    rng = np.random.default_rng(seed)
    level = rng.random(n)
    near = np.abs(level[:, None] - level) < 0.05
    joined = np.triu(rng.random((n, n)) < np.where(near, 0.06, 0.001), k=1)
    tags = rng.random((n, 12)) < np.where(
        np.abs(level[:, None] - np.linspace(0.0, 1.0, 12)) < 0.15, 0.5, 0.05
    )
    joined[:, -LONELY:], joined[-LONELY:], tags[-LONELY:] = False, False, False
    graph = Graph(sparse.csr_array(joined * 1.0), sparse.csr_array(tags * 1.0))
    return graph, np.round(np.exp(5.0 * level + rng.normal(0.0, 0.2, n)), 2).tolist()


def hidden(values: list[Any], seed: int = 1) -> list[Any]:
    lacks = np.random.default_rng(seed).random(len(values)) < 0.4
    return [None if lack else value for lack, value in zip(lacks, values, strict=True)]


def predict_numbers(*arguments: Any, **options: Any) -> PredictedNumbers:
    found = predict_property(*arguments, **options)
    assert isinstance(found, PredictedNumbers)
    return found


@pytest.fixture(scope="module")
def predicted() -> tuple[PredictedNumbers, np.ndarray]:
    graph, truth = shop()
    found = predict_numbers(graph, None, hidden(truth))
    return found, np.array(truth)[found.rows]


def test_numbers_are_nearer_than_the_median_and_the_mean_of_neighbours(predicted: Any) -> None:
    found, truth = predicted
    linked = found.rows < N - LONELY
    error = np.abs(found.value - truth)
    assert error[linked].mean() < 0.45 * np.abs(np.median(truth) - truth)[linked].mean()
    assert found.figures.error < 0.7 * found.figures.median_error
    assert found.figures.error < found.figures.neighbours_error < found.figures.median_error
    assert found.notes == (
        f"{found.figures.different} different numbers are predicted as numbers; "
        "set `kind` to class to change that",
        f"45 of {len(found)} predicted nodes have no relationships: judged by their "
        "attributes alone (2) and what is usual (43)",
    )


def test_a_few_huge_numbers_neither_hide_nor_feign_a_gain() -> None:
    graph, truth = shop()
    known = hidden(truth)
    largest = [row for row, value in enumerate(known) if value is not None and value > 100.0][:3]
    for row in largest:
        known[row] = 1e30
    found = predict_numbers(graph, None, known)
    assert found.figures.error > 1e27
    assert found.figures.rank_correlation > 0.8
    shuffled = np.random.default_rng(3).permutation([value for value in known if value is not None]).tolist()
    with pytest.raises(ClassificationError, match="its rank is not clearly nearer"):
        predict_property(graph, None, [None if value is None else shuffled.pop() for value in known])


def test_intervals_hold_four_fifths() -> None:
    inside, lonely, widths = [], [], []
    for seed in range(4):
        graph, truth = shop(seed)
        found = predict_numbers(graph, None, hidden(truth, seed + 9))
        own = np.array(truth)[found.rows]
        holds = (found.low <= own) & (own <= found.high)
        alone = found.rows >= N - LONELY
        inside.append(holds[~alone].mean())
        lonely.append(holds[alone].mean())
        widths.append(
            np.median((found.high / found.low)[alone]) / np.median((found.high / found.low)[~alone])
        )
    assert np.mean(inside) == pytest.approx(0.8, abs=0.04)
    assert np.mean(lonely) == pytest.approx(0.8, abs=0.08)
    assert min(widths) > 4.0


def test_a_node_of_which_nothing_is_known_gets_the_median(predicted: Any) -> None:
    found, _ = predicted
    place = int(np.flatnonzero(found.rows >= N - LONELY)[0])
    (why,) = found.explain(found.node[place])
    assert (why["view"], why["weight"]) == (USUAL, 1.0)
    known = [each for each in hidden(shop()[1]) if each is not None]
    assert np.quantile(known, 0.35) < why["value"] == found.value[place] < np.quantile(known, 0.65)


def test_evidence_is_what_each_view_predicts(predicted: Any) -> None:
    found, _ = predicted
    reasons = found.explain(found.node[0])
    assert {each["view"] for each in reasons} <= set(found.weights)
    weights = [each["weight"] for each in reasons]
    assert weights == sorted(weights, reverse=True)
    values = [each["value"] for each in reasons]
    assert min(values) * 0.5 < found.value[0] < max(values) * 2.0
    first = found.surest_first(range(N))
    width = first.high - first.low
    assert (np.diff(width) >= 0.0).all()
    assert first.explain(found.node[0]) == reasons


def test_integers_stay_integers() -> None:
    graph, truth = shop()
    found = predict_numbers(graph, None, hidden([int(each) for each in truth]))
    assert found.value.dtype == found.low.dtype == found.high.dtype == np.int64
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()
    assert isinstance(found.to_dict()["predicted"][0]["low"], int)


def test_repeats_to_the_bit() -> None:
    graph, truth = shop(n=400)
    model = HEAT(n_components=3, walks_per_node=2, random_state=0, n_threads=1).fit(graph)
    first, again = (model.classify(hidden(truth)) for _ in range(2))
    np.testing.assert_array_equal(first.low, again.low)
    np.testing.assert_array_equal(first.evidence, again.evidence)


def test_few_numbers_are_classes_unless_asked_otherwise() -> None:
    graph, truth = shop(n=300)
    stars = [round(2.0 * np.log(each)) / 2.0 for each in truth]
    found = predict_classes(graph, None, hidden(stars))
    chosen = f"{len(found.classes)} different numbers are predicted as classes"
    assert found.notes[0] == f"{chosen}; set `kind` to number to change that"
    assert predict_numbers(graph, None, hidden(stars), kind="number").value.dtype == np.float64
    many = predict_classes(graph, None, hidden([round(each) % 40 for each in truth]), kind="class")
    assert len(many.classes) > 20
    with pytest.raises(ClassificationError, match="only numbers can be predicted as numbers"):
        predict_property(graph, None, hidden(["a", "b"] * 150), kind="number")


def test_what_tells_no_more_than_the_median_is_refused() -> None:
    graph, truth = shop()
    shuffled = np.random.default_rng(3).permutation(truth).tolist()
    with pytest.raises(
        ClassificationError, match=r"not clearly nearer .*: off by .*, and always the median by"
    ):
        predict_property(graph, None, hidden(shuffled))
    with pytest.raises(ClassificationError, match="got inf"):
        predict_property(graph, None, [np.inf, *truth[1:]])


def test_integers_that_round_beyond_64_bits_become_floats() -> None:
    graph, truth = shop()
    largest, middle = 2**63 - 1, float(np.median(truth))
    values = hidden([largest - row if each > middle else row for row, each in enumerate(truth)])
    found = predict_numbers(graph, None, values)
    assert found.value.min() >= 0.0
    assert found.high.max() == pytest.approx(2.0**63)
