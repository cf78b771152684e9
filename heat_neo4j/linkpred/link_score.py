"""The link score of a pattern: log odds, additive over features, fitted to rank a node's partners.

The score separates held-out relationships from other pairs of the same source or target, because users read
links as a ranking per node. Each feature adds a function of its value, linear between a few knots. The
functions are fitted to all patterns together, then to each pattern with a penalty on the difference, so
patterns with few relationships stay close to the common functions (partial pooling).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, logit

from heat_neo4j._kernels.elementwise import interpolated
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import ALONE, WorkerThreads, one_blas_thread, resolve_threads
from heat_neo4j.embedding.fitting import Estimator
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.calibration import (
    TIMES_OF_FEW,
    CalibrationError,
    HeldOut,
    Reliability,
    hold_out,
    reliability,
)
from heat_neo4j.linkpred.differences import STRICTNESS, is_difference
from heat_neo4j.linkpred.features import (
    AGES,
    DIRECTION,
    ISOLATED,
    Feature,
    PairFeatures,
    PatternFeatures,
    ages,
    features_of,
)
from heat_neo4j.linkpred.likeness import Likeness
from heat_neo4j.linkpred.logistic import DenseDesign, logistic
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.rankings import precision_at, rankings
from heat_neo4j.linkpred.samples import FOLDS, Sample, name_of, samples_of
from heat_neo4j.linkpred.scorers import DirectedScorer
from heat_neo4j.linkpred.splines import INTERCEPT, SplineDesign, Splines, Table
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_OWN = 10.0  # factor of the ridge on a pattern's difference from the common functions
_STRICTER = 4.0, 16.0  # factors of the ridge to try: where links are by chance, many features are noise
_FEWEST = 10  # held-out links, to fit or to measure
_AGES = np.linspace(0.0, 1.0, 9)  # quantiles of the knots of ages
_LINKS_OF_CURVE = 24  # held-out links of a pattern with a curve of its own
_BASELINES = {
    "popularity": "target_in",
    "common neighbours": "common_neighbours",
    "paths of three": "paths_of_three",
    "attributes": "attributes",
    "distance": "distance",
}


class Contribution(NamedTuple):
    """The contribution of one feature to the log odds of a link."""

    feature: str
    value: float  # value of the feature
    log_odds: float


@dataclass(frozen=True)
class PatternFigures:
    """Ranking metrics of a pattern on held-out links, by scores that were not fitted to them.

    Each link is ranked among its source's candidates; a link outside the candidates counts as not found.
    """

    n_links: int  # held-out links, of all times
    mrr: float | None  # mean reciprocal rank; None if too few links were held out
    hits_at_10: float | None
    precision_at_10: float | None
    precision_at_written: float | None  # precision at n, where n is the pattern's number of relationships
    popularity_mrr: float | None
    baseline: str | None  # the best ranking by a single feature
    baseline_mrr: float | None
    direction_accuracy: float | None = None  # share of one-way relationships with the right direction
    recall: float | None = None  # share of held-out links among the candidates
    times: int = 1  # how often links were held out
    by_time: bool = False  # whether the held-out links are the latest


@dataclass(frozen=True)
class LinkScore:
    """Log odds of a link of each pattern: the sum of one function per feature.

    Parameters
    ----------
    features : tuple of str
        The K features; the last is "direction", the logarithm of P(direction | link).
    knots : tuple of tuple of float
        Knots of each feature, ascending. Functions are linear between knots and constant outside.
    common : tuple of tuple of float
        The intercept, then each feature's function values at its knots. Used for patterns not in `tables`.
    tables : mapping of str to tuple of tuple of float
        The same as `common` for each pattern, by its text ("" for an undirected graph).
    reliability : mapping of str to Reliability
        Calibration of each pattern: the share of links at each score. Patterns with few held-out links have
        the curve of all patterns together, scaled to the links among their best pairs. If rules allow a node
        one link, only its likeliest pair counts.
    direction_features : tuple of str
        Direction features.
    direction_width : tuple of float
        Scale that each direction feature is divided by.
    directions : mapping of str to tuple of float
        Weights of the direction features, for each pattern in which both directions of a pair are possible.
    figures : mapping of str to PatternFigures
        Ranking metrics of each pattern.
    n_edges, n_non_edges : int
        Number of them held out, of all types; sums over the times that edges are held out.
    distance_auroc : float
        AUROC of the distance alone on the held-out edges and non-edges.
    since : str, optional
        Time of the earliest of the latest edges, from which probabilities were measured. None without times.
    """

    features: tuple[str, ...]
    knots: Table
    common: Table
    tables: Mapping[str, Table]
    reliability: Mapping[str, Reliability]
    direction_features: tuple[str, ...]
    direction_width: tuple[float, ...]
    directions: Mapping[str, tuple[float, ...]]
    figures: Mapping[str, PatternFigures]
    n_edges: int
    n_non_edges: int
    distance_auroc: float
    since: str | None = None

    def scorers(
        self, embedding: Array, graph: Graph, likeness: Likeness | None = None
    ) -> Callable[[Pattern | None], LinkScorer]:
        """Return a function from patterns to scorers, for points on the hyperboloid of shape (N, d + 1)."""
        features = PairFeatures(embedding, graph, likeness, self.features)

        def scorer(pattern: Pattern | None) -> LinkScorer:
            return self.scorer_of(name_of(pattern), features.of(pattern))

        return scorer

    def scorer_of(self, name: str, features: PatternFeatures) -> LinkScorer:
        """Return the scorer of the pattern with the given text, on the features of its pairs."""
        own = {each: feature for each, feature in features.link.items() if each in self.features}
        direction = None
        if name in self.directions:
            weights = zip(self.direction_features, self.directions[name], self.direction_width, strict=True)
            of_pair = features.direction
            direction = _Direction(
                tuple((of_pair[each], weight / width) for each, weight, width in weights if each in of_pair)
            )
        return LinkScorer(self, name, self.tables.get(name, self.common), own, direction)

    def to_dict(self) -> dict[str, Any]:
        """Return the score as JSON data; `from_dict` reads it."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # lists in the place of tuples
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the score that `to_dict` described; raises ValueError if lengths are inconsistent."""
        own: dict[str, Any] = {name: _frozen(value) for name, value in data.items()}
        own["reliability"] = {name: Reliability(**each) for name, each in own["reliability"].items()}
        own["figures"] = {name: PatternFigures(**each) for name, each in own["figures"].items()}
        score = cls(**own)
        if misfit := next(score._misfits(), None):
            raise ValueError(f"no link score: {misfit}; fit it again")
        return score

    def _misfits(self) -> Iterator[str]:
        """Yield a message for each field of the wrong length."""
        if len(self.knots) != len(self.features):
            yield f"{len(self.features)} features but knots of {len(self.knots)}"
        heights = [1, *map(len, self.knots)]
        for name, table in {"common": self.common, **self.tables}.items():
            if list(map(len, table)) != heights:
                yield f"the table {name!r} does not fit the knots"
        widths = {"direction_width": self.direction_width, **self.directions}
        for name, each in widths.items():
            if len(each) != len(self.direction_features):
                yield f"{name!r} has {len(each)} weights, not {len(self.direction_features)}"
        for name, curve in self.reliability.items():
            lengths = {len(each) for each in asdict(curve).values()}
            if len(lengths) > 1 or 0 in lengths:
                yield f"the reliability of {name!r} has empty columns or columns of different lengths"


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _frozen(each) for name, each in value.items()}
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


class _Direction(NamedTuple):
    """Log odds of this direction of a link against the other: features with weights."""

    terms: tuple[tuple[Feature, float], ...]

    def log_odds(self, values: Callable[[Feature], Array]) -> Array:
        total = np.asarray(0.0)
        for feature, weight in self.terms:
            total = total + weight * values(feature)
        return total

    def reversed(self) -> _Direction:
        return _Direction(tuple((feature.reversed(), weight) for feature, weight in self.terms))

    def between(self, first: Rows, second: Rows) -> _Direction:
        return _Direction(tuple((feature.between(first, second), weight) for feature, weight in self.terms))


@dataclass(frozen=True)
class LinkScorer(DirectedScorer):
    """The log odds of a link of one pattern."""

    score: LinkScore
    name: str
    table: Table
    features: Mapping[str, Feature]
    direction: _Direction | None

    @property
    def n_nodes(self) -> int:  # type: ignore[override]
        """Number of second nodes."""
        return next(iter(self.features.values())).n_nodes

    def pairs(self, pairs: Rows) -> Array:
        """Return the log odds of pairs, shape (m,)."""
        return self._total(lambda feature: feature.pairs(pairs))

    def rows(self, begin: int, end: int) -> Array:
        """Return the log odds of first nodes `begin` to `end` - 1 with every second node."""
        return self._total(lambda feature: feature.rows(begin, end))

    def probability(self, log_odds: ArrayLike) -> Array:
        """Return the calibrated probability at the log odds; uncalibrated if the pattern was not measured."""
        known = self.score.reliability.get(self.name)
        if known is not None:
            return known.at(log_odds)
        return np.asarray(expit(np.asarray(log_odds, dtype=np.float64)))

    def log_odds_at(self, probability: float) -> float:
        """Return the lowest log odds with at least a probability in [0, 1]; infinite if none have it."""
        known = self.score.reliability.get(self.name)
        if known is None or probability == 0.0:
            return float(logit(probability))
        return known.log_odds_at(probability)

    def interval(self, log_odds: float) -> tuple[float, float] | None:
        """Return both ends of the 95 % interval of `probability`; None if the pattern was not measured."""
        known = self.score.reliability.get(self.name)
        if known is None:
            return None
        low, high = known.interval(log_odds)
        return float(low), float(high)

    def direction_log_odds(self, pairs: Rows) -> Array | None:
        """Return the log odds of this direction against the other, shape (m,); None if only one exists."""
        return None if self.direction is None else self.direction.log_odds(lambda each: each.pairs(pairs))

    def contributions(self, pair: tuple[int, int]) -> tuple[Contribution, ...]:
        """Return the terms of one pair's log odds, the intercept first."""
        pairs = np.array([pair], dtype=np.int64)
        parts = [Contribution("base", 1.0, self.table[0][0])]
        for name, value, term in self.terms(lambda feature: feature.pairs(pairs)):
            if not np.isnan(value[0]):
                parts.append(Contribution(name, float(value[0]), float(term[0])))
        return tuple(parts)

    def reversed(self) -> LinkScorer:
        """Return the scorer that gives (v, u) the log odds of (u, v)."""
        turned = {name: feature.reversed() for name, feature in self.features.items()}
        direction = None if self.direction is None else self.direction.reversed()
        return LinkScorer(self.score, self.name, self.table, turned, direction)

    def between(self, first: Rows, second: Rows) -> LinkScorer:
        """Return the scorer restricted to some first and second nodes."""
        own = {name: feature.between(first, second) for name, feature in self.features.items()}
        direction = None if self.direction is None else self.direction.between(first, second)
        return LinkScorer(self.score, self.name, self.table, own, direction)

    def terms(self, values: Callable[[Feature], Array]) -> Iterator[tuple[str, Array, Array]]:
        """Yield each feature's name, value and term; `values` computes a feature's values."""
        places = zip(self.score.features, self.score.knots, self.table[1:], strict=True)
        for name, knots, heights in places:
            if name in self.features:
                value = values(self.features[name])
            elif name == "direction" and self.direction is not None:
                value = log_expit(self.direction.log_odds(values))
            else:
                continue
            shape = np.shape(value)
            term = interpolated(np.ravel(value), np.array(knots), np.array(heights))
            yield name, value, term.reshape(shape)

    def _total(self, values: Callable[[Feature], Array]) -> Array:
        total: Array | None = None
        for _, _, term in self.terms(values):
            total = term + self.table[0][0] if total is None else np.add(total, term, out=total)
        assert total is not None
        return total


def fit_link_score(
    model: Estimator, graph: Graph, *, share: float = 0.1, on_progress: Progress = no_progress
) -> LinkScore:
    """Fit a link score: distance, degrees, common neighbours, paths, attributes and directions combined.

    Trains a clone of `model` with the same parameters and seed, but fewer walks, on the graph without `share`
    of its edges, chosen at random; several times in a small graph, see `times_held_out`. If edges have
    times, it also lacks the latest: probabilities are measured on them. `model` itself is not changed.

    Parameters
    ----------
    model : HEAT
        Estimator whose embedding the score uses.
    graph : Graph
        Graph that `model` is fitted to. To evaluate the score on test edges, pass the training graph only.
    share : float
        Share of the edges to hold out, in (0, 1); with times, of the latest and of the others.
    on_progress : callable
        Progress callback, passed to `HEAT.fit`.

    Returns
    -------
    LinkScore

    Raises
    ------
    CalibrationError
        If `share` is out of range, or too few edges or non-edges can be held out.
    """
    held_out = hold_out(model, graph, share=share, on_progress=on_progress)
    return link_score(held_out, graph, n_threads=model.n_threads, on_progress=on_progress)


@one_blas_thread()
def link_score(
    held_out: Sequence[HeldOut],
    graph: Graph,
    features: Sequence[str] | None = None,
    *,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> LinkScore:
    """Fit the score of the common patterns of `graph` to the given held-out links, by all cores by default.

    Calls `on_progress` with ("patterns", patterns done, total patterns), each time that links were held out.
    Raises CalibrationError if fewer than 10 relationships are held out.
    """
    features = features_of(graph) if features is None else features
    with WorkerThreads(resolve_threads(n_threads)) as workers:
        return _link_score(held_out, graph, features, workers, on_progress)


def _link_score(
    held_out: Sequence[HeldOut],
    graph: Graph,
    features: Sequence[str],
    workers: WorkerThreads,
    on_progress: Progress,
) -> LinkScore:
    likeness = Likeness(graph, workers)
    by_time = [samples_of(each, graph, features, on_progress, likeness=likeness) for each in held_out]
    for own in by_time[1:]:  # the latest links are the same each time: only the first measures the score
        own |= {name: each.only_fitted() for name, each in own.items() if each.since is not None}
    samples = {name: Sample.joined([own[name] for own in by_time]) for name in by_time[0]}
    if sum(each.n_links for each in samples.values()) < _FEWEST:
        raise CalibrationError(
            f"no link score: fewer than {_FEWEST} relationships of the patterns can be held out"
        )
    edges, others = (
        np.concatenate([pair_distances(points, getattr(split, of)) for split, points in held_out])
        for of in ("test_edges", "test_non_edges")
    )
    is_later = any(each.since is not None for each in samples.values())
    strictness = np.array([STRICTNESS if is_difference(each) else 1.0 for each in (*features, "direction")])
    whole = _Fit.of(samples, strictness=strictness, workers=workers)
    score = LinkScore(
        features=(*features, "direction"),
        knots=whole.functions.knots,
        common=whole.functions.table(whole.common),
        reliability={},
        direction_features=DIRECTION,
        figures={},
        tables={},
        direction_width=(),
        directions={},
        n_edges=len(edges),
        n_non_edges=len(others),
        distance_auroc=auroc(-edges, -others),
        since=held_out[0].split.since_text if is_later else None,
    )
    fitted = _Fitted.of(score, samples, whole, workers)
    if len(held_out) >= TIMES_OF_FEW:  # with more or fewer edges, or many patterns, none was better
        for factor in _STRICTER:
            stricter = _Fit.of(samples, like=whole.stricter(factor), workers=workers)
            before, fitted = fitted, fitted.better_of(_Fitted.of(score, samples, stricter, workers), samples)
            if fitted is before:
                break
    score, folds, log_odds = fitted
    is_typed = graph.relationships is not None
    score = _with_isolated(score, samples, log_odds, is_typed=is_typed)
    if is_typed and score.since is not None:  # only pairs of the first time are candidates
        score = _with_ages(score, samples, ages(held_out[0].split.train), log_odds)
    measured = {name: _Measured.of(sample, log_odds[name]) for name, sample in samples.items()}
    figures = workers.by_key(lambda name: _figures(samples[name], folds, name, log_odds[name]), samples)
    return replace(score, reliability=_curves(measured, samples), figures=figures)


def _with_isolated(
    score: LinkScore,
    samples: Mapping[str, Sample],
    log_odds: dict[str, Array],
    *,
    is_typed: bool,
) -> LinkScore:
    """Add features that make isolated ends comparable with others; changes `log_odds` in place.

    The fit takes isolated nodes for new ones; if most nodes are isolated, few are. By time, it has seen the
    latest links of isolated sources, but earlier links of others.
    """
    heights = {}
    for name, sample in samples.items():
        heights[name] = np.log(sample.share_linked)
        if is_typed and sample.since is not None:
            measured = _Measured.of(sample, log_odds[name])
            heights[name][0] += measured.shift_of(sample.is_lost[sample.is_candidate, 0])
        log_odds[name] = log_odds[name] + sample.is_lost @ heights[name]
    if not np.any(list(heights.values())):
        return score
    for end, feature in enumerate(ISOLATED):
        score = _with_feature(
            score, feature, (0.0, 1.0), {name: (0.0, each[end]) for name, each in heights.items()}
        )
    return score


def _with_ages(
    score: LinkScore, samples: Mapping[str, Sample], age: Array, log_odds: dict[str, Array]
) -> LinkScore:
    """Add functions of the time since the latest relationship of each end; changes `log_odds` in place.

    They are measured on the latest links, because the earlier ones, which the score is fitted to, do not
    show that nodes that get no links any more are unlikely to get one.
    """
    dated = {name: sample for name, sample in samples.items() if sample.since is not None}
    for end, feature in enumerate(AGES):
        own = {name: age[each.pairs[:, end]] for name, each in dated.items()}
        values = np.concatenate([own[name][each.is_candidate] for name, each in dated.items()])
        values = values[values >= 0.0]
        places = np.unique(np.quantile(values, _AGES)) if values.size else values
        if len(places) < 2:
            continue
        knots = (-1.0, *places)
        heights: dict[str, Sequence[float]] = dict.fromkeys(samples, (0.0,) * len(knots))
        for name, sample in dated.items():
            measured = _Measured.of(sample, log_odds[name])
            heights[name] = (0.0, *measured.terms_of(own[name][sample.is_candidate], places))
            log_odds[name] = log_odds[name] + np.interp(own[name], knots, np.array(heights[name]))
        score = _with_feature(score, feature, knots, heights)
    return score


def _with_feature(
    score: LinkScore, feature: str, knots: Sequence[float], heights: Mapping[str, Sequence[float]]
) -> LinkScore:
    """Add a feature before the direction, with each pattern's heights at its knots; 0 for other patterns."""

    def added(table: Table, row: Sequence[float]) -> Table:
        return (*table[:-1], tuple(map(float, row)), table[-1])

    return replace(
        score,
        features=(*score.features[:-1], feature, score.features[-1]),
        knots=added(score.knots, knots),
        common=added(score.common, (0.0,) * len(knots)),
        tables={name: added(each, heights[name]) for name, each in score.tables.items()},
    )


class _Measured(NamedTuple):
    """Candidates with their scores, as `reliability` takes them, and for which pairs each stands."""

    log_odds: Array
    is_link: NDArray[np.bool_]
    weight: Array
    half: Rows
    standing: Array
    share: Array
    is_lost: NDArray[np.bool_]
    is_reopened: NDArray[np.bool_]
    one_link: Rows

    @classmethod
    def of(cls, sample: Sample, log_odds: Array) -> _Measured:
        own = sample.is_candidate
        half = (sample.place[own] // FOLDS) % 2
        return cls(
            log_odds[own],
            sample.is_link[own],
            sample.weight[own],
            half,
            sample.standing[own],
            sample.share[own],
            np.asarray(sample.is_lost[own].any(axis=1)),
            sample.is_reopened[own],
            sample.one_link[own],
        )

    def likeliest(self) -> _Measured:
        """Leave out the pairs of a node that has at most one link to which another of its pairs is preferred.

        Rules drop them, so a probability measured on them, too, would be too low.
        """
        kept = np.ones(len(self.log_odds), dtype=np.bool_)
        for nodes in self.one_link.T:
            order = np.lexsort((-self.log_odds, nodes))
            is_first = np.diff(nodes[order], prepend=-1) != 0
            kept[order] &= is_first | (nodes[order] < 0)
        columns: dict[str, Any] = {name: column[kept] for name, column in self._asdict().items()}
        return _Measured(**columns)

    def shift_of(self, apart: NDArray[np.bool_]) -> float:
        """Return what to add to the scores of the pairs `apart`, for as many links as others have."""
        weight, counts = self.weight * self.standing, self.standing > 0.0
        rest, some = np.flatnonzero(counts & ~apart), np.flatnonzero(counts & apart)
        if min(np.count_nonzero(self.is_link[each]) for each in (rest, some)) < _FEWEST:
            return 0.0
        curve = reliability(self.log_odds[rest], self.is_link[rest], weight[rest], self.half[rest])
        return curve.shift_of(self.log_odds[some], self.is_link[some], weight[some])

    def terms_of(self, values: Array, knots: Array) -> Array:
        """Return what to add at each knot, for as many links as others have; zeros if there are few links.

        Pairs with negative values do not count.
        """
        own = np.flatnonzero((self.standing > 0.0) & (values >= 0.0))
        log_odds, is_link, weight = self.log_odds[own], self.is_link[own], (self.weight * self.standing)[own]
        if np.count_nonzero(is_link) < _FEWEST:
            return np.zeros(len(knots))
        curve = reliability(log_odds, is_link, weight, self.half[own])
        return curve.terms_at(knots, values[own], log_odds, is_link, weight)

    def of_whole_graph(self, *, lacks_as_many: bool) -> tuple[Array, NDArray[np.bool_], Array, Rows]:
        """Return the columns of `reliability`, weighted as pairs of the whole graph.

        If only a share of the isolated nodes gets relationships, a link of theirs counts as a link with that
        share of its weight, and as no link with the rest. If the graph `lacks_as_many` links, it counts as no
        link with all of its weight, too: the node that it is held out of stands for one that lacks it.
        """
        counts = self.standing > 0.0
        again = counts & self.is_link & ((self.share < 1.0) | (self.is_lost & lacks_as_many))
        rows = np.append(np.flatnonzero(counts), np.flatnonzero(again))
        is_again = np.arange(len(rows)) >= np.count_nonzero(counts)
        rest = np.ones(len(rows)) if lacks_as_many else 1.0 - self.share[rows]
        of_links = np.where(is_again, rest, self.share[rows])
        weight = (self.weight * self.standing)[rows] * np.where(self.is_link[rows], of_links, 1.0)
        return self.log_odds[rows], self.is_link[rows] & ~is_again, weight, self.half[rows]

    def of_reopened(self) -> Reliability | None:
        """Return the share of links among the pairs of nodes that have lost the only link that rules allow.

        A node that lacks such a link is at most as likely to have it to a target. None if there are few.
        """
        own = np.flatnonzero(self.is_reopened & ~self.is_lost)
        if np.count_nonzero(self.is_link[own]) < _FEWEST:
            return None
        return reliability(self.log_odds[own], self.is_link[own], self.weight[own], self.half[own])


def _curves(measured: Mapping[str, _Measured], samples: Mapping[str, Sample]) -> dict[str, Reliability]:
    """Return each pattern's reliability; those measured by time apart from others."""
    curves: dict[str, Reliability] = {}
    for is_later in {each.since is not None for each in samples.values()}:
        own = {name: each for name, each in measured.items() if (samples[name].since is not None) == is_later}
        curves |= _curves_together(own, samples, lacks_as_many=not is_later)
    return {name: curves[name] for name in measured}


def _curves_together(
    measured: Mapping[str, _Measured], samples: Mapping[str, Sample], *, lacks_as_many: bool
) -> dict[str, Reliability]:
    """Return the reliability of some patterns; with few links, that of all of them, scaled."""
    measured = {name: each.likeliest() for name, each in measured.items()}
    every = _Measured(*map(np.concatenate, zip(*measured.values(), strict=True)))
    together = every.of_whole_graph(lacks_as_many=lacks_as_many)
    if together[1].sum() < _FEWEST:
        together = every[:4]
    common = reliability(*together, lacks_as_many=lacks_as_many)
    curves = {}
    for name, own in measured.items():
        log_odds, is_link, weight, half = own.of_whole_graph(lacks_as_many=lacks_as_many)
        if is_link.sum() >= _LINKS_OF_CURVE:
            curves[name] = reliability(log_odds, is_link, weight, half, lacks_as_many=lacks_as_many)
        else:
            curves[name] = common.scaled_to(
                log_odds, is_link, weight, samples[name].n_links, lacks_as_many=lacks_as_many
            )
        if (most := own.of_reopened()) is not None:
            curves[name] = curves[name].at_most(most)
    return curves


def _log_odds(sample: Sample, score: LinkScore, name: str) -> Array:
    """Return the log odds of a sample's pairs under a score with the same features."""
    table = score.tables[name]
    columns = list(sample.values.T)
    if sample.direction is not None and name in score.directions:
        scaled = sample.direction / np.array(score.direction_width)
        columns.append(log_expit(scaled @ np.array(score.directions[name])))
    total = np.full(len(sample.pairs), table[0][0])
    for column, knots, heights in zip(columns, score.knots, table[1:], strict=False):
        known = ~np.isnan(column)
        total[known] += interpolated(column[known], np.array(knots), np.array(heights))
    return total


class _Fitted(NamedTuple):
    """A score fitted to all pairs, and the log odds of each pair by one that was fitted without its fold."""

    score: LinkScore
    folds: list[LinkScore]  # fitted without each fold
    log_odds: dict[str, Array]

    @classmethod
    def of(
        cls, score: LinkScore, samples: Mapping[str, Sample], whole: _Fit, workers: WorkerThreads
    ) -> _Fitted:
        """Fill a score with a fit to all pairs, and fit to those outside each fold."""
        score = replace(score, **whole.of_patterns())
        folds = workers.map(
            lambda fold: replace(score, **_Fit.of(samples, fold, whole).of_patterns()), range(FOLDS)
        )

        def out_of_fold(name: str) -> Array:
            own = samples[name]
            return np.asarray(np.choose(own.fold, [_log_odds(own, each, name) for each in folds]))

        return cls(score, folds, workers.by_key(out_of_fold, samples))

    def better_of(self, other: _Fitted, samples: Mapping[str, Sample]) -> _Fitted:
        """Take each pattern from `other` if that predicts its other fold better."""
        better = [
            name
            for name, sample in samples.items()
            if sample.loss(other.log_odds[name]) < sample.loss(self.log_odds[name])
        ]
        if not better:
            return self

        def joined(own: LinkScore, others: LinkScore) -> LinkScore:
            return replace(own, tables={**own.tables, **{name: others.tables[name] for name in better}})

        return _Fitted(
            joined(self.score, other.score),
            list(map(joined, self.folds, other.folds)),
            self.log_odds | {name: other.log_odds[name] for name in better},
        )


class _Fit(NamedTuple):
    """Weights fitted to the samples of all patterns, optionally without one fold."""

    functions: Splines
    common: Array
    own: dict[str, Array]
    direction_width: Array
    directions: dict[str, Array]

    @classmethod
    def of(
        cls,
        samples: Mapping[str, Sample],
        fold: int | None = None,
        like: _Fit | None = None,
        strictness: Array | None = None,
        workers: WorkerThreads = ALONE,
    ) -> _Fit:
        """Fit to all pairs outside `fold`; `like` provides the functions and the starting weights.

        Without it, `strictness` is that of `Splines`.
        """
        rows = {
            name: each.is_fitted if fold is None else each.is_fitted & (each.fold != fold)
            for name, each in samples.items()
        }
        width, directions = _fit_directions(samples, rows)
        values, links, offsets = {}, {}, {}
        for name, each in samples.items():
            log = np.full(len(each.is_link), np.nan)
            if name in directions:
                assert each.direction is not None
                log = log_expit(each.direction / width @ directions[name])
            values[name] = np.column_stack((each.values, log))[rows[name]]
            links[name] = each.is_link[rows[name]]
            offsets[name] = each.offset[rows[name]]
        is_link = np.concatenate(list(links.values()))
        functions = (
            Splines.over(np.concatenate(list(values.values())), is_link, strictness)
            if like is None
            else like.functions
        )
        designs = {name: functions.design(each) for name, each in values.items()}
        whole = SplineDesign.joined(list(designs.values()))
        nothing = np.zeros(len(functions.ridge))
        offset = np.concatenate(list(offsets.values()))
        common = logistic(
            whole, is_link, functions.ridge, nothing, None if like is None else like.common, offset
        )
        ridge = _OWN * functions.ridge
        ridge[0] = INTERCEPT

        def fitted(name: str) -> Array:
            start = None if like is None else like.own[name]
            return logistic(designs[name], links[name], ridge, common, start, offsets[name])

        some = (name for name in designs if links[name].any())
        own = dict.fromkeys(designs, common) | workers.by_key(fitted, some)
        return cls(functions, common, own, width, directions)

    def stricter(self, factor: float) -> _Fit:
        """Return the weights to start at with a `factor` times stronger ridge."""
        return self._replace(functions=self.functions.stricter(factor))

    def of_patterns(self) -> dict[str, Any]:
        """Return the `LinkScore` fields that are stored per pattern."""
        return {
            "tables": {name: self.functions.table(each) for name, each in self.own.items()},
            "direction_width": tuple(self.direction_width.tolist()),
            "directions": {name: tuple(each.tolist()) for name, each in self.directions.items()},
        }


def _fit_directions(
    samples: Mapping[str, Sample], rows: Mapping[str, NDArray[np.bool_]]
) -> tuple[Array, dict[str, Array]]:
    """Return the scale of each direction feature, and the weights for each pattern."""
    ways = {
        name: each.direction[each.one_way & rows[name]]
        for name, each in samples.items()
        if each.direction is not None
    }
    everything = np.concatenate([np.zeros((1, len(DIRECTION))), *ways.values()])
    width = np.sqrt(np.mean(everything**2, axis=0))
    width[width == 0.0] = 1.0
    if not ways:
        return width, {}
    ridge, whole = np.full(len(DIRECTION), 30.0), everything[1:] / width
    common = logistic(DenseDesign(whole), np.ones(len(whole)), ridge, np.zeros(len(DIRECTION)))
    own = {
        name: logistic(DenseDesign(each / width), np.ones(len(each)), ridge, common)
        for name, each in ways.items()
    }
    return width, own


def _figures(sample: Sample, folds: Sequence[LinkScore], name: str, log_odds: Array) -> PatternFigures:
    """Measure the ranking of a pattern's held-out links among candidates, by scores of shape (m,)."""
    accuracy, by_time = _direction_accuracy(sample, folds, name), sample.since is not None
    if sample.n_links < _FEWEST:
        return PatternFigures(sample.n_links, *(None,) * 7, accuracy, None, sample.n_times, by_time)
    log_odds, is_link = log_odds[sample.is_candidate], sample.is_link[sample.is_candidate]
    weight = sample.weight[sample.is_candidate]
    columns = dict(zip(folds[0].features, sample.values.T, strict=False))
    others = {each: columns[of] for each, of in _BASELINES.items() if of in columns}
    scores = {
        each: column[sample.is_candidate] for each, column in others.items() if not np.isnan(column).any()
    }
    ranked = rankings(
        sample.place[sample.is_candidate],
        is_link,
        {"": log_odds, **scores},
        sample.n_asked,
        sample.n_sources,
    )
    own = ranked.pop("")
    best = max(ranked, key=lambda each: ranked[each].mrr, default=None)
    return PatternFigures(
        n_links=sample.n_links,
        mrr=own.mrr,
        hits_at_10=own.hits_at_10,
        precision_at_10=own.precision_at_10,
        precision_at_written=precision_at(sample.n_relationships, log_odds, is_link, weight),
        popularity_mrr=ranked["popularity"].mrr if "popularity" in ranked else None,
        baseline=best,
        baseline_mrr=None if best is None else ranked[best].mrr,
        direction_accuracy=accuracy,
        recall=float(is_link.sum() / max(sample.n_asked, 1)),
        times=sample.n_times,
        by_time=by_time,
    )


def _direction_accuracy(sample: Sample, folds: Sequence[LinkScore], name: str) -> float | None:
    """Return the share of one-way links with the right predicted direction; None if there are too few."""
    if sample.direction is None or sample.one_way.sum() < _FEWEST:
        return None
    right = []
    for fold, score in enumerate(folds):
        mine = sample.one_way & (sample.fold == fold)
        scaled = sample.direction[mine] / np.array(score.direction_width)
        right.append(scaled @ np.array(score.directions[name]) > 0.0)
    return float(np.concatenate(right).mean())
