"""A link score that combines the distance with what the graph itself says of a pair.

Distance alone is what the embedding is for, but on some graphs a plain count of common neighbours predicts
links better. A logistic regression over both, fitted on edges that training did not see, is never asked to
choose: where distance tells little it gets little weight, and the other way round. By products of features
it can say that the distance of two hubs means less than that of two leaves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.postprocessing import with_neighbours
from heat_neo4j.geometry.hyperboloid import centroids, radius
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.attribute_rows import rows_over_deviation
from heat_neo4j.linkpred.baselines import adamic_adar, attribute_cosine, paths_of_three
from heat_neo4j.linkpred.calibration import HeldOut
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.scorers import DirectedScorer, DistanceScorer, NodeScorer
from heat_neo4j.patterns import Pattern

__all__ = ["FEATURES", "FITTED_EDGES", "LinkScore", "link_score"]

Array = NDArray[np.float64]

FITTED_EDGES = 10_000  # held out, that a score is fitted to; of more, every second, third, ... is taken

_STRENGTHS = (0.003, 0.1, 3.0)  # inverse strengths of the ridge on standardised terms
_FOLDS = 5

FEATURES = (
    "distance",  # minus the distance
    "radii",  # their sum
    "degrees",  # the sum of the logarithms of 1 + degree
    "common_neighbours",  # the logarithm of 1 + Adamic-Adar's score
    "paths_of_three",  # the logarithm of 1 + that of paths of length three
    "attributes",  # their cosine
    # For nodes with few relationships: minus the distance of the centroids of each node with its neighbours,
    # and the cosine of scaled attributes, each node's with the mean of its neighbours'.
    "neighbourhood_distance",
    "neighbourhood_attributes",
)


class _Column(NamedTuple):
    """One feature: a scorer, and whether the logarithm of 1 + score is taken."""

    scorer: DirectedScorer
    log: bool

    def shaped(self, scores: Array) -> Array:
        return np.log1p(np.maximum(scores, 0.0)) if self.log else scores


@dataclass(frozen=True)
class LinkScore:
    """Log odds of a link between two nodes, at even odds: a polynomial of degree 2 in `FEATURES`.

    Parameters
    ----------
    features : tuple of str
        The features used, K of `FEATURES`.
    centre, width : tuple of float
        By which each is standardised: (value - centre) / width.
    low, high : tuple of float
        Range of each standardised feature among the held-out pairs. Values outside are taken for its ends: a
        polynomial says nothing about pairs unlike all that it was fitted on.
    intercept : float
        The constant term.
    weights : tuple of float
        K weights of the features, then K (K + 1) / 2 of their products 00, 01, ..., 0(K-1), 11, ...
    n_edges, n_non_edges : int
        Held-out pairs it was fitted on.
    auroc, distance_auroc : float
        How well the score, and the distance alone, tell these pairs apart, in [0, 1]. The score was fitted to
        them, so its own figure flatters a little.
    """

    features: tuple[str, ...]
    centre: tuple[float, ...]
    width: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    intercept: float
    weights: tuple[float, ...]
    n_edges: int
    n_non_edges: int
    auroc: float
    distance_auroc: float

    @property
    def by_distance(self) -> bool:
        """Whether the nearest pairs are the likeliest: never, as other features count, too."""
        return False

    def scorer(self, embedding: Array, graph: Graph) -> DirectedScorer:
        """Return the score of a graph's pairs, from points on the hyperboloid, shape (N, d + 1)."""
        columns = _columns(embedding, graph)
        return _CombinedScorer([columns[name] for name in self.features], self)

    def scorers(self, embedding: Array, graph: Graph) -> Callable[[Pattern | None], DirectedScorer]:
        """Return `scorer`, for a graph whose pairs are all of one kind."""
        scorer = self.scorer(embedding, graph)
        return lambda pattern: scorer

    def log_odds(self, values: Sequence[Array]) -> Array:
        """Return the log odds from the features, one array of any shape for each."""
        standard = [
            np.clip((value - centre) / width, low, high)
            for value, centre, width, low, high in zip(
                values, self.centre, self.width, self.low, self.high, strict=True
            )
        ]
        total = np.full(standard[0].shape, self.intercept)
        for factors, weight in zip(_terms(len(standard)), self.weights, strict=True):
            if weight:
                total += weight * _product(standard, factors)
        return total

    def probability(self, log_odds: ArrayLike) -> Array:
        """Return the probability of a link, at even odds, from the scorer's log odds."""
        return np.asarray(expit(np.asarray(log_odds, dtype=np.float64)))

    def to_dict(self) -> dict[str, Any]:
        """Return the score as JSON data; `from_dict` reads it."""
        entries = asdict(self).items()
        return {name: list(value) if isinstance(value, tuple) else value for name, value in entries}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the score that `to_dict` described."""
        arguments: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return cls(**arguments)


class _CombinedScorer(DirectedScorer):
    """The log odds of a link, at even odds: the scorer of a `LinkScore`."""

    def __init__(self, columns: Sequence[_Column], score: LinkScore) -> None:
        self._columns, self._score = columns, score
        self.n_nodes = columns[0].scorer.n_nodes

    def pairs(self, pairs: NDArray[np.int64]) -> Array:
        return self._score.log_odds([column.shaped(column.scorer.pairs(pairs)) for column in self._columns])

    def rows(self, begin: int, end: int) -> Array:
        values = [column.shaped(column.scorer.rows(begin, end)) for column in self._columns]
        return self._score.log_odds(values)

    def reversed(self) -> DirectedScorer:
        return _CombinedScorer(
            [_Column(each.scorer.reversed(), each.log) for each in self._columns], self._score
        )

    def between(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> DirectedScorer:
        columns = [_Column(each.scorer.between(first, second), each.log) for each in self._columns]
        return _CombinedScorer(columns, self._score)


@one_blas_thread()
def link_score(held_out: HeldOut) -> LinkScore:
    """Fit the score to edges that `embed_without` has held out already."""
    split, points = held_out
    every = -(-len(split.test_edges) // FITTED_EDGES)
    return _fit(_columns(points, split.train), split.test_edges[::every], split.test_non_edges[::every])


def _columns(embedding: Array, graph: Graph) -> dict[str, _Column]:
    around = with_neighbours(graph, 1.0)
    columns = {
        "distance": _Column(DistanceScorer(embedding), log=False),
        "radii": _Column(NodeScorer(radius(embedding), np.add), log=False),
        "degrees": _Column(NodeScorer(np.log1p(graph.degrees), np.add), log=False),
        "common_neighbours": _Column(adamic_adar(graph), log=True),
        "paths_of_three": _Column(paths_of_three(graph), log=True),
    }
    cosine = attribute_cosine(graph)
    if cosine is not None:
        columns["attributes"] = _Column(cosine, log=False)
    columns["neighbourhood_distance"] = _Column(DistanceScorer(centroids(around, embedding)), log=False)
    if graph.attributes is not None and cosine is not None:
        smooth = rows_over_deviation(graph.attributes).unit().summed(around).unit()
        columns["neighbourhood_attributes"] = _Column(smooth.product(smooth), log=False)
    return columns


def _terms(n_features: int) -> list[tuple[int, ...]]:
    """Return the features that each term of the polynomial multiplies."""
    features = range(n_features)
    return [*((place,) for place in features), *combinations_with_replacement(features, 2)]


def _product(standard: Sequence[Array] | Array, factors: tuple[int, ...]) -> Array:
    return standard[factors[0]] if len(factors) == 1 else standard[factors[0]] * standard[factors[1]]


def _fit(columns: Mapping[str, _Column], edges: NDArray[np.int64], others: NDArray[np.int64]) -> LinkScore:
    pairs = np.concatenate((edges, others))
    is_edge = np.repeat((True, False), (len(edges), len(others)))
    values = [column.shaped(column.scorer.pairs(pairs)) for column in columns.values()]
    centre, width = np.mean(values, axis=1), np.std(values, axis=1)
    width[width == 0.0] = 1.0  # the same for all pairs: 0 once standardised
    standard = (np.array(values) - centre[:, None]) / width[:, None]
    terms = np.column_stack([_product(standard, factors) for factors in _terms(len(columns))])
    weights, intercept = _weights(terms, len(columns), is_edge)
    scores, distances = terms @ weights, values[0]
    return LinkScore(
        features=tuple(columns),
        centre=tuple(centre.tolist()),
        width=tuple(width.tolist()),
        low=tuple(standard.min(axis=1).tolist()),
        high=tuple(standard.max(axis=1).tolist()),
        intercept=intercept,
        weights=tuple(weights.tolist()),
        n_edges=len(edges),
        n_non_edges=len(others),
        auroc=auroc(scores[is_edge], scores[~is_edge]),
        distance_auroc=auroc(distances[is_edge], distances[~is_edge]),
    )


def _weights(terms: Array, n_features: int, is_edge: NDArray[np.bool_]) -> tuple[Array, float]:
    """Return the weights of the terms, most of them 0 where there are few pairs, and the intercept.

    All features by a strong ridge are taken, unless single features, a weaker ridge, or all features with
    their products do better in a cross-validation by more than its standard error.
    """
    everything = np.arange(terms.shape[1])
    candidates = [everything[:n_features], everything, *everything[:n_features, None]]
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    best, best_terms, best_gain = None, everything, 0.0
    usual: Array | None = None
    for chosen in candidates:
        for strength in _STRENGTHS:
            # Balanced, so that the odds are even whatever the number of non-edges.
            model = make_pipeline(
                StandardScaler(),
                LogisticRegression(C=strength, class_weight="balanced", solver="newton-cholesky", tol=1e-10),
            )
            scores = cross_val_score(model, terms[:, chosen], is_edge, cv=folds, scoring="roc_auc")
            if usual is None:
                best, best_terms, usual = model, chosen, scores
            gains = scores - usual
            gain = gains.mean()
            if gain > best_gain and gain > gains.std(ddof=1) / np.sqrt(_FOLDS):
                best, best_terms, best_gain = model, chosen, gain
    assert best is not None
    scaler, logistic = best.fit(terms[:, best_terms], is_edge).steps
    weights = np.zeros(terms.shape[1])
    weights[best_terms] = logistic[1].coef_[0] / scaler[1].scale_
    intercept = logistic[1].intercept_[0] - scaler[1].mean_ @ weights[best_terms]
    return weights, float(intercept)
