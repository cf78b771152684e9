"""Slow, plain twins of links and evaluation: every pair in a Python loop, nothing shared with the kernels."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.geometry.hyperboloid import distance
from heat_neo4j.graph import Graph

Pair = tuple[int, int]


def all_distances(embedding: NDArray[np.float64]) -> dict[Pair, float]:
    n = len(embedding)
    return {(u, v): float(distance(embedding[u], embedding[v])) for u, v in combinations(range(n), 2)}


def edge_set(graph: Graph) -> set[Pair]:
    return {(int(u), int(v)) for u, v in zip(*graph.adjacency.nonzero(), strict=True) if u < v}


def predicted_pairs(
    embedding: NDArray[np.float64],
    graph: Graph,
    k: int | None,
    top: int | None = None,
    source_label: str | None = None,
    target_label: str | None = None,
    min_degree: int = 0,
    max_degree: int | None = None,
) -> list[tuple[float, int, int]]:
    """(distance, source, target) of the links that `predict_links` should return, in order."""
    everyone = np.ones(graph.n_nodes, dtype=bool)
    is_source = everyone if source_label is None else graph.labels[source_label]
    is_target = everyone if target_label is None else graph.labels[target_label]
    degrees = graph.degrees
    edges = edge_set(graph)

    def suits(u: int, v: int) -> bool:
        return (
            (u, v) not in edges
            and bool((is_source[u] and is_target[v]) or (is_source[v] and is_target[u]))
            and all(degrees[w] >= min_degree for w in (u, v))
            and all(max_degree is None or degrees[w] <= max_degree for w in (u, v))
        )

    allowed = sorted((d, u, v) for (u, v), d in all_distances(embedding).items() if suits(u, v))
    if k is None:
        return allowed[:top]
    chosen = set()
    for node in range(graph.n_nodes):
        chosen.update([triple for triple in allowed if node in triple[1:]][:k])
    return sorted(chosen)[:top]


def auroc(edges: list[float], others: list[float]) -> float:
    wins = sum((e > o) + 0.5 * (e == o) for e in edges for o in others)
    return float(wins / (len(edges) * len(others)))


def reconstruction_auroc(embedding: NDArray[np.float64], graph: Graph) -> float:
    edges = edge_set(graph)
    scores = {pair: -d for pair, d in all_distances(embedding).items()}
    return auroc(
        [s for p, s in scores.items() if p in edges], [s for p, s in scores.items() if p not in edges]
    )


def exact_distance(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """arccosh(-<x, y>) in 80 digits; the times are taken from the spatial coordinates."""
    with localcontext() as context:
        context.prec = 80
        a = [Decimal(float(value)) for value in x[:-1]]
        b = [Decimal(float(value)) for value in y[:-1]]
        t = (1 + sum(value * value for value in a)).sqrt()
        s = (1 + sum(value * value for value in b)).sqrt()
        cosh = t * s - sum(p * q for p, q in zip(a, b, strict=True))
        return float((cosh + (cosh * cosh - 1).sqrt()).ln())
