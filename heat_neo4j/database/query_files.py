"""The query library, ``cypher/query/``: queries for users to copy, with names and parameters.

Values are parameters. Labels and properties are part of the statement, because otherwise the server cannot
use an index over them; the files contain those of an example, in backticks.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heat_neo4j._utils.display import did_you_mean
from heat_neo4j._utils.errors import errors_as
from heat_neo4j.database.statements import (
    identifier_to_copy,
    load_statement,
    quote_identifier,
    statement_names,
    statement_text,
)
from heat_neo4j.errors import ConfigError

_FOLDER = "query"
_PARAMETER = re.compile(r"^// :param (\w+) => (.*?\S)  +(\S.*)$", re.MULTILINE)
_MODEL_PARAMETER = re.compile(r'(// :param model => )("heat" +)')
_REQUIRED = "required: "
_EXAMPLES = {
    "label": "Module",
    "property": "name",
    "embedding": "heatEmbedding",
    "radius": "heatRadius",
    "type": "HEAT_PREDICTED",
    "same_as": "HEAT_SAME_AS",
    "index": "heat_Module",
}
"""Example names in the files: the label and property that users choose, and the properties, relationship
types and vector index of a model."""
_CHOSEN = ("label", "property")
_NAME_OF = re.compile(rf"\b(\w+)\.`{_EXAMPLES['property']}`(?! IN )")  # a search needs the plain property
_EXAMPLE = re.compile(f"`({'|'.join(_EXAMPLES.values())})`")


@dataclass(frozen=True)
class QueryParameter:
    """A parameter of a query: its name, its default (an example if it is required), and what it means."""

    name: str
    default: Any
    meaning: str
    required: bool = False


@dataclass(frozen=True)
class LibraryQuery:
    """One query of the library; raises `ConfigError` for unknown names and names that cannot be quoted."""

    name: str  # such as "nearest", or "search/nearest" for servers with SEARCH
    title: str  # one line
    text: str  # content of the file
    parameters: tuple[QueryParameter, ...]  # in the order of the file

    @property
    def statement(self) -> str:
        """The statement without the comments, with the example's names."""
        return load_statement(f"{_FOLDER}/{self.name}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names that occur in the statement."""
        used = set(_EXAMPLE.findall(self.statement))
        return tuple(name for name, example in _EXAMPLES.items() if example in used)

    @property
    def takes_model(self) -> bool:
        """Whether the statement reads the names, or the record, of a model."""
        return bool(set(self.names) - {*_CHOSEN}) or any(each.name == "model" for each in self.parameters)

    def written(self, names: Mapping[str, str], keys: Mapping[str, str] | None = None) -> str:
        """Return the statement with example names replaced by `names`.

        `keys` is the property that names the nodes of each label, if it differs by label; "" for all others.
        """
        quoting = self._quoting(names)
        if keys is None:
            return _EXAMPLE.sub(quoting, self.statement)
        parts = _NAME_OF.split(self.statement)  # nodes whose name is shown are every other part
        parts[::2] = [_EXAMPLE.sub(quoting, part) for part in parts[::2]]
        parts[1::2] = [_name_by_label(node, keys) for node in parts[1::2]]
        return "".join(parts)

    def copy(self, names: Mapping[str, str], model: str | None = None) -> str:
        """Return the file with example names replaced by `names`, without comments on these names.

        `model` replaces the default of the parameter with that name. The text is safe to print verbatim.
        """
        quoting, lines = self._quoting(names, identifier_to_copy), []
        for line in self.text.splitlines(keepends=True):
            if model is not None and (match := _MODEL_PARAMETER.match(line)):
                value = json.dumps(model).ljust(len(match[2]) - 2)
                lines.append(f"{match[1]}{value}  {line[match.end() :]}")
            elif not line.startswith("//"):  # a name in a comment could break out of it
                lines.append(_EXAMPLE.sub(quoting, line))
            elif not (put := set(_EXAMPLE.findall(line))) or put - {_EXAMPLES[name] for name in names}:
                lines.append(line)
        return "".join(lines)

    def divide(self, values: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
        """Split values into names and parameters, and add the defaults of parameters.

        Raises ConfigError if a value is unknown to the query, or a required one is missing.
        """
        chosen = [name for name in self.names if name in _CHOSEN]
        required = [*chosen, *(each.name for each in self.parameters if each.required)]
        own = {"property"}.intersection(chosen)  # without one, the keys of the model name nodes
        defaults = {each.name: each.default for each in self.parameters if not each.required}
        if self.takes_model:
            defaults.setdefault("model", "heat")  # determines the model's names
        possible = [*required, *defaults]
        for name in values:
            if name not in possible:
                raise ConfigError(
                    f"query {self.name!r} has no parameter {name!r}: it has {', '.join(possible) or 'none'}"
                )
        if not isinstance(values.get("model", ""), str):
            raise ConfigError(f"the model of query {self.name!r} must be a text, got {values['model']!r}")
        missing = [name for name in required if name not in values and name not in own]
        if missing:
            raise ConfigError(
                f"query {self.name!r} needs {', '.join(missing)}: `heat cypher show {self.name}` explains"
            )
        names = {name: values[name] for name in chosen if name in values}
        self._quoting(names)
        return names, defaults | {name: value for name, value in values.items() if name not in names}

    def _quoting(
        self, names: Mapping[str, str], quote: Callable[[str], str] = quote_identifier
    ) -> Callable[[re.Match[str]], str]:
        quoted = {}
        for name, value in names.items():
            if name not in self.names:
                raise ConfigError(f"query {self.name!r} has no {name}")
            prefix = f"the {name} of query {self.name!r}: "
            with errors_as(ConfigError, (TypeError, ValueError), prefix=prefix):
                quoted[_EXAMPLES[name]] = quote(value)
        return lambda match: quoted.get(match[1], match[0])


def _name_by_label(node: str, keys: Mapping[str, str]) -> str:
    """Return the expression for the key of a node, whose label is not known beforehand."""
    own = {label: f"{node}.{quote_identifier(name)}" for label, name in keys.items()}
    cases = [f"WHEN {node}:{quote_identifier(label)} THEN {key}" for label, key in own.items() if label]
    return f"CASE {' '.join(cases)} ELSE {own.get('', 'null')} END"


def list_queries() -> list[LibraryQuery]:
    """Return all queries, by name."""
    return [load_query(name.removeprefix(f"{_FOLDER}/")) for name in statement_names(_FOLDER)]


def load_query(name: str) -> LibraryQuery:
    """Return one query; raises ConfigError if there is no query of that name."""
    names = [path.removeprefix(f"{_FOLDER}/") for path in statement_names(_FOLDER)]
    if name not in names:
        hint = did_you_mean(name, names) or ": `heat cypher list` names them"
        raise ConfigError(f"there is no query {name!r}{hint}")
    text = statement_text(f"{_FOLDER}/{name}")
    parameters = tuple(
        QueryParameter(
            parameter, json.loads(default), meaning.removeprefix(_REQUIRED), meaning.startswith(_REQUIRED)
        )
        for parameter, default, meaning in _PARAMETER.findall(text)
    )
    return LibraryQuery(name, text.splitlines()[0].removeprefix("// "), text, parameters)
