"""Nothing unfit is ever sent: shapes, finiteness, borders, duplicates."""

from types import SimpleNamespace

import numpy as np
import pytest

from heat_neo4j.database.publish.writer import model_facts
from heat_neo4j.database.write.payload import check_coordinates, check_links
from heat_neo4j.errors import WriteRefused
from heat_neo4j.geometry.hyperboloid import COORDINATES, from_coordinates, lift, radius, to_poincare


@pytest.fixture
def points():
    return lift(np.random.default_rng(0).normal(size=(20, 3)))


def links(**changes):
    columns = {
        "source": np.array([3, 0, 0]),
        "target": np.array([4, 9, 1]),
        "distance": np.array([0.1, 0.2, 0.3]),
        "types": ["CITES", "CITES", "LIKES"],
        "rank": np.array([1, 2, 3]),
        "pattern_rank": np.array([1, 2, 1]),
        "probability": np.array([0.9, 0.8, 0.7]),
    }
    return SimpleNamespace(**{**columns, **changes})


@pytest.mark.parametrize("kind", COORDINATES)
def test_coordinates_come_back_as_the_points_they_were(points, kind):
    stored = check_coordinates(points, 20, kind)
    assert stored.values.shape == (20, 4 if kind == "hyperboloid" else 3)
    np.testing.assert_allclose(from_coordinates(stored.values, kind), points, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(stored.radii, radius(points))


@pytest.mark.parametrize("furthest", [1.0, 12.0, 17.0])
def test_indexes_get_the_same_points_of_the_ball_whatever_is_stored(furthest):
    generator = np.random.default_rng(1)
    directions = generator.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = lift(directions * np.sinh(generator.uniform(0, furthest, (50, 1))))
    points[0] = [0.0, 0.0, 0.0, 1.0]
    ball = points[:, :-1] / (1.0 + points[:, -1:])
    for kind in COORDINATES:
        stored = check_coordinates(points, 50, kind)
        assert stored.dimension == 3
        if kind == "poincare":  # the points are in the index as they are stored
            assert stored.factors is None
            np.testing.assert_array_equal(stored.values, to_poincare(points))
            continue
        vectors = stored.values[:, : stored.dimension] * stored.factors[:, None]
        # Klein coordinates keep half as many digits near the border.
        tolerance = 1e-11 if kind != "klein" else max(1e-11, 1e-15 * np.exp(furthest))
        np.testing.assert_allclose(vectors, ball, rtol=tolerance, atol=1e-15)


def test_a_model_and_its_array_give_the_same(points):
    model = SimpleNamespace(embedding_=points)
    left, right = check_coordinates(model, 20, "klein"), check_coordinates(points, 20, "klein")
    np.testing.assert_array_equal(left.values, right.values)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda p: p[:19], ValueError, r"must have shape \(20, d \+ 1\)"),
        (lambda p: p[:, :1], ValueError, "must have shape"),
        (lambda p: p[0], ValueError, "must have shape"),
        (lambda p: p[:, ::-1], ValueError, "not on the hyperboloid"),
        (lambda p: p * 2, ValueError, "not on the hyperboloid"),
        (lambda p: np.where(np.arange(20)[:, None] == 7, np.nan, p), WriteRefused, r"1 row \(first: 7\)"),
        (lambda p: np.where(np.arange(20)[:, None] > 17, np.inf, p), WriteRefused, r"2 rows \(first: 18\)"),
    ],
)
def test_an_unfit_embedding_is_refused(points, change, error, message):
    with pytest.raises(error, match=message):
        check_coordinates(change(points), 20, "poincare")


def test_points_beyond_the_border_of_the_ball_need_the_hyperboloid():
    far = lift(np.array([[np.sinh(40.0), 0.0]]))
    with pytest.raises(WriteRefused, match="write hyperboloid coordinates"):
        check_coordinates(far, 1, "poincare")
    assert check_coordinates(far, 1, "hyperboloid").radii[0] == pytest.approx(40.0)


def test_unknown_coordinates_are_refused(points):
    with pytest.raises(ValueError, match="one of poincare, hyperboloid, klein, got 'disk'"):
        check_coordinates(points, 20, "disk")


def test_links_are_sorted_with_their_columns():
    columns = check_links(links(), 10)
    assert columns.source.tolist() == [0, 0, 3]
    assert columns.target.tolist() == [1, 9, 4]
    assert columns.types.tolist() == ["LIKES", "CITES", "CITES"]
    assert columns.rank.tolist() == [3, 2, 1]
    assert columns.pattern_rank.tolist() == [1, 2, 1]
    assert columns.distance.tolist() == [0.3, 0.2, 0.1]
    assert columns.probability.tolist() == [0.7, 0.8, 0.9]


def test_links_need_no_probability():
    assert check_links(links(probability=None), 10).probability is None


def test_links_lead_either_way_and_two_nodes_may_be_joined_by_several_types():
    given = links(source=np.array([4, 1, 1]), target=np.array([3, 0, 0]))
    columns = check_links(given, 10)
    assert columns.source.tolist() == [1, 1, 4]
    assert columns.target.tolist() == [0, 0, 3]
    assert columns.types.tolist() == ["CITES", "LIKES", "CITES"]
    both = check_links(links(source=np.array([1, 0, 2]), target=np.array([0, 1, 3])), 10)
    assert list(zip(both.source.tolist(), both.target.tolist(), strict=True)) == [(0, 1), (1, 0), (2, 3)]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"target": np.array([4, 10, 1])}, ValueError, "rows 0 to 9"),
        ({"source": np.array([3, -1, 0])}, ValueError, "rows 0 to 9"),
        ({"source": np.array([4, 0, 0])}, ValueError, "joins a row to itself"),
        ({"target": np.array([4, 1, 1]), "types": ["A", "B", "B"]}, ValueError, "a pair twice with the same"),
        (
            {"source": np.zeros(3, int), "target": np.ones(3, int), "types": ["A", "B", "A"]},
            ValueError,
            "a pair twice with the same",
        ),
        ({"types": ["A", "B"]}, ValueError, "differ in shape"),
        ({"types": ["A", "B", 3]}, ValueError, "must be texts"),
        ({"pattern_rank": np.array([1, 2])}, ValueError, "differ in shape"),
        ({"rank": np.array([1, 2])}, ValueError, "differ in shape"),
        ({"distance": np.array([0.1, np.nan, 0.3])}, WriteRefused, "distance"),
        ({"distance": np.array([0.1, -0.2, 0.3])}, WriteRefused, "distance"),
        ({"distance": np.array([0.1, np.inf, 0.3])}, WriteRefused, "distance"),
        ({"probability": np.array([0.1, 1.2, 0.3])}, WriteRefused, "probability"),
        ({"probability": np.array([0.1, np.nan, 0.3])}, WriteRefused, "probability"),
    ],
)
def test_unfit_links_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        check_links(links(**changes), 10)


def test_the_loss_curve_is_bounded_and_keeps_its_ends():
    curve = np.linspace(2.0, 1.0, 100_001)
    facts = model_facts(SimpleNamespace(loss_curve_=curve))
    shown = facts["loss_curve"]
    assert len(shown) == 200
    assert (shown[0], shown[-1], facts["final_loss"]) == (2.0, 1.0, 1.0)
    assert list(shown) == sorted(shown, reverse=True)


def test_a_short_loss_curve_is_kept_whole():
    assert model_facts(SimpleNamespace(loss_curve_=np.array([3.0, 2.0])))["loss_curve"] == (3.0, 2.0)


def test_a_loss_that_is_not_finite_is_refused():
    with pytest.raises(WriteRefused, match="loss"):
        model_facts(SimpleNamespace(loss_curve_=np.array([1.0, np.nan])))


def test_a_seed_too_large_for_neo4j_is_kept_as_text():
    assert model_facts(SimpleNamespace(seed_=2**63 - 1)) == {"seed": 2**63 - 1}
    assert model_facts(SimpleNamespace(seed_=2**64)) == {"seed": str(2**64)}


def test_a_bare_array_has_no_facts():
    assert model_facts(np.zeros((2, 3))) == {}
