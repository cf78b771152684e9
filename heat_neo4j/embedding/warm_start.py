"""Warm starts: retrain all nodes in less time, or train only new and changed nodes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heat_neo4j._kernels.coarse import NO_NODE
from heat_neo4j._kernels.elementwise import power
from heat_neo4j._kernels.similarity import Similarity
from heat_neo4j._utils.clock import Clock
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.random import draw_seed, make_keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.attribute_signal import teleports
from heat_neo4j.embedding.coarse_graph import similar_nodes
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.fitting import Estimator, checked_schedule
from heat_neo4j.embedding.pairs import negatives_of_walks
from heat_neo4j.embedding.placement import place_among, refine, unrefined_radii
from heat_neo4j.embedding.schedule import Trained
from heat_neo4j.embedding.similarity import make_similarity
from heat_neo4j.embedding.training import start_points, train
from heat_neo4j.embedding.walks import Walks, make_walks
from heat_neo4j.geometry.hyperboloid import check_points, exp_map, log_map
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]
E = TypeVar("E", bound=Estimator)

_WALKS = 0.4  # share of a full fit's walks
_RATE = 0.2  # share of its learning rate; more would move points that are already right


def short_schedule(model: Estimator) -> dict[str, Any]:
    """Return the parameters of a training that takes 0.4 of the full time, at the full learning rate."""
    return {"walks_per_node": max(1, round(_WALKS * model.walks_per_node))}


def fit_warm(
    model: E,
    graph: Graph,
    points: Array,
    new: NDArray[np.bool_],
    *,
    on_progress: Progress = no_progress,
) -> E:
    """Fit a clone of `model` that starts from an earlier embedding, with fewer walks and a smaller rate.

    Refinement is undone before and redone after training, so that radii do not grow with each warm start. New
    nodes, a mask of shape (N,), start among their neighbours. A node without training pairs keeps its point
    exactly: as a negative of others it would only be pushed outwards. The clone has the parameters of
    `model`; ``training_["warm_start"]`` holds those of the training. Raises the errors of `HEAT.fit`, and
    `NotHyperbolicError` if one of `points` is not on the hyperboloid.
    """
    check_points(points[~new])
    seed = draw_seed(model.random_state)
    keys = make_keys(seed)
    alone = bool((graph.degrees == 0).any())
    chosen = teleports(graph, model.alpha)
    similarity = make_similarity(chosen.graph, table_limit=0) if alone or new.any() else Similarity()
    walks = make_walks(graph, alpha=chosen.alpha, walk_length=2, key=keys.walks, similarity=similarity)
    still = (graph.degrees == 0) & (similar_nodes(graph, walks) == NO_NODE) & ~new
    still_points = points[still]
    start = unrefined_radii(points, graph) if _is_refined(model) else points
    if new.any():
        start = with_new_nodes(start, new, graph, walks, keys.start)
    short = {**short_schedule(model), "learning_rate": _RATE * model.learning_rate}
    trained: E = clone(model).set_params(**short, random_state=seed)
    trained.fit(graph, start=start, on_progress=on_progress)
    trained.embedding_[still] = still_points
    trained.set_params(**model.get_params())
    trained.training_["warm_start"] = short
    return trained


def _is_refined(model: Estimator) -> bool:
    """Return whether radii were scaled by degree; those of a hierarchy are not."""
    return model.refine and model.hierarchy is None


def with_new_nodes(
    points: Array, new: NDArray[np.bool_], graph: Graph, walks: Walks, generator: np.random.Generator
) -> Array:
    """Return `points`, shape (N, d + 1), with starting points for new nodes.

    New nodes start among others as `place_among` puts them, or else close to the origin.
    """
    placed = points.copy()
    placed[new] = start_points(int(np.count_nonzero(new)), points.shape[1] - 1, generator)
    return place_among(placed, ~new, graph, walks)


def fit_local(
    model: E,
    graph: Graph,
    points: Array,
    new: NDArray[np.bool_],
    changed: Array | None = None,
    *,
    on_progress: Progress = no_progress,
) -> E:
    """Embed new nodes, and move those whose neighbourhood changed; all others keep their points to the bit.

    New nodes start among their neighbours and are trained with all others frozen, with as many pairs per node
    as in a full fit. Changed nodes are then trained in the same way, with fewer walks and a smaller learning
    rate. Each moves along the geodesic to its new point, by the share of its neighbourhood that changed.

    `new` is a mask of shape (N,); new rows of `points`, shape (N, d + 1), are ignored. `changed` holds the
    shares, [0, 1], shape (N,), by default 0. Raises ValueError if shapes are wrong, a share is out of range,
    no node is to be trained or every node is new, and `NotHyperbolicError` if a point is not on the
    hyperboloid.
    """
    shares = np.zeros(graph.n_nodes) if changed is None else np.where(new, 0.0, changed)
    n = graph.n_nodes
    if points.shape != (n, model.n_components + 1) or not new.shape == shares.shape == (n,):
        shapes = f"{points.shape}, {new.shape} and {shares.shape}"
        raise ValueError(f"points, new and changed must have {n} rows, got shapes {shapes}")
    if not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise ValueError("changed must be between 0 and 1")
    moving = shares > 0.0
    if new.all() or not (new.any() or moving.any()):
        raise ValueError("at least one node must be new or changed, and not all may be new")
    check_points(points[~new])
    local: E = clone(model)
    schedule, threads = checked_schedule(local)
    local.seed_ = draw_seed(model.random_state)
    schedule = replace(schedule, walks_per_node=schedule.walks_per_node * model.walk_length, n_epochs=1)
    keys = make_keys(local.seed_)
    make_ready(on_progress)
    clock = Clock()
    parts: list[Trained] = []
    with WorkerThreads(threads) as team:
        # Few steps are drawn, so a table of all similarities would cost more than it saves.
        chosen = teleports(graph, model.alpha)
        similarity = make_similarity(chosen.graph, table_limit=0, team=team)
        length = schedule.window_size + 1
        walks = make_walks(
            graph,
            alpha=chosen.alpha,
            walk_length=length,
            key=keys.walks,
            forward=model.forward,
            type_balance=model.type_balance,
            similarity=similarity,
            team=team,
        )
        raw = unrefined_radii(points, graph) if _is_refined(model) else points
        if new.any():
            raw = with_new_nodes(raw, new, graph, walks, keys.start)
        weights = power(graph.degrees + 1.0, model.negative_exponent)
        short = replace(
            schedule,
            walks_per_node=max(1, round(_WALKS * schedule.walks_per_node)),
            learning_rate=_RATE * schedule.learning_rate,
        )
        stages = [stage for stage in ((new, schedule), (moving, short)) if stage[0].any()]
        works = [int(nodes.sum()) * part_schedule.walks_per_node for nodes, part_schedule in stages]
        for nodes, part_schedule in stages:
            only = np.flatnonzero(nodes)
            negatives = negatives_of_walks(
                walks, only, weights, part_schedule.walks_per_node, schedule.window_size, team
            )
            left = clock.left(model.time_limit)
            if left is not None:  # in proportion to this part's share of the remaining walks
                left *= works[len(parts)] / sum(works[len(parts) :])
            on_batch = _part(on_progress, len(parts), len(stages))
            part = train(
                raw, walks, negatives, part_schedule, keys, team=team, only=only, time_limit=left,
                on_batch=on_batch,
            )  # fmt: skip
            parts.append(part)
            raw = part.points
    final = refine(raw, graph) if _is_refined(model) else raw
    local.embedding_ = points.copy()
    local.embedding_[new] = final[new]
    old = points[moving]
    local.embedding_[moving] = exp_map(old, shares[moving, None] * log_map(old, final[moving]))
    local.loss_curve_ = np.concatenate([part.losses for part in parts])
    local.n_pairs_ = sum(part.n_pairs for part in parts)
    clock.lap("local")
    local.training_ = {
        "seconds": clock.seconds,
        "threads": threads,
        "pairs": local.n_pairs_,
        "trained_share": round(float(np.average([part.share for part in parts], weights=works)), 4),
        "new_nodes": int(new.sum()),
        "changed_nodes": int(moving.sum()),
        "damped_steps": sum(part.n_damped for part in parts),
        **chosen.facts(),
    }
    return local


def _part(on_progress: Progress, number: int, count: int) -> Callable[[int, int], None]:
    """Return a callback that reports the batches of one of several parts as a single stage."""
    return lambda done, total: on_progress("local", number * total + done, count * total)
