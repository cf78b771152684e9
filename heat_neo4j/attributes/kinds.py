"""Kinds of property values, and all checks of values."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.errors import ProjectionError

Recipe = Mapping[str, Any]
Block = NDArray[np.float64] | NDArray[np.float32] | sparse.csr_array
Rows = NDArray[np.int64]

_DATE = re.compile(r"(\d{4}-\d{2})(-\d{2})?", re.ASCII)
_DATETIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?", re.ASCII
)
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:[eE][+-][0-9]+)?|(?:0|[1-9][0-9]*)?\.[0-9]+(?:[eE][+-]?[0-9]+)?"
    r"|(?:0|[1-9][0-9]*)\.)"
)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
# Squares of larger values overflow when attributes are scaled and compared.
_LARGEST = 1e150
_EXAMPLE_CHARACTERS = 40


class Date(float):
    """A date, with or without a time: days since 1970-01-01 UTC, with the fraction."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(np.datetime64(int(self // 1), "D"))


class TimeOfDay(float):
    """A time of day in UTC: the fraction of the day, from 0 to below 1."""

    __slots__ = ()

    def __repr__(self) -> str:
        minutes = int(self * 24 * 60)
        return f"{minutes // 60:02}:{minutes % 60:02}"


class Duration(float):
    """A duration in seconds; a month counts as the mean month of 30.436875 days of 86400 s."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{float(self):g} s"


class Point(NamedTuple):
    """A point in the plane, in space or on the globe."""

    srid: int  # Cartesian: 7203 (2 dimensions), 9157 (3); WGS-84: 4326, or 4979 with a height
    coordinates: tuple[float, ...]  # x, y, perhaps z; or longitude, latitude (degrees), perhaps height (m)


def parse_date(text: str) -> date | datetime | None:
    """Parse a date, or date and time, in ISO 8601 format; None if the text is neither.

    A month means its first day. Fractions of a second are truncated to six digits.

    >>> parse_date("2024-05"), parse_date("2024-05-17"), parse_date("2024-13-01")
    (datetime.date(2024, 5, 1), datetime.date(2024, 5, 17), None)
    """
    try:
        if match := _DATE.fullmatch(text):
            month, day = match.groups()
            return date.fromisoformat(month + (day or "-01"))
        if _DATETIME.fullmatch(text):
            return datetime.fromisoformat(text)
    except ValueError:  # there is no such day or hour
        return None
    return None


def parse_number(text: str, *, decimal_comma: bool = False) -> float | None:
    """Parse a number; None if the text is not a number.

    Numbers have no leading zeros, and exponents have a sign or follow a decimal point; other texts are codes.

    >>> parse_number("1.50"), parse_number("1e-05"), parse_number("0,5", decimal_comma=True)
    (1.5, 1e-05, 0.5)
    >>> [parse_number(text) for text in ("01234", "1E5", "0,5", "1_000", "nan", "1e+999")]
    [None, None, None, None, None, None]
    """
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


class RecipeError(ProjectionError):
    """Raised if values do not match the recipe that should encode them."""


class BadValuesError(ProjectionError):
    """Raised if some values of an attribute cannot be encoded; `is_bad` is the predicate of these values."""

    def __init__(self, what: str, advice: str, is_bad: Callable[[Any], bool]) -> None:
        super().__init__(f"{what}: {advice}")
        self.what, self.advice, self.is_bad = what, advice, is_bad

    def on(self, node: str, others: int, *, at_least: bool) -> ProjectionError:
        """Return the same error with the first such node and the number of others."""
        count = f" and {'at least ' if at_least else ''}{others:,} more" if others else ""
        return ProjectionError(f"{self.what} on node {node}{count}: {self.advice}")


class Kind(StrEnum):
    """Kind of the values of a property."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    VECTOR = "vector"
    CATEGORY = "category"
    TAGS = "tags"
    EMPTY = "empty"
    DATE = "date"
    TIME = "time of day"
    DURATION = "duration"
    POINT = "point"
    TEXT = "text"
    ENCODED = "encoded text"


def is_text(entry: Recipe) -> bool:
    """Return whether an entry of a recipe encodes words: sparse rows of length 1, or of zeros."""
    return bool(entry["kind"] == Kind.TEXT)


_PLURALS: Mapping[str, str] = {
    Kind.NUMBER: "numbers",
    Kind.BOOLEAN: "booleans",
    Kind.VECTOR: "lists of numbers",
    Kind.CATEGORY: "strings",
    Kind.TAGS: "lists of strings",
    Kind.EMPTY: "empty lists",
    Kind.DATE: "dates",
    Kind.TIME: "times of day",
    Kind.DURATION: "durations",
    Kind.POINT: "points",
}
_KIND_OF = {
    bool: Kind.BOOLEAN,
    int: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.CATEGORY,
    Date: Kind.DATE,
    TimeOfDay: Kind.TIME,
    Duration: Kind.DURATION,
    Point: Kind.POINT,
}


def kind_of(name: str, values: Sequence[Any]) -> str | None:
    """Return the common kind of the values other than None; None if there are none.

    Empty lists have the kind of the other lists, or `EMPTY`. Raises ProjectionError if the values have
    several kinds, or an unsupported one.
    """
    kinds: dict[str, Any] = {}
    for type_ in set(map(type, values)) - {type(None)}:
        if type_ is list:
            kinds |= _list_kinds(name, [value for value in values if type(value) is list])
            continue
        if type_ not in _KIND_OF:
            raise _unreadable(name, f"{type_.__name__} values", partial(_is_of, type_), values)
        first = next(value for value in values if type(value) is type_)
        kinds[_KIND_OF[type_].value] = first
    if set(kinds) & {Kind.VECTOR, Kind.TAGS}:
        kinds.pop(Kind.EMPTY, None)
    if len(kinds) > 1:
        raise mixed(name, kinds)
    return next(iter(kinds), None)


def _is_of(type_: type, value: Any) -> bool:
    return type(value) is type_


def mixed(name: str, kinds: dict[str, Any]) -> ProjectionError:
    """Return the error for a property with values of several kinds, given one example of each."""
    parts = [f"{_PLURALS[kind]} ({example(kinds[kind])})" for kind in sorted(kinds)]
    advice = "make them one kind, read it from one label (`label_attributes`), or leave the attribute out"
    return ProjectionError(f"attribute {name!r} mixes {' and '.join(parts)}: {advice}")


def not_text(name: str, kind: str, value: Any) -> ProjectionError:
    """Return the error for a text property that holds other values."""
    what = f"{_PLURALS[kind]} ({example(value)})"
    return ProjectionError(f"text {name!r} holds {what}: it must hold strings; name it as an attribute")


def finite(
    name: str, values: Iterable[float], count: int, *, largest: float = _LARGEST
) -> NDArray[np.float64]:
    """Return `count` numbers as float64; raises BadValuesError if one is NaN, infinite or above `largest`."""
    try:
        numbers = np.fromiter(values, dtype=np.float64, count=count)
    except OverflowError:  # an integer that no float can hold
        numbers = np.array([np.inf])
    bad = ~(np.abs(numbers) <= largest)
    if bad.any():
        number = float(numbers[np.argmax(bad)])
        raise BadValuesError(
            f"attribute {name!r} has a value that is NaN, infinite or too large ({number})",
            "set or remove the value, or leave the attribute out",
            partial(_is_not_finite, largest),
        )
    return numbers


def _is_not_finite(largest: float, value: Any) -> bool:
    numbers = value.coordinates if isinstance(value, Point) else value if isinstance(value, list) else [value]
    return not all(abs(number) <= largest for number in numbers if number is not None)


def example(value: Any) -> str:
    """Return `value` as a short example for a message.

    >>> example(["a", date(2001, 1, 1)])
    "['a', 2001-01-01]"
    """
    text = repr(value) if isinstance(value, str) else str(value)
    if type(value) is list:  # a list shows its values as code: neo4j.time.Date(2001, 1, 1)
        text = f"[{', '.join(map(example, value[:_EXAMPLE_CHARACTERS]))}]"
    return text if len(text) <= _EXAMPLE_CHARACTERS else f"{text[:_EXAMPLE_CHARACTERS]}..."


def _list_kinds(name: str, lists: list[list[Any]]) -> dict[str, Any]:
    types = set(map(type, chain.from_iterable(lists)))
    kinds: dict[str, Any] = {Kind.EMPTY.value: []} if any(not value for value in lists) else {}
    for kind, members in ((Kind.VECTOR.value, {int, float}), (Kind.TAGS.value, {str})):
        if types & members:
            kinds[kind] = next(value for value in lists if value and type(value[0]) in members)
    other = types - {int, float, str}
    if other:
        bad = min(other, key=lambda each: each.__name__)
        what = "lists with a missing value" if bad is type(None) else f"lists of {bad.__name__} values"
        raise _unreadable(name, what, lambda value: type(value) is list and bad in map(type, value), lists)
    return kinds


def _unreadable(name: str, what: str, is_bad: Callable[[Any], bool], values: Iterable[Any]) -> BadValuesError:
    first = next(value for value in values if is_bad(value))
    readable = (
        "numbers, booleans, strings, dates, times, durations, points, lists of numbers and lists of strings"
    )
    advice = f"only {readable} can be read; convert it, or leave it out"
    return BadValuesError(f"attribute {name!r} holds {what} ({example(first)})", advice, is_bad)
