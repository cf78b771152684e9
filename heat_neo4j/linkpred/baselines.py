"""Baselines that an embedding must beat: untrained pair scores and well-known other embeddings.

Each baseline takes the training graph, without the held-out links. With a pattern, it scores (source, target)
by relationships of the pattern's type, whatever labels. Without one, it scores any two nodes by all edges.
"""

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from heat_neo4j._utils.csr import scaled_columns
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.embedding.comparison import compared
from heat_neo4j.geometry.hyperboloid import from_poincare, lift
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.attribute_rows import attribute_rows
from heat_neo4j.linkpred.candidates import ends_of
from heat_neo4j.linkpred.scorers import (
    PATH_HUB_ENTRIES,
    DirectedScorer,
    NodeScorer,
    SparseProductScorer,
    VectorScorer,
)
from heat_neo4j.patterns import Pattern

_POWER_ITERATIONS = 12
_FASTRP_STEPS = 3
_NEGATIVES = 10  # of gensim's PoincareModel; Nickel and Kiela's 10 negatives


class BaselineUnavailableError(ValueError):
    """A baseline cannot be computed for this graph or on this machine; the message says why."""


def popularity(graph: Graph, pattern: Pattern | None = None) -> NodeScorer:
    """Score by (1 + the source's outgoing links) * (1 + the target's incoming links).

    A source's targets are thus ranked by popularity. On an undirected graph this is preferential attachment.
    """
    out, back = steps(graph, pattern)
    leave, lead = (1.0 + np.diff(way.indptr) for way in (out, back))
    return NodeScorer(leave, np.multiply, lead)


def adamic_adar(graph: Graph, pattern: Pattern | None = None) -> SparseProductScorer:
    """Score by the sum of 1 / ln deg(w) over common neighbours w.

    With a pattern, only its type counts, on the paths s -> w -> t, s -> w <- t and s <- w -> t; the reverse
    path s <- w <- t does not count.

    L. Adamic and E. Adar, "Friends and neighbors on the Web", Social Networks 25 (2003).
    """
    out, back = steps(graph, pattern)
    links = np.diff(out.indptr) + (0 if pattern is None else np.diff(back.indptr))
    # A common neighbour has at least two neighbours, so nodes with one never count.
    weights = 1.0 / np.log(np.maximum(links, 2))
    left = scaled_columns(out, weights)
    if pattern is None:
        return SparseProductScorer(left, out)
    both = sparse.hstack((left, scaled_columns(back, weights)), format="csr")
    return SparseProductScorer(both, sparse.csr_array(sparse.hstack((out + back, back), format="csr")))


def paths_of_three(
    graph: Graph, pattern: Pattern | None = None, *, damping: float = 0.5
) -> SparseProductScorer:
    """Score by paths s -> a <- b -> t, each weighted 1 / (in-links of a * out-links of b) ** `damping`.

    I. Kovacs et al., "Network-based prediction of protein interactions", Nature Communications 10 (2019).
    """
    out, back = steps(graph, pattern)
    to_each, from_each = (1.0 / np.maximum(np.diff(way.indptr), 1) ** damping for way in (back, out))
    left, middle = scaled_columns(out, to_each), scaled_columns(back, from_each)
    # All paths of two might not fit in memory.
    return SparseProductScorer(left, back, middle, PATH_HUB_ENTRIES)


def truncated_svd(
    graph: Graph, pattern: Pattern | None = None, *, rank: int = 32, normalised: bool = False
) -> VectorScorer:
    """Score by the rank-`rank` SVD of the pattern's 0/1 link matrix.

    If `normalised`, each link is divided by the square root of the product of both ends' link counts. Raises
    BaselineUnavailableError if there are fewer than two sources or targets, or no link.
    """
    out, _ = steps(graph, pattern)
    n = graph.n_nodes
    ends = (np.ones(n, np.bool_), np.ones(n, np.bool_)) if pattern is None else ends_of(graph, pattern)
    sources, targets = map(np.flatnonzero, ends)
    own = sparse.csr_array(out[sources][:, targets])
    rank = min(rank, min(own.shape) - 1)
    if rank < 1 or not own.nnz:
        raise BaselineUnavailableError("too few sources, targets or links")
    if normalised:
        root = [sparse.diags_array(1.0 / np.sqrt(np.maximum(own.sum(axis=way), 1.0))) for way in (1, 0)]
        own = sparse.csr_array(root[0] @ own @ root[1])
    left, values, right = largest_singular(own, rank)
    of_source, of_target = np.zeros((n, rank)), np.zeros((n, rank))
    of_source[sources], of_target[targets] = left * values, right.T
    return VectorScorer(of_source, of_target)


def fastrp(graph: Graph, n_components: int, seed: int, *, attributes: bool = False) -> NDArray[np.float64]:
    """Return unit vectors, shape (N, n_components): initial vectors summed over zero to three random steps.

    Initial vectors are random or, with `attributes`, random projections of the node's attributes.

    H. Chen et al., "Fast and Accurate Network Embeddings via Very Sparse Random Projection" (CIKM 2019).
    """
    random = np.random.default_rng(seed)
    if attributes and graph.attributes is not None:
        cosine_rows = normalize(sparse.csr_array(graph.attributes))
        signs = random.choice((-1.0, 1.0), (graph.n_attributes, n_components))
        vectors = cosine_rows @ signs
    else:
        vectors = random.choice((-1.0, 0.0, 1.0), (graph.n_nodes, n_components), p=(1 / 6, 2 / 3, 1 / 6))
    step = normalize(_unweighted(graph), norm="l1")
    total = normalize(vectors)
    for _ in range(_FASTRP_STEPS):
        vectors = step @ vectors
        total += normalize(vectors)
    return np.asarray(normalize(total))


def attribute_cosine(graph: Graph) -> DirectedScorer | None:
    """Score by the cosine of the raw attributes; None for a graph without attributes."""
    if graph.attributes is None or graph.n_attributes == 0:
        return None
    unit = attribute_rows(compared(graph)).unit()
    return unit.product(unit)


def largest_singular(
    matrix: sparse.csr_array, rank: int, iterations: int = _POWER_ITERATIONS
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the truncated SVD as NumPy does: left vectors, singular values (descending), right vectors.

    Uses a randomised SVD with a fixed seed; fewer `iterations` are less accurate. Lanczos iterations fail
    when many singular values are equal, for example if each node has exactly one link of the type.
    """
    left, values, right = randomized_svd(matrix, rank, n_iter=iterations, random_state=0)
    return left, values, right


def poincare_embedding(
    graph: Graph,
    n_components: int,
    seed: int,
    on_progress: Progress = no_progress,
    epochs: int = 50,
) -> NDArray[np.float64]:
    """Return gensim's Poincare embedding as points on the hyperboloid, shape (N, d + 1).

    Trains on each edge in both directions with 10 negatives, fewer if a node has fewer unlinked nodes;
    otherwise gensim's defaults. Nodes without an edge stay at the origin. Raises BaselineUnavailableError if
    gensim is not installed or a node is linked to all others.

    M. Nickel and D. Kiela, "Poincare Embeddings for Learning Hierarchical Representations" (NIPS 2017).
    """
    if find_spec("gensim") is None:
        raise BaselineUnavailableError("not installed: pip install 'heat-neo4j[baselines]'")
    from gensim.models.poincare import PoincareModel

    n_linked = int(np.count_nonzero(graph.degrees))
    # gensim counts the node itself among its negatives.
    negatives = min(_NEGATIVES, n_linked - int(graph.degrees.max(initial=0)) - 1)
    if negatives < 1:
        raise BaselineUnavailableError("a node is linked to all others: gensim finds no negative for it")
    source, target = graph.adjacency.nonzero()
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    model = PoincareModel(edges, size=n_components, negative=negatives, seed=seed % 2**32)
    on_progress("gensim", 0, epochs)
    for epoch in range(epochs):  # same as one call, as gensim's learning rate is constant
        model.train(epochs=1, print_every=10**9)
        on_progress("gensim", epoch + 1, epochs)
    points = lift(np.zeros((graph.n_nodes, n_components)))
    points[model.kv.index_to_key] = from_poincare(model.kv.vectors)
    return points


def steps(graph: Graph, pattern: Pattern | None) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the 0/1 matrices of links and reversed links, shape (N, N): of the pattern's type, or all."""
    if pattern is None:
        links = _unweighted(graph)
        return links, links
    assert graph.relationships is not None
    out = graph.relationships.matrix(pattern.type, graph.n_nodes)
    return out, sparse.csr_array(out.T.tocsr())


def _unweighted(graph: Graph) -> sparse.csr_array:
    links = graph.adjacency.copy()
    links.data = np.ones_like(links.data)
    return links
