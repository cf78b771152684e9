"""Implications between types: how relationships and typed paths between two nodes change the odds of a link.

All rules are counted: among the pairs joined by given kinds of relationships, or by a path of two given
kinds, the share that the type joins too.

N. Lao and W. Cohen, "Relational retrieval using a combination of path-constrained random walks", Machine
Learning 81 (2010); C. Meilicke et al., "Anytime bottom-up rule learning for knowledge graph completion",
IJCAI (2019).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from heat_neo4j._kernels.chains import count_paths, path_pairs, path_rows
from heat_neo4j._utils.display import display_text
from heat_neo4j.graph import Graph, entries
from heat_neo4j.linkpred.candidates import ends_of, relationships_of
from heat_neo4j.linkpred.rules.learning import is_rule
from heat_neo4j.linkpred.rules.pattern_rules import Evidence
from heat_neo4j.linkpred.scorers import DirectedScorer, SparseProductScorer
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TYPES = 100  # the most common types are separate kinds; all others share one
_HUB = 1_000  # nodes with more steps are skipped: paths through them cost most and say little
_PATHS = 2_000_000  # maximum number of paths counted for a pattern
_LINKS = 5_000  # links examined for an equivalent path
_PRIOR = 2.0  # pseudo-counts at the average rate, for each rule
_SUREST = 0.99  # maximum share of a rule's paths that a link closes
_TOLERANCE = 1e-8  # on the gradient of the mean loss
_CONSTANT = 10.0  # value of the constant column; large, so that the ridge hardly shrinks its weight
_RIDGE = 0.5  # penalty on the weight of each kind
_REPEATS = (
    "{} repeats {} ({:,} of {:,} pairs): each type reveals held-out links of the others, so their figures "
    "and probabilities are too high; leave one of them out"
)
_LONGEST = 40  # maximum characters of a name in a sentence


@dataclass(frozen=True, eq=False)
class TypedSteps:
    """Steps from each of N nodes along and against relationships; a kind is a type and a direction.

    Rare types share one kind per direction.
    """

    indptr: Rows  # (N + 1,)
    neighbours: NDArray[np.int32]  # sorted by node, neighbour, kind
    kinds: NDArray[np.int32]
    n_kinds: int
    of_type: NDArray[np.int32]  # kind along each type; the kind against it is n_kinds / 2 higher

    @classmethod
    def of(cls, graph: Graph) -> TypedSteps:
        """Return the steps of a graph."""
        relationships = graph.relationships
        assert relationships is not None
        counts = np.diff(relationships.starts)
        n_types = min(len(counts), _TYPES + 1)
        of_type = np.full(len(counts), n_types - 1, dtype=np.int32)
        common = np.sort(np.argsort(-counts, kind="stable")[:_TYPES])
        of_type[common] = np.arange(len(common))
        kind = np.repeat(of_type, counts)
        node = np.append(relationships.source, relationships.target).astype(np.int64)
        neighbour = np.append(relationships.target, relationships.source).astype(np.int32)
        kinds = np.append(kind, kind + n_types).astype(np.int32)
        order = np.lexsort((kinds, neighbour, node))
        indptr = np.searchsorted(node[order], np.arange(graph.n_nodes + 1)).astype(np.int64)
        return cls(indptr, neighbour[order], kinds[order], 2 * n_types, of_type)

    @cached_property
    def is_hub(self) -> NDArray[np.bool_]:
        """Mask of nodes with too many steps; paths through them are skipped."""
        return np.asarray(np.diff(self.indptr) > _HUB)

    @cached_property
    def turned(self) -> NDArray[np.int32]:
        """Kind of the reverse step, for each kind."""
        return np.roll(np.arange(self.n_kinds, dtype=np.int32), self.n_kinds // 2)

    @cached_property
    def joined(self) -> tuple[Rows, sparse.csr_array]:
        """The P ordered pairs with any relationship, shape (P, 2), and their kinds as 0/1, shape (P, K)."""
        node = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        is_first = np.append(True, (np.diff(node) != 0) | (np.diff(self.neighbours) != 0))
        starts = np.append(np.flatnonzero(is_first), len(node))
        pairs = np.column_stack((node[is_first], self.neighbours[is_first].astype(np.int64)))
        kinds = sparse.csr_array(
            (np.ones(len(node)), self.kinds, starts), shape=(len(pairs), self.n_kinds), copy=True
        )
        kinds.sum_duplicates()  # in place
        kinds.data[:] = 1.0
        return pairs, kinds


class Implications:
    """Log odds of a link of a pattern given other relationships, relative to the base rate."""

    def __init__(self, graph: Graph, pattern: Pattern, steps: TypedSteps) -> None:
        assert graph.relationships is not None
        self._steps = steps
        self._own_kind = int(steps.of_type[list(graph.relationships.types).index(pattern.type)])
        self._is_source, self._is_target = ends_of(graph, pattern)
        ends, n = relationships_of(graph, pattern), graph.n_nodes
        self._own = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))

    def by_joins(self) -> SparseProductScorer:
        """Score by the rise in log odds from the pair's relationships of other types or in reverse.

        Fitted by logistic regression on the pairs that have one; all other pairs score 0.
        """
        pairs, kinds = self._steps.joined
        is_link = entries(self._own, pairs) > 0.0
        are_judged = self._is_source[pairs[:, 0]] & self._is_target[pairs[:, 1]]
        are_judged &= np.diff(kinds.indptr) > kinds[:, [self._own_kind]].toarray().ravel()
        sets, place = _distinct(kinds[are_judged], self._own_kind)
        n_pairs = np.bincount(place, minlength=len(sets)).astype(np.float64)
        n_links = np.bincount(place, is_link[are_judged], minlength=len(sets))
        n_others = int(self._is_source.sum()) * int(self._is_target.sum())
        rate = max(self._own.nnz, 1) / (n_others + 1.0)
        # Each set once with its number of links and once without; plus pseudo-counts of unrelated pairs.
        counts = np.concatenate((n_links, n_pairs - n_links, [_PRIOR * rate, _PRIOR * (1.0 - rate)]))
        are_links = np.repeat((True, False, True, False), (len(sets), len(sets), 1, 1))
        nothing = np.zeros((2, sets.shape[1]))
        # A constant column instead of an intercept: without a ridge it could diverge if no link has others.
        values = np.column_stack(
            (np.full(2 * len(sets) + 2, _CONSTANT), np.concatenate((sets, sets, nothing)))
        )
        model = LogisticRegression(
            C=1.0 / _RIDGE, solver="newton-cholesky", tol=_TOLERANCE, fit_intercept=False
        )
        model.fit(values, are_links, sample_weight=counts)
        lift = (
            (model.decision_function(values[: len(sets)]) - logit(rate))[place] if len(sets) else np.empty(0)
        )
        n = len(self._is_source)
        matrix = sparse.csr_array((lift, tuple(pairs[are_judged].T)), shape=(n, n))
        return SparseProductScorer(matrix, sparse.eye_array(n, format="csr"))

    def by_paths(self) -> PathScorer:
        """Score by the odds of a link given each typed two-step path, relative to the base odds.

        Scores of all paths between two nodes are added. The odds of a rule (the kinds of both steps) come
        from the share of its paths that a link closes, counted from sampled sources that have a link.
        """
        paths, closed, rate = self._count(np.flatnonzero(self._is_source & (np.diff(self._own.indptr) > 0)))
        share = np.minimum((closed + _PRIOR * rate) / (paths + _PRIOR), _SUREST)
        return PathScorer(self._steps, share / (1.0 - share) / rate)

    def repeated_paths(self) -> Iterator[tuple[tuple[int, int], int, int]]:
        """Yield the paths of two other types that join nearly the same pairs as the pattern.

        Each comes as the kinds of its steps, the number of links examined and how many of them it joins.
        """
        paths, closed, rate = self._count(np.flatnonzero(self._is_source))

        def nearly_all(count: float, n: float) -> bool:
            return is_rule(Evidence(int(n), int(n - count), n * (1.0 - rate)))

        links = np.column_stack(self._own.nonzero()).astype(np.int64)
        links = np.random.default_rng(len(links)).permutation(links)[:_LINKS]
        is_other = np.arange(len(paths)) % (len(paths) // 2) != self._own_kind
        for first, second in np.argwhere(np.outer(is_other, is_other) & (closed > 0)).tolist():
            if nearly_all(closed[first, second], paths[first, second]):
                only = np.zeros_like(paths)
                only[first, second] = 1.0
                n_joined = int(np.count_nonzero(PathScorer(self._steps, only).pairs(links)))
                if nearly_all(n_joined, len(links)):
                    yield (first, second), len(links), n_joined

    def _count(self, sources: Rows) -> tuple[Array, Array, float]:
        """Count paths, and those that a link closes, by kinds; return also the share of linked pairs."""
        steps, own = self._steps, self._own
        sources = np.random.default_rng(len(sources)).permutation(sources)
        paths, closed, n_sources = count_paths(
            steps.indptr, steps.neighbours, steps.kinds, steps.n_kinds, steps.is_hub, sources,
            own.indptr.astype(np.int64), own.indices.astype(np.int32), self._is_target, _PATHS,
        )  # fmt: skip
        n_links = max(int(np.diff(own.indptr)[sources[:n_sources]].sum()), 1)
        return paths, closed, n_links / (n_sources * int(self._is_target.sum()) + 1.0)


def _distinct(kinds: sparse.csr_array, own: int) -> tuple[Array, Rows]:
    """Return the distinct sets of kinds without `own` as 0/1, shape (S, K), and each row's set."""
    n_kinds = kinds.shape[1]
    code = np.random.default_rng(n_kinds).integers(1, 1 << 62, n_kinds)  # sums identify sets
    code[own] = 0
    sums = np.zeros(kinds.shape[0], dtype=np.int64)
    np.add.at(sums, np.repeat(np.arange(len(sums)), np.diff(kinds.indptr)), code[kinds.indices])
    _, first, place = np.unique(sums, return_index=True, return_inverse=True)
    sets = kinds[first].toarray()
    sets[:, own] = 0.0
    return sets, place.ravel()


class PathScorer(DirectedScorer):
    """The sum of ``weights[k, l]`` over typed two-step paths between two nodes; k, l are the steps' kinds.

    First and second nodes are the rows `first` and `second`, or all rows.
    """

    def __init__(
        self, steps: TypedSteps, weights: Array, first: Rows | None = None, second: Rows | None = None
    ) -> None:
        every = np.arange(len(steps.indptr) - 1)
        self._steps, self._weights = steps, np.ascontiguousarray(weights)
        self._first, self._second = (every if each is None else each for each in (first, second))
        self.n_nodes = len(self._second)

    def pairs(self, pairs: Rows) -> Array:
        """Return the scores of pairs, shape (m,)."""
        steps = self._steps
        u, v = self._first[pairs[:, 0]], self._second[pairs[:, 1]]
        return np.asarray(
            path_pairs(
                steps.indptr, steps.neighbours, steps.kinds, steps.turned, steps.is_hub, self._weights, u, v
            )
        )

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of first nodes `begin` to `end` - 1 with every second node."""
        steps, first = self._steps, self._first[begin:end]
        sums = path_rows(steps.indptr, steps.neighbours, steps.kinds, steps.is_hub, self._weights, first)
        return np.asarray(sums[:, self._second])

    def reversed(self) -> PathScorer:
        """Return the scorer that gives (v, u) the score of (u, v)."""
        turned = self._steps.turned
        return PathScorer(self._steps, self._weights[turned][:, turned].T, self._second, self._first)

    def between(self, first: Rows, second: Rows) -> PathScorer:
        """Return the scorer restricted to some first and second nodes."""
        return PathScorer(self._steps, self._weights, self._first[first], self._second[second])


def repetitions(graph: Graph, patterns: Sequence[Pattern | None]) -> Iterator[str]:
    """Yield a sentence for each pattern that repeats a path, as BOUGHT repeats PLACED and CONTAINS.

    Such a relationship exists because the path does. A held-out one is then read off the path, so figures and
    probabilities are too high for pairs that nothing joins yet.
    """
    relationships = graph.relationships
    if relationships is None or len(relationships.types) < 2:
        return
    steps = TypedSteps.of(graph)
    half = steps.n_kinds // 2
    names = {
        kind: display_text(name, _LONGEST)
        for name, kind in zip(relationships.types, steps.of_type.tolist(), strict=True)
    }
    for pattern in filter(None, patterns):
        found = list(Implications(graph, pattern, steps).repeated_paths())
        if found:
            path, n_links, n_joined = max(found, key=lambda each: each[2])
            shown = (f"-{names[kind]}->" if kind < half else f"<-{names[kind - half]}-" for kind in path)
            whole = display_text(str(pattern), 3 * _LONGEST)
            yield _REPEATS.format(whole, " ".join(shown), n_joined, n_links)
