"""What an entry of a recipe holds, in a few words."""

from __future__ import annotations

import math

from heat_neo4j.attributes.column import Recipe
from heat_neo4j.attributes.plain import Date, Duration, TimeOfDay
from heat_neo4j.attributes.values import DATE, DURATION, POINT, TEXT, TIME, VECTOR

__all__ = ["described"]


def described(entry: Recipe) -> str:
    """Return what an entry of a recipe holds.

    Examples
    --------
    >>> described({"kind": "number", "mean": 2000.75})
    'mean 2000.75'
    >>> described({"kind": "category", "values": ["KDD", "WWW"], "other": True})
    '2 categories, one column for others'
    """
    kind = entry["kind"]
    if kind == TEXT:
        return f"vocabulary of {len(entry['hashed']):,} hashed words"
    if "values" in entry:
        count = len(entry["values"])
        text = f"{count:,} {'category' if count == 1 else 'categories'}"
        return f"{text}, one column for others" if entry["other"] else text
    if kind == POINT:
        return f"srid {entry['srid']}, mean {', '.join(f'{mean:.6g}' for mean in entry['mean'])}"
    if kind == VECTOR:
        return f"means of {len(entry['mean'])} numbers"
    return f"mean {_mean(entry)}"


def _mean(entry: Recipe) -> str:
    kind, mean = entry["kind"], entry["mean"]
    if kind == TIME:
        return repr(TimeOfDay(math.atan2(*mean) / (2 * math.pi) % 1.0))
    readable = {DATE: Date, DURATION: Duration}
    return repr(readable[kind](mean)) if kind in readable else f"{mean:.6g}"
