"""Convert any number of relationships, in any order, to a symmetric CSR array, bucket by bucket.

A bucket holds consecutive rows. Each relationship is entered twice, in the buckets of its source and of its
target. Then each bucket is sorted separately, so only one bucket is in memory at a time. These are the two
passes of an external distribution sort (Knuth, The Art of Computer Programming 3, section 5.4.7).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.scratch import Blocks, Scratch
from heat_neo4j.graph import Relationships, check_weights

ENTRIES = 2**20
"""Maximum entries of a bucket, plus one row; each takes about 150 bytes of memory."""

Combine = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64]]
"""``combine(weights, starts)`` returns one weight per group of parallel relationships."""
_ENDS = np.dtype([("source", np.int32), ("target", np.int32)])
_REVERSED = -1


class WeightOverflowError(ValueError):
    """Raised if the sum of weights overflows."""


@dataclass(frozen=True)
class Joined:
    """The edges of a graph, in the form of `Graph`."""

    adjacency: sparse.csr_array
    relationships: Relationships
    edge_times: NDArray[np.float64] | None
    parallel: int  # how many relationships came beside another from and to the same node


def record_type(*, weighted: bool, timed: bool) -> np.dtype[Any]:
    """Return the dtype of a relationship record: ends, type index, and optionally weight and time."""
    fields = [("source", np.int32), ("target", np.int32), ("kind", np.int32)]
    return np.dtype(fields + [("weight", np.float64)] * weighted + [("time", np.float64)] * timed)


def join(
    pieces: Iterable[NDArray[Any]],
    record: np.dtype[Any],
    entries: NDArray[np.int64],
    types: Sequence[str],
    combine: Combine,
    scratch: Scratch,
    most_entries: int = ENTRIES,
) -> Joined:
    """Aggregate relationships between rows; the result is bitwise independent of their order.

    Parameters
    ----------
    pieces : iterable of arrays of `record_type`
        Relationships between different rows, their kinds places in `types`. They are taken piece by piece.
    entries : int64 array of shape (N,)
        Upper bound of the number of relationships at each row.
    combine : callable
        Aggregation of the sorted weights of parallel relationships; without weights, each counts 1.
    scratch : Scratch
        Storage of the result and of intermediate data.

    Raises
    ------
    WeightOverflowError, ValueError
        If the sum of weights overflows, or a weight is too small or too large.
    """
    ends = np.cumsum(entries)
    most = int(ends[-1]) if ends.size else 0
    # The row with which each bucket begins, and the number of rows behind the last.
    begins = np.searchsorted(ends, np.arange(most_entries, most, most_entries), side="right")
    begins = np.unique(np.concatenate(([0], begins, [ends.size])))
    buckets = scratch.blocks(record)
    for piece in pieces:
        _enter(piece, begins, buckets)
    result = _Result(ends.size, most, types, "time" in (record.names or ()), scratch)
    for number in range(begins.size - 1):
        result.add(buckets.take(number), int(begins[number]), int(begins[number + 1]), combine)
    buckets.close()
    return result.finish()


def _enter(piece: NDArray[Any], begins: NDArray[np.int64], buckets: Blocks) -> None:
    """Put relationships into the buckets of both their rows."""
    back = piece.copy()
    back["source"], back["target"], back["kind"] = piece["target"], piece["source"], _REVERSED
    both = np.concatenate((piece, back))
    if begins.size == 2:
        buckets.add(0, both)
        return
    bucket = np.searchsorted(begins, both["source"], side="right") - 1
    order = np.argsort(bucket, kind="stable")
    both = both[order]
    bounds = np.searchsorted(bucket[order], np.arange(begins.size))
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        buckets.add(number, both[bounds[number] : bounds[number + 1]])


class _Result:
    """The arrays of a `Joined`, which grow by the rows of a bucket."""

    def __init__(self, n_rows: int, most: int, types: Sequence[str], timed: bool, scratch: Scratch) -> None:
        self._n_rows, self._types, self._scratch = n_rows, types, scratch
        # SciPy wants both of one type.
        index = np.int32 if max(most, n_rows) <= np.iinfo(np.int32).max else np.int64
        self._indptr = scratch.growing(index)
        self._indptr.append(np.zeros(1))
        self._indices, self._data = scratch.growing(index), scratch.growing(np.float64)
        self._times = scratch.growing(np.float64) if timed else None
        self._directed = scratch.blocks(_ENDS)
        self._counts = [0] * len(types)
        self._parallel, self._total = 0, 0.0

    def add(self, entries: NDArray[Any], begin: int, end: int, combine: Combine) -> None:
        """Add the rows `begin` to `end` - 1, of which these are all entries."""
        keys = (entries["source"].astype(np.int64) - begin) * self._n_rows + entries["target"]
        keys = 2 * keys + (entries["kind"] == _REVERSED)
        order = np.argsort(keys)
        keys = keys[order]
        self._add_directed(keys, entries["kind"][order], begin)
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        if "weight" in (entries.dtype.names or ()):
            weights = entries["weight"][order]
            _sort_within(keys, weights)
            with np.errstate(over="ignore"):
                self._total += float(weights[keys & 1 == 0].sum())
                if not np.isfinite(2 * self._total):
                    raise WeightOverflowError
                values = combine(weights, starts)
        else:
            values = combine(np.ones(keys.size), starts)
        pairs = keys[starts] >> 1
        firsts = np.flatnonzero(np.diff(pairs, prepend=-1))
        weights = np.add.reduceat(values, firsts) if firsts.size else np.empty(0)
        there = weights != 0  # unless a weight has become too small
        rows, columns = np.divmod(pairs[firsts][there], max(self._n_rows, 1))
        check_weights(weights[there])
        lengths = np.bincount(rows, minlength=end - begin)
        self._indptr.append(self._data.size + np.cumsum(lengths))
        self._indices.append(columns)
        self._data.append(weights[there])
        if self._times is not None and firsts.size:
            times = entries["time"][order] + 0.0  # -0.0 would be the same time in other bits
            earliest = np.fmin.reduceat(times, starts[firsts])[there]
            self._times.append(earliest[columns > rows + begin])

    def _add_directed(self, keys: NDArray[np.int64], kinds: NDArray[np.int32], begin: int) -> None:
        forward = kinds != _REVERSED
        pairs, kinds = keys[forward] >> 1, kinds[forward]
        self._parallel += pairs.size - int(np.count_nonzero(np.diff(pairs, prepend=-1)))
        order = np.argsort(kinds, kind="stable")
        pairs, kinds = pairs[order], kinds[order]
        once = (np.diff(pairs, prepend=-1) != 0) | (np.diff(kinds, prepend=-1) != 0)
        rows, columns = np.divmod(pairs[once], max(self._n_rows, 1))
        ends = np.empty(rows.size, _ENDS)
        ends["source"], ends["target"] = rows + begin, columns
        bounds = np.searchsorted(kinds[once], np.arange(len(self._types) + 1))
        for kind in np.flatnonzero(np.diff(bounds)).tolist():
            self._directed.add(kind, ends[bounds[kind] : bounds[kind + 1]])
            self._counts[kind] += int(bounds[kind + 1] - bounds[kind])

    def finish(self) -> Joined:
        arrays = self._data.finish(), self._indices.finish(), self._indptr.finish()
        adjacency = sparse.csr_array(arrays, shape=(self._n_rows, self._n_rows))
        adjacency.has_sorted_indices = adjacency.has_canonical_format = True
        times = None if self._times is None else self._times.finish()
        return Joined(adjacency, self._relationships(), times, self._parallel)

    def _relationships(self) -> Relationships:
        there = sorted((name, kind) for kind, name in enumerate(self._types) if self._counts[kind])
        source, target = self._scratch.growing(np.int32), self._scratch.growing(np.int32)
        for _, kind in there:
            for piece in self._directed.pieces(kind):
                source.append(piece["source"])
                target.append(piece["target"])
        self._directed.close()
        starts = np.cumsum([0, *(self._counts[kind] for _, kind in there)], dtype=np.int64)
        return Relationships(tuple(name for name, _ in there), starts, source.finish(), target.finish())


def _sort_within(keys: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
    """Sort the weights of each group of equal keys, as floating-point sums depend on the order of terms."""
    same = keys[1:] == keys[:-1]
    parallel = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    weights[parallel] = weights[parallel][np.lexsort((weights[parallel], keys[parallel]))]
