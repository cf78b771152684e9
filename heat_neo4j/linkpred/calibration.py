"""What a score is fitted to and measured on: held-out links, and how often pairs turned out to be linked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.random import draw_seed
from heat_neo4j.embedding.fitting import Estimator
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.splits import EdgeSplit, latest_or_random, partly_given_back

Array = NDArray[np.float64]

_NON_EDGES_PER_EDGE = 5
_MIN_PAIRS = 10  # held-out edges, and non-edges; fewer say too little
_MOST_OF_SMALL = 0.2  # share that is held out of a graph of few edges
WALKS_HELD_OUT = 0.2
"""Share of the model's walks for the embedding without held-out links; more rank no better."""
_LINKS_OF_BIN = 8
_BINS = 12
_TAIL = 0.025  # of the intervals, at each end


class CalibrationError(ValueError):
    """No link score can be fitted to this graph; the message says why."""


class HeldOut(NamedTuple):
    """Edges held out, with other pairs, and an embedding (N, d + 1) that has not seen them."""

    split: EdgeSplit
    embedding: Array


def embed_without(
    model: Estimator, graph: Graph, *, share: float = 0.1, on_progress: Progress = no_progress
) -> HeldOut:
    """Hold out a share of the edges and embed the rest by a clone of `model` with the same seed.

    The latest edges are held out where the graph knows times, else any: a node may lose all it has, as new
    nodes have none. A graph of fewer than 100 edges loses 10, or a fifth if that is less. Half of the pairs
    that several relationships join lose one of them only. The clone takes a fifth of the walks.

    A CalibrationError if `share` is out of range, or fewer than 10 edges or 10 non-edges can be held out.
    """
    seed = getattr(model, "seed_", None)
    seed = draw_seed(model.random_state) if seed is None else seed
    if 0.0 < share < (least := min(_MIN_PAIRS / max(graph.n_edges, 1), _MOST_OF_SMALL)):
        share = least
    try:
        split = latest_or_random(graph, share, seed, non_edges_per_edge=_NON_EDGES_PER_EDGE)
    except ValueError as error:
        raise CalibrationError(f"no link score: {error}") from error
    edges, others = split.test_edges, split.test_non_edges
    if min(len(edges), len(others)) < _MIN_PAIRS:
        raise CalibrationError(
            f"no link score: {plural(len(edges), 'edge')} can be held out against "
            f"{plural(len(others), 'non-edge')}; it takes {_MIN_PAIRS} of each"
        )
    split = partly_given_back(split, graph, seed)
    walks = max(round(WALKS_HELD_OUT * model.walks_per_node), 1)
    trained = clone(model).set_params(random_state=seed, walks_per_node=walks)
    return HeldOut(split, trained.fit(split.train, on_progress=on_progress).embedding_)


@dataclass(frozen=True)
class Reliability:
    """Share of pairs that turned out to be links, by their score, in bins.

    Parameters
    ----------
    log_odds : tuple of float
        Mean score of each bin, rising.
    probability : tuple of float
        Share of held-out links in each bin, made to rise with the score; [0, 1].
    low, high : tuple of float
        Ends of the 95 % interval of each share (Jeffreys).
    n_links, n_pairs : tuple of float
        Held-out links and pairs of each bin; pairs of sampled sources count for those that were not drawn.
    expected : tuple of float
        Mean probability of the pairs of each bin by the shares of other sources: what a reliability diagram
        compares with the share of links.
    """

    log_odds: tuple[float, ...]
    probability: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n_links: tuple[float, ...]
    n_pairs: tuple[float, ...]
    expected: tuple[float, ...]

    def at(self, log_odds: ArrayLike) -> Array:
        """Return the probability at scores: between bins by interpolation, below the lowest by their odds."""
        return self._at(log_odds, self.probability)

    def interval(self, log_odds: ArrayLike) -> tuple[Array, Array]:
        """Return both ends of its 95 % interval."""
        return self._at(log_odds, self.low), self._at(log_odds, self.high)

    def _at(self, log_odds: ArrayLike, shares: tuple[float, ...]) -> Array:
        scores = np.asarray(log_odds, dtype=np.float64)
        below = np.exp(np.minimum(scores - self.log_odds[0], 0.0))
        return np.asarray(below * np.interp(scores, self.log_odds, shares))


def reliability(
    log_odds: Array, is_link: NDArray[np.bool_], weight: Array, part: NDArray[np.int64]
) -> Reliability:
    """Measure how often pairs of a score are links; arrays of shape (m,), `weight` how many each stands for.

    Bins hold equal numbers of links; their shares are made to rise by isotonic regression. `part` is 0 or 1:
    what is expected of one part is measured on the other.

    B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates",
    KDD (2002); intervals: H. Jeffreys, Theory of Probability (1961).
    """
    order, starts = _bins(log_odds, is_link)
    curve = _curve(log_odds[order], is_link[order], weight[order], starts)
    expected = np.zeros(len(log_odds))
    for own in (0, 1):
        other = part != own
        if not is_link[other].any():
            expected[~other] = curve.at(log_odds[~other])
            continue
        inside, begins = _bins(log_odds[other], is_link[other])
        rows = np.flatnonzero(other)[inside]
        expected[~other] = _curve(log_odds[rows], is_link[rows], weight[rows], begins).at(log_odds[~other])
    sums = np.add.reduceat((weight * expected)[order], starts)
    return replace(curve, expected=tuple((sums[::-1] / np.array(curve.n_pairs)).tolist()))


def _bins(log_odds: Array, is_link: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of falling scores, and where bins of equally many links begin in it."""
    order = np.argsort(-log_odds, kind="stable")
    links = is_link[order]
    n_links = int(links.sum())
    bins = min(max(n_links // _LINKS_OF_BIN, 1), _BINS)
    number = np.minimum((np.cumsum(links) - links) * bins // max(n_links, 1), bins - 1)
    return order, np.flatnonzero(np.diff(number, prepend=-1))


def _curve(scores: Array, links: NDArray[np.bool_], weight: Array, starts: NDArray[np.int64]) -> Reliability:
    """Return the shares of links of bins of falling scores."""
    pairs, found = np.add.reduceat(weight, starts), np.add.reduceat(weight * links, starts)
    mean = np.add.reduceat(weight * scores, starts) / pairs
    raw = np.add.reduceat(links.astype(np.float64), starts)
    shares = np.asarray(isotonic_regression(found / pairs, sample_weight=pairs, increasing=False))
    # Sampled pairs stand for others: the interval is that of as few as were looked at.
    seen = np.where(found > 0, raw / np.maximum(found / pairs, 1e-12), pairs)
    low = np.where(raw > 0, betaincinv(raw + 0.5, seen - raw + 0.5, _TAIL), 0.0)
    high = betaincinv(raw + 0.5, seen - raw + 0.5, 1.0 - _TAIL)
    columns = (mean, shares, np.minimum(low, shares), np.maximum(high, shares), found, pairs, shares)
    return Reliability(*(tuple(each[::-1].tolist()) for each in columns))
