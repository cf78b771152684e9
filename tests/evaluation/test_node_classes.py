"""Node classification: protocol, predictions and F1 against plain twins and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from heat_neo4j.errors import ProjectionError
from heat_neo4j.evaluation import EvaluationError, classes_from_labels, classes_from_values, evaluate_classes
from heat_neo4j.evaluation.node_classes import NodeClasses, classify, split_nodes
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.support import naive_evaluation

MODEL = HEAT(2, walks_per_node=2, walk_length=8, n_threads=1)


def sets(member: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in member]


def blobs(n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points around three places, and whose they are."""
    rng = np.random.default_rng(seed)
    own = rng.integers(3, size=n)
    return np.eye(3)[own] * 1.5 + rng.normal(size=(n, 3)), np.eye(3, dtype=bool)[own]


def two_rings(n: int = 30) -> Graph:
    """Two rings with a bridge: who is in which is easy to tell."""
    u = np.arange(2 * n)
    v = np.concatenate((np.roll(u[:n], 1), np.roll(u[n:], 1)))
    second = u >= n
    return Graph(
        sparse.csr_array((np.ones(2 * n), (u, v)), shape=(2 * n, 2 * n)),
        attributes=np.where(second, 1.0, -1.0)[:, None] + np.random.default_rng(0).normal(size=(2 * n, 3)),
        labels={"All": u >= 0, "First": ~second, "Second": second, "None": u < 0},
    )


def test_classes_of_values() -> None:
    found = classes_from_values(["b", None, "a", ["a", "c"], [], "b", ["c"], 7, True, 7, "True", "c"])
    assert found.names == ("7", "True", "a", "b", "c")
    assert sets(found.member) == [{3}, set(), {2}, {2, 4}, set(), {3}, {4}, {0}, {1}, {0}, {1}, {4}]
    assert found.several
    assert not classes_from_values([1, 2, 1, 2]).several
    for value in (1.5, {"a": 1}, ["a", 2.5]):
        with pytest.raises(ProjectionError, match=r"class property 'field' holds .*: a class must be a text"):
            classes_from_values(["a", "b", value], "field")


def test_classes_that_teach_nothing_are_refused() -> None:
    with pytest.raises(EvaluationError, match="two classes at least, the nodes have 1"):
        classes_from_values(["a", "a", None])
    with pytest.raises(EvaluationError, match="3 classes for 4 nodes"):
        classes_from_values(["a", "b", "c", "c"])
    with pytest.raises(ValueError, match="2 class names for members of shape"):
        NodeClasses(("a", "b"), np.ones((3, 1), dtype=bool))


def test_classes_of_labels_are_those_that_tell_nodes_apart() -> None:
    found = classes_from_labels(two_rings())
    assert found.names == ("First", "Second")
    assert sets(found.member[[0, 59]]) == [{0}, {1}]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.99])
def test_every_class_gives_its_share_and_keeps_some(share: float) -> None:
    sizes = [1, 2, 3, 40, 100]
    member = np.zeros((150, 5), dtype=bool)
    member[np.arange(146), np.repeat(np.arange(5), sizes)] = True
    train, test = split_nodes(member, share, 3)
    assert np.array_equal(np.sort(np.concatenate((train, test))), np.arange(146))
    given = member[train].sum(axis=0).tolist()
    assert given == [0, *(min(max(round(share * size), 1), size - 1) for size in sizes[1:])]
    np.testing.assert_array_equal(train, split_nodes(member, share, 3)[0])
    assert not np.array_equal(train, split_nodes(member, share, 4)[0])


def test_where_nodes_have_several_classes_the_share_is_of_all() -> None:
    member = np.random.default_rng(0).random((200, 6)) < 0.3
    labelled = np.flatnonzero(member.any(axis=1))
    train, test = split_nodes(member, 0.1, 0)
    assert len(train) == round(0.1 * len(labelled))
    assert np.array_equal(np.sort(np.concatenate((train, test))), labelled)


def test_one_class_per_node_is_multinomial_regression() -> None:
    features, member = blobs()
    train, test = split_nodes(member, 0.3, 0)
    theirs = LogisticRegression(max_iter=2000).fit(features[train], member[train].argmax(axis=1))
    predicted = classify(features, member, train, test)
    np.testing.assert_array_equal(predicted.argmax(axis=1), theirs.predict(features[test]))
    assert (predicted.sum(axis=1) == 1).all()


def test_several_classes_per_node_are_the_likeliest_of_one_versus_rest() -> None:
    features, own = blobs(120)
    member = np.column_stack((own, features[:, 0] > 0.5, features[:, 1] + features[:, 2] > 0))
    train, test = split_nodes(member, 0.4, 0)
    likely = OneVsRestClassifier(LogisticRegression()).fit(features[train], member[train])
    chances = likely.predict_proba(features[test])
    predicted = classify(features, member, train, test)
    for row, chance, truth in zip(predicted, chances, member[test], strict=True):
        assert set(np.flatnonzero(row)) == set(np.argsort(-chance)[: truth.sum()])


def test_classes_that_training_lacks_are_never_given_to_a_single_class_node() -> None:
    features, member = blobs()
    train = np.flatnonzero(~member[:, 1])[:30]
    test = np.setdiff1d(np.arange(90), train)
    assert not classify(features, member, train, test)[:, 1].any()
    only = np.flatnonzero(member[:, 2])[:5]
    assert classify(features, member, only, test)[:, 2].all()


def test_without_features_the_largest_class_is_told() -> None:
    member = np.eye(3, dtype=bool)[np.repeat([0, 1, 2], [10, 40, 20])]
    train, test = split_nodes(member, 0.3, 0)
    assert (classify(np.empty((70, 0)), member, train, test).argmax(axis=1) == 1).all()
    several = member.copy()
    several[:, 0] |= np.arange(70) % 3 == 0
    train, test = split_nodes(several, 0.3, 0)
    order = np.argsort(-several[train].mean(axis=0), kind="stable")
    for row, truth in zip(classify(np.empty((70, 0)), several, train, test), several[test], strict=True):
        assert set(np.flatnonzero(row)) == set(order[: truth.sum()])


@pytest.mark.parametrize("several", [False, True])
def test_f1_of_a_run_is_the_twins_and_scikit_learns(several: bool) -> None:
    graph = two_rings()
    rng = np.random.default_rng(2)
    member = np.eye(3, dtype=bool)[rng.integers(3, size=60)]
    if several:
        member |= rng.random((60, 3)) < 0.3
    classes = NodeClasses(("a", "b", "c"), member)
    features = rng.normal(size=(60, 4))
    found = evaluate_classes(
        graph,
        MODEL,
        classes,
        shares=(0.2, 0.5),
        seeds=(0, 1),
        methods={"given": lambda graph, seed: features},
    )
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    for share in (0.2, 0.5):
        row = found.row("given", share)
        for place, seed in enumerate((0, 1)):
            train, test = split_nodes(member, share, seed)
            predicted = classify(scaled, member, train, test)
            micro, macro = naive_evaluation.f1(sets(member[test]), sets(predicted), 3)
            assert row.figures["f1_micro"].values[place] == pytest.approx(micro, abs=1e-12)
            assert row.figures["f1_macro"].values[place] == pytest.approx(macro, abs=1e-12)
            theirs = f1_score(member[test], predicted, average="macro", zero_division=0.0)
            assert macro == pytest.approx(theirs, abs=1e-12)


def test_an_easy_graph_is_told_well_and_repeatably_and_what_must_be_said_is_said() -> None:
    graph = two_rings()
    values = [None, *["first"] * 29, *["second"] * 30]
    found, again = (
        evaluate_classes(
            graph,
            HEAT(2, n_threads=1, walks_per_node=4, walk_length=20),
            classes_from_values(values),
            shares=(0.1,),
            seeds=(0,),
            methods={
                "majority class": lambda graph, seed: np.empty((60, 0)),
                "the truth": lambda graph, seed: np.repeat([[0.0], [1.0]], 30, axis=0),
            },
        )
        for _ in range(2)
    )
    assert found.row("HEAT", 0.1).figures == again.row("HEAT", 0.1).figures
    assert found.row("HEAT", 0.1).figures["f1_macro"].mean > 0.8
    assert found.row("the truth", 0.1).figures["f1_micro"].mean == 1.0
    # 26 of 53 are of the first class: it is not told, the other is told for all.
    assert found.row("majority class", 0.1).figures["f1_micro"].mean == pytest.approx(0.5, abs=0.02)
    assert "1 node has no class and takes no part" in found.notes
    assert found.settings["nodes_with_a_class"] == 59


def test_it_refuses_what_does_not_fit() -> None:
    graph, classes = two_rings(), classes_from_values(["a", "b"] * 10)
    with pytest.raises(ValueError, match="classes have 20 rows for 60 nodes"):
        evaluate_classes(graph, MODEL, classes)
    for shares in ((), (0.0,), (1.0,), (0.1, 0.1)):
        with pytest.raises(ValueError, match="shares must lie between 0 and 1"):
            evaluate_classes(graph, MODEL, classes_from_labels(graph), shares=shares)
