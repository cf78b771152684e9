"""Nearest nodes by hyperbolic distance: from the vector index and certified, or by looking at all nodes."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import neo4j

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.keys import NodeKeys, name_of
from heat_neo4j.database.projection import check_parameter_names
from heat_neo4j.database.runs import LABELS, nothing_published, read_version
from heat_neo4j.database.statements import Fragment, except_names, load_statement
from heat_neo4j.errors import ProjectionError

__all__ = [
    "Among",
    "Neighbour",
    "Neighbours",
    "NodesByKey",
    "Scope",
    "find_neighbours",
    "find_node",
    "name_in",
    "published_nodes",
    "read_scope",
]

Among = Literal["all", "more_general", "more_special"]
"""All nodes, or those nearer to the centre, or farther from it, than the one that is asked about."""
_SIDES: Mapping[str, int] = {"all": 0, "more_general": -1, "more_special": 1}
FETCH = 60
"""Candidates that the index gives at first: docs/queries.md says why so many."""
_MOST_FETCHED = 600  # the statement's second question is for eight times as many
_ATTEMPTS = 3
_ELEMENT_ID = re.compile(r"\d+:[^:]*:\d+")
_WHOLE = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True)
class NodesByKey:
    """Nodes with one of some labels (none for any), and by which keys they are found and named."""

    labels: Sequence[str]
    keys: NodeKeys


@dataclass(frozen=True)
class Scope:
    """What a published version is of: its nodes, and run and relationship type of its predicted links."""

    nodes: NodesByKey
    link_run: str | None  # None without links, as is the type
    link_type: str | None


@dataclass(frozen=True)
class Neighbour:
    """One of the nodes nearest to another; distances are hyperbolic."""

    element_id: str
    labels: tuple[str, ...]
    name: str  # the value of its key, as text; else a label and the number in its element id
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
    nodes: NodesByKey,
    *,
    k: int = 10,
    model: str = "heat",
    node_filter: str | None = None,
    filter_parameters: Mapping[str, Any] | None = None,
    show: Sequence[str] = (),
    fetch: int | None = None,
    exact: bool = False,
    among: Among = "all",
) -> Neighbours:
    """Return the nodes nearest to one; see `Neo4jStore.neighbours`."""
    check_integer("k", k, minimum=1)
    if among not in _SIDES:
        raise ValueError(f"among must be one of {', '.join(_SIDES)}, got {among!r}")
    fetch = max(FETCH, 2 * k) if fetch is None else check_integer("fetch", fetch, minimum=1)
    check_parameter_names(filter_parameters or {})
    read = tuple(dict.fromkeys((*show, *nodes.keys.properties)))
    ours = {"heat_model": model, "heat_node": node, "heat_k": k, "heat_show": list(read)}
    ours["heat_side"] = _SIDES[among]
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
            found = tuple(
                _neighbour(row, dict(zip(read, row["shown"], strict=True)), nodes, show) for row in rows
            )
            return Neighbours(node, model, found, certified=True, fetch=used)
        if "no such vector schema index" not in str(failure):
            raise failure
        gone = f"an index of model {model!r} is gone: `heat index create` makes it anew"
        raise ProjectionError(gone) from failure
    raise ProjectionError(f"model {model!r} is published anew again and again: ask later")


def published_nodes(connection: Connection, model: str) -> NodesByKey:
    """Return the nodes that the published coordinates of `model` were read for."""

    def work(transaction: Transaction) -> NodesByKey:
        return read_scope(transaction, model).nodes

    return connection.read_transaction(work, doing="looking for neighbours")


def read_scope(transaction: Transaction, model: str) -> Scope:
    """Return what the published version of `model` is of; a ProjectionError without coordinates."""
    # Not the whole record of the run: how its attributes are encoded can take longer to read than to answer.
    rows = transaction.run(load_statement("read/published_scope"), {"model": model}).records
    if not rows:
        raise nothing_published(model)
    keys = NodeKeys.of(json.loads(rows[0]["projection"]).get("key"))
    return Scope(NodesByKey(rows[0]["labels"] or (), keys), rows[0]["linkRun"], rows[0]["linkType"])


def find_node(connection: Connection, nodes: NodesByKey, value: str, labels: Sequence[str] | None) -> str:
    """Return the element id of the node that a text stands for; a ProjectionError unless it is one node.

    The text is an element id, or the value of a key, a string or a whole number, on one of the nodes, or on
    one with one of other `labels` if they are given (none for any).
    """
    if not nodes.keys.by_label or _ELEMENT_ID.fullmatch(value):
        return value
    values: list[Any] = [value, int(value)] if _WHOLE.fullmatch(value) else [value]
    found: dict[str, None] = {}
    asked = []
    for among, who, key in _asked_for(nodes, labels):
        statement = load_statement("read/find_node", labels=among, property=key)
        rows = connection.read(statement, {"values": values}, doing="looking for the node")
        found.update(dict.fromkeys(str(row["id"]) for row in rows))
        asked.append(f"{who} with {key} {value!r}")
    which = " or ".join(asked)
    if not found:
        raise ProjectionError(f"there is no {which} in database {connection.server.database!r}")
    if len(found) > 1:
        advice = "give an element id" if len(asked) == 1 else "give a label, or an element id"
        raise ProjectionError(f"there are several nodes like that: {which}; {advice}")
    return next(iter(found))


def _asked_for(
    nodes: NodesByKey, chosen: Sequence[str] | None
) -> Iterator[tuple[Fragment | Sequence[str], str, str]]:
    """Yield which nodes to look among by which key, and what they are in words."""
    own, labels = nodes.keys.labels, nodes.labels if chosen is None else chosen
    for label in own:
        if not chosen or label in chosen:
            yield [label], label, nodes.keys.by_label[label]
    others = [label for label in labels if label not in own]
    if "" in nodes.keys.by_label and (others or not labels):
        among = others or except_names([*LABELS, *own])
        yield among, " or ".join(others) or "node", nodes.keys.by_label[""]
    elif chosen and not set(own) & set(chosen):
        hint = did_you_mean(chosen[0], own) or f", only {' and '.join(own)}: give an element id"
        raise ProjectionError(f"label {chosen[0]!r} has no key{hint}")


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


def _neighbour(
    row: neo4j.Record, values: Mapping[str, Any], nodes: NodesByKey, show: Sequence[str]
) -> Neighbour:
    labels = tuple(row["labels"])
    properties = {each: values[each] for each in show}
    name = name_in(nodes, row["id"], labels, values)
    return Neighbour(row["id"], labels, name, row["distance"], row["radius"], properties)


def name_in(nodes: NodesByKey, element_id: str, labels: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return what a node is called, of whose properties `values` has those of the keys."""
    return name_of(nodes.keys.value_of(labels, values), labels, element_id, first=nodes.labels)
