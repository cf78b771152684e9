"""What an embedding must beat: scores of pairs that need no training, and the usual other embeddings.

Each takes the graph that remains after edges were held out. Scores are a `PairScorer`, embeddings an array.
"""

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.extmath import randomized_svd

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.geometry.hyperboloid import from_poincare, lift
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.attribute_rows import attribute_rows
from heat_neo4j.linkpred.scorers import DirectedScorer, NodeScorer, SparseProductScorer, VectorScorer

__all__ = [
    "BaselineUnavailableError",
    "adamic_adar",
    "adjacency_svd",
    "attribute_cosine",
    "attribute_svd",
    "degree_product",
    "largest_singular",
    "paths_of_three",
    "poincare_embedding",
]

_POWER_ITERATIONS = 12
_EPOCHS, _NEGATIVES = 50, 10  # of gensim's PoincareModel; Nickel and Kiela's 10 negatives


class BaselineUnavailableError(ValueError):
    """A baseline cannot be had, on this graph or on this machine; the message says why."""


def degree_product(graph: Graph) -> NodeScorer:
    """Score by deg(u) deg(v), "preferential attachment"."""
    return NodeScorer(graph.degrees.astype(np.float64), np.multiply)


def adamic_adar(graph: Graph, *, most_neighbours: int | None = None) -> SparseProductScorer:
    """Score by the common neighbours w, each counted 1 / ln deg(w), if deg(w) <= `most_neighbours`.

    L. Adamic and E. Adar, "Friends and neighbors on the Web", Social Networks 25 (2003).
    """
    links = _unweighted(graph)
    # A common neighbour of two nodes has two neighbours at least; those of one never count.
    weights = 1.0 / np.log(np.maximum(graph.degrees, 2))
    if most_neighbours is not None:
        weights[graph.degrees > most_neighbours] = 0.0
    left = sparse.csr_array(links @ sparse.diags_array(weights))
    left.eliminate_zeros()
    return SparseProductScorer(left, links)


def paths_of_three(graph: Graph) -> SparseProductScorer:
    """Score by the paths u - a - b - v, each counted 1 / sqrt(deg(a) deg(b)).

    I. Kovacs et al., "Network-based prediction of protein interactions", Nature Communications 10 (2019).
    """
    links = _unweighted(graph)
    damped = sparse.csr_array(links @ sparse.diags_array(1.0 / np.sqrt(np.maximum(graph.degrees, 1))))
    return SparseProductScorer(damped, links, middle=damped)  # paths of two are more than memory may hold


def attribute_cosine(graph: Graph) -> DirectedScorer | None:
    """Score by the cosine of the attributes as they are; None for a graph without attributes."""
    if graph.attributes is None or graph.n_attributes == 0:
        return None
    unit = attribute_rows(graph.attributes).unit()
    return unit.product(unit)


def adjacency_svd(graph: Graph, n_components: int) -> VectorScorer:
    """Score by the best approximation of rank `n_components`, N - 2 at most, of the adjacency matrix."""
    k = max(min(n_components, graph.n_nodes - 2), 1)
    # Of a symmetric matrix, the truncated singular values are the eigenvalues of largest magnitude.
    start = np.linspace(1.0, 2.0, graph.n_nodes)
    values, vectors = eigsh(graph.adjacency, k=k, which="LM", v0=start)
    return VectorScorer(vectors, values)


def largest_singular(
    matrix: sparse.csr_array, rank: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return left vectors, the largest singular values, falling, and right vectors, as NumPy's SVD does.

    By random projections with a fixed seed: Lanczos iterations fail where many values are equal, as they are
    of a type that leads from each node to one other.
    """
    left, values, right = randomized_svd(matrix, rank, n_iter=_POWER_ITERATIONS, random_state=0)
    return left, values, right


def attribute_svd(graph: Graph, n_components: int, seed: int) -> NDArray[np.float64]:
    """Return coordinates, shape (N, min(n_components, F)), of a truncated SVD of the attributes.

    A BaselineUnavailableError if the graph has no attributes.
    """
    if graph.attributes is None or graph.n_attributes == 0:
        raise BaselineUnavailableError("the graph has no attributes")
    k = min(n_components, graph.n_attributes)
    if k == graph.n_attributes:  # every direction is kept: the attributes, but for a rotation
        x = graph.attributes
        return np.asarray(x.toarray() if sparse.issparse(x) else x)
    svd = TruncatedSVD(n_components=k, random_state=seed)
    return np.asarray(svd.fit_transform(graph.attributes), dtype=np.float64)


def poincare_embedding(
    graph: Graph, n_components: int, seed: int, on_progress: Progress = no_progress
) -> NDArray[np.float64]:
    """Return the Poincare embedding of Nickel and Kiela as gensim trains it, on the hyperboloid, (N, d + 1).

    Each edge is given in both directions; 50 epochs with 10 negatives (fewer where a node leaves fewer nodes
    unlinked), gensim's other defaults; nodes without an edge stay at the origin. A BaselineUnavailableError
    if gensim is not installed, or finds no negative for a node linked to all others.

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
    on_progress("gensim", 0, _EPOCHS)
    for epoch in range(_EPOCHS):  # the same as all at once: gensim's rate is constant
        model.train(epochs=1, print_every=10**9)
        on_progress("gensim", epoch + 1, _EPOCHS)
    points = lift(np.zeros((graph.n_nodes, n_components)))
    points[model.kv.index_to_key] = from_poincare(model.kv.vectors)
    return points


def _unweighted(graph: Graph) -> sparse.csr_array:
    links = graph.adjacency.copy()
    links.data = np.ones_like(links.data)
    return links
