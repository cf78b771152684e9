"""Directions for links ranked without a score, from the relationships of their type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import CandidatePairs, sent_and_received

Rows = NDArray[np.int64]


def leanings(graph: Graph, kind: str, pairs: Rows) -> Rows:
    """Compare the out/in ratios of u and v for each pair (u, v), shape (m,).

    Positive if u has the larger ratio of outgoing to incoming relationships of the type, which makes u -> v
    likelier than v -> u. Zero if the ratios are equal.
    """
    assert graph.relationships is not None
    out, into = sent_and_received(graph.relationships.of(kind), graph.n_nodes)
    u, v = pairs.T
    leaning: Rows = (2 * out[u] + 1) * (2 * into[v] + 1) - (2 * out[v] + 1) * (2 * into[u] + 1)
    return leaning


def directed(candidates: CandidatePairs, pairs: Rows, leaning: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Orient each pair, and return a mask of the pairs whose direction is determined.

    If only one direction is a candidate, that one is chosen; otherwise the sign of `leaning` decides. If it
    is zero, the direction is undetermined and the pair leads from the lower row to the higher.
    """
    forward, back = candidates.either_way(pairs[:, ::-1]), candidates.either_way(pairs)
    either = forward & back
    turned = np.where(either, (leaning < 0) | ((leaning == 0) & (pairs[:, 0] > pairs[:, 1])), back)
    return np.where(turned[:, None], pairs[:, ::-1], pairs), ~(either & (leaning == 0))
