"""Likeness by attributes alone: the same for a graph and for its training graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heat_neo4j._utils.csr import first_of_rows
from heat_neo4j.embedding.near_lists import near_matrix
from heat_neo4j.graph import Graph, Provenance
from heat_neo4j.linkpred.features import PairFeatures
from heat_neo4j.linkpred.likeness import NEAR_VECTORS, Likeness
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.linkpred.splits import split_edges
from tests.embedding.test_near_vectors import graph_of
from tests.linkpred.test_shortlists import READS, library


def with_vectors(graph: Graph) -> Graph:
    """Return the graph with a vector and a text for each node."""
    generator = np.random.default_rng(1)
    words = generator.choice(["red", "blue", "old", "new", "tall", "wide"], (graph.n_nodes, 3)).tolist()
    vectors = generator.normal(size=(graph.n_nodes, 48)).tolist()
    made = graph_of({"vector": vectors, "text": list(map(" ".join, words))}, graph.n_nodes)
    return replace(graph, attributes=made.attributes, provenance=made.provenance)


def test_a_training_graph_has_the_likeness_of_its_graph() -> None:
    points, graph = library(120)
    graph = with_vectors(graph)
    train = split_edges(graph, 0.2, random_state=0).train
    likeness = Likeness(graph)
    own, shared = PairFeatures(points, train), PairFeatures(points, train, likeness)
    assert own.most_similar is not None
    assert shared.most_similar is not None
    np.testing.assert_array_equal(own.most_similar.toarray(), shared.most_similar.toarray())
    pairs = np.random.default_rng(0).integers(0, graph.n_nodes, size=(50, 2))
    for name, feature in own.of(READS).link.items():
        np.testing.assert_array_equal(feature.pairs(pairs), shared.of(READS).link[name].pairs(pairs))
    assert shared.likeness is likeness
    assert Surroundings(points, train, likeness).likeness is likeness


def test_the_first_near_vectors_are_the_nearest() -> None:
    _, graph = library(120)
    graph = with_vectors(graph)
    near = Likeness(graph).near_vectors
    few = near_matrix(graph, 20)
    assert near is not None
    assert few is not None
    assert np.diff(near.indptr).max() == min(NEAR_VECTORS, graph.n_nodes - 1)
    np.testing.assert_array_equal(first_of_rows(near, 20).toarray(), few.toarray())
    assert Likeness(replace(graph, attributes=None, provenance=Provenance())).near_vectors is None
