"""Links that are missing: the nearest pairs of nodes that no relationship joins, with a probability.

Pairs are unordered. The search is exact, in O(N k) memory and with the same bits for any number of threads.
By a combined score the best-scored pairs are searched instead: up to `SCORED_NODES` nodes by
looking at all pairs, beyond among those that are near each other or have much in common.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from heat_neo4j._kernels.sweeps import IS_SOURCE, IS_TARGET, NO_PARTNER
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import WorkerThreads, resolve_threads
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.embedding.estimator import HEAT
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.geometry.search import Candidates, PartnerSearch, columns_of, nearest_pairs
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import adamic_adar
from heat_neo4j.linkpred.calibration import CalibrationError, LinkProbability, fit_link_probability
from heat_neo4j.linkpred.combined_score import LinkScore, fit_link_score
from heat_neo4j.linkpred.scorers import PairScorer, SparseProductScorer

__all__ = [
    "BLOCK_ENTRIES",
    "BLOCK_ROWS",
    "EACH",
    "SCORED_NODES",
    "CalibrationError",
    "LinkProbability",
    "LinkScore",
    "PredictedLinks",
    "fit_link_probability",
    "fit_link_score",
    "predict_links",
]

SCORED_NODES = 20_000  # up to so many a combined score is taken of all pairs; of more it would take hours
# A common neighbour that has more shortlists no pair: all pairs of a hub's neighbours are too many.
_COMMON_NEIGHBOURS = 1_000
BLOCK_ENTRIES = 1 << 22  # scores held at a time
EACH = 200  # partners of a node by distance, and as many by what they have in common
BLOCK_ROWS = 2048  # nodes whose partners are held at a time

Codes = NDArray[np.int64]  # pairs (u, v) of M nodes as u M + v


@dataclass(frozen=True, eq=False)
class PredictedLinks:
    """Absent pairs, nearest first; or best-scored first, where a combined score ranked them.

    Parameters
    ----------
    source, target : int64 arrays of shape (L,)
        Rows of the graph, source < target; no pair comes twice.
    distance : float64 array of shape (L,)
        Hyperbolic distance; rising, with ties in order of source, then target, if distance ranked the pairs.
    probability : float64 array of shape (L,), optional
        What `calibration` or `score` gives; None without either.
    calibration : LinkProbability, optional
        What turned distances into probabilities.
    score : LinkScore, optional
        What ranked the pairs, and gave the probabilities, in place of the distance.
    shortlisted : bool
        Whether only pairs that are near, or have much in common, were scored.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    distance: NDArray[np.float64]
    probability: NDArray[np.float64] | None = None
    calibration: LinkProbability | None = None
    score: LinkScore | None = None
    shortlisted: bool = False

    @property
    def rank(self) -> NDArray[np.int64]:
        """1 for the first pair, 2 for the next, and so on; shape (L,)."""
        return np.arange(1, len(self) + 1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.source)


def predict_links(
    model: HEAT | NDArray[np.float64],
    graph: Graph,
    k: int | None = 10,
    *,
    top: int | None = None,
    source_label: str | None = None,
    target_label: str | None = None,
    min_degree: int = 0,
    max_degree: int | None = None,
    probability: LinkProbability | None = None,
    score: LinkScore | None = None,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> PredictedLinks:
    """Return the nearest, or best-scored, pairs of nodes that no relationship of `graph` joins.

    Parameters
    ----------
    model : HEAT or float64 array of shape (N, d + 1)
        A fitted estimator, or points on the hyperboloid (time last), one per node.
    graph : Graph
        The graph whose relationships are to be left out, as is each node with itself.
    k : int, optional
        Partners per node: a pair is kept if either end is among the k nearest of the other. None sets no
        limit per node; `top` must then be given.
    top : int, optional
        Keep only the nearest `top` pairs.
    source_label, target_label : str, optional
        Keep pairs one end of which carries `source_label` and the other `target_label`, either way round.
    min_degree, max_degree : int, optional
        Leave out nodes with fewer or with more neighbours in `graph`.
    probability : LinkProbability, optional
        From `fit_link_probability`; fills in the probabilities.
    score : LinkScore, optional
        From `fit_link_score`; ranks the pairs and fills in the probabilities. Not with `probability`. Between
        more than `SCORED_NODES` nodes only the 200 nearest partners of a node are scored, and the 200 with
        most neighbours in common, of those that have 1,000 neighbours at most.
    n_threads : int, optional
        Threads to use; all cores when None. The result is the same to the bit.
    on_progress : callable
        Called with ("links", nodes done, nodes considered).

    Returns
    -------
    PredictedLinks

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range, a label is unknown, or the points do not fit the graph.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    """
    _check_limits(k, top, min_degree, max_degree)
    if probability is not None and score is not None:
        raise ValueError("give probability or score, not both: a score has probabilities of its own")
    threads = resolve_threads(n_threads)
    roles = _roles(graph, source_label, target_label)
    suited = (roles != 0) & (graph.degrees >= min_degree)
    if max_degree is not None:
        suited &= graph.degrees <= max_degree
    nodes = np.flatnonzero(suited)
    if not isinstance(model, np.ndarray):
        check_is_fitted(model, "embedding_")
        model = model.embedding_
    candidates = _candidates(model, graph, nodes, roles[nodes])
    with WorkerThreads(threads) as team:
        if score is None:
            pairs = nearest_pairs(candidates, k, top, team, on_progress)
            return PredictedLinks(
                source=nodes[pairs.source],
                target=nodes[pairs.target],
                distance=pairs.distance,
                probability=None if probability is None else probability(pairs.distance),
                calibration=probability,
            )
        scorer = score.scorer(model, graph)
        shortlisted = len(nodes) > SCORED_NODES
        if shortlisted:
            common = adamic_adar(graph, most_neighbours=_COMMON_NEIGHBOURS)
            best = _best_of_shortlist(scorer, common, candidates, nodes, k, top, team, on_progress)
        else:
            best = _best_absent(scorer, graph, nodes, candidates.roles, k, top, on_progress)
    return PredictedLinks(
        source=best.pairs[:, 0],
        target=best.pairs[:, 1],
        distance=pair_distances(model, best.pairs),
        probability=score.probability(best.scores),
        score=score,
        shortlisted=shortlisted,
    )


def _check_limits(k: int | None, top: int | None, min_degree: int, max_degree: int | None) -> None:
    if k is not None:
        check_integer("k", k, minimum=1)
    elif top is None:
        raise ValueError("k or top must be given: without either every absent pair would be returned")
    if top is not None:
        check_integer("top", top, minimum=1)
    check_integer("min_degree", min_degree, minimum=0)
    if max_degree is not None:
        check_integer("max_degree", max_degree, minimum=min_degree)


def _candidates(
    embedding: NDArray[np.float64], graph: Graph, nodes: NDArray[np.int64], roles: NDArray[np.uint8]
) -> Candidates:
    spatial, time = columns_of(embedding, graph.n_nodes)
    adjacency = graph.adjacency
    if len(nodes) < graph.n_nodes:
        adjacency = adjacency[nodes][:, nodes]
        spatial, time = np.ascontiguousarray(spatial[:, nodes]), time[nodes]
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int32)
    return Candidates(spatial, time, indptr, indices, roles)


def _roles(graph: Graph, source_label: str | None, target_label: str | None) -> NDArray[np.uint8]:
    """Return, per node, which ends of a pair it may be; either, where no label is given."""
    roles = np.zeros(graph.n_nodes, dtype=np.uint8)
    for name, label, role in (
        ("source_label", source_label, IS_SOURCE),
        ("target_label", target_label, IS_TARGET),
    ):
        if label is None:
            roles |= role
        elif label in graph.labels:
            roles[graph.labels[label]] |= role
        else:
            labels = ", ".join(sorted(graph.labels)) or "none"
            raise ValueError(f"{name} {label!r} is not a label of the graph; it has: {labels}")
    return roles


class _ScoredPairs(NamedTuple):
    """Unordered pairs of rows, shape (L, 2) with u < v, and their scores, shape (L,); best first."""

    pairs: NDArray[np.int64]
    scores: NDArray[np.float64]


def _best_absent(
    scorer: PairScorer,
    graph: Graph,
    nodes: NDArray[np.int64],
    roles: NDArray[np.uint8],
    k: int | None,
    top: int | None,
    on_progress: Progress,
) -> _ScoredPairs:
    """Return the best-scored pairs that no edge joins; O(N^2) scores, of which one block is held.

    Either end of a pair is among the `k` best of the other; of all only the best `top`, ties in order of the
    rows. Ends are rows of `nodes`, rising, with the `roles` that each may have.
    """
    n = graph.n_nodes
    width = min(k or top or 0, max(len(nodes) - 1, 0))
    codes = np.empty(0, dtype=np.int64)
    done = 0
    on_progress("links", done, len(nodes))
    for begin in range(0, n if width else 0, max(BLOCK_ENTRIES // n, 1)):
        end = min(begin + max(BLOCK_ENTRIES // n, 1), n)
        members = slice(*np.searchsorted(nodes, (begin, end)))
        block = nodes[members]
        if not len(block):
            continue
        allowed = _allowed(graph, nodes, roles, members)
        scores = np.where(allowed, scorer.rows(begin, end)[block - begin][:, nodes], -np.inf)
        partner = np.argsort(-scores, axis=1, kind="stable")[:, :width]
        row, place = np.nonzero(np.take_along_axis(allowed, partner, axis=1))
        u, v = block[row], nodes[partner[row, place]]
        codes = np.union1d(codes, np.minimum(u, v) * n + np.maximum(u, v))
        if top is not None and len(codes) > 2 * top:
            codes = np.sort(_ranked(scorer, codes, top).pairs @ (n, 1))
        done += len(block)
        on_progress("links", done, len(nodes))
    return _ranked(scorer, codes, top)


def _ranked(scorer: PairScorer, codes: NDArray[np.int64], top: int | None) -> _ScoredPairs:
    """Return the best `top` pairs of those with the rising codes u N + v; ties by code."""
    pairs = np.column_stack(np.divmod(codes, max(scorer.n_nodes, 1)))
    scores = scorer.pairs(pairs)
    order = np.argsort(-scores, kind="stable")[:top]
    return _ScoredPairs(pairs[order], scores[order])


def _are_suited(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return whether nodes with these roles may be linked; the arrays are broadcast."""
    forward = (one & IS_SOURCE != 0) & (other & IS_TARGET != 0)
    backward = (one & IS_TARGET != 0) & (other & IS_SOURCE != 0)
    return np.asarray(forward | backward)


def _allowed(
    graph: Graph, nodes: NDArray[np.int64], roles: NDArray[np.uint8], members: slice
) -> NDArray[np.bool_]:
    """Return which of `nodes` each of the members may be linked to; shape (members, len(nodes))."""
    absent: NDArray[np.bool_] = graph.adjacency[nodes[members]][:, nodes].toarray() == 0
    absent[np.arange(len(absent)), np.arange(len(nodes))[members]] = False
    allowed: NDArray[np.bool_] = absent & _are_suited(roles[members, None], roles)
    return allowed


def _best_of_shortlist(
    scorer: PairScorer,
    common: SparseProductScorer,
    candidates: Candidates,
    nodes: NDArray[np.int64],
    k: int | None,
    top: int | None,
    team: WorkerThreads,
    on_progress: Progress,
) -> _ScoredPairs:
    """Return the best-scored absent pairs of a node with its `EACH` nearest and most connected.

    As `_best_absent`, but only pairs of the M `candidates`, rows `nodes` of the graph, that are near, or have
    much in `common`, are scored.
    """
    n = len(nodes)
    among = common.among(nodes)
    search = PartnerSearch(candidates, team)
    codes = np.empty(0, dtype=np.int64)
    on_progress("links", 0, n)
    for begin in range(0, n if n > 1 else 0, BLOCK_ROWS):
        end = min(begin + BLOCK_ROWS, n)
        near = _nearest(search, begin, end, n)
        row, other = np.divmod(np.union1d(near, _most_in_common(candidates, among, begin, end)), n)
        pairs = np.column_stack((nodes[row], nodes[other]))  # few different first ends: quicker to score
        best = _best_of_row(row, other, scorer.pairs(pairs), k or top or 0)
        codes = np.union1d(codes, np.sort(pairs[best], axis=1) @ (scorer.n_nodes, 1))
        if top is not None and len(codes) > 2 * top:
            codes = np.sort(_ranked(scorer, codes, top).pairs @ (scorer.n_nodes, 1))
        on_progress("links", end, n)
    return _ranked(scorer, codes, top)


def _nearest(search: PartnerSearch, begin: int, end: int, n: int) -> Codes:
    rows = np.arange(begin, end)
    _, partner = search.nearest(rows, min(EACH, n - 1), np.inf, no_progress)
    row, place = np.nonzero(partner != NO_PARTNER)
    return rows[row] * n + partner[row, place]


def _most_in_common(candidates: Candidates, common: SparseProductScorer, begin: int, end: int) -> Codes:
    n, roles, starts = len(candidates.time), candidates.roles, candidates.indptr[begin : end + 1]
    shared = common.sparse_rows(begin, end)
    row = np.repeat(np.arange(begin, end), np.diff(shared.indptr))
    other = shared.indices.astype(np.int64)
    linked = candidates.indices[starts[0] : starts[-1]]
    joined = np.repeat(np.arange(begin, end), np.diff(starts)) * n + linked
    absent = (row != other) & ~np.isin(row * n + other, joined) & _are_suited(roles[row], roles[other])
    row, other = row[absent], other[absent]
    best = _best_of_row(row, other, shared.data[absent], EACH)
    codes: Codes = row[best] * n + other[best]
    return codes


def _best_of_row(
    row: NDArray[np.int64], other: NDArray[np.int64], scores: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Return which pairs are among the `most` best of their row; ties by `other`."""
    order = np.lexsort((other, -scores, row))
    rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    best: NDArray[np.int64] = order[rank < most]
    return best
