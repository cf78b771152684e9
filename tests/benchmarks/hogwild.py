"""A plain Hogwild twin of the trainer: every pair moves its points at once, threads race without locks.

It calls the package's own walks and draws, and differs in when points move: after every pair, 12 exponential
maps for 10 negatives. Its result depends on thread timing; nothing in the package uses it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from heat_neo4j._kernels.pairs import RING, Negatives, draw_negatives
from heat_neo4j._kernels.random import stream
from heat_neo4j._kernels.walks import draw_together
from heat_neo4j._utils.random import Keys
from heat_neo4j.embedding.schedule import Schedule
from heat_neo4j.embedding.walks import Walks

__all__ = ["train_hogwild"]


@njit(cache=True, error_model="numpy")
def _move(points: Any, node: int, tangent: Any, rate: float) -> None:
    """exp_x(rate * tangent), the tangent projected first."""
    d = points.shape[1] - 1
    inner = -tangent[d] * points[node, d]
    for i in range(d):
        inner += tangent[i] * points[node, i]
    square = 0.0
    for i in range(d + 1):
        tangent[i] = rate * (tangent[i] + inner * points[node, i])
        square += tangent[i] * tangent[i] if i < d else -tangent[i] * tangent[i]
    norm = np.sqrt(max(square, 0.0))
    across = np.sinh(norm) / norm if norm > 1e-12 else 1.0
    time = 1.0
    for i in range(d):
        points[node, i] = np.cosh(norm) * points[node, i] + across * tangent[i]
        time += points[node, i] * points[node, i]
    points[node, d] = np.sqrt(time)


@njit(cache=True, error_model="numpy")
def _train_pair(
    points: Any, source: int, candidates: Any, size: int, scale: float, rate: float, weights: Any,
    logits: Any, pull: Any, push: Any,
) -> None:  # fmt: skip
    """One step of Riemannian stochastic gradient descent on one pair; the last four are scratch."""
    d = points.shape[1] - 1
    highest = -np.inf
    for k in range(size):
        node = candidates[k]
        z = points[source, d] * points[node, d] - 1.0
        for i in range(d):
            z -= points[source, i] * points[node, i]
        z = max(z, 1e-12)
        root = np.sqrt(z * (z + 2.0))
        distance = np.log(1.0 + z + root)
        weights[k] = distance / root
        logits[k] = -distance * distance * scale
        highest = max(highest, logits[k])
    total = 0.0
    for k in range(size):
        logits[k] = np.exp(logits[k] - highest)
        total += logits[k]
    for k in range(size):
        weights[k] *= (1.0 if k == 0 else 0.0) - logits[k] / total
    pull[:] = 0.0
    for k in range(size):
        node = candidates[k]
        for i in range(points.shape[1]):
            pull[i] += weights[k] * points[node, i]
            push[i] = weights[k] * points[source, i]
        _move(points, node, push, rate)
    _move(points, source, pull, rate)


@njit(parallel=True, cache=True, error_model="numpy")
def _train_round(
    points: Any, walker: Any, similarity: Any, negatives: Any, starts: Any, first_walk: int, window: int,
    n_negatives: int, sigma: float, high: float, low: float, key: Any,
) -> int:  # fmt: skip
    """One walk from every start; the learning rate falls from `high` to `low`. Returns the pairs trained."""
    counts = np.zeros(starts.shape[0], dtype=np.int64)
    columns = points.shape[1]
    slots, exists, listed_from, listed, listed_slots, words, row_words = negatives
    for w in prange(starts.shape[0]):
        drawn_nodes, lengths = np.empty((1, walker.length), dtype=np.int32), np.empty(1, dtype=np.int64)
        nodes = drawn_nodes[0]
        candidates = np.empty(n_negatives + 1, dtype=np.int32)
        weights, logits = np.empty(n_negatives + 1), np.empty(n_negatives + 1)
        pull, push = np.empty(columns), np.empty(columns)
        index = first_walk + starts[w]
        draw_together(walker, similarity, np.full(1, index), drawn_nodes, lengths, 0, 1)
        length = lengths[0]
        state = stream(stream(key, index), 0)
        drawn = proposed = 0
        proposals = np.empty(RING, dtype=np.int32)
        rate = (high + (low - high) * w / starts.shape[0]) / (sigma * sigma)
        for at in range(length):
            source = nodes[at]
            for near in range(max(at - window, 0), min(at + window + 1, length)):
                if nodes[near] == source or not exists[source]:
                    continue
                candidates[0] = nodes[near]
                drawn, proposed = draw_negatives(
                    slots, listed_from, listed, listed_slots, words, row_words, source, state, drawn,
                    proposed, proposals, candidates, 1, n_negatives,
                )  # fmt: skip
                _train_pair(
                    points, source, candidates, 1 + n_negatives, 0.5 / (sigma * sigma), rate, weights, logits,
                    pull, push,
                )  # fmt: skip
                counts[w] += 1
    return counts.sum()


def train_hogwild(
    points: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    schedule: Schedule,
    keys: Keys,
    *,
    threads: int,
    learning_rate: float = 0.02,
) -> int:
    """Train `points` in place over all walks, once; return the pairs trained.

    The learning rate is the one that serves this trainer best (a larger one lowers its AUROC); that of
    `schedule` is not used.
    """
    rounds, n_nodes = schedule.walks_per_node, len(points)
    trained = 0
    numba.set_num_threads(threads)
    for r in range(rounds):
        starts = keys.order.permutation(n_nodes).astype(np.int32)
        high, low = (learning_rate * (1.0 - (r + i) / rounds) for i in (0, 1))
        trained += _train_round(
            points, walks.walker, walks.similarity, negatives, starts, r * n_nodes,
            schedule.window_size, schedule.n_negatives, schedule.sigma, high, low, keys.negatives,
        )  # fmt: skip
    return int(trained)
