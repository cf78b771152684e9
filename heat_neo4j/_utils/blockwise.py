"""Work in blocks, by this process or by the workers of a cluster: each a pure function of what all share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.array_store import ArrayFolder
from heat_neo4j._utils.cluster import ClusterWorkers
from heat_neo4j._utils.threads import ALONE
from heat_neo4j.errors import ConfigError

if TYPE_CHECKING:
    from distributed import Client

Arrays = TypeVar("Arrays", bound=tuple[NDArray[Any], ...])


class BlockWorkers(Protocol):
    """What carries out the blocks: `WorkerThreads`, or a `BlockCluster`."""

    def map(self, function: Callable[..., Arrays], calls: Sequence[tuple[Any, ...]]) -> Iterator[Arrays]:
        """Yield ``function(team, *call)`` for each call, in order; the team is some `WorkerThreads`.

        The function is a method of what all blocks share, and its result depends on that and the call only.
        """


class BlockCluster(ClusterWorkers):
    """The workers of a Dask cluster, over files of a folder that they share.

    What all blocks share, and what is found, are files; nothing but the calls goes through the scheduler.
    """

    def __init__(self, client: Client, folder: Path) -> None:
        super().__init__(client)
        self._store = ArrayFolder(folder)
        self._shared: Callable[..., Any] | None = None  # the function that is in the folder
        self._name = ""  # of its file
        self._names = count()

    def map(self, function: Callable[..., Arrays], calls: Sequence[tuple[Any, ...]]) -> Iterator[Arrays]:
        """Yield ``function(team, *call)`` for each call, in order; the team is one thread of a worker."""
        if function != self._shared:
            self._share(function)
        folder, names = str(self._store.folder), [f"found{next(self._names)}" for _ in calls]
        begun = [
            self.begin(work_block, folder, self._name, name, *call)
            for name, call in zip(names, calls, strict=True)
        ]
        for name, block in zip(names, begun, strict=True):
            files = [f"{name}-{place}" for place in range(block.result())]
            found: Any = tuple(np.array(self._store.load(file)) for file in files)
            for file in files:
                self._store.drop(file)
            yield found

    def _share(self, function: Callable[..., Any]) -> None:
        """Put a function into the folder, instead of another."""
        if self._shared is not None:
            self._store.drop(self._name)
        self._shared, self._name = function, f"function{next(self._names)}"
        self._store.save_object(self._name, function)


@contextmanager
def on_cluster(client: Client, scratch: str | Path) -> Iterator[BlockCluster]:
    """Yield the workers of a cluster that share a folder, in which nothing is left at the end.

    A ConfigError says that the folder cannot be written.
    """
    scratch = Path(scratch).absolute()
    try:  # of a name that no folder had before: a worker may still have what was in another
        own = tempfile.TemporaryDirectory(prefix="heat-blocks-", dir=scratch, ignore_cleanup_errors=True)
    except OSError as error:
        raise ConfigError(f"scratch folder {scratch}: cannot be written: {error.strerror}") from error
    with own as folder:
        workers = BlockCluster(client, Path(folder))
        try:
            yield workers
        finally:
            workers.cancel()


def work_block(folder: str, function: str, name: str, *call: Any) -> int:
    """Call a function of the folder; save the arrays that it returns, and return how many they are."""
    found = _opened(folder, function)(ALONE, *call)
    for place, array in enumerate(found):
        ArrayFolder(folder).save(f"{name}-{place}", array)
    return len(found)


@lru_cache(maxsize=1)
def _opened(folder: str, name: str) -> Callable[..., tuple[NDArray[Any], ...]]:
    function: Callable[..., tuple[NDArray[Any], ...]] = ArrayFolder(folder).load_object(name)
    return function
