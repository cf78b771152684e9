"""A slow, plain twin of heat_neo4j.attributes: one node at a time, Python dicts, no arrays."""

from __future__ import annotations

from fractions import Fraction


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
