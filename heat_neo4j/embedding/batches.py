"""Mini-batch training: the pairs of many walk segments share one gradient step at frozen coordinates."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.pairs import RING, Negatives
from heat_neo4j._kernels.training import AHEAD, Workspace, train_batches
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.random import Keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.schedule import LateMean, Pace, Schedule, Trained
from heat_neo4j.embedding.walks import WALKS_PER_BLOCK, Walks, draw_walks, walks_from

_SMALL_BATCH, _LARGE_BATCH = 320, 1280
_SEGMENT = 10  # source positions per walk in a batch
_OWNERS = 16  # node groups that threads update independently
_LINE = 64  # bytes of a cache line
# Between two callbacks, about a tenth of a second.
_BATCHES_PER_CALL, _POSITIONS_PER_CALL = 128, 128 * 320


def batch_shape(
    batch_size: int | None, longest: int, n_nodes: int, nodes_per_position: int = 96
) -> tuple[int, int]:
    """Return (segments per batch, source positions per segment); the latter is at most `longest`.

    By default a batch has 320 positions; large graphs get N / `nodes_per_position`, up to 1,280, so that
    threads synchronise less often (cost: `python -m tests.benchmarks.batch_size`). A batch has at most N / 8
    positions: with many pairs per node, one step at frozen coordinates would overshoot.
    """
    if batch_size is None:
        batch_size = max(_SMALL_BATCH, min(n_nodes // nodes_per_position, _LARGE_BATCH))
    positions = max(1, min(batch_size, n_nodes // 8))
    in_segment = min(positions, longest, _SEGMENT)
    return positions // in_segment, in_segment


def make_workspace(
    n_nodes: int,
    n_components: int,
    schedule: Schedule,
    walk_length: int,
    threads: int,
    only: NDArray[np.int64] | None = None,
) -> Workspace:
    """Allocate the buffers of one batch; with `only`, all other nodes are frozen."""
    if only is None:
        segments, positions = batch_shape(schedule.batch_size, walk_length, n_nodes)
        frozen = np.zeros(0, dtype=np.bool_)
    else:
        segments, positions = batch_shape(schedule.batch_size, 1, len(only))
        frozen = np.ones(n_nodes, dtype=np.bool_)
        frozen[only] = False
    candidates = min(2 * schedule.window_size, walk_length - 1) + schedule.n_negatives
    return workspace_of(n_nodes, n_components, segments, positions, candidates, threads, frozen)


def workspace_of(
    n_nodes: int,
    n_components: int,
    segments: int,
    positions: int,
    candidates_each: int,
    threads: int = 1,
    frozen: NDArray[np.bool_] | None = None,
) -> Workspace:
    """Allocate the buffers of a batch of segments x positions x candidates."""
    width = padded_width(n_components + 1)
    candidates = positions * candidates_each
    share = min(n_nodes, segments * (candidates + positions))  # maximum nodes of one owner
    owners = 1 if threads == 1 else _OWNERS
    return Workspace(
        owners=owners,
        slots=np.zeros(segments, dtype=np.int64),
        sources=_rows_apart(segments, positions, np.int32),
        source_points=np.zeros((segments, positions, width)),
        contexts=_rows_apart(segments, positions, np.int64),
        ends=_rows_apart(segments, positions, np.int64),
        candidates=np.zeros((segments, candidates + AHEAD), dtype=np.int32),
        pulls=np.zeros((segments, positions, width)),
        pull_stiffness=np.zeros((segments, positions, 2)),
        proposals=np.zeros((threads, RING), dtype=np.int32),
        mirror=np.zeros((threads, _LINE // 8, width)),
        scratch=np.zeros((threads, 4, candidates)),
        entry_ends=_rows_apart(segments, owners, np.int64),
        entry_nodes=np.zeros((segments, candidates + AHEAD), dtype=np.int64),
        entry_forces=np.zeros((segments, candidates, 3)),
        losses=np.zeros(segments),
        tallies=np.zeros((segments, 2), dtype=np.int64),
        stamp=from_a_line((n_nodes,), np.int64),
        touched=np.zeros((threads, share + AHEAD), dtype=np.int32),
        tangents=np.zeros((threads, share, width)),
        stiffness=np.zeros((threads, share, 2)),
        factors=np.zeros((threads, 2, share)),
        n_damped=np.zeros(threads, dtype=np.int64),
        frozen=np.zeros(0, dtype=np.bool_) if frozen is None else frozen,
    )


def _rows_apart(rows: int, columns: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return zeros with at least `columns` columns, padded so that no two rows share a cache line.

    This avoids false sharing between threads that write to different rows.
    """
    in_line = _LINE // np.dtype(dtype).itemsize
    return from_a_line((rows, -(-columns // in_line) * in_line), dtype)


def from_a_line(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Return zeros aligned to a cache line, so that rows and blocks of 8 nodes span few lines."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = np.zeros(size + _LINE, dtype=np.uint8)
    first = -buffer.ctypes.data % _LINE
    return buffer[first : first + size].view(dtype).reshape(shape)


class Rounds(NamedTuple):
    """The walks of each round of training, and how `train_batches` draws pairs from them."""

    draws: tuple[Any, ...]  # its arguments from `negatives` to `n_negatives`
    n_rounds: int
    n_walks: int  # in each round
    segments_of: Callable[[int], int]  # number of segments in a block of so many walks
    order: Callable[[int], NDArray[np.int64]]  # the walks of a round
    epoch: Callable[[int], int]  # the rounds of an epoch draw the same negatives


def train_by_batches(
    start: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    schedule: Schedule,
    keys: Keys,
    *,
    team: WorkerThreads,
    only: NDArray[np.int64] | None,
    time_limit: float | None,
    latest: float,
    on_batch: Callable[[int, int], None],
) -> Trained | None:
    """Train as `train` does; return None once a point's time coordinate exceeds `latest`."""
    n_nodes, columns = start.shape
    per_node = schedule.walks_per_node
    w = make_workspace(n_nodes, columns - 1, schedule, walks.length, team.n_threads, only)
    per_walk = -(-walks.length // w.pulls.shape[1]) if only is None else 1
    moving: slice | NDArray[np.int64] = slice(None) if only is None else only

    def order(round_: int) -> NDArray[np.int64]:
        if only is not None:
            return keys.order.permutation(walks_from(only, per_node, n_nodes))
        return np.asarray(round_ % per_node * n_nodes + keys.order.permutation(n_nodes))

    rounds = Rounds(
        (negatives, schedule.window_size, None, 0, 0, schedule.n_negatives),
        n_rounds=schedule.n_walks if only is None else schedule.n_epochs,
        n_walks=n_nodes if only is None else len(only) * per_node,
        segments_of=lambda n_walks: n_walks * per_walk,
        order=order,
        epoch=lambda round_: round_ // per_node if only is None else round_,
    )
    return train_rounds(
        start, walks, rounds, w, schedule, keys, mean=LateMean(), moving=moving, team=team,
        time_limit=time_limit, latest=latest, on_batch=on_batch,
    )  # fmt: skip


def train_rounds(
    start: NDArray[np.float64],
    walks: Walks,
    rounds: Rounds,
    w: Workspace,
    schedule: Schedule,
    keys: Keys,
    *,
    mean: LateMean | None = None,
    moving: slice | NDArray[np.int64] = slice(None),
    team: WorkerThreads,
    time_limit: float | None,
    latest: float,
    on_batch: Callable[[int, int], None],
) -> Trained | None:
    """Train all rounds; return None once a time coordinate of the points `moving` exceeds `latest`.

    The result is `mean` of these points, or their last positions.
    """
    n_nodes, columns = start.shape
    points = from_a_line((n_nodes, padded_width(columns)), np.float64)
    points[:, :columns] = start
    best = team.best_count()
    segments, positions, _ = w.pulls.shape
    size = rounds.n_walks
    blocks = [slice(at, min(at + WALKS_PER_BLOCK, size)) for at in range(0, size, WALKS_PER_BLOCK)]
    batches = [-(-rounds.segments_of(block.stop - block.start) // segments) for block in blocks]
    per_call = max(min(_BATCHES_PER_CALL, _POSITIONS_PER_CALL // (segments * positions)), 1)
    pace = Pace(rounds.n_rounds * sum(batches), time_limit)
    losses = list[float]()
    tallies: list[NDArray[np.int64]] = []  # pairs of each round, and pairs skipped
    for round_ in range(rounds.n_rounds):
        if pace.over:
            break
        indices, epoch = rounds.order(round_), rounds.epoch(round_)
        key = np.uint64(np.random.SeedSequence([int(keys.negatives), epoch]).generate_state(1, np.uint64)[0])
        w.losses[:] = 0.0
        w.tallies[:] = 0
        for block, in_block in zip(blocks, batches, strict=True):
            if pace.over:
                break
            nodes, lengths = draw_walks(walks, indices[block], team)
            for first in range(0, in_block, per_call):
                count = min(per_call, in_block - first)
                rates = schedule.learning_rate * (1.0 - pace.progress(count))
                for begin, end, threads in best.parts(count):
                    team.run(
                        train_batches, points, columns - 1, indices[block], nodes, lengths,
                        w if threads > 1 else w._replace(owners=1), positions,
                        rounds.segments_of(len(lengths)), first + begin, pace.done + begin + 1,
                        rates[begin:end], schedule.sigma, key, *rounds.draws, count=threads,
                    )  # fmt: skip
                pace.advance(count)
                if not points[moving, columns - 1].max() <= latest:  # also true for NaN
                    return None
                if mean is not None:
                    mean.look(points[moving, :columns], pace.share)
                on_batch(pace.done, pace.total)
                if pace.over:
                    break
        tallies.append(w.tallies.sum(axis=0))
        losses.append(w.losses.sum() / max(tallies[-1][0], 1))
    if pace.done < pace.total:
        on_batch(pace.total, pace.total)  # complete the progress bar
    if mean is not None:
        mean.look(points[moving, :columns], 1.0)
        points[moving, :columns] = mean.points
    return Trained(
        points=points[:, :columns].copy(),
        losses=np.array(losses),
        n_pairs=sum(int(pairs) for pairs, _ in tallies),
        n_skipped=sum(int(skipped) for _, skipped in tallies),
        n_damped=int(w.n_damped.sum()),
        share=pace.done / pace.total,
    )
