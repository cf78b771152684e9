"""What a projection would read, and everything that would be wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from heat_neo4j._progress import Progress, no_progress
from heat_neo4j.attributes import AttributeTable
from heat_neo4j.database.connection import Connection, ServerInfo
from heat_neo4j.database.counts import count_by_type
from heat_neo4j.database.nodes import NodeTable, Positions, rows_by_key
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.reader import read_properties, read_relationships
from heat_neo4j.database.relationships import RelationshipTable
from heat_neo4j.database.scope import Scope
from heat_neo4j.errors import ProjectionError

__all__ = ["ProjectionReport", "check_projection"]


@dataclass(frozen=True)
class ProjectionReport:
    """What a projection matches and what would be wrong with it.

    Parameters
    ----------
    server : ServerInfo
        Where.
    projection : Projection
        What was checked.
    problems : tuple of str
        One line for each thing that would stop `Neo4jStore.read_graph`, or training on what it returns. With
        a name or filter among them, nothing else was looked at.
    predicted_types : tuple of str
        Relationship types of predicted links, which a projection that names no types leaves out.
    nodes : int
        Nodes that match.
    labels : mapping of str to int
        How many of them carry each label.
    types : mapping of str to int
        How many relationships of each type leave them, wherever these lead.
    counts : mapping of str to int
        What becomes of these relationships, as in `Provenance.counts`.
    attributes : tuple of mappings
        One entry per readable property: "property", "kind", "columns" (how many) and "missing" (on how many
        nodes).
    """

    server: ServerInfo
    projection: Projection
    problems: tuple[str, ...] = ()
    predicted_types: tuple[str, ...] = ()
    nodes: int = 0
    labels: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    attributes: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {**asdict(self), "projection": self.projection.to_dict()}


def check_projection(
    connection: Connection, projection: Projection, on_progress: Progress = no_progress
) -> ProjectionReport:
    """Read everything as `read_graph` does, and report all that is wrong instead of raising the first.

    Parameters
    ----------
    connection : Connection
        Where from.
    projection : Projection
        What.
    on_progress : callable
        Called in the stages of `read_graph`.

    Raises
    ------
    ConnectionFailed
        If the server is lost or refuses.
    """
    scope = Scope.resolve(connection, projection)
    report = ProjectionReport(connection.server, projection, scope.problems, scope.predicted_types)
    if scope.problems:
        return report
    on_progress("reading nodes", 0, 1)
    try:
        nodes = NodeTable.read(connection, scope)
    except ProjectionError as error:
        return replace(report, problems=(str(error),))
    on_progress("reading nodes", 1, 1)
    relationships = read_relationships(connection, scope, nodes, on_progress)
    properties = _PropertyCheck(projection, nodes.size)
    for positions, values in read_properties(connection, scope, nodes, on_progress):
        properties.add(positions, values)
    attributes, property_problems = properties.finish()
    relationship_problems = map(_problem, (relationships.check_weights, relationships.check_times))
    problems = [
        *(problem for problem in relationship_problems if problem is not None),
        *property_problems,
        *_untrainable(projection, nodes, relationships),
    ]
    return replace(
        report,
        problems=tuple(problems),
        nodes=nodes.size,
        labels={label: int(mask.sum()) for label, mask in nodes.label_masks(np.arange(nodes.size)).items()},
        types=count_by_type(connection, scope),
        counts=dict(relationships.counts),
        attributes=tuple(attributes),
    )


class _PropertyCheck:
    """Takes each attribute by itself, so that one that cannot be read does not hide the others."""

    def __init__(self, projection: Projection, n_nodes: int) -> None:
        self._key = projection.key
        self._keys: list[Any] = []
        self._n_nodes = n_nodes
        self._missing: Counter[str] = Counter()
        self._problems: dict[str, str] = {}
        self._tables = {
            name: AttributeTable([name], n_nodes, max_categories=projection.max_categories)
            for name in projection.attributes
        }

    def add(self, positions: Positions, values: Mapping[str, Sequence[Any]]) -> None:
        if self._key is not None:
            self._keys.extend(values[self._key])
        for name, table in self._tables.items():
            self._missing[name] += sum(value is None for value in values[name])
            if name not in self._problems:
                self._note(name, partial(table.add, positions, values))

    def finish(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return what the readable attributes are, and what is wrong with the others and the key."""
        attributes: list[dict[str, Any]] = []
        for name in [name for name in self._tables if name not in self._problems]:
            self._note(name, partial(self._describe, name, attributes))
        if self._key is not None:
            self._note("", partial(rows_by_key, self._key, self._keys))
        return attributes, list(self._problems.values())

    def _describe(self, name: str, attributes: list[dict[str, Any]]) -> None:
        (entry,) = self._tables[name].finish(np.arange(self._n_nodes)).recipe
        facts = {"property": name, "kind": entry["kind"], "columns": len(entry["columns"])}
        attributes.append({**facts, "missing": self._missing[name]})

    def _note(self, name: str, attempt: Callable[[], object]) -> None:
        problem = _problem(attempt)
        if problem is not None:
            self._problems[name] = problem


def _problem(attempt: Callable[[], object]) -> str | None:
    """Return why `attempt` fails, None if it does not."""
    try:
        attempt()
    except ProjectionError as error:
        return str(error)
    return None


def _untrainable(projection: Projection, nodes: NodeTable, relationships: RelationshipTable) -> Iterator[str]:
    if nodes.size == 1:
        yield "only one node matches the projection: an embedding needs at least two"
    elif not relationships.kept and not projection.attributes:
        yield "no relationship joins the nodes and no attributes are named: there is nothing to learn from"
