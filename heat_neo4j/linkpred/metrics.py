"""How well scores tell edges from non-edges, rank the partners of a node, and how well probabilities hold.

Higher scores mean likelier edges.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics as sklearn_metrics

Array = NDArray[np.float64]

CURVE_POINTS = 1000  # of a curve at most; a picture shows no more


class NodeRanking(NamedTuple):
    """How one node ranks its p partners, which do not count against each other."""

    ranks: Array  # (p,): 1 + the other candidates that score higher, equal ones counted one half
    average_precision: float  # of the partners among all candidates, in (0, 1]


def auroc(edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> float:
    """Return the exact chance that an edge scores higher than a non-edge, ties counted one half.

    A ValueError if either array is empty or holds NaN.
    """
    edges, others = _checked("AUROC", edge_scores, non_edge_scores)
    # scikit-learn's roc_auc_score gives the same, but sorts both arrays: more time, 7 times the memory.
    others = np.sort(others)
    under = np.searchsorted(others, edges, side="left").sum(dtype=np.int64)
    not_above = np.searchsorted(others, edges, side="right").sum(dtype=np.int64)
    return float((int(under) + int(not_above)) / (2 * edges.size * others.size))


def average_precision(edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> float:
    """Return the mean, over edges, of the share of edges among all pairs that score at least as high.

    Unlike AUROC, it depends on how many non-edges there are for an edge. Errors are those of `auroc`.
    """
    truth, scores = _joined("average precision", edge_scores, non_edge_scores)
    return float(sklearn_metrics.average_precision_score(truth, scores))


def roc_curve(edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> tuple[Array, Array]:
    """Return false and true positive rates from (0, 0) to (1, 1), at most `CURVE_POINTS` of them."""
    truth, scores = _joined("a ROC curve", edge_scores, non_edge_scores)
    false_rate, true_rate, _ = sklearn_metrics.roc_curve(truth, scores)
    return thinned(false_rate, true_rate)


def thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """Return at most `CURVE_POINTS` points of a curve, evenly taken, both ends among them."""
    if len(x) <= CURVE_POINTS:
        return x, y
    places = np.round(np.linspace(0, len(x) - 1, CURVE_POINTS)).astype(np.int64)
    return x[places], y[places]


def node_ranking(other_scores: ArrayLike, partner_scores: ArrayLike) -> NodeRanking:
    """Rank p partners of a node, at least one, among c candidates that are none, by their scores.

    Mean rank is the mean of the ranks over all pairs in both directions, mAP that of the average precision
    over all nodes that have a partner. A ValueError if there is no partner, or a score is NaN. Filtered
    ranks: A. Bordes et al., "Translating Embeddings for Modeling Multi-relational Data" (NIPS 2013).
    """
    others = np.sort(np.asarray(other_scores, dtype=np.float64))
    partners = np.asarray(partner_scores, dtype=np.float64)
    if partners.size == 0:
        raise ValueError("a ranking needs a partner")
    if np.isnan(partners).any() or np.isnan(others[-1:]).any():  # NaN sorts to the end
        raise ValueError("a ranking needs scores that are not NaN")
    at_least = others.size - np.searchsorted(others, partners, side="left")
    above = others.size - np.searchsorted(others, partners, side="right")
    partners_at_least = partners.size - np.searchsorted(np.sort(partners), partners, side="left")
    ranks = np.asarray(1.0 + 0.5 * (above + at_least), dtype=np.float64)
    return NodeRanking(ranks, float(np.mean(partners_at_least / (partners_at_least + at_least))))


def expected_calibration_error(
    probabilities: ArrayLike, outcomes: ArrayLike, n_bins: int = 15, *, weights: ArrayLike | None = None
) -> float:
    """Return the mean difference between predicted probability and observed share, over equal bins.

    It is the sum over bins of (share of the weight in the bin) * abs(mean probability - mean outcome), in
    [0, 1]. `weights`, 1 if not given, state the error for another share of edges than the sample has. A
    ValueError if shapes disagree, nothing is given, a probability lies outside [0, 1] or the weights sum to
    0. See M. P. Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (AAAI 2015).
    """
    p = np.asarray(probabilities, dtype=np.float64).ravel()
    true = np.asarray(outcomes, dtype=np.float64).ravel()
    w = np.ones_like(p) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    if not p.size == true.size == w.size or p.size == 0:
        raise ValueError(f"{p.size} probabilities for {true.size} outcomes and {w.size} weights")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probabilities must lie in [0, 1]")
    if not ((w >= 0).all() and w.sum() > 0 and np.isfinite(w).all()):
        raise ValueError("weights must be finite, at least 0, and not all 0")
    bins = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    differences = np.bincount(bins, weights=w * (p - true), minlength=n_bins)
    return float(np.abs(differences).sum() / w.sum())


def _checked(what: str, edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> tuple[Array, Array]:
    edges = np.asarray(edge_scores, dtype=np.float64).ravel()
    others = np.asarray(non_edge_scores, dtype=np.float64).ravel()
    if edges.size == 0 or others.size == 0:
        raise ValueError(f"{what} needs edges and non-edges, got {edges.size} and {others.size}")
    if np.isnan(edges).any() or np.isnan(others).any():
        raise ValueError(f"{what} needs scores that are not NaN")
    return edges, others


def _joined(what: str, edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> tuple[NDArray[np.bool_], Array]:
    edges, others = _checked(what, edge_scores, non_edge_scores)
    return np.arange(edges.size + others.size) < edges.size, np.concatenate((edges, others))
