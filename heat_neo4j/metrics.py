"""How well scores tell edges from non-edges. Higher scores mean likelier edges; ties count one half."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["auroc"]


def auroc(edge_scores: ArrayLike, non_edge_scores: ArrayLike) -> float:
    """Return the chance that an edge scores higher than a non-edge, ties counted one half.

    Parameters
    ----------
    edge_scores, non_edge_scores : arrays of float
        Higher means likelier to be an edge; neither may be empty or hold NaN.

    Returns
    -------
    float
        Area under the receiver operating characteristic, in [0, 1]; exact.

    Raises
    ------
    ValueError
        If an array is empty or holds NaN.
    """
    edges = np.asarray(edge_scores, dtype=np.float64).ravel()
    others = np.sort(np.asarray(non_edge_scores, dtype=np.float64).ravel())
    if edges.size == 0 or others.size == 0:
        raise ValueError(f"AUROC needs edges and non-edges, got {edges.size} and {others.size}")
    if np.isnan(edges).any() or np.isnan(others).any():
        raise ValueError("AUROC needs scores that are not NaN")
    under = np.searchsorted(others, edges, side="left").sum(dtype=np.int64)
    not_above = np.searchsorted(others, edges, side="right").sum(dtype=np.int64)
    return float((int(under) + int(not_above)) / (2 * edges.size * others.size))
