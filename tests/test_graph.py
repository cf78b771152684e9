import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from heat_neo4j.graph import Graph, Relationships, earliest_times


def test_a_directed_matrix_is_made_symmetric_by_summing():
    directed = sparse.coo_matrix(([2.0, 3.0, 1.0], ([0, 1, 1], [1, 0, 2])), shape=(4, 4))
    graph = Graph(adjacency=directed)
    assert graph.adjacency.toarray().tolist() == [[0, 5, 0, 0], [5, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert (graph.n_nodes, graph.n_edges) == (4, 2)
    assert (graph.edges.row < graph.edges.col).all()
    assert graph.edges.nnz == 2
    assert graph.degrees.tolist() == [1, 2, 1, 0]


def test_a_subgraph_has_the_data_of_its_nodes():
    matrix = sparse.coo_array(([2.0, 3.0, 1.0, 4.0], ([0, 1, 1, 2], [2, 2, 3, 3])), shape=(4, 4))
    graph = Graph(
        adjacency=matrix,
        attributes=sparse.csr_array(np.arange(8.0).reshape(4, 2)),
        node_ids=["a", "b", "c", "d"],
        labels={"Odd": np.array([False, True, False, True])},
        edge_times=np.array([10.0, 20.0, 30.0, 40.0]),
    )
    part = graph.among(np.array([1, 2, 3]))
    assert part.adjacency.toarray().tolist() == [[0, 3, 1], [3, 0, 4], [1, 4, 0]]
    assert part.attributes.toarray().tolist() == [[2, 3], [4, 5], [6, 7]]
    assert part.node_ids == ["b", "c", "d"]
    assert part.labels["Odd"].tolist() == [True, False, True]
    assert part.edge_times.tolist() == [20.0, 30.0, 40.0]
    bare = Graph(adjacency=matrix).among(np.array([0, 1]))
    assert (bare.n_nodes, bare.n_edges, bare.attributes) == (2, 0, None)


def test_a_symmetric_matrix_is_kept():
    symmetric = sparse.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert Graph(adjacency=symmetric).adjacency.toarray().tolist() == [[0, 2], [2, 0]]


def test_zero_weights_and_self_relationships_are_dropped():
    matrix = sparse.csr_array(([1.0, 0.0, 4.0], ([0, 0, 1], [0, 1, 2])), shape=(3, 3))
    graph = Graph(adjacency=matrix)
    assert graph.adjacency.nnz == 2
    assert matrix.nnz == 3, "the caller's matrix is not changed"


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (sparse.csr_array(np.array([[0, -1.0], [0, 0]])), "is negative"),
        (sparse.csr_array(np.array([[0, np.nan], [0, 0]])), "NaN or infinite"),
        (sparse.csr_array(np.array([[0, np.inf], [0, 0]])), "NaN or infinite"),
        (sparse.csr_array((2, 3)), "square"),
    ],
)
def test_bad_weights_are_refused(adjacency, message):
    with pytest.raises(ValueError, match=message):
        Graph(adjacency=adjacency)


def test_a_dense_adjacency_is_refused():
    with pytest.raises(TypeError, match="scipy sparse"):
        Graph(adjacency=np.eye(3))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (np.ones((3, 2)), r"shape \(2, F\)"),
        (np.array([[np.nan], [1.0]]), "NaN or infinite"),
        (np.ones(2), "shape"),
    ],
)
def test_bad_attributes_are_refused(attributes, message):
    with pytest.raises(ValueError, match=message):
        Graph(adjacency=sparse.csr_array((2, 2)), attributes=attributes)


def test_ids_labels_and_names_must_fit():
    with pytest.raises(ValueError, match="node_ids"):
        Graph(adjacency=sparse.csr_array((2, 2)), node_ids=["a"])
    with pytest.raises(ValueError, match="labels"):
        Graph(adjacency=sparse.csr_array((2, 2)), labels={"A": np.ones(3, dtype=bool)})
    with pytest.raises(ValueError, match="attribute_names"):
        Graph(adjacency=sparse.csr_array((2, 2)), attributes=np.ones((2, 2)), attribute_names=["x"])


def test_edge_times_are_kept_with_the_edges():
    upper = sparse.csr_array(([1.0, 2.0], ([0, 1], [2, 2])), shape=(3, 3))
    graph = Graph(adjacency=upper, edge_times=[3, np.nan], times_are_dates=True)
    assert graph.edge_times.dtype == np.float64
    np.testing.assert_array_equal(graph.edge_times, [3.0, np.nan])
    assert graph.times_are_dates
    bare = Graph(adjacency=upper)
    assert (bare.edge_times, bare.times_are_dates) == (None, False)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0], r"edge_times must have one entry per edge: shape \(1,\) for 2 edges"),
        ([1.0, 2.0, 3.0, 4.0], "one entry per edge"),
        ([[1.0, 2.0]], "one entry per edge"),
        ([1.0, -np.inf], "infinite"),
    ],
)
def test_times_that_do_not_fit_are_refused(times, message):
    upper = sparse.csr_array(([1.0, 2.0], ([0, 1], [2, 2])), shape=(3, 3))
    with pytest.raises(ValueError, match=message):
        Graph(adjacency=upper, edge_times=times)


def test_the_earliest_time_of_a_pair_counts_in_any_order_and_direction():
    draw = random.Random(1)
    links = [
        (draw.randrange(8), draw.randrange(8), draw.choice([math.nan, -0.0, 0.0, 2.5, draw.random()]))
        for _ in range(90)
    ]
    links = [(u, v, time) for u, v, time in links if u != v]
    found = set()
    for _ in range(4):
        draw.shuffle(links)
        u, v, times = (np.array(column) for column in zip(*links, strict=True))
        found.add(earliest_times(u, v, times, 8).tobytes())
    adjacency = sparse.csr_array((np.ones(len(u)), (u, v)), shape=(8, 8))
    edges = sparse.triu(Graph(adjacency=adjacency).adjacency, k=1, format="csr").tocoo()
    expected = []
    for pair in zip(edges.row.tolist(), edges.col.tolist(), strict=True):
        own = [time for a, b, time in links if {a, b} == set(pair) and not math.isnan(time)]
        expected.append(min(own, default=math.nan) + 0.0)
    assert found == {np.array(expected).tobytes()}
    assert np.isnan(expected).any()


def test_no_edges_have_no_times():
    none = np.empty(0, dtype=np.int64)
    assert earliest_times(none, none, np.empty(0), 5).shape == (0,)


@pytest.mark.parametrize("weight", [1e-320, 1e-291, 1e291])
def test_weights_that_cannot_be_summed_and_divided_are_refused(weight):
    with pytest.raises(ValueError, match=r"a weight is .*must be 0 or between 1e-290 and 1e290"):
        Graph(adjacency=sparse.csr_array([[0.0, weight], [weight, 0.0]]))


# --- relationships ------------------------------------------------------------------------------------------


def some_relationships(n, seed=0):
    """Return relationships of three types, one without any, given with repetitions and loops."""
    rng = np.random.default_rng(seed)
    given = {kind: rng.integers(0, n, (2, count)) for kind, count in (("S", 40), ("R", 60), ("T", 3))}
    given["loops only"] = np.array([[1, 2], [1, 2]])
    return given, Relationships.from_pairs({kind: tuple(ends) for kind, ends in given.items()})


def set_of(relationships, kind):
    source, target = relationships.of(kind)
    return set(zip(source.tolist(), target.tolist(), strict=True))


def test_relationships_are_sorted_unique_and_without_loops():
    given, found = some_relationships(9)
    assert found.types == ("R", "S", "T")
    assert len(found) == sum(len(set_of(found, kind)) for kind in found.types)
    for kind, ends in given.items():
        expected = {(u, v) for u, v in ends.T.tolist() if u != v}
        source, target = found.of(kind)
        assert list(zip(source.tolist(), target.tolist(), strict=True)) == sorted(expected)
        assert (source.dtype, target.dtype) == (np.int32, np.int32)
        dense = np.zeros((9, 9))
        for u, v in expected:
            dense[u, v] = 1.0
        np.testing.assert_array_equal(found.matrix(kind, 9).toarray(), dense)
    assert set_of(found, "unknown") == set()
    assert (len(Relationships.from_pairs({})), Relationships.from_pairs({}).types) == (0, ())


def test_relationships_among_some_nodes_are_numbered_anew():
    _, found = some_relationships(9)
    nodes = np.array([1, 4, 5, 8])
    part = found.among(nodes, 9)
    place = {row: number for number, row in enumerate(nodes.tolist())}
    for kind in found.types:
        expected = {(place[u], place[v]) for u, v in set_of(found, kind) if u in place and v in place}
        assert set_of(part, kind) == expected
    assert len(found.among(np.array([0]), 9)) == 0


def test_relationships_without_some_pairs_lack_them_both_ways_and_of_every_type():
    _, found = some_relationships(9)
    source, target = found.of("R")
    gone = np.column_stack((target[::4], source[::4])).astype(np.int64)
    lost = {frozenset(pair) for pair in gone.tolist()}
    left = found.without(gone, 9)
    for kind in found.types:
        assert set_of(left, kind) == {ends for ends in set_of(found, kind) if frozenset(ends) not in lost}
    assert len(left) < len(found)
    same = found.without(np.empty((0, 2), dtype=np.int64), 9)
    assert {kind: set_of(same, kind) for kind in found.types} == {k: set_of(found, k) for k in found.types}


def test_the_schema_counts_relationships_by_all_labels_of_their_ends():
    _, found = some_relationships(9)
    rng = np.random.default_rng(4)
    labels = {"A": rng.random(9) < 0.5, "B": rng.random(9) < 0.5}
    joined = sparse.csr_array((np.ones(len(found)), (found.source, found.target)), shape=(9, 9))
    graph = Graph(adjacency=joined, labels=labels, relationships=found)

    def of(row):
        return tuple(name for name in ("A", "B") if labels[name][row])

    expected = Counter((of(u), kind, of(v)) for kind in found.types for u, v in set_of(found, kind))
    assert graph.schema() == expected
    assert () in {labels for labels, _, _ in expected}
    assert Graph(adjacency=joined, labels=labels).schema() == {}


def test_relationships_of_rows_that_are_not_there_are_refused():
    beyond = Relationships.from_pairs({"R": (np.array([0]), np.array([3]))})
    with pytest.raises(ValueError, match="must join rows 0 to 2"):
        Graph(adjacency=sparse.csr_array((3, 3)), relationships=beyond)


def test_a_matrix_known_to_be_symmetric_is_neither_copied_nor_checked_again():
    first = Graph(sparse.csr_array(np.array([[0.0, 2.0], [0.0, 0.0]])))
    assert replace(first, labels={"A": np.array([True, False])}).adjacency is first.adjacency
    assert Graph(first.adjacency, checked=first.adjacency).adjacency is first.adjacency
    other = replace(first, adjacency=sparse.csr_array(np.array([[1.0, 0.0], [3.0, 0.0]])))
    assert other.adjacency.toarray().tolist() == [[0.0, 3.0], [3.0, 0.0]]


@pytest.mark.parametrize("as_names", [np.array, pd.Series, pd.Index, list, tuple])
def test_names_may_be_any_column(as_names):
    graph = Graph(sparse.csr_array(np.eye(3, k=1)), keys=as_names(["a", "b", "c"]))
    assert list(graph.names) == ["a", "b", "c"]
    assert list(graph.among(np.array([0, 2])).names) == ["a", "c"]
    assert Graph(graph.adjacency, node_ids=as_names(["a", "b", "c"])).names[1] == "b"
