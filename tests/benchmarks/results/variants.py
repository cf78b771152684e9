"""Changes of HEAT that were tried and not kept: each puts something in the place of one of its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from heat_neo4j._kernels.walks import draw_block
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding import similarity, walks
from heat_neo4j.embedding.placement import with_neighbours
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.benchmarks.node_classes import attribute_svd

__all__ = ["VARIANTS", "in_place"]

Patch = AbstractContextManager[Any]


def _attributes(make: Callable[[Graph], Any]) -> Patch:
    """Let attribute steps follow other attributes."""
    usual = similarity.make_similarity

    def changed(graph: Graph, team: WorkerThreads) -> Any:
        return usual(Graph(adjacency=graph.adjacency, attributes=make(graph)), team=team)

    return mock.patch.object(walks, "make_similarity", changed)


def _neighbourly(graph: Graph) -> Any:
    """Return each node's attributes plus the mean of its neighbours'."""
    assert graph.attributes is not None
    return with_neighbours(graph, 1.0) @ graph.attributes


def _rare_attributes() -> Patch:
    """Weigh the scaled columns by log(N / nodes that have them); scaling alone undoes any weights before."""
    usual = similarity.scaled

    def changed(attributes: Any) -> Any:
        d, background = usual(attributes)
        x = sparse.csc_array(attributes)
        varied = x.max(axis=0).toarray().ravel() != x.min(axis=0).toarray().ravel()
        weights = np.log(x.shape[0] / x.count_nonzero(axis=0)[varied])
        return sparse.csr_array(d @ sparse.diags_array(weights)), background * weights

    return mock.patch.object(similarity, "scaled", changed)


def _squared_cosine() -> Patch:
    """Follow attributes in proportion to the squared cosine."""
    usual = similarity.make_similarity

    def changed(graph: Graph, team: WorkerThreads) -> Any:
        law = usual(graph, team=team)
        each = np.diff(law.table, axis=1, prepend=np.float32(0)).astype(np.float64)
        return law._replace(table=np.cumsum(each**2, axis=1).astype(np.float32))

    return mock.patch.object(walks, "make_similarity", changed)


def _more_from_small() -> Patch:
    """Begin walks in proportion to degree ** -1/2, as many in all."""
    walks_per_node = HEAT().walks_per_node

    def changed(walker: Any, law: Any, indices: Any, nodes: Any, lengths: Any, *member: Any) -> None:
        n_nodes = len(walker.indptr) - 1
        weight = np.maximum(np.diff(walker.indptr), 1) ** -0.5
        ends = np.round(np.cumsum(weight) / weight.sum() * (walks_per_node * n_nodes)).astype(np.int64)
        round_, node = np.divmod(indices, n_nodes)
        place = node * walks_per_node + round_  # each round has walks from all over the graph
        begin = np.searchsorted(ends, place, side="right")
        repetition = place - np.concatenate(([0], ends))[begin]
        draw_block(walker, law, repetition * n_nodes + begin, nodes, lengths, *member)

    return mock.patch.object(walks, "draw_block", changed)


VARIANTS: Mapping[str, Callable[[], Patch]] = {
    "attributes weighted by rarity (IDF)": _rare_attributes,
    "attributes averaged with the neighbours'": lambda: _attributes(_neighbourly),
    "50 components of the attributes": lambda: _attributes(lambda graph: attribute_svd(graph, 50, seed=0)),
    "squared cosine": _squared_cosine,
    "more walks from nodes of low degree": _more_from_small,
}
"""By title, what puts the change in its place."""


def in_place(title: str | None) -> Patch:
    """Let HEAT work in that changed way during a block; None changes nothing."""
    return nullcontext() if title is None else VARIANTS[title]()
