"""The predicted links of some nodes, as they are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.keys import Key
from heat_neo4j.database.published_nodes import NodesByKey, VersionScope, read_scope
from heat_neo4j.database.statements import Fragment, load_statement
from heat_neo4j.errors import ProjectionError

_FARTHEST = 1e12  # a page shows thousandths as whole numbers; distances of points are below 2,000


@dataclass(frozen=True)
class NodeLink:
    """A predicted link of a node."""

    type: str
    leaves: bool  # whether it leads from the node to the other one; else it leads to the node
    element_id: str  # of the other node
    labels: tuple[str, ...]
    name: str  # for people: its key as one line of text; else a label and the number in its element id
    probability: float | None  # None if the run gave none
    distance: float
    rank: int  # among all links of the model: 1 is the likeliest
    key: Any = None  # the value of the other node's key, as it is stored; None if it has none

    def to_dict(self) -> dict[str, Any]:
        """Return the link as JSON data."""
        return dict(vars(self))


def is_sound_link(rank: object, type_: object, distance: object, probability: object) -> bool:
    """Return whether a run of this package could have written a predicted link with these values."""
    return (
        type(rank) is int
        and isinstance(type_, str)
        and isinstance(distance, float)
        and 0 <= distance <= _FARTHEST
        and (probability is None or (isinstance(probability, float) and 0 <= probability <= 1))
    )


def damaged_links(model: str) -> ProjectionError:
    """Return the error for predicted links that are not all sound."""
    return ProjectionError(
        f"predicted links of model {model!r} hold values that no run writes: `heat links` writes them anew"
    )


def links_part(scope: VersionScope, nodes: NodesByKey, k: int) -> tuple[Fragment, dict[str, Any]]:
    """Return the part of a statement that reads the `k` likeliest links of a node, and its parameters."""
    if not k or scope.link_run is None or scope.link_type is None:
        return Fragment("RETURN [] AS links"), {}
    values = {"heat_link_run": scope.link_run, "heat_n_links": k, "heat_keys": list(nodes.keys.properties)}
    return Fragment(load_statement("read/node_links", type=scope.link_type)), values


def links_of_rows(nodes: NodesByKey, rows: Sequence[Mapping[str, Any]]) -> tuple[NodeLink, ...]:
    """Return the links that `links_part` read."""
    return tuple(_link(nodes, row) for row in rows)


def _link(nodes: NodesByKey, row: Mapping[str, Any]) -> NodeLink:
    values = dict(zip(nodes.keys.properties, row["shown"], strict=True))
    labels = tuple(row["labels"])
    name = nodes.name(row["id"], labels, values)
    numbers = (row["probability"], row["distance"], row["rank"])
    key = nodes.keys.value_of(labels, values)
    return NodeLink(row["type"], row["leaves"], row["id"], labels, name, *numbers, key)


def read_node_links(
    connection: Connection, nodes: Sequence[str], *, k: int = 10, model: str = "heat", key: Key | None = None
) -> dict[str, tuple[NodeLink, ...]]:
    """Return the likeliest links of some nodes; see `Neo4jStore.links_of`."""
    check_integer("k", k, minimum=1)

    # In one transaction: who publishes another version waits for those that read the one before.
    def work(transaction: Transaction) -> dict[str, tuple[NodeLink, ...]]:
        scope = read_scope(transaction, model)
        named = scope.nodes.by(key)
        part, values = links_part(scope, named, k)
        statement = load_statement("read/links_of", links=part)
        rows = transaction.run(statement, {"heat_ids": list(nodes), **values}).records
        found = {row["id"]: links_of_rows(named, row["links"]) for row in rows}
        return {node: found.get(node, ()) for node in nodes}

    return connection.read_transaction(work, doing="reading predicted links")
