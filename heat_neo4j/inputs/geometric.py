"""Graphs of PyTorch Geometric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Graph
from heat_neo4j.inputs.edges import make_matrix, make_relationships
from heat_neo4j.inputs.properties import NodeProperties

__all__ = ["graph_of_data", "graph_of_hetero_data"]


def graph_of_data(data: Any, properties: NodeProperties, weight: str, type: str) -> Graph:
    """Return the graph of a ``Data``: of "edge_index", weights and "x"."""
    n = int(data.num_nodes)
    source, target = _ends(data)
    weights = _weights(data, weight, len(source))
    matrix = make_matrix(source, target, weights, n)
    columns, names = properties.of_rows(n)
    is_directed = abs(matrix - matrix.T).nnz > 0
    return properties.graph(
        sparse.csr_array(matrix + matrix.T) if is_directed else matrix,
        columns,
        keys=names,
        relationships=make_relationships(source, target, weights) if is_directed else None,
        numbers=_features(data),
    )


def graph_of_hetero_data(data: Any, properties: NodeProperties, weight: str, type: str) -> Graph:
    """Return the graph of a ``HeteroData``: types of nodes are labels, types of edges those of relationships.

    The columns of "x" of one type of nodes are 0 for those of others.
    """
    sizes = {kind: int(data[kind].num_nodes) for kind in data.node_types}
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True))
    n = sum(sizes.values())
    sources, targets, weights, types = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)], []
    for first, name, second in data.edge_types:
        edges = data[first, name, second]
        source, target = _ends(edges)
        sources.append(source + starts[first])
        targets.append(target + starts[second])
        weights.append(_weights(edges, weight, len(source)))
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
    )


def _ends(edges: Any) -> NDArray[np.int64]:
    index = _numbers(edges.edge_index)
    return np.empty((2, 0), dtype=np.int64) if index is None else index.astype(np.int64)


def _weights(edges: Any, name: str, count: int) -> NDArray[np.float64]:
    """Return the weights: of the attribute of that name, of "edge_weight", or of "edge_attr" if one each."""
    for each in (name, "edge_weight", "edge_attr"):
        values = _numbers(getattr(edges, each, None))
        if values is not None and values.size == count:
            return values.astype(np.float64).ravel()
    return np.ones(count)


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
