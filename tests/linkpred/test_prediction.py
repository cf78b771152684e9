"""`predict_links` against its slow twin, at its edges, and for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from heat_neo4j.geometry.hyperboloid import lift, to_poincare
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.prediction import PredictedLinks, predict_links
from heat_neo4j.patterns import Pattern
from tests.linkpred.test_pattern_laws import linear_score
from tests.support import naive_links


def random_graph(n: int, density: float, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    upper = sparse.triu(sparse.random_array((n, n), density=density, rng=rng), k=1)
    labels = {"Author": rng.random(n) < 0.4, "Paper": rng.random(n) < 0.6}
    return Graph(adjacency=sparse.csr_array(upper), labels=labels)


def random_points(n: int, d: int = 3, width: float = 1.0, seed: int = 1) -> np.ndarray:
    return lift(np.random.default_rng(seed).normal(scale=width, size=(n, d)))


def no_edges(n: int) -> Graph:
    return Graph(adjacency=sparse.csr_array((n, n)))


def complete(n: int) -> Graph:
    return Graph(adjacency=sparse.csr_array(np.ones((n, n)) - np.eye(n)))


def assert_same(links: PredictedLinks, expected: list[tuple[float, int, int]]) -> None:
    assert list(zip(links.source.tolist(), links.target.tolist(), strict=True)) == [e[1:] for e in expected]
    np.testing.assert_allclose(links.distance, [e[0] for e in expected], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "limits",
    [
        {"k": 1},
        {"k": 4},
        {"k": 4, "max_links": 7},
        {"k": None, "max_links": 1},
        {"k": None, "max_links": 60},
        {"k": None, "max_links": 10**6},
        {"k": 10**6},
        {"k": 3, "min_degree": 2, "max_degree": 5},
        {"k": 2, "min_degree": 1, "max_links": 9},
    ],
    ids=lambda limits: " ".join(f"{name}={value}" for name, value in limits.items()),
)
def test_equals_the_slow_twin(limits: dict) -> None:
    graph, points = random_graph(70, 0.08), random_points(70)
    expected = naive_links.predicted_pairs(points, graph, **({"max_links": graph.n_edges} | limits))
    assert_same(predict_links(points, graph, **limits), expected)


def test_ties_go_by_source_then_target() -> None:
    # Eight points at the corners of a cube: each has three partners at one exact distance.
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    points, graph = lift(corners), no_edges(8)
    links = predict_links(points, graph, k=2, max_links=99)
    assert_same(links, naive_links.predicted_pairs(points, graph, k=2))
    assert (np.diff(links.distance) == 0).all()
    # All twelve sides but (6, 7): 6 prefers 2 and 4, and 7 prefers 3 and 5.
    sides = [(0, 1), (0, 2), (0, 4), (1, 3), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
    assert list(zip(links.source.tolist(), links.target.tolist(), strict=True)) == sides


def test_coincident_points_are_at_distance_zero() -> None:
    points = np.repeat(random_points(1), 5, axis=0)
    links = predict_links(points, no_edges(5), k=None, max_links=4)
    assert links.distance.tolist() == [0.0] * 4
    assert links.target.tolist() == [1, 2, 3, 4]


def test_more_than_one_block_and_tile() -> None:
    graph, points = random_graph(2500, 0.002), random_points(2500, d=2)
    links = predict_links(points, graph, k=1, max_links=10**6)
    z = points[:, :-1] @ points[:, :-1].T - np.outer(points[:, -1], points[:, -1])
    z[graph.adjacency.nonzero()] = -np.inf
    np.fill_diagonal(z, -np.inf)
    nearest = z.argmax(axis=1)
    expected = {(min(u, v), max(u, v)) for u, v in enumerate(nearest.tolist())}
    assert set(zip(links.source.tolist(), links.target.tolist(), strict=True)) == expected
    overall = predict_links(points, graph, k=None, max_links=300)
    np.testing.assert_array_equal(
        overall.distance, predict_links(points, graph, k=300, max_links=300).distance
    )


def test_existing_relationships_and_self_are_left_out() -> None:
    graph = random_graph(60, 0.3)
    links = predict_links(random_points(60), graph, k=60, max_links=3600)
    assert not naive_links.edge_set(graph) & set(
        zip(links.source.tolist(), links.target.tolist(), strict=True)
    )
    assert (links.source < links.target).all()
    assert len(links) == 60 * 59 // 2 - graph.n_edges


@pytest.mark.parametrize("limits", [{"k": 5}, {"k": None, "max_links": 5}], ids=["per node", "overall"])
@pytest.mark.parametrize(
    "graph", [complete(6), no_edges(1), no_edges(0)], ids=["complete", "single node", "empty"]
)
def test_no_absent_pair_gives_no_link(graph: Graph, limits: dict) -> None:
    links = predict_links(random_points(graph.n_nodes), graph, **limits)
    assert len(links) == 0
    assert links.source.dtype == links.target.dtype == links.rank.dtype == np.int64
    assert links.distance.dtype == np.float64


def test_a_pattern_of_a_single_node_or_with_all_its_pairs_joined_gives_no_link() -> None:
    labels = {"A": np.array([True, False, False]), "B": np.array([False, True, True])}
    ends = np.array([0, 0]), np.array([1, 2])
    graph = Graph(
        adjacency=sparse.csr_array((np.ones(2), ends), shape=(3, 3)),
        labels=labels,
        relationships=Relationships.from_pairs({"R": ends}),
    )
    links = predict_links(random_points(3), graph)
    assert len(links) == 0
    assert (links.patterns, links.pattern.tolist(), links.types) == ((Pattern("A", "R", "B"),), [], [])


def test_isolated_nodes_are_linked_unless_a_degree_is_asked_for() -> None:
    adjacency = sparse.csr_array(([1.0], ([0], [1])), shape=(4, 4))
    graph = Graph(adjacency=adjacency)
    points = random_points(4)
    assert set(predict_links(points, graph, max_links=9).target.tolist()) == {2, 3}
    assert len(predict_links(points, graph, min_degree=1)) == 0
    assert len(predict_links(points, graph, max_links=9, max_degree=0)) == 1


def test_a_note_counts_the_links_of_isolated_nodes_if_they_are_many() -> None:
    score = linear_score(("distance", "direction"), (0.0, 1.0, 0.0))
    few, many = (
        Graph(adjacency=sparse.csr_array(np.eye(40, k=1) * (np.arange(40) < linked)[:, None]))
        for linked in (38, 20)
    )
    points, limits = random_points(40), {"k": 20, "max_links": 900, "min_probability": 0.0, "score": score}
    links = predict_links(points, many, **limits)
    n_isolated = int((many.degrees[np.array([links.source, links.target])] == 0).any(axis=0).sum())
    every, told = (predict_links(points, graph, **limits).notes for graph in (few, many))
    assert told == (
        *every,
        f"{n_isolated} of {len(links)} links join a node without relationships, as if all such nodes were "
        "new; set `min_degree` to 1 if they are not",
    )
    assert predict_links(points, many, min_degree=1, **limits).notes == every


@pytest.mark.parametrize("limits", [{"k": 7}, {"k": None, "max_links": 500}], ids=["per node", "overall"])
def test_bits_do_not_depend_on_threads(limits: dict) -> None:
    graph, points = random_graph(1500, 0.01), random_points(1500, d=10)
    one, two = (predict_links(points, graph, **limits, n_threads=n) for n in (1, 2))
    for name in ("source", "target", "distance"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@pytest.mark.parametrize("radius", [0.1, 1.0, 6.0, 12.0])
def test_distances_are_accurate_near_and_far_from_the_origin(radius: float) -> None:
    rng = np.random.default_rng(5)
    directions = rng.normal(size=(30, 10))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    spatial = np.sinh(radius) * directions
    spatial[15:] = spatial[:15] + 1e-3 * np.linalg.norm(spatial[:15], axis=1, keepdims=True) * directions[15:]
    points = lift(spatial)
    links = predict_links(points, no_edges(30), k=29, max_links=900)
    exact = [
        naive_links.exact_distance(points[u], points[v])
        for u, v in zip(links.source, links.target, strict=True)
    ]
    # Rounding of the stored coordinates alone moves a point at this radius by eps * cosh(radius).
    np.testing.assert_allclose(links.distance, exact, rtol=0, atol=50 * np.finfo(float).eps * np.cosh(radius))


def test_probability_falls_with_distance_and_rank_counts_from_one() -> None:
    score = linear_score(("distance", "direction"), (1.5 / 0.4, 1 / 0.4, 0.0))
    links = predict_links(random_points(40), no_edges(40), k=3, max_links=60, score=score)
    assert len(links) == 60
    np.testing.assert_allclose(links.probability, 1 / (1 + np.exp((links.distance - 1.5) / 0.4)), rtol=1e-12)
    assert links.rank.tolist() == list(range(1, len(links) + 1))
    assert (np.diff(links.probability) <= 0).all()


def test_takes_a_fitted_estimator_and_refuses_another() -> None:
    graph = random_graph(60, 0.1)
    with pytest.raises(NotFittedError):
        predict_links(HEAT(n_components=2), graph)
    model = HEAT(n_components=2, walks_per_node=2, walk_length=10, random_state=0).fit(graph)
    links, same = predict_links(model, graph), predict_links(model.embedding_, graph)
    np.testing.assert_array_equal(links.distance, same.distance)
    assert links.probability is None


def test_progress_rises_to_the_number_of_nodes() -> None:
    calls: list[tuple[str, int, int]] = []
    predict_links(random_points(1500), no_edges(1500), on_progress=lambda *call: calls.append(call))
    assert calls[0] == ("links", 0, 1500)
    assert calls[-1] == ("links", 1500, 1500)
    assert [done for _, done, _ in calls] == sorted({done for _, done, _ in calls})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1, got 0"),
        ({"k": 2.5}, TypeError, "k must be an integer, got 2.5"),
        ({"k": None}, ValueError, "k or max_links is required"),
        ({"max_links": 0}, ValueError, "max_links must be at least 1, got 0"),
        ({"min_degree": -1}, ValueError, "min_degree must be at least 0, got -1"),
        ({"min_degree": 3, "max_degree": 2}, ValueError, "max_degree must be at least 3, got 2"),
        ({"n_threads": 0}, ValueError, "n_threads must be at least 1, got 0"),
        ({"patterns": ["A-R->B"]}, ValueError, "patterns need a graph with directed, typed relationships"),
    ],
)
def test_refuses_arguments_that_make_no_sense(arguments: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        predict_links(random_points(20), random_graph(20, 0.1), **arguments)


def test_refuses_points_that_do_not_fit() -> None:
    graph, points = no_edges(10), random_points(10)
    with pytest.raises(ValueError, match="embedding has 9 rows for 10 nodes"):
        predict_links(points[:9], graph)
    with pytest.raises(ValueError, match="not on the hyperboloid"):
        predict_links(to_poincare(points), graph)
    points[3, 0] = np.nan
    with pytest.raises(ValueError, match="row 3 has a NaN or infinite coordinate"):
        predict_links(points, graph)
