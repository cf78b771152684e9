"""Verify a run: train it again from its record, and compare the result with the coordinates in the graph."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.clock import Clock
from heat_neo4j._utils.display import plural
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.writer import software_versions
from heat_neo4j.database.read.published import StoredCoordinates
from heat_neo4j.database.runs import EMBEDDING, Bookkeeping, RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.versions import previous_of
from heat_neo4j.database.write.payload import Coordinates
from heat_neo4j.embedding.attribute_signal import AUTO
from heat_neo4j.embedding.compiling import begin_compiling
from heat_neo4j.embedding.fitting import NothingToLearnError
from heat_neo4j.embedding.training import DivergedError
from heat_neo4j.errors import ConfigError, NotVerifiable, ProjectionError, WriteRefused
from heat_neo4j.geometry.hyperboloid import NotHyperbolicError, check_points, distance, from_coordinates
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.pipeline.fingerprint import Fingerprint, changes, fingerprint
from heat_neo4j.pipeline.fit import align, coordinates_of, fit_on
from heat_neo4j.pipeline.job import Job
from heat_neo4j.pipeline.memory import check_memory, run_size
from heat_neo4j.pipeline.plan import FULL, LOCAL, WARM, GraphState
from heat_neo4j.pipeline.published_model import matching_recipe, model_of, read_by_recipe

Array = NDArray[np.float64]

_TURNED = "it was aligned with run {run}, and the last digits of that depend on the machine"


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """The result of verifying a run.

    Parameters
    ----------
    run : RunRecord
        The verified run.
    coordinates : str
        "poincare", "hyperboloid" or "klein".
    nodes : int
        Number of compared nodes: all of the graph.
    different : int
        Number of nodes whose stored coordinates or radius differ in any bit.
    missing : int
        Number of these without coordinates in the graph.
    largest_distance : float
        Maximum hyperbolic distance between stored and trained position.
    pairs : int
        Number of trained pairs.
    threads : int
        Number of threads that trained.
    seconds : mapping of str to float
        Time of each stage.
    notes : tuple of str
        Possible causes of a difference, and inputs that were read from the graph.
    """

    run: RunRecord
    coordinates: str
    nodes: int
    different: int
    missing: int
    largest_distance: float
    pairs: int
    threads: int
    seconds: Mapping[str, float]
    notes: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether every bit is the same."""
        return self.different == 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data; the distance of a point outside hyperbolic space is infinite."""
        return {
            **vars(self),
            "run": self.run.run_id,
            "model": self.run.model,
            "decision": self.run.decision,
            "seed": self.run.seed,
            "equal": self.equal,
        }


def verify(
    store: Neo4jStore,
    run_id: str | None = None,
    *,
    model: str = "heat",
    n_threads: int | None = None,
    scratch: str | Path | None = None,
    scheduler: str | None = None,
    memory_limit: int | None = None,
    on_progress: Progress | bool = False,
) -> Verification:
    """Train a run again from its record, and compare the result bit by bit with the coordinates in the graph.

    The graph is read with the run's projection; it must be unchanged. Training uses the run's parameters and
    seed, and repeats all processing of its coordinates. If a refresh aligned the run with an earlier version,
    or continued from one, the coordinates of that version must still be in the graph. Nothing is written, and
    no lease is acquired.

    Parameters
    ----------
    run_id : str, optional
        Id of a run of the model that is published or kept for a rollback. The default is the published one.
    model : str
        Name of the model.
    n_threads, scratch, scheduler
        As for `HEAT`; the result does not depend on them.
    memory_limit : int, optional
        Maximum memory of the training in bytes; None means no limit.
    on_progress : callable or bool
        Called with the stages of reading and training; True draws bars.

    Returns
    -------
    Verification
        `equal` is true if every bit is the same.

    Raises
    ------
    ConfigError
        If the database has no such run, or it belongs to another model.
    NotVerifiable
        If the graph has changed since; the run's coordinates, or those that it started from, are no longer in
        the graph; its training ended at a time limit; or its record does not describe its training.
    ProjectionError
        If the model has no published coordinates, the graph cannot be read, stored values or the run's node
        are damaged, or another version is published concurrently.
    MemoryExceeded
        If the training would need more memory than `memory_limit`.
    """
    clock = Clock()
    books = store.bookkeeping()
    run = _chosen(books, model, run_id)
    trainer = _trainer(run).set_params(n_threads=n_threads, scratch=scratch, scheduler=scheduler)
    progress = as_progress(on_progress)
    earlier = _earlier(books, run)
    projection = run.trusted_projection(store.trust)
    graph = _read(store, run, trainer, memory_limit, progress)
    stored = _read_coordinates(store, graph, books, run)
    start = None if earlier is None else _read_coordinates(store, graph, books, earlier)
    state = GraphState(graph, run.settings, _alpha(run), earlier, start)
    clock.lap("read")
    try:
        trained = _train(run, trainer, state, projection, clock, progress)
        again, _ = coordinates_of(trained, run.decision or FULL, state, stored.kind)
    except (NothingToLearnError, DivergedError, NotHyperbolicError, WriteRefused) as error:
        raise NotVerifiable(f"run {run.run_id} cannot be trained again: {error}") from error
    if again.values.shape != stored.values.shape:
        raise run.damage("parameters")
    differs = _differing(stored, again)
    notes = (*_version_notes(run), *_method_notes(run, state, any_differs=bool(differs.any())))
    return Verification(
        run=run,
        coordinates=stored.kind,
        nodes=graph.n_nodes,
        different=int(differs.sum()),
        missing=int((~stored.found).sum()),
        largest_distance=_largest_distance(stored, again, differs & stored.found),
        pairs=trained.n_pairs_,
        threads=int(trained.training_["threads"]),
        seconds=dict(clock.seconds),
        notes=notes,
    )


def _read(
    store: Neo4jStore, run: RunRecord, trainer: HEAT, memory_limit: int | None, on_progress: Progress
) -> Graph:
    """Return the graph that a run was computed from; raises NotVerifiable if it has changed since."""
    begin_compiling()
    projection = run.trusted_projection(store.trust)
    if memory_limit is not None:
        check_memory(run_size(store, projection, trainer, None), memory_limit)
    recipe = matching_recipe(projection, run)
    graph, _ = read_by_recipe(store, projection, recipe, on_progress, scratch=trainer.scratch)
    _check_unchanged(run, graph)
    return graph


def _chosen(books: Bookkeeping, model: str, run_id: str | None) -> RunRecord:
    """Return the run to verify; raises an error unless its coordinates are in the graph."""
    if run_id is None:
        return books.required_run(model)
    run = next((each for each in books.runs if each.run_id == run_id), None)
    if run is None:
        raise ConfigError(f"there is no run {run_id!r} in this database: `heat runs` lists them")
    if run.model != model:
        raise ConfigError(f"run {run_id} is one of model {run.model!r}, not of {model!r}: name its `model`")
    if EMBEDDING not in run.parts:
        trained = run.parameters.get("embedding_run", "another")
        raise NotVerifiable(f"run {run_id} predicted links only; its coordinates are those of run {trained}")
    if run_id not in _readable(books, model):
        raise NotVerifiable(
            f"the coordinates of run {run_id} are not in the graph: neither published nor kept for a rollback"
        )
    return run.whole()


def _readable(books: Bookkeeping, model: str) -> tuple[str | None, str | None]:
    """Return the run whose coordinates are published, and the run kept for a rollback."""
    version = books.published(model)
    return version.get("run"), previous_of(version).get("run")


def _trainer(run: RunRecord) -> HEAT:
    """Return an estimator that repeats the run's training; raises NotVerifiable if that is impossible."""
    if run.decision not in (FULL, WARM, LOCAL) or not run.fingerprint or not run.settings:
        raise NotVerifiable(
            f"run {run.run_id} did not record what it was computed from: runs of `heat embed` and `heat "
            "refresh` do"
        )
    if not run.training:
        raise NotVerifiable(
            f"run {run.run_id} published points that were not trained in one fit, such as those of a loaded "
            "model: there is no training to repeat"
        )
    if run.decision == FULL and run.training.get("start") is not None:
        raise NotVerifiable(
            f"run {run.run_id} was trained on from points that it does not record, by `fit(start=...)`: fit "
            "without them to publish what can be verified"
        )
    share = run.training.get("trained_share", 1.0)
    if not isinstance(share, int | float):
        raise run.damage("training")
    if share < 1.0:
        raise NotVerifiable(
            f"the training of run {run.run_id} ended at its time limit, after {share:.1%} of its pairs: how "
            "far a repeat gets depends on the machine"
        )
    # The run finished within its time limit, but this machine may be slower.
    model = model_of(run)
    model.set_params(time_limit=None)
    return model


def _earlier(books: Bookkeeping, run: RunRecord) -> RunRecord | None:
    """Return the run that a run started from or was aligned with; None if there is none."""
    is_full = run.decision == FULL
    run_id = run.training.get("aligned_to") if is_full else run.previous_run
    if is_full and run_id is None:
        return None
    earlier = next((each for each in books.runs_of(run.model) if each.run_id == run_id), None)
    if earlier is None or run_id not in _readable(books, run.model):
        how = f"was aligned with run {run_id}" if is_full else f"started from run {run_id}"
        raise NotVerifiable(f"run {run.run_id} {how}, whose coordinates are not in the graph any more")
    return earlier.whole()


def _alpha(run: RunRecord) -> float | Literal["auto"]:
    """Return the alpha by which a local run weighted changes."""
    if run.decision != LOCAL:
        return 0.0  # unused
    with run.reading("settings"):
        alpha = run.settings["model"]["alpha"]
        return AUTO if alpha == AUTO else float(alpha)


def _check_unchanged(run: RunRecord, graph: Graph) -> None:
    """Raise NotVerifiable if the graph is not the one that the run was computed from."""
    with run.reading("fingerprint"):
        before = Fingerprint.from_dict(run.fingerprint)
    change = changes(before, fingerprint(graph))
    counts = ((change.nodes, "node"), (change.edges, "edge"), (change.attributes, "attribute row"))
    what = ", ".join(plural(round(count), noun) for count, noun in counts if count)
    if what:
        raise NotVerifiable(
            f"the graph has changed since run {run.run_id}, by about {what}: it can be verified only on the "
            "graph that it was trained on"
        )


def _read_coordinates(
    store: Neo4jStore, graph: Graph, books: Bookkeeping, run: RunRecord
) -> StoredCoordinates:
    """Return the stored coordinates of the published run, or of the run kept for a rollback."""
    is_published = run.run_id == _readable(books, run.model)[0]
    stored = store.read_stored(graph, run.model) if is_published else store.read_kept(graph, run.model)
    if stored is None or stored.run != run.run_id:
        raise ProjectionError(f"model {run.model!r} was republished while it was read: verify again")
    return stored


def _train(
    run: RunRecord,
    trainer: HEAT,
    state: GraphState,
    projection: Projection,
    clock: Clock,
    on_progress: Progress,
) -> HEAT:
    """Repeat the run's training and the processing of its points."""
    if run.decision != FULL:
        return fit_on(Job(projection, trainer), str(run.decision), state, clock, on_progress)
    trainer.fit(state.graph, on_progress=on_progress)
    clock.laps(trainer.training_["seconds"])
    if state.run is not None:
        if not align(trainer, state):
            raise NotVerifiable(
                f"run {run.run_id} cannot be trained again: somebody changed the coordinates of run "
                f"{state.run.run_id}, which it was aligned with"
            )
        clock.lap("align")
    return trainer


def _differing(stored: StoredCoordinates, again: Coordinates) -> NDArray[np.bool_]:
    """Return a mask of the nodes that differ from the trained result in any bit; 0 and -0 differ."""
    same = (_bits(stored.values) == _bits(again.values)).all(axis=1)
    return np.asarray(~(same & (_bits(stored.radii) == _bits(again.radii)) & stored.found))


def _bits(values: Array) -> NDArray[np.uint64]:
    return np.ascontiguousarray(values).view(np.uint64)


def _largest_distance(stored: StoredCoordinates, again: Coordinates, rows: NDArray[np.bool_]) -> float:
    """Return the maximum distance between stored and trained points of some rows; 0 if there are none."""
    if not rows.any():
        return 0.0
    try:
        old, new = (from_coordinates(each.values[rows], stored.kind) for each in (stored, again))
        check_points(old)
    except ValueError:  # changed by someone: not points of hyperbolic space
        return math.inf
    return float(distance(old, new).max())


def _version_notes(run: RunRecord) -> Iterator[str]:
    """Yield a note on package versions that differ from those of the run."""
    others = {name: there for name, there in run.versions.items() if name != "server"}
    here = software_versions()
    changed = [
        f"{name} {there} (here {here.get(name, 'none')})"
        for name, there in others.items()
        if here.get(name) != there
    ]
    if changed:
        yield f"the run was made with {', '.join(changed)}: other versions may give other bits"


def _method_notes(run: RunRecord, state: GraphState, *, any_differs: bool) -> Iterator[str]:
    """Yield notes on parts that were not trained again, and on machine-dependent steps if bits differ."""
    if run.decision == LOCAL and state.shares is not None:
        trained = plural(int(np.count_nonzero(state.shares)), "node")
        yield f"run {run.run_id} trained {trained}; all others are compared with run {run.previous_run}"
    elif run.decision == WARM:
        yield f"the training started, as the run's did, from the coordinates of run {run.previous_run}"
    if any_differs and run.decision == FULL and state.run is not None:
        yield _TURNED.format(run=state.run.run_id)
