"""Points on the hyperboloid, checked and laid out for sweeps over all pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heat_neo4j.hyperboloid import check_points

__all__ = ["Columns", "columns_of"]


class Columns(NamedTuple):
    """Spatial coordinates transposed, shape (d, N), and the time coordinate, shape (N,)."""

    spatial: NDArray[np.float64]
    time: NDArray[np.float64]


def columns_of(embedding: ArrayLike, n_nodes: int) -> Columns:
    """Check that `embedding` holds one point on the hyperboloid per node, and transpose it.

    Parameters
    ----------
    embedding : array of shape (N, d + 1)
        Hyperboloid coordinates, time last.
    n_nodes : int
        N of the graph they belong to.

    Raises
    ------
    ValueError
        If there is not one row per node, a value is not finite, or a row is not on the hyperboloid.
    """
    points = np.asarray(embedding, dtype=np.float64)
    check_points(points)
    if len(points) != n_nodes:
        raise ValueError(f"embedding has {len(points)} rows for {n_nodes} nodes")
    return Columns(np.ascontiguousarray(points[:, :-1].T), np.ascontiguousarray(points[:, -1]))
