import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.graph import Graph


def test_a_directed_matrix_is_made_symmetric_by_summing():
    directed = sparse.coo_matrix(([2.0, 3.0, 1.0], ([0, 1, 1], [1, 0, 2])), shape=(4, 4))
    graph = Graph(adjacency=directed)
    assert graph.adjacency.toarray().tolist() == [[0, 5, 0, 0], [5, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert (graph.n_nodes, graph.n_edges) == (4, 2)
    assert graph.degrees.tolist() == [1, 2, 1, 0]


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
        (sparse.csr_array(np.array([[0, -1.0], [0, 0]])), "negative weight"),
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
