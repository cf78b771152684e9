"""`AttributeTable`: collects property values in chunks and encodes them as one attribute matrix.

The encoding of each property is an entry of a *recipe*: JSON data that defines its columns and how values
fill them. The recipe can be applied to other nodes later (`encode`).

| values of a property         | columns                                            | missing value  |
|------------------------------|----------------------------------------------------|----------------|
| numbers, booleans            | ``year``                                           | mean           |
| dates, with or without times | ``born``: days since 1970-01-01 UTC                | mean           |
| durations                    | ``took``: seconds                                  | mean           |
| times of day                 | ``opens:sin``, ``opens:cos``: the day as a circle  | means          |
| points in a plane or space   | ``at:x``, ``at:y``, perhaps ``at:z``               | means          |
| points on the globe          | as above, on a unit sphere; perhaps ``at:height``  | means          |
| lists of up to 31 numbers    | ``size[0]``, ``size[1]``, ...                      | means          |
| vectors                      | ``vector[0]``, ... at most 256                     | all 0          |
| strings                      | ``venue=KDD``, ... one-hot                         | all 0          |
| lists of strings             | ``words=graph``, ... a 1 for each string           | all 0          |
| texts                        | ``abstract#17``, ... TF-IDF of hashed words        | all 0          |
| encoded texts                | ``abstract[0]``, ... the encoder's vector          | all 0          |

Vectors are lists of 32 numbers or more, most of them not 0 (`heat_neo4j.attributes.vectors`). Means are taken
over present values. A property with means that is missing on some nodes has an indicator
column ``year:missing``, which is 1 on these nodes. Strings beyond the maximum number of categories share the
column ``venue:other``. An attribute of one label is learned on the nodes with that label, and its columns
start with ``Paper.``; all other nodes have its means, or 0 without means.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.scratch import IN_MEMORY, Scratch, slices
from heat_neo4j.attributes.columns import Column, check_entry, hashed_words, make_column
from heat_neo4j.attributes.encoder import load_encoder
from heat_neo4j.attributes.kinds import (
    BadValuesError,
    Block,
    Date,
    Duration,
    Kind,
    Recipe,
    RecipeError,
    TimeOfDay,
    kind_of,
    mixed,
    not_text,
    parse_date,
    parse_number,
)
from heat_neo4j.attributes.vectors import Lists, is_vector
from heat_neo4j.errors import ProjectionError

# Below this share of non-zero values CSR is both smaller and faster than a dense array.
_SPARSE_BELOW = 0.25

_MANY = 20
"""Fewer categories than this are never too many."""

Masks = Mapping[str, NDArray[np.bool_]]


def described(entry: Recipe) -> str:
    """Return a description of an entry of a recipe.

    >>> described({"kind": "category", "values": ["KDD", "WWW"], "other": True})
    '2 categories, one column for others'
    """
    kind = entry["kind"]
    if kind == Kind.TEXT:
        return f"vocabulary of {entry['n_columns']:,} hashed words"
    if "values" in entry:
        count = len(entry["values"])
        text = f"{count:,} {'category' if count == 1 else 'categories'}"
        return f"{text}, one column for others" if entry["other"] else text
    if kind == Kind.POINT:
        return f"srid {entry['srid']}, mean {', '.join(f'{mean:.6g}' for mean in entry['mean'])}"
    if is_vector(entry):
        width, kept = entry["width"], len(entry["centre"])
        made = f"{entry['encoder']}, " if kind == Kind.ENCODED else ""
        return f"{made}vectors of {width:,} numbers" + (f", projected to {kept}" if kept < width else "")
    if kind == Kind.VECTOR:
        return f"means of {plural(len(entry['mean']), 'number')}"
    return f"mean {_mean(entry)}"


def _column_names(entry: Recipe) -> Sequence[str]:
    if entry["kind"] != Kind.TEXT:
        return entry["columns"]  # type: ignore[no-any-return]
    name = Attribute.of(entry).name
    return [f"{name}#{word}" for word in hashed_words(entry).tolist()]


def odd_category(entry: Recipe, n_nodes: int) -> tuple[str, str] | None:
    """Return a reason and a better kind ("date", "number" or "text") for a poor category; None if it is fine.

    `n_nodes` nodes have a value. Strings that are dates, numbers with a decimal point, or nearly all distinct
    make poor categories.

    >>> odd_category({"kind": "category", "values": ["1.5", "2.5"], "other": False}, 2)
    ('holds numbers as strings, each a separate category', 'number')
    """
    values = entry["values"] if entry["kind"] == Kind.CATEGORY else ()
    if not values:
        return None
    if all(parse_date(text) is not None for text in values):
        return "holds dates as strings, each a separate category", "date"
    is_many = len(values) >= _MANY and (entry["other"] or 2 * len(values) > n_nodes)
    if all(parse_number(text, decimal_comma=True) is not None for text in values):
        if is_many or any("." in text or "," in text for text in values):
            return "holds numbers as strings, each a separate category", "number"
    elif is_many:
        count = f"{len(values):,}{' and more' if entry['other'] else ''}"
        return f"holds {count} different strings on {n_nodes:,} nodes, each a separate category", "text"
    return None


def _mean(entry: Recipe) -> str:
    kind, mean = entry["kind"], entry["mean"]
    if kind == Kind.TIME:
        return repr(TimeOfDay(math.atan2(*mean) / (2 * math.pi) % 1.0))
    readable = {Kind.DATE: Date, Kind.DURATION: Duration}
    return repr(readable[kind](mean)) if kind in readable else f"{mean:.6g}"


@dataclass(frozen=True)
class Attribute:
    """A property of nodes that becomes columns."""

    key: str  # the property's name
    label: str | None = None  # only nodes with this label have the attribute
    text: bool = False  # whether its strings are texts, not categories
    encoded: bool = False  # whether they are texts that become vectors

    @classmethod
    def of(cls, entry: Recipe) -> Self:
        """Return the attribute of an entry of a recipe."""
        kind = entry["kind"]
        return cls(entry["property"], entry.get("label"), kind == Kind.TEXT, kind == Kind.ENCODED)

    @classmethod
    def readings(
        cls, key: str, label: str | None = None, *, text: Collection[str], encode: Collection[str]
    ) -> Iterator[Self]:
        """Yield the attributes that a property becomes: one, or two of a text that is read in both ways."""
        if key in text or key not in encode:
            yield cls(key, label, text=key in text)
        if key in encode:
            yield cls(key, label, encoded=True)

    @property
    def name(self) -> str:
        """Prefix of its column names."""
        return self.key if self.label is None else f"{self.label}.{self.key}"

    def __str__(self) -> str:
        """Return its name, marked if it is a text."""
        mark = " (text)" if self.text else " (encoded)" if self.encoded else ""
        return f"{self.name}{mark}"


def attributes_of(recipe: Sequence[Recipe]) -> list[Attribute]:
    """Return the attributes of a recipe; raises RecipeError if it is damaged."""
    for entry in recipe:
        check_entry(entry)
    return [Attribute.of(entry) for entry in recipe]


@dataclass(frozen=True)
class Attributes:
    """Attribute columns of N nodes."""

    matrix: Block  # (N, F); sparse if less than a quarter of the values are nonzero
    names: tuple[str, ...]  # names of the F columns
    recipe: tuple[dict[str, Any], ...]  # one entry per attribute, as JSON data, for `apply`
    unknown: int = 0  # values without a column: strings and words unknown to the recipe

    @property
    def filled(self) -> int:
        """Number of nonzero values."""
        return _filled(self.matrix)


class AttributeTable:
    """Values of several properties, collected in chunks in any order.

    It stores 8 bytes per number, list element or string, and 10 per distinct word of a text; Python objects
    are stored only for distinct strings.

    The strings of one property have at most `max_categories` columns. `labels` holds masks of shape (n_rows,)
    for the labels of attributes; no node has a missing label. Numbers and dense matrices are allocated in
    `scratch`. `name_of` returns the name of a row for error messages; `is_sample` says that the rows are a
    sample of the nodes.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute],
        n_rows: int,
        *,
        max_categories: int,
        labels: Masks | None = None,
        scratch: Scratch = IN_MEMORY,
        name_of: Callable[[int], str] | None = None,
        is_sample: bool = False,
    ) -> None:
        self._attributes, self._name_of, self._is_sample = tuple(attributes), name_of, is_sample
        self._n_rows, self._max_categories, self._scratch = n_rows, max_categories, scratch
        if any(each.encoded for each in attributes):
            load_encoder()  # if it is not installed, say so before anything is read
        everywhere, nowhere = np.ones(n_rows, dtype=np.bool_), np.zeros(n_rows, dtype=np.bool_)
        self._masks = {
            each: everywhere if each.label is None else (labels or {}).get(each.label, nowhere)
            for each in attributes
        }
        self._columns: dict[Attribute, Column] = {}
        # For each attribute one value of each kind.
        self._examples: dict[Attribute, dict[str, Any]] = {each: {} for each in attributes}

    def add(self, rows: NDArray[np.int64], values: Mapping[str, Sequence[Any]]) -> None:
        """Add the values of each property at the nodes `rows`, None for a missing value.

        Values are numbers, booleans, strings, lists of these, and the types of
        `heat_neo4j.attributes.kinds`. Raises ProjectionError, with property and value, if a value cannot be
        encoded or is inconsistent with earlier ones.
        """
        for attribute in self._attributes:
            own_rows, own_values = rows, values[attribute.key]
            if attribute.label is not None:
                inside = np.flatnonzero(self._masks[attribute][rows])
                own_rows, own_values = rows[inside], [own_values[i] for i in inside.tolist()]
            try:
                kind = kind_of(attribute.name, own_values)
                if kind is not None:
                    self._add(attribute, kind, own_rows, own_values)
            except BadValuesError as error:
                bad = own_rows[np.array([error.is_bad(value) for value in own_values], dtype=np.bool_)]
                if self._name_of is None or not bad.size:
                    raise
                is_part = self._is_sample or rows.size < self._n_rows
                raise error.on(self._name_of(int(bad[0])), bad.size - 1, at_least=is_part) from None

    def check(self) -> None:
        """Raise ProjectionError if a property is missing on all nodes, or has lists of several lengths."""
        missing = [each for each in self._attributes if each not in self._columns]
        if missing:
            raise self._no_values(missing[0])
        self._check_columns()

    def _check_columns(self) -> None:
        for column in self._columns.values():
            if isinstance(column, Lists):
                column.check(self._name_of)

    def finish(self, rows: NDArray[np.int64]) -> Attributes:
        """Return the attributes of the nodes `rows`, in that order.

        The result depends only on the values, not on the order or size of chunks. Raises ProjectionError if a
        property is missing on all nodes, or a text has no words.
        """
        self.check()
        return self._assemble([self._learn(each, rows) for each in self._attributes], rows)

    def apply(self, recipe: Sequence[Recipe], rows: NDArray[np.int64]) -> Attributes:
        """Return the attributes of the nodes `rows`, in that order, by an existing recipe.

        Raises RecipeError if the recipe is damaged or for other attributes, or if values differ in kind,
        length or srid.
        """
        of = attributes_of(recipe)
        if set(of) != set(self._attributes):
            names = [", ".join(sorted(map(str, which))) for which in (of, self._attributes)]
            raise RecipeError(f"the recipe covers attributes {names[0]}, not {names[1]}")
        self._check_columns()
        for attribute, entry in zip(of, recipe, strict=True):
            kind = self._column(attribute, entry["kind"]).kind
            if kind != entry["kind"]:
                what = f"{kind} values where its recipe has {entry['kind']}"
                raise RecipeError(f"attribute {attribute.name!r} has {what}")
        return self._assemble(recipe, rows)

    def _add(self, attribute: Attribute, kind: str, rows: NDArray[np.int64], values: Sequence[Any]) -> None:
        present = [i for i, value in enumerate(values) if value is not None]
        if len(present) < len(values):
            rows, values = rows[present], [values[i] for i in present]
        example = next((value for value in values if value), values[0])
        if attribute.text or attribute.encoded:
            if kind != Kind.CATEGORY:
                raise not_text(attribute.name, kind, example)
            kind = (Kind.TEXT if attribute.text else Kind.ENCODED).value
        examples = self._examples[attribute]
        examples.setdefault(kind, example)
        if len(examples) > 1 and set(examples) not in ({Kind.EMPTY, Kind.TAGS}, {Kind.EMPTY, Kind.VECTOR}):
            raise mixed(attribute.name, examples)
        if kind != Kind.EMPTY:  # an empty list has nothing to note
            self._column(attribute, kind).add(rows, values)

    def _column(self, attribute: Attribute, kind: str) -> Column:
        if attribute not in self._columns:
            self._columns[attribute] = make_column(attribute.name, kind, self._n_rows, self._scratch)
        return self._columns[attribute]

    def _no_values(self, attribute: Attribute) -> ProjectionError:
        which = "" if attribute.label is None else f" of label {attribute.label!r}"
        empty = "holds nothing but empty lists"
        what = empty if self._examples[attribute] else f"is on no matching node{which}"
        return ProjectionError(f"attribute {attribute.name!r} {what}: leave it out, or choose another")

    def _learn(self, attribute: Attribute, rows: NDArray[np.int64]) -> dict[str, Any]:
        label = {} if attribute.label is None else {"label": attribute.label}
        entry = self._columns[attribute].learn(rows[self._masks[attribute][rows]], self._max_categories)
        # An entry of a text has its own count, and no names.
        return {"property": attribute.key, **label, "n_columns": len(entry.get("columns", ())), **entry}

    def _assemble(self, recipe: Sequence[Recipe], rows: NDArray[np.int64]) -> Attributes:
        blocks: list[Block] = []
        unknown = 0
        for entry in recipe:
            attribute = Attribute.of(entry)
            inside = self._masks[attribute][rows]
            block, without_column = self._columns[attribute].encode(entry, rows[inside])
            unknown += without_column
            blocks.append(block if inside.all() else self._widened(block, inside, entry))
        names = tuple(name for entry in recipe for name in _column_names(entry))
        matrix = self._joined(blocks, rows.size, len(names))
        return Attributes(matrix, names, tuple(map(dict, recipe)), unknown)

    def _widened(self, block: Block, inside: NDArray[np.bool_], entry: Recipe) -> Block:
        """Extend a block of the nodes `inside` to all nodes; the others have means, or 0 without means."""
        shape = (inside.size, block.shape[1])
        if not isinstance(block, np.ndarray):
            entries = sparse.coo_array(block)
            coordinates = (np.flatnonzero(inside)[entries.row], entries.col)
            return sparse.csr_array((entries.data, coordinates), shape=shape)
        full = self._scratch.zeros(shape, block.dtype)
        if not is_vector(entry):
            mean = np.atleast_1d(entry["mean"])
            full[:, : mean.size] = mean
        nodes = np.flatnonzero(inside)
        for part in slices(nodes.size, shape[1]):
            full[nodes[part]] = block[part]
        return full

    def _joined(self, blocks: Sequence[Block], n_rows: int, n_columns: int) -> Block:
        """Concatenate blocks horizontally, as CSR or dense depending on their density."""
        filled = sum(map(_filled, blocks))
        if blocks and filled < _SPARSE_BELOW * n_rows * n_columns:
            joined = sparse.hstack([sparse.csr_array(block) for block in blocks], format="csr")
            return sparse.csr_array(joined, shape=(n_rows, n_columns))
        if len(blocks) == 1 and isinstance(blocks[0], np.ndarray):
            return blocks[0]  # the large case, a list of numbers: no second copy
        result = self._scratch.zeros(
            (n_rows, n_columns), np.result_type(np.float32, *(block.dtype for block in blocks))
        )
        start = 0
        for block in blocks:
            stop = start + block.shape[1]
            for part in slices(n_rows, block.shape[1]):
                rows = block[part]
                result[part, start:stop] = rows.toarray() if sparse.issparse(rows) else rows
            start = stop
        return result


def _filled(block: Block) -> int:
    return int(block.nnz if sparse.issparse(block) else np.count_nonzero(block))
