"""Strings that name a category, and lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.attributes.values import TAGS, Block, Recipe, Rows
from heat_neo4j.errors import ProjectionError

__all__ = ["Strings"]

# Distinct strings kept while reading; more means text or identifiers, which tell nodes apart but relate none.
_MOST_DISTINCT = 1_000_000


class Strings:
    """Strings as codes: one a node (a category) or a list of them (tags)."""

    def __init__(self, name: str, kind: str, n_rows: int) -> None:
        self.name, self.kind, self.n_rows = name, kind, n_rows
        self.code_of: dict[str, int] = {}
        self.rows: list[NDArray[np.int32]] = []
        self.codes: list[NDArray[np.int32]] = []

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """As `Column.add`."""
        if self.kind == TAGS:
            sizes = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
            rows, values = np.repeat(rows, sizes), list(chain.from_iterable(values))
        code_of = self.code_of
        for value in set(values).difference(code_of):
            code_of[value] = len(code_of)
        if len(code_of) > _MOST_DISTINCT:
            what = f"more than {_MOST_DISTINCT:,} different strings"
            advice = "it looks like text, which `text` reads, or like an identifier: leave that out"
            raise ProjectionError(f"attribute {self.name!r} has {what}: {advice}")
        self.rows.append(rows.astype(np.int32))
        self.codes.append(np.fromiter(map(code_of.__getitem__, values), dtype=np.int32, count=len(values)))

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """As `Column.learn`."""
        _, codes = self._entries(rows)
        counts = np.bincount(codes, minlength=len(self.code_of)).tolist()
        used = [(-counts[code], value) for value, code in self.code_of.items() if counts[code]]
        kept = sorted(value for _, value in sorted(used)[:max_categories])
        other = len(used) > len(kept)
        names = [f"{self.name}={value}" for value in kept] + ([f"{self.name}:other"] if other else [])
        return {"kind": self.kind, "values": kept, "other": other, "columns": names}

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        """As `Column.encode`."""
        positions, columns = self._places(recipe, rows)
        known = columns >= 0
        ones = np.ones(int(known.sum()))
        shape = (rows.size, len(recipe["columns"]))
        block = sparse.csr_array((ones, (positions[known], columns[known])), shape=shape)
        block.sum_duplicates()
        block.data[:] = 1.0  # a string that a list holds twice, or two rare ones, count once
        return block

    def unknown(self, recipe: Recipe, rows: Rows) -> int:
        """As `Column.unknown`."""
        return int((self._places(recipe, rows)[1] < 0).sum())

    def _places(self, recipe: Recipe, rows: Rows) -> tuple[Rows, Rows]:
        """Return the place of every string in the block, its column -1 if the recipe has none for it."""
        kept = {value: column for column, value in enumerate(recipe["values"])}
        column_of = np.full(len(self.code_of), len(kept) if recipe["other"] else -1, dtype=np.int64)
        for value, code in self.code_of.items():
            column_of[code] = kept.get(value, column_of[code])
        positions, codes = self._entries(rows)
        return positions, column_of[codes]

    def _entries(self, rows: Rows) -> tuple[Rows, NDArray[np.int32]]:
        """Return, for every string of the nodes `rows`, the position of its node in `rows` and its code."""
        if not self.rows:
            return np.empty(0, np.int64), np.empty(0, np.int32)
        position_of = np.full(self.n_rows, -1, dtype=np.int64)
        position_of[rows] = np.arange(rows.size)
        positions = position_of[np.concatenate(self.rows)]
        return positions[positions >= 0], np.concatenate(self.codes)[positions >= 0]
