"""Candidate pairs: ordered pairs that a pattern allows and no relationship of its type joins yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.sweeps import IS_SOURCE, IS_TARGET
from heat_neo4j.geometry.search import Candidates, columns_of
from heat_neo4j.graph import Graph, entries
from heat_neo4j.patterns import (
    NO_LABEL,
    Pattern,
    chosen_patterns,
    common_patterns,
    observed_patterns,
    rare_patterns_note,
)

Rows = NDArray[np.int64]

_REPEATED = 10  # repeat relationships needed before disjoint sources and targets are not due to chance
_MUTUAL = 0.02  # minimum reciprocity for a reversed pair to be a candidate


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Candidate pairs: one of S sources and one of T targets each; the two sets may overlap.

    If both (u, v) and (v, u) are candidates, at most the likelier of the two is predicted.
    """

    pattern: Pattern | None  # None for an undirected graph; pairs are then unordered
    sources: Rows  # rows of the graph, sorted ascending
    targets: Rows
    joined: sparse.csr_array  # (N, N): nonzero where a pair is linked already
    is_source: NDArray[np.bool_]  # (N,)
    is_target: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Number of pairs, including linked ones."""
        return len(self.sources) * len(self.targets)

    @cached_property
    def nodes(self) -> Rows:
        """Rows that are sources or targets, sorted ascending."""
        return np.flatnonzero(self.is_source | self.is_target)

    @property
    def has_either_way(self) -> bool:
        """Whether some pairs can be linked in both directions."""
        return bool(np.count_nonzero(self.is_source & self.is_target) > 1)

    def allowed(self, first: Rows, second: Rows, *, reverse: bool = False) -> NDArray[np.bool_]:
        """Return a mask of the candidates among all pairs of `first` and `second`.

        If `reverse`, first nodes are targets and second nodes are sources.
        """
        joined = self.joined.T.tocsr() if reverse else self.joined
        absent = joined[first][:, second].toarray() == 0
        return np.asarray(absent & (first[:, None] != second), dtype=np.bool_)

    def either_way(self, pairs: Rows) -> NDArray[np.bool_]:
        """Return a mask of the `pairs`, shape (m, 2), whose reverse is a candidate."""
        u, v = pairs.T
        back = self.is_source[v] & self.is_target[u]
        back[back] = ~self.are_joined(np.column_stack((v[back], u[back])))
        return np.asarray(back)

    def are_joined(self, pairs: Rows) -> NDArray[np.bool_]:
        """Return a mask of the `pairs`, shape (m, 2), that are linked already."""
        return np.asarray(entries(self.joined, pairs) != 0.0)

    def of_sources(self, sources: Rows) -> CandidatePairs:
        """Return the candidates of the given sources only."""
        others = np.ones_like(self.is_source)
        others[sources] = False
        return self.without(others, np.zeros_like(others))

    def without(self, sources: NDArray[np.bool_], targets: NDArray[np.bool_]) -> CandidatePairs:
        """Return the candidates without the masked sources and targets, masks of shape (N,)."""
        is_source, is_target = self.is_source & ~sources, self.is_target & ~targets
        return replace(
            self,
            sources=np.flatnonzero(is_source),
            targets=np.flatnonzero(is_target),
            is_source=is_source,
            is_target=is_target,
        )

    def other_pairs(self, codes: NDArray[np.int64], wanted: int, generator: np.random.Generator) -> Rows:
        """Draw `wanted` pairs with replacement, without self-pairs and pairs in `codes` (u * N + v).

        Returns fewer if almost all pairs are excluded.
        """
        found = np.empty((0, 2), dtype=np.int64)
        for _ in range(20):
            if len(found) >= wanted or not self.size:
                break
            drawn = np.column_stack(
                [generator.choice(ends, size=wanted) for ends in (self.sources, self.targets)]
            )
            is_other = (drawn[:, 0] != drawn[:, 1]) & ~np.isin(drawn @ (len(self.is_source), 1), codes)
            found = np.concatenate((found, drawn[is_other]))
        return found[:wanted]

    def in_space(self, embedding: NDArray[np.float64], closed: sparse.csr_array | None = None) -> Candidates:
        """Return the nodes with their points and roles, for a nearest-pair search.

        Pairs in `closed`, symmetric, are left out; by default those that are candidates neither way.
        """
        spatial, time = columns_of(embedding, len(self.is_source))
        nodes = self.nodes
        roles = IS_SOURCE * self.is_source.astype(np.uint8) | IS_TARGET * self.is_target.astype(np.uint8)
        if closed is None:
            pairs = np.column_stack(self.joined.nonzero()).astype(np.int64)
            u, v = pairs[~self.either_way(pairs)].T
            one_way = sparse.csr_array((np.ones(len(u)), (u, v)), shape=self.joined.shape)
            closed = sparse.csr_array(one_way + one_way.T)
        return _in_space(spatial[:, nodes], time[nodes], closed[nodes][:, nodes], roles[nodes])

    @cached_property
    def are_nodes_of_one_role(self) -> bool:
        """Whether no node has both roles, or all have both and links are symmetric."""
        both = self.is_source & self.is_target
        if not both.any():
            return True
        pairs = np.column_stack(self.joined.nonzero()).astype(np.int64)
        is_symmetric = bool(self.are_joined(pairs[:, ::-1]).all())
        return is_symmetric and np.array_equal(self.is_source, self.is_target)

    def ends_in_space(self, embedding: NDArray[np.float64]) -> Candidates:
        """Return sources, then targets, with their points and roles; a node with both roles appears twice."""
        spatial, time = columns_of(embedding, len(self.is_source))
        ends = np.concatenate((self.sources, self.targets))
        closed = sparse.csr_array(self.joined + sparse.eye_array(len(self.is_source)))
        u, v = closed[self.sources][:, self.targets].nonzero()
        v = v + len(self.sources)
        both_ways = (np.ones(2 * len(u)), (np.append(u, v), np.append(v, u)))
        joined = sparse.csr_array(both_ways, shape=(len(ends), len(ends)))
        roles = np.repeat((IS_SOURCE, IS_TARGET), (len(self.sources), len(self.targets)))
        return _in_space(spatial[:, ends], time[ends], joined, roles.astype(np.uint8))


def patterns_of(graph: Graph, specs: Sequence[str | Sequence[str]] = ()) -> tuple[Pattern, ...]:
    """Return the patterns that `specs` name (see `chosen_patterns`), or the graph's common patterns.

    An undirected graph has none. Raises ValueError if a pattern is not in the graph.
    """
    return tuple(counted_patterns(graph, specs)[0])


def counted_patterns(
    graph: Graph, specs: Sequence[str | Sequence[str]] = ()
) -> tuple[dict[Pattern, int], str | None]:
    """Return `patterns_of` with relationship counts, and a note on patterns that are too rare, if any."""
    schema = graph.schema()
    carriers = {label: int(np.count_nonzero(carries)) for label, carries in graph.labels.items()}
    if specs:
        return chosen_patterns(specs, schema, carriers), None
    observed = observed_patterns(schema, carriers)
    return common_patterns(observed), rare_patterns_note(observed)


def ends_of(graph: Graph, pattern: Pattern | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of the possible sources and targets of a pattern, each of shape (N,)."""
    if pattern is None:
        every = np.ones(graph.n_nodes, dtype=np.bool_)
        return every, every
    source, target = (_carrying(graph, label) for label in (pattern.source, pattern.target))
    return source, target


def relationships_of(graph: Graph, pattern: Pattern | None) -> tuple[Rows, Rows]:
    """Return the sources and targets of a pattern's relationships, sorted; for None, all edges both ways."""
    if pattern is None:
        source, target = (ends.astype(np.int64) for ends in graph.adjacency.nonzero())
        return source, target
    assert graph.relationships is not None
    source, target = (ends.astype(np.int64) for ends in graph.relationships.of(pattern.type))
    is_source, is_target = ends_of(graph, pattern)
    own = is_source[source] & is_target[target]
    return source[own], target[own]


def reciprocity(graph: Graph, pattern: Pattern) -> float:
    """Return the share of a pattern's relationships that are reciprocated by the same type; [0, 1]."""
    source, target = relationships_of(graph, pattern)
    if not len(source) or graph.relationships is None:
        return 0.0
    matrix = graph.relationships.matrix(pattern.type, graph.n_nodes)
    return float(np.count_nonzero(entries(matrix, np.column_stack((target, source)))) / len(source))


def candidate_pairs(
    graph: Graph, pattern: Pattern | None, *, min_degree: int = 0, max_degree: int | None = None
) -> CandidatePairs:
    """Return a pattern's candidate pairs, or all unordered pairs; `min_degree` and `max_degree` filter nodes.

    The reverse of a linked pair is a candidate only if at least 2 % of the pattern's relationships are
    reciprocated. If the pattern's sources and targets are disjoint sets, their nodes keep those roles; nodes
    without a relationship of the pattern may have both.
    """
    suited = graph.degrees >= min_degree
    if max_degree is not None:
        suited &= graph.degrees <= max_degree
    if pattern is None:
        is_source, is_target, joined = suited, suited, graph.adjacency
    else:
        assert graph.relationships is not None
        is_source, is_target = (ends & suited for ends in ends_of(graph, pattern))
        is_source, is_target = _observed_roles(graph, pattern, is_source, is_target)
        joined = graph.relationships.matrix(pattern.type, graph.n_nodes)
        if reciprocity(graph, pattern) < _MUTUAL:
            joined = sparse.csr_array(joined + joined.T)
    return CandidatePairs(
        pattern, np.flatnonzero(is_source), np.flatnonzero(is_target), joined, is_source, is_target
    )


def sent_and_received(
    relationships: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]], n: int
) -> tuple[Rows, Rows]:
    """Return each node's number of outgoing and incoming relationships."""
    source, target = relationships
    return np.bincount(source, minlength=n), np.bincount(target, minlength=n)


def _observed_roles(
    graph: Graph, pattern: Pattern, is_source: NDArray[np.bool_], is_target: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Restrict each node to its observed role, if the pattern's sources and targets are disjoint."""
    out, into = sent_and_received(relationships_of(graph, pattern), graph.n_nodes)
    both = is_source & is_target
    is_mixed = bool(np.any(both & (out > 0) & (into > 0)))
    if is_mixed or np.maximum(out + into - 1, 0)[both].sum() < _REPEATED:
        return is_source, is_target
    return is_source & (into == 0), is_target & (out == 0)


def _in_space(
    spatial: NDArray[np.float64],
    time: NDArray[np.float64],
    joined: sparse.csr_array,
    roles: NDArray[np.uint8],
) -> Candidates:
    joined.sort_indices()
    indptr, indices = joined.indptr.astype(np.int64), joined.indices.astype(np.int32)
    return Candidates(np.ascontiguousarray(spatial), time, indptr, indices, roles)


def _carrying(graph: Graph, label: str) -> NDArray[np.bool_]:
    if label != NO_LABEL:
        return graph.labels[label]
    carries = np.zeros(graph.n_nodes, dtype=np.bool_)
    for mask in graph.labels.values():
        carries |= mask
    return ~carries
