"""What lies between two nodes: those that make the way from one to the other least longer."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.published_nodes import find_node, read_scope
from heat_neo4j.database.runs import nodes_with
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError

_ATTEMPTS = 3


@dataclass(frozen=True)
class NodeBetween:
    """A node on the way between two others; distances are hyperbolic."""

    element_id: str
    labels: tuple[str, ...]
    name: str  # the value of its key, as text; else a label and the number in its element id
    distance: float  # from the one
    other_distance: float  # from the other
    detour: float  # how much longer the way over it is; 0 on the straight line
    radius: float  # its distance from the origin: small is general, large is specific


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
    connection: Connection,
    node: str,
    other: str,
    *,
    k: int = 10,
    model: str = "heat",
    labels: Sequence[str] | None = None,
) -> Between:
    """Return the nodes between two; see `Neo4jStore.between`."""
    check_integer("k", k, minimum=1)
    for _ in range(_ATTEMPTS):
        scope = read_scope(connection, model)
        nodes, show = scope.nodes, scope.nodes.keys.properties
        one, two = (find_node(connection, nodes, each, labels) for each in (node, other))
        values = {"model": model, "node": one, "other": two, "k": k, "show": list(show)}
        statement = load_statement("read/between", labels=nodes_with(scope.labels))
        rows = connection.read(statement, values, doing="looking for nodes between")
        if all(row["version"] == scope.version for row in rows):
            break
    else:
        raise ProjectionError(f"model {model!r} is published anew again and again: ask later")
    if not rows:
        raise ProjectionError(
            f"node {one!r} or {two!r} has no coordinates of model {model!r}: it is newer than the run, "
            "not of its projection, or not there; `heat refresh` places new nodes"
        )

    def made(row: Mapping[str, Any]) -> NodeBetween:
        labels = tuple(row["labels"])
        name = nodes.name(row["id"], labels, dict(zip(show, row["shown"], strict=True)))
        numbers = (row["distance"], row["otherDistance"], row["detour"], row["radius"])
        return NodeBetween(row["id"], labels, name, *numbers)

    return Between(one, two, model, rows[0]["direct"], tuple(map(made, rows[0]["nodes"])))
