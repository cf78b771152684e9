"""The training loop: rounds of walks in random order, a falling rate, frozen batches, a mean at the end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.pairs import Negatives
from heat_neo4j._kernels.training import Workspace, train_batches
from heat_neo4j._random import Keys
from heat_neo4j.hyperboloid import add_to_centroid, lift
from heat_neo4j.walks import WALKS_PER_BLOCK, Walks, draw_walks

__all__ = [
    "START_WIDTH",
    "Schedule",
    "Trained",
    "make_workspace",
    "resolve_threads",
    "start_points",
    "train",
    "use_threads",
]

START_WIDTH = 1e-3
"""Spatial coordinates start uniform in +-START_WIDTH (HEAT, section 4)."""

_SEGMENT = 10  # source positions that one walk gives to a batch
_BATCHES_PER_CALL = 128  # between two looks at the callback: about a tenth of a second
_AVERAGED = 0.5  # last share of the training whose points are averaged
_SNAPSHOTS = 32  # taken of it, at most
_ROWS = 1 << 16  # averaged at a time


@dataclass(frozen=True)
class Schedule:
    """What is trained, in which portions.

    Parameters
    ----------
    walks_per_node, window_size, n_negatives : int
        HEAT's s, c and m.
    sigma, learning_rate : float
        Width of the Gaussian on distance; step per pair at the start, falling linearly to 0.
    batch_size : int
        Source positions (nodes of walks) whose gradients are summed with the coordinates frozen.
    n_epochs : int
        Passes over all walks.
    """

    walks_per_node: int
    window_size: int
    n_negatives: int
    sigma: float
    learning_rate: float
    batch_size: int
    n_epochs: int


@dataclass(frozen=True)
class Trained:
    """What training leaves: points (N, d + 1), mean loss per round of walks, and counters.

    The points are the centroids of where each node was at times spread over the last half of training
    (Polyak-Ruppert averaging, on the hyperboloid): what single batches do to a node cancels out.
    """

    points: NDArray[np.float64]
    losses: NDArray[np.float64]
    n_pairs: int
    n_skipped: int
    n_damped: int


def resolve_threads(n_threads: int | None) -> int:
    """Return how many threads to use: `n_threads`, or every core this process may run on."""
    if n_threads is not None:
        return n_threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_points(n_nodes: int, n_components: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return N points close to the origin of the hyperboloid, shape (N, d + 1)."""
    return lift(generator.uniform(-START_WIDTH, START_WIDTH, size=(n_nodes, n_components)))


def _batch_shape(batch_size: int, walk_length: int, n_nodes: int) -> tuple[int, int]:
    """Return (segments in a batch, source positions in a segment).

    On a small graph a batch is kept below the number of nodes / 8: the sum of many pairs per node from
    frozen coordinates would overshoot.
    """
    positions = max(1, min(batch_size, n_nodes // 8))
    in_segment = min(positions, walk_length, _SEGMENT)
    return positions // in_segment, in_segment


def make_workspace(
    n_nodes: int, n_components: int, schedule: Schedule, walk_length: int, owners: int
) -> Workspace:
    """Allocate the buffers of one batch."""
    segments, positions = _batch_shape(schedule.batch_size, walk_length, n_nodes)
    candidates = min(2 * schedule.window_size, walk_length - 1) + schedule.n_negatives
    entries = positions * candidates
    return Workspace(
        sources=np.zeros((segments, positions), dtype=np.int32),
        pulls=np.zeros((segments, positions, n_components + 2)),
        entry_node=np.zeros((segments, owners, entries), dtype=np.int32),
        entry_source=np.zeros((segments, owners, entries), dtype=np.int32),
        entry_weight=np.zeros((segments, owners, entries)),
        entry_stiffness=np.zeros((segments, owners, entries)),
        n_entries=np.zeros((segments, owners), dtype=np.int64),
        candidates=np.zeros((segments, candidates), dtype=np.int32),
        weights=np.zeros((segments, candidates)),
        stiffness=np.zeros((segments, candidates)),
        losses=np.zeros(segments),
        tallies=np.zeros((segments, 2), dtype=np.int64),
        moved=np.zeros((n_nodes, n_components + 2)),
        stamp=np.zeros(n_nodes, dtype=np.int64),
        touched=np.zeros((owners, n_nodes), dtype=np.int32),
        n_touched=np.zeros(owners, dtype=np.int64),
        n_damped=np.zeros(owners, dtype=np.int64),
    )


def train(
    points: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    schedule: Schedule,
    keys: Keys,
    *,
    owners: int,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
) -> Trained:
    """Train over all walks of all epochs, from `points` on, which are moved.

    Parameters
    ----------
    points : float64 array of shape (N, d + 1)
        Hyperboloid points to start from.
    walks, negatives : Walks, Negatives
        The walks, and what to contrast their pairs with.
    schedule : Schedule
        What to train.
    keys : Keys
        Random keys. Every epoch repeats the same walks, in another order with other negatives.
    owners : int
        Workers that share the nodes of a batch; the result does not depend on it.
    on_batch : callable
        Called with (batches done, batches in all).

    Returns
    -------
    Trained
    """
    n_nodes, columns = points.shape
    w = make_workspace(n_nodes, columns - 1, schedule, walks.length, owners)
    per_walk = -(-walks.length // w.sources.shape[1])
    blocks = [slice(at, min(at + WALKS_PER_BLOCK, n_nodes)) for at in range(0, n_nodes, WALKS_PER_BLOCK)]
    batches = [-(-(block.stop - block.start) * per_walk // len(w.sources)) for block in blocks]
    per_round = sum(batches)
    rounds = schedule.n_epochs * schedule.walks_per_node
    total = rounds * per_round
    rates = schedule.learning_rate * (1.0 - np.arange(total) / total)
    losses = np.zeros(rounds)
    mean = _LateMean(total)
    n_pairs = n_skipped = done = 0
    for round_ in range(rounds):
        epoch, repetition = divmod(round_, schedule.walks_per_node)
        indices = repetition * n_nodes + keys.order.permutation(n_nodes)
        key = np.uint64(np.random.SeedSequence([int(keys.negatives), epoch]).generate_state(1, np.uint64)[0])
        round_pairs = 0
        for block, in_block in zip(blocks, batches, strict=True):
            nodes, lengths = draw_walks(walks, indices[block])
            for first in range(0, in_block, _BATCHES_PER_CALL):
                count = min(_BATCHES_PER_CALL, in_block - first)
                loss, trained, skipped = train_batches(
                    points, indices[block], nodes, lengths, negatives, w, per_walk, first, count, done + 1,
                    rates[done : done + count], schedule.window_size, schedule.n_negatives, schedule.sigma,
                    key,
                )  # fmt: skip
                losses[round_] += loss
                round_pairs += trained
                n_skipped += skipped
                done += count
                mean.look(points, done)
                on_batch(done, total)
        losses[round_] /= max(round_pairs, 1)
        n_pairs += round_pairs
    return Trained(mean.points, losses, int(n_pairs), int(n_skipped), int(w.n_damped.sum()))


class _LateMean:
    """Centroid of each node's points at some moments of the last part of the training, its end among them."""

    def __init__(self, n_batches: int) -> None:
        late = n_batches * (1.0 - _AVERAGED)
        self._moments = [late + (n_batches - late) * i / _SNAPSHOTS for i in range(1, _SNAPSHOTS + 1)]
        self._points: NDArray[np.float64] | None = None
        self._weight = np.empty(0)

    def look(self, points: NDArray[np.float64], done: int) -> None:
        """Take in the points after `done` batches, if one of the moments has come."""
        due = len(self._moments)
        self._moments = [moment for moment in self._moments if moment > done]
        if len(self._moments) == due:
            return
        if self._points is None:
            self._points, self._weight = points.copy(), np.ones(len(points))
            return
        for first in range(0, len(points), _ROWS):
            rows = slice(first, first + _ROWS)
            self._points[rows], self._weight[rows] = add_to_centroid(
                self._points[rows], self._weight[rows], points[rows]
            )

    @property
    def points(self) -> NDArray[np.float64]:
        """The centroids."""
        assert self._points is not None  # the last moment is the end
        return self._points


def use_threads(n_threads: int) -> int:
    """Tell numba to run `n_threads` threads (at most as many as it may); return what it ran before."""
    before: int = numba.get_num_threads()
    numba.set_num_threads(max(1, min(n_threads, numba.config.NUMBA_NUM_THREADS)))
    return before
