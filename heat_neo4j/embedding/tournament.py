"""Training order of a round's buckets: a round-robin tournament of the parts, run by several workers.

Each part meets the others in a fixed order, so the result does not depend on the number or speed of workers.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import NamedTuple, TypeVar

from heat_neo4j._kernels.buckets import bucket_number

Result = TypeVar("Result")


class Bucket(NamedTuple):
    """The pairs between two parts, or within one."""

    turn: int  # 0 to V - 1: the number of earlier buckets of each of its parts
    first: int
    second: int  # at least `first`

    def number(self, n_parts: int) -> int:
        """Return its index among the V (V + 1) / 2 buckets."""
        return int(bucket_number(self.first, self.second, n_parts))


def tournament(n_parts: int) -> list[list[Bucket]]:
    """Return the buckets of each of V turns; every part is in exactly one bucket per turn.

    Each part meets every other, and itself, once (circle method). With an odd number of parts, one has no
    partner in each turn and trains its internal pairs. With an even number, all do so in the first turn.
    """
    is_even = n_parts % 2 == 0
    turns = [[Bucket(0, part, part) for part in range(n_parts)]] if is_even else []
    seats = n_parts - is_even
    for shift in range(seats):
        buckets = []
        for seat in range(seats // 2 + 1):
            one, other = (shift + seat) % seats, (shift - seat) % seats
            if seat == 0 and is_even:
                other = n_parts - 1
            buckets.append(Bucket(len(turns), min(one, other), max(one, other)))
        turns.append(buckets)
    return turns


def play(
    turns: list[list[Bucket]], start: Callable[[Bucket], "Future[Result]"], n_workers: int
) -> Iterator[tuple[Bucket, Result]]:
    """Yield each bucket with its result, in order of completion.

    `start` is called for a bucket once all earlier buckets of its parts are done and a worker is free. If a
    bucket fails, its error is raised after all running buckets have finished.
    """
    n_parts = len(turns)
    schedule: list[list[Bucket]] = [[] for _ in range(n_parts)]  # the buckets of each part
    for buckets in turns:
        for bucket in buckets:
            for part in {bucket.first, bucket.second}:
                schedule[part].append(bucket)
    done = [0] * n_parts  # buckets of each part
    ready = deque(turns[0])
    running: dict[Future[Result], Bucket] = {}
    try:
        while ready or running:
            while ready and len(running) < n_workers:
                bucket = ready.popleft()
                running[start(bucket)] = bucket
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                bucket = running.pop(future)
                yield bucket, future.result()
                parts = {bucket.first, bucket.second}
                for part in parts:
                    done[part] += 1
                following = {schedule[part][done[part]] for part in parts if done[part] < n_parts}
                for each in sorted(following):
                    if done[each.first] == done[each.second] == each.turn:
                        ready.append(each)
    finally:
        wait(running)
