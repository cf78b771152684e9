"""``heat cypher``: the queries that come with the package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import (
    Decorator,
    common_options,
    database_options,
    json_option,
    option,
    setting_options,
)
from heat_neo4j.cli.output import plural, print_json, print_line, print_lines, table

__all__ = ["cypher"]

SHOW_EXAMPLE = """
heat cypher show nearest --label Paper --property id
heat cypher show links_of --label Paper --property id --model papers
"""
RUN_EXAMPLE = """
heat cypher run nearest --label Paper --property id -p value=p1 -p k=5
"""

label_option: Decorator[Any] = option(
    "--label", metavar="LABEL", help="Label by which the query finds nodes, where it has one."
)
property_option: Decorator[Any] = option(
    "--property",
    "key",
    metavar="PROPERTY",
    help="Property by which it finds and shows nodes; an index of yours over both is used.",
)


@click.group(cls=HeatSubgroup, example="heat cypher list")
def cypher() -> None:
    """List, show or run the queries that come with this package.

    They are made to be copied: into Neo4j Browser, or into a program of yours.
    """


@cypher.command("list", cls=HeatCommand, example="heat cypher list")
@json_option
@common_options
def list_(as_json: bool, verbose: int) -> None:
    """List the queries and what each answers."""
    from heat_neo4j.database.query_files import list_queries

    queries = list_queries()
    if as_json:
        print_json([{"name": query.name, "title": query.title} for query in queries])
    else:
        table(("QUERY", "ANSWERS"), [(query.name, query.title) for query in queries])


@cypher.command(cls=HeatCommand, example=SHOW_EXAMPLE)
@click.argument("name", metavar="NAME")
@label_option
@property_option
@option(
    "--model",
    metavar="NAME",
    help="Write the names that this model has in the database.  [default: those of the file]",
)
@setting_options("connection")
@common_options
def show(
    name: str, label: str | None, key: str | None, model: str | None, verbose: int, **options: Any
) -> None:
    """Print a query, to copy it. Only with --model is a database needed."""
    from heat_neo4j.database.query_files import load_query

    names = _names(label, key)
    text = load_query(name).copy(names)  # refuses before a connection is made
    if model is not None:
        with open_store(options) as store:
            text = store.copy_query(name, model, **names)
    print_lines(text)


@cypher.command(cls=HeatCommand, example=RUN_EXAMPLE)
@click.argument("name", metavar="NAME")
@label_option
@property_option
@option(
    "-p",
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter; repeat for more. Values are JSON, or else texts.  [default: those of the query]",
)
@database_options
def run(
    name: str,
    label: str | None,
    key: str | None,
    parameters: Sequence[str],
    as_json: bool,
    verbose: int,
    **options: Any,
) -> None:
    """Run a query and print its rows.

    A query only reads. `heat cypher show NAME` tells its parameters.
    """
    from heat_neo4j._utils.display import display_text
    from heat_neo4j.database.query_files import load_query

    query = load_query(name)
    values = dict(map(_parameter, parameters)) | _names(label, key)
    query.divide(values)  # refuses before a connection is made
    with open_store(options) as store:
        rows = store.query(name, **values)
    if as_json:
        print_json(rows)
    elif rows:
        table(
            [key.upper() for key in rows[0]],
            [[display_text(value) for value in row.values()] for row in rows],
        )
        print_line(plural(len(rows), "row"), err=True)
    else:
        print_line("no rows", err=True)


def _names(label: str | None, key: str | None) -> dict[str, str]:
    """Return those of the names that were parameters."""
    return {name: value for name, value in (("label", label), ("property", key)) if value is not None}


def _parameter(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.UsageError(f"-p {text!r}: give NAME=VALUE", click.get_current_context())
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
