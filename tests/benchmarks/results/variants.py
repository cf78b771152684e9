"""Changes of HEAT that were tried and not kept, put in place of its parts for one measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from heat_neo4j import pairs, similarity, training, walks
from heat_neo4j.estimator import HEAT
from heat_neo4j.graph import Graph

__all__ = ["VARIANTS", "in_place"]


def _neighbourly(graph: Graph) -> NDArray[np.float64]:
    """Return each node's attributes, half its own and half the mean of its neighbours'."""
    own = graph.attributes
    assert own is not None
    shares = sparse.diags_array(1.0 / np.maximum(graph.degrees, 1.0)) @ graph.adjacency
    dense = own.toarray() if sparse.issparse(own) else own
    return np.asarray(0.5 * (dense + shares @ dense))


def _fifty_numbers(graph: Graph) -> NDArray[np.float64]:
    """Return 50 components of the attributes, or one fewer than there are."""
    own = graph.attributes
    assert own is not None
    components = min(50, graph.n_attributes - 1)
    return np.asarray(TruncatedSVD(components, random_state=0).fit_transform(own))


def _attributes(make: Callable[[Graph], NDArray[np.float64]]) -> dict[tuple[Any, str], Any]:
    usual = similarity.make_similarity

    def changed(graph: Graph) -> Any:
        return usual(Graph(adjacency=graph.adjacency, attributes=make(graph)))

    return {(walks, "make_similarity"): changed}


def _rare_attributes() -> dict[tuple[Any, str], Any]:
    """Weigh the scaled columns by log(N / nodes that have them); scaling alone undoes any weights before."""
    usual = similarity.scaled

    def changed(attributes: Any) -> Any:
        e, m = usual(attributes)
        weights = np.log(e.shape[0] / np.maximum(np.bincount(e.indices, minlength=e.shape[1]), 1))
        return sparse.csr_array(e @ sparse.diags_array(weights, format="csr")), m * weights

    return {(similarity, "scaled"): changed}


def _squared_cosine() -> dict[tuple[Any, str], Any]:
    """Follow attributes in proportion to the squared cosine."""
    usual = similarity.make_similarity

    def changed(graph: Graph) -> Any:
        law = usual(graph)
        each = np.diff(law.table, axis=1, prepend=np.float32(0)).astype(np.float64)
        return law._replace(table=np.cumsum(each**2, axis=1).astype(np.float32))

    return {(walks, "make_similarity"): changed}


def _more_from_small() -> dict[tuple[Any, str], Any]:
    """Begin walks in proportion to degree ** -1/2, as many in all."""
    usual, walks_per_node = walks.draw_walks, HEAT().walks_per_node

    def changed(law: Any, indices: NDArray[np.int64]) -> Any:
        weight = np.maximum(np.diff(law.walker.indptr), 1.0) ** -0.5
        edges = np.round(np.cumsum(weight) / weight.sum() * (walks_per_node * law.n_nodes)).astype(np.int64)
        round_, node = np.divmod(indices, law.n_nodes)
        place = node * walks_per_node + round_  # each round has walks from all over the graph
        begin = np.searchsorted(edges, place, side="right")
        repetition = place - np.concatenate(([0], edges))[begin]
        return usual(law, repetition * law.n_nodes + begin)

    return {(training, "draw_walks"): changed, (pairs, "draw_walks"): changed}


VARIANTS: Mapping[str, Callable[[], dict[tuple[Any, str], Any]]] = {
    "attributes weighted by rarity (IDF)": _rare_attributes,
    "attributes averaged with the neighbours'": lambda: _attributes(_neighbourly),
    "50 components of the attributes": lambda: _attributes(_fifty_numbers),
    "squared cosine": _squared_cosine,
    "more walks from nodes of low degree": _more_from_small,
}
"""By title, what stands in for which names of which modules."""


@contextmanager
def in_place(title: str | None) -> Iterator[None]:
    """Let HEAT work in that changed way during the block; None changes nothing."""
    with ExitStack() as stack:
        for (module, name), stand_in in ({} if title is None else VARIANTS[title]()).items():
            stack.enter_context(mock.patch.object(module, name, stand_in))
        yield
