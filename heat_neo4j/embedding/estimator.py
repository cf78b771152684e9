"""`Embedder`: similarity, walks, pairs and training as an estimator of scikit-learn."""

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from heat_neo4j._utils.cluster import connected
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.random import Keys, RandomState, draw_seed, make_keys
from heat_neo4j._utils.threads import WorkerThreads, available_processors, resolve_threads
from heat_neo4j._utils.validation import MOST_COMPONENTS, check_integer, check_positive, check_probability
from heat_neo4j._utils.version import __version__
from heat_neo4j.embedding.bucket_tasks import BUCKET_RATE, BucketTasks, keep_walks
from heat_neo4j.embedding.buckets import BucketThreads
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.pairs import RecordedPairs, WalkPairs, collect_pairs
from heat_neo4j.embedding.postprocessing import refine
from heat_neo4j.embedding.schedule import Schedule, Trained
from heat_neo4j.embedding.training import make_tasks, parts_of, start_points, train, train_tasks
from heat_neo4j.embedding.training_folder import TrainingFolder
from heat_neo4j.embedding.walks import Walks, make_walks
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.graph import Graph

if TYPE_CHECKING:
    from heat_neo4j.embedding.cluster import BucketCluster

OF_THE_MACHINE = ("n_threads", "scratch", "scheduler")
"""Parameters that change no bit: where and how to compute."""

_MOST_THREADS = 1024


class NothingToLearnError(ValueError):
    """The graph offers no pair to learn from."""


class Embedder(BaseEstimator):
    """Embeds a `Graph`; `heat_neo4j.HEAT`, which users call, tells of its parameters and attributes."""

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha: float = 0.2,
        forward: float = 0.5,
        type_balance: float = 0.0,
        sigma: float = 1.0,
        walks_per_node: int = 10,
        walk_length: int = 80,
        window_size: int = 3,
        n_negatives: int = 10,
        negative_exponent: float = 0.5,
        learning_rate: float = 0.05,
        batch_size: int | None = None,
        n_epochs: int = 1,
        n_parts: int | None = None,
        refine: bool = True,
        time_limit: float | None = None,
        n_threads: int | None = None,
        scratch: str | Path | None = None,
        scheduler: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.forward = forward
        self.type_balance = type_balance
        self.sigma = sigma
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.window_size = window_size
        self.n_negatives = n_negatives
        self.negative_exponent = negative_exponent
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.n_parts = n_parts
        self.refine = refine
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.scratch = scratch
        self.scheduler = scheduler
        self.random_state = random_state

    embedding_: NDArray[np.float64]
    loss_curve_: NDArray[np.float64]
    n_pairs_: int
    seed_: int
    training_: dict[str, Any]

    def fit(
        self,
        graph: Graph,
        y: None = None,
        *,
        start: NDArray[np.float64] | None = None,
        on_progress: Progress = no_progress,
    ) -> Self:
        """Embed `graph`; the other parameters, and the errors, are those of `heat_neo4j.HEAT.fit`."""
        schedule, threads = self.check_parameters()
        if not isinstance(graph, Graph):
            raise TypeError(f"fit needs a heat_neo4j.Graph, got {type(graph).__name__}")
        if graph.n_nodes == 0:
            raise NothingToLearnError("the graph has no nodes")
        if start is not None:
            shape = (graph.n_nodes, self.n_components + 1)
            if start.shape != shape:
                raise ValueError(f"start must have shape {shape}, got {start.shape}")
            check_points(start)
        self.seed_ = draw_seed(self.random_state)
        with WorkerThreads(threads) as team, self._folder(graph, schedule, start) as folder:
            trained, self.training_ = self._train(graph, schedule, team, start, folder, on_progress)
        if start is not None:
            self.training_["start"] = blake2b(np.ascontiguousarray(start).data, digest_size=16).hexdigest()
        # What training held is free by now, so that the peak is not that and this.
        self.embedding_ = refine(trained.points, graph) if self.refine else trained.points
        self.loss_curve_ = trained.losses
        self.n_pairs_ = trained.n_pairs
        return self

    def _folder(
        self, graph: Graph, schedule: Schedule, start: NDArray[np.float64] | None
    ) -> AbstractContextManager[TrainingFolder | None]:
        """Return the folder of this training, if it is to have one."""
        if self.scratch is None or self._parts(graph, schedule) == 1:
            return nullcontext()
        decisive = {name: value for name, value in self.get_params().items() if name not in OF_THE_MACHINE}
        if isinstance(self.random_state, np.random.RandomState):
            decisive["random_state"] = None
        what = [__version__, decisive, self._parts(graph, schedule), graph.digest()]
        text = json.dumps(what, default=np.generic.item)
        digest = blake2b(text.encode(), digest_size=12)
        if start is not None:
            digest.update(np.ascontiguousarray(start).data)
        return TrainingFolder(self.scratch, digest.hexdigest())

    def _train(
        self,
        graph: Graph,
        schedule: Schedule,
        team: WorkerThreads,
        start: NDArray[np.float64] | None,
        folder: TrainingFolder | None,
        on_progress: Progress,
    ) -> tuple[Trained, dict[str, Any]]:
        """Walk, collect pairs and train; return what is trained, and facts about it."""
        clock = _Clock()
        if make_ready(on_progress, by_buckets=self._parts(graph, schedule) > 1):
            clock.stop("compile")
        if folder is not None:
            given = (graph, schedule, team, start, folder, clock, on_progress)
            trained, facts = folder.recovering(lambda: self._train_over_files(*given))
        else:
            keys = make_keys(self.seed_)
            walks, facts = self._walks(graph, keys, team)
            clock.stop("similarity")
            pairs = self._pairs(walks, schedule, team, None, on_progress)
            clock.stop("walks")
            trained = train(
                start_points(graph.n_nodes, self.n_components, keys.start) if start is None else start,
                walks,
                pairs.negatives,
                schedule,
                keys,
                team=team,
                occurrences=pairs.occurrences,
                time_limit=clock.left(self.time_limit),
                on_batch=partial(on_progress, "train"),
            )
            facts |= pairs.facts()
        clock.stop("train")
        return trained, {
            "seconds": clock.seconds,
            "threads": team.n_threads,
            "threads_reason": "n_threads" if self.n_threads == team.n_threads else available_processors()[1],
            "pairs": trained.n_pairs,
            "trained_share": round(trained.share, 4),
            "pairs_without_negative": trained.n_skipped,
            "damped_steps": trained.n_damped,
            "parts": trained.n_parts,
            "learning_rate_halved": trained.n_halved,
            "effective_learning_rate": schedule.learning_rate
            * (1.0 if trained.n_parts == 1 else BUCKET_RATE)
            / 2**trained.n_halved,
            **facts,
        }

    def _train_over_files(
        self,
        graph: Graph,
        schedule: Schedule,
        team: WorkerThreads,
        start: NDArray[np.float64] | None,
        folder: TrainingFolder,
        clock: "_Clock",
        on_progress: Progress,
    ) -> tuple[Trained, dict[str, Any]]:
        """Train in a folder, by the workers of a cluster if there is one; go on from what is there."""
        store = folder.store
        self.seed_ = folder.seed(self.seed_)
        resumed = store.has("tasks")
        with self._cluster(folder) as cluster:
            if not resumed:
                keys = make_keys(self.seed_)
                drawn, facts = self._walks(graph, keys, team)
                walks = keep_walks(store, drawn)
                del drawn
                clock.stop("similarity")
                shares = None if cluster is None else cluster.record(schedule)
                pairs = self._pairs(walks, schedule, team, shares, on_progress)
                clock.stop("walks")
                first = start_points(graph.n_nodes, self.n_components, keys.start) if start is None else start
                store.save("facts", np.array(json.dumps({**facts, **pairs.facts()})))
                make_tasks(store, first, walks, pairs.negatives, pairs.occurrences, schedule, keys).save()
                del walks, pairs, first  # they are files now
            trained = train_tasks(
                BucketTasks.open(store),
                BucketThreads(team) if cluster is None else cluster,
                time_limit=clock.left(self.time_limit),
                on_batch=partial(on_progress, "train"),
            )
            facts = {
                **json.loads(str(store.load("facts"))),
                "resumed": resumed,
                "damaged_files": folder.damages,
            }
            return trained, facts if cluster is None else {**facts, **cluster.facts()}

    def _parts(self, graph: Graph, schedule: Schedule) -> int:
        """Return in how many parts the nodes are trained."""
        return parts_of(graph.n_nodes, self.n_components, schedule.n_walks, schedule.n_parts)

    def _walks(self, graph: Graph, keys: Keys, team: WorkerThreads) -> tuple[Walks, dict[str, Any]]:
        """Make the walks; return facts about their steps along attributes too."""
        walks = make_walks(
            graph,
            alpha=self.alpha,
            walk_length=self.walk_length,
            key=keys.walks,
            forward=self.forward,
            type_balance=self.type_balance,
            team=team,
        )
        return walks, {"attribute_sampling": _sampling(walks.similarity)}

    def _pairs(
        self,
        walks: Walks,
        schedule: Schedule,
        team: WorkerThreads,
        shares: Iterable[RecordedPairs] | None,
        on_progress: Progress,
    ) -> WalkPairs:
        """Collect the pairs of the walks, or of shares that others have recorded."""
        pairs = collect_pairs(
            walks,
            walks_per_node=schedule.walks_per_node,
            window_size=schedule.window_size,
            negative_exponent=self.negative_exponent,
            team=team,
            shares=shares,
            on_block=partial(on_progress, "walks"),
        )
        if pairs.n_pairs == 0:
            raise NothingToLearnError(
                "the graph offers no pair to learn from: "
                "no node has a neighbour or a node with similar attributes"
            )
        return pairs

    @contextmanager
    def _cluster(self, folder: TrainingFolder) -> "Iterator[BucketCluster | None]":
        """Yield the workers of the cluster that is to train, if there is one."""
        if self.scheduler is None:
            yield None
            return
        from heat_neo4j.embedding.cluster import BucketCluster

        with connected(self.scheduler) as client:
            workers = BucketCluster(client, folder.store.folder, self.seed_)
            try:
                yield workers
            finally:
                workers.cancel()

    def check_parameters(self) -> tuple[Schedule, int]:
        """Return what is to be trained, and the number of threads; errors are those of `fit`."""
        check_integer("n_components", self.n_components, minimum=1, maximum=MOST_COMPONENTS)
        check_probability("alpha", self.alpha)
        check_probability("forward", self.forward)
        check_probability("type_balance", self.type_balance)
        check_integer("walk_length", self.walk_length, minimum=2)
        check_probability("negative_exponent", self.negative_exponent)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if not isinstance(self.random_state, np.random.RandomState):
            draw_seed(self.random_state)
        if self.scheduler is not None and self.scratch is None:
            raise ValueError("scheduler needs scratch: a folder that all workers share")
        if self.n_threads is not None:
            check_integer("n_threads", self.n_threads, minimum=1, maximum=_MOST_THREADS)
        threads = resolve_threads(self.n_threads)
        batch_size = self.batch_size
        schedule = Schedule(
            walks_per_node=check_integer("walks_per_node", self.walks_per_node, minimum=1),
            window_size=check_integer("window_size", self.window_size, minimum=1),
            n_negatives=check_integer("n_negatives", self.n_negatives, minimum=1),
            sigma=check_positive("sigma", self.sigma),
            learning_rate=check_positive("learning_rate", self.learning_rate),
            batch_size=None if batch_size is None else check_integer("batch_size", batch_size, minimum=1),
            n_epochs=check_integer("n_epochs", self.n_epochs, minimum=1),
            n_parts=None if self.n_parts is None else check_integer("n_parts", self.n_parts, minimum=1),
        )
        return schedule, threads


class _Clock:
    """Seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = self._since = perf_counter()

    def stop(self, stage: str) -> None:
        now = perf_counter()
        self.seconds[stage] = round(now - self._since, 3)
        self._since = now

    def left(self, limit: float | None) -> float | None:
        """Return how many seconds of a limit are left, at least 0."""
        return None if limit is None else max(limit - (perf_counter() - self._began), 0.0)


def _sampling(similarity: Any) -> str:
    if similarity.use_table:
        return "table"
    return "rejection" if similarity.scalars.size else "none"
