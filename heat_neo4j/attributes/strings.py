"""Strings that name a category, lists of them, and texts as TF-IDF weights of hashed words.

`OneHotEncoder` takes no lists and wants all strings at once, where chunks come here; of 100,000 logarithms
by NumPy, as `TfidfTransformer` takes them, 259 differed from those of `math` in the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.attributes.values import Block, Kind, Recipe, Rows
from heat_neo4j.errors import ProjectionError

__all__ = ["HASHED", "Strings", "Texts"]

HASHED = 2**12
"""Numbers that words are hashed to, at most as many columns."""

# Distinct strings kept while reading; more means text or identifiers, which tell nodes apart but relate none.
_MOST_DISTINCT = 1_000_000


class _Entries:
    """Chunks of entries: arrays of nodes, of the codes of what they hold, and perhaps of counts."""

    def __init__(self, n_rows: int, *dtypes: type[np.integer[Any]]) -> None:
        self.n_rows, self.dtypes = n_rows, dtypes
        self.chunks: list[list[NDArray[Any]]] = []
        self.add(*(np.empty(0) for _ in dtypes))

    def add(self, *arrays: NDArray[Any]) -> None:
        self.chunks.append([array.astype(dtype) for array, dtype in zip(arrays, self.dtypes, strict=True)])

    def of(self, rows: Rows) -> list[NDArray[Any]]:
        """Return the entries of the nodes `rows`, each node as its position in `rows`."""
        position_of = np.full(self.n_rows, -1, dtype=np.int32)
        position_of[rows] = np.arange(rows.size)
        nodes, *others = (np.concatenate(chunks) for chunks in zip(*self.chunks, strict=True))
        positions = position_of[nodes]
        inside = positions >= 0
        if inside.all():  # the usual case: no second copy
            return [positions, *others]
        return [positions[inside], *(array[inside] for array in others)]


class Strings:
    """Strings as codes: one a node (a category) or a list of them (tags)."""

    def __init__(self, name: str, kind: str, n_rows: int) -> None:
        self.name, self.kind = name, kind
        self.code_of: dict[str, int] = {}
        self.entries = _Entries(n_rows, np.int32, np.int32)

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """As `Column.add`."""
        if self.kind == Kind.TAGS:
            sizes = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
            rows, values = np.repeat(rows, sizes), list(chain.from_iterable(values))
        code_of = self.code_of
        for value in set(values).difference(code_of):
            code_of[value] = len(code_of)
        if len(code_of) > _MOST_DISTINCT:
            what = f"more than {_MOST_DISTINCT:,} different strings"
            advice = "it looks like text, which `text` reads, or like an identifier: leave that out"
            raise ProjectionError(f"attribute {self.name!r} has {what}: {advice}")
        codes = np.fromiter(map(code_of.__getitem__, values), dtype=np.int32, count=len(values))
        self.entries.add(rows, codes)

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """As `Column.learn`."""
        _, codes = self.entries.of(rows)
        counts = np.bincount(codes, minlength=len(self.code_of)).tolist()
        used = [(-counts[code], value) for value, code in self.code_of.items() if counts[code]]
        frequent = sorted(value for _, value in sorted(used)[:max_categories])
        other = len(used) > len(frequent)
        names = [f"{self.name}={value}" for value in frequent] + ([f"{self.name}:other"] if other else [])
        return {"kind": self.kind, "values": frequent, "other": other, "columns": names}

    def encode(self, recipe: Recipe, rows: Rows) -> tuple[Block, int]:
        """As `Column.encode`."""
        column_of_value = {value: column for column, value in enumerate(recipe["values"])}
        rest = len(column_of_value) if recipe["other"] else -1
        column_of = np.array([column_of_value.get(value, rest) for value in self.code_of], dtype=np.int64)
        positions, codes = self.entries.of(rows)
        columns = column_of[codes]
        has_column = columns >= 0
        positions, columns = positions[has_column], columns[has_column]
        shape = (rows.size, len(recipe["columns"]))
        block = sparse.csr_array((np.ones(columns.size), (positions, columns)), shape=shape)
        block.sum_duplicates()
        block.data[:] = 1.0  # a string that a list holds twice, or two rare ones, count once
        return block, codes.size - columns.size


class Texts:
    """How often each hashed word stands in the text of each node; the texts themselves are not kept."""

    kind = Kind.TEXT.value

    def __init__(self, name: str, kind: str, n_rows: int) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer  # takes longer than many commands do

        self.name = name
        self.hasher = HashingVectorizer(n_features=HASHED, alternate_sign=False, norm=None)
        self.present = np.zeros(n_rows, dtype=np.bool_)
        self.entries = _Entries(n_rows, np.int32, np.int16, np.int32)

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """As `Column.add`."""
        hashed = self.hasher.transform(values)
        self.present[rows] = True
        self.entries.add(np.repeat(rows, np.diff(hashed.indptr)), hashed.indices, hashed.data)

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """As `Column.learn`."""
        _, words, _ = self.entries.of(rows)
        n_texts_with = np.bincount(words, minlength=HASHED)
        hashed = np.flatnonzero(n_texts_with).tolist()
        if not hashed:
            advice = "leave it out, or choose another"
            raise ProjectionError(f"text {self.name!r} has no word of two letters or more: {advice}")
        n_texts = int(self.present[rows].sum())
        idf = [math.log((1 + n_texts) / (1 + count)) + 1 for count in n_texts_with[hashed].tolist()]
        columns = [f"{self.name}#{word}" for word in hashed]
        return {"kind": self.kind, "hashed": hashed, "idf": idf, "columns": columns}

    def encode(self, recipe: Recipe, rows: Rows) -> tuple[Block, int]:
        """As `Column.encode`."""
        column_of = np.full(HASHED, -1, dtype=np.int32)
        column_of[recipe["hashed"]] = np.arange(len(recipe["hashed"]))
        positions, words, counts = self.entries.of(rows)
        columns = column_of[words]
        has_column = columns >= 0
        n_unknown = int(columns.size - has_column.sum())
        if n_unknown:
            positions, columns, counts = positions[has_column], columns[has_column], counts[has_column]
        # Not by NumPy, whose logarithm of a value may depend on the values beside it.
        frequency = np.array([0.0, *(1 + math.log(count) for count in range(1, 1 + counts.max(initial=0)))])
        weights = np.asarray(recipe["idf"])[columns]
        weights *= frequency[counts]
        block = sparse.csr_array((weights, (positions, columns)), shape=(rows.size, len(recipe["columns"])))
        block.sum_duplicates()  # sorts: the norm must not depend on an order
        row_of = np.repeat(np.arange(rows.size, dtype=np.int32), np.diff(block.indptr))
        block.data /= np.sqrt(np.bincount(row_of, block.data**2, minlength=rows.size))[row_of]
        return block, n_unknown
