"""What typed relationships say of a pair: how much likelier a link is beside others, or at the end of a path.

Rules are counted, not chosen: of the pairs that relationships of some kinds join, or two steps of two kinds,
the share that a relationship of the type joins as well.

N. Lao and W. Cohen, "Relational retrieval using a combination of path-constrained random walks", Machine
Learning 81 (2010); C. Meilicke et al., "Anytime bottom-up rule learning for knowledge graph completion",
IJCAI (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from heat_neo4j._kernels.implications import count_paths, path_pairs, path_rows
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import ends_of, entries, relationships_of
from heat_neo4j.linkpred.scorers import DirectedScorer, SparseProductScorer
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TYPES = 100  # each a kind of its own; others are one
_HUB = 1_000  # steps from a node; paths through it say little and cost most
_PATHS = 2_000_000  # that are counted for a pattern
_PRIOR = 2.0  # paths, or pairs, at the average rate that each rule starts from
_SUREST = 0.99  # share of a rule's paths that are closed
_TOLERANCE = 1e-8  # of the slope of the mean loss
_CONSTANT = 10.0  # so that the ridge hardly bounds its weight
_RIDGE = 0.5  # on what each kind that joins a pair adds


@dataclass(frozen=True, eq=False)
class TypedSteps:
    """The steps from each of N nodes along and against relationships, by kind: a type and a way.

    Kinds lead along a type, or against it; those of all types but the commonest are two.
    """

    indptr: Rows  # (N + 1,)
    neighbours: NDArray[np.int32]  # of each node, rising, then by kind
    kinds: NDArray[np.int32]
    n_kinds: int
    of_type: NDArray[np.int32]  # the kind along each type; that against it is half of the kinds further

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
        """Which nodes no path leads through."""
        return np.asarray(np.diff(self.indptr) > _HUB)

    @cached_property
    def turned(self) -> NDArray[np.int32]:
        """The kind of the step back, for each kind."""
        return np.roll(np.arange(self.n_kinds, dtype=np.int32), self.n_kinds // 2)

    @cached_property
    def joined(self) -> tuple[Rows, sparse.csr_array]:
        """The P ordered pairs of nodes that something joins, shape (P, 2), and the kinds, shape (P, K)."""
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
    """What the graph's other relationships say of a link of a pattern: log odds above those of any pair."""

    def __init__(self, graph: Graph, pattern: Pattern, steps: TypedSteps) -> None:
        assert graph.relationships is not None
        self._steps = steps
        self._own_kind = int(steps.of_type[list(graph.relationships.types).index(pattern.type)])
        self._is_source, self._is_target = ends_of(graph, pattern)
        ends, n = relationships_of(graph, pattern), graph.n_nodes
        self._own = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))

    def by_joins(self) -> SparseProductScorer:
        """Return how much the relationships that join a pair already, of other types or back, raise its odds.

        By logistic regression over the pairs that something else joins; 0 for all others.
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
        # Each set as often as it has the link, and as often as it has not; some pairs that nothing joins.
        counts = np.concatenate((n_links, n_pairs - n_links, [_PRIOR * rate, _PRIOR * (1.0 - rate)]))
        are_links = np.repeat((True, False, True, False), (len(sets), len(sets), 1, 1))
        nothing = np.zeros((2, sets.shape[1]))
        # A column, not an intercept, which nothing would bound where no link has anything beside it.
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
        """Return the odds of a link at the end of each typed path of two steps, over the odds of any pair.

        The sum over all paths between two nodes. Of a rule (the kinds of both steps) they are those of the
        share of its paths that a link closes, over sampled sources that have a link.
        """
        steps, own = self._steps, self._own
        sources = np.flatnonzero(self._is_source & (np.diff(own.indptr) > 0))
        sources = np.random.default_rng(len(sources)).permutation(sources)
        paths, closed, n_sources = count_paths(
            steps.indptr, steps.neighbours, steps.kinds, steps.n_kinds, steps.is_hub, sources,
            own.indptr.astype(np.int64), own.indices.astype(np.int32), self._is_target, _PATHS,
        )  # fmt: skip
        n_links = max(int(np.diff(own.indptr)[sources[:n_sources]].sum()), 1)
        rate = n_links / (n_sources * int(self._is_target.sum()) + 1.0)
        share = np.minimum((closed + _PRIOR * rate) / (paths + _PRIOR), _SUREST)
        return PathScorer(steps, share / (1.0 - share) / rate)


def _distinct(kinds: sparse.csr_array, own: int) -> tuple[Array, Rows]:
    """Return the distinct sets of kinds but `own`, 0 or 1, shape (S, K), and the place of each row's."""
    n_kinds = kinds.shape[1]
    code = np.random.default_rng(n_kinds).integers(1, 1 << 62, n_kinds)  # sums of sets differ
    code[own] = 0
    sums = np.zeros(kinds.shape[0], dtype=np.int64)
    np.add.at(sums, np.repeat(np.arange(len(sums)), np.diff(kinds.indptr)), code[kinds.indices])
    _, first, place = np.unique(sums, return_index=True, return_inverse=True)
    sets = kinds[first].toarray()
    sets[:, own] = 0.0
    return sets, place.ravel()


class PathScorer(DirectedScorer):
    """The sum of weights of the typed paths of two steps between two nodes.

    Of kinds k and l of the steps, the weight is ``weights[k, l]``. First and second nodes are rows of `first`
    and `second`, or all.
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
        """Return the scores of some nodes with every node, shape (end - begin, N)."""
        steps, first = self._steps, self._first[begin:end]
        sums = path_rows(steps.indptr, steps.neighbours, steps.kinds, steps.is_hub, self._weights, first)
        return np.asarray(sums[:, self._second])

    def reversed(self) -> PathScorer:
        """Return the scorer of (v, u)."""
        turned = self._steps.turned
        return PathScorer(self._steps, self._weights[turned][:, turned].T, self._second, self._first)

    def between(self, first: Rows, second: Rows) -> PathScorer:
        """Return the scorer of some nodes only."""
        return PathScorer(self._steps, self._weights, self._first[first], self._second[second])
