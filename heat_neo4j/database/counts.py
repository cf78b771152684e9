"""How large a projection is, from counts and a sample: what an estimate needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.attributes import AttributeTable
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.nodes import read_prefix
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.scope import Scope
from heat_neo4j.database.statements import load_statement

__all__ = ["ProjectionCounts", "count_by_type", "count_projection"]

_SAMPLE_NODES = 1_000


@dataclass(frozen=True)
class ProjectionCounts:
    """Sizes of a projection.

    Parameters
    ----------
    nodes : int
        Nodes that match.
    relationships : int
        Relationships that leave them; those to other nodes, too, so an upper bound.
    attribute_columns : int
        Columns that the attributes of the sampled nodes take. Strings may take more over all nodes.
    attribute_share : float
        Share of values other than 0 in these columns, from 0 to 1.
    """

    nodes: int
    relationships: int
    attribute_columns: int
    attribute_share: float


def count_projection(connection: Connection, projection: Projection) -> ProjectionCounts:
    """Return the sizes of a projection: exact counts, attributes from a sample of about 1000 nodes.

    Raises
    ------
    ProjectionError
        If a name does not exist, nothing matches, or a sampled attribute value cannot be used.
    ConnectionFailed
        If the server is lost or refuses.
    """
    scope = Scope.resolve(connection, projection).require()
    statement = load_statement("read/node_count", **scope.nodes())
    n_nodes: int = connection.read(statement, scope.parameters(), doing="counting nodes")[0]["nodes"]
    if not n_nodes:
        raise scope.nothing_matches()
    n_relationships = sum(count_by_type(connection, scope).values())
    matrix = _sampled_attributes(connection, scope, n_nodes)
    filled = matrix.nnz if sparse.issparse(matrix) else int(np.count_nonzero(matrix))
    share = filled / max(matrix.shape[0] * matrix.shape[1], 1)
    return ProjectionCounts(n_nodes, n_relationships, int(matrix.shape[1]), share)


def count_by_type(connection: Connection, scope: Scope) -> dict[str, int]:
    """Return how many relationships of each type leave the nodes of `scope`, wherever they lead."""
    statement = load_statement("read/relationship_count", **scope.nodes(), **scope.relationships())
    records = connection.read(statement, scope.parameters(), doing="counting relationships")
    return {record["type"]: record["relationships"] for record in records}


def _sampled_attributes(
    connection: Connection, scope: Scope, n_nodes: int
) -> sparse.csr_array | NDArray[np.float64]:
    """Return the attributes of about a thousand nodes, taken evenly by the number in the element id."""
    names = scope.projection.attributes
    stride = max(n_nodes // _SAMPLE_NODES, 1)
    prefix = len(read_prefix(connection))
    parameters = scope.parameters(prefix=prefix, stride=stride, keys=names)
    statement = load_statement("read/sample", **scope.nodes())
    columns = connection.read(statement, parameters, doing="reading a sample of attributes")[0]["columns"]
    n_rows = len(columns[0]) if columns else 0
    table = AttributeTable(names, n_rows, max_categories=scope.projection.max_categories)
    table.add(np.arange(n_rows), dict(zip(names, columns, strict=True)))
    return table.finish(np.arange(n_rows)).matrix
