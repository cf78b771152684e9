"""The predicted links of some nodes, as they are written."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.index.nearest import NodesByKey, name_in, read_scope
from heat_neo4j.database.keys import Key, NodeKeys
from heat_neo4j.database.statements import load_statement

__all__ = ["NodeLink", "read_node_links"]


@dataclass(frozen=True)
class NodeLink:
    """A predicted link of a node."""

    type: str
    leaves: bool  # whether it leads from the node to the other one; else it leads to the node
    element_id: str  # of the other node
    labels: tuple[str, ...]
    name: str  # the value of its key, as text; else a label and the number in its element id
    probability: float | None  # None if the run gave none
    distance: float
    rank: int  # among all links of the model: 1 is the likeliest

    def to_dict(self) -> dict[str, Any]:
        """Return the link as JSON data."""
        return asdict(self)


def read_node_links(
    connection: Connection,
    nodes: Sequence[str],
    *,
    k: int = 10,
    model: str = "heat",
    key: Key | None = None,
) -> dict[str, tuple[NodeLink, ...]]:
    """Return the likeliest links of some nodes; see `Neo4jStore.links_of`."""
    check_integer("k", k, minimum=1)

    # In one transaction: who publishes another version waits for those that read the one before.
    def work(transaction: Transaction) -> dict[str, tuple[NodeLink, ...]]:
        scope = read_scope(transaction, model)
        found: dict[str, list[NodeLink]] = {node: [] for node in nodes}
        if scope.link_run is None or scope.link_type is None:
            return dict.fromkeys(found, ())
        named = scope.nodes if key is None else NodesByKey(scope.nodes.labels, NodeKeys.of(key))
        show = named.keys.properties
        values = {"nodes": list(found), "run": scope.link_run, "most": k, "show": list(show)}
        statement = load_statement("read/node_links", type=scope.link_type)
        for row in transaction.run(statement, values).records:
            labels = tuple(row["labels"])
            name = name_in(named, row["other"], labels, dict(zip(show, row["shown"], strict=True)))
            numbers = (row["probability"], row["distance"], row["rank"])
            link = NodeLink(row["type"], row["leaves"], row["other"], labels, name, *numbers)
            found[row["id"]].append(link)
        return {node: tuple(links) for node, links in found.items()}

    return connection.read_transaction(work, doing="reading predicted links")
