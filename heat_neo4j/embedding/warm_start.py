"""Training on from an earlier embedding, so that little moves and little time is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.random import draw_seed, make_keys
from heat_neo4j.embedding.estimator import HEAT
from heat_neo4j.embedding.out_of_sample import with_new_nodes
from heat_neo4j.embedding.postprocessing import unrefined_radii
from heat_neo4j.embedding.similarity import make_similarity, no_similarity
from heat_neo4j.embedding.walks import Walks, draw_walks, make_walks, walks_from
from heat_neo4j.graph import Graph

__all__ = ["fit_warm", "short_schedule"]

_WALKS = 0.4  # of a full fit's
_RATE = 0.2  # of its learning rate: more moves what was right already


def short_schedule(model: HEAT) -> dict[str, Any]:
    """Return the parameters of a training that takes .4 of the model's time, with its learning rate."""
    return {"walks_per_node": max(1, round(_WALKS * model.walks_per_node))}


def fit_warm(
    model: HEAT,
    graph: Graph,
    points: NDArray[np.float64],
    new: NDArray[np.bool_],
    *,
    on_progress: Progress = no_progress,
) -> HEAT:
    """Fit a clone of `model` that starts from an earlier embedding, with fewer walks and a smaller rate.

    Refinement is undone before and done after, so that radii do not grow from one warm start to the next. A
    node of the embedding without any training pair keeps its point to the bit: it has no pair to train, and
    as a negative of others it would only be pushed outwards.

    Parameters
    ----------
    model : HEAT
        Whose parameters to use, fitted or not; it is left as it is.
    graph : Graph
        As it is now.
    points : float64 array of shape (N, d + 1)
        The embedding; rows of new nodes are not looked at.
    new : bool array of shape (N,)
        Nodes that it does not have yet. They begin among their neighbours.
    on_progress : callable
        Given to `HEAT.fit`.

    Returns
    -------
    HEAT
        Fitted, with the parameters of `model`; ``training_["warm_start"]`` tells those it was trained with.

    Raises
    ------
    NothingToLearnError
        If the graph offers no pair to learn from.
    """
    seed = draw_seed(model.random_state)
    keys = make_keys(seed)
    alone = bool((graph.degrees == 0).any())
    similarity = make_similarity(graph, table_limit=0) if alone or new.any() else no_similarity()
    walks = make_walks(graph, alpha=model.alpha, walk_length=2, key=keys.walks, similarity=similarity)
    still = _without_pairs(walks, graph) & ~new
    still_points = points[still]
    start = unrefined_radii(points, graph) if model.refine else points
    if new.any():
        start = with_new_nodes(start, new, graph, walks, keys.start)
    short = {**short_schedule(model), "learning_rate": _RATE * model.learning_rate}
    trained: HEAT = clone(model).set_params(**short, random_state=seed)
    trained.fit(graph, start=start, on_progress=on_progress)
    trained.embedding_[still] = still_points
    trained.set_params(**model.get_params())
    trained.training_["warm_start"] = short
    return trained


def _without_pairs(walks: Walks, graph: Graph) -> NDArray[np.bool_]:
    """Return which nodes have neither a neighbour nor a node with similar attributes."""
    alone = np.flatnonzero(graph.degrees == 0)
    _, lengths = draw_walks(walks, walks_from(alone, 1, graph.n_nodes))
    without = np.zeros(graph.n_nodes, dtype=np.bool_)
    without[alone[lengths == 1]] = True
    return without
