"""Node classification: protocol, predictions and F1 against plain twins and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from tests.benchmarks.node_classes import NodeClasses, class_scores, classify, split_nodes
from tests.support import naive_evaluation


def sets(member: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in member]


def blobs(n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points around three places, and whose they are."""
    rng = np.random.default_rng(seed)
    own = rng.integers(3, size=n)
    return np.eye(3)[own] * 1.5 + rng.normal(size=(n, 3)), np.eye(3, dtype=bool)[own]


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
    rng = np.random.default_rng(2)
    member = np.eye(3, dtype=bool)[rng.integers(3, size=60)]
    if several:
        member |= rng.random((60, 3)) < 0.3
    classes = NodeClasses(("a", "b", "c"), member)
    features = rng.normal(size=(60, 4))
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    for share in (0.2, 0.5):
        for seed in (0, 1):
            train, test = split_nodes(member, share, seed)
            predicted = classify(scaled, member, train, test)
            micro, macro = naive_evaluation.f1(sets(member[test]), sets(predicted), 3)
            found = class_scores(features, classes, share, seed)
            assert tuple(found) == pytest.approx((micro, macro), abs=1e-12)
            theirs = f1_score(member[test], predicted, average="macro", zero_division=0.0)
            assert macro == pytest.approx(theirs, abs=1e-12)
