"""Graphs of NetworkX and igraph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from heat_neo4j._utils.display import plural
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.columns import find_column
from heat_neo4j.inputs.edges import edge_types, edge_weights, make_matrix, make_relationships
from heat_neo4j.inputs.properties import NodeProperties
from heat_neo4j.inputs.values import check_names, plain_value


def graph_of_networkx(data: Any, properties: NodeProperties, chosen: Mapping[str, str | None]) -> Graph:
    """Convert a NetworkX graph, directed or not, with or without parallel edges."""
    nodes = list(data.nodes)
    check_names(nodes)
    row_of = {node: row for row, node in enumerate(nodes)}
    edges = list(data.edges(data=True))
    return _graph(
        nodes,
        [(row_of[source], row_of[target]) for source, target, _ in edges],
        properties,
        chosen,
        is_directed=data.is_directed(),
        of_edges=lambda name: [values.get(name) for _, _, values in edges],
        known_of_edges=list(dict.fromkeys(name for _, _, values in edges for name in values)),
        own=lambda name: [data.nodes[node].get(name) for node in nodes],
        known=sorted({str(name) for node in nodes for name in data.nodes[node]}),
    )


def graph_of_igraph(data: Any, properties: NodeProperties, chosen: Mapping[str, str | None]) -> Graph:
    """Convert an igraph graph. Nodes are named by their attribute "name" if there is one."""
    n_nodes, of_nodes = data.vcount(), data.vs.attributes()
    names = list(data.vs["name"]) if "name" in of_nodes else list(range(n_nodes))
    check_names(names)
    return _graph(
        names,
        data.get_edgelist(),
        properties,
        chosen,
        is_directed=data.is_directed(),
        of_edges=data.es.__getitem__,
        known_of_edges=data.es.attributes(),
        own=data.vs.__getitem__,
        known=sorted(of_nodes),
    )


def _graph(
    names: list[Any],
    pairs: Sequence[tuple[int, int]],
    properties: NodeProperties,
    chosen: Mapping[str, str | None],
    *,
    is_directed: bool,
    of_edges: Callable[[str], Sequence[Any]],
    known_of_edges: Sequence[Any],
    own: Callable[[str], Sequence[Any]],
    known: Sequence[str],
) -> Graph:
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    texts = [name for name in known_of_edges if isinstance(name, str)]
    used: dict[str, list[Any]] = {}
    reading = []
    for role in ("weight", "type"):
        place = find_column(texts, role, chosen.get(role))
        if place is not None:
            used[role] = list(map(plain_value, of_edges(texts[place])))
            reading.append(f"{role} = {texts[place]}")
    weight = np.ones(len(source))
    if "weight" in used:
        weight = edge_weights(used["weight"], reading[0].partition(" = ")[2], default=1.0)
    matrix = make_matrix(source, target, weight, len(names))
    types, _ = edge_types(used.get("type"))
    parts = [", ".join(reading), plural(len(source), f"{'' if is_directed else 'un'}directed edge")]
    return properties.graph(
        sparse.csr_array(matrix + matrix.T),
        properties.of_nodes(names, own, known),
        keys=names,
        relationships=make_relationships(source, target, weight, types) if is_directed else None,
        readings=[f"edges: {'; '.join(filter(None, parts))}"],
    )
