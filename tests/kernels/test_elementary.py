"""Elementary functions against decimal numbers of many digits."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numba import njit

from heat_neo4j._kernels import elementwise
from heat_neo4j._kernels.elementary import exp, log, log1p

EPSILON = np.finfo(float).eps
LARGEST = np.finfo(float).max
COMPILES = settings(deadline=None)  # on the first call
MANY_DIGITS = 400  # small results are differences of large numbers


@njit(error_model="numpy")
def exp_of(x, y):
    for i in range(x.shape[0]):
        y[i] = exp(x[i])


@njit(error_model="numpy")
def log_of(x, y):
    for i in range(x.shape[0]):
        y[i] = log(x[i])


def over(function, x):
    y = np.empty_like(x)
    function(x, y)
    return y


def units_off(found, exact):
    """Return by how many units in the last place a number is off what a function of decimals gives."""
    with localcontext(prec=MANY_DIGITS):
        expected = exact()
        return float(abs(Decimal(float(found)) - expected) / Decimal(math.ulp(float(expected))))


@COMPILES
@given(arrays.arrays(np.float64, st.integers(1, 70), elements=st.floats(-708, 709)))
def test_exp_is_within_two_units_in_the_last_place(x):
    expected = np.array([math.exp(value) for value in x])
    assert (np.abs(over(exp_of, x) - expected) <= 2 * EPSILON * expected).all()


def test_exp_of_what_is_too_small_stays_positive_and_normal():
    assert over(exp_of, np.array([-709.0, -1e9, -np.inf])) == pytest.approx(math.exp(-708.0), rel=1e-12)
    assert over(exp_of, np.array([0.0, -0.0])).tolist() == [1.0, 1.0]


@COMPILES
@given(arrays.arrays(np.float64, st.integers(1, 70), elements=st.floats(1, LARGEST)))
def test_log_is_within_three_units_in_the_last_place(x):
    expected = np.array([math.log(value) for value in x])
    assert (np.abs(over(log_of, x) - expected) <= 3 * EPSILON * expected).all()
    np.testing.assert_array_equal(elementwise.log(x), over(log_of, x))


@COMPILES
@given(st.floats(1e-15, 1e-2))
def test_log_is_exact_near_one(above):
    x = np.array([1.0 + above])
    assert over(log_of, x)[0] == pytest.approx(math.log(x[0]), rel=3 * EPSILON, abs=0)


@COMPILES
@given(st.floats(0, LARGEST))
@example(2.0**-53)
@example(5e-324)
def test_log1p_is_within_three_units_in_the_last_place(x):
    assert units_off(log1p(x), lambda: (1 + Decimal(x)).ln() if x > 1e-300 else Decimal(x)) <= 3


@COMPILES
@given(st.floats(-710.4, 710.4))
@example(1.0)
@example(5e-324)
def test_sinh_and_cosh_are_within_two_units_in_the_last_place(x):
    def sinh():
        e = Decimal(x).exp()
        return (e - 1 / e) / 2 if abs(x) > 1e-100 else Decimal(x)

    assert units_off(elementwise.sinh(x), sinh) <= 2
    assert units_off(elementwise.cosh(x), lambda: (Decimal(x).exp() + Decimal(-x).exp()) / 2) <= 2
    assert elementwise.sinh(-x) == -elementwise.sinh(x)


@COMPILES
@given(st.one_of(st.floats(0, LARGEST / 2), st.floats(0, 10)))
@example(2.0**60)
@example(5e-324)
def test_arcsinh_is_within_four_units_in_the_last_place(x):
    def arcsinh():
        exact = Decimal(x)
        return (exact + (exact * exact + 1).sqrt()).ln() if x > 1e-100 else exact

    assert units_off(elementwise.arcsinh(x), arcsinh) <= 4


@COMPILES
@given(st.one_of(st.floats(0, 1e153), st.floats(0, 10)))
@example(5e-324)
def test_arccosh_of_one_and_more_is_within_four_units_in_the_last_place(z):
    def arccosh():
        exact = Decimal(z)
        return (1 + exact + (exact * (exact + 2)).sqrt()).ln()

    assert units_off(elementwise.arccosh1p(z), arccosh) <= 4


@COMPILES
@given(st.one_of(st.floats(5e-324, LARGEST), st.integers(1, 10**9).map(float)), st.floats(-1, 1))
@example(LARGEST, 0.9999999)
@example(1e-310, 0.9999999)
@example(5e-324, -0.99)
@example(3.0, 5e-324)
def test_powers_are_within_three_units_in_the_last_place(x, exponent):
    with localcontext(prec=60):
        exact = Decimal(x) ** Decimal(exponent)
    found = elementwise.power(x, exponent)
    assert found == float(exact) or units_off(found, lambda: exact) <= 3


@COMPILES
@given(st.floats(-7, 7))
@example(math.pi)
@example(math.pi / 4)
def test_sine_and_cosine_are_within_a_unit_of_the_last_place_of_one(x):
    for found, k in ((elementwise.sin(x), 1), (elementwise.cos(x), 0)):
        with localcontext(prec=40):
            terms = [Decimal(x) if k else Decimal(1)]
            for n in range(k + 1, k + 80, 2):
                terms.append(-terms[-1] * Decimal(x) * Decimal(x) / (n * (n + 1)))
            assert abs(Decimal(float(found)) - sum(terms)) <= Decimal(EPSILON)


@COMPILES
@given(st.floats(0, LARGEST))
def test_powers_that_are_exact_or_a_root(x):
    assert elementwise.power(x, 0.0) == 1.0
    assert elementwise.power(x, 1.0) == x
    assert elementwise.power(x, 0.5) == math.sqrt(x)


def test_what_is_too_large_is_infinite_and_what_is_no_number_stays():
    ends = np.array([np.inf, np.nan])
    for function in (elementwise.sinh, elementwise.cosh, elementwise.arcsinh, elementwise.arccosh1p):
        np.testing.assert_array_equal(function(ends), ends)
    np.testing.assert_array_equal(elementwise.power(ends, 0.3), ends)
    np.testing.assert_array_equal(elementwise.power(ends, -0.3), [0.0, np.nan])
    assert elementwise.sinh([710.5, -710.5, -np.inf]).tolist() == [np.inf, -np.inf, -np.inf]
    assert elementwise.cosh([710.5, -np.inf]).tolist() == [np.inf, np.inf]
    assert elementwise.power([0.0, 0.0, 0.0], 0.3).tolist() == [0.0] * 3
    assert elementwise.power(0.0, -0.3) == np.inf


def test_nothing_and_zero():
    for function in (elementwise.sinh, elementwise.arcsinh, elementwise.arccosh1p):
        assert function(0.0) == 0.0
        assert function(np.empty((0, 3))).shape == (0, 3)
    assert math.copysign(1.0, elementwise.sinh(-0.0)) == -1.0


def test_arrays_keep_their_shape_and_what_they_are_made_of():
    x = np.arange(6).reshape(3, 2).T
    x.flags.writeable = False
    result = elementwise.sinh(x)
    assert result.shape == (2, 3)
    assert result[1, 2] == elementwise.sinh(5)
    assert isinstance(elementwise.sinh(5), float)
