"""The law of attribute teleports: Y_uv = max(cos(z_u, z_v), 0), Y_uu = 0, z standard-scaled (HEAT, 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels import similarity as kernels
from heat_neo4j._kernels.random import alias_slots
from heat_neo4j._kernels.similarity import INVERSE_NORM, Similarity
from heat_neo4j._team import ALONE, Team
from heat_neo4j.graph import Graph

__all__ = ["TABLE_LIMIT", "make_similarity", "neighbour_similarity", "no_similarity", "scaled"]

TABLE_LIMIT = 6000
"""Largest N for which the N x N table of cumulative similarities is used (144 MB in float32 at the limit)."""


def scaled(
    attributes: sparse.csr_array | NDArray[np.float64],
) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Return (e, m) such that e - m is the standard-scaled matrix, with e as sparse as the input.

    Parameters
    ----------
    attributes : CSR array or float64 array of shape (N, F)
        Raw values. Constant columns carry no information and are dropped.

    Returns
    -------
    e : csr_array of shape (N, F')
        Values divided by their column's standard deviation.
    m : float64 array of shape (F',)
        Column mean over standard deviation.
    """
    x = sparse.csc_array(attributes)
    n = x.shape[0]
    mean = np.asarray(x.sum(axis=0)).ravel() / n
    # Two passes, so that a column far from zero keeps its variance.
    entries = np.diff(x.indptr)
    centred = x.data - np.repeat(mean, entries)
    columns = np.repeat(np.arange(x.shape[1]), entries)
    squares = np.bincount(columns, weights=centred * centred, minlength=x.shape[1])
    variance = (squares + (n - entries) * mean * mean) / n
    std = np.sqrt(variance)
    keep = std > 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny)
    scale = np.where(keep, 1.0 / np.where(keep, std, 1.0), 0.0)
    kept = np.flatnonzero(keep)
    e = sparse.csr_array((sparse.csc_array(x) @ sparse.diags_array(scale, format="csc"))[:, kept])
    e.eliminate_zeros()
    e.sort_indices()
    return e, (mean * scale)[kept]


def no_similarity() -> Similarity:
    """Return the law under which nothing is similar to anything."""
    return _assemble(use_table=False)


def neighbour_similarity(nodes: NDArray[np.int64], weights: NDArray[np.float64]) -> Similarity:
    """Return the law that draws from a list of each node's own.

    Parameters
    ----------
    nodes, weights : int64 and float64 arrays of shape (N, K)
        The lists; a weight of 0 is never drawn.
    """
    return _assemble(
        use_table=False, near_nodes=nodes.astype(np.int32), near_cumulative=np.cumsum(weights, axis=1)
    )


def make_similarity(graph: Graph, *, table_limit: int = TABLE_LIMIT, team: Team = ALONE) -> Similarity:
    """Prepare exact sampling of attribute teleports.

    Up to `table_limit` nodes each row's cumulative similarities are stored (N x N float32); beyond,
    rows are sampled by rejection under a feature envelope, in memory O(nnz + N + F).

    Parameters
    ----------
    graph : Graph
        Its attributes may be None.
    table_limit : int
        Largest number of nodes for which the table is built.
    team : Team
        Threads that build it.

    Returns
    -------
    Similarity
        To be read by `_kernels.similarity.sample_similar`.
    """
    if graph.attributes is None or graph.n_attributes == 0 or graph.n_nodes == 0:
        return no_similarity()
    e, m = scaled(graph.attributes)
    if e.shape[1] == 0:
        return no_similarity()
    indptr, indices, values = _csr(e)
    total_mass = float(np.sum(m * m))
    scalars = kernels.node_scalars(indptr, indices, values, m)
    if graph.n_nodes <= table_limit:
        table = np.empty((graph.n_nodes, graph.n_nodes), dtype=np.float32)
        team.run(kernels.table_rows, indptr, indices, values, scalars, total_mass, e.shape[1], table)
        return _assemble(use_table=True, table=table)
    by_column = sparse.csc_array(e)
    by_column.sort_indices()
    col_indptr, col_nodes, col_values = _csr(by_column)
    inverse_norm = np.ascontiguousarray(scalars[:, INVERSE_NORM])
    nodes, slots, split, sums, absent = kernels.owner_slots(
        col_indptr, col_nodes, col_values, m, inverse_norm
    )
    owned, weights = kernels.feature_weights(indptr, indices, values, m, sums, absent, scalars)
    return _assemble(
        use_table=False, indptr=indptr, indices=indices, values=values, shift=m, scalars=scalars,
        total_mass=total_mass, owned_cumulative=owned, column_slots=alias_slots(weights),
        col_indptr=col_indptr, col_nodes=nodes, col_slots=slots, col_split=split, col_sums=sums,
        absent=absent, node_slots=alias_slots(inverse_norm),
        none_found=np.zeros(graph.n_nodes, dtype=np.int8),
    )  # fmt: skip


def _csr(matrix: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)


_EMPTY = {
    "table": np.zeros((0, 0), dtype=np.float32),
    "indptr": np.zeros(1, dtype=np.int64),
    "indices": np.zeros(0, dtype=np.int32),
    "col_indptr": np.zeros(1, dtype=np.int64),
    "col_nodes": np.zeros(0, dtype=np.int32),
    "col_slots": np.zeros(0, dtype=np.uint64),
    "col_split": np.zeros(0, dtype=np.int64),
    "col_sums": np.zeros((0, 2)),
    "column_slots": np.zeros(0, dtype=np.uint64),
    "node_slots": np.zeros(0, dtype=np.uint64),
    "scalars": np.zeros((0, 5)),
    "near_cumulative": np.zeros((0, 0)),
    "near_nodes": np.zeros((0, 0), dtype=np.int32),
    "none_found": np.zeros(0, dtype=np.int8),
    "total_mass": 0.0,
}


def _assemble(*, use_table: bool, **parts: Any) -> Similarity:
    """Fill the parts that the chosen way of sampling does not read with empty arrays of the right type."""
    rest = {name: np.zeros(0) for name in Similarity._fields if name not in _EMPTY}
    return Similarity(**{**rest, **_EMPTY, **parts, "use_table": use_table})
