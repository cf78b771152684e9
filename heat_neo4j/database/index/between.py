"""What lies between two nodes: those that make the way from one to the other least longer."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.published_nodes import NodesByKey
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError

__all__ = ["Between", "NodeBetween", "find_between"]


@dataclass(frozen=True)
class NodeBetween:
    """A node on the way between two others; distances are hyperbolic."""

    element_id: str
    labels: tuple[str, ...]
    name: str  # the value of its key, as text; else a label and the number in its element id
    distance: float  # from the one
    other_distance: float  # from the other
    detour: float  # how much longer the way over it is; 0 on the straight line
    radius: float  # its distance from the origin: small is general, large is special


@dataclass(frozen=True)
class Between:
    """The nodes between two, the smallest detour first."""

    element_id: str
    other_id: str
    model: str  # whose coordinates were used
    distance: float  # of the two
    nodes: tuple[NodeBetween, ...]  # at most k

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON data."""
        return asdict(self)


def find_between(
    connection: Connection, node: str, other: str, nodes: NodesByKey, *, k: int = 10, model: str = "heat"
) -> Between:
    """Return the nodes between two; see `Neo4jStore.between`."""
    check_integer("k", k, minimum=1)
    show = nodes.keys.properties
    values = {"model": model, "node": node, "other": other, "k": k, "show": list(show)}
    rows = connection.read(load_statement("read/between"), values, doing="looking for nodes between")
    if not rows:
        raise ProjectionError(
            f"node {node!r} or {other!r} has no coordinates of model {model!r}: it is newer than the run, "
            "not of its projection, or not there; `heat refresh` places new nodes"
        )

    def made(row: Mapping[str, Any]) -> NodeBetween:
        labels = tuple(row["labels"])
        name = nodes.name(row["id"], labels, dict(zip(show, row["shown"], strict=True)))
        numbers = (row["distance"], row["otherDistance"], row["detour"], row["radius"])
        return NodeBetween(row["id"], labels, name, *numbers)

    return Between(node, other, model, rows[0]["direct"], tuple(map(made, rows[0]["nodes"])))
