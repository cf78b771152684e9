"""Numbers of nodes: columns of their own, or vectors that are compared by their cosine.

A list is a *vector*, such as a language model makes of a text, if it has `FEWEST` numbers or more, at least a
quarter of them not 0. Vectors are kept as directions: scaled to length 1, in float32, projected to `MOST`
numbers where they are longer, and centred, because the vectors of language models share a large mean. All
other lists become a column for each number.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.dense import centre, make_unit, mean_of, project, random_signs
from heat_neo4j._utils.display import plural
from heat_neo4j._utils.scratch import Scratch, slices
from heat_neo4j.attributes.kinds import Block, Recipe, RecipeError, Rows, finite
from heat_neo4j.errors import ProjectionError

FEWEST = 32
"""Numbers of a vector, at least; shorter lists are a few numbers each with a meaning of its own."""
MOST = 256
"""Numbers kept of a vector; longer ones are projected."""
FILLED = 0.25
"""Share of numbers other than 0 from which lists are vectors."""

_LARGEST = 1e18  # squares of larger values overflow float32


def is_vector(entry: Recipe) -> bool:
    """Return whether an entry of a recipe encodes vectors: float32 rows of length 1, or of zeros."""
    return "centre" in entry


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


class Lists(Numbers):
    """A list of numbers per node, all of one length; an empty list is a missing value."""

    def __init__(self, name: str, kind: str, n_rows: int, scratch: Scratch) -> None:
        super().__init__(name, kind, n_rows, scratch)
        self._lengths: Counter[int] = Counter()
        self._first_of: dict[int, int] = {}  # the first row of each length
        self._parts: list[sparse.coo_array] = []  # wide rows, while all have few numbers other than 0
        self._signs: NDArray[np.float32] | None = None  # of the projection, if there is one
        self._are_directions = False
        self._n_filled = 0

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """Add lists; those of another length are only counted."""
        sizes = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        for length in set(sizes.tolist()) - {0}:
            own = rows[sizes == length]
            self._lengths[length] += own.size
            self._first_of[length] = min(self._first_of.get(length, len(self.present)), int(own.min()))
        if not self._lengths:
            return
        if not self.width:
            self.width = max(self._lengths, key=lambda length: (self._lengths[length], length))
            if self.width <= MOST:
                dtype = np.float32 if self.width >= FEWEST else np.float64
                self.values = self.scratch.zeros((len(self.present), self.width), dtype)
        there = np.flatnonzero(sizes == self.width)
        largest = {} if self.width < FEWEST else {"largest": _LARGEST}
        for part in slices(there.size, self.width):
            own = there[part]
            numbers = chain.from_iterable(values[i] for i in own.tolist())
            block = finite(self.name, numbers, own.size * self.width, **largest).reshape(-1, self.width)
            self._store(rows[own], block)
        self.present[rows[there]] = True

    def check(self, name_of: Callable[[int], str] | None) -> None:
        """Raise ProjectionError, with counts and the name of a node, if lists differ in length."""
        if len(self._lengths) < 2:
            return
        (usual, most), *others = sorted(self._lengths.items(), key=lambda item: (-item[1], item[0]))
        counts = " and ".join(f"{length:,} on {count:,}" for length, count in others)
        row = min(self._first_of[length] for length, _ in others)
        first = "" if name_of is None else f", first on node {name_of(row)}"
        counts = f"{plural(usual, 'number')} on {plural(most, 'node')} and {counts}"
        what = f"lists of several lengths: {counts}{first}"
        advice = "give all nodes lists of one length, as one model makes them, or leave the attribute out"
        raise ProjectionError(f"attribute {self.name!r} has {what}: {advice}")

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """Return how the lists of the nodes `rows` become columns, as JSON data."""
        if not self._is_vector():
            return super().learn(rows, max_categories)
        self._make_directions()
        mean = mean_of(self.values, rows[self.present[rows]]).tolist()
        columns = [f"{self.name}[{i}]" for i in range(len(mean))]
        return {"kind": self.kind, "width": self.width, "centre": mean, "columns": columns}

    def encode(self, recipe: Recipe, rows: Rows) -> tuple[Block, int]:
        """Return the columns of the nodes `rows`, in that order."""
        if self.present[rows].any():
            self._check_fit(recipe)
        if is_vector(recipe):
            return self._vectors(recipe, rows), 0
        return (self._sparse(recipe, rows), 0) if self._parts else super().encode(recipe, rows)

    def _check_fit(self, recipe: Recipe) -> None:
        width = recipe["width"] if is_vector(recipe) else len(recipe["mean"])
        if self.width != width:
            what = f"lists of {plural(self.width, 'number')} where its recipe has {width}"
        elif self._are_directions and not is_vector(recipe):
            what = "vectors where its recipe has single numbers"
        else:
            return
        raise RecipeError(f"attribute {self.name!r} has {what}: fit it anew")

    def _store(self, rows: Rows, block: NDArray[np.float64] | NDArray[np.float32]) -> None:
        filled = np.count_nonzero(block, axis=1)
        self._n_filled += int(filled.sum())
        if self.width <= MOST:
            self.values[rows] = block
        elif self._signs is None and filled.max(initial=0) <= MOST:
            entries = sparse.coo_array(block.astype(np.float32))
            shape = len(self.present), self.width
            self._parts.append(sparse.coo_array((entries.data, (rows[entries.row], entries.col)), shape))
        else:
            self._project(rows, block.astype(np.float32))

    def _is_vector(self) -> bool:
        n_numbers = int(self.present.sum()) * self.width
        return self._signs is not None or (self.width >= FEWEST and self._n_filled >= FILLED * n_numbers)

    def _make_directions(self) -> None:
        """Turn `values` into directions, float32."""
        if self._are_directions:
            return
        self._are_directions = True
        if self.width > MOST:
            self._project(np.empty(0, dtype=np.int64), np.empty((0, self.width), dtype=np.float32))
        else:
            self.values = self.values.astype(np.float32, copy=False)
            make_unit(self.values)

    def _project(self, rows: Rows, block: NDArray[np.float32]) -> None:
        """Store the projected directions of rows, and of those that were sparse until now."""
        if self._signs is None:
            self._signs = random_signs(self.width, MOST)
            self.values = self.scratch.zeros((len(self.present), MOST), np.float32)
        parts, self._parts, self._are_directions = self._parts, [], True
        for part in parts:
            own = np.unique(part.row)
            self._project(own.astype(np.int64), sparse.csr_array(part)[own].toarray())
        make_unit(block)
        projected = project(block, self._signs)
        make_unit(projected)
        self.values[rows] = projected

    def _vectors(self, recipe: Recipe, rows: Rows) -> NDArray[np.float32]:
        self._make_directions()
        mean = np.array(recipe["centre"], dtype=np.float64)
        encoded: NDArray[np.float32] = self.scratch.zeros((rows.size, mean.size), np.float32)
        if self.present[rows].any():
            for part in slices(rows.size, mean.size):
                block = self.values[rows[part]]
                centre(block, mean)
                encoded[part] = block
        return encoded

    def _sparse(self, recipe: Recipe, rows: Rows) -> sparse.csr_array:
        """Return a column for each number of wide rows, with the means where a list is missing."""
        mean, missing = np.array(recipe["mean"], dtype=np.float64), ~self.present[rows]
        means = sparse.csr_array(missing[:, None] * sparse.csr_array(mean[None, :]))
        values = sparse.csr_array(self._exact()[rows] + means)
        mark = sparse.csr_array(missing[:, None].astype(np.float64))
        return sparse.csr_array(sparse.hstack([values, mark])) if recipe["missing"] else values

    def _exact(self) -> sparse.csr_array:
        """Return wide rows with few numbers other than 0, shape (n_rows, width)."""
        data, row, column = (
            np.concatenate([getattr(part, name) for part in self._parts]) for name in ("data", "row", "col")
        )
        shape = len(self.present), self.width
        return sparse.csr_array((data.astype(np.float64), (row, column)), shape=shape)

    def _means(self, rows: Rows) -> list[float]:
        if not self._parts:
            return super()._means(rows)
        columns = sparse.csc_array(self._exact()[rows])
        ends, count = columns.indptr, max(rows.size, 1)
        return [fsum(columns.data[ends[i] : ends[i + 1]].tolist()) / count for i in range(self.width)]
