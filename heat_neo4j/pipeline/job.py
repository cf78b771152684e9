"""`Job`: the settings of a pipeline run, and those that a refresh takes over from the published run."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from heat_neo4j._utils.validation import check_choice, check_integer, check_positive, check_probability
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.lease import LEASE_SECONDS
from heat_neo4j.database.publish.removal import RECORDS
from heat_neo4j.database.runs import Bookkeeping, RunRecord
from heat_neo4j.database.trust import Trust
from heat_neo4j.embedding.fitting import RUNTIME_PARAMETERS
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import COORDINATES
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.prediction import MIN_PROBABILITY
from heat_neo4j.patterns import check_pattern
from heat_neo4j.pipeline.gate import Gate
from heat_neo4j.pipeline.published_model import model_of

SCORES = ("link", "distance")
NO_SETTINGS = (*RUNTIME_PARAMETERS, "random_state", "time_limit")  # parameters that call for no new training


@dataclass(frozen=True)
class LinkOptions:
    """Which links to predict; the parameters of `HEAT.predict_links`.

    Parameters
    ----------
    k : int, at least 1, optional, default 10
        Links for each node; the patterns of its label share them.
    max_links : int, at least 1, default: the pattern's number of relationships
        Maximum number of links of each pattern.
    patterns : sequence of str, default: the graph's patterns, except rare ones
        What to predict, such as 'User-RATED->Movie'; * is any name.
    min_degree : int, at least 0, default 0
        Minimum number of neighbours of both ends.
    max_degree : int, at least 1, optional
        Maximum number of neighbours of both ends.
    min_probability : float in [0, 1], default: 0.05, or none by distance
        Leave out links that are less probable.
    rules : bool, default True
        Drop links that your relationships rule out, such as a second director of a film.
    score : {"link", "distance"}
        Rank by the link score of distance, degrees, paths and attributes, or by the distance alone. The link
        score, a `LinkScore`, also gives each link a probability. To fit it, HEAT is trained again without a
        tenth of the edges and with a fifth of the walks; four times if there are up to 50,000 edges.

    Raises
    ------
    TypeError, ValueError
        If a number is out of range, there is no such score, or `min_probability` is set for links by
        distance; checked before a run begins.
    """

    k: int | None = 10
    max_links: int | None = None
    patterns: Sequence[str] = ()
    min_degree: int = 0
    max_degree: int | None = None
    min_probability: float | None = None
    rules: bool = True
    score: str = "link"

    def __post_init__(self) -> None:
        check_choice("score", self.score, SCORES)
        if check_probability("min_probability", self.min_probability or 0.0) and not self.has_probability:
            raise ValueError("links ranked by distance have no probability: leave `min_probability` out")
        if isinstance(self.patterns, str):
            raise TypeError(f"patterns must be a list of patterns, got {self.patterns!r}")
        object.__setattr__(self, "patterns", tuple(map(check_pattern, self.patterns)))
        if self.k is None and self.max_links is None:
            raise ValueError("give `k` or `max_links`: without either every absent pair would be a link")
        for name, minimum in (("k", 1), ("max_links", 1), ("max_degree", self.min_degree)):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), minimum=minimum)
        check_integer("min_degree", self.min_degree, minimum=0)
        if not isinstance(self.rules, bool):
            raise TypeError(f"rules must be True or False, got {self.rules!r}")

    def search(self) -> dict[str, Any]:
        """Return the arguments of `predict_links`."""
        return {name: value for name, value in asdict(self).items() if name != "score"}

    @property
    def has_probability(self) -> bool:
        """Whether links get probabilities."""
        return self.score == "link"

    @property
    def least_probability(self) -> float:
        """Minimum probability of links that are written; 0 without probabilities."""
        if self.min_probability is None:
            return MIN_PROBABILITY if self.has_probability else 0.0
        return self.min_probability

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON data."""
        return {**asdict(self), "patterns": list(self.patterns)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return options from the output of `to_dict`; other keys are ignored."""
        names = {part.name for part in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in names})

    def needs_training(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether probabilities need a training run: `parameters` holds no link score yet."""
        return self.has_probability and "link_score" not in parameters


@dataclass(frozen=True)
class Limits:
    """Shares of changes up to which a refresh avoids full training.

    New nodes, and nodes with changed edges or attributes, are trained alone while all such nodes since the
    last training of all nodes are at most the share `local`. A warm start is used while the changes since the
    last full run, added up over runs, are at most the share `warm` of nodes, edges or attribute rows.

    Parameters
    ----------
    local : float above 0, default 0.2
        Train only new and changed nodes while they are at most this share.
    warm : float above 0, default 0.3
        Start warm while at most this share has changed since the last full run.
    """

    local: float = 0.2
    warm: float = 0.3

    def __post_init__(self) -> None:
        check_positive("local", self.local)
        check_positive("warm", self.warm)


@dataclass(frozen=True)
class Job:
    """The settings of a model's refresh.

    Parameters
    ----------
    projection, model, names, coordinates, links, memory_limit, overwrite, index
        As for `pipeline.embed`.
    limits : Limits
        Limits of local and warm refreshes.
    gate : Gate
        Limits of a new version.
    lease_seconds : float, 1 to 86,400, default 60
        Seconds without renewal until others may take over.
    records : int, at least 0, default 100
        Number of records of earlier runs to keep.
    follows : collection of str
        Settings that a refresh takes from the published version in place of those given here, each by its
        section and name, such as "projection.labels", "heat.alpha", "links.patterns" or "write.index".
    """

    projection: Projection
    model: HEAT
    names: WriteNames = field(default_factory=WriteNames)
    coordinates: str = "poincare"
    links: LinkOptions | None = field(default_factory=LinkOptions)
    memory_limit: int | None = None
    overwrite: bool = False
    index: bool = True
    limits: Limits = field(default_factory=Limits)
    gate: Gate = field(default_factory=Gate)
    lease_seconds: float = LEASE_SECONDS
    records: int = RECORDS
    follows: Collection[str] = ()

    def settings(self) -> dict[str, Any]:
        """Return all that decides a version beside the graph and the seed, as JSON data."""
        parameters = self.model.get_params()
        settings = {
            "projection": self.projection.to_dict(),
            "model": {name: parameters[name] for name in sorted(parameters) if name not in NO_SETTINGS},
            "links": None if self.links is None else self.links.to_dict(),
            "coordinates": self.coordinates,
        }
        # As the run's node gives it back: tuples become lists, scalars of numpy numbers.
        plain: dict[str, Any] = json.loads(json.dumps(settings, default=np.generic.item))
        return plain


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Describe the first setting that differs; return None if all are equal."""
    for part, new in now.items():
        old = before.get(part)
        if old == new:
            continue
        if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
            states = ["on" if isinstance(each, Mapping) else _shown(each) for each in (old, new)]
            return f"{part} was {states[0]} and is {states[1]}"
        for name in dict.fromkeys((*new, *old)):
            if old.get(name) != new.get(name):
                return f"{name} was {_shown(old.get(name))} and is {_shown(new.get(name))}"
    return None


def _shown(value: Any) -> str:
    return "off" if value is None else str(value)


def published_links(bookkeeping: Bookkeeping, model: str) -> LinkOptions | None:
    """Return the options by which the published links of a model were predicted; None if it has none."""
    run_id = bookkeeping.published(model).get("linkRun")
    run = next((each for each in bookkeeping.runs_of(model) if each.run_id == run_id), None)
    if run is None or "links" not in run.parameters:
        return None
    with run.reading("parameters"):
        return LinkOptions.from_dict(run.parameters["links"])


def published_job(bookkeeping: Bookkeeping, run: RunRecord, trust: Trust, model: HEAT | None = None) -> Job:
    """Return the job that published `run`, or the same with the parameters of another `model`."""
    trained = model_of(run)
    own, used = (model or trained).get_params(), trained.get_params()
    return Job(
        run.trusted_projection(trust),
        model or trained,
        run.names,
        run.coordinates or COORDINATES[0],
        published_links(bookkeeping, run.model),
        index=bool(run.indexes),
        follows={f"heat.{name}" for name in own if own[name] == used.get(name)},
    )


def followed(job: Job, run: RunRecord, links: LinkOptions | None, trust: Trust) -> Job:
    """Return `job` with the settings that it `follows` as they were for the published run.

    `links` are the options of the published links, None if there are none. Raises ProjectionError if the
    run's node is damaged, ConfigError if its settings do not fit those of the job.
    """
    if not job.follows or not run.settings:
        return job
    taken = _only(_recorded_parameters(run), _names(job.follows, "heat"))
    projection = run.trusted_settings(trust, _names(job.follows, "projection"))
    own = job.projection.to_dict() | projection
    if own["node_filter"] == run.projection.get("node_filter") and not own["filter_parameters"]:
        own["filter_parameters"] = run.projection.get("filter_parameters", {})
    written = _names(job.follows, "write")
    try:
        model = clone(job.model).set_params(**taken)
        model.check_parameters()
        return replace(
            job,
            projection=Projection.from_dict(own),
            model=model,
            links=_followed_links(job, links),
            coordinates=_recorded_coordinates(run) if "coordinates" in written else job.coordinates,
            index=bool(run.indexes) if "index" in written else job.index,
        )
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the settings given here do not fit those of the published run {run.run_id}, which apply to the "
            f"rest: {error}"
        ) from error


def _recorded_parameters(run: RunRecord) -> dict[str, Any]:
    """Return the training parameters that the user set for a run.

    Those that belong to a machine are left out: a scheduler or a folder that the database names is not used.
    """
    with run.reading("settings"):
        recorded = run.settings["model"].items()
        parameters = {name: value for name, value in recorded if name not in NO_SETTINGS}
        HEAT().set_params(**parameters).check_parameters()
    return parameters


def _recorded_coordinates(run: RunRecord) -> str:
    recorded = run.settings.get("coordinates")
    if recorded not in COORDINATES:
        raise run.damage("settings")
    return str(recorded)


def _followed_links(job: Job, links: LinkOptions | None) -> LinkOptions | None:
    names = _names(job.follows, "links")
    if job.links is None or (links is None and "enabled" in names):
        return None
    if "score" not in names:
        names -= {"min_probability"}  # by distance there are no probabilities
    published = {} if links is None else links.to_dict()
    return LinkOptions.from_dict({**job.links.to_dict(), **_only(published, names)})


def _names(follows: Collection[str], section: str) -> set[str]:
    """Return the names of the settings in a section."""
    return {name.removeprefix(f"{section}.") for name in follows if name.startswith(f"{section}.")}


def _only(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
