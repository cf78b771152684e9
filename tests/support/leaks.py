"""Held-out edges that a training graph still has."""

from __future__ import annotations

import numpy as np

from heat_neo4j.linkpred.splits import EdgeSplit


def count_leaks(split: EdgeSplit) -> int:
    """Return how many held-out edges are edges or relationships in training, in either direction."""
    graph, pairs = split.train, split.test_edges
    u, v = pairs[:, 0], pairs[:, 1]
    links = graph.adjacency
    there = (np.asarray(links[u, v]) != 0) | (np.asarray(links[v, u]) != 0)
    if graph.relationships is not None:
        ends = np.column_stack((graph.relationships.source, graph.relationships.target)).astype(np.int64)
        own, held_out = (np.sort(each, axis=1) @ (graph.n_nodes, 1) for each in (ends, pairs))
        there |= np.isin(held_out, own)
    return int(there.sum())
