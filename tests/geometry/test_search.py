"""The pruned search returns the same bits as a scan of all pairs."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j import Graph
from heat_neo4j._kernels.elementwise import arccosh1p
from heat_neo4j._kernels.sweeps import BLOCK, GROUP, PROJECTED, excess_of_rows
from heat_neo4j._utils.progress import no_progress
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.geometry.search import Candidates, PartnerSearch, make_blocks
from heat_neo4j.graph import Relationships
from heat_neo4j.linkpred.prediction import predict_links

N = 400


def points(seed=0, dimensions=3, scale=1.0, n=N):
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(n, dimensions))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return lift(np.sinh(scale * rng.gamma(4.0, size=(n, 1))) * direction)


def graph(seed=0, hub=0):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, N, size=(2, 3 * N))
    adjacency = sparse.lil_array(sparse.csr_array((np.ones(3 * N), tuple(ends)), shape=(N, N)))
    adjacency[7, rng.permutation(N)[:hub]] = 1.0
    labels = {"A": rng.random(N) < 0.1, "B": rng.random(N) < 0.5}
    return Graph(adjacency=sparse.csr_array(adjacency), labels=labels)


@lru_cache(maxsize=8)
def all_distances(raw, shape):
    """Return the matrix of the distances of all pairs of points, which many tests have in common."""
    embedding = np.frombuffer(raw).reshape(shape)
    u, v = np.triu_indices(N, 1)
    far = np.zeros((N, N))
    far[u, v] = far[v, u] = arccosh1p(excess_of_rows(embedding, u, v))
    return far


def looked_at_all(embedding, of, k=10, max_links=None, source_label=None, target_label=None, joined=None):
    """Return the links by the distances of all pairs: source, target, distance."""
    far = all_distances(embedding.tobytes(), embedding.shape)
    source = of.labels.get(source_label, np.ones(N, dtype=bool))
    target = of.labels.get(target_label, np.ones(N, dtype=bool))
    joined = of.adjacency.toarray() if joined is None else joined
    allowed = np.triu(joined == 0, 1) & (source[:, None] & target | target[:, None] & source)
    allowed |= allowed.T
    if k is not None:
        near = np.argsort(np.where(allowed, far, np.inf), axis=1, kind="stable")[:, :k]
        kept = np.zeros((N, N), dtype=bool)
        np.put_along_axis(kept, near, True, axis=1)
        allowed &= kept | kept.T
    u, v = np.nonzero(np.triu(allowed))
    order = np.argsort(far[u, v], kind="stable")[:max_links]
    return u[order], v[order], far[u, v][order]


def both_ways(embedding, of, **limits):
    """Search, and return what was found after it was compared with looking at all."""
    limits = {"max_links": N * N, **limits}  # without it there are as many as the graph has edges
    found = predict_links(embedding, of, **limits)
    for ours, plain in zip(
        (found.source, found.target, found.distance), looked_at_all(embedding, of, **limits), strict=True
    ):
        np.testing.assert_array_equal(ours, plain)
    return found


@pytest.mark.parametrize("k", [1, 5, 30, N])
@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0, 2.5])  # mean radius 0.2, 2, 4 and 10, largest 25
def test_the_nearest_are_found(k, scale):
    assert len(both_ways(points(scale=scale), graph(), k=k)) > 0


@pytest.mark.parametrize("dimensions", [1, 2, PROJECTED, PROJECTED + 1, 60])
@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_in_few_dimensions_and_in_many(dimensions, scale):
    both_ways(points(dimensions=dimensions, scale=scale), graph(), k=4)


@pytest.mark.parametrize("hub", [100, N - 50, N - 1])
def test_neighbours_of_hubs_are_left_out(hub):
    both_ways(points(), graph(hub=hub), k=4)


@pytest.mark.parametrize(("source", "target"), [("A", "B"), ("A", "A"), ("B", "A")])
@pytest.mark.parametrize("limits", [{"k": 3}, {"k": None, "max_links": 200}, {"k": 2, "max_links": 50}])
def test_labels_are_heeded(source, target, limits):
    of = graph()
    of.labels["B"] &= ~of.labels["A"]
    rng = np.random.default_rng(3)
    ends = [rng.choice(np.flatnonzero(of.labels[label]), size=230) for label in (source, target)]
    _, first = np.unique(np.sort(ends, axis=0), axis=1, return_index=True)
    ends = [each[np.sort(first)] for each in ends]  # none is answered
    joined = np.zeros((N, N))
    joined[ends[0], ends[1]] = joined[ends[1], ends[0]] = 1.0
    np.fill_diagonal(joined, 0.0)
    of = Graph(
        sparse.csr_array(np.triu(joined)),
        labels=of.labels,
        relationships=Relationships.from_pairs({"R": tuple(ends)}),
    )
    limits = {"max_links": N * N, **limits}
    found = predict_links(points(), of, **limits)
    plain = looked_at_all(points(), of, source_label=source, target_label=target, joined=joined, **limits)
    assert of.labels[source][found.source].all()
    assert of.labels[target][found.target].all()
    ends = np.sort(np.column_stack((found.source, found.target)), axis=1)
    assert set(map(tuple, ends.tolist())) == set(zip(plain[0].tolist(), plain[1].tolist(), strict=True))
    np.testing.assert_array_equal(found.distance, plain[2])


@pytest.mark.parametrize("top", [1, 50, 2000, 10**6])
@pytest.mark.parametrize("scale", [0.2, 1.0])
def test_the_nearest_pairs_of_all(top, scale):
    assert len(both_ways(points(scale=scale), graph(), k=None, max_links=top)) > 0


def test_points_that_coincide_are_ties():
    embedding = points()
    embedding[:170] = embedding[0]
    both_ways(embedding, graph(), k=5)
    both_ways(embedding, graph(), k=None, max_links=500)


def test_any_number_of_threads_finds_the_same():
    one, three = (predict_links(points(), graph(), k=5, n_threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.distance, three.distance)
    np.testing.assert_array_equal(one.target, three.target)


def test_progress_never_falls():
    told = []
    predict_links(points(), graph(), k=None, max_links=3000, on_progress=lambda *call: told.append(call))
    done = [call[1] for call in told]
    assert done == sorted(done)
    assert told[-1] == ("links", N, N)


@pytest.mark.parametrize("bound", [np.inf, 1.0])
@pytest.mark.parametrize("dimensions", [2, 30])
def test_among_many_groups_of_blocks(dimensions, bound):
    """Some of the rows, each by the distance from every point."""
    n, k = 3 * GROUP * BLOCK, 12
    embedding = points(dimensions=dimensions, scale=0.5, n=n)
    columns = np.ascontiguousarray(embedding[:, :-1].T), np.ascontiguousarray(embedding[:, -1])
    roles = np.random.default_rng(0).choice([1, 2, 3], n, p=[0.6, 0.05, 0.35]).astype(np.uint8)
    no_links = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    rows = np.arange(0, n, 97)
    with WorkerThreads(2) as team:
        search = PartnerSearch(Candidates(*columns, *no_links, roles))
        found, partner = search.nearest(rows, k, bound, team, no_progress)
    for row, far, others in zip(rows.tolist(), found, partner, strict=True):
        fits = ((roles[row] & 1) & (roles >> 1)) | ((roles[row] >> 1) & (roles & 1))
        fits[row] = 0
        suited = np.flatnonzero(fits)
        z = excess_of_rows(embedding, np.full(len(suited), row), suited)
        order = np.argsort(z, kind="stable")[:k]
        nearest = arccosh1p(z[order])
        order, nearest = order[nearest <= bound], nearest[nearest <= bound]
        within = far <= bound
        np.testing.assert_array_equal(far[within], nearest)
        np.testing.assert_array_equal(others[within], suited[order])


def exact_and_quick(dimensions):
    """Return the distances and partners that an exact search finds, and those of an approximate one."""
    n = GROUP * BLOCK
    embedding = points(dimensions=dimensions, scale=0.2, n=n)
    columns = np.ascontiguousarray(embedding[:, :-1].T), np.ascontiguousarray(embedding[:, -1])
    no_links = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    search = PartnerSearch(Candidates(*columns, *no_links, np.full(n, 3, dtype=np.uint8)))
    rows = np.arange(0, n, 7)
    with WorkerThreads(2) as team:
        return [search.nearest(rows, 12, np.inf, team, no_progress, epsilon=each) for each in (0.0, 1.0)]


def test_an_approximate_search_finds_most_of_the_nearest_and_none_far_beyond():
    (exact, nearest), (near, partner) = exact_and_quick(dimensions=3)
    assert (near >= exact).all()
    assert (np.sinh(near / 2) <= 2.0 * np.sinh(exact / 2)).all()
    found = np.mean([np.isin(*each).mean() for each in zip(nearest, partner, strict=True)])
    assert 0.9 < found < 1.0


@settings(deadline=None)
@given(
    n=st.integers(1, 3 * BLOCK),
    dimensions=st.integers(1, 40),
    scale=st.floats(0.01, 1.5),
    seed=st.integers(0, 99),
)
def test_blocks_hold_every_point_once_and_their_bounds_are_bounds(n, dimensions, scale, seed):
    embedding = points(seed, dimensions, scale, n)
    roles = np.random.default_rng(seed).integers(0, 4, n).astype(np.uint8)
    blocks = make_blocks(embedding[:, :-1].T, embedding[:, -1], roles)
    np.testing.assert_array_equal(np.sort(blocks.node), np.arange(n))
    np.testing.assert_array_equal(np.column_stack((blocks.points, blocks.time)), embedding[blocks.node])
    ball = blocks.points / (1.0 + blocks.time[:, None])
    projections = blocks.projections.transpose(0, 2, 1).reshape(-1, PROJECTED)[:n]
    one_minus_squares = blocks.one_minus_squares.ravel()[:n]
    np.testing.assert_allclose(one_minus_squares, 1.0 - (ball**2).sum(axis=1), rtol=1e-6, atol=1e-12)
    real = ((ball[:, None] - ball) ** 2).sum(axis=2)
    seen = ((projections[:, None] - projections) ** 2).sum(axis=2)
    assert (seen <= real * (1.0 + 1e-9) + 1e-14).all()
    if dimensions <= PROJECTED:
        np.testing.assert_allclose(seen, real, atol=1e-12)
    block = np.arange(n) // BLOCK
    assert (blocks.boxes[block, 0] <= projections).all()
    assert (projections <= blocks.boxes[block, 1]).all()
    assert (one_minus_squares <= blocks.largest[block]).all()
    group = block // GROUP
    assert (blocks.group_boxes[group, 0] <= projections).all()
    assert (projections <= blocks.group_boxes[group, 1]).all()
    assert (one_minus_squares <= blocks.group_largest[group]).all()
    for number, mask in enumerate(blocks.masks):
        assert mask == np.bitwise_or.reduce(roles[blocks.node[block == number]])


def test_points_that_are_near_lie_together():
    """Most of the blocks are passed over: else the search would be right, but slow."""
    embedding = points(dimensions=2, scale=0.5, n=100 * BLOCK)
    blocks = make_blocks(
        np.ascontiguousarray(embedding[:, :-1].T), embedding[:, -1].copy(), np.ones(6400, np.uint8)
    )
    sides = blocks.boxes[:, 1, :2] - blocks.boxes[:, 0, :2]
    whole = blocks.boxes[:, 1, :2].max(axis=0) - blocks.boxes[:, 0, :2].min(axis=0)
    assert np.median(sides.prod(axis=1)) < whole.prod() / 50


def test_search_is_exact_where_the_block_layout_depends_on_the_machine():
    exact, quick = exact_and_quick(dimensions=PROJECTED + 1)
    np.testing.assert_array_equal(exact[0], quick[0])
    np.testing.assert_array_equal(exact[1], quick[1])
