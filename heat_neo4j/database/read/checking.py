"""Check a projection: report what it would read, and all problems."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.attributes.kinds import Kind, RecipeError, parse_date
from heat_neo4j.attributes.table import (
    Attribute,
    Attributes,
    AttributeTable,
    attributes_of,
    described,
    odd_category,
)
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.database.connection import Connection, ServerInfo
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.advice import key_advice, time_advice
from heat_neo4j.database.read.counts import count_by_type
from heat_neo4j.database.read.nodes import NodeTable, Positions, key_problems
from heat_neo4j.database.read.reader import name_of, read_properties, read_relationships
from heat_neo4j.database.read.relationships import RelationshipTable
from heat_neo4j.database.read.scope import Scope, keys_of_nodes
from heat_neo4j.database.statements import quote_identifier
from heat_neo4j.errors import ProjectionError
from heat_neo4j.patterns import observed_patterns


@dataclass(frozen=True, repr=False)
class ProjectionReport(Result):
    """The nodes, relationships and attributes that a projection matches, and its problems.

    Parameters
    ----------
    server : ServerInfo
        The server, and the database in use.
    projection : Projection
        What was checked.
    problems : tuple of str
        One line per problem that would stop `project`, or training on its result. After a bad name or filter,
        nothing else was checked.
    predicted_types : tuple of str
        Types of predicted links; a projection that names no types leaves them out.
    nodes : int
        Number of nodes.
    labels : mapping of str to int
        Number of nodes with each label.
    types : mapping of str to int
        Number of outgoing relationships of each type.
    patterns : mapping of str to int
        Number of joined pairs of nodes of each pattern, such as "User-RATED->Movie".
    counts : mapping of str to int
        Counts of the reading.
    attributes : tuple of mapping
        For each readable attribute: "property", "label" if it applies to one, "kind", "columns" (a count),
        "missing" (a count of nodes) and "holds" (a short description of its recipe).
    unread : tuple of str
        Other properties of the nodes, from a sample.
    advice : tuple of str
        One line per probable mistake that stops nothing.
    recipe_problem : str, optional
        Why the recipe given does not fit, so that another was learnt.
    recipe : str
        The recipe that `embed` would apply, in words.
    """

    server: ServerInfo
    projection: Projection
    problems: tuple[str, ...] = ()
    predicted_types: tuple[str, ...] = ()
    nodes: int = 0
    labels: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, int] = field(default_factory=dict)
    patterns: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    attributes: tuple[Mapping[str, Any], ...] = ()
    unread: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    recipe_problem: str | None = None
    recipe: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {**asdict(self), "projection": self.projection.to_dict()}


def check_projection(
    connection: Connection,
    projection: Projection,
    recipe: Sequence[Mapping[str, Any]] | None = None,
    *,
    on_progress: Progress = no_progress,
) -> ProjectionReport:
    """Read everything that `read_graph` would, and report its content and all problems.

    If `recipe` does not fit, the report says so and describes one learned from the values.

    Returns
    -------
    ProjectionReport
        With one line per problem; none if `read_graph` and training can run.
    """
    scope = Scope.resolve(connection, projection)
    report = ProjectionReport(connection.server, projection, scope.problems, scope.predicted_types)
    if scope.problems:
        return report
    try:
        nodes = NodeTable.read(connection, scope, on_progress)
    except ProjectionError as error:
        return replace(report, problems=(str(error),))
    relationships = read_relationships(connection, scope, nodes, on_progress)
    properties = _PropertyCheck(projection, nodes, partial(name_of, connection, scope, nodes))
    for positions, values in read_properties(connection, scope, nodes, on_progress):
        properties.add(positions, values)
    attributes, property_problems = properties.finish(recipe)
    relationship_problems = map(_problem, (relationships.check_weights, relationships.check_times))
    problems = [
        *(problem for problem in relationship_problems if problem is not None),
        *property_problems,
        *_untrainable(projection, nodes, relationships),
    ]
    labels = {label: int(mask.sum()) for label, mask in nodes.label_masks().items()}
    read = {*projection.keys.properties, *(attribute.key for attribute in projection.all_attributes)}
    return replace(
        report,
        problems=tuple(problems),
        nodes=nodes.size,
        labels=labels,
        types=(types := count_by_type(connection, scope)),
        patterns=_patterns(nodes, relationships, labels),
        counts={**relationships.counts, **properties.counts},
        attributes=tuple(attributes),
        unread=tuple(name for name in keys_of_nodes(connection, list(labels)) if name not in read),
        advice=(
            *key_advice(connection, projection, labels, is_wrong=properties.is_key_wrong),
            *time_advice(connection, projection, types),
            *properties.advice,
        ),
        recipe_problem=properties.recipe_problem,
    )


class _PropertyCheck:
    """Encodes each attribute separately, so that an invalid one does not hide the others."""

    def __init__(self, projection: Projection, nodes: NodeTable, name_of_row: Callable[[int], str]) -> None:
        self._rows = np.arange(nodes.size)
        self._masks = nodes.label_masks()
        self._keys = projection.keys
        self._places = self._keys.places(self._masks, nodes.size)
        self._key_values: list[Any] = []  # of the nodes that still exist
        self._key_places: list[int] = []
        self._missing: Counter[Attribute] = Counter()
        self._empty: Counter[Attribute] = Counter()  # lists
        self._problems: dict[Attribute, str] = {}
        self._tables = {
            attribute: AttributeTable(
                [attribute],
                nodes.size,
                max_categories=projection.max_categories,
                labels=self._masks,
                name_of=name_of_row,
            )
            for attribute in projection.all_attributes
        }
        self.counts: dict[str, int] = {}
        self.advice: list[str] = []
        self.recipe_problem: str | None = None
        self.is_key_wrong = False

    def add(self, positions: Positions, values: Mapping[str, Sequence[Any]]) -> None:
        places = self._places[positions]
        self._key_values.extend(self._keys.values(values, places))
        self._key_places.extend(places.tolist())
        for attribute, table in self._tables.items():
            column = values[attribute.key]
            self._missing[attribute] += self._count_among(attribute, positions, [v is None for v in column])
            self._empty[attribute] += self._count_among(attribute, positions, [v == [] for v in column])
            if attribute not in self._problems:
                self._note(attribute, partial(table.add, positions, values))

    def finish(self, recipe: Sequence[Mapping[str, Any]] | None) -> tuple[list[dict[str, Any]], list[str]]:
        """Return a description of the valid attributes, and the problems of the others and of keys."""
        for attribute, table in self._tables.items():
            if attribute not in self._problems:
                self._note(attribute, table.check)
        encoded = None if recipe is None or self._problems else self._by_recipe(recipe)
        if encoded is None:
            encoded = self._learnt()
        else:
            self.counts["values_unknown_to_recipe"] = sum(each.unknown for each in encoded.values())
        places = np.array(self._key_places)
        if self._keys.labels:
            self.counts["nodes_without_key"] = int((places < 0).sum())
        attributes = []
        for attribute, each in encoded.items():
            attributes.append(self._facts(attribute, each.recipe[0]))
            self.advice.extend(_advice(attribute, each.recipe[0], each.filled))
        of_keys = list(key_problems(self._keys, places, self._key_values))
        self.is_key_wrong = bool(of_keys)
        return attributes, [*self._problems.values(), *of_keys]

    def _by_recipe(self, recipe: Sequence[Mapping[str, Any]]) -> dict[Attribute, Attributes] | None:
        """Return each attribute as the recipe encodes it; None, and the problem, if one does not fit."""
        try:
            entries = dict(zip(attributes_of(recipe), recipe, strict=True))
            return {
                attribute: table.apply([entries[attribute]] if attribute in entries else [], self._rows)
                for attribute, table in self._tables.items()
            }
        except RecipeError as error:
            self.recipe_problem = str(error)
            return None

    def _learnt(self) -> dict[Attribute, Attributes]:
        """Return each readable attribute as it encodes its own values."""
        encoded = {}
        for attribute in [each for each in self._tables if each not in self._problems]:
            try:
                encoded[attribute] = self._tables[attribute].finish(self._rows)
            except ProjectionError as error:
                self._problems[attribute] = str(error)
        return encoded

    def _count_among(self, attribute: Attribute, positions: Positions, holds: Sequence[bool]) -> int:
        """Count the true entries of `holds`, for the nodes at `positions` that have the attribute's label."""
        counted = np.array(holds, dtype=np.bool_)
        if attribute.label is not None:
            counted &= self._masks.get(attribute.label, np.zeros(self._rows.size, np.bool_))[positions]
        return int(counted.sum())

    def _facts(self, attribute: Attribute, entry: Mapping[str, Any]) -> dict[str, Any]:
        label = {} if attribute.label is None else {"label": attribute.label}
        missing, kind = self._missing[attribute], entry["kind"]
        if kind == Kind.VECTOR:
            missing += self._empty[attribute]
            kind = kind if is_vector(entry) else "list of numbers"
        return {
            "property": attribute.key,
            **label,
            "kind": kind,
            "columns": entry["n_columns"],
            "missing": missing,
            "holds": described(entry),
        }

    def _note(self, about: Attribute, attempt: Callable[[], object]) -> None:
        problem = _problem(attempt)
        if problem is not None:
            self._problems[about] = problem


def _advice(attribute: Attribute, entry: Mapping[str, Any], n_nodes: int) -> Iterator[str]:
    """Yield advice for a category that is probably something else."""
    odd = odd_category(entry, n_nodes)
    if odd is None:
        return
    what, kind = odd
    of = f"n.{quote_identifier(attribute.key)}"
    if kind == "text":
        advice = "read their words with `text`, or leave it out if it is an identifier"
    elif kind == "number":
        has_comma = any("," in text for text in entry["values"])
        text = f"replace({of}, ',', '.')" if has_comma else of
        advice = f"leave identifiers out, and make numbers in Cypher with SET {of} = toFloat({text})"
    else:
        has_time = any(isinstance(parse_date(each), datetime) for each in entry["values"])
        function = "datetime" if has_time else "date"
        advice = f"make them dates in Cypher with SET {of} = {function}({of})"
    yield f"{attribute.name} {what}: {advice}"


def _patterns(
    nodes: NodeTable, relationships: RelationshipTable, carriers: Mapping[str, int]
) -> dict[str, int]:
    """Return the patterns of the relationships that count, each with how many pairs of nodes it joins."""
    label_sets = [tuple(sorted(labels)) for labels in nodes.label_sets]
    schema = relationships.directed().schema(label_sets, nodes.label_codes.astype(np.int64))
    return {str(pattern): count for pattern, count in observed_patterns(schema, carriers).items()}


def _problem(attempt: Callable[[], object]) -> str | None:
    """Return the error message of `attempt`, None if it succeeds."""
    try:
        attempt()
    except ProjectionError as error:
        return str(error)
    return None


def _untrainable(projection: Projection, nodes: NodeTable, relationships: RelationshipTable) -> Iterator[str]:
    if nodes.size == 1:
        yield "only one node matches the projection: an embedding needs at least two"
    elif not relationships.kept and not projection.all_attributes:
        yield "no relationship joins the nodes and no attributes are named: there is nothing to learn from"
