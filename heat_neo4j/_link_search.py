"""The nearest pairs of nodes that no relationship joins, exactly and without looking at all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.neighbours import NO_PARTNER, nearest_absent
from heat_neo4j._progress import Progress, no_progress
from heat_neo4j._team import Team
from heat_neo4j._tiles import lay_tiles

__all__ = ["Candidates", "Pairs", "PartnerSearch", "first_partners", "nearest_pairs", "nearest_partners"]

_BLOCK_ROWS = 8192  # nodes between two progress reports

Found = tuple[NDArray[np.float64], NDArray[np.int64]]


class Candidates(NamedTuple):
    """The nodes that may be linked, numbered from 0.

    Parameters
    ----------
    spatial, time : float64 arrays of shape (d, M) and (M,)
        Points on the hyperboloid.
    indptr, indices : CSR arrays
        Pairs that exist already, sorted within rows.
    roles : uint8 array of shape (M,)
        `IS_SOURCE` and `IS_TARGET` bits; a pair must have one of each at opposite ends.
    """

    spatial: NDArray[np.float64]
    time: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    roles: NDArray[np.uint8]


class Pairs(NamedTuple):
    """Unordered pairs of candidates, source < target."""

    distance: NDArray[np.float64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]


def nearest_partners(candidates: Candidates, k: int, team: Team, on_progress: Progress) -> Found:
    """Return the k nearest absent partners of every node.

    Parameters
    ----------
    candidates : Candidates
        The nodes, M of them.
    k : int
        Partners per node, at least 1.
    team : Team
        Threads to use.
    on_progress : callable
        Called with ("links", nodes done, nodes in all).

    Returns
    -------
    distance, partner : arrays of shape (M, k)
        Sorted by (distance, partner); infinity and `NO_PARTNER` where there are fewer.
    """
    return PartnerSearch(candidates, team).nearest(np.arange(len(candidates.time)), k, np.inf, on_progress)


def nearest_pairs(
    candidates: Candidates, k: int | None, top: int | None, team: Team, on_progress: Progress
) -> Pairs:
    """Return the nearest absent pairs in the order of (distance, source, target).

    Parameters
    ----------
    candidates : Candidates
        Between which nodes.
    k : int, optional
        Partners per node: a pair is kept if either end is among the k nearest of the other; no limit if None.
    top : int, optional
        Keep only so many pairs; given if k is not.
    team, on_progress
        As for `nearest_partners`.
    """
    n = len(candidates.time)
    if n < 2:
        return _merge([], top)
    if k is not None:
        distance, partner = nearest_partners(candidates, min(k, n - 1), team, on_progress)
        return _merge([_unordered(np.arange(n), distance, partner)], top)
    assert top is not None
    return _overall(PartnerSearch(candidates, team), n, top, on_progress)


def first_partners(top: int, n: int) -> int:
    """Return how many partners of each of n nodes are looked for at first, for the `top` nearest pairs."""
    return max(4, 4 * top // n)


def _overall(search: PartnerSearch, n: int, top: int, on_progress: Progress) -> Pairs:
    """Return the `top` nearest pairs: nodes all of whose partners may be among them are asked for more."""
    rows, k = np.arange(n), min(n - 1, first_partners(top, n))
    bound = np.inf
    kept: list[Pairs] = []
    while True:
        distance, partner = search.nearest(rows, k, bound, on_progress)
        kept = [_merge([*kept, _unordered(rows, distance, partner)], top)]
        if len(kept[0].distance) == top:
            bound = kept[0].distance[-1]
        rows = rows[(partner[:, -1] != NO_PARTNER) & (distance[:, -1] <= bound)]
        if k == n - 1 or not len(rows):
            return kept[0]
        k, on_progress = min(n - 1, 4 * k), no_progress  # the few that ask again


class PartnerSearch:
    """The candidates in tiles, and the team that looks through them.

    Parameters
    ----------
    candidates : Candidates
        The nodes, at least one.
    team : Team
        Threads to use.
    """

    def __init__(self, candidates: Candidates, team: Team) -> None:
        self._links = candidates.indptr, candidates.indices, candidates.roles
        self._tiles = lay_tiles(candidates.spatial, candidates.time, candidates.roles)
        self._place = np.argsort(self._tiles.node)
        self._team = team

    def nearest(self, rows: NDArray[np.int64], k: int, bound: float, on_progress: Progress) -> Found:
        """Return the k nearest absent partners of some nodes, none farther than `bound` being asked for."""
        distance, partner = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64)
        order = np.argsort(self._place[rows])  # nodes that lie together look at the same tiles
        on_progress("links", 0, len(rows))
        for begin in range(0, len(rows), _BLOCK_ROWS):
            block = order[begin : begin + _BLOCK_ROWS]
            found = np.empty((len(block), k)), np.empty((len(block), k), dtype=np.int64)
            self._team.run(
                nearest_absent, *self._tiles, *self._links, self._place[rows[block]], bound, *found
            )
            distance[block], partner[block] = found
            on_progress("links", begin + len(block), len(rows))
        return distance, partner


def _unordered(rows: NDArray[np.int64], distance: NDArray[np.float64], partner: NDArray[np.int64]) -> Pairs:
    """Return what was found for some rows, as pairs."""
    row, place = np.nonzero(partner != NO_PARTNER)
    u, v = rows[row], partner[row, place]
    return Pairs(distance[row, place], np.minimum(u, v), np.maximum(u, v))


def _merge(found: list[Pairs], top: int | None) -> Pairs:
    """Return the first `top` different pairs by (distance, source, target)."""
    distance = np.concatenate([np.empty(0), *(pairs.distance for pairs in found)])
    source = np.concatenate([np.empty(0, np.int64), *(pairs.source for pairs in found)])
    target = np.concatenate([np.empty(0, np.int64), *(pairs.target for pairs in found)])
    order = np.lexsort((target, source, distance))
    distance, source, target = distance[order], source[order], target[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    return Pairs(distance[first][:top], source[first][:top], target[first][:top])
