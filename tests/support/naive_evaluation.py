"""Slow, plain twins of the figures of an evaluation: pair by pair, from the definitions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from heat_neo4j.linkpred.scorers import PairScorer
from heat_neo4j.linkpred.splits import EdgeSplit
from tests.support.naive_links import Pair, auroc, edge_set

Score = Callable[[int, int], float]


def scores_of(scorer: PairScorer) -> Score:
    """Score one pair at a time, smaller node first."""
    table = {
        (u, v): float(scorer.pairs(np.array([[u, v]]))[0]) for u, v in combinations(range(scorer.n_nodes), 2)
    }
    return lambda u, v: table[min(u, v), max(u, v)]


def average_precision(edges: list[float], others: list[float]) -> float:
    """Mean over edges of the share of edges among all that score at least as high."""
    shares = []
    for score in edges:
        found = sum(e >= score for e in edges)
        shares.append(found / (found + sum(o >= score for o in others)))
    return float(np.mean(shares))


def rankings(score: Score, n: int, known: set[Pair], partners: set[Pair]) -> dict[str, float]:
    """Mean rank of all partners in both directions, and the mean over nodes of their average precision."""
    both = {*partners, *((v, u) for u, v in partners)}
    closed = {*known, *((v, u) for u, v in known)}
    ranks, precisions = [], []
    for u in range(n):
        own = [v for v in range(n) if (u, v) in both]
        others = [w for w in range(n) if w != u and (u, w) not in closed and (u, w) not in both]
        for v in own:
            higher = sum(score(u, w) > score(u, v) for w in others)
            equal = sum(score(u, w) == score(u, v) for w in others)
            ranks.append(1 + higher + equal / 2)
        if own:
            precisions.append(average_precision([score(u, v) for v in own], [score(u, w) for w in others]))
    return {
        "mean_rank": float(np.mean(ranks)),
        "mean_average_precision": float(np.mean(precisions)),
        "mean_reciprocal_rank": float(np.mean([1 / rank for rank in ranks])),
        "hits_at_10": float(np.mean([rank <= 10 for rank in ranks])),
    }


def precision_at(score: Score, n: int, known: set[Pair], partners: set[Pair], k: int) -> float | None:
    """Share of partners among the k best pairs that are not known; None if there are fewer."""
    pairs = [pair for pair in combinations(range(n), 2) if pair not in known]
    best = sorted(pairs, key=lambda pair: (-score(*pair), pair))[:k]
    return None if len(pairs) < k else sum(pair in partners for pair in best) / k


def link_figures(scorer: PairScorer, split: EdgeSplit) -> dict[str, float]:
    score, n = scores_of(scorer), split.train.n_nodes
    edges = [score(int(u), int(v)) for u, v in split.test_edges]
    others = [score(int(u), int(v)) for u, v in split.test_non_edges]
    held_out = {(int(u), int(v)) for u, v in split.test_edges}
    known = edge_set(split.train)
    found = _figures(score, n, edges, others, known, held_out, (10, 100))
    precision = precision_at(score, n, known, held_out, len(known))
    if precision is not None:
        found["precision_at_written"] = precision
        found["recall_at_written"] = precision * len(known) / len(held_out)
    return found


def _figures(
    score: Score,
    n: int,
    edges: list[float],
    others: list[float],
    known: set[Pair],
    partners: set[Pair],
    best: tuple[int, ...],
) -> dict[str, float]:
    precision = {f"precision_at_{k}": precision_at(score, n, known, partners, k) for k in best}
    return {
        "auroc": auroc(edges, others),
        "average_precision": average_precision(edges, others),
        **rankings(score, n, known, partners),
        **{name: value for name, value in precision.items() if value is not None},
    }


def calibration_error(probabilities: list[float], outcomes: list[bool], n_bins: int) -> float:
    """Expected calibration error, one bin after the other."""
    total = 0.0
    for b in range(n_bins):
        low, high = b / n_bins, (b + 1) / n_bins
        inside = [
            (p, o)
            for p, o in zip(probabilities, outcomes, strict=True)
            if low <= p < high or (b == n_bins - 1 and p == 1.0)
        ]
        if inside:
            gap = abs(np.mean([p for p, _ in inside]) - np.mean([o for _, o in inside]))
            total += len(inside) / len(probabilities) * gap
    return float(total)


def f1(truth: list[set[int]], predicted: list[set[int]], n_classes: int) -> tuple[float, float]:
    """Micro and macro F1 of sets of classes; a class that is nowhere counts 0."""
    counts = [
        (
            sum(c in t and c in p for t, p in zip(truth, predicted, strict=True)),
            sum(c not in t and c in p for t, p in zip(truth, predicted, strict=True)),
            sum(c in t and c not in p for t, p in zip(truth, predicted, strict=True)),
        )
        for c in range(n_classes)
    ]

    def of(tp: int, fp: int, fn: int) -> float:
        return 2 * tp / (2 * tp + fp + fn) if tp else 0.0

    micro = of(*(sum(column) for column in zip(*counts, strict=True)))
    return micro, float(np.mean([of(*count) for count in counts]))
