"""Scores of pairs of nodes: the one form in which distances and baselines are evaluated and combined.

Higher scores mean likelier links. A score depends neither on the thread count nor, but for rounding, on the
order of a pair.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.sparse import sparse_products
from heat_neo4j._kernels.sweeps import paired_excess
from heat_neo4j.geometry.search import columns_of

__all__ = [
    "DistanceScorer",
    "EuclideanScorer",
    "NodeScorer",
    "PairScorer",
    "SparseProductScorer",
    "VectorScorer",
]

_BLOCK_ROWS = 512  # of a product that are held at a time

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]


class PairScorer(Protocol):
    """Scores any pair of the rows of one graph."""

    n_nodes: int

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of `pairs`, rows (u, v); shape (m, 2) to (m,)."""

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of nodes `begin` to `end` - 1 with every node; shape (end - begin, N)."""


class DistanceScorer(PairScorer):
    """Minus the hyperbolic distance of points on the hyperboloid, shape (N, d + 1), time last."""

    def __init__(self, embedding: Array) -> None:
        self.embedding = embedding  # the compiled sweep over all pairs takes it
        self._columns = columns_of(embedding, len(embedding))
        self.n_nodes = len(embedding)

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        u, v = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        z = paired_excess(*self._columns, u, v)
        return np.asarray(-np.log1p(z + np.sqrt(z * (z + 2.0))))

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of some nodes with every node, shape (end - begin, N)."""
        n = self.n_nodes
        u, v = np.repeat(np.arange(begin, end), n), np.tile(np.arange(n), end - begin)
        return self.pairs(np.column_stack((u, v))).reshape(end - begin, n)


class NodeScorer(PairScorer):
    """A value of one node, shape (N,), combined with that of the other by a symmetric function.

    With `numpy.multiply` it can be the product of degrees, with `numpy.add` the sum of radii.
    """

    def __init__(self, values: Array, combine: np.ufunc) -> None:
        self._values, self._combine = np.asarray(values, dtype=np.float64), combine
        self.n_nodes = len(values)

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        return np.asarray(self._combine(self._values[pairs[:, 0]], self._values[pairs[:, 1]]))

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of some nodes with every node, shape (end - begin, N)."""
        return np.asarray(self._combine.outer(self._values[begin:end], self._values))


class SparseProductScorer(PairScorer):
    """The inner product of a sparse row of one node and a sparse row of the other.

    left[u] . right[v], of arrays of shape (N, K), must equal left[v] . right[u]. With `middle`, shape (L, K),
    the rows of one node are those of left @ middle, `left` of shape (N, L); only some are held at a time.
    """

    def __init__(
        self, left: sparse.csr_array, right: sparse.csr_array, middle: sparse.csr_array | None = None
    ) -> None:
        self._left, self._right, self._middle = _sorted(left), _sorted(right), middle
        self._columns = sparse.csr_array(self._right.T)
        self.n_nodes = int(self._left.shape[0])

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        scores = np.empty(len(pairs))
        order = np.argsort(pairs[:, 0], kind="stable")
        ends = pairs[order, 0]
        starts = np.flatnonzero(np.diff(ends, prepend=-1))
        nodes, starts = ends[starts], np.append(starts, len(order))
        right = _parts(self._right)
        for begin in range(0, len(nodes), _BLOCK_ROWS):
            end = min(begin + _BLOCK_ROWS, len(nodes))
            places = order[starts[begin] : starts[end]]
            row = np.searchsorted(nodes[begin:end], pairs[places, 0])
            left = _parts(self._rows(nodes[begin:end]))
            scores[places] = sparse_products(*left, *right, row, pairs[places, 1])
        return scores

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of some nodes with every node, shape (end - begin, N)."""
        return np.asarray(self.sparse_rows(begin, end).toarray())

    def sparse_rows(self, begin: int, end: int) -> sparse.csr_array:
        """Return the scores of some nodes with those that they have something in common with."""
        return sparse.csr_array(self._rows(slice(begin, end)) @ self._columns)

    def among(self, nodes: NDArray[np.int64]) -> SparseProductScorer:
        """Return the score of some nodes only, numbered as given."""
        return SparseProductScorer(self._left[nodes], self._right[nodes], self._middle)

    def _rows(self, nodes: NDArray[np.int64] | slice) -> sparse.csr_array:
        left = self._left[nodes]
        return left if self._middle is None else _sorted(sparse.csr_array(left @ self._middle))


def _sorted(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with the columns of each row in order, in which alone all sums are added up."""
    return matrix if matrix.has_sorted_indices else matrix.sorted_indices()


def _parts(matrix: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
    """Return a CSR array as the kernel takes it."""
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float64, copy=False),
    )


class VectorScorer(PairScorer):
    """The inner product of two dense vectors, shape (N, K), each coordinate weighted, or by 1.

    Vectors of length 1 give the cosine.
    """

    def __init__(self, vectors: Array, weights: Array | None = None) -> None:
        self._vectors = np.asarray(vectors, dtype=np.float64)
        self._weighted = self._vectors if weights is None else self._vectors * weights
        self.n_nodes = len(self._vectors)

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        return np.asarray(np.einsum("ij,ij->i", self._vectors[pairs[:, 0]], self._weighted[pairs[:, 1]]))

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of some nodes with every node, shape (end - begin, N)."""
        # einsum adds in one order; a matrix product of BLAS depends on its number of threads.
        return np.asarray(np.einsum("ij,kj->ik", self._vectors[begin:end], self._weighted))


class EuclideanScorer(PairScorer):
    """Minus the squared Euclidean distance of vectors of shape (N, K)."""

    def __init__(self, vectors: Array) -> None:
        self._vectors = np.asarray(vectors, dtype=np.float64)
        self.n_nodes = len(self._vectors)

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        difference = self._vectors[pairs[:, 0]] - self._vectors[pairs[:, 1]]
        return np.asarray(-np.einsum("ij,ij->i", difference, difference))

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of some nodes with every node, shape (end - begin, N)."""
        total = np.zeros((end - begin, self.n_nodes))
        for column in self._vectors.T:
            difference = np.subtract.outer(column[begin:end], column)
            total -= difference * difference
        return total
