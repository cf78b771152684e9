"""The stack baseline: a logistic regression over textbook pair features, without our embedding.

It shows whether a trained embedding is worth its time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import (
    BaselineUnavailableError,
    adamic_adar,
    attribute_cosine,
    fastrp,
    paths_of_three,
    steps,
)
from heat_neo4j.linkpred.candidates import candidate_pairs, relationships_of
from heat_neo4j.linkpred.features import Feature
from heat_neo4j.linkpred.scorers import DirectedScorer, NodeScorer, SumScorer, VectorScorer
from heat_neo4j.linkpred.splits import joins_held_out, latest_or_random
from heat_neo4j.patterns import Pattern

Rows = NDArray[np.int64]

_SHARE = 0.1  # held-out share of the links, to fit to
_MOST_FITTED = 5_000
_FEWEST_FITTED = 10
_OTHERS = 5  # unlinked pairs per link
_COMPONENTS = 128  # FastRP dimensions


@one_blas_thread()
def stack(graph: Graph, pattern: Pattern | None = None, *, seed: int = 0) -> DirectedScorer:
    """Score by a logistic regression over textbook features, fitted to a held-out tenth of the links.

    Features: Adamic-Adar and FastRP over all types, FastRP and cosine of the attributes, and paths of three
    and degrees by the type. The latest links are held out if links have times. Raises
    BaselineUnavailableError if fewer than 10 links of the pattern are held out.
    """
    try:
        split = latest_or_random(graph, _SHARE, seed)
    except ValueError as error:
        raise BaselineUnavailableError(str(error)) from error
    links = split.test_edges
    if pattern is not None:
        own = np.column_stack(relationships_of(graph, pattern))
        links = own[joins_held_out(split, own)]
    if len(links) < _FEWEST_FITTED:
        raise BaselineUnavailableError(f"fewer than {_FEWEST_FITTED} links to fit to")
    generator = np.random.default_rng([seed, 4])
    links = links[np.sort(generator.permutation(len(links))[:_MOST_FITTED])]
    others = _others(graph, pattern, _OTHERS * len(links), generator)
    if not len(others):
        raise BaselineUnavailableError("every pair of the pattern is linked")
    pairs = np.concatenate((links, others))
    values = np.column_stack([each.pairs(pairs) for each in _textbook(split.train, pattern, seed)])
    scaler = StandardScaler().fit(values)
    model = LogisticRegression(max_iter=1_000)
    model.fit(scaler.transform(values), np.arange(len(pairs)) < len(links))
    weights = model.coef_[0] / scaler.scale_
    return SumScorer(*_textbook(graph, pattern, seed), weights=weights.tolist())


def _others(graph: Graph, pattern: Pattern | None, wanted: int, generator: np.random.Generator) -> Rows:
    candidates = candidate_pairs(graph, pattern)
    linked = np.column_stack(steps(graph, pattern)[0].nonzero()).astype(np.int64)
    return candidates.other_pairs(linked @ (graph.n_nodes, 1), wanted, generator)


def _textbook(graph: Graph, pattern: Pattern | None, seed: int) -> Iterator[DirectedScorer]:
    out, back = steps(graph, pattern)
    nothing = np.zeros(graph.n_nodes)
    yield Feature(adamic_adar(graph), log=True)
    yield Feature(paths_of_three(graph, pattern), log=True)
    yield NodeScorer(np.log1p(np.diff(out.indptr)), np.add, nothing)
    yield NodeScorer(nothing, np.add, np.log1p(np.diff(back.indptr)))
    yield VectorScorer(fastrp(graph, _COMPONENTS, seed))
    cosine = attribute_cosine(graph)
    if cosine is not None:
        yield VectorScorer(fastrp(graph, _COMPONENTS, seed, attributes=True))
        yield cosine
