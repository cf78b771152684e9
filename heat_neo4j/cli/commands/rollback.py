"""``heat rollback``: back to the version before."""

from typing import Any

import click

from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import dry_run_option, model_options, name_options
from heat_neo4j.cli.output import Reporter, print_line, printed_as_json


@click.command(cls=HeatCommand, example="heat rollback --model heat")
@dry_run_option
@name_options
@model_options
def rollback(model: str, dry_run: bool, **options: Any) -> None:
    """Publish the previous version again.

    Readers see all of one version or all of the other, with coordinates, vector index and predicted
    links. The replaced version is kept until the next run, so a second rollback undoes the first.
    """
    with open_store(options) as store, Reporter() as progress:
        run, link_run = store.rollback(model, dry_run=dry_run, on_progress=progress)
    if not printed_as_json({"model": model, "run": run, "link_run": link_run, "dry_run": dry_run}):
        links = "" if link_run in (None, run) else f", with the links of run {link_run}"
        print_line(f"model {model!r}: run {run} {'would be' if dry_run else 'is'} published again{links}")
