"""The tasks of training by buckets: pure functions of arrays in a store.

Tasks are idempotent: each saves its results for other processes and returns at once if they exist. So a task
may be lost, repeated, or run twice concurrently.
"""

import json
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
from heat_neo4j.embedding.parts import (
    MOST_CONTEXTS,
    BlockPairs,
    ListsByPart,
    Parts,
    bucket_nodes,
    draw_pairs,
    lists_by_part,
    make_parts,
    make_positions,
    pair_bytes,
    slots_by_part,
)
from heat_neo4j.embedding.schedule import Schedule, portions_of
from heat_neo4j.embedding.tournament import Bucket
from heat_neo4j.embedding.walks import WALKS_PER_BLOCK, Clusters, Walks
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import add_to_centroid

Array = NDArray[np.float64]

_NODES_PER_POSITION = 16  # rows per source position of a batch
# Factor on the learning rate that matches the AUROC of mini-batch training (`tests.benchmarks.buckets`).
BUCKET_RATE = 1.7
_MOST_BLOCKS = 64
BLOCK_BYTES = 2**27
"""Maximum bytes of the pairs of one block of walks."""


class Tally(NamedTuple):
    """Counts and loss of one bucket's training; floats once loaded."""

    loss: float  # sum over the pairs
    pairs: int
    skipped: int
    damped: int
    farthest: float  # largest time coordinate of a point
    is_late: bool  # whether its points were added to the means


class Moment(NamedTuple):
    """The span of the training in which a bucket is trained."""

    begin: float  # share of the training done before it
    end: float
    is_late: bool  # whether to add the points to the means afterwards
    means: tuple[int, ...]  # turn of the latest means of each of its parts; -1 if there are none yet


class _Round(NamedTuple):
    """Data shared by the buckets of a round."""

    parts: Parts
    keys: NDArray[np.uint64]  # random keys of the buckets and of the hub copies
    slots: NDArray[np.uint64]  # (R,): one alias table per part
    hubs: Array  # (H, 2 (d + 1) + 1): each hub's point, mean, and weight of the mean
    lists: ListsByPart


@dataclass(frozen=True)
class BucketTasks:
    """The tasks of a training by buckets, and their shared inputs.

    A round consists of one `share_out`; then a `draw` per block of walks and a `place` per part, in any
    order; then a `train` per bucket, after the earlier turns of its parts.
    """

    store: ArrayStore
    walks: Walks
    negatives: Negatives
    weights: Array  # (N,): sampling weights of negatives
    hubs: NDArray[np.int32]
    start: Array  # (N, d + 1)
    schedule: Schedule
    key: int
    n_parts: int
    halved: int = 0  # number of restarts with half the learning rate
    # Caches by round. `replace` does not copy them, as another attempt has other points.
    _opened: dict[int, _Round] = field(default_factory=dict, init=False)
    _pairs: dict[int, list[BlockPairs]] = field(default_factory=dict, init=False)

    def save(self) -> None:
        """Save the inputs of all tasks, except the walks, for `open`."""
        keep(self.store, "negatives", self.negatives)
        for name in ("weights", "hubs", "start"):
            self.store.save(name, getattr(self, name))
        numbers = {"schedule": asdict(self.schedule), "key": self.key, "n_parts": self.n_parts}
        self.store.save("tasks", np.array(json.dumps(numbers)))

    @classmethod
    def open(cls, store: ArrayStore, halved: int = 0) -> Self:
        """Load the tasks that `save` stored."""
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
        """Prefix of these tasks' results in the store."""
        return f"attempt{self.halved}"

    @property
    def n_rounds(self) -> int:
        """Rounds in all epochs: one walk from each node per round, or a portion if those are too few."""
        return self.schedule.n_walks * self._portions

    @property
    def n_blocks(self) -> int:
        """Blocks of walks in a round."""
        return -(-self._walks_of_round(0).size // self._block)

    def share_out(self, number: int, means: Sequence[int]) -> None:
        """Assign the nodes to parts, and merge the hub copies of the previous round.

        `means` holds the turn of each part's latest means in the previous round; -1 for none.
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
        """Gather a part's points and means from the parts of the previous round."""
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
        if has_means and part == 0:  # the first copy of a hub holds its mean
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
        """Train a bucket, then drop the previous points of its parts."""
        tally = f"{self._round(number)}/tally{bucket.number(self.n_parts)}"
        try:
            if not self.store.has(tally):
                self._train(number, bucket, moment, tally)
        except ConfigError:  # a worker presumed dead has just finished the bucket and dropped its inputs
            if not self.store.has(tally):
                raise
        return Tally(*self.store.load(tally).tolist())

    def means(self, number: int, turns: Sequence[int], means: Sequence[int]) -> Array:
        """Return the means by node, shape (N, d + 1).

        `turns` and `means` hold the turn of each part's latest points and means; every part has means.
        """
        parts = self._open(number).parts
        found = np.empty((self.walks.n_nodes, self._columns))
        for part in range(self.n_parts):
            mean = self._means(number, part, means[part])
            found[parts.nodes[parts.part(part)]] = mean[:, :-1]
        found[self.hubs] = self.joined_hubs(number, turns, means)[:, self._columns : -1]
        return found

    def average(self, number: int, part: int, turn: int, mean: int) -> int:
        """Add a part's points of one turn to its means; return the turn of the new means."""
        name = f"{self._round(number)}/means{part}-{turn}"
        points = self._points(number, part, turn)[:, : self._columns]
        self.store.save(name, self._averaged(number, part, mean, points))
        return turn

    def joined_hubs(self, number: int, turns: Sequence[int], means: Sequence[int]) -> Array:
        """Return each hub's centroid over its copies, mean, and weight of the mean, as in `_Round.hubs`."""
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
        """Save a round's tallies in bucket order, and drop its pairs."""
        in_order = [tallies[place] for place in range(len(tallies))]
        self.store.save(f"{self.name}/tallies{number}", np.array(in_order, dtype=np.float64))
        self._pairs.pop(number, None)
        self.store.drop(self._pairs_of(number))

    def tallies(self, number: int) -> list[Tally] | None:
        """Return the tallies of a finished round in bucket order; None if it is not finished."""
        name = f"{self.name}/tallies{number}"
        return [Tally(*each) for each in self.store.load(name).tolist()] if self.store.has(name) else None

    def forget(self, number: int) -> None:
        """Drop a round whose points have been placed in the next round."""
        self._opened.pop(number, None)
        self.store.drop(self._round(number))

    def give_up(self) -> None:
        """Mark the training as diverged and drop its results."""
        self.store.save(f"{self.name}-diverged", self.halved)
        self.store.drop(self.name)

    def has_diverged(self) -> bool:
        """Return whether this training diverged."""
        return self.store.has(f"{self.name}-diverged")

    @property
    def _columns(self) -> int:
        return int(self.start.shape[1])

    @property
    def _portions(self) -> int:
        return portions_of(self.schedule.n_walks, self.schedule.fewest_rounds)

    @property
    def _block(self) -> int:
        """Walks per block: large, because each bucket reads a piece of every block, but limited by memory."""
        n_walks = self._walks_of_round(0).size
        n_pairs = self.walks.length * self.schedule.window_size  # maximum per walk
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
        """Return a part's means of one turn (-1 for none), updated with `points`."""
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
            for old in [old for old in self._pairs if old < number]:  # unmap, so the disk space is freed
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
        for part, mean in zip(parts, moment.means, strict=True):
            self.store.drop(f"{name}/points{part}-{turn}")
            if moment.is_late and mean >= 0:
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


def keep_walks(store: ArrayStore, walks: Walks) -> Walks:
    """Save walks, and return them as `load_walks` would."""
    return Walks(keep(store, "walker", walks.walker), keep(store, "similarity", walks.similarity))


def keep_clusters(store: ArrayFolder, walks: Walks) -> None:
    """Save the clusters of the walks of a coarse graph; the folder above has the rest of the walks."""
    assert walks.clusters is not None
    store.save("walk_key", walks.walker.key)
    keep(store, "clusters", walks.clusters)


def load_walks(store: ArrayStore) -> Walks:
    """Load the walks that `keep_walks` or `keep_clusters` saved."""
    if isinstance(store, ArrayFolder) and store.has("clusters"):
        above = load_walks(ArrayFolder(store.folder.parent))
        walker = above.walker._replace(key=np.uint64(store.load("walk_key")))
        return Walks(walker, above.similarity, load_tuple(store, "clusters", Clusters))
    return Walks(load_tuple(store, "walker", Walker), load_tuple(store, "similarity", Similarity))
