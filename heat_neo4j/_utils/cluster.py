"""The workers of a Dask cluster; workers may die or join at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.util import find_spec
from logging import CRITICAL, getLogger
from typing import TYPE_CHECKING, Any

from heat_neo4j.errors import ConfigError, ConnectionFailed

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as Begun

_RETRIES = 3  # of a failed task, e.g. if a file is not yet visible in a shared folder
_DEATHS = 10  # resubmissions of a task whose workers died, in addition to Dask's own


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


class ClusterWorkers:
    """The current workers of a Dask cluster.

    A task must be a pure function over files: it may be lost, repeated, or run twice concurrently. If the
    scheduler is lost, its result is a ConnectionFailed with the message `lost`.
    """

    lost = "the Dask scheduler was lost: start it, and repeat the command"

    def __init__(self, client: Client) -> None:
        self._client = client
        self._begun: set[Begun] = set()
        self._done: Counter[str] = Counter()
        self._repeated = 0

    def begin(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a function call to one of the workers."""
        result: Future[Any] = Future()
        self._begin(result, (function, *arguments), _DEATHS)
        return result

    def present(self) -> int:
        """Return the current number of workers, at least 1."""
        return max(len(self._client.scheduler_info(n_workers=-1)["workers"]), 1)

    def cancel(self) -> None:
        """Cancel all running tasks."""
        if self._begun:  # a client that has lost its scheduler may be closed
            self._client.cancel(list(self._begun))

    def facts(self) -> dict[str, Any]:
        """Return the number of tasks of each worker, and of tasks repeated after workers died."""
        return {"workers": dict(sorted(self._done.items())), "tasks_begun_anew": self._repeated}

    def _begin(self, result: Future[Any], call: tuple[Any, ...], attempts: int) -> None:
        if self._client.status in ("closing", "closed"):  # it timed out waiting for the scheduler
            result.set_exception(ConnectionFailed(self.lost))
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
            result.set_exception(ConnectionFailed(self.lost))
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
