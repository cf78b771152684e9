"""The methods that the shelf compares: the product's score, and textbook methods without an embedding.

Each takes the training graph and a seed, and returns how it scores the pairs of a pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from heat_neo4j import HEAT
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError
from heat_neo4j.linkpred.candidates import ends_of, relationships_of
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.scorers import (
    DirectedScorer,
    DistanceScorer,
    NodeScorer,
    SparseProductScorer,
    VectorScorer,
)
from heat_neo4j.patterns import Pattern
from tests.benchmarks.shelf.dataset import Pairs, held_out_at_random, without
from tests.benchmarks.shelf.figures import Fitted, Scorer

__all__ = [
    "METHODS",
    "Method",
    "attribute_neighbours",
    "distance",
    "ease",
    "item_neighbours",
    "link_score_method",
    "popularity",
    "rp3beta",
    "stack",
]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Method = Callable[[Graph, int], Fitted]

COMPONENTS = 128  # of FastRP
_HELD_OUT = 0.1  # of a pattern's links, which the stack is fitted on
_MOST_FITTED = 5_000
_NEGATIVES = 5  # for each of them
_MOST_ITEMS = 10_000  # targets of item-based scores, whose weights are a dense square
_EASE_RIDGE, _RP3_BETA = 300.0, 0.6


def link_score_method(graph: Graph, seed: int) -> Fitted:
    """Return the product's score at its defaults."""
    model = HEAT(random_state=seed).fit(graph)
    scorers = fit_link_score(model, graph).scorers(model.embedding_, graph)
    return lambda pattern, backwards: _dense(scorers(pattern), backwards)


def distance(graph: Graph, seed: int) -> Fitted:
    """Return the negative hyperbolic distance, at the product's defaults."""
    scorer = DistanceScorer(HEAT(random_state=seed).fit(graph).embedding_)
    return lambda pattern, backwards: _dense(scorer, backwards)


def popularity(graph: Graph, seed: int) -> Fitted:
    """Return the number of links of the type that each candidate has."""

    def fitted(pattern: Pattern | None, backwards: bool) -> Scorer:
        links = _links(graph, pattern)
        counts = np.asarray(links.sum(axis=1 if backwards else 0), dtype=np.float64).ravel()
        return lambda rows: np.tile(counts, (len(rows), 1))

    return fitted


def stack(graph: Graph, seed: int) -> Fitted:
    """Return a logistic regression over textbook features, fitted on a held-out tenth of a pattern's links.

    Features: Adamic-Adar over all types, paths of three by the type, degrees of both ends by the type, FastRP
    of all types with and without attributes, and the cosine of attributes.
    """

    def fitted(pattern: Pattern | None, backwards: bool) -> Scorer:
        random = np.random.default_rng(seed)
        links = _links(graph, pattern)
        train, pairs, is_link = _training_pairs(graph, pattern, links, random)
        values = np.column_stack([each.pairs(pairs) for each in _textbook(train, pattern, seed)])
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(values, is_link)
        weights = model[1].coef_[0] / model[0].scale_
        features = [_dense(each, backwards) for each in _textbook(graph, pattern, seed)]

        def scores(rows: Rows) -> Array:
            total = np.zeros((len(rows), graph.n_nodes))
            for weight, each in zip(weights, features, strict=True):
                total += weight * each(rows)
            return total

        return scores

    return fitted


def attribute_neighbours(graph: Graph, seed: int) -> Fitted:
    """Return the links of the 10 nodes with links whose attributes are most alike, weighed by the cosine."""
    if graph.attributes is None:
        raise BaselineUnavailableError("no attributes")
    unit = sparse.csr_array(normalize(sparse.csr_array(graph.attributes)))

    def fitted(pattern: Pattern | None, backwards: bool) -> Scorer:
        links = _links(graph, pattern)
        links = sparse.csr_array(links.T) if backwards else links
        linked = np.flatnonzero(np.diff(links.indptr))
        columns, own = sparse.csr_array(unit[linked].T), links[linked]

        def scores(rows: Rows) -> Array:
            cosines = (unit[rows] @ columns).toarray()
            cosines[rows[:, None] == linked] = 0.0
            tenth = -np.partition(-cosines, 9, axis=1)[:, [9]] if len(linked) > 10 else 0.0
            nearest = sparse.csr_array(np.where(cosines >= tenth, cosines, 0.0))
            return (nearest @ own).toarray()

        return scores

    return fitted


def ease(graph: Graph, seed: int) -> Fitted:
    """Return EASE: the linear item-to-item weights that best restore each source's links.

    H. Steck, "Embarrassingly Shallow Autoencoders for Sparse Data" (WWW 2019).
    """

    def weights(links: sparse.csr_array) -> Array:
        gram = (links.T @ links).toarray()
        inverse = np.linalg.inv(gram + _EASE_RIDGE * np.eye(len(gram)))
        found = inverse / -np.diag(inverse)
        np.fill_diagonal(found, 0.0)
        return np.asarray(found)

    return _item_based(graph, weights)


def rp3beta(graph: Graph, seed: int) -> Fitted:
    """Return RP3beta: the chance that three random steps end at a target, over its popularity.

    B. Paudel et al., "Updatable, Accurate, Diverse, and Scalable Recommendations" (ACM TiiS 2017).
    """

    def weights(links: sparse.csr_array) -> Array:
        steps = normalize(sparse.csr_array(links.T), norm="l1") @ normalize(links, norm="l1")
        popular = np.maximum(np.asarray(links.sum(axis=0)).ravel(), 1)
        return np.asarray(steps.toarray() / popular**_RP3_BETA)

    return _item_based(graph, weights)


def item_neighbours(graph: Graph, seed: int) -> Fitted:
    """Return item-based neighbours: cosines of targets by their sources, added up."""

    def weights(links: sparse.csr_array) -> Array:
        unit = sparse.csr_array(normalize(links, axis=0))
        return (unit.T @ unit).toarray()

    return _item_based(graph, weights)


METHODS: Mapping[str, Method] = {
    "link score": link_score_method,
    "distance": distance,
    "popularity": popularity,
    "stack": stack,
    "attribute neighbours": attribute_neighbours,
    "item neighbours": item_neighbours,
    "RP3beta": rp3beta,
    "EASE": ease,
}
"""All methods by the name that the table has."""


def _item_based(graph: Graph, weights_of: Callable[[sparse.csr_array], Array]) -> Fitted:
    """Return the product of each source's links and weights between targets."""

    def fitted(pattern: Pattern | None, backwards: bool) -> Scorer:
        if pattern is None or pattern.source == pattern.target:
            raise BaselineUnavailableError("sources and targets are the same nodes")
        sources, targets = (np.flatnonzero(each) for each in ends_of(graph, pattern))
        if len(targets) > _MOST_ITEMS:
            raise BaselineUnavailableError(f"more than {_MOST_ITEMS:,} targets")
        links = _links(graph, pattern)[:, targets]
        weights = weights_of(links[sources])
        assert not backwards, "knowledge graphs have no item-based scores"

        def scores(rows: Rows) -> Array:
            total = np.zeros((len(rows), graph.n_nodes))
            total[:, targets] = links[rows] @ weights
            return total

        return scores

    return fitted


def _dense(scorer: DirectedScorer, backwards: bool) -> Scorer:
    """Return the scorer as the figures take it."""
    way = scorer.reversed() if backwards else scorer

    def scores(rows: Rows) -> Array:
        # `between` would copy what belongs to all nodes for each block.
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        return np.concatenate([way.rows(int(run[0]), int(run[-1]) + 1) for run in runs])

    return scores


def _links(graph: Graph, pattern: Pattern | None) -> sparse.csr_array:
    """Return a 1 for each link of the pattern's type; of an undirected graph both ways."""
    if pattern is not None:
        assert graph.relationships is not None
        return graph.relationships.matrix(pattern.type, graph.n_nodes)
    links = graph.adjacency.copy()
    links.data[:] = 1.0
    return links


def _training_pairs(
    graph: Graph, pattern: Pattern | None, links: sparse.csr_array, random: np.random.Generator
) -> tuple[Graph, Pairs, NDArray[np.bool_]]:
    """Return the graph without a tenth of the pattern's links, these, and random pairs of the pattern."""
    n = graph.n_nodes
    ends = relationships_of(graph, pattern) if pattern else sparse.triu(links, k=1).nonzero()
    _, held = held_out_at_random({"": np.column_stack(ends).astype(np.int64)}, n, random, _HELD_OUT)
    sources, targets = ends_of(graph, pattern) if pattern else (np.ones(n, np.bool_), np.ones(n, np.bool_))
    fitted = random.permutation(held[""])[:_MOST_FITTED]
    drawn = np.column_stack(
        [random.choice(np.flatnonzero(each), _NEGATIVES * len(fitted)) for each in (sources, targets)]
    )
    others = drawn[(drawn[:, 0] != drawn[:, 1]) & (np.asarray(links[drawn[:, 0], drawn[:, 1]]).ravel() == 0)]
    train = without(graph, pattern, held[""])
    return train, np.concatenate((fitted, others)), np.arange(len(fitted) + len(others)) < len(fitted)


def _textbook(graph: Graph, pattern: Pattern | None, seed: int) -> Iterator[DirectedScorer]:
    n, out = graph.n_nodes, _links(graph, pattern)
    back, around = sparse.csr_array(out.T), _links(graph, None)
    sent, received = (np.asarray(each.sum(axis=1), dtype=np.float64).ravel() for each in (out, back))
    damping = sparse.diags_array(1 / np.log(np.maximum(graph.degrees, 2)))
    yield _Log(SparseProductScorer(sparse.csr_array(around @ damping), around))
    halves = [sparse.diags_array(1 / np.sqrt(np.maximum(each, 1))) for each in (received, sent)]
    yield _Log(
        SparseProductScorer(sparse.csr_array(out @ halves[0]), back, sparse.csr_array(back @ halves[1]))
    )
    yield NodeScorer(np.log1p(sent), np.add, np.zeros(n))
    yield NodeScorer(np.zeros(n), np.add, np.log1p(received))
    random = np.random.default_rng(seed)
    yield VectorScorer(
        _fastrp(around, random.choice((-1.0, 0.0, 1.0), (n, COMPONENTS), p=(1 / 6, 2 / 3, 1 / 6)))
    )
    if graph.attributes is not None:
        unit = sparse.csr_array(normalize(sparse.csr_array(graph.attributes)))
        start = unit @ (random.choice((-1.0, 1.0), (unit.shape[1], COMPONENTS)) / np.sqrt(COMPONENTS))
        yield VectorScorer(_fastrp(around, normalize(start)))
        yield SparseProductScorer(unit, unit)


def _fastrp(around: sparse.csr_array, start: Array) -> Array:
    """Return unit vectors that sum what none to three steps reach: FastRP.

    H. Chen et al., "Fast and Accurate Network Embeddings via Very Sparse Random Projection" (CIKM 2019).
    """
    step = normalize(around, norm="l1")
    total, vectors = normalize(start), start
    for _ in range(3):
        vectors = step @ vectors
        total += normalize(vectors)
    return np.asarray(normalize(total))


class _Log(DirectedScorer):
    """The logarithm of 1 + another score."""

    def __init__(self, scorer: DirectedScorer) -> None:
        self._scorer, self.n_nodes = scorer, scorer.n_nodes

    def pairs(self, pairs: Pairs) -> Array:
        return np.log1p(self._scorer.pairs(pairs))

    def rows(self, begin: int, end: int) -> Array:
        return np.log1p(self._scorer.rows(begin, end))

    def reversed(self) -> _Log:
        return _Log(self._scorer.reversed())

    def between(self, first: Rows, second: Rows) -> _Log:
        return _Log(self._scorer.between(first, second))
