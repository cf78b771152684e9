"""Which ordered pairs of nodes a pattern allows, and that no relationship of its type joins yet."""

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
from heat_neo4j.graph import Graph
from heat_neo4j.patterns import (
    NO_LABEL,
    Pattern,
    chosen_patterns,
    common_patterns,
    observed_patterns,
    rare_patterns_note,
)

Rows = NDArray[np.int64]

_REPEATED = 10  # relationships beyond the first of their node; fewer separate two sets of nodes by chance
_MUTUAL = 0.02  # of relationships that lead both ways: from there on, one may be answered


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Pairs of one of S sources and one of T targets, which may be the same nodes, that may be linked.

    Of two nodes that may be linked either way, one pair at most becomes a link: in its likelier direction.
    """

    pattern: Pattern | None  # None where the graph knows no directions: then pairs are unordered
    sources: Rows  # of the graph, rising
    targets: Rows
    joined: sparse.csr_array  # (N, N): not 0 where a pair is joined already
    is_source: NDArray[np.bool_]  # (N,)
    is_target: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """How many pairs there are, joined ones included."""
        return len(self.sources) * len(self.targets)

    @cached_property
    def nodes(self) -> Rows:
        """Rows of sources and targets, rising."""
        return np.flatnonzero(self.is_source | self.is_target)

    @property
    def has_either_way(self) -> bool:
        """Whether two nodes may be linked either way."""
        return bool(np.count_nonzero(self.is_source & self.is_target) > 1)

    def allowed(self, first: Rows, second: Rows, *, reverse: bool = False) -> NDArray[np.bool_]:
        """Return which of the pairs of given sources and targets are candidates, shape (first, second).

        If `reverse`, first nodes are targets and second ones sources.
        """
        joined = self.joined.T.tocsr() if reverse else self.joined
        absent = joined[first][:, second].toarray() == 0
        return np.asarray(absent & (first[:, None] != second), dtype=np.bool_)

    def either_way(self, pairs: Rows) -> NDArray[np.bool_]:
        """Return which of `pairs`, shape (m, 2), are candidates the other way round."""
        u, v = pairs.T
        back = self.is_source[v] & self.is_target[u]
        back[back] = ~self.are_joined(np.column_stack((v[back], u[back])))
        return np.asarray(back)

    def are_joined(self, pairs: Rows) -> NDArray[np.bool_]:
        """Return which of `pairs`, shape (m, 2), are joined already."""
        return np.asarray(entries(self.joined, pairs) != 0.0)

    def of_sources(self, sources: Rows) -> CandidatePairs:
        """Return the candidates of some sources."""
        others = np.ones_like(self.is_source)
        others[sources] = False
        return self.without(others, np.zeros_like(others))

    def without(self, sources: NDArray[np.bool_], targets: NDArray[np.bool_]) -> CandidatePairs:
        """Return the candidates without some sources and some targets, masks of shape (N,)."""
        is_source, is_target = self.is_source & ~sources, self.is_target & ~targets
        return replace(
            self,
            sources=np.flatnonzero(is_source),
            targets=np.flatnonzero(is_target),
            is_source=is_source,
            is_target=is_target,
        )

    def other_pairs(self, codes: NDArray[np.int64], wanted: int, generator: np.random.Generator) -> Rows:
        """Draw so many pairs, none of them a node with itself or of `codes`, u N + v; they may come twice.

        Where there are hardly any others, fewer.
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

    def in_space(self, embedding: NDArray[np.float64]) -> Candidates:
        """Return the nodes with their points and roles, for a search of the nearest pairs."""
        spatial, time = columns_of(embedding, len(self.is_source))
        nodes = self.nodes
        roles = IS_SOURCE * self.is_source.astype(np.uint8) | IS_TARGET * self.is_target.astype(np.uint8)
        pairs = np.column_stack(self.joined.nonzero()).astype(np.int64)
        u, v = pairs[~self.either_way(pairs)].T
        closed = sparse.csr_array((np.ones(len(u)), (u, v)), shape=self.joined.shape)
        joined = sparse.csr_array(closed + closed.T)[nodes][:, nodes]
        return _in_space(spatial[:, nodes], time[nodes], joined, roles[nodes])

    @cached_property
    def are_nodes_of_one_role(self) -> bool:
        """Whether no node is both source and target, or every pair may be linked either way or not at all."""
        both = self.is_source & self.is_target
        if not both.any():
            return True
        pairs = np.column_stack(self.joined.nonzero()).astype(np.int64)
        is_symmetric = bool(self.are_joined(pairs[:, ::-1]).all())
        return is_symmetric and np.array_equal(self.is_source, self.is_target)

    def ends_in_space(self, embedding: NDArray[np.float64]) -> Candidates:
        """Return the sources, then the targets, with their points and roles; a node may be there twice."""
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
    """Return the patterns that `specs` name, as for `chosen_patterns`, or else the common ones of the graph.

    A ValueError if one is not in the graph; a graph without relationships of known direction has none.
    """
    return tuple(counted_patterns(graph, specs)[0])


def counted_patterns(
    graph: Graph, specs: Sequence[str | Sequence[str]] = ()
) -> tuple[dict[Pattern, int], str | None]:
    """Return `patterns_of` with their relationships, and one line about those that are too rare, if any."""
    schema = graph.schema()
    carriers = {label: int(np.count_nonzero(carries)) for label, carries in graph.labels.items()}
    if specs:
        return chosen_patterns(specs, schema, carriers), None
    observed = observed_patterns(schema, carriers)
    return common_patterns(observed), rare_patterns_note(observed)


def ends_of(graph: Graph, pattern: Pattern | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows may be sources, and which targets, of a pattern; both of shape (N,)."""
    if pattern is None:
        every = np.ones(graph.n_nodes, dtype=np.bool_)
        return every, every
    source, target = (_carrying(graph, label) for label in (pattern.source, pattern.target))
    return source, target


def relationships_of(graph: Graph, pattern: Pattern) -> tuple[Rows, Rows]:
    """Return sources and targets of the relationships of a pattern, sorted."""
    assert graph.relationships is not None
    source, target = (ends.astype(np.int64) for ends in graph.relationships.of(pattern.type))
    is_source, is_target = ends_of(graph, pattern)
    own = is_source[source] & is_target[target]
    return source[own], target[own]


def reciprocity(graph: Graph, pattern: Pattern) -> float:
    """Return the share of a pattern's relationships beside which one of its type leads back; [0, 1]."""
    source, target = relationships_of(graph, pattern)
    if not len(source) or graph.relationships is None:
        return 0.0
    matrix = graph.relationships.matrix(pattern.type, graph.n_nodes)
    return float(np.count_nonzero(entries(matrix, np.column_stack((target, source)))) / len(source))


def candidate_pairs(
    graph: Graph, pattern: Pattern | None, *, min_degree: int = 0, max_degree: int | None = None
) -> CandidatePairs:
    """Return the pairs of a pattern, or all unordered pairs, of nodes with so many neighbours.

    A pair that a relationship of the type joins the other way round is none, unless at least one in fifty of
    the pattern's relationships is answered. If these join two separate sets of nodes, nodes of neither set
    may be sources and targets, the others what they are.
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
    """Return outgoing and incoming relationships of each node."""
    source, target = relationships
    return np.bincount(source, minlength=n), np.bincount(target, minlength=n)


def _observed_roles(
    graph: Graph, pattern: Pattern, is_source: NDArray[np.bool_], is_target: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the roles of nodes, of which those with relationships of the pattern may show one only."""
    out, into = sent_and_received(relationships_of(graph, pattern), graph.n_nodes)
    both = is_source & is_target
    is_mixed = bool(np.any(both & (out > 0) & (into > 0)))
    if is_mixed or np.maximum(out + into - 1, 0)[both].sum() < _REPEATED:
        return is_source, is_target
    return is_source & (into == 0), is_target & (out == 0)


def entries(matrix: sparse.csr_array, pairs: Rows) -> NDArray[np.float64]:
    """Return the entries of a sparse matrix at `pairs`, shape (m, 2)."""
    if not len(pairs):  # of which scipy makes a sparse array
        return np.empty(0)
    return np.asarray(matrix[pairs[:, 0], pairs[:, 1]], dtype=np.float64).ravel()


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
