"""`fit_points`: similarity, walks, pairs, training and refinement, with the parameters of an estimator."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.array_store import ArrayFolder
from heat_neo4j._utils.clock import Clock
from heat_neo4j._utils.progress import Progress
from heat_neo4j._utils.random import Keys, RandomState, draw_seed, make_keys
from heat_neo4j._utils.threads import WorkerThreads, available_processors, resolve_threads
from heat_neo4j._utils.validation import MOST_COMPONENTS, check_integer, check_positive, check_probability
from heat_neo4j._utils.version import __version__
from heat_neo4j.embedding.attribute_signal import AUTO, teleports
from heat_neo4j.embedding.bucket_tasks import BUCKET_RATE, BucketTasks, keep_clusters, keep_walks
from heat_neo4j.embedding.cluster import BucketCluster, connected
from heat_neo4j.embedding.coarse_graph import (
    ONLY,
    Level,
    coarse_keys,
    coarse_walks,
    coarsen,
    levels_of,
    spread,
)
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.embedding.hierarchy import Hierarchy, hierarchy_of, inside_descendants, start_by_caps
from heat_neo4j.embedding.hierarchy_training import HIERARCHY_RATE, train_hierarchy
from heat_neo4j.embedding.pairs import RecordedPairs, WalkPairs, collect_pairs
from heat_neo4j.embedding.placement import place_among, refine
from heat_neo4j.embedding.schedule import Schedule, Trained
from heat_neo4j.embedding.training import START_WIDTH, make_tasks, parts_of, start_points, train, train_tasks
from heat_neo4j.embedding.training_folder import TrainingFolder
from heat_neo4j.embedding.walks import Walks, make_walks
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]

RUNTIME_PARAMETERS = ("n_threads", "scratch", "scheduler")
"""Parameters that say where and how to compute; they change no bit of the result."""

_MOST_THREADS = 1024


class NothingToLearnError(ValueError):
    """The graph has no pairs to train on."""


class Estimator(Protocol):
    """The part of `heat_neo4j.HEAT` that training reads; parameters are documented there."""

    n_components: int
    alpha: float | Literal["auto"]
    forward: float
    type_balance: float
    hierarchy: str | None
    sigma: float
    walks_per_node: int
    walk_length: int
    window_size: int
    n_negatives: int
    negative_exponent: float
    learning_rate: float
    batch_size: int | None
    n_epochs: int
    n_parts: int | None
    refine: bool
    time_limit: float | None
    n_threads: int | None
    scratch: str | Path | None
    scheduler: str | None
    random_state: RandomState

    embedding_: Array
    loss_curve_: Array
    n_pairs_: int
    seed_: int
    training_: dict[str, Any]

    def fit(self, X: Any, y: None = None, *, start: Array | None = None, on_progress: Any = False) -> Self:
        """Embed a graph."""

    def get_params(self) -> dict[str, Any]:
        """Return the parameters by name."""

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters."""


class Fitted(NamedTuple):
    """Results that `HEAT.fit` stores as attributes."""

    embedding: Array
    losses: Array
    n_pairs: int
    seed: int
    training: dict[str, Any]


def fit_points(model: Estimator, graph: Graph, start: Array | None, on_progress: Progress) -> Fitted:
    """Embed `graph` with the parameters of `model`; the errors are those of `heat_neo4j.HEAT.fit`."""
    given, threads = checked_schedule(model)
    if graph.n_nodes == 0:
        raise NothingToLearnError("the graph has no nodes")
    if start is not None:
        shape = (graph.n_nodes, model.n_components + 1)
        if start.shape != shape:
            raise ValueError(f"start must have shape {shape}, got {start.shape}")
        check_points(start)
    seed = draw_seed(model.random_state)
    hierarchy = None if model.hierarchy is None else hierarchy_of(graph, model.hierarchy)
    levels = levels_of(graph.n_nodes) if start is None and hierarchy is None else ONLY
    schedules = [level.schedule(given) for level in levels]
    with WorkerThreads(threads) as team, _folder(model, graph, schedules[-1], start) as folder:
        training = _Training(
            model, graph, levels, schedules, team, start, folder, seed, on_progress, hierarchy
        )
        trained, facts = training.run()
    seed = training.seed
    del training  # the peak of memory is either training or refinement, not both
    if start is not None:
        facts["start"] = blake2b(np.ascontiguousarray(start).data, digest_size=16).hexdigest()
    points = trained.points
    if model.refine:
        points = refine(points, graph) if hierarchy is None else inside_descendants(hierarchy, points)
    return Fitted(points, trained.losses, trained.n_pairs, seed, facts)


def checked_schedule(model: Estimator) -> tuple[Schedule, int]:
    """Validate the parameters; return the schedule and the number of threads. Raises as `HEAT.fit` does."""
    check_integer("n_components", model.n_components, minimum=1, maximum=MOST_COMPONENTS)
    if isinstance(model.alpha, str) and model.alpha != AUTO:
        raise ValueError(f'alpha must be a number in [0, 1] or "auto", got {model.alpha!r}')
    if model.alpha != AUTO:
        check_probability("alpha", model.alpha)
    check_probability("forward", model.forward)
    check_probability("type_balance", model.type_balance)
    check_integer("walk_length", model.walk_length, minimum=2)
    check_probability("negative_exponent", model.negative_exponent)
    if model.time_limit is not None:
        check_positive("time_limit", model.time_limit)
    if not isinstance(model.random_state, np.random.RandomState):
        draw_seed(model.random_state)
    if model.hierarchy is not None and model.scratch is not None:
        raise ValueError("a hierarchy is trained in memory: leave out `scratch` and `scheduler`")
    if model.scheduler is not None and model.scratch is None:
        raise ValueError("`scheduler` needs `scratch`: a folder that all workers share")
    if model.n_threads is not None:
        check_integer("n_threads", model.n_threads, minimum=1, maximum=_MOST_THREADS)
    threads = resolve_threads(model.n_threads)
    batch_size = model.batch_size
    schedule = Schedule(
        walks_per_node=check_integer("walks_per_node", model.walks_per_node, minimum=1),
        window_size=check_integer("window_size", model.window_size, minimum=1),
        n_negatives=check_integer("n_negatives", model.n_negatives, minimum=1),
        sigma=check_positive("sigma", model.sigma),
        learning_rate=check_positive("learning_rate", model.learning_rate),
        batch_size=None if batch_size is None else check_integer("batch_size", batch_size, minimum=1),
        n_epochs=check_integer("n_epochs", model.n_epochs, minimum=1),
        n_parts=None if model.n_parts is None else check_integer("n_parts", model.n_parts, minimum=1),
    )
    return schedule, threads


def _n_parts(model: Estimator, graph: Graph, schedule: Schedule) -> int:
    """Return the number of parts that the nodes are split into for training."""
    return parts_of(graph.n_nodes, model.n_components, schedule.n_walks, schedule.n_parts)


def _folder(
    model: Estimator, graph: Graph, schedule: Schedule, start: Array | None
) -> AbstractContextManager[TrainingFolder | None]:
    """Return the folder of this training: none without `scratch` or with a single part."""
    parts = _n_parts(model, graph, schedule)
    if model.scratch is None or parts == 1:
        return nullcontext()
    decisive = {name: value for name, value in model.get_params().items() if name not in RUNTIME_PARAMETERS}
    if isinstance(model.random_state, np.random.RandomState):
        decisive["random_state"] = None
    text = json.dumps([__version__, decisive, parts, graph.digest()], default=np.generic.item)
    digest = blake2b(text.encode(), digest_size=12)
    if start is not None:
        digest.update(np.ascontiguousarray(start).data)
    return TrainingFolder(model.scratch, digest.hexdigest())


@dataclass
class _Training:
    """One training run: in memory, or in a folder from which an interrupted run resumes."""

    model: Estimator
    graph: Graph
    levels: Sequence[Level]
    schedules: Sequence[Schedule]  # one for each level; the last is that of the graph itself
    team: WorkerThreads
    start: Array | None
    folder: TrainingFolder | None
    seed: int
    on_progress: Progress
    hierarchy: Hierarchy | None
    clock: Clock = field(default_factory=Clock)

    @property
    def schedule(self) -> Schedule:
        """Schedule of the graph itself."""
        return self.schedules[-1]

    def run(self) -> tuple[Trained, dict[str, Any]]:
        """Draw walks, collect pairs and train; return the result and facts about the run."""
        model, clock, team = self.model, self.clock, self.team
        by_buckets = self.hierarchy is None and _n_parts(model, self.graph, self.schedule) > 1
        if make_ready(self.on_progress, by_buckets=by_buckets):
            clock.lap("compile")
        if self.hierarchy is not None:
            trained, facts = self._along(self.hierarchy)
        elif self.folder is None:
            trained, facts = self._in_memory()
        else:
            trained, facts = self._over_files(self.folder)
        clock.lap("train")
        factor = 1.0 if trained.n_parts == 1 else BUCKET_RATE
        if self.hierarchy is not None:
            factor = HIERARCHY_RATE
        coarse = facts.get("coarse", ())
        trained = replace(
            trained,
            n_pairs=trained.n_pairs + sum(level["pairs"] for level in coarse),
            share=min(trained.share, *(level["trained_share"] for level in coarse), 1.0),
        )
        return trained, {
            "seconds": clock.seconds,
            "threads": team.n_threads,
            "threads_reason": "n_threads" if model.n_threads == team.n_threads else available_processors()[1],
            "pairs": trained.n_pairs,
            "trained_share": round(trained.share, 4),
            "pairs_without_negative": trained.n_skipped,
            "damped_steps": trained.n_damped,
            "parts": trained.n_parts,
            "learning_rate_halved": trained.n_halved,
            "effective_learning_rate": self.schedule.learning_rate * factor / 2**trained.n_halved,
            **facts,
        }

    def _along(self, hierarchy: Hierarchy) -> tuple[Trained, dict[str, Any]]:
        """Train on the closure of a hierarchy, from a start by its caps if no other is given."""
        keys = make_keys(self.seed)
        walks, facts = self._walks(keys, self.schedule.window_size + 1)
        self.clock.lap("similarity")
        start, _ = self._first_points(walks, keys)
        if self.start is None:
            start = start_by_caps(hierarchy, start, keys.start)
            start = place_among(start, hierarchy.belongs, self.graph, walks)
        trained = train_hierarchy(
            start,
            hierarchy,
            self.graph,
            walks,
            self.schedule,
            keys,
            negative_exponent=self.model.negative_exponent,
            team=self.team,
            time_limit=self.clock.left(self.model.time_limit),
            on_batch=self._on_batch,
        )
        return trained, facts | hierarchy.facts()

    def _in_memory(self) -> tuple[Trained, dict[str, Any]]:
        keys = make_keys(self.seed)
        walks, facts = self._walks(keys)
        self.clock.lap("similarity")
        first, coarse = self._first_points(walks, keys)
        pairs = self._pairs(walks)
        self.clock.lap("walks")
        left = self.clock.left(self.model.time_limit)
        trained = train(
            first, walks, pairs.negatives, self.schedule, keys, team=self.team, occurrences=pairs.occurrences,
            time_limit=left, on_batch=self._on_batch,
        )  # fmt: skip
        return trained, facts | pairs.facts() | coarse

    def _over_files(self, folder: TrainingFolder) -> tuple[Trained, dict[str, Any]]:
        """Train in a folder, on a cluster if there is one; resume from the files in the folder."""
        store, clock = folder.store, self.clock
        self.seed = folder.seed(self.seed)
        resumed = store.has("tasks")
        with self._cluster() as cluster:
            if not resumed:
                self._prepare(store, cluster)
            folder.drop_coarse()
            trained = train_tasks(
                BucketTasks.open(store),
                cluster or self.team,
                time_limit=clock.left(self.model.time_limit),
                on_batch=self._on_batch,
            )
            facts = json.loads(str(store.load("facts"))) | {"resumed": resumed}
            return trained, facts if cluster is None else {**facts, **cluster.facts()}

    def _prepare(self, store: ArrayFolder, cluster: BucketCluster | None) -> None:
        """Save the tasks of the training, and facts about it."""
        keys = make_keys(self.seed)
        drawn, facts = self._walks(keys)
        walks = keep_walks(store, drawn)
        del drawn
        self.clock.lap("similarity")
        first, coarse = self._first_points(walks, keys, cluster)
        store.save("start", first)
        first = store.load("start")  # the other stages need the memory
        pairs = self._pairs(walks, None if cluster is None else cluster.record(store, self.schedule))
        self.clock.lap("walks")
        store.save("facts", np.array(json.dumps({**facts, **pairs.facts(), **coarse})))
        make_tasks(store, first, walks, pairs.negatives, pairs.occurrences, self.schedule, keys).save()

    def _first_points(
        self,
        walks: Walks,
        keys: Keys,
        cluster: BucketCluster | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Return points to start from: given ones, those of a coarse graph, or others close to the origin.

        Coarse graphs are trained here, each from the points of a coarser one; facts about that are returned.
        """
        if self.start is not None:
            return self.start, {}
        count = len(self.levels) - 1
        if not count:
            return start_points(self.graph.n_nodes, self.model.n_components, keys.start), {}
        sizes = [level.most for level in self.levels[-2::-1]]
        clusters = [*coarsen(self.graph, walks, sizes, coarse_keys(self.seed, count).order)][::-1]
        work = [
            own.n_clusters * schedule.n_walks for own, schedule in zip(clusters, self.schedules, strict=False)
        ]
        work.append(self.graph.n_nodes * self.schedule.n_walks)
        points, facts = np.empty((0, 0)), []
        for number, (own, schedule) in enumerate(zip(clusters, self.schedules, strict=False)):
            own_keys = coarse_keys(self.seed, number)
            if number == 0:
                points = start_points(own.n_clusters, self.model.n_components, own_keys.start)
            else:
                rows = clusters[number - 1].of[own.members[own.starts[:-1]]]
                points = spread(points, rows, START_WIDTH, own_keys.start)
            left = self.clock.left(self.model.time_limit)
            limit = None if left is None else left * work[number] / sum(work[number:])
            own_walks = coarse_walks(walks, own, own_keys.walks)
            trained = self._coarse(number, own_walks, points, schedule, own_keys, limit, cluster)
            if trained is not None:
                points = trained.points
            facts.append(
                {
                    "nodes": own.n_clusters,
                    "walks_per_node": schedule.walks_per_node,
                    "pairs": 0 if trained is None else trained.n_pairs,
                    "trained_share": 1.0 if trained is None else round(trained.share, 4),
                }
            )
        self.clock.lap("coarse")
        return spread(points, clusters[-1].of, START_WIDTH, keys.start), {"coarse": facts}

    def _coarse(
        self,
        number: int,
        walks: Walks,
        start: Array,
        schedule: Schedule,
        keys: Keys,
        time_limit: float | None,
        cluster: BucketCluster | None,
    ) -> Trained | None:
        """Train coarse graph `number`, in files if it is large; return None if it has no pairs."""

        def on_batch(done: int, total: int) -> None:
            self.on_progress("coarse", number * total + done, (len(self.levels) - 1) * total)

        n_parts = parts_of(len(start), self.model.n_components, schedule.n_walks, schedule.n_parts)
        if self.folder is None or n_parts == 1:
            pairs = self._collect(walks, schedule)
            if pairs.n_pairs == 0:
                return None
            return train(
                start, walks, pairs.negatives, schedule, keys, team=self.team, occurrences=pairs.occurrences,
                time_limit=time_limit, on_batch=on_batch,
            )  # fmt: skip
        store = self.folder.coarse(number)
        if not store.has("tasks"):
            keep_clusters(store, walks)
            shares = None if cluster is None else cluster.record(store, schedule)
            pairs = self._collect(walks, schedule, shares)
            if pairs.n_pairs == 0:
                return None
            make_tasks(store, start, walks, pairs.negatives, pairs.occurrences, schedule, keys).save()
            del pairs
        return train_tasks(
            BucketTasks.open(store), cluster or self.team, time_limit=time_limit, on_batch=on_batch
        )

    def _on_batch(self, done: int, total: int) -> None:
        self.on_progress("train", done, total)

    def _walks(self, keys: Keys, length: int | None = None) -> tuple[Walks, dict[str, Any]]:
        """Make the walks, of `walk_length` or of `length`; return facts about steps along attributes too."""
        chosen = teleports(self.graph, self.model.alpha)
        walks = make_walks(
            chosen.graph,
            alpha=chosen.alpha,
            walk_length=length or self.model.walk_length,
            key=keys.walks,
            forward=self.model.forward,
            type_balance=self.model.type_balance,
            team=self.team,
        )
        return walks, {**chosen.facts(), "attribute_sampling": _sampling(walks.similarity)}

    def _collect(
        self,
        walks: Walks,
        schedule: Schedule,
        shares: Iterable[RecordedPairs] | None = None,
        on_block: Callable[[int, int], None] = lambda done, total: None,
    ) -> WalkPairs:
        """Collect the pairs of walks, or of shares that others have recorded."""
        return collect_pairs(
            walks,
            walks_per_node=schedule.walks_per_node,
            window_size=schedule.window_size,
            negative_exponent=self.model.negative_exponent,
            team=self.team,
            shares=shares,
            on_block=on_block,
        )

    def _pairs(self, walks: Walks, shares: Iterable[RecordedPairs] | None = None) -> WalkPairs:
        """Collect the pairs of the graph itself. Raises `NothingToLearnError` if there are none."""
        pairs = self._collect(walks, self.schedule, shares, partial(self.on_progress, "walks"))
        if pairs.n_pairs == 0:
            raise NothingToLearnError(
                "the graph offers no pair to learn from: no node has a neighbour or a similar node"
            )
        return pairs

    @contextmanager
    def _cluster(self) -> Iterator[BucketCluster | None]:
        """Yield the workers of the cluster that is to train, if there is one."""
        if self.model.scheduler is None:
            yield None
            return
        with connected(self.model.scheduler) as client:
            workers = BucketCluster(client, self.seed)
            try:
                yield workers
            finally:
                workers.cancel()


def _sampling(similarity: Any) -> str:
    if similarity.table.size:
        return "table"
    if similarity.scalars.size:
        return "rejection"
    return "lists" if similarity.near.size else "none"
