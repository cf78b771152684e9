"""Baselines without our embedding: recommenders, and a stack of textbook features.

Recommenders score a target by the source's existing targets. Each takes the training graph and a pattern and
uses relationships of the pattern's type, whatever labels. Without a pattern, all edges count and a pair's
score is the sum over both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from heat_neo4j._utils.errors import errors_as
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
from heat_neo4j.linkpred.scorers import (
    DirectedScorer,
    NodeScorer,
    SparseProductScorer,
    SumScorer,
    VectorScorer,
)
from heat_neo4j.linkpred.splits import joins_held_out, latest_or_random
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]

_MOST_ITEMS = 3_000  # maximum targets for EASE, which inverts a dense targets x targets matrix
_MOST_STEPS = 1_000_000_000  # maximum target-source-target paths; more would take minutes
_ENTRIES = 4_000_000  # similarities in memory at a time
# Of the stack:
_SHARE = 0.1  # held-out share of the links, to fit to
_MOST_FITTED = 5_000
_FEWEST_FITTED = 10
_OTHERS = 5  # unlinked pairs per link
_COMPONENTS = 128  # FastRP dimensions


def item_neighbours(
    graph: Graph,
    pattern: Pattern | None = None,
    *,
    shrinkage: float = 0.0,
    neighbours: int = 100,
) -> DirectedScorer:
    """Score by the summed cosine similarity of the target to the source's existing targets.

    The similarity of two targets with a and b sources, c in common, is c / (sqrt(a b) + `shrinkage`). Each
    target keeps its nearest `neighbours`. Raises BaselineUnavailableError if too many pairs of targets have
    sources in common.

    B. Sarwar et al., "Item-based collaborative filtering recommendation algorithms" (WWW 2001).
    """
    out, back = steps(graph, pattern)
    lengths = np.sqrt(np.diff(back.indptr))

    def cosines(common: Array, target: NDArray[np.int64], other: NDArray[np.int64]) -> Array:
        return np.asarray(common / (lengths[target] * lengths[other] + shrinkage))

    return _item_based(out, back, back, cosines, neighbours, pattern)


def rp3beta(
    graph: Graph,
    pattern: Pattern | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.6,
    neighbours: int = 100,
) -> DirectedScorer:
    """Score by three-step random walks from the source to the target, divided by the target's popularity.

    Step probabilities are raised to the power `alpha`, the target's number of sources to `beta`. Each target
    keeps its nearest `neighbours`. Raises BaselineUnavailableError as `item_neighbours` does.

    B. Paudel et al., "Updatable, Accurate, Diverse, and Scalable Recommendations for Interactive
    Applications", ACM TiiS 7 (2017).
    """
    out, back = steps(graph, pattern)
    of_source, of_target = (np.maximum(np.diff(way.indptr), 1).astype(np.float64) for way in (out, back))
    walked = sparse.csr_array(back @ sparse.diags_array(of_source**-alpha))

    def chances(ways: Array, target: NDArray[np.int64], other: NDArray[np.int64]) -> Array:
        return np.asarray(ways * of_target[other] ** -alpha * of_target[target] ** -beta)

    return _item_based(out, back, walked, chances, neighbours, pattern)


@one_blas_thread()
def ease(graph: Graph, pattern: Pattern | None = None, *, ridge: float = 100.0) -> DirectedScorer:
    """Score by the linear item-item weights that best reconstruct each source's links.

    Raises BaselineUnavailableError if more than 3,000 targets have a link, as their dense Gram matrix is
    inverted.

    H. Steck, "Embarrassingly Shallow Autoencoders for Sparse Data" (WWW 2019).
    """
    out, back = steps(graph, pattern)
    items = np.flatnonzero(np.diff(back.indptr))
    if len(items) > _MOST_ITEMS:
        raise BaselineUnavailableError(f"{len(items):,} targets: more than {_MOST_ITEMS:,} take too long")
    links = sparse.csr_array(out[:, items])
    inverse = np.linalg.inv((links.T @ links).toarray() + ridge * np.eye(len(items)))
    weights = inverse / -np.diag(inverse)  # column item predicted from row items
    np.fill_diagonal(weights, 0.0)
    by_target = sparse.csr_array(weights.T)
    placed = sparse.csr_array(
        (by_target.data, items[by_target.indices], _rows_at(items, by_target.indptr, out.shape[0])),
        shape=out.shape,
    )
    return _scored(out, placed, pattern)


def _item_based(
    out: sparse.csr_array,
    back: sparse.csr_array,
    walked: sparse.csr_array,
    weigh: Callable[[Array, NDArray[np.int64], NDArray[np.int64]], Array],
    neighbours: int,
    pattern: Pattern | None,
) -> DirectedScorer:
    """Score by pairwise target weights; each target keeps its largest `neighbours`.

    `weigh` turns the entries of ``walked @ out`` into weights.
    """
    of_source = np.diff(out.indptr).astype(np.int64)
    if int((of_source**2).sum()) > _MOST_STEPS:
        raise BaselineUnavailableError("too many pairs of targets have sources in common")
    each = np.concatenate(([0], np.cumsum(back @ of_source.astype(np.float64))))  # steps up to each target
    kept, begin = [], 0
    while begin < back.shape[0]:
        end = max(int(np.searchsorted(each, each[begin] + _ENTRIES, side="right")) - 1, begin + 1)
        block = sparse.coo_array(walked[begin:end] @ out)
        target, other = block.row + begin, block.col
        apart = target != other
        target, other = target[apart], other[apart]
        kept.append(_largest(weigh(block.data[apart], target, other), target, other, neighbours))
        begin = end
    value, target, other = (np.concatenate(part) for part in zip(*kept, strict=True))
    return _scored(out, sparse.csr_array((value, (target, other)), shape=out.shape), pattern)


def _largest(
    value: Array, row: NDArray[np.int64], column: NDArray[np.int64], most: int
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return the `most` largest entries of each row; ties go to the lower column."""
    order = np.lexsort((column, -value, row))
    value, row, column = value[order], row[order], column[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    return value[place < most], row[place < most], column[place < most]


def _scored(out: sparse.csr_array, by_target: sparse.csr_array, pattern: Pattern | None) -> DirectedScorer:
    scorer = SparseProductScorer(out, by_target)
    return scorer if pattern is not None else SumScorer(scorer, scorer.reversed())


def _rows_at(rows: NDArray[np.int64], indptr: NDArray[np.integer[Any]], n: int) -> NDArray[np.int64]:
    """Return the CSR index pointer after placing a smaller array's rows at `rows` among `n` rows."""
    counts = np.zeros(n + 1, dtype=np.int64)
    counts[rows + 1] = np.diff(indptr)
    return np.cumsum(counts)


@one_blas_thread()
def stack(graph: Graph, pattern: Pattern | None = None, *, seed: int = 0) -> DirectedScorer:
    """Score by a logistic regression over textbook features, fitted to a held-out tenth of the links.

    It shows whether a trained embedding is worth its time.
    Features: Adamic-Adar and FastRP over all types, FastRP and cosine of the attributes, and paths of three
    and degrees by the type. The latest links are held out if links have times. Raises
    BaselineUnavailableError if fewer than 10 links of the pattern are held out.
    """
    with errors_as(BaselineUnavailableError):
        split = latest_or_random(graph, _SHARE, seed)
    links = split.test_edges
    if pattern is not None:
        own = np.column_stack(relationships_of(graph, pattern))
        links = own[joins_held_out(split, own)]
    if len(links) < _FEWEST_FITTED:
        raise BaselineUnavailableError(f"fewer than {_FEWEST_FITTED} links to fit to")
    generator = np.random.default_rng([seed, 4])
    links = links[np.sort(generator.permutation(len(links))[:_MOST_FITTED])]
    linked = np.column_stack(steps(graph, pattern)[0].nonzero()).astype(np.int64) @ (graph.n_nodes, 1)
    others = candidate_pairs(graph, pattern).other_pairs(linked, _OTHERS * len(links), generator)
    if not len(others):
        raise BaselineUnavailableError("every pair of the pattern is linked")
    pairs = np.concatenate((links, others))
    values = np.column_stack([each.pairs(pairs) for each in _textbook(split.train, pattern, seed)])
    scaler = StandardScaler().fit(values)
    model = LogisticRegression(max_iter=1_000)
    model.fit(scaler.transform(values), np.arange(len(pairs)) < len(links))
    weights = model.coef_[0] / scaler.scale_
    return SumScorer(*_textbook(graph, pattern, seed), weights=weights.tolist())


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
