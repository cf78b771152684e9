"""Texts as weights of their words, TF-IDF, the words told apart by a hash only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.attributes.values import TEXT, Block, Recipe, Rows
from heat_neo4j.errors import ProjectionError

__all__ = ["HASHED", "Texts"]

_Places = NDArray[np.int32]

HASHED = 2**12
"""Numbers that words are hashed to, at most as many columns."""


class Texts:
    """How often each hashed word stands in the text of each node; the texts themselves are not kept."""

    kind = TEXT

    def __init__(self, name: str, n_rows: int) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer  # takes longer than many commands do

        self.name, self.n_rows = name, n_rows
        self.hasher = HashingVectorizer(n_features=HASHED, alternate_sign=False, norm=None)
        self.present = np.zeros(n_rows, dtype=np.bool_)
        self.rows: list[NDArray[np.int32]] = []
        self.words: list[NDArray[np.int16]] = []
        self.counts: list[NDArray[np.int32]] = []

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """As `Column.add`."""
        hashed = self.hasher.transform(values)
        self.present[rows] = True
        self.rows.append(np.repeat(rows, np.diff(hashed.indptr)).astype(np.int32))
        self.words.append(hashed.indices.astype(np.int16))
        self.counts.append(hashed.data.astype(np.int32))

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """As `Column.learn`."""
        _, words, _ = self._entries(rows)
        texts = np.bincount(words, minlength=HASHED)  # that hold each word
        hashed = np.flatnonzero(texts).tolist()
        if not hashed:
            advice = "leave it out, or choose another"
            raise ProjectionError(f"text {self.name!r} has no word of two letters or more: {advice}")
        n_texts = int(self.present[rows].sum())
        idf = [math.log((1 + n_texts) / (1 + count)) + 1 for count in texts[hashed].tolist()]
        return {
            "kind": self.kind,
            "hashed": hashed,
            "idf": idf,
            "columns": [f"{self.name}#{word}" for word in hashed],
        }

    def encode(self, recipe: Recipe, rows: Rows) -> Block:
        """As `Column.encode`."""
        positions, columns, counts = self._places(recipe, rows)
        if (columns < 0).any():
            known = columns >= 0
            positions, columns, counts = positions[known], columns[known], counts[known]
        # Not by NumPy, whose logarithm of a value may depend on the values beside it.
        frequency = np.array([0.0, *(1 + math.log(count) for count in range(1, 1 + counts.max(initial=0)))])
        weights = np.asarray(recipe["idf"])[columns]
        weights *= frequency[counts]
        shape = (rows.size, len(recipe["columns"]))
        block = sparse.csr_array((weights, (positions, columns)), shape=shape)
        block.sum_duplicates()  # sorts: the norm must not depend on an order
        row_of = np.repeat(np.arange(rows.size, dtype=np.int32), np.diff(block.indptr))
        block.data /= np.sqrt(np.bincount(row_of, block.data**2, minlength=rows.size))[row_of]
        return block

    def unknown(self, recipe: Recipe, rows: Rows) -> int:
        """As `Column.unknown`."""
        return int((self._places(recipe, rows)[1] < 0).sum())

    def _places(self, recipe: Recipe, rows: Rows) -> tuple[_Places, _Places, _Places]:
        """Return the place of every word in the block, its column -1 if there is none, and its count."""
        column_of = np.full(HASHED, -1, dtype=np.int32)
        column_of[recipe["hashed"]] = np.arange(len(recipe["hashed"]))
        positions, words, counts = self._entries(rows)
        return positions, column_of[words], counts

    def _entries(self, rows: Rows) -> tuple[_Places, NDArray[np.int16], _Places]:
        """Return, for every word of the nodes `rows`, the position of its node in `rows`, hash and count."""
        if not self.rows:
            return np.empty(0, np.int32), np.empty(0, np.int16), np.empty(0, np.int32)
        position_of = np.full(self.n_rows, -1, dtype=np.int32)
        position_of[rows] = np.arange(rows.size)
        positions = position_of[np.concatenate(self.rows)]
        words, counts = np.concatenate(self.words), np.concatenate(self.counts)
        if (positions >= 0).all():
            return positions, words, counts
        there = positions >= 0
        return positions[there], words[there], counts[there]
