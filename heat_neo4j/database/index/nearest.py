"""Nearest nodes by hyperbolic distance: certified results of the vector index, or a scan of all nodes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import neo4j

from heat_neo4j._utils.display import display_text
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.validation import check_choice, check_integer
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.keys import Key, NodeKeys
from heat_neo4j.database.projection import check_parameter_names
from heat_neo4j.database.published_nodes import (
    Lookup,
    NodesByKey,
    Showing,
    ShownNode,
    VersionScope,
    links_part,
    read_scope,
)
from heat_neo4j.database.read.node_lookup import find_node
from heat_neo4j.database.read.scope import require_names
from heat_neo4j.database.runs import nodes_with
from heat_neo4j.database.statements import Fragment, load_statement
from heat_neo4j.errors import ProjectionError

Among = Literal["all", "more_general", "more_specific"]
"""All nodes, or only those nearer to the centre, or farther from it, than the given node."""
_SIDES: Mapping[str, int] = {"all": 0, "more_general": -1, "more_specific": 1}
FETCH = 60
"""Initial number of candidates from the index; docs/how-to/similar.md explains the choice."""
_ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True)
class Neighbour(ShownNode):
    """One of the nearest nodes."""

    distance: float  # hyperbolic
    # Relationships of the hierarchy on the way, of more general or specific nodes; None without a way.
    steps: int | None = None


@dataclass(frozen=True, repr=False)
class Neighbours(Result):
    """The nearest nodes, nearest first; more general and specific ones as `find_neighbours` orders them.

    Parameters
    ----------
    element_id : str
        The node that was asked about.
    model : str
        Model of the coordinates.
    nodes : tuple of Neighbour
        At most k, each with `element_id`, `labels`, `name`, `key`, `distance`, `radius`, `properties`,
        `links` and `steps`.
    certified : bool
        Whether all nodes were scanned, or the index was searched beyond the ball that contains the answer. In
        the latter case, a nearer node can be missing only if the approximate index missed it. More general or
        specific nodes from the index are never certified.
    fetch : int, optional
        Final number of candidates from the index; None if all nodes were scanned.
    """

    element_id: str
    model: str
    nodes: tuple[Neighbour, ...]
    certified: bool
    fetch: int | None

    def __repr__(self) -> str:
        return display_text(
            f"Neighbours({len(self.nodes)} nearest to {self.element_id}, model {self.model!r})"
        )

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "node": [node.name for node in self.nodes],
            "distance": [node.distance for node in self.nodes],
            "radius": [node.radius for node in self.nodes],
            "labels": [", ".join(node.labels) for node in self.nodes],
        }
        for name in dict.fromkeys(name for node in self.nodes for name in node.properties):
            column = f"{name} (property)" if name in columns else name
            columns[column] = [node.properties.get(name) for node in self.nodes]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON data, except property values that JSON cannot represent."""
        return {**vars(self), "nodes": tuple(node.to_dict() for node in self.nodes)}


def find_neighbours(
    connection: Connection,
    node: str,
    k: int = 10,
    *,
    model: str = "heat",
    labels: Sequence[str] | None = None,
    key: Key | None = None,
    node_filter: str | None = None,
    filter_parameters: Mapping[str, Any] | None = None,
    show: Sequence[str] | None = None,
    caption: Key | None = None,
    fetch: int | None = None,
    exact: bool = False,
    among: Among = "all",
    max_links: int = 0,
) -> Neighbours:
    """Return the nodes nearest to one by hyperbolic distance.

    The vector index is queried for twice as many candidates each time, until they reach beyond the ball that
    holds the answer. A nearer node is then missing only if the approximate index misses it
    (docs/how-to/similar.md has figures); an exact search misses none. Without an index, every node is
    scanned.

    Parameters
    ----------
    node : str
        Value of the node's key, or its element id.
    k : int, at least 1, default 10
        How many.
    model : str
        Name of the published model.
    labels : sequence of str, default: those of the run
        Label of the node; needed where each label has its own key.
    key : str or mapping of str to str, default: the key of the run
        Property that holds the node's key, or that of nodes with a label.
    node_filter : str, optional
        Keep neighbours n for which this holds, such as 'n.year > 2000'. The Cypher is sent as it is, in a
        transaction that cannot write.
    filter_parameters : mapping of str to value, optional
        Values of the ``$parameters`` in it. Names that start with ``heat_`` are reserved.
    show : sequence of str, optional
        Property to show beside the names. Without any, the keys are returned, if there are some.
    caption : str, or mapping of str to str, default: the key
        Node property that names nodes, or those with a label.
    fetch : int, optional
        Initial number of candidates from the index, at least 1; by default 60, or twice `k`.
    exact : bool
        Scan every node instead of using the index.
    among : {"all", "more_general", "more_specific"}
        "all" returns the nearest nodes. The others work if the model was trained for a hierarchy; the radius
        of other models mostly reflects how many relationships a node has. Both return first the nodes to
        which relationships of the hierarchy lead, those in the fewest `steps` first. Then "more_general"
        returns nodes nearer to the centre, the nearest to the node first, and "more_specific" returns nodes
        farther from the centre, those with the smallest detour over the node first.
    max_links : int
        Maximum number of predicted links returned with each neighbour, 0 or more: the likeliest written ones.

    Returns
    -------
    Neighbours
        In the order that `among` says.

    Raises
    ------
    ValueError
        If a number is out of range, there is no such `among`, or a name in `filter_parameters` is
        reserved.
    ProjectionError
        If the model is not published, the node is missing, ambiguous or without coordinates, there is no such
        property to show or to name nodes by, or the server refuses the filter.
    """
    # Two round trips: the published scope, which has the key to find the node by; then everything else.
    check_integer("k", k, minimum=1)
    check_integer("max_links", max_links, minimum=0)
    check_choice("among", among, _SIDES)
    fetch = max(FETCH, 2 * k) if fetch is None else check_integer("fetch", fetch, minimum=1)
    check_parameter_names(filter_parameters or {})
    fixed = {
        **(filter_parameters or {}),
        "heat_model": model,
        "heat_k": k,
    }
    side = _SIDES[among]

    def ask(scope: VersionScope) -> tuple[str | None, Neighbours | None]:
        """Return the version that answered, and its answer; None for both if there is no such node."""
        nodes = scope.nodes.by(key, caption)
        showing = Showing.of(nodes, show, max_links)
        lookup = Lookup.of(nodes, node, labels)
        links, values = links_part(scope, nodes, max_links)
        parts = {"or_by_key": lookup.part, "node_filter": Fragment(node_filter or "true"), "links": links}
        values = {
            **fixed,
            **values,
            "heat_ids": lookup.ids,
            "heat_values": lookup.values,
            "heat_show": showing.read,
        }
        first = fetch if scope.indexed and not exact else None
        row, used = _search(connection, parts, values, side, first, scope.labels)
        if row is None:
            return None, None
        found = tuple(_neighbour(each, showing) for each in row["nodes"])
        return row["version"], Neighbours(row["id"], model, found, row["certified"], fetch=used)

    scope = read_scope(connection, model)
    for _ in range(_ATTEMPTS):
        began = time.monotonic()
        version = answer = failure = None
        try:
            version, answer = ask(scope)
        except ProjectionError as error:
            failure = error
        if version != scope.version or time.monotonic() - began > connection.limits.version_seconds:
            asked, scope = scope, read_scope(connection, model)
            if scope.version != asked.version:
                continue  # the earlier answers may mix both versions
        if answer is not None:
            _require_shown(connection, answer, show or (), NodeKeys.of(caption))
            return answer
        if failure is None:
            raise _no_coordinates(connection, scope.nodes, node, labels, key, model)
        if "no such vector schema index" not in str(failure):
            raise failure
        gone = f"an index of model {model!r} is missing: run `heat index create`"
        raise ProjectionError(gone) from failure
    raise ProjectionError(f"model {model!r} is republished repeatedly: retry later")


def _require_shown(
    connection: Connection, found: Neighbours, show: Sequence[str], captions: NodeKeys
) -> None:
    """Raise ProjectionError if no node of the labels found has a property to show or to name it by."""
    names = (*show, *captions.properties)
    empty = [name for name in names if all(each.properties[name] is None for each in found.nodes)]
    if found.nodes and empty:
        labels = {label for each in found.nodes for label in each.labels}
        require_names(connection, sorted(labels.union(captions.labels)), empty)


def _search(
    connection: Connection,
    parts: Mapping[str, Fragment],
    values: Mapping[str, Any],
    side: int,
    fetch: int | None,
    labels: Sequence[str],
) -> tuple[neo4j.Record | None, int | None]:
    """Return the nearest nodes, and the number of candidates needed to certify them; None for a full scan.

    More general or specific nodes are not certified: candidates suffice if k of them remain. `labels` cover
    all nodes, if known.
    """

    def asked(fetch: int | None) -> neo4j.Record | None:
        kind = "index" if fetch is not None else "scan"
        names = {} if fetch is not None else {"labels": nodes_with(labels)}
        if side:
            candidates = Fragment(load_statement(f"read/line_{kind}", **names))
            statement = load_statement("read/neighbours_line", candidates=candidates, **parts)
        else:
            statement = load_statement(f"read/neighbours_{kind}", **names, **parts)
        more = {"heat_fetch": fetch, "heat_side": side}
        rows = connection.read(statement, {**values, **more}, doing="looking for neighbours")
        return rows[0] if rows else None

    while fetch is not None and fetch <= connection.limits.candidates:
        row = asked(fetch)
        if row is None or row["certified"] or (side and len(row["nodes"]) == values["heat_k"]):
            return row, fetch
        fetch *= 2
    return asked(None), None  # a scan takes no longer now


def _neighbour(row: Mapping[str, Any], showing: Showing) -> Neighbour:
    if row["distance"] is None or row["radius"] is None:
        raise ProjectionError(f"node {row['id']!r} has no radius in the published version")
    return Neighbour(**showing.of_row(row), distance=row["distance"], steps=row.get("steps"))


def _no_coordinates(
    connection: Connection,
    nodes: NodesByKey,
    node: str,
    labels: Sequence[str] | None,
    key: Key | None,
    model: str,
) -> ProjectionError:
    """Return the error for a search without a start node."""
    element_id = find_node(connection, nodes, node, labels, key)
    statement = load_statement("read/node_there")
    if not connection.read(statement, {"node": element_id}, doing="looking for the node"):
        database = connection.server.database
        return ProjectionError(f"there is no node {element_id!r} in database {database!r}")
    return ProjectionError(
        f"node {node!r} has no coordinates of model {model!r}: it is newer than the run, or not "
        "of its projection; `heat refresh` places new nodes"
    )
