"""Data frames of results, with pandas, polars or PyArrow, whichever is installed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib.util import find_spec
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text
from heat_neo4j.errors import ConfigError

_LONGEST = 80  # characters of a cell
_BACKENDS: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")


_SHOWN = 30  # rows of a table for notebooks
_LONGEST_REPR = 300


class Result:
    """A result with a short repr, a data frame, and a table for notebooks; safe for any database content.

    Subclasses define the columns in `_columns`; by default, one row per plain value of `to_dict`.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data; by default the fields of a dataclass."""
        data: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return data

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the result as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.

        Raises
        ------
        ConfigError
            If the library is not installed.
        """
        return make_frame(self._columns(), backend)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in self._facts().items())
        return display_text(f"{type(self).__name__}({facts})", _LONGEST_REPR)

    def _repr_html_(self) -> str:
        return html_table(repr(self), {name: values[:_SHOWN] for name, values in self._columns().items()})

    def _facts(self) -> dict[str, str]:
        plain = (str, int, float)
        return {name: display_text(each) for name, each in self.to_dict().items() if isinstance(each, plain)}

    def _columns(self) -> dict[str, Any]:
        facts = self._facts()
        return {"fact": list(facts), "value": list(facts.values())}

    def _rows(self) -> list[dict[str, Any]]:
        columns = self._columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


class Rows(list[dict[str, Any]]):
    """Rows of a result: a list of dicts with the same keys, one per row."""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rows as a data frame; see `Result.to_frame`."""
        return make_frame(self._columns(), backend)

    def _repr_html_(self) -> str:
        return html_table(f"{len(self):,} rows", self._columns(_SHOWN))

    def _columns(self, most: int | None = None) -> dict[str, Any]:
        return {name: [row[name] for row in self[:most]] for name in (self[0] if self else ())}


def make_frame(columns: Mapping[str, Any], backend: str | None = None, index: str | None = None) -> Any:
    """Return a data frame with the given columns.

    Parameters
    ----------
    columns : mapping of str to sequences of equal length
        Columns by name.
    backend : {"pandas", "polars", "pyarrow"}, optional
        Data frame library; by default the first that is installed.
    index : str, optional
        Column to use as index, with pandas only.

    Raises
    ------
    ConfigError
        If the library is not installed.
    """
    if backend is not None and backend not in _BACKENDS:
        raise ConfigError(
            f"the library of a data frame must be one of {', '.join(_BACKENDS)}; got {backend!r}"
        )
    installed = [each for each in _BACKENDS if backend in (None, each) and find_spec(each)]
    if not installed:
        raise ConfigError(f"a data frame needs {backend or 'pandas or polars'}: install it with pip")
    frame = nw.from_dict(dict(columns), backend=installed[0]).to_native()
    return frame.set_index(index) if index is not None and installed[0] == "pandas" else frame


def column_of(names: Sequence[Any]) -> NDArray[Any]:
    """Return node names as an array: of int64 if all are integers, otherwise of Python objects."""
    if all(type(name) is int for name in names):
        return np.array(names, dtype=np.int64)
    column = np.empty(len(names), dtype=object)
    column[:] = list(names)
    return column


def html_table(title: str, columns: Mapping[str, Sequence[Any]]) -> str:
    """Return columns as an HTML table for notebooks, with escaped values."""
    rows = zip(*columns.values(), strict=True)
    cells = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows)
    head = "".join(f"<th>{escape(display_text(name, _LONGEST))}</th>" for name in columns)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{cells}</table>"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(display_text(value, _LONGEST))
