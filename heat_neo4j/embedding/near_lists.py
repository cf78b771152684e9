"""Lists of the nodes with the most similar vectors or texts, from which attribute teleports are drawn.

Texts are compared by the cosines of centred TF-IDF weights. Their rows stay sparse: the mean m of all rows is
subtracted within products, x_u . x_v - x_u . m - x_v . m + m . m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels import near_vectors as kernels
from heat_neo4j._kernels.dense import make_unit
from heat_neo4j._kernels.lists import best_products
from heat_neo4j._kernels.sparse import dense_products, sparse_products
from heat_neo4j._kernels.vectors import SHORT_LANES, padded_width
from heat_neo4j._utils.csr import CsrParts
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.embedding.comparison import compared_block
from heat_neo4j.graph import Graph

LISTED = 100
"""Maximum number of nodes in a node's list."""
EXACT = 6_000
"""Largest N for which all pairs are compared."""

VISITED = 1 << 14
"""Nodes with a word of a node's text that are visited, words of few nodes first. Four times as many found
.4 % more of the weight of WordNet's lists, in three times the time."""
_CANDIDATES = 2 * LISTED
_BLOCK = 512
_EQUAL = 1e-12  # squared lengths of centred rows below it are rounding errors
_LEAF, _TREES, _FIRST = 128, 8, 16


def vector_rows(graph: Graph) -> NDArray[np.float32] | None:
    """Return the vectors of a graph, shape (N, W), W a multiple of 16; None if it has none.

    Rows are of length 1, or 0 for nodes without a vector, and whitened. Several vectors of a node are joined,
    so that their cosines are averaged.
    """
    values: Any = graph.attributes
    vectors = [
        compared_block(entry, values[:, columns], known)
        for entry, columns, known in graph.attribute_blocks()
        if is_vector(entry)
    ]
    return _joined(vectors) if vectors else None


def with_attributes(graph: Graph, keeps: Sequence[bool]) -> Graph:
    """Return the graph with only the attributes for which `keeps` is true."""
    assert graph.attributes is not None
    kept = np.zeros(graph.n_attributes, dtype=np.bool_)
    recipe = []
    for keep, (entry, columns, _) in zip(keeps, graph.attribute_blocks(), strict=True):
        kept[columns] = keep
        recipe += [entry] if keep else []
    return replace(
        graph,
        attributes=graph.attributes[:, np.flatnonzero(kept)],
        attribute_names=(),
        provenance=replace(graph.provenance, attribute_recipe=recipe),
    )


def near_lists(
    rows: NDArray[np.float32], team: WorkerThreads = ALONE, *, exact: int = EXACT
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the most similar nodes of each node, and their weights, cumulated; shape (N, k) each.

    The weight of a node is the cube of its cosine: on WordNet's glosses and Citeseer's words, cubes found
    more held-out links than cosines, whose sum comes mostly from pairs that are hardly alike. See `nearest`.
    """
    near, weights = nearest(rows, LISTED, team, exact=exact)
    kernels.cumulate_cubes(weights)
    return near, weights


def near_matrix(graph: Graph, k: int, team: WorkerThreads = ALONE) -> sparse.csr_array | None:
    """Return the cosines of each node with its `k` most similar ones, shape (N, N); None without vectors.

    The entries of a row are sorted by descending cosine.
    """
    rows = vector_rows(graph)
    if rows is None:
        return None
    near, cosines = nearest(rows, k, team)
    there = near != kernels.NOBODY
    parts = cosines[there].astype(np.float64), near[there], np.append(0, np.cumsum(there.sum(axis=1)))
    return sparse.csr_array(parts, shape=(graph.n_nodes, graph.n_nodes))


def nearest(
    rows: NDArray[np.float32],
    most: int,
    team: WorkerThreads = ALONE,
    *,
    exact: int = EXACT,
    leaf: int = _LEAF,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the most similar nodes of each node, and their cosines; shape (N, k) each, k at most `most`.

    Lists are sorted by descending cosine; free places have -1 and the cosine 0. They hold the nearest nodes
    up to `exact` nodes, beyond it most of them, by trees with leaves of `leaf` nodes.
    """
    there = np.flatnonzero(rows.any(axis=1))
    k = max(min(most, there.size - 1), 1)
    known = rows if there.size == len(rows) else rows[there]
    near = np.full((there.size, k), kernels.NOBODY, dtype=np.int32)
    cosines = np.zeros((there.size, k), dtype=np.float32)
    is_exact = there.size <= exact
    orders = np.empty((1 if is_exact else _TREES, there.size), dtype=np.int32)
    leaf = max(there.size, 1) if is_exact else leaf
    bounds = kernels.leaves(there.size, leaf)
    team.run(kernels.grow_trees, known, leaf, orders)
    for order in orders:
        team.run(kernels.compare_leaves, known, order, bounds, near, cosines)
    if not is_exact:
        team.run(kernels.compare_neighbours, known, near.copy(), _FIRST, near, cosines)
    if known is rows:
        return near, cosines
    found = np.full((len(rows), k), kernels.NOBODY, dtype=np.int32)
    values = np.zeros((len(rows), k), dtype=np.float32)
    found[there] = np.where(near == kernels.NOBODY, kernels.NOBODY, there[near])
    values[there] = cosines
    return found, values


def _joined(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    wide = sum(block.shape[1] for block in vectors)
    width = padded_width(wide, SHORT_LANES)
    if len(vectors) == 1 and width == wide:
        return vectors[0]
    rows = np.zeros((len(vectors[0]), width), dtype=np.float32)
    rows[:, :wide] = np.hstack(vectors)
    make_unit(rows)
    return rows


class Words(NamedTuple):
    """The texts of N nodes over F words."""

    rows: CsrParts  # (N, F): of length 1, or empty
    n_words: int
    along: NDArray[np.float64]  # (N,): product with the mean of all rows that are not empty
    square: float  # of that mean
    inverse: NDArray[np.float64]  # (N,): 1 / length of the centred row; 0 without a text

    @classmethod
    def of(cls, block: Any) -> Words:
        """Return the columns of a text as `attributes.columns` makes them, shape (N, F), sparse or dense."""
        matrix = sparse.csr_array(block)
        matrix.sort_indices()
        rows = CsrParts.of(matrix)
        there = np.diff(rows.indptr) > 0
        count = max(int(there.sum()), 1)
        mean = np.bincount(rows.indices, weights=rows.values, minlength=matrix.shape[1]) / count
        along: NDArray[np.float64] = dense_products(*rows, mean[:, None])[:, 0]
        square = fsum(along.tolist()) / count
        lengths = np.where(there, 1.0 - 2.0 * along + square, 0.0)
        inverse = np.zeros(len(lengths))
        apart = lengths > _EQUAL
        inverse[apart] = 1.0 / np.sqrt(lengths[apart])
        return cls(rows, matrix.shape[1], along, square, inverse)

    def cosines(self, u: NDArray[np.int64], v: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosine of each pair of nodes; 0 if one has no text."""
        no_hubs = np.full(len(self.along), -1, dtype=np.int32), np.zeros((0, self.n_words))
        products = sparse_products(*self.rows, *self.rows, *no_hubs, u, v)
        centred = products - self.along[u] - self.along[v] + self.square
        return np.asarray(centred * self.inverse[u] * self.inverse[v])

    def near_lists(
        self, team: WorkerThreads = ALONE, *, exact: int = EXACT, visited: int = VISITED
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the most similar nodes of each node, and their weights, cumulated; shape (N, k) each.

        They are chosen among the 200 nodes with the largest product of words; beyond `exact` nodes, by rare
        words only, until `visited` nodes are seen. Weights are the cubes of cosines, as in
        `near_lists`.
        """
        n = len(self.along)
        matrix = sparse.csr_array((self.rows.values, self.rows.indices, self.rows.indptr), (n, self.n_words))
        columns = CsrParts.of(matrix.T)
        visited = n * self.n_words if n <= exact else visited
        k = max(min(LISTED, n - 1), 1)
        near, weights = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
        team.map(
            lambda begin: self._fill(columns, begin, visited, near[begin : begin + _BLOCK], weights),
            range(0, n, _BLOCK),
        )
        kernels.cumulate_cubes(weights)
        return near, weights

    def _fill(
        self,
        columns: CsrParts,
        begin: int,
        visited: int,
        near: NDArray[np.int32],
        weights: NDArray[np.float32],
    ) -> None:
        """Fill rows of the lists with nodes, and with their cosines, which are at least 0."""
        n, end = len(self.along), begin + len(near)
        nodes = np.arange(begin, end)
        none_closed = np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        most = max(min(_CANDIDATES, n - 1), 1)
        found, _ = best_products(
            nodes, *self.rows, *columns, self.inverse > 0.0, nodes, *none_closed, visited, most
        )
        there = found != kernels.NOBODY
        cosines = np.zeros(found.shape, dtype=np.float32)
        pairs = begin + np.nonzero(there)[0], found[there].astype(np.int64)
        cosines[there] = np.maximum(self.cosines(*pairs), 0.0)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, : near.shape[1]]
        near[:] = np.take_along_axis(found, best, 1)
        weights[begin:end] = np.take_along_axis(cosines, best, 1)
