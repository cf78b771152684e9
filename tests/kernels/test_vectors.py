"""exp, log and rows of vectors against NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numba import njit

from heat_neo4j._kernels.vectors import LANES, blend_rows, dot_rows, exp, log, padded_width

EPSILON = np.finfo(float).eps
COMPILES = settings(deadline=None)  # on the first call


@njit(error_model="numpy")
def exp_of(x, y):
    for i in range(x.shape[0]):
        y[i] = exp(x[i])


@njit(error_model="numpy")
def log_of(x, y):
    for i in range(x.shape[0]):
        y[i] = log(x[i])


@njit
def dot(x, i, y, j):
    return dot_rows(x, i, y, j)


@njit
def blend(x, i, a, b, y, j):
    blend_rows(x, i, a, b, y, j)


def over(function, x):
    y = np.empty_like(x)
    function(x, y)
    return y


@COMPILES
@given(arrays.arrays(np.float64, st.integers(1, 70), elements=st.floats(-708, 0)))
def test_exp_is_within_two_units_in_the_last_place(x):
    expected = np.array([math.exp(value) for value in x])
    assert (np.abs(over(exp_of, x) - expected) <= 2 * EPSILON * expected).all()


def test_exp_of_what_is_too_small_stays_positive_and_normal():
    assert over(exp_of, np.array([-709.0, -1e9, -np.inf])) == pytest.approx(math.exp(-708.0), rel=1e-12)
    assert over(exp_of, np.array([0.0, -0.0])).tolist() == [1.0, 1.0]


@COMPILES
@given(arrays.arrays(np.float64, st.integers(1, 70), elements=st.floats(1, 1e300)))
def test_log_is_within_three_units_in_the_last_place(x):
    expected = np.array([math.log(value) for value in x])
    assert (np.abs(over(log_of, x) - expected) <= 3 * EPSILON * expected).all()


@COMPILES
@given(st.floats(1e-15, 1e-2))
def test_log_is_exact_near_one(above):
    x = np.array([1.0 + above])
    assert over(log_of, x)[0] == pytest.approx(math.log(x[0]), rel=3 * EPSILON, abs=0)


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
