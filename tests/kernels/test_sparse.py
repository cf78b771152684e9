"""Products of sparse rows against SciPy's."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._kernels.sparse import (
    dense_products,
    largest_of_columns,
    largest_products,
    path_products,
    sparse_products,
)


@pytest.mark.parametrize("columns", [1, 11])
def test_products_with_a_dense_matrix_are_those_of_scipy(columns):
    rng = np.random.default_rng(0)
    left = sparse.csr_array(sparse.random_array((30, 20), density=0.3, rng=rng))
    dense = rng.normal(size=(20, columns))
    found = dense_products(left.indptr.astype(np.int64), left.indices.astype(np.int32), left.data, dense)
    np.testing.assert_allclose(found, left @ dense, rtol=1e-13, atol=1e-14)
    exact = np.round(8 * dense)  # sums of whole numbers are exact in any order
    whole = sparse.csr_array((np.round(8 * left.data), left.indices, left.indptr), shape=left.shape)
    found = dense_products(left.indptr.astype(np.int64), left.indices.astype(np.int32), whole.data, exact)
    np.testing.assert_array_equal(found, whole @ exact)


def parts(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


@pytest.mark.parametrize("densities", [(0.3, 0.3), (0.02, 0.9), (0.9, 0.02)])
def test_products_of_pairs_are_those_of_their_rows_whatever_pairs_come_before(densities):
    """Of rows of equal lengths, and of short against long ones, which are added up in another way."""
    rng = np.random.default_rng(1)
    left, right = (
        sparse.csr_array(sparse.random_array((30, 200), density=density, rng=rng)).sorted_indices()
        for density in densities
    )
    u, v = np.sort(rng.integers(0, 30, 400)), rng.integers(0, 30, 400)
    for hubs in ([], [3, 7]):
        place = np.full(30, -1, dtype=np.int32)
        place[hubs] = np.arange(len(hubs))
        matrices = *parts(left), *parts(right), place, right[hubs].toarray()
        found = sparse_products(*matrices, u, v)
        np.testing.assert_allclose(found, (left @ right.T).toarray()[u, v], rtol=1e-13, atol=1e-14)
        alone = [sparse_products(*matrices, u[[i]], v[[i]])[0] for i in range(400)]
        np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("seed", range(3))
def test_products_of_paths_are_those_of_three_matrices_whatever_rows_are_hubs(seed):
    rng = np.random.default_rng(seed)
    left, middle, right = (
        sparse.csr_array(sparse.random_array(shape, density=0.2, rng=rng)).sorted_indices()
        for shape in ((20, 30), (30, 40), (25, 40))
    )
    u, v = np.sort(rng.integers(0, 20, 300)), rng.integers(0, 25, 300)
    for hubs, middle_hubs in (([], []), ([2, 9], [1, 4, 5])):
        place, middle_place = (np.full(n, -1, dtype=np.int32) for n in (25, 30))
        place[hubs], middle_place[middle_hubs] = np.arange(len(hubs)), np.arange(len(middle_hubs))
        found = path_products(
            *parts(left), *parts(middle), *parts(right), place, (right[hubs] @ middle.T).toarray(),
            middle_place, (right @ middle[middle_hubs].T).toarray(), u, v,
        )  # fmt: skip
        np.testing.assert_allclose(found, (left @ middle @ right.T).toarray()[u, v], rtol=1e-12, atol=1e-14)


def test_bounds_of_products_are_those_of_magnitudes():
    rng = np.random.default_rng(0)
    left, right = (
        sparse.csr_array(sparse.random_array(shape, density=0.2, rng=rng, data_sampler=rng.standard_normal))
        for shape in ((20, 30), (25, 30))
    )
    largest = largest_of_columns(right.indices, right.data, 30)
    np.testing.assert_array_equal(largest, abs(right.toarray()).max(axis=0))
    found = largest_products(*parts(left), largest)
    np.testing.assert_allclose(found, abs(left.toarray()) @ largest, rtol=1e-14)
