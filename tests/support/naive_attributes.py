"""A slow, plain twin of heat_neo4j.attributes: one node at a time, Python dicts, no arrays."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time
from fractions import Fraction

from sklearn.utils import murmurhash3_32


def encode_slowly(values: dict[str, list], max_categories: int) -> tuple[list[str], list[list[float]]]:
    """Return column names and rows for raw values by property, None where missing."""
    n = len(next(iter(values.values())))
    names: list[str] = []
    rows: list[list[float]] = [[] for _ in range(n)]
    for name, column in values.items():
        present = [value for value in column if value is not None]
        sample = next(value for value in present if value != [])
        if isinstance(sample, str):
            new_names, new_rows = _strings(name, [[] if v is None else [v] for v in column], max_categories)
        elif isinstance(sample, list) and isinstance(sample[0], str):
            new_names, new_rows = _strings(name, [v or [] for v in column], max_categories)
        else:
            new_names, new_rows = _numbers(name, column, isinstance(sample, list))
        names += new_names
        for row, new_row in zip(rows, new_rows, strict=True):
            row.extend(new_row)
    return names, rows


def _numbers(name, column, listed):
    lists = [value if listed or value is None else [value] for value in column]
    present = [value for value in lists if value is not None]
    means = [float(sum(map(Fraction, elements))) / len(present) for elements in zip(*present, strict=True)]
    names = [f"{name}[{i}]" for i in range(len(means))] if listed else [name]
    rows = [[float(element) for element in (means if value is None else value)] for value in lists]
    if len(present) < len(lists):
        names = [*names, f"{name}:missing"]
        rows = [[*row, float(value is None)] for row, value in zip(rows, lists, strict=True)]
    return names, rows


def _strings(name, lists, max_categories):
    counts: dict[str, int] = {}
    for strings in lists:
        for string in strings:
            counts[string] = counts.get(string, 0) + 1
    ranked = sorted(counts, key=lambda string: (-counts[string], string))
    kept, rare = sorted(ranked[:max_categories]), set(ranked[max_categories:])
    names = [f"{name}={string}" for string in kept] + ([f"{name}:other"] if rare else [])
    rows = []
    for strings in lists:
        row = [float(string in strings) for string in kept]
        rows.append([*row, float(bool(rare & set(strings)))] if rare else row)
    return names, rows


def days_slowly(value: date | datetime) -> float:
    """Return days since 1970 UTC by Python's own calendar; without a zone is UTC."""
    if not isinstance(value, datetime):
        return float((value - date(1970, 1, 1)).days)
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    gap = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return float(Fraction(gap.days) + Fraction(gap.seconds * 10**6 + gap.microseconds, 86400 * 10**6))


def day_slowly(value: time) -> float:
    """Return the fraction of the day in UTC; without an offset is UTC."""
    seconds = Fraction(value.hour * 3600 + value.minute * 60 + value.second)
    seconds += Fraction(value.microsecond, 10**6)
    offset = value.utcoffset()
    return float((seconds - (0 if offset is None else int(offset.total_seconds()))) % 86400 / 86400)


def on_sphere_slowly(longitude: float, latitude: float) -> list[float]:
    """Return the point of the unit sphere: by complex numbers, not by products of sines."""
    around = complex(0, 1) ** (longitude / 90)
    up = complex(0, 1) ** (latitude / 90)
    return [up.real * around.real, up.real * around.imag, up.imag]


def texts_slowly(name: str, texts: list[str | None], features: int) -> tuple[list[str], list[list[float]]]:
    """Return TF-IDF of hashed words: smoothed idf, sublinear tf, rows of length 1."""
    counts: list[dict[int, int]] = []
    for text in texts:
        count: dict[int, int] = {}
        for word in re.findall(r"\b\w\w+\b", (text or "").lower()):
            place = abs(murmurhash3_32(word)) % features
            count[place] = count.get(place, 0) + 1
        counts.append(count)
    hashed = sorted({place for count in counts for place in count})
    n_texts = sum(text is not None for text in texts)
    idf = {
        place: math.log((1 + n_texts) / (1 + sum(place in count for count in counts))) + 1 for place in hashed
    }
    rows = []
    for count in counts:
        row = [(1 + math.log(count[place])) * idf[place] if place in count else 0.0 for place in hashed]
        length = math.sqrt(math.fsum(value * value for value in row)) or 1.0
        rows.append([value / length for value in row])
    return [f"{name}#{place}" for place in hashed], rows
