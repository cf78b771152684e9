"""Columns of attributes: how the values of a property become numbers.

Values are one number or a few (numbers, booleans, dates, durations, lists, times of day, points), strings
(categories), lists of strings, or texts, as TF-IDF weights of hashed words. scikit-learn's
`SimpleImputer` has means that depend on the order of rows; its `OneHotEncoder` takes no lists and wants all
strings at once, where chunks come here; NumPy's logarithms, as its `TfidfTransformer` takes them, end in
other digits on another processor, and in another place of an array.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.elementwise import cos, log, sin
from heat_neo4j._utils.packing import pack, unpack
from heat_neo4j._utils.scratch import Scratch
from heat_neo4j.attributes.encoder import EncodedTexts
from heat_neo4j.attributes.kinds import (
    Block,
    Kind,
    Point,
    Recipe,
    RecipeError,
    Rows,
    TimeOfDay,
    finite,
)
from heat_neo4j.attributes.vectors import MOST, Lists, Numbers
from heat_neo4j.errors import ProjectionError

HASHED = 2**20  # numbers that words are hashed to: so many that two words rarely share one
_STORED = "<i4"  # how recipes hold words, as steps from one to the next, and numbers of texts
_WGS_84 = {4326, 4979}  # longitude and latitude, without and with a height
# Distinct strings kept while reading; more means text or identifiers, which tell nodes apart but relate none.
_MOST_DISTINCT = 1_000_000


def make_column(name: str, kind: str, n_rows: int, scratch: Scratch) -> "Column":
    """Return an empty column for values of the given kind."""
    return _COLUMNS.get(kind, _Number)(name, kind, n_rows, scratch)


def check_entry(entry: Any) -> None:
    """Raise RecipeError if an entry of a recipe is not a valid result of `learn` of a column."""
    if not _is_entry(entry):
        raise RecipeError("the recipe is damaged: it is not one that was learnt from attributes")


def _is_entry(entry: Any) -> bool:
    match entry:
        case {"property": str(), "kind": Kind.TEXT, "n_columns": int(n_columns), **rest}:
            return isinstance(rest.get("label"), str | None) and _is_vocabulary(rest, n_columns)
        case {"property": str(), "kind": kind, "n_columns": n_columns, "columns": [*columns], **rest}:
            is_named = _are(str, columns) and isinstance(rest.get("label"), str | None)
            return is_named and len(columns) == n_columns and _is_coding(kind, rest, len(columns))
    return False


def _is_vocabulary(entry: Mapping[Any, Any], n_words: int) -> bool:
    """Return whether an entry holds the words of texts, and in how many texts each is."""
    match entry:
        case {"words": str(words), "texts_with": str(texts_with), "n_texts": int(n_texts)} if (
            n_words <= HASHED
        ):
            try:
                steps, counts = unpack(words, _STORED, n_words), unpack(texts_with, _STORED, n_words)
            except ValueError:
                return False
            is_ascending = n_words > 0 and steps.min() > 0 and steps.sum(dtype=np.int64) <= HASHED
            return bool(is_ascending and counts.min() > 0 and counts.max() <= n_texts)
    return False


def _is_coding(kind: Any, entry: Mapping[Any, Any], n_columns: int) -> bool:
    """Return whether an entry is a valid encoding of a kind with `n_columns` columns."""
    match kind, entry:
        case Kind.CATEGORY | Kind.TAGS, {"values": [*values], "other": bool(other)}:
            return _are(str, values) and len(values) + other == n_columns
        case (Kind.VECTOR, {"centre": [*centre], "width": int(width)}) | (
            Kind.ENCODED,
            {"centre": [*centre], "width": int(width), "encoder": str()},
        ):
            return _are(float, centre) and len(centre) == n_columns == min(width, MOST)
        case (
            (Kind.VECTOR, {"mean": [*mean], "missing": bool(missing)})
            | (Kind.TIME, {"mean": [_, _] as mean, "missing": bool(missing)})
            | (Kind.POINT, {"mean": [*mean], "missing": bool(missing), "srid": int()})
        ):
            return _are(float, mean) and len(mean) + missing == n_columns
        case Kind.NUMBER | Kind.BOOLEAN | Kind.DATE | Kind.DURATION, {"mean": mean, "missing": bool(missing)}:
            return _are(float, [mean]) and 1 + missing == n_columns
    return False


def _are(kind: type, values: Sequence[Any]) -> bool:
    """Return whether all values have a type; integers also count as floats."""
    return all(isinstance(value, int | float if kind is float else kind) for value in values)


class _Number(Numbers):
    """One number per node."""

    def _numbers(self, values: Sequence[Any]) -> NDArray[np.float64]:
        return finite(self.name, values, len(values))[:, None]

    def _column_names(self) -> list[str]:
        return [self.name]

    def _mean_entry(self, means: list[float]) -> Any:
        return means[0]


class _Times(Numbers):
    """A time of day per node, as a point on the circle, so that times before and after midnight are close."""

    def _numbers(self, values: Sequence[TimeOfDay]) -> NDArray[np.float64]:
        angles = 2 * math.pi * np.array(values, dtype=np.float64)
        return np.column_stack((sin(angles), cos(angles)))

    def _column_names(self) -> list[str]:
        return [f"{self.name}:sin", f"{self.name}:cos"]


class _Points(Numbers):
    """A point per node, all in one coordinate system; geographic points are mapped to the unit sphere."""

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
        elif self.width != len(recipe["mean"]):
            what = f"points of {self.width} columns where its recipe has {len(recipe['mean'])}"
        else:
            return
        raise RecipeError(f"attribute {self.name!r} has {what}: fit it anew")


class _Entries:
    """Chunks of entries: arrays of nodes, value codes, and optionally counts."""

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


class _Strings:
    """Strings as codes: one per node (a category) or a list of them (tags)."""

    def __init__(self, name: str, kind: str, n_rows: int, scratch: Scratch) -> None:
        self.name, self.kind = name, kind
        self.code_of: dict[str, int] = {}
        self.entries = _Entries(n_rows, np.int32, np.int32)

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
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
        _, codes = self.entries.of(rows)
        counts = np.bincount(codes, minlength=len(self.code_of)).tolist()
        used = [(-counts[code], value) for value, code in self.code_of.items() if counts[code]]
        frequent = sorted(value for _, value in sorted(used)[:max_categories])
        other = len(used) > len(frequent)
        names = [f"{self.name}={value}" for value in frequent] + ([f"{self.name}:other"] if other else [])
        return {"kind": self.kind, "values": frequent, "other": other, "columns": names}

    def encode(self, recipe: Recipe, rows: Rows) -> tuple[Block, int]:
        column_of_value = {value: column for column, value in enumerate(recipe["values"])}
        rest = len(column_of_value) if recipe["other"] else -1
        column_of = np.array([column_of_value.get(value, rest) for value in self.code_of], dtype=np.int64)
        positions, codes = self.entries.of(rows)
        columns = column_of[codes]
        has_column = columns >= 0
        positions, columns = positions[has_column], columns[has_column]
        shape = (rows.size, recipe["n_columns"])
        block = sparse.csr_array((np.ones(columns.size), (positions, columns)), shape=shape)
        block.sum_duplicates()
        block.data[:] = 1.0  # repeated strings in a list, and several rare ones, count once
        return block, codes.size - columns.size


def hashed_words(entry: Recipe) -> Rows:
    """Return the hashed word of each column of a text, ascending."""
    return np.cumsum(unpack(entry["words"], _STORED, entry["n_columns"]), dtype=np.int64) - 1


def word_hasher() -> Any:
    """Return the transformer from texts to counts of hashed words."""
    from sklearn.feature_extraction.text import HashingVectorizer  # slow to import

    return HashingVectorizer(n_features=HASHED, alternate_sign=False, norm=None)


class _Texts:
    """Counts of hashed words in each node's text; the texts themselves are not stored."""

    def __init__(self, name: str, kind: str, n_rows: int, scratch: Scratch) -> None:
        self.name, self.kind = name, kind
        self.hasher = word_hasher()
        self.present = np.zeros(n_rows, dtype=np.bool_)
        self.entries = _Entries(n_rows, np.int32, np.int32, np.int32)

    def add(self, rows: Rows, values: Sequence[Any]) -> None:
        hashed = self.hasher.transform(values)
        self.present[rows] = True
        self.entries.add(np.repeat(rows, np.diff(hashed.indptr)), hashed.indices, hashed.data)

    def learn(self, rows: Rows, max_categories: int) -> dict[str, Any]:
        _, words, _ = self.entries.of(rows)
        n_texts_with = np.bincount(words, minlength=HASHED)
        hashed = np.flatnonzero(n_texts_with)
        if not hashed.size:
            advice = "leave it out, or choose another"
            raise ProjectionError(f"text {self.name!r} has no word of two letters or more: {advice}")
        return {
            "kind": self.kind,
            "n_columns": int(hashed.size),
            "words": pack(np.diff(hashed, prepend=-1), _STORED),
            "texts_with": pack(n_texts_with[hashed], _STORED),
            "n_texts": int(self.present[rows].sum()),
        }

    def encode(self, recipe: Recipe, rows: Rows) -> tuple[Block, int]:
        n_columns = recipe["n_columns"]
        column_of = np.full(HASHED, -1, dtype=np.int32)
        column_of[hashed_words(recipe)] = np.arange(n_columns)
        positions, words, counts = self.entries.of(rows)
        columns = column_of[words]
        has_column = columns >= 0
        n_unknown = int(columns.size - has_column.sum())
        if n_unknown:
            positions, columns, counts = positions[has_column], columns[has_column], counts[has_column]
        frequency = np.append(0.0, 1 + log(np.arange(1, 1 + counts.max(initial=0))))
        n_texts_with = unpack(recipe["texts_with"], _STORED, n_columns)
        weights = (log((1 + recipe["n_texts"]) / (1 + n_texts_with)) + 1)[columns]
        weights *= frequency[counts]
        block = sparse.csr_array((weights, (positions, columns)), shape=(rows.size, n_columns))
        block.sum_duplicates()  # sorts: the norm must not depend on an order
        row_of = np.repeat(np.arange(rows.size, dtype=np.int32), np.diff(block.indptr))
        block.data /= np.sqrt(np.bincount(row_of, block.data**2, minlength=rows.size))[row_of]
        return block, n_unknown


def _on_sphere(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert longitudes and latitudes, shape (m, 2) or wider, to points on the unit sphere, shape (m, 3)."""
    longitude, latitude = degrees[:, :2].T * (math.pi / 180)
    width = cos(latitude)
    return np.column_stack((width * cos(longitude), width * sin(longitude), sin(latitude)))


Column = Numbers | _Strings | _Texts
"""Values of one attribute over all nodes."""

_COLUMNS: Mapping[str, type[Column]] = {
    Kind.VECTOR: Lists,
    Kind.TIME: _Times,
    Kind.POINT: _Points,
    Kind.CATEGORY: _Strings,
    Kind.TAGS: _Strings,
    Kind.TEXT: _Texts,
    Kind.ENCODED: EncodedTexts,
}
