"""Training by buckets on a Dask cluster: workers execute the tasks on shared files."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.array_store import ArrayFolder, keep, load_tuple
from heat_neo4j._utils.cluster import ClusterWorkers
from heat_neo4j._utils.progress import no_progress
from heat_neo4j.embedding.bucket_tasks import BucketTasks, load_walks
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.pairs import RecordedPairs, record_share
from heat_neo4j.embedding.schedule import Schedule

if TYPE_CHECKING:
    from distributed import Client


class BucketCluster(ClusterWorkers):
    """The workers of a Dask cluster that train in a shared folder.

    Only tasks and tallies pass through the scheduler.
    """

    n_workers = 2**31  # unlimited; the scheduler queues tasks
    lost = f"{ClusterWorkers.lost}, which resumes from the last bucket"

    def __init__(self, client: Client, seed: int) -> None:
        super().__init__(client)
        self._seed = seed

    def submit(self, tasks: BucketTasks, task: str, *arguments: Any) -> Future[Any]:
        """Submit a task to one of the workers."""
        assert isinstance(tasks.store, ArrayFolder)
        training = str(tasks.store.folder), self._seed, tasks.halved
        return self.begin(train_task, training, task, *arguments)

    def record(self, store: ArrayFolder, schedule: Schedule) -> Iterator[RecordedPairs]:
        """Record the pairs of the walks in a store, one share per current worker."""
        n_shares = self.present()
        names = [f"recorded{share}of{n_shares}" for share in range(n_shares)]
        counts = schedule.walks_per_node, schedule.window_size
        begun = [
            self.begin(record_task, str(store.folder), name, *counts, share, n_shares)
            for share, name in enumerate(names)
        ]
        for recorded, name in zip(begun, names, strict=True):
            recorded.result()
            yield load_tuple(store, name, RecordedPairs)
            store.drop(name)


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
