"""A refresh goes on with the settings of what is published, but for those that are given anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from sklearn.base import clone

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import Bookkeeping, RunRecord
from heat_neo4j.pipeline.job import Job, LinkOptions

__all__ = ["followed", "published_links"]


def published_links(bookkeeping: Bookkeeping, model: str) -> Mapping[str, Any] | None:
    """Return the options by which the published links of a model were predicted; None if it has none."""
    run_id = bookkeeping.published(model).get("linkRun")
    run = next((each for each in bookkeeping.runs_of(model) if each.run_id == run_id), None)
    return None if run is None else run.parameters.get("links")


def followed(job: Job, run: RunRecord, links: Mapping[str, Any] | None) -> Job:
    """Return `job` with the settings that it `follows` as they were for the published run.

    `links` are the options of the published links, None if there are none. What cannot be read from the run's
    node, or does not fit what the job sets itself, is a ProjectionError.
    """
    if not job.follows or not run.settings:
        return job
    try:
        projection, parameters = run.settings["projection"], run.settings["model"]
        own = job.projection.to_dict() | _only(projection, _names(job.follows, "projection"))
        if own["node_filter"] == projection["node_filter"]:
            own["filter_parameters"] = projection["filter_parameters"]
        taken = _only(parameters, _names(job.follows, "heat"))
        choose = [name for name, value in taken.items() if value == "auto"]
        model = clone(job.model)
        model.set_params(**{name: value for name, value in taken.items() if value != "auto"})
        model.check_parameters()
        written = _names(job.follows, "write")
        names = {part.name: getattr(job.names, part.name) for part in fields(WriteNames)}
        names |= {name: getattr(run.names, name) for name in written & names.keys()}
        return replace(
            job,
            projection=Projection.from_dict(own),
            model=model,
            choose=[*(name for name in job.choose if name not in taken), *choose],
            links=_followed_links(job, links),
            names=WriteNames(**names),
            coordinates=run.settings["coordinates"] if "coordinates" in written else job.coordinates,
            index=bool(run.indexes) if "index" in written else job.index,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise run.damage("settings") from error


def _followed_links(job: Job, links: Mapping[str, Any] | None) -> LinkOptions | None:
    names = _names(job.follows, "links")
    if job.links is None or (links is None and "enabled" in names):
        return None
    return LinkOptions.from_dict({**job.links.to_dict(), **_only(links or {}, names)})


def _names(follows: Collection[str], section: str) -> set[str]:
    """Return the names of the settings of one section."""
    return {name.removeprefix(f"{section}.") for name in follows if name.startswith(f"{section}.")}


def _only(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
