"""``heat index``: the vector index of a published model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from heat_neo4j.cli.group import HeatSubgroup
from heat_neo4j.cli.options import model_options
from heat_neo4j.cli.output import print_line, table
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.database.publish.published_index import IndexStatus

HEADER = ("INDEX", "LABEL", "PROPERTY", "DIMENSION", "STATE", "BUILT")


@click.group(cls=HeatSubgroup, example="heat index status")
def index() -> None:
    """Create, inspect or drop the vector index of a published model.

    `heat embed` creates it, unless you pass --no-index. It finds nearest nodes without looking at all of
    them.
    """


def _show(index_status: IndexStatus, _: object) -> None:
    """Print the indexes and their problems."""
    rows = []
    for each in index_status.indexes:
        state, percent = each.state.lower(), f"{each.percent:.0f} %"
        rows.append((each.name, each.label, each.property, str(each.dimension), state, percent))
    if rows:
        table(HEADER, rows)
    for problem in index_status.problems:
        print_line(problem)


create = verb_command("create_index", "heat index create", model_options, group=index, called="create")(_show)
status = verb_command(
    "index_status", "heat index status --json", model_options, group=index, called="status"
)(_show)


@verb_command(
    "drop_index",
    "heat index drop --model heat",
    model_options,
    group=index,
    called="drop",
    document=lambda dropped, options: {"model": options["model"], "dropped": list(dropped)},
)
def drop(dropped: tuple[str, ...], options: dict[str, Any]) -> None:
    """Print what was dropped."""
    print_line(
        f"dropped {', '.join(dropped)}" if dropped else f"model {options['model']!r} has no vector index"
    )
