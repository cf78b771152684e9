"""How well an embedding tells the edges of its own graph from all other pairs."""

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.sweeps import excess_of_rows
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.metrics import auroc

__all__ = ["reconstruction_auroc"]


def reconstruction_auroc(embedding: NDArray[np.float64], graph: Graph) -> float:
    """Return the exact AUROC of all edges against all non-edges, score = -distance, of points (N, d + 1).

    It takes O(N^2) memory: 300 MB for 4,000 nodes.
    """
    u, v = np.triu_indices(graph.n_nodes, k=1)
    z = excess_of_rows(embedding, u, v)  # rises with the distance
    edge = np.zeros((graph.n_nodes, graph.n_nodes), dtype=bool)
    edge[graph.edges.coords] = True
    edge = edge[u, v]
    return auroc(-z[edge], -z[~edge])
