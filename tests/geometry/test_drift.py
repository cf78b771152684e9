"""Drift against a slow twin, and of embeddings that did not move."""

import json

import numpy as np
import pytest

from heat_neo4j.geometry.drift import measure_drift
from heat_neo4j.geometry.hyperboloid import distance, lift, radius


def random_points(n, seed, d=3):
    return lift(np.random.default_rng(seed).normal(size=(n, d)))


def names(n):
    return [f"node {row}" for row in range(n)]


def twin_overlap(old, new, rows, k):
    shared = 0
    for row in rows:
        near = []
        for points in (old, new):
            apart = [(float(distance(points[row], points[other])), other) for other in range(len(points))]
            near.append({other for _, other in sorted(pair for pair in apart if pair[1] != row)[:k]})
        shared += len(near[0] & near[1])
    return shared / (k * len(rows))


@pytest.mark.parametrize("n", [2, 7, 35, 90])
def test_it_is_what_the_twin_says(n):
    old = random_points(n, 0)
    new = lift(old[:, :-1] + 0.2 * np.random.default_rng(1).normal(size=(n, 3)))
    drift = measure_drift(old, new, names(n))
    moves = [float(distance(a, b)) for a, b in zip(old, new, strict=True)]
    assert (drift.nodes, drift.mean) == (n, pytest.approx(np.mean(moves)))
    assert drift.quantiles == {
        "0.5": pytest.approx(np.median(moves)),
        "0.9": pytest.approx(np.quantile(moves, 0.9)),
        "0.99": pytest.approx(np.quantile(moves, 0.99)),
        "1.0": max(moves),
    }
    assert drift.overlap == pytest.approx(twin_overlap(old, new, range(n), min(10, n - 1)))
    assert drift.radius_change == pytest.approx(float(np.mean(radius(new) - radius(old))))
    expected = sorted(zip(names(n), moves, strict=True), key=lambda pair: -pair[1])[:10]
    assert [name for name, _ in drift.most_moved] == [name for name, _ in expected]
    assert [move for _, move in drift.most_moved] == pytest.approx([move for _, move in expected])


def test_of_many_nodes_a_sample_is_compared():
    old, new = random_points(120, 0), random_points(120, 1)
    rows = np.unique(np.linspace(0, 119, 25).round().astype(int))
    drift = measure_drift(old, new, names(120), sample=25)
    assert drift.overlap == pytest.approx(twin_overlap(old, new, rows, 10))


def test_what_did_not_move_has_no_drift():
    points = np.repeat(random_points(30, 0), 2, axis=0)  # every distance comes twice: ties
    drift = measure_drift(points, points, names(60))
    assert (drift.mean, drift.overlap, drift.radius_change) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("n", [0, 1])
def test_no_node_and_one_node(n):
    drift = measure_drift(random_points(n, 0), random_points(n, 1), names(n))
    assert (drift.nodes, drift.overlap, len(drift.most_moved)) == (n, None, n)


def test_it_goes_through_json():
    drift = measure_drift(random_points(12, 0), random_points(12, 1), names(12))
    assert json.loads(json.dumps(drift.to_dict())) == drift.to_dict()


def test_embeddings_of_other_nodes_are_refused():
    with pytest.raises(ValueError, match="must have the same nodes"):
        measure_drift(random_points(3, 0), random_points(4, 0), names(3))
    with pytest.raises(ValueError, match="must have the same nodes"):
        measure_drift(random_points(3, 0), random_points(3, 0), names(2))
