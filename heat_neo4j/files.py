"""Graphs in plain files: an edge list, node attributes and node labels, parsed and checked.

========== ================================================== =======================================
file       lines                                              first line
========== ================================================== =======================================
edges      source, target and, if there are any, the weight   an edge, or
           and the time                                       ``source target [weight] [time]``
attributes node, then one value per attribute                 any cell, then the attributes' names
labels     node, label; or node, then one 0 or 1 per label    any cell, then the labels' names
========== ================================================== =======================================

Columns are parted by tabs in ``.tsv`` files and by commas in ``.csv`` files; both may be gzipped
(``.gz``). A column of times is known by its name ``time``; a time is an ISO date, an ISO datetime (UTC
where it names no zone) or a number, and may be empty. Empty lines, and lines of an edge list that start
with ``#``, are passed over. A cell that cannot be used is a `ProjectionError` that names file, line and
value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._file_tables import Table, read_edges, read_table
from heat_neo4j.attributes import parse_date
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph, Provenance, check_weights, earliest_times

__all__ = ["FileGraph", "read_graph_files"]

_INT64_LIMIT = 1 << 63
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, eq=False)
class FileGraph:
    """A graph as files describe it: nodes by key, weighted relationships, properties.

    Parameters
    ----------
    keys : sequence of int or str
        The N node keys, sorted; integers if every key in the files is written as one, else strings.
    source, target : int64 array of shape (M,)
        Rows of the two ends of each relationship, in the direction of the file.
    weight : float64 array of shape (M,)
        Finite, 0 or more; several lines for one (source, target) are summed into one.
    time : float64 array of shape (M,), optional
        Since when each relationship has been there, the earliest of several lines; NaN where none says. None
        where the file has no such column.
    times_are_dates : bool
        Whether `time` is in seconds since 1970 UTC, from dates, rather than numbers of the file.
    features : CSR array of shape (N, F), optional
        The attribute file, when it was read as one list of numbers per node.
    has_features : bool array of shape (N,)
        Which nodes have a line in the attribute file.
    columns : mapping of str to sequence
        The attribute file read column by column: a bool, int, float, date, datetime, str or None for every
        node.
    labels : sequence of tuple of str, optional
        The labels of each node.
    several_labels : bool
        Whether a node may carry any number of labels (the label file has 0/1 columns).
    attribute_names : sequence of str
        Names of the attribute file's F columns.
    counts : mapping of str to int
        ``lines`` of the edge list, ``merged`` lines among them that repeat a (source, target), nodes
        ``without_attributes`` and ``without_label`` although there is such a file, and, where there is such
        a column, relationships ``without_time``.
    """

    keys: Sequence[int] | Sequence[str]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    time: NDArray[np.float64] | None
    times_are_dates: bool
    features: sparse.csr_array | None
    has_features: NDArray[np.bool_]
    columns: Mapping[str, Sequence[Any]]
    labels: Sequence[tuple[str, ...]] | None
    several_labels: bool
    attribute_names: Sequence[str]
    counts: Mapping[str, int]

    def properties(self, row: int) -> dict[str, Any]:
        """Properties of the node in `row`, as a database stores them.

        Returns
        -------
        dict
            ``features`` (list of float) or one entry per attribute column; ``label`` (str) or
            ``labels`` (list of str). None stands for a value that the files do not give.
        """
        found: dict[str, Any] = {name: values[row] for name, values in self.columns.items()}
        if self.features is not None:
            found["features"] = self.features[[row]].toarray()[0].tolist() if self.has_features[row] else None
        if self.labels is not None and self.several_labels:
            found["labels"] = list(self.labels[row])
        elif self.labels is not None:
            found["label"] = self.labels[row][0] if self.labels[row] else None
        return found

    def to_graph(self) -> Graph:
        """Return the same graph without any database, as HEAT takes it.

        Weights of both directions are summed, and the earlier time counts, as when a graph is read from a
        database. A node
        without a line of attributes has zeros. Columns read one by one are left out: how they become
        numbers is a projection's decision.
        """
        n = len(self.keys)
        directed = sparse.csr_array((self.weight, (self.source, self.target)), shape=(n, n))
        found = self.labels or ()
        names = sorted({name for labels in found for name in labels})
        try:
            check_weights(directed.data[directed.data != 0])
        except ValueError as error:
            raise ProjectionError(f"the edges cannot be used: {error}") from error
        return Graph(
            adjacency=sparse.csr_array(directed + directed.T),
            attributes=self.features,
            labels={name: np.array([name in labels for labels in found], dtype=np.bool_) for name in names},
            attribute_names=() if self.features is None else self.attribute_names,
            provenance=Provenance(counts=self.counts),
            edge_times=self._edge_times(),
            times_are_dates=self.times_are_dates,
        )

    def _edge_times(self) -> NDArray[np.float64] | None:
        if self.time is None:
            return None
        kept = (self.weight != 0) & (self.source != self.target)
        return earliest_times(self.source[kept], self.target[kept], self.time[kept], len(self.keys))


def read_graph_files(
    edges: Path | str,
    attributes: Path | str | None = None,
    labels: Path | str | None = None,
    *,
    as_columns: bool = False,
) -> FileGraph:
    """Read a graph from an edge list and, optionally, a file of attributes and one of labels.

    A node is whatever any of the files names: one without relationships is known by its attributes.

    Parameters
    ----------
    edges, attributes, labels : path
        ``.tsv`` or ``.csv`` files, plain or gzipped; the table at the top of this module says what
        they hold.
    as_columns : bool
        Read each attribute column as a property of its own (numbers, true/false, dates or text) instead of
        all of them as one list of numbers.

    Raises
    ------
    ProjectionError
        If a file cannot be read, or a line of it cannot be used.
    """
    lines = read_edges(Path(edges))
    described = None if attributes is None else read_table(Path(attributes), numeric=not as_columns)
    classes = None if labels is None else read_table(Path(labels), numeric=False)
    if as_columns and described and classes:
        _refuse_same_name(described, "labels" if len(classes.names) > 1 else "label")
    keys, rows = _sorted_keys([lines.codes, *(table.keys for table in (described, classes) if table)])
    code_rows = np.fromiter((rows[key] for key in lines.codes), np.int64, len(lines.codes))
    source, target, weight, time = _merge(
        code_rows[lines.source], code_rows[lines.target], lines.weight, lines.time, len(keys)
    )
    has_features = np.zeros(len(keys), dtype=np.bool_)
    has_features[[rows[key] for key in described.keys] if described else []] = True
    found = None if classes is None else _labels(classes, rows)
    return FileGraph(
        keys=keys,
        source=source,
        target=target,
        weight=weight,
        time=time,
        times_are_dates=lines.times_are_dates,
        features=_features(described, rows) if described and not as_columns else None,
        has_features=has_features,
        columns=_columns(described, rows) if described and as_columns else {},
        labels=found,
        several_labels=classes is not None and len(classes.names) > 1,
        attribute_names=() if described is None else described.names,
        counts={
            "lines": len(lines.weight),
            "merged": len(lines.weight) - len(weight),
            "without_attributes": int((~has_features).sum()) if described else 0,
            "without_label": sum(not names for names in found or ()),
            **({} if time is None else {"without_time": int(np.isnan(time).sum())}),
        },
    )


def _refuse_same_name(table: Table, name: str) -> None:
    if name in table.names:
        raise ProjectionError(
            f"{table.path}: a column is named {name!r}, the property for the file of labels"
        )


def _sorted_keys(groups: Iterable[Iterable[str]]) -> tuple[list[int] | list[str], dict[str, int]]:
    """Sort all keys, as integers if each is one; return them and the row of each key's text."""
    texts = {key for group in groups for key in group}
    whole = all(_is_integer(text) for text in texts)
    ordered = sorted(texts, key=int) if whole else sorted(texts)
    rows = {text: row for row, text in enumerate(ordered)}
    return ([int(text) for text in ordered] if whole else ordered), rows


def _is_integer(text: str) -> bool:
    """Whether `text` is how Python writes a 64-bit integer ("007" names a node, not the number 7)."""
    try:
        return str(int(text)) == text and -_INT64_LIMIT <= int(text) < _INT64_LIMIT
    except ValueError:
        return False


def _merge(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    weight: NDArray[np.float64],
    time: NDArray[np.float64] | None,
    n: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64] | None]:
    """Sum weights, and take the earliest time, of lines that share source and target; sort by both."""
    order = np.lexsort((weight, target, source))  # by weight too: the order of lines must not show
    pairs, starts = np.unique(source[order] * n + target[order], return_index=True)
    if not len(pairs):
        return source, target, weight, time
    # fmin passes over NaN; adding 0 makes -0.0 the 0.0 that it equals.
    earliest = None if time is None else np.fmin.reduceat(time[order] + 0.0, starts)
    return pairs // n, pairs % n, np.add.reduceat(weight[order], starts), earliest


def _features(table: Table, rows: Mapping[str, int]) -> sparse.csr_array:
    assert table.values is not None  # read with numeric=True
    entries = table.values.tocoo()
    places = np.fromiter((rows[key] for key in table.keys), np.int64, len(table.keys))
    shape = (len(rows), len(table.names))
    return sparse.csr_array((entries.data, (places[entries.row], entries.col)), shape=shape)


def _columns(table: Table, rows: Mapping[str, int]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for name, cells in zip(table.names, table.columns, strict=True):
        values: list[Any] = [None] * len(rows)
        for key, value in zip(table.keys, _typed(cells), strict=True):
            values[rows[key]] = value
        columns[name] = values
    return columns


def _typed(cells: Sequence[str]) -> list[Any]:
    """Read all cells of one column as one type, the narrowest that fits; an empty cell is None."""
    present = [cell for cell in cells if cell]
    if all(cell.lower() in _TRUTH for cell in present):
        return [_TRUTH[cell.lower()] if cell else None for cell in cells]
    if all(_is_integer(cell) for cell in present):
        return [int(cell) if cell else None for cell in cells]
    dates = {cell: parse_date(cell) for cell in present}
    if len({type(value) for value in dates.values()}) == 1 and None not in dates.values():
        return [dates[cell] if cell else None for cell in cells]
    try:
        numbers = [float(cell) if cell else None for cell in cells]
    except ValueError:
        return [cell or None for cell in cells]
    finite = all(number is None or np.isfinite(number) for number in numbers)
    return numbers if finite else [cell or None for cell in cells]


def _labels(table: Table, rows: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Labels by row: the cell of a single column, or the names of the columns that hold a 1."""
    found: list[tuple[str, ...]] = [()] * len(rows)
    single = len(table.names) == 1
    for at, key in enumerate(table.keys):
        cells = [column[at] for column in table.columns]
        if single:
            found[rows[key]] = (cells[0],) if cells[0] else ()
            continue
        for name, cell in zip(table.names, cells, strict=True):
            if cell not in {"0", "1", "0.0", "1.0"}:
                where = f"{table.path}:{table.lines[at]}"
                raise ProjectionError(f"{where}: label column {name!r} holds {cell!r}; write 0 or 1")
        found[rows[key]] = tuple(n for n, cell in zip(table.names, cells, strict=True) if float(cell))
    return found
