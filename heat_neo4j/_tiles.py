"""Points of the hyperboloid laid out so that most of them can be passed over in a search for the nearest.

In the Poincare ball z = cosh d - 1 is 2 |x - y|^2 / (gap(x) gap(y)), where gap(x) = 1 - |x|^2. A part of the
coordinates, in any rotation, gives a lower bound of |x - y|, and so of z: the view, along the directions in
which the points vary most. Points that are near each other lie together in tiles; one bound for the box
around a tile spares all of its points, and one for the box around a group of tiles all of these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from heat_neo4j._kernels.neighbours import GROUP, TILE, VIEW

__all__ = ["Tiles", "lay_tiles"]


class Tiles(NamedTuple):
    """M points in T tiles of `TILE` places, the last of which may be partly empty.

    Parameters
    ----------
    points, time : float64 arrays of shape (M, d) and (M,)
        On the hyperboloid, by place.
    node : int64 array of shape (M,)
        Which point is at a place.
    views : float64 array of shape (T, VIEW, TILE)
        Part of the coordinates in the ball.
    gaps : float64 array of shape (T, TILE)
        1 - |x|^2 of each place, in (0, 1].
    boxes : float64 array of shape (T, 2, VIEW)
        Least and largest view of each tile.
    widest : float64 array of shape (T,)
        Largest gap of each tile.
    outer_boxes, outer_widest : float64 arrays of shape (G, 2, VIEW) and (G,)
        The same of each group of `GROUP` tiles.
    masks : uint8 array of shape (T,)
        All roles that a tile's points have.
    """

    points: NDArray[np.float64]
    time: NDArray[np.float64]
    node: NDArray[np.int64]
    views: NDArray[np.float64]
    gaps: NDArray[np.float64]
    boxes: NDArray[np.float64]
    widest: NDArray[np.float64]
    outer_boxes: NDArray[np.float64]
    outer_widest: NDArray[np.float64]
    masks: NDArray[np.uint8]


def lay_tiles(spatial: NDArray[np.float64], time: NDArray[np.float64], roles: NDArray[np.uint8]) -> Tiles:
    """Lay points out in tiles.

    Parameters
    ----------
    spatial, time : float64 arrays of shape (d, M) and (M,)
        The points, at least one, coordinates first.
    roles : uint8 array of shape (M,)
        Bits that say what each may be.
    """
    view = _view((spatial / (1.0 + time)).T)
    node = np.asarray(cKDTree(view, leafsize=TILE).indices, dtype=np.int64)
    padded = np.append(node, np.full(-len(node) % TILE, node[-1])).reshape(-1, TILE)
    views = np.ascontiguousarray(view[padded].transpose(0, 2, 1))
    gaps = 2.0 / (1.0 + time[padded])  # 1 - |x|^2, without cancellation
    low, high, widest = views.min(axis=2), views.max(axis=2), gaps.max(axis=1)
    groups = np.arange(0, len(padded), GROUP)
    return Tiles(
        points=np.ascontiguousarray(spatial[:, node].T),
        time=time[node],
        node=node,
        views=views,
        gaps=gaps,
        boxes=np.stack((low, high), axis=1),
        widest=widest,
        outer_boxes=np.stack((np.minimum.reduceat(low, groups), np.maximum.reduceat(high, groups)), axis=1),
        outer_widest=np.maximum.reduceat(widest, groups),
        masks=np.bitwise_or.reduce(roles[padded], axis=1),
    )


def _view(ball: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coordinates along the directions of largest variance, shape (M, VIEW), padded with 0."""
    if ball.shape[1] > VIEW:
        centred = ball - ball.mean(axis=0)
        _, directions = np.linalg.eigh(centred.T @ centred)
        return np.asarray(centred @ directions[:, -VIEW:])
    view = np.zeros((len(ball), VIEW))
    view[:, : ball.shape[1]] = ball
    return view
