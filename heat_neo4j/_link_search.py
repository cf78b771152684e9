"""The nearest pairs of nodes that no relationship joins, exactly.

On few nodes, or in many dimensions, every pair is looked at. Else a tree answers what is near a node; its
answers are certified, so that both ways give the same pairs to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.neighbours import (
    IS_SOURCE,
    IS_TARGET,
    NO_PARTNER,
    nearest_absent,
    nearest_among,
)
from heat_neo4j._poincare_tree import PoincareTree
from heat_neo4j._progress import Progress, no_progress
from heat_neo4j._team import Team

__all__ = ["Candidates", "Pairs", "nearest_pairs", "nearest_partners", "wants_tree"]

_BLOCK_ROWS = 1024  # nodes between two progress reports
_BLOCK_ENTRIES = 1 << 22  # pairs held before the overall nearest are sorted out
_TREE_NODES = 10_000  # from here on a tree is quicker than looking at all pairs
_TREE_DIMENSIONS = 16  # up to here
_TREE_TIME = np.cosh(14.0)  # up to here the ball's coordinates tell points apart well enough
_TREE_ROWS = 8192  # nodes that ask at once
_FIRST_ANSWERS = 16
_MOST_ANSWERS = 1024  # for those who need more, all pairs are looked at

Found = tuple[NDArray[np.float64], NDArray[np.int64]]


class Candidates(NamedTuple):
    """The nodes that may be linked, numbered from 0: the first arguments of `nearest_absent`."""

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
    n = len(candidates.time)
    on_progress("links", 0, n)
    if _asks_tree(candidates):
        return _TreeSearch(candidates, team).nearest(np.arange(n), k, on_progress)
    distance, partner = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
    for begin in range(0, n, _BLOCK_ROWS):
        rows = np.arange(begin, min(begin + _BLOCK_ROWS, n))
        distance[rows], partner[rows] = _scan(candidates, rows, k, team)
        on_progress("links", begin + len(rows), n)
    return distance, partner


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
    on_progress("links", 0, n)
    if _asks_tree(candidates):
        return _overall(_TreeSearch(candidates, team), n, top, on_progress)
    return _by_scan(candidates, top, team, on_progress)


def wants_tree(n_nodes: int, n_components: int) -> bool:
    """Tell whether a tree is quicker than looking at all pairs."""
    return n_nodes >= _TREE_NODES and n_components <= _TREE_DIMENSIONS


def _asks_tree(candidates: Candidates) -> bool:
    dimensions, n = candidates.spatial.shape
    return wants_tree(n, dimensions) and bool(candidates.time.max() <= _TREE_TIME)


def _by_scan(candidates: Candidates, top: int, team: Team, on_progress: Progress) -> Pairs:
    """Look at every pair once; what a block finds beyond the `top` best so far is dropped."""
    n = len(candidates.time)
    width = min(top, n - 1)
    found: list[Pairs] = []
    bound = np.inf
    size = min(_BLOCK_ROWS, max(_BLOCK_ENTRIES // width, 1))
    for begin in range(0, n, size):
        rows = np.arange(begin, min(begin + size, n))
        found.append(_unordered(rows, *_scan(candidates, rows, width, team, later_only=True, bound=bound)))
        if sum(len(pairs.distance) for pairs in found) >= 2 * top:
            found = [_merge(found, top)]
            bound = found[0].distance[-1]
        on_progress("links", begin + len(rows), n)
    return _merge(found, top)


def _scan(
    candidates: Candidates,
    rows: NDArray[np.int64],
    k: int,
    team: Team,
    *,
    later_only: bool = False,
    bound: float = np.inf,
) -> Found:
    distance, partner = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64)
    team.run(nearest_absent, *candidates, rows, later_only, bound, distance, partner)
    return distance, partner


def _overall(search: _TreeSearch, n: int, top: int, on_progress: Progress) -> Pairs:
    """Return the `top` nearest pairs: nodes all of whose partners may be among them are asked for more."""
    rows, k = np.arange(n), min(n - 1, max(4, 4 * top // n))
    kept: list[Pairs] = []
    while True:
        distance, partner = search.nearest(rows, k, on_progress)
        kept = [_merge([*kept, _unordered(rows, distance, partner)], top)]
        bound = kept[0].distance[-1] if len(kept[0].distance) == top else np.finfo(np.float64).max
        rows = rows[distance[:, -1] <= bound]
        if k == n - 1 or not len(rows):
            return kept[0]
        k, on_progress = min(n - 1, 4 * k), no_progress  # the few that ask again


class _TreeSearch:
    """Trees over the nodes that each role may be linked to."""

    def __init__(self, candidates: Candidates, team: Team) -> None:
        self._candidates = candidates
        self._team = team
        self._trees = {}
        roles = candidates.roles
        for role in np.unique(roles).tolist():
            fits = (IS_TARGET if role & IS_SOURCE else 0) | (IS_SOURCE if role & IS_TARGET else 0)
            members = np.flatnonzero(roles & fits)
            if len(members):
                self._trees[role] = PoincareTree(candidates.spatial, candidates.time, members, team.n_threads)

    def nearest(self, rows: NDArray[np.int64], k: int, on_progress: Progress) -> Found:
        """Return the k nearest absent partners of some nodes, as `nearest_absent` does."""
        distance, partner = np.full((len(rows), k), np.inf), np.full((len(rows), k), NO_PARTNER)
        for begin in range(0, len(rows), _TREE_ROWS):
            block = slice(begin, begin + _TREE_ROWS)
            self._block(rows[block], distance[block], partner[block])
            on_progress("links", min(begin + _TREE_ROWS, len(rows)), len(rows))
        return distance, partner

    def _block(
        self, rows: NDArray[np.int64], distance: NDArray[np.float64], partner: NDArray[np.int64]
    ) -> None:
        """Ask for as many as a node needs beside its neighbours, together with those that need as many."""
        k = distance.shape[1]
        needed = k + np.diff(self._candidates.indptr)[rows] + 1
        classes = np.maximum(np.ceil(np.log2(needed / _FIRST_ANSWERS)), 0).astype(np.int64)
        for role, tree in self._trees.items():
            of_role = self._candidates.roles[rows] == role
            for size in np.unique(classes[of_role]).tolist():
                places = np.flatnonzero(of_role & (classes == size))
                distance[places], partner[places] = self._ask(tree, rows[places], k, _FIRST_ANSWERS << size)

    def _ask(self, tree: PoincareTree, rows: NDArray[np.int64], k: int, answers: int) -> Found:
        """Find a radius that holds k partners, then all within it; where that takes too long, look at all."""
        distance, partner = np.full((len(rows), k), np.inf), np.full((len(rows), k), NO_PARTNER)
        radii = self._radii(tree, rows, k, answers)
        settled = np.zeros(len(rows), dtype=np.bool_)
        places = np.flatnonzero(np.isfinite(radii))
        while len(places) and answers <= _MOST_ANSWERS:
            members, complete = tree.within(rows[places], radii[places], answers)
            done = places[complete]
            distance[done], partner[done] = self._among(rows[done], members[complete], k)
            settled[done] = True
            places, answers = places[~complete], 4 * answers
        rest = np.flatnonzero(~settled)
        if len(rest):
            distance[rest], partner[rest] = _scan(self._candidates, rows[rest], k, self._team)
        return distance, partner

    def _radii(
        self, tree: PoincareTree, rows: NDArray[np.int64], k: int, answers: int
    ) -> NDArray[np.float64]:
        """Return distances within which each node has k partners; infinite where none was found."""
        radii = np.full(len(rows), np.inf)
        places = np.arange(len(rows))
        while len(places) and answers <= _MOST_ANSWERS:
            distance, _ = self._among(rows[places], tree.near(rows[places], answers), k)
            radii[places] = distance[:, -1]
            if answers >= len(tree):
                break
            places, answers = places[np.isinf(distance[:, -1])], 4 * answers
        return radii

    def _among(self, rows: NDArray[np.int64], members: NDArray[np.int64], k: int) -> Found:
        distance, partner = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64)
        self._team.run(nearest_among, *self._candidates, rows, members, distance, partner)
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
