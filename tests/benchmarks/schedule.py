"""How many workers a round of V parts keeps busy: the tournament's schedule, simulated event by event.

::

    python -m tests.benchmarks.schedule [--parts 16 32 64 128 320] [--workers 1 2 4 8 16 32 64 128 256]
                                        [--gigabytes 1.25 20] [--nodes 100000000] [--seed 0]

A bucket begins as `embedding/tournament.py` has it: when both its parts are ready and a worker is free. The
worker asks the scheduler, reads two parts and the pairs from the shared folder, trains, and writes the parts
back. All who read or write share the folder's gigabytes a second. A round ends when its last bucket does.

Beside the calm cluster there is one where of each 20 workers one trains half as fast, and one whose workers
die every ten hours: their bucket begins anew elsewhere, and they come back after two minutes. "time" is
beside the ideal, all training shared out evenly; "idle" is the share of the workers' time without a bucket,
"files" with one, but not training. Workers are worth it as long as twice as many take two thirds of the time
at most. Making the parts of the next round is left out: that moves 1 / V of what a round moves.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count, pairwise
from typing import NamedTuple

from heat_neo4j.embedding.tournament import Bucket, tournament

__all__ = ["Cluster", "Outcome", "Round", "main", "simulate"]

NODE_BYTES = 192
"""Of a node in a part, in 10 dimensions: its point and its late mean."""
NODE_PAIRS, PAIR_BYTES = 468, 8
"""Of a node in a round at the defaults: 80 steps, three contexts to each side."""
PAIRS_A_SECOND = 1e9 / (85 + 10 * 7 + 10 * 3)
"""Of one core, in 10 dimensions with 10 negatives: 85 ns a pair, 7 a negative, 3 a coordinate."""
FASTER = 1.5


@dataclass(frozen=True)
class Round:
    """What there is to do in each round of walks."""

    n_parts: int
    seconds: float  # that training a bucket of two parts takes; one of one part takes half
    part_bytes: float = 0.0
    pair_bytes: float = 0.0  # of a bucket of two parts

    @classmethod
    def of(cls, n_nodes: int, n_parts: int) -> Round:
        """Return the round of a graph at the defaults."""
        pairs = 2 * NODE_PAIRS * n_nodes / n_parts**2
        return cls(n_parts, pairs / PAIRS_A_SECOND, NODE_BYTES * n_nodes / n_parts, PAIR_BYTES * pairs)


@dataclass(frozen=True)
class Cluster:
    """Who does it, and what may go wrong; times in seconds."""

    workers: int
    bandwidth: float = 1e9  # bytes a second of the folder
    link: float = 1e9  # of which one worker takes at most
    latency: float = 0.0  # of the scheduler, for each bucket
    variation: float = 0.0  # standard deviation of the logarithm of a bucket's training
    slow: float = 0.0  # share of the workers that are slower
    slower: float = 2.0  # by this factor
    deaths: float = 0.0  # of a worker, an hour
    absence: float = 120.0  # of a worker that has died


CONDITIONS: Mapping[str, Cluster] = {
    "calm": Cluster(0, latency=0.02, variation=0.1),
    "slow workers": Cluster(0, latency=0.02, variation=0.1, slow=0.05),
    "deaths": Cluster(0, latency=0.02, variation=0.1, deaths=0.1),
}


class Outcome(NamedTuple):
    """What a simulation gives."""

    begun: list[tuple[float, Bucket]]  # in order, those that were begun anew again
    seconds: float  # until the last bucket is finished
    work: float  # seconds of training, on workers that are not slow
    held: float  # seconds in which workers had a bucket that they finished
    trained: float  # seconds in which they trained it
    workers: int

    @property
    def time(self) -> float:
        """How many times as long as the ideal."""
        return self.seconds * self.workers / self.work

    @property
    def idle(self) -> float:
        """Share of the workers' time in which they had no bucket, or one that they never finished."""
        return 1.0 - self.held / (self.seconds * self.workers)

    @property
    def files(self) -> float:
        """Share of the workers' time in which they waited for scheduler and folder."""
        return (self.held - self.trained) / (self.seconds * self.workers)


class _Folder:
    """Reads and writes that share a bandwidth evenly."""

    def __init__(self, bandwidth: float, link: float) -> None:
        self._bandwidth, self._link = bandwidth, link
        self._now = self._given = 0.0  # bytes that everyone has got who was there from the beginning
        self._ends: list[tuple[float, int, int]] = []  # by `_given`
        self._visits: dict[int, int] = {}  # of the workers that are there
        self._number = count()

    def enter(self, now: float, worker: int, size: float) -> None:
        """Let a worker begin to move some bytes."""
        self._go_on(now)
        self._visits[worker] = next(self._number)
        heappush(self._ends, (self._given + size, self._visits[worker], worker))

    def leave(self, now: float, worker: int) -> None:
        """Let a worker end, whether it has moved all or not."""
        self._go_on(now)
        self._visits.pop(worker, None)
        while self._ends and self._visits.get(self._ends[0][2]) != self._ends[0][1]:
            heappop(self._ends)

    def first(self) -> tuple[float, int]:
        """Return when the first will have moved all, and who."""
        if not self._ends:
            return float("inf"), -1
        end, _, worker = self._ends[0]
        return self._now + max(end - self._given, 0.0) / self._rate(), worker

    def _go_on(self, now: float) -> None:
        if self._visits:
            self._given += (now - self._now) * self._rate()
        self._now = now

    def _rate(self) -> float:
        return min(self._link, self._bandwidth / len(self._visits))


class _Simulation:
    """Workers at work; the time goes from event to event."""

    def __init__(self, work: Round, cluster: Cluster, seed: int) -> None:
        self.work, self.cluster = work, cluster
        self.durations, self.fates = random.Random(seed), random.Random(seed + 1)
        workers = range(cluster.workers)
        slow = set(self.fates.sample(workers, round(cluster.slow * cluster.workers)))
        self.factor = [cluster.slower if worker in slow else 1.0 for worker in workers]
        self.free = deque(workers)
        self.holds: dict[int, tuple[Bucket, float]] = {}  # since when
        self.reads = [False] * cluster.workers  # or writes, if in the folder
        self.folder = _Folder(cluster.bandwidth, cluster.link)
        self.now = 0.0
        self.lives = [0] * cluster.workers
        self.events: list[tuple[float, int, int, int, str]] = []  # with the life of the worker that it is of
        self.order = count()
        self.begun: list[tuple[float, Bucket]] = []
        self.total = self.held = self.trained = 0.0
        for worker in workers:
            self.live(worker)

    def play(self) -> None:
        """Do a round."""
        turns = tournament(self.work.n_parts)
        self.schedule: list[list[Bucket]] = [[] for _ in turns]
        self.seconds: dict[Bucket, float] = {}
        for bucket in (bucket for buckets in turns for bucket in buckets):
            parts = {bucket.first, bucket.second}
            for part in parts:
                self.schedule[part].append(bucket)
            share = self.durations.lognormvariate(-(self.cluster.variation**2) / 2, self.cluster.variation)
            self.seconds[bucket] = share * self.work.seconds * len(parts) / 2
        self.total += sum(self.seconds.values())
        self.done = [0] * self.work.n_parts
        self.ready = deque(turns[0])
        while min(self.done) < self.work.n_parts:
            while self.ready and self.free:
                self.begin(self.free.popleft(), self.ready.popleft())
            self.go_on()

    def begin(self, worker: int, bucket: Bucket) -> None:
        """Give a bucket to a worker."""
        self.begun.append((self.now, bucket))
        self.holds[worker] = bucket, self.now
        self.at(self.cluster.latency, worker, "read")

    def go_on(self) -> None:
        """Let the next event happen."""
        moved, worker = self.folder.first()
        if not self.events or moved <= self.events[0][0]:
            self.now = moved
            self.folder.leave(self.now, worker)
            self.train(worker) if self.reads[worker] else self.finish(worker)
            return
        self.now, _, worker, life, what = heappop(self.events)
        if life != self.lives[worker]:
            return  # it had died before
        if what == "read":
            self.move(worker, reads=True)
        elif what == "write":
            self.trained += self.seconds[self.holds[worker][0]] * self.factor[worker]
            self.move(worker, reads=False)
        elif what == "die":
            self.die(worker)
        else:
            self.free.append(worker)
            self.live(worker)

    def at(self, after: float, worker: int, what: str) -> None:
        """Let something happen to a worker, unless it dies before."""
        heappush(self.events, (self.now + after, next(self.order), worker, self.lives[worker], what))

    def move(self, worker: int, *, reads: bool) -> None:
        """Read the parts of a bucket and its pairs, or write the parts."""
        bucket, _ = self.holds[worker]
        n_parts = len({bucket.first, bucket.second})
        pairs = self.work.pair_bytes * n_parts / 2
        self.reads[worker] = reads
        self.folder.enter(self.now, worker, self.work.part_bytes * n_parts + pairs * reads)

    def train(self, worker: int) -> None:
        """Train what was read."""
        self.at(self.seconds[self.holds[worker][0]] * self.factor[worker], worker, "write")

    def finish(self, worker: int) -> None:
        """Put a bucket away; what it held up is ready, as `play` of the trainer has it."""
        bucket, since = self.holds.pop(worker)
        self.held += self.now - since
        self.free.append(worker)
        parts = {bucket.first, bucket.second}
        for part in parts:
            self.done[part] += 1
        following = {
            self.schedule[part][self.done[part]] for part in parts if self.done[part] < self.work.n_parts
        }
        for each in sorted(following):
            if self.done[each.first] == self.done[each.second] == each.turn:
                self.ready.append(each)

    def live(self, worker: int) -> None:
        """Say when a worker will die."""
        if self.cluster.deaths:
            self.at(self.fates.expovariate(self.cluster.deaths / 3600.0), worker, "die")

    def die(self, worker: int) -> None:
        """Take a worker away for a while; its bucket is the next to begin."""
        self.lives[worker] += 1
        self.folder.leave(self.now, worker)
        if worker in self.holds:
            self.ready.appendleft(self.holds.pop(worker)[0])
        else:
            self.free.remove(worker)
        self.at(self.cluster.absence, worker, "return")


def simulate(work: Round, cluster: Cluster, *, rounds: int = 1, seed: int = 0) -> Outcome:
    """Let the workers of a cluster do some rounds."""
    simulation = _Simulation(work, cluster, seed)
    for _ in range(rounds):
        simulation.play()
    return Outcome(
        begun=simulation.begun,
        seconds=simulation.now,
        work=simulation.total,
        held=simulation.held,
        trained=simulation.trained,
        workers=cluster.workers,
    )


def worth(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome for as many workers as are worth it, of outcomes for 1, 2, 4, ... workers."""
    for fewer, more in pairwise(outcomes):
        if fewer.seconds < FASTER * more.seconds:
            return fewer
    return outcomes[-1]


def show(work: Round, workers: Sequence[int], bandwidth: float, rounds: int, seed: int) -> str:
    """Print what numbers of workers make of a round; return a line that says how many are worth it."""
    print(f"V = {work.n_parts}, folder of {bandwidth / 1e9:g} GB/s")
    print(f"{'':8}" + "".join(f"{name:>21}" for name in CONDITIONS))
    print(f"{'workers':8}" + f"{'time':>9}{'idle':>6}{'files':>6}" * len(CONDITIONS))
    found: dict[str, list[Outcome]] = {name: [] for name in CONDITIONS}
    for number in workers:
        line = f"{number:7} "
        for name, condition in CONDITIONS.items():
            cluster = replace(condition, workers=number, bandwidth=bandwidth)
            outcome = simulate(work, cluster, rounds=rounds, seed=seed)
            found[name].append(outcome)
            line += f"{outcome.time:9.2f}{outcome.idle:6.0%}{outcome.files:6.0%}"
        print(line, flush=True)
    print()
    line = f"{work.n_parts:4}{bandwidth / 1e9:7g}"
    for best in map(worth, found.values()):
        line += f"{best.workers:9}{best.time:6.2f}{best.idle:6.0%}"
    first, *others = (each.seconds for each in found["calm"])
    return line + f"{first / min([first, *others]):8.1f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.schedule",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--parts", nargs="+", type=int, default=[16, 32, 64, 128, 320])
    parser.add_argument("--workers", nargs="+", type=int, default=[2**power for power in range(9)])
    parser.add_argument("--gigabytes", nargs="+", type=float, default=[1.25, 20.0])
    parser.add_argument("--nodes", type=int, default=10**8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    lines = [
        show(Round.of(chosen.nodes, n_parts), sorted(chosen.workers), rate * 1e9, chosen.rounds, chosen.seed)
        for n_parts in chosen.parts
        for rate in chosen.gigabytes
    ]
    print("workers that are worth it; at most: how many times as fast as one worker any number is, calm")
    print(f"{'':11}" + "".join(f"{name:>21}" for name in CONDITIONS))
    columns = f"{'workers':>9}{'time':>6}{'idle':>6}" * len(CONDITIONS)
    print(f"{'V':>4}{'GB/s':>7}{columns}{'at most':>8}")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
