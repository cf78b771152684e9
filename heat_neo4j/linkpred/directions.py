"""The direction of links that no score has ranked: what the relationships of their type show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import CandidatePairs, sent_and_received

Rows = NDArray[np.int64]


def leanings(graph: Graph, kind: str, pairs: Rows) -> Rows:
    """Return how the ends of pairs (u, v) compare by relationships of a type, shape (m,).

    Above 0 if u has more outgoing ones for each incoming one than v, which makes u -> v likelier than
    v -> u; 0 if the two are alike.
    """
    assert graph.relationships is not None
    out, into = sent_and_received(graph.relationships.of(kind), graph.n_nodes)
    u, v = pairs.T
    leaning: Rows = (2 * out[u] + 1) * (2 * into[v] + 1) - (2 * out[v] + 1) * (2 * into[u] + 1)
    return leaning


def directed(candidates: CandidatePairs, pairs: Rows, leaning: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Return pairs in the only direction that is a candidate, or in that of `leaning`; and which have one.

    A pair without a direction leads from the lower row to the higher.
    """
    forward, back = candidates.either_way(pairs[:, ::-1]), candidates.either_way(pairs)
    either = forward & back
    turned = np.where(either, (leaning < 0) | ((leaning == 0) & (pairs[:, 0] > pairs[:, 1])), back)
    return np.where(turned[:, None], pairs[:, ::-1], pairs), ~(either & (leaning == 0))
