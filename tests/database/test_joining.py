"""Relationships joined bucket by bucket, in memory and in files, are those of SciPy, byte by byte."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j._utils.scratch import IN_MEMORY, Scratch
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read import joining
from heat_neo4j.database.read.relationships import RelationshipTable
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.graph import Graph, Relationships, earliest_times
from tests.support.full_disk import full_disk

N = 9
KINDS = "ABC"
COMBINE = {"sum": np.add, "min": np.minimum, "max": np.maximum}
FOUND = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, N - 1),
        st.integers(-1, N - 1),
        st.one_of(st.none(), st.just(0), st.floats(1e-3, 1e3)),
        st.one_of(st.none(), st.sampled_from([0.0, -0.0]), st.floats(-1e9, 1e9)),
    ),
    max_size=60,
)
# A node that has gone while relationships were read, and rows in another order than positions.
ROWS = [np.arange(N), np.array([3, 0, -1, 1, 7, 2, 6, 5, 4])]


def joined(found, projection, row_of, scratch, bucket=joining.ENTRIES):
    table = RelationshipTable(projection, N, str, scratch)
    table.piece, table.bucket = 1 + bucket // 2, bucket
    for kind in KINDS:
        own = [each for each in found if each[0] == kind]
        for chunk in (own[: len(own) // 3], own[len(own) // 3 :]):
            _, sources, targets, weights, times = map(list, zip(*chunk, strict=True)) if chunk else [[]] * 5
            table.add(
                kind,
                np.array(sources, dtype=np.int64),
                np.array(targets, dtype=np.int64),
                None if projection.weight is None else weights,
                None if projection.time is None else ([None] * len(times), times),
            )
    return table.join(row_of, int(row_of.max()) + 1)


def as_bytes(result):
    adjacency, directed = result.adjacency, result.relationships
    arrays = [adjacency.indptr, adjacency.indices, adjacency.data, directed.starts, directed.source]
    arrays += [directed.target] + ([] if result.edge_times is None else [result.edge_times])
    return [(str(each.dtype), each.shape, each.tobytes()) for each in arrays], tuple(directed.types)


def plain(found, projection, row_of):
    """Return the adjacency, directions and times that SciPy gives for all relationships at once."""
    n = int(row_of.max()) + 1
    kept = []
    for kind, source, target, weight, time in found:
        value = projection.default_weight if weight is None else float(weight)
        value = value if projection.weight is not None else 1.0
        there = target >= 0 and target != source and row_of[source] >= 0 and row_of[target] >= 0
        if there and value != 0:
            value *= projection.type_weights.get(kind, 1.0)
            kept.append((kind, row_of[source], row_of[target], value, np.nan if time is None else time))
    runs: dict[tuple[int, int], list[float]] = {}
    for _, u, v, value, _ in kept:
        runs.setdefault((u, v), []).append(value)
    combine = COMBINE[projection.aggregation]
    weights = [combine.reduceat(np.sort(values), [0])[0] for values in runs.values()]
    ends = np.array(list(runs), dtype=np.int64).reshape(-1, 2).T
    directed = sparse.csr_array((weights, (ends[0], ends[1])), shape=(n, n))
    adjacency = Graph(sparse.csr_array(directed + directed.T)).adjacency
    pairs = {kind: [each for each in kept if each[0] == kind] for kind in KINDS}
    types = Relationships.from_pairs(
        {
            kind: tuple(np.array([each[end] for each in own], dtype=np.int64) for end in (1, 2))
            for kind, own in pairs.items()
        }
    )
    columns = [np.array([each[place] for each in kept]) for place in (1, 2, 4)]
    times = earliest_times(columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2], n)
    return adjacency, types, times


@given(
    FOUND,
    st.sampled_from(sorted(COMBINE)),
    st.sampled_from([{}, {"A": 0.3}]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 1]),
    st.integers(1, 40),
)
def test_any_buckets_in_memory_and_in_files_give_the_bytes_of_scipy(
    found, aggregation, factors, weighted, timed, rows, entries
):
    projection = Projection(
        weight="w" if weighted else None,
        time="t" if timed else None,
        default_weight=0.25,
        aggregation=aggregation,
        type_weights=factors,
    )
    one = joined(found, projection, ROWS[rows], IN_MEMORY)
    with tempfile.TemporaryDirectory() as folder, Scratch(folder) as scratch:
        many = joined(found, projection, ROWS[rows], scratch, entries)
        assert as_bytes(joined(found, projection, ROWS[rows], IN_MEMORY, entries)) == as_bytes(one)
        assert as_bytes(many) == as_bytes(one)
    adjacency, types, times = plain(found, projection, ROWS[rows])
    assert one.adjacency.indptr.tolist() == adjacency.indptr.tolist()
    assert one.adjacency.indices.tolist() == adjacency.indices.tolist()
    assert one.adjacency.data.tobytes() == adjacency.data.tobytes()
    assert one.relationships.types == types.types
    for name in ("starts", "source", "target"):
        assert getattr(one.relationships, name).tobytes() == getattr(types, name).tobytes()
    if timed:
        assert one.edge_times.tobytes() == times.tobytes()


def test_no_bucket_is_larger_than_so_many_entries_and_a_row():
    taken = []

    def combine(weights, starts):
        taken.append(weights.size)
        return np.ones(starts.size)

    n, draw = 500, np.random.default_rng(0)
    ends = draw.integers(0, n, size=(2, 4000))
    ends = ends[:, ends[0] != ends[1]].astype(np.int32)
    record = joining.record_type(weighted=False, timed=False)
    pieces = np.zeros(ends.shape[1], record)
    pieces["source"], pieces["target"] = ends
    entries = np.bincount(ends.ravel(), minlength=n)
    joining.join([pieces], record, entries, ["T"], combine, IN_MEMORY, 64)
    assert len(taken) > 50
    assert max(taken) <= 64 + entries.max()


def test_weights_beyond_all_numbers_are_refused():
    found = [("A", 0, 1, 1e308, None), ("A", 1, 0, 1e308, None)]
    with pytest.raises(ProjectionError, match="adds up to infinity"):
        joined(found, Projection(weight="w"), ROWS[0], IN_MEMORY)
    with pytest.raises(ProjectionError, match="weights must be 0 or between"):
        joined([("A", 0, 1, 1e300, None)], Projection(weight="w", aggregation="max"), ROWS[0], IN_MEMORY)


def test_nothing_is_left_after_a_failure(tmp_path):
    found = [("A", 0, 1, 1.0, None)]
    with full_disk(16), Scratch(tmp_path) as scratch, pytest.raises(ConfigError, match="File too large"):
        joined(found, Projection(), ROWS[0], scratch)
    assert list(tmp_path.iterdir()) == []
