"""Training on the closure of a hierarchy, beside short walks along everything else."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.elementwise import power
from heat_neo4j._kernels.hierarchy import MOST_ANCESTORS, Closure, train_closure
from heat_neo4j._kernels.random import alias_slots
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.random import Keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.batches import batch_shape, from_a_line, workspace_of
from heat_neo4j.embedding.hierarchy import Hierarchy
from heat_neo4j.embedding.schedule import Pace, Schedule, Trained
from heat_neo4j.embedding.training import until_it_holds
from heat_neo4j.embedding.walks import WALKS_PER_BLOCK, Walks, draw_walks
from heat_neo4j.graph import Graph

HIERARCHY_RATE = 0.1
"""Share of the learning rate: the start is nearly right."""

_ROUNDS, _ROUNDS_BESIDE = 2, 20  # times that a node is a source, for each of its walks; where others count
_NEGATIVES, _CHILDREN, _PROPOSALS = 5, 4, 24  # for each negative asked for: kept, and proposed of both laws
_POSITIONS = 10  # sources of a segment
_BATCHES_PER_CALL = 32


def train_hierarchy(
    start: NDArray[np.float64],
    hierarchy: Hierarchy,
    graph: Graph,
    walks: Walks,
    schedule: Schedule,
    keys: Keys,
    *,
    negative_exponent: float,
    team: WorkerThreads,
    time_limit: float | None = None,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
) -> Trained:
    """Train from points `start`, shape (N, d + 1), on the pairs of the closure and of the walks.

    `walks` have ``schedule.window_size + 1`` nodes. Each ends before its first step along the hierarchy.
    Negatives follow the numbers of descendants, to the power `negative_exponent`. The other arguments and
    errors are those of `train`.
    """
    others = graph.adjacency - graph.adjacency.multiply(hierarchy.parents + hierarchy.parents.T)
    others = sparse.csr_array(others)
    others.eliminate_zeros()
    others.sort_indices()
    closure = _closure(hierarchy, others, negative_exponent)
    rounds = (_ROUNDS_BESIDE if others.nnz else _ROUNDS) * schedule.n_walks

    def attempt(halved: int, left: float | None, latest: float) -> Trained | None:
        slower = replace(schedule, learning_rate=HIERARCHY_RATE * schedule.learning_rate / 2**halved)
        same_draws = replace(keys, order=deepcopy(keys.order))
        return _train(
            start, closure, walks, slower, rounds, same_draws, team=team, time_limit=left, latest=latest,
            on_batch=on_batch,
        )  # fmt: skip

    return until_it_holds(attempt, start, schedule, time_limit)


def _closure(hierarchy: Hierarchy, others: sparse.csr_array, negative_exponent: float) -> Closure:
    children = sparse.csr_array(hierarchy.parents.T)
    children.sort_indices()
    return Closure(
        *_rows(hierarchy.ancestors),
        *_rows(children),
        *_rows(others),
        slots=alias_slots(power(hierarchy.descendants + 1.0, negative_exponent)),
    )


def _rows(matrix: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


def _train(
    start: NDArray[np.float64],
    closure: Closure,
    walks: Walks,
    schedule: Schedule,
    rounds: int,
    keys: Keys,
    *,
    team: WorkerThreads,
    time_limit: float | None,
    latest: float,
    on_batch: Callable[[int, int], None],
) -> Trained | None:
    """Train as `train_hierarchy` does; return None once a point's time coordinate exceeds `latest`."""
    n_nodes, columns = start.shape
    points = from_a_line((n_nodes, padded_width(columns)), np.float64)
    points[:, :columns] = start
    segments, positions = batch_shape(schedule.batch_size, _POSITIONS, n_nodes)
    kept = _NEGATIVES * schedule.n_negatives
    candidates = MOST_ANCESTORS + schedule.window_size + kept
    w = workspace_of(n_nodes, columns - 1, segments, positions, candidates, team.n_threads)
    best = team.best_count()
    blocks = [slice(at, min(at + WALKS_PER_BLOCK, n_nodes)) for at in range(0, n_nodes, WALKS_PER_BLOCK)]
    batches = [-(-(block.stop - block.start) // (segments * positions)) for block in blocks]
    pace = Pace(rounds * sum(batches), time_limit)
    losses = list[float]()
    tallies: list[NDArray[np.int64]] = []
    for round_ in range(rounds):
        if pace.over:
            break
        indices = round_ * n_nodes + keys.order.permutation(n_nodes)
        key = np.uint64(np.random.SeedSequence([int(keys.negatives), round_]).generate_state(1, np.uint64)[0])
        w.losses[:] = 0.0
        w.tallies[:] = 0
        for block, in_block in zip(blocks, batches, strict=True):
            if pace.over:
                break
            nodes, lengths = draw_walks(walks, indices[block], team)
            for first in range(0, in_block, _BATCHES_PER_CALL):
                count = min(_BATCHES_PER_CALL, in_block - first)
                rates: Any = schedule.learning_rate * (1.0 - pace.progress(count))
                for begin, end, threads in best.parts(count):
                    team.run(
                        train_closure, points, columns - 1, nodes, lengths, closure,
                        w if threads > 1 else w._replace(owners=1), positions, first + begin,
                        pace.done + begin + 1, rates[begin:end], kept, _CHILDREN * schedule.n_negatives,
                        _PROPOSALS * schedule.n_negatives, schedule.sigma, key, count=threads,
                    )  # fmt: skip
                pace.advance(count)
                if not points[:, columns - 1].max() <= latest:  # also true for NaN
                    return None
                on_batch(pace.done, pace.total)
                if pace.over:
                    break
        tallies.append(w.tallies.sum(axis=0))
        losses.append(w.losses.sum() / max(tallies[-1][0], 1))
    if pace.done < pace.total:
        on_batch(pace.total, pace.total)  # complete the progress bar
    return Trained(
        points=points[:, :columns].copy(),  # not averaged: a mean would undo a part of what the end adds
        losses=np.array(losses),
        n_pairs=sum(int(pairs) for pairs, _ in tallies),
        n_skipped=sum(int(skipped) for _, skipped in tallies),
        n_damped=int(w.n_damped.sum()),
        share=pace.done / pace.total,
    )
