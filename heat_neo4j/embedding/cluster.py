"""Training by buckets on a Dask cluster: its workers carry out the tasks, over files that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from logging import CRITICAL, getLogger
from pathlib import Path
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

__all__ = ["ClusterWorkers", "connected", "on_worker", "record_task", "train_task"]

_RETRIES = 3  # of a task that fails, as on a file that a shared folder does not show yet
_DEATHS = 10  # of workers at one task, before it is given up, times those that Dask allows
_CONNECT = "30s"


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Yield a client of a scheduler; a ConnectionFailed if none answers there, a ConfigError without Dask."""
    if find_spec("distributed") is None:
        needed = "training on a cluster needs the extra 'distributed'"
        raise ConfigError(f"{needed}: pip install 'heat-neo4j[distributed]'")
    from distributed import Client

    try:
        client = Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise ConnectionFailed(f"no Dask scheduler answers at {address}: is the address right?") from error
    except ValueError as error:
        raise ConfigError(f"scheduler {address!r}: {error}") from error
    log = getLogger("distributed.client")  # it would tell a lost scheduler by a traceback, and we by a line
    level = log.level
    log.setLevel(CRITICAL)
    try:
        with client:
            yield client
    finally:
        log.setLevel(level)


class ClusterWorkers:
    """The workers of a Dask cluster, as many as there are; any may die, and others may join.

    Nothing but tasks and what buckets have counted goes through the scheduler.
    """

    n_workers = 2**31  # the scheduler knows

    def __init__(self, client: Client, folder: Path, seed: int) -> None:
        self._client, self._folder, self._seed = client, folder, seed
        self._begun: set[Begun] = set()
        self._done: Counter[str] = Counter()
        self._repeated = 0

    def submit(self, tasks: BucketTasks, task: str, *arguments: Any) -> Future[Any]:
        """Begin a task on one of the workers."""
        training = str(self._folder), self._seed, tasks.halved
        return self._call(train_task, training, task, *arguments)

    def record(self, schedule: Schedule) -> Iterator[RecordedPairs]:
        """Record the pairs of the walks in the store, a share for each worker there is now."""
        n_shares = max(len(self._client.scheduler_info(n_workers=-1)["workers"]), 1)
        store = ArrayFolder(self._folder)
        names = [f"recorded{share}of{n_shares}" for share in range(n_shares)]
        counts = schedule.walks_per_node, schedule.window_size
        begun = [
            self._call(record_task, str(self._folder), name, *counts, share, n_shares)
            for share, name in enumerate(names)
        ]
        for recorded, name in zip(begun, names, strict=True):
            recorded.result()
            yield load_tuple(store, name, RecordedPairs)
            store.drop(name)

    def cancel(self) -> None:
        """Cancel what has begun and is not over."""
        self._client.cancel(list(self._begun))

    def facts(self) -> dict[str, Any]:
        """Return how many tasks each worker did, and how many were begun anew after workers had died."""
        return {"workers": dict(sorted(self._done.items())), "tasks_begun_anew": self._repeated}

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        result: Future[Any] = Future()
        self._begin(result, (function, *arguments), _DEATHS)
        return result

    def _begin(self, result: Future[Any], call: tuple[Any, ...], attempts: int) -> None:
        begun = self._client.submit(on_worker, *call, pure=False, retries=_RETRIES)
        self._begun.add(begun)  # Dask drops what nobody holds
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
            result.set_exception(_lost())
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

    make_ready(no_progress, by_buckets=True)
    return function(*arguments), str(get_worker().name)


def train_task(training: tuple[str, int, int], task: str, *arguments: Any) -> Any:
    """Carry out a task of a training by buckets, which folder, seed and attempt tell from any other."""
    return getattr(_tasks(*training), task)(*arguments)


def record_task(
    folder: str, name: str, walks_per_node: int, window_size: int, share: int, n_shares: int
) -> None:
    """Record the pairs of a share of the walks."""
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


def _lost() -> ConnectionFailed:
    return ConnectionFailed(
        "the Dask scheduler was lost: start it, and repeat the command, which goes on from the last bucket"
    )
