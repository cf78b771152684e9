"""`Projection`: which part of a property graph becomes a `Graph`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from numbers import Real
from typing import Any, Self

from heat_neo4j._validation import check_integer

__all__ = ["AGGREGATIONS", "RESERVED_PREFIX", "Projection"]

AGGREGATIONS = ("sum", "min", "max", "count", "single")
RESERVED_PREFIX = "heat_"


@dataclass(frozen=True)
class Projection:
    """What to read: nodes, relationships, weights and attributes, by the names they have in Neo4j.

    Parameters
    ----------
    labels : sequence of str, optional
        Nodes with any of these labels; by default all nodes except this package's own bookkeeping.
    relationships : sequence of str, optional
        Relationship types; by default all types except those of links this package predicted.
    weight : str, optional
        Relationship property with the weight, a finite number of 0 or more. Without it each relationship
        weighs 1.
    default_weight : float
        Weight of a relationship that lacks the property `weight`, 0 or more. How many did is counted.
    aggregation : {"sum", "min", "max", "count", "single"}
        What several relationships from one node to the same other one come to: the sum, smallest or
        largest of their weights, their number, or 1 however many there are. The last two ignore weights
        and refuse a `weight`. Opposite directions are always summed, by `Graph`.
    time : str, optional
        Relationship property that says since when a relationship has been there: a number, a date, or a
        datetime with or without a zone (then UTC). The earliest counts where several join two nodes; how
        many relationships lack it is counted.
    attributes : sequence of str
        Node properties that become attribute columns: numbers, booleans, numeric lists of one length,
        strings, lists of strings.
    key : str, optional
        Node property that identifies a node: a whole number or a string, the same kind on every node,
        unique. Rows are then sorted by it, so that a graph inserted anew gives the same rows; otherwise
        by the number in the element id.
    node_filter, relationship_filter : str, optional
        Cypher predicates over ``n`` and ``r``, e.g. ``"n.year >= $since"``. They are sent as they are, in
        transactions that cannot write.
    filter_parameters : mapping of str to JSON data
        Values of the ``$parameters`` in the filters. Names starting with ``heat_`` are reserved.
    max_categories : int
        Most columns that one string (or list of strings) property may take, 1 or more. The most frequent
        values get them; the others share one more column, ``<property>:other``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range; the message names it.

    Examples
    --------
    >>> papers = Projection(labels=["Paper"], relationships=["CITES"], weight="weight", attributes=["year"])
    >>> papers.to_dict()["labels"]
    ['Paper']
    """

    labels: Sequence[str] | None = None
    relationships: Sequence[str] | None = None
    _: KW_ONLY
    weight: str | None = None
    default_weight: float = 1.0
    aggregation: str = "sum"
    time: str | None = None
    attributes: Sequence[str] = ()
    key: str | None = None
    node_filter: str | None = None
    relationship_filter: str | None = None
    filter_parameters: Mapping[str, Any] = field(default_factory=dict)
    max_categories: int = 10_000

    def __post_init__(self) -> None:
        for name in ("labels", "relationships"):
            names = getattr(self, name)
            if names is not None:
                object.__setattr__(self, name, _checked_names(name, names, may_be_empty=False))
        object.__setattr__(
            self, "attributes", _checked_names("attributes", self.attributes, may_be_empty=True)
        )
        for name in ("weight", "time", "key", "node_filter", "relationship_filter"):
            _check_text(name, getattr(self, name))
        object.__setattr__(self, "default_weight", _checked_weight(self.default_weight))
        check_integer("max_categories", self.max_categories, minimum=1)
        object.__setattr__(self, "filter_parameters", _checked_parameters(self.filter_parameters))
        if self.aggregation not in AGGREGATIONS:
            raise ValueError(
                f"aggregation must be one of {', '.join(AGGREGATIONS)}, got {self.aggregation!r}"
            )
        if self.weight is not None and self.aggregation in ("count", "single"):
            raise ValueError(
                f"aggregation {self.aggregation!r} ignores weights: leave out weight={self.weight!r}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the projection as JSON data that `from_dict` takes."""
        data = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the projection that `to_dict` described.

        Raises
        ------
        TypeError, ValueError
            If `data` has an unknown name or a value out of range.
        """
        unknown = sorted(set(data) - {part.name for part in fields(cls)})
        if unknown:
            raise ValueError(f"a projection has no {', '.join(map(repr, unknown))}")
        return cls(**data)


def _checked_names(name: str, values: Any, *, may_be_empty: bool) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list of names, got {values!r}")
    if not values and not may_be_empty:
        raise ValueError(f"{name} must name at least one, or be None for all")
    for value in values:
        _check_text(name, value, optional=False)
    if len(set(values)) < len(values):
        raise ValueError(f"{name} has a name twice: {list(values)}")
    return tuple(values)


def _check_text(name: str, value: Any, *, optional: bool = True) -> None:
    if value is None and optional:
        return
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    if not value.strip():
        raise ValueError(f"{name} must not be empty")


def _checked_weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"default_weight must be a number, got {value!r}")
    weight = float(value)
    if not (math.isfinite(weight) and weight >= 0):
        raise ValueError(f"default_weight must be finite and 0 or more, got {value}")
    return weight


def _checked_parameters(values: Any) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise TypeError(f"filter_parameters must be a mapping, got {values!r}")
    for name, value in values.items():
        if not isinstance(name, str) or name.startswith(RESERVED_PREFIX):
            raise ValueError(
                f"filter_parameters: {name!r} is not a free name (those starting with heat_ are ours)"
            )
        _check_json(name, value)
    return dict(values)


def _check_json(name: str, value: Any) -> None:
    if isinstance(value, list | tuple):
        for item in value:
            _check_json(name, item)
    elif isinstance(value, Mapping):
        for item in value.values():
            _check_json(name, item)
    elif not (value is None or isinstance(value, bool | int | float | str)):
        raise TypeError(f"filter_parameters[{name!r}] must be plain data that JSON can hold, got {value!r}")
