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
from math import ceil
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
from heat_neo4j.embedding.parts import BlockPairs, Parts, draw_pairs, hubs_of, make_parts
from heat_neo4j.embedding.schedule import Pace, Schedule, Trained, late_moments
from heat_neo4j.embedding.tournament import Bucket, play, tournament
from heat_neo4j.embedding.walks import WALKS_PER_BLOCK, Walks
from heat_neo4j.geometry.hyperboloid import add_to_centroid

__all__ = ["train_by_buckets", "usual_parts"]

Array = NDArray[np.float64]

_MANY_NODES, _FEWEST_ROUNDS = 10_000, 5
_FEWEST_PARTS, _PART_BYTES = 16, 3 * 2**20
_NODES_PER_POSITION = 16  # of a batch
_CONTEXTS = 8  # of a source, that share a set of negatives, at most
_TIMES = 4  # equal pairs that are trained as one, at most
# Of the learning rate: AUROC is then that of training by batches (`python -m tests.benchmarks.buckets`).
_RATE = 1.7


class _Round(NamedTuple):
    """What the buckets of a round of walks have in common."""

    number: int
    parts: Parts
    key: int
    exists: NDArray[np.bool_]  # (R,): whether the node of a row has any negative
    slots: NDArray[np.uint64]  # (R,): alias tables, one for each part
    lists: "_Lists"
    blocks: list[BlockPairs]


class _Lists(NamedTuple):
    """The negatives of crowded nodes, which are drawn from lists, by part."""

    list_of: NDArray[np.int64]  # (R,): which of the M lists the node of a row has; -1 for none
    begins: NDArray[np.int64]  # (M V + 1,): where the negatives of a list in a part begin
    places: NDArray[np.int64]  # of the negatives in that part
    weights: NDArray[np.float64]  # by which they are drawn


class _Tally(NamedTuple):
    """What the training of a bucket counts."""

    loss: float  # summed over the pairs
    pairs: int
    skipped: int
    damped: int
    diverged: bool


class _Table:
    """The points of all nodes and their late means; while a round is trained, by the rows of its parts."""

    def __init__(self, start: Array) -> None:
        n, self.columns = start.shape
        self.points = np.zeros((n, padded_width(self.columns)))
        self.points[:, : self.columns] = start
        self.mean = np.zeros((n, self.columns))
        self.weight = np.zeros(n)  # of the mean, as `add_to_centroid` has it
        nodes = np.arange(n, dtype=np.int32)
        self._parts = Parts(nodes, np.array([0, n]), nodes.astype(np.uint32), n.bit_length(), 0)

    def average(self, rows: slice) -> None:
        """Take the points of some rows into their means."""
        points = self.points[rows, : self.columns]
        self.mean[rows], self.weight[rows] = add_to_centroid(self.mean[rows], self.weight[rows], points)

    def reorder(self, parts: Parts) -> None:
        """Bring all rows into the order of new parts; the copies of a hub go on from their centroid."""
        points, mean, weight = self._by_node()
        self.points, self.mean, self.weight = points[parts.nodes], mean[parts.nodes], weight[parts.nodes]
        for start in parts.starts[1:-1]:
            self.weight[start : start + parts.n_hubs] = 0.0  # the mean of a hub is in its first copy
        self._parts = parts

    def means(self) -> Array:
        """Return the means by node."""
        return self._by_node()[1]

    def _by_node(self) -> tuple[Array, Array, Array]:
        """Return points, means and the weights of these by node, the copies of each hub put together."""
        parts, n = self._parts, len(self._parts.addresses)
        points, mean = np.zeros((n, self.points.shape[1])), np.empty((n, self.columns))
        weight, count = np.empty(n), np.zeros(parts.n_hubs)
        points[parts.nodes], mean[parts.nodes] = self.points, self.mean
        weight[parts.nodes] = self.weight
        hubs = parts.nodes[: parts.n_hubs]
        centroid, hub_mean, hub_weight = points[hubs, : self.columns], mean[hubs], np.zeros(len(hubs))
        for start in parts.starts[:-1]:
            rows = slice(start, start + parts.n_hubs)
            centroid, count = add_to_centroid(centroid, count, self.points[rows, : self.columns])
            if self.weight[rows].any():
                hub_mean, hub_weight = add_to_centroid(
                    hub_mean, hub_weight, self.mean[rows], self.weight[rows]
                )
        points[hubs, : self.columns], mean[hubs], weight[hubs] = centroid, hub_mean, hub_weight
        return points, mean, weight


def usual_parts(n_nodes: int, n_components: int, n_rounds: int) -> int:
    """Return V for a graph: 1 below 10,000 nodes, then 16, or more: a part has at most 3 MiB of points.

    More parts share less: a source has fewer contexts in each, and needs negatives of its own there. Two
    parts meet once in a round of walks: with less than five rounds that is too seldom, and V is 1.
    """
    if n_nodes < _MANY_NODES or n_rounds < _FEWEST_ROUNDS:
        return 1
    return max(_FEWEST_PARTS, 2 * ceil(8 * n_nodes * padded_width(n_components + 1) / (2 * _PART_BYTES)))


def train_by_buckets(
    start: NDArray[np.float64],
    walks: Walks,
    negatives: Negatives,
    schedule: Schedule,
    keys: Keys,
    n_parts: int,
    occurrences: NDArray[np.int64],
    *,
    team: WorkerThreads,
    time_limit: float | None,
    latest: float,
    on_batch: Callable[[int, int], None],
) -> Trained | None:
    """Train as `train` does; return None as soon as the time of a point exceeds `latest`.

    A bucket counts as one batch where it is of one part, and as two where it is of two.
    """
    trainer = _Trainer(
        walks=walks,
        negatives=negatives,
        weights=slot_weights(negatives.slots),
        hubs=hubs_of(occurrences, n_parts),
        schedule=schedule,
        key=int(keys.negatives),
        n_parts=n_parts,
        latest=latest,
        pace=Pace(schedule.n_epochs * schedule.walks_per_node * n_parts**2, time_limit),
        table=_Table(start),
    )
    pace, table, turns = trainer.pace, trainer.table, tournament(n_parts)
    losses: list[float] = []
    total = np.zeros(3, dtype=np.int64)
    for number in range(trainer.n_rounds):
        if pace.over:
            break
        round_ = trainer.draw(number, team)
        table.reorder(round_.parts)
        tallies: dict[int, _Tally] = {}
        for bucket, tally in play(turns, partial(team.submit, trainer.train, round_), team.n_threads):
            if tally is None:  # no time was left
                continue
            if tally.diverged:
                return None
            tallies[bucket.number(n_parts)] = tally
            pace.advance(len({bucket.first, bucket.second}))
            on_batch(pace.done, pace.total)
        counts = np.array([tallies[key][1:4] for key in sorted(tallies)], dtype=np.int64).sum(axis=0)
        total += counts
        losses.append(sum(tallies[key].loss for key in sorted(tallies)) / max(int(counts[0]), 1))
        del round_  # its pairs would be there beside those of the next
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
    """Draws the rounds and trains their buckets."""

    walks: Walks
    negatives: Negatives
    weights: Array  # (N,): by which negatives are drawn
    hubs: NDArray[np.int32]
    schedule: Schedule
    key: int
    n_parts: int
    latest: float  # time coordinate that a point may have
    pace: Pace
    table: _Table

    @property
    def n_rounds(self) -> int:
        """Rounds of all epochs."""
        return self.schedule.n_epochs * self.schedule.walks_per_node

    def draw(self, number: int, team: WorkerThreads) -> _Round:
        """Share the nodes out among parts, draw the walks of a round, and sort their pairs."""
        n, negatives = self.walks.n_nodes, self.negatives
        seed = np.random.SeedSequence([self.key, number])
        round_key, hub_key = seed.generate_state(2, np.uint64)
        generator = np.random.Generator(np.random.PCG64(seed))
        parts = make_parts(n, self.hubs, self.n_parts, generator)
        indices = number % self.schedule.walks_per_node * n + generator.permutation(n)
        draw = partial(
            draw_pairs, self.walks, window_size=self.schedule.window_size, parts=parts, key=hub_key
        )
        blocks = [
            team.submit(draw, indices[at : at + WALKS_PER_BLOCK]) for at in range(0, n, WALKS_PER_BLOCK)
        ]
        return _Round(
            number=number,
            parts=parts,
            key=int(round_key),
            exists=negatives.exists[parts.nodes],
            slots=_slots_by_part(self.weights, parts),
            lists=_lists_by_part(negatives, parts),
            blocks=[block.result() for block in blocks],
        )

    def train(self, round_: _Round, bucket: Bucket) -> _Tally | None:
        """Train one bucket on the calling thread; return None if there is no time left."""
        if self.pace.over:
            return None
        rows = round_.parts.bucket(bucket)
        nodes = _bucket_nodes(round_, bucket, rows, self.negatives)
        seed = np.random.SeedSequence([round_.key, bucket.number(self.n_parts)])
        order_key, negatives_key = seed.generate_state(2, np.uint64)
        positions, n_positions = _positions(round_, bucket, nodes, order_key)
        turn, n_turns = round_.number * self.n_parts + bucket.turn, self.n_rounds * self.n_parts
        begin, end = turn / n_turns, (turn + 1) / n_turns
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
        rows, m = len(points), schedule.n_negatives
        segments, in_segment = batch_shape(schedule.batch_size, rows, rows, _NODES_PER_POSITION)
        workspace = workspace_of(rows, time, segments, in_segment, _CONTEXTS + m)
        n_draws = in_segment * (m + SPARE)
        draws = Draws(
            proposals=np.empty(n_draws, dtype=np.int32),
            places=np.empty(n_draws, dtype=np.int64),
            masks=np.empty(n_draws, dtype=np.uint64),
            times=np.empty(in_segment * (_CONTEXTS + m)),
        )
        rate, last_rate = (_RATE * schedule.learning_rate * (1.0 - share) for share in progress)
        train_bucket(
            points, time, nodes, positions, n_positions, workspace, draws, rate, last_rate, m, schedule.sigma,
            key,
        )  # fmt: skip
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
        in_second = row < first and len(rows) > 1  # as its contexts
        at = own_lists[row] * round_.parts.n_parts + (bucket.second if in_second else bucket.first)
        entries = slice(lists.begins[at], lists.begins[at + 1])
        list_of[row] = len(listed)
        listed.append(lists.places[entries] + (first if in_second else 0))
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
    """Return the alias table of each part, one after the other; copies of a hub share its weight."""
    by_row = weights[parts.nodes]
    for start in parts.starts[:-1]:
        by_row[start : start + parts.n_hubs] /= parts.n_parts
    return np.concatenate([alias_slots(by_row[parts.part(number)]) for number in range(parts.n_parts)])


def _lists_by_part(negatives: Negatives, parts: Parts) -> _Lists:
    """Sort the lists of crowded nodes by the parts of what they list; a hub is listed in each."""
    sizes = np.diff(negatives.listed_from)
    crowded = np.flatnonzero(sizes)
    number = np.full(len(sizes), -1)
    number[crowded] = np.arange(len(crowded))
    weights = [
        slot_weights(negatives.listed_slots[begin:end])
        for begin, end in pairwise(negatives.listed_from[np.append(crowded, len(sizes))])
    ]
    weight = np.concatenate([np.zeros(0), *weights])
    address = parts.addresses[negatives.listed].astype(np.int64)
    part, place = address >> parts.place_bits, address & ((1 << parts.place_bits) - 1)
    group = np.repeat(np.arange(len(crowded)), sizes[crowded]) * parts.n_parts
    is_hub = part == parts.n_parts
    each = np.arange(parts.n_parts)
    groups = np.concatenate([(group + part)[~is_hub], np.add.outer(group[is_hub], each).ravel()])
    places = np.concatenate([place[~is_hub], np.repeat(place[is_hub], parts.n_parts)])
    law = np.concatenate([weight[~is_hub], np.repeat(weight[is_hub] / parts.n_parts, parts.n_parts)])
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups, minlength=len(crowded) * parts.n_parts)
    return _Lists(
        list_of=number[parts.nodes],
        begins=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        places=places[order],
        weights=law[order],
    )
