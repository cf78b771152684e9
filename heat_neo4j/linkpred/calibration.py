"""Calibration of link scores: held-out links, and the observed share of links at each score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j._utils.random import draw_seed
from heat_neo4j.embedding.fitting import Estimator
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.metrics import part_of_first
from heat_neo4j.linkpred.splits import EdgeSplit, latest_and_earlier, partly_given_back

Array = NDArray[np.float64]

_NON_EDGES_PER_EDGE = 5
_MIN_PAIRS = 10  # minimum number of held-out edges, and of non-edges
_MOST_OF_SMALL = 0.2  # maximum held-out share of a graph with few edges
_MOST_TIMES = 4  # that edges of a small graph are held out; more did not improve the ranking
_EDGES_OF_ALL = 200_000  # edges of the graph, times how often some are held out
# Ten times improve the ranking from a thousand edges on, unless many patterns help each other.
_FEW_EDGES, _FEW_PATTERNS, TIMES_OF_FEW = range(1_000, 5_001), 10, 10
WALKS_HELD_OUT = 0.2
"""Share of the model's walks used to embed the training graph; more walks did not improve the ranking."""
_LINKS_OF_BIN = 8
_BINS = 12
_PRIOR_LINKS = 2.0
_MOST_SHIFT, _HALVINGS = 5.0, 20  # of log odds
_TAIL = 0.025  # probability beyond each end of an interval
_SHARES = ("probability", "low", "high", "expected")  # columns of a curve
_LEAST = 1e-12  # weight of pairs that count only where there are no others


class CalibrationError(ValueError):
    """Raised if no link score can be fitted to this graph; the message says why."""


class HeldOut(NamedTuple):
    """Held-out edges, non-edges, and an embedding (N, d + 1) trained without those edges."""

    split: EdgeSplit
    embedding: Array


def hold_out(
    model: Estimator, graph: Graph, *, share: float = 0.1, on_progress: Progress = no_progress
) -> tuple[HeldOut, ...]:
    """Hold out edges as `embed_without` does, several times if the graph is small; see `times_held_out`."""
    times = times_held_out(graph.n_edges, len(patterns_of(graph)))
    every = []
    for time in range(times):
        progress = prefixed(on_progress, f"{time + 1} of {times}: ") if times > 1 else on_progress
        every.append(embed_without(model, graph, share=share, on_progress=progress, time=time))
    return tuple(every)


def times_held_out(n_edges: int, n_patterns: int) -> int:
    """Return how often edges are held out: up to 50,000 edges four times, above 100,000 once.

    A small graph has types with so few links that a score fitted to a tenth of them is mostly chance. With
    1,000 to 5,000 edges and few patterns, it is ten times.
    """
    if n_edges in _FEW_EDGES and n_patterns <= _FEW_PATTERNS:
        return TIMES_OF_FEW
    return min(max(_EDGES_OF_ALL // max(n_edges, 1), 1), _MOST_TIMES)


def embed_without(
    model: Estimator,
    graph: Graph,
    *,
    share: float = 0.1,
    on_progress: Progress = no_progress,
    time: int = 0,
) -> HeldOut:
    """Hold out a share of the edges and embed the rest with a clone of `model` and the same seed.

    `time`, from 0, is added to the seed. Edges are held out as `latest_and_earlier` does. A node may
    lose all its edges, to imitate new ones. A graph with fewer than 100 edges loses 10, or a fifth if that is
    less. Some pairs with several relationships lose only one, see `partly_given_back`. The clone takes a
    fifth of the walks.

    Raises CalibrationError if `share` is out of range, or fewer than 10 edges or non-edges can be held out.
    """
    seed = getattr(model, "seed_", None)
    seed = (draw_seed(model.random_state) if seed is None else seed) + time
    if 0.0 < share < (least := min(_MIN_PAIRS / max(graph.n_edges, 1), _MOST_OF_SMALL)):
        share = least
    try:
        split = latest_and_earlier(graph, share, seed, non_edges_per_edge=_NON_EDGES_PER_EDGE)
    except ValueError as error:
        raise CalibrationError(f"no link score: {error}") from error
    edges, others = split.test_edges, split.test_non_edges
    if min(len(edges), len(others)) < _MIN_PAIRS:
        raise CalibrationError(
            f"no link score: only {plural(len(edges), 'edge')} and {plural(len(others), 'non-edge')} "
            f"can be held out; at least {_MIN_PAIRS} of each are needed"
        )
    split = partly_given_back(split, graph, seed)
    walks = max(round(WALKS_HELD_OUT * model.walks_per_node), 1)
    trained = clone(model).set_params(random_state=seed, walks_per_node=walks)
    drop_lost_hierarchy(trained, split.train)
    return HeldOut(split, trained.fit(split.train, on_progress=on_progress).embedding_)


def drop_lost_hierarchy(model: Estimator, train: Graph) -> None:
    """Let `model` train without its hierarchy if all relationships of that type are held out."""
    if train.relationships is not None and model.hierarchy not in (None, *train.relationships.types):
        model.set_params(hierarchy=None)


@dataclass(frozen=True)
class Reliability:
    """Share of links among pairs, binned by score; see `reliability`.

    Parameters
    ----------
    log_odds : tuple of float
        Log of the mean odds of each bin, ascending.
    probability : tuple of float
        Share of links among the pairs of each bin, non-decreasing in the score (isotonic); [0, 1]. One more
        pair, without a link, counts in the highest bin.
    low, high : tuple of float
        Ends of the 95 % interval of each share (Jeffreys).
    n_links, n_pairs : tuple of float
        Links in each bin, and the pairs of which they are the share; pairs of sampled sources are weighted
        up to all sources.
    expected : tuple of float
        Mean predicted probability in each bin, from shares measured on other sources. A reliability diagram
        compares it with the share of links.
    """

    log_odds: tuple[float, ...]
    probability: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n_links: tuple[float, ...]
    n_pairs: tuple[float, ...]
    expected: tuple[float, ...]

    def at(self, log_odds: ArrayLike) -> Array:
        """Interpolate the log of the probability; below the lowest bin, it falls as the odds do."""
        return self._at(log_odds, self.probability)

    def log_odds_at(self, probability: float) -> float:
        """Return the lowest score with at least a probability > 0; infinite if none has it."""
        # Rounded as `at` rounds them: many pairs can share the probability that is asked for.
        shares, scores = np.exp(_logs(np.array(self.probability))), np.array(self.log_odds)
        if probability > shares[-1]:
            return np.inf
        if probability <= shares[0]:
            return float(scores[0] + np.log(probability / shares[0]))
        place = np.searchsorted(shares, probability)
        between = slice(place - 1, place + 1)
        return float(np.interp(np.log(probability), _logs(shares[between]), scores[between]))

    def interval(self, log_odds: ArrayLike) -> tuple[Array, Array]:
        """Return both ends of the 95 % interval of the probability at each score."""
        return self._at(log_odds, self.low), self._at(log_odds, self.high)

    def scaled_to(
        self,
        log_odds: Array,
        is_link: NDArray[np.bool_],
        weight: Array,
        best: float,
        *,
        lacks_as_many: bool = False,
    ) -> Self:
        """Return the shares times the rate of links among a pattern's `best` pairs over that of the curve.

        Other parameters are those of `reliability`; a prior of 2 links draws the factor to 1.
        """
        order = np.argsort(-log_odds, kind="stable")
        top = part_of_first(weight[order], best)
        expected = self.at(log_odds)
        if lacks_as_many:
            expected = _among_all(expected)
        found, due = (float(top @ share[order]) for share in (is_link, expected))
        factor = (found + _PRIOR_LINKS) / (due + _PRIOR_LINKS)

        def times(share: Array) -> Array:
            if not lacks_as_many:
                return np.minimum(factor * share, 1.0)
            return _among_others(np.minimum(factor * _among_all(share), 1.0))

        scaled = {name: times(np.array(getattr(self, name))) for name in _SHARES}
        pairs = np.array(self.n_pairs)
        scaled["n_links"] = pairs * times(np.array(self.n_links) / pairs)
        return replace(self, **{name: tuple(column.tolist()) for name, column in scaled.items()})

    def at_most(self, most: Reliability) -> Self:
        """Return the ratios of held-out links to other pairs, none above the share of another curve there.

        Those of `_among_others` have no other bound than 1, and are reduced from a third up.
        """
        scores, pairs = np.array(self.log_odds), np.array(self.n_pairs)

        def bounded(share: Array, name: str) -> Array:
            own = _among_all(share)
            return np.minimum(own / np.maximum(1.0 - own, _LEAST), most._at(scores, getattr(most, name)))

        own = {name: bounded(np.array(getattr(self, name)), name) for name in _SHARES}
        own["n_links"] = pairs * bounded(np.array(self.n_links) / pairs, "probability")
        return replace(self, **{name: tuple(column.tolist()) for name, column in own.items()})

    def shift_of(self, log_odds: Array, is_link: NDArray[np.bool_], weight: Array) -> float:
        """Return what to add to scores, for as many links as the curve expects of them; at most +-5.

        Arrays have shape (m,), see `reliability`; a prior of 2 links draws the shift to 0.
        """
        prior = _PRIOR_LINKS * weight.mean()
        found, due = float(weight @ is_link), float(weight @ self.at(log_odds))
        aim = due * (found + prior) / (due + prior)
        low, high = -_MOST_SHIFT, _MOST_SHIFT
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if weight @ self.at(log_odds + middle) < aim else (low, middle)
        return (low + high) / 2.0

    def terms_at(
        self, knots: Array, values: Array, log_odds: Array, is_link: NDArray[np.bool_], weight: Array
    ) -> Array:
        """Return what to add to scores at each knot of a value, for as many links as the curve expects there.

        Arrays have shape (m,), as in `shift_of`; between knots, terms are linear. A prior of 2 links draws
        them to 0.
        """
        place = np.interp(values, knots, np.arange(len(knots)))
        below = np.minimum(place.astype(np.int64), len(knots) - 2)
        part = place - below

        def summed(counts: Array) -> Array:
            lower = np.bincount(below, counts * (1.0 - part), len(knots))
            return np.asarray(lower + np.bincount(below + 1, counts * part, len(knots)), dtype=np.float64)

        prior = _PRIOR_LINKS * weight[is_link].mean()
        found, due = summed(weight * is_link), summed(weight * self.at(log_odds))
        return np.asarray(np.log((found + prior) / (due + prior)))

    def _at(self, log_odds: ArrayLike, shares: tuple[float, ...]) -> Array:
        scores = np.asarray(log_odds, dtype=np.float64)
        below = np.minimum(scores - self.log_odds[0], 0.0)
        return np.asarray(np.exp(below + np.interp(scores, self.log_odds, _logs(np.array(shares)))))


def _logs(shares: Array) -> Array:
    return np.asarray(np.log(np.maximum(shares, np.finfo(np.float64).tiny)))


def reliability(
    log_odds: Array,
    is_link: NDArray[np.bool_],
    weight: Array,
    part: NDArray[np.int64],
    *,
    lacks_as_many: bool = False,
) -> Reliability:
    """Measure the share of links at each score; arrays of shape (m,), `weight` is the sampling weight.

    Bins hold equal numbers of links. The bin of the best pairs, which users read, is halved as long as each
    half has 8 links. Isotonic regression makes the shares non-decreasing. `part` is 0 or 1; the expected
    share of each part is measured on the other.

    If the graph `lacks_as_many` links as were held out, they are among the other pairs, so the shares are
    those of `_among_others`.

    B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates",
    KDD (2002); intervals: H. Jeffreys, Theory of Probability (1961).
    """
    order, starts = _bins(log_odds, is_link)
    curve = _curve(log_odds[order], is_link[order], weight[order], starts, lacks_as_many=lacks_as_many)
    expected = np.zeros(len(log_odds))
    for own in (0, 1):
        other = part != own
        if not is_link[other].any():
            expected[~other] = curve.at(log_odds[~other])
            continue
        inside, begins = _bins(log_odds[other], is_link[other])
        rows = np.flatnonzero(other)[inside]
        shares = _curve(log_odds[rows], is_link[rows], weight[rows], begins, lacks_as_many=lacks_as_many)
        expected[~other] = shares.at(log_odds[~other])
    counted = np.where(is_link & lacks_as_many, _LEAST, weight)
    sums, pairs = (np.add.reduceat((counted * each)[order], starts) for each in (expected, 1.0))
    return replace(curve, expected=tuple((sums / pairs)[::-1].tolist()))


def _bins(log_odds: Array, is_link: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order by descending score, and the start of each bin in it."""
    order = np.argsort(-log_odds, kind="stable")
    links = is_link[order]
    n_links = int(links.sum())
    bins = min(max(n_links // _LINKS_OF_BIN, 1), _BINS)
    first = -(-np.arange(bins) * n_links // bins)  # of each bin's links, ceiled
    top = n_links // bins
    while (top := top // 2) >= _LINKS_OF_BIN:
        first = np.append(first, top)
    number = np.searchsorted(np.sort(first), np.cumsum(links) - links, side="right")
    return order, np.flatnonzero(np.diff(number, prepend=0))


def _curve(
    scores: Array,
    links: NDArray[np.bool_],
    weight: Array,
    starts: NDArray[np.int64],
    *,
    lacks_as_many: bool,
) -> Reliability:
    """Return the share of links in each bin; scores are sorted descending."""
    every, found = np.add.reduceat(weight, starts), np.add.reduceat(weight * links, starts)
    # Of mean odds, not of mean scores: the lowest bin's links are due to the few best of its many pairs.
    log_odds = np.logaddexp.reduceat(scores + np.log(weight), starts) - np.log(every)
    raw = np.add.reduceat(links.astype(np.float64), starts)
    # Weighted pairs carry no more evidence than unweighted ones: what counts is the number sampled.
    seen = np.where(found > 0, raw / np.maximum(found / every, 1e-12), every)
    low = np.where(raw > 0, betaincinv(raw + 0.5, seen - raw + 0.5, _TAIL), 0.0)
    high = betaincinv(raw + 0.5, seen - raw + 0.5, 1.0 - _TAIL)
    # One more sampled pair above all others is no link: a few links do not make a link certain, least of all
    # if each sampled pair stands for many.
    more = every.copy()
    more[0] += np.mean(weight[: np.append(starts, len(weight))[1]])
    shares = np.asarray(isotonic_regression(found / more, sample_weight=more, increasing=False))
    pairs = every
    if lacks_as_many:
        observed, shares, low, high = map(_among_others, (found / every, shares, low, high))
        pairs = np.divide(found, observed, out=every, where=found > 0)
    columns = (log_odds, shares, np.minimum(low, shares), np.maximum(high, shares), found, pairs, shares)
    return Reliability(*(tuple(each[::-1].tolist()) for each in columns))


def _among_others(share: Array) -> Array:
    """Return the share of links among pairs without the held-out ones, which are a `share` of all.

    If as many are missing, they are share / (1 - share) of the others. Above one half this is implausible, so
    the share rises linearly to 1.
    """
    return np.where(share < 1.0 / 3.0, share / np.maximum(1.0 - share, 0.5), 0.25 + 0.75 * share)


def _among_all(share: Array) -> Array:
    """Return the inverse of `_among_others`."""
    return np.where(share < 0.5, share / (1.0 + share), (share - 0.25) / 0.75)
