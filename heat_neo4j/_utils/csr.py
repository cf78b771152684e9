"""The arrays of a sparse matrix, as kernels take them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.lists import NOBODY


class CsrParts(NamedTuple):
    """The arrays of a CSR matrix with the types that kernels expect."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: Any) -> Self:
        """Return the arrays of a sparse matrix of any format, copied if they have another type."""
        csr = sparse.csr_array(matrix)
        return cls(
            csr.indptr.astype(np.int64, copy=False),
            csr.indices.astype(np.int32, copy=False),
            csr.data.astype(np.float64, copy=False),
        )

    @classmethod
    def of_lists(cls, found: NDArray[np.int32], values: NDArray[np.float64]) -> Self:
        """Return padded lists of columns and their values as the rows of a matrix."""
        there = found != NOBODY
        return cls(np.concatenate(([0], np.cumsum(there.sum(axis=1)))), found[there], values[there])


def scaled_rows(matrix: sparse.csr_array, scale: NDArray[np.float64]) -> sparse.csr_array:
    """Return a matrix with each row times a number; far cheaper than the product with a diagonal matrix."""
    return _of_values(matrix, matrix.data * np.repeat(scale, np.diff(matrix.indptr)))


def scaled_columns(matrix: sparse.csr_array, scale: NDArray[np.float64]) -> sparse.csr_array:
    """Return a matrix with each column times a number."""
    return _of_values(matrix, matrix.data * scale[matrix.indices])


def first_of_rows(matrix: sparse.csr_array, most: int) -> sparse.csr_array:
    """Return a matrix with the first `most` stored entries of each row."""
    sizes = np.diff(matrix.indptr)
    place = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], sizes)
    kept = place < most
    starts = np.append(0, np.cumsum(np.minimum(sizes, most)))
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)


def _of_values(matrix: sparse.csr_array, values: NDArray[np.float64]) -> sparse.csr_array:
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
