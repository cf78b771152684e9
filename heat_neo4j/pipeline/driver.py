"""The driver of every job: read the graph, plan, execute the stages of the plan, publish the result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.clock import Clock
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.frames import Result
from heat_neo4j._utils.log_line import LogLine
from heat_neo4j._utils.progress import Progress
from heat_neo4j.database.publish.lease import LEASE_SECONDS, Lease
from heat_neo4j.database.publish.writer import Run, model_facts
from heat_neo4j.database.runs import Bookkeeping, RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.payload import Coordinates, check_coordinates, check_links
from heat_neo4j.embedding.fitting import NothingToLearnError
from heat_neo4j.errors import ProjectionError, WriteRefused
from heat_neo4j.geometry.drift import Drift, measure_drift
from heat_neo4j.geometry.hyperboloid import NotHyperbolicError
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.link_score import LinkScore
from heat_neo4j.linkpred.prediction import PredictedLinks, predict_links
from heat_neo4j.pipeline import gate
from heat_neo4j.pipeline.fit import (
    NO_LINK_MODEL,
    LinkModel,
    align,
    cannot_embed,
    check_hierarchy,
    check_scheduler,
    coordinates_of,
    fit_link_model,
    fit_on,
    record_hierarchies,
    training_notes,
)
from heat_neo4j.pipeline.job import Job, published_links
from heat_neo4j.pipeline.memory import check_memory, run_size
from heat_neo4j.pipeline.plan import (
    AUTO,
    EMBED,
    FULL,
    LINKS,
    LOCAL,
    MODES,
    NOTHING,
    WARM,
    GraphState,
    Plan,
    make_plan,
    plan_in_full,
)
from heat_neo4j.pipeline.published_model import matching_recipe, names_of_rows, read_by_recipe

Log = Callable[[str], None]

_EXAMPLES = 3  # example links per pattern in a report
_MOST_PATTERNS = 20  # maximum patterns with examples
_JUDGED = ("complete", "rejected")  # statuses of runs that passed or failed the quality gate


@dataclass(frozen=True)
class Session:
    """The context of a job; the model's lease is None in a dry run."""

    store: Neo4jStore
    model: str
    lease: Lease | None
    on_progress: Progress
    log: Log
    clock: Clock = field(default_factory=Clock)

    @cached_property
    def bookkeeping(self) -> Bookkeeping:
        """Published versions and all runs; read once."""
        return self.store.bookkeeping()

    @cached_property
    def published(self) -> RunRecord | None:
        """The run whose coordinates are published."""
        return self.bookkeeping.published_run(self.model)

    @property
    def runs(self) -> Sequence[RunRecord]:
        """All runs of the model, latest first."""
        return self.bookkeeping.runs_of(self.model)


@contextmanager
def open_session(
    store: Neo4jStore,
    model: str,
    on_progress: Progress,
    *,
    dry_run: bool,
    must_be_published: bool = False,
    lease_seconds: float = LEASE_SECONDS,
    log: Log = lambda line: None,
) -> Iterator[Session]:
    """Acquire the lease of a model, unless it is a dry run, and release it at the end.

    With `must_be_published`, raises ProjectionError if the model has no published coordinates, and creates no
    node for it.
    """
    if must_be_published:
        store.required_run(model)
    with nullcontext() if dry_run else store.lease(model, lease_seconds) as lease:
        yield Session(store, model, lease, on_progress, log)


class LinkExample(NamedTuple):
    """A predicted link with the names of its nodes."""

    source: str
    type: str
    target: str
    probability: float | None
    distance: float


@dataclass(frozen=True, repr=False)
class RunReport(Result):
    """The result of a run, or of a dry run.

    Parameters
    ----------
    run : RunRecord
        The run as stored in the graph; its status is "dry run" if nothing was written.
    score : LinkScore, optional
        The score that ranked the links.
    notes : tuple of str
        Deviations from the request, one line each.
    examples : mapping of str to sequence of LinkExample
        The likeliest links of each pattern.
    """

    run: RunRecord
    score: LinkScore | None = None
    notes: tuple[str, ...] = ()
    examples: Mapping[str, Sequence[LinkExample]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            **self.run.to_dict(),
            "link_score": None if self.score is None else self.score.to_dict(),
            "notes": list(self.notes),
            "examples": {
                pattern: [each._asdict() for each in links] for pattern, links in self.examples.items()
            },
        }


@dataclass(frozen=True)
class Work:
    """The state of a job; each stage returns it with its results added."""

    session: Session
    job: Job
    state: GraphState
    plan: Plan
    model: HEAT  # fitted, once it is trained
    notes: tuple[str, ...]  # for the user, one line each
    points: NDArray[np.float64] | None = None  # the published coordinates, if links are predicted from them
    link_model: LinkModel = NO_LINK_MODEL
    quality: gate.Quality | None = None
    drift: Drift | None = None
    problems: str = ""  # why the new version must not be published
    links: PredictedLinks | None = None
    examples: Mapping[str, Sequence[LinkExample]] = field(default_factory=dict)
    report: RunReport | None = None


def run_job(
    session: Session,
    job: Job,
    mode: str,
    *,
    new_recipe: bool = False,
    plan_only: bool = False,
) -> Work:
    """Read the graph, make a plan and execute it; with `plan_only`, stop after planning.

    `mode` is as for `make_plan`. A full training fits the job's model. With `new_recipe`, the recipe of
    attributes is learned again.
    """
    store, links, refresh = session.store, job.links, mode in MODES
    run = session.published
    parameters = {} if mode != LINKS or run is None else run.parameters
    trains = mode != LINKS or (links is not None and links.needs_training(parameters))
    if trains:
        check_scheduler(job.model)
    if trains and job.memory_limit is not None:
        check_memory(run_size(store, job.projection, job.model, links), job.memory_limit)
    recipe = matching_recipe(job.projection, None if new_recipe else run)
    graph, reading_notes = read_by_recipe(
        store, job.projection, recipe, session.on_progress, scratch=job.model.scratch
    )
    if trains:
        check_hierarchy(job.model, graph)
    session.clock.lap("read")
    state = GraphState(graph, job.settings(), job.model.alpha, run if mode == LINKS else None)
    if refresh:
        state = _with_published(session, state, mode)
    plan = make_plan(job, mode, state)
    if refresh:
        session.clock.lap("compare")
    session.log(LogLine(f"{plan.mode}: {plan.reason}", event="plan"))
    advice = _advice(store, job, graph) if mode == EMBED else ()
    work = Work(session, job, state, plan, job.model, (*reading_notes, *advice))
    if plan_only:
        return work
    if plan.mode != NOTHING:
        _check_target(work)
        work = _carry_out(work)
    if refresh and work.report is not None and not work.problems:
        store.prune(job.names.model, records=job.records, lease=session.lease)
    return work


def _advice(store: Neo4jStore, job: Job, graph: Graph) -> tuple[str, ...]:
    """Return lines on what the projection could name but does not."""
    notes = store.key_advice(job.projection, graph.labels)
    if job.links is None or graph.relationships is None:
        return notes
    return (*notes, *store.time_advice(job.projection, graph.relationships.types))


def publish_fitted(session: Session, job: Job, graph: Graph, links: PredictedLinks | None) -> RunReport:
    """Publish the fitted model of a job, and links, that were computed elsewhere."""
    state = GraphState(graph, job.settings(), job.model.alpha)
    plan = make_plan(job, EMBED, state)
    session.clock.laps(getattr(job.model, "training_", {}).get("seconds", {}))  # none of given points
    score = None if links is None or not isinstance(links.score, LinkScore) else links.score
    notes = () if links is None else links.notes
    link_model = LinkModel(score)
    work = Work(session, job, state, plan, job.model, notes, links=links, link_model=link_model)
    _check_target(work)
    check_coordinates(job.model, graph.n_nodes, job.coordinates)
    report = _publish(work).report
    assert report is not None
    return report


def _with_published(session: Session, state: GraphState, mode: str) -> GraphState:
    """Add the published version to the state, and the latest run if it was rejected.

    Coordinates are read unless the graph is unchanged: counting them is much faster.
    """
    store, run = session.store, session.published
    # The lease guarantees that no other version is published concurrently.
    version = session.bookkeeping.published(session.model)
    options = published_links(session.bookkeeping, session.model)
    state = replace(state, run=run, links=None if options is None else options.to_dict())
    if mode == AUTO and state.is_recorded and store.covers(state.graph, version):
        return replace(state, is_unchanged=True)
    stored = store.read_stored(state.graph, session.model, None if session.lease is None else version)
    if run is None or stored is None or stored.run != run.run_id:
        run = stored = None
    published_id = None if run is None else run.run_id
    judged = (each for each in session.runs if each.status in _JUDGED or each.run_id == published_id)
    latest = next(judged, None)
    rejected = latest if latest is not None and latest.status == "rejected" else None
    return replace(state, run=run, stored=stored, rejected=rejected)


def _check_target(work: Work) -> None:
    """Fail before the expensive stages if a label is unknown or writing would be refused."""
    links, published = work.job.links, work.session.published
    if links is not None:
        with errors_as(ProjectionError):
            patterns_of(work.state.graph, links.patterns)
    run = _start_run(work, {}, {})
    run.refuse_schema()
    # If the model is published under the same names, they are available.
    if published is None or published.names != work.job.names:
        run.plan()


def _start_run(work: Work, parameters: Mapping[str, Any], facts: Mapping[str, Any]) -> Run:
    session, job = work.session, work.job
    parts = [] if work.plan.mode == LINKS else ["embedding"]
    return session.store.start_run(
        work.state.graph,
        parts=parts if job.links is None else [*parts, "links"],
        names=job.names,
        parameters=parameters,
        stage_seconds=session.clock.seconds,
        facts=facts,
        overwrite=job.overwrite,
        index=job.index,
        lease=session.lease,
        on_progress=session.on_progress,
    )


def _carry_out(work: Work) -> Work:
    """Execute the plan; if it cannot continue from the published points, compute in full instead."""
    done = work
    for stage in work.plan.stages:
        if stage not in _STAGES:  # executed before planning
            continue
        try:
            done = _STAGES[stage](done)
        except (NotHyperbolicError, WriteRefused) as error:
            if work.plan.mode not in (LOCAL, WARM) or stage not in ("train", "calibrate"):
                raise
            fault = str(error).removesuffix(": nothing written").removesuffix("; nothing written")
            plan = plan_in_full(work.job, work.plan, work.state, fault)
            work.session.log(LogLine(f"{plan.mode}: {plan.reason}", event="plan", level="warning"))
            return _carry_out(replace(work, plan=plan))
    return done


def _read_coordinates(work: Work) -> Work:
    """Read the published coordinates of all nodes."""
    points = work.session.store.read_embedding(work.state.graph, work.job.names.model)
    work.session.clock.lap("read")
    return replace(work, points=points)


def _train(work: Work) -> Work:
    """Fit a model: in full, or from the published points."""
    session, job, graph, mode = work.session, work.job, work.state.graph, work.plan.mode
    with errors_as(cannot_embed, NothingToLearnError):
        if mode == FULL:
            job.model.fit(graph, on_progress=session.on_progress)
            session.clock.laps(job.model.training_["seconds"])
            record_hierarchies(job.model, graph)
            return replace(work, notes=(*work.notes, *training_notes(job.model)))
        model = fit_on(job, mode, work.state, session.clock, session.on_progress)
    check_coordinates(model, graph.n_nodes, job.coordinates)
    return replace(work, model=model, notes=(*work.notes, *training_notes(model)))


def _calibrate(work: Work) -> Work:
    """Reuse the link model of an earlier fit, or fit one."""
    links, run, mode = work.job.links, work.state.run, work.plan.mode
    assert links is not None
    parameters = {} if mode == FULL or run is None else run.parameters
    try:
        link_model = fit_link_model(
            work.model, work.state.graph, links, parameters, on_progress=work.session.on_progress
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if mode != LINKS or run is None or links.needs_training(parameters):
            raise
        raise run.damage("parameters") from error
    work.session.clock.lap("calibrate")
    return replace(work, link_model=link_model, notes=work.notes + link_model.notes)


def _align(work: Work) -> Work:
    """Align a full training with the published coordinates by an isometry."""
    if align(work.model, work.state):
        work.session.clock.lap("align")
    return work


def _judge(work: Work) -> Work:
    """Measure the new version, compare it with the published one, and apply the quality gate."""
    session, state, model, mode = work.session, work.state, work.model, work.plan.mode
    graph, now, same = state.graph, work.model.embedding_, state.same_settings
    trained = np.ones(graph.n_nodes, dtype=np.bool_)
    if mode == LOCAL:
        assert state.stored is not None
        assert state.shares is not None
        quality = gate.new_nodes_quality(model, graph, state.stored.points(), ~state.published_rows)
        trained = state.shares > 0
    else:
        held_out = work.link_model.held_out
        quality = gate.held_out_quality(model, graph, held_out, on_progress=session.on_progress)
    drift, before = None, state.comparable(now)
    if before is not None:
        rows = state.published_rows
        names = [name for name, there in zip(graph.node_ids, rows.tolist(), strict=True) if there]
        drift = measure_drift(before[rows], now[rows], names)
        if same:
            quality = gate.compared_on_present_edges(
                quality, graph, before, now, rows, trained, int(model.seed_)
            )
    auroc, error = gate.last_quality(state.run if same else None)
    quality = replace(quality, last_auroc=auroc, last_error=error)
    session.clock.lap("check")
    for line in gate.judgement_lines(quality, drift):
        session.log(LogLine(line, event="quality"))
    # Drift limits apply only to versions trained in the same way; others may legitimately differ.
    limited = drift if mode != FULL or state.same_training(model) else None
    problems = "; ".join(work.job.gate.problems(quality, limited, local=mode == LOCAL))
    return replace(work, quality=quality, drift=drift, problems=problems)


def _predict(work: Work) -> Work:
    """Predict links from the coordinates, unless the version is rejected."""
    options = work.job.links
    assert options is not None
    if work.problems:
        return work
    links = predict_links(
        work.model if work.points is None else work.points,
        work.state.graph,
        n_threads=work.job.model.n_threads,
        on_progress=work.session.on_progress,
        score=work.link_model.score,
        **options.search(),
    )
    examples = _examples(work, links)
    work.session.clock.lap("links")
    return replace(work, links=links, notes=(*work.notes, *links.notes), examples=examples)


def _examples(work: Work, links: PredictedLinks) -> dict[str, list[LinkExample]]:
    """Return the likeliest links of the most frequent patterns, with node names."""
    if links.pattern is None:
        return {}
    counts = np.bincount(links.pattern, minlength=len(links.patterns))
    frequent = np.argsort(-counts, kind="stable")[:_MOST_PATTERNS]
    places = {place: np.flatnonzero(links.pattern == place)[:_EXAMPLES] for place in frequent.tolist()}
    some = np.concatenate([np.empty(0, np.int64), *places.values()])
    rows = np.unique(np.append(links.source[some], links.target[some])).tolist()
    names = names_of_rows(work.session.store, work.state.graph, work.job.projection, rows)

    def example(link: int, kind: str) -> LinkExample:
        ends = (names[int(each[link])] for each in (links.source, links.target))
        chance = None if links.probability is None else float(links.probability[link])
        source, target = ends
        return LinkExample(source, kind, target, chance, float(links.distance[link]))

    return {
        str(links.patterns[place]): [example(link, links.patterns[place].type) for link in own.tolist()]
        for place, own in places.items()
    }


def _publish(work: Work) -> Work:
    """Publish the results, or record the rejection."""
    session, links = work.session, work.links
    run = _start_run(work, *_recorded(work))
    if work.problems:
        if session.lease is not None:
            session.lease.check()
        fields = {"event": "rejected", "level": "warning", "run": run.record.run_id}
        session.log(LogLine(f"rejected: {work.problems}", **fields))
        record = run.reject(model_facts(work.model), work.problems)
    elif session.lease is None:
        record = _planned_record(work, run)
    else:
        record = _write(work, run)
    score = None if links is None else work.link_model.score
    return replace(work, report=RunReport(record, score, work.notes, work.examples))


def _recorded(work: Work) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters to record in addition to the model's, and further fields of the run record."""
    job, state, plan, quality, drift = work.job, work.state, work.plan, work.quality, work.drift
    parameters: dict[str, Any] = {}
    if job.links is not None and work.links is not None:
        counts = np.bincount(
            np.empty(0, np.int64) if work.links.pattern is None else work.links.pattern,
            minlength=len(work.links.patterns),
        )
        found = zip(map(str, work.links.patterns), counts.tolist(), strict=True)
        recorded = {
            "notes": list(work.links.notes),
            "predicted": dict(found),
        }
        parameters |= {"links": {**job.links.to_dict(), **recorded}, **work.link_model.to_dict()}
    facts: dict[str, Any] = {"plan": plan.to_dict()}
    if plan.mode == LINKS:
        assert state.run is not None
        return {**parameters, "embedding_run": state.run.run_id}, facts
    facts |= {"decision": plan.mode, "reason": plan.reason, "settings": state.settings}
    facts["fingerprint"] = state.fingerprint.to_dict()
    if quality is not None:
        facts |= {
            "changes": {} if state.diff is None else state.diff.recorded(plan.mode),
            "quality": {**asdict(quality), "gate": asdict(job.gate)},
            "drift": {} if drift is None else drift.to_dict(),
            "auroc": quality.auroc,
            "overlap": None if drift is None else drift.overlap,
            "mean_move": None if drift is None else drift.mean,
        }
    return parameters, facts


def _coordinates(work: Work) -> tuple[Coordinates, NDArray[np.bool_] | None]:
    """Return the coordinates to write, and a mask of the rows that change; None for all."""
    return coordinates_of(work.model, work.plan.mode, work.state, work.job.coordinates)


def _planned_record(work: Work, run: Run) -> RunRecord:
    """Return the record of a dry run."""
    links = None if work.links is None else check_links(work.links, work.state.graph.n_nodes)
    if work.plan.mode == LINKS:
        return run.plan(links=links)
    record = run.plan(_coordinates(work)[0], links)
    facts = model_facts(work.model)
    return replace(record, **{**facts, "parameters": {**record.parameters, **facts["parameters"]}})


def _write(work: Work, run: Run) -> RunRecord:
    """Write and publish."""
    with run:
        if work.plan.mode != LINKS:
            coordinates, changed = _coordinates(work)
            run.send_coordinates(coordinates, model_facts(work.model), changed)
        if work.links is not None:
            run.write_links(work.links)
        return run.publish()


_STAGES: dict[str, Callable[[Work], Work]] = {
    "coordinates": _read_coordinates,
    "train": _train,
    "calibrate": _calibrate,
    "align": _align,
    "judge": _judge,
    "links": _predict,
    "publish": _publish,
}
