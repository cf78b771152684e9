"""Texts as vectors: the mean of the vectors of their tokens, from the optional package `wordllama`.

Its tokenizer and table of 32,000 x 256 numbers are read as files: its own code would set up logging, and
could download.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._kernels.sparse import dense_products
from heat_neo4j._utils.scratch import Scratch, slices
from heat_neo4j.attributes.kinds import Block, Recipe, RecipeError, Rows
from heat_neo4j.attributes.vectors import Lists
from heat_neo4j.errors import ConfigError, ProjectionError

_PACKAGE = "wordllama"
_TABLE = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


@dataclass(frozen=True, eq=False)
class Encoder:
    """A static encoder: a vector for each token."""

    name: str  # package and version: another version may have other vectors
    table: NDArray[np.float32]  # (tokens, width)
    tokenizer: Any

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the mean of the vectors of each text's tokens, shape (m, width); 0 for an empty text."""
        readable = [text.encode("utf-8", "replace").decode() for text in texts]  # no lone surrogates
        found = self.tokenizer.encode_batch(readable, add_special_tokens=False)
        counts = np.array([len(each.ids) for each in found], dtype=np.int64)
        tokens = np.fromiter(chain.from_iterable(each.ids for each in found), np.int32, int(counts.sum()))
        weights = np.repeat(1.0 / np.maximum(counts, 1), counts)
        bounds = np.concatenate(([0], np.cumsum(counts)))
        vectors: NDArray[np.float32] = dense_products(bounds, tokens, weights, self.table)
        return vectors


@cache
def load_encoder() -> Encoder:
    """Return the installed encoder; raises ConfigError if there is none."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError("encoding texts needs the extra 'text': pip install 'heat-neo4j[text]'")
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(spec.submodule_search_locations[0])
    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (table,) = load_file(folder / _TABLE).values()
    return Encoder(f"{_PACKAGE} {metadata.version(_PACKAGE)}", table.astype(np.float32), tokenizer)


class EncodedTexts(Lists):
    """A text per node, as a vector; an empty text is a missing value."""

    def __init__(self, name: str, kind: str, n_rows: int, scratch: Scratch) -> None:
        super().__init__(name, kind, n_rows, scratch)
        self.encoder = load_encoder()
        self.width = self.encoder.table.shape[1]
        self.values = scratch.zeros((n_rows, self.width), np.float32)

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        """Add texts."""
        for part in slices(rows.size, self.width):
            block = self.encoder.encode(list(values[part]))
            there = block.any(axis=1)
            self._store(rows[part][there], block[there])
            self.present[rows[part][there]] = True

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        """Return how the texts of the nodes `rows` become columns, as JSON data."""
        if not self.present[rows].any():
            raise ProjectionError(f"text {self.name!r} is empty: leave it out, or choose another")
        return {**super().learn(rows, max_categories), "encoder": self.encoder.name}

    def encode(self, recipe: Recipe, rows: Rows) -> tuple[Block, int]:
        """Return the columns of the nodes `rows`, in that order."""
        if recipe["encoder"] != self.encoder.name:
            what = f"texts encoded by {self.encoder.name} where its recipe has {recipe['encoder']}"
            raise RecipeError(f"attribute {self.name!r} has {what}")
        return super().encode(recipe, rows)
