"""Placing new nodes into an embedding of which nothing else moves."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heat_neo4j._compiling import make_ready
from heat_neo4j._newcomers import with_newcomers
from heat_neo4j._progress import Progress, no_progress
from heat_neo4j._random import draw_seed, make_keys
from heat_neo4j._team import Team
from heat_neo4j.estimator import HEAT
from heat_neo4j.graph import Graph
from heat_neo4j.pairs import negatives_of_walks
from heat_neo4j.refinement import refine, unrefined_radii
from heat_neo4j.similarity import make_similarity
from heat_neo4j.training import train
from heat_neo4j.walks import make_walks

__all__ = ["place"]

Array = NDArray[np.float64]


def place(
    model: HEAT, graph: Graph, points: Array, new: NDArray[np.bool_], *, on_progress: Progress = no_progress
) -> HEAT:
    """Embed new nodes; every other node keeps its point to the bit.

    New nodes begin among their neighbours and are then trained with all else frozen: short walks from each of
    them, of which only the first position is a source. There are as many pairs for each as in a full fit.
    Teleports follow the exact law of attributes, `attribute_neighbours` or not. A new node without neighbours
    and without attributes stays close to the origin, where `fit` leaves it too.

    Parameters
    ----------
    model : HEAT
        Whose parameters to use, fitted or not; it is left as it is.
    graph : Graph
        With all N nodes.
    points : float64 array of shape (N, d + 1)
        The embedding, of the model's kind; rows of new nodes are not looked at.
    new : bool array of shape (N,)
        Which nodes are new; at least one, and not all.
    on_progress : callable
        Called with the stage "place", and batches.

    Returns
    -------
    HEAT
        A fitted clone of `model`.

    Raises
    ------
    ValueError
        If the shapes are wrong, or no node or every node is new.
    """
    if points.shape != (graph.n_nodes, model.n_components + 1) or new.shape != (graph.n_nodes,):
        raise ValueError(
            f"points and new must be of {graph.n_nodes} nodes, got {points.shape} and {new.shape}"
        )
    if not new.any() or new.all():
        raise ValueError("some nodes must be new, and not all")
    placed: HEAT = clone(model)
    schedule, threads = placed.check_parameters()
    placed.seed_ = draw_seed(model.random_state)
    only = np.flatnonzero(new)
    length = schedule.window_size + 1
    schedule = replace(schedule, walks_per_node=schedule.walks_per_node * model.walk_length, n_epochs=1)
    keys = make_keys(placed.seed_)
    make_ready(on_progress)
    began = perf_counter()
    with Team(threads) as team:
        # Few steps are drawn: a table of all similarities would cost more than it saves.
        similarity = make_similarity(graph, table_limit=0, team=team)
        walks = make_walks(
            graph, alpha=model.alpha, walk_length=length, key=keys.walks, similarity=similarity, team=team
        )
        frozen = unrefined_radii(points, graph) if model.refine else points
        start = with_newcomers(frozen, new, graph, walks, keys.start)
        negatives = negatives_of_walks(
            walks,
            only,
            np.asarray((graph.degrees + 1.0) ** model.negative_exponent, dtype=np.float64),
            walks_per_node=schedule.walks_per_node,
            window_size=schedule.window_size,
            team=team,
        )
        trained = train(
            start,
            walks,
            negatives,
            schedule,
            keys,
            team=team,
            only=only,
            on_batch=lambda done, total: on_progress("place", done, total),
        )
    moved = refine(trained.points, graph) if model.refine else trained.points
    placed.embedding_ = points.copy()
    placed.embedding_[only] = moved[only]
    placed.loss_curve_ = trained.losses
    placed.n_pairs_ = trained.n_pairs
    placed.training_ = {
        "seconds": {"place": round(perf_counter() - began, 3)},
        "threads": threads,
        "pairs": trained.n_pairs,
        "placed": len(only),
        "damped_steps": trained.n_damped,
    }
    return placed
