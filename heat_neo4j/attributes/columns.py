"""The values of one property, kept compactly, and how they become columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.attributes.values import BOOLEAN, NUMBER, TAGS, VECTOR, finite
from heat_neo4j.errors import ProjectionError

__all__ = ["Block", "Column", "new_column"]

Recipe = Mapping[str, Any]
Block = NDArray[np.float64] | sparse.csr_array
Rows = NDArray[np.int64]

# Distinct strings kept while reading; more means text or identifiers, which tell nodes apart but relate none.
_MOST_DISTINCT = 1_000_000


class Column(Protocol):
    """Values of one property over all nodes."""

    kind: str

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """Take values, none of them None, of the nodes `rows`."""

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """Return how the values of the nodes `rows` become columns, as JSON data."""

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        """Return the columns of the nodes `rows`, in that order."""


def new_column(name: str, kind: str, n_rows: int) -> Column:
    """Return an empty column of that kind for `n_rows` nodes."""
    if kind in (NUMBER, BOOLEAN):
        return _Numbers(name, kind, n_rows)
    if kind == VECTOR:
        return _Vectors(name, n_rows)
    return _Strings(name, kind, n_rows)


class _Numbers:
    """One number a node, NaN where it is missing."""

    def __init__(self, name: str, kind: str, n_rows: int) -> None:
        self.name, self.kind = name, kind
        self.values = np.full(n_rows, np.nan)

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        self.values[rows] = finite(self.name, values, len(values))

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        values = self.values[rows]
        missing = np.isnan(values)
        recipe = {"property": self.name, "kind": self.kind, "mean": _mean(values[~missing])}
        return recipe | _with_indicator(self.name, [self.name], missing=bool(missing.any()))

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        values = self.values[rows]
        missing = np.isnan(values)
        filled = np.where(missing, recipe["mean"], values)[:, None]
        return np.hstack([filled, missing[:, None]]) if recipe["missing"] else filled


class _Vectors:
    """A list of numbers a node, all of one length."""

    kind = VECTOR

    def __init__(self, name: str, n_rows: int) -> None:
        self.name = name
        self.n_rows = n_rows
        self.values = np.empty((n_rows, 0))
        self.present = np.zeros(n_rows, dtype=np.bool_)

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        width = self.values.shape[1] or len(values[0])
        other = next((len(value) for value in values if len(value) != width), width)
        if other != width:
            advice = "give all nodes lists of one length, or leave the attribute out"
            raise ProjectionError(
                f"attribute {self.name!r} has lists of {width} and of {other} numbers: {advice}"
            )
        if not self.values.shape[1]:
            self.values = np.zeros((self.n_rows, width))
        numbers = finite(self.name, chain.from_iterable(values), len(values) * width)
        self.values[rows] = numbers.reshape(len(values), width)
        self.present[rows] = True

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        present = self.present[rows]
        width = range(self.values.shape[1])
        means = [_mean(self.values[rows[present], i]) for i in width]
        recipe = {"property": self.name, "kind": self.kind, "mean": means}
        names = [f"{self.name}[{i}]" for i in width]
        return recipe | _with_indicator(self.name, names, missing=not present.all())

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        present = self.present[rows]
        mean = np.asarray(recipe["mean"])
        if not present.any():
            values = np.zeros((rows.size, mean.size))
        elif self.values.shape[1] == mean.size:
            values = self.values[rows]
        else:
            what = f"lists of {self.values.shape[1]} numbers where its recipe has {mean.size}"
            raise ProjectionError(f"attribute {self.name!r} has {what}: fit it anew")
        values[~present] = mean
        return np.hstack([values, ~present[:, None]]) if recipe["missing"] else values


class _Strings:
    """Strings as codes: one a node (a category) or a list of them (tags)."""

    def __init__(self, name: str, kind: str, n_rows: int) -> None:
        self.name, self.kind, self.n_rows = name, kind, n_rows
        self.code_of: dict[str, int] = {}
        self.rows: list[NDArray[np.int32]] = []
        self.codes: list[NDArray[np.int32]] = []

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        if self.kind == TAGS:
            sizes = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
            rows, values = np.repeat(rows, sizes), list(chain.from_iterable(values))
        code_of = self.code_of
        for value in set(values).difference(code_of):
            code_of[value] = len(code_of)
        if len(code_of) > _MOST_DISTINCT:
            what = f"more than {_MOST_DISTINCT:,} different strings"
            advice = "it looks like text or an identifier, which cannot be an attribute: leave it out"
            raise ProjectionError(f"attribute {self.name!r} has {what}: {advice}")
        self.rows.append(rows.astype(np.int32))
        self.codes.append(np.fromiter(map(code_of.__getitem__, values), dtype=np.int32, count=len(values)))

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        _, codes = self._entries(rows)
        counts = np.bincount(codes, minlength=len(self.code_of)).tolist()
        used = [(-counts[code], value) for value, code in self.code_of.items() if counts[code]]
        kept = sorted(value for _, value in sorted(used)[:max_categories])
        other = len(used) > len(kept)
        names = [f"{self.name}={value}" for value in kept] + ([f"{self.name}:other"] if other else [])
        return {"property": self.name, "kind": self.kind, "values": kept, "other": other, "columns": names}

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        kept = {value: column for column, value in enumerate(recipe["values"])}
        column_of = np.full(len(self.code_of), len(kept) if recipe["other"] else -1, dtype=np.int64)
        for value, code in self.code_of.items():
            column_of[code] = kept.get(value, column_of[code])
        positions, codes = self._entries(rows)
        columns = column_of[codes]
        known = columns >= 0
        ones = np.ones(int(known.sum()))
        shape = (rows.size, len(recipe["columns"]))
        block = sparse.csr_array((ones, (positions[known], columns[known])), shape=shape)
        block.sum_duplicates()
        block.data[:] = 1.0  # a string that a list holds twice, or two rare ones, count once
        return block

    def _entries(self, rows: Rows) -> tuple[Rows, NDArray[np.int32]]:
        """Return, for every string of the nodes `rows`, the position of its node in `rows` and its code."""
        if not self.rows:
            return np.empty(0, np.int64), np.empty(0, np.int32)
        position_of = np.full(self.n_rows, -1, dtype=np.int64)
        position_of[rows] = np.arange(rows.size)
        positions = position_of[np.concatenate(self.rows)]
        return positions[positions >= 0], np.concatenate(self.codes)[positions >= 0]


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean by a sum without rounding errors, in which the order of the values cannot matter."""
    return math.fsum(values.tolist()) / max(values.size, 1)


def _with_indicator(name: str, columns: list[str], *, missing: bool) -> dict[str, Any]:
    return {"missing": missing, "columns": [*columns, f"{name}:missing"] if missing else columns}
