"""The adjacency matrix depends on the relationships alone, not on their order or chunks."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_neo4j._utils.scratch import IN_MEMORY
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.read.relationships import RelationshipTable
from heat_neo4j.graph import Graph
from heat_neo4j.pipeline.fingerprint import changes, fingerprint

N = 5
WEIGHTS = st.one_of(st.none(), st.just(0), st.integers(1, 3), st.floats(1e-9, 1e9))
RELATIONSHIPS = st.lists(st.tuples(st.integers(0, N - 1), st.integers(-1, N - 1), WEIGHTS), max_size=40)
COMBINE = {"sum": math.fsum, "min": min, "max": max, "count": len, "single": lambda _: 1}


def read(projection, chunks):
    table = RelationshipTable(projection, N, str, IN_MEMORY)
    for chunk in chunks:
        sources, targets, weights = map(list, zip(*chunk, strict=True)) if chunk else ([], [], [])
        places = np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64)
        table.add("T", *places, weights if projection.weight else None)
    return table.join(np.arange(N), N).adjacency, table.counts


@given(RELATIONSHIPS, st.sampled_from(sorted(COMBINE)), st.integers(0, 2**32))
def test_any_order_gives_the_same_bits_and_what_the_slow_twin_gives(relationships, aggregation, seed):
    weight = None if aggregation in ("count", "single") else "w"
    projection = Projection(weight=weight, default_weight=0.25, aggregation=aggregation)
    matrix, counts = read(projection, [relationships])
    draw = random.Random(seed)
    shuffled = draw.sample(relationships, len(relationships))
    cut = draw.randrange(len(relationships) + 1)
    other, other_counts = read(projection, [shuffled[:cut], shuffled[cut:]])
    assert (other.data.tobytes(), other.indices.tobytes(), other.indptr.tobytes()) == (
        matrix.data.tobytes(),
        matrix.indices.tobytes(),
        matrix.indptr.tobytes(),
    )
    assert other_counts == counts
    found: dict[tuple[int, int], list[float]] = {}
    for source, target, value in relationships:
        number = 1.0 if weight is None else 0.25 if value is None else float(value)
        if target >= 0 and target != source and number != 0:
            found.setdefault((source, target), []).append(number)
    expected = np.zeros((N, N))
    for pair, values in found.items():
        expected[pair] = COMBINE[aggregation](values)
    np.testing.assert_allclose(matrix.toarray(), expected + expected.T, rtol=1e-15 * 40)
    assert matrix.nnz == len({*found, *((target, source) for source, target in found)})


def test_nodes_that_have_gone_take_their_relationships_along():
    table = RelationshipTable(Projection(), 3, str, IN_MEMORY)
    table.add("T", np.array([0, 1, 2]), np.array([1, 2, 0]))
    joined = table.join(np.array([0, -1, 1]), 2)
    assert joined.adjacency.toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert [ends.tolist() for ends in joined.relationships.of("T")] == [[1], [0]]


@given(
    st.lists(st.tuples(st.integers(0, N - 1), st.integers(-1, N - 1), st.sampled_from("AB"))), st.randoms()
)
def test_types_and_directions_are_kept_whatever_the_chunks(relationships, draw):
    table = RelationshipTable(Projection(), N, str, IN_MEMORY)
    shuffled = draw.sample(relationships, len(relationships))
    while shuffled:
        kind = shuffled[-1][2]
        chunk = [each for each in shuffled[-draw.randint(1, 9) :] if each[2] == kind]
        table.add(kind, *(np.array([each[end] for each in chunk], dtype=np.int64) for end in (0, 1)))
        for each in chunk:
            shuffled.remove(each)
    directed = table.directed()
    found = {kind: list(zip(*map(np.ndarray.tolist, directed.of(kind)), strict=True)) for kind in "AB"}
    for kind in "AB":
        assert found[kind] == sorted({(u, v) for u, v, of in relationships if of == kind and -1 < v != u})


def test_a_one_way_relationship_in_a_graph_stored_both_ways_changes_one_edge():
    ids = [f"4:x:{row}" for row in range(N)]
    ring = [(row, (row + 1) % N, None) for row in range(N)]
    both = ring + [(target, source, None) for source, target, _ in ring]
    before, now = (
        Graph(read(Projection(), [found])[0], node_ids=ids) for found in (both, [*both, (0, 2, None)])
    )
    gained = now.adjacency - before.adjacency
    gained.eliminate_zeros()
    assert gained.nnz == 2
    assert changes(fingerprint(before), fingerprint(now)).edges == 1


@pytest.mark.parametrize("aggregation", ["sum", "single"])
def test_no_relationships_at_all(aggregation):
    matrix, counts = read(Projection(aggregation=aggregation), [])
    assert matrix.shape == (N, N)
    assert matrix.nnz == 0
    assert counts["relationships"] == 0
