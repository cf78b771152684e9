"""`OutOfRange` replaces values that the driver cannot decode, such as dates before the year 1."""

from collections.abc import Iterable
from typing import Any

import neo4j

_UNREADABLE = "a value that the driver cannot decode"
_PLAIN = frozenset({bool, bytes, float, int, str, type(None)})


class OutOfRange:
    """A value that the driver cannot decode, as text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"OutOfRange({self._text!r})"


def readable(records: Iterable[neo4j.Record]) -> list[neo4j.Record]:
    """Return records with an `OutOfRange` for each value that the driver could not decode.

    Reading such a value from a record raises an error; in a list or map it is a driver object that can be
    neither printed nor copied.
    """
    return [_readable_record(record) for record in records]


def _readable_record(record: neo4j.Record) -> neo4j.Record:
    values = tuple(tuple.__iter__(record))  # the record's own iterator raises at such a value
    shown = _readable_values(values)
    if shown is values:
        return record
    return neo4j.Record(zip(record.keys(), shown, strict=True))  # type: ignore[no-untyped-call]


def _readable_values(values: Any) -> Any:
    """Return readable values; the same object if all of them are readable."""
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
    raw = getattr(value, "raw_data", None)  # only the driver's broken values have it
    if raw is None:
        return value
    return _readable_value(raw) if isinstance(raw, list | dict) else OutOfRange(_UNREADABLE)
