"""Products of dense rows: of the order of the columns and nothing else."""

import numpy as np
import pytest

from heat_neo4j._kernels.dense import all_products, pair_products


def in_order(first, second):
    """Return the sum of the products in float32, column by column."""
    total = np.float32(0.0)
    for x, y in zip(first, second, strict=True):
        total = np.float32(total + np.float32(x * y))
    return total


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 131), (130, 3), (257, 300)])
def test_products_are_added_up_in_the_order_of_the_columns(rows, columns):
    rng = np.random.default_rng(rows)
    first, second = rng.normal(size=(2, rows, columns)).astype(np.float32)
    u, v = rng.integers(-1, rows, (2, rows + 5))
    found = all_products(first, second, u, v)
    assert found.dtype == np.float32
    for i in range(min(len(u), 12)):
        for j in [*range(6), len(v) - 1]:
            there = u[i] >= 0 and v[j] >= 0
            assert found[i, j] == (in_order(first[u[i]], second[v[j]]) if there else 0.0)
    np.testing.assert_array_equal(pair_products(first, second, u, v), np.diagonal(found))
    part = all_products(first, second, u[2:5], v[1:])
    np.testing.assert_array_equal(part, found[2:5, 1:])
