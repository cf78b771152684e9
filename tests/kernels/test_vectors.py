"""Rows of vectors against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from heat_neo4j._kernels.vectors import LANES, blend_rows, dot_rows, padded_width

COMPILES = settings(deadline=None)  # on the first call


@njit
def dot(x, i, y, j):
    return dot_rows(x, i, y, j)


@njit
def blend(x, i, a, b, y, j):
    blend_rows(x, i, a, b, y, j)


def test_widths_are_whole_vectors():
    assert [padded_width(n) for n in (1, LANES, LANES + 1, 11, 51)] == [LANES, LANES, 2 * LANES, 12, 52]


@COMPILES
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_rows_are_multiplied_and_blended_as_numpy_does(vectors, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3, LANES * vectors)), rng.normal(size=(4, LANES * vectors))
    lanes = (x[2] * y[1]).reshape(vectors, LANES)
    a, b, c, e = np.add.accumulate(lanes)[-1]
    assert dot(x, 2, y, 1) == (a + b) + (c + e)
    expected = x.copy()
    expected[1] = 0.5 * x[1] + -3.0 * y[3]
    blend(x, 1, 0.5, -3.0, y, 3)
    np.testing.assert_array_equal(x, expected)


def test_a_row_of_a_slice_is_the_row_of_the_slice():
    cube = np.arange(3 * 2 * LANES, dtype=float).reshape(3, 2, LANES)
    assert dot(cube[1], 1, cube[2], 0) == pytest.approx(cube[1, 1] @ cube[2, 0])
