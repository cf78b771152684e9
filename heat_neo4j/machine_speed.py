"""How fast this machine works just now, beside the one whose speeds an estimate reckons with."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np
from scipy import sparse

from heat_neo4j._compiling import make_ready
from heat_neo4j._progress import Progress, no_progress
from heat_neo4j.estimates import RATES, Rates, RunSize, estimate
from heat_neo4j.estimator import HEAT
from heat_neo4j.graph import Graph

__all__ = ["rates_here"]

_NODES, _DEGREE, _WALKS = 2000, 8, 2
_TRIALS = 3
_OWN = (
    "position", "candidate", "coordinate", "walk_step", "teleport", "teleport_value", "table_entry",
    "similarity_value", "near_compiling", "near_node", "link_node", "link_coordinate", "link_tile",
    "fitted_edge", "scored_pair", "shortlisted_node",
)  # fmt: skip


def rates_here(n_threads: int, on_progress: Progress = no_progress) -> Rates:
    """Return speeds to estimate with, as a small training finds them on this machine, as busy as it is.

    Speeds of the server are left as they are. Takes half a second, and compiles first if need be.

    Parameters
    ----------
    n_threads : int
        Threads that the run will have.
    on_progress : callable
        Called while kernels are compiled.
    """
    ends = np.random.default_rng(0).integers(0, _NODES, (2, _NODES * _DEGREE // 2))
    graph = Graph(sparse.csr_array((np.ones(ends.shape[1]), ends), shape=(_NODES, _NODES)))
    model = HEAT(walks_per_node=_WALKS, alpha=0.0, n_threads=n_threads, random_state=0)
    size = RunSize(
        nodes=_NODES,
        relationships=graph.n_edges,
        attribute_columns=0,
        walks_per_node=_WALKS,
        alpha=0.0,
        threads=n_threads,
    )
    expected = sum(estimate(size).seconds[stage] for stage in ("walks", "train"))
    make_ready(on_progress)
    model.fit(graph)  # the first is slower
    took = []
    for _ in range(_TRIALS):
        seconds = model.fit(graph).training_["seconds"]
        took.append(seconds["walks"] + seconds["train"])
    slower = median(took) / expected
    return replace(RATES, **{name: slower * getattr(RATES, name) for name in _OWN})
