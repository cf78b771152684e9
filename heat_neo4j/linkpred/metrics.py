"""Metrics: separation of edges from non-edges, ranking of a node's partners, and calibration.

Higher scores mean likelier edges.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics as sklearn_metrics

Array = NDArray[np.float64]

CURVE_POINTS = 1000  # maximum points of a curve; a plot cannot show more


class NodeRanking(NamedTuple):
    """Filtered ranks of one node's p partners: partners do not count against each other."""

    ranks: Array  # (p,): 1 + the number of non-partners that score higher, ties counted one half
    average_precision: float  # average precision of the partners among all candidates, in (0, 1]


def auroc(edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> float:
    """Return the exact probability that an edge scores higher than a non-edge, ties counted one half.

    Raises ValueError if either array is empty or contains NaN.
    """
    edges, others = _checked("AUROC", edge_scores, non_edge_scores)
    # Same result as scikit-learn's roc_auc_score, which sorts both arrays: slower, with 7 times the memory.
    others = np.sort(others)
    under = np.searchsorted(others, edges, side="left").sum(dtype=np.int64)
    not_above = np.searchsorted(others, edges, side="right").sum(dtype=np.int64)
    return float((int(under) + int(not_above)) / (2 * edges.size * others.size))


def average_precision(edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> float:
    """Return the mean, over edges, of the share of edges among all pairs that score at least as high.

    Unlike AUROC, it depends on the ratio of non-edges to edges. Raises the same errors as `auroc`.
    """
    truth, scores = _joined("average precision", edge_scores, non_edge_scores)
    return float(sklearn_metrics.average_precision_score(truth, scores))


def roc_curve(edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> tuple[Array, Array]:
    """Return false and true positive rates from (0, 0) to (1, 1), at most `CURVE_POINTS` points."""
    truth, scores = _joined("a ROC curve", edge_scores, non_edge_scores)
    false_rate, true_rate, _ = sklearn_metrics.roc_curve(truth, scores)
    return thinned(false_rate, true_rate)


def thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """Return at most `CURVE_POINTS` evenly spaced points of a curve, including both ends."""
    if len(x) <= CURVE_POINTS:
        return x, y
    places = np.round(np.linspace(0, len(x) - 1, CURVE_POINTS)).astype(np.int64)
    return x[places], y[places]


def node_ranking(other_scores: ArrayLike, partner_scores: ArrayLike) -> NodeRanking:
    """Rank a node's p >= 1 partners by score among c candidates that are not partners.

    Mean rank averages the ranks over all pairs in both directions; mAP averages the average precision over
    all nodes with a partner. Raises ValueError if there is no partner or a score is NaN. Filtered ranks: A.
    Bordes et al., "Translating Embeddings for Modeling Multi-relational Data" (NIPS 2013).
    """
    others = np.sort(np.asarray(other_scores, dtype=np.float64))
    partners = np.asarray(partner_scores, dtype=np.float64)
    if partners.size == 0:
        raise ValueError("a ranking needs at least one partner")
    if np.isnan(partners).any() or np.isnan(others[-1:]).any():  # NaN sorts to the end
        raise ValueError("a ranking needs scores without NaN")
    at_least = others.size - np.searchsorted(others, partners, side="left")
    above = others.size - np.searchsorted(others, partners, side="right")
    partners_at_least = partners.size - np.searchsorted(np.sort(partners), partners, side="left")
    ranks = np.asarray(1.0 + 0.5 * (above + at_least), dtype=np.float64)
    return NodeRanking(ranks, float(np.mean(partners_at_least / (partners_at_least + at_least))))


def expected_calibration_error(probabilities: ArrayLike, outcomes: ArrayLike, n_bins: int = 15) -> float:
    """Return the expected calibration error over `n_bins` bins of equal width.

    It is the sum over bins of (share of the pairs in the bin) * abs(mean probability - mean outcome), in
    [0, 1]. Raises ValueError if sizes differ, the arrays are empty, or a probability is outside [0, 1]. See
    M. P. Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (AAAI 2015).
    """
    p = np.asarray(probabilities, dtype=np.float64).ravel()
    true = np.asarray(outcomes, dtype=np.float64).ravel()
    if p.size != true.size or p.size == 0:
        raise ValueError(f"{p.size} probabilities for {true.size} outcomes")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probabilities must lie in [0, 1]")
    bins = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    differences = np.bincount(bins, weights=p - true, minlength=n_bins)
    return float(np.abs(differences).sum() / p.size)


def part_of_first(weight: Array, n: float) -> Array:
    """Return the part of each weight, shape (m,), that is among the first `n` in total."""
    return np.clip(n - (np.cumsum(weight) - weight), 0.0, weight)


def _checked(what: str, edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> tuple[Array, Array]:
    edges = np.asarray(edge_scores, dtype=np.float64).ravel()
    others = np.asarray(non_edge_scores, dtype=np.float64).ravel()
    if edges.size == 0 or others.size == 0:
        raise ValueError(f"{what} needs edges and non-edges, got {edges.size} and {others.size}")
    if np.isnan(edges).any() or np.isnan(others).any():
        raise ValueError(f"{what} needs scores without NaN")
    return edges, others


def _joined(what: str, edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> tuple[NDArray[np.bool_], Array]:
    edges, others = _checked(what, edge_scores, non_edge_scores)
    return np.arange(edges.size + others.size) < edges.size, np.concatenate((edges, others))
