"""Nearest nodes by hyperbolic distance: from the vector index and certified, or by looking at all nodes."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import neo4j

from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.projection import check_parameter_names
from heat_neo4j.database.runs import LABELS, nothing_published, read_version
from heat_neo4j.database.statements import Fragment, except_names, load_statement
from heat_neo4j.errors import ProjectionError

__all__ = ["Neighbour", "Neighbours", "find_neighbours", "find_node", "published_scope"]

FETCH = 60
"""Candidates that the index gives at first: docs/queries.md says why so many."""
_MOST_FETCHED = 600  # the statement's second question is for eight times as many
_ATTEMPTS = 3
_ELEMENT_ID = re.compile(r"\d+:[^:]*:\d+")
_WHOLE = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True)
class Neighbour:
    """One of the nodes nearest to another; distances are hyperbolic."""

    element_id: str
    labels: tuple[str, ...]
    distance: float
    radius: float  # its distance from the origin: small is general, large is special
    properties: Mapping[str, Any]  # those to show, None where it has none


@dataclass(frozen=True)
class Neighbours:
    """The nodes nearest to one, nearest first."""

    element_id: str
    model: str  # whose coordinates were used
    nodes: tuple[Neighbour, ...]  # at most k
    # Whether every node was looked at, or the index was asked beyond the border of the ball that holds the
    # answer: then a nearer node can be missing only where the index, an approximate one, overlooks it.
    certified: bool
    fetch: int | None  # candidates that the index gave in the end; None if every node was looked at

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON data, apart from values of properties that JSON has not."""
        return asdict(self)


def find_neighbours(
    connection: Connection,
    node: str,
    *,
    k: int = 10,
    model: str = "heat",
    node_filter: str | None = None,
    filter_parameters: Mapping[str, Any] | None = None,
    show: Sequence[str] = (),
    fetch: int | None = None,
    exact: bool = False,
) -> Neighbours:
    """Return the nodes nearest to one; see `Neo4jStore.neighbours`."""
    check_integer("k", k, minimum=1)
    fetch = max(FETCH, 2 * k) if fetch is None else check_integer("fetch", fetch, minimum=1)
    check_parameter_names(filter_parameters or {})
    ours = {"heat_model": model, "heat_node": node, "heat_k": k, "heat_show": list(show)}
    parameters = {**(filter_parameters or {}), **ours}

    def search(name: str, **more: int) -> list[neo4j.Record]:
        statement = load_statement(name, node_filter=Fragment(node_filter or "true"))
        return connection.read(statement, {**parameters, **more}, doing="looking for neighbours")

    for _ in range(_ATTEMPTS):
        facts = _facts(connection, model, node)
        failure = None
        try:
            if not facts["embedded"]:
                raise ProjectionError(
                    f"node {node!r} has no coordinates of model {model!r}: it is newer than the run, or not "
                    "of its projection; `heat refresh` places new nodes"
                )
            if facts["indexes"] and not exact:
                rows, used = _by_index(search, fetch)
            else:
                rows, used = search("read/neighbours_scan"), None
        except ProjectionError as error:
            failure = error
        # What was asked before another version was published may be of both.
        if read_version(connection, model).get("run") != facts["run"]:
            continue
        if failure is None:
            nodes = tuple(_neighbour(row, show) for row in rows)
            return Neighbours(node, model, nodes, certified=True, fetch=used)
        if "no such vector schema index" not in str(failure):
            raise failure
        gone = f"an index of model {model!r} is gone: `heat index create` makes it anew"
        raise ProjectionError(gone) from failure
    raise ProjectionError(f"model {model!r} is published anew again and again: ask later")


def published_scope(connection: Connection, model: str) -> tuple[Sequence[str], str | None]:
    """Return the labels (none for any) and the key that the published coordinates of `model` were read by."""
    # Not the whole record of the run: how its attributes are encoded can take longer to read than to answer.
    statement = load_statement("read/published_scope")
    rows = connection.read(statement, {"model": model}, doing="looking for neighbours")
    if not rows:
        raise nothing_published(model)
    return rows[0]["labels"] or (), json.loads(rows[0]["projection"]).get("key")


def find_node(connection: Connection, labels: Sequence[str], key: str | None, value: str) -> str:
    """Return the element id of the node that a text stands for; a ProjectionError unless it is one node.

    The text is an element id, or the value of `key`, a string or a whole number, on a node with one of
    `labels` (none for any).
    """
    if key is None or _ELEMENT_ID.fullmatch(value):
        return value
    values: list[Any] = [value, int(value)] if _WHOLE.fullmatch(value) else [value]
    statement = load_statement("read/find_node", labels=labels or except_names(LABELS), property=key)
    rows = connection.read(statement, {"values": values}, doing="looking for the node")
    which = f"{' or '.join(labels) or 'node'} with {key} {value!r}"
    if not rows:
        raise ProjectionError(f"there is no {which} in database {connection.server.database!r}")
    if len(rows) > 1:
        raise ProjectionError(f"there are several nodes like that: {which}; give an element id")
    return str(rows[0]["id"])


def _by_index(search: Callable[..., list[neo4j.Record]], fetch: int) -> tuple[list[neo4j.Record], int | None]:
    """Return the nearest, and the candidates it took until they were certified; None for all nodes."""
    while fetch <= _MOST_FETCHED:
        rows = search("read/neighbours", heat_fetch=fetch)
        if rows and rows[0]["certified"]:
            return rows, fetch
        fetch *= 2
    return search("read/neighbours_scan"), None  # which takes no longer by now


def _facts(connection: Connection, model: str, node: str) -> neo4j.Record:
    """Return what there is to search by."""
    parameters = {"model": model, "node": node}
    rows = connection.read(load_statement("read/embedded_node"), parameters, doing="looking for the node")
    if not rows:
        if "run" not in read_version(connection, model):
            raise nothing_published(model)
        raise ProjectionError(f"there is no node {node!r} in database {connection.server.database!r}")
    return rows[0]


def _neighbour(row: neo4j.Record, show: Sequence[str]) -> Neighbour:
    properties = dict(zip(show, row["shown"], strict=True))
    return Neighbour(row["id"], tuple(row["labels"]), row["distance"], row["radius"], properties)
