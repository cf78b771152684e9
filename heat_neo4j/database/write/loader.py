"""Load an external graph into Neo4j: nodes by key, then relationships with weights and optional times.

Loading is idempotent: nodes are matched by key, relationships by their two ends.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, Protocol

import numpy as np
from neo4j import SummaryCounters
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j._utils.validation import is_integer
from heat_neo4j.database.batch_size import BatchSize
from heat_neo4j.database.connection import Connection, Parameters, Transaction
from heat_neo4j.database.statements import load_statement, quote_identifier
from heat_neo4j.errors import ProjectionError, WriteRefused

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_KEY = 8_000  # bytes; the index of a constraint takes hardly more


class Loadable(Protocol):
    """A graph that can be loaded: N nodes with keys and properties, M relationships between rows."""

    @property
    def keys(self) -> Sequence[int] | Sequence[str]:
        """One distinct value per node."""

    @property
    def source(self) -> NDArray[np.int64]:
        """Source row of each relationship, shape (M,)."""

    @property
    def target(self) -> NDArray[np.int64]:
        """Target row of each relationship, shape (M,)."""

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weight of each relationship, shape (M,)."""

    @property
    def types(self) -> Sequence[str] | None:
        """Type of each relationship, of length M; None if all are of the type that `LoadNames` gives."""

    def properties(self, row: int) -> Mapping[str, Any]:
        """Properties of the node in `row`; None values are missing."""

    @property
    def time(self) -> NDArray[np.float64] | None:
        """Time of each relationship, shape (M,), NaN if missing; None if all are missing."""

    @property
    def times_are_dates(self) -> bool:
        """Whether times are seconds since 1970 UTC, to be stored as datetimes."""


@dataclass(frozen=True)
class LoadNames:
    """Names that `Database.load_graph` gives a graph in the database.

    Parameters
    ----------
    label : str
        Label of the nodes.
    target_label : str, optional
        Label of the target nodes, if it differs. Nodes of the two labels with one key are different nodes.
    relationship : str
        Type of the relationships.
    key : str
        Node property for the keys; gets a uniqueness constraint.
    weight : str
        Relationship property for the weight, 1 if there is none.
    time : str
        Relationship property with the times, each a datetime in UTC or a number.

    Raises
    ------
    TypeError, ValueError
        If Neo4j cannot store a name.
    """

    label: str = "Node"
    relationship: str = "LINK"
    key: str = "id"
    weight: str = "weight"
    time: str = "time"
    target_label: str | None = None

    def __post_init__(self) -> None:
        for name in (*self.labels, self.relationship, self.key, self.weight, self.time):
            quote_identifier(name)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the nodes, each once."""
        return tuple(dict.fromkeys((self.label, self.target_label or self.label)))


@dataclass(frozen=True)
class LoadReport:
    """Result of a load: numbers of loaded and of new nodes and relationships.

    Parameters
    ----------
    nodes, relationships : int
        Number in the graph that was loaded.
    nodes_created, relationships_created : int
        Number of new ones.
    """

    nodes: int
    relationships: int
    nodes_created: int
    relationships_created: int


def load_graph(
    connection: Connection,
    graph: Loadable,
    names: LoadNames | None = None,
    *,
    overwrite: bool = False,
    on_progress: Progress | bool = False,
) -> LoadReport:
    """Load an external graph: nodes by key, then weighted relationships. Loading it again changes nothing.

    Parameters
    ----------
    graph : Loadable
        Such as `FileGraph`: keys, properties, and relationships between rows.
    names : LoadNames, optional
        Label, relationship type and properties to use; "Node", "LINK", "id" and "weight" if not given.
    overwrite : bool
        Replace existing values of nodes and relationships.

    Raises
    ------
    WriteRefused
        If existing values would be overwritten, existing nodes share a key, existing keys are strings and
        those of the graph numbers or vice versa, a key is too long, a property is named like the key, or
        weight and time have one name. Nothing was written.
    ProjectionError
        If relationships have several types, or another one than that of `names`.
    """
    names = names or LoadNames()
    check_types(graph, names)
    if len(graph.keys) and names.key in graph.properties(0):
        raise WriteRefused(f"a property of the nodes is named {names.key!r}, like the key: rename the key")
    for key in graph.keys:
        if isinstance(key, str) and (length := len(key.encode())) > _LONGEST_KEY:
            raise WriteRefused(
                f"id {display_text(key, 40)!r} is {length:,} bytes long, nothing was loaded: Neo4j indexes "
                f"keys of up to {_LONGEST_KEY:,}"
            )
    if names.weight == names.time and graph.time is not None:
        raise WriteRefused(f"weight and time are both named {names.time!r}: rename the weight")
    load = _Load(connection, graph, names, as_progress(on_progress))
    try:
        load.ensure_constraints()
        load.refuse_other_types()
        if not overwrite:
            load.refuse_conflicts()
    except BaseException:
        load.drop_constraints()
        raise
    return load.write()


def check_types(graph: Loadable, names: LoadNames) -> None:
    """Raise ProjectionError if relationships have several types, or another one than that of `names`."""
    types = sorted({*(graph.types or ())})
    if len(types) > 1:
        raise ProjectionError(
            f"the graph has relationships of {len(types):,} types, such as {types[0]!r} and {types[1]!r}: "
            "load a graph for each type"
        )
    if types and types != [names.relationship]:
        raise ProjectionError(
            f"the graph has relationships of type {types[0]!r}, not {names.relationship!r}: name this type "
            "in `relationship`"
        )


def make_room(connection: Connection, label: str, *, family: str, origin: str) -> int:
    """Remove nodes of `label` from earlier loads of a family; return their number.

    Their property ``origin`` starts with `family`; nodes with the `origin` of the next load are kept. Raises
    `WriteRefused`, without removing anything, if there are other nodes of that label.
    """
    foreign = connection.read(load_statement("load/foreign_nodes", label=label), {"family": family})
    if foreign[0]["nodes"]:
        what = f"label {label!r} is on {plural(foreign[0]['nodes'], 'node')} that {family!r} did not make"
        raise WriteRefused(f"{what}, nothing was loaded: use another database (--database) or server (--uri)")
    statement, removed = load_statement("load/remove_outdated", label=label), 0

    def remove(rows: int) -> bool:
        nonlocal removed
        deleted = _write(
            connection, statement, {"family": family, "origin": origin, "rows": rows}
        ).nodes_deleted
        removed += deleted
        return deleted < rows

    BatchSize(connection.limits.rows).until_done(remove)
    return removed


@dataclass(frozen=True)
class _Side:
    """The nodes of one label."""

    label: str
    rows: Sequence[int]  # rows of the graph
    names: Mapping[str, str]  # label and key, as placeholders of statements
    constraint: str


class _Load:
    """The steps of one load."""

    def __init__(
        self, connection: Connection, graph: Loadable, names: LoadNames, on_progress: Progress
    ) -> None:
        self.connection = connection
        self.graph = graph
        self.names = names
        self.on_progress = on_progress
        self.size = BatchSize(connection.limits.rows)
        self.link = {
            "label": names.label,
            "target": names.labels[-1],
            "key": names.key,
            "type": names.relationship,
        }
        self.sides = [
            _Side(label, rows, {"label": label, "key": names.key}, _constraint(label, names.key))
            for label, rows in zip(names.labels, _rows_of_sides(graph, names), strict=True)
        ]
        self.n_nodes = sum(len(side.rows) for side in self.sides)
        self.made: list[_Side] = []  # those of which the constraint is new

    def ensure_constraints(self) -> None:
        """Create missing uniqueness constraints."""
        for side in self.sides:
            if self.connection.read(load_statement("load/constraint_exists"), side.names)[0]["exists"]:
                continue
            shared = self.connection.read(load_statement("load/shared_key", **side.names))
            if shared:
                where = f"two nodes of label {side.label!r} have {self.names.key!r} {shared[0]['key']!r}"
                raise WriteRefused(f"{where}, nothing was loaded: choose another label or key")
            self._run(load_statement("load/constraint", constraint=side.constraint, **side.names))
            self.made.append(side)

    def drop_constraints(self) -> None:
        """Drop the constraints that were created."""
        for side in self.made:
            self._run(load_statement("load/drop_constraint", constraint=side.constraint))

    def refuse_other_types(self) -> None:
        """Raise an error if existing keys of a label have another type, as they would never match."""
        keys = self.graph.keys
        if not len(keys):
            return
        is_text = isinstance(keys[0], str)
        for side in self.sides:
            statement = load_statement(f"load/{'number' if is_text else 'text'}_key", **side.names)
            found = self.connection.read(statement, doing="checking what is there")
            if not found:
                continue
            there = f"label {side.label!r} has the {'number' if is_text else 'text'} {found[0]['key']!r} as"
            if is_text:
                odd = next((key for key in keys if not is_integer(str(key))), keys[0])
                here = f"the ids to be loaded are texts, because of {odd!r}"
                advice = "correct that id, or choose another label or key"
            else:
                here = f"the ids to be loaded are numbers, such as {keys[0]!r}"
                advice = "load them as texts (--text-ids), or choose another label or key"
            raise WriteRefused(
                f"{there} {self.names.key!r}, and {here}: they cannot match; nothing was loaded: {advice}"
            )

    def refuse_conflicts(self) -> None:
        """Raise an error if a value would be overwritten; a label without nodes has none."""
        counts = [load_statement("load/count", label=side.label) for side in self.sides]
        if not any(self.connection.read(count)[0]["nodes"] for count in counts):
            return
        type_ = self.names.relationship
        for side, rows in self._reported("checking nodes", self._node_batches(), self.n_nodes):
            for conflict in self._conflicts(load_statement("load/node_conflicts", **side.names), rows):
                where = f"node {conflict['key']!r} of label {side.label!r}"
                what = f"{where} has another {conflict['property']!r} already"
                raise WriteRefused(f"{what}, nothing was loaded: choose another label, or overwrite")
        statement = load_statement("load/relationship_conflicts", **self.link)
        for _, rows in self._reported("checking relationships", self._link_batches(), len(self.graph.source)):
            for conflict in self._conflicts(statement, rows):
                where = f"relationship {type_!r} from {conflict['source']!r} to {conflict['target']!r}"
                what = f"{where} has another {conflict['property']!r} already"
                raise WriteRefused(f"{what}, nothing was loaded: choose another type, or overwrite")

    def write(self) -> LoadReport:
        nodes = relationships = 0
        for side, rows in self._reported("loading nodes", self._node_batches(), self.n_nodes):
            counters = self._write(load_statement("load/nodes", **side.names), rows)
            nodes += sum(each.nodes_created for each in counters)
        statement = load_statement("load/relationships", **self.link)
        for _, rows in self._reported("loading relationships", self._link_batches(), len(self.graph.source)):
            counters = self._write(statement, rows)
            relationships += sum(each.relationships_created for each in counters)
        return LoadReport(self.n_nodes, len(self.graph.source), nodes, relationships)

    def _run(self, statement: str) -> None:
        _write(self.connection, statement, {}, divisible=False)

    def _write(self, statement: str, rows: Sequence[Any]) -> Iterator[SummaryCounters]:
        """Write rows, in as many transactions as the server's limits require."""

        def write(part: Sequence[Any]) -> SummaryCounters:
            return _write(self.connection, statement, {"rows": part})

        return (counters for _, counters in self.size.parts(write, rows))

    def _conflicts(self, statement: str, rows: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
        """Yield values that would be overwritten."""

        def read(part: Sequence[Any]) -> Sequence[Mapping[str, Any]]:
            doing = "checking what is there"
            return self.connection.read(statement, {"rows": part}, doing=doing, divisible=True)

        return chain.from_iterable(records for _, records in self.size.parts(read, rows))

    def _reported(
        self, stage: str, batches: Iterator[tuple[_Side, list[Any]]], total: int
    ) -> Iterator[tuple[_Side, list[Any]]]:
        """Yield each batch, and report progress after it was processed."""
        done = 0
        self.on_progress(stage, done, total)
        for side, batch in batches:
            yield side, batch
            done += len(batch)
            self.on_progress(stage, done, total)

    def _node_batches(self) -> Iterator[tuple[_Side, list[Any]]]:
        """Yield nodes in batches of one label each."""
        keys, limits = self.graph.keys, self.connection.limits
        for side in self.sides:
            batch: list[dict[str, Any]] = []
            values = 0
            for row in side.rows:
                properties = self.graph.properties(row).items()
                present = {name: value for name, value in properties if value is not None}
                batch.append({"key": keys[row], "properties": present})
                values += sum(len(value) if isinstance(value, list) else 1 for value in present.values())
                if len(batch) == limits.rows or values >= limits.values_written:
                    yield side, batch
                    batch, values = [], 0
            if batch:
                yield side, batch

    def _link_batches(self) -> Iterator[tuple[_Side, list[Any]]]:
        keys, graph, most = self.graph.keys, self.graph, self.connection.limits.rows
        for start in range(0, len(graph.source), most):
            part = slice(start, start + most)
            ends = zip(graph.source[part].tolist(), graph.target[part].tolist(), strict=True)
            properties = [{self.names.weight: weight} for weight in graph.weight[part].tolist()]
            for values, time in zip(properties, self._times(part), strict=False):
                if time is not None:
                    values[self.names.time] = time
            rows = [[keys[a], keys[b], values] for (a, b), values in zip(ends, properties, strict=True)]
            yield self.sides[0], rows

    def _times(self, part: slice) -> Iterator[datetime | float | None]:
        """Yield the times of some relationships in the database's format; nothing if there are none."""
        graph = self.graph
        if graph.time is None:
            return
        for time in graph.time[part].tolist():
            if np.isnan(time):
                yield None
            else:
                yield _EPOCH + timedelta(seconds=time) if graph.times_are_dates else time


def _constraint(label: str, key: str) -> str:
    """Return the name of a constraint; underscores are doubled, so that other names have another one."""
    return "_".join(["heat_load", *(name.replace("_", "__") for name in (label, key))])


def _rows_of_sides(graph: Loadable, names: LoadNames) -> list[Sequence[int]]:
    """Return the rows of the nodes of each label.

    With two labels, rows that are only targets have the second label. Rows that are sources and targets have
    both, and must have no properties, because these would be ambiguous. Rows without relationships have the
    label of the only side with properties.
    """
    n = len(graph.keys)
    if len(names.labels) == 1:
        return [range(n)]
    begins, ends = (np.bincount(rows, minlength=n) > 0 for rows in (graph.source, graph.target))
    first, second = names.labels

    def described(rows: NDArray[np.bool_]) -> Any | None:
        """Return the key of the first of some rows with a property; None if none has one."""
        for row in np.flatnonzero(rows).tolist():
            if any(value is not None for value in graph.properties(row).values()):
                return graph.keys[row]
        return None

    if (key := described(begins & ends)) is not None:
        raise WriteRefused(
            f"id {key!r} is both a {first!r} and a {second!r}, and its "
            "attributes may be of either, nothing was loaded: load the attributes with relationships "
            f"between nodes of {first!r} alone first, or use different ids for the two labels"
        )
    is_target = ends.copy()
    if (alone := ~begins & ~ends).any() and described(ends) is not None:
        if described(begins) is not None:
            raise WriteRefused(
                f"id {graph.keys[int(np.argmax(alone))]!r} has no relationship: it may be a {first!r} or a "
                f"{second!r}, nothing was loaded: load the attributes of each label from a file of their own"
            )
        is_target |= alone
    return [np.flatnonzero(begins | ~is_target).tolist(), np.flatnonzero(is_target).tolist()]


def _write(
    connection: Connection, statement: str, parameters: Parameters, *, divisible: bool = True
) -> SummaryCounters:
    def work(transaction: Transaction) -> SummaryCounters:
        return transaction.run(statement, parameters).summary.counters

    # Not idempotent: a repetition would count what is new as known.
    return connection.write_transaction(work, doing="loading", divisible=divisible, idempotent=False)
