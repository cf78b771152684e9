"""In which order the buckets of a round are trained: a tournament of the parts, played by several workers.

Whatever the workers' number and speed, each part meets the others in the same order, and so the result is
the same.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import NamedTuple, TypeVar

from heat_neo4j._kernels.buckets import bucket_number

Result = TypeVar("Result")


class Bucket(NamedTuple):
    """The pairs between two parts, or within one."""

    turn: int  # 0 to V - 1: how many buckets of each of its parts come before
    first: int
    second: int  # not below `first`

    def number(self, n_parts: int) -> int:
        """Return which of the V (V + 1) / 2 buckets it is, by its parts."""
        return int(bucket_number(self.first, self.second, n_parts))


def tournament(n_parts: int) -> list[list[Bucket]]:
    """Return the buckets of each of V turns: in each, every part is in one bucket.

    Each part meets each other, and itself, once. By the circle method: with an odd number of parts one is
    left over in each turn, and trains the pairs within it; with an even number all do that in the first
    turn.
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
    """Yield each bucket with the result of its training, as they are ready.

    `start` begins to train a bucket as soon as all before it of its two parts are ready and one of the
    workers is free. If a bucket fails, its error is raised when those that have begun have ended.
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
