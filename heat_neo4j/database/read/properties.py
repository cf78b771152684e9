"""One property of the nodes of a graph, as the database holds it."""

from __future__ import annotations

from typing import Any

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph

__all__ = ["read_property"]

_NODES_PER_CHUNK = 10_000


def read_property(connection: Connection, graph: Graph, name: str) -> list[Any]:
    """Return the raw values of one node property, in the order of the rows; None where a node has none.

    Parameters
    ----------
    connection : Connection
        Where `graph` was read.
    graph : Graph
        With element ids.
    name : str
        The property.

    Raises
    ------
    ValueError
        If the graph came from no database.
    ProjectionError
        If no node of the graph has the property, or nodes have been deleted since the graph was read.
    ConnectionFailed
        If the server is lost or refuses.
    """
    if len(graph.node_ids) != graph.n_nodes:
        raise ValueError("the graph has no element ids: it was not read from a database")
    statement, values = load_statement("read/properties"), list[Any]()
    for start in range(0, graph.n_nodes, _NODES_PER_CHUNK):
        parameters = {
            "heat_ids": list(graph.node_ids[start : start + _NODES_PER_CHUNK]),
            "heat_keys": [name],
        }
        record = connection.read(statement, parameters, doing=f"reading property {name!r}")[0]
        values.extend(record["columns"][0])
    if len(values) != graph.n_nodes:
        gone = graph.n_nodes - len(values)
        raise ProjectionError(
            f"{gone} of {graph.n_nodes} nodes were deleted since the graph was read: read again"
        )
    if all(value is None for value in values):
        known = connection.read(load_statement("read/names"), doing="reading names")[0]["keys"]
        raise ProjectionError(f"no node of the projection has a property {name!r}{did_you_mean(name, known)}")
    return values
