"""A refresh goes on with the settings of what is published, but for those that are given anew."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from sklearn.base import clone

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import Bookkeeping, RunRecord
from heat_neo4j.database.trust import Trust
from heat_neo4j.database.write.payload import COORDINATES
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.errors import ConfigError
from heat_neo4j.linkpred.tuning import GRIDS
from heat_neo4j.pipeline.job import NO_SETTINGS, Job, LinkOptions
from heat_neo4j.pipeline.published_model import model_of

_AUTO = "auto"


def published_links(bookkeeping: Bookkeeping, model: str) -> LinkOptions | None:
    """Return the options by which the published links of a model were predicted; None if it has none."""
    run_id = bookkeeping.published(model).get("linkRun")
    run = next((each for each in bookkeeping.runs_of(model) if each.run_id == run_id), None)
    if run is None or "links" not in run.parameters:
        return None
    with _damage(run, "parameters"):
        return LinkOptions.from_dict(run.parameters["links"])


def published_job(
    bookkeeping: Bookkeeping, run: RunRecord, trust: Trust, model: Embedder | None = None
) -> Job:
    """Return the job that published `run`, or the same with the parameters of another `model`.

    A parameter that the run chose for its graph is chosen again by a full run, unless `model` changes it.
    """
    trained = model_of(run)
    own, used = (model or trained).get_params(), trained.get_params()
    return Job(
        run.trusted_projection(trust),
        model or trained,
        trust.require_names(run.names),
        run.coordinates or COORDINATES[0],
        published_links(bookkeeping, run.model),
        index=bool(run.indexes),
        follows={f"heat.{name}" for name in own if own[name] == used.get(name)},
    )


def followed(job: Job, run: RunRecord, links: LinkOptions | None, trust: Trust) -> Job:
    """Return `job` with the settings that it `follows` as they were for the published run.

    `links` are the options of the published links, None if there are none. A ProjectionError if the run's
    node is damaged, a ConfigError if what it says does not fit what the job sets itself.
    """
    if not job.follows or not run.settings:
        return job
    parameters, choose = _recorded_parameters(run)
    taken = _only(parameters, _names(job.follows, "heat"))
    projection = run.trusted_settings(trust, _names(job.follows, "projection"))
    own = job.projection.to_dict() | projection
    if own["node_filter"] == run.projection.get("node_filter") and not own["filter_parameters"]:
        own["filter_parameters"] = run.projection.get("filter_parameters", {})
    written = _names(job.follows, "write")
    names = {part.name: getattr(job.names, part.name) for part in fields(WriteNames)}
    if followed_names := written & names.keys():
        trust.require_names(run.names)
        names |= {name: getattr(run.names, name) for name in followed_names}
    try:
        model = clone(job.model).set_params(**taken)
        model.check_parameters()
        return replace(
            job,
            projection=Projection.from_dict(own),
            model=model,
            choose=[
                *(name for name in job.choose if name not in taken),
                *(name for name in choose if f"heat.{name}" in job.follows),
            ],
            links=_followed_links(job, links),
            names=WriteNames(**names),
            coordinates=_recorded_coordinates(run) if "coordinates" in written else job.coordinates,
            index=bool(run.indexes) if "index" in written else job.index,
        )
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the settings given here do not fit those of the published run {run.run_id}, which apply to the "
            f"rest: {error}"
        ) from error


def _recorded_parameters(run: RunRecord) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters that a run was asked to train with, and the names of those to be chosen.

    Those that belong to a machine are left out: a scheduler or a folder that the database names is not used.
    """
    recorded = run.settings.get("model")
    if not isinstance(recorded, Mapping):
        raise run.damage("settings")
    named = {name: value for name, value in recorded.items() if name not in NO_SETTINGS}
    choose = [name for name, value in named.items() if value == _AUTO]
    parameters = {name: value for name, value in named.items() if value != _AUTO}
    if not GRIDS.keys() >= set(choose):
        raise run.damage("settings")
    with _damage(run, "settings"):
        Embedder().set_params(**parameters).check_parameters()
    return parameters, choose


def _recorded_coordinates(run: RunRecord) -> str:
    recorded = run.settings.get("coordinates")
    if recorded not in COORDINATES:
        raise run.damage("settings")
    return str(recorded)


def _followed_links(job: Job, links: LinkOptions | None) -> LinkOptions | None:
    names = _names(job.follows, "links")
    if job.links is None or (links is None and "enabled" in names):
        return None
    if "probability" not in names:
        names -= {"score", "min_probability"}  # they depend on whether there are probabilities
    published = {} if links is None else links.to_dict()
    return LinkOptions.from_dict({**job.links.to_dict(), "score": job.links.score, **_only(published, names)})


@contextmanager
def _damage(run: RunRecord, part: str) -> Iterator[None]:
    """Report that a part of a run's node is not as a run writes it, where it is refused in the block."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise run.damage(part) from error


def _names(follows: Collection[str], section: str) -> set[str]:
    """Return the names of the settings of one section."""
    return {name.removeprefix(f"{section}.") for name in follows if name.startswith(f"{section}.")}


def _only(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
