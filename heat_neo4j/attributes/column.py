"""What a column of values is to the table that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.errors import ProjectionError

__all__ = ["Block", "Column", "Recipe", "RecipeError", "Rows"]

Recipe = Mapping[str, Any]
Block = NDArray[np.float64] | sparse.csr_array
Rows = NDArray[np.int64]


class RecipeError(ProjectionError):
    """The values are not such as the recipe that is to encode them was learnt on."""


class Column(Protocol):
    """Values of one attribute over all nodes."""

    kind: str

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """Take values, none of them None, of the nodes `rows`."""

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """Return how the values of the nodes `rows` become columns, as JSON data."""

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        """Return the columns of the nodes `rows`, in that order."""

    def unknown(self, recipe: Recipe, rows: Rows) -> int:
        """Return how many values of the nodes `rows` the recipe has no column for."""
