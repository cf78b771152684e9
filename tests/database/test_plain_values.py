"""Values of the driver become plain ones, as arithmetic on Python's own types has it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

import neo4j.spatial
import neo4j.time
import pytest

from heat_neo4j.attributes.kinds import Date, Duration, Point, TimeOfDay
from heat_neo4j.database.read.reader import plain_values
from tests.support.naive_attributes import day_slowly, days_slowly

EAST = timezone(timedelta(hours=5, minutes=30))


def sent(moment):
    """Return a date as the reading statement sends it."""
    if not isinstance(moment, datetime):
        return [None, (moment - date(1970, 1, 1)).days * 86_400, 0]
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    microseconds = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return [None, microseconds // 10**6, microseconds % 10**6 * 1000]


@pytest.mark.parametrize(
    "moment",
    [
        date(2024, 2, 29),
        date(1, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(2001, 2, 3, 4, 5, 6, 789, tzinfo=EAST),
    ],
)
def test_dates(moment):
    (value,) = plain_values([sent(moment)])
    assert type(value) is Date
    assert value == days_slowly(moment)
    assert repr(Date(days_slowly(date(2024, 2, 29)) + 0.75)) == "2024-02-29"


@pytest.mark.parametrize(
    "moment", [time(0, 0), time(23, 59, 59, 999_999), time(3, 0, tzinfo=EAST), time(12, 30, tzinfo=UTC)]
)
def test_times(moment):
    (value,) = plain_values([neo4j.time.Time.from_native(moment)])
    assert type(value) is TimeOfDay
    assert value == day_slowly(moment)
    assert 0 <= value < 1


def test_durations():
    months = neo4j.time.Duration(months=2, days=-1, seconds=3, nanoseconds=500_000_000)
    assert plain_values([months]) == [Duration(2 * 30.436875 * 86400 - 86400 + 3.5)]
    assert repr(Duration(90)) == "90 s"


def test_points():
    given = [neo4j.spatial.WGS84Point((12.5, 41.9)), neo4j.spatial.CartesianPoint((1, 2, 3))]
    assert plain_values(given) == [Point(4326, (12.5, 41.9)), Point(9157, (1.0, 2.0, 3.0))]


def test_vectors_are_lists():
    vector = pytest.importorskip("neo4j.vector")
    values = plain_values([vector.Vector([1.0, 2.5], "f32"), None])
    assert values == [[1.0, 2.5], None]
    assert type(values[0]) is list


def test_all_else_stays_as_it_is():
    values = [1, 2.5, "a", True, None, b"x"]
    assert plain_values(values) is values
    lists = [[1, 2], [], ["a"], None]
    assert plain_values(lists) == lists
