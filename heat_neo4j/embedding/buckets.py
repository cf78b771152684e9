"""Training by buckets: the pairs between two parts of the nodes at a time, by threads that never meet.

In every round of walks the nodes are shared out among V parts anew, at random. The pairs of the round whose
nodes are in two parts, or in one, make a bucket. It is trained by one thread on a copy of these parts, which
fits its caches. A source's contexts there share sets of negatives, which are drawn from the contexts' part.
Buckets without a common part are trained at the same time, in the order of a tournament. So the result
depends on V, not on the threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.buckets import SPARE, BucketNodes, Draws, Positions, group_pairs, train_bucket
from heat_neo4j._kernels.pairs import Negatives
from heat_neo4j._kernels.random import alias_slots, slot_weights
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.random import Keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.batches import batch_shape, workspace_of
from heat_neo4j.embedding.parts import BlockPairs, Parts, draw_pairs, make_parts
from heat_neo4j.embedding.schedule import Pace, Schedule, Trained, late_moments
from heat_neo4j.embedding.tournament import Bucket, play, tournament
from heat_neo4j.embedding.walks import WALKS_PER_BLOCK, Walks
from heat_neo4j.geometry.hyperboloid import add_to_centroid

__all__ = ["train_by_buckets", "usual_parts"]

_CONTEXTS = 8  # of a source, that share a set of negatives, at most
_TIMES = 4  # as often may one context stand among them for equal pairs


class _Round(NamedTuple):
    """What the buckets of a round of walks have in common; arrays go by position."""

    number: int
    parts: Parts
    key: int
    exists: NDArray[np.bool_]  # (N,): whether the node has any negative
    slots: NDArray[np.uint64]  # (N,): alias tables, one for each part
    lists: "_Lists"
    blocks: list[BlockPairs]


class _Lists(NamedTuple):
    """The negatives of crowded nodes, which are drawn from lists, by part."""

    list_of: NDArray[np.int32]  # (N,): which list the node at a position has; -1 for none
    begins: NDArray[np.int64]  # (M V + 1,): where the negatives of a list in a part begin
    positions: NDArray[np.int64]  # of the negatives
    weights: NDArray[np.float64]  # by which they are drawn


class _Tally(NamedTuple):
    """What the training of a bucket counts."""

    loss: float  # summed over the pairs
    pairs: int
    skipped: int
    damped: int
    diverged: bool


class _Table:
    """The points of all nodes and their late means, in the order of the parts."""

    def __init__(self, start: NDArray[np.float64]) -> None:
        n, self.columns = start.shape
        self.points = np.zeros((n, padded_width(self.columns)))
        self.points[:, : self.columns] = start
        self.mean = np.zeros((n, self.columns))
        self.weight = np.zeros(n)  # of the mean, as `add_to_centroid` has it
        self._nodes: NDArray[np.int32] = np.arange(n, dtype=np.int32)

    def reorder(self, parts: Parts) -> None:
        """Bring all rows into the order of new parts."""
        before = np.empty(len(self._nodes), dtype=np.int64)
        before[self._nodes] = np.arange(len(self._nodes))
        rows = before[parts.nodes]
        self.points, self.mean, self.weight = self.points[rows], self.mean[rows], self.weight[rows]
        self._nodes = parts.nodes

    def average(self, rows: slice) -> None:
        """Take the points of some rows into their means."""
        points = self.points[rows, : self.columns]
        self.mean[rows], self.weight[rows] = add_to_centroid(self.mean[rows], self.weight[rows], points)

    def means(self) -> NDArray[np.float64]:
        """Return the means in the order of the nodes."""
        result = np.empty_like(self.mean)
        result[self._nodes] = self.mean
        return result


def usual_parts(n_nodes: int, n_components: int) -> int:
    """Return V for a graph."""
    return 1


def train_by_buckets(
    start: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    schedule: Schedule,
    keys: Keys,
    n_parts: int,
    *,
    team: WorkerThreads,
    time_limit: float | None,
    latest: float,
    on_batch: Callable[[int, int], None],
) -> Trained | None:
    """Train as `train` does; return None as soon as the time of a point exceeds `latest`.

    A bucket counts as one batch where it is of one part, and as two where it is of two.
    """
    n = len(start)
    turns = tournament(n_parts)
    n_rounds = schedule.n_epochs * schedule.walks_per_node
    trainer = _Trainer(
        schedule,
        negatives,
        _Table(start),
        n_rounds * n_parts,
        latest,
        Pace(n_rounds * n_parts**2, time_limit),
    )
    pace, table = trainer.pace, trainer.table
    weights = slot_weights(negatives.slots)
    losses: list[float] = []
    total = np.zeros(3, dtype=np.int64)
    for number in range(n_rounds):
        if pace.over:
            break
        seed = np.random.SeedSequence([int(keys.negatives), number])
        generator = np.random.Generator(np.random.PCG64(seed))
        parts = make_parts(n, n_parts, generator)
        table.reorder(parts)
        first_walk = number % schedule.walks_per_node * n
        indices = first_walk + generator.permutation(n)
        draw = partial(draw_pairs, walks, window_size=schedule.window_size, parts=parts)
        drawn = [team.submit(draw, indices[at : at + WALKS_PER_BLOCK]) for at in range(0, n, WALKS_PER_BLOCK)]
        round_ = _Round(
            number=number,
            parts=parts,
            key=int(seed.generate_state(1, np.uint64)[0]),
            exists=negatives.exists[parts.nodes],
            slots=_slots_by_part(weights, parts),
            lists=_lists_by_part(negatives, parts),
            blocks=[block.result() for block in drawn],
        )
        tallies: dict[int, _Tally] = {}
        for bucket, tally in play(turns, partial(team.submit, trainer.train, round_), team.n_threads):
            if tally.diverged:
                return None
            tallies[bucket.number(n_parts)] = tally
            on_batch(pace.done, pace.total)
        counts = np.array([tallies[key][1:4] for key in sorted(tallies)], dtype=np.int64).sum(axis=0)
        total += counts
        losses.append(sum(tallies[key].loss for key in sorted(tallies)) / max(int(counts[0]), 1))
    if pace.done < pace.total:
        table.average(slice(None))
        on_batch(pace.total, pace.total)  # nothing more will come
    return Trained(
        points=table.means(),
        losses=np.array(losses),
        n_pairs=int(total[0]),
        n_skipped=int(total[1]),
        n_damped=int(total[2]),
        share=pace.done / pace.total,
        n_parts=n_parts,
    )


@dataclass(frozen=True)
class _Trainer:
    """Trains buckets."""

    schedule: Schedule
    negatives: Negatives
    table: _Table
    n_turns: int  # of all rounds
    latest: float  # time coordinate that a point may have
    pace: Pace

    def train(self, round_: _Round, bucket: Bucket) -> _Tally:
        """Train one bucket on the calling thread, if there is time left."""
        if self.pace.over:
            return _Tally(0.0, 0, 0, 0, diverged=False)
        rows = round_.parts.bucket(bucket)
        nodes = _bucket_nodes(round_, bucket, rows, self.negatives)
        seed = np.random.SeedSequence([round_.key, bucket.number(round_.parts.n_parts)])
        order_key, negatives_key = seed.generate_state(2, np.uint64)
        positions, n_positions = _positions(round_, bucket, nodes, order_key)
        turn = round_.number * round_.parts.n_parts + bucket.turn
        begin, end = turn / self.n_turns, (turn + 1) / self.n_turns
        if self.pace.hurried:
            begin, end = max(begin, self.pace.share), max(end, self.pace.share)
        points = np.concatenate([self.table.points[part] for part in rows])
        tally = self._run(points, nodes, positions, n_positions, (begin, end), negatives_key)
        if tally.diverged:
            return tally
        at = 0
        late = any(begin < moment <= end for moment in late_moments())
        for part in rows:
            self.table.points[part] = points[at : at + part.stop - part.start]
            at += part.stop - part.start
            if late:
                self.table.average(part)
        self.pace.advance(len(rows))
        return tally

    def _run(
        self,
        points: NDArray[np.float64],
        nodes: BucketNodes,
        positions: Positions,
        n_positions: int,
        progress: tuple[float, float],
        key: np.uint64,
    ) -> _Tally:
        """Move the points of a bucket; `progress` is the share of the training before it and after it."""
        schedule, time = self.schedule, self.table.columns - 1
        segments, in_segment = batch_shape(schedule.batch_size, len(points), len(points))
        m = schedule.n_negatives
        workspace = workspace_of(len(points), time, segments, in_segment, _CONTEXTS + m)
        shape = in_segment, m + SPARE
        draws = Draws(
            proposals=np.empty(shape, dtype=np.int32),
            places=np.empty(shape, dtype=np.int64),
            masks=np.empty(shape, dtype=np.uint64),
            times=np.empty(in_segment * (_CONTEXTS + m)),
        )
        rate, last_rate = (schedule.learning_rate * (1.0 - share) for share in progress)
        train_bucket(
            points,
            time,
            nodes,
            positions,
            n_positions,
            workspace,
            draws,
            rate,
            last_rate,
            m,
            schedule.sigma,
            key,
        )
        pairs, skipped = workspace.tallies.sum(axis=0)
        return _Tally(
            loss=float(workspace.losses.sum()),
            pairs=int(pairs),
            skipped=int(skipped),
            damped=int(workspace.n_damped.sum()),
            diverged=not points[:, time].max(initial=1.0) <= self.latest,  # nor if it is not a number
        )


def _positions(round_: _Round, bucket: Bucket, nodes: BucketNodes, key: np.uint64) -> tuple[Positions, int]:
    """Return the positions of a bucket, in the order of training, and how many they are."""
    number = bucket.number(round_.parts.n_parts)
    pairs = np.concatenate([block.of(number) for block in round_.blocks])
    rows, room = len(nodes.names), 2 * len(pairs)
    most = room // _CONTEXTS + min(rows, room)
    positions = Positions(
        sources=np.empty(most, dtype=np.int32),
        begins=np.empty(most, dtype=np.int64),
        counts=np.empty(most, dtype=np.int32),
        strides=np.empty(most, dtype=np.int32),
        contexts=np.empty(room, dtype=np.int32),
        times=np.empty(room, dtype=np.float32),
    )
    n_positions = group_pairs(
        pairs, round_.parts.place_bits, nodes.first if bucket.first != bucket.second else 0, _CONTEXTS,
        _TIMES, key, np.empty(rows + 1, dtype=np.int64), np.empty(rows, dtype=np.int64), np.empty(room,
        dtype=np.int32), positions,
    )  # fmt: skip
    return positions, n_positions


def _bucket_nodes(round_: _Round, bucket: Bucket, rows: list[slice], negatives: Negatives) -> BucketNodes:
    """Return the nodes of a bucket, and what their negatives are drawn from."""

    def of(values: NDArray[np.generic]) -> NDArray:  # type: ignore[type-arg]
        return np.concatenate([values[part] for part in rows])

    first = rows[0].stop - rows[0].start
    own_lists, lists = of(round_.lists.list_of), round_.lists
    list_of = np.full(len(own_lists), -1, dtype=np.int32)
    listed: list[NDArray[np.int64]] = []
    slots: list[NDArray[np.uint64]] = []
    for row in np.flatnonzero(own_lists >= 0):
        in_second = (bucket.second if row < first else bucket.first) == bucket.second
        part = bucket.second if in_second else bucket.first
        at = own_lists[row] * round_.parts.n_parts + part
        entries = slice(lists.begins[at], lists.begins[at + 1])
        offset = first - rows[-1].start if in_second and len(rows) > 1 else -rows[0].start
        list_of[row] = len(listed)
        listed.append(lists.positions[entries] + offset)
        slots.append(alias_slots(lists.weights[entries]))
    return BucketNodes(
        names=of(round_.parts.nodes),
        first=first,
        exists=of(round_.exists),
        slots=of(round_.slots),
        list_of=list_of,
        listed_from=np.cumsum([0, *map(len, listed)], dtype=np.int64),
        listed=np.concatenate([np.zeros(0, dtype=np.int64), *listed]).astype(np.int32),
        listed_slots=np.concatenate([np.zeros(0, dtype=np.uint64), *slots]),
        words=negatives.words,
        row_words=negatives.row_words,
    )


def _slots_by_part(weights: NDArray[np.float64], parts: Parts) -> NDArray[np.uint64]:
    """Return the alias table of each part, one after the other."""
    by_position = weights[parts.nodes]
    return np.concatenate([alias_slots(by_position[parts.part(number)]) for number in range(parts.n_parts)])


def _lists_by_part(negatives: Negatives, parts: Parts) -> _Lists:
    """Sort the lists of crowded nodes by the parts of what they list."""
    sizes = np.diff(negatives.listed_from)
    crowded = np.flatnonzero(sizes)
    list_of = np.full(len(parts.nodes), -1, dtype=np.int32)
    list_of[parts.positions(crowded.astype(np.int32))] = np.arange(len(crowded), dtype=np.int32)
    weights = [
        slot_weights(negatives.listed_slots[begin:end])
        for begin, end in pairwise(negatives.listed_from[np.append(crowded, len(sizes))])
    ]
    positions = parts.positions(negatives.listed)
    groups = np.repeat(np.arange(len(crowded)), sizes[crowded]) * parts.n_parts + positions // parts.size
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups, minlength=len(crowded) * parts.n_parts)
    return _Lists(
        list_of=list_of,
        begins=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        positions=positions[order],
        weights=np.concatenate([np.zeros(0), *weights])[order],
    )
