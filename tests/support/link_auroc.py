"""AUROC of an embedding on held-out edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.geometry.search import columns_of
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import EdgeSplit


def link_auroc(embedding: NDArray[np.float64], split: EdgeSplit) -> float:
    """Return the AUROC of held-out edges against the split's non-edges, with score = -distance.

    The embedding, N points on the hyperboloid, shape (N, d + 1), must be trained on `split.train` only.
    Raises ValueError if it does not match the graph.
    """
    columns_of(embedding, split.train.n_nodes)
    edges, non_edges = split.test_edges, split.test_non_edges
    return auroc(-pair_distances(embedding, edges), -pair_distances(embedding, non_edges))
