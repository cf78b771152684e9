"""``heat embed``: the main job."""

from pathlib import Path
from typing import Any

import click

from heat_neo4j.cli.arguments import run_arguments
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import (
    FILE,
    database_options,
    dry_run_option,
    log_options,
    option,
    overwrite_option,
    setting_options,
)
from heat_neo4j.cli.output import Reporter
from heat_neo4j.cli.report import log_run, show_run

EXAMPLE = """
heat embed --label Paper --relationship CITES --weight weight \\
           --attribute year --attribute words --random-state 0
"""


@click.command(cls=HeatCommand, example=EXAMPLE)
@setting_options("projection", "heat", "choose")
@option(
    "--new-recipe", heading="Embedding", level="more", is_flag=True,
    help="Learn again how properties become attributes.  [default: as in the published run, if it fits]",
)  # fmt: skip
@setting_options("limits", "links", "write")
@dry_run_option
@overwrite_option
@option(
    "--checkpoint", heading="Writing", level="more", type=FILE, metavar="FILE",
    help="Save the finished training there until it is published; a repeated command continues from it.",
)  # fmt: skip
@database_options
@log_options
def embed(checkpoint: Path | None, new_recipe: bool, dry_run: bool, **options: Any) -> None:
    """Read a graph, embed it, write coordinates and predicted links.

    Each node gets its coordinates in hyperbolic space, its distance from the origin (small: general,
    large: specific) and the id of the run. All of it becomes visible at once; until then, and if anything
    goes wrong, readers see what was published before.
    """
    from heat_neo4j.pipeline.embed import embed as run_embed

    arguments = run_arguments(options)
    arguments |= {"estimator": arguments.pop("model"), "model": arguments.pop("names")}
    arguments |= {"new_recipe": new_recipe, "dry_run": dry_run}
    with open_store(options) as store, Reporter() as progress:
        report = run_embed(store, **arguments, checkpoint=checkpoint, on_progress=progress)
    log_run(report.run)
    show_run(report)
