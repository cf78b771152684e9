"""Graphs of NetworkX and igraph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from heat_neo4j.graph import Graph
from heat_neo4j.inputs.edges import make_matrix, make_relationships
from heat_neo4j.inputs.properties import NodeProperties, check_names

__all__ = ["graph_of_igraph", "graph_of_networkx"]


def graph_of_networkx(data: Any, properties: NodeProperties, weight: str, type: str) -> Graph:
    """Return the graph of a NetworkX graph, directed or not, with parallel edges or not."""
    nodes = list(data.nodes)
    row_of = {node: row for row, node in enumerate(nodes)}
    edges = list(data.edges(data=True))
    return _graph(
        nodes,
        [(row_of[source], row_of[target]) for source, target, _ in edges],
        properties,
        is_directed=data.is_directed(),
        weights=[values.get(weight) for _, _, values in edges],
        types=[values.get(type) for _, _, values in edges],
        own=lambda name: [data.nodes[node].get(name) for node in nodes],
        known=sorted({str(name) for node in nodes for name in data.nodes[node]}),
    )


def graph_of_igraph(data: Any, properties: NodeProperties, weight: str, type: str) -> Graph:
    """Return the graph of an igraph graph, its nodes named by their attribute "name" if they have one."""
    n_nodes, of_nodes, of_edges = data.vcount(), data.vs.attributes(), data.es.attributes()
    nothing = [None] * data.ecount()
    return _graph(
        list(data.vs["name"]) if "name" in of_nodes else list(range(n_nodes)),
        data.get_edgelist(),
        properties,
        is_directed=data.is_directed(),
        weights=data.es[weight] if weight in of_edges else nothing,
        types=data.es[type] if type in of_edges else nothing,
        own=data.vs.__getitem__,
        known=sorted(of_nodes),
    )


def _graph(
    names: list[Any],
    pairs: Sequence[tuple[int, int]],
    properties: NodeProperties,
    *,
    is_directed: bool,
    weights: Sequence[Any],
    types: Sequence[Any],
    own: Callable[[str], Sequence[Any]],
    known: Sequence[str],
) -> Graph:
    check_names(names)
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    weight = np.array([1.0 if each is None else each for each in weights], dtype=np.float64)
    matrix = make_matrix(source, target, weight, len(names))
    return properties.graph(
        sparse.csr_array(matrix + matrix.T),
        properties.of_nodes(names, own, known),
        keys=names,
        relationships=make_relationships(source, target, weight, types) if is_directed else None,
    )
