"""Which column takes values of which kind."""

from __future__ import annotations

from collections.abc import Callable

from heat_neo4j.attributes.column import Column
from heat_neo4j.attributes.numeric import Dates, Durations, Numbers, Points, Times, Vectors
from heat_neo4j.attributes.strings import Strings
from heat_neo4j.attributes.texts import Texts
from heat_neo4j.attributes.values import (
    BOOLEAN,
    DATE,
    DURATION,
    NUMBER,
    POINT,
    TEXT,
    TIME,
    VECTOR,
)

__all__ = ["new_column"]

_BY_KIND: dict[str, Callable[[str, int], Column]] = {
    DATE: Dates,
    TIME: Times,
    DURATION: Durations,
    POINT: Points,
    VECTOR: Vectors,
    TEXT: Texts,
}


def new_column(name: str, kind: str, n_rows: int) -> Column:
    """Return an empty column of that kind for `n_rows` nodes."""
    if kind in (NUMBER, BOOLEAN):
        return Numbers(name, kind, n_rows)
    if kind in _BY_KIND:
        return _BY_KIND[kind](name, n_rows)
    return Strings(name, kind, n_rows)
