"""Search in sorted rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.jit import njit

__all__ = ["first_at_least"]


@njit(cache=True)
def first_at_least(indices: NDArray[np.int32], low: int, high: int, column: int) -> int:
    """Return the first place in [low, high) whose index is at least `column`; `high` if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low
