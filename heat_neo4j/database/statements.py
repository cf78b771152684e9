"""Cypher statements, stored as files under ``cypher/``; identifiers are inserted only here.

Values are always passed as ``$parameters``. Labels, relationship types and property keys, which cannot be
parameters, are ``@placeholders`` in the files and are replaced by quoted identifiers.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from heat_neo4j._utils.display import printable
from heat_neo4j.errors.redaction import redacted

_PLACEHOLDER = re.compile(r"@([a-z][a-z_]*)")
_COMMENT_LINE = re.compile(r"^\s*//.*\n?", re.MULTILINE)


class Fragment(str):
    """Cypher text that is inserted into a statement verbatim.

    Created only from quoted identifiers (`except_names`), from statements, or from a user's predicate, which
    runs in read access mode, in which the server rejects writes.
    """

    __slots__ = ()


class Each(tuple[str, ...]):
    """Names for each of which a line of a statement is repeated, in order."""

    __slots__ = ()


def quote_identifier(name: str) -> str:
    """Quote a label, relationship type or property key with backticks; its own backticks are doubled.

    Raises ValueError if it is empty, or contains a NUL, a lone surrogate, or a backslash followed by ``u``:
    Cypher 5 decodes this escape before it looks for the closing backtick, Cypher 25 does not.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name in Neo4j must be a string, got {name!r}")
    if not name:
        raise ValueError("a name in Neo4j cannot be empty")
    if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
        raise ValueError(f"the name {name!r} holds a character that Neo4j cannot store")
    if "\\u" in name:
        raise ValueError(
            f"the name {name!r} holds the characters \\u, which cannot be quoted safely in Cypher"
        )
    return "`" + name.replace("`", "``") + "`"


def check_identifier(what: str, name: str) -> None:
    """Raise the error of `quote_identifier` for a name, prefixed with `what` it names."""
    try:
        quote_identifier(name)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from error


def is_identifier(name: object) -> bool:
    """Return whether `quote_identifier` accepts a value."""
    try:
        quote_identifier(name)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def identifier_to_copy(name: str) -> str:
    """Quote a name as `quote_identifier` does, for Cypher that users copy.

    Such Cypher is printed verbatim, because masking or escaping could end the quoted name early. Raises
    ValueError for a name that would need it.
    """
    quoted = quote_identifier(name)
    if printable(redacted(name)) != name:
        raise ValueError(
            "cannot be shown in Cypher: it holds a control character, a password, or what looks like a login"
        )
    return quoted


def except_names(names: Sequence[str]) -> Fragment:
    """Return the label (or type) expression for "none of `names`", e.g. ``!(`A`|`B`)``.

    An empty sequence excludes nothing: ``(%|!%)`` matches nodes with and without labels.
    """
    if not names:
        return Fragment("(%|!%)")
    return Fragment(f"!({_alternatives(names)})")


def label_predicate(labels: Sequence[str]) -> Fragment:
    """Return the predicate for nodes ``n`` with one of some labels; ValueError if one cannot be quoted."""
    return Fragment(f"n:{_alternatives(labels)}")


def load_statement(name: str, **identifiers: str | Sequence[str]) -> str:
    """Return the statement in ``cypher/<name>.cypher`` without comment lines and with placeholders filled.

    Each ``@placeholder`` is replaced by a name, several names (an alternative such as ``` `A`|`B` ```, for
    labels and types) or a `Fragment`; its line is repeated for the names of an `Each`. Raises ValueError if
    `identifiers` are not those of the file, or a name cannot be quoted.
    """
    template = _template(name)
    placeholders = set(_PLACEHOLDER.findall(template))
    if placeholders != set(identifiers):
        raise ValueError(
            f"cypher/{name}.cypher has placeholders {sorted(placeholders)}, got {sorted(identifiers)}"
        )
    repeated = {key: value for key, value in identifiers.items() if isinstance(value, Each)}
    texts = {key: _text(value) for key, value in identifiers.items() if key not in repeated}
    return "\n".join(
        _PLACEHOLDER.sub(partial(_filled, each), line)
        for line in template.split("\n")
        for each in _of_each(repeated, line) or [texts]
    )


def _of_each(repeated: Mapping[str, Each], line: str) -> list[dict[str, str]]:
    """Return the texts of the placeholders of a line that is repeated, for each repetition."""
    own = [key for key in _PLACEHOLDER.findall(line) if key in repeated]
    each = zip(*(map(quote_identifier, repeated[key]) for key in own), strict=True)
    return [dict(zip(own, texts, strict=True)) for texts in each]


def _filled(texts: Mapping[str, str], match: re.Match[str]) -> str:
    return texts[match[1]]


def _text(value: str | Sequence[str]) -> str:
    if isinstance(value, Fragment):
        return str(value)
    return quote_identifier(value) if isinstance(value, str) else _alternatives(value)


def _alternatives(names: Sequence[str]) -> str:
    if not names:
        raise ValueError("at least one name is needed")
    return "|".join(quote_identifier(name) for name in names)


def statement_names(folder: str) -> list[str]:
    """Return the names of the statements in ``cypher/<folder>`` and below it, such as ``"query/nearest"``."""
    names: list[str] = []
    for entry in _cypher(folder).iterdir():
        name = f"{folder}/{entry.name}"
        if entry.is_dir():
            names += statement_names(name)
        elif entry.name.endswith(".cypher"):
            names.append(name.removesuffix(".cypher"))
    return sorted(names)


@cache
def statement_text(name: str) -> str:
    """Return the file ``cypher/<name>.cypher`` as it is, comments and placeholders included."""
    return _cypher(f"{name}.cypher").read_text(encoding="utf-8")


@cache
def _template(name: str) -> str:
    return _COMMENT_LINE.sub("", statement_text(name)).strip()


def _cypher(path: str) -> Traversable:
    """Return a file or folder under ``cypher/``, of the installed package or of the checkout."""
    packaged: Traversable = files("heat_neo4j").joinpath("cypher", path)
    checkout: Traversable = Path(__file__).parents[2] / "cypher" / path
    for source in (packaged, checkout):
        if source.is_file() or source.is_dir():
            return source
    raise FileNotFoundError(f"no cypher/{path}, neither installed nor in the checkout")
