"""`refresh`: one idempotent call that brings a model up to date, for schedulers and for the worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j.database.publish.lease import Lease
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.payload import check_coordinates
from heat_neo4j.embedding.compiling import begin_compiling
from heat_neo4j.errors import WriteRefused
from heat_neo4j.geometry.drift import Drift
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.pipeline.candidate import Version, drift_of, make_version
from heat_neo4j.pipeline.estimate import check_memory, run_size
from heat_neo4j.pipeline.gate import (
    Quality,
    compared_on_known_edges,
    held_out_quality,
    last_quality,
    new_nodes_quality,
)
from heat_neo4j.pipeline.graph_state import Situation, read_situation
from heat_neo4j.pipeline.job import Job, RefreshReport
from heat_neo4j.pipeline.plan import FULL, LOCAL, NOTHING, WARM, Decision
from heat_neo4j.pipeline.publishing import Result, Target
from heat_neo4j.pipeline.stages import Clock, notes_on, recorded_links

__all__ = ["refresh"]

Say = Callable[[str], None]


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
    mode : {"auto", "local", "warm", "full"}
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
        If another process writes versions of the model.
    QualityRejected
        If the graph is that of a full run which was rejected, and `mode` is "auto".
    MemoryExceeded, ProjectionError, WriteRefused, WriteFailed, ConnectionFailed
        As for `pipeline.embed`; what was published before is untouched.
    """
    clock = Clock()

    def look() -> tuple[Situation, Decision]:
        if job.memory_limit is not None:
            check_memory(run_size(store, job.projection, job.model, job.links), job.memory_limit)
        found = read_situation(store, job, clock, on_progress)
        decision = found.decision(mode, job.limits)
        say(f"{decision.kind}: {decision.reason}")
        return found, decision

    if dry_run:
        found, decision = look()
        return RefreshReport("dry run", decision.kind, decision.reason, found.changed, notes=found.notes)
    begin_compiling()
    with store.lease(job.names.model, job.lease_seconds) as lease:
        found, decision = look()
        if decision.kind == NOTHING:
            report = RefreshReport(
                NOTHING, NOTHING, decision.reason, found.changed, seconds=clock.seconds, notes=found.notes
            )
        else:
            report = _make_and_publish(store, job, found, decision, lease, clock, on_progress, say)
        if report.outcome != "rejected":
            store.prune(job.names.model, records=job.records, lease=lease)
    return report


def _make_and_publish(
    store: Neo4jStore,
    job: Job,
    found: Situation,
    decision: Decision,
    lease: Lease,
    clock: Clock,
    on_progress: Progress,
    say: Say,
) -> RefreshReport:
    """Compute a version, check it, and publish it or record that it was rejected."""
    parts = ("embedding",) if job.links is None else ("embedding", "links")
    target = Target(store, found.graph, parts, job.names, job.overwrite, job.index, lease, on_progress)
    target.check(job.links)
    version, decision = _sound_version(decision, job, found, clock, on_progress, say)
    drift = drift_of(version.model, found)
    quality = _quality(version, decision.kind, found, on_progress)
    clock.lap("check")
    for line in _lines(quality, drift):
        say(line)
    # Drift limits are for versions of the same settings: others may well lie elsewhere.
    comparable = drift if decision.kind != FULL or found.same_settings else None
    why = "; ".join(job.gate.problems(quality, comparable, local=decision.kind == LOCAL))
    result = _result(job, found, decision, version, quality, drift)
    if not why:
        result = _with_links(result, job, found, version, clock, on_progress)
    lease.check()
    if why:
        say(f"rejected: {why}")
        outcome, report = "rejected", target.reject(result, clock.seconds, why)
    else:
        outcome, report = "published", target.write(result, clock.seconds)
    return RefreshReport(
        outcome,
        decision.kind,
        decision.reason,
        found.changed,
        quality,
        drift,
        report,
        clock.seconds,
        result.notes,
    )


def _sound_version(
    decision: Decision, job: Job, found: Situation, clock: Clock, on_progress: Progress, say: Say
) -> tuple[Version, Decision]:
    """Compute a version; where it cannot go on from the published points, compute it in full instead."""
    if decision.kind != FULL:
        try:
            version = make_version(decision.kind, job, found, clock, on_progress)
            check_coordinates(version.model, found.graph.n_nodes, job.coordinates)
            return version, decision
        except (ValueError, WriteRefused) as error:
            fault = str(error).removesuffix(": nothing written").removesuffix("; nothing written")
        decision = Decision(FULL, f"the published points are no start for a {decision.kind} refresh: {fault}")
        say(f"{decision.kind}: {decision.reason}")
    return make_version(FULL, job, found, clock, on_progress), decision


def _quality(version: Version, kind: str, found: Situation, on_progress: Progress) -> Quality:
    """Measure a version, beside what is known of the published one."""
    model, graph, published = version.model, found.graph, found.published
    same = published is not None and found.same_settings
    auroc, error = last_quality(published.run if same and published is not None else None)
    of = np.ones(graph.n_nodes, dtype=np.bool_)
    if kind == LOCAL:
        assert published is not None
        assert found.shares is not None
        quality = new_nodes_quality(model, graph, published.stored.points(), ~published.old)
        of = found.shares > 0
    else:
        quality = held_out_quality(
            model, graph, version.law.held_out, short=kind == WARM, on_progress=on_progress
        )
    old = None if published is None else published.comparable(model.embedding_)
    if old is not None and published is not None and found.same_settings:
        rows = published.old
        quality = compared_on_known_edges(quality, graph, old, model.embedding_, rows, of, int(model.seed_))
    return replace(quality, last_auroc=auroc, last_error=error)


def _result(
    job: Job,
    found: Situation,
    decision: Decision,
    version: Version,
    quality: Quality,
    drift: Drift | None,
) -> Result:
    """Return what is recorded of a version, and its coordinates."""
    facts = {
        "decision": decision.kind,
        "reason": decision.reason,
        "settings": found.settings,
        "fingerprint": found.fingerprint.to_dict(),
        "changes": {} if found.changed is None else found.changed.recorded(decision.kind),
        "quality": quality.to_dict(),
        "drift": {} if drift is None else drift.to_dict(),
        "auroc": quality.auroc,
        "overlap": None if drift is None else drift.overlap,
        "mean_move": None if drift is None else drift.mean,
    }
    parameters: dict[str, Any] = {} if version.choice is None else {"choice": version.choice.to_dict()}
    kept = None
    if decision.kind == LOCAL and found.published is not None and found.shares is not None:
        stored = found.published.stored
        kept = replace(stored, found=stored.found & (found.shares == 0.0))
    notes = (*found.notes, *version.notes)
    return Result(version.model, job.coordinates, None, parameters, version.choice, notes, facts, kept)


def _with_links(
    result: Result, job: Job, found: Situation, version: Version, clock: Clock, on_progress: Progress
) -> Result:
    """Return the result with predicted links, if they are asked for."""
    if job.links is None:
        return result
    law = version.law.arguments
    links = predict_links(
        version.model,
        found.graph,
        n_threads=job.model.n_threads,
        on_progress=on_progress,
        **law,
        **job.links.search(),
    )
    clock.lap("links")
    parameters = {**result.parameters, **recorded_links(job.links, links, law)}
    return replace(result, links=links, parameters=parameters, notes=result.notes + notes_on(links))


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
        lines.append(
            f"drift: {drift.moved:,} of {drift.nodes:,} nodes moved, all by {drift.mean:.3f} in the mean, "
            f"the farthest by {drift.quantiles['1.0']:.3f}{overlap}"
        )
    return lines
