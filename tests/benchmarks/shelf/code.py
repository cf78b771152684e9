"""Code as graphs: the classes of Neo4j's jars, and the imports of Python's standard library."""

from __future__ import annotations

import numpy as np

from heat_neo4j.attributes.table import Attribute
from heat_neo4j.demo import read_import_graph
from tests.benchmarks.class_graph import TYPES, class_graph
from tests.benchmarks.shelf.dataset import (
    DataSet,
    attributed,
    attributes_of,
    held_out_at_random,
    linked,
    truth_by_pattern,
)

__all__ = ["classes", "standard_library"]


def classes(seed: int) -> DataSet:
    """Return which classes extend, implement and refer to which, without a random 15 % of each type."""
    read = class_graph()
    ends = np.column_stack((read.source, read.target))
    triples = {name: ends[read.type == place] for place, name in enumerate(TYPES)}
    whole = read.to_graph()
    train, test = held_out_at_random(triples, whole.n_nodes, seed)
    attributes = attributes_of(whole)
    graph = linked(whole.n_nodes, train, labels=whole.labels, keys=read.names, attributes=attributes)
    return DataSet(graph, truth_by_pattern(graph, test))


def standard_library(seed: int) -> DataSet:
    """Return which modules import which, without a random 15 %."""
    read = read_import_graph()
    n, labels = len(read.keys), {"Module": np.ones(len(read.keys), dtype=np.bool_)}
    names = ("kind", "words", "lines", "functions", "classes")
    attributes = attributed(
        [Attribute(name) for name in names],
        {name: [module.get(name) for module in read.modules] for name in names},
        n,
        labels,
    )
    train, test = held_out_at_random({"IMPORTS": np.column_stack((read.source, read.target))}, n, seed)
    graph = linked(n, train, labels=labels, keys=read.keys, attributes=attributes)
    return DataSet(graph, truth_by_pattern(graph, test))
