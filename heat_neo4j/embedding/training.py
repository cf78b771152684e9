"""The training loop: rounds of walks in random order, a falling rate, frozen batches, a mean at the end."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.elementwise import cosh
from heat_neo4j._kernels.pairs import RING, Negatives
from heat_neo4j._kernels.training import AHEAD, Workspace, train_batches
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.random import Keys
from heat_neo4j._utils.threads import ALONE, BestCount, WorkerThreads
from heat_neo4j.embedding.walks import WALKS_PER_BLOCK, Walks, draw_walks, walks_from
from heat_neo4j.geometry.hyperboloid import add_to_centroid, lift, radius

__all__ = ["START_WIDTH", "Schedule", "Trained", "make_workspace", "start_points", "train"]

START_WIDTH = 1e-3  # spatial coordinates start uniform in +-START_WIDTH (HEAT, section 4)
_SMALL_BATCH, _LARGE_BATCH, _NODES_PER_POSITION = 320, 1280, 96
_SEGMENT = 10  # source positions that one walk gives to a batch
_OWNERS = 16  # among which several threads share the nodes out
_LINE = 64  # bytes of a cache line
# Between two looks at the callback, a tenth of a second.
_BATCHES_PER_CALL, _POSITIONS_PER_CALL = 128, 128 * 320
_FARTHEST, _FARTHER = 15.0, 2.0  # from the origin, and than the start is
_MOST_HALVED = 8
_AVERAGED = 0.5  # last share of the training whose points are averaged
_SNAPSHOTS = 32  # taken of it, at most
_ROWS = 1 << 12  # averaged at a time: they fit a cache


@dataclass(frozen=True)
class Schedule:
    """What is trained, in which portions: HEAT's s, c and m, and sigma, the width of the Gaussian."""

    walks_per_node: int
    window_size: int
    n_negatives: int
    sigma: float
    learning_rate: float  # step per pair at the start, falling linearly to 0
    batch_size: int | None  # source positions trained with the coordinates frozen; None for a usual number
    n_epochs: int  # passes over all walks


@dataclass(frozen=True)
class Trained:
    """What training leaves."""

    # (N, d + 1): centroids of where each node was over the last half of training (Polyak-Ruppert averaging).
    points: NDArray[np.float64]
    losses: NDArray[np.float64]  # mean per pair, of each round of walks
    n_pairs: int
    n_skipped: int
    n_damped: int
    share: float  # of the training that the time limit allowed
    n_halved: int = 0  # how often training began anew with half the learning rate


def start_points(n_nodes: int, n_components: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return N points close to the origin of the hyperboloid, shape (N, d + 1)."""
    # Not by `uniform`, which fuses multiplication and addition where NumPy is built for that.
    return lift(2.0 * START_WIDTH * generator.random((n_nodes, n_components)) - START_WIDTH)


def _batch_shape(batch_size: int | None, walk_length: int, n_nodes: int) -> tuple[int, int]:
    """Return (segments in a batch, source positions in a segment).

    When None, a batch has 320 positions, and on large graphs N / 96, up to 1,280, so that threads meet less
    often: `python -m tests.benchmarks.batch_size` shows what that costs. On a small graph it is below N / 8:
    the sum of many pairs per node from frozen coordinates would overshoot.
    """
    if batch_size is None:
        batch_size = max(_SMALL_BATCH, min(n_nodes // _NODES_PER_POSITION, _LARGE_BATCH))
    positions = max(1, min(batch_size, n_nodes // 8))
    in_segment = min(positions, walk_length, _SEGMENT)
    return positions // in_segment, in_segment


def make_workspace(
    n_nodes: int,
    n_components: int,
    schedule: Schedule,
    walk_length: int,
    threads: int,
    only: NDArray[np.int64] | None = None,
) -> Workspace:
    """Allocate the buffers of one batch; with `only`, of one that moves no other nodes."""
    if only is None:
        segments, positions = _batch_shape(schedule.batch_size, walk_length, n_nodes)
        frozen = np.zeros(0, dtype=np.bool_)
    else:
        segments, positions = _batch_shape(schedule.batch_size, 1, len(only))
        frozen = np.ones(n_nodes, dtype=np.bool_)
        frozen[only] = False
    width = padded_width(n_components + 1)
    candidates = positions * (min(2 * schedule.window_size, walk_length - 1) + schedule.n_negatives)
    share = min(n_nodes, segments * (candidates + positions))  # of the nodes, that one owner may get
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
        stamp=_from_a_line((n_nodes,), np.int64),
        touched=np.zeros((threads, share + AHEAD), dtype=np.int32),
        tangents=np.zeros((threads, share, width)),
        stiffness=np.zeros((threads, share, 2)),
        factors=np.zeros((threads, 2, share)),
        n_damped=np.zeros(threads, dtype=np.int64),
        frozen=frozen,
    )


def _rows_apart(rows: int, columns: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return zeros of at least so many columns, no two rows of which share a cache line.

    Threads that write to rows of one line at the same time take it from each other at every write.
    """
    in_line = _LINE // np.dtype(dtype).itemsize
    return _from_a_line((rows, -(-columns // in_line) * in_line), dtype)


def _from_a_line(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Return zeros that begin where a cache line does, so that rows and blocks of 8 nodes take few lines."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = np.zeros(size + _LINE, dtype=np.uint8)
    first = -buffer.ctypes.data % _LINE
    return buffer[first : first + size].view(dtype).reshape(shape)


def train(
    start: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    schedule: Schedule,
    keys: Keys,
    *,
    team: WorkerThreads = ALONE,
    only: NDArray[np.int64] | None = None,
    time_limit: float | None = None,
    on_batch: Callable[[int, int], None] = lambda done, total: None,
) -> Trained:
    """Train over all walks of all epochs, from points `start` of shape (N, d + 1).

    Every epoch repeats the same walks, in another order with other negatives. Training ends after
    `time_limit` seconds; where they will not do, the learning rate falls with the time. `on_batch` is called
    with (batches done, batches in all). With `only`, shape (M,), the other nodes stay where they are: walks,
    all in one round, start from these nodes alone, and only the first position of a walk is a source. (Seen
    from all positions, new nodes are met mostly as the contexts of others, and end up far too central.)

    Where the contexts of nodes are no nearer than their negatives, as among the leaves of a hub, training
    can diverge. If points get farther out than any graph needs, it begins anew with half the learning rate.
    """
    began = perf_counter()
    border = max(_FARTHEST, float(radius(start).max()) + _FARTHER)
    attempt = partial(_train_once, start, walks, negatives, team=team, only=only, on_batch=on_batch)
    for halved in range(_MOST_HALVED + 1):
        slower = replace(schedule, learning_rate=schedule.learning_rate / 2**halved)
        same_draws = replace(keys, order=deepcopy(keys.order))
        left = None if time_limit is None else max(time_limit - (perf_counter() - began), 0.0)
        farthest = border if halved < _MOST_HALVED else np.inf
        trained = attempt(slower, same_draws, time_limit=left, farthest=farthest)
        if trained is not None:
            return replace(trained, n_halved=halved)
    raise AssertionError("the last attempt has no border")


def _train_once(
    start: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    schedule: Schedule,
    keys: Keys,
    *,
    team: WorkerThreads,
    only: NDArray[np.int64] | None,
    time_limit: float | None,
    farthest: float,
    on_batch: Callable[[int, int], None],
) -> Trained | None:
    """Train as `train` does; return None as soon as a point is farther from the origin than `farthest`."""
    n_nodes, columns = start.shape
    points = _from_a_line((n_nodes, padded_width(columns)), np.float64)
    points[:, :columns] = start
    moving: slice | NDArray[np.int64] = slice(None) if only is None else only
    w = make_workspace(n_nodes, columns - 1, schedule, walks.length, team.n_threads, only)
    best = BestCount(team.n_threads)
    segments, positions, _ = w.pulls.shape
    per_walk = -(-walks.length // positions) if only is None else 1
    rounds_of_epoch = schedule.walks_per_node if only is None else 1
    size = n_nodes if only is None else len(only) * schedule.walks_per_node
    blocks = [slice(at, min(at + WALKS_PER_BLOCK, size)) for at in range(0, size, WALKS_PER_BLOCK)]
    batches = [-(-(block.stop - block.start) * per_walk // segments) for block in blocks]
    per_call = max(min(_BATCHES_PER_CALL, _POSITIONS_PER_CALL // (segments * positions)), 1)
    rounds = schedule.n_epochs * rounds_of_epoch
    pace = _Pace(rounds * sum(batches), time_limit)
    losses: list[float] = []
    tallies: list[NDArray[np.int64]] = []  # pairs of each round, and pairs skipped
    mean = _LateMean()
    for round_ in range(rounds):
        if pace.over:
            break
        epoch, repetition = divmod(round_, rounds_of_epoch)
        if only is None:
            indices = repetition * n_nodes + keys.order.permutation(n_nodes)
        else:
            indices = keys.order.permutation(walks_from(only, schedule.walks_per_node, n_nodes))
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
                        train_batches, points, columns - 1, indices[block], nodes, lengths, negatives,
                        w if threads > 1 else w._replace(owners=1), positions, per_walk, first + begin,
                        pace.done + begin + 1, rates[begin:end], schedule.window_size,
                        schedule.n_negatives, schedule.sigma, key, count=threads,
                    )  # fmt: skip
                pace.advance(count)
                if not points[moving, columns - 1].max() <= cosh(farthest):  # nor if it is not a number
                    return None
                mean.look(points[moving, :columns], pace.share)
                on_batch(pace.done, pace.total)
                if pace.over:
                    break
        tallies.append(w.tallies.sum(axis=0))
        losses.append(w.losses.sum() / max(tallies[-1][0], 1))
    if pace.done < pace.total:
        on_batch(pace.total, pace.total)  # nothing more will come
    trained = mean.points
    if only is not None:
        trained = points[:, :columns].copy()
        trained[only] = mean.points
    return Trained(
        points=trained,
        losses=np.array(losses),
        n_pairs=sum(int(pairs) for pairs, _ in tallies),
        n_skipped=sum(int(skipped) for _, skipped in tallies),
        n_damped=int(w.n_damped.sum()),
        share=pace.done / pace.total,
    )


class _Pace:
    """How far training has come, in batches, or in time where they would take longer than they may.

    The learning rate falls to 0 either way. Until it is plain that the time will not do, which is asked from
    a tenth of it on, only batches count, so that a limit that is kept changes no bit of the result.
    """

    def __init__(self, total: int, time_limit: float | None) -> None:
        self.total = total
        self.done = 0
        self.share = 0.0
        self._limit = np.inf if time_limit is None else time_limit
        self._began = perf_counter()
        self._hurried: tuple[float, float] | None = None  # since which share, and which moment

    @property
    def over(self) -> bool:
        """Whether nothing more is to be trained."""
        return self.share >= 1.0

    def progress(self, count: int) -> NDArray[np.float64]:
        """Return the share of the training that lies before each of the next `count` batches."""
        if self._hurried is None:
            return np.arange(self.done, self.done + count) / self.total
        return np.full(count, self.share)

    def advance(self, count: int) -> None:
        """Take note that `count` batches more are trained."""
        self.done += count
        spent = perf_counter() - self._began
        if self._hurried is None:
            self.share = self.done / self.total
            if self._limit / 10 < spent and spent > self._limit * self.share:
                self._hurried = self.share, spent
        if self._hurried is not None:
            share, since = self._hurried
            left = self._limit - since
            by_time = share + (1.0 - share) * (spent - since) / left if spent < self._limit else 1.0
            self.share = max(self.done / self.total, by_time)


class _LateMean:
    """Centroid of each node's points at some moments of the last part of the training, its end among them."""

    def __init__(self) -> None:
        late = 1.0 - _AVERAGED
        self._moments = [late + (1.0 - late) * i / _SNAPSHOTS for i in range(1, _SNAPSHOTS + 1)]
        self._points: NDArray[np.float64] | None = None
        self._weight = np.empty(0)

    def look(self, points: NDArray[np.float64], share: float) -> None:
        """Take in the points after a share of the training, if one of the moments has come."""
        due = len(self._moments)
        self._moments = [moment for moment in self._moments if moment > share]
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
