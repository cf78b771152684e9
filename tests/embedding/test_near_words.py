"""Attribute teleports of texts: cosines of centred words, lists of similar nodes, and draws from them."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT
from heat_neo4j._kernels.lists import NOBODY
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding import near_lists as near_words
from heat_neo4j.embedding.attribute_signal import attribute_signals
from heat_neo4j.embedding.near_lists import LISTED, Words
from heat_neo4j.embedding.similarity import make_similarity
from tests.embedding.test_near_vectors import drawn, graph_of, lists, vectors
from tests.support import naive
from tests.support.explained import explain_pair

VOCABULARY = [f"word{i}" for i in range(60)]


def texts(n, seed=0):
    """Texts about one of six subjects, with common words among them."""
    rng = np.random.default_rng(seed)
    subjects = rng.integers(0, 6, n)
    return [
        " ".join([*rng.choice(VOCABULARY[8 * s : 8 * s + 8], 4), *rng.choice(VOCABULARY[48:], 4)])
        for s in subjects
    ]


def weights_of(values):
    """The TF-IDF weights of texts, sparse, and as dense centred directions."""
    weights = sparse.csr_array(graph_of({"text": values}, len(values)).attributes)
    dense = weights.toarray()
    there = dense.any(axis=1)
    centred = np.zeros_like(dense)
    centred[there] = naive.unit_rows(dense[there] - dense[there].mean(axis=0))
    return weights, centred


def test_cosines_are_those_of_centred_rows():
    values = [*texts(50), None, None]
    weights, centred = weights_of(values)
    u, v = (each.ravel() for each in np.indices((52, 52)))
    cosines = Words.of(weights).cosines(u, v)
    np.testing.assert_allclose(cosines, (centred @ centred.T).ravel(), atol=1e-9)
    assert not cosines[u == 51].any()


def test_texts_that_are_all_equal_are_not_similar():
    weights, _ = weights_of(["two words"] * 5)
    _, cumulated = Words.of(weights).near_lists()
    assert not cumulated.any()


@pytest.mark.parametrize("n", [1, 2, 60, 180])
def test_up_to_a_size_the_lists_hold_the_nearest_nodes(n):
    weights, centred = weights_of(texts(n))
    near, cumulated = Words.of(weights).near_lists()
    expected, _ = naive.near_lists(centred, LISTED)
    assert near.shape == (n, max(min(LISTED, n - 1), 1))
    cosines = centred @ centred.T
    for u in range(n):
        own = near[u][near[u] != NOBODY]
        best = expected[u][expected[u] != NOBODY][: min(20, max(n - 1, 0))]
        assert u not in own
        assert {v for v in best if v != u and cosines[u, v] > 1e-9} <= set(own)
        cubes = np.maximum(cosines[u][own], 0.0) ** 3
        np.testing.assert_allclose(np.diff(cumulated[u][: len(own)], prepend=0.0), cubes, atol=1e-5)


def test_larger_graphs_have_most_of_the_nearest_nodes():
    weights, centred = weights_of(texts(1500))
    near, _ = Words.of(weights).near_lists(exact=0, visited=2_000)
    expected, _ = naive.near_lists(centred, 10)
    shared = [len(np.intersect1d(one, other)) / 10 for one, other in zip(expected, near, strict=True)]
    assert np.mean(shared) > 0.8


def test_lists_depend_neither_on_threads_nor_on_blocks(monkeypatch):
    weights, _ = weights_of([*texts(300), None])
    one = Words.of(weights).near_lists(ALONE)
    monkeypatch.setattr(near_words, "_BLOCK", 64)
    with WorkerThreads(3) as team:
        many = Words.of(weights).near_lists(team)
    for first, second in zip(one, many, strict=True):
        np.testing.assert_array_equal(first, second)


def test_nodes_without_a_text_are_similar_to_none():
    weights, _ = weights_of([*texts(30), None])
    near, cumulated = Words.of(weights).near_lists()
    assert not cumulated[30].any()
    assert not (near == 30).any()


def shares(values, n, node=3):
    return np.bincount(drawn(make_similarity(graph_of(values, n)), node), minlength=n) / 20_000


def test_a_text_counts_as_much_as_all_columns_and_a_vector_as_one_of_them():
    n = 60
    text, other = {"text": texts(n)}, {"text2": texts(n, seed=1)}
    vector = {"e": lists(vectors(n))}
    columns = {"kind": [f"k{i % 4}" for i in range(n)], "year": list(range(n))}
    every, weights = [text, other, vector, columns], np.array([2, 2, 1, 2]) / 7
    together = shares({name: value for each in every for name, value in each.items()}, n)
    np.testing.assert_allclose(together, weights @ [shares(each, n) for each in every], atol=0.015)


def linked_by_words(n):
    """Texts, and links of each node to those with the most similar ones."""
    values = texts(n)
    _, centred = weights_of(values)
    near, _ = naive.near_lists(centred, 4)
    links = sparse.csr_array((np.ones(4 * n), (np.repeat(np.arange(n), 4), near.ravel())), shape=(n, n))
    return values, sparse.csr_array(links + links.T)


def test_texts_of_linked_nodes_are_informative_and_random_ones_are_not():
    n = 400
    values, matrix = linked_by_words(n)
    told, random = attribute_signals(graph_of({"text": values, "text2": texts(n, seed=5)}, n, matrix))
    assert told.name == "text"
    assert told.auroc > 0.9
    assert not random.is_informative


def test_embeddings_are_the_same_bits_on_any_number_of_threads():
    n = 200
    values, matrix = linked_by_words(n)
    graph = graph_of({"text": values, "e": lists(vectors(n)), "year": list(range(n))}, n, matrix)
    one, two = (HEAT(alpha=0.3, random_state=1, n_threads=count).fit(graph) for count in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_an_explanation_has_the_cosine_of_two_texts():
    n = 100
    values, matrix = linked_by_words(n)
    graph = graph_of({"text": values}, n, matrix)
    _, centred = weights_of(values)
    model = HEAT(random_state=0, walks_per_node=1).fit(graph)
    v = int(np.argmax(centred[0] @ centred.T * (np.arange(n) > 0)))
    (shared,) = explain_pair(model.embedding_, graph, None, (0, v)).attributes
    assert (shared.name, shared.nodes) == ("text", n)
    assert shared.cosine == pytest.approx(centred[0] @ centred[v], abs=1e-4)
