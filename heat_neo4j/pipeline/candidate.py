"""`Version`: an embedding with the law of its links, made around the changes, by a warm start or in full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from sklearn.base import clone

from heat_neo4j._utils.progress import Progress
from heat_neo4j.embedding.estimator import HEAT, NothingToLearnError
from heat_neo4j.embedding.out_of_sample import fit_local
from heat_neo4j.embedding.warm_start import fit_warm
from heat_neo4j.geometry.drift import Drift, measure_drift
from heat_neo4j.geometry.isometry import fit_isometry
from heat_neo4j.linkpred.tuning import Choice
from heat_neo4j.pipeline.checkpoint import Checkpoint
from heat_neo4j.pipeline.embed import model_of
from heat_neo4j.pipeline.graph_state import Situation
from heat_neo4j.pipeline.job import Job
from heat_neo4j.pipeline.plan import FULL, LOCAL, WARM
from heat_neo4j.pipeline.stages import Clock, Law, fit_law, learn, nothing_to_learn

__all__ = ["Version", "drift_of", "make_version"]


@dataclass(frozen=True)
class Version:
    """What was computed.

    Parameters
    ----------
    model : HEAT
        The fitted estimator.
    law : Law
        What turns pairs into probabilities.
    choice : Choice, optional
        Parameters that were chosen.
    notes : tuple of str
        What went otherwise than asked.
    """

    model: HEAT
    law: Law = field(default_factory=lambda: Law({}))
    choice: Choice | None = None
    notes: tuple[str, ...] = ()


def make_version(kind: str, job: Job, found: Situation, clock: Clock, on_progress: Progress) -> Version:
    """Compute a version.

    Parameters
    ----------
    kind : {"local", "warm", "full"}
        How.
    job : Job
        What is asked for.
    found : Situation
        The graph, and what is published; needed but for a full run.
    clock : Clock
        Notes the times.
    on_progress : callable
        Told about the stages.

    Raises
    ------
    ProjectionError
        If the graph offers nothing to learn from.
    """
    return _MAKE[kind](job, found, clock, on_progress)


def drift_of(model: HEAT, found: Situation) -> Drift | None:
    """Return how far nodes moved from where they are published; None if that cannot be compared."""
    old = None if found.published is None else found.published.comparable(model.embedding_)
    if old is None or found.published is None:
        return None
    rows = found.published.old
    names = [name for name, there in zip(found.graph.node_ids, rows.tolist(), strict=True) if there]
    return measure_drift(old[rows], model.embedding_[rows], names)


def _full(job: Job, found: Situation, clock: Clock, on_progress: Progress) -> Version:
    model = clone(job.model)
    learnt = learn(
        model,
        found.graph,
        job.links,
        Checkpoint(None),
        clock,
        choose=job.choose,
        choose_seconds=job.choose_seconds,
        on_progress=on_progress,
    )
    _align(model, found, clock)
    return Version(model, learnt.law, learnt.choice, learnt.notes)


def _align(model: HEAT, found: Situation, clock: Clock) -> None:
    """Move a new embedding by the isometry that brings it nearest to the published one."""
    old = None if found.published is None else found.published.comparable(model.embedding_)
    if old is None or found.published is None:
        return
    rows = found.published.old
    model.embedding_ = fit_isometry(model.embedding_[rows], old[rows])(model.embedding_)
    model.training_["aligned_to"] = found.published.run.run_id
    clock.lap("align")


def _warm(job: Job, found: Situation, clock: Clock, on_progress: Progress) -> Version:
    return _continue(fit_warm, job, found, clock, on_progress)


def _local(job: Job, found: Situation, clock: Clock, on_progress: Progress) -> Version:
    return _continue(partial(fit_local, changed=found.shares), job, found, clock, on_progress)


def _continue(
    fit: Callable[..., HEAT], job: Job, found: Situation, clock: Clock, on_progress: Progress
) -> Version:
    """Go on from the published points, and with the published law: distances mean what they meant."""
    assert found.published is not None
    base = model_of(found.published.run)
    now = job.model  # what is no setting is as asked for now
    base.set_params(n_threads=now.n_threads, random_state=now.random_state, time_limit=now.time_limit)
    points, new = found.published.stored.points(), ~found.published.old
    try:
        model = fit(base, found.graph, points, new, on_progress=on_progress)
    except NothingToLearnError as error:
        raise nothing_to_learn(error) from error
    clock.laps(model.training_["seconds"])
    if job.links is None:
        return Version(model)
    law = fit_law(model, found.graph, job.links, on_progress, found.published.run.parameters)
    clock.lap("calibrate")
    return Version(model, law, notes=law.notes)


_MAKE = {LOCAL: _local, WARM: _warm, FULL: _full}
