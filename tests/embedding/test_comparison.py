"""The columns by which nodes are compared: vectors are whitened."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._kernels.dense import second_moments, whitening
from heat_neo4j.embedding.comparison import compared_block
from tests.support import naive

ENTRY = {"kind": "list", "centre": [0.0]}


def whitened(rows):
    return compared_block(ENTRY, rows, np.ones(rows.shape[0], dtype=bool))


def directions(n, width=48, seed=0):
    rng = np.random.default_rng(seed)
    return naive.centred_directions(rng.normal(size=(n, width)) * np.geomspace(1.0, 0.05, width)).astype("f4")


@pytest.mark.parametrize("n", [3, 30, 300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_cosines_are_those_of_principal_components_of_one_variance(n, form):
    rows = directions(n)
    rows[1] = 0.0
    found = whitened(form(rows))
    known = np.delete(rows, 1, axis=0).astype(float)
    expected = naive.whitened(known)
    assert found.dtype == np.float32
    assert not found[1].any()
    found = np.delete(found, 1, axis=0)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_few_vectors_keep_their_cosines():
    rows = directions(3)
    np.testing.assert_allclose(whitened(rows) @ whitened(rows).T, rows @ rows.T, atol=0.2)


def test_what_all_vectors_share_no_longer_hides_what_they_differ_in():
    rng = np.random.default_rng(1)
    group = np.arange(600) % 20
    rows = rng.normal(size=(20, 48))[group] + 8.0 * rng.normal(size=(600, 3)) @ rng.normal(size=(3, 48))
    rows = naive.centred_directions(rows + 0.3 * rng.normal(size=rows.shape)).astype("f4")

    def right(units):
        cosines = units @ units.T - 2.0 * np.eye(len(units))
        return np.mean(group[cosines.argmax(axis=1)] == group)

    assert right(rows) < 0.3
    assert right(whitened(rows)) > 0.8


def test_without_vectors_there_is_nothing_to_whiten():
    assert whitened(np.zeros((4, 32), dtype="f4")).tolist() == np.zeros((4, 32)).tolist()


def test_the_factor_is_the_inverse_of_choleskys():
    rows = directions(200)
    moments = second_moments(rows)
    np.testing.assert_allclose(moments, rows.T.astype(float) @ rows / 200, atol=1e-7)
    covariance = moments + 0.1 * np.eye(48)
    expected = np.linalg.inv(np.linalg.cholesky(covariance)).T
    np.testing.assert_allclose(whitening(covariance), expected, atol=1e-9)
