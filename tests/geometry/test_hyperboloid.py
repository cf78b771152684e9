"""Laws of hyperbolic geometry, over points up to radius 10."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from heat_neo4j.geometry import hyperboloid as h

coordinate = st.floats(-1, 1, allow_nan=False)


@st.composite
def points(draw, n=2, d=3):
    direction = draw(arrays(np.float64, (n, d), elements=coordinate))
    radius = draw(arrays(np.float64, (n, 1), elements=st.floats(0, 10)))
    norm = np.linalg.norm(direction, axis=1, keepdims=True)
    return h.lift(
        np.sinh(radius) * np.divide(direction, norm, out=np.zeros_like(direction), where=norm > 1e-3)
    )


@given(points())
def test_points_lie_on_the_hyperboloid(x):
    np.testing.assert_allclose(h.minkowski_inner(x, x), -1, atol=1e-7 * (x[:, -1] ** 2).max())
    h.check_points(x)


@given(points(n=3))
def test_distance_is_a_metric(x):
    ab, bc, ac = h.distance(x[0], x[1]), h.distance(x[1], x[2]), h.distance(x[0], x[2])
    assert h.distance(x[0], x[0]) == 0
    assert ab == h.distance(x[1], x[0])
    assert ac <= ab + bc + 1e-6


@given(points())
def test_distance_agrees_with_its_definition(x):
    """arccosh(-<x, y>) loses digits at large radius, so the tolerance grows with the times."""
    inner = max(-float(h.minkowski_inner(x[0], x[1])), 1.0)
    slack = 1e-15 * x[0, -1] * x[1, -1]
    np.testing.assert_allclose(np.cosh(h.distance(x[0], x[1])), inner, rtol=1e-9, atol=10 * slack + 1e-12)


@given(points())
def test_radius_is_the_distance_from_the_origin(x):
    origin = h.lift(np.zeros((2, 3)))
    np.testing.assert_allclose(h.radius(x), h.distance(x, origin), rtol=1e-9, atol=1e-9)


@given(points(n=4))
def test_the_centroid_is_the_sum_brought_back_to_the_hyperboloid(x):
    """The sum's own Minkowski square loses digits far out, so exactness is asked within radius 5."""
    centroid, weight = x[0], np.ones(())
    for point in x[1:]:
        centroid, weight = h.add_to_centroid(centroid, weight, point)
    h.check_points(centroid[None])
    if h.radius(x).max() < 5:
        total = x.sum(axis=0)
        square = -h.minkowski_inner(total, total)
        np.testing.assert_allclose(weight, np.sqrt(square), rtol=1e-9)
        np.testing.assert_allclose(centroid, total / np.sqrt(square), rtol=1e-9, atol=1e-9)


@given(points(n=3), arrays(np.float64, 3, elements=st.floats(0.1, 2)))
def test_weighted_centroids_move_with_the_points(x, weights):
    """A centroid is no function of where the origin is: a boost of the points is a boost of the centroid."""
    boost = np.eye(4)
    boost[np.ix_((0, 3), (0, 3))] = [[np.cosh(0.7), np.sinh(0.7)], [np.sinh(0.7), np.cosh(0.7)]]
    both = sparse.csr_array(np.array([weights, [0.0, 3.0, 0.0]]))
    here, there = h.centroids(both, x), h.centroids(both, x @ boost)
    h.check_points(here)
    if h.radius(x).max() < 5:
        np.testing.assert_allclose(here @ boost, there, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(here[1], x[1], rtol=1e-9, atol=1e-9)


def test_the_centroid_of_one_point_far_out_is_that_point():
    x = h.lift(np.sinh(15.0) * np.array([[0.6, 0.8, 0.0]]))
    centroid, weight = x, np.ones(1)
    for _ in range(30):
        centroid, weight = h.add_to_centroid(centroid, weight, x)
    np.testing.assert_allclose(weight, 31, rtol=1e-14)
    assert h.distance(centroid, x)[0] < 1e-6


@given(points(), arrays(np.float64, (2, 4), elements=coordinate), st.floats(0, 2))
def test_log_undoes_exp(x, v, length):
    tangent = h.project_tangent(x, v)
    np.testing.assert_allclose(h.minkowski_inner(x, tangent), 0, atol=1e-6 * x[:, -1].max() ** 2)
    norm = np.sqrt(np.maximum(h.minkowski_inner(tangent, tangent), 0))[:, None]
    near = x[:, -1:] < 50  # further out one tangent vector has components a thousand times its length
    tangent = np.where(near & (norm > 1e-3), tangent * length / np.where(norm > 1e-3, norm, 1), 0)
    y = h.exp_map(x, tangent)
    h.check_points(y)
    np.testing.assert_allclose(h.log_map(x, y), tangent, atol=1e-5)
    np.testing.assert_allclose(
        h.distance(x, y), np.sqrt(np.maximum(h.minkowski_inner(tangent, tangent), 0)), atol=1e-5
    )


@given(points())
def test_balls_round_trip(x):
    for to, back in ((h.to_poincare, h.from_poincare), (h.to_klein, h.from_klein)):
        ball = to(x)
        assert (np.linalg.norm(ball, axis=1) <= 1).all()
        inside = h.radius(x) < 6  # the Klein ball keeps no more digits beyond
        np.testing.assert_allclose(back(ball[inside]), x[inside], rtol=1e-6, atol=1e-9)


@given(points())
def test_poincare_distance_formula(x):
    near = x[(h.radius(x) < 6)]
    if len(near) == 2:
        u, v = h.to_poincare(near)
        gap = (1 - u @ u) * (1 - v @ v)
        other = np.arccosh(1 + 2 * ((u - v) @ (u - v)) / gap)
        np.testing.assert_allclose(h.distance(near[0], near[1]), other, rtol=1e-5, atol=1e-7)


def test_close_points_keep_their_distance():
    """A step of 1e-9 at radius 5 is far below what arccosh(-<x, y>) can see."""
    x = h.lift(np.array([np.sinh(5.0), 0.0]))
    tangent = np.array([0.0, 1e-9, 0.0])
    np.testing.assert_allclose(h.distance(x, h.exp_map(x, tangent)), 1e-9, rtol=1e-6)
