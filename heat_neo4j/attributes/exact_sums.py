"""Sums of columns without rounding errors, part by part: `math.fsum` would read anew for each column."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_EXPONENTS = 2**12  # more than doubles have
_HALF = 27  # bits: the mantissa's upper and lower part


def exact_sums(parts: Iterable[NDArray[np.float64]], width: int) -> list[float]:
    """Return the sum of each column of the rows in `parts`, of that width: the double nearest to it.

    The mantissas of a column, as whole numbers, are added up for each exponent, which is exact for up to
    2**36 rows (a superaccumulator: Neal, arXiv 1505.05571).
    """
    sums = np.zeros((2, width * _EXPONENTS), dtype=np.int64)
    for values in parts:
        mantissas, exponents = np.frexp(values)
        whole = np.ldexp(mantissas, 53).astype(np.int64)
        places = np.arange(width) * _EXPONENTS + (exponents + _EXPONENTS // 2)
        np.add.at(sums[0], places, whole >> _HALF)
        np.add.at(sums[1], places, whole & (2**_HALF - 1))
    totals = []
    for upper, lower in sums.reshape(2, width, _EXPONENTS).transpose(1, 0, 2):
        used = np.flatnonzero(upper | lower)
        smallest = int(used[0]) if used.size else 0
        total = sum(
            ((int(upper[place]) << _HALF) + int(lower[place])) << (place - smallest)
            for place in used.tolist()
        )
        shift = smallest - _EXPONENTS // 2 - 53
        totals.append(float(total << shift) if shift >= 0 else total / (1 << -shift))
    return totals
