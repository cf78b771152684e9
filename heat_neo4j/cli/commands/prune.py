"""``heat prune``: away with what no reader needs."""

from typing import Any

import click

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import dry_run_option, model_options, name_options, option, setting_options
from heat_neo4j.cli.output import Reporter, print_line, printed_as_json


@click.command(cls=HeatCommand, example="heat prune --model heat --records 20")
@setting_options("refresh.records")
@option("--previous", heading="What to remove", is_flag=True,
        help="Also remove the previous version; no rollback is possible then.")  # fmt: skip
@dry_run_option
@name_options
@model_options
def prune(model: str, records: int, previous: bool, dry_run: bool, **options: Any) -> None:
    """Remove what no reader needs: remains of dead runs, old records.

    First completes or undoes an interrupted publication, then removes the oldest records of runs. The
    published version stays, and so does the previous one, unless you pass --previous.
    """
    with open_store(options) as store, Reporter() as progress:
        count = store.prune(model, records=records, previous=previous, dry_run=dry_run, on_progress=progress)
    if not printed_as_json({"model": model, "records_removed": count, "dry_run": dry_run}):
        what = f"{plural(count, 'record')} of earlier runs"
        print_line(f"model {model!r}: {f'would remove {what}' if dry_run else f'pruned; {what} removed'}")
