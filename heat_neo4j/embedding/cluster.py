"""Training by buckets on a Dask cluster: its workers carry out the tasks, over files that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.array_store import ArrayFolder
from heat_neo4j._utils.progress import no_progress
from heat_neo4j.embedding.bucket_tasks import BucketTasks
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.errors import ConfigError, ConnectionFailed

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as Begun

__all__ = ["ClusterWorkers", "connected", "run_task"]

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
    with client:
        yield client


class ClusterWorkers:
    """The workers of a Dask cluster, as many as there are; any may die, and others may join.

    Nothing but tasks and what buckets have counted goes through the scheduler.
    """

    n_workers = 2**31  # the scheduler knows

    def __init__(self, client: Client, folder: Path) -> None:
        self._client, self._folder = client, folder
        self._begun: set[Begun] = set()
        self._done: Counter[str] = Counter()
        self._repeated = 0

    def submit(self, tasks: BucketTasks, task: str, *arguments: Any) -> Future[Any]:
        """Begin a task on one of the workers."""
        result: Future[Any] = Future()
        self._begin(result, (str(self._folder), tasks.halved, task, *arguments), _DEATHS)
        return result

    def facts(self) -> dict[str, Any]:
        """Return how many tasks each worker did, and how many were begun anew after workers had died."""
        return {"workers": dict(sorted(self._done.items())), "tasks_begun_anew": self._repeated}

    def _begin(self, result: Future[Any], call: tuple[Any, ...], attempts: int) -> None:
        begun = self._client.submit(run_task, *call, pure=False, retries=_RETRIES)
        self._begun.add(begun)  # Dask drops what nobody holds
        begun.add_done_callback(lambda done: self._settle(done, result, call, attempts))

    def _settle(self, done: Begun[Any], result: Future[Any], call: tuple[Any, ...], attempts: int) -> None:
        from distributed import KilledWorker

        self._begun.discard(done)
        if result.cancelled():
            return
        try:
            if done.cancelled():
                result.set_exception(_lost())
                return
            value, worker = done.result()
        except KilledWorker as error:
            if attempts > 1:
                self._repeated += 1
                self._begin(result, call, attempts - 1)
            else:
                result.set_exception(error)
        except Exception as error:
            result.set_exception(error)
        else:
            self._done[worker] += 1
            result.set_result(value)


def run_task(folder: str, halved: int, task: str, *arguments: Any) -> tuple[Any, str]:
    """Carry out a task on this worker; return its result, and the name of the worker."""
    from distributed import get_worker

    return getattr(_tasks(folder, halved), task)(*arguments), str(get_worker().name)


@lru_cache(maxsize=1)
def _tasks(folder: str, halved: int) -> BucketTasks:
    make_ready(no_progress, by_buckets=True)
    return BucketTasks.open(ArrayFolder(folder), halved)


def _lost() -> ConnectionFailed:
    return ConnectionFailed(
        "the Dask scheduler was lost: start it, and repeat the command, which goes on from the last bucket"
    )
