"""Read a projection into a `Graph`: column by column, in bounded chunks, in any order of rows."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import neo4j
import neo4j.spatial
import neo4j.time
import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.scratch import IN_MEMORY, Scratch
from heat_neo4j.attributes.kinds import Date, Duration, Point, TimeOfDay
from heat_neo4j.attributes.table import AttributeTable
from heat_neo4j.database.batch_size import BatchSize
from heat_neo4j.database.connection import Connection
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.cursors import prefetch_parts
from heat_neo4j.database.read.element_ids import StoredKeys
from heat_neo4j.database.read.nodes import NodeTable, Positions, rows_by_key
from heat_neo4j.database.read.relationships import RelationshipTable
from heat_neo4j.database.read.scope import Scope, keys_of_nodes
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph, Provenance

try:
    from neo4j.vector import Vector
except ImportError:  # driver 5 has none
    Vector = None  # type: ignore[assignment,misc]

_SECOND, _DAY = 10**9, 86_400 * 10**9  # in nanoseconds
_MONTH = 2_629_746 * _SECOND  # 30.436875 days, a twelfth of the mean Gregorian year


def plain_values(values: list[Any]) -> list[Any]:
    """Return property values in the form that `AttributeTable` expects.

    They come as ``cypher/read/attributes.cypher`` returns them: dates and datetimes as numbers behind a null.
    Dates, times, durations and points become `heat_neo4j.attributes.kinds`, and vectors lists; all other
    values stay as they are, and a list that holds nothing else is returned itself.
    """
    if not set(map(type, values)) & set(_PLAIN):
        return values
    return [_PLAIN[type(value)](value) if type(value) in _PLAIN else value for value in values]


def _date_or_list(value: list[Any]) -> Any:
    if not value or value[0] is not None:
        return value
    _, seconds, nanoseconds = value
    return Date((seconds * _SECOND + nanoseconds) / _DAY)  # one rounding, of whole numbers


def _time(value: neo4j.time.Time) -> TimeOfDay:
    offset = value.utcoffset()
    ticks = value.ticks - (0 if offset is None else round(offset.total_seconds()) * _SECOND)
    return TimeOfDay(ticks % _DAY / _DAY)


def _duration(value: neo4j.time.Duration) -> Duration:
    whole = value.months * _MONTH + value.days * _DAY + value.seconds * _SECOND + value.nanoseconds
    return Duration(whole / _SECOND)


def _point(value: neo4j.spatial.Point) -> Point:
    return Point(value.srid or 0, tuple(map(float, value)))


_PLAIN: dict[type, Callable[[Any], Any]] = {
    list: _date_or_list,
    neo4j.time.Time: _time,
    neo4j.time.Duration: _duration,
    neo4j.spatial.Point: _point,
    neo4j.spatial.CartesianPoint: _point,
    neo4j.spatial.WGS84Point: _point,
    **({} if Vector is None else {Vector: Vector.to_native}),
}


def read_graph(
    connection: Connection,
    projection: Projection,
    recipe: Sequence[Mapping[str, Any]] | None = None,
    *,
    scratch: str | Path | None = None,
    with_keys: bool = True,
    on_progress: Progress = no_progress,
) -> Graph:
    """Read nodes, relationships and attributes into a `Graph`.

    The same data gives the same bits whatever order the server returns it in, and after it has been
    inserted anew if the projection names a `key`.

    Parameters
    ----------
    projection : Projection
        What to read.
    recipe : sequence of mappings, optional
        `Provenance.attribute_recipe` or `RunRecord.attribute_recipe` of an earlier reading, to encode the
        attributes with: unknown strings go to its column ``:other`` or are dropped, and a missing number
        takes its mean. By default a new one is learned.
    scratch : path of a folder, optional
        Folder for memory-mapped files of the graph's matrix, relationships, times and numeric attributes.
        Memory use then does not grow with the number of relationships; the bits are the same. The files have
        no names, and end with the graph or the process. By default the graph is in memory.
    with_keys : bool
        Whether the graph keeps the values of the projection's key, if it names one, as `Graph.keys`.

    Returns
    -------
    Graph
        With element ids, label masks, attribute names, and provenance with the counts met.

    Raises
    ------
    ProjectionError
        If a name does not exist, nothing matches, or a weight, time, key or attribute value cannot be
        used; as `RecipeError` if values do not fit the recipe.
    ConfigError
        If files cannot be made in `scratch`, or its disk is full.
    """
    scope = Scope.resolve(connection, projection).require()
    # Rows are sorted by keys, or by the number in the element id: no order of the server's decides anything.
    with Scratch(scratch) as folder:
        nodes = NodeTable.read(connection, scope, on_progress, folder)
        relationships = read_relationships(connection, scope, nodes, on_progress, folder)
        relationships.check()
        masks = nodes.label_masks()
        table = AttributeTable(
            projection.all_attributes,
            nodes.size,
            max_categories=projection.max_categories,
            labels=masks,
            scratch=folder,
            name_of=partial(name_of, connection, scope, nodes),
        )
        keys, places = projection.keys, projection.keys.places(masks, nodes.size)
        key_values: NDArray[np.object_] = np.full(nodes.size if keys.by_label else 0, None, dtype=object)
        present = np.zeros(nodes.size, dtype=np.bool_)
        for positions, values in read_properties(connection, scope, nodes, on_progress):
            present[positions] = True
            table.add(positions, values)
            if keys.by_label:
                key_values[positions] = keys.values(values, places[positions])
        order = np.flatnonzero(present)
        if not order.size:
            raise ProjectionError("all nodes that matched were deleted while they were read: read again")
        if keys.by_label:
            order = order[rows_by_key(keys, places[order], key_values[order].tolist())]
        row_of = np.full(nodes.size, -1, dtype=np.int64)
        row_of[order] = np.arange(order.size)
        table.check()
        attributes = table.finish(order) if recipe is None else table.apply(recipe, order)
        joined = relationships.join(row_of, order.size)
    stored = StoredKeys.of(keys, places[order], key_values[order].tolist()) if keys.by_label else None
    counts = {
        "nodes": order.size,
        "nodes_gone_while_reading": nodes.size - order.size,
        **relationships.counts,
    }
    if keys.labels:
        counts["nodes_without_key"] = int((places[order] < 0).sum())
    if recipe is not None:
        counts["values_unknown_to_recipe"] = attributes.unknown
    connection.trust.remember_filters(projection.node_filter, projection.relationship_filter)
    return Graph(
        joined.adjacency,
        attributes.matrix if projection.all_attributes else None,
        node_ids=nodes.element_ids(order, stored),
        keys=_named(key_values, nodes, order) if with_keys and keys.by_label else (),
        labels=nodes.label_masks(order),
        attribute_names=attributes.names,
        provenance=Provenance(projection.to_dict(), counts, attributes.recipe),
        edge_times=joined.edge_times,
        times_are_dates=relationships.times_are_dates,
        relationships=joined.relationships,
        checked=joined.adjacency,
    )


def _named(key_values: NDArray[np.object_], nodes: NodeTable, order: Positions) -> list[Any]:
    """Return the keys of nodes, or the element id of a node without one."""
    names: list[Any] = key_values[order].tolist()
    for row, name in enumerate(names):
        if name is None:
            names[row] = nodes.element_ids(order[row : row + 1])[0]
    return names


def read_relationships(
    connection: Connection,
    scope: Scope,
    nodes: NodeTable,
    on_progress: Progress,
    scratch: Scratch = IN_MEMORY,
) -> RelationshipTable:
    """Read each outgoing relationship of `nodes` once. Weights and times are not checked."""
    weight, time = scope.projection.weight, scope.projection.time
    ours: dict[str, Any] = {"prefix": len(nodes.prefix)}
    if time is not None:
        name = "read/detailed_relationships"
        ours |= {"weight": weight, "time": time}
    elif weight is not None:
        name = "read/weighted_relationships"
        ours["weight"] = weight
    else:
        name = "read/relationships"
    statement = load_statement(name, **scope.relationships())
    table = RelationshipTable(
        scope.projection, nodes.size, partial(name_of, connection, scope, nodes), scratch
    )
    read, most = 0, int(nodes.degrees.sum())
    on_progress("reading relationships", read, most)

    def fetch(positions: Positions) -> list[neo4j.Record]:
        parameters = scope.parameters(ids=list(nodes.element_ids(positions)), **ours)
        return connection.read(statement, parameters, doing="reading relationships", divisible=True)

    chunks = nodes.chunks(connection.limits.nodes, connection.limits.relationships)
    for positions, records in prefetch_parts(fetch, chunks):
        for record in records:
            table.add(
                record["type"],
                positions[np.array(record["sources"], dtype=np.int64)],
                nodes.positions_of(np.array(record["targets"], dtype=np.int64)),
                None if weight is None else record["weights"],
                None if time is None else (record["seconds"], record["others"]),
            )
        read = table.counts["relationships"]
        on_progress("reading relationships", read, max(most, read + 1))
    on_progress("reading relationships", read, read)
    return table


def name_of(connection: Connection, scope: Scope, nodes: NodeTable, position: int) -> str:
    """Return the name, as `name_by_id` gives it, of the node at a position."""
    labels = nodes.label_sets[nodes.label_codes[position]]
    return name_by_id(connection, scope, nodes.element_ids(np.array([position]))[0], labels)


def name_by_id(connection: Connection, scope: Scope, element_id: str, labels: Collection[str]) -> str:
    """Return a node's key for a message, or its element id if it has no key or was deleted."""
    keys = scope.projection.keys
    if not keys.by_label:
        return element_id
    parameters = {"heat_ids": [element_id], "heat_keys": list(keys.properties)}
    statement = load_statement("read/attributes", labels=scope.nodes()["labels"])
    record = connection.read(statement, parameters, doing="reading keys")[0]
    if not record["positions"]:
        return element_id
    values = {
        name: plain_values(column)[0] for name, column in zip(keys.properties, record["columns"], strict=True)
    }
    key = keys.value_of(labels, values)
    return element_id if key is None else repr(key)


def read_properties(
    connection: Connection, scope: Scope, nodes: NodeTable, on_progress: Progress
) -> Iterator[tuple[Positions, dict[str, list[Any]]]]:
    """Read attributes and keys of all nodes in chunks that shrink if values are long.

    Yield the nodes of a chunk that still exist, and their `plain_values` of each property. A node that is
    never among them has been deleted.
    """
    attributes = [attribute.key for attribute in scope.projection.all_attributes]
    names = list(dict.fromkeys([*attributes, *scope.projection.keys.properties]))
    statement = load_statement("read/attributes", labels=scope.nodes()["labels"])
    limits = connection.limits
    size = limits.first_nodes if names else limits.nodes

    def fetch(chunk: Positions) -> neo4j.Record:
        parameters = {"heat_ids": list(nodes.element_ids(chunk)), "heat_keys": names}
        return connection.read(statement, parameters, doing="reading attributes", divisible=True)[0]

    def chunks() -> Iterator[Positions]:
        start = 0
        while start < nodes.size:
            chunk = np.arange(start, min(start + size, nodes.size))
            yield chunk
            start += chunk.size

    on_progress("reading attributes", 0, nodes.size)
    for chunk, record in prefetch_parts(fetch, chunks()):
        columns = list(map(plain_values, record["columns"]))
        yield chunk[np.array(record["positions"], dtype=np.int64)], dict(zip(names, columns, strict=True))
        most = limits.values * chunk.size // max(sum(map(_length, columns)), 1)
        size = min(max(most, 1), limits.nodes)
        on_progress("reading attributes", int(chunk[-1]) + 1, nodes.size)


def read_property(connection: Connection, graph: Graph, name: str) -> list[Any]:
    """Read the property `name` of a graph's nodes as it is stored, whatever its type.

    Returns
    -------
    list
        One value per row; None where a node has none.

    Raises
    ------
    ValueError
        If the graph came from no database.
    ProjectionError
        If no node of the graph has the property, or nodes have been deleted since it was read.
    """
    if len(graph.node_ids) != graph.n_nodes:
        raise ValueError("the graph has no element ids: it was not read from a database")
    statement, values = load_statement("read/properties"), list[Any]()

    def read(ids: Sequence[str]) -> list[Any]:
        parameters, doing = {"heat_ids": list(ids), "heat_keys": [name]}, f"reading property {name!r}"
        (record,) = connection.read(statement, parameters, doing=doing, divisible=True)
        return list(record["columns"][0])

    for _, column in BatchSize(connection.limits.nodes).parts(read, graph.node_ids):
        values.extend(column)
    if len(values) != graph.n_nodes:
        gone = graph.n_nodes - len(values)
        raise ProjectionError(
            f"{gone:,} of {graph.n_nodes:,} nodes were deleted since the graph was read: read again"
        )
    if all(value is None for value in values):
        hint = did_you_mean(name, keys_of_nodes(connection, list(graph.labels)))
        raise ProjectionError(f"no node of the projection has a property {name!r}{hint}")
    return values


def read_properties_of(
    connection: Connection, ids: Sequence[str], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the properties `names` of some nodes, given by element ids, for each that still exists."""
    parameters = {"heat_ids": list(ids), "heat_keys": list(names)}
    (record,) = connection.read(load_statement("read/properties"), parameters, doing="reading properties")
    rows = zip(record["positions"], zip(*record["columns"], strict=True), strict=True)
    return {ids[position]: dict(zip(names, values, strict=True)) for position, values in rows}


def _length(column: Sequence[Any]) -> int:
    """Estimate a column's size in memory, in units of 8 bytes."""
    lists = [value for value in column if type(value) is list]
    texts = [value for value in column if type(value) is str]
    of_texts = chain.from_iterable(value for value in lists if value and type(value[0]) is str)
    characters = sum(map(len, texts)) + sum(map(len, of_texts))
    return len(column) + sum(map(len, lists)) + characters // 8
