"""The benchmarks' random hyperbolic graph: edges by the distance of every pair, degrees, attributes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.benchmarks.hyperbolic import ATTRIBUTES, DRAWS, edges_of, hyperbolic_graph


@settings(deadline=None)
@given(n=st.integers(1, 120), rim=st.floats(1.0, 15.0), seed=st.integers(0, 99))
def test_edges_are_the_pairs_nearer_than_the_rim(n, rim, seed):
    rng = np.random.default_rng(seed)
    radius, angle = rim * np.sqrt(rng.random(n)), rng.uniform(0.0, 2.0 * np.pi, n)
    cosine = np.cos(angle[:, None] - angle)
    inner = np.multiply.outer(np.cosh(radius), np.cosh(radius))
    inner -= np.multiply.outer(np.sinh(radius), np.sinh(radius)) * cosine
    near = np.triu(inner < np.cosh(rim), 1)
    unclear = np.abs(inner / np.cosh(rim) - 1.0) < 1e-12
    found = np.zeros((n, n), dtype=int)
    source, target = edges_of(radius, angle, rim)
    np.add.at(found, (np.minimum(source, target), np.maximum(source, target)), 1)
    np.testing.assert_array_equal(found[~unclear], near[~unclear])


def test_degrees_and_attributes_are_as_promised():
    graph = hyperbolic_graph(20_000)
    assert graph.degrees.mean() == pytest.approx(10.0, rel=0.15)
    assert graph.degrees.max() > 300  # a power law has hubs
    assert graph.attributes.shape == (20_000, ATTRIBUTES)
    counts = np.diff(graph.attributes.indptr)
    assert counts.min() >= 1
    assert counts.max() <= DRAWS
    source, target = graph.edges.coords
    strangers = np.random.default_rng(0).permutation(target)
    facts = graph.attributes
    shared, by_chance = (facts[source].multiply(facts[other]).sum() for other in (target, strangers))
    assert shared > 3 * by_chance


def test_the_same_seed_gives_the_same_graph():
    one, two, other = (hyperbolic_graph(500, seed=seed) for seed in (0, 0, 1))
    assert (one.adjacency != two.adjacency).nnz == 0
    assert (one.adjacency != other.adjacency).nnz > 0
