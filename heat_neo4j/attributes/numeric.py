"""Values that are one number or a few: numbers, booleans, dates, durations, lists, times of day, points.

The mean of missing values is ours: that of `SimpleImputer` depends on the order of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.attributes.values import Block, Point, Recipe, RecipeError, Rows, TimeOfDay, finite
from heat_neo4j.errors import ProjectionError

__all__ = ["Numbers", "Points", "Times", "Vectors"]

_WGS_84 = {4326, 4979}  # longitude and latitude, without and with a height


class Numbers:
    """One number a node, or as many on each; a node that has none has NaN."""

    def __init__(self, name: str, kind: str, n_rows: int) -> None:
        self.name, self.kind = name, kind
        self.values = np.full((n_rows, 1), np.nan)
        self.width = 0  # unknown until there is a value

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """As `Column.add`."""
        numbers = self._numbers(values)
        if not self.width:
            self.width = numbers.shape[1]
            self.values = np.full((len(self.values), self.width), np.nan)
        self.values[rows] = numbers

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """As `Column.learn`."""
        missing = np.isnan(self.values[rows, 0])
        means = [_mean(self.values[rows[~missing], column]) for column in range(self.width)]
        indicator = [f"{self.name}:missing"] if missing.any() else []
        return {
            "kind": self.kind,
            **self._coordinate_system(),
            "mean": self._mean_entry(means),
            "missing": bool(indicator),
            "columns": self._column_names() + indicator,
        }

    def encode(self, recipe: Recipe, rows: Rows) -> tuple[Block, int]:
        """As `Column.encode`."""
        mean = np.atleast_1d(recipe["mean"])
        missing = np.isnan(self.values[rows, 0])
        if missing.all():
            values = np.tile(mean, (rows.size, 1))
        else:
            self._check_fit(recipe)
            values = self.values[rows]
            values[missing] = mean
        return (np.hstack([values, missing[:, None]]) if recipe["missing"] else values), 0

    def _numbers(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """Return the values as finite numbers, shape (len(values), width)."""
        return finite(self.name, values, len(values))[:, None]

    def _column_names(self) -> list[str]:
        return [self.name]

    def _mean_entry(self, means: list[float]) -> Any:
        return means[0]

    def _coordinate_system(self) -> dict[str, Any]:
        return {}

    def _check_fit(self, recipe: Recipe) -> None:
        """Raise `RecipeError` if the recipe is for lists of another length, or another coordinate system."""


class Vectors(Numbers):
    """A list of numbers a node, all of one length."""

    def _numbers(self, values: Sequence[Any]) -> NDArray[np.float64]:
        width = self.width or len(values[0])
        other = next((len(value) for value in values if len(value) != width), width)
        if other != width:
            fewer, more = sorted((width, other))
            advice = "give all nodes lists of one length, or leave the attribute out"
            raise ProjectionError(
                f"attribute {self.name!r} has lists of {fewer} and of {more} numbers: {advice}"
            )
        return finite(self.name, chain.from_iterable(values), len(values) * width).reshape(-1, width)

    def _column_names(self) -> list[str]:
        return [f"{self.name}[{i}]" for i in range(self.width)]

    def _mean_entry(self, means: list[float]) -> Any:
        return means

    def _check_fit(self, recipe: Recipe) -> None:
        expected = len(recipe["mean"])
        if self.width != expected:
            what = f"lists of {self.width} numbers where its recipe has {expected}"
            raise RecipeError(f"attribute {self.name!r} has {what}: fit it anew")


class Times(Vectors):
    """A time of day a node, as a point of the circle: midnight is near to a minute before it."""

    def _numbers(self, values: Sequence[TimeOfDay]) -> NDArray[np.float64]:
        # Not by NumPy, whose sine of a value may depend on the values beside it.
        angles = [2 * math.pi * value for value in values]
        return np.array([(math.sin(angle), math.cos(angle)) for angle in angles])

    def _column_names(self) -> list[str]:
        return [f"{self.name}:sin", f"{self.name}:cos"]


class Points(Vectors):
    """A point a node, all of one coordinate system; those of the globe lie on the unit sphere."""

    srid: int | None = None

    def _numbers(self, values: Sequence[Point]) -> NDArray[np.float64]:
        srids = {value.srid for value in values} | (set() if self.srid is None else {self.srid})
        if len(srids) > 1:
            mixture = " and ".join(map(str, sorted(srids)))
            advice = "give all nodes points of one coordinate system, or leave the attribute out"
            raise ProjectionError(f"attribute {self.name!r} mixes points of srid {mixture}: {advice}")
        (self.srid,) = srids
        coordinates = [coordinate for value in values for coordinate in value.coordinates]
        numbers = finite(self.name, coordinates, len(coordinates)).reshape(len(values), -1)
        return np.hstack([_on_sphere(numbers), numbers[:, 2:]]) if self.srid in _WGS_84 else numbers

    def _column_names(self) -> list[str]:
        last = ("height",) if self.srid in _WGS_84 else ()
        return [f"{self.name}:{axis}" for axis in ("x", "y", "z", *last)[: self.width]]

    def _coordinate_system(self) -> dict[str, Any]:
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
