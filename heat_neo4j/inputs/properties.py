"""`NodeProperties`: what is known of the nodes beside their edges, and the graph of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j.attributes.table import Attribute, Attributes, AttributeTable
from heat_neo4j.attributes.values import Kind
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.inputs.values import plain_column, plain_value

__all__ = ["NodeProperties", "check_names"]

Columns = dict[str, list[Any]]

_MOST_CATEGORIES = 10_000  # as of a projection


@dataclass(frozen=True)
class NodeProperties:
    """What a user gave beside a graph: attributes as numbers, by name or in a data frame; see `as_graph`."""

    given: Any
    label: str
    text: Sequence[str] = ()
    recipe: Sequence[Mapping[str, Any]] | None = None

    def of_rows(self, n_nodes: int) -> tuple[Columns, list[Any]]:
        """Return columns of a data frame with a row for each node, and the nodes' names if it has them."""
        frame = self._frame
        if frame is None:
            return {}, []
        if len(frame) != n_nodes:
            raise ValueError(f"the data frame of nodes has {len(frame)} rows for {n_nodes} nodes")
        return {name: plain_column(frame[name]) for name in frame.columns}, _index(frame) or []

    def by_name(self) -> tuple[Columns, list[Any]]:
        """Return columns of a data frame, and the nodes' names: its index, or its first column."""
        frame = self._frame
        if frame is None:
            return {}, []
        columns = {name: plain_column(frame[name]) for name in frame.columns}
        names = _index(frame)
        return columns, columns.pop(frame.columns[0]) if names is None else names

    def of_nodes(
        self, names: Sequence[Any], own: Callable[[str], Sequence[Any]], known: Sequence[str]
    ) -> Columns:
        """Return columns of named nodes: from a data frame, or of those of their `own` that were named."""
        columns, framed = self.by_name()
        if self._frame is not None:
            row_of = check_names(framed)
            strangers = [name for name in framed if name not in set(names)]
            if strangers:
                raise ValueError(f"the data frame of nodes has {strangers[0]!r}, which the graph has not")
            order = [row_of.get(name) for name in names]
            return {
                name: [None if row is None else values[row] for row in order]
                for name, values in columns.items()
            }
        wanted = self._names
        for name in wanted:
            if name not in known:
                raise ValueError(f"no node has an attribute {name!r}{did_you_mean(name, known)}")
        if self.label in known and self.label not in wanted:
            wanted = [*wanted, self.label]
        return {name: list(map(plain_value, own(name))) for name in wanted}

    def graph(
        self,
        matrix: sparse.csr_array,
        columns: Columns,
        *,
        keys: Sequence[Any] = (),
        relationships: Relationships | None = None,
        numbers: Any = None,
        labels: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> Graph:
        """Return the graph of a matrix of weights and of what is known of its nodes.

        `numbers`, of shape (N, F), are attributes that the graph brings, taken if the user gave none.
        """
        columns = dict(columns)
        masks = _masks(columns.get(self.label, []))
        if masks:
            del columns[self.label]
        attributes = numbers if self._numbers is None else self._numbers
        names: Sequence[str] = ()
        recipe: Sequence[Mapping[str, Any]] = ()
        if columns:
            encoded = self._encoded(columns, matrix.shape[0])
            attributes, names, recipe = encoded.matrix, encoded.names, encoded.recipe
        return Graph(
            matrix,
            attributes,
            keys=keys,
            labels=masks if labels is None else labels,
            attribute_names=names,
            provenance=Provenance(attribute_recipe=recipe),
            relationships=relationships,
        )

    def _encoded(self, columns: Columns, n: int) -> Attributes:
        texts = (
            self.text
            if self.recipe is None
            else [entry["property"] for entry in self.recipe if entry["kind"] == Kind.TEXT]
        )
        wanted = [Attribute(name, text=name in texts) for name in columns]
        rows = np.arange(n)
        table = AttributeTable(wanted, n, max_categories=_MOST_CATEGORIES)
        table.add(rows, {each.key: columns[each.name] for each in wanted})
        return table.finish(rows) if self.recipe is None else table.apply(self.recipe, rows)

    @property
    def _frame(self) -> nw.DataFrame[Any] | None:
        return nw.from_native(self.given, eager_only=True) if is_into_dataframe(self.given) else None

    @property
    def _names(self) -> list[str]:
        given = self.given
        if isinstance(given, str):
            raise TypeError(f"attributes must be a list of names, got {given!r}")
        is_list = isinstance(given, Sequence) and all(isinstance(each, str) for each in given)
        return list(given) if is_list else []

    @property
    def _numbers(self) -> Any:
        if self.given is None or self._frame is not None or self._names:
            return None
        if sparse.issparse(self.given):
            return self.given
        numbers = np.asarray(self.given)
        if numbers.dtype.kind not in "biuf":
            raise TypeError("attributes must be numbers, a data frame, or names of attributes of the nodes")
        return numbers


def check_names(names: Sequence[Any]) -> dict[Any, int]:
    """Return the row of each name; a ValueError if one is missing or comes twice."""
    row_of: dict[Any, int] = {}
    for row, name in enumerate(names):
        if name is None:
            raise ValueError(f"the node in row {row} has no name")
        if row_of.setdefault(name, row) != row:
            raise ValueError(f"two nodes have the name {name!r}")
    return row_of


def _index(frame: nw.DataFrame[Any]) -> list[Any] | None:
    """Return the index of a pandas frame if it names the nodes; None for other frames.

    Numbers without a name are what filtering and sorting leave of the numbers of the rows.
    """
    index = nw.maybe_get_index(frame)
    if index is None or (index.name is None and index.dtype.kind in "iu"):
        return None
    return [plain_value(value) for value in index]


def _masks(labels: Sequence[Any]) -> dict[str, NDArray[np.bool_]]:
    """Return which nodes carry each label; nothing if a value is no label, list of labels or None."""
    of_each = [each if isinstance(each, list) else [] if each is None else [each] for each in labels]
    if not all(isinstance(name, str) for own in of_each for name in own):
        return {}
    masks = {
        name: np.zeros(len(of_each), dtype=np.bool_) for name in sorted({n for own in of_each for n in own})
    }
    for row, own in enumerate(of_each):
        for name in own:
            masks[name][row] = True
    return masks
