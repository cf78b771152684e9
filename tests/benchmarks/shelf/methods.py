"""The methods that the shelf compares: the product's score, and textbook methods without an embedding.

Each takes the training graph and a seed, and returns how it scores the pairs of a pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from heat_neo4j import HEAT
from heat_neo4j.evaluation import link_tasks
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError, steps
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.scorers import DirectedScorer, DistanceScorer
from heat_neo4j.patterns import Pattern
from tests.benchmarks.shelf.figures import Fitted, Scorer

__all__ = [
    "METHODS",
    "Method",
    "attribute_neighbours",
    "by_distance",
    "by_link_score",
    "distance",
    "link_score_method",
    "textbook",
]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Method = Callable[[Graph, int], Fitted]


def link_score_method(graph: Graph, seed: int, **parameters: Any) -> Fitted:
    """Return the product's score, at its defaults unless parameters are given."""
    return by_link_score(HEAT(random_state=seed, **parameters).fit(graph), graph)


def by_link_score(model: HEAT, graph: Graph) -> Fitted:
    """Return a score that is fitted to the graph, with the points of a model of it."""
    scorers = fit_link_score(model, graph).scorers(model.embedding_, graph)
    return lambda pattern, backwards: _dense(scorers(pattern), backwards)


def distance(graph: Graph, seed: int, **parameters: Any) -> Fitted:
    """Return the negative hyperbolic distance, at the product's defaults unless parameters are given."""
    return by_distance(HEAT(random_state=seed, **parameters).fit(graph))


def by_distance(model: HEAT) -> Fitted:
    """Return the negative hyperbolic distance of a model's points."""
    scorer = DistanceScorer(model.embedding_)
    return lambda pattern, backwards: _dense(scorer, backwards)


def attribute_neighbours(graph: Graph, seed: int) -> Fitted:
    """Return the links of the 10 nodes with links whose attributes are most alike, weighed by the cosine."""
    if graph.attributes is None:
        raise BaselineUnavailableError("no attributes")
    unit = sparse.csr_array(normalize(sparse.csr_array(graph.attributes)))

    def fitted(pattern: Pattern | None, backwards: bool) -> Scorer:
        links = steps(graph, pattern)[int(backwards)]
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


def textbook(method: link_tasks.Method) -> Method:
    """Return a baseline of the product, its parameters chosen for each training graph and pattern."""

    def fitted_on(graph: Graph, seed: int) -> Fitted:
        scorers = method(graph, seed)
        return lambda pattern, backwards: _dense(scorers(pattern), backwards)

    return fitted_on


METHODS: Mapping[str, Method] = {
    "link score": link_score_method,
    "distance": distance,
    "attribute neighbours": attribute_neighbours,
    **{name: textbook(method) for name, method in link_tasks.link_methods(HEAT().n_components).items()},
}
"""All methods by the name that the table has."""


def _dense(scorer: DirectedScorer, backwards: bool) -> Scorer:
    """Return the scorer as the figures take it."""
    way = scorer.reversed() if backwards else scorer

    def scores(rows: Rows) -> Array:
        # `between` would copy what belongs to all nodes for each block.
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        return np.concatenate([way.rows(int(run[0]), int(run[-1]) + 1) for run in runs])

    return scores
