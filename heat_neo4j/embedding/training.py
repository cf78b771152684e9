"""Training by batches or by buckets, restarted with a lower learning rate if it diverges."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.elementwise import cosh
from heat_neo4j._kernels.pairs import Negatives
from heat_neo4j._kernels.random import slot_weights
from heat_neo4j._utils.array_store import ArraysInMemory, ArrayStore
from heat_neo4j._utils.clock import Clock
from heat_neo4j._utils.random import Keys
from heat_neo4j._utils.scratch import slices
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.batches import train_by_batches
from heat_neo4j.embedding.bucket_tasks import BucketTasks
from heat_neo4j.embedding.buckets import BucketTraining, BucketWorkers, usual_parts
from heat_neo4j.embedding.parts import hubs_of
from heat_neo4j.embedding.schedule import Schedule, Trained
from heat_neo4j.embedding.walks import Walks
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import lift, radius

START_WIDTH = 1e-3  # spatial coordinates start uniform in +-START_WIDTH (HEAT, section 4)
_FARTHEST, _FARTHER = 15.0, 2.0  # maximum radius: 15, or the starting radius plus 2
MOST_HALVED = 8
"""Maximum number of restarts with half the learning rate."""
_LEAST_NODES = 10  # minimum nodes per part


class DivergedError(ConfigError, ValueError):
    """Raised if coordinates become NaN or infinite even at the lowest learning rate."""


def start_points(n_nodes: int, n_components: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return N points close to the origin of the hyperboloid, shape (N, d + 1)."""
    # Not `uniform`, which uses fused multiply-add in some builds of NumPy.
    points = np.empty((n_nodes, n_components + 1))
    for rows in slices(n_nodes, n_components):
        drawn = generator.random((rows.stop - rows.start, n_components))
        points[rows] = lift(2.0 * START_WIDTH * drawn - START_WIDTH)
    return points


def parts_of(n_nodes: int, n_components: int, n_walks: int, n_parts: int | None) -> int:
    """Return the number of parts: `n_parts` or the default, reduced on small graphs.

    `n_walks` is the number of walks from each node, in all epochs.
    """
    asked = usual_parts(n_nodes, n_components, n_walks) if n_parts is None else n_parts
    return max(min(asked, n_nodes // _LEAST_NODES), 1)


def train(
    start: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    schedule: Schedule,
    keys: Keys,
    *,
    team: WorkerThreads = ALONE,
    occurrences: NDArray[np.int64] | None = None,
    only: NDArray[np.int64] | None = None,
    time_limit: float | None = None,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
) -> Trained:
    """Train over all walks of all epochs, from points `start` of shape (N, d + 1).

    Training is by buckets if there are several parts (`schedule.n_parts` or the default), otherwise by
    batches. Every epoch repeats the same walks in another order with other negatives. Training ends after
    `time_limit` seconds; if they do not suffice, the learning rate decays with time. Calls `on_batch` with
    (batches done, total batches). `occurrences`, the number of times each node occurs in the walks, shape
    (N,), defines the hubs; by default there are none.

    With `only`, shape (M,), all other nodes are frozen and training is always by batches. All walks form one
    round and start from these nodes, and only the first position of a walk is a source. (With all positions
    as sources, new nodes would occur mostly as contexts of others and end up far too central.)

    Training can diverge if a node's contexts are no nearer than its negatives, as among the leaves of a hub.
    If a point moves farther out than any graph needs, training restarts with half the learning rate.
    """
    n_parts = parts_of(len(start), start.shape[1] - 1, schedule.n_walks, schedule.n_parts)
    if only is None and n_parts > 1:
        if occurrences is None:
            occurrences = np.ones(len(start), dtype=np.int64)
        tasks = make_tasks(ArraysInMemory(), start, walks, negatives, occurrences, schedule, keys)
        return train_tasks(tasks, team, time_limit=time_limit, on_batch=on_batch)

    def attempt(halved: int, left: float | None, latest: float) -> Trained | None:
        slower = replace(schedule, learning_rate=schedule.learning_rate / 2**halved)
        same_draws = replace(keys, order=deepcopy(keys.order))
        return train_by_batches(
            start, walks, negatives, slower, same_draws, team=team, only=only, time_limit=left, latest=latest,
            on_batch=on_batch,
        )  # fmt: skip

    return until_it_holds(attempt, start, schedule, time_limit)


def make_tasks(
    store: ArrayStore,
    start: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    occurrences: NDArray[np.int64],
    schedule: Schedule,
    keys: Keys,
) -> BucketTasks:
    """Return the tasks of a training by buckets with results in `store`."""
    n_parts = parts_of(len(start), start.shape[1] - 1, schedule.n_walks, schedule.n_parts)
    return BucketTasks(
        store,
        walks,
        negatives,
        weights=slot_weights(negatives.slots),
        hubs=hubs_of(occurrences, n_parts),
        start=start,
        schedule=schedule,
        key=int(keys.negatives),
        n_parts=n_parts,
    )


def train_tasks(
    tasks: BucketTasks,
    workers: BucketWorkers,
    *,
    time_limit: float | None = None,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
) -> Trained:
    """Train by buckets, as `train` does; results that are already in the store are reused."""

    def attempt(halved: int, left: float | None, latest: float) -> Trained | None:
        slower = replace(tasks, halved=halved)
        return BucketTraining(slower, workers, left, latest, on_batch).run()

    return until_it_holds(attempt, tasks.start, tasks.schedule, time_limit)


def until_it_holds(
    attempt: Callable[[int, float | None, float], Trained | None],
    start: NDArray[np.float64],
    schedule: Schedule,
    time_limit: float | None,
) -> Trained:
    """Return the first result of ``attempt(halvings, seconds left, maximum time coordinate)``."""
    clock = Clock()
    border = float(cosh(max(_FARTHEST, float(radius(start).max()) + _FARTHER)))  # a time coordinate
    for halved in range(MOST_HALVED + 1):
        trained = attempt(halved, clock.left(time_limit), border if halved < MOST_HALVED else np.inf)
        if trained is not None:
            return replace(trained, n_halved=halved)
    # The last attempt has no limit, so it fails only if coordinates are NaN.
    rate = schedule.learning_rate / 2**MOST_HALVED
    raise DivergedError(
        f"training diverged even at a learning rate of {rate:.3g}: sigma {schedule.sigma:g} is too small for "
        f"learning rate {schedule.learning_rate:g}: raise `sigma` or lower `learning_rate`"
    )
