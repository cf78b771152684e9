"""How well coordinates preserve a hierarchy, compared with baselines."""

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD

from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.progress import Progress, as_progress, prefixed
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.hierarchy import Hierarchy, hierarchy_of
from heat_neo4j.evaluation.link_figures import PairFigures
from heat_neo4j.evaluation.link_tasks import HEAT_ROW, EvaluationError, described, sizes_of
from heat_neo4j.evaluation.report import Evaluation, Row, comparison_notes
from heat_neo4j.geometry.hyperboloid import radius
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.inputs.conversion import as_graph

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TOP = 5
_AT_ONCE = 64  # nodes whose distances to all others are held
_DAMPING, _STEPS = 0.85, 100  # of PageRank
_EUCLIDEAN = (50, 100)


class _Places(NamedTuple):
    """A method's output: the order of nodes and, if it has any, distances."""

    special: Array  # (N,): smaller is more general
    distances: Callable[[Rows], Array] | None = None  # of some nodes (rows) to all, shape (m, N)


def evaluate_hierarchy(
    graph: Any,
    model: HEAT,
    *,
    nodes: int = 1_000,
    seed: int = 0,
    baselines: bool = True,
    on_progress: Progress | bool = False,
) -> Evaluation:
    """Measure how well the embedding reconstructs the model's hierarchy.

    Nothing is held out: it measures how well a known hierarchy is preserved. The metrics of a method are
    those of `measure_hierarchy`. Baselines: the order by degree, the order by PageRank along the hierarchy,
    and Euclidean places of 50 and 100 dimensions: a truncated SVD of the symmetrically normalised adjacency,
    where a longer vector counts as more general.

    Parameters
    ----------
    graph : Graph or any input of `as_graph`
        A graph with types; for a `Database`, the `Projection` to read.
    model : HEAT
        With a `hierarchy`; cloned with ``random_state=seed``, not modified.
    nodes : int, at least 1, default 1,000
        Nodes to sample for ranks and precision, of those with an ancestor and of those with a descendant.
    seed : int, at least 0, default 0
        Seed of the training and of the sample.
    baselines : bool
        Compare with simpler methods on the same data.
    on_progress : callable or bool
        Called with stages such as "HEAT train".

    Returns
    -------
    Evaluation

    Raises
    ------
    EvaluationError
        If the model has no `hierarchy`, or `HEAT.fit` refuses it; also a ValueError.
    """
    graph, progress = as_graph(graph), as_progress(on_progress)
    if model.hierarchy is None:
        raise EvaluationError('no hierarchy is named: HEAT(hierarchy="TYPE"), or --hierarchy TYPE')
    with errors_as(EvaluationError):
        hierarchy = hierarchy_of(graph, model.hierarchy)
    methods: dict[str, Callable[[], _Places]] = {HEAT_ROW: lambda: _own(graph, model, seed, progress)}
    if baselines:
        methods |= _baselines(graph, hierarchy)
    rows = []
    for name, method in methods.items():
        progress(name, 0, 1)
        with one_blas_thread():
            start = perf_counter()
            places = method()
            seconds = perf_counter() - start
            figures = measure_hierarchy(hierarchy, places.special, places.distances, nodes=nodes, seed=seed)
        row = Row(name, is_ours=name == HEAT_ROW)
        row.add(seed, PairFigures(figures), seconds)
        rows.append(row)
        progress(name, 1, 1)
    settings = {**described(model), **hierarchy.facts(), "sampled_nodes": nodes}
    return Evaluation(tuple(rows), (seed,), sizes_of(graph), settings, tuple(_notes(rows, hierarchy, nodes)))


def measure_hierarchy(
    hierarchy: Hierarchy,
    special: Array,
    distances: Callable[[Rows], Array] | None = None,
    *,
    nodes: int = 1_000,
    seed: int = 0,
) -> Mapping[str, float]:
    """Return order_accuracy, mean_rank, mean_average_precision, precision_up and precision_down.

    order_accuracy is the share of direct relationships whose general end has the smaller of `special`, shape
    (N,). The others need `distances`, a function of m rows that returns shape (m, N). An ancestor is ranked
    among all nodes except other ancestors; average precision is over the nearest nodes (Nickel and Kiela
    2017). precision_up is the share of ancestors among the 5 nearest more general nodes (fewer if it has
    fewer ancestors); precision_down that of descendants among more specific ones. Ties count against the
    method. A metric without nodes is left out.
    """
    edges = hierarchy.parents.tocoo()
    figures = {"order_accuracy": float(np.mean(special[edges.col] < special[edges.row]))}
    if distances is None:
        return figures
    above = hierarchy.ancestors
    ups, downs, ranks, precisions = [], [], [], []
    for node, away in _sampled(above, distances, nodes, seed):
        own = above.indices[above.indptr[node] : above.indptr[node + 1]]
        others = np.ones(len(away), dtype=np.bool_)
        others[own] = others[node] = False
        nearer = np.searchsorted(np.sort(away[others]), np.sort(away[own]), side="right")
        ranks.append(nearer + 1)
        found = np.arange(1, len(own) + 1)
        precisions.append(float(np.mean(found / (found + nearer))))
        ups.append(_precision(away, own, special < special[node]))
    below = sparse.csr_array(above.T)
    for node, away in _sampled(below, distances, nodes, seed):
        own = below.indices[below.indptr[node] : below.indptr[node + 1]]
        downs.append(_precision(away, own, special > special[node]))
    return {
        **figures,
        "mean_rank": float(np.concatenate(ranks).mean()),
        "mean_average_precision": float(np.mean(precisions)),
        "precision_up": float(np.mean(ups)),
        "precision_down": float(np.mean(downs)),
    }


def _sampled(
    relatives: sparse.csr_array, distances: Callable[[Rows], Array], nodes: int, seed: int
) -> Iterator[tuple[int, Array]]:
    """Yield a sample of the nodes that have relatives, each with its distances."""
    asked = np.flatnonzero(np.diff(relatives.indptr))
    if len(asked) > nodes:
        asked = np.sort(np.random.default_rng(seed).choice(asked, nodes, replace=False))
    for first in range(0, len(asked), _AT_ONCE):
        block = asked[first : first + _AT_ONCE]
        yield from zip(block.tolist(), distances(block), strict=True)


def _precision(away: Array, relatives: NDArray[np.integer[Any]], allowed: NDArray[np.bool_]) -> float:
    """Return the share of relatives among the nearest allowed nodes; among equals they come last."""
    is_relative = np.zeros(len(away), dtype=np.bool_)
    is_relative[relatives] = True
    candidates = np.flatnonzero(allowed)
    wanted = min(_TOP, len(relatives))
    order = np.lexsort((is_relative[candidates], away[candidates]))[:wanted]
    return float(is_relative[candidates[order]].sum() / wanted)


def _own(graph: Graph, model: HEAT, seed: int, on_progress: Progress) -> _Places:
    fitted: Any = clone(model).set_params(random_state=seed)
    points = fitted.fit(graph, on_progress=prefixed(on_progress, f"{HEAT_ROW} ")).embedding_
    mirror = points.copy()
    mirror[:, :-1] *= -1.0
    return _Places(radius(points), lambda rows: np.asarray(mirror[rows] @ points.T))  # cosh rises alike


def _baselines(graph: Graph, hierarchy: Hierarchy) -> Mapping[str, Callable[[], _Places]]:
    euclidean = {
        f"Euclidean {size}": lambda size=size: _euclidean(graph, size)
        for size in _EUCLIDEAN
        if size < graph.n_nodes
    }
    return {
        "degree": lambda: _Places(-graph.degrees.astype(np.float64)),
        "directed PageRank": lambda: _Places(-_pagerank(hierarchy.parents)),
        **euclidean,
    }


def _pagerank(up: sparse.csr_array) -> Array:
    """Return the PageRank of walks upwards; roots lead to all nodes."""
    n = up.shape[0]
    degrees = np.diff(up.indptr)
    steps = sparse.csr_array(up.astype(np.float64).T @ sparse.diags_array(1.0 / np.maximum(degrees, 1)))
    rank = np.full(n, 1.0 / n)
    for _ in range(_STEPS):
        lost = rank[degrees == 0].sum()
        rank = (1.0 - _DAMPING) / n + _DAMPING * (steps @ rank + lost / n)
    return np.asarray(rank)


def _euclidean(graph: Graph, size: int) -> _Places:
    scale = sparse.diags_array(1.0 / np.sqrt(np.maximum(graph.degrees, 1)))
    near = scale @ (graph.adjacency + sparse.eye_array(graph.n_nodes)) @ scale
    points = TruncatedSVD(size, random_state=0).fit_transform(sparse.csr_array(near))
    square = (points * points).sum(axis=1)
    return _Places(-square, lambda rows: square[rows, None] - 2.0 * points[rows] @ points.T + square)


def _notes(rows: list[Row], hierarchy: Hierarchy, nodes: int) -> Iterator[str]:
    pairs = f"{hierarchy.ancestors.nnz:,} pairs of a node and one above it"
    yield f"{hierarchy.type}: the {hierarchy.general_end} is more general; {pairs}"
    has_above = np.count_nonzero(np.diff(hierarchy.ancestors.indptr))
    if has_above > nodes:
        yield f"ranks and precision: {nodes:,} nodes sampled from {has_above:,}"
    yield from comparison_notes(rows, ("mean_average_precision",))
