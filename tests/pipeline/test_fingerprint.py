"""Fingerprints: the same for the same graph, however it is told, and different for every single change."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._utils.packing import pack
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.pipeline.fingerprint import Fingerprint, changes, fingerprint, node_changes

N = 60


def some_graph(seed=0, n=N, density=0.1, columns=12):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < density, 1) * rng.uniform(0.5, 2.0, (n, n))
    attributes = (rng.random((n, columns)) < 0.3) * rng.normal(size=(n, columns))
    attributes[:, 0] = 1.0
    return Graph(
        sparse.csr_array(upper),
        attributes=attributes,
        node_ids=[f"4:x:{row}" for row in range(n)],
        attribute_names=[f"column {column}" for column in range(columns)],
    )


def changed(graph, adjacency=None, attributes=None, node_ids=None):
    return Graph(
        sparse.csr_array(sparse.triu(graph.adjacency if adjacency is None else adjacency, 1)),
        attributes=graph.attributes if attributes is None else attributes,
        node_ids=graph.node_ids if node_ids is None else node_ids,
        attribute_names=graph.attribute_names,
    )


def differ(a, b):
    change = changes(fingerprint(a), fingerprint(b))
    return change.nodes, change.edges, change.attributes


def test_the_order_of_rows_and_columns_and_how_attributes_are_kept_do_not_matter():
    graph = some_graph()
    order, columns = np.random.default_rng(1).permutation(N), np.random.default_rng(2).permutation(12)
    stored_zero = sparse.csr_array(graph.attributes)
    stored_zero.data[stored_zero.data == stored_zero.data.min()] = 0.0
    dense = stored_zero.toarray()
    dense[dense == 0.0] = -0.0
    for attributes in (graph.attributes, sparse.csr_array(graph.attributes)):
        other = Graph(
            graph.adjacency[order][:, order],
            attributes=attributes[order][:, columns],
            node_ids=[graph.node_ids[row] for row in order],
            attribute_names=[graph.attribute_names[column] for column in columns],
        )
        assert differ(graph, other) == (0, 0, 0)
    assert differ(changed(graph, attributes=stored_zero), changed(graph, attributes=dense)) == (0, 0, 0)


def test_every_single_change_is_seen():
    graph = some_graph()
    rng = np.random.default_rng(3)
    for _ in range(60):
        dense = graph.adjacency.toarray()
        u, v = sorted(rng.choice(N, 2, replace=False))
        dense[u, v] = dense[v, u] = rng.choice([0.0, dense[u, v] + 1e-12]) if dense[u, v] else 1.0
        nodes, edges, attributes = differ(graph, changed(graph, adjacency=sparse.csr_array(dense)))
        assert (nodes, attributes) == (0, 0)
        assert 1 <= edges <= 4  # replaced ones count twice, and both may fall into one bucket
        values = graph.attributes.copy()
        values[rng.integers(N), rng.integers(12)] += 1e-12
        nodes, edges, attributes = differ(graph, changed(graph, attributes=values))
        assert (nodes, edges) == (0, 0)
        assert 1 <= attributes <= 4
        ids = list(graph.node_ids)
        ids[rng.integers(N)] += "0"
        assert differ(graph, changed(graph, node_ids=ids))[0] >= 1


def test_another_type_or_direction_of_one_relationship_is_seen_at_its_ends():
    graph = some_graph()
    source, target = graph.edges.coords
    ends = np.column_stack((source, target))
    one_way = replace(graph, relationships=Relationships.from_pairs({"A": ends.T}))
    turned, typed = ends.copy(), {"A": ends[1:].T, "B": ends[:1].T}
    turned[0] = turned[0, ::-1]
    for other in ({"A": turned.T}, typed, {"A": ends.T, "B": ends[:1].T}):
        changed_graph = replace(graph, relationships=Relationships.from_pairs(other))
        assert differ(one_way, changed_graph)[0::2] == (0, 0)
        assert differ(one_way, changed_graph)[1] >= 1
        at = node_changes(fingerprint(one_way), fingerprint(changed_graph), changed_graph)
        assert set(np.flatnonzero(at.edges)) == set(ends[0].tolist())
    order = np.random.default_rng(1).permutation(N)
    place = np.argsort(order)
    moved = Graph(
        graph.adjacency[order][:, order],
        attributes=graph.attributes[order],
        node_ids=[graph.node_ids[row] for row in order],
        attribute_names=graph.attribute_names,
        relationships=Relationships.from_pairs({"A": (place[source], place[target])}),
    )
    assert differ(one_way, moved) == (0, 0, 0)


def test_values_that_change_places_are_seen():
    graph = some_graph()
    values = graph.attributes.copy()
    values[[3, 4]] = values[[4, 3]]
    assert differ(graph, changed(graph, attributes=values))[2] >= 1
    values = graph.attributes.copy()
    values[5, [1, 2]] = [1.5, 2.5]
    swapped = values.copy()
    swapped[5, [1, 2]] = [2.5, 1.5]
    assert differ(changed(graph, attributes=values), changed(graph, attributes=swapped))[2] >= 1


def test_a_part_of_the_nodes_is_the_graph_between_them():
    graph = some_graph()
    rows = np.random.default_rng(4).random(N) < 0.6
    inner = Graph(
        graph.adjacency[rows][:, rows],
        attributes=graph.attributes[rows],
        node_ids=[name for name, kept in zip(graph.node_ids, rows, strict=True) if kept],
        attribute_names=graph.attribute_names,
    )
    found = changes(fingerprint(graph, rows), fingerprint(inner))
    assert (found.nodes, found.edges, found.attributes) == (0, 0, 0)
    assert fingerprint(graph, rows).edges.count == inner.n_edges


def test_how_many_edges_changed_is_estimated_within_its_error():
    """Relative errors of 100 estimates: their mean is 0 and their spread a sixteenth, as the theory has it.

    Of other weights, so that the number of edges, which is known exactly, says nothing.
    """
    graph = some_graph(n=400, density=0.2)
    edges = graph.edges
    whole = fingerprint(graph)
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(100):
        other = rng.random(edges.nnz) < 0.05
        weights = np.where(other, edges.data + rng.random(edges.nnz), edges.data)
        part = sparse.csr_array((weights, (edges.row, edges.col)), shape=(400, 400))
        found = changes(whole, fingerprint(changed(graph, adjacency=part + part.T))).edges
        errors.append(found / (2 * int(other.sum())) - 1)
    assert abs(np.mean(errors)) < 4 * np.sqrt(2 / 512 / 100)
    assert np.std(errors) == pytest.approx(np.sqrt(2 / 512), rel=0.25)


def test_how_many_edges_went_is_known_at_least():
    graph = some_graph()
    dense = graph.adjacency.toarray()
    dense[5:9] = dense[:, 5:9] = 0.0
    fewer = changed(graph, adjacency=sparse.csr_array(dense))
    assert differ(graph, fewer)[1] >= graph.n_edges - fewer.n_edges > 10


def test_where_the_changes_are_is_told():
    graph = some_graph()
    dense = graph.adjacency.toarray()
    u, v = np.argwhere(np.triu(dense, 1))[3]
    a, b = np.argwhere(np.triu(dense == 0, 1))[5]
    dense[[u, a], [v, b]] = dense[[v, b], [u, a]] = 0.0, 2.5
    attributes = np.array(graph.attributes)
    attributes[7] += 1.0
    now = changed(graph, adjacency=sparse.csr_array(dense), attributes=attributes)
    found = node_changes(fingerprint(graph), fingerprint(now), now)
    assert found.edges.tolist() == np.bincount([u, v, a, b], minlength=N).tolist()
    assert np.flatnonzero(found.attributes).tolist() == [7]
    same = node_changes(fingerprint(graph), fingerprint(graph), graph)
    assert not same.edges.any()
    assert not same.attributes.any()


def test_of_nodes_that_went_the_neighbours_are_told():
    graph = some_graph()
    rows = np.arange(N) != 4
    now = Graph(
        sparse.csr_array(graph.adjacency[rows][:, rows]),
        attributes=graph.attributes[rows],
        node_ids=[name for name, keep in zip(graph.node_ids, rows, strict=True) if keep],
        attribute_names=graph.attribute_names,
    )
    found = node_changes(fingerprint(graph), fingerprint(now), now)
    assert found.edges.tolist() == (graph.adjacency[[4]].toarray()[0] != 0)[rows].astype(int).tolist()
    assert not found.attributes.any()


def test_it_goes_through_json():
    graph = some_graph()
    told = json.loads(json.dumps(fingerprint(graph).to_dict()))
    assert len(json.dumps(told)) < 80_000  # whatever the graph: nearly all of it is the invertible sketch
    found = changes(Fingerprint.from_dict(told), fingerprint(graph))
    assert (found.nodes, found.edges, found.attributes) == (0, 0, 0)


def test_a_text_that_grows_beyond_its_sketch_is_refused_in_little_memory():
    told = fingerprint(some_graph()).to_dict()
    bomb = pack(np.zeros(750_000), "<i8")
    for damaged in ({**told, "edges": {**told["edges"], "counters": bomb}}, {**told, "items": bomb}):
        tracemalloc.start()
        with pytest.raises(ValueError, match="does not hold exactly"):
            Fingerprint.from_dict(damaged)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 500_000
    with pytest.raises(ValueError, match="characters is too long"):
        Fingerprint.from_dict({**told, "items": "A" * 200_000})


def test_damaged_data_is_refused():
    told = fingerprint(some_graph()).to_dict()
    for damaged in (
        {},
        {**told, "edges": {}},
        {**told, "edges": {**told["edges"], "counters": "not base64!"}},
        {**told, "edges": {**told["edges"], "counters": told["edges"]["counters"][:20]}},
        {**told, "edges": {**told["edges"], "counters": told["edges"]["counters"] + "AAAA"}},
        {**told, "edges": {**told["edges"], "total": "many"}},
        {**told, "edges": {**told["edges"], "count": "9" * 400}},
    ):
        with pytest.raises(ValueError, match="not a fingerprint"):
            Fingerprint.from_dict(damaged)


def test_a_graph_without_attributes_or_edges_has_one_too():
    bare = Graph(sparse.csr_array((3, 3)), node_ids=["a", "b", "c"])
    found = fingerprint(bare)
    assert (found.nodes.count, found.edges.count, found.attributes.count) == (3, 0, 0)
    with pytest.raises(ValueError, match="has no node_ids"):
        fingerprint(Graph(sparse.csr_array((3, 3))))
