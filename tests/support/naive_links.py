"""Slow, plain twins of links and evaluation: every pair in a Python loop, nothing shared with the kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.geometry.hyperboloid import distance
from heat_neo4j.graph import Graph
from heat_neo4j.patterns import Pattern

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
    max_links: int | None = None,
    min_degree: int = 0,
    max_degree: int | None = None,
) -> list[tuple[float, int, int]]:
    """(distance, source, target) of the links of a graph without directions, in order."""
    degrees = graph.degrees
    edges = edge_set(graph)

    def suits(u: int, v: int) -> bool:
        return (
            (u, v) not in edges
            and all(degrees[w] >= min_degree for w in (u, v))
            and all(max_degree is None or degrees[w] <= max_degree for w in (u, v))
        )

    allowed = sorted((d, u, v) for (u, v), d in all_distances(embedding).items() if suits(u, v))
    if k is None:
        return allowed[:max_links]
    chosen = set()
    for node in range(graph.n_nodes):
        chosen.update([triple for triple in allowed if node in triple[1:]][:k])
    return sorted(chosen)[:max_links]


def carries(graph: Graph, row: int, label: str) -> bool:
    """Whether a node has a label; an empty one is that of nodes without any."""
    has = [name for name, mask in graph.labels.items() if mask[row]]
    return label in has if label else not has


def joined_by(graph: Graph, kind: str) -> set[Pair]:
    """(source, target) of the relationships of a type."""
    assert graph.relationships is not None
    source, target = graph.relationships.of(kind)
    return set(zip(source.tolist(), target.tolist(), strict=True))


def candidate_pairs(graph: Graph, pattern: Pattern) -> set[Pair]:
    """(source, target) of what may be linked by a pattern."""
    there = joined_by(graph, pattern.type)
    own = [
        (u, v) for u, v in there if carries(graph, u, pattern.source) and carries(graph, v, pattern.target)
    ]
    may_be_answered = bool(own) and sum((v, u) in there for u, v in own) >= 0.02 * len(own)
    return {
        (u, v)
        for u in range(graph.n_nodes)
        for v in range(graph.n_nodes)
        if u != v
        and carries(graph, u, pattern.source)
        and carries(graph, v, pattern.target)
        and (u, v) not in there
        and (may_be_answered or (v, u) not in there)
    }


def best_of_each_end(
    scores: Mapping[Pair, float], k: int, tolerance: float = 1e-9, *, of_sources: bool = False
) -> tuple[set[frozenset[int]], set[frozenset[int]]]:
    """Which two nodes are surely, and which may be, among the k best of a source or of a target.

    If `of_sources`, of a source only, and surely only the likelier way.
    """
    sure, possible = set(), set()
    for end in (0,) if of_sources else (0, 1):
        for pair, score in scores.items():
            own = [other for at, other in scores.items() if at[end] == pair[end]]
            wins = not of_sources or score > scores.get(pair[::-1], -math.inf) + tolerance
            if wins and sum(other >= score - tolerance for other in own) <= k:
                sure.add(frozenset(pair))
            if sum(other > score + tolerance for other in own) < k:
                possible.add(frozenset(pair))
    return sure, possible


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
