"""Convert values of Python, NumPy and data frames to the types that attributes are encoded from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np

from heat_neo4j.attributes.kinds import Date, Duration, TimeOfDay

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MISSING = {"NaTType", "NAType"}  # of pandas


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
