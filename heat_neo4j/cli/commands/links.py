"""``heat links``: predicted links from coordinates that are already there."""

from typing import Any

import click

from heat_neo4j.cli.arguments import links_from, memory_limit
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import (
    database_options,
    dry_run_option,
    filter_options,
    log_options,
    name_options,
    overwrite_option,
    setting_options,
)
from heat_neo4j.cli.output import Reporter
from heat_neo4j.cli.report import log_run, show_run
from heat_neo4j.cli.settings import settings_of

LINKS = [setting.key for setting in settings_of("links") if setting.name != "enabled"]
EXAMPLE = "heat links --k 20 --predict 'Author-WROTE->Paper'"


@click.command(cls=HeatCommand, example=EXAMPLE)
@setting_options(*LINKS, "heat.n_threads", "limits", "write.model", "write.link_type")
@filter_options
@name_options
@dry_run_option
@overwrite_option
@database_options
@log_options
def links(model: str, **options: Any) -> None:
    """Predict links from the published embedding and write them.

    Nothing is trained: the coordinates are read back, with the projection of their run. The new links
    replace the old ones at once. (If that run fitted no probabilities, one training is needed to fit
    them, except with --score distance.)
    """
    from heat_neo4j.pipeline.embed import predict

    arguments = {name: options[name] for name in ("link_type", "n_threads", "overwrite", "dry_run")}
    arguments |= {"links": links_from(options), "memory_limit": memory_limit(options)}
    with open_store(options) as store, Reporter() as progress:
        report = predict(store, model, **arguments, on_progress=progress)
    log_run(report.run)
    show_run(report)
