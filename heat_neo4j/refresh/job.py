"""`refresh`: one idempotent call that brings a model up to date, for schedulers and for `heat serve`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from heat_neo4j._checkpoint import Checkpoint
from heat_neo4j._known_recipe import known_recipe, read_by_recipe
from heat_neo4j._progress import Progress, no_progress
from heat_neo4j._publishing import LinkOptions, Result, RunReport, Target
from heat_neo4j._settings import settings_of
from heat_neo4j._stages import Clock, Law, fit_law, learn, notes_on, nothing_to_learn, recorded_links
from heat_neo4j.alignment import fit_isometry
from heat_neo4j.capacity import check_memory, run_size
from heat_neo4j.database import Neo4jStore, Projection, RunRecord, WriteNames
from heat_neo4j.database.lease import LEASE_SECONDS, Lease
from heat_neo4j.database.published import StoredCoordinates
from heat_neo4j.database.removal import RECORDS
from heat_neo4j.drift import Drift, measure_drift
from heat_neo4j.errors import ProjectionError, QualityRejected
from heat_neo4j.estimator import HEAT, NothingToLearnError
from heat_neo4j.fingerprint import fingerprint
from heat_neo4j.graph import Graph
from heat_neo4j.links import predict_links
from heat_neo4j.pipeline import model_of
from heat_neo4j.placement import place
from heat_neo4j.refresh.decision import (
    FULL,
    NOTHING,
    PLACE,
    WARM,
    Changed,
    Decision,
    Limits,
    decide,
    what_changed,
)
from heat_neo4j.refresh.gate import (
    Gate,
    Quality,
    held_out_quality,
    known_edges,
    last_auroc,
    placed_quality,
)
from heat_neo4j.tuning import Choice
from heat_neo4j.warm_start import fit_warm

__all__ = ["Job", "RefreshReport", "refresh"]

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """What is to be kept fresh, and how.

    Parameters
    ----------
    projection, model, names, coordinates, links, choose, choose_seconds, memory_limit, overwrite, index
        As for `pipeline.embed`. Parameters that are to be chosen are chosen by full runs.
    limits : Limits
        How much change asks for how much work.
    gate : Gate
        What a new version must reach.
    lease_seconds : float
        How long the lease lasts that is not renewed.
    records : int
        Nodes of earlier runs to keep.
    """

    projection: Projection
    model: HEAT
    names: WriteNames = field(default_factory=WriteNames)
    coordinates: str = "poincare"
    links: LinkOptions | None = field(default_factory=LinkOptions)
    choose: Sequence[str] = ()
    choose_seconds: float | None = None
    memory_limit: int | None = None
    overwrite: bool = False
    index: bool = True
    limits: Limits = field(default_factory=Limits)
    gate: Gate = field(default_factory=Gate)
    lease_seconds: float = LEASE_SECONDS
    records: int = RECORDS


@dataclass(frozen=True)
class RefreshReport:
    """What a refresh did.

    Parameters
    ----------
    outcome : str
        "published", "nothing" or "rejected"; "dry run" if only the decision was asked for.
    decision, reason : str
        "nothing", "place", "warm" or "full", and why.
    changed : Changed or None
        What differs from the graph of the run before.
    quality : Quality or None
        Of the new version.
    drift : Drift or None
        From the version before.
    report : RunReport or None
        The run, if there was one.
    seconds : mapping of str to float
        Of each stage before writing.
    notes : tuple of str
        What went otherwise than asked.
    """

    outcome: str
    decision: str
    reason: str
    changed: Changed | None = None
    quality: Quality | None = None
    drift: Drift | None = None
    report: RunReport | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "outcome": self.outcome,
            "decision": self.decision,
            "reason": self.reason,
            "changed": None if self.changed is None else self.changed.recorded(NOTHING),
            "quality": None if self.quality is None else self.quality.to_dict(),
            "drift": None if self.drift is None else self.drift.to_dict(),
            "run": None if self.report is None else self.report.to_dict(),
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
        }


def refresh(
    store: Neo4jStore,
    job: Job,
    *,
    mode: str = "auto",
    dry_run: bool = False,
    on_progress: Progress = no_progress,
    say: Say = lambda line: None,
) -> RefreshReport:
    """Bring a model up to date: decide, compute, check, publish, record. Twice is the same as once.

    Parameters
    ----------
    store : Neo4jStore
        The database.
    job : Job
        What is to be kept fresh.
    mode : {"auto", "place", "warm", "full"}
        What to do; by what has changed if "auto". Placing and warm starts need a version of the same settings
        to go on from.
    dry_run : bool
        Only read and decide.
    on_progress : callable
        Told about the stages.
    say : callable
        Told, in one line each, what was decided and found.

    Returns
    -------
    RefreshReport

    Raises
    ------
    LeaseHeld
        If another process refreshes the model.
    QualityRejected
        If the graph is that of a full run which was rejected, and `mode` is "auto".
    MemoryExceeded, ProjectionError, WriteRefused, WriteFailed, ConnectionFailed
        As for `pipeline.embed`; what was published before is untouched.
    """
    if dry_run:
        return _Refresh(store, job, mode, on_progress, say).look()
    with store.lease(job.names.model, job.lease_seconds) as lease:
        return _Refresh(store, job, mode, on_progress, say).run(lease)


@dataclass
class _Made:
    """A version that was computed."""

    model: HEAT
    law: Law = field(default_factory=lambda: Law({}))
    choice: Choice | None = None
    notes: tuple[str, ...] = ()


class _Refresh:
    """One refresh, stage by stage."""

    def __init__(self, store: Neo4jStore, job: Job, mode: str, on_progress: Progress, say: Say) -> None:
        self._store, self._job, self._mode = store, job, mode
        self._on_progress, self._say = on_progress, say
        self._clock = Clock()
        self._base = clone(job.model)
        self._graph: Graph
        self._stored: StoredCoordinates | None

    def look(self) -> RefreshReport:
        decision, changed = self._decide()
        return RefreshReport("dry run", decision.kind, decision.reason, changed, notes=self._told)

    def run(self, lease: Lease) -> RefreshReport:
        decision, changed = self._decide()
        if decision.kind == NOTHING:
            self._store.prune(self._job.names.model, records=self._job.records, lease=lease)
            return RefreshReport(
                NOTHING,
                decision.kind,
                decision.reason,
                changed,
                seconds=self._clock.seconds,
                notes=self._told,
            )
        job = self._job
        parts = ("embedding",) if job.links is None else ("embedding", "links")
        target = Target(
            self._store, self._graph, parts, job.names, job.overwrite, job.index, False, self._on_progress
        )
        target.check(job.links)
        made = {PLACE: self._placed, WARM: self._warm, FULL: self._full}[decision.kind]()
        drift = self._drift(made.model)
        quality = self._quality(decision.kind, made)
        self._clock.lap("check")
        same = decision.kind != FULL or (self._source is not None and self._same_settings)
        problems = list(job.gate.problems(quality, drift if same else None, placed=decision.kind == PLACE))
        for line in _lines(quality, drift):
            self._say(line)
        told = (decision.kind, decision.reason, changed, quality, drift)
        result = self._result(decision, changed, made, quality, drift, passed=not problems)
        lease.check()
        if problems:
            why = "; ".join(problems)
            self._say(f"rejected: {why}")
            report = target.reject(result, self._clock.seconds, why)
            return RefreshReport("rejected", *told, report, self._clock.seconds, result.notes)
        report = target.write(result, self._clock.seconds)
        self._store.prune(job.names.model, records=job.records, lease=lease)
        return RefreshReport("published", *told, report, self._clock.seconds, result.notes)

    def _decide(self) -> tuple[Decision, Changed | None]:
        """Read what there is and what changed."""
        job, store = self._job, self._store
        if job.memory_limit is not None:
            check_memory(run_size(store, job.projection, job.model, job.links), job.memory_limit)
        runs = store.runs(job.names.model)
        recipe = known_recipe(runs, job.projection)
        self._graph, self._told = read_by_recipe(store, job.projection, recipe, self._on_progress)
        self._clock.lap("read")
        self._stored = store.read_stored(self._graph, job.names.model)
        address = None if self._stored is None else self._stored.run
        self._source = next((run for run in runs if run.run_id == address), None)
        if self._source is None:
            self._stored = None
        self._print = fingerprint(self._graph)
        settings = settings_of(job.projection, job.model.get_params(), job.links, job.coordinates, job.choose)
        self._settings = settings
        changed = None
        if self._source is not None and self._stored is not None:
            changed = what_changed(self._source, self._stored, self._graph, self._print)
        rejected = _last_rejected(runs, self._source)
        decision = decide(settings, self._source, self._stored, changed, rejected, job.limits)
        self._same_settings = self._source is not None and self._source.settings == settings
        decision = self._asked(decision)
        self._clock.lap("compare")
        self._say(f"{decision.kind}: {decision.reason}")
        if rejected is not None and self._mode == "auto" and self._was_rejected(rejected, decision):
            raise QualityRejected(
                f"run {rejected.run_id} of this graph was rejected ({rejected.error}), and the graph has not "
                "changed since: nothing was computed; --mode full tries again"
            )
        return decision, changed

    def _asked(self, decision: Decision) -> Decision:
        """Return what the user asked for, if that can be done."""
        if self._mode in ("auto", decision.kind):
            return decision
        if self._mode == FULL:
            return Decision(FULL, "asked for")
        if not self._same_settings or self._stored is None or not self._stored.found.any():
            raise ProjectionError(
                f"--mode {self._mode} needs a published version of the same settings: {decision.reason}"
            )
        if self._mode == PLACE and self._stored.found.all():
            return Decision(NOTHING, "no node is new")
        return Decision(self._mode, "asked for")

    def _was_rejected(self, rejected: RunRecord, decision: Decision) -> bool:
        """Say whether a full run of this very graph and these settings was rejected."""
        return (
            decision.kind == FULL
            and rejected.decision == FULL
            and rejected.settings == self._settings
            and rejected.fingerprint == self._print.to_dict()
        )

    # --- three ways to compute a version ------------------------------------------------------------------

    def _full(self) -> _Made:
        job, model = self._job, self._base
        learnt = learn(
            model,
            self._graph,
            job.links,
            Checkpoint(None),
            self._clock,
            choose=job.choose,
            choose_seconds=job.choose_seconds,
            on_progress=self._on_progress,
        )
        self._align(model)
        return _Made(model, learnt.law, learnt.choice, learnt.notes)

    def _warm(self) -> _Made:
        assert self._stored is not None
        base = self._continued()
        try:
            model = fit_warm(
                base, self._graph, self._stored.points(), ~self._stored.found, on_progress=self._on_progress
            )
        except NothingToLearnError as error:
            raise nothing_to_learn(error) from error
        self._clock.laps(model.training_["seconds"])
        return self._with_known_law(model)

    def _placed(self) -> _Made:
        assert self._stored is not None
        model = place(
            self._continued(),
            self._graph,
            self._stored.points(),
            ~self._stored.found,
            on_progress=self._on_progress,
        )
        self._clock.laps(model.training_["seconds"])
        return self._with_known_law(model)

    def _continued(self) -> HEAT:
        """Return the estimator of the published run; what is no setting is as asked for now."""
        assert self._source is not None
        model, now = model_of(self._source), self._job.model
        model.set_params(n_threads=now.n_threads, random_state=now.random_state, time_limit=now.time_limit)
        return model

    def _with_known_law(self, model: HEAT) -> _Made:
        """Go on with the law of the published run: distances mean what they meant."""
        assert self._source is not None
        if self._job.links is None:
            return _Made(model)
        law = fit_law(model, self._graph, self._job.links, self._on_progress, self._source.parameters)
        self._clock.lap("calibrate")
        return _Made(model, law, notes=law.notes)

    def _align(self, model: HEAT) -> None:
        """Move a new embedding by the isometry that brings it nearest to the published one."""
        old = self._comparable(model)
        if old is None or self._stored is None:
            return
        rows = self._stored.found
        model.embedding_ = fit_isometry(model.embedding_[rows], old[rows])(model.embedding_)
        model.training_["aligned_to"] = self._stored.run
        self._clock.lap("align")

    # --- checking and recording ---------------------------------------------------------------------------

    def _comparable(self, model: HEAT) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """Return the published points if they are of the same dimension as the model's."""
        if self._stored is None or not self._stored.found.any():
            return None
        old = self._stored.points()
        return old if old.shape == model.embedding_.shape else None

    def _drift(self, model: HEAT) -> Drift | None:
        old = self._comparable(model)
        if old is None or self._stored is None:
            return None
        rows = np.flatnonzero(self._stored.found)
        return measure_drift(
            old[rows], model.embedding_[rows], [self._graph.node_ids[row] for row in rows.tolist()]
        )

    def _quality(self, kind: str, made: _Made) -> Quality:
        last, model = last_auroc(self._source if self._same_settings else None), made.model
        if kind == PLACE:
            assert self._stored is not None
            found = placed_quality(model, self._graph, self._stored.points(), ~self._stored.found)
            return replace(found, last_auroc=last)
        found = held_out_quality(
            model, self._graph, made.law.held_out, short=kind == WARM, on_progress=self._on_progress
        )
        old = self._comparable(model)
        if old is not None and self._stored is not None and self._same_settings:
            rows, seed = self._stored.found, int(model.seed_)
            known, before = (known_edges(each, self._graph, rows, seed) for each in (model.embedding_, old))
            found = replace(found, known=known, known_before=before)
        return replace(found, last_auroc=last)

    def _result(
        self,
        decision: Decision,
        changed: Changed | None,
        made: _Made,
        quality: Quality,
        drift: Drift | None,
        *,
        passed: bool,
    ) -> Result:
        job = self._job
        parameters: dict[str, Any] = {} if made.choice is None else {"choice": made.choice.to_dict()}
        notes = (*self._told, *made.notes)
        found = None
        if job.links is not None and passed:
            law = made.law.arguments
            found = predict_links(
                made.model,
                self._graph,
                n_threads=job.model.n_threads,
                on_progress=self._on_progress,
                **law,
                **job.links.search(),
            )
            self._clock.lap("links")
            parameters.update(recorded_links(job.links, found, law))
            notes += notes_on(found)
        facts = {
            "decision": decision.kind,
            "reason": decision.reason,
            "settings": self._settings,
            "fingerprint": self._print.to_dict(),
            "changes": {} if changed is None else changed.recorded(decision.kind),
            "quality": quality.to_dict(),
            "drift": {} if drift is None else drift.to_dict(),
            "auroc": quality.auroc,
            "overlap": None if drift is None else drift.overlap,
            "mean_move": None if drift is None else drift.mean,
        }
        stored = self._stored if decision.kind == PLACE else None
        return Result(made.model, job.coordinates, found, parameters, made.choice, notes, facts, stored)


def _last_rejected(runs: Sequence[RunRecord], source: RunRecord | None) -> RunRecord | None:
    """Return the latest run of those with coordinates, if it was rejected after the published one."""
    for run in runs:
        if run is source or run.status == "complete":
            return None
        if run.status == "rejected":
            return run
    return None


def _lines(quality: Quality, drift: Drift | None) -> list[str]:
    lines = []
    if quality.auroc is not None:
        last = "" if quality.last_auroc is None else f", last run {quality.last_auroc:.3f}"
        lines.append(
            f"held-out AUROC {quality.auroc:.3f}{last}, degrees {quality.degree_auroc:.3f} "
            f"({quality.held_out_edges:,} edges)"
        )
    else:
        lines.append("held-out AUROC: not measured, too few edges can be held out")
    if drift is not None:
        overlap = "" if drift.overlap is None else f", {drift.overlap:.0%} of the nearest nodes stayed"
        lines.append(f"drift: {drift.nodes:,} nodes moved by {drift.mean:.3f} in the mean{overlap}")
    return lines
