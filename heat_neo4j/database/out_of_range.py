"""`OutOfRange` replaces dates and times that Python cannot hold, such as those before the year 1."""

from collections.abc import Iterable
from datetime import date
from typing import Any

import neo4j

_CYCLE = 146_097  # days of 400 years, after which the calendar repeats
_BEFORE_1970 = date(1970, 1, 1).toordinal() - 1  # days since the year 1
_PLAIN = frozenset({bool, bytes, float, int, str, type(None)})


class OutOfRange:
    """A value that the driver cannot decode. A date or time has the text that Neo4j writes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"OutOfRange({self._text!r})"


def readable(records: Iterable[neo4j.Record]) -> list[neo4j.Record]:
    """Return records with an `OutOfRange` for each value that the driver could not decode.

    Reading such a value from a record raises an error; in a list or a map it is an object of the driver that
    can neither be shown nor copied.
    """
    return [_readable_record(record) for record in records]


def _readable_record(record: neo4j.Record) -> neo4j.Record:
    values = tuple(tuple.__iter__(record))  # the record's own iterator raises at such a value
    shown = _readable_values(values)
    if shown is values:
        return record
    return neo4j.Record(zip(record.keys(), shown, strict=True))  # type: ignore[no-untyped-call]


def _readable_values(values: Any) -> Any:
    """Return values, the same object if all of them can be read."""
    if _PLAIN.issuperset(map(type, values)):
        return values
    shown = [_readable_value(value) for value in values]
    return values if all(a is b for a, b in zip(shown, values, strict=True)) else shown


def _readable_value(value: Any) -> Any:
    if type(value) is list:
        return _readable_values(value)
    if type(value) is dict:
        values = tuple(value.values())
        shown = _readable_values(values)
        return value if shown is values else dict(zip(value, shown, strict=True))
    raw = getattr(value, "raw_data", None)  # which only the driver's broken values have
    if raw is None:
        return value
    return _readable_value(raw) if isinstance(raw, list | dict) else OutOfRange(_text_of(raw))


def _text_of(structure: Any) -> str:
    """Return a date or a time, as the driver received it, as text."""
    match structure.tag, *structure.fields:
        case b"D", days:
            return _day(days)
        case b"d", seconds, nanoseconds:
            return _moment(seconds, nanoseconds)
        case b"I", seconds, nanoseconds, offset:
            hours, minutes = divmod(abs(offset) // 60, 60)
            zone = f"{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}" if offset else "Z"
            return _moment(seconds + offset, nanoseconds) + zone
        case b"i", seconds, nanoseconds, zone:  # Python may know neither the zone nor its offset then
            return f"{_moment(seconds, nanoseconds)}Z[{zone}]"
    return "a value that the driver cannot decode"


def _moment(seconds: int, nanoseconds: int) -> str:
    days, second = divmod(seconds, 86_400)
    fraction = f".{nanoseconds:09}" if nanoseconds else ""
    return f"{_day(days)}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{fraction}"


def _day(days: int) -> str:
    """Return the date that is some days after 1970-01-01, in any year."""
    cycles, rest = divmod(days + _BEFORE_1970, _CYCLE)
    like = date.fromordinal(rest + 1)
    year = like.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{like.month:02}-{like.day:02}"
