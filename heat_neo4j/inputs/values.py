"""Values of Python, NumPy and data frames, and of the cells of files, as attributes are encoded from them.

For the cells of files:

- A number has a decimal point (in files with semicolons, a comma too) and no leading zeros; an exponent has
  a sign (``1e-05``) or follows a decimal point. ``01234``, ``1E5`` and ``1_000`` are codes.
- A column has one type, the first that fits all its cells: true/false, whole numbers, dates, numbers, text.
- Empty cells are missing values; words such as ``NA`` are missing values in columns that are not text.

Names of nodes are checked here too: whether they are usable, and whether edges and attributes share them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np

from heat_neo4j._utils.validation import is_integer
from heat_neo4j.attributes.kinds import Date, Duration, TimeOfDay, parse_date, parse_number

_DAY, _SECOND = timedelta(days=1), timedelta(seconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MISSING = {"NaTType", "NAType"}  # of pandas
_MISSING_CELLS = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"}
_TRUTH = {"true": True, "false": False}


def plain_column(column: nw.Series[Any]) -> list[Any]:
    """Return the values of a column, None if missing."""
    return [plain_value(value) for value in column.to_list()]


def plain_name(name: Any) -> Any:
    """Convert the name of a node from NumPy to Python types; None for NaN and other missing values."""
    if isinstance(name, np.generic):
        name = _of_numpy(name)
    return None if _is_missing(name) else name


def plain_value(value: Any) -> Any:
    """Convert a value to the type that a database would return; None for NaN and other missing values.

    A datetime without a zone is in UTC. Values of unsupported types are returned unchanged.
    """
    value = plain_name(value)
    for kind, plain in _PLAIN:
        if isinstance(value, kind):
            return plain(value)
    return value


def _of_numpy(value: np.generic) -> Any:
    """Convert a scalar to a Python object; times are truncated to microseconds."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]")
    elif isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]")
    return value.item()


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in _MISSING or (isinstance(value, float) and math.isnan(value))
    )


def _date(value: date) -> Date:
    if not isinstance(value, datetime):
        return Date(value.toordinal() - _EPOCH.toordinal())
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return Date((aware - _EPOCH) / _DAY)


def _time(value: time) -> TimeOfDay:
    moment = datetime.combine(_EPOCH, value, value.tzinfo or UTC)
    return TimeOfDay((moment - _EPOCH) / _DAY % 1.0)


def _list(values: Iterable[Any]) -> list[Any]:
    return [plain_value(value) for value in values]


_PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (date, _date),
    (time, _time),
    (timedelta, lambda value: Duration(value.total_seconds())),
    ((list, tuple, np.ndarray), _list),
    ((set, frozenset), lambda values: _list(sorted(values))),
    (Decimal, lambda value: None if value.is_nan() else float(value)),
)


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
    present = {cell for cell in cells if cell.casefold() not in _MISSING_CELLS}
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


def check_names(names: Sequence[Any]) -> dict[Any, int]:
    """Return the row of each name. Raises ValueError if one is missing, repeated or not hashable."""
    row_of: dict[Any, int] = {}
    for row, name in enumerate(names):
        if plain_name(name) is None:
            raise ValueError(f"the node in row {row} has no name")
        try:
            known = row_of.setdefault(name, row)
        except TypeError as error:
            kind = type(name).__name__
            what = f"the node in row {row} is named by a {kind}, {name!r}"
            raise ValueError(f"{what}: names must be texts, numbers or tuples") from error
        if known != row:
            raise ValueError(f"two nodes have the name {name!r}: rows {known} and {row}")
    return row_of


def check_names_meet(
    of_edges: Collection[Any], of_nodes: Sequence[Any], others: Mapping[str, Iterable[Any]] | None = None
) -> None:
    """Raise ValueError if names in edges and attributes should match, but do not.

    That is if none of them is, or if names of both would be equal as values of one type. Other nodes with
    attributes are isolated. `others` are names that could have been meant, by the place where they are.
    """
    known = set(of_edges)
    strangers = [name for name in of_nodes if name not in known]
    if not strangers or not known:
        return
    missing = {_plain(name): name for name in known.difference(of_nodes)}
    pairs = [(missing[plain], name) for name in strangers if (plain := _plain(name)) in missing]
    if pairs:
        edge, node = min(pairs, key=repr)
        raise ValueError(
            f"the graph has a node {_described(edge, node)}, the attributes {_described(node, edge)}, and "
            f"{len(pairs):,} of {len(of_nodes):,} nodes differ so: give both sides the same names"
        )
    if len(strangers) == len(of_nodes):
        found = [place for place, names in (others or {}).items() if not known.isdisjoint(_hashable(names))]
        hint = f"; {found[0]} has such names" if found else ""
        raise ValueError(
            f"no node with attributes is in the graph: the graph has {min(known, key=repr)!r}, "
            f"the attributes {strangers[0]!r}{hint}"
        )


def _plain(name: Any) -> Any:
    """Return a name without its type, surrounding blanks and leading zeros."""
    text = str(name).strip()
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if math.isfinite(number) and number.is_integer() else text


def _described(name: Any, other: Any) -> str:
    """Return a name for a message, with its type if only the types differ."""
    return repr(name) if type(name) is type(other) else f"{name!r} ({type(name).__name__})"


def _hashable(names: Iterable[Any]) -> list[Any]:
    return [name for name in names if not isinstance(name, list | dict)]
