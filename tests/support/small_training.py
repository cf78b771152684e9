"""A training by buckets that takes a moment, and what makes another the same."""

import networkx as nx
import numpy as np
from scipy import sparse

from heat_neo4j import Graph

OPTIONS = {"n_components": 3, "walks_per_node": 2, "walk_length": 10, "n_parts": 4, "random_state": 4}


DIVERGING = {
    "alpha": 0.2,
    "n_components": 3,
    "walks_per_node": 2,
    "walk_length": 10,
    "n_parts": 2,
    "random_state": 4,
}
"""For `star`, with a learning rate of 100."""


def star():
    """The leaves of a hub push each other away: training diverges where the steps are large."""
    return nx.star_graph(300)


def make_graph(seed=0):
    """A graph with a hub at a third of the nodes, isolated nodes and attributes."""
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.random((300, 300)) < 0.01, 1)
    dense[0, 1:100] = True
    dense[:, 290:] = False
    attributes = (rng.random((300, 20)) < 0.2).astype(float)
    return Graph(adjacency=sparse.csr_array(dense.astype(float)), attributes=attributes)


def assert_same(model, other):
    assert model.embedding_.tobytes() == other.embedding_.tobytes()
    assert model.loss_curve_.tobytes() == other.loss_curve_.tobytes()
    counts = ("pairs", "pairs_without_negative", "damped_steps", "crowded_nodes", "learning_rate_halved")
    assert [model.training_[name] for name in counts] == [other.training_[name] for name in counts]
