"""What an embedding must beat: scores of pairs that need no training, and the usual other embeddings.

Each takes the graph that remains after edges were held out, and returns a `PairScorer`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from heat_neo4j.graph import Graph
from heat_neo4j.scorers import NodeProductScorer, SparseProductScorer, VectorScorer

__all__ = ["adamic_adar", "adjacency_svd", "attribute_cosine", "degree_product"]


def degree_product(graph: Graph) -> NodeProductScorer:
    """Score by deg(u) deg(v), "preferential attachment"."""
    return NodeProductScorer(graph.degrees.astype(np.float64))


def adamic_adar(graph: Graph) -> SparseProductScorer:
    """Score by the common neighbours w, each counted 1 / ln deg(w).

    References
    ----------
    L. Adamic and E. Adar, "Friends and neighbors on the Web", Social Networks 25 (2003).
    """
    links = _unweighted(graph)
    # A common neighbour of two nodes has two neighbours at least; those of one never count.
    weights = 1.0 / np.log(np.maximum(graph.degrees, 2))
    return SparseProductScorer(sparse.csr_array(links @ sparse.diags_array(weights)), links)


def attribute_cosine(graph: Graph) -> SparseProductScorer | None:
    """Score by the cosine of the attributes as they are; None for a graph without attributes."""
    if graph.attributes is None or graph.n_attributes == 0:
        return None
    values = sparse.csr_array(graph.attributes)
    lengths = np.sqrt(np.asarray(values.multiply(values).sum(axis=1)).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    unit = sparse.csr_array(sparse.diags_array(scale) @ values)
    return SparseProductScorer(unit, unit)


def adjacency_svd(graph: Graph, n_components: int) -> VectorScorer:
    """Score by the best approximation of rank `n_components` of the adjacency matrix.

    Parameters
    ----------
    graph : Graph
        Its weights count.
    n_components : int
        Rank; at most N - 2 is taken.
    """
    k = max(min(n_components, graph.n_nodes - 2), 1)
    # Of a symmetric matrix, the truncated singular values are the eigenvalues of largest magnitude.
    start = np.linspace(1.0, 2.0, graph.n_nodes)
    values, vectors = eigsh(graph.adjacency, k=k, which="LM", v0=start)
    return VectorScorer(vectors, values)


def _unweighted(graph: Graph) -> sparse.csr_array:
    links = graph.adjacency.copy()
    links.data = np.ones_like(links.data)
    return links
