"""Links that are missing: the likeliest pairs of each pattern that no relationship of its type joins.

By distance the search is exact, in O(N k) memory and with the same bits for any number of threads. By a score
all pairs of a pattern are looked at, up to `SCORED_PAIRS`; of more only those that are near each other, that
have much in common, or one of which is joined to many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from heat_neo4j._kernels.sweeps import NO_PARTNER
from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j._utils.threads import WorkerThreads, one_blas_thread, resolve_threads
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.embedding.estimator import HEAT
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.geometry.search import PartnerSearch, nearest_pairs
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import adamic_adar
from heat_neo4j.linkpred.calibration import LinkProbability
from heat_neo4j.linkpred.candidates import CandidatePairs, candidate_pairs, patterns_of
from heat_neo4j.linkpred.combined_score import LinkScore
from heat_neo4j.linkpred.pattern_score import PatternScore
from heat_neo4j.linkpred.scorers import DirectedScorer, SparseProductScorer
from heat_neo4j.patterns import Pattern, shared_limits

__all__ = ["BLOCK_ENTRIES", "BLOCK_ROWS", "EACH", "SCORED_PAIRS", "PredictedLinks", "predict_links"]

SCORED_PAIRS = 400_000_000
"""Up to so many pairs of a pattern all are scored; of more it would take hours."""
# A common neighbour that has more shortlists no pair: all pairs of a hub's neighbours are too many.
_COMMON_NEIGHBOURS = 1_000
BLOCK_ENTRIES = 1 << 22  # scores held at a time
# Partners of a node by distance, as many by what they have in common, and as many by how many they join.
EACH = 200
BLOCK_ROWS = 2048  # nodes whose partners are held at a time

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Codes = NDArray[np.int64]
"""Pairs (u, v) of N nodes as u N + v."""


@dataclass(frozen=True, eq=False)
class PredictedLinks:
    """Absent pairs, each from its source to its target, the likeliest first.

    Parameters
    ----------
    source, target : int64 arrays of shape (L,)
        Rows of the graph. No link comes twice, nor both ways; of a graph without directions source < target.
    distance : float64 array of shape (L,)
        Hyperbolic distance; rising if nothing else ranked the links.
    probability : float64 array of shape (L,), optional
        Falling; None if the links were ranked by distance.
    patterns : tuple of Pattern
        What was predicted; empty of a graph without directions.
    pattern : int64 array of shape (L,), optional
        Place of each link's pattern in `patterns`; None of a graph without directions.
    shortlisted : bool
        Whether of some pattern only a shortlist of pairs was scored, see `predict_links`.
    """

    source: Rows
    target: Rows
    distance: Array
    probability: Array | None = None
    patterns: tuple[Pattern, ...] = ()
    pattern: Rows | None = None
    shortlisted: bool = False

    @property
    def rank(self) -> Rows:
        """1 for the first link, 2 for the next, and so on; shape (L,)."""
        return np.arange(1, len(self) + 1, dtype=np.int64)

    @property
    def pattern_rank(self) -> Rows:
        """The same among the links of each pattern; shape (L,)."""
        if self.pattern is None:
            return self.rank
        ranks = np.empty(len(self), dtype=np.int64)
        for place in range(len(self.patterns)):
            own = np.flatnonzero(self.pattern == place)
            ranks[own] = np.arange(1, len(own) + 1)
        return ranks

    @property
    def types(self) -> list[str]:
        """Type of each link; empty texts of a graph without directions."""
        if self.pattern is None:
            return [""] * len(self)
        names = [pattern.type for pattern in self.patterns]
        return [names[place] for place in self.pattern.tolist()]

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        return f"PredictedLinks({len(self)} of {', '.join(map(str, self.patterns)) or 'no pattern'})"


class _Found(NamedTuple):
    """Links of one pattern: rows (source, target) of shape (m, 2), distances and probabilities."""

    pairs: Rows
    distance: Array
    probability: Array | None
    leading: Array  # by which they are sorted: distances, or minus the log odds


@one_blas_thread()
def predict_links(
    model: HEAT | Array,
    graph: Graph,
    k: int | None = 10,
    *,
    top: int | None = None,
    patterns: Sequence[str | Sequence[str]] = (),
    min_degree: int = 0,
    max_degree: int | None = None,
    probability: LinkProbability | None = None,
    score: PatternScore | LinkScore | None = None,
    n_threads: int | None = None,
    on_progress: Progress = no_progress,
) -> PredictedLinks:
    """Return the likeliest links of each pattern that no relationship of its type joins.

    Parameters
    ----------
    model : HEAT or float64 array of shape (N, d + 1)
        A fitted estimator, or points on the hyperboloid (time last), one per node.
    graph : Graph
        The graph whose relationships are to be left out. If it knows no directions, all pairs that no edge
        joins are one pattern.
    k : int, optional
        Links per node, which patterns of one label share evenly, see `patterns.shared_limits`: a link is kept
        if it is among the best of its source, or of its target. None sets no limit per node; `top` must then
        be given.
    top : int, optional
        Keep only so many of each pattern.
    patterns : sequence of str or of (source label, type, target label), optional
        What to predict, such as ``"User-RATED->Movie"``, see `patterns.chosen_patterns`; all patterns of the
        graph if not given.
    min_degree, max_degree : int, optional
        Leave out nodes with fewer or with more neighbours in `graph`.
    probability : LinkProbability, optional
        From `fit_link_probability`; gives probabilities to the nearest pairs.
    score : PatternScore or LinkScore, optional
        From `fit_link_score`; ranks the links and gives their probabilities. Without it the nearest pairs are
        the first. Not with `probability`. Of more than `SCORED_PAIRS` pairs of a pattern only the 200 nearest
        partners of a node are scored, the 200 with most neighbours in common, of those that have 1,000
        neighbours at most, and, where sources are no targets, the 200 that the type joins most often.
    n_threads : int, optional
        Threads to use; all cores when None. The result is the same to the bit.
    on_progress : callable
        Called with ("links <pattern>", nodes done, nodes considered).

    Returns
    -------
    PredictedLinks

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range, a pattern is not in the graph, or the points do not fit it.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    """
    _check_limits(k, top, min_degree, max_degree)
    if probability is not None and score is not None:
        raise ValueError("give probability or score, not both: a score has probabilities of its own")
    threads = resolve_threads(n_threads)
    if not isinstance(model, np.ndarray):
        check_is_fitted(model, "embedding_")
        model = model.embedding_
    if graph.relationships is None:
        if patterns:
            raise ValueError("patterns need a graph that knows directions and types: give it relationships")
        wanted: tuple[Pattern | None, ...] = (None,)
    else:
        wanted = patterns_of(graph, patterns)
    known = [pattern for pattern in wanted if pattern is not None]
    limits = [k] * len(wanted) if k is None or not known else shared_limits(k, known)
    scorers = None if score is None else score.scorers(model, graph)
    found: list[_Found] = []
    shortlisted, common = False, None
    with WorkerThreads(threads) as team:
        for pattern, most in zip(wanted, limits, strict=True):
            candidates = candidate_pairs(graph, pattern, min_degree=min_degree, max_degree=max_degree)
            progress = on_progress if pattern is None else prefixed(on_progress, f"{pattern}: ")
            if scorers is None or score is None or score.by_distance:
                scorer = None if scorers is None else scorers(pattern)
                near = _nearest(model, candidates, most, top, team, progress)
                found.append(_of_distance(*near, candidates, scorer, probability))
                continue
            scorer = scorers(pattern)
            if candidates.size > SCORED_PAIRS:
                shortlisted = True
                if common is None:
                    common = adamic_adar(graph, most_neighbours=_COMMON_NEIGHBOURS)
                codes = _shortlisted(scorer, common, model, candidates, most or top or 0, team, progress)
            else:
                codes = _best_of_each(scorer, candidates, most or top or 0, progress)
            pairs, scores = _ranked(scorer, candidates, codes, top)
            found.append(_Found(pairs, pair_distances(model, pairs), score.probability(scores), -scores))
    return _joined(found, tuple(known), graph.n_nodes, shortlisted=shortlisted)


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


def _joined(
    found: Sequence[_Found], patterns: tuple[Pattern, ...], n_nodes: int, *, shortlisted: bool
) -> PredictedLinks:
    """Return the links of all patterns: of two nodes one of a type, in its likeliest pattern and way."""
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *(each.pairs for each in found)])
    distance = np.concatenate([np.empty(0), *(each.distance for each in found)])
    leading = np.concatenate([np.empty(0), *(each.leading for each in found)])
    chances = [each.probability for each in found if each.probability is not None]
    probability = np.concatenate(chances) if chances else None
    pattern = np.repeat(np.arange(len(found)), [len(each.pairs) for each in found])
    types = {name: code for code, name in enumerate(dict.fromkeys(each.type for each in patterns))}
    code = np.array([types[each.type] for each in patterns] or [0])[pattern]
    ends = (code * n_nodes + pairs.min(axis=1)) * n_nodes + pairs.max(axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], pattern, leading))
    order = order[np.sort(np.unique(ends[order], return_index=True)[1])]
    return PredictedLinks(
        source=pairs[order, 0],
        target=pairs[order, 1],
        distance=distance[order],
        probability=None if probability is None else probability[order],
        patterns=patterns,
        pattern=pattern[order] if patterns else None,
        shortlisted=shortlisted,
    )


def _nearest(
    embedding: Array,
    candidates: CandidatePairs,
    k: int | None,
    top: int | None,
    team: WorkerThreads,
    on_progress: Progress,
) -> tuple[Rows, Array]:
    """Return the nearest candidates, of two nodes one way only, and their distances."""
    if candidates.are_nodes_of_one_role:
        nodes = candidates.nodes
        near = nearest_pairs(candidates.in_space(embedding), k, top, team, on_progress)
        return _directed(candidates, np.column_stack((nodes[near.source], nodes[near.target]))), near.distance
    ends = np.concatenate((candidates.sources, candidates.targets))
    both_ways = None if top is None else 2 * top
    near = nearest_pairs(candidates.ends_in_space(embedding), k, both_ways, team, on_progress)
    pairs = np.column_stack((ends[near.source], ends[near.target]))
    first = np.sort(np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)[1])[:top]
    return pairs[first], near.distance[first]


def _of_distance(
    pairs: Rows,
    distance: Array,
    candidates: CandidatePairs,
    scorer: DirectedScorer | None,
    probability: LinkProbability | None,
) -> _Found:
    """Return nearest pairs in their likelier direction, with the probabilities that their distance gives."""
    if scorer is None:
        chances = None if probability is None else probability(distance)
        return _Found(pairs, distance, chances, distance)
    scores = _turned(scorer, candidates, pairs)
    return _Found(pairs, distance, np.asarray(expit(scores)), -scores)


def _turned(scorer: DirectedScorer, candidates: CandidatePairs, pairs: Rows) -> Array:
    """Turn those pairs round whose other way is a candidate and likelier; return the scores of all."""
    scores = scorer.pairs(pairs)
    either = np.flatnonzero(candidates.either_way(pairs))
    back = scorer.pairs(pairs[either, ::-1])
    is_less = pairs[either, 0] < pairs[either, 1]
    turned = (back > scores[either]) | ((back == scores[either]) & ~is_less)
    scores[either[turned]] = back[turned]
    pairs[either[turned]] = pairs[either[turned], ::-1]
    return scores


def _directed(candidates: CandidatePairs, pairs: Rows) -> Rows:
    """Return unordered pairs in the direction that is a candidate; as they are where both are."""
    backwards = ~candidates.either_way(pairs[:, ::-1])
    pairs = pairs.copy()
    pairs[backwards] = pairs[backwards, ::-1]
    return pairs


def _best_of_each(
    scorer: DirectedScorer, candidates: CandidatePairs, width: int, on_progress: Progress
) -> Codes:
    """Return the best-scored candidates of every source and of every target, ties in the order of the rows.

    It takes O(S T) scores, of which one block is held.
    """
    sources, targets, n = candidates.sources, candidates.targets, len(candidates.is_source)
    ways = [(scorer.between(sources, targets), sources, targets, False)]
    if candidates.pattern is not None:
        ways.append((scorer.reversed().between(targets, sources), targets, sources, True))
    total, done = sum(len(first) for _, first, _, _ in ways), 0
    codes = np.empty(0, dtype=np.int64)
    on_progress("links", done, total)
    for way, first, second, reverse in ways:
        step = max(BLOCK_ENTRIES // max(len(second), 1), 1)
        for begin in range(0, len(first), step):
            end = min(begin + step, len(first))
            allowed = candidates.allowed(first[begin:end], second, reverse=reverse)
            scores = np.where(allowed, way.rows(begin, end), -np.inf)
            row, place = _best_places(scores, width)
            is_candidate = allowed[row, place]
            u, v = first[begin:end][row[is_candidate]], second[place[is_candidate]]
            codes = np.union1d(codes, v * n + u if reverse else u * n + v)
            done += end - begin
            on_progress("links", done, total)
    return codes


def _best_places(scores: Array, width: int) -> tuple[Rows, Rows]:
    """Return rows and columns of the best scores of each row, ties by the lower column."""
    width = min(width, scores.shape[1])
    best = np.argsort(-scores, axis=1, kind="stable")[:, :width]
    return np.repeat(np.arange(len(scores)), width), best.ravel()


def _ranked(
    scorer: DirectedScorer, candidates: CandidatePairs, codes: Codes, top: int | None
) -> tuple[Rows, Array]:
    """Return the best `top` of the pairs with rising codes, and their scores: of two nodes one way only."""
    n = max(len(candidates.is_source), 1)
    pairs = np.column_stack(np.divmod(codes, n))
    if candidates.pattern is None:
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        scores = scorer.pairs(pairs)
    else:
        scores = _turned(scorer, candidates, pairs)
        _, first = np.unique(pairs @ (n, 1), return_index=True)
        pairs, scores = pairs[first], scores[first]
    order = np.argsort(-scores, kind="stable")[:top]
    return pairs[order], scores[order]


def _shortlisted(
    scorer: DirectedScorer,
    common: SparseProductScorer,
    embedding: Array,
    candidates: CandidatePairs,
    width: int,
    team: WorkerThreads,
    on_progress: Progress,
) -> Codes:
    """Return the best-scored of the candidates of a shortlist: `EACH` of each node for each reason.

    Partners that the type joins most often are on it where sources are no targets, and so seldom have
    neighbours in common with them.
    """
    nodes, n = candidates.nodes, len(candidates.is_source)
    among = common.between(nodes, nodes)
    popular = np.empty(0, dtype=np.int64) if candidates.has_either_way else _most_joined(candidates)
    search = PartnerSearch(candidates.in_space(embedding), team)
    codes = np.empty(0, dtype=np.int64)
    on_progress("links", 0, len(nodes))
    for begin in range(0, len(nodes) if len(nodes) > 1 else 0, BLOCK_ROWS):
        end = min(begin + BLOCK_ROWS, len(nodes))
        near = _near_partners(search, begin, end, len(nodes))
        shared = _most_in_common(candidates, among.sparse_rows(begin, end), begin)
        leading = (np.arange(begin, end)[:, None] * len(nodes) + popular).ravel()
        row, other = np.divmod(np.unique(np.concatenate((near, shared, leading))), len(nodes))
        pairs = np.column_stack((nodes[row], nodes[other]))  # few different first ends: quicker to score
        for way in (pairs, pairs[:, ::-1]):
            u, v = way.T
            there = candidates.is_source[u] & candidates.is_target[v] & (u != v)
            there[there] = ~candidates.are_joined(way[there])
            best = _best_of_row(pairs[there, 0], pairs[there, 1], scorer.pairs(way[there]), width)
            codes = np.union1d(codes, way[there][best] @ (n, 1))
        on_progress("links", end, len(nodes))
    return codes


def _most_joined(candidates: CandidatePairs) -> Rows:
    """Return places in `nodes` of the `EACH` sources and targets that most relationships of the type join."""
    of_source, of_target = (np.asarray(candidates.joined.sum(axis=way)).ravel() for way in (1, 0))
    most = [
        ends[np.argsort(-counts[ends], kind="stable")[:EACH]]
        for ends, counts in ((candidates.sources, of_source), (candidates.targets, of_target))
    ]
    return np.searchsorted(candidates.nodes, np.unique(np.concatenate(most)))


def _near_partners(search: PartnerSearch, begin: int, end: int, n: int) -> Codes:
    rows = np.arange(begin, end)
    _, partner = search.nearest(rows, min(EACH, n - 1), np.inf, no_progress)
    row, place = np.nonzero(partner != NO_PARTNER)
    return rows[row] * n + partner[row, place]


def _most_in_common(candidates: CandidatePairs, shared: sparse.csr_array, begin: int) -> Codes:
    """Return the candidates with most in common, of nodes `begin` and the following, by places in `nodes`."""
    nodes = candidates.nodes
    row = np.repeat(np.arange(begin, begin + shared.shape[0]), np.diff(shared.indptr))
    other = shared.indices.astype(np.int64)
    pairs = np.column_stack((nodes[row], nodes[other]))
    may = (row != other) & (candidates.either_way(pairs) | candidates.either_way(pairs[:, ::-1]))
    row, other = row[may], other[may]
    best = _best_of_row(row, other, shared.data[may], EACH)
    return np.asarray(row[best] * len(nodes) + other[best])


def _best_of_row(row: Rows, other: Rows, scores: Array, most: int) -> Rows:
    """Return which pairs are among the `most` best of their row; ties by `other`."""
    order = np.lexsort((other, -scores, row))
    rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    best: Rows = order[rank < most]
    return best
