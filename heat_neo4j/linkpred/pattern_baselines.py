"""What a score of links by pattern must beat: scores of source and target that need no embedding.

Each takes the graph that remains after relationships were held out, and a pattern; it sees the relationships
of the pattern's type only, whatever labels they join.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError, largest_singular
from heat_neo4j.linkpred.candidates import ends_of
from heat_neo4j.linkpred.scorers import NodeScorer, SparseProductScorer, VectorScorer
from heat_neo4j.patterns import Pattern

__all__ = [
    "directed_adamic_adar",
    "directed_paths_of_three",
    "items_alike",
    "pattern_svd",
    "popularity",
]

_RANK = 32


def popularity(graph: Graph, pattern: Pattern) -> NodeScorer:
    """Score by the relationships that lead to the target."""
    _, back = _steps(graph, pattern)
    return NodeScorer(np.zeros(graph.n_nodes), np.add, np.diff(back.indptr).astype(np.float64))


def directed_adamic_adar(graph: Graph, pattern: Pattern) -> SparseProductScorer:
    """Score by the nodes w of s -> w -> t, s -> w <- t and s <- w -> t, each counted 1 / ln of its links.

    What leads back, s <- w <- t, does not count.
    """
    out, back = _steps(graph, pattern)
    links = np.diff(out.indptr) + np.diff(back.indptr)
    damping = sparse.diags_array(1.0 / np.log(np.maximum(links, 2)))
    left = sparse.hstack((out @ damping, back @ damping), format="csr")
    return SparseProductScorer(left, sparse.csr_array(sparse.hstack((out + back, back), format="csr")))


def directed_paths_of_three(graph: Graph, pattern: Pattern) -> SparseProductScorer:
    """Score by the paths s -> a <- b -> t, each counted 1 / sqrt(links to a, links from b)."""
    out, back = _steps(graph, pattern)
    to_each, from_each = (
        sparse.diags_array(1.0 / np.sqrt(np.maximum(np.diff(way.indptr), 1))) for way in (back, out)
    )
    left, middle = sparse.csr_array(out @ to_each), sparse.csr_array(back @ from_each)
    return SparseProductScorer(left, back, middle)


def items_alike(graph: Graph, pattern: Pattern) -> SparseProductScorer:
    """Score by how alike the target is to the targets of the source: cosines by their sources, added up.

    B. Sarwar et al., "Item-based collaborative filtering recommendation algorithms" (WWW 2001).
    """
    out, back = _steps(graph, pattern)
    lengths = np.sqrt(np.maximum(np.diff(back.indptr), 1))
    unit = sparse.csr_array(sparse.diags_array(1.0 / lengths) @ back)
    return SparseProductScorer(out, unit, middle=unit)


def pattern_svd(graph: Graph, pattern: Pattern) -> VectorScorer:
    """Score by the best approximation of rank 32 of the relationships between the pattern's nodes.

    A BaselineUnavailableError if there are fewer than two sources or targets, or no relationship.
    """
    out, _ = _steps(graph, pattern)
    sources, targets = (np.flatnonzero(ends) for ends in ends_of(graph, pattern))
    own = sparse.csr_array(out[sources][:, targets])
    rank = min(_RANK, min(own.shape) - 1)
    if rank < 1 or not own.nnz:
        raise BaselineUnavailableError("too few sources, targets or relationships")
    left, values, right = largest_singular(own, rank)
    of_source, of_target = np.zeros((graph.n_nodes, rank)), np.zeros((graph.n_nodes, rank))
    of_source[sources], of_target[targets] = left * values, right.T
    return VectorScorer(of_source, other=of_target)


def _steps(graph: Graph, pattern: Pattern) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the steps along relationships of the type, and back."""
    assert graph.relationships is not None
    out = graph.relationships.matrix(pattern.type, graph.n_nodes)
    return out, sparse.csr_array(out.T.tocsr())
