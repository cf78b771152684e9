"""Exact nearest neighbours on the hyperboloid without looking at all: a k-d tree over the Poincare ball.

A hyperbolic ball is a Euclidean ball with another centre: of radius r about b, with k = tanh(r / 2), it is
that of radius k (1 - b^2) / (1 - k^2 b^2) about b (1 - k^2) / (1 - k^2 b^2). So a first question, for points
near b in the Euclidean sense, gives a radius within which the nearest must lie, and a second, for all points
of that ball, misses none of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from heat_neo4j._kernels.neighbours import NO_PARTNER

__all__ = ["PoincareTree"]

_SLACK = 1e-9  # of a radius, for what rounding does to it


class PoincareTree:
    """Some points of the hyperboloid, arranged for questions about what is near.

    Parameters
    ----------
    spatial, time : float64 arrays of shape (d, M) and (M,)
        All points, coordinates first.
    members : int64 array
        Those that are looked for.
    threads : int
        Threads that answer.
    """

    def __init__(
        self,
        spatial: NDArray[np.float64],
        time: NDArray[np.float64],
        members: NDArray[np.int64],
        threads: int,
    ) -> None:
        self._points = np.ascontiguousarray((spatial / (1.0 + time)).T)
        self._gap = 2.0 / (1.0 + time)  # 1 - b^2, without cancellation
        self._members = members
        self._tree = cKDTree(self._points[members])
        self._threads = threads

    def __len__(self) -> int:
        return len(self._members)

    def near(self, rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return the `count` members nearest to each point in the Euclidean sense, shape (B, count)."""
        return self._ask(self._points[rows], count)[1]

    def within(
        self, rows: NDArray[np.int64], radii: NDArray[np.float64], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return up to `count` members, and whether all within a hyperbolic radius are among them.

        Parameters
        ----------
        rows : int64 array of shape (B,)
            The points.
        radii : float64 array of shape (B,)
            Hyperbolic radius about each, finite.
        count : int
            How many members to return, at most.

        Returns
        -------
        int64 array of shape (B, count)
            Members; `NO_PARTNER` where there are fewer.
        bool array of shape (B,)
            Whether the list is complete.
        """
        half = np.tanh(0.5 * radii) ** 2
        gap = self._gap[rows]
        scale = 1.0 / (
            1.0 / np.cosh(0.5 * radii) ** 2 + half * gap
        )  # 1 - k^2 b^2 = (1 - k^2) + k^2 (1 - b^2)
        centres = self._points[rows] * ((1.0 - half) * scale)[:, None]
        reach = np.sqrt(half) * gap * scale * (1.0 + _SLACK) + _SLACK * gap
        far, members = self._ask(centres, count)
        return members, (far > reach) | (count >= len(self))

    def _ask(self, points: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the distance of the last, and the nearest members, of each point."""
        asked = min(count, len(self))
        far, places = self._tree.query(points, k=np.arange(1, asked + 1), workers=self._threads)
        members = np.full((len(points), count), NO_PARTNER)
        members[:, :asked] = self._members[places]
        return np.asarray(far)[:, -1], members
