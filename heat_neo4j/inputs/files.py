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
(``.gz``). A column of times is named ``time``; a time is an ISO date, an ISO datetime (UTC
where it names no zone) or a number, and may be empty. Empty lines, and lines of an edge list that start
with ``#``, are skipped. A cell that cannot be used is a `ProjectionError` that names file, line and
value.
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.attributes.values import parse_date
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph, Provenance, check_weights, earliest_times

__all__ = ["FileGraph", "read_graph_files"]

_HEADERS = frozenset({("source", "target"), ("from", "to"), ("src", "dst"), ("start", "end"), ("u", "v")})
_HEADER_HINT = (
    "; a header begins with source and target, from and to, src and dst, start and end, or u and v, "
    "and names a column of times time"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_DELIMITERS = {".tsv": "\t", ".csv": ","}
_ZEROS = frozenset({"0", "0.0"})
_INT64_LIMIT = 1 << 63
_TRUTH = {"true": True, "false": False}


class _Line(NamedTuple):
    """A line of a file, its cells without blanks around them."""

    path: Path
    number: int
    cells: list[str]

    def error(self, what: str) -> ProjectionError:
        return ProjectionError(f"{self.path}:{self.number}: {what}")

    def check_width(self, width: int) -> None:
        if len(self.cells) != width:
            raise self.error(f"{len(self.cells)} columns where the first line has {width}")

    def number_in(self, cell: str, hint: str = "") -> float:
        try:
            value = float(cell)
        except ValueError as error:
            raise self.error(f"{cell!r} is not a number{hint}") from error
        if not math.isfinite(value):
            raise self.error(f"{cell!r} is not a finite number")
        return value

    def time_in(self, cell: str) -> tuple[float, bool | None]:
        """Return a number as it is, a date as seconds since 1970 UTC; and whether it was a date."""
        if not cell:
            return math.nan, None
        try:
            value = float(cell)
        except ValueError:
            try:
                moment = datetime.fromisoformat(cell)
                aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
            except (ValueError, OverflowError) as error:
                example = "write it like 2024-03-01, 2024-03-01T12:30:00Z or 2024"
                raise self.error(f"time {cell!r} is no date, datetime or number; {example}") from error
            return (aware - _EPOCH) / _SECOND, True
        if not math.isfinite(value):
            raise self.error(f"time {cell!r} is not a finite number")
        return value, False


class _EdgeLines(NamedTuple):
    """The lines of an edge list, nodes as codes in order of first mention; times as in `FileGraph`."""

    codes: dict[str, int]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    time: NDArray[np.float64] | None
    times_are_dates: bool


class _Table(NamedTuple):
    """A header and one line per node: columns of text, or a matrix where it is read as numbers."""

    path: Path
    names: tuple[str, ...]
    row_of: dict[str, int]
    line_numbers: array[int]
    values: sparse.csr_array
    columns: list[list[str]]


class _EdgeColumns(NamedTuple):
    """How many columns an edge list has, and which of them hold weights and times; 0 stands for none."""

    width: int
    weight: int
    time: int


def _read_edges(path: Path) -> _EdgeLines:
    codes: dict[str, int] = {}
    source, target, weights, times = array("q"), array("q"), array("d"), array("d")
    columns: _EdgeColumns | None = None
    times_are_dates: bool | None = None
    for line in _lines(path, comments=True):
        cells = line.cells
        if columns is None:
            is_header = tuple(cell.lower() for cell in cells[:2]) in _HEADERS
            columns = _edge_columns(line, is_header=is_header)
            if is_header:
                continue
        line.check_width(columns.width)
        if not cells[0] or not cells[1]:
            raise line.error("a node without a name")
        source.append(codes.setdefault(cells[0], len(codes)))
        target.append(codes.setdefault(cells[1], len(codes)))
        weight = 1.0
        if columns.weight:
            cell = cells[columns.weight]
            weight = line.number_in(cell, "" if weights else _HEADER_HINT)
            if weight < 0:
                raise line.error(f"weight {cell} is negative; it must be 0 or more")
        weights.append(weight)
        if columns.time:
            cell = cells[columns.time]
            time, is_date = line.time_in(cell)
            if is_date is not None and times_are_dates not in (None, is_date):
                own, others = ("a date", "numbers") if is_date else ("a number", "dates")
                raise line.error(f"time {cell!r} is {own}, those before it are {others}")
            times_are_dates = times_are_dates if is_date is None else is_date
            times.append(time)
    return _EdgeLines(
        codes,
        np.array(source, np.int64),
        np.array(target, np.int64),
        np.array(weights, np.float64),
        np.array(times, np.float64) if columns and columns.time else None,
        bool(times_are_dates),
    )


def _edge_columns(line: _Line, *, is_header: bool) -> _EdgeColumns:
    width = len(line.cells)
    names = [cell.lower() for cell in line.cells[2:]] if is_header else []
    if width not in (2, 3) and not (width == 4 and "time" in names):
        advice = "a fourth, or the third, must be named time in the first line"
        raise line.error(f"an edge list has 2 or 3 columns, found {width}; {advice}")
    if names.count("time") > 1:
        raise line.error("two columns are named 'time'")
    time = names.index("time") + 2 if "time" in names else 0
    others = [column for column in range(2, width) if column != time]
    return _EdgeColumns(width, others[0] if others else 0, time)


def _read_table(path: Path, *, numeric: bool) -> _Table:
    lines = _lines(path)
    header = next(lines, None)
    if header is None:
        raise ProjectionError(f"{path}: empty; its first line must name the columns")
    names = tuple(header.cells[1:])
    if not names or not all(names):
        raise header.error("the first line must name every column after the first")
    if len(set(names)) < len(names):
        raise header.error(f"two columns are named {next(name for name in names if names.count(name) > 1)!r}")
    row_of: dict[str, int] = {}
    columns: list[list[str]] = [] if numeric else [[] for _ in names]
    data, indices, starts, line_numbers = array("d"), array("q"), array("q", [0]), array("q")
    for line in lines:
        line.check_width(len(names) + 1)
        key, *cells = line.cells
        if not key:
            raise line.error("a node without a name")
        if key in row_of:
            raise line.error(f"node {key!r} has a line already")
        row_of[key] = len(row_of)
        line_numbers.append(line.number)
        for column, cell in zip(columns, cells, strict=False):
            column.append(cell)
        if numeric:
            for index, cell in enumerate(cells):
                if cell not in _ZEROS and (value := line.number_in(cell)) != 0:
                    data.append(value)
                    indices.append(index)
        starts.append(len(data))
    values = sparse.csr_array((data, indices, starts), shape=(len(row_of), len(names)))
    return _Table(path, names, row_of, line_numbers, values, columns)


def _lines(path: Path, *, comments: bool = False) -> Iterator[_Line]:
    """Yield each line that is not empty; with `comments`, lines that start with ``#`` are none."""
    endings = [ending.lower() for ending in path.suffixes]
    zipped = endings[-1:] == [".gz"]
    delimiter = _DELIMITERS.get("".join(endings[:-1] if zipped else endings)[-4:])
    if delimiter is None:
        raise ProjectionError(f"{path}: the name must end in .tsv, .csv, .tsv.gz or .csv.gz")
    number = 0
    try:
        opener: Any = gzip.open if zipped else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, delimiter=delimiter, strict=True)
            for cells in reader:
                number = reader.line_num
                stripped = [cell.strip() for cell in cells]
                if any(stripped) and not (comments and stripped[0].startswith("#")):
                    yield _Line(path, number, stripped)
    except UnicodeDecodeError as error:
        number, byte = _undecodable(path, opener)
        advice = "save the file as UTF-8, such as with `iconv -f latin1 -t utf-8`"
        raise ProjectionError(f"{path}:{number}: byte 0x{byte:02x} is not UTF-8: {advice}") from error
    except (csv.Error, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ProjectionError(f"{path}:{number + 1}: not text in columns: {error}") from error
    except OSError as error:
        raise ProjectionError(f"{path}: cannot be read: {error.strerror or error}") from error


def _undecodable(path: Path, opener: Any) -> tuple[int, int]:
    """Return the number of the first line that is not UTF-8, and its first wrong byte."""
    with opener(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return number, line[error.start]
    raise AssertionError("each line is UTF-8")  # it was not a moment ago


@dataclass(frozen=True, eq=False)
class FileGraph:
    """A graph as files describe it: N nodes by key, M weighted relationships, properties."""

    keys: Sequence[int] | Sequence[str]  # sorted; integers if every key in the files is written as one
    source: NDArray[np.int64]  # (M,): rows of the two ends, in the direction of the file
    target: NDArray[np.int64]
    weight: NDArray[np.float64]  # (M,): finite, 0 or more; the sum of lines for one (source, target)
    time: NDArray[np.float64] | None  # (M,): since when, the earliest of several lines; NaN where none says
    times_are_dates: bool  # whether `time` is in seconds since 1970 UTC, from dates, or numbers of the file
    features: sparse.csr_array | None  # (N, F): the attribute file, if read as one list of numbers per node
    has_features: NDArray[np.bool_]  # (N,): which nodes have a line in the attribute file
    columns: Mapping[str, Sequence[Any]]  # the attribute file column by column; None where a cell is empty
    labels: Sequence[tuple[str, ...]] | None  # of each node
    several_labels: bool  # whether a node may carry any number of labels (the label file has 0/1 columns)
    attribute_names: Sequence[str]  # of the attribute file's F columns
    # ``lines`` of the edge list, ``merged`` lines among them that repeat a (source, target), nodes
    # ``without_attributes`` and ``without_label`` although there is such a file, and, where there is such a
    # column, relationships ``without_time``.
    counts: Mapping[str, int]

    def properties(self, row: int) -> dict[str, Any]:
        """Return the properties of the node in `row`, as a database stores them.

        They are ``features`` (list of float) or one entry per attribute column, and ``label`` (str) or
        ``labels`` (list of str). None stands for a value that the files do not give.
        """
        properties: dict[str, Any] = {name: values[row] for name, values in self.columns.items()}
        if self.features is not None:
            features = self.features[[row]].toarray()[0].tolist()
            properties["features"] = features if self.has_features[row] else None
        if self.labels is not None and self.several_labels:
            properties["labels"] = list(self.labels[row])
        elif self.labels is not None:
            properties["label"] = next(iter(self.labels[row]), None)
        return properties

    def to_graph(self) -> Graph:
        """Return the same graph without any database, as HEAT takes it.

        Weights of both directions are summed, and the earlier time counts, as when a graph is read from a
        database. A node without a line of attributes has zeros. Columns read one by one are left out: how
        they become numbers is a projection's decision.
        """
        n = len(self.keys)
        directed = sparse.csr_array((self.weight, (self.source, self.target)), shape=(n, n))
        node_labels = self.labels or ()
        names = sorted({name for labels in node_labels for name in labels})
        edge_times = None
        if self.time is not None:
            is_edge = (self.weight != 0) & (self.source != self.target)
            edge_times = earliest_times(self.source[is_edge], self.target[is_edge], self.time[is_edge], n)
        try:
            check_weights(directed.data[directed.data != 0])
        except ValueError as error:
            raise ProjectionError(f"the edges cannot be used: {error}") from error
        return Graph(
            adjacency=sparse.csr_array(directed + directed.T),
            attributes=self.features,
            keys=self.keys,
            labels={name: np.array([name in labels for labels in node_labels]) for name in names},
            attribute_names=() if self.features is None else self.attribute_names,
            provenance=Provenance(counts=self.counts),
            edge_times=edge_times,
            times_are_dates=self.times_are_dates,
        )


def read_graph_files(
    edges: Path | str,
    attributes: Path | str | None = None,
    labels: Path | str | None = None,
    *,
    as_columns: bool = False,
    text_ids: bool = False,
) -> FileGraph:
    """Read a graph from an edge list and, optionally, a file of attributes and one of labels.

    The files are as the top of this module says; a node is whatever any of them names. With `as_columns`,
    each attribute column is a property of its own (numbers, true/false, dates or text), not all of them one
    list of numbers. With `text_ids` keys are texts, even if all are whole numbers. A ProjectionError if a
    file cannot be read, or a line of it cannot be used.
    """
    lines = _read_edges(Path(edges))
    table = None if attributes is None else _read_table(Path(attributes), numeric=not as_columns)
    classes = None if labels is None else _read_table(Path(labels), numeric=False)
    several_labels = classes is not None and len(classes.names) > 1
    label_property = "labels" if several_labels else "label"
    if as_columns and table and classes and label_property in table.names:
        what = f"a column is named {label_property!r}, the property for the file of labels"
        raise ProjectionError(f"{table.path}: {what}")
    groups = [lines.codes, *(each.row_of for each in (table, classes) if each)]
    keys, rows = _sorted_keys(groups, text_ids=text_ids)
    code_rows = np.fromiter((rows[key] for key in lines.codes), np.int64, len(lines.codes))
    source, target, weight, time = _merge(
        code_rows[lines.source], code_rows[lines.target], lines.weight, lines.time, len(keys)
    )
    has_features = np.zeros(len(keys), dtype=np.bool_)
    has_features[[rows[key] for key in table.row_of] if table else []] = True
    node_labels = None if classes is None else _labels(classes, rows)
    return FileGraph(
        keys=keys,
        source=source,
        target=target,
        weight=weight,
        time=time,
        times_are_dates=lines.times_are_dates,
        features=_features(table, rows) if table and not as_columns else None,
        has_features=has_features,
        columns=_columns(table, rows) if table and as_columns else {},
        labels=node_labels,
        several_labels=several_labels,
        attribute_names=() if table is None else table.names,
        counts={
            "lines": len(lines.weight),
            "merged": len(lines.weight) - len(weight),
            "without_attributes": int((~has_features).sum()) if table else 0,
            "without_label": sum(not names for names in node_labels or ()),
            **({} if time is None else {"without_time": int(np.isnan(time).sum())}),
        },
    )


def _sorted_keys(
    groups: Iterable[Iterable[str]], *, text_ids: bool
) -> tuple[list[int] | list[str], dict[str, int]]:
    """Sort all keys, as integers if each is one; return them and the row of each key's text."""
    texts = {key for group in groups for key in group}
    whole = not text_ids and all(map(_is_integer, texts))
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


def _features(table: _Table, rows: Mapping[str, int]) -> sparse.csr_array:
    entries = table.values.tocoo()
    table_rows = np.array([rows[key] for key in table.row_of], np.int64)
    shape = (len(rows), len(table.names))
    return sparse.csr_array((entries.data, (table_rows[entries.row], entries.col)), shape=shape)


def _columns(table: _Table, rows: Mapping[str, int]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for name, cells in zip(table.names, table.columns, strict=True):
        values: list[Any] = [None] * len(rows)
        for key, value in zip(table.row_of, _typed(cells), strict=True):
            values[rows[key]] = value
        columns[name] = values
    return columns


def _typed(cells: Sequence[str]) -> list[Any]:
    """Read all cells of one column as one type, the narrowest that fits; an empty cell is None."""
    present = [cell for cell in cells if cell]
    if all(cell.lower() in _TRUTH for cell in present):
        return [_TRUTH[cell.lower()] if cell else None for cell in cells]
    if all(map(_is_integer, present)):
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


def _labels(table: _Table, rows: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Return labels by row: the cell of a single column, or the names of the columns that hold a 1."""
    labels: list[tuple[str, ...]] = [()] * len(rows)
    lines = zip(table.row_of, table.line_numbers, zip(*table.columns, strict=True), strict=True)
    for key, number, cells in lines:
        if len(cells) == 1:
            labels[rows[key]] = tuple(filter(None, cells))
            continue
        for name, cell in zip(table.names, cells, strict=True):
            if cell not in {"0", "1", "0.0", "1.0"}:
                where = f"{table.path}:{number}"
                raise ProjectionError(f"{where}: label column {name!r} holds {cell!r}; write 0 or 1")
        labels[rows[key]] = tuple(n for n, cell in zip(table.names, cells, strict=True) if float(cell))
    return labels
