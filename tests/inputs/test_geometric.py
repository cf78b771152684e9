"""Graphs of PyTorch Geometric; `make test-all` installs it."""

import warnings

import numpy as np
import pytest

from heat_neo4j import HEAT, as_graph
from tests.inputs.test_conversion import EDGES, N, matrix

pytestmark = pytest.mark.slow


@pytest.fixture
def torch():
    with warnings.catch_warnings(action="ignore"):  # both warn of themselves when they are imported
        import torch
        import torch_geometric.data  # noqa: F401

    return torch


def test_data_have_their_weights_features_and_directions(torch):
    from torch_geometric.data import Data

    source, target, weight = (torch.tensor(each) for each in zip(*EDGES, strict=True))
    features = torch.arange(2.0 * N).reshape(N, 2)
    read = as_graph(Data(x=features, edge_index=torch.stack((source, target)), edge_attr=weight))
    assert (read.adjacency != matrix()).nnz == 0
    assert np.array_equal(read.attributes, features.numpy())
    pairs = zip(read.relationships.source.tolist(), read.relationships.target.tolist(), strict=True)
    assert set(pairs) == {(u, v) for u, v, _ in EDGES}
    both_ways = torch.stack((torch.cat((source, target)), torch.cat((target, source))))
    undirected = as_graph(Data(edge_index=both_ways, edge_weight=torch.cat((weight, weight)), num_nodes=N))
    assert undirected.relationships is None
    small = {"n_components": 2, "walks_per_node": 2, "walk_length": 6, "random_state": 3, "n_threads": 1}
    assert np.array_equal(
        HEAT(alpha=0.0, **small).fit(read).embedding_, HEAT(alpha=0.0, **small).fit(undirected).embedding_
    )


def test_types_of_hetero_data_are_labels_and_types(torch):
    from torch_geometric.data import HeteroData

    data = HeteroData()
    data["user"].x = torch.ones(2, 1)
    data["film"].x = torch.full((3, 2), 5.0)
    data["user", "rated", "film"].edge_index = torch.tensor([[0, 1, 1], [2, 0, 2]])
    data["user", "rated", "film"].edge_weight = torch.tensor([1.0, 2.0, 3.0])
    data["user", "knows", "user"].edge_index = torch.tensor([[0], [1]])
    read = as_graph(data)
    assert list(read.names) == [("user", 0), ("user", 1), ("film", 0), ("film", 1), ("film", 2)]
    assert {label: mask.tolist() for label, mask in read.labels.items()} == {
        "user": [True, True, False, False, False],
        "film": [False, False, True, True, True],
    }
    assert set(
        map(str, HEAT(n_components=2, walks_per_node=1).fit(read).predict_links(1, score="distance").patterns)
    ) == {
        "user-rated->film",
        "user-knows->user",
    }
    assert read.adjacency[1, 4] == 3.0
    assert read.attributes.toarray().tolist() == [[1, 0, 0]] * 2 + [[0, 5, 5]] * 3
