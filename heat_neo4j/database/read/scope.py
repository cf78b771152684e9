"""A `Projection` resolved against one database: names checked, filters compiled, statements filled."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from heat_neo4j._utils.display import did_you_mean, listed
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.naming import LinkTypes
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import LABELS as BOOKKEEPING_LABELS
from heat_neo4j.database.runs import TYPES as BOOKKEEPING_TYPES
from heat_neo4j.database.server_errors import one_line
from heat_neo4j.database.statements import (
    Fragment,
    except_names,
    is_identifier,
    load_statement,
    quote_identifier,
)
from heat_neo4j.errors import ProjectionError

_KINDS_OF_NAMES = ("labels", "types", "keys", "predicted")
_NAMES_SHOWN = 8
_NAMES_LOOKED_AT = 50  # labels or types, if the projection chooses none
LOOKED_AT = 1000  # nodes or relationships of each


@dataclass(frozen=True)
class Scope:
    """The part of a database that a projection covers, as text for statements."""

    projection: Projection
    problems: tuple[str, ...]  # names that are not there and filters that are not accepted, a line each
    predicted_types: tuple[str, ...]  # of predicted links, left out if the projection names no types
    any_id: str | None  # the element id of some node; None if the database is empty

    @classmethod
    def resolve(cls, connection: Connection, projection: Projection) -> Self:
        """Resolve `projection` against the database of `connection`."""
        existing = _existing_names(connection)
        problems = [*_unknown_names(connection, projection, existing), *_bad_filters(connection, projection)]
        return cls(projection, tuple(problems), tuple(sorted(existing["predicted"])), existing["id"])

    def require(self) -> Self:
        """Return this scope; raises its first problem, if any."""
        if self.problems:
            raise ProjectionError(self.problems[0])
        return self

    def nodes(self) -> dict[str, str | Sequence[str]]:
        """Return the placeholder values of a statement over nodes."""
        labels = self.projection.labels
        return {
            "labels": except_names(BOOKKEEPING_LABELS) if labels is None else labels,
            "node_filter": Fragment(self.projection.node_filter or "true"),
        }

    def relationships(self) -> dict[str, str | Sequence[str]]:
        """Return the placeholder values of a statement over relationships."""
        return {
            "types": Fragment(self._types()),
            "relationship_filter": Fragment(self.projection.relationship_filter or "true"),
        }

    def bound(self) -> Fragment:
        """Return types for which the server can count a node's relationships without visiting them.

        An exclusion would have to visit them, so it is replaced by all types.
        """
        return Fragment("" if self.projection.relationships is None else self._types())

    def parameters(self, **ours: Any) -> dict[str, Any]:
        """Return the parameters of a statement: the filters' own and `ours`."""
        return {
            **self.projection.filter_parameters,
            **{f"heat_{name}": value for name, value in ours.items()},
        }

    def nothing_matches(self) -> ProjectionError:
        """Return the error for a projection without nodes."""
        labels, predicate = self.projection.labels, self.projection.node_filter
        which = "" if labels is None else f" of label {listed(map(repr, labels), 'or')}"
        where = "" if predicate is None else f" with {predicate!r}"
        return ProjectionError(f"there is no node{which}{where}: nothing to read")

    def _types(self) -> str:
        if self.projection.relationships is not None:
            return ":" + "|".join(map(quote_identifier, self.projection.relationships))
        # Another process may publish while the graph is read: then links of the other types come and go.
        predicted = [copy for plain in self.predicted_types for copy in LinkTypes.of(plain)]
        return f":{except_names(predicted)}" if predicted else ""


def require_names(connection: Connection, labels: Sequence[str], properties: Sequence[str]) -> None:
    """Raise a ProjectionError if the database has not one of some labels and properties of their nodes."""
    existing = _existing_names(connection)
    names = _Names(connection, existing)
    for name in labels:
        if name not in existing["labels"]:
            raise _unknown(connection, "node label", name, names.labels)
    for name in properties:
        if name not in existing["keys"]:
            raise _unknown(connection, "property", name, names.keys_of_nodes(labels))


def keys_of_nodes(connection: Connection, labels: Sequence[str]) -> list[str]:
    """Return the property keys of some nodes with one of the labels, except those that runs wrote."""
    return _Names(connection, _existing_names(connection)).keys_of_nodes(labels)


def _existing_names(connection: Connection) -> dict[str, Any]:
    """Return the names in the database that a statement can hold, and the element id of some node."""
    found = connection.read(load_statement("read/names"), doing="reading names")[0]
    return {**found, **{kind: list(filter(is_identifier, found[kind])) for kind in _KINDS_OF_NAMES}}


def _unknown(connection: Connection, kind: str, name: str, there: Sequence[str]) -> ProjectionError:
    hint = did_you_mean(name, there) or _there_are(there)
    return ProjectionError(f"no {kind} {name!r} in database {connection.server.database!r}{hint}")


def _unknown_names(
    connection: Connection, projection: Projection, existing: Mapping[str, Any]
) -> Iterator[str]:
    keys = projection.keys
    labels = dict.fromkeys([*(projection.labels or ()), *projection.label_attributes, *keys.labels])
    types = dict.fromkeys([*(projection.relationships or ()), *projection.type_weights])
    names = _Names(connection, existing)

    def unknown(kind: str, name: str, there: Sequence[str]) -> str:
        return str(_unknown(connection, kind, name, there))

    yield from (
        unknown("node label", name, names.labels) for name in labels if name not in existing["labels"]
    )
    yield from (
        unknown("relationship type", name, names.types) for name in types if name not in existing["types"]
    )
    for kind, name in (("weight property", projection.weight), ("time property", projection.time)):
        if name is not None and name not in existing["keys"]:
            yield unknown(kind, name, names.keys_of_relationships(projection.relationships))
    for label, key in keys.by_label.items():
        if key not in existing["keys"]:
            yield unknown("key property", key, names.keys_of_nodes([label] if label else projection.labels))
    for key, of in {attribute.key: attribute.label for attribute in projection.all_attributes}.items():
        if key not in existing["keys"]:
            there = names.keys_of_nodes(projection.labels if of is None else [of])
            yield unknown("attribute property", key, there)


class _Names:
    """The names in the database except our bookkeeping; property keys are taken from a sample of nodes."""

    def __init__(self, connection: Connection, existing: Mapping[str, Any]) -> None:
        self._connection = connection
        self.labels = [label for label in existing["labels"] if label not in BOOKKEEPING_LABELS]
        predicted = [copy for plain in existing["predicted"] for copy in LinkTypes.of(plain)]
        ours = {*BOOKKEEPING_TYPES, *predicted}
        self.types = [kind for kind in existing["types"] if kind not in ours]

    def keys_of_nodes(self, chosen: Sequence[str] | None) -> list[str]:
        """Return the property keys of nodes with one of the chosen labels, or of all."""
        labels = [label for label in self.labels if label in chosen] if chosen else []
        users = except_names(BOOKKEEPING_LABELS)
        of_one = [
            Fragment(f"{quote_identifier(label)}&{users}")
            for label in labels or self.labels[:_NAMES_LOOKED_AT]
        ]
        names = of_one if labels else [users, *of_one]
        return property_keys(self._connection, "read/node_keys", "labels", names)

    def keys_of_relationships(self, chosen: Sequence[str] | None) -> list[str]:
        """Return the property keys of relationships of the chosen types, or of all."""
        types = [kind for kind in self.types if kind in chosen] if chosen else []
        types = types or self.types[:_NAMES_LOOKED_AT]
        return property_keys(self._connection, "read/relationship_keys", "types", types)


def property_keys(
    connection: Connection, statement: str, placeholder: str, names: Sequence[str]
) -> list[str]:
    """Return the property keys, sorted, that a statement finds on nodes or relationships of each name."""
    keys: set[str] = set()
    for name in names:
        filled = load_statement(statement, **{placeholder: name})
        keys.update(connection.read(filled, {"limit": LOOKED_AT}, doing="reading names")[0]["keys"])
    return sorted(keys)


def _there_are(there: Sequence[str]) -> str:
    if not there:
        return ", which has none at all"
    shown = ", ".join(sorted(there)[:_NAMES_SHOWN])
    return f": there are {shown}{', ...' if len(there) > _NAMES_SHOWN else ''}"


def _bad_filters(connection: Connection, projection: Projection) -> Iterator[str]:
    for name in ("node_filter", "relationship_filter"):
        text = getattr(projection, name)
        if text is None:
            continue
        statement = load_statement(f"read/{name}", **{name: Fragment(text)})
        try:
            connection.read(statement, projection.filter_parameters, doing="compiling filters")
        except ProjectionError as error:
            yield f"`{name}` {text!r} is refused by the server: {one_line(error.__cause__ or error)}"
