"""Compiled code made ready before it is needed: once on a machine that takes seconds, and a user is told."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse

from heat_neo4j._kernels.training import train_batches
from heat_neo4j._progress import Progress
from heat_neo4j._random import make_keys
from heat_neo4j.graph import Graph
from heat_neo4j.pairs import collect_pairs
from heat_neo4j.similarity import make_similarity
from heat_neo4j.training import Schedule, start_points, train
from heat_neo4j.walks import make_walks

__all__ = ["COMPILING", "make_ready"]

COMPILING = "compiling (only once)"
"""The stage that a progress callback is told; only where something is compiled."""


def make_ready(on_progress: Progress) -> bool:
    """Compile what trains, unless that is done; return whether it had to be compiled.

    Compiled code is kept in the package's folder, or, where that cannot be written to, in the user's cache.
    """
    if _is_compiled():
        return False
    on_progress(COMPILING, 0, 1)
    _train_a_little()
    on_progress(COMPILING, 1, 1)
    return True


def _is_compiled() -> bool:
    """Tell whether this process, or one before, has compiled the last and largest of the kernels."""
    kept = Path(train_batches.stats.cache_path)
    return bool(train_batches.signatures) or any(kept.glob("training.train_batches-*.nbi"))


@cache
def _train_a_little() -> None:
    ring = sparse.csr_array(np.roll(np.eye(8), 1, axis=1))
    graph = Graph(adjacency=ring, attributes=np.arange(16.0).reshape(8, 2) % 3)
    keys = make_keys(0)
    for similarity in (make_similarity(graph), make_similarity(graph, table_limit=0)):
        walks = make_walks(graph, alpha=0.5, walk_length=4, key=keys.walks, similarity=similarity)
        pairs = collect_pairs(walks, walks_per_node=1, window_size=1, negative_exponent=0.5)
        train(start_points(8, 2, keys.start), walks, pairs.negatives, Schedule(1, 1, 1, 1.0, 0.1, 8, 1), keys)
