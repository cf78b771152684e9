"""Parse text as values: which cells of a file, or strings of a frame, are numbers, dates, codes or missing.

- A number has a decimal point (in files with semicolons, a comma too) and no leading zeros; an exponent has
  a sign (``1e-05``) or follows a decimal point. ``01234``, ``1E5`` and ``1_000`` are codes.
- A column has one type, the first that fits all its cells: true/false, whole numbers, dates, numbers, text.
- Empty cells are missing values; words such as ``NA`` are missing values in columns that are not text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from heat_neo4j._utils.validation import is_integer
from heat_neo4j.attributes.kinds import parse_date, parse_number

_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"}
_TRUTH = {"true": True, "false": False}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


def parse_time(text: str) -> tuple[float, bool]:
    """Parse a number, or a date as seconds since 1970 UTC; also return whether it was a date.

    Raises ValueError if it is neither.
    """
    value = parse_number(text)
    if value is not None:
        return value, False
    moment = datetime.fromisoformat(text)
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return (aware - _EPOCH) / _SECOND, True


def typed(cells: Sequence[str], *, decimal_comma: bool = False) -> tuple[list[Any], str]:
    """Convert the cells of a column to values of one type, None if missing; also return the type's name.

    Raises ValueError if the cells have decimal commas, but `decimal_comma` is false.
    """
    present = {cell for cell in cells if cell.casefold() not in _MISSING}
    for name, parse in _TYPES:
        values = {cell: parse(cell, decimal_comma) for cell in present}
        if None not in values.values() and len(set(map(type, values.values()))) <= 1:
            return [values.get(cell) for cell in cells], name if present else "empty"
    numbers = [cell for cell in present if parse_number(cell, decimal_comma=True) is not None]
    if len(numbers) == len(present) and not decimal_comma:
        comma = min(cell for cell in present if "," in cell)
        raise ValueError(
            f"{comma!r} has a decimal comma: write a point, or separate the columns by semicolons"
        )
    return [cell or None for cell in cells], "text"


_TYPES: tuple[tuple[str, Callable[[str, bool], Any]], ...] = (
    ("true/false", lambda cell, _: _TRUTH.get(cell.casefold())),
    ("whole number", lambda cell, _: int(cell) if is_integer(cell) else None),
    ("date", lambda cell, _: parse_date(cell)),
    ("number", lambda cell, comma: parse_number(cell, decimal_comma=comma)),
)
