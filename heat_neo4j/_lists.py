"""Lists that share one budget of memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["longest_list"]


def longest_list(counts: NDArray[np.int64], entries: int, fewest: int = 1) -> int:
    """Return how long a list may be so that all lists, cut at that length, have at most so many entries.

    Parameters
    ----------
    counts : int64 array of shape (n,)
        Entries that each list would have.
    entries : int
        The budget.
    fewest : int
        What each list may have even beyond the budget.
    """
    rising = np.sort(counts)
    left = entries - np.concatenate(([0], np.cumsum(rising)))[:-1]
    share = left // np.arange(len(rising), 0, -1)  # for a list and each of the longer ones
    cut = np.flatnonzero(rising > share)
    return max(int(share[cut[0]]), fewest) if len(cut) else int(rising.max(initial=0))
