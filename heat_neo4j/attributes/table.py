"""`AttributeTable`: takes property values in chunks, ends in one attribute matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.attributes.columns import Block, Column, new_column
from heat_neo4j.attributes.values import EMPTY, TAGS, kind_of, mixed
from heat_neo4j.errors import ProjectionError

__all__ = ["AttributeTable", "Attributes", "encode"]

# Below this share of non-zero values CSR is both smaller and faster than a dense array.
_SPARSE_BELOW = 0.25


@dataclass(frozen=True)
class Attributes:
    """Attribute columns of N nodes.

    Parameters
    ----------
    matrix : csr_array or array of shape (N, F)
        float64; sparse if less than a quarter of the values differ from 0.
    names : tuple of str
        Names of the F columns.
    recipe : tuple of dict
        One entry per property, as JSON data; `encode` takes it.
    """

    matrix: sparse.csr_array | NDArray[np.float64]
    names: tuple[str, ...]
    recipe: tuple[dict[str, Any], ...]


class AttributeTable:
    """Values of several properties, collected chunk by chunk in any order.

    It keeps 8 bytes for a number or an element of a list and 8 for a string, whatever the number of nodes;
    Python objects are kept only for distinct strings.

    Parameters
    ----------
    properties : sequence of str
        Names of the properties.
    n_rows : int
        Number of nodes N.
    max_categories : int
        Most columns for the strings of one property.
    """

    def __init__(self, properties: Sequence[str], n_rows: int, *, max_categories: int) -> None:
        self._properties = tuple(properties)
        self._n_rows = n_rows
        self._max_categories = max_categories
        self._columns: dict[str, Column] = {}
        self._seen: dict[str, dict[str, Any]] = {name: {} for name in properties}  # an example of each kind

    def add(self, rows: NDArray[np.int64], values: Mapping[str, Sequence[Any]]) -> None:
        """Take the values that the nodes `rows` have of each property.

        Parameters
        ----------
        rows : array of shape (m,)
            Nodes, from 0 to N - 1.
        values : mapping of str to sequence of length m
            Raw values as the driver gives them, None where a node lacks the property.

        Raises
        ------
        ProjectionError
            If a value cannot be read, or does not fit those before it; the message names property, value
            and what to do.
        """
        for name in self._properties:
            kind = kind_of(name, values[name])
            if kind is not None:
                self._add(name, kind, rows, values[name])

    def finish(self, rows: NDArray[np.int64]) -> Attributes:
        """Return the attributes of the nodes `rows`, in that order.

        Names, recipe and values depend on the values alone, not on the order or size of the chunks.

        Raises
        ------
        ProjectionError
            If none of these nodes has one of the properties.
        """
        missing = [name for name in self._properties if name not in self._columns]
        if missing:
            raise self._no_values(missing[0])
        recipe = [self._columns[name].learn(rows, self._max_categories) for name in self._properties]
        return self._assemble(recipe, rows)

    def apply(self, recipe: Sequence[Mapping[str, Any]]) -> Attributes:
        """Return the attributes of all nodes by a recipe learnt before.

        Raises
        ------
        ProjectionError
            If the values of a property are not of the recipe's kind or length.
        """
        for entry in recipe:
            name, kind = entry["property"], entry["kind"]
            found = self._column(name, kind).kind
            if found != kind:
                raise ProjectionError(f"attribute {name!r} has {found} values where its recipe has {kind}")
        return self._assemble(recipe, np.arange(self._n_rows))

    def _add(self, name: str, kind: str, rows: NDArray[np.int64], values: Sequence[Any]) -> None:
        present = [i for i, value in enumerate(values) if value is not None]
        if len(present) < len(values):
            rows, values = rows[present], [values[i] for i in present]
        seen = self._seen[name]
        seen.setdefault(kind, next((value for value in values if value), values[0]))
        if len(seen) > 1 and set(seen) != {EMPTY, TAGS}:
            raise mixed(name, seen)
        if kind != EMPTY:  # an empty list has no strings to note
            self._column(name, kind).add(rows, values)

    def _column(self, name: str, kind: str) -> Column:
        if name not in self._columns:
            self._columns[name] = new_column(name, kind, self._n_rows)
        return self._columns[name]

    def _no_values(self, name: str) -> ProjectionError:
        found = "holds nothing but empty lists" if self._seen[name] else "is on none of the nodes that match"
        return ProjectionError(f"attribute {name!r} {found}: leave it out, or choose another")

    def _assemble(self, recipe: Sequence[Mapping[str, Any]], rows: NDArray[np.int64]) -> Attributes:
        blocks = [self._columns[entry["property"]].encode(entry, rows) for entry in recipe]
        names = tuple(name for entry in recipe for name in entry["columns"])
        return Attributes(_joined(blocks, rows.size, len(names)), names, tuple(map(dict, recipe)))


def encode(
    recipe: Sequence[Mapping[str, Any]], values: Mapping[str, Sequence[Any]]
) -> sparse.csr_array | NDArray[np.float64]:
    """Return attribute columns for nodes by a recipe learnt on others.

    A string that the recipe does not know goes to its column ``:other`` if it has one, else nowhere; a
    missing number takes the recipe's mean.

    Parameters
    ----------
    recipe : sequence of mapping
        As `Attributes.recipe` or `Provenance.attribute_recipe` holds it.
    values : mapping of str to sequence
        For each property of the recipe, one raw value (or None) per node.

    Returns
    -------
    csr_array or array of shape (n, F)
        The recipe's F columns.

    Raises
    ------
    ValueError
        If a property is not in `values`, or the sequences differ in length.
    ProjectionError
        If values are not of the recipe's kind.
    """
    properties = [str(entry["property"]) for entry in recipe]
    sizes = {len(values[name]) if name in values else None for name in properties}
    if None in sizes or len(sizes) > 1:
        raise ValueError(f"values must have one sequence of one length for each of {properties}")
    n_rows = sizes.pop() or 0 if sizes else 0
    table = AttributeTable(properties, n_rows, max_categories=1)
    table.add(np.arange(n_rows), values)
    return table.apply(recipe).matrix


def _joined(blocks: Sequence[Block], n_rows: int, n_columns: int) -> sparse.csr_array | NDArray[np.float64]:
    """Return the blocks side by side, as CSR or as a dense array, whichever suits their share of zeros."""
    filled = sum(block.nnz if sparse.issparse(block) else int(np.count_nonzero(block)) for block in blocks)
    if blocks and filled < _SPARSE_BELOW * n_rows * n_columns:
        joined = sparse.hstack([sparse.csr_array(block) for block in blocks], format="csr")
        return sparse.csr_array(joined, shape=(n_rows, n_columns))
    if len(blocks) == 1 and isinstance(blocks[0], np.ndarray):
        return blocks[0]  # the large case, a list of numbers: no second copy
    result = np.zeros((n_rows, n_columns))
    start = 0
    for block in blocks:
        stop = start + block.shape[1]
        result[:, start:stop] = block.toarray() if sparse.issparse(block) else block
        start = stop
    return result
