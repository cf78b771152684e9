"""The steps that every way to compute a version is made of: fit, choose, the law of links, and a clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j.embedding.estimator import HEAT, NothingToLearnError
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.calibration import (
    CalibrationError,
    HeldOut,
    LinkProbability,
    embed_without,
    link_probability,
)
from heat_neo4j.linkpred.combined_score import LinkScore, link_score
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.linkpred.tuning import Choice, TuningError, choose_parameters
from heat_neo4j.pipeline.checkpoint import Checkpoint
from heat_neo4j.pipeline.publishing import LinkOptions

__all__ = [
    "Clock",
    "Law",
    "Learnt",
    "fit_law",
    "known_law",
    "learn",
    "notes_on",
    "nothing_to_learn",
    "recorded_links",
]


class Clock:
    """Seconds of each stage, in order."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = perf_counter()

    def lap(self, stage: str) -> None:
        """Note the time since the last stage ended as that of `stage`."""
        now = perf_counter()
        self.seconds[stage] = round(now - self._since, 3)
        self._since = now

    def laps(self, stages: Mapping[str, float]) -> None:
        """Note the times of stages that have been measured."""
        self.seconds.update(stages)
        self._since = perf_counter()


class Law(NamedTuple):
    """What turns pairs into probabilities.

    Attributes
    ----------
    arguments : mapping
        For `predict_links`; empty for none.
    notes : tuple of str
        Why there is none, though it was asked for.
    held_out : HeldOut or None
        What it was fitted on; None if it was known, or not asked for.
    """

    arguments: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    held_out: HeldOut | None = None


class Learnt(NamedTuple):
    """What a full run has learnt beside the fitted model.

    Attributes
    ----------
    choice : Choice or None
        The parameters that were chosen.
    notes : tuple of str
        What went otherwise than asked.
    law : Law
        What turns pairs into probabilities.
    """

    choice: Choice | None
    notes: tuple[str, ...]
    law: Law


def learn(
    model: HEAT,
    graph: Graph,
    links: LinkOptions | None,
    kept: Checkpoint,
    clock: Clock,
    *,
    choose: Sequence[str] = (),
    choose_seconds: float | None = None,
    on_progress: Progress = no_progress,
) -> Learnt:
    """Choose parameters, fit `model`, and the law of its links; or take them from a checkpoint.

    Parameters
    ----------
    model : HEAT
        Is fitted here.
    graph : Graph
        What on.
    links : LinkOptions, optional
        What is asked of the links; None for none.
    kept : Checkpoint
        Keeps each step as soon as it is done.
    clock : Clock
        Notes the times.
    choose, choose_seconds, on_progress
        As for `pipeline.embed`.
    """
    known = kept.restore(model, graph, choose)
    if known is None:
        choice, notes = _choose_values(model, graph, choose, choose_seconds, on_progress)
        if choose:
            clock.lap("choose")
        notes += _fit_model(model, graph, on_progress)
        known = {"choice": None if choice is None else choice.to_dict(), "notes": notes}
        kept.save(model, known)
    else:
        choice = None if known["choice"] is None else Choice.from_dict(known["choice"])
    clock.laps(model.training_["seconds"])
    law = Law({})
    if links is not None:
        law = fit_law(model, graph, links, on_progress, known)
        kept.save(model, {**known, **_described(law.arguments)})
        clock.lap("calibrate")
    return Learnt(choice, (*kept.notes, *known["notes"], *law.notes), law)


def _fit_model(model: HEAT, graph: Graph, on_progress: Progress) -> tuple[str, ...]:
    """Fit the model; return a note if the time did not do."""
    try:
        model.fit(graph, on_progress=on_progress)
    except NothingToLearnError as error:
        raise nothing_to_learn(error) from error
    share = model.training_["trained_share"]
    if share == 1.0:
        return ()
    return (f"training ended at the time limit, after {share:.1%} of its pairs",)


def nothing_to_learn(error: NothingToLearnError) -> ProjectionError:
    """Return the error of a projection that offers no pair."""
    advice = "`heat check` shows what the projection matches"
    return ProjectionError(f"the projection cannot be embedded: {error}: {advice}")


def _choose_values(
    model: HEAT, graph: Graph, names: Sequence[str], seconds: float | None, on_progress: Progress
) -> tuple[Choice | None, tuple[str, ...]]:
    """Choose parameters and give them to the model; or return none and a note why."""
    if not names:
        return None, ()
    try:
        choice = choose_parameters(model, graph, names, budget_seconds=seconds, on_progress=on_progress)
    except TuningError as error:
        return None, (f"{error}: the values given, or the defaults, were taken",)
    model.set_params(**choice.parameters)
    return choice, ()


def fit_law(
    model: HEAT,
    graph: Graph,
    links: LinkOptions,
    on_progress: Progress,
    known: Mapping[str, Any] = MappingProxyType({}),
) -> Law:
    """Return what turns pairs into probabilities, or nothing and a note why.

    A law that is `known`, from the parameters of a run, is not fitted again.
    """
    law_of_run = known_law(links, known)
    if law_of_run is not None:
        return law_of_run
    combined = links.score == "combined"
    held_out = None
    try:
        held_out = embed_without(model, graph, on_progress=prefixed(on_progress, "probability: "))
        law = {"score": link_score(held_out)} if combined else {"probability": link_probability(held_out)}
    except CalibrationError as error:
        ranked = "; links are ranked by distance" if combined else ""
        return Law({}, (f"{error}{ranked}",), held_out)
    return Law(law, held_out=held_out)


def known_law(links: LinkOptions, parameters: Mapping[str, Any]) -> Law | None:
    """Return the law that the parameters of a run hold, or that is none; None if it takes a training."""
    combined = links.score == "combined"
    if combined and "link_score" in parameters:
        return Law({"score": LinkScore.from_dict(parameters["link_score"])})
    if not combined and not links.probability:
        return Law({})
    if not combined and "calibration" in parameters:
        return Law({"probability": LinkProbability(**parameters["calibration"])})
    return None


def notes_on(found: PredictedLinks) -> tuple[str, ...]:
    """Return a note if not all pairs were looked at."""
    if not found.shortlisted:
        return ()
    return ("of so many nodes only pairs that are near, or have many neighbours in common, were scored",)


def _described(law: Mapping[str, Any]) -> dict[str, Any]:
    """Return a law's arguments as JSON data, by the names under which it is known."""
    if "score" in law:
        return {"link_score": law["score"].to_dict()}
    return {"calibration": asdict(law["probability"])} if "probability" in law else {}


def recorded_links(links: LinkOptions, found: PredictedLinks, law: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run remembers of its links; a run of a later day reads the fitted law."""
    asked = {**asdict(links), "score": links.score or "distance"}
    if found.score is not None:
        asked["shortlisted"] = found.shortlisted
    return {"links": asked, **_described(law)}
