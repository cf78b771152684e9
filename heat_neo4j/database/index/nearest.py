"""Nearest nodes by hyperbolic distance: from the vector index and certified, or by looking at all nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

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

_MOST_FETCHED = 600
"""The most of them; the statement's second question is for eight times as many."""
_ATTEMPTS = 3
_ELEMENT_ID = re.compile(r"\d+:[^:]*:\d+")
_WHOLE = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True)
class Neighbour:
    """One of the nodes nearest to another.

    Parameters
    ----------
    element_id : str
        Which node.
    labels : tuple of str
        Its labels.
    distance : float
        Hyperbolic distance to the node that was asked about.
    radius : float
        Its distance from the origin: small is general, large is special.
    properties : mapping of str to value
        The properties asked for, None where it has none.
    """

    element_id: str
    labels: tuple[str, ...]
    distance: float
    radius: float
    properties: Mapping[str, Any]


@dataclass(frozen=True)
class Neighbours:
    """The nodes nearest to one, nearest first.

    Parameters
    ----------
    element_id : str
        The node that was asked about.
    model : str
        Whose coordinates were used.
    nodes : tuple of Neighbour
        At most k.
    certified : bool
        Whether every node was looked at, or the index was asked beyond the border of the ball that holds the
        answer: then a nearer node can be missing only where the index, an approximate one, overlooks it.
    fetch : int or None
        Candidates that the index gave around the node in the end; None if every node was looked at.
    """

    element_id: str
    model: str
    nodes: tuple[Neighbour, ...]
    certified: bool
    fetch: int | None

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
    search = _Search(connection, Fragment(node_filter or "true"), {**(filter_parameters or {}), **ours})
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
                rows, used = search.by_index(fetch)
            else:
                rows, used = search.by_scan(), None
        except ProjectionError as error:
            failure = error
        # What was asked before another version was published may be of both.
        if read_version(connection, model).get("run") != facts["run"]:
            continue
        if failure is not None:
            _raise_told(failure, model)
        return Neighbours(node, model, tuple(_neighbour(row, show) for row in rows), True, used)
    raise ProjectionError(f"model {model!r} is published anew again and again: ask later")


def published_scope(connection: Connection, model: str) -> tuple[Sequence[str], str | None]:
    """Return the labels (none for any) and the key that the published coordinates of `model` were read by.

    Raises
    ------
    ProjectionError
        If it has none.
    """
    # Not the whole record of the run: how its attributes are encoded can take longer to read than to answer.
    statement = load_statement("read/published_scope")
    found = connection.read(statement, {"model": model}, doing="looking for neighbours")
    if not found:
        raise nothing_published(model)
    return found[0]["labels"] or (), json.loads(found[0]["projection"]).get("key")


def find_node(connection: Connection, labels: Sequence[str], key: str | None, value: str) -> str:
    """Return the element id of the node that a text stands for.

    Parameters
    ----------
    connection : Connection
        Where.
    labels : sequence of str
        Labels that it may have; none for any.
    key : str or None
        Property that holds `value`, as a string or a whole number.
    value : str
        That value, or an element id.

    Raises
    ------
    ProjectionError
        If there is no such node, or there are several.
    """
    if key is None or _ELEMENT_ID.fullmatch(value):
        return value
    values: list[Any] = [value, int(value)] if _WHOLE.fullmatch(value) else [value]
    statement = load_statement("read/find_node", labels=labels or except_names(LABELS), property=key)
    found = connection.read(statement, {"values": values}, doing="looking for the node")
    which = f"{' or '.join(labels) or 'node'} with {key} {value!r}"
    if not found:
        raise ProjectionError(f"there is no {which} in database {connection.server.database!r}")
    if len(found) > 1:
        raise ProjectionError(f"there are several nodes like that: {which}; give an element id")
    return str(found[0]["id"])


class _Search:
    """One question, asked in either way."""

    def __init__(self, connection: Connection, node_filter: Fragment, asked: Mapping[str, Any]) -> None:
        self._connection, self._filter, self._asked = connection, node_filter, asked

    def by_index(self, fetch: int) -> tuple[list[neo4j.Record], int | None]:
        """Return the nearest, and the candidates it took until they were certified; None for all nodes."""
        while fetch <= _MOST_FETCHED:
            rows = self._ask("read/neighbours", {**self._asked, "heat_fetch": fetch})
            if rows and rows[0]["certified"]:
                return rows, fetch
            fetch *= 2
        return self.by_scan(), None  # which takes no longer by now

    def by_scan(self) -> list[neo4j.Record]:
        """Return the nearest of all nodes."""
        return self._ask("read/neighbours_scan", self._asked)

    def _ask(self, name: str, asked: Mapping[str, Any]) -> list[neo4j.Record]:
        statement = load_statement(name, node_filter=self._filter)
        return self._connection.read(statement, asked, doing="looking for neighbours")


def _facts(connection: Connection, model: str, node: str) -> neo4j.Record:
    """Return what there is to search by."""
    asked = {"model": model, "node": node}
    found = connection.read(load_statement("read/embedded_node"), asked, doing="looking for the node")
    if not found:
        if "run" not in read_version(connection, model):
            raise nothing_published(model)
        raise ProjectionError(f"there is no node {node!r} in database {connection.server.database!r}")
    return found[0]


def _raise_told(error: ProjectionError, model: str) -> NoReturn:
    if "no such vector schema index" not in str(error):
        raise error
    raise ProjectionError(
        f"an index of model {model!r} is gone: `heat index create` makes it anew"
    ) from error


def _neighbour(row: neo4j.Record, show: Sequence[str]) -> Neighbour:
    properties = dict(zip(show, row["shown"], strict=True))
    return Neighbour(row["id"], tuple(row["labels"]), row["distance"], row["radius"], properties)
