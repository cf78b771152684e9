"""Texts that are written as dates."""

from __future__ import annotations

import re
from datetime import date, datetime

__all__ = ["parse_date"]

_DATE = re.compile(r"(\d{4}-\d{2})(-\d{2})?", re.ASCII)
_DATETIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?", re.ASCII
)


def parse_date(text: str) -> date | datetime | None:
    """Return the date, or date and time, that an ISO 8601 text says; None if it says none.

    A month stands for its first day. Fractions of a second have six digits, what comes after is dropped.

    Examples
    --------
    >>> parse_date("2024-05"), parse_date("2024-05-17")
    (datetime.date(2024, 5, 1), datetime.date(2024, 5, 17))
    >>> parse_date("2024-05-17T08:30")
    datetime.datetime(2024, 5, 17, 8, 30)
    >>> parse_date("2024-13-01"), parse_date("2024")
    (None, None)
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
