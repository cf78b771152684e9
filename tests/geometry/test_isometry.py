"""Isometries: recovered where there is one, and the best of them where there is none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_neo4j.geometry.drift import Isometry, boost_to_origin, fit_isometry
from heat_neo4j.geometry.hyperboloid import distance, lift, radius
from heat_neo4j.heat import HEAT
from tests.linkpred.test_link_score import clustered


def spread(n, d, furthest, seed):
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(n, d))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return lift(directions * np.sinh(rng.uniform(0.0, furthest, n))[:, None])


def any_isometry(d, seed, reflect=False):
    rng = np.random.default_rng(seed)
    turn = np.eye(d + 1)
    turn[:d, :d] = np.linalg.qr(rng.normal(size=(d, d)))[0]
    if reflect:
        turn[0] *= -1.0
    return Isometry(boost_to_origin(lift(rng.normal(size=d))) @ turn)


@settings(max_examples=50)
@given(st.integers(1, 12), st.integers(2, 60), st.floats(0.1, 8.0), st.integers(0, 2**32), st.booleans())
def test_an_isometry_is_recovered(d, n, furthest, seed, reflect):
    points = spread(n, d, furthest, seed)
    moved = any_isometry(d, seed, reflect)(points)
    np.testing.assert_allclose(distance(fit_isometry(moved, points)(moved), points), 0.0, atol=1e-9)


@given(st.integers(1, 8), st.integers(0, 2**32), st.floats(0.0, 3.0))
def test_a_boost_takes_its_point_to_the_origin_and_keeps_the_form(d, seed, r):
    point = spread(1, d, 1.0, seed)[0]
    point = lift(point[:-1] / np.linalg.norm(point[:-1]) * np.sinh(r))
    matrix = boost_to_origin(point)
    np.testing.assert_allclose(matrix @ point, [0.0] * d + [1.0], atol=1e-12 * np.cosh(r) ** 2)
    form = np.diag([1.0] * d + [-1.0])
    np.testing.assert_allclose(matrix.T @ form @ matrix, form, atol=1e-12 * np.cosh(r) ** 2)
    np.testing.assert_array_equal(matrix, matrix.T)  # a boost turns nothing


def test_distances_stay():
    points, target = spread(40, 4, 6.0, 0), spread(40, 4, 6.0, 1)
    aligned = fit_isometry(points, target)(points)
    before = distance(points[:, None], points[None])
    np.testing.assert_allclose(distance(aligned[:, None], aligned[None]), before, rtol=1e-9, atol=1e-7)


def test_two_seeds_come_nearer_and_no_other_turn_does_better():
    graph = clustered(120)
    old, new = (
        HEAT(n_components=3, walks_per_node=3, walk_length=20, random_state=seed).fit(graph).embedding_
        for seed in (0, 1)
    )
    fitted = fit_isometry(new, old)
    aligned = fitted(new)
    assert distance(aligned, old).mean() < 0.9 * distance(new, old).mean()
    assert fitted.matrix.tobytes() == fit_isometry(new, old).matrix.tobytes()
    # Rotations about the centroid, a little on: none brings the logarithms nearer.
    centre = boost_to_origin(_centroid(old))
    target, found = (_logarithms(Isometry(centre)(each)) for each in (old, aligned))
    best = ((found - target) ** 2).sum()
    rng = np.random.default_rng(2)
    for _ in range(50):
        slip = np.linalg.qr(np.eye(3) + 0.1 * rng.normal(size=(3, 3)))[0]
        slip *= np.sign(np.diag(slip))
        assert ((found @ slip.T - target) ** 2).sum() >= best - 1e-6


def _centroid(points):
    total = points.sum(axis=0)
    return total / np.sqrt(total[-1] ** 2 - (total[:-1] ** 2).sum())


def _logarithms(points):
    norm = np.linalg.norm(points[:, :-1], axis=1)
    return points[:, :-1] * (radius(points) / np.where(norm > 0, norm, 1.0))[:, None]


def test_one_point_goes_to_the_other():
    one, other = spread(1, 3, 2.0, 0), spread(1, 3, 2.0, 1)
    np.testing.assert_allclose(fit_isometry(one, other)(one), other, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [((2, 4), (3, 4)), ((2, 4), (2, 3)), ((0, 4), (0, 4))])
def test_shapes_that_do_not_fit_are_refused(a, b):
    with pytest.raises(ValueError, match="must have one shape"):
        fit_isometry(np.ones(a), np.ones(b))


def test_radii_stay_where_they_are_to_be_kept():
    rng = np.random.default_rng(3)
    points = lift(rng.normal(size=(50, 3)) + 1.0)
    turned = any_isometry(3, 5)(points)
    aligned = fit_isometry(points, turned, keep_radii=True)(points)
    np.testing.assert_allclose(radius(aligned), radius(points))
    assert not np.allclose(radius(fit_isometry(points, turned)(points)), radius(points))
    turn = fit_isometry(points, turned, keep_radii=True).matrix
    np.testing.assert_allclose(
        fit_isometry(points, points @ turn.T, keep_radii=True)(points), points @ turn.T
    )
