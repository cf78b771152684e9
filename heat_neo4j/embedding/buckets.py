"""Training by buckets: one worker trains the pairs between two parts of the nodes at a time.

In each round of walks, nodes are randomly assigned to V parts. A bucket holds the round's pairs between two
parts, or within one. One worker trains it on a copy of these parts, which fits its cache. Contexts of a
source share sets of negatives, drawn from the contexts' part. Buckets without a common part are trained
concurrently, in the order of a round-robin tournament, so the result depends on V but not on the workers.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from math import ceil
from typing import Any, Protocol, TypeVar

import numpy as np

from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j.embedding.bucket_tasks import BucketTasks, Moment, Tally
from heat_neo4j.embedding.schedule import Pace, Trained, late_moments, portions_of
from heat_neo4j.embedding.tournament import Bucket, play, tournament

Result = TypeVar("Result")

_MANY_NODES = 10_000
_FEWEST_PARTS, _MOST_PARTS, _PART_BYTES = 16, 64, 3 * 2**20


class BucketWorkers(Protocol):
    """Executes tasks: `WorkerThreads`, or a cluster."""

    n_threads: int  # maximum number of tasks in flight

    def submit(self, function: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        """Submit a method of `BucketTasks`."""


def usual_parts(n_nodes: int, n_components: int, n_walks: int) -> int:
    """Return the default V: 1 below 10,000 nodes, otherwise 16 to 64, so that a part has 3 MiB of points.

    With few walks per node (`n_walks`), rounds are split and V is smaller. More parts or smaller rounds leave
    fewer contexts of a source in each bucket, so fewer pairs share negatives.
    """
    if n_nodes < _MANY_NODES:
        return 1
    for_cache = 8 * n_nodes * padded_width(n_components + 1) / _PART_BYTES
    n_parts = min(for_cache, _MOST_PARTS) / portions_of(n_walks)
    return max(_FEWEST_PARTS, 2 * ceil(n_parts / 2))


class BucketTraining:
    """Runs the tasks round by round, and tracks the turn of each part's latest points and means.

    A bucket counts as one batch per part. Tasks with results in the store are not repeated.
    """

    def __init__(
        self,
        tasks: BucketTasks,
        workers: BucketWorkers,
        time_limit: float | None,
        latest: float,
        on_batch: Callable[[int, int], None],
    ) -> None:
        self._tasks, self._workers, self._latest, self._on_batch = tasks, workers, latest, on_batch
        n_parts = tasks.n_parts
        self._pace = Pace(tasks.n_rounds * n_parts**2, time_limit)
        self._late = late_moments()
        self._turns = [0] * n_parts
        self._means = [-1] * n_parts  # -1: none yet
        self._losses: list[float] = []
        self._counts = np.zeros(3, dtype=np.int64)  # pairs, skipped, damped

    def run(self) -> Trained | None:
        """Train as `train` does; return None once a point's time coordinate exceeds `latest`."""
        tasks, pace = self._tasks, self._pace
        if tasks.has_diverged():
            return None
        turns, last = tournament(tasks.n_parts), 0
        for number in range(tasks.n_rounds):
            if pace.over:
                break
            last, before = number, tuple(self._means)
            self._turns = [0] * tasks.n_parts
            self._means = [0 if max(before) >= 0 else -1] * tasks.n_parts
            tallies = tasks.tallies(number)
            if tallies is None:
                self._begin(number, before)
                results = play(turns, partial(self._submit, number), self._workers.n_threads)
            else:
                results = (
                    (bucket, tallies[bucket.number(tasks.n_parts)]) for turn in turns for bucket in turn
                )
            if not self._follow(number, results):
                tasks.give_up()
                return None
        if pace.done < pace.total:
            for part in range(tasks.n_parts):
                self._means[part] = tasks.average(last, part, self._turns[part], self._means[part])
            self._on_batch(pace.total, pace.total)  # complete the progress bar
        pairs, skipped, damped = self._counts.tolist()
        return Trained(
            points=tasks.means(last, self._turns, self._means),
            losses=np.array(self._losses),
            n_pairs=pairs,
            n_skipped=skipped,
            n_damped=damped,
            share=pace.done / pace.total,
            n_parts=tasks.n_parts,
        )

    def _begin(self, number: int, means: tuple[int, ...]) -> None:
        """Assign the nodes to parts, draw the walks, and drop the previous round."""
        tasks, submit = self._tasks, self._workers.submit
        submit(tasks.share_out, number, means).result()
        begun = [submit(tasks.place, number, part, means) for part in range(tasks.n_parts)]
        begun += [submit(tasks.draw, number, block) for block in range(tasks.n_blocks)]
        try:
            for each in begun:
                each.result()
        finally:
            for each in begun:
                each.cancel()
        if number:
            tasks.forget(number - 1)

    def _submit(self, number: int, bucket: Bucket) -> "Future[Tally | None]":
        """Submit a bucket's training, unless the time is up."""
        pace, tasks = self._pace, self._tasks
        if pace.over:
            nothing: Future[Tally | None] = Future()
            nothing.set_result(None)
            return nothing
        turn, n_turns = number * tasks.n_parts + bucket.turn, tasks.n_rounds * tasks.n_parts
        begin, end = turn / n_turns, (turn + 1) / n_turns
        if pace.hurried:
            begin, end = max(begin, pace.share), max(end, pace.share)
        is_late = any(begin < moment <= end for moment in self._late)
        means = tuple(self._means[part] for part in sorted({bucket.first, bucket.second}))
        return self._workers.submit(tasks.train, number, bucket, Moment(begin, end, is_late, means))

    def _follow(self, number: int, results: Iterable[tuple[Bucket, Tally | None]]) -> bool:
        """Accumulate the tallies of a round's buckets; return False if a point is too far out."""
        tasks, pace = self._tasks, self._pace
        tallies: dict[int, Tally] = {}
        for bucket, tally in results:
            if tally is None:
                continue
            if not tally.farthest <= self._latest:  # also true for NaN
                return False
            tallies[bucket.number(tasks.n_parts)] = tally
            parts = {bucket.first, bucket.second}
            for part in parts:
                self._turns[part] = bucket.turn + 1
                if tally.is_late:
                    self._means[part] = bucket.turn + 1
            pace.advance(len(parts))
            self._on_batch(pace.done, pace.total)
        in_order = [tallies[place] for place in sorted(tallies)]
        counts = np.array([tally[1:4] for tally in in_order], dtype=np.int64).sum(axis=0)
        self._counts += counts
        self._losses.append(sum(tally.loss for tally in in_order) / max(int(counts[0]), 1))
        if len(tallies) == tasks.n_parts * (tasks.n_parts + 1) // 2:
            tasks.end(number, tallies)
        return True
