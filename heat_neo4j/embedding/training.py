"""Training: by batches or by buckets, begun anew with a lower rate where it diverges."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.elementwise import cosh
from heat_neo4j._kernels.pairs import Negatives
from heat_neo4j._utils.random import Keys
from heat_neo4j._utils.threads import ALONE, WorkerThreads
from heat_neo4j.embedding.batches import train_by_batches
from heat_neo4j.embedding.buckets import train_by_buckets, usual_parts
from heat_neo4j.embedding.schedule import Schedule, Trained
from heat_neo4j.embedding.walks import Walks
from heat_neo4j.geometry.hyperboloid import lift, radius

__all__ = ["START_WIDTH", "parts_of", "start_points", "train"]

START_WIDTH = 1e-3  # spatial coordinates start uniform in +-START_WIDTH (HEAT, section 4)
_FARTHEST, _FARTHER = 15.0, 2.0  # from the origin, and than the start is
_MOST_HALVED = 8
_LEAST_NODES = 10  # in a part


def start_points(n_nodes: int, n_components: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return N points close to the origin of the hyperboloid, shape (N, d + 1)."""
    # Not by `uniform`, which fuses multiplication and addition where NumPy is built for that.
    return lift(2.0 * START_WIDTH * generator.random((n_nodes, n_components)) - START_WIDTH)


def parts_of(n_nodes: int, n_components: int, n_rounds: int, n_parts: int | None) -> int:
    """Return in how many parts nodes are trained: as asked for, or as usual; in fewer on a small graph.

    `n_rounds` is the number of walks from each node, in all epochs.
    """
    asked = usual_parts(n_nodes, n_components, n_rounds) if n_parts is None else n_parts
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

    With several parts of the nodes, `schedule.n_parts` or as many as are usual, it is training by buckets,
    with one by batches. Every epoch repeats the same walks, in another order with other negatives. Training
    ends after `time_limit` seconds; where they will not do, the learning rate falls with the time.
    `on_batch` is called with (batches done, batches in all). `occurrences`, how often each node occurs in
    the walks, shape (N,), tell buckets which are hubs; none is if not given.

    With `only`, shape (M,), the other nodes stay where they are: walks, all in one round, start from these
    nodes alone, and only the first position of a walk is a source. (Seen from all positions, new nodes are
    met mostly as the contexts of others, and end up far too central.) That is training by batches always.

    Where the contexts of nodes are no nearer than their negatives, as among the leaves of a hub, training
    can diverge. If points get farther out than any graph needs, it begins anew with half the learning rate.
    """
    began = perf_counter()
    border = float(cosh(max(_FARTHEST, float(radius(start).max()) + _FARTHER)))  # a time coordinate
    n_nodes, columns = start.shape
    n_rounds = schedule.n_epochs * schedule.walks_per_node
    n_parts = parts_of(n_nodes, columns - 1, n_rounds, schedule.n_parts)
    attempt: Callable[..., Trained | None]
    if only is None and n_parts > 1:
        if occurrences is None:
            occurrences = np.ones(n_nodes, dtype=np.int64)
        attempt = partial(train_by_buckets, start, walks, negatives, n_parts=n_parts, occurrences=occurrences)
    else:
        attempt = partial(train_by_batches, start, walks, negatives, only=only)
    for halved in range(_MOST_HALVED + 1):
        slower = replace(schedule, learning_rate=schedule.learning_rate / 2**halved)
        same_draws = replace(keys, order=deepcopy(keys.order))
        left = None if time_limit is None else max(time_limit - (perf_counter() - began), 0.0)
        latest = border if halved < _MOST_HALVED else np.inf
        trained = attempt(slower, same_draws, team=team, time_limit=left, latest=latest, on_batch=on_batch)
        if trained is not None:
            return replace(trained, n_halved=halved)
    raise AssertionError("the last attempt has no border")
