"""``heat index``: the vector index of a published model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import model_options, name_options
from heat_neo4j.cli.output import Reporter, print_line, printed_as_json, table

if TYPE_CHECKING:
    from heat_neo4j.database.publish.published_index import IndexStatus

HEADER = ("INDEX", "LABEL", "PROPERTY", "DIMENSION", "STATE", "BUILT")


@click.group(cls=HeatSubgroup, example="heat index status")
def index() -> None:
    """Create, inspect or drop the vector index of a published model.

    `heat embed` creates it, unless you pass --no-index. It finds nearest nodes without looking at all of
    them.
    """


@index.command(cls=HeatCommand, example="heat index create")
@name_options
@model_options
def create(model: str, **options: Any) -> None:
    """Create the index if it is missing or wrong."""
    with open_store(options) as store, Reporter() as progress:
        _show(store.create_index(model, on_progress=progress))


@index.command(cls=HeatCommand, example="heat index status --json")
@model_options
def status(model: str, **options: Any) -> None:
    """Show the index and its problems."""
    with open_store(options) as store:
        _show(store.index_status(model))


@index.command(cls=HeatCommand, example="heat index drop --model heat")
@name_options
@model_options
def drop(model: str, **options: Any) -> None:
    """Drop the index; coordinates stay."""
    with open_store(options) as store:
        dropped = store.drop_index(model)
    if not printed_as_json({"model": model, "dropped": list(dropped)}):
        print_line(f"dropped {', '.join(dropped)}" if dropped else f"model {model!r} has no vector index")


def _show(index_status: IndexStatus) -> None:
    if printed_as_json(index_status.to_dict()):
        return
    rows = []
    for each in index_status.indexes:
        state, percent = each.state.lower(), f"{each.percent:.0f} %"
        rows.append((each.name, each.label, each.property, str(each.dimension), state, percent))
    if rows:
        table(HEADER, rows)
    for problem in index_status.problems:
        print_line(problem)
