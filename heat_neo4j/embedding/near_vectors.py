"""Lists of the nodes with the most similar vectors, from which attribute teleports are drawn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels import near_vectors as kernels
from heat_neo4j._kernels.projection import make_unit
from heat_neo4j._kernels.vectors import SHORT_LANES, padded_width
from heat_neo4j._utils.scratch import slices
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.graph import Graph

LISTED = 100
"""Maximum number of nodes in a node's list."""
EXACT = 6_000
"""Largest N for which all pairs are compared."""

_LEAF, _TREES, _FIRST = 128, 8, 16


def vector_rows(graph: Graph) -> NDArray[np.float32] | None:
    """Return the vectors of a graph, shape (N, W), W a multiple of 16; None if it has none.

    Rows are of length 1, or 0 for nodes without a vector. Several vectors of a node are joined, so that their
    cosines are averaged.
    """
    vectors = [columns for entry, columns, _ in graph.attribute_blocks() if is_vector(entry)]
    return _joined(graph, vectors) if vectors else None


def with_attributes(graph: Graph, keeps: Sequence[bool]) -> Graph:
    """Return the graph with only the attributes for which `keeps` is true."""
    assert graph.attributes is not None
    kept = np.zeros(graph.n_attributes, dtype=np.bool_)
    recipe = []
    for keep, (entry, columns, _) in zip(keeps, graph.attribute_blocks(), strict=True):
        kept[columns] = keep
        recipe += [entry] if keep else []
    return replace(
        graph,
        attributes=graph.attributes[:, np.flatnonzero(kept)],
        attribute_names=(),
        provenance=replace(graph.provenance, attribute_recipe=recipe),
    )


def near_lists(
    rows: NDArray[np.float32], team: WorkerThreads = ALONE, *, exact: int = EXACT, leaf: int = _LEAF
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the most similar nodes of each node, and their weights, cumulated; shape (N, k) each.

    The weight of a node is the cube of its cosine: on WordNet's glosses and Citeseer's words, cubes found
    more held-out links than cosines, whose sum comes mostly from pairs that are hardly alike. See `nearest`.
    """
    near, weights = nearest(rows, LISTED, team, exact=exact, leaf=leaf)
    kernels.cumulate_cubes(weights)
    return near, weights


def near_matrix(graph: Graph, k: int) -> sparse.csr_array | None:
    """Return the cosines of each node with its `k` most similar ones, shape (N, N); None without vectors."""
    rows = vector_rows(graph)
    if rows is None:
        return None
    near, cosines = nearest(rows, k)
    there = near != kernels.NOBODY
    parts = cosines[there].astype(np.float64), near[there], np.append(0, np.cumsum(there.sum(axis=1)))
    return sparse.csr_array(parts, shape=(graph.n_nodes, graph.n_nodes))


def nearest(
    rows: NDArray[np.float32],
    most: int,
    team: WorkerThreads = ALONE,
    *,
    exact: int = EXACT,
    leaf: int = _LEAF,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the most similar nodes of each node, and their cosines; shape (N, k) each, k at most `most`.

    Lists are sorted by descending cosine; free places have -1 and the cosine 0. They hold the nearest nodes
    up to `exact` nodes, beyond it most of them, by trees with leaves of `leaf` nodes.
    """
    there = np.flatnonzero(rows.any(axis=1))
    k = max(min(most, there.size - 1), 1)
    known = rows if there.size == len(rows) else rows[there]
    near = np.full((there.size, k), kernels.NOBODY, dtype=np.int32)
    cosines = np.zeros((there.size, k), dtype=np.float32)
    is_exact = there.size <= exact
    orders = np.empty((1 if is_exact else _TREES, there.size), dtype=np.int32)
    leaf = max(there.size, 1) if is_exact else leaf
    bounds = kernels.leaves(there.size, leaf)
    team.run(kernels.grow_trees, known, leaf, orders)
    for order in orders:
        team.run(kernels.compare_leaves, known, order, bounds, near, cosines)
    if not is_exact:
        team.run(kernels.compare_neighbours, known, near.copy(), _FIRST, near, cosines)
    if known is rows:
        return near, cosines
    found = np.full((len(rows), k), kernels.NOBODY, dtype=np.int32)
    values = np.zeros((len(rows), k), dtype=np.float32)
    found[there] = np.where(near == kernels.NOBODY, kernels.NOBODY, there[near])
    values[there] = cosines
    return found, values


def _joined(graph: Graph, vectors: Sequence[slice]) -> NDArray[np.float32]:
    values: Any = graph.attributes
    wide = sum(columns.stop - columns.start for columns in vectors)
    width = padded_width(wide, SHORT_LANES)
    if values.dtype == np.float32 and values.shape[1] == width == wide and len(vectors) == 1:
        rows: NDArray[np.float32] = values
        return rows
    rows = np.zeros((graph.n_nodes, width), dtype=np.float32)
    for part in slices(graph.n_nodes, values.shape[1]):
        block = values[part]
        block = block if isinstance(block, np.ndarray) else block.toarray()
        rows[part, :wide] = np.hstack([block[:, columns] for columns in vectors])
    make_unit(rows)
    return rows
