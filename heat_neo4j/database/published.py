"""Reading the published coordinates back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.payload import to_hyperboloid
from heat_neo4j.database.runs import nothing_published, read_address
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph

__all__ = ["read_embedding"]

_BATCH = 10_000
_ATTEMPTS = 3


def read_embedding(connection: Connection, graph: Graph, model: str) -> NDArray[np.float64]:
    """Return the published coordinates for the rows of `graph`; see `Neo4jStore.read_embedding`."""
    for _ in range(_ATTEMPTS):
        node = read_address(connection, model)
        if "run" not in node:
            raise nothing_published(model)
        values, missing = _read_run(connection, graph, node)
        if not missing:
            return to_hyperboloid(values, node["coordinates"])
        if read_address(connection, model).get("run") == node["run"]:
            raise ProjectionError(
                f"{missing} of {graph.n_nodes} nodes have no coordinates of model {model!r} "
                f"(run {node['run']}): they are newer than the run, or gone; run `heat embed` again"
            )
    raise ProjectionError(f"model {model!r} is published anew again and again: read later")


def _read_run(
    connection: Connection, graph: Graph, node: Mapping[str, Any]
) -> tuple[NDArray[np.float64], int]:
    """Return the coordinates of the run that `node` points to, and how many nodes have none."""
    if len(graph.node_ids) != graph.n_nodes:
        raise ValueError("only a graph read from a database has coordinates there: this one has no node_ids")
    statement = load_statement(
        "read/coordinates", run=node["runProperty"], embedding=node["embeddingProperty"]
    )
    values = np.zeros((graph.n_nodes, node["dimension"]))
    found = np.zeros(graph.n_nodes, dtype=np.bool_)
    for begin in range(0, graph.n_nodes, _BATCH):
        batch = {"ids": list(graph.node_ids[begin : begin + _BATCH]), "run": node["run"]}
        columns = connection.read(statement, batch, doing="reading coordinates")[0]
        rows = begin + np.asarray(columns["positions"], dtype=np.int64)
        if rows.size:
            values[rows] = _matrix(columns["coordinates"], node)
            found[rows] = True
    return values, int((~found).sum())


def _matrix(lists: list[list[float]], node: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return lists of floats as rows, refusing those that somebody changed."""
    width = node["dimension"]
    try:
        matrix = np.array(lists, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProjectionError(
            f"{node['embeddingProperty']!r} holds values that are not {width} numbers"
        ) from error
    if matrix.shape != (len(lists), width) or not np.isfinite(matrix).all():
        raise ProjectionError(
            f"{node['embeddingProperty']!r} holds values that are not {width} finite numbers"
        )
    return matrix
