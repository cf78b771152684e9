"""Attribute teleports of vectors: lists of the most similar nodes, and draws from them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j._kernels.near_vectors import NOBODY, leaves
from heat_neo4j._kernels.random import stream
from heat_neo4j._kernels.similarity import NO_SIMILAR, sample_similar
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.embedding.attribute_signal import attribute_signals, informative_attributes
from heat_neo4j.embedding.near_lists import LISTED, near_lists, near_matrix, vector_rows
from heat_neo4j.embedding.similarity import make_similarity
from heat_neo4j.graph import Graph, Provenance
from tests.support import naive
from tests.support.slow import slow


def vectors(n, width=48, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)) @ rng.normal(size=(5, width)) + 0.3 * rng.normal(size=(n, width))


def graph_of(values, n, matrix=None):
    wanted = [Attribute(name, text=name.startswith("text")) for name in values]
    table = AttributeTable(wanted, n, max_categories=10)
    table.add(np.arange(n), values)
    found = table.finish(np.arange(n))
    adjacency = sparse.csr_array((n, n)) if matrix is None else matrix
    recipe = Provenance(attribute_recipe=found.recipe)
    return Graph(adjacency, found.matrix, attribute_names=found.names, provenance=recipe)


def lists(matrix):
    return [row.tolist() for row in matrix]


def drawn(similarity, node, draws=20_000):
    chosen = np.empty(draws, dtype=np.int64)
    states = np.array([stream(np.uint64(5), i) for i in range(draws)], dtype=np.uint64)
    sample_similar(similarity, np.full(draws, node), states, np.arange(draws), draws, chosen)
    return chosen


def unit_floats(values):
    return np.ascontiguousarray(naive.unit_rows(values), dtype=np.float32)


@pytest.mark.parametrize("n", [1, 2, 60, slow(300)])
def test_up_to_a_size_the_lists_hold_the_nearest_nodes(n):
    rows = unit_floats(vectors(n))
    near, weights = near_lists(rows)
    expected, cumulated = naive.near_lists(rows.astype(float), LISTED)
    k = expected.shape[1] - (expected.shape[1] == n)  # the naive list of few nodes ends with the node itself
    for u in range(n):
        known = expected[u, :k][expected[u, :k] != u]
        assert sorted(near[u][near[u] != NOBODY]) == sorted(known[known != NOBODY])
    np.testing.assert_allclose(weights[:, :k], cumulated[:, :k], atol=1e-4)


def test_larger_graphs_have_most_of_the_nearest_nodes_and_their_cosines():
    rows = unit_floats(vectors(1500))
    near, weights = near_lists(rows, exact=0)
    expected, cumulated = naive.near_lists(rows.astype(float), LISTED)
    shared = [len(np.intersect1d(one[:20], other)) / 20 for one, other in zip(expected, near, strict=True)]
    assert np.mean(shared) > 0.9
    assert np.mean(weights[:, -1] / cumulated[:, -1]) > 0.95
    own = np.arange(1500)[:, None]
    assert (near != own).all()
    assert all(len(set(row)) == len(row) for row in near.tolist())


def test_lists_do_not_depend_on_threads():
    rows = unit_floats(vectors(2000))
    with WorkerThreads(3) as team:
        many = near_lists(rows, team, exact=0)
    for one, other in zip(near_lists(rows, ALONE, exact=0), many, strict=True):
        np.testing.assert_array_equal(one, other)


def test_equal_vectors_and_nodes_without_one():
    rows = unit_floats(np.repeat(vectors(4), 200, axis=0))
    rows[::7] = 0.0
    near, weights = near_lists(rows, exact=0)
    there = rows.any(axis=1)
    assert not weights[~there].any()
    assert (near[~there] == NOBODY).all()
    known = np.flatnonzero(there)
    assert (weights[known, -1] > 80).all()  # nearly all of a list are equal
    assert there[near[known][near[known] != NOBODY]].all()


def test_leaves_are_halves():
    assert leaves(10, 3).tolist() == [0, 2, 5, 7, 10]
    assert leaves(3, 3).tolist() == [0, 3]


def test_draws_follow_the_weights():
    n = 80
    similarity = make_similarity(graph_of({"e": lists(vectors(n))}, n))
    chosen = drawn(similarity, 3)
    weights = np.diff(similarity.near_cumulative[3], prepend=0.0)
    shares = np.bincount(chosen, minlength=n)[similarity.near[3]] / len(chosen)
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.012)


def test_a_vector_counts_as_one_attribute_of_several():
    n = 80
    kinds = [f"k{i % 4}" for i in range(n)]
    graph = graph_of({"e": lists(vectors(n)), "kind": kinds, "year": list(range(n))}, n)
    chosen = drawn(make_similarity(graph), 3)
    alone = make_similarity(graph_of({"kind": kinds, "year": list(range(n))}, n))
    others = np.bincount(drawn(alone, 3), minlength=n) / 20_000
    near = np.bincount(drawn(make_similarity(graph_of({"e": lists(vectors(n))}, n)), 3), minlength=n) / 20_000
    expected = near / 3 + 2 * others / 3
    np.testing.assert_allclose(np.bincount(chosen, minlength=n) / 20_000, expected, atol=0.015)


def test_nodes_without_a_vector_draw_by_the_others_and_the_other_way_round():
    n = 40
    values = lists(vectors(n))
    values[2] = None
    kinds = [None if i == 5 else f"k{i % 2}" for i in range(n)]
    graph = graph_of({"e": values, "kind": kinds}, n)
    similarity = make_similarity(graph)
    assert (drawn(similarity, 2, 500) >= 0).all()
    assert 2 not in drawn(make_similarity(graph_of({"e": values}, n)), 3)
    assert set(drawn(make_similarity(graph_of({"e": values}, n)), 2, 50).tolist()) == {NO_SIMILAR}


def test_two_vectors_are_compared_by_the_mean_of_their_cosines():
    n = 50
    one, other = vectors(n), vectors(n, 100, seed=1)
    found = vector_rows(graph_of({"a": lists(one), "b": lists(other)}, n))
    assert found is not None
    units = [naive.whitened(naive.centred_directions(values)) for values in (one, other)]
    np.testing.assert_allclose(found @ found.T, sum(each @ each.T for each in units) / 2, atol=1e-4)
    assert found.shape[1] % 16 == 0


def linked_alike(n, seed=0):
    """A graph whose nodes are linked to the most similar ones, and the values."""
    values = vectors(n, seed=seed)
    near, _ = naive.near_lists(naive.centred_directions(values), 4)
    source = np.repeat(np.arange(n), 4)
    matrix = sparse.csr_array((np.ones(4 * n), (source, near.ravel())), shape=(n, n))
    return values, sparse.csr_array(matrix + matrix.T)


def test_vectors_of_linked_nodes_are_informative_and_noise_is_not():
    n = 400
    values, matrix = linked_alike(n)
    noise = np.random.default_rng(9).normal(size=(n, 64))
    graph = graph_of({"e": lists(values), "noise": lists(noise)}, n, matrix)
    told, random = attribute_signals(graph)
    assert told.name == "e"
    assert told.auroc > 0.9
    assert not random.is_informative
    kept = informative_attributes(graph, (told, random))
    assert [entry["property"] for entry in kept.provenance.attribute_recipe] == ["e"]
    only = make_similarity(graph_of({"e": lists(values)}, n, matrix))
    np.testing.assert_array_equal(make_similarity(kept).near, only.near)


def test_embeddings_are_the_same_bits_on_any_number_of_threads():
    values, matrix = linked_alike(300)
    graph = graph_of({"e": lists(values), "year": list(range(300))}, 300, matrix)
    one, two = (HEAT(alpha=0.3, random_state=1, n_threads=count).fit(graph) for count in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    without = replace(graph, attributes=None, attribute_names=(), provenance=Provenance())
    assert (HEAT(alpha=0.3, random_state=1).fit(without).embedding_ != one.embedding_).any()


def test_the_cosines_of_near_nodes_as_a_matrix():
    n = 60
    values = lists(vectors(n))
    values[4] = None
    matrix = near_matrix(graph_of({"e": values, "year": list(range(n))}, n), 5)
    present = np.array([row or [0.0] * 48 for row in values])
    known = np.delete(present, 4, axis=0)
    unit = naive.whitened(naive.centred_directions(known))
    expected, _ = naive.near_lists(unit, 5)
    places = np.delete(np.arange(n), 4)
    for row, near in zip(places, expected, strict=True):
        assert sorted(matrix[[row]].indices) == sorted(places[near])
    assert matrix[[4]].nnz == matrix[:, [4]].nnz == 0
    cosines = unit @ unit.T
    assert matrix[0, places[expected[0, 0]]] == pytest.approx(cosines[0, expected[0, 0]], abs=1e-4)
    assert near_matrix(graph_of({"year": list(range(n))}, n), 5) is None
