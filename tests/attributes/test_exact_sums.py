"""Sums by exponents are the nearest doubles, whatever the parts."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heat_neo4j.attributes.columns import exact_sums

NUMBERS = st.one_of(st.floats(-1e300, 1e300), st.sampled_from([0.0, -0.0, 5e-324, 1e300, -1e300, 0.1, 1e16]))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=40), st.integers(1, 7))
def test_they_are_those_of_fsum(rows, size):
    values = np.array(rows, dtype=np.float64).reshape(-1, 2)
    sums = exact_sums((values[begin : begin + size] for begin in range(0, len(values), size)), 2)
    assert sums == [math.fsum(column) for column in values.T.tolist()]
