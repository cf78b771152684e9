"""Pair scorers: the common interface by which distances and baselines are evaluated and combined.

Higher scores mean likelier links. Scores do not depend on the number of threads. A symmetric score may differ
in its last digits between (u, v) and (v, u).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.dense import all_products, pair_products
from heat_neo4j._kernels.sparse import (
    dense_products,
    largest_of_columns,
    largest_products,
    path_products,
    sparse_products,
)
from heat_neo4j._kernels.sweeps import excess_of_rows
from heat_neo4j._utils.csr import CsrParts

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]
Rows = NDArray[np.int64]

# The most expensive long rows are expanded or multiplied once for all pairs, up to this many numbers; more
# of them for the paths of three of all types, which are computed for most pairs of every pattern.
HUB_ENTRIES, PATH_HUB_ENTRIES = 1 << 20, 1 << 22
_LONG, _LONG_MIDDLE = 32, 512  # minimum lengths; other rows of `middle` are summed once per source


class PairScorer(Protocol):
    """Scores any pair of the rows of one graph."""

    n_nodes: int

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of `pairs` (u, v), shape (m, 2), as an array of shape (m,)."""

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of nodes `begin` to `end` - 1 with every node; shape (end - begin, N)."""


class DirectedScorer(PairScorer, Protocol):
    """Scores pairs (u, v) of M first and N second nodes, which may be different sets; `n_nodes` is N."""

    def ceiling(self) -> Array | None:
        """Return an upper bound of each first node's scores, shape (M,); None if none is known."""
        return None

    def reversed(self) -> DirectedScorer:
        """Return the scorer that gives (v, u) the score of (u, v)."""

    def between(self, first: Rows, second: Rows) -> DirectedScorer:
        """Return the scorer restricted to the given first and second nodes, renumbered in that order."""


class DistanceScorer(DirectedScorer):
    """Minus the hyperbolic distance of points on the hyperboloid, shape (N, d + 1), time last.

    First nodes are the rows of `embedding`, second nodes the rows of `other`, by default the same.
    """

    def __init__(self, embedding: Array, other: Array | None = None) -> None:
        self.embedding = embedding  # read by the compiled sweep over all pairs
        self._other = other
        both = embedding if other is None else np.concatenate((embedding, other))
        self._points = np.ascontiguousarray(both)
        self._offset = 0 if other is None else len(embedding)
        self.n_nodes = len(both) - self._offset

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        u, v = np.ascontiguousarray(pairs[:, 0]), pairs[:, 1] + self._offset
        z = excess_of_rows(self._points, u, v)
        return np.asarray(-np.log1p(z + np.sqrt(z * (z + 2.0))))

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of nodes `begin` to `end` - 1 with every node, shape (end - begin, N)."""
        n = self.n_nodes
        u, v = np.repeat(np.arange(begin, end), n), np.tile(np.arange(n), end - begin)
        return self.pairs(np.column_stack((u, v))).reshape(end - begin, n)

    def reversed(self) -> Self:
        """Return the scorer of (v, u); `self` if both ends are the same nodes."""
        return self if self._other is None else type(self)(self._other, self.embedding)

    def between(self, first: Rows, second: Rows) -> Self:
        """Return the scorer restricted to the given nodes."""
        other = self.embedding if self._other is None else self._other
        return type(self)(self.embedding[first], other[second])


class NodeScorer(DirectedScorer):
    """A value of the first node, shape (M,), combined with one of the second, shape (N,), by a ufunc.

    Examples are the product of degrees (`numpy.multiply`) and the sum of radii (`numpy.add`). `other`
    defaults to the same values.
    """

    def __init__(self, values: Array, combine: np.ufunc, other: Array | None = None) -> None:
        self._first, self._combine = np.asarray(values, dtype=np.float64), combine
        self._second = self._first if other is None else np.asarray(other, dtype=np.float64)
        self.n_nodes = len(self._second)

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        return np.asarray(self._combine(self._first[pairs[:, 0]], self._second[pairs[:, 1]]))

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of nodes `begin` to `end` - 1 with every node, shape (end - begin, N)."""
        return np.asarray(self._combine.outer(self._first[begin:end], self._second))

    def ceiling(self) -> Array:
        """Return an upper bound of each first node's scores; `combine` must be increasing."""
        return np.asarray(self._combine(self._first, self._second.max()))

    def reversed(self) -> Self:
        """Return the scorer of (v, u); `combine` must be symmetric."""
        return type(self)(self._second, self._combine, self._first)

    def between(self, first: Rows, second: Rows) -> Self:
        """Return the scorer restricted to the given nodes."""
        return type(self)(self._first[first], self._combine, self._second[second])


class SparseProductScorer(DirectedScorer):
    """The inner product of sparse rows, left[u] . right[v], of arrays of shapes (M, K) and (N, K).

    With `middle`, shape (L, K), and `left` of shape (M, L), it is (left @ middle)[u] . right[v]; only a few
    rows of the product are in memory at a time.
    """

    def __init__(
        self,
        left: sparse.csr_array,
        right: sparse.csr_array,
        middle: sparse.csr_array | None = None,
        hub_entries: int = HUB_ENTRIES,
    ) -> None:
        self._left, self._right, self._middle = _sorted(left), _sorted(right), middle
        self._hub_entries = hub_entries
        self.n_nodes = int(self._right.shape[0])

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        u, v = (np.ascontiguousarray(ends) for ends in pairs.T)
        if (u[1:] < u[:-1]).any():
            order = np.argsort(u, kind="stable")
            scores = np.empty(len(pairs))
            scores[order] = self._products(u[order], v[order])
            return scores
        return self._products(u, v)

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of nodes `begin` to `end` - 1 with every node, shape (end - begin, N)."""
        if end - begin == 1:  # to transpose `right` takes longer than the product
            (row,) = self._rows(slice(begin, end)).toarray()
            return np.asarray(self._right @ row)[None]
        return np.asarray(self.sparse_rows(begin, end).toarray())

    def sparse_rows(self, begin: int, end: int) -> sparse.csr_array:
        """Return the nonzero scores of nodes `begin` to `end` - 1 as a sparse array."""
        return sparse.csr_array(self._rows(slice(begin, end)) @ self._columns)

    def ceiling(self) -> Array:
        """Return an upper bound of each first node's scores, shape (M,)."""
        left, right, *middle = self._matrices
        most = largest_of_columns(right.indices, right.values, self._right.shape[1])
        for each in (*middle, left):
            most = largest_products(*each, most)
        return np.asarray(most)

    def reversed(self) -> Self:
        """Return the scorer of (v, u)."""
        middle = None if self._middle is None else _sorted(sparse.csr_array(self._middle.T))
        return type(self)(self._right, self._left, middle, self._hub_entries)

    def between(self, first: Rows, second: Rows) -> Self:
        """Return the scorer restricted to the given nodes."""
        return type(self)(self._left[first], self._right[second], self._middle, self._hub_entries)

    def _products(self, u: Rows, v: Rows) -> Array:
        """Return the scores of pairs sorted by their first node."""
        left, right, *middle = self._matrices
        if not middle:
            return np.asarray(sparse_products(*left, *right, *self._hubs, u, v))
        return np.asarray(path_products(*left, *middle[0], *right, *self._hubs, *self._middle_hubs, u, v))

    @cached_property
    def _matrices(self) -> list[CsrParts]:
        matrices = (self._left, self._right, self._middle)
        return [CsrParts.of(each) for each in matrices if each is not None]

    @cached_property
    def _hubs(self) -> tuple[NDArray[np.int32], Array]:
        """Return each row's index among the long rows of `right`, or -1, and those rows as a dense array."""
        length, width = np.diff(self._right.indptr), int(self._left.shape[1])
        place, hubs = _longest(length, length, self._hub_entries // max(width, 1), _LONG)
        columns = self._right[hubs].toarray().T.astype(np.float64)
        if self._middle is not None:
            columns = dense_products(*CsrParts.of(self._middle), np.ascontiguousarray(columns))
        return place, np.ascontiguousarray(columns.T)

    @cached_property
    def _middle_hubs(self) -> tuple[NDArray[np.int32], Array]:
        """Return each row's index among the long rows of `middle`, or -1, and their products with `right`."""
        assert self._middle is not None
        length = np.diff(self._middle.indptr).astype(np.int64)
        uses = np.bincount(self._left.indices, minlength=len(length))
        place, hubs = _longest(length, length * uses, self._hub_entries // max(self.n_nodes, 1), _LONG_MIDDLE)
        columns = np.ascontiguousarray(self._middle[hubs].toarray().T.astype(np.float64))
        return place, np.asarray(dense_products(*CsrParts.of(self._right), columns))

    @cached_property
    def _columns(self) -> sparse.csr_array:
        return sparse.csr_array(self._right.T)

    def _rows(self, nodes: Rows | slice) -> sparse.csr_array:
        left = self._left[nodes]
        return left if self._middle is None else _sorted(sparse.csr_array(left @ self._middle))


def _longest(length: Rows, cost: Rows, most: int, least: int) -> tuple[NDArray[np.int32], Rows]:
    """Return each row's index among the `most` most expensive rows of length `least` or more, or -1.

    Returns those rows, too; `most` is at least 1.
    """
    hubs = np.argsort(-cost, kind="stable")[: max(most, 1)]
    hubs = hubs[length[hubs] >= least]
    place = np.full(len(length), -1, dtype=np.int32)
    place[hubs] = np.arange(len(hubs))
    return place, hubs


def _sorted(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with sorted columns in each row, which fixes the order of all sums."""
    return matrix if matrix.has_sorted_indices else matrix.sorted_indices()


class DenseProductScorer(DirectedScorer):
    """The inner product of float32 rows, of shapes (L, D) and (K, D), summed in column order.

    `first`, shape (M,), and `second`, shape (N,), hold each node's row, or -1 for a node without one; its
    products are 0.
    """

    def __init__(
        self, left: NDArray[np.float32], right: NDArray[np.float32], first: Rows, second: Rows
    ) -> None:
        self._left, self._right, self._first, self._second = left, right, first, second
        self.n_nodes = len(second)

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        u, v = self._first[pairs[:, 0]], self._second[pairs[:, 1]]
        return np.asarray(pair_products(self._left, self._right, u, v), dtype=np.float64)

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of nodes `begin` to `end` - 1 with every node, shape (end - begin, N)."""
        products = all_products(self._left, self._right, self._first[begin:end], self._second)
        return np.asarray(products, dtype=np.float64)

    def reversed(self) -> Self:
        """Return the scorer of (v, u)."""
        return type(self)(self._right, self._left, self._second, self._first)

    def between(self, first: Rows, second: Rows) -> Self:
        """Return the scorer restricted to the given nodes."""
        return type(self)(self._left, self._right, self._first[first], self._second[second])


class CombinedScorer(DirectedScorer):
    """A function of several scores of the same nodes, which a subclass gives as `_combined`."""

    def __init__(self, *scorers: DirectedScorer) -> None:
        self._scorers = scorers
        self.n_nodes = scorers[0].n_nodes

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        return self._combined([each.pairs(pairs) for each in self._scorers])

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of nodes `begin` to `end` - 1 with every node, shape (end - begin, N)."""
        return self._combined([each.rows(begin, end) for each in self._scorers])

    def ceiling(self) -> Array | None:
        """Return an upper bound of each first node's scores; `_combined` must be increasing."""
        most = [each.ceiling() for each in self._scorers]
        known = [each for each in most if each is not None]
        return self._combined(known) if len(known) == len(most) else None

    def reversed(self) -> Self:
        """Return the scorer of (v, u)."""
        return self._of(each.reversed() for each in self._scorers)

    def between(self, first: Rows, second: Rows) -> Self:
        """Return the scorer restricted to the given nodes."""
        return self._of(each.between(first, second) for each in self._scorers)

    def _of(self, scorers: Iterable[DirectedScorer]) -> Self:
        """Return the same function of other scores."""
        other = copy(self)
        CombinedScorer.__init__(other, *scorers)
        return other

    def _combined(self, scores: Sequence[Array]) -> Array:
        raise NotImplementedError


class SumScorer(CombinedScorer):
    """The weighted sum of several scores of the same nodes; weights default to 1."""

    def __init__(self, *scorers: DirectedScorer, weights: Sequence[float] | None = None) -> None:
        super().__init__(*scorers)
        self._weights = [1.0] * len(scorers) if weights is None else list(weights)

    def _combined(self, scores: Sequence[Array]) -> Array:
        return np.asarray(sum(each * weight for each, weight in zip(scores, self._weights, strict=True)))


class ProductScorer(CombinedScorer):
    """The product of two scores of the same nodes."""

    def _combined(self, scores: Sequence[Array]) -> Array:
        return scores[0] * scores[1]


class VectorScorer(DirectedScorer):
    """The inner product of dense vectors of the first nodes, shape (M, K), and the second nodes, (N, K).

    `other` defaults to `vectors`; unit vectors give the cosine.
    """

    def __init__(self, vectors: Array, other: Array | None = None) -> None:
        self._first = np.asarray(vectors, dtype=np.float64)
        self._second = self._first if other is None else np.asarray(other, dtype=np.float64)
        self.n_nodes = len(self._second)

    def pairs(self, pairs: Pairs) -> Array:
        """Return the scores of pairs, shape (m,)."""
        return np.asarray(pair_products(self._first, self._second, *pairs.T))

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of nodes `begin` to `end` - 1 with every node, shape (end - begin, N)."""
        # einsum sums in a fixed order; a BLAS matrix product depends on the number of threads.
        return np.asarray(np.einsum("ij,kj->ik", self._first[begin:end], self._second))

    def ceiling(self) -> Array:
        """Return an upper bound of each first node's scores, shape (M,) (Cauchy and Schwarz)."""
        lengths = [np.sqrt(np.einsum("ij,ij->i", each, each)) for each in (self._first, self._second)]
        return np.asarray(lengths[0] * lengths[1].max())

    def reversed(self) -> Self:
        """Return the scorer of (v, u)."""
        return type(self)(self._second, self._first)

    def between(self, first: Rows, second: Rows) -> Self:
        """Return the scorer restricted to the given nodes."""
        return type(self)(self._first[first], self._second[second])
