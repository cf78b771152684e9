"""What pages take from the code and from docs/results.jsonl: ``python -m tests.docs.reference`` writes it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, get_args, get_type_hints

import heat_neo4j
from heat_neo4j import errors, evaluation
from heat_neo4j.attributes import table as attribute_table
from heat_neo4j.cli.group import INTERRUPTED
from heat_neo4j.database.naming import PropertyNames, WriteNames
from heat_neo4j.database.query_files import LibraryQuery, list_queries
from tests.benchmarks.results.tables import digest, paper_reached, stored_tables
from tests.docs.settings import settings_page
from tests.support.documents import ROOT

_OPENING, _CLOSING = "([{", ")]}"
_COMMON = {"model": "heat", "value": None, "other": None, "k": 10}  # the page explains them once


def rows(header: str, lines: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table under a header such as ``"| code | meaning |"``."""
    cells = [header, re.sub(r"[^|]+", "---", header)]
    cells += ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join(cells) + "\n"


def code(*names: str) -> str:
    """Return names as code, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def markdown(text: str) -> str:
    """Return a text of a docstring on one line, as Markdown."""
    return " ".join(text.split()).replace("``", "`").replace("<", "&lt;")


def parameters_of(documented: type) -> dict[str, str]:
    """Return {names, as the numpydoc docstring of a class has them: what it says of them}."""
    section = inspect.getdoc(documented).partition("Parameters\n----------\n")[2]  # type: ignore[union-attr]
    entries = re.findall(r"^(\w[\w, ]*) : .*\n((?:    .*\n?)+)", section.split("\n\n")[0], re.MULTILINE)
    return {names: markdown(text) for names, text in entries}


def columns(query: LibraryQuery) -> tuple[str, ...]:
    """Return the columns that a query gives: those of its last ``RETURN`` that begins a line."""
    last = re.split(r"^RETURN (?:DISTINCT )?", query.statement, flags=re.MULTILINE)[-1]
    returned = re.split(r"^(?:ORDER BY|SKIP|LIMIT)\b", last, flags=re.MULTILINE)[0]
    depth, parts = 0, [""]
    for character in returned:
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(part.rpartition(" AS ")[2].strip() for part in parts)


def queries() -> str:
    """Return a line for each query: what it answers, its parameters, its columns."""
    return "".join(_query(each) for each in list_queries() if "/" not in each.name)  # the others do the same


def _query(query: LibraryQuery) -> str:
    taken = []
    for each in query.parameters:
        usual = each.required or (each.name in _COMMON and each.default == _COMMON[each.name])
        default = [] if usual else [f"default {code(json.dumps(each.default))}"]
        remark = "; ".join(default + [each.meaning] * (each.name not in _COMMON))
        taken.append(code(each.name) + (f" ({remark})" if remark else ""))
    takes = f" Takes {', '.join(taken)}." if taken else ""
    return f"- **{query.name}**: {query.title}{takes} Returns {code(*columns(query))}.\n"


def exit_codes() -> str:
    """Return the table of all exit codes, from the errors that have them."""
    meanings = {
        0: ("", "Success."),
        errors.HeatError.exit_code: ("", "A bug in heat, or out of memory."),
        INTERRUPTED: ("", "Interrupted (Ctrl-C)."),
    }
    for name in errors.__all__:
        error = getattr(errors, name)
        if "exit_code" in vars(error) and error is not errors.HeatError:
            meanings[error.exit_code] = (code(name), markdown(inspect.getdoc(error) or ""))
    return rows("| code | error | meaning |", ((str(each), *meanings[each]) for each in sorted(meanings)))


def names() -> str:
    """Return the table of the names of a model's properties, types of links and indexes, of all copies."""
    model = WriteNames()
    copies = model.plain, model.staged, model.previous
    lines = [
        (text, *(code(getattr(each, field)) for each in copies))
        for field, text in parameters_of(PropertyNames).items()
    ]
    lines.append(("Type of predicted relationships", *map(code, model.links)))
    indexes = (code(model.index_of("<Label>")), code(model.staged_index_of("<Label>")), "")
    lines.append(("Vector index", *indexes))
    return rows("| holds | plain | staged | previous |", lines)


def attributes() -> str:
    """Return the table of how properties become attributes, which the module that does so has."""
    lines = (inspect.getdoc(attribute_table) or "").splitlines()
    cells = (
        re.sub(r"---+", "---", re.sub(r"  +\|", " |", markdown(line))) for line in lines if line[:1] == "|"
    )
    return "\n".join(cells) + "\n"


@cache
def public_types() -> dict[str, str]:
    """Return {name: module} of our types that public classes are, or that their methods return."""
    modules = {name: module for module in (heat_neo4j, evaluation) for name in module.__all__}
    found = {
        name: module.__name__ for name, module in modules.items() if isinstance(getattr(module, name), type)
    }
    for owner in (heat_neo4j.Database, heat_neo4j.HEAT, heat_neo4j.LocalServer):
        for name, member in vars(owner).items():
            function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
            if not name.startswith("_") and callable(function):
                for each in _own_types(get_type_hints(function).get("return")):
                    found.setdefault(each.__name__, each.__module__)
    return found


def _own_types(hint: Any) -> list[type]:
    """Return our types in a type hint."""
    own = [hint] if isinstance(hint, type) and hint.__module__.startswith("heat_neo4j") else []
    return own + [each for part in get_args(hint) for each in _own_types(part)]


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "queries": ("docs/reference/queries.md", queries),
    "exit codes": ("docs/command-line.md", exit_codes),
    "names": ("docs/data-model.md", names),
    "attributes": ("docs/how-to/projection.md", attributes),
    "results": ("README.md", lambda: paper_reached(stored_tables())),
    "others": ("docs/figures.md", lambda: digest(stored_tables())),
    "paper": ("docs/figures.md", lambda: paper_reached(stored_tables())),
}
"""What is written, by its name: into which page, and by what."""


def written(name: str, text: str) -> str:
    """Return the text of a page with one part written anew."""
    begin, end = f"<!-- {name}: generated -->", f"<!-- end of {name} -->"
    head, found, rest = text.partition(begin)
    _, ended, tail = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"no place for {name}")
    return f"{head}{begin}\n\n{PARTS[name][1]()}\n{end}{tail}"


def main() -> None:
    """Write all parts into their pages, and the page of settings."""
    (ROOT / "docs/settings.md").write_text(settings_page(), encoding="utf-8")
    for name, (page, _) in PARTS.items():
        path = ROOT / page
        path.write_text(written(name, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
