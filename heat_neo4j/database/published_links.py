"""Reading the published predicted links back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.runs import is_kept, read_address
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph

__all__ = ["StoredLinks", "read_links"]

_BATCH = 10_000


class StoredLinks(NamedTuple):
    """Predicted links between rows of a graph, source < target, nearest first.

    `source` and `target` are int64, `distance` float64, `probability` float64 or None if the run gave none;
    all of shape (L,).
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    distance: NDArray[np.float64]
    probability: NDArray[np.float64] | None


def read_links(connection: Connection, graph: Graph, model: str) -> StoredLinks | None:
    """Return the published predicted links between rows of `graph`; see `Neo4jStore.read_links`."""
    if len(graph.node_ids) != graph.n_nodes:
        raise ValueError("only a graph read from a database has links there: this one has no node_ids")
    node = read_address(connection, model)
    if "linkRun" not in node:
        return None
    statement = load_statement("read/links", type=node["linkType"])
    row_of = {identity: row for row, identity in enumerate(graph.node_ids)}
    found: list[tuple[float, int, int, float | None]] = []
    for begin in range(0, graph.n_nodes, _BATCH):
        batch = {"ids": list(graph.node_ids[begin : begin + _BATCH]), "run": node["linkRun"]}
        columns = connection.read(statement, batch, doing="reading predicted links")[0]
        for place, target, distance, probability in zip(*columns.values(), strict=True):
            if target in row_of:
                ends = sorted((begin + place, row_of[target]))
                found.append((distance, *ends, probability))
    if not is_kept(connection, model, node["linkRun"], "linkRun"):
        raise ProjectionError(f"model {model!r} was published anew while its links were read: read again")
    found.sort(key=lambda link: link[:3])
    known = all(link[3] is not None for link in found) and bool(found)
    return StoredLinks(
        np.array([link[1] for link in found], dtype=np.int64),
        np.array([link[2] for link in found], dtype=np.int64),
        np.array([link[0] for link in found], dtype=np.float64),
        np.array([link[3] for link in found], dtype=np.float64) if known else None,
    )
