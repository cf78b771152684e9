"""The tasks that training by buckets is made of: each a pure function of arrays in a store.

A task saves what it makes, so that another process can go on from there, and does nothing where that is
saved already. So a task may be lost, repeated, or done twice at the same time.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.buckets import SPARE, BucketNodes, Draws, Positions, train_bucket
from heat_neo4j._kernels.pairs import Negatives
from heat_neo4j._kernels.similarity import Similarity
from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._kernels.walks import Walker
from heat_neo4j._utils.array_store import ArrayFolder, ArrayStore, keep, load_tuple
from heat_neo4j.embedding.batches import batch_shape, workspace_of
from heat_neo4j.embedding.bucket_nodes import (
    MOST_CONTEXTS,
    ListsByPart,
    bucket_nodes,
    lists_by_part,
    make_positions,
    slots_by_part,
)
from heat_neo4j.embedding.parts import BlockPairs, Parts, draw_pairs, make_parts, pair_bytes
from heat_neo4j.embedding.schedule import Schedule, portions_of
from heat_neo4j.embedding.tournament import Bucket
from heat_neo4j.embedding.walks import WALKS_PER_BLOCK, Walks
from heat_neo4j.geometry.hyperboloid import add_to_centroid

Array = NDArray[np.float64]

_NODES_PER_POSITION = 16  # of a batch
# Of the learning rate: AUROC is then that of training by batches (`python -m tests.benchmarks.buckets`).
BUCKET_RATE = 1.7
_MOST_BLOCKS = 64
_OF_A_ROUND = re.compile(r"(?P<attempt>attempt\d+)/[a-z]+(?P<number>\d+)")
_MADE_IN_IT = re.compile(r"(tally\d+|(points|means)\d+-[1-9]\d*)$")  # and not what a round begins with
BLOCK_BYTES = 2**27
"""Most bytes that the pairs of a block of walks take."""


class Tally(NamedTuple):
    """What the training of a bucket counts."""

    loss: float  # summed over the pairs
    pairs: int
    skipped: int
    damped: int
    farthest: float  # time coordinate of a point
    is_late: bool  # whether its points went into their means


class Moment(NamedTuple):
    """When a bucket is trained."""

    begin: float  # share of the training before it
    end: float
    is_late: bool  # whether points go into their means afterwards
    means: tuple[int, ...]  # turn from which the means of each of its parts are; -1 if there are none yet


class _Round(NamedTuple):
    """What the buckets of a round have in common."""

    parts: Parts
    keys: NDArray[np.uint64]  # of the buckets, and of the copies of hubs
    slots: NDArray[np.uint64]  # (R,): alias tables, one for each part
    hubs: Array  # (H, 2 (d + 1) + 1): where the hubs are, their means, and the weights of these
    lists: ListsByPart


@dataclass(frozen=True)
class BucketTasks:
    """The tasks of a training by buckets, and what they have in common.

    A round has one `share_out`, then a `draw` for each block of walks and a `place` for each part, in any
    order, then a `train` for each bucket, after those of earlier turns of its parts.
    """

    store: ArrayStore
    walks: Walks
    negatives: Negatives
    weights: Array  # (N,): by which negatives are drawn
    hubs: NDArray[np.int32]
    start: Array  # (N, d + 1)
    schedule: Schedule
    key: int
    n_parts: int
    halved: int = 0  # how often training began anew with half the learning rate
    # Not passed on by `replace`: the rounds of another attempt have other points.
    _opened: dict[int, _Round] = field(default_factory=dict, init=False)  # by number
    _pairs: dict[int, list[BlockPairs]] = field(default_factory=dict, init=False)  # of rounds

    def save(self) -> None:
        """Save what all tasks read, beside the walks, for `open` to find."""
        keep(self.store, "negatives", self.negatives)
        for name in ("weights", "hubs", "start"):
            self.store.save(name, getattr(self, name))
        numbers = {"schedule": asdict(self.schedule), "key": self.key, "n_parts": self.n_parts}
        self.store.sync()
        self.store.save("tasks", np.array(json.dumps(numbers)))
        self.store.sync("tasks")

    @classmethod
    def open(cls, store: ArrayStore, halved: int = 0) -> Self:
        """Return the tasks as they were saved."""
        numbers = json.loads(str(store.load("tasks")))
        return cls(
            store,
            load_walks(store),
            load_tuple(store, "negatives", Negatives),
            weights=store.load("weights"),
            hubs=store.load("hubs"),
            start=store.load("start"),
            schedule=Schedule(**numbers["schedule"]),
            key=numbers["key"],
            n_parts=numbers["n_parts"],
            halved=halved,
        )

    @property
    def name(self) -> str:
        """Under which the store has what these tasks make."""
        return f"attempt{self.halved}"

    @property
    def n_rounds(self) -> int:
        """Rounds of all epochs: of one walk from each node, or of a portion where these would be too few."""
        return self.schedule.n_walks * self._portions

    @property
    def n_blocks(self) -> int:
        """Blocks of walks in a round."""
        return -(-self._walks_of_round(0).size // self._block)

    def share_out(self, number: int, means: Sequence[int]) -> None:
        """Share the nodes out among parts, and the hubs' points of the round before, once joined.

        `means` are the turns of that round from which each part has its means; -1 for none.
        """
        name = self._round(number)
        if self.store.has(name):
            return
        seed = np.random.SeedSequence([self.key, number])
        keys = seed.generate_state(2, np.uint64)
        parts = make_parts(
            self.walks.n_nodes, self.hubs, self.n_parts, np.random.Generator(np.random.PCG64(seed))
        )
        hubs = np.zeros((len(self.hubs), 2 * self._columns + 1))
        hubs[:, : self._columns] = self.start[self.hubs]
        if number:
            hubs = self.joined_hubs(number - 1, [self.n_parts] * self.n_parts, means)
        keep(self.store, f"{name}/parts", parts)
        keep(self.store, f"{name}/lists", lists_by_part(self.negatives, parts))
        self.store.save(f"{name}/keys", keys)
        self.store.save(f"{name}/slots", slots_by_part(self.weights, parts))
        self.store.save(f"{name}/hubs", hubs)
        self.store.save(name, number)

    def draw(self, number: int, block: int) -> None:
        """Draw a block of walks and sort its pairs by bucket."""
        name = f"{self._pairs_of(number)}/{block}"
        if self.store.has(name):
            return
        round_ = self._open(number)
        indices = self._walks_of_round(number)[block * self._block : (block + 1) * self._block]
        pairs = draw_pairs(self.walks, indices, self.schedule.window_size, round_.parts, round_.keys[1])
        keep(self.store, name, pairs)

    def place(self, number: int, part: int, means: Sequence[int]) -> None:
        """Bring together the points of a part, and their means, from the parts of the round before."""
        name = self._round(number)
        if self.store.has(f"{name}/placed{part}"):
            return
        round_, columns = self._open(number), self._columns
        nodes = round_.parts.nodes[round_.parts.part(part)]
        own = nodes[len(self.hubs) :]
        points = np.zeros((len(nodes), padded_width(columns)))
        points[: len(self.hubs), :columns] = round_.hubs[:, :columns]
        has_means = any(turn >= 0 for turn in means)
        mean = np.zeros((len(nodes), columns + 1 if has_means else 0))
        if has_means and part == 0:  # the mean of a hub is in its first copy
            mean[: len(self.hubs)] = round_.hubs[:, columns:]
        if number == 0:
            points[len(self.hubs) :, :columns] = self.start[own]
        else:
            before = self._open(number - 1).parts
            address = before.addresses[own].astype(np.int64)
            origin, row = address >> before.place_bits, address & ((1 << before.place_bits) - 1)
            by_origin = np.argsort(origin, kind="stable")
            ends = np.searchsorted(origin[by_origin], np.arange(self.n_parts + 1))
            for other in range(self.n_parts):
                here = by_origin[ends[other] : ends[other + 1]]
                there = row[here]
                points[len(self.hubs) + here] = self._points(number - 1, other, self.n_parts)[there]
                if means[other] >= 0:
                    mean[len(self.hubs) + here] = self._means(number - 1, other, means[other])[there]
        if has_means:
            self.store.save(f"{name}/means{part}-0", mean)
        self.store.save(f"{name}/points{part}-0", points)
        self.store.save(f"{name}/placed{part}", number)

    def train(self, number: int, bucket: Bucket, moment: Moment) -> Tally:
        """Train a bucket; what its parts were before is dropped."""
        tally = f"{self._round(number)}/tally{bucket.number(self.n_parts)}"
        try:
            if not self.store.has(tally):
                self._train(number, bucket, moment, tally)
        except KeyError:  # another worker, which was taken for dead, has just dropped it
            if not self.store.has(tally):
                raise
        return _tally(self.store.load(tally))

    def means(self, number: int, turns: Sequence[int], means: Sequence[int]) -> Array:
        """Return the means by node, shape (N, d + 1).

        The parts of a round have points from some turns, and means from others; none is without means.
        """
        parts = self._open(number).parts
        found = np.empty((self.walks.n_nodes, self._columns))
        for part in range(self.n_parts):
            mean = self._means(number, part, means[part])
            found[parts.nodes[parts.part(part)]] = mean[:, :-1]
        found[self.hubs] = self.joined_hubs(number, turns, means)[:, self._columns : -1]
        return found

    def average(self, number: int, part: int, turn: int, mean: int) -> int:
        """Take the points of a part from some turn into its means; return the turn of these."""
        name = f"{self._round(number)}/means{part}-{turn}"
        points = self._points(number, part, turn)[:, : self._columns]
        self.store.save(name, self._averaged(number, part, mean, points))
        return turn

    def joined_hubs(self, number: int, turns: Sequence[int], means: Sequence[int]) -> Array:
        """Return the centroids of each hub's copies, their mean and its weight, as `_Round` has them."""
        columns, n_hubs = self._columns, len(self.hubs)
        joined = np.zeros((n_hubs, 2 * columns + 1))
        centroid, count = joined[:, :columns], np.zeros(n_hubs)
        mean, weight = joined[:, columns:-1], joined[:, -1]
        for part in range(self.n_parts if n_hubs else 0):
            points = self._points(number, part, turns[part])[:n_hubs, :columns]
            centroid, count = add_to_centroid(centroid, count, points)
            if means[part] >= 0:
                own = self._means(number, part, means[part])[:n_hubs]
                if own[:, -1].any():
                    mean, weight = add_to_centroid(mean, weight, own[:, :-1], own[:, -1])
        return np.column_stack((centroid, mean, weight))

    def end(self, number: int, tallies: Mapping[int, Tally]) -> None:
        """Save what a round has counted, by the numbers of its buckets, and drop its pairs."""
        in_order = [tallies[place] for place in range(len(tallies))]
        self.store.save(f"{self.name}/tallies{number}", np.array(in_order, dtype=np.float64))
        self._pairs.pop(number, None)
        self.store.drop(self._pairs_of(number))

    def tallies(self, number: int) -> list[Tally] | None:
        """Return what a round that is over has counted, by the numbers of its buckets."""
        name = f"{self.name}/tallies{number}"
        return [*map(_tally, self.store.load(name))] if self.store.has(name) else None

    def forget(self, number: int) -> None:
        """Drop a round, once its points are in the parts of the next."""
        self.store.sync(self._round(number + 1), f"{self.name}/tallies{number}")
        self._opened.pop(number, None)
        self.store.drop(self._round(number))

    def give_up(self) -> None:
        """Drop everything, as training has diverged."""
        self.store.save(f"{self.name}-diverged", self.halved)
        self.store.drop(self.name)

    def has_diverged(self) -> bool:
        """Tell whether this training was given up."""
        return self.store.has(f"{self.name}-diverged")

    @property
    def _columns(self) -> int:
        return int(self.start.shape[1])

    @property
    def _portions(self) -> int:
        return portions_of(self.schedule.n_walks, self.schedule.fewest_rounds)

    @property
    def _block(self) -> int:
        """Walks in a block: many, as a bucket has a piece of each, and few enough for memory."""
        n_walks = self._walks_of_round(0).size
        n_pairs = self.walks.length * self.schedule.window_size  # of a walk, at most
        bytes_each = n_pairs * pair_bytes(self.walks.n_nodes, self.n_parts)
        return max(WALKS_PER_BLOCK, min(n_walks // _MOST_BLOCKS, BLOCK_BYTES // bytes_each))

    def _walks_of_round(self, number: int) -> NDArray[np.int64]:
        n, portions = self.walks.n_nodes, self._portions
        repetition = number // portions % self.schedule.walks_per_node
        return repetition * n + np.arange(number % portions, n, portions)

    def _round(self, number: int) -> str:
        return f"{self.name}/round{number}"

    def _pairs_of(self, number: int) -> str:
        return f"{self.name}/pairs{number}"

    def _points(self, number: int, part: int, turn: int) -> Array:
        return self.store.load(f"{self._round(number)}/points{part}-{turn}")

    def _means(self, number: int, part: int, turn: int) -> Array:
        return self.store.load(f"{self._round(number)}/means{part}-{turn}")

    def _averaged(self, number: int, part: int, turn: int, points: Array) -> Array:
        """Return the means of a part from some turn, -1 for none, with some points taken in."""
        mean, weight = np.zeros_like(points), np.zeros(len(points))
        if turn >= 0:
            before = self._means(number, part, turn)
            mean, weight = before[:, :-1], before[:, -1]
        return np.column_stack(add_to_centroid(mean, weight, points))

    def _open(self, number: int) -> _Round:
        if number not in self._opened:
            name = self._round(number)
            self._opened[number] = _Round(
                parts=load_tuple(self.store, f"{name}/parts", Parts),
                keys=self.store.load(f"{name}/keys"),
                slots=self.store.load(f"{name}/slots"),
                hubs=self.store.load(f"{name}/hubs"),
                lists=load_tuple(self.store, f"{name}/lists", ListsByPart),
            )
            for old in [old for old in self._opened if old < number - 1]:
                self._opened.pop(old, None)
            for old in [old for old in self._pairs if old < number]:  # mapped files take room on the disk
                self._pairs.pop(old, None)
        return self._opened[number]

    def _blocks(self, number: int) -> list[BlockPairs]:
        if number not in self._pairs:
            name = self._pairs_of(number)
            self._pairs[number] = [
                load_tuple(self.store, f"{name}/{block}", BlockPairs) for block in range(self.n_blocks)
            ]
        return self._pairs[number]

    def _train(self, number: int, bucket: Bucket, moment: Moment, tally: str) -> None:
        name, turn, columns = self._round(number), bucket.turn, self._columns
        round_, blocks = self._open(number), self._blocks(number)
        parts = sorted({bucket.first, bucket.second})
        before = [self._points(number, part, turn) for part in parts]
        points = np.concatenate(before)
        nodes = bucket_nodes(round_.parts, round_.slots, round_.lists, bucket, self.negatives)
        place = bucket.number(self.n_parts)
        seed = np.random.SeedSequence([int(round_.keys[0]), place])
        order_key, negatives_key = seed.generate_state(2, np.uint64)
        pairs = np.concatenate([block.of(place) for block in blocks])
        second = nodes.first if len(parts) > 1 else 0
        positions, n_positions = make_positions(
            pairs, round_.parts.place_bits, len(points), second, order_key
        )
        counted = self._move(points, nodes, positions, n_positions, moment, negatives_key)
        at = 0
        for part, rows, mean in zip(parts, map(len, before), moment.means, strict=True):
            own = points[at : at + rows].copy()
            if moment.is_late:
                averaged = self._averaged(number, part, mean, own[:, :columns])
                self.store.save(f"{name}/means{part}-{turn + 1}", averaged)
            self.store.save(f"{name}/points{part}-{turn + 1}", own)
            at += rows
        self.store.save(tally, np.array(counted, dtype=np.float64))
        first_kept = 1 if self.store.survives else 0  # a round whose files are damaged begins again
        for part, mean in zip(parts, moment.means, strict=True):
            if turn >= first_kept:
                self.store.drop(f"{name}/points{part}-{turn}")
            if moment.is_late and mean >= first_kept:
                self.store.drop(f"{name}/means{part}-{mean}")

    def _move(
        self,
        points: NDArray[np.float64],
        nodes: BucketNodes,
        positions: Positions,
        n_positions: int,
        moment: Moment,
        key: np.uint64,
    ) -> Tally:
        """Move the points of a bucket."""
        schedule, time = self.schedule, self._columns - 1
        rows, m = len(points), schedule.n_negatives
        segments, in_segment = batch_shape(schedule.batch_size, rows, rows, _NODES_PER_POSITION)
        workspace = workspace_of(rows, time, segments, in_segment, MOST_CONTEXTS + m)
        n_draws = 2 * in_segment * (m + SPARE)
        draws = Draws(
            proposals=np.empty(n_draws, dtype=np.int32),
            places=np.empty(n_draws, dtype=np.int64),
            masks=np.empty(n_draws, dtype=np.uint64),
            times=np.empty(in_segment * (MOST_CONTEXTS + m)),
        )
        first_rate = BUCKET_RATE * schedule.learning_rate / 2**self.halved
        rate, last_rate = (first_rate * (1.0 - share) for share in (moment.begin, moment.end))
        train_bucket(
            points, time, nodes, positions, n_positions, workspace, draws, rate, last_rate, m, schedule.sigma,
            key,
        )  # fmt: skip
        pairs, skipped = workspace.tallies.sum(axis=0)
        return Tally(
            loss=float(workspace.losses.sum()),
            pairs=int(pairs),
            skipped=int(skipped),
            damped=int(workspace.n_damped.sum()),
            farthest=float(points[:, time].max(initial=1.0)),
            is_late=moment.is_late,
        )


def drop_damaged(store: ArrayFolder, damaged: str) -> str:
    """Drop what is made from a damaged array; return, in words, from where training goes on.

    That is the beginning of its round, if all that the round began with is there, or of the training.
    """
    found = _OF_A_ROUND.match(damaged)
    if found is None:
        store.drop(damaged.partition("/")[0])
        store.drop("tasks")
        return "the walks"
    attempt, number = found["attempt"], int(found["number"])
    round_ = f"{attempt}/round{number}"
    if not store.has(round_) or (damaged.startswith(round_) and not _MADE_IN_IT.search(damaged)):
        store.drop(attempt)
        return "the first round"
    for name in store.names(round_):
        if _MADE_IN_IT.search(name):
            store.drop(f"{round_}/{name}")
    for what in ("tallies", "pairs"):
        store.drop(f"{attempt}/{what}{number}")
    return f"the beginning of round {number + 1}"


def keep_walks(store: ArrayStore, walks: Walks) -> Walks:
    """Save walks; return them as `load_walks` does."""
    return Walks(keep(store, "walker", walks.walker), keep(store, "similarity", walks.similarity))


def load_walks(store: ArrayStore) -> Walks:
    """Return walks as they were saved."""
    return Walks(load_tuple(store, "walker", Walker), load_tuple(store, "similarity", Similarity))


def _tally(counts: Array) -> Tally:
    loss, pairs, skipped, damped, farthest, is_late = counts.tolist()
    return Tally(loss, int(pairs), int(skipped), int(damped), farthest, bool(is_late))
