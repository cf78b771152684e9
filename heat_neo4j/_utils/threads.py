"""Worker threads for compiled functions, the number of available processors, and single-threaded BLAS."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from heat_neo4j._kernels.worksharing import give_up, share_work
from heat_neo4j._utils.closing import Closing
from heat_neo4j._utils.memory import control_groups, read_group_file
from heat_neo4j._utils.validation import check_integer

Part = TypeVar("Part")
Result = TypeVar("Result")

_FIRST_TRIAL, _LAST_TRIAL = 2, 64  # calls before the first trial of another count, and between two at most
_TURNS = 3  # of a trial
_TRIAL_WORK = 0.25  # of a call in each turn: the other count may be slow
_PLAINLY, _BETTER = 0.85, 1.02  # speed, in units of the present count's, at which a trial ends, or wins
_SLOWED = 0.75  # of the usual speed: then the machine has changed


def available_processors(root: Path = Path("/")) -> tuple[int, str]:
    """Return the number of processors that threads can keep busy, and its reason.

    It is the affinity of the process, or less by the CPU quota of its control group or of any group around
    it: joblib's `cpu_count` reads only the outermost group. `root` is where /proc and /sys are.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed, why = len(os.sched_getaffinity(0)), "the processors this process may run on"
    else:
        allowed, why = os.cpu_count() or 1, "the processors of this machine"
    quota = min(_quotas(root), default=float(allowed))
    if quota < allowed:
        return max(ceil(quota), 1), f"the CPU quota of its control group, {quota:g} of {allowed} processors"
    return allowed, why


def _quotas(root: Path) -> Iterator[float]:
    """Yield each CPU quota of the control groups of this process, in processors."""
    for group in control_groups("cpu", root):
        quota, period = _quota(group)
        if quota.isdigit() and period.isdigit() and int(period) > 0:
            yield int(quota) / int(period)


def _quota(group: Path) -> tuple[str, str]:
    """Return the text of quota and period, in microseconds."""
    version_2 = read_group_file(group / "cpu.max").split()
    if len(version_2) == 2:
        return version_2[0], version_2[1]
    quota, period = (read_group_file(group / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    return quota.strip(), period.strip()


class WorkerThreads(Closing):
    """The calling thread and `n_threads` - 1 more. A context manager that ends them."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._others = ThreadPoolExecutor(n_threads, thread_name_prefix="heat")

    def best_count(self) -> "BestCount":
        """Return what tries how many of the threads are the fastest."""
        return BestCount(self.n_threads)

    def run(self, function: Callable[..., None], *arguments: Any, count: int | None = None) -> None:
        """Call ``function(*arguments, shared, thread, count)`` on `count` threads, or all; wait for them.

        The function must be compiled with ``nogil=True``; it shares its work by the functions of
        `heat_neo4j._kernels.worksharing`, which take `shared`.
        """
        count = self.n_threads if count is None else count
        shared = share_work(count)
        try:
            others = [
                self._others.submit(function, *arguments, shared, thread, count) for thread in range(1, count)
            ]
            function(*arguments, shared, 0, count)
            for other in others:
                other.result()
        except BaseException:  # the others would wait for this thread forever
            give_up(shared)
            raise

    def submit(self, function: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        """Call a function that shares no work on one of `n_threads` other threads."""
        return self._others.submit(function, *arguments)

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
        """Call a function that shares no work with each part, on `n_threads` other threads; wait for all."""
        if self.n_threads == 1:
            return [function(part) for part in parts]
        return [called.result() for called in [self.submit(function, part) for part in parts]]

    def by_key(self, function: Callable[[Part], Result], keys: Iterable[Part]) -> dict[Part, Result]:
        """Call a function with each key, as `map` does, and return the results by key."""
        every = list(keys)
        return dict(zip(every, self.map(function, every), strict=True))

    def close(self) -> None:
        """End the threads."""
        self._others.shutdown()


ALONE = WorkerThreads(1)
"""The calling thread only."""


class BestCount:
    """The fastest number of threads at present, up to `most`, by trial.

    Threads that synchronise often wait for a preempted one: beside busy programs fewer can be faster. Now and
    then a call has fewer or more threads; unless that is plainly slower, both counts take turns, and the
    faster one stays. Trials that change nothing become rare.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._best = most
        self._other = most
        self._trial: dict[int, list[float]] = {}  # seconds per unit of work, of each count in its turns
        self._usual: list[float] = []
        self._interval = self._until_trial = _FIRST_TRIAL
        self._upwards = False

    @property
    def count(self) -> int:
        """The number of threads of the next call."""
        if self._until_trial > 0 or self._most == 1:
            return self._best
        turns = sum(len(each) for each in self._trial.values())
        return self._best if turns % 2 else self._other

    def parts(self, work: int) -> Iterator[tuple[int, int, int]]:
        """Yield (begin, end, threads) of the parts to do some work in, and measure the time of each."""
        begin = 0
        while begin < work:
            size = work - begin
            if self._until_trial == 0 and self._most > 1:
                size = min(size, ceil(_TRIAL_WORK * work))
            began = perf_counter()
            yield begin, begin + size, self.count
            self.ran(size, perf_counter() - began)
            begin += size

    def ran(self, work: int, seconds: float) -> None:
        """Record the work, of any unit, and the time of a call with `count` threads."""
        if self._most == 1:
            return
        pace = seconds / work
        if self._until_trial > 0:
            self._until_trial -= 1
            self._usual.append(pace)
            if len(self._usual) > _TURNS and _SLOWED * pace > sum(self._usual[:-1]) / (len(self._usual) - 1):
                self._until_trial, self._interval = 0, _FIRST_TRIAL
            if self._until_trial == 0:
                self._begin_trial()
            return
        self._trial[self.count].append(pace)
        best, other = self._trial[self._best], self._trial[self._other]
        if len(best) < len(other):
            return
        ratio = sum(best) / sum(other)
        if len(other) == _TURNS or ratio < _PLAINLY:
            self._end_trial(won=ratio > _BETTER)

    def _begin_trial(self) -> None:
        step = max(self._best // 4, 1)
        self._upwards = self._best < self._most and (self._best == 1 or not self._upwards)
        self._other = min(self._best + step, self._most) if self._upwards else self._best - step
        self._trial = {self._other: [], self._best: []}

    def _end_trial(self, *, won: bool) -> None:
        if won:
            self._best, self._interval = self._other, _FIRST_TRIAL
            self._upwards = not self._upwards  # then the next trial goes on in the same direction
        else:
            self._interval = min(4 * self._interval, _LAST_TRIAL)
        self._until_trial = self._interval
        self._usual = []


def resolve_threads(n_threads: int | None) -> int:
    """Return `n_threads`, capped at the number of available processors; None means all of them."""
    available = available_processors()[0]
    if n_threads is None:
        return available
    return min(check_integer("n_threads", n_threads, minimum=1), available)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP, which scikit-learn uses, to one thread, as `one_blas_thread` does."""
    with threadpool_limits(limits=1):
        yield


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, because its sums depend on the number of threads. Also a decorator.

    The limit holds for the whole process meanwhile. Numba's threads, on which HEAT trains, are not limited.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        yield
