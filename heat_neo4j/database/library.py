"""The queries that users copy, ``cypher/query/``: what each answers, its parameters and their defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_neo4j.database.statements import load_statement, quote_identifier, statement_names, statement_text
from heat_neo4j.database.suggestion import did_you_mean
from heat_neo4j.errors import ConfigError, ProjectionError

__all__ = ["LibraryQuery", "QueryParameter", "list_queries", "load_query"]

_FOLDER = "query"
_PARAMETER = re.compile(r"^// :param (\w+) => (.*?\S)  +(\S.*)$", re.MULTILINE)
_INDEX = re.compile(r"VECTOR INDEX \w+")


@dataclass(frozen=True)
class QueryParameter:
    """A parameter of a query: its name, its default, and what it means."""

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True)
class LibraryQuery:
    """One query of the library.

    Parameters
    ----------
    name : str
        Such as ``"nearest"``, or ``"search/nearest"`` for servers that have SEARCH.
    title : str
        What it answers, in a line.
    text : str
        The file.
    parameters : tuple of QueryParameter
        In the order of the file.
    """

    name: str
    title: str
    text: str
    parameters: tuple[QueryParameter, ...]

    @property
    def statement(self) -> str:
        """The statement without the comments."""
        return load_statement(f"{_FOLDER}/{self.name}")

    @property
    def searches(self) -> bool:
        """Whether the statement names an index, as SEARCH wants it."""
        return _INDEX.search(self.statement) is not None

    def over(self, indexes: Sequence[str]) -> str:
        """Return the statement with the model's own index in place of the one that the file names.

        Raises
        ------
        ProjectionError
            If the model has none, or several.
        """
        if len(indexes) != 1:
            found = "no vector index" if not indexes else f"{len(indexes)} vector indexes"
            raise ProjectionError(
                f"{self.name!r} asks one index, and the model has {found}: use another query"
            )
        return _INDEX.sub(lambda _: f"VECTOR INDEX {quote_identifier(indexes[0])}", self.statement)

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a value for each parameter: the given ones, and defaults for the others.

        Raises
        ------
        ConfigError
            If there is no parameter of a given name.
        """
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                known = ", ".join(names) or "none"
                raise ConfigError(f"query {self.name!r} has no parameter {name!r}: it has {known}")
        return {parameter.name: parameter.default for parameter in self.parameters} | dict(given)


def list_queries() -> list[LibraryQuery]:
    """Return all queries, by name."""
    return [load_query(name.removeprefix(f"{_FOLDER}/")) for name in statement_names(_FOLDER)]


def load_query(name: str) -> LibraryQuery:
    """Return one query.

    Raises
    ------
    ConfigError
        If there is none of that name.
    """
    known = [found.removeprefix(f"{_FOLDER}/") for found in statement_names(_FOLDER)]
    if name not in known:
        hint = did_you_mean(name, known) or ": `heat cypher list` names them"
        raise ConfigError(f"there is no query {name!r}{hint}")
    text = statement_text(f"{_FOLDER}/{name}")
    parameters = tuple(
        QueryParameter(found, json.loads(default), meaning)
        for found, default, meaning in _PARAMETER.findall(text)
    )
    return LibraryQuery(name, text.splitlines()[0].removeprefix("// "), text, parameters)
