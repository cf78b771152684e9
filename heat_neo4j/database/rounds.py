"""Which rows can be written at the same time: those that touch no node in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rounds", "disjoint_rounds", "equal_parts"]

Rounds = Sequence[Sequence[tuple[int, int]]]
"""Ranges of rows (begin, end), round by round; those of one round can be written at the same time."""


def equal_parts(total: int, lanes: int) -> Rounds:
    """Return one round of `lanes` ranges of about the same length, for rows that never meet.

    Parameters
    ----------
    total : int
        Number of rows.
    lanes : int
        Ranges to make, at least 1.
    """
    bounds = [total * lane // lanes for lane in range(lanes + 1)]
    return [list(pairwise(bounds))]


def disjoint_rounds(
    source: NDArray[np.int64], target: NDArray[np.int64], lanes: int
) -> tuple[NDArray[np.int64], Rounds]:
    """Arrange pairs of nodes so that no two ranges of one round share a node.

    Nodes fall into 2 `lanes` groups that play each other as in a round-robin tournament: in each of the
    2 `lanes` - 1 rounds every group meets one other, and each meeting is a range of its own. Pairs within a
    group go with its first meeting.

    Parameters
    ----------
    source, target : int64 arrays of shape (L,)
        The pairs.
    lanes : int
        Ranges in a round, at least 1.

    Returns
    -------
    order : int64 array of shape (L,)
        The pairs in the order of the ranges, as given within each.
    rounds : Rounds
        Ranges of `order`.
    """
    groups = 2 * lanes
    meetings = np.zeros((groups, groups), dtype=np.int64)
    circle = list(range(groups))
    for played in range(groups - 1):
        for lane in range(lanes):
            one, other = circle[lane], circle[-1 - lane]
            meetings[one, other] = meetings[other, one] = played * lanes + lane
            if played == 0:
                meetings[one, one] = meetings[other, other] = lane
        circle = [circle[0], circle[-1], *circle[1:-1]]
    meeting = meetings[source % groups, target % groups]
    order = np.argsort(meeting, kind="stable")
    bounds = np.searchsorted(meeting[order], np.arange((groups - 1) * lanes + 1)).tolist()
    ranges = list(pairwise(bounds))
    return order, [ranges[begin : begin + lanes] for begin in range(0, len(ranges), lanes)]
