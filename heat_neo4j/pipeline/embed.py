"""The jobs `embed`, `predict` and `refresh`, and `publish` for a model that was fitted elsewhere.

``heat embed``, ``heat links`` and ``heat refresh`` run the jobs, and so does a scheduler.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from sklearn.base import clone

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.progress import Progress, as_progress, no_progress
from heat_neo4j._utils.validation import check_choice
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.embedding.compiling import begin_compiling
from heat_neo4j.geometry.drift import Drift
from heat_neo4j.geometry.hyperboloid import COORDINATES
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.link_score import LinkScore
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.pipeline.driver import Log, RunReport, open_session, publish_fitted, run_job
from heat_neo4j.pipeline.gate import Quality
from heat_neo4j.pipeline.job import Job, LinkOptions, followed, published_links
from heat_neo4j.pipeline.plan import AUTO, EMBED, LINKS, MODES, NOTHING, GraphDiff, Plan
from heat_neo4j.pipeline.published_model import model_of

_DEFAULT_LINKS = LinkOptions()


def embed(
    store: Neo4jStore,
    projection: Projection,
    estimator: HEAT,
    *,
    model: str = "heat",
    coordinates: str = "poincare",
    links: LinkOptions | None = _DEFAULT_LINKS,
    memory_limit: int | None = None,
    new_recipe: bool = False,
    overwrite: bool = False,
    index: bool = True,
    dry_run: bool = False,
    on_progress: Progress | bool = False,
) -> RunReport:
    """Embed a projection of the database and publish coordinates and predicted links together.

    Each node gets its coordinates in hyperbolic space, its distance from the centre and the id of the run.
    The new version replaces the published one only when it is complete; if anything goes wrong, the
    published one stays.

    Parameters
    ----------
    projection : Projection
        What to read.
    estimator : HEAT
        The estimator; it is fitted here.
    model : str
        Name of the model to publish.
    coordinates : {"poincare", "hyperboloid", "klein"}
        Coordinates to store.
    links : LinkOptions, optional
        Which links to predict; None for none. Earlier predicted links of the model then stay published.
    memory_limit : int, at least 1, optional
        Refuse a run that would need more memory. In bytes; checked first.
    new_recipe : bool
        Learn again how properties become attributes. Otherwise the recipe of the model's published run is
        applied if attributes and values fit it; otherwise a note says so.
    overwrite : bool
        Replace property values that no run wrote.
    index : bool
        Create a vector index over the coordinates, to find nearest nodes.
    dry_run : bool
        Do everything except write; show the result.
    on_progress : callable or bool
        Called with the stages of reading, training, predicting and writing; True draws bars.

    Returns
    -------
    RunReport

    Raises
    ------
    ValueError
        If `coordinates` is none of the three, or a parameter of the estimator is out of range.
    ProjectionError
        If the projection cannot be read, or there is nothing in it to learn from.
    MemoryExceeded
        If memory is too small.
    LeaseHeld
        If another process writes versions of the model; checked before reading.
    WriteRefused
        If writing would be refused; found out before training.
    WriteFailed, ConnectionFailed
        If the server was lost; what was published before is untouched.
    """
    check_choice("coordinates", coordinates, COORDINATES)
    begin_compiling()
    job = Job(
        projection,
        estimator,
        WriteNames(model),
        coordinates,
        links,
        memory_limit,
        overwrite,
        index,
    )
    with open_session(store, model, as_progress(on_progress), dry_run=dry_run) as session:
        report = run_job(session, job, EMBED, new_recipe=new_recipe).report
    assert report is not None  # only a refresh may have nothing to do
    return report


def publish(
    store: Neo4jStore,
    graph: Graph,
    estimator: HEAT,
    links: PredictedLinks | None = None,
    *,
    model: str = "heat",
    overwrite: bool = False,
    on_progress: Progress | bool = False,
) -> RunRecord:
    """Publish coordinates, and predicted links, as one version of a model.

    Parameters
    ----------
    graph : Graph
        As read from this database.
    estimator : HEAT
        Fitted on `graph`, loaded, or made by `HEAT.from_points`. If it was fitted elsewhere, such as on data
        frames with the same keys, publish ``HEAT.from_points(graph, estimator.transform(graph))``.
    links : PredictedLinks, optional
        As predicted by it; earlier ones stay published if not given.
    model, overwrite, on_progress
        As for `embed`.

    Returns
    -------
    RunRecord
        What was published; `refresh` can continue from it.

    Raises
    ------
    ValueError
        If the graph was not read from a database, or estimator or links do not match it; the message counts
        missing nodes.
    LeaseHeld, WriteRefused, WriteFailed, ConnectionFailed
        As for `embed`.
    """
    _check_is_of(estimator, graph)
    if not graph.provenance.projection:
        raise ValueError("only a graph read from a database can be published: this one was not")
    options = None
    if links is not None:
        score = "link" if isinstance(links.score, LinkScore) else "distance"
        options = LinkOptions(**links.search, score=score)
    projection = Projection.from_dict(graph.provenance.projection)
    job = Job(projection, estimator, WriteNames(model), links=options, overwrite=overwrite)
    with open_session(store, model, as_progress(on_progress), dry_run=False) as session:
        return publish_fitted(session, job, graph, links).run


def _check_is_of(model: HEAT, graph: Graph) -> None:
    """Raise a ValueError if a model was fitted on another graph, or its nodes are in another order."""
    own = getattr(model, "graph_", None)
    if own is None or own is graph or not graph.node_ids:  # other checks deal with these
        return
    same_nodes = own.node_ids == graph.node_ids if own.node_ids else own.names == graph.names
    if same_nodes and (not hasattr(model, "training_") or own.digest() == graph.digest()):
        return
    missing = list(set(graph.names) - set(own.names))
    what = "it has the same nodes, and was fitted elsewhere"
    if missing:
        lacks = plural(len(missing), "node")
        what = f"it lacks {lacks} of {graph.n_nodes:,}, such as {min(missing, key=str)!r}"
    raise ValueError(
        f"the model was not fitted on this graph ({what}): publish HEAT.from_points(graph, "
        "model.transform(graph)), which matches nodes by name"
    )


def predict(
    store: Neo4jStore,
    model: str = "heat",
    *,
    links: LinkOptions = _DEFAULT_LINKS,
    n_threads: int | None = None,
    memory_limit: int | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    on_progress: Progress | bool = False,
) -> RunReport:
    """Predict links from the published coordinates of a model and publish them in place of the last ones.

    Nothing is trained: the coordinates are read back, with the projection of their run, its recipe for
    attributes and its link score. If that run fitted no link score, one training is needed to fit it, unless
    links are ranked by distance.

    Parameters
    ----------
    model : str
        Name of the model whose published coordinates are used.
    links : LinkOptions
        Which links to predict.
    n_threads : int, optional
        Threads to use; all cores when None.
    memory_limit : int, optional
        Maximum bytes of a training for the probabilities, if needed; None means no limit.
    overwrite, dry_run, on_progress
        As for `embed`.

    Returns
    -------
    RunReport

    Raises
    ------
    ProjectionError
        If the model has no published coordinates, or nodes without them, or its run's node is damaged.
    MemoryExceeded
        If a training would need more memory than `memory_limit`.
    LeaseHeld, WriteRefused, WriteFailed, ConnectionFailed
        As for `embed`.
    """
    with open_session(
        store, model, as_progress(on_progress), dry_run=dry_run, must_be_published=True
    ) as session:
        run = session.bookkeeping.required_run(model)
        job = Job(
            run.trusted_projection(store.trust),
            model_of(run).set_params(n_threads=n_threads),
            run.names,
            links=links,
            memory_limit=memory_limit,
            overwrite=overwrite,
            index=False,
        )
        report = run_job(session, job, LINKS).report
    assert report is not None  # only a refresh may have nothing to do
    return report


@dataclass(frozen=True, repr=False)
class RefreshReport(Result):
    """Report of a refresh.

    Parameters
    ----------
    outcome : str
        "published", "nothing" or "rejected"; "dry run" if only the plan was asked for.
    plan : Plan
        What it did, or would do, and why.
    changed : GraphDiff, optional
        Changes from the graph of the run before.
    quality : Quality, optional
        Quality of the new version.
    drift : Drift, optional
        How far nodes moved from the version before.
    report : RunReport, optional
        The run, if there was one.
    seconds : mapping of str to float
        Time of each stage before writing.
    notes : tuple of str
        Deviations from the request.
    """

    outcome: str
    plan: Plan
    changed: GraphDiff | None
    quality: Quality | None
    drift: Drift | None
    report: RunReport | None
    seconds: Mapping[str, float]
    notes: tuple[str, ...]

    @property
    def decision(self) -> str:
        """The mode of the plan: "nothing", "local", "warm" or "full"."""
        return self.plan.mode

    @property
    def reason(self) -> str:
        """The reason for the mode, in one line."""
        return self.plan.reason

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "outcome": self.outcome,
            "decision": self.decision,
            "reason": self.reason,
            "plan": self.plan.to_dict(),
            "changed": None if self.changed is None else self.changed.recorded(NOTHING),
            "quality": None if self.quality is None else asdict(self.quality),
            "drift": None if self.drift is None else self.drift.to_dict(),
            "run": None if self.report is None else self.report.to_dict(),
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
        }


def refresh(
    store: Neo4jStore,
    job: Job,
    *,
    mode: str = AUTO,
    dry_run: bool = False,
    on_progress: Progress = no_progress,
    log: Log = lambda line: None,
) -> RefreshReport:
    """Bring a published model up to date: decide, compute, check, publish, record. It is idempotent.

    Parameters
    ----------
    store : Neo4jStore
        The database.
    job : Job
        The settings.
    mode : {"auto", "local", "warm", "full"}
        "auto" decides by the changes. "local" and "warm" need a published version with the same settings.
    dry_run : bool
        Only read and decide.
    on_progress : callable
        Called with the stages.
    log : callable
        Called with one line per decision and measurement.

    Returns
    -------
    RefreshReport

    Raises
    ------
    ValueError
        If there is no such mode.
    LeaseHeld
        If another process writes versions of the model.
    QualityRejected
        If the graph is that of a full run which was rejected, and `mode` is "auto".
    ProjectionError
        If the model has no published coordinates: `embed` makes its first version. Also as for `embed`.
    MemoryExceeded, WriteRefused, WriteFailed, ConnectionFailed
        As for `embed`; what was published before is untouched.
    """
    check_choice("mode", mode, MODES)
    if not dry_run:
        begin_compiling()
    job = replace(job, model=clone(job.model))
    model = job.names.model
    with open_session(
        store,
        model,
        on_progress,
        dry_run=dry_run,
        must_be_published=True,
        lease_seconds=job.lease_seconds,
        log=log,
    ) as session:
        run, links = session.bookkeeping.required_run(model), published_links(session.bookkeeping, model)
        job = followed(job, run, links, store.trust)
        work = run_job(session, job, mode, plan_only=dry_run)
    if work.report is None:
        outcome = "dry run" if dry_run else "nothing"
    else:
        outcome = "rejected" if work.problems else "published"
    diff, seconds = work.state.diff, session.clock.seconds
    return RefreshReport(outcome, work.plan, diff, work.quality, work.drift, work.report, seconds, work.notes)
