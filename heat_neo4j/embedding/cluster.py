"""Training by buckets on a Dask cluster: workers execute the tasks on shared files.

Workers may die or join at any time. Tasks are pure functions over files: they may be lost, repeated, or run
twice concurrently. Only tasks and tallies pass through the scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from logging import CRITICAL, getLogger
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.array_store import ArrayFolder, keep, load_tuple
from heat_neo4j._utils.progress import no_progress
from heat_neo4j.embedding.bucket_tasks import BucketTasks, load_walks
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.pairs import RecordedPairs, record_share
from heat_neo4j.embedding.schedule import Schedule
from heat_neo4j.errors import ConfigError, ConnectionFailed

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as Begun

_RETRIES = 3  # of a failed task, e.g. if a file is not yet visible in a shared folder
_DEATHS = 10  # resubmissions of a task whose workers died, in addition to Dask's own
_LOST = "the Dask scheduler was lost: start it, and repeat the command, which resumes from the last bucket"


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Yield a client of a scheduler; raises ConnectionFailed without an answer, ConfigError without Dask."""
    if find_spec("distributed") is None:
        raise ConfigError("a cluster needs the extra 'distributed': pip install 'heat-neo4j[distributed]'")
    from distributed import Client

    try:
        client = Client(address, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise ConnectionFailed(f"no Dask scheduler answers at {address}: is the address right?") from error
    except ValueError as error:
        raise ConfigError(f"scheduler {address!r}: {error}") from error
    log = getLogger("distributed.client")  # it would log a traceback for a lost scheduler
    level = log.level
    log.setLevel(CRITICAL)
    try:
        with client:
            yield client
    finally:
        log.setLevel(level)


class BucketCluster:
    """The current workers of a Dask cluster that train in a shared folder.

    If the scheduler is lost, the result of a task is a ConnectionFailed.
    """

    n_threads = 2**31  # unlimited; the scheduler queues tasks

    def __init__(self, client: Client, seed: int) -> None:
        self._client, self._seed = client, seed
        self._begun: set[Begun] = set()
        self._done: Counter[str] = Counter()
        self._repeated = 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a method of `BucketTasks` to one of the workers."""
        tasks: BucketTasks = function.__self__  # type: ignore[attr-defined]
        assert isinstance(tasks.store, ArrayFolder)
        training = str(tasks.store.folder), self._seed, tasks.halved
        return self._call(train_task, training, function.__name__, *arguments)

    def record(self, store: ArrayFolder, schedule: Schedule) -> Iterator[RecordedPairs]:
        """Record the pairs of the walks in a store, one share per current worker."""
        n_shares = max(len(self._client.scheduler_info(n_workers=-1)["workers"]), 1)
        names = [f"recorded{share}of{n_shares}" for share in range(n_shares)]
        counts = schedule.walks_per_node, schedule.window_size
        begun = [
            self._call(record_task, str(store.folder), name, *counts, share, n_shares)
            for share, name in enumerate(names)
        ]
        for recorded, name in zip(begun, names, strict=True):
            recorded.result()
            yield load_tuple(store, name, RecordedPairs)
            store.drop(name)

    def cancel(self) -> None:
        """Cancel all running tasks."""
        if self._begun:  # a client that has lost its scheduler may be closed
            self._client.cancel(list(self._begun))

    def facts(self) -> dict[str, Any]:
        """Return the number of tasks of each worker, and of tasks repeated after workers died."""
        return {"workers": dict(sorted(self._done.items())), "tasks_begun_anew": self._repeated}

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        result: Future[Any] = Future()
        self._begin(result, (function, *arguments), _DEATHS)
        return result

    def _begin(self, result: Future[Any], call: tuple[Any, ...], attempts: int) -> None:
        if self._client.status in ("closing", "closed"):  # it timed out waiting for the scheduler
            result.set_exception(ConnectionFailed(_LOST))
            return
        begun = self._client.submit(on_worker, *call, pure=False, retries=_RETRIES)
        self._begun.add(begun)  # Dask cancels tasks without references
        begun.add_done_callback(lambda done: self._settle(done, result, call, attempts))

    def _settle(self, done: Begun[Any], result: Future[Any], call: tuple[Any, ...], attempts: int) -> None:
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        self._begun.discard(done)
        if result.cancelled():
            return
        try:
            value, worker = done.result()
            self._done[worker] += 1
            result.set_result(value)
        except (CancelledError, CommClosedError, TimeoutError):
            result.set_exception(ConnectionFailed(_LOST))
        except KilledWorker as error:
            if attempts == 1:
                result.set_exception(error)
                return
            self._repeated += 1
            self._begin(result, call, attempts - 1)
        except Exception as error:
            result.set_exception(error)


def on_worker(function: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """Call a function on this worker; return its result, and the worker's name."""
    from distributed import get_worker

    return function(*arguments), str(get_worker().name)


def train_task(training: tuple[str, int, int], task: str, *arguments: Any) -> Any:
    """Execute a task of a training by buckets; `training` is (folder, seed, number of halvings)."""
    make_ready(no_progress, by_buckets=True)
    return getattr(_tasks(*training), task)(*arguments)


def record_task(
    folder: str, name: str, walks_per_node: int, window_size: int, share: int, n_shares: int
) -> None:
    """Record the pairs of a share of the walks."""
    make_ready(no_progress, by_buckets=True)
    store = ArrayFolder(folder)
    if not store.has(name):
        recorded = record_share(
            load_walks(store),
            walks_per_node=walks_per_node,
            window_size=window_size,
            share=share,
            n_shares=n_shares,
        )
        keep(store, name, recorded)


@lru_cache(maxsize=1)
def _tasks(folder: str, seed: int, halved: int) -> BucketTasks:
    return BucketTasks.open(ArrayFolder(folder), halved)
