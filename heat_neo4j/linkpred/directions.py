"""The direction of links that no score has ranked: what the relationships of their type show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import CandidatePairs, relationships_of

__all__ = ["directed", "leanings", "with_observed_roles"]

Rows = NDArray[np.int64]

_REPEATED = 10  # relationships beyond the first of their node; fewer separate two sets of nodes by chance


def with_observed_roles(graph: Graph, candidates: CandidatePairs) -> CandidatePairs:
    """Return only pairs from sources to targets if relationships of the pattern join two separate sets.

    Nodes without a relationship of the pattern keep both roles.
    """
    assert candidates.pattern is not None
    out, into = _counts(relationships_of(graph, candidates.pattern), graph.n_nodes)
    both = candidates.is_source & candidates.is_target
    is_mixed = bool(np.any(both & (out > 0) & (into > 0)))
    if is_mixed or np.maximum(out + into - 1, 0)[both].sum() < _REPEATED:
        return candidates
    is_source, is_target = candidates.is_source & (into == 0), candidates.is_target & (out == 0)
    sources, targets = np.flatnonzero(is_source), np.flatnonzero(is_target)
    return replace(candidates, sources=sources, targets=targets, is_source=is_source, is_target=is_target)


def leanings(graph: Graph, kind: str, pairs: Rows) -> Rows:
    """Return how the ends of pairs (u, v) compare by relationships of a type, shape (m,).

    Above 0 if u has more outgoing ones for each incoming one than v, which makes u -> v likelier than
    v -> u; 0 if the two are alike.
    """
    assert graph.relationships is not None
    out, into = _counts(graph.relationships.of(kind), graph.n_nodes)
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


def _counts(
    relationships: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]], n: int
) -> tuple[Rows, Rows]:
    """Return outgoing and incoming relationships of each node."""
    source, target = relationships
    return np.bincount(source, minlength=n), np.bincount(target, minlength=n)
