"""What an embedding must beat: scores of pairs that need no training, and the usual other embeddings.

Each takes the graph that remains after links were held out. Scores are of source and target of a pattern, and
see the relationships of its type only, whatever labels they join; without a pattern, of any two nodes, by all
edges.
"""

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.geometry.hyperboloid import from_poincare, lift
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.attribute_rows import AttributeRows, attribute_rows
from heat_neo4j.linkpred.candidates import ends_of
from heat_neo4j.linkpred.scorers import DirectedScorer, NodeScorer, SparseProductScorer, VectorScorer
from heat_neo4j.patterns import Pattern

_POWER_ITERATIONS = 12
_FASTRP_STEPS = 3
_NEGATIVES = 10  # of gensim's PoincareModel; Nickel and Kiela's 10 negatives


class BaselineUnavailableError(ValueError):
    """A baseline cannot be had, on this graph or on this machine; the message says why."""


def popularity(graph: Graph, pattern: Pattern | None = None) -> NodeScorer:
    """Score by (1 + links that leave the source) (1 + links that lead to the target).

    The targets of one source rank by their links; of an undirected graph it is "preferential attachment".
    """
    out, back = steps(graph, pattern)
    leave, lead = (1.0 + np.diff(way.indptr) for way in (out, back))
    return NodeScorer(leave, np.multiply, lead)


def adamic_adar(
    graph: Graph, pattern: Pattern | None = None, *, most_neighbours: int | None = None
) -> SparseProductScorer:
    """Score by the common neighbours w, each counted 1 / ln deg(w), if deg(w) <= `most_neighbours`.

    With a pattern, by its type alone, the nodes w of s -> w -> t, s -> w <- t and s <- w -> t; what leads
    back, s <- w <- t, does not count.

    L. Adamic and E. Adar, "Friends and neighbors on the Web", Social Networks 25 (2003).
    """
    out, back = steps(graph, pattern)
    links = np.diff(out.indptr) + (0 if pattern is None else np.diff(back.indptr))
    # A common neighbour of two nodes has two neighbours at least; those of one never count.
    weights = 1.0 / np.log(np.maximum(links, 2))
    if most_neighbours is not None:
        weights[links > most_neighbours] = 0.0
    damping = sparse.diags_array(weights)
    left = sparse.csr_array(out @ damping)
    left.eliminate_zeros()
    if pattern is None:
        return SparseProductScorer(left, out)
    both = sparse.hstack((left, back @ damping), format="csr")
    return SparseProductScorer(both, sparse.csr_array(sparse.hstack((out + back, back), format="csr")))


def paths_of_three(
    graph: Graph, pattern: Pattern | None = None, *, damping: float = 0.5
) -> SparseProductScorer:
    """Score by the paths s -> a <- b -> t, each counted 1 / (links to a times links from b) ** `damping`.

    I. Kovacs et al., "Network-based prediction of protein interactions", Nature Communications 10 (2019).
    """
    out, back = steps(graph, pattern)
    to_each, from_each = (
        sparse.diags_array(1.0 / np.maximum(np.diff(way.indptr), 1) ** damping) for way in (back, out)
    )
    left, middle = sparse.csr_array(out @ to_each), sparse.csr_array(back @ from_each)
    return SparseProductScorer(left, back, middle)  # paths of two are more than memory may hold


def truncated_svd(
    graph: Graph, pattern: Pattern | None = None, *, rank: int = 32, normalised: bool = False
) -> VectorScorer:
    """Score by the best approximation of a rank of the links between the pattern's nodes, 1 for each.

    If `normalised`, each link counts one over the root of the links of both its ends. A
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
    return VectorScorer(of_source, other=of_target)


def fastrp(graph: Graph, n_components: int, seed: int, *, attributes: bool = False) -> NDArray[np.float64]:
    """Return vectors of length 1, shape (N, n_components): sums of what zero to three random steps reach.

    Nodes start with random vectors or, with `attributes`, with random projections of their attributes.

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


def unit_attributes(graph: Graph) -> AttributeRows | None:
    """Return the attributes as rows of length 1; None for a graph without attributes."""
    if graph.attributes is None or graph.n_attributes == 0:
        return None
    return attribute_rows(graph.attributes).unit()


def attribute_cosine(graph: Graph) -> DirectedScorer | None:
    """Score by the cosine of the attributes as they are; None for a graph without attributes."""
    unit = unit_attributes(graph)
    return None if unit is None else unit.product(unit)


def largest_singular(
    matrix: sparse.csr_array, rank: int, iterations: int = _POWER_ITERATIONS
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return left vectors, the largest singular values, falling, and right vectors, as NumPy's SVD does.

    Fewer `iterations` approximate them. By random projections with a fixed seed: Lanczos iterations fail
    where many values are equal, as they are of a type that leads from each node to one other.
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
    """Return the Poincare embedding of Nickel and Kiela as gensim trains it, on the hyperboloid, (N, d + 1).

    Each edge is given in both directions, with 10 negatives (fewer where a node leaves fewer nodes
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
    on_progress("gensim", 0, epochs)
    for epoch in range(epochs):  # the same as all at once: gensim's rate is constant
        model.train(epochs=1, print_every=10**9)
        on_progress("gensim", epoch + 1, epochs)
    points = lift(np.zeros((graph.n_nodes, n_components)))
    points[model.kv.index_to_key] = from_poincare(model.kv.vectors)
    return points


def steps(graph: Graph, pattern: Pattern | None) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the steps along links and back, shape (N, N), 1 for each: of the pattern's type, or of any."""
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
