"""FastRP and node2vec of a server's Graph Data Science (GDS), on a `Graph` that is in no database."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.graph import Graph

__all__ = ["fastrp", "node2vec"]

PROJECT = """
CALL () {
  UNWIND range(0, $n - 1) AS source
  RETURN source, null AS target, null AS weight, $features[source] AS features
  UNION ALL
  UNWIND range(0, size($sources) - 1) AS i
  RETURN $sources[i] AS source, $targets[i] AS target, $weights[i] AS weight, null AS features
}
WITH gds.graph.project($name, source, target, {
  sourceNodeProperties: CASE WHEN features IS NULL THEN null ELSE {features: features} END,
  targetNodeProperties: null,
  relationshipProperties: CASE WHEN weight IS NULL THEN null ELSE {weight: weight} END
}, {undirectedRelationshipTypes: ['*']}) AS projection
RETURN projection.nodeCount
"""
EMBED = "CALL gds.@.stream($name, $configuration) YIELD nodeId, embedding RETURN nodeId AS row, embedding"
DROP = "CALL gds.graph.drop($name, false) YIELD graphName RETURN graphName"


def fastrp(
    connection: Connection, graph: Graph, n_components: int, seed: int, *, attributes: bool
) -> NDArray[np.float64]:
    """Return the FastRP embedding of a graph by the defaults of GDS; attributes make half of each vector."""
    configuration: dict[str, Any] = {"embeddingDimension": n_components, "randomSeed": seed}
    if attributes:
        configuration |= {"featureProperties": ["features"], "propertyRatio": 0.5}
    return _embed(connection, graph, "fastRP", configuration, attributes=attributes)


def node2vec(
    connection: Connection, graph: Graph, n_components: int, seed: int, *, iterations: int = 5
) -> NDArray[np.float64]:
    """Return the node2vec embedding of a graph: 10 walks of length 80, one thread."""
    configuration = {
        "embeddingDimension": n_components, "randomSeed": seed, "iterations": iterations, "walkLength": 80,
        "walksPerNode": 10, "concurrency": 1,
    }  # fmt: skip
    return _embed(connection, graph, "node2vec", configuration, attributes=False)


def _embed(
    connection: Connection,
    graph: Graph,
    algorithm: str,
    configuration: Mapping[str, Any],
    *,
    attributes: bool,
) -> NDArray[np.float64]:
    edges, name = graph.edges, f"heat-{uuid.uuid4().hex}"
    weighted = edges.nnz > 0 and edges.data.min() < edges.data.max()
    rows: Any = graph.attributes if attributes else None
    dense = rows if rows is None or isinstance(rows, np.ndarray) else rows.toarray()
    projection = {
        "name": name,
        "n": graph.n_nodes,
        "sources": edges.row.tolist(),
        "targets": edges.col.tolist(),
        "weights": edges.data.tolist() if weighted else [],
        "features": [] if dense is None else dense.tolist(),
    }
    weight = {"relationshipWeightProperty": "weight"} if weighted else {}
    call = {"name": name, "configuration": {**configuration, **weight}}

    def work(transaction: Transaction) -> NDArray[np.float64]:
        transaction.run(PROJECT, projection)
        vectors = np.empty((graph.n_nodes, configuration["embeddingDimension"]))
        for record in transaction.stream(EMBED.replace("@", algorithm), call):
            vectors[record["row"]] = record["embedding"]
        transaction.run(DROP, {"name": name})
        return vectors

    return connection.read_transaction(work, doing=f"running {algorithm} of GDS")
