"""What the evaluations share: default seeds and grids, their error, and plain descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heat_neo4j._validation import check_integer
from heat_neo4j.estimator import HEAT
from heat_neo4j.graph import Graph

__all__ = [
    "ALPHAS",
    "LABEL_SHARES",
    "SEEDS",
    "EvaluationError",
    "check_seeds",
    "described",
    "sizes_of",
]

SEEDS = (0, 1, 2, 3, 4)
ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)
LABEL_SHARES = (0.02, 0.04, 0.06, 0.08, 0.1)


class EvaluationError(ValueError):
    """The graph cannot be evaluated as asked; the message says why."""


def check_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds, checked.

    Raises
    ------
    TypeError, ValueError
        If there is none, one is repeated, or one is not an integer of at least 0.
    """
    checked = tuple(check_integer("seed", seed, minimum=0, maximum=None) for seed in seeds)
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"seeds must be given, each once, got {list(seeds)}")
    return checked


def described(model: HEAT) -> dict[str, Any]:
    """Return the estimator's parameters; the seeds stand elsewhere, and threads change nothing."""
    parameters: dict[str, Any] = model.get_params()
    return {name: value for name, value in parameters.items() if name not in ("random_state", "n_threads")}


def sizes_of(graph: Graph) -> dict[str, int]:
    """Return how large a graph is."""
    return {"nodes": graph.n_nodes, "edges": graph.n_edges, "attributes": graph.n_attributes}
