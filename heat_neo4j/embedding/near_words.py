"""Texts compared by their words: cosines of centred TF-IDF weights, and lists of the most similar nodes.

Rows stay sparse: the mean m of all rows is subtracted within products, x_u . x_v - x_u . m - x_v . m + m . m.
"""

from __future__ import annotations

from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels import near_vectors as kernels
from heat_neo4j._kernels.lists import NOBODY, best_products
from heat_neo4j._kernels.sparse import dense_products, sparse_products
from heat_neo4j._utils.csr import CsrParts
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.near_vectors import EXACT, LISTED

VISITED = 1 << 14
"""Nodes with a word of a node's text that are visited, words of few nodes first. Four times as many found
.4 % more of the weight of WordNet's lists, in three times the time."""
_CANDIDATES = 2 * LISTED
_BLOCK = 512
_EQUAL = 1e-12  # squared lengths of centred rows below it are rounding errors


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
        `near_vectors.near_lists`.
        """
        n = len(self.along)
        matrix = sparse.csr_array((self.rows.values, self.rows.indices, self.rows.indptr), (n, self.n_words))
        columns = CsrParts.of(matrix.T)
        visited = n * self.n_words if n <= exact else visited
        k = max(min(LISTED, n - 1), 1)
        near, weights = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
        blocks = [
            team.submit(self._fill, columns, begin, visited, near[begin : begin + _BLOCK], weights)
            for begin in range(0, n, _BLOCK)
        ]
        for block in blocks:
            block.result()
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
        there = found != NOBODY
        cosines = np.zeros(found.shape, dtype=np.float32)
        pairs = begin + np.nonzero(there)[0], found[there].astype(np.int64)
        cosines[there] = np.maximum(self.cosines(*pairs), 0.0)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, : near.shape[1]]
        near[:] = np.take_along_axis(found, best, 1)
        weights[begin:end] = np.take_along_axis(cosines, best, 1)
