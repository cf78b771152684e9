"""Graphs of NetworkX, igraph and PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
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


def graph_of_data(data: Any, properties: NodeProperties, chosen: Mapping[str, str | None]) -> Graph:
    """Convert a ``Data`` object: "edge_index", weights and "x"."""
    n = int(data.num_nodes)
    source, target = _ends(data, "the graph", n, n)
    weights, reading = _weights(data, chosen, len(source))
    matrix = make_matrix(source, target, weights, n)
    columns, names = properties.of_rows(n)
    is_directed = abs(matrix - matrix.T).nnz > 0
    return properties.graph(
        sparse.csr_array(matrix + matrix.T) if is_directed else matrix,
        columns,
        keys=names,
        relationships=make_relationships(source, target, weights) if is_directed else None,
        numbers=_features(data),
        readings=[reading],
    )


def graph_of_hetero_data(data: Any, properties: NodeProperties, chosen: Mapping[str, str | None]) -> Graph:
    """Convert a ``HeteroData`` object: node types become labels, edge types become relationship types.

    The columns of "x" of one node type are 0 for other types.
    """
    sizes = {kind: int(data[kind].num_nodes) for kind in data.node_types}
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True))
    n = sum(sizes.values())
    sources, targets, weights, types = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)], []
    readings = []
    for first, name, second in data.edge_types:
        edges = data[first, name, second]
        pattern = f"({first})-[{name}]->({second})"
        source, target = _ends(edges, pattern, sizes[first], sizes[second])
        sources.append(source + starts[first])
        targets.append(target + starts[second])
        own, reading = _weights(edges, chosen, len(source))
        weights.append(own)
        readings.append(f"{pattern}: {reading}")
        types += [name] * len(source)
    all_ends = np.concatenate(sources), np.concatenate(targets), np.concatenate(weights)
    matrix = make_matrix(*all_ends, n)
    columns, names = properties.of_rows(n)
    return properties.graph(
        sparse.csr_array(matrix + matrix.T),
        columns,
        keys=names or [(kind, row) for kind, size in sizes.items() for row in range(size)],
        relationships=make_relationships(*all_ends, types),
        numbers=_features_by_kind(data, sizes),
        labels={
            kind: (np.arange(n) >= starts[kind]) & (np.arange(n) < starts[kind] + size)
            for kind, size in sizes.items()
        },
        readings=readings,
    )


def _ends(edges: Any, what: str, n_sources: int, n_targets: int) -> NDArray[np.int64]:
    """Return the rows of sources and targets; raises ValueError if a row does not exist."""
    index = _numbers(edges.edge_index)
    if index is None:
        return np.empty((2, 0), dtype=np.int64)
    ends = index.astype(np.int64).reshape(2, -1)
    for role, rows, n in (("source", ends[0], n_sources), ("target", ends[1], n_targets)):
        beyond = np.flatnonzero((rows < 0) | (rows >= n))
        if len(beyond):
            where = f"{what}: edge {beyond[0]} has the {role} {rows[beyond[0]]}, but only {n} nodes exist"
            raise ValueError(f"{where}; so have {len(beyond)} of {len(rows)} edges: correct num_nodes")
    return ends


def _weights(edges: Any, chosen: Mapping[str, str | None], count: int) -> tuple[NDArray[np.float64], str]:
    """Return the weights, and a description of their source.

    Uses the chosen attribute, or "weight", "edge_weight" or "edge_attr" if it has one number per edge.
    Integers in "edge_attr" are edge classes, not weights.
    """
    name = chosen.get("weight")
    for each in ("weight", "edge_weight", "edge_attr") if name is None else (name,):
        values = _numbers(getattr(edges, each, None))
        if values is None or values.size != count or values.dtype.kind not in "biuf":
            continue
        if name is None and each == "edge_attr" and values.dtype.kind != "f":
            return np.ones(count), f"left out: edge_attr (whole numbers); {plural(count, 'edge')}"
        return values.astype(np.float64).ravel(), f"weight = {each}; {plural(count, 'edge')}"
    if name is not None:
        raise ValueError(f"no attribute {name!r} has a number for each of {count} edges")
    return np.ones(count), plural(count, "edge")


def _features(nodes: Any) -> NDArray[np.float64] | None:
    values = _numbers(getattr(nodes, "x", None))
    return None if values is None else values.astype(np.float64).reshape(len(values), -1)


def _features_by_kind(data: Any, sizes: dict[str, int]) -> sparse.csr_array | None:
    blocks = []
    for kind, size in sizes.items():
        features = _features(data[kind])
        blocks.append(sparse.csr_array((size, 0) if features is None else features))
    together = sparse.csr_array(sparse.block_diag(blocks, format="csr"))
    return together if together.shape[1] else None


def _numbers(values: Any) -> NDArray[Any] | None:
    """Return a tensor, on whatever device, as an array."""
    if values is None:
        return None
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
