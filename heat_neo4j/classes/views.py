"""Views of a node by which its class is predicted, each an array with rows of length about 1.

The views are its coordinates, its attributes, those of its neighbours, and its relationships. None
contains a class, so a model may see all nodes in them.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from heat_neo4j.embedding.comparison import compared_block
from heat_neo4j.geometry.hyperboloid import log_map
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]

COORDINATES, ATTRIBUTES, LINKS = "coordinates", "attributes", "relationships"
NEIGHBOURS = "attributes of neighbours"
_COMPONENTS = 256
_FILLED = 0.25  # a column filled for this share of nodes is centred; the others are weighted like words


def views(
    embedding: Array | None, graph: Graph, seed: int, without: Collection[str] = ()
) -> dict[str, Array]:
    """Return the views of all nodes by name, each of shape (N, at most 256).

    `embedding` has shape (N, d + 1), on the hyperboloid; without it there are no coordinates. The properties
    `without` are left out of the attributes. A view without information, such as constant attributes, is left
    out.
    """
    found = {} if embedding is None else {COORDINATES: _evened(tangent(embedding))}
    columns = _columns(graph, without)
    if columns is not None:
        own = _unit(_reduced(columns, seed))
        walk = normalized_adjacency(graph)
        found |= {ATTRIBUTES: own, NEIGHBOURS: _unit(walk @ (walk @ own))}
    found[LINKS] = _unit(_reduced(_weighted(_relationships(graph)), seed))
    return {name: view for name, view in found.items() if view.any()}


def together(parts: dict[str, Array]) -> Array:
    """Return all views side by side, with rows of length about 1."""
    side_by_side: Array = np.hstack(list(parts.values()))
    return side_by_side / math.sqrt(len(parts))


def tangent(points: Array) -> Array:
    """Return points as vectors of the tangent space at the origin, shape (N, d)."""
    origin = np.zeros_like(points)
    origin[:, -1] = 1.0
    return log_map(origin, points)[:, :-1]


def normalized_adjacency(graph: Graph) -> sparse.csr_array:
    """Return D^-1/2 (A + I) D^-1/2 of the unweighted graph, as in SGC (Wu et al., 2019)."""
    own = graph.adjacency
    joined = sparse.csr_array((np.ones_like(own.data), own.indices, own.indptr), shape=own.shape)
    joined = sparse.csr_array(joined + sparse.eye_array(graph.n_nodes, format="csr"))
    scale = sparse.diags_array(1.0 / np.sqrt(np.diff(joined.indptr)))
    return sparse.csr_array(scale @ joined @ scale)


def _columns(graph: Graph, without: Collection[str]) -> sparse.csr_array | None:
    """Return the weighted attributes; each property counts alike if the graph tells them apart."""
    if graph.attributes is None or not graph.n_attributes:
        return None
    blocks = [
        _unit(_weighted(sparse.csr_array(compared_block(entry, graph.attributes[:, columns], known))))
        for entry, columns, known in graph.attribute_blocks()
        if entry["property"] not in without
    ]
    if graph.provenance.attribute_recipe:
        return sparse.csr_array(sparse.hstack(blocks)) if blocks else None
    return sparse.csr_array(_unit(_weighted(sparse.csr_array(graph.attributes))))


def _unit(rows: Any) -> Any:
    """Return the rows scaled to length 1; scikit-learn refuses rows without columns."""
    return normalize(rows) if rows.shape[1] else rows


def _weighted(columns: sparse.csr_array) -> sparse.csr_array:
    """Weight rare columns by their inverse frequency, like words, and standardise the others."""
    n, by_column = columns.shape[0], sparse.csc_array(columns, dtype=np.float64)
    by_column.eliminate_zeros()
    filled = np.diff(by_column.indptr)
    # Powers of 2 change no bit of the result, and keep squares of weights of 1e-290 or 1e290 in range.
    exponents = np.frexp(abs(by_column).max(axis=0).toarray().ravel())[1]
    by_column.data = np.ldexp(by_column.data, -np.repeat(exponents, filled))
    squares: Array = np.asarray(by_column.multiply(by_column).sum(axis=0)).ravel()
    thin = (filled > 0) & (filled < _FILLED * n)
    usual = np.sqrt(squares[thin] / filled[thin])
    words = by_column[:, thin] @ sparse.diags_array(np.log(n / filled[thin]) / usual)
    dense = by_column[:, filled >= _FILLED * n].toarray()
    dense -= dense.mean(axis=0)
    deviation = dense.std(axis=0)
    dense = dense[:, deviation > 0.0] / deviation[deviation > 0.0]
    return sparse.csr_array(sparse.hstack([words, sparse.csc_array(dense)]))


def _relationships(graph: Graph) -> sparse.csr_array:
    """Return the neighbours of each node, by type and direction; a column is a neighbour of several nodes."""
    n, own = graph.n_nodes, graph.relationships
    if own is None or not own.types:
        matrix = graph.adjacency
    else:
        directed = [own.matrix(name, n) for name in own.types]
        matrix = sparse.csr_array(sparse.hstack([part for each in directed for part in (each, each.T)]))
    return sparse.csr_array(
        sparse.csc_array(matrix)[:, np.bincount(matrix.indices, minlength=matrix.shape[1]) > 1]
    )


def _reduced(columns: sparse.csr_array, seed: int) -> Array:
    """Return the first components of a truncated SVD; all columns if there are few."""
    if min(columns.shape) <= _COMPONENTS:
        return columns.toarray()
    svd = TruncatedSVD(_COMPONENTS, random_state=seed)
    return np.asarray(svd.fit_transform(columns), dtype=np.float64)


def _evened(columns: Array) -> Array:
    """Return the columns with mean 0 and equal deviations, such that rows have length 1 on average."""
    centred = columns - columns.mean(axis=0)
    deviation: Any = centred.std(axis=0)
    kept = centred[:, deviation > 0.0] / deviation[deviation > 0.0]
    return np.asarray(kept / np.sqrt(max(kept.shape[1], 1)))
