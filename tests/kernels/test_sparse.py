"""Products of sparse rows against SciPy's."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._kernels.sparse import dense_products


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
