"""New and changed nodes among the others: where they begin and end, and that nothing else moves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j.embedding.similarity import make_similarity
from heat_neo4j.embedding.training import START_WIDTH
from heat_neo4j.embedding.walks import make_walks
from heat_neo4j.embedding.warm_start import fit_local, fit_warm, with_new_nodes
from heat_neo4j.geometry.hyperboloid import NotHyperbolicError, check_points, distance, lift, radius
from heat_neo4j.graph import Relationships

SMALL = {"n_components": 3, "walks_per_node": 4, "walk_length": 20, "random_state": 4, "n_threads": 1}
GROUPS, SIZE = 4, 40
N = GROUPS * SIZE
# Joined to group 1; to group 2 by one edge; like group 3; to group 0; only to that one.
JOINED, LOOSELY, ALIKE, FIRST, SECOND = range(N, N + 5)
NEW = np.arange(N + 5) >= N


def group(number):
    return np.arange(number * SIZE, (number + 1) * SIZE)


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    n = N + 5
    dense = np.zeros((n, n))
    for number in range(GROUPS):
        rows = group(number)
        dense[np.ix_(rows, rows)] = rng.random((SIZE, SIZE)) < 0.2
    dense[:N, :N] += rng.random((N, N)) < 0.004
    dense[JOINED, group(1)[:6]] = 1.0
    dense[LOOSELY, group(2)[3]] = 1.0
    dense[FIRST, group(0)[:3]] = 1.0
    dense[SECOND, FIRST] = 1.0
    np.fill_diagonal(dense, 0.0)
    attributes = np.zeros((n, 3 * GROUPS))
    for number in range(GROUPS):
        attributes[np.ix_(group(number), range(3 * number, 3 * number + 3))] = 1.0
    attributes[ALIKE, 9:12] = 1.0
    return Graph(sparse.csr_array(dense), attributes=attributes)


@pytest.fixture(scope="module")
def points(graph):
    known = np.arange(N)
    old = Graph(graph.adjacency[known][:, known], attributes=graph.attributes[:N])
    found = lift(np.zeros((N + 5, 3)))
    found[:N] = HEAT(**SMALL).fit(old).embedding_
    return found


@pytest.fixture(scope="module")
def placed(graph, points):
    return fit_local(HEAT(**SMALL), graph, points, NEW).embedding_


def nearest_group(embedding, row):
    near = [distance(embedding[group(number)], embedding[row]).mean() for number in range(GROUPS)]
    return int(np.argmin(near))


def test_known_nodes_keep_every_bit(placed, points):
    assert placed[:N].tobytes() == points[:N].tobytes()
    check_points(placed)


def test_new_nodes_come_to_lie_among_their_like(placed):
    assert [nearest_group(placed, row) for row in (JOINED, LOOSELY, ALIKE, FIRST, SECOND)] == [1, 2, 3, 0, 0]


def test_a_node_of_which_nothing_is_known_stays_near_the_origin(graph, points):
    bare = Graph(graph.adjacency)  # the one that was only like others has nothing now
    placed = fit_local(HEAT(**SMALL), bare, points, NEW).embedding_
    assert radius(placed[ALIKE]) < 0.5  # pushed a little, as a negative of other new nodes
    assert nearest_group(placed, JOINED) == 1
    start = begun(bare, points, NEW)
    assert 0 < radius(start[ALIKE]) <= 2 * START_WIDTH


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_change_no_bit(graph, points, placed, n_threads):
    other = fit_local(HEAT(**{**SMALL, "n_threads": n_threads}), graph, points, NEW)
    assert other.embedding_.tobytes() == placed.tobytes()


def test_new_nodes_walk_by_directions_as_the_model_does(graph, points):
    ends = graph.edges.row, graph.edges.col
    directed = replace(graph, relationships=Relationships.from_pairs({"A": ends}))
    default, forward = (
        fit_local(HEAT(**SMALL, **options), directed, points, NEW).embedding_
        for options in ({}, {"forward": 0.9})
    )
    assert not np.array_equal(default, forward)


def test_what_stood_in_the_rows_of_new_nodes_does_not_matter(graph, points, placed):
    other = points.copy()
    other[NEW] = lift(np.full((5, 3), 0.7))
    assert fit_local(HEAT(**SMALL), graph, other, NEW).embedding_.tobytes() == placed.tobytes()


def test_one_new_node_is_trained_too(graph, points, placed):
    rows = np.arange(N + 1)
    one = Graph(graph.adjacency[rows][:, rows], attributes=graph.attributes[: N + 1])
    calls = []
    model = HEAT(**SMALL)
    found = fit_local(model, one, points[: N + 1], NEW[: N + 1], on_progress=lambda *call: calls.append(call))
    assert nearest_group(found.embedding_, N) == 1
    assert found.training_["new_nodes"] == 1
    assert found.n_pairs_ == found.training_["pairs"] > 100
    assert calls[-1][0] == "local"
    assert calls[-1][1] == calls[-1][2]
    assert found.get_params() == model.get_params()
    assert not hasattr(model, "embedding_")


def test_without_refinement_too(graph, points):
    found = fit_local(HEAT(**SMALL, refine=False), graph, points, NEW).embedding_
    assert found[:N].tobytes() == points[:N].tobytes()
    assert nearest_group(found, JOINED) == 1


def test_changed_nodes_move_by_the_share_that_changed_and_no_other(graph, points):
    shares = np.zeros(N + 5)
    moved = {}
    for share in (0.1, 1.0):
        shares[[3, 50]] = share
        found = fit_local(HEAT(**SMALL), graph, points, NEW, shares)
        still = (shares == 0.0) & ~NEW
        assert found.embedding_[still].tobytes() == points[still].tobytes()
        assert (found.training_["new_nodes"], found.training_["changed_nodes"]) == (5, 2)
        check_points(found.embedding_)
        moved[share] = distance(found.embedding_[[3, 50]], points[[3, 50]])
    assert (moved[1.0] > 0.0).all()
    np.testing.assert_allclose(moved[0.1], 0.1 * moved[1.0], rtol=1e-6)


def test_changed_nodes_move_without_new_ones_too(graph, points):
    shares = np.zeros(N + 5)
    shares[7] = 1.0
    none = np.zeros(N + 5, dtype=bool)
    one, two = (
        fit_local(HEAT(**{**SMALL, "n_threads": threads}), graph, points, none, shares).embedding_
        for threads in (1, 2)
    )
    assert one.tobytes() == two.tobytes()
    assert np.flatnonzero((one != points).any(axis=1)).tolist() == [7]


def test_a_node_moves_to_its_new_neighbours(graph, points):
    """One of group 0 whose relationships all lead to group 1 now."""
    dense = graph.adjacency.toarray()
    dense[5] = dense[:, 5] = 0.0
    dense[5, group(1)[:8]] = 1.0
    other = Graph(sparse.csr_array(np.maximum(dense, dense.T)), attributes=graph.attributes)
    shares = np.where(np.arange(N + 5) == 5, 1.0, 0.0)
    model = HEAT(**{**SMALL, "alpha": 0.0, "walks_per_node": 10})
    found = fit_local(model, other, points, NEW, shares).embedding_
    near = [distance(each[group(1)], each[5]).mean() for each in (points, found)]
    assert near[1] < 0.8 * near[0]


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_shares_are_shares(graph, points, share):
    with pytest.raises(ValueError, match="changed must be between 0 and 1"):
        fit_local(HEAT(**SMALL), graph, points, NEW, np.where(NEW, 0.0, share))


@pytest.mark.parametrize("new", [np.zeros(N + 5, dtype=bool), np.ones(N + 5, dtype=bool)])
def test_some_nodes_must_be_new_and_not_all(graph, points, new):
    with pytest.raises(ValueError, match="at least one node must be new or changed, and not all may be new"):
        fit_local(HEAT(**SMALL), graph, points, new)


def test_a_time_limit_ends_a_local_training_and_one_that_is_kept_changes_no_bit(graph, points):
    changed = np.full(graph.n_nodes, 0.5)
    short, kept, unlimited = (
        fit_local(HEAT(**SMALL, time_limit=limit), graph, points, NEW, changed) for limit in (1e-6, 1e6, None)
    )
    assert 0.0 < short.training_["trained_share"] < 1.0
    assert 0 < short.n_pairs_ < kept.n_pairs_
    assert kept.embedding_.tobytes() == unlimited.embedding_.tobytes()
    assert kept.training_["trained_share"] == 1.0


@pytest.mark.parametrize("fit", [fit_local, fit_warm])
def test_points_that_are_not_hyperbolic_are_an_error_of_their_own(graph, points, fit):
    broken = points.copy()
    broken[3, -1] += 1.0
    with pytest.raises(NotHyperbolicError, match="is not on the hyperboloid"):
        fit(HEAT(**SMALL), graph, broken, NEW)


def test_shapes_that_do_not_fit_are_refused(graph, points):
    with pytest.raises(ValueError, match=f"must have {N + 5} rows"):
        fit_local(HEAT(**SMALL), graph, points[:-1], NEW)
    with pytest.raises(ValueError, match=f"must have {N + 5} rows"):
        fit_local(HEAT(**SMALL), graph, points, NEW[:-1])


# --- where they begin ---------------------------------------------------------------------------------------


def begun(graph, points, new):
    similarity = make_similarity(graph, table_limit=0)
    walks = make_walks(graph, alpha=0.2, walk_length=2, key=np.uint64(5), similarity=similarity)
    return with_new_nodes(points, new, graph, walks, np.random.default_rng(0))


def centroid(points, weights):
    total = weights @ points
    return total / np.sqrt(total[-1] ** 2 - (total[:-1] ** 2).sum())


def test_new_nodes_begin_at_the_centroid_of_their_neighbours(graph, points):
    start = begun(graph, points, NEW)
    dense = graph.adjacency.toarray()
    known = np.arange(N)
    for row in (JOINED, LOOSELY, FIRST):
        np.testing.assert_allclose(start[row], centroid(points[:N], dense[row, known]), rtol=1e-9)
    np.testing.assert_allclose(start[SECOND], start[FIRST], rtol=1e-9)  # all that it knows
    assert nearest_group(start, ALIKE) == 3
    assert start[:N].tobytes() == points[:N].tobytes()


def test_weights_of_relationships_count():
    dense = np.zeros((3, 3))
    dense[2, 0], dense[2, 1] = 3.0, 1.0
    graph = Graph(sparse.csr_array(dense))
    points = lift(np.array([[0.0, 0.0], [2.0, 0.0], [9.0, 9.0]]))
    start = begun(graph, points, np.array([False, False, True]))
    np.testing.assert_allclose(start[2], centroid(points[:2], np.array([3.0, 1.0])), rtol=1e-12)


# --- training on --------------------------------------------------------------------------------------------


def test_a_warm_start_stays_nearer_to_the_points_than_a_run_of_its_own(graph, points):
    model = HEAT(**{**SMALL, "random_state": 9})
    warm = fit_warm(model, graph, points, NEW)
    cold = HEAT(**{**SMALL, "random_state": 9}).fit(graph)
    moves = [distance(found.embedding_[:N], points[:N]).mean() for found in (warm, cold)]
    assert moves[0] < 0.5 * moves[1]
    assert warm.get_params() == model.get_params()
    assert warm.training_["warm_start"] == {"walks_per_node": 2, "learning_rate": pytest.approx(0.01)}
    assert warm.seed_ == 9
    assert nearest_group(warm.embedding_, JOINED) == 1
    assert not hasattr(model, "embedding_")


def test_a_warm_start_draws_a_seed_and_tells_it(graph, points):
    model = HEAT(**{**SMALL, "random_state": None})
    warm = fit_warm(model, graph, points, NEW)
    assert model.get_params() == warm.get_params()
    again = fit_warm(HEAT(**{**SMALL, "random_state": warm.seed_}), graph, points, NEW)
    assert again.embedding_.tobytes() == warm.embedding_.tobytes()


def test_radii_do_not_grow_from_one_warm_start_to_the_next():
    """With nodes without any pair, pairs, and triangles beside what hangs together."""
    n = 130
    rng = np.random.default_rng(3)
    dense = np.zeros((n, n))
    dense[:100, :100] = rng.random((100, 100)) < 0.06
    for first in range(100, 110, 2):
        dense[first, first + 1] = 1.0
    for first in range(110, 119, 3):
        dense[first, [first + 1, first + 2]] = dense[first + 1, first + 2] = 1.0
    alone = np.arange(n) >= 119
    model = HEAT(3, alpha=0.0, walks_per_node=4, walk_length=20, random_state=0, n_threads=1)
    graph = Graph(sparse.csr_array(dense))
    begun = points = model.fit(graph).embedding_
    for _ in range(6):
        dense[rng.integers(100), rng.integers(100)] = 1.0
        points = fit_warm(model, Graph(sparse.csr_array(dense)), points, np.zeros(n, dtype=bool)).embedding_
    assert points[alone].tobytes() == begun[alone].tobytes()
    for kind in (slice(0, 100), slice(100, 110), slice(110, 119)):
        assert radius(points[kind]).mean() < 1.1 * radius(begun[kind]).mean()


def test_a_fit_begins_where_it_is_told(graph, points):
    still = HEAT(**SMALL, refine=False, learning_rate=1e-12).fit(graph, start=points)
    np.testing.assert_allclose(still.embedding_, points, atol=1e-7)


def test_a_start_must_be_points_of_the_graph(graph, points):
    model = HEAT(**SMALL)
    with pytest.raises(ValueError, match=r"start must have shape \(165, 4\)"):
        model.fit(graph, start=points[:-1])
    with pytest.raises(ValueError, match="not on the hyperboloid"):
        model.fit(graph, start=points + 1.0)
