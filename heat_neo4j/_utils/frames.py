"""Data frames of results, of pandas or polars, whichever the user has."""

from collections.abc import Mapping, Sequence
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


_SHOWN = 10  # rows of a table for notebooks


class Rows(list[dict[str, Any]]):
    """Rows of a result: a list of dicts, one for each row, all with the same keys."""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rows as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; the first of these that is installed if not given.

        Raises
        ------
        ConfigError
            If there is no such library.
        """
        return make_frame({name: [row[name] for row in self] for name in (self[0] if self else ())}, backend)

    def _repr_html_(self) -> str:
        columns = {name: [row[name] for row in self[:_SHOWN]] for name in (self[0] if self else ())}
        shown = f"{_SHOWN} of {len(self)} rows" if len(self) > _SHOWN else f"{len(self)} rows"
        return html_table(shown, columns)


def make_frame(columns: Mapping[str, Any], backend: str | None = None, index: str | None = None) -> Any:
    """Return a data frame of some columns.

    Parameters
    ----------
    columns : mapping of str to sequences of one length
        What is in it.
    backend : {"pandas", "polars", "pyarrow"}, optional
        Of which library; the first of these that is installed if not given.
    index : str, optional
        The column that is the index, where it is one of pandas.

    Raises
    ------
    ConfigError
        If there is no such library.
    """
    if backend is not None and backend not in _BACKENDS:
        raise ConfigError(f"data frames are of {', '.join(_BACKENDS)}; got {backend!r}")
    installed = [each for each in _BACKENDS if backend in (None, each) and find_spec(each)]
    if not installed:
        raise ConfigError(f"a data frame needs {backend or 'pandas or polars'}: install it by pip")
    frame = nw.from_dict(dict(columns), backend=installed[0]).to_native()
    return frame.set_index(index) if index is not None and installed[0] == "pandas" else frame


def column_of(names: Sequence[Any]) -> NDArray[Any]:
    """Return names of nodes as an array: of integers if all are, else of Python objects."""
    if all(type(name) is int for name in names):
        return np.array(names, dtype=np.int64)
    column = np.empty(len(names), dtype=object)
    column[:] = list(names)
    return column


def html_table(title: str, columns: Mapping[str, Sequence[Any]]) -> str:
    """Return columns as a table for notebooks, whatever the values hold."""
    rows = zip(*columns.values(), strict=True)
    cells = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{cells}</table>"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(display_text(value, _LONGEST))
