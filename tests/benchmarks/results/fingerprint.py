"""What the code makes of a small graph: results are kept for as long as this stays the same.

To six decimals, not to the bit: sums of NumPy and of the linear algebra below it end in other bits on another
processor.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.calibration import embed_without
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.splits import split_edges
from tests.benchmarks.node_classes import NodeClasses, class_scores
from tests.benchmarks.reconstruction import reconstruction_auroc
from tests.benchmarks.results.jobs import BASELINES, FEATURES, both_scores
from tests.support.link_auroc import link_auroc

__all__ = ["fingerprint"]

_SLOW = "gensim"  # a library of others
_DECIMALS = 6


@cache
def fingerprint() -> str:
    """Return 16 hexadecimal digits that change with splits, training, scores, choices and figures."""
    digest = hashlib.sha256()
    for part in _parts():
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def _parts() -> Iterator[str]:
    graph, classes = _graph()
    ends = graph.edges.row, graph.edges.col
    directed = replace(graph, relationships=Relationships.from_pairs({"LEADS": ends}))
    split = split_edges(graph, 0.15, random_state=1)
    yield _text(split.test_edges.tolist(), split.test_non_edges.tolist())
    for alpha in (0.0, 0.2):
        model = HEAT(3, alpha=alpha, n_threads=1, random_state=1).fit(graph)
        yield _text(model.embedding_.tolist())
        yield _text(link_auroc(model.embedding_, split), reconstruction_auroc(model.embedding_, graph))
    model = HEAT(3, walks_per_node=2, n_threads=1, random_state=1)
    yield _text(both_scores(model, split, 1))
    yield _text(link_score([embed_without(model, directed)], directed).to_dict())
    for name, method in BASELINES.items():
        if _SLOW not in name:
            yield _text(method(split.train, 1)(None).pairs(split.test_edges).tolist())
    for name, features in FEATURES.items():
        if _SLOW not in name:
            yield _text(class_scores(features(graph, 1, {}), classes, 0.1, 1))


def _text(*values: object) -> str:
    return json.dumps(_rounded(values))


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, _DECIMALS) + 0.0  # not -0.0
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    return value


def _graph() -> tuple[Graph, NodeClasses]:
    """Return 240 nodes of four groups, which relationships and attributes tell."""
    rng = np.random.default_rng(0)
    group = np.arange(240) % 4
    same = group[:, None] == group
    upper: NDArray[np.bool_] = np.triu(rng.random(same.shape) < np.where(same, 0.1, 0.005), k=1)
    facts = rng.random((240, 12)) < np.where(np.arange(12) % 4 == group[:, None], 0.6, 0.1)
    graph = Graph(sparse.csr_array(upper.astype(np.float64)), sparse.csr_array(facts.astype(np.float64)))
    return graph, NodeClasses(tuple("abcd"), group[:, None] == np.arange(4))
