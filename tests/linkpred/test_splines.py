"""Functions that are linear between knots, against NumPy's interp and dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from heat_neo4j.linkpred.splines import SplineDesign, Splines


def some_values(seed: int, m: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return values of a normal, a rare, a constant, a missing and a sometimes missing feature, and links."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(m, 5))
    values[:, 1] = np.where(rng.random(m) < 0.9, 0.0, values[:, 1])
    values[:, 2], values[:, 3] = 2.5, np.nan
    values[rng.random(m) < 0.3, 4] = np.nan
    return values, rng.random(m) < 0.1


def test_knots_are_at_quantiles_of_what_links_and_all_pairs_have_besides_zero() -> None:
    values, is_link = some_values(0)
    splines = Splines.over(values, is_link)
    assert splines.knots[2:4] == ((2.5,), (0.0,))
    for column in (0, 1, 4):
        known = values[~np.isnan(values[:, column]), column]
        links = values[is_link & ~np.isnan(values[:, column]), column]
        quantiles = [np.quantile(each[each != 0], np.linspace(0, 1, 6)) for each in (known, links)]
        zero = [0.0] if column == 1 else []
        np.testing.assert_allclose(splines.knots[column], np.unique(np.append(quantiles, zero)))
    assert len(splines.ridge) == 1 + 5 + sum(map(len, splines.knots))
    strictness = np.array([1.0, 0.1, 2.0, 1.0, 0.5])
    factor = Splines.over(values, is_link, strictness).ridge / splines.ridge
    every = [[each] * len(knots) for each, knots in zip(strictness, splines.knots, strict=True)]
    np.testing.assert_allclose(factor, [1.0, *strictness, *np.concatenate(every)])


@pytest.mark.parametrize("seed", range(3))
def test_totals_are_those_of_the_table(seed: int) -> None:
    values, is_link = some_values(seed)
    splines = Splines.over(values, is_link)
    weights = np.random.default_rng(seed).normal(size=len(splines.ridge))
    (base,), *table = splines.table(weights)
    beyond = np.concatenate((values, values[:50] * 9.0))
    expected = np.full(len(beyond), base)
    for column, knots, heights in zip(beyond.T, splines.knots, table, strict=True):
        expected += np.where(np.isnan(column), 0.0, np.interp(column, knots, heights))
    np.testing.assert_allclose(splines.design(beyond).times(weights), expected, atol=1e-5)  # float32 shares


def test_products_are_those_of_the_dense_matrix() -> None:
    values, is_link = some_values(1)
    splines = Splines.over(values, is_link)
    design = splines.design(values)
    dense, rng = design.dense(1), np.random.default_rng(2)
    weights, of_rows = rng.normal(size=dense.shape[1]), rng.normal(size=len(dense))
    np.testing.assert_allclose(design.times(weights), dense @ weights, atol=1e-6)
    np.testing.assert_allclose(design.transposed(of_rows), dense.T @ of_rows, atol=1e-6)
    np.testing.assert_array_equal(design.dense(7), dense[::7])
    joined = SplineDesign.joined([design, splines.design(values[:30])])
    assert joined.n_rows == 430
    np.testing.assert_array_equal(joined.dense(1), np.concatenate((dense, dense[:30])))
