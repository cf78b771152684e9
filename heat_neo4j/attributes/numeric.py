"""Values that are one number or a few: numbers, booleans, dates, durations, lists, times of day, points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.attributes.values import (
    DATE,
    DURATION,
    POINT,
    TIME,
    VECTOR,
    Block,
    Point,
    Recipe,
    RecipeError,
    Rows,
    TimeOfDay,
    finite,
)
from heat_neo4j.errors import ProjectionError

__all__ = ["Dates", "Durations", "Numbers", "Points", "Times", "Vectors"]

_GLOBE = {4326, 4979}  # the coordinate systems with longitude and latitude


class Numbers:
    """One number a node, NaN where it is missing."""

    def __init__(self, name: str, kind: str, n_rows: int) -> None:
        self.name, self.kind = name, kind
        self.values = np.full(n_rows, np.nan)

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """As `Column.add`."""
        self.values[rows] = finite(self.name, values, len(values))

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """As `Column.learn`."""
        values = self.values[rows]
        missing = np.isnan(values)
        recipe = {"kind": self.kind, "mean": _mean(values[~missing])}
        return recipe | _with_indicator(self.name, [self.name], missing=bool(missing.any()))

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        """As `Column.encode`."""
        values = self.values[rows]
        missing = np.isnan(values)
        filled = np.where(missing, recipe["mean"], values)[:, None]
        return np.hstack([filled, missing[:, None]]) if recipe["missing"] else filled

    def unknown(self, recipe: Recipe, rows: Rows) -> int:
        """As `Column.unknown`."""
        return 0


class Dates(Numbers):
    """Days since 1970, one number a node."""

    def __init__(self, name: str, n_rows: int) -> None:
        super().__init__(name, DATE, n_rows)


class Durations(Numbers):
    """Seconds, one number a node."""

    def __init__(self, name: str, n_rows: int) -> None:
        super().__init__(name, DURATION, n_rows)


class _Rows:
    """Several numbers a node, as many on each."""

    kind: str

    def __init__(self, name: str, n_rows: int) -> None:
        self.name = name
        self.n_rows = n_rows
        self.values = np.empty((n_rows, 0))
        self.present = np.zeros(n_rows, dtype=np.bool_)

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """As `Column.learn`."""
        present = self.present[rows]
        means = [_mean(self.values[rows[present], i]) for i in range(self.values.shape[1])]
        recipe = {"kind": self.kind, **self._facts(), "mean": means}
        return recipe | _with_indicator(self.name, self._names(), missing=not present.all())

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        """As `Column.encode`."""
        present = self.present[rows]
        mean = np.asarray(recipe["mean"])
        if present.any():
            self._check_fit(recipe)
            values = self.values[rows]
        else:
            values = np.zeros((rows.size, mean.size))
        values[~present] = mean
        return np.hstack([values, ~present[:, None]]) if recipe["missing"] else values

    def unknown(self, recipe: Recipe, rows: Rows) -> int:
        """As `Column.unknown`."""
        return 0

    def _put(self, rows: Rows, numbers: NDArray[np.float64]) -> None:
        if not self.values.shape[1]:
            self.values = np.zeros((self.n_rows, numbers.shape[1]))
        self.values[rows] = numbers
        self.present[rows] = True

    def _names(self) -> list[str]:
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        """Return what the recipe says of the values beside their means."""
        return {}

    def _check_fit(self, recipe: Recipe) -> None:
        """Raise `RecipeError` if the recipe is for other values."""


class Vectors(_Rows):
    """A list of numbers a node, all of one length."""

    kind = VECTOR

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """As `Column.add`."""
        width = self.values.shape[1] or len(values[0])
        other = next((len(value) for value in values if len(value) != width), width)
        if other != width:
            advice = "give all nodes lists of one length, or leave the attribute out"
            raise ProjectionError(
                f"attribute {self.name!r} has lists of {width} and of {other} numbers: {advice}"
            )
        numbers = finite(self.name, chain.from_iterable(values), len(values) * width)
        self._put(rows, numbers.reshape(len(values), width))

    def _names(self) -> list[str]:
        return [f"{self.name}[{i}]" for i in range(self.values.shape[1])]

    def _check_fit(self, recipe: Recipe) -> None:
        found, expected = self.values.shape[1], len(recipe["mean"])
        if found != expected:
            what = f"lists of {found} numbers where its recipe has {expected}"
            raise RecipeError(f"attribute {self.name!r} has {what}: fit it anew")


class Times(_Rows):
    """A time of day a node, as a point of the circle: midnight is near to a minute before it."""

    kind = TIME

    def add(self, rows: Rows, values: Sequence[TimeOfDay]) -> None:
        """As `Column.add`."""
        # Not by NumPy, whose sine of a value may depend on the values beside it.
        turns = [2 * math.pi * value for value in values]
        self._put(rows, np.array([(math.sin(turn), math.cos(turn)) for turn in turns]))

    def _names(self) -> list[str]:
        return [f"{self.name}:sin", f"{self.name}:cos"]


class Points(_Rows):
    """A point a node, all of one coordinate system; those of the globe lie on the unit sphere."""

    kind = POINT

    def __init__(self, name: str, n_rows: int) -> None:
        super().__init__(name, n_rows)
        self.srid: int | None = None

    def add(self, rows: Rows, values: Sequence[Point]) -> None:
        """As `Column.add`."""
        srids = {value.srid for value in values} | (set() if self.srid is None else {self.srid})
        if len(srids) > 1:
            found = " and ".join(map(str, sorted(srids)))
            advice = "give all nodes points of one coordinate system, or leave the attribute out"
            raise ProjectionError(f"attribute {self.name!r} mixes points of srid {found}: {advice}")
        (self.srid,) = srids
        width = len(values[0].coordinates)
        numbers = finite(
            self.name, chain.from_iterable(value.coordinates for value in values), len(values) * width
        ).reshape(len(values), width)
        if self.srid in _GLOBE:
            numbers = np.hstack([_on_sphere(numbers), numbers[:, 2:]])
        self._put(rows, numbers)

    def _names(self) -> list[str]:
        last = ("height",) if self.srid in _GLOBE else ()
        return [f"{self.name}:{axis}" for axis in ("x", "y", "z", *last)[: self.values.shape[1]]]

    def _facts(self) -> dict[str, Any]:
        return {"srid": self.srid}

    def _check_fit(self, recipe: Recipe) -> None:
        if self.srid != recipe["srid"]:
            what = f"points of srid {self.srid} where its recipe has {recipe['srid']}"
            raise RecipeError(f"attribute {self.name!r} has {what}: fit it anew")


def _on_sphere(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return longitudes and latitudes, shape (m, 2) or more, as points of the unit sphere, shape (m, 3)."""
    rows = []
    for longitude, latitude in np.deg2rad(degrees[:, :2]).tolist():
        width = math.cos(latitude)
        rows.append((width * math.cos(longitude), width * math.sin(longitude), math.sin(latitude)))
    return np.array(rows)


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean by a sum without rounding errors, in which the order of the values cannot matter."""
    return math.fsum(values.tolist()) / max(values.size, 1)


def _with_indicator(name: str, columns: list[str], *, missing: bool) -> dict[str, Any]:
    return {"missing": missing, "columns": [*columns, f"{name}:missing"] if missing else columns}
