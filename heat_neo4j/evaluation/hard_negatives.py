"""The targets of a source that are hardest to tell from its partners, found without the scores under test.

J. Li et al., "Evaluating Graph Neural Networks for Link Prediction: Current Pitfalls and New Benchmarking"
(NeurIPS 2023): HeaRT.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import adamic_adar, attribute_cosine, paths_of_three
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

HARDEST = 500
"""Targets that each source ranks."""

_DAMPING, _STEPS = 0.85, 20  # of PageRank: what is left after so many steps is .85 ** 20 = .04
_SCORES_PER_BLOCK = 1 << 21


def hard_negatives(
    train: Graph,
    pattern: Pattern | None,
    sources: Rows,
    targets: Rows,
    joined: sparse.csr_array,
    seed: int,
    *,
    hardest: int = HARDEST,
) -> sparse.csr_array:
    """Return the hardest targets of each source, 1 at each, shape (sources, targets).

    A target is as hard as its best place among the targets of the source by Adamic-Adar, by paths of three of
    the type, by personalised PageRank and by the cosine of attributes. Equal ones come in random order, last
    those that no score finds.

    Parameters
    ----------
    train : Graph
        Without the held-out links.
    pattern : Pattern, optional
        Whose sources and targets they are.
    sources, targets : int64 arrays, rising
        Rows of the graph.
    joined : csr_array of shape (sources, targets)
        Not 0 where a pair is linked, held out or not: no such target is a negative.
    seed : int
        Of the random order.
    hardest : int
        How many each source gets, if there are as many.
    """
    generator = np.random.default_rng([seed, 5])
    step = max(_SCORES_PER_BLOCK // train.n_nodes, 1)
    found = []
    scorers = [adamic_adar(train), paths_of_three(train, pattern)]
    cosine = attribute_cosine(train)
    of_pairs = [each.between(sources, targets) for each in (*scorers, *([] if cosine is None else [cosine]))]
    for begin in range(0, len(sources), step):
        own = sources[begin : begin + step]
        end = begin + len(own)
        closed = (joined[begin:end].toarray() != 0) | (own[:, None] == targets)
        scores = [each.rows(begin, end) for each in of_pairs]
        scores.append(personalised_pagerank(train, own)[:, targets])
        hard = np.zeros(closed.shape, dtype=np.bool_)
        for row, places in enumerate(_best_places(scores, closed, generator)):
            hard[row, np.argsort(places, kind="stable")[:hardest]] = True
        found.append(sparse.csr_array((hard & ~closed).astype(np.float64)))
    return sparse.csr_array(sparse.vstack(found, format="csr"))


def _best_places(
    scores: list[Array], closed: NDArray[np.bool_], generator: np.random.Generator
) -> Iterator[Array]:
    """Yield for each row the best place of each target by any of the scores, those that are closed last."""
    n = closed.shape[1]
    for row in range(len(closed)):
        chance = generator.permutation(n)
        best = np.full(n, 2.0 * n)
        for each in scores:
            own = np.where(closed[row], -np.inf, each[row])
            place = np.empty(n)
            place[np.lexsort((chance, -own))] = np.arange(n)
            best = np.minimum(best, np.where(own > 0.0, place, 2.0 * n))
        best[closed[row]] = 3.0 * n
        yield best + chance / n


def personalised_pagerank(graph: Graph, sources: Rows) -> Array:
    """Return the PageRank of every node from each of some sources, shape (sources, N).

    L. Page et al., "The PageRank Citation Ranking: Bringing Order to the Web" (Stanford, 1999).
    """
    links = graph.adjacency.copy()
    links.data = np.ones_like(links.data)
    back = sparse.csr_array(normalize(links, norm="l1").T)
    start = np.zeros((graph.n_nodes, len(sources)))
    start[sources, np.arange(len(sources))] = 1.0 - _DAMPING
    rank = start
    for _ in range(_STEPS):
        rank = start + _DAMPING * (back @ rank)
    return np.asarray(rank.T)
