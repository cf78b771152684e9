"""The score of a link by its pattern: P(source -type-> target) = P(link | pattern) x P(direction | link).

Both are logistic regressions fitted on relationships that training did not see. Their weights are first
fitted to all patterns together, then to each pattern with a penalty on what differs from these: patterns with
many relationships get weights of their own, those with few keep the common ones (partial pooling).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.calibration import CalibrationError, HeldOut, embed_without
from heat_neo4j.linkpred.candidates import candidate_pairs, patterns_of, relationships_of
from heat_neo4j.linkpred.combined_score import FITTED_EDGES, LinkScore, link_score
from heat_neo4j.linkpred.features import DIRECTION, FEATURES, Feature, PairFeatures
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.scorers import DirectedScorer
from heat_neo4j.linkpred.splits import EdgeSplit, joins_held_out
from heat_neo4j.patterns import Pattern

__all__ = [
    "Contribution",
    "PatternFigures",
    "PatternScore",
    "PatternScorer",
    "fit_link_score",
    "pattern_score",
]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

BY_DISTANCE = ("distance", "direction")
"""Features of a score by which the nearest pairs are the likeliest, but for their direction."""

_NEGATIVES = 10  # for each of them, drawn within the pattern
_RIDGE = 30.0  # on standardised weights, where each held-out relationship weighs 1
_FOLDS = 5  # by which the figures are measured
_FEWEST = 10


@dataclass(frozen=True)
class PatternFigures:
    """How well links of a pattern are told from its other pairs, by cross-validation on what was held out."""

    n_links: int  # held out
    auroc: float | None  # of the score, [0, 1]; None if too few were held out
    popularity_auroc: float | None  # of the relationships of the type that the target has already
    direction_accuracy: float | None = None  # of one-way relationships: share whose likelier way is theirs


class Contribution(NamedTuple):
    """What one feature adds to the log odds of a link."""

    feature: str
    value: float  # of the feature
    log_odds: float


@dataclass(frozen=True)
class PatternScore:
    """Log odds of a link of each pattern, at even odds: a sum over `features.FEATURES`.

    Parameters
    ----------
    features : tuple of str
        The K features of a link; the last one is "direction", the logarithm of P(direction | link).
    centre, width : tuple of float
        By which each is standardised: (value - centre) / width.
    low, high : tuple of float
        Range of each standardised feature among the held-out pairs; values outside are taken for its ends.
    common : tuple of float
        Intercept and K weights of a pattern that is not named in `weights`.
    weights : mapping of str to tuple of float
        The same for each pattern by its text.
    direction_features, direction_width : tuple of str, tuple of float
        The features of a direction, and what each is divided by.
    directions : mapping of str to tuple of float
        Their weights for each pattern of which two nodes may be linked either way.
    figures : mapping of str to PatternFigures
        What was measured of each pattern.
    n_edges, n_non_edges, distance_auroc : int, int, float
        Edges held out and other pairs, of any pattern and type, and how well the distance alone tells them.
    """

    features: tuple[str, ...]
    centre: tuple[float, ...]
    width: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    common: tuple[float, ...]
    weights: Mapping[str, tuple[float, ...]]
    direction_features: tuple[str, ...]
    direction_width: tuple[float, ...]
    directions: Mapping[str, tuple[float, ...]]
    figures: Mapping[str, PatternFigures]
    n_edges: int
    n_non_edges: int
    distance_auroc: float

    @property
    def by_distance(self) -> bool:
        """Whether the nearest pairs are the likeliest, but for their direction."""
        return self.features == BY_DISTANCE

    def scorers(self, embedding: Array, graph: Graph) -> Callable[[Pattern | None], PatternScorer]:
        """Return what gives the scorer of a pattern, for points on the hyperboloid of shape (N, d + 1)."""
        features = PairFeatures(embedding, graph)

        def scorer(pattern: Pattern | None) -> PatternScorer:
            assert pattern is not None, "a graph whose relationships have directions has patterns"
            return self._scorer(features, pattern)

        return scorer

    def _scorer(self, features: PairFeatures, pattern: Pattern) -> PatternScorer:
        of_pattern = features.of(pattern)
        every = features.distance() if self.by_distance else of_pattern.link
        own = {name: each for name, each in every.items() if name in self.features}
        direction = None
        if str(pattern) in self.directions:
            of_pair, weights = of_pattern.direction, self.directions[str(pattern)]
            scaled = zip(self.direction_features, weights, self.direction_width, strict=True)
            chosen = [(of_pair[name], weight / width) for name, weight, width in scaled if name in of_pair]
            direction = _Direction(tuple(chosen))
        return PatternScorer(self, self.weights.get(str(pattern), self.common), own, direction)

    def probability(self, log_odds: ArrayLike) -> Array:
        """Return the probability of a link, at even odds, from the scorer's log odds."""
        return np.asarray(expit(np.asarray(log_odds, dtype=np.float64)))

    def to_dict(self) -> dict[str, Any]:
        """Return the score as JSON data; `from_dict` reads it."""
        data: dict[str, Any] = asdict(self, dict_factory=_as_json)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the score that `to_dict` described."""
        arguments: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        for name in ("weights", "directions"):
            arguments[name] = {pattern: tuple(each) for pattern, each in data[name].items()}
        arguments["figures"] = {pattern: PatternFigures(**each) for pattern, each in data["figures"].items()}
        return cls(**arguments)


def _as_json(entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return entries with lists in the place of tuples, as JSON gives them back."""
    return {name: _plain(value) for name, value in entries}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


class _Direction(NamedTuple):
    """Log odds that a link leads this way and not the other: features with their weights."""

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
class PatternScorer(DirectedScorer):
    """The log odds of a link of one pattern, at even odds."""

    score: PatternScore
    weights: tuple[float, ...]
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
        """Return the log odds of some first nodes with every second node."""
        return self._total(lambda feature: feature.rows(begin, end))

    def direction_log_odds(self, pairs: Rows) -> Array | None:
        """Return the log odds of this way against the other, shape (m,); None if there is one way only."""
        return None if self.direction is None else self.direction.log_odds(lambda each: each.pairs(pairs))

    def contributions(self, pair: tuple[int, int]) -> tuple[Contribution, ...]:
        """Return what adds up to the log odds of one pair, the intercept first."""
        pairs = np.array([pair], dtype=np.int64)
        parts = [Contribution("base", 1.0, self.weights[0])]
        for name, value, term in self._terms(lambda feature: feature.pairs(pairs)):
            parts.append(Contribution(name, float(value[0]), float(term[0])))
        return tuple(parts)

    def reversed(self) -> PatternScorer:
        """Return the scorer that gives (v, u) the log odds of (u, v)."""
        turned = {name: feature.reversed() for name, feature in self.features.items()}
        direction = None if self.direction is None else self.direction.reversed()
        return PatternScorer(self.score, self.weights, turned, direction)

    def between(self, first: Rows, second: Rows) -> PatternScorer:
        """Return the scorer of some nodes only."""
        own = {name: feature.between(first, second) for name, feature in self.features.items()}
        direction = None if self.direction is None else self.direction.between(first, second)
        return PatternScorer(self.score, self.weights, own, direction)

    def _total(self, values: Callable[[Feature], Array]) -> Array:
        total: Array | None = None
        for _, _, term in self._terms(values):
            total = term + self.weights[0] if total is None else np.add(total, term, out=total)
        assert total is not None
        return total

    def _terms(self, values: Callable[[Feature], Array]) -> Any:
        """Yield name, value and term of each feature."""
        score = self.score
        for place, name in enumerate(score.features):
            if name in self.features:
                value = values(self.features[name])
            elif name == "direction" and self.direction is not None:
                value = log_expit(self.direction.log_odds(values))
            else:
                continue
            standard = (value - score.centre[place]) / score.width[place]
            term = self.weights[place + 1] * np.clip(standard, score.low[place], score.high[place])
            yield name, value, term


class _Sample(NamedTuple):
    """Held-out relationships of a pattern, and other pairs of it, with their features."""

    values: Array  # (m, K); NaN where the pattern has no such feature
    is_link: NDArray[np.bool_]
    direction: Array | None  # (m, D) features of directions
    one_way: NDArray[np.bool_]  # held-out relationships that none answers
    popularity: Array

    def part(self, rows: NDArray[np.bool_]) -> _Sample:
        """Return some of the pairs."""
        direction = None if self.direction is None else self.direction[rows]
        return _Sample(
            self.values[rows], self.is_link[rows], direction, self.one_way[rows], self.popularity[rows]
        )


def fit_link_score(
    model: Embedder, graph: Graph, *, share: float = 0.1, times: int = 1, on_progress: Progress = no_progress
) -> PatternScore | LinkScore:
    """Fit how distance, degrees, common neighbours, paths, attributes and directions together tell links.

    A clone of `model` with the same parameters and seed is trained on the graph without `share` of its edges;
    logistic regressions then part those edges from other pairs. `model` itself is left as it is.

    Parameters
    ----------
    model : HEAT
        The estimator whose embedding is to be combined with the rest.
    graph : Graph
        The graph it is, or will be, fitted on. To judge the score by test edges, give the
        training graph only.
    share : float
        Share of the edges to hold out, in (0, 1); sparse graphs may allow fewer. The score is fitted to
        `FITTED_EDGES` of them at most (of each pattern), and to as large a part of the non-edges.
    times : int
        How often edges are held out, each time others, if the graph knows directions: more for a better fit.
    on_progress : callable
        Given to `HEAT.fit`.

    Returns
    -------
    PatternScore or LinkScore
        By patterns if the graph knows types and directions.

    Raises
    ------
    CalibrationError
        If `share` is out of range, or too few edges or non-edges can be held out.
    """
    if graph.relationships is None:
        return link_score(embed_without(model, graph, share=share, on_progress=on_progress))
    held_out = [
        embed_without(model, graph, share=share, time=time, on_progress=on_progress) for time in range(times)
    ]
    return pattern_score(held_out, graph, on_progress=on_progress)


@one_blas_thread()
def pattern_score(
    held_out: Sequence[HeldOut],
    graph: Graph,
    features: Sequence[str] = FEATURES,
    on_progress: Progress = no_progress,
) -> PatternScore:
    """Fit the score of the common patterns of `graph` to relationships that were held out, once or more.

    Progress is called with ("patterns", patterns done, patterns in all). A CalibrationError if fewer than 10
    relationships are held out in all.
    """
    patterns = patterns_of(graph)
    of_pairs = [PairFeatures(embedding, split.train) for split, embedding in held_out]
    splits = [split for split, _ in held_out]
    samples = {}
    on_progress("patterns", 0, len(patterns))
    for pattern in patterns:
        samples[pattern] = _sample(splits, of_pairs, graph, pattern, features)
        on_progress("patterns", len(samples), len(patterns))
    split, points = held_out[0]
    if sum(int(each.is_link.sum()) for each in samples.values()) < _FEWEST:
        raise CalibrationError(
            f"no link probability: it takes {_FEWEST} relationships of patterns that can be held out"
        )
    direction_width = _direction_width(samples)
    directions = _fit_directions(samples, direction_width)
    logs = _direction_logs(samples, directions, direction_width)
    values = {pattern: np.column_stack((each.values, logs[pattern])) for pattern, each in samples.items()}
    everything = np.concatenate(list(values.values()))
    known = np.isfinite(everything)
    used = known.any(axis=0)
    centre, width = np.zeros(len(used)), np.ones(len(used))
    centre[used] = np.nanmean(everything[:, used], axis=0)
    width[used] = np.nanstd(everything[:, used], axis=0)
    width[width == 0.0] = 1.0
    standard = {pattern: _standardised(each, centre, width) for pattern, each in values.items()}
    whole = np.concatenate(list(standard.values()))
    common, weights = _pooled_weights(
        standard, {pattern: sample.is_link for pattern, sample in samples.items()}
    )
    figures = _figures(samples, standard, direction_width, (centre[-1], width[-1]))
    return PatternScore(
        features=(*features, "direction"),
        centre=tuple(centre.tolist()),
        width=tuple(width.tolist()),
        low=tuple(whole.min(axis=0).tolist()),
        high=tuple(whole.max(axis=0).tolist()),
        common=tuple(common.tolist()),
        weights={str(pattern): tuple(each.tolist()) for pattern, each in weights.items()},
        direction_features=DIRECTION,
        direction_width=tuple(direction_width.tolist()),
        directions={str(pattern): tuple(each.tolist()) for pattern, each in directions.items()},
        figures={str(pattern): each for pattern, each in figures.items()},
        n_edges=len(split.test_edges),
        n_non_edges=len(split.test_non_edges),
        distance_auroc=auroc(
            -pair_distances(points, split.test_edges), -pair_distances(points, split.test_non_edges)
        ),
    )


def _sample(
    splits: Sequence[EdgeSplit],
    of_pairs: Sequence[PairFeatures],
    graph: Graph,
    pattern: Pattern,
    names: Sequence[str],
) -> _Sample:
    """Return held-out relationships of a pattern with their features, and ten other pairs for each."""
    candidates = candidate_pairs(graph, pattern)
    own = np.column_stack(relationships_of(graph, pattern))
    codes = np.sort(own @ (graph.n_nodes, 1))
    parts: list[_Sample] = []
    for number, (split, features) in enumerate(zip(splits, of_pairs, strict=True)):
        links = own[joins_held_out(split, own)]
        links = links[:: max(-(-len(links) // FITTED_EDGES), 1)]
        seed = [number, len(links), len(candidates.sources), len(candidates.targets)]
        others = candidates.other_pairs(codes, _NEGATIVES * len(links), np.random.default_rng(seed))
        pairs = np.concatenate((links, others))
        of_pattern = features.of(pattern)
        of_link = of_pattern.link
        values = [
            of_link[name].pairs(pairs) if name in of_link else np.full(len(pairs), np.nan) for name in names
        ]
        is_link = np.arange(len(pairs)) < len(links)
        direction = None
        if candidates.has_either_way:
            of_direction = of_pattern.direction
            direction = np.column_stack(
                [
                    of_direction[name].pairs(pairs) if name in of_direction else np.zeros(len(pairs))
                    for name in DIRECTION
                ]
            )
        one_way = is_link & ~np.isin(pairs[:, ::-1] @ (graph.n_nodes, 1), codes)
        may_turn = candidates.is_source[pairs[:, 1]] & candidates.is_target[pairs[:, 0]]
        popularity = of_link["target_in"].pairs(pairs)
        parts.append(_Sample(np.column_stack(values), is_link, direction, one_way & may_turn, popularity))
    directions = [each.direction for each in parts if each.direction is not None]
    return _Sample(
        np.concatenate([each.values for each in parts]),
        np.concatenate([each.is_link for each in parts]),
        np.concatenate(directions) if directions else None,
        np.concatenate([each.one_way for each in parts]),
        np.concatenate([each.popularity for each in parts]),
    )


def _direction_width(samples: Mapping[Pattern, _Sample]) -> Array:
    """Return what each feature of a direction is divided by."""
    ways = [each.direction[each.one_way] for each in samples.values() if each.direction is not None]
    everything = np.concatenate([np.zeros((1, len(DIRECTION))), *ways])
    width = np.sqrt(np.mean(everything**2, axis=0))
    width[width == 0.0] = 1.0
    return np.asarray(width)


def _fit_directions(samples: Mapping[Pattern, _Sample], width: Array) -> dict[Pattern, Array]:
    """Return the weights of directions, by pattern."""
    ways = {
        pattern: each.direction[each.one_way] / width
        for pattern, each in samples.items()
        if each.direction is not None
    }
    if not ways:
        return {}
    whole = np.concatenate(list(ways.values()))
    common = _logistic(whole, np.ones(len(whole)), np.ones(len(whole)), np.zeros(len(DIRECTION)))
    return {
        pattern: _logistic(each, np.ones(len(each)), np.ones(len(each)), common)
        for pattern, each in ways.items()
    }


def _direction_logs(
    samples: Mapping[Pattern, _Sample], directions: Mapping[Pattern, Array], width: Array
) -> dict[Pattern, Array]:
    """Return the logarithms of P(direction | link); NaN where there is one way only."""
    logs = {pattern: np.full(len(each.is_link), np.nan) for pattern, each in samples.items()}
    for pattern, weights in directions.items():
        direction = samples[pattern].direction
        assert direction is not None
        logs[pattern] = log_expit(direction / width @ weights)
    return logs


def _standardised(values: Array, centre: Array | float, width: Array | float) -> Array:
    """Return values over their deviation, 0 where a pattern has none."""
    return np.asarray(np.nan_to_num((values - centre) / width))


def _pooled_weights(
    standard: Mapping[Pattern, Array], links: Mapping[Pattern, NDArray[np.bool_]]
) -> tuple[Array, dict[Pattern, Array]]:
    """Return intercept and weights common to all patterns, and those of each pattern."""
    whole = np.concatenate([_with_ones(each) for each in standard.values()])
    is_link = np.concatenate(list(links.values()))
    share = np.concatenate([_even(each) for each in links.values()])
    start = np.zeros(whole.shape[1])
    common = _logistic(whole, is_link, share, start)
    return common, {
        pattern: _logistic(_with_ones(each), links[pattern], _even(links[pattern]), common)
        for pattern, each in standard.items()
    }


def _even(is_link: NDArray[np.bool_]) -> Array:
    """Return weights by which links count 1 each, and all other pairs together as much."""
    n_links, n_others = int(is_link.sum()), int((~is_link).sum())
    return np.where(is_link, 1.0, n_links / max(n_others, 1))


def _with_ones(values: Array) -> Array:
    return np.column_stack((np.ones(len(values)), values))


def _logistic(values: Array, is_one: ArrayLike, share: Array, around: Array) -> Array:
    """Return the weights of a logistic regression, with a ridge on what differs from `around`.

    Newton's method, halving steps that do not lower the loss. The first column hardly pays the ridge if it is
    all ones.
    """
    truth = np.asarray(is_one, dtype=np.float64)
    ridge = np.full(values.shape[1], _RIDGE)
    if len(values) and (values[:, 0] == 1.0).all():
        ridge[0] = 1e-3

    def loss(weights: Array) -> float:
        score = values @ weights
        gap = weights - around
        return float(share @ (np.logaddexp(0.0, score) - truth * score) + 0.5 * ridge @ gap**2)

    weights, now = around.copy(), loss(around)
    for _ in range(50):
        chance = expit(values @ weights)
        slope = values.T @ (share * (chance - truth)) + ridge * (weights - around)
        bend = (values * (share * chance * (1.0 - chance))[:, None]).T @ values + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while size > 1e-6 and (after := loss(weights - size * step)) > now:
            size /= 2.0
        if size <= 1e-6:
            break
        weights = weights - size * step
        if now - after < 1e-10 * abs(now):
            break
        now = after
    return weights


def _figures(
    samples: Mapping[Pattern, _Sample],
    standard: Mapping[Pattern, Array],
    direction_width: Array,
    direction_scale: tuple[float, float],
) -> dict[Pattern, PatternFigures]:
    """Measure each pattern by scores that were fitted without the pairs they are measured on."""
    fold = {pattern: np.arange(len(each.is_link)) % _FOLDS for pattern, each in samples.items()}
    scores = {pattern: np.empty(len(each.is_link)) for pattern, each in samples.items()}
    odds = {pattern: np.zeros(len(each.is_link)) for pattern, each in samples.items()}
    for number in range(_FOLDS):
        others = {pattern: each.part(fold[pattern] != number) for pattern, each in samples.items()}
        directions = _fit_directions(others, direction_width)
        logs = _direction_logs(samples, directions, direction_width)
        values = {
            pattern: np.column_stack((each[:, :-1], _standardised(logs[pattern], *direction_scale)))
            for pattern, each in standard.items()
        }
        fitted = _pooled_weights(
            {pattern: each[fold[pattern] != number] for pattern, each in values.items()},
            {pattern: each.is_link for pattern, each in others.items()},
        )[1]
        for pattern, each in values.items():
            left_out = fold[pattern] == number
            scores[pattern][left_out] = _with_ones(each[left_out]) @ fitted[pattern]
            direction = samples[pattern].direction
            if direction is not None:
                ways = direction[left_out] / direction_width
                odds[pattern][left_out] = ways @ directions[pattern]
    figures = {}
    for pattern, sample in samples.items():
        own, n_links = sample.is_link, int(sample.is_link.sum())
        measured = n_links >= _FEWEST and not own.all()
        accuracy = None
        if sample.direction is not None and sample.one_way.sum() >= _FEWEST:
            accuracy = float(np.mean(odds[pattern][sample.one_way] > 0.0))
        figures[pattern] = PatternFigures(
            n_links=n_links,
            auroc=auroc(scores[pattern][own], scores[pattern][~own]) if measured else None,
            popularity_auroc=auroc(sample.popularity[own], sample.popularity[~own]) if measured else None,
            direction_accuracy=accuracy,
        )
    return figures
