"""Graphs from data frames: one of edges, and optionally one of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from heat_neo4j._utils.display import plural
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.columns import edge_columns
from heat_neo4j.inputs.edges import edge_types, edge_weights, make_matrix, make_relationships
from heat_neo4j.inputs.properties import NodeProperties, column_names, column_values
from heat_neo4j.inputs.values import check_names, plain_column, plain_name

_WHAT = "data frame of edges"


def graph_of_frame(
    edges: nw.DataFrame[Any], properties: NodeProperties, chosen: Mapping[str, str | None]
) -> Graph:
    """Return the graph of a data frame of edges; see `as_graph`."""
    try:
        held = edge_columns(column_names(edges), chosen)
    except ValueError as error:
        raise ValueError(f"the {_WHAT}: {error}") from error
    sources, targets = (
        list(map(plain_name, column_values(edges, place).to_list())) for place in (held.source, held.target)
    )
    missing = [row for row, ends in enumerate(zip(sources, targets, strict=True)) if None in ends]
    if missing:
        count = f"{len(missing):,} of {plural(len(edges), 'edge')} of the data frame"
        raise ValueError(f"{count} are without a source or a target, first row {missing[0]}")
    columns, names = properties.by_name({*sources, *targets})
    others = _sorted({*sources, *targets} - {*names})
    names = [*names, *others]
    row_of = check_names(names)
    source, target = (np.array([row_of[name] for name in ends], np.int64) for ends in (sources, targets))
    weights = np.ones(len(edges))
    if held.weight is not None:
        values = plain_column(column_values(edges, held.weight))
        if None in values:
            where = f"the edge in row {values.index(None)} has no {held.names[held.weight]!r}"
            raise ValueError(f"{where}, and {values.count(None)} of {len(values)} have none")
        weights = edge_weights(values, held.names[held.weight])
    kinds = None if held.type is None else plain_column(column_values(edges, held.type))
    types, is_directed = edge_types(kinds)
    matrix = make_matrix(source, target, weights, len(names))
    directed = is_directed and held.is_directed
    without = ["time"] if kinds is None or types is not None else ["time", "type"]
    first = (sources[0], targets[0]) if sources else ()
    return properties.graph(
        sparse.csr_array(matrix + matrix.T),
        {name: [*values, *[None] * len(others)] for name, values in columns.items()},
        keys=names,
        relationships=make_relationships(source, target, weights, types) if directed else None,
        readings=[f"{_WHAT}: {held.reading(without, len(edges), first, is_directed=directed)}"],
    )


def _sorted(names: set[Any]) -> Sequence[Any]:
    try:
        return sorted(names)
    except TypeError as error:
        kinds = " and ".join(sorted({type(name).__name__ for name in names}))
        raise ValueError(f"the names of nodes must be of one kind, and are {kinds}") from error
