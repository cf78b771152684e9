"""Columns of one number per node, or of a fixed number of them."""

from collections.abc import Sequence
from itertools import chain
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.scratch import Scratch, slices
from heat_neo4j.attributes.kinds import Block, Recipe, Rows


class Numbers:
    """Some numbers per node, with means where they are missing; subclasses define which."""

    def __init__(self, name: str, kind: str, n_rows: int, scratch: Scratch) -> None:
        self.name, self.kind, self.scratch = name, kind, scratch
        self.present = np.zeros(n_rows, dtype=np.bool_)
        self.values: NDArray[Any] = np.empty((n_rows, 0))
        self.width = 0  # unknown until there is a value

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """Add values, none of them None, of the nodes `rows`."""
        numbers = self._numbers(values)
        if not self.width:
            self.width = numbers.shape[1]
            self.values = self.scratch.zeros((len(self.present), self.width))
        self.values[rows], self.present[rows] = numbers, True

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """Return how the values of the nodes `rows` become columns, as JSON data."""
        missing = ~self.present[rows]
        indicator = [f"{self.name}:missing"] if missing.any() else []
        return {
            "kind": self.kind,
            **self._coordinate_system(),
            "mean": self._mean_entry(self._means(rows[~missing])),
            "missing": bool(indicator),
            "columns": self._column_names() + indicator,
        }

    def encode(self, recipe: Recipe, rows: Rows) -> tuple[Block, int]:
        """Return the columns of the nodes `rows`, in that order, and 0: every value has one."""
        mean = np.atleast_1d(recipe["mean"])
        missing = ~self.present[rows]
        if not missing.all():
            self._check_fit(recipe)
        encoded: NDArray[np.float64] = self.scratch.zeros((rows.size, mean.size + recipe["missing"]))
        for part in slices(rows.size, mean.size):
            there = ~missing[part]
            encoded[part, : mean.size] = mean
            encoded[part, mean.size :] = missing[part, None]
            if there.any():
                encoded[part, : mean.size][there] = self.values[rows[part][there]]
        return encoded, 0

    def _means(self, rows: Rows) -> list[float]:
        """Return the mean of each column; exact sums make it independent of the order of rows."""
        count = max(rows.size, 1)
        columns = chain.from_iterable(self.values[:, part][rows].T for part in slices(self.width, count))
        return [fsum(column.tolist()) / count for column in columns]

    def _numbers(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """Return the values as finite numbers, shape (len(values), width)."""
        raise NotImplementedError

    def _column_names(self) -> list[str]:
        return [f"{self.name}[{i}]" for i in range(self.width)]

    def _mean_entry(self, means: list[float]) -> Any:
        return means

    def _coordinate_system(self) -> dict[str, Any]:
        return {}

    def _check_fit(self, recipe: Recipe) -> None:
        """Raise `RecipeError` if the recipe has another list length or coordinate system."""
