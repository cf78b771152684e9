"""Attribute rows for link scores: sparse columns in CSR form, many dense columns as one float32 array.

An embedding vector has a thousand columns and no zeros. A sparse matrix would need twelve bytes per number,
and each product would need a lookup per number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.dense import pair_products
from heat_neo4j._kernels.lists import NOBODY, best_products
from heat_neo4j._kernels.sparse import dense_products
from heat_neo4j._utils.csr import CsrParts
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.linkpred.scorers import (
    DenseProductScorer,
    DirectedScorer,
    SparseProductScorer,
    SumScorer,
)

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Attributes = sparse.csr_array | Array | NDArray[np.float32]

DENSE_COLUMNS = 32
"""Minimum number of dense columns to store them as a float32 array; fewer stay sparse and exact."""
_ALIKE = 20  # most similar nodes kept for each node
_CANDIDATES = 100  # nodes among which they are chosen by exact products
_VISITED = 1 << 14  # column entries that the search for candidates visits per node
_BLOCK = 512  # nodes whose candidates are held at a time
_FILLED = 0.25  # a column filled for this share of nodes is dense; only dense columns are centred


@dataclass(frozen=True, eq=False)
class AttributeRows:
    """One row per node: sparse columns for all N nodes, dense columns for M of them."""

    thin: sparse.csr_array  # (N, K)
    dense: NDArray[np.float32]  # (M, D)
    nodes: Rows  # (M,): the node of each row of `dense`, sorted ascending

    def unit(self) -> AttributeRows:
        """Return the rows scaled to length 1; rows of zeros stay as they are."""
        if not self.dense.size:
            return replace(self, thin=unit_rows(self.thin))
        squares = _squares(self.thin)
        place = np.arange(len(self.nodes))
        squares[self.nodes] += pair_products(self.dense, self.dense, place, place)
        lengths = np.sqrt(squares)
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        dense = self.dense * scale[self.nodes].astype(np.float32)[:, None]
        return replace(self, thin=sparse.csr_array(sparse.diags_array(scale) @ self.thin), dense=dense)

    def summed(self, weights: sparse.csr_array) -> AttributeRows:
        """Return ``weights @ rows``; `weights` has shape (N, N). Dense rows keep their nodes."""
        dense = self.dense
        if dense.size:
            own = sparse.csr_array(weights[self.nodes][:, self.nodes])
            dense = dense_products(own.indptr, own.indices, own.data, dense)
        return replace(self, thin=sparse.csr_array(weights @ self.thin), dense=dense)

    def plus(self, other: AttributeRows) -> AttributeRows:
        """Return the sum of both rows of each node; `other` has dense rows for the same nodes."""
        return replace(self, thin=sparse.csr_array(self.thin + other.thin), dense=self.dense + other.dense)

    def product(self, other: AttributeRows) -> DirectedScorer:
        """Return a scorer: inner product of the first node's row with the second node's row in `other`."""
        by_column = SparseProductScorer(self._sorted, other._sorted)
        if not self.dense.size:
            return by_column
        dense = DenseProductScorer(self.dense, other.dense, self._places(), other._places())
        return SumScorer(by_column, dense) if self.thin.nnz else dense

    def alike(self, suits: NDArray[np.bool_], workers: WorkerThreads = ALONE) -> sparse.csr_array:
        """Return each node's inner products with its most similar nodes, shape (N, N).

        Only nodes in the mask `suits`, (N,), count. They are chosen among 100 that share entries of sparse
        columns, rare ones first. A row has at most 20 entries and excludes the node itself.
        """
        n = self.thin.shape[0]
        rows, columns = CsrParts.of(self.thin), CsrParts.of(sparse.csr_array(self.thin.T))
        none_closed = np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        scorer = self.product(self)

        def block(begin: int) -> tuple[NDArray[np.int32], Array]:
            nodes = np.arange(begin, min(begin + _BLOCK, n))
            found, _ = best_products(
                nodes, *rows, *columns, suits, nodes, *none_closed, _VISITED, min(_CANDIDATES, n)
            )
            row, place = np.nonzero(found != NOBODY)
            products = np.full(found.shape, -np.inf)
            products[row, place] = scorer.pairs(np.column_stack((nodes[row], found[row, place])))
            best = np.argsort(-products, axis=1, kind="stable")[:, :_ALIKE]
            return np.take_along_axis(found, best, 1), np.take_along_axis(products, best, 1)

        lists = workers.map(block, range(0, n, _BLOCK))
        indptr, listed, products = CsrParts.of_lists(*map(np.concatenate, zip(*lists, strict=True)))
        return sparse.csr_array((products, listed, indptr), shape=(n, n)).sorted_indices()

    @cached_property
    def _sorted(self) -> sparse.csr_array:
        """The sparse columns as products take them, sorted once for all."""
        return self.thin.sorted_indices()

    def _places(self) -> Rows:
        """Return each node's row in `dense`, or -1."""
        places = np.full(self.thin.shape[0], -1, dtype=np.int64)
        places[self.nodes] = np.arange(len(self.nodes))
        return places


def attribute_rows(attributes: Attributes) -> AttributeRows:
    """Return the attributes, unscaled."""
    thin, dense = _parted(attributes)
    return AttributeRows(sparse.csr_array(thin), dense.astype(np.float32), np.arange(dense.shape[0]))


class CentredRows:
    """Computes `centred_rows` of some attributes, once for patterns with equal ends."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self._known: dict[bytes, AttributeRows] = {}

    def of(self, nodes: Rows, ends: Rows) -> AttributeRows:
        """Return the rows of `nodes`, among which dense ones belong to `ends`."""
        key = b"/".join(each.tobytes() for each in (nodes, ends))
        if key not in self._known:
            self._known[key] = centred_rows(self._attributes, nodes, ends)
        return self._known[key]


def centred_rows(attributes: Attributes, nodes: Rows, ends: Rows) -> AttributeRows:
    """Scale the attributes of `nodes` to unit deviation per column and unit length per row.

    Columns filled for many of the nodes are centred first. All other nodes have empty rows. Dense rows belong
    to `ends`, a superset of `nodes`; both are sorted ascending.
    """
    n = attributes.shape[0]
    own, many = _parted(attributes[nodes])
    filled = np.diff(own.indptr) / max(len(nodes), 1)
    mean = np.asarray(own.mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(np.asarray(own.multiply(own).mean(axis=0)).ravel() - mean**2, 0.0))
    varies = deviation > 1e-9 * np.maximum(np.abs(mean), 1e-300)
    thin, thick = varies & (filled < _FILLED), varies & (filled >= _FILLED)
    scaled = sparse.hstack(
        (
            own[:, thin] @ sparse.diags_array(1.0 / deviation[thin]),
            sparse.csc_array((own[:, thick].toarray() - mean[thick]) / deviation[thick]),
        )
    )
    centred = many - many.mean(axis=0, dtype=np.float64).astype(many.dtype)
    varies, deviation = _deviation(centred, many)
    dense = np.zeros((len(ends), int(varies.sum())), dtype=np.float32)
    dense[np.searchsorted(ends, nodes)] = centred[:, varies] / deviation[varies]
    return AttributeRows(placed(sparse.csr_array(scaled), nodes, n), dense, ends).unit()


def _deviation(centred: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return a mask of the columns that vary, and each column's standard deviation."""
    deviation = np.sqrt(np.mean(np.square(centred), axis=0, dtype=np.float64)).astype(centred.dtype)
    largest = np.abs(values).max(axis=0, initial=0.0)
    return deviation > 1e-9 * np.maximum(largest, 1e-300), deviation


def _parted(attributes: Attributes) -> tuple[sparse.csc_array, NDArray[Any]]:
    """Split the columns into a sparse matrix and a dense array; the array is empty if few are dense."""
    if isinstance(attributes, np.ndarray):
        filled = np.count_nonzero(attributes, axis=0)
    else:
        filled = np.bincount(attributes.indices, minlength=attributes.shape[1])
    is_dense = filled >= _FILLED * attributes.shape[0]
    if not attributes.shape[0] or is_dense.sum() < DENSE_COLUMNS:
        return sparse.csc_array(attributes), np.zeros((attributes.shape[0], 0))
    thin, dense = sparse.csc_array(attributes[:, ~is_dense]), attributes[:, is_dense]
    return thin, dense if isinstance(dense, np.ndarray) else dense.toarray()


def unit_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with each row scaled to length 1; rows of zeros stay as they are."""
    lengths = np.sqrt(_squares(matrix))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ matrix)


def _squares(matrix: sparse.csr_array) -> Array:
    """Return the squared length of each row."""
    squares = sparse.csr_array((matrix.data * matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def placed(rows: sparse.csr_array, nodes: Rows, n_nodes: int) -> sparse.csr_array:
    """Place `rows` at `nodes`, sorted ascending, in an otherwise empty matrix of `n_nodes` rows."""
    sizes = np.zeros(n_nodes, dtype=np.int64)
    sizes[nodes] = np.diff(rows.indptr)
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    return sparse.csr_array((rows.data, rows.indices, indptr), shape=(n_nodes, rows.shape[1]))
