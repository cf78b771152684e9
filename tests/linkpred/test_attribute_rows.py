"""Rows of attributes: the most similar nodes against all cosines."""

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.linkpred.attribute_rows import DENSE_COLUMNS, attribute_rows

N, LISTED = 700, 20


def made(columns: int, dense: int) -> np.ndarray:
    """Return rows of few values, some of them in many nodes, beside `dense` columns that all nodes fill."""
    rng = np.random.default_rng(columns + dense)
    values = np.where(rng.random((N, columns)) < np.geomspace(0.005, 0.2, columns), 1.0, 0.0)
    values[::50] = 0.0
    return np.hstack((values * rng.uniform(0.5, 2.0, values.shape), rng.uniform(0.1, 1.0, (N, dense))))


@pytest.mark.parametrize(("columns", "dense"), [(12, 0), (300, 0), (12, DENSE_COLUMNS)])
def test_the_most_similar_nodes_have_the_largest_of_all_cosines(columns, dense):
    values = made(columns, dense)
    suits = np.random.default_rng(0).random(N) < 0.5
    found = attribute_rows(sparse.csr_array(values)).unit().alike(suits)
    unit = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
    cosines = np.where(suits & ~np.eye(N, dtype=np.bool_), unit @ unit.T, 0.0)
    shared = (values[:, :columns] > 0).astype(float)
    cosines[shared @ shared.T == 0.0] = 0.0
    best = -np.sort(-cosines, axis=1)[:, :LISTED]
    rows = found.toarray()
    np.testing.assert_allclose(rows[rows > 0], cosines[rows > 0], rtol=1e-6)
    assert np.diff(found.indptr).max() <= LISTED
    # Candidates come from rare columns first, so that a node that shares only common ones can be missing.
    assert found.sum() >= 0.97 * best.sum()


def test_the_most_similar_nodes_are_the_same_for_any_number_of_threads():
    rows, suits = attribute_rows(sparse.csr_array(made(40, 0))).unit(), np.ones(N, dtype=np.bool_)
    alone = rows.alike(suits)
    with WorkerThreads(3) as workers:
        found = rows.alike(suits, workers)
    for each in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, each), getattr(alone, each))
