"""Cora_ML, Citeseer and PPI as the HEAT authors have them: undirected, with attributes."""

from __future__ import annotations

import numpy as np

from heat_neo4j.graph import Graph
from tests.benchmarks.shelf.dataset import DataSet, MissingDataError, held_out_at_random, without
from tests.support.datasets import dataset_folder, load_graph

__all__ = ["plain_graph", "without_some"]


def plain_graph(name: str, seed: int) -> DataSet:
    """Return one of the graphs without a random 15 % of its edges."""
    if not (dataset_folder() / name).exists():
        raise MissingDataError(f"no folder {dataset_folder() / name}: name the data sets' in HEAT_DATASETS")
    return without_some(load_graph(name), seed)


def without_some(graph: Graph, seed: int) -> DataSet:
    """Hold out undirected edges of a graph at random."""
    pairs = np.column_stack((graph.edges.row, graph.edges.col)).astype(np.int64)
    _, test = held_out_at_random({"": pairs}, graph.n_nodes, seed)
    return DataSet(without(graph, None, test[""]), {None: test[""]})
