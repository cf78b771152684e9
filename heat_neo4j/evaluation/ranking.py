"""All figures of one scorer on one task: exact on small graphs, by stratified sampling on large ones.

AUROC is counted in integers and thus exact, which scikit-learn's trapezoid rule is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.sweeps import count_pairs_above, paired_excess
from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads, resolve_threads
from heat_neo4j.evaluation.thresholds import ThresholdCounter
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.geometry.search import columns_of
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.metrics import (
    auroc,
    node_ranking,
)
from heat_neo4j.linkpred.scorers import PairScorer
from heat_neo4j.linkpred.splits import EdgeSplit

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]

_TOP = (10, 100, 1000)
_SCORES_PER_BLOCK = 1 << 19  # of a block of rows
_DRAWS = 1_000_000  # random pairs at a time
_ROWS_PER_BLOCK = 1024  # between two progress reports of an exact sweep


@dataclass(frozen=True)
class Limits:
    """Up to which size figures are exact, and how many edges, non-edges and nodes are drawn above."""

    exact_nodes: int = 10_000  # every pair is scored: 4 to 27 s a method for 12 thousand on two cores
    exact_distance_nodes: int = 30_000  # AUROC of an embedding's reconstruction, by a compiled sweep
    edges: int = 1_000_000
    non_edges: int = 10_000_000
    nodes: int = 1_000


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class PairFigures:
    """What one scorer reached: metrics, and standard errors by sampling of those that are not exact."""

    metrics: Mapping[str, float]
    errors: Mapping[str, float] = field(default_factory=dict)
    # False and true positive rate.
    roc: tuple[Array, Array] = field(default=(np.empty(0), np.empty(0)), repr=False)
    # Recall and precision.
    precision_recall: tuple[Array, Array] = field(default=(np.empty(0), np.empty(0)), repr=False)


def link_auroc(embedding: NDArray[np.float64], split: EdgeSplit) -> float:
    """Return the AUROC of held-out edges against the split's non-edges, score = -distance.

    The embedding has N points of the hyperboloid, shape (N, d + 1), trained on nothing but `split.train`; one
    that does not fit the graph is a ValueError.
    """
    columns_of(embedding, split.train.n_nodes)
    edges, non_edges = split.test_edges, split.test_non_edges
    return auroc(-pair_distances(embedding, edges), -pair_distances(embedding, non_edges))


def reconstruction_auroc(
    embedding: NDArray[np.float64],
    graph: Graph,
    *,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> float:
    """Return the AUROC of all edges against all non-edges, score = -distance, for points of shape (N, d + 1).

    Exact, in O(N + E) memory and O(N^2 (d + log E)) time; the number of threads changes nothing. Points that
    do not fit the graph, or a graph without edges or non-edges, are a ValueError.
    """
    spatial, time = columns_of(embedding, graph.n_nodes)
    n, n_edges = graph.n_nodes, graph.n_edges
    non_edges = n * (n - 1) // 2 - n_edges
    if n_edges == 0 or non_edges == 0:
        raise ValueError(f"AUROC needs edges and non-edges, got {n_edges} and {non_edges}")
    source, target = (ends.astype(np.int64) for ends in graph.edges.coords)
    edge_z = np.sort(paired_excess(spatial, time, source, target))
    doubled = np.zeros(1, dtype=np.int64)
    on_progress("reconstruction", 0, n)
    with WorkerThreads(resolve_threads(n_threads)) as team:
        for begin in range(0, n, _ROWS_PER_BLOCK):
            end = min(begin + _ROWS_PER_BLOCK, n)
            team.run(count_pairs_above, spatial, time, edge_z, begin, end, doubled)
            on_progress("reconstruction", end, n)
    # The sweep counts the edges too: against themselves they add E^2, whatever their ties.
    return (int(doubled[0]) - n_edges**2) / (2 * n_edges * non_edges)


def measure_reconstruction(
    scorer: PairScorer, graph: Graph, seed: int, limits: Limits = DEFAULT_LIMITS
) -> PairFigures:
    """Return how well a scorer tells all edges of a graph from all pairs that are none.

    Each edge is ranked in both directions among the nodes that are not linked: see `metrics.node_ranking`.
    Precision at k, up to `limits.exact_nodes`: the share of edges among the k best-scored pairs, equal scores
    in the order (u, v); too large a k is left out. A score that is not finite is a ValueError. AUROC and
    average precision are over all pairs. Above `limits.exact_nodes` they are estimated from two
    strata, edges and uniformly drawn non-edges, with standard errors (AUROC: DeLong; average precision:
    linearised; rankings: over the nodes drawn). Where one drawn non-edge stands for more pairs than there are
    edges above it, average precision is known only roughly, and leans high beyond its standard error.
    """
    n, n_edges = _checked_size(scorer, graph), graph.n_edges
    n_non_edges = n * (n - 1) // 2 - n_edges
    if n_edges == 0 or n_non_edges == 0:
        raise ValueError(f"reconstruction needs edges and non-edges, got {n_edges} and {n_non_edges}")
    edges = np.column_stack(graph.edges.coords).astype(np.int64)
    sweep = _Sweep(scorer, graph.adjacency, limits, seed)
    rng = np.random.default_rng([seed, 1])
    is_sampled = n > limits.exact_nodes
    if is_sampled and n_edges > limits.edges:
        edges = edges[np.sort(rng.choice(n_edges, limits.edges, replace=False))]
    counter = ThresholdCounter(finite(scorer.pairs(edges)))
    rankings, errors = sweep.rankings(None if is_sampled else counter)
    if is_sampled:
        _count_sample(scorer, graph, counter, limits.non_edges, rng)
    counts = counter.counts(n_edges, n_non_edges)
    metrics = {"auroc": counts.auroc, "average_precision": counts.average_precision, **rankings}
    if is_sampled:
        errors |= {"auroc": counts.auroc_error, "average_precision": counts.average_precision_error}
    embedding = getattr(scorer, "embedding", None)
    if embedding is not None and is_sampled and n <= limits.exact_distance_nodes:
        metrics["auroc"] = reconstruction_auroc(embedding, graph)
        del errors["auroc"]
    return PairFigures(metrics, errors, counts.roc(), counts.precision_recall())


class _Sweep:
    """Every node, or a sample of nodes, ranks its candidates; of every node, also the best pairs of all."""

    def __init__(self, scorer: PairScorer, partners: sparse.csr_array, limits: Limits, seed: int) -> None:
        self._scorer, self._partners = scorer, partners
        self._limits, self._seed = limits, seed

    def rankings(self, counter: ThresholdCounter | None = None) -> tuple[dict[str, float], dict[str, float]]:
        """Return metrics and their standard errors; `counter` counts every pair of no partners."""
        n = self._scorer.n_nodes
        if n > self._limits.exact_nodes:
            return self._sampled()
        best, ranks = BestPairs(max(_TOP)), _Ranks()
        rows = max(_SCORES_PER_BLOCK // n, 1)
        for begin in range(0, n, rows):
            end = min(begin + rows, n)
            block = finite(self._scorer.rows(begin, end))
            others = []
            for u, scores in zip(range(begin, end), block, strict=True):
                partners, is_other = self._candidates(u)
                if partners.size:
                    ranks.add(scores[is_other], scores[partners])
                best.add(u * n + np.arange(u + 1, n), scores[u + 1 :])
                others.append(scores[u + 1 :][is_other[u + 1 :]])
            if counter is not None:
                counter.add(np.concatenate(others))
        return {**ranks.means(), **self._precision(best)}, {}

    def _sampled(self) -> tuple[dict[str, float], dict[str, float]]:
        able = np.flatnonzero(np.diff(self._partners.indptr))
        chosen = able
        if able.size > self._limits.nodes:
            rng = np.random.default_rng([self._seed, 0])
            chosen = np.sort(rng.choice(able, self._limits.nodes, replace=False))
        ranks = _Ranks()
        for u in chosen.tolist():
            scores = finite(self._scorer.rows(u, u + 1))[0]
            partners, is_other = self._candidates(u)
            ranks.add(scores[is_other], scores[partners])
        return ranks.means(), ranks.errors(able.size)

    def _candidates(self, u: int) -> tuple[Pairs, NDArray[np.bool_]]:
        """Return the partners of u, and which nodes are none."""
        partners = np.asarray(
            self._partners.indices[self._partners.indptr[u] : self._partners.indptr[u + 1]], dtype=np.int64
        )
        is_other = np.ones(self._scorer.n_nodes, dtype=np.bool_)
        is_other[u] = is_other[partners] = False
        return partners, is_other

    def _precision(self, best: BestPairs) -> dict[str, float]:
        u, v = np.divmod(best.pairs()[0], self._scorer.n_nodes)
        hits = np.asarray(self._partners[u, v]) != 0
        return {f"precision_at_{k}": float(hits[:k].mean()) for k in _TOP if len(hits) >= k}


class _Ranks:
    """Ranks and average precisions, node by node."""

    def __init__(self) -> None:
        self._sums: list[float] = []
        self._counts: list[int] = []
        self._precisions: list[float] = []

    def add(self, others: Array, partners: Array) -> None:
        ranking = node_ranking(others, partners)
        self._sums.append(float(ranking.ranks.sum()))
        self._counts.append(len(partners))
        self._precisions.append(ranking.average_precision)

    def means(self) -> dict[str, float]:
        return {
            "mean_rank": float(np.sum(self._sums) / np.sum(self._counts)),
            "mean_average_precision": float(np.mean(self._precisions)),
        }

    def errors(self, n_able: int) -> dict[str, float]:
        """Return standard errors for a sample of `n_able` nodes; mean rank is a ratio of two sums."""
        size = len(self._sums)
        if size == n_able or size < 2:
            return {}
        means, counts = self.means(), np.array(self._counts, dtype=np.float64)
        residuals = (np.array(self._sums) - means["mean_rank"] * counts) / counts.mean()
        unseen = 1.0 - size / n_able
        return {
            "mean_rank": float(np.sqrt(unseen * np.var(residuals, ddof=1) / size)),
            "mean_average_precision": float(np.sqrt(unseen * np.var(self._precisions, ddof=1) / size)),
        }


class BestPairs:
    """The codes of the best-scored pairs so far; of equal scores, the lowest codes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = -np.inf
        self._scores: Array = np.empty(0)
        self._codes: Pairs = np.empty(0, dtype=np.int64)

    def add(self, codes: Pairs, scores: Array) -> None:
        """Add pairs; their codes rise, also from call to call."""
        # A pair that equals the least of a full list comes after it.
        better = scores > self._least
        self._scores = np.concatenate((self._scores, scores[better]))
        self._codes = np.concatenate((self._codes, codes[better]))
        if self._scores.size > 4 * self._most:
            self._trim()

    def pairs(self) -> tuple[Pairs, Array]:
        """Return the codes of the best pairs and their scores, best first."""
        self._trim()
        return self._codes, self._scores

    def _trim(self) -> None:
        order = np.argsort(-self._scores, kind="stable")[: self._most]  # codes are ascending among equals
        self._scores, self._codes = self._scores[order], self._codes[order]
        if order.size == self._most:
            self._least = float(self._scores[-1])


def _count_sample(
    scorer: PairScorer, graph: Graph, counter: ThresholdCounter, n_pairs: int, rng: np.random.Generator
) -> None:
    """Count `n_pairs` non-edges, drawn uniformly and independently."""
    n = graph.n_nodes
    source, target = graph.adjacency.nonzero()
    edges = source.astype(np.int64) * n + target  # ascending, as rows and their indices are
    while n_pairs > 0:
        size = min(_DRAWS, 2 * n_pairs + 100)
        u, v = rng.integers(n, size=size), rng.integers(n, size=size)
        codes = u * n + v
        positions = np.minimum(np.searchsorted(edges, codes), len(edges) - 1)
        drawn = np.flatnonzero((u != v) & (edges[positions] != codes))[:n_pairs]
        counter.add(finite(scorer.pairs(np.column_stack((u[drawn], v[drawn])))))
        n_pairs -= drawn.size


def _checked_size(scorer: PairScorer, graph: Graph) -> int:
    if scorer.n_nodes != graph.n_nodes:
        raise ValueError(f"the scorer has {plural(scorer.n_nodes, 'node')}, the graph {graph.n_nodes}")
    return graph.n_nodes


def finite(scores: Array) -> Array:
    """Return the scores; a ValueError if one is NaN or infinite."""
    if not np.isfinite(scores).all():
        raise ValueError("a scorer gave a score that is NaN or infinite")
    return scores
