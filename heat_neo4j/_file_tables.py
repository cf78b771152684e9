"""Lines, numbers and tables out of text files; each complaint names file, line and value."""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.errors import ProjectionError

__all__ = ["EdgeLines", "Table", "read_edges", "read_table"]

EDGE_HEADERS = frozenset({("source", "target"), ("from", "to"), ("src", "dst"), ("start", "end"), ("u", "v")})
_HEADER_HINT = (
    "; a header begins with source and target, from and to, src and dst, start and end, or u and v, "
    "and names a column of times time"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_DELIMITERS = {".tsv": "\t", ".csv": ","}
_ZEROS = frozenset({"0", "0.0"})


@dataclass(frozen=True, eq=False)
class EdgeLines:
    """The lines of an edge list, nodes as codes in order of first mention.

    Parameters
    ----------
    codes : dict of str to int
        Code of each node.
    source, target : int64 array of shape (L,)
        Codes of both ends of each line.
    weight : float64 array of shape (L,)
        Finite, 0 or more; 1 where the file has no such column.
    time : float64 array of shape (L,), optional
        Seconds since 1970 UTC if `times_are_dates`, else the numbers of the file; NaN where a cell is empty.
        None where the file has no such column.
    times_are_dates : bool
        Whether the times are written as dates or datetimes.
    """

    codes: dict[str, int]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    time: NDArray[np.float64] | None
    times_are_dates: bool


@dataclass(frozen=True, eq=False)
class Table:
    """A file with a header and one line per node.

    Parameters
    ----------
    path : Path
        The file, for messages.
    names : tuple of str
        The columns after the first.
    keys : dict of str to int
        Row of each node.
    lines : sequence of int
        Line number of each row.
    values : CSR array of shape (rows, columns), optional
        The numbers, in a table read as numbers.
    columns : tuple of list of str
        The cells, in a table read as text.
    """

    path: Path
    names: tuple[str, ...]
    keys: dict[str, int]
    lines: array[int]
    values: sparse.csr_array | None
    columns: tuple[list[str], ...]


def read_edges(path: Path) -> EdgeLines:
    """Read an edge list of 2 columns, and weights and times if there are any; a header is known by its names.

    A third column holds weights, unless the header calls it time; a fourth the header must name.

    Raises
    ------
    ProjectionError
        For a file or a line that cannot be used, with its number.
    """
    codes: dict[str, int] = {}
    source, target, weight, time = array("q"), array("q"), array("d"), array("d")
    columns: _EdgeColumns | None = None
    dates: bool | None = None
    for number, cells in _lines(path, comments=True):
        if columns is None:
            is_header = (cells[0].lower(), cells[1].lower()) in EDGE_HEADERS if len(cells) > 1 else False
            columns = _edge_columns(path, number, cells, is_header=is_header)
            if is_header:
                continue
        _check_width(path, number, cells, columns.width)
        if not cells[0] or not cells[1]:
            raise ProjectionError(f"{path}:{number}: a node without a name")
        source.append(codes.setdefault(cells[0], len(codes)))
        target.append(codes.setdefault(cells[1], len(codes)))
        hint = "" if weight else _HEADER_HINT
        weight.append(_weight(path, number, cells[columns.weight], hint) if columns.weight else 1.0)
        if columns.time:
            value, is_date = _time(path, number, cells[columns.time])
            if is_date is not None and dates not in (None, is_date):
                kinds = (
                    "a date, those before it are numbers"
                    if is_date
                    else "a number, those before it are dates"
                )
                raise ProjectionError(f"{path}:{number}: time {cells[columns.time]!r} is {kinds}")
            dates = dates if is_date is None else is_date
            time.append(value)
    ends = np.array(source, np.int64), np.array(target, np.int64)
    times = np.array(time, np.float64) if columns and columns.time else None
    return EdgeLines(codes, *ends, np.array(weight, np.float64), times, bool(dates))


class _EdgeColumns(NamedTuple):
    """How many columns an edge list has, and which of them hold weights and times; 0 stands for none."""

    width: int
    weight: int
    time: int


def _edge_columns(path: Path, number: int, cells: list[str], *, is_header: bool) -> _EdgeColumns:
    width = len(cells)
    names = [cell.lower() for cell in cells[2:]] if is_header else []
    if width not in (2, 3) and not (width == 4 and "time" in names):
        advice = "a fourth, or the third, must be named time in the first line"
        raise ProjectionError(f"{path}:{number}: an edge list has 2 or 3 columns, found {width}; {advice}")
    if names.count("time") > 1:
        raise ProjectionError(f"{path}:{number}: two columns are named 'time'")
    time = names.index("time") + 2 if "time" in names else 0
    others = [column for column in range(2, width) if column != time]
    return _EdgeColumns(width, others[0] if others else 0, time)


def _weight(path: Path, number: int, cell: str, hint: str) -> float:
    value = _number(path, number, cell, hint)
    if value < 0:
        raise ProjectionError(f"{path}:{number}: weight {cell} is negative; it must be 0 or more")
    return value


def _time(path: Path, number: int, cell: str) -> tuple[float, bool | None]:
    """Return a number as it is, a date or datetime as seconds since 1970 UTC; and whether it was a date."""
    if not cell:
        return math.nan, None
    try:
        value = float(cell)
    except ValueError:
        try:
            moment = datetime.fromisoformat(cell)
            aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError) as error:
            what = f"time {cell!r} is no date, datetime or number"
            example = "write it like 2024-03-01, 2024-03-01T12:30:00Z or 2024"
            raise ProjectionError(f"{path}:{number}: {what}; {example}") from error
        return (aware - _EPOCH) / _SECOND, True
    if not math.isfinite(value):
        raise ProjectionError(f"{path}:{number}: time {cell!r} is not a finite number")
    return value, False


def read_table(path: Path, *, numeric: bool) -> Table:
    """Read a table of one line per node, as a sparse matrix of numbers or as columns of text.

    Raises
    ------
    ProjectionError
        For a file or a line that cannot be used, with its number.
    """
    rows = _lines(path)
    try:
        number, cells = next(rows)
    except StopIteration:
        raise ProjectionError(f"{path}: empty; its first line must name the columns") from None
    names = _column_names(path, number, cells)
    keys: dict[str, int] = {}
    columns: tuple[list[str], ...] = () if numeric else tuple([] for _ in names)
    data, indices, starts, lines = array("d"), array("q"), array("q", [0]), array("q")
    for number, cells in rows:
        _check_width(path, number, cells, len(names) + 1)
        _add_key(path, number, keys, cells[0])
        lines.append(number)
        for store, cell in zip(columns, cells[1:], strict=False):
            store.append(cell)
        if numeric:
            for column, cell in enumerate(cells[1:]):
                if cell not in _ZEROS and (value := _number(path, number, cell)) != 0:
                    data.append(value)
                    indices.append(column)
            starts.append(len(data))
    values = sparse.csr_array((data, indices, starts), shape=(len(keys), len(names))) if numeric else None
    return Table(path, names, keys, lines, values, columns)


def _lines(path: Path, *, comments: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells without blanks around them) for each line that holds something."""
    endings = [ending.lower() for ending in path.suffixes]
    zipped = endings[-1:] == [".gz"]
    delimiter = _DELIMITERS.get("".join(endings[:-1] if zipped else endings)[-4:])
    if delimiter is None:
        raise ProjectionError(f"{path}: the name must end in .tsv, .csv, .tsv.gz or .csv.gz")
    number = 0
    try:
        with _open_text(path, zipped=zipped) as text:
            reader = csv.reader(text, delimiter=delimiter, strict=True)
            for cells in reader:
                number = reader.line_num
                stripped = [cell.strip() for cell in cells]
                if any(stripped) and not (comments and stripped[0].startswith("#")):
                    yield number, stripped
    except (csv.Error, UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ProjectionError(f"{path}:{number + 1}: not text in columns: {error}") from error
    except OSError as error:
        raise ProjectionError(f"{path}: cannot be read: {error.strerror or error}") from error


def _open_text(path: Path, *, zipped: bool) -> TextIO:
    if zipped:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _column_names(path: Path, number: int, cells: list[str]) -> tuple[str, ...]:
    names = tuple(cells[1:])
    if not names or not all(names):
        raise ProjectionError(f"{path}:{number}: the first line must name every column after the first")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ProjectionError(f"{path}:{number}: two columns are named {twice!r}")
    return names


def _add_key(path: Path, number: int, keys: dict[str, int], key: str) -> None:
    if not key:
        raise ProjectionError(f"{path}:{number}: a node without a name")
    if key in keys:
        raise ProjectionError(f"{path}:{number}: node {key!r} has a line already")
    keys[key] = len(keys)


def _check_width(path: Path, number: int, cells: list[str], width: int) -> None:
    if len(cells) != width:
        raise ProjectionError(f"{path}:{number}: {len(cells)} columns where the first line has {width}")


def _number(path: Path, number: int, cell: str, hint: str = "") -> float:
    try:
        value = float(cell)
    except ValueError as error:
        raise ProjectionError(f"{path}:{number}: {cell!r} is not a number{hint}") from error
    if not math.isfinite(value):
        raise ProjectionError(f"{path}:{number}: {cell!r} is not a finite number")
    return value
