"""The sampling distribution of attribute teleports.

Columns are compared by Y_uv = max(cos(z_u, z_v), 0), z standard-scaled; `make_similarity` draws from it
exactly, at any size. Vectors and texts are compared apart from them, by `near_lists`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels import similarity as kernels
from heat_neo4j._kernels.similarity import BASE, INVERSE_NORM, Similarity
from heat_neo4j._utils.csr import CsrParts
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.attributes.kinds import is_text
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.embedding.comparison import compared
from heat_neo4j.embedding.near_lists import Words, near_lists, vector_rows, with_attributes
from heat_neo4j.graph import Graph

TABLE_LIMIT = 6000
"""Largest N with an N x N table of cumulative similarities (144 MB in float32 at the limit)."""

_LISTED_BYTES = 2**27  # maximum memory of the lists of similar nodes
_LISTED_ENTRY = 12
_FEWEST_LISTED = 64
_USUAL_SHARE = 0.7  # a value shared by this many nodes is the background of its column


def longest_list(counts: NDArray[np.int64], entries: int, fewest: int = 1) -> int:
    """Return the maximum list length such that lists of `counts` have at most `entries` in total.

    The length is at least `fewest`, even if that exceeds `entries`.
    """
    rising = np.sort(counts)
    left = entries - np.concatenate(([0], np.cumsum(rising)))[:-1]
    share = left // np.arange(len(rising), 0, -1)  # entries for each of the remaining lists
    cut = np.flatnonzero(rising > share)
    return max(int(share[cut[0]]), fewest) if len(cut) else int(rising.max(initial=0))


def scaled(
    attributes: sparse.csr_array | NDArray[np.float64] | NDArray[np.float32],
) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Return (d, b) such that d + b is the standardised matrix of shape (N, F'), and d is sparse.

    Constant columns are dropped. The background b of a column is its scaled majority value, if at least 70 %
    of the nodes share one. Otherwise it is the scaled mean, 0, and d is dense in that column.
    """
    x = sparse.csc_array(attributes, dtype=np.float64)
    x.eliminate_zeros()
    n = x.shape[0]
    mean, std, varying = _deviations(x)
    entries = np.diff(x.indptr)
    columns = np.repeat(np.arange(x.shape[1]), entries)
    usual = np.zeros(x.shape[1])
    common = varying[n - entries[varying] < _USUAL_SHARE * n]
    rare = np.isin(columns, np.setdiff1d(varying, common))
    parts: list[tuple[NDArray[Any], ...]] = [(x.indices[rare], columns[rare], x.data[rare])]
    for f in common:
        values = x[:, [f]].toarray().ravel()
        usual[f] = _usual(values, mean[f])
        rows = np.flatnonzero(values != usual[f])
        parts.append((rows, np.full(len(rows), f), values[rows] - usual[f]))
    rows, columns, data = (np.concatenate(part) for part in zip(*parts, strict=True))
    places = np.zeros(x.shape[1], dtype=np.int64)
    places[varying] = np.arange(len(varying))
    d = sparse.csr_array((data / std[columns], (rows, places[columns])), shape=(n, len(varying)))
    d.sort_indices()
    return d, ((usual - mean) / np.where(std > 0.0, std, 1.0))[varying]


def _deviations(x: sparse.csc_array) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return each column's mean and standard deviation, and the indices of non-constant columns."""
    n = x.shape[0]
    mean = np.asarray(x.sum(axis=0)).ravel() / n
    # Two passes, for numerical stability in columns far from zero.
    entries = np.diff(x.indptr)
    centred = x.data - np.repeat(mean, entries)
    columns = np.repeat(np.arange(x.shape[1]), entries)
    squares = np.bincount(columns, weights=centred * centred, minlength=x.shape[1])
    std = np.sqrt((squares + (n - entries) * mean * mean) / n)
    return mean, std, np.flatnonzero(std > 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny))


def _usual(values: NDArray[np.float64], mean: float) -> float:
    """Return the value that at least `_USUAL_SHARE` of the nodes share, or the mean if there is none."""
    middle = float(np.partition(values, len(values) // 2)[len(values) // 2])
    return middle if np.count_nonzero(values == middle) >= _USUAL_SHARE * len(values) else mean


def make_similarity(
    graph: Graph, *, table_limit: int = TABLE_LIMIT, team: WorkerThreads = ALONE
) -> Similarity:
    """Prepare exact sampling of attribute teleports, by `_kernels.similarity.sample_similar`.

    Up to `table_limit` nodes, a table stores each row's cumulative similarities (N x N float32). Larger
    graphs use rejection sampling under an envelope, in O(nnz + N + F) memory. Rows with a low acceptance rate
    are sampled from lists of 128 MiB in total, with at least 64 entries each.

    A graph with vectors or texts has lists of the nodes with similar ones, too. A draw follows a list or the
    other columns in proportion to the number of attributes, so that a property counts as one whatever its
    width; but a text counts as much as all other columns. On Debian's packages, with four other attributes,
    this found more held-out links than a text that counts as one of five.
    """
    is_listed = [is_vector(entry) or is_text(entry) for entry in graph.provenance.attribute_recipe]
    if not any(is_listed):
        return _of_columns(graph, table_limit, team)
    kept = with_attributes(graph, [not each for each in is_listed])
    others = _of_columns(kept, table_limit, team)
    n_columns = is_listed.count(False)
    lists = _lists(graph, max(n_columns, 1), team)
    near, cumulative = _joined(lists)
    listed = sum(weight for weight, _, _ in lists)
    share = listed / (listed + n_columns)
    return others._replace(near=near, near_cumulative=cumulative, near_share=share)


def _lists(
    graph: Graph, of_text: int, team: WorkerThreads
) -> list[tuple[int, NDArray[np.int32], NDArray[np.float32]]]:
    """Return lists of similar nodes by vectors and by each text: their weight, nodes and cumulative weights.

    The weight of vectors is their number, that of a text `of_text`.
    """
    assert graph.attributes is not None
    vectors = vector_rows(graph)
    lists: list[tuple[int, NDArray[np.int32], NDArray[np.float32]]] = []
    if vectors is not None:
        n_vectors = sum(map(is_vector, graph.provenance.attribute_recipe))
        lists.append((n_vectors, *near_lists(vectors, team)))
    for entry, columns, _ in graph.attribute_blocks():
        if is_text(entry):
            lists.append((of_text, *Words.of(graph.attributes[:, columns]).near_lists(team)))
    return lists


def _joined(
    lists: Sequence[tuple[int, NDArray[np.int32], NDArray[np.float32]]],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the nodes of all lists, and their cumulative weights, each list with its weight in total."""
    if len(lists) == 1:
        return lists[0][1:]
    sums: list[NDArray[np.float32]] = [np.zeros((len(lists[0][1]), 1), dtype=np.float32)]
    for weight, _, cumulative in lists:
        last = cumulative[:, -1:]
        own = np.divide(weight * cumulative, last, out=np.zeros_like(cumulative), where=last > 0.0)
        sums.append(sums[-1][:, -1:] + own)
    return np.hstack([near for _, near, _ in lists]), np.hstack(sums[1:])


def _of_columns(graph: Graph, table_limit: int, team: WorkerThreads) -> Similarity:
    """See `make_similarity`, for columns that are not vectors."""
    if graph.attributes is None or graph.n_attributes == 0 or graph.n_nodes == 0:
        return Similarity()
    d, background = scaled(compared(graph))
    if d.shape[1] == 0:
        return Similarity()
    indptr, indices, values = CsrParts.of(d)
    scalars = kernels.node_scalars(indptr, indices, values, background)
    if graph.n_nodes <= table_limit:
        table = np.empty((graph.n_nodes, graph.n_nodes), dtype=np.float32)
        team.run(kernels.table_rows, indptr, indices, values, scalars, d.shape[1], table)
        return Similarity(table=table)
    by_column = sparse.csc_array(d)
    by_column.sort_indices()
    col_indptr, col_nodes, col_values = CsrParts.of(by_column.T)
    inverse_norm = np.ascontiguousarray(scalars[:, INVERSE_NORM])
    col_nodes, col_values, slots, split, sums, most = kernels.owner_slots(
        col_indptr, col_nodes, col_values, inverse_norm
    )
    by_base = np.argsort(-scalars[:, BASE], kind="stable").astype(np.int32)
    owned, base_sums, reach = kernels.envelopes(indptr, indices, values, sums, by_base, scalars)
    similarity = Similarity(
        indptr=indptr, indices=indices, values=values, scalars=scalars,
        owned_cumulative=owned, col_indptr=col_indptr, col_nodes=col_nodes, col_slots=slots, col_split=split,
        by_base=by_base, base_sums=base_sums, reach=reach, listed=np.zeros(graph.n_nodes, dtype=np.bool_),
    )  # fmt: skip
    team.run(kernels.find_crowded, similarity)
    crowded = np.flatnonzero(similarity.listed)
    counts = np.zeros(len(crowded), dtype=np.int64)
    team.run(kernels.count_similar, similarity, most, col_values, crowded, counts)
    room = np.minimum(counts, longest_list(counts, _LISTED_BYTES // _LISTED_ENTRY, _FEWEST_LISTED))
    sizes = np.zeros(graph.n_nodes, dtype=np.int64)
    sizes[crowded] = room
    similarity = similarity._replace(
        listed_from=np.concatenate(([0], np.cumsum(sizes))),
        listed_nodes=np.empty(room.sum(), dtype=np.int32),
        listed_cumulative=np.empty(room.sum()),
    )
    team.run(kernels.list_similar, similarity, col_values, crowded, counts)
    return similarity
