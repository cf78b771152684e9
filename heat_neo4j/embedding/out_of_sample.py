"""Some nodes of an embedding, new or changed, trained while no other moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.random import draw_seed, make_keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.estimator import HEAT
from heat_neo4j.embedding.pairs import negatives_of_walks
from heat_neo4j.embedding.postprocessing import refine, unrefined_radii
from heat_neo4j.embedding.similarity import make_similarity
from heat_neo4j.embedding.training import Trained, start_points, train
from heat_neo4j.embedding.walks import Walks, draw_walks, make_walks, walks_from
from heat_neo4j.geometry.hyperboloid import centroids, exp_map, log_map
from heat_neo4j.graph import Graph

__all__ = ["fit_local", "with_new_nodes"]

Array = NDArray[np.float64]

_MEETINGS = 32  # walks by which a node without neighbours looks for similar ones
_WALKS, _RATE = 0.4, 0.2  # of a full fit's, for changed nodes: as in a warm start


def with_new_nodes(
    points: Array, new: NDArray[np.bool_], graph: Graph, walks: Walks, generator: np.random.Generator
) -> Array:
    """Return points with the rows of new nodes put in.

    A new node begins at the weighted Lorentz centroid of its neighbours that have points; one whose
    neighbours are all new, at that of theirs, and so on; one without neighbours, at that of the nodes it
    meets by attributes. All others begin close to the origin.

    Parameters
    ----------
    points : float64 array of shape (N, d + 1)
        Points of the hyperboloid; rows of new nodes are not looked at.
    new : bool array of shape (N,)
        Which nodes are new.
    graph : Graph
        Of all N.
    walks : Walks
        Of the graph; their second node is a neighbour, or a similar node.
    generator : numpy Generator
        For those that begin close to the origin.
    """
    placed = points.copy()
    left = np.flatnonzero(new)
    placed[left] = start_points(len(left), points.shape[1] - 1, generator)
    has_point = ~new
    left = _by_neighbours(placed, has_point, left, graph.adjacency)
    if left.size and _by_neighbours(placed, has_point, left, _met(walks, left)).size < left.size:
        _by_neighbours(placed, has_point, np.flatnonzero(~has_point), graph.adjacency)
    return placed


def _by_neighbours(
    placed: Array, has_point: NDArray[np.bool_], left: NDArray[np.int64], near: sparse.csr_array
) -> NDArray[np.int64]:
    """Put nodes among near ones that have points, then those near to these; return the nodes left."""
    while left.size and has_point.any():
        weights = sparse.csr_array(near[left] @ sparse.diags_array(has_point.astype(np.float64)))
        is_near = np.asarray(weights.sum(axis=1)).ravel() > 0
        if not is_near.any():
            break
        placed[left[is_near]] = centroids(weights[is_near], placed)
        has_point[left[is_near]] = True
        left = left[~is_near]
    return left


def _met(walks: Walks, nodes: NDArray[np.int64]) -> sparse.csr_array:
    """Return how often each of `nodes` meets any node in the first step of its walks, shape (N, N)."""
    n = walks.n_nodes
    indices = walks_from(nodes, _MEETINGS, n)
    drawn, lengths = draw_walks(walks, indices)
    walked = lengths > 1
    ends = indices[walked] % n, drawn[walked, 1].astype(np.int64)
    return sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))


def fit_local(
    model: HEAT,
    graph: Graph,
    points: Array,
    new: NDArray[np.bool_],
    changed: Array | None = None,
    *,
    on_progress: Progress = no_progress,
) -> HEAT:
    """Embed new nodes, and move those whose neighbourhood changed; all others keep their points to the bit.

    New nodes begin among their neighbours and are trained with all else frozen: short walks from each of
    them, of which only the first position is a source. There are as many pairs for each as in a full fit. A
    new node without neighbours and without attributes stays close to the origin.

    Then nodes whose neighbourhood changed are trained in the same way from where they are, with fewer walks
    and a smaller rate. Each moves along the geodesic to where that leads, by the share of its neighbourhood
    that changed: a node of a thousand relationships hardly moves for one of them. Teleports follow the exact
    sampling distribution of attributes, `attribute_neighbours` or not.

    Parameters
    ----------
    model : HEAT
        Whose parameters to use, fitted or not; it is left as it is.
    graph : Graph
        With all N nodes.
    points : float64 array of shape (N, d + 1)
        The embedding, of the model's kind; rows of new nodes are not looked at.
    new : bool array of shape (N,)
        Which nodes are new; not all.
    changed : float64 array of shape (N,), optional
        Share of each node's neighbourhood that changed, [0, 1]; none did if not given. That of new nodes does
        not matter.
    on_progress : callable
        Called with the stage "local", and batches.

    Returns
    -------
    HEAT
        A fitted clone of `model`.

    Raises
    ------
    ValueError
        If the shapes are wrong, a share is out of range, or no node is to be trained or every node is new.
    """
    shares = np.zeros(graph.n_nodes) if changed is None else np.where(new, 0.0, changed)
    if points.shape != (graph.n_nodes, model.n_components + 1) or not (
        new.shape == shares.shape == (graph.n_nodes,)
    ):
        raise ValueError(
            f"points, new and changed must be of {graph.n_nodes} nodes, got {points.shape}, {new.shape} and "
            f"{shares.shape}"
        )
    if not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise ValueError("changed must hold shares, from 0 to 1")
    moving = shares > 0.0
    if new.all() or not (new.any() or moving.any()):
        raise ValueError("some nodes must be new or changed, and not all new")
    local: HEAT = clone(model)
    schedule, threads = local.check_parameters()
    local.seed_ = draw_seed(model.random_state)
    schedule = replace(schedule, walks_per_node=schedule.walks_per_node * model.walk_length, n_epochs=1)
    keys = make_keys(local.seed_)
    make_ready(on_progress)
    began = perf_counter()
    parts: list[Trained] = []
    with WorkerThreads(threads) as team:
        # Few steps are drawn: a table of all similarities would cost more than it saves.
        similarity = make_similarity(graph, table_limit=0, team=team)
        walks = make_walks(
            graph,
            alpha=model.alpha,
            walk_length=schedule.window_size + 1,
            key=keys.walks,
            similarity=similarity,
            team=team,
        )
        raw = unrefined_radii(points, graph) if model.refine else points
        if new.any():
            raw = with_new_nodes(raw, new, graph, walks, keys.start)
        weights = np.asarray((graph.degrees + 1.0) ** model.negative_exponent, dtype=np.float64)
        total = int(new.any()) + int(moving.any())
        short = replace(
            schedule,
            walks_per_node=max(1, round(_WALKS * schedule.walks_per_node)),
            learning_rate=_RATE * schedule.learning_rate,
        )
        for nodes, part_schedule in ((new, schedule), (moving, short)):
            if not nodes.any():
                continue
            only = np.flatnonzero(nodes)
            negatives = negatives_of_walks(
                walks,
                only,
                weights,
                walks_per_node=part_schedule.walks_per_node,
                window_size=schedule.window_size,
                team=team,
            )
            on_batch = _part(on_progress, len(parts), total)
            part = train(raw, walks, negatives, part_schedule, keys, team=team, only=only, on_batch=on_batch)
            parts.append(part)
            raw = part.points
    final = refine(raw, graph) if model.refine else raw
    local.embedding_ = points.copy()
    local.embedding_[new] = final[new]
    old = points[moving]
    local.embedding_[moving] = exp_map(old, shares[moving, None] * log_map(old, final[moving]))
    local.loss_curve_ = np.concatenate([part.losses for part in parts])
    local.n_pairs_ = sum(part.n_pairs for part in parts)
    local.training_ = {
        "seconds": {"local": round(perf_counter() - began, 3)},
        "threads": threads,
        "pairs": local.n_pairs_,
        "new_nodes": int(new.sum()),
        "changed_nodes": int(moving.sum()),
        "damped_steps": sum(part.n_damped for part in parts),
    }
    return local


def _part(on_progress: Progress, number: int, count: int) -> Callable[[int, int], None]:
    """Return what reports the batches of one part of several as those of one stage."""
    return lambda done, total: on_progress("local", number * total + done, count * total)
