"""Training on the closure of a hierarchy, beside short walks along everything else."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.elementwise import power
from heat_neo4j._kernels.hierarchy import MOST_ANCESTORS, Closure
from heat_neo4j._kernels.random import alias_slots
from heat_neo4j._utils.random import Keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.batches import Rounds, batch_shape, train_rounds, workspace_of
from heat_neo4j.embedding.hierarchy import Hierarchy
from heat_neo4j.embedding.schedule import Schedule, Trained
from heat_neo4j.embedding.training import until_it_holds
from heat_neo4j.embedding.walks import Walks
from heat_neo4j.graph import Graph

HIERARCHY_RATE = 0.1
"""Share of the learning rate: the start is nearly right."""

_ROUNDS, _ROUNDS_BESIDE = 2, 20  # times that a node is a source, for each of its walks; where others count
_NEGATIVES, _CHILDREN, _PROPOSALS = 5, 4, 24  # for each negative asked for: kept, and proposed of both laws
_POSITIONS = 10  # sources of a segment


def rounds_of(n_walks: int, *, has_others: bool) -> int:
    """Return how often each node is a source; with `has_others` some relationships are of other types."""
    return (_ROUNDS_BESIDE if has_others else _ROUNDS) * n_walks


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
    n_nodes, columns = start.shape
    segments, positions = batch_shape(schedule.batch_size, _POSITIONS, n_nodes)
    m = schedule.n_negatives
    kept = _NEGATIVES * m
    candidates = MOST_ANCESTORS + schedule.window_size + kept

    def attempt(halved: int, left: float | None, latest: float) -> Trained | None:
        slower = replace(schedule, learning_rate=HIERARCHY_RATE * schedule.learning_rate / 2**halved)
        order = deepcopy(keys.order)
        rounds = Rounds(
            (None, 0, closure, _CHILDREN * m, _PROPOSALS * m, kept),
            n_rounds=rounds_of(schedule.n_walks, has_others=others.nnz > 0),
            n_walks=n_nodes,
            segments_of=lambda n_walks: -(-n_walks // positions),
            order=lambda round_: round_ * n_nodes + order.permutation(n_nodes),
            epoch=lambda round_: round_,
        )
        w = workspace_of(n_nodes, columns - 1, segments, positions, candidates, team.n_threads)
        # The last positions, not a mean: it would undo a part of what the end adds.
        return train_rounds(
            start, walks, rounds, w, slower, keys, team=team, time_limit=left, latest=latest,
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
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
