"""Values as the driver gives them, made plain: what attributes take in place of the driver's own types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import neo4j.spatial
import neo4j.time

from heat_neo4j.attributes import Date, Duration, Point, TimeOfDay

try:
    from neo4j.vector import Vector
except ImportError:  # driver 5 has none
    Vector = None  # type: ignore[assignment,misc]

__all__ = ["plain_values"]

_SECOND, _DAY = 10**9, 86_400 * 10**9  # in nanoseconds
_MONTH = 2_629_746 * _SECOND  # 30.436875 days, a twelfth of the mean Gregorian year


def plain_values(values: list[Any]) -> list[Any]:
    """Return property values as `AttributeTable` takes them.

    Parameters
    ----------
    values : list
        As ``cypher/read/attributes.cypher`` returns them: dates and datetimes as numbers behind a null.

    Returns
    -------
    list
        With `heat_neo4j.attributes.plain` for dates, times, durations and points, and lists for vectors. All
        other values as they are; the list itself if it holds nothing else.
    """
    if not set(map(type, values)) & set(_PLAIN):
        return values
    return [_PLAIN[type(value)](value) if type(value) in _PLAIN else value for value in values]


def _date_or_list(value: list[Any]) -> Any:
    if not value or value[0] is not None:
        return value
    _, milliseconds, nanoseconds = value
    return Date((milliseconds * 10**6 + nanoseconds) / _DAY)  # one rounding, of whole numbers


def _time(value: neo4j.time.Time) -> TimeOfDay:
    offset = value.utcoffset()
    ticks = value.ticks - (0 if offset is None else round(offset.total_seconds()) * _SECOND)
    return TimeOfDay(ticks % _DAY / _DAY)


def _duration(value: neo4j.time.Duration) -> Duration:
    whole = value.months * _MONTH + value.days * _DAY + value.seconds * _SECOND + value.nanoseconds
    return Duration(whole / _SECOND)


def _point(value: neo4j.spatial.Point) -> Point:
    return Point(value.srid or 0, tuple(map(float, value)))


_PLAIN: dict[type, Callable[[Any], Any]] = {
    list: _date_or_list,
    neo4j.time.Time: _time,
    neo4j.time.Duration: _duration,
    neo4j.spatial.Point: _point,
    neo4j.spatial.CartesianPoint: _point,
    neo4j.spatial.WGS84Point: _point,
    **({} if Vector is None else {Vector: Vector.to_native}),
}
