"""Facets: what the page colours and filters nodes by, such as their labels, a property or their cluster.

A property is shown as groups, or, if it holds numbers or dates, as shades of one scale of colours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.pipeline.published_model import texts

N_GROUPS = 10  # most groups with a colour of their own
_TELLING = 0.5  # of the nodes with a value, the share that these groups must hold
_LONGEST_TEXT = 240
N_SHADES = 64
_SHARE = 0.95  # of the values that must be numbers, or dates
_SKEW = 6  # the range in interquartile ranges, from which on values are shown by rank
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Groups:
    """A property of N nodes as groups.

    Parameters
    ----------
    name : str
        The property.
    values : sequence of str or None
        The group of each node, None for none; empty if the nodes are not told apart.
    """

    name: str
    values: Sequence[str | None]

    @property
    def is_telling(self) -> bool:
        """Whether the groups with a colour hold at least half of the nodes that have a value."""
        counts = Counter(filter(None, self.values))
        largest = sum(count for _, count in counts.most_common(N_GROUPS))
        return len(counts) > 1 and largest >= _TELLING * counts.total()


@dataclass(frozen=True, eq=False)
class ColourScale:
    """A property of N nodes as shades, dark for low values.

    Parameters
    ----------
    name : str
        The property.
    shade : uint8 array of shape (N,)
        0 to `N_SHADES` - 1; `N_SHADES` for a node that has no value on the scale.
    ticks : list of three str
        Values at the beginning, in the middle and at the end.
    by_rank : bool
        Whether a shade stands for the share of nodes with a lower value, rather than for the value itself.
    lowest, highest : list of str, `N_SHADES` each
        For each shade, the lowest value at or above it and the highest value at or below it.
    """

    name: str
    shade: NDArray[np.uint8]
    ticks: list[str]
    by_rank: bool
    lowest: list[str]
    highest: list[str]


def colour_scale(name: str, values: Sequence[Any]) -> ColourScale | None:
    """Return the scale of a property, one value or None per node; None where groups show it better.

    Groups are better for at most ten distinct values, or if fewer than 95% of the values are numbers (or
    dates). NaN, infinities and integers too large for a float count as None. A skewed property, half of whose
    values lie within a sixth of their range, is shown by rank.
    """
    read = [_number_or_date(value) for value in values]
    kinds = [kind for kind, _ in read]
    kind = max(("number", "date"), key=kinds.count)
    given = len(values) - kinds.count("none")
    numbers = np.array([number if own == kind else np.nan for own, number in read], dtype=np.float64)
    known = np.isfinite(numbers)
    ordered = np.sort(numbers[known])
    if len(ordered) < _SHARE * given or len(np.unique(ordered)) <= N_GROUPS:
        return None
    low, high = ordered[0], ordered[-1]
    extent = high / 2 - low / 2  # half of it: the whole may be infinite
    lower, upper = ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]
    by_rank = bool(upper / 2 - lower / 2 <= extent / _SKEW)
    if by_rank:
        last = int(np.searchsorted(ordered, high))
        share, middle = np.searchsorted(ordered, numbers[known]) / last, ordered[last // 2]
    else:
        share, middle = (numbers[known] / 2 - low / 2) / extent, low / 2 + high / 2
        middle = np.floor(middle) if np.array_equal(ordered, np.floor(ordered)) else middle
    shade = np.full(len(values), N_SHADES, dtype=np.uint8)
    shade[known] = np.minimum(share * N_SHADES, N_SHADES - 1)
    rising, shades = np.sort(shade[known]), np.arange(N_SHADES)
    lowest = ordered[np.searchsorted(rising, shades)]
    highest = ordered[np.searchsorted(rising, shades, "right") - 1]
    ticks, *ends = (_ticks(kind, each) for each in ((low, middle, high), lowest.tolist(), highest.tolist()))
    return ColourScale(name, shade, ticks, by_rank, *ends)


def _number_or_date(value: Any) -> tuple[str, float]:
    """Return "number", "date" (in seconds since 1970 UTC), "other" or "none", and the number."""
    try:
        if hasattr(value, "to_native"):  # the driver's dates and times
            value = value.to_native()
        if isinstance(value, Real) and not isinstance(value, bool):
            kind, number = "number", float(value)
        elif isinstance(value, date):
            kind, number = "date", _seconds(value)
        else:
            return "none" if value is None else "other", math.nan
    except (OverflowError, ValueError):  # an integer beyond all floats, a date in the year 0
        return "none", math.nan
    return kind if math.isfinite(number) else "none", number


def _seconds(value: date) -> float:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds()


def _ticks(kind: str, numbers: Sequence[float]) -> list[str]:
    if kind == "number":
        return [f"{number:.6g}" for number in numbers]
    moments = [str(np.datetime64(int(number), "s")) for number in numbers]
    days = [moment[:10] for moment in moments]
    return days if len(set(days)) == len(days) else [moment[5:16].replace("T", " ") for moment in moments]


Facet = Groups | ColourScale


def facet_of(name: str, values: Sequence[Any]) -> Facet:
    """Return a property, one value or None per node, as `colour_scale` makes of it, or else as groups."""
    return colour_scale(name, values) or Groups(name, texts(values, _LONGEST_TEXT))
