"""Graphs in plain files: an edge list, node attributes and node labels, parsed and checked.

========== ================================================== =======================================
file       lines                                              first line
========== ================================================== =======================================
edges      the two ends of an edge, perhaps a weight, a type  a header, or an edge without type and
           and a time                                         time
attributes node, then one value per attribute                 any cell, then the attributes' names
labels     node, label; or node, then one 0 or 1 per label    any cell, then the labels' names
========== ================================================== =======================================

`heat_neo4j.inputs.columns` defines the roles of columns, `heat_neo4j.inputs.values` the types of cells.
Columns are separated by tabs in ``.tsv`` files, and by commas, or semicolons with decimal commas, in ``.csv``
files. Both may be gzipped (``.gz``). A time is an ISO date, an ISO datetime (UTC without a zone) or a number,
and may be empty. Empty lines are skipped. So are comments of an edge list: lines that start with ``#``, above
its first line or with another number of cells. An invalid cell raises `ProjectionError` with file, line and
value.

If ``header`` is not given, the first line of an edge list is a header if it has column names, or if neither
of its two cells is an integer while all others are. If neither cell occurs again in a list of strings, it is
ambiguous and rejected. Without a header the third column is a weight, unless it holds integers of 1,000 or
more, which may be years or times; and the edges are undirected.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.validation import is_integer
from heat_neo4j.attributes.kinds import parse_number
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Graph, Provenance, check_weights, earliest_times
from heat_neo4j.inputs.columns import EdgeColumns, edge_columns, has_edge_header, node_column
from heat_neo4j.inputs.edges import edge_types, make_matrix, make_relationships
from heat_neo4j.inputs.values import check_names_meet, parse_time, typed

_HEADER_HINT = "; if this is a header, name two of its columns source and target"
_WEIGHT_HINT = "; a weight is a number of 0 or more: write 1 for an ordinary edge"
_NAMELESS = "a node without a name: write one, or remove the line"
_DECIMAL_COMMA = re.compile(r"[^,]*|[+-]?[0-9]+,[0-9]+")
_BLANKS = re.compile(r"\S+\s+\S+\s+[+-]?[0-9]+,[0-9]+")
_ZEROS = frozenset({"0", "0.0"})
_PERHAPS_A_YEAR = 1000
_MOST_SHOWN = 12


class _Line(NamedTuple):
    """A line of a file; cells are stripped of blanks."""

    path: Path
    number: int
    cells: list[str]
    decimal_comma: bool = False

    def error(self, what: str) -> ProjectionError:
        return ProjectionError(f"{self.path}:{self.number}: {what}")

    def check_width(self, width: int) -> None:
        if len(self.cells) != width:
            raise self.error(f"{plural(len(self.cells), 'column')} where the first line has {width}")

    def number_in(self, cell: str, hint: str = "") -> float:
        value = parse_number(cell, decimal_comma=self.decimal_comma)
        if value is None:
            raise self.error(f"{cell!r} is not {_lacks(cell)}{hint}")
        return value

    def time_in(self, cell: str) -> tuple[float, bool | None]:
        """Parse a number, or a date as seconds since 1970 UTC; also return whether it was a date."""
        if not cell:
            return math.nan, None
        try:
            return parse_time(cell)
        except (ValueError, OverflowError) as error:
            example = "write it like 2024-03-01, 2024-03-01T12:30:00Z or 2024"
            raise self.error(f"time {cell!r} is no date, datetime or number; {example}") from error


def _lacks(cell: str) -> str:
    """Describe what is missing in a cell that should be a number."""
    if parse_number(cell, decimal_comma=True) is not None:
        return "a number: write a decimal point, or separate the columns by semicolons"
    try:
        value = float(cell)
    except ValueError:
        return "a number"
    return "a number but a code" if math.isfinite(value) else "a finite number"


class _EdgeLines(NamedTuple):
    """The lines of an edge list, nodes as codes in order of first mention; times as in `FileGraph`."""

    codes: dict[str, int]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    type: NDArray[np.int64]
    time: NDArray[np.float64] | None
    times_are_dates: bool
    types: list[str]  # type names by code; empty if there is no such column
    is_directed: bool
    reading: str


class _Table(NamedTuple):
    """A header and one line per node: columns of text, or a matrix if read as numbers."""

    path: Path
    names: tuple[str, ...]
    row_of: dict[str, int]
    line_numbers: array[int]
    values: sparse.csr_array
    columns: list[list[str]]
    decimal_comma: bool
    key: str  # header of the node column


def _read_edges(path: Path, header: bool | None) -> _EdgeLines:
    codes: dict[str, int] = {}
    source, target, weights, times = array("q"), array("q"), array("d"), array("d")
    type_of, types = array("q"), dict[str, int]()
    times_are_dates: bool | None = None
    lines = _lines(path, comments=True)
    first = next(lines, None)
    held = EdgeColumns((), 0, 1) if first is None else _held(first, header)
    has_header = first is not None and bool(held.names)
    for line in lines if has_header or first is None else chain([first], lines):
        cells = line.cells
        line.check_width(len(first.cells) if first else 0)
        ends = cells[held.source], cells[held.target]
        if not all(ends):
            raise line.error(_NAMELESS)
        source.append(codes.setdefault(ends[0], len(codes)))
        target.append(codes.setdefault(ends[1], len(codes)))
        weight = 1.0
        if held.weight is not None:
            cell = cells[held.weight]
            weight = line.number_in(cell, _HEADER_HINT if line is first else _WEIGHT_HINT)
            if weight < 0:
                raise line.error(f"weight {cell} is negative; it must be 0 or more")
        weights.append(weight)
        if held.type is not None:
            type_of.append(types.setdefault(cells[held.type], len(types)))
        if held.time is not None:
            cell = cells[held.time]
            time, is_date = line.time_in(cell)
            if is_date is not None and times_are_dates not in (None, is_date):
                own, others = ("a date", "numbers") if is_date else ("a number", "dates")
                raise line.error(f"time {cell!r} is {own}, those before it are {others}")
            times_are_dates = times_are_dates if is_date is None else is_date
            times.append(time)
    rank = {types[name]: place for place, name in enumerate(sorted(types))}
    read = _EdgeLines(
        codes,
        np.array(source, np.int64),
        np.array(target, np.int64),
        np.array(weights, np.float64),
        np.array([rank[code] for code in type_of] or np.zeros(len(source)), np.int64),
        np.array(times, np.float64) if held.time is not None else None,
        bool(times_are_dates),
        sorted(types),
        held.is_directed,
        "",
    )
    if first is not None and not has_header and _is_header(first, header, read):
        return _read_edges(path, header=True)
    names = list(codes)
    shown = [names[ends[0]] for ends in (source, target) if ends]
    own_types, says_directed = edge_types(read.types)
    is_directed = held.is_directed and says_directed
    if not own_types:
        read = read._replace(types=[], type=np.zeros(len(source), np.int64))
    reading = held.reading([] if own_types else ["type"], len(source), shown, is_directed=is_directed)
    reading = f"{path.name}: {'' if has_header else 'no '}header; {reading}"
    return read._replace(is_directed=is_directed, reading=reading)


def _held(first: _Line, header: bool | None) -> EdgeColumns:
    """Return the roles of the columns; without `names` if the first line is not known to be a header."""
    if header or (header is None and has_edge_header(first.cells)):
        with errors_as(first.error):
            return edge_columns(first.cells)
    width = len(first.cells)
    if width not in (2, 3):
        advice = "more need a header, which names two of them source and target"
        raise first.error(f"an edge list has 2 or 3 columns, found {width}; {advice}")
    return EdgeColumns((), 0, 1, 2 if width == 3 else None, is_directed=False)


def _is_header(first: _Line, header: bool | None, read: _EdgeLines) -> bool:
    """Return whether a first line that was read as an edge is a header; refuse what may be either."""
    if len(first.cells) == 3:
        weights = read.weight
        if (weights >= _PERHAPS_A_YEAR).all() and (weights % 1 == 0).all():
            what = f"the third column has no name and holds whole numbers such as {first.cells[2]}"
            advice = "write a header, such as source,target,weight or source,target,time"
            raise first.error(f"{what}: weights, years or times? {advice}")
        return False
    names = list(read.codes)
    own = set(first.cells)
    others = names[len(own) :]
    comes_again = bool(np.isin(np.stack((read.source[1:], read.target[1:])), range(len(own))).any())
    if header is False or comes_again or not others or any(map(is_integer, own)):
        return False
    if all(map(is_integer, others)):
        return True
    line = ",".join(first.cells)
    what = f"{line!r} may be a header or an edge, as neither name recurs"
    advice = "write a header, source,target, or say --header or --no-header (header=False in Python)"
    raise first.error(f"{what}: {advice}")


def _read_table(path: Path, *, numeric: bool, of_edges: Mapping[str, int]) -> _Table:
    lines = _lines(path)
    header = next(lines, None)
    if header is None:
        raise ProjectionError(f"{path}: empty; its first line must name the columns")
    key_at = (node_column(header.cells) or 0) if header.cells[0] else 0
    key = header.cells[key_at]
    names = tuple(name for place, name in enumerate(header.cells) if place != key_at)
    if key in of_edges or parse_number(key) is not None:
        what = f"the first line must name the columns, and begins with {key!r}, the name of a node"
        raise header.error(f"{what}: write a line above it, such as node,{','.join('xyz'[: len(names)])}")
    if not names or not all(names):
        raise header.error("the first line must name every column after the first")
    if len(set(names)) < len(names):
        raise header.error(f"two columns are named {next(name for name in names if names.count(name) > 1)!r}")
    row_of: dict[str, int] = {}
    columns: list[list[str]] = [] if numeric else [[] for _ in names]
    data, indices, starts, line_numbers = array("d"), array("q"), array("q", [0]), array("q")
    for line in lines:
        line.check_width(len(names) + 1)
        cells = line.cells
        key_cell = cells.pop(key_at)
        if not key_cell:
            raise line.error(_NAMELESS)
        if key_cell in row_of:
            raise line.error(f"node {key_cell!r} has a line already")
        row_of[key_cell] = len(row_of)
        line_numbers.append(line.number)
        for column, cell in zip(columns, cells, strict=False):
            column.append(cell)
        if numeric:
            for index, cell in enumerate(cells):
                if cell not in _ZEROS and (value := line.number_in(cell, _as_columns(names[index]))) != 0:
                    data.append(value)
                    indices.append(index)
        starts.append(len(data))
    values = sparse.csr_array((data, indices, starts), shape=(len(row_of), len(names)))
    with errors_as(ProjectionError, prefix=f"{path}: "):
        check_names_meet(
            of_edges,
            list(row_of),
            {f"the column {name!r}": values for name, values in zip(names, columns, strict=False)},
        )
    return _Table(
        path, names, row_of, line_numbers, values, columns, header.decimal_comma, key or "the first column"
    )


def _as_columns(name: str) -> str:
    return f", in column {name!r}: --as-columns reads other values (as_columns=True in Python)"


def _lines(path: Path, *, comments: bool = False) -> Iterator[_Line]:
    """Yield each line that is not empty; with `comments`, those that start with ``#`` may be none."""
    name = path.name.lower()
    if not name.removesuffix(".gz").endswith((".tsv", ".csv")):
        raise ProjectionError(f"{path}: the name must end in .tsv, .csv, .tsv.gz or .csv.gz")
    text = _text_of(path)
    delimiter, decimal_comma = "\t", False
    if name.removesuffix(".gz").endswith(".csv"):
        delimiter, decimal_comma = _delimiter(path, text, comments=comments)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = width = 0
    try:
        for cells in reader:
            number = reader.line_num
            stripped = [cell.strip() for cell in cells]
            # With as many cells as an edge it is one: a node may be named "#music".
            if any(stripped) and not (comments and len(stripped) != width and stripped[0].startswith("#")):
                width = len(stripped)
                yield _Line(path, number, stripped, decimal_comma)
    except csv.Error as error:
        raise ProjectionError(f"{path}:{number + 1}: not text in columns: {error}") from error


def _text_of(path: Path) -> str:
    """Return the text of a file, gzipped or not."""
    try:
        content = path.read_bytes()
        if path.suffix.lower() == ".gz":
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number, byte = error.object.count(b"\n", 0, error.start) + 1, error.object[error.start]
        advice = "save the file as UTF-8, such as with `iconv -f latin1 -t utf-8`"
        raise ProjectionError(f"{path}:{number}: byte 0x{byte:02x} is not UTF-8: {advice}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ProjectionError(f"{path}: cannot be read: {getattr(error, 'strerror', '') or error}") from error


def _delimiter(path: Path, text: str, *, comments: bool) -> tuple[str, bool]:
    """Return the delimiter of a .csv file, and whether numbers have decimal commas, by its first line."""
    for number, line in enumerate(map(str.strip, StringIO(text)), start=1):
        if not line or (comments and line.startswith("#")):
            continue
        if ";" in line and all(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in line.split(";")):
            return ";", True
        if _BLANKS.fullmatch(line):
            advice = "use commas or semicolons, or tabs in a .tsv file"
            raise ProjectionError(f"{path}:{number}: blanks separate the columns of {line!r}: {advice}")
        break
    return ",", False


@dataclass(frozen=True, eq=False)
class FileGraph:
    """A graph as files describe it: N nodes by key, M weighted relationships, properties."""

    keys: Sequence[int] | Sequence[str]  # sorted; integers if every key in the files is written as one
    source: NDArray[np.int64]  # (M,): rows of the two ends, in the direction of the file
    target: NDArray[np.int64]
    weight: NDArray[np.float64]  # (M,): finite, 0 or more; the sum of lines for one (source, target)
    time: NDArray[np.float64] | None  # (M,): the earliest of several lines; NaN if missing
    times_are_dates: bool  # whether `time` holds seconds since 1970 UTC, from dates, and not plain numbers
    features: sparse.csr_array | None  # (N, F): the attribute file, if read as one list of numbers per node
    has_features: NDArray[np.bool_]  # (N,): which nodes have a line in the attribute file
    columns: Mapping[str, Sequence[Any]]  # the attribute file column by column; None where a cell is empty
    labels: Sequence[tuple[str, ...]] | None  # of each node
    several_labels: bool  # whether a node may have any number of labels (the label file has 0/1 columns)
    attribute_names: Sequence[str]  # of the attribute file's F columns
    types: Sequence[str] | None  # of each relationship; None if the edge list has no such column
    is_directed: bool  # whether the edge list distinguishes source and target
    readings: Sequence[str]  # for each file: how its columns were read, and an example
    # ``lines`` of the edge list, ``merged`` lines among them that repeat a (source, target), nodes
    # ``without_attributes`` and ``without_label`` although there is such a file, and, where there is such a
    # column, relationships ``without_time``.
    counts: Mapping[str, int]

    def properties(self, row: int) -> dict[str, Any]:
        """Return the properties of the node in `row`, as a database stores them.

        They are ``features`` (list of float) or one entry per attribute column, and ``label`` (str) or
        ``labels`` (list of str). Missing values are None.
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
        """Return the graph for HEAT, without a database.

        Weights of both directions are summed, and the earlier time counts, as when a graph is read from a
        database; directions and types are in `Graph.relationships` if the edge list has directions. A node
        without a line of attributes has zeros. Columns read one by one are left out: a projection decides how
        they become numbers.
        """
        n = len(self.keys)
        directed = make_matrix(self.source, self.target, self.weight, n)
        node_labels = self.labels or ()
        names = sorted({name for labels in node_labels for name in labels})
        edge_times = None
        if self.time is not None:
            is_edge = (self.weight != 0) & (self.source != self.target)
            edge_times = earliest_times(self.source[is_edge], self.target[is_edge], self.time[is_edge], n)
        with errors_as(ProjectionError, prefix="the edges cannot be used: "):
            check_weights(directed.data[directed.data != 0])
        return Graph(
            adjacency=sparse.csr_array(directed + directed.T),
            attributes=self.features,
            keys=self.keys,
            labels={name: np.array([name in labels for labels in node_labels]) for name in names},
            attribute_names=() if self.features is None else self.attribute_names,
            provenance=Provenance(counts=self.counts, readings=self.readings),
            edge_times=edge_times,
            times_are_dates=self.times_are_dates,
            relationships=make_relationships(self.source, self.target, self.weight, self.types)
            if self.is_directed
            else None,
        )


def read_graph_files(
    edges: Path | str,
    attribute_file: Path | str | None = None,
    class_file: Path | str | None = None,
    *,
    as_columns: bool = False,
    header: bool | None = None,
    text_ids: bool = False,
) -> FileGraph:
    """Read a graph from an edge list and, optionally, a file of attributes and one of classes.

    The top of this module describes the files. Every name in any of them is a node.

    Parameters
    ----------
    edges : Path or str, an existing file
        A line for each relationship.
    attribute_file : Path or str, an existing file, optional
        Numbers for each node: a column of nodes, then one for each number.
    class_file : Path or str, an existing file, optional
        Classes: a column of nodes and one of classes, or a 0/1 column for each class.
    as_columns : bool
        Make each attribute column a property, dates and text too, instead of one list 'features'.
    header : bool, optional
        Whether the first line of the edge list is a header, if that is unclear.
    text_ids : bool
        Read ids as text even if all are whole numbers.

    Raises
    ------
    ProjectionError
        If a file cannot be read, a line of it cannot be used, or the files name nodes differently.
    """
    lines = _read_edges(Path(edges), header)
    decimal = next((name for name in lines.codes if name.endswith(".0") and name[:-2] in lines.codes), None)
    if decimal is not None:
        what = f"nodes are named both {decimal[:-2]!r} and {decimal!r}"
        raise ProjectionError(f"{edges}: {what}: use one name for each node")
    table = None
    if attribute_file is not None:
        table = _read_table(Path(attribute_file), numeric=not as_columns, of_edges=lines.codes)
    classes = (
        None if class_file is None else _read_table(Path(class_file), numeric=False, of_edges=lines.codes)
    )
    several_labels = classes is not None and len(classes.names) > 1
    label_property = "labels" if several_labels else "label"
    if as_columns and table and classes and label_property in table.names:
        what = f"a column is named {label_property!r}, the property for the file of labels"
        raise ProjectionError(f"{table.path}: {what}")
    groups = [lines.codes, *(each.row_of for each in (table, classes) if each)]
    keys, rows = _sorted_keys(groups, text_ids=text_ids)
    code_rows = np.fromiter((rows[key] for key in lines.codes), np.int64, len(lines.codes))
    merged = _merge(code_rows, lines, len(keys))
    has_features = np.zeros(len(keys), dtype=np.bool_)
    has_features[[rows[key] for key in table.row_of] if table else []] = True
    node_labels = None if classes is None else _labels(classes, rows)
    columns, kinds = _columns(table, rows) if table and as_columns else ({}, {})
    readings = [lines.reading]
    if table:
        readings.append(_described(table, kinds or dict.fromkeys(table.names, "number")))
    if classes:
        several = dict.fromkeys(classes.names, "label (0 or 1)")
        readings.append(_described(classes, several if several_labels else {classes.names[0]: "label"}))
    return FileGraph(
        keys=keys,
        source=merged.source,
        target=merged.target,
        weight=merged.weight,
        time=merged.time,
        times_are_dates=lines.times_are_dates,
        features=_features(table, rows) if table and not as_columns else None,
        has_features=has_features,
        columns=columns,
        labels=node_labels,
        several_labels=several_labels,
        attribute_names=() if table is None else table.names,
        types=[lines.types[code] for code in merged.type.tolist()] if lines.types else None,
        is_directed=lines.is_directed,
        readings=readings,
        counts={
            "lines": len(lines.weight),
            "merged": len(lines.weight) - len(merged.weight),
            "without_attributes": int((~has_features).sum()) if table else 0,
            "without_label": sum(not names for names in node_labels or ()),
            **({} if merged.time is None else {"without_time": int(np.isnan(merged.time).sum())}),
        },
    )


def _sorted_keys(
    groups: Iterable[Iterable[str]], *, text_ids: bool
) -> tuple[list[int] | list[str], dict[str, int]]:
    """Sort all keys, as integers if each is one; return them and the row of each key's text."""
    texts = {key for group in groups for key in group}
    whole = not text_ids and all(map(is_integer, texts))
    ordered = sorted(texts, key=int) if whole else sorted(texts)
    rows = {text: row for row, text in enumerate(ordered)}
    return ([int(text) for text in ordered] if whole else ordered), rows


def _merge(rows: NDArray[np.int64], lines: _EdgeLines, n: int) -> _EdgeLines:
    """Sum weights, and take the earliest time, of lines with one source, target and type; sort by these.

    `rows` are the rows of the codes of nodes.
    """
    source, target, n_types = rows[lines.source], rows[lines.target], max(len(lines.types), 1)
    if not len(source):
        return lines
    # By weight too: the order of lines must not show.
    order = np.lexsort((lines.weight, lines.type, target, source))
    codes = ((source * n + target) * n_types + lines.type)[order]
    codes, starts = np.unique(codes, return_index=True)
    pairs, types = np.divmod(codes, n_types)
    # fmin passes over NaN; adding 0 makes -0.0 the 0.0 that it equals.
    earliest = None if lines.time is None else np.fmin.reduceat(lines.time[order] + 0.0, starts)
    weight = np.add.reduceat(lines.weight[order], starts)
    return lines._replace(source=pairs // n, target=pairs % n, weight=weight, type=types, time=earliest)


def _features(table: _Table, rows: Mapping[str, int]) -> sparse.csr_array:
    entries = table.values.tocoo()
    table_rows = np.array([rows[key] for key in table.row_of], np.int64)
    shape = (len(rows), len(table.names))
    return sparse.csr_array((entries.data, (table_rows[entries.row], entries.col)), shape=shape)


def _columns(table: _Table, rows: Mapping[str, int]) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Return the columns by row, and the type of each."""
    columns: dict[str, list[Any]] = {}
    kinds: dict[str, str] = {}
    for name, cells in zip(table.names, table.columns, strict=True):
        with errors_as(ProjectionError, prefix=f"{table.path}: column {name!r}: "):
            read, kinds[name] = typed(cells, decimal_comma=table.decimal_comma)
        values: list[Any] = [None] * len(rows)
        for key, value in zip(table.row_of, read, strict=True):
            values[rows[key]] = value
        columns[name] = values
    return columns, kinds


def _described(table: _Table, kinds: Mapping[str, str]) -> str:
    """Describe how the columns of a table were read, with an example."""
    shown = [f"{name}: {kind}" for name, kind in list(kinds.items())[:_MOST_SHOWN]]
    if len(kinds) > _MOST_SHOWN:
        of_one_kind = len(set(kinds.values())) == 1
        shown = [f"{len(kinds):,} columns: {kinds[table.names[0]]}"] if of_one_kind else shown
        shown += [] if of_one_kind else [f"and {len(kinds) - _MOST_SHOWN:,} more"]
    first = next(iter(table.row_of), None)
    example = "" if first is None else f"; first: {first}"
    nodes = plural(len(table.row_of), "node")
    return f"{table.path.name}: header; node = {table.key}; {', '.join(shown)}; {nodes}{example}"


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
