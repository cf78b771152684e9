"""The size of a projection, from counts and a sample, for estimates."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import log, log2
from typing import Any

import neo4j
import numpy as np
from scipy import sparse

from heat_neo4j.attributes.columns import HASHED
from heat_neo4j.attributes.kinds import Kind, is_text
from heat_neo4j.attributes.table import Attributes, AttributeTable
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.database.batch_size import BatchSize
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.nodes import id_prefix
from heat_neo4j.database.read.reader import name_by_id, plain_values
from heat_neo4j.database.read.scope import Scope
from heat_neo4j.database.statements import is_identifier, load_statement
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Triple

_SAMPLE_NODES = 1_000
_SAMPLE_RELATIONSHIPS = 10_000  # of each type
_EXCEPTIONS = 0.05  # sources with several relationships where one is the rule


@dataclass(frozen=True)
class ProjectionCounts:
    """Sizes of a projection; shares are from 0 to 1."""

    nodes: int
    relationships: int  # including those to nodes outside: an upper bound
    isolated_share: float = 0.0  # of nodes that none of these leaves or reaches
    attribute_columns: int = 0  # of strings and texts: extrapolated from the sample
    attribute_share: float = 0.0  # of the values in these columns: those other than 0
    vector_columns: int = 0  # numbers of a node's vectors after projection, not among the columns above
    vector_width: int = 0  # numbers of a node's vectors as they are stored
    texts: int = 0  # attributes whose words are compared
    hierarchical: int = 0  # relationships of the type of the hierarchy
    closure: int = 0  # pairs of a node and one that such relationships lead to: an estimate from a sample


def count_projection(
    connection: Connection, projection: Projection, hierarchy: str | None = None
) -> ProjectionCounts:
    """Return the size of the projection and of a hierarchical type, from counts and samples.

    Raises
    ------
    ProjectionError
        If a name does not exist, nothing matches, or a sampled attribute value cannot be used.
    """
    scope = Scope.resolve(connection, projection).require()
    statement = load_statement("read/node_count", **scope.nodes())
    n_nodes: int = connection.read(statement, scope.parameters(), doing="counting nodes")[0]["nodes"]
    if not n_nodes:
        raise scope.nothing_matches()
    of_types = count_by_type(connection, scope)
    statement = load_statement("read/degrees", **scope.nodes(), **scope.relationships())
    degrees = connection.read(statement, scope.parameters(), doing="counting relationships of nodes")[0]
    sampled = _sampled_attributes(connection, scope, n_nodes)
    vectors = [each.recipe[0] for each in sampled if is_vector(each.recipe[0])]
    attributes = [each for each in sampled if not is_vector(each.recipe[0])]
    n_sampled = attributes[0].matrix.shape[0] if attributes else 1
    most = projection.max_categories
    columns = sum(_columns_of_all(each, n_nodes / n_sampled, most) for each in attributes)
    share = sum(each.filled for each in attributes) / max(n_sampled * columns, 1)
    return ProjectionCounts(
        nodes=n_nodes,
        relationships=sum(of_types.values()),
        isolated_share=degrees["isolated"] / n_nodes,
        attribute_columns=columns,
        attribute_share=share,
        vector_columns=sum(entry["n_columns"] for entry in vectors),
        vector_width=sum(entry["width"] for entry in vectors),
        texts=sum(is_text(each.recipe[0]) for each in attributes),
        hierarchical=of_types.get(hierarchy or "", 0),
        closure=0 if hierarchy not in of_types else _closure(connection, scope, hierarchy, n_nodes),
    )


def _columns_of_all(sampled: Attributes, growth: float, max_categories: int) -> int:
    """Return the columns that an attribute will have over `growth` times as many nodes.

    The exponent of Heaps' law, by which distinct words grow with the number of nodes, is the share of words
    that one node has (I. Good, "The population frequencies of species", Biometrika 40, 1953). With each
    doubling of the nodes it falls by the same factor as from half of the sample to all of it.
    """
    (entry,), n_columns = sampled.recipe, len(sampled.names)
    if entry["kind"] not in (Kind.TEXT, Kind.CATEGORY, Kind.TAGS):
        return n_columns
    nodes = np.bincount(sparse.coo_array(sampled.matrix).col, minlength=n_columns)
    once_of_half, half = np.sum(nodes * 0.5**nodes), np.sum(1.0 - 0.5**nodes)
    exponent = float(np.mean(nodes == 1))
    if exponent == 0.0:
        return n_columns
    slowing, doublings = -log2(exponent * half / once_of_half), log2(max(growth, 1.0))
    if slowing > 0.0:
        doublings = (1.0 - 2.0 ** (-slowing * doublings)) / (slowing * log(2.0))
    most = HASHED if is_text(entry) else max_categories + 1  # and one for all others
    return min(round(float(n_columns * 2.0 ** (exponent * doublings))), most)


def count_by_type(connection: Connection, scope: Scope) -> dict[str, int]:
    """Return the number of relationships of each type that start at nodes of `scope`, with any target."""
    statement = load_statement("read/relationship_count", **scope.nodes(), **scope.relationships())
    records = connection.read(statement, scope.parameters(), doing="counting relationships")
    return {record["type"]: record["relationships"] for record in records}


def sample_schema(
    connection: Connection, projection: Projection, limit: int = _SAMPLE_RELATIONSHIPS
) -> tuple[dict[Triple, int], dict[str, int]]:
    """Return relationships by labels and type, as `Graph.schema`, and how many nodes carry each label.

    The labels are those of `limit` relationships of each type, scaled up to all: rare pairs of labels may be
    missed. Node filters are ignored, as are types that cannot be quoted.
    """
    scope = Scope.resolve(connection, projection).require()
    labels = scope.nodes()["labels"]
    schema: Counter[Triple] = Counter()
    counts = count_by_type(connection, scope)
    for types in _sampled_together({kind: counts[kind] for kind in filter(is_identifier, counts)}):
        statement = load_statement("read/sample_schema", labels=labels, types=types)
        most = {"heat_limit": limit * len(types)}
        for row in connection.read(statement, most, doing="sampling relationships"):
            ends = tuple(sorted(row["sources"])), row["type"], tuple(sorted(row["targets"]))
            schema[ends] += row["relationships"]
    statement = load_statement("read/label_counts", labels=labels)
    carriers = {row["label"]: row["nodes"] for row in connection.read(statement, {}, doing="counting nodes")}
    sampled: Counter[str] = Counter()
    for (_, kind, _), count in schema.items():
        sampled[kind] += count
    scaled = {
        triple: round(count * counts[triple[1]] / sampled[triple[1]]) for triple, count in schema.items()
    }
    return scaled, carriers


def full_sources(connection: Connection, label: str, kind: str) -> float:
    """Return the share of a label's nodes with a relationship of a type, if the type allows one each.

    A sample decides whether it does, approximately as the schema rules do; 0 if several are allowed.
    """
    if not is_identifier(label):  # nodes without a label
        return 0.0
    statement = load_statement("read/full_sources", label=label, type=kind)
    row = connection.read(statement, {"heat_limit": _SAMPLE_RELATIONSHIPS}, doing="counting relationships")[0]
    linked = row["one"] + row["several"]
    by_chance = row["relationships"] / (2 * max(row["nodes"], 1))  # of several, where they are few
    is_one = row["several"] <= min(_EXCEPTIONS, by_chance / 5) * linked
    return row["one"] / row["nodes"] if linked and is_one else 0.0


def _sampled_together(counts: Mapping[str, int]) -> list[list[str]]:
    """Group types with few relationships, because planning a statement for each takes too long."""
    groups: list[list[str]] = []
    room = 0
    for kind, count in sorted(counts.items(), key=lambda item: item[1]):
        if count > room:
            groups.append([])
            room = _SAMPLE_RELATIONSHIPS
        groups[-1].append(kind)
        room -= count
    return groups


def _closure(connection: Connection, scope: Scope, kind: str, n_nodes: int) -> int:
    """Estimate the number of pairs of a node and one that it reaches by relationships of a type.

    Sources and targets have the same total. The sample is taken at the end where no node has many, but some
    have one: a sample may miss the few nodes at the other end.
    """
    statement = load_statement("read/closure", type=kind, **scope.nodes())
    stride = max(n_nodes // _SAMPLE_NODES, 1)
    parameters = scope.parameters(
        prefix=len(id_prefix(connection, scope)), stride=stride, most=_SAMPLE_RELATIONSHIPS
    )
    row = connection.read(statement, parameters, doing=f"sampling paths of {kind!r}")[0]
    ends = [(row["most_ahead"], row["ahead"]), (row["most_behind"], row["behind"])]
    _, usual = min((end for end in ends if end[0]), default=(0, 0.0))
    return round(n_nodes * usual)


def _sampled_attributes(connection: Connection, scope: Scope, n_nodes: int) -> list[Attributes]:
    """Return the attributes of about a thousand nodes, taken evenly by the number in the element id.

    Those that none of these nodes has are left out.
    """
    attributes = scope.projection.all_attributes
    if not attributes:
        return []
    stride = max(n_nodes // _SAMPLE_NODES, 1)
    doing = "reading a sample of attributes"
    parameters = scope.parameters(prefix=len(id_prefix(connection, scope)), stride=stride)
    sample = connection.read(load_statement("read/sample", **scope.nodes()), parameters, doing=doing)[0]
    keys = list(dict.fromkeys(attribute.key for attribute in attributes))
    statement = load_statement("read/attributes", labels=scope.nodes()["labels"])

    def read(rows: range) -> neo4j.Record:
        parameters = {"heat_ids": sample["ids"][rows.start : rows.stop], "heat_keys": keys}
        return connection.read(statement, parameters, doing=doing, divisible=True)[0]

    values: dict[str, list[Any]] = {key: [] for key in keys}
    labels: list[list[str]] = []
    ids: list[str] = []
    for part, record in BatchSize(_SAMPLE_NODES).parts(read, range(len(sample["ids"]))):
        for key, column in zip(keys, record["columns"], strict=True):
            values[key] += plain_values(column)
        places = [part.start + position for position in record["positions"]]
        labels += [sample["labels"][place] for place in places]
        ids += [sample["ids"][place] for place in places]
    masks = {
        label: np.array([label in carried for carried in labels], dtype=np.bool_)
        for label in scope.projection.label_attributes
    }
    rows, encoded = np.arange(len(labels)), []
    for attribute in attributes:
        most = scope.projection.max_categories
        table = AttributeTable(
            [attribute],
            rows.size,
            max_categories=most,
            labels=masks,
            name_of=lambda row: name_by_id(connection, scope, ids[row], labels[row]),
            is_sample=stride > 1,
        )
        table.add(rows, values)
        with suppress(ProjectionError):  # none of the sample has it
            encoded.append(table.finish(rows))
    return encoded
