"""`NodeProperties`: node attributes and labels given by the user, and the graph built with them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.display import did_you_mean, plural
from heat_neo4j.attributes.kinds import Kind, example
from heat_neo4j.attributes.table import Attribute, Attributes, AttributeTable, odd_category
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.inputs.columns import node_column
from heat_neo4j.inputs.values import check_names, check_names_meet, plain_column, plain_name, plain_value

Columns = dict[str, list[Any]]

_LABEL = "label"
_MOST_LABELS = 1_000
_MOST_CATEGORIES = 10_000  # as of a projection
_MOST_SHOWN = 12
_PACKAGE = f"{__name__.partition('.')[0]}."
_ADVICE = {
    "date": "convert it to dates, as pandas.to_datetime does",
    "number": "convert it to numbers, as astype(float) does, or leave it out if it is an identifier",
    "text": "name it in text= to read its words, or leave it out if it is an identifier",
}


def _users_level() -> int:
    """Return the `stacklevel` by which a warning of the caller shows the user's line, not one of heat's."""
    level, frame = 1, inspect.currentframe()
    while (frame := frame and frame.f_back) and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level += 1
    return level


def poor_attributes(columns: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the columns that make poor attributes, each with its kind of `odd_category`, or "empty".

    >>> poor_attributes({"born": ["1990-05-01", "1991-06-01"], "year": [1990, None], "none": [None, None]})
    {'born': 'date', 'none': 'empty'}
    """
    poor = {}
    for name, values in columns.items():
        present = [value for value in values if value is not None]
        if not present:
            poor[name] = "empty"
        elif isinstance(present[0], str):
            texts = sorted(set(present))
            is_cut = len(texts) > _MOST_CATEGORIES
            entry = {"kind": Kind.CATEGORY, "values": texts[:_MOST_CATEGORIES], "other": is_cut}
            odd = odd_category(entry, len(present))
            if odd is not None:
                poor[name] = odd[1]
    return poor


@dataclass(frozen=True)
class NodeProperties:
    """Node attributes given by the user, as numbers, names or a data frame; see `as_graph`."""

    given: Any
    label: str | None = None
    text: Sequence[str] = ()
    encode: Sequence[str] = ()
    recipe: Sequence[Mapping[str, Any]] | None = None
    key: str | None = None

    def of_rows(self, n_nodes: int) -> tuple[Columns, list[Any]]:
        """Return the columns of a data frame with one row per node, and the node names if it has any."""
        frame = self._frame
        if frame is None:
            return {}, []
        if len(frame) != n_nodes:
            raise ValueError(
                f"the data frame of nodes has {plural(len(frame), 'row')} for {plural(n_nodes, 'node')}"
            )
        index = _Index.of(frame)
        columns, names = self._parted(frame, index)
        rows = range(n_nodes)
        if names is not None and names != list(rows) and {*names} == {*rows}:
            what = f"the data frame of nodes has the names 0 to {n_nodes - 1} in another order"
            raise ValueError(f"{what}: sort it by them, since its row i describes node i")
        if names is None and index.numbers:
            what = f"the index of the data frame of nodes has {index.numbers[0]!r} for row 0"
            advice = "name the index if it names the nodes, else use reset_index(drop=True)"
            raise ValueError(f"{what}: {advice}")
        return columns, names or []

    def by_name(self, of_edges: Collection[Any]) -> tuple[Columns, list[Any]]:
        """Return the columns of a data frame, and the node names, some of which must occur in the edges."""
        frame = self._frame
        if frame is None:
            return {}, []
        index = _Index.of(frame)
        columns, names = self._parted(frame, index)
        if names is None:
            first = next(iter(columns))
            names = _take(frame, columns, first)
            if index.numbers and not set(of_edges).isdisjoint(index.numbers):
                raise ValueError(
                    f"the nodes may be named by the column {first!r} of the data frame, or by its index: "
                    f"give key={first!r}, or name the index, as rename_axis('id') does"
                )
        check_names(names)
        others = {f"the column {name!r}": values for name, values in columns.items()}
        check_names_meet(set(of_edges), names, {"the index": index.names or index.numbers or (), **others})
        return columns, names

    def of_nodes(
        self, names: Sequence[Any], own: Callable[[str], Sequence[Any]], known: Sequence[str]
    ) -> Columns:
        """Return columns of named nodes: from a data frame, or the named ones of their `own` attributes."""
        if self._frame is not None:
            plain = [plain_name(name) for name in names]
            columns, framed = self.by_name(plain)
            row_of = check_names(framed)
            strangers = set(framed).difference(plain)
            if strangers:
                what = f"the data frame of nodes has {min(strangers, key=repr)!r}"
                raise ValueError(f"{what}, which the graph lacks ({plural(len(strangers), 'row')} in all)")
            order = [row_of.get(name) for name in plain]
            return {
                name: [None if row is None else values[row] for row in order]
                for name, values in columns.items()
            }
        wanted = self._names
        for name in (*wanted, *([self.label] if self.label else [])):
            if name not in known:
                raise ValueError(f"no node has an attribute {name!r}{did_you_mean(name, known)}")
        label = self.label or _LABEL
        if label in known and label not in wanted:
            wanted = [*wanted, label]
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
        readings: Sequence[str] = (),
    ) -> Graph:
        """Build the graph from a weight matrix and node properties.

        `numbers`, shape (N, F), are the graph's own attributes, used if the user gave none.
        """
        columns = dict(columns)
        masks, left_out = self._take_labels(columns)
        attributes = numbers if self._numbers is None else self._numbers
        names: Sequence[str] = ()
        recipe: Sequence[Mapping[str, Any]] = ()
        self._check_texts(columns)
        if columns:
            encoded = self._encoded(columns, keys or range(matrix.shape[0]))
            attributes, names, recipe = encoded.matrix, encoded.names, encoded.recipe
        given = "data frame of nodes" if self._frame is not None else "attributes of nodes"
        parts = [
            ", ".join(f"{entry['property']}: {entry['kind']}" for entry in recipe[:_MOST_SHOWN])
            + (f", and {len(recipe) - _MOST_SHOWN:,} more" if len(recipe) > _MOST_SHOWN else ""),
            f"{plural(len(masks), 'label')}" if masks else "",
            f"left out: {left_out} (display names)" if left_out else "",
        ]
        own = [f"{given}: {'; '.join(filter(None, parts))}"] if any(parts) else []
        return Graph(
            matrix,
            attributes,
            keys=keys,
            labels=masks if labels is None else labels,
            attribute_names=names,
            provenance=Provenance(attribute_recipe=recipe, readings=(*readings, *own)),
            relationships=relationships,
        )

    def _parted(self, frame: nw.DataFrame[Any], index: _Index) -> tuple[Columns, list[Any] | None]:
        """Split a frame into attribute columns and node names; names are None if none can be identified.

        Names come from the column or index `key`; otherwise from an index that has a name or does not hold
        integers; otherwise from the column found by `node_column`.
        """
        columns = {
            name: plain_column(column_values(frame, place)) for place, name in enumerate(column_names(frame))
        }
        key = self.key
        if key is not None and key not in (*columns, index.name):
            raise ValueError(f"the data frame of nodes has no column {key!r}{did_you_mean(key, columns)}")
        if index.names is not None and key in (None, index.name):
            return columns, index.names
        place = node_column(list(columns))
        if key is None and place is not None:
            key = list(columns)[place]
        if not columns:
            raise ValueError("the data frame of nodes has no column")
        return columns, None if key is None else _take(frame, columns, key)

    def _take_labels(self, columns: Columns) -> tuple[dict[str, NDArray[np.bool_]], str]:
        """Return the mask of each label, and the column left out because it holds display names.

        Without `label`, a column "label" holds labels if it has at most half as many distinct values as
        nodes with a value. It is never used as an attribute.
        """
        name = self.label or _LABEL
        if name not in columns or (self.label is None and name in self._names):
            if self.label is not None and self._frame is not None:
                raise ValueError(f"the data frame of nodes has no column {name!r}")
            return {}, ""
        of_each = [_label_list(value) for value in columns[name]]
        if None in of_each:
            if self.label is None:
                return {}, ""
            raise ValueError(f"{name!r} must hold labels only: strings or whole numbers")
        lists = [own or [] for own in of_each]
        different = sorted({each for own in lists for each in own})
        del columns[name]
        if self.label is None and 2 * len(different) > sum(map(bool, lists)):
            return {}, name
        if len(different) > _MOST_LABELS:
            what = f"{name!r} holds {len(different):,} different labels, more than {_MOST_LABELS:,}"
            raise ValueError(f"{what}: are they display names? Name another attribute with label=")
        masks = {each: np.zeros(len(lists), dtype=np.bool_) for each in different}
        for row, own in enumerate(lists):
            for each in own:
                masks[each][row] = True
        return masks, ""

    def _check_texts(self, columns: Columns) -> None:
        for option in ("text", "encode"):
            for name in getattr(self, option):
                if name not in columns:
                    hint = did_you_mean(name, columns)
                    raise ValueError(f"{option} names {name!r}, an unknown attribute{hint}")

    def _encoded(self, columns: Columns, names: Sequence[Any]) -> Attributes:
        text, encode = self.text, self.encode
        if self.recipe is not None:
            text, encode = (
                [entry["property"] for entry in self.recipe if entry["kind"] == kind]
                for kind in (Kind.TEXT, Kind.ENCODED)
            )
        wanted = [each for name in columns for each in Attribute.readings(name, text=text, encode=encode)]
        rows = np.arange(len(names))
        table = AttributeTable(
            wanted,
            len(names),
            max_categories=_MOST_CATEGORIES,
            name_of=lambda row: example(names[row]),
        )
        table.add(rows, columns)
        if self.recipe is not None:
            return table.apply(self.recipe, rows)
        encoded = table.finish(rows)
        for entry in encoded.recipe:
            name = entry["property"]
            odd = odd_category(entry, sum(value is not None for value in columns[name]))
            if odd is not None:
                what, kind = odd
                warnings.warn(f"attribute {name!r} {what}: {_ADVICE[kind]}", stacklevel=_users_level())
        return encoded

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


@dataclass(frozen=True)
class _Index:
    """The index of a pandas frame; empty for other frames and for a default range index."""

    name: Any = None
    names: list[Any] | None = None  # node names: the index has a name, or does not hold integers
    numbers: list[Any] | None = None  # unnamed integers: left over from sorting, or node names

    @classmethod
    def of(cls, frame: nw.DataFrame[Any]) -> _Index:
        index = nw.maybe_get_index(frame)
        if index is None:
            return cls()
        values = [plain_name(value) for value in index]
        if index.name is not None or index.dtype.kind not in "iu":
            return cls(index.name, values)
        return cls() if values == list(range(len(values))) else cls(None, None, values)


def column_names(frame: nw.DataFrame[Any]) -> list[str]:
    """Return the column names of a frame as strings; levels of a multi-index are joined by dots."""
    return [".".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]


def column_values(frame: nw.DataFrame[Any], place: int) -> nw.Series[Any]:
    """Return the column at a position; `frame[name]` would interpret a number as a row."""
    return frame.get_column(frame.columns[place])


def _take(frame: nw.DataFrame[Any], columns: Columns, name: str) -> list[Any]:
    """Remove a column from `columns` and return its values as names."""
    del columns[name]
    return list(map(plain_name, column_values(frame, column_names(frame).index(name)).to_list()))


def _label_list(value: Any) -> list[str] | None:
    """Return the labels in a value; None if it is not a label or a list of labels."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    labels = [str(each) if type(each) is int else each for each in values]
    return labels if all(isinstance(each, str) for each in labels) else None
