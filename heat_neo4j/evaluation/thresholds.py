"""AUROC, average precision and their errors from counts: how many non-edges lie above each edge's score."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.linkpred.metrics import thinned

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ThresholdCounts:
    """Counts at the T distinct scores of edges, highest first."""

    edges: Counts  # with exactly this score
    above: Counts  # non-edges with a higher score, of those looked at
    at_least: Counts  # and with at least this score
    n_counted: int  # non-edges looked at: all of the graph, or a uniform sample
    n_edges: int
    n_non_edges: int

    @property
    def auroc(self) -> float:
        """AUROC; exact if everything was counted."""
        beaten = 2 * self.n_counted - self.above - self.at_least  # ties at a half, doubled
        return int(sum(int(a) * int(b) for a, b in zip(self.edges, beaten, strict=True))) / (
            2 * int(self.edges.sum()) * self.n_counted
        )

    @property
    def average_precision(self) -> float:
        """Average precision among all pairs of the graph; samples are weighted up to the graph's numbers."""
        return float((self.edges * self._precision).sum() / self.edges.sum())

    @property
    def auroc_error(self) -> float:
        """Standard error of `auroc` by sampling, from DeLong's components; 0 if everything was counted.

        References
        ----------
        E. R. DeLong et al., "Comparing the Areas under Two or More Correlated Receiver Operating
        Characteristic Curves", Biometrics 44 (1988).
        """
        e, n = int(self.edges.sum()), self.n_counted
        share = 1.0 - (self.above + self.at_least) / (2.0 * n)  # of non-edges that an edge beats
        by_edge = _variance(share, self.edges)
        before = np.cumsum(self.edges) - self.edges
        # A non-edge below a threshold is beaten by all edges above it; one that ties, by half of those there.
        below = np.concatenate((self.above[1:], [n])) - self.at_least
        beaten_by = np.concatenate(([0.0], before + 0.5 * self.edges, before + self.edges)) / e
        counts = np.concatenate((self.above[:1], self.at_least - self.above, below))
        by_non_edge = _variance(beaten_by, counts)
        return float(np.sqrt(self._unseen * by_edge / e + self._unseen_non_edges * by_non_edge / n))

    @property
    def average_precision_error(self) -> float:
        """Standard error of `average_precision` by sampling (linearised); 0 if everything was counted.

        To first order each sampled pair moves the precision at its score and at every lower one by the same
        amount, so the error is that of a sum of independent terms.
        """
        e, n = int(self.edges.sum()), self.n_counted
        edge_weight, other_weight = self.n_edges / e, self.n_non_edges / n
        true, false = np.cumsum(self.edges) * edge_weight, self.at_least * other_weight
        square = np.maximum(true + false, 1e-300) ** 2
        lower = _sums_from_below(self.edges * edge_weight * false / square) / e
        edge_terms = self._precision / e + lower
        by_edge = _variance(edge_terms, self.edges) * e
        slope = _sums_from_below(-self.edges * other_weight * true / square) / e
        counts = np.diff(np.concatenate(([0], self.at_least, [n])))
        by_non_edge = _variance(np.concatenate((slope, [0.0])), counts) * n
        return float(np.sqrt(self._unseen * by_edge + self._unseen_non_edges * by_non_edge))

    def roc(self) -> tuple[Array, Array]:
        """Return false and true positive rates from (0, 0) to (1, 1), thinned."""
        after = np.cumsum(self.edges)
        false = np.concatenate(([0], np.column_stack((self.above, self.at_least)).ravel(), [self.n_counted]))
        true = np.concatenate(([0], np.column_stack((after - self.edges, after)).ravel(), [after[-1]]))
        return thinned(false / self.n_counted, true / after[-1])

    def precision_recall(self) -> tuple[Array, Array]:
        """Return recall and precision among all pairs, thinned."""
        recall = np.cumsum(self.edges) / self.edges.sum()
        return thinned(np.concatenate(([0.0], recall)), np.concatenate(([1.0], self._precision)))

    @property
    def _precision(self) -> Array:
        # An edge that was drawn counts itself once, and every other one for as many as it stands for.
        drawn = int(self.edges.sum())
        true = 1.0 + (np.cumsum(self.edges) - 1.0) * ((self.n_edges - 1) / max(drawn - 1, 1))
        return np.asarray(true / (true + self.at_least * (self.n_non_edges / self.n_counted)))

    @property
    def _unseen(self) -> float:
        """Share of the edges that were not looked at: those that were are drawn without replacement."""
        return 1.0 - float(self.edges.sum()) / self.n_edges

    @property
    def _unseen_non_edges(self) -> float:
        return float(self.n_counted != self.n_non_edges)  # drawn with replacement, or all


class ThresholdCounter:
    """Counts non-edges against the scores of edges, block by block."""

    def __init__(self, edge_scores: Array) -> None:
        ascending, counts = np.unique(edge_scores, return_counts=True)
        self._scores, self._edges = ascending, counts[::-1].astype(np.int64)
        self._above = np.zeros(len(ascending), dtype=np.int64)
        self._at_least = np.zeros(len(ascending), dtype=np.int64)
        self._n = 0

    def add(self, non_edge_scores: Array) -> None:
        """Count some more non-edges."""
        block = np.sort(non_edge_scores)
        self._n += block.size
        self._above += block.size - np.searchsorted(block, self._scores, side="right")
        self._at_least += block.size - np.searchsorted(block, self._scores, side="left")

    def counts(self, n_edges: int, n_non_edges: int) -> ThresholdCounts:
        """Return the counts, of a graph with so many edges and non-edges."""
        return ThresholdCounts(
            self._edges, self._above[::-1].copy(), self._at_least[::-1].copy(), self._n, n_edges, n_non_edges
        )


def _variance(values: Array, counts: NDArray[np.int64]) -> float:
    """Return the sample variance of values that occur so many times each."""
    total = int(counts.sum())
    if total < 2:
        return 0.0
    mean = float((values * counts).sum() / total)
    return float((counts * (values - mean) ** 2).sum() / (total - 1))


def _sums_from_below(terms: Array) -> Array:
    """Return the sum of the terms from each to the last."""
    return np.asarray(np.cumsum(terms[::-1])[::-1])
