"""Predicted classes: right, calibrated, never seen by what predicts them, and explained."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import softmax

from heat_neo4j import HEAT, Graph
from heat_neo4j.classes.figures import calibration_error
from heat_neo4j.classes.kinds import Classes, fit_pool, log_chances
from heat_neo4j.classes.prediction import ClassificationError, predict_property
from heat_neo4j.classes.results import USUAL, PredictedClasses
from heat_neo4j.classes.views import ATTRIBUTES, COORDINATES, LINKS, NEIGHBOURS, tangent, views
from heat_neo4j.geometry.hyperboloid import exp_map, lift, radius
from heat_neo4j.graph import Provenance

N = 240
KINDS = ("red", "green", "blue")


def communities(seed: int = 0, *, clear: float = 0.6) -> tuple[Graph, list[str]]:
    """Return three communities with three words each, told by neighbours and words; and their names."""
    rng = np.random.default_rng(seed)
    own = rng.integers(3, size=N)
    same = own[:, None] == own
    joined = np.triu(rng.random((N, N)) < np.where(same, 0.06, 0.008), k=1)
    words = rng.random((N, 9)) < np.where(np.repeat(np.eye(3), 3, axis=1)[own] == 1.0, clear, 0.15)
    graph = Graph(sparse.csr_array(joined.astype(float)), sparse.csr_array(words.astype(float)))
    return graph, [KINDS[each] for each in own]


def predict_classes(*arguments: Any, **options: Any) -> PredictedClasses:
    found = predict_property(*arguments, **options)
    assert isinstance(found, PredictedClasses)
    return found


def points(graph: Graph, seed: int = 0) -> np.ndarray:
    model = HEAT(n_components=3, walks_per_node=2, random_state=seed, n_threads=1)
    return np.asarray(model.fit(graph).embedding_)


def hidden(truth: list[str], share: float = 0.5, seed: int = 1) -> list[Any]:
    lacks = np.random.default_rng(seed).random(len(truth)) < share
    return [None if lack else name for lack, name in zip(lacks, truth, strict=True)]


@pytest.fixture(scope="module")
def predicted() -> tuple[PredictedClasses, list[str]]:
    graph, truth = communities()
    return predict_classes(graph, points(graph), hidden(truth)), truth


def test_nodes_without_a_class_get_the_right_one(predicted: Any) -> None:
    found, truth = predicted
    assert found.node == [row for row, value in enumerate(hidden(truth)) if value is None]
    right = [found.classes[code] == truth[row] for code, row in zip(found.chosen, found.rows, strict=True)]
    assert np.mean(right) > 0.9
    assert found.figures.f1_micro > 0.9
    assert found.figures.f1_micro > found.figures.attributes_alone > found.figures.majority


def test_nodes_of_no_class_are_found_once_a_few_have_a_value_for_that() -> None:
    graph, truth = communities()
    blue = [row for row, name in enumerate(truth) if name == "blue"]
    values = [None if row in blue else value for row, value in enumerate(hidden(truth))]
    for row in blue[:8]:
        values[row] = "none"
    found = predict_classes(graph, points(graph), values)
    said = dict(zip(found.node, (found.classes[code] for code in found.chosen), strict=True))
    assert np.mean([said[row] == "none" for row in blue[8:]]) > 0.8
    assert np.mean([said[row] == truth[row] for row in found.node if row not in blue]) > 0.8


def test_the_second_class_is_less_likely(predicted: Any) -> None:
    found, _ = predicted
    assert (found.probability >= found.second_probability).all()
    assert (found.chosen != found.second).all()
    assert (found.probability + found.second_probability < 1.0 + 1e-12).all()


def test_evidence_adds_up_to_the_odds(predicted: Any) -> None:
    found, _ = predicted
    node = found.node[7]
    reasons = found.explain(node)
    assert {reason["view"] for reason in reasons} <= set(found.weights)
    odds = math.log(found.probability[7] / found.second_probability[7])
    assert sum(reason["log_odds"] for reason in reasons) == pytest.approx(odds)
    strengths = [abs(reason["log_odds"]) for reason in reasons]
    assert strengths == sorted(strengths, reverse=True)
    with pytest.raises(ValueError, match="no class was predicted for a node named 'nobody'"):
        found.explain("nobody")
    twice = replace(found, node=[found.node[0], *found.node[:-1]])
    with pytest.raises(ValueError, match=f"2 nodes are named {found.node[0]!r}: name nodes by another"):
        twice.explain(found.node[0])


def test_result_is_short_and_a_frame(predicted: Any) -> None:
    found, _ = predicted
    assert repr(found).startswith(f"PredictedClasses({len(found)} nodes, 3 classes, 9")
    frame = found.to_frame("pandas")
    assert list(frame) == ["node", "class", "probability", "second", "second_probability"]
    assert len(frame) == len(found)
    assert found.to_dict()["predicted"][0]["class"] in KINDS


def test_a_node_is_never_predicted_from_its_own_class() -> None:
    graph, truth = communities()
    shuffled = list(np.random.default_rng(3).permutation(truth))
    found = predict_classes(graph, points(graph), [None, *map(str, shuffled[1:])])
    assert found.figures.f1_micro < 0.45
    assert found.figures.calibration_error < 0.1
    assert len(found) == 1


def test_repeats_to_the_bit(predicted: Any) -> None:
    graph, truth = communities()
    first, again = predicted[0], predict_classes(graph, points(graph), hidden(truth))
    np.testing.assert_array_equal(first.probability, again.probability)
    np.testing.assert_array_equal(first.evidence, again.evidence)


def test_only_nodes_like_those_with_a_class_are_asked() -> None:
    graph, truth = communities()
    paper = np.arange(N) < 200
    labelled = Graph(graph.adjacency, graph.attributes, labels={"Paper": paper, "Author": ~paper})
    values = [value if row < 200 else None for row, value in enumerate(hidden(truth))]
    assert max(predict_classes(labelled, None, values).rows) < 200
    assert min(predict_classes(labelled, None, truth[:220] + [None] * 20, label="Author").rows) >= 220
    with pytest.raises(ClassificationError, match="no node of the graph has the label 'Film'"):
        predict_classes(labelled, None, values, label="Film")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a"] * 9, "9 values for 240 nodes"),
        (["a", "b"] * 9 + [None] * (N - 18), "18 nodes with a value: 20 are needed"),
        (["a"] * N, "all nodes with a value have the same, 'a'"),
        ([str(row) for row in range(N)], "240 classes for 240 nodes: nothing to learn"),
        ([["a"]] * N, "a value is a text, a number or a boolean, got a .list"),
        ([math.inf] * N, "got inf .float"),
        ([10**400] * N, "got 1000.* .int"),
    ],
)
def test_what_cannot_be_learned_is_refused(values: list[Any], message: str) -> None:
    graph, _ = communities()
    stages: list[Any] = []
    with pytest.raises(ClassificationError, match=message):
        predict_classes(graph, None, values, on_progress=lambda *stage: stages.append(stage))
    assert not stages


def test_a_rare_class_is_noted() -> None:
    graph, truth = communities()
    found = predict_classes(graph, None, ["odd", None, *truth[2:]])
    assert found.notes == ("1 class has fewer than 5 nodes and can hardly be predicted",)


def test_a_node_of_which_nothing_is_known_gets_the_base_rate() -> None:
    graph, truth = communities()
    lonely = np.arange(N) >= N - 30
    joined = graph.adjacency.toarray() * ~lonely * ~lonely[:, None]
    words = np.where(lonely[:, None], 0.0, graph.attributes.toarray())
    alone = Graph(sparse.csr_array(joined), sparse.csr_array(words))
    values = [None if row >= N - 30 else value for row, value in enumerate(hidden(truth, 0.2))]
    found = predict_classes(alone, points(alone), values)
    mine = found.rows >= N - 30
    base = max(np.mean([value == kind for value in values if value]) for kind in KINDS)
    assert found.probability[mine] == pytest.approx(base, abs=0.02)
    assert found.probability[~mine].mean() > 0.8
    assert [why["view"] for why in found.explain(found.node[-1])] == [USUAL]
    # Nodes with words alone are as sure as words alone make them.
    worded = Graph(sparse.csr_array(joined), graph.attributes)
    found = predict_classes(worded, points(worded), values)
    assert {why["view"] for why in found.explain(found.node[-1])} == {ATTRIBUTES}
    right = [found.classes[code] == truth[row] for code, row in zip(found.chosen, found.rows, strict=True)]
    assert found.probability[mine].mean() == pytest.approx(np.mean(np.array(right)[mine]), abs=0.15)


def test_the_like_of_a_node_of_which_nothing_is_known_have_a_say() -> None:
    graph, truth = communities()
    lonely = np.arange(N) >= N - 80
    alone = Graph(
        sparse.csr_array(graph.adjacency.toarray() * ~lonely * ~lonely[:, None]),
        sparse.csr_array(np.where(lonely[:, None], 0.0, graph.attributes.toarray())),
    )
    values = hidden(["blue" if row >= N - 80 else value for row, value in enumerate(truth)])
    found = predict_classes(alone, points(alone), values)
    mine = found.rows >= N - 80
    assert {found.classes[code] for code in found.chosen[mine].tolist()} == {"blue"}
    assert 0.6 < found.probability[mine].min() < 0.95


def test_the_property_itself_is_no_attribute() -> None:
    graph, truth = communities()
    kinds = sparse.csr_array(np.array([[name == kind for kind in KINDS] for name in truth], dtype=float))
    recipe = [
        {"property": "words", "kind": "category", "n_columns": 9},
        {"property": "kind", "kind": "category", "n_columns": len(KINDS)},
    ]
    both = Graph(
        graph.adjacency,
        sparse.csr_array(sparse.hstack((graph.attributes, kinds))),
        provenance=Provenance(attribute_recipe=recipe),
    )
    without = views(None, both, 0, without=["kind"])[ATTRIBUTES]
    assert without.shape[1] == 9
    assert views(None, both, 0)[ATTRIBUTES].shape[1] == 12


def test_rows_of_views_have_length_one() -> None:
    graph, _ = communities()
    found = views(points(graph), graph, 0)
    assert list(found) == [COORDINATES, ATTRIBUTES, NEIGHBOURS, LINKS]
    for name, view in found.items():
        lengths = (view**2).sum(axis=1)
        assert lengths[lengths > 0].mean() == pytest.approx(1.0), name


def test_tangent_vectors_lead_to_the_points() -> None:
    place = lift(np.random.default_rng(0).normal(size=(20, 3)))
    vectors = tangent(place)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), radius(place))
    origin = np.tile([0.0, 0.0, 0.0, 1.0], (20, 1))
    np.testing.assert_allclose(exp_map(origin, np.column_stack((vectors, np.zeros(20)))), place)


def test_the_pool_ignores_noise_and_tempers_confidence() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=4000)
    says = np.where(rng.random(4000) < 0.7, truth, rng.integers(3, size=4000))
    sure = log_chances(np.eye(3)[says] * 0.98 + 0.01)  # right for 80 %, and says 99 %
    noise = log_chances(rng.dirichlet(np.ones(3), size=4000))
    logs = np.stack((sure, noise))
    weights = fit_pool(logs, truth)
    assert weights[1] < 0.05
    chances = softmax(np.tensordot(weights, logs, 1), axis=1)
    assert chances.max(axis=1).mean() == pytest.approx((says == truth).mean(), abs=0.02)
    best = -np.log(chances[np.arange(4000), truth]).mean()
    for other in weights + rng.normal(scale=0.1, size=(20, 2)):
        assert (
            -np.log(softmax(np.tensordot(other, logs, 1), axis=1)[np.arange(4000), truth]).mean()
            >= best - 1e-6
        )


def test_calibration_error_is_the_mean_gap_of_its_bins() -> None:
    highest = np.array([0.95, 0.95, 0.55, 0.52, 0.58, 0.95])
    truth = np.array([0, 1, 0, 1, 0, 0])
    found = calibration_error(np.column_stack((highest, 1 - highest)), truth)
    assert found == pytest.approx((abs(2.85 - 2) + abs(1.65 - 2)) / 6)


def test_heat_classifies_by_name() -> None:
    graph, truth = communities()
    keyed = Graph(graph.adjacency, graph.attributes, keys=[f"n{row}" for row in range(N)])
    model = HEAT(n_components=3, walks_per_node=2, random_state=0, n_threads=1).fit(keyed)
    values = hidden(truth)
    named = {f"n{row}": value for row, value in enumerate(values)}
    by_name, by_row = model.classify(named), model.classify([math.nan if v is None else v for v in values])
    np.testing.assert_array_equal(by_name.probability, by_row.probability)
    assert by_name.node[0] == f"n{values.index(None)}"
    assert Classes.neighbours in by_name.weights
    with pytest.raises(ValueError, match="n999"):
        model.classify({"n999": "red"})


def test_missing_values_of_any_library_are_unknown() -> None:
    graph, _ = communities()
    model = HEAT(n_components=3, walks_per_node=2, random_state=0, n_threads=1).fit(graph)
    codes = np.where(np.arange(N) % 3 == 0, np.nan, np.arange(N) % 2).astype(np.float32)
    expected = model.classify(codes.tolist())
    for values in (codes, pd.Series(codes, dtype="Int64"), pd.Series(codes, dtype="Float32")):
        found = model.classify(values)
        np.testing.assert_array_equal(found.rows, expected.rows)
        np.testing.assert_array_equal(found.probability, expected.probability)


MATCHING = sparse.csr_array(np.kron(np.eye(40), [[0.0, 1.0], [0.0, 0.0]]))


@pytest.mark.parametrize(
    "graph",
    [
        Graph(MATCHING),  # no two nodes share a neighbour
        Graph(MATCHING, np.ones((80, 2))),
        Graph(MATCHING, np.zeros((80, 1))),
        Graph(sparse.csr_array((80, 80)), np.random.default_rng(0).normal(size=(80, 2))),
    ],
)
def test_views_without_columns_are_left_out(graph: Graph) -> None:
    parts = views(None, graph, 0)
    assert LINKS not in parts
    assert (ATTRIBUTES in parts) == (not graph.n_edges)
    found = predict_classes(graph, None, [None if row % 4 == 0 else KINDS[row % 2] for row in range(80)])
    assert len(found) == 20
    assert np.isfinite(found.probability).all()


@pytest.mark.parametrize("scale", [1e-290, 1e290])
def test_views_do_not_depend_on_the_scale_of_weights_and_attributes(scale: float) -> None:
    graph, _ = communities()
    assert graph.attributes is not None
    own, other = (
        views(None, Graph(graph.adjacency * factor, graph.attributes * factor), 0) for factor in (1.0, scale)
    )
    assert list(own) == list(other)
    for name, view in own.items():
        np.testing.assert_allclose(other[name], view, atol=1e-9, err_msg=name)


def test_a_class_of_a_single_node_can_be_held_out() -> None:
    graph, _ = communities()
    found = predict_classes(graph, None, ["odd", *["usual"] * 100, *[None] * (N - 101)])
    assert found.classes == ("odd", "usual")
    assert set(found.chosen) == {1}


def test_predicted_nodes_without_relationships_are_counted() -> None:
    graph, truth = communities()
    alone, bare = np.arange(N) % 4 == 0, np.arange(N) % 8 == 0
    keep = sparse.diags_array((~alone).astype(float))
    words = sparse.diags_array((~bare).astype(float)) @ graph.attributes
    graph = Graph(sparse.csr_array(keep @ graph.adjacency @ keep), sparse.csr_array(words))
    has_words = np.diff(graph.attributes.indptr) > 0
    values = [None if row % 4 == 0 or row % 3 == 0 else name for row, name in enumerate(truth)]
    n_alone, n_words, n_asked = int(alone.sum()), int(has_words[alone].sum()), values.count(None)
    assert predict_classes(graph, None, values).notes == (
        f"{n_alone} of {n_asked} predicted nodes have no relationships: judged by their attributes alone "
        f"({n_words}) and what is usual ({n_alone - n_words})",
    )
    bare_graph = Graph(graph.adjacency)
    (note,) = predict_classes(bare_graph, None, values).notes
    assert note.endswith("have no relationships: judged by what is usual")
