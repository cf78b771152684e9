"""Graphs from data frames: one of edges, and perhaps one of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.edges import make_matrix, make_relationships
from heat_neo4j.inputs.properties import NodeProperties, check_names
from heat_neo4j.inputs.values import plain_column

__all__ = ["graph_of_frame"]


def graph_of_frame(edges: nw.DataFrame[Any], properties: NodeProperties, weight: str, type: str) -> Graph:
    """Return the graph of a data frame of edges; see `as_graph`."""
    sources, targets = (plain_column(edges[name]) for name in _ends(edges.columns))
    columns, names = properties.by_name()
    others = {*sources, *targets} - {*names}
    if None in others:
        raise ValueError("the data frame of edges has an edge without a source or a target")
    names += _sorted(others)
    row_of = check_names(names)
    source, target = (np.array([row_of[name] for name in ends], np.int64) for ends in (sources, targets))
    weights = _weights(edges, weight)
    matrix = make_matrix(source, target, weights, len(names))
    types = plain_column(edges[type]) if type in edges.columns else None
    return properties.graph(
        sparse.csr_array(matrix + matrix.T),
        {name: [*values, *[None] * len(others)] for name, values in columns.items()},
        keys=names,
        relationships=make_relationships(source, target, weights, types),
    )


def _ends(columns: Sequence[str]) -> Sequence[str]:
    """Return the names of the columns with the ends of the edges."""
    for name, other in (("source", "target"), ("target", "source")):
        if name in columns and other not in columns:
            hint = did_you_mean(other, columns)
            raise ValueError(f"the data frame of edges has a column {name!r} and none named {other!r}{hint}")
    if len(columns) < 2:
        raise ValueError("a data frame of edges needs two columns: the sources, and the targets")
    return ("source", "target") if "source" in columns else columns[:2]


def _weights(edges: nw.DataFrame[Any], name: str) -> NDArray[np.float64]:
    if name not in edges.columns:
        return np.ones(len(edges))
    values = plain_column(edges[name])
    if None in values:
        raise ValueError(f"the edge in row {values.index(None)} has no {name!r}")
    return np.array(values, dtype=np.float64)


def _sorted(names: set[Any]) -> list[Any]:
    try:
        return sorted(names)
    except TypeError as error:
        raise ValueError(
            "the names of nodes must be of one kind, such as all texts or all numbers"
        ) from error
