"""``heat cypher``: the queries that come with the package."""

import json
from collections.abc import Sequence
from typing import Any

import click

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import (
    Decorator,
    common_options,
    model_options,
    option,
    output_options,
    setting_options,
    stack,
)
from heat_neo4j.cli.output import print_cypher, print_line, printed_as_json, table

SHOW_EXAMPLE = """
heat cypher show nearest --label Paper --property id
heat cypher show links_of --label Paper --property id --model papers
"""
_OF_RADII = ("ancestors", "descendants", "most_general", "most_specific")
_MOSTLY_DEGREE = "radii mostly reflect the number of relationships"
RUN_EXAMPLE = "heat cypher run nearest --label Paper --property id -p value=p1 -p k=5"

name_options: Decorator[Any] = stack(
    option("--label", metavar="LABEL", help="Label of the nodes to find, if the query uses it."),
    option("--property", "key", metavar="PROPERTY",
           help="Property by which it finds and shows nodes; an index over label and property is used.  "
                "[default for run: the model's key]"),
)  # fmt: skip
parameter_option: Decorator[Any] = option(
    "-p", "--param", "parameters", multiple=True, metavar="NAME=VALUE",
    help="A parameter; repeat for more. Values are JSON, otherwise text.  [default: those of the query]",
)  # fmt: skip


@click.group(cls=HeatSubgroup, example="heat cypher list")
def cypher() -> None:
    """List, show or run the queries that come with this package.

    Copy them into Neo4j Browser or into your program.
    """


@cypher.command("list", cls=HeatCommand, example="heat cypher list")
@output_options
def list_() -> None:
    """List the queries and what each answers."""
    from heat_neo4j.database.query_files import list_queries

    queries = list_queries()
    if not printed_as_json([{"name": query.name, "title": query.title} for query in queries]):
        table(("QUERY", "ANSWERS"), [(query.name, query.title) for query in queries])


@cypher.command(cls=HeatCommand, example=SHOW_EXAMPLE)
@click.argument("name", metavar="NAME")
@name_options
@option(
    "--model",
    metavar="NAME",
    help="Use the names of this model.  [default: those of the file]",
)
@setting_options("connection")
@common_options
def show(name: str, label: str | None, key: str | None, model: str | None, **options: Any) -> None:
    """Print a query to copy. Only --model needs a database."""
    from heat_neo4j.database.query_files import load_query

    names = _names(label, key)
    text = load_query(name).copy(names)  # refuses before a connection is made
    if model is not None:
        with open_store(options) as store:
            text = store.copy_query(name, model, **names)
    print_cypher(text)


@cypher.command(cls=HeatCommand, example=RUN_EXAMPLE)
@click.argument("name", metavar="NAME")
@name_options
@parameter_option
@model_options
def run(
    name: str, label: str | None, key: str | None, parameters: Sequence[str], model: str, **options: Any
) -> None:
    """Run a query and print its rows.

    It only reads. `heat cypher show NAME` lists its parameters.
    """
    from heat_neo4j._utils.display import display_text
    from heat_neo4j.database.query_files import load_query

    query = load_query(name)
    values = dict(map(_parameter, parameters)) | _names(label, key)
    if query.takes_model:
        values.setdefault("model", model)
    query.divide(values)  # refuses before a connection is made
    with open_store(options) as store:
        rows = store.query(name, **values)
        published = store.published_run(values["model"]) if name in _OF_RADII else None
    if printed_as_json(rows):
        return
    if rows:
        header = [name.upper() for name in rows[0]]
        table(header, [[display_text(value) for value in row.values()] for row in rows])
    print_line(plural(len(rows), "row") if rows else "no rows", err=True)
    if published is not None and "hierarchy" not in published.training:
        print_line(f"{_MOSTLY_DEGREE}: the model was not trained for a hierarchy", err=True)


def _names(label: str | None, key: str | None) -> dict[str, str]:
    """Return the names that were given."""
    return {name: value for name, value in (("label", label), ("property", key)) if value is not None}


def _parameter(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.UsageError(f"-p {text!r}: give NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
