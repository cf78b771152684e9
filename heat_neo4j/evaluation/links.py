"""Link prediction: held-out edges against pairs that are no edges, scored by minus the distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._points import columns_of
from heat_neo4j.hyperboloid import pair_distances
from heat_neo4j.metrics import auroc
from heat_neo4j.splits import EdgeSplit

__all__ = ["link_auroc"]


def link_auroc(embedding: NDArray[np.float64], split: EdgeSplit) -> float:
    """Return the AUROC of held-out edges against the split's non-edges, score = -distance.

    Parameters
    ----------
    embedding : float64 array of shape (N, d + 1)
        Points on the hyperboloid, one per row of `split.train`, trained on nothing but `split.train`.
    split : EdgeSplit
        From `split_edges`.

    Raises
    ------
    ValueError
        If `embedding` does not fit the graph or is not on the hyperboloid.
    """
    columns_of(embedding, split.train.n_nodes)
    return auroc(
        -pair_distances(embedding, split.test_edges), -pair_distances(embedding, split.test_non_edges)
    )
