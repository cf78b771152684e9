"""Full training, training from the published points, alignment, coordinates, and the link model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.clock import Clock
from heat_neo4j._utils.display import plural
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.progress import Progress, prefixed
from heat_neo4j.database.write.payload import Coordinates, check_coordinates
from heat_neo4j.embedding.cluster import connected
from heat_neo4j.embedding.fitting import RUNTIME_PARAMETERS
from heat_neo4j.embedding.hierarchical_types import find_hierarchies, require_type
from heat_neo4j.embedding.warm_start import fit_local, fit_warm
from heat_neo4j.errors import ProjectionError
from heat_neo4j.geometry.drift import fit_isometry
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.calibration import CalibrationError, HeldOut, hold_out
from heat_neo4j.linkpred.link_score import LinkScore, link_score
from heat_neo4j.pipeline.job import Job, LinkOptions
from heat_neo4j.pipeline.plan import LOCAL, GraphState
from heat_neo4j.pipeline.published_model import model_of

_NO_SCORE = "{}; links are ranked by distance: run `heat links` when the graph has grown"


class LinkModel(NamedTuple):
    """The link score of a job, if any."""

    score: LinkScore | None  # None: links are ranked by distance, without a probability
    notes: tuple[str, ...] = ()  # why there is no score although the options request one
    held_out: HeldOut | None = None  # the edges held out the first time, if it was fitted now

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data for a run's parameters, from which `fit_link_model` restores it."""
        if self.score is None:
            return {"no_link_score": self.notes[0]} if self.notes else {}
        return {"link_score": self.score.to_dict()}


NO_LINK_MODEL = LinkModel(None)


def cannot_embed(why: str) -> ProjectionError:
    """Return the error of a projection that offers nothing to learn from."""
    advice = "`heat check` shows what the projection matches"
    return ProjectionError(f"the projection cannot be embedded: {why}: {advice}")


def check_scheduler(model: HEAT) -> None:
    """Fail before the graph is read if the cluster's scheduler does not respond."""
    if model.scheduler is not None:
        with connected(model.scheduler):
            pass


def check_hierarchy(model: HEAT, graph: Graph) -> None:
    """Raise a ProjectionError if no relationship that was read is of the model's hierarchical type."""
    if model.hierarchy is not None:
        with errors_as(ProjectionError, prefix="`hierarchy`: "):
            require_type(graph, model.hierarchy)


def training_notes(model: HEAT) -> tuple[str, ...]:
    """Return notes if the training of a model ended at its time limit, or diverged at its learning rate."""
    notes, facts = [], model.training_
    if facts["trained_share"] < 1.0:
        notes.append(f"training ended at the time limit, after {facts['trained_share']:.1%} of its pairs")
    if halved := facts.get("learning_rate_halved"):  # not of a training of parts
        rate = facts["effective_learning_rate"]
        notes.append(f"training diverged: `learning_rate` was halved {plural(halved, 'time')}, to {rate:.2g}")
    return tuple(notes)


def record_hierarchies(model: HEAT, graph: Graph) -> None:
    """Add to the record of a training without a hierarchy which types look like one."""
    facts = model.training_
    if "hierarchy" not in facts:
        facts["hierarchies_found"] = [[each.type, each.in_words] for each in find_hierarchies(graph)]


def fit_on(job: Job, mode: str, state: GraphState, clock: Clock, on_progress: Progress) -> HEAT:
    """Return a model trained from the published points, with the settings of the published run.

    If `mode` is "local", only new and changed nodes are trained.
    """
    assert state.run is not None
    assert state.stored is not None
    now = job.model
    base = model_of(state.run)
    ours = now.get_params()
    base.set_params(**{name: ours[name] for name in (*RUNTIME_PARAMETERS, "random_state", "time_limit")})
    points, new = state.stored.points(), ~state.published_rows
    if points.shape[1] != base.n_components + 1:
        raise state.run.damage("parameters")
    if mode == LOCAL:
        model = fit_local(base, state.graph, points, new, state.shares, on_progress=on_progress)
    else:
        model = fit_warm(base, state.graph, points, new, on_progress=on_progress)
    clock.laps(model.training_["seconds"])
    return model


def align(model: HEAT, state: GraphState) -> bool:
    """Align a model with the published points by an isometry; return whether it was possible."""
    published = state.comparable(model.embedding_)
    if published is None or state.run is None:
        return False
    rows = state.published_rows
    isometry = fit_isometry(model.embedding_[rows], published[rows], keep_radii=model.hierarchy is not None)
    model.embedding_ = isometry(model.embedding_)
    model.training_["aligned_to"] = state.run.run_id
    return True


def coordinates_of(
    model: HEAT, mode: str, state: GraphState, kind: str
) -> tuple[Coordinates, NDArray[np.bool_] | None]:
    """Return the coordinates to write, and a mask of the rows that change; None for all.

    Nodes that a local refresh did not train keep their published coordinates exactly.
    """
    coordinates = check_coordinates(model, state.graph.n_nodes, kind)
    if mode != LOCAL:
        return coordinates, None
    assert state.stored is not None
    unchanged = replace(state.stored, found=state.stored.found & (state.shares == 0.0))
    return unchanged.kept_in(coordinates), ~unchanged.found


def fit_link_model(
    model: HEAT, graph: Graph, links: LinkOptions, parameters: Mapping[str, Any], on_progress: Progress
) -> LinkModel:
    """Return the link model: from a run's parameters, or fitted if they hold none."""
    if not links.has_probability:
        return NO_LINK_MODEL
    if not links.needs_training(parameters):
        return LinkModel(LinkScore.from_dict(parameters["link_score"]))
    held_out: Sequence[HeldOut | None] = (None,)
    progress = prefixed(on_progress, "probability: ")
    try:
        held_out = hold_out(model, graph, on_progress=progress)
        score = link_score(held_out, graph, n_threads=model.n_threads, on_progress=progress)
        return LinkModel(score, held_out=held_out[0])
    except CalibrationError as error:
        return LinkModel(None, (_NO_SCORE.format(error),), held_out[0])
