"""The nodes of a published version: their lookup by key, their names, and their links."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, Self

from heat_neo4j._utils.display import did_you_mean, listed
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.validation import check_integer, is_integer
from heat_neo4j.database.connection import Connection, Transaction
from heat_neo4j.database.documents import parse_document
from heat_neo4j.database.keys import Key, NodeKeys, name_of
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import LABELS, nothing_published
from heat_neo4j.database.statements import Fragment, except_names, load_statement, quote_identifier
from heat_neo4j.database.versions import labels_of
from heat_neo4j.errors import ProjectionError

_NO_CAPTIONS = NodeKeys({})
_ELEMENT_ID = re.compile(r"\d+:[0-9a-f-]{36}:\d+", re.ASCII)  # keys may hold colons, too


class UnknownNodeError(ProjectionError):
    """No node has the key that a user gave, or nodes have none."""


@dataclass(frozen=True)
class NodesByKey:
    """Nodes with any of some labels (none for all nodes), the keys that identify them, and their captions."""

    labels: Sequence[str]
    keys: NodeKeys
    captions: NodeKeys = _NO_CAPTIONS  # name nodes; the keys name those without a value

    def by(self, key: Key | None, caption: Key | None = None) -> Self:
        """Return the same nodes with another key, if given, and a caption."""
        keys = self.keys if key is None else NodeKeys.of(key)
        return replace(self, keys=keys, captions=NodeKeys.of(caption))

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties that identify and name the nodes."""
        return tuple(dict.fromkeys((*self.keys.properties, *self.captions.properties)))

    def name(self, element_id: str, labels: Sequence[str], values: Mapping[str, Any]) -> str:
        """Return the name of a node; `values` holds its `properties`."""
        found = self.captions.value_of(labels, values)
        value = self.keys.value_of(labels, values) if found is None else found
        return name_of(value, labels, element_id, first=self.labels)


@dataclass(frozen=True)
class VersionScope:
    """The content of a published version: its nodes, and the run and type of its predicted links."""

    version: str  # token of the version
    nodes: NodesByKey
    link_run: str | None  # None without links, as is the type
    link_type: str | None
    indexed: bool  # whether there is a vector index
    labels: Sequence[str] = ()  # each node has at least one of them; empty if unknown


@dataclass(frozen=True)
class Lookup:
    """The lookup of a node from user input: by element id, or by statements that search for a key."""

    ids: tuple[str, ...]
    statements: Mapping[str, str]  # statements by a description of what they search for
    values: Sequence[Any]  # key values to search for: strings or integers
    missing: str = ""  # that no node is found: all descriptions in one, with each key once
    similar: tuple[str, ...] = ()  # statements that search for keys like the text

    @property
    def part(self) -> Fragment:
        """The statements as UNION branches to append to another statement that returns `ids`."""
        return Fragment("".join(f"UNION\n{statement}\n" for statement in self.statements.values()))

    @classmethod
    def of(cls, nodes: NodesByKey, text: str, labels: Sequence[str] | None) -> Self:
        """Return the lookup of a node by `text`; raises ProjectionError if a label or the model has no key.

        The text is an element id, or the key value of one of the nodes, or of a node with one of `labels`, if
        given (empty for any label).
        """
        if _ELEMENT_ID.fullmatch(text):
            return cls((text,), {}, ())
        if not nodes.keys.by_label:
            raise UnknownNodeError(
                f"the model has no key to find {text!r} by: give an element id, or train with a key "
                "(heat embed --key PROPERTY)"
            )
        values: list[Any] = [text, int(text)] if is_integer(text) else [text]
        who_by_key: dict[str, list[str]] = {}
        similar = []
        statements = {}
        with errors_as(ProjectionError):  # if a label or a key that was given cannot be quoted
            for among, who, key in _asked_for(nodes, labels):
                who_by_key.setdefault(key, []).append(who)
                found = load_statement("read/find_node", labels=among, property=key)
                statements[f"{who} with {key} {text!r}"] = found
                similar.append(load_statement("read/similar_keys", labels=among, property=key))
        wanted = (f"no {listed(who, 'or')} with {key} {text!r}" for key, who in who_by_key.items())
        return cls((), statements, values, listed(wanted), tuple(similar))


def read_scope(source: Connection | Transaction, model: str) -> VersionScope:
    """Return the scope of the published version of `model`; raises ProjectionError without coordinates."""
    # Not the whole run record: its attribute recipe can take longer to read than the answer itself.
    statement, values = load_statement("read/published_scope"), {"model": model}
    if isinstance(source, Transaction):
        rows = source.run(statement, values).records
    else:
        rows = source.read(statement, values, doing="reading what is published")
    if not rows:
        raise nothing_published(model, source)
    row = rows[0]
    try:
        read_by = Projection(row["labels"] or None, key=parse_document(row["projection"]).get("key"))
        link_type = row["linkType"]
        if link_type is not None:
            quote_identifier(link_type)
    except (AttributeError, TypeError, ValueError) as error:
        raise ProjectionError(
            f"the bookkeeping of model {model!r} is damaged: `heat clear --model {quote(model)}` removes the "
            "model, then run `heat embed`"
        ) from error
    nodes = NodesByKey(read_by.labels or (), read_by.keys)
    indexed, labels = bool(row["indexes"]), labels_of(row["held"])
    return VersionScope(row["version"], nodes, row["linkRun"], link_type, indexed, labels)


def _asked_for(
    nodes: NodesByKey, chosen: Sequence[str] | None
) -> Iterator[tuple[Fragment | Sequence[str], str, str]]:
    """Yield (labels, description, key property) of each set of nodes to search."""
    own, labels = nodes.keys.labels, nodes.labels if chosen is None else chosen
    for label in own:
        if not chosen or label in chosen:
            yield [label], label, nodes.keys.by_label[label]
    others = [label for label in labels if label not in own]
    if "" in nodes.keys.by_label and (others or not labels):
        among = others or except_names([*LABELS, *own])
        yield among, listed(others, "or") if others else "node", nodes.keys.by_label[""]
    elif chosen and not set(own) & set(chosen):
        hint = did_you_mean(chosen[0], own) or f", only {' and '.join(own)}: give an element id"
        raise ProjectionError(f"label {chosen[0]!r} has no key{hint}")


_FARTHEST = 1e12  # a page shows thousandths as whole numbers; distances of points are below 2,000


@dataclass(frozen=True)
class NodeLink:
    """A predicted link of a node."""

    type: str
    leaves: bool  # whether it leads from the node to the other one, or back
    element_id: str  # of the other node
    labels: tuple[str, ...]
    name: str  # display name: its key as one line, otherwise a label and the number in its element id
    probability: float | None  # None if the run has no probabilities
    distance: float
    rank: int  # among all links of the model; 1 is the likeliest
    key: Any = None  # the stored key value of the other node; None if it has none

    def to_dict(self) -> dict[str, Any]:
        """Return the link as JSON data."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class ShownNode:
    """A node of an answer."""

    element_id: str
    labels: tuple[str, ...]
    name: str  # display name: its key as one line, otherwise a label and the number in its element id
    radius: float  # its distance from the centre
    properties: Mapping[str, Any]  # properties to show, None if missing
    links: tuple[NodeLink, ...] | None = None  # its likeliest predicted links; None if not requested
    key: Any = None  # the stored value of its key; None if it has none

    def to_dict(self) -> dict[str, Any]:
        """Return the node as JSON data, except property values that JSON cannot represent."""
        own = {**vars(self), "properties": dict(self.properties)}
        links = own.pop("links")
        return own if links is None else {**own, "links": tuple(link.to_dict() for link in links)}


@dataclass(frozen=True)
class Showing:
    """What answers show of nodes: names by `nodes`, the properties `wanted`, and at most `n_links` links."""

    nodes: NodesByKey
    wanted: tuple[str, ...]
    n_links: int

    @classmethod
    def of(cls, nodes: NodesByKey, show: Sequence[str] | None, n_links: int) -> Self:
        """Return what to show, with the captions; the keys if `show` is not given."""
        wanted = (*(nodes.keys.properties if show is None else show), *nodes.captions.properties)
        return cls(nodes, tuple(dict.fromkeys(wanted)), n_links)

    @property
    def read(self) -> tuple[str, ...]:
        """The properties to read."""
        return tuple(dict.fromkeys((*self.wanted, *self.nodes.properties)))

    def of_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a `ShownNode` from a row with id, labels, radius, properties and links."""
        values, labels = dict(zip(self.read, row["shown"], strict=True)), tuple(row["labels"])
        return {
            "element_id": row["id"],
            "labels": labels,
            "name": self.nodes.name(row["id"], labels, values),
            "radius": row["radius"],
            "properties": {name: values[name] for name in self.wanted},
            "links": links_of_rows(self.nodes, row["links"]) if self.n_links else None,
            "key": self.nodes.keys.value_of(labels, values),
        }


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
    values = {"heat_link_run": scope.link_run, "heat_n_links": k, "heat_keys": list(nodes.properties)}
    return Fragment(load_statement("read/node_links", type=scope.link_type)), values


def links_of_rows(nodes: NodesByKey, rows: Sequence[Mapping[str, Any]]) -> tuple[NodeLink, ...]:
    """Return the links that `links_part` read."""
    return tuple(_link(nodes, row) for row in rows)


def _link(nodes: NodesByKey, row: Mapping[str, Any]) -> NodeLink:
    values = dict(zip(nodes.properties, row["shown"], strict=True))
    labels = tuple(row["labels"])
    name = nodes.name(row["id"], labels, values)
    numbers = (row["probability"], row["distance"], row["rank"])
    key = nodes.keys.value_of(labels, values)
    return NodeLink(row["type"], row["leaves"], row["id"], labels, name, *numbers, key)


def read_node_links(
    connection: Connection, nodes: Sequence[str], *, k: int = 10, model: str = "heat", key: Key | None = None
) -> dict[str, tuple[NodeLink, ...]]:
    """Return the likeliest written predicted links of some nodes.

    Parameters
    ----------
    nodes : sequence of str
        Element ids.
    k : int
        Links per node, 1 or more, in either direction.
    key : str or mapping of str to str, optional
        Property that names the other ends, or one for each label; as in the run's projection if not
        given.

    Returns
    -------
    dict of str to tuple of NodeLink
        The likeliest first, for each of the nodes; none for a node that has no predicted link.

    Raises
    ------
    ValueError
        If `k` is out of range.
    ProjectionError
        If the model is not published.
    """
    check_integer("k", k, minimum=1)

    # In one transaction: publishers wait for readers of the previous version.
    def work(transaction: Transaction) -> dict[str, tuple[NodeLink, ...]]:
        scope = read_scope(transaction, model)
        named = scope.nodes.by(key)
        part, values = links_part(scope, named, k)
        statement = load_statement("read/links_of", links=part)
        rows = transaction.run(statement, {"heat_ids": list(nodes), **values}).records
        found = {row["id"]: links_of_rows(named, row["links"]) for row in rows}
        return {node: found.get(node, ()) for node in nodes}

    return connection.read_transaction(work, doing="reading predicted links")
