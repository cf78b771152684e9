"""What a user asks of the pipeline: `Job`, with its `LinkOptions` and the `Limits` of a refresh."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np

from heat_neo4j._utils.validation import check_integer, check_positive, check_probability
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.publish.lease import LEASE_SECONDS
from heat_neo4j.database.publish.removal import RECORDS
from heat_neo4j.embedding.estimator import OF_THE_MACHINE, Embedder
from heat_neo4j.linkpred.link_score import BY_DISTANCE
from heat_neo4j.patterns import check_pattern
from heat_neo4j.pipeline.gate import Gate

SCORES = ("distance", "combined")
NO_SETTINGS = (*OF_THE_MACHINE, "random_state", "time_limit")  # parameters that call for no new training


@dataclass(frozen=True)
class LinkOptions:
    """Which links to predict; the parameters of `predict_links`.

    Parameters
    ----------
    k, top, patterns, min_degree, max_degree, min_probability, rules
        As for `predict_links`.
    probability : bool
        Whether each link gets a probability: the share of pairs with such a score that turned out to be
        links. It is fitted by training once more, without a tenth of the edges and with a fifth of the
        walks. Without it the distance ranks the links.
    score : {"combined", "distance"}, optional
        What ranks the links: a `LinkScore` of distance, degrees, common neighbours, paths and attributes,
        or of the distance alone. If not given, the former, or in `pipeline.predict` what ranked the links of
        the run.

    Raises
    ------
    TypeError, ValueError
        If a number is out of range, or links without probability are to have a combined score or a least
        probability; found out before a run begins.
    """

    k: int | None = 10
    top: int | None = None
    patterns: Sequence[str] = ()
    min_degree: int = 0
    max_degree: int | None = None
    min_probability: float = 0.0
    rules: bool = True
    probability: bool = True
    score: str | None = None

    def __post_init__(self) -> None:
        if self.score is not None and self.score not in SCORES:
            raise ValueError(f"score must be one of {', '.join(SCORES)}, got {self.score!r}")
        if self.score == "combined" and not self.probability:
            raise ValueError("the combined score brings probabilities: leave out one of the two")
        if check_probability("min_probability", self.min_probability) and not self.probability:
            raise ValueError("min_probability needs links with a probability: leave out one of the two")
        if isinstance(self.patterns, str):
            raise TypeError(f"patterns must be a list of patterns, got {self.patterns!r}")
        object.__setattr__(self, "patterns", tuple(map(check_pattern, self.patterns)))
        if self.k is None and self.top is None:
            raise ValueError("k or top must be given: without either every absent pair would be a link")
        for name, minimum in (("k", 1), ("top", 1), ("max_degree", self.min_degree)):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), minimum=minimum)
        check_integer("min_degree", self.min_degree, minimum=0)
        if not isinstance(self.rules, bool):
            raise TypeError(f"rules must be True or False, got {self.rules!r}")

    def search(self) -> dict[str, Any]:
        """Return the arguments of `predict_links`."""
        return {name: value for name, value in asdict(self).items() if name not in ("probability", "score")}

    @property
    def ranked_by(self) -> str:
        """What ranks the links: "combined" or "distance"."""
        return "distance" if not self.probability else self.score or "combined"

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON data, the default score by its name."""
        return {**asdict(self), "patterns": list(self.patterns), "score": self.ranked_by}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the options that `to_dict` described; what else a run records beside them is left out."""
        names = {part.name for part in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in names})

    def needs_training(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether probabilities take a training, as the run's `parameters` hold none of their kind."""
        if not self.probability:
            return False
        known = parameters.get("link_score", {}).get("features")
        by_distance = known is not None and tuple(known) == BY_DISTANCE
        return known is None or by_distance != (self.ranked_by == "distance")


@dataclass(frozen=True)
class Limits:
    """Up to which share of changes a refresh does less than a full training.

    Nodes that are new, or at changed edges or attributes, are trained alone while, with all those that were
    since the last training of the whole, they are at most `local` of the nodes. A warm start serves while at
    most `warm` of the nodes, edges or attribute rows has changed since the last full run, added up over the
    runs in between.
    """

    local: float = 0.2
    warm: float = 0.3

    def __post_init__(self) -> None:
        check_positive("local", self.local)
        check_positive("warm", self.warm)


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
    follows : collection of str
        Settings that a refresh takes from the published version in place of those given here, each by its
        section and name, such as "projection.labels", "heat.alpha", "links.patterns" or "write.index".
    """

    projection: Projection
    model: Embedder
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
    follows: Collection[str] = ()

    def settings(self) -> dict[str, Any]:
        """Return all that decides a version beside the graph and the seed, as JSON data.

        Parameters of the model are those before any is chosen, and "auto" where one is to be chosen.
        """
        parameters = self.model.get_params() | dict.fromkeys(self.choose, "auto")
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
    """Return the first setting that differs, in words; None if none does."""
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
