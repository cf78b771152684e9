"""``heat embed``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from heat_neo4j.cli.arguments import (
    check_choose_seconds,
    chosen_from,
    heat_from,
    links_from,
    names_from,
    projection_from,
)
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import (
    checkpoint_option,
    choose_option,
    common_options,
    connection_options,
    heat_options,
    index_switch,
    json_option,
    link_options,
    links_switch,
    memory_option,
    names_options,
    projection_options,
    recipe_option,
    write_options,
)
from heat_neo4j.cli.output import Reporter
from heat_neo4j.cli.report import show_run

__all__ = ["embed"]

EXAMPLE = """
heat embed --labels Paper --relationships CITES --weight weight \\
           --attributes year --attributes words --random-state 0
"""


@click.command(cls=HeatCommand, example=EXAMPLE)
@projection_options
@heat_options
@choose_option
@recipe_option
@memory_option
@links_switch
@link_options
@names_options
@index_switch
@write_options
@checkpoint_option
@connection_options
@json_option
@common_options
def embed(
    links: bool,
    choose_seconds: float | None,
    memory_limit: int | None,
    checkpoint: Path | None,
    new_recipe: bool,
    coordinates: str,
    index: bool,
    dry_run: bool,
    overwrite: bool,
    as_json: bool,
    verbose: int,
    **options: Any,
) -> None:
    """Read a graph, embed it, write coordinates and predicted links.

    Each node gets its coordinates in hyperbolic space, its distance from the origin (small: general,
    large: specific) and the id of the run. All of it becomes visible at once; until then, and if anything
    goes wrong, readers see what was published before.
    """
    from heat_neo4j.cli.output import free_memory
    from heat_neo4j.pipeline.embed import embed as run_embed

    projection, model, names = projection_from(options), heat_from(options), names_from(options)
    wanted = links_from(options) if links else None
    check_choose_seconds(choose_seconds, options)
    with open_store(options) as store, Reporter(quiet=as_json and not verbose) as progress:
        report = run_embed(
            store,
            projection,
            model,
            names=names,
            coordinates=coordinates,
            links=wanted,
            choose=chosen_from(options),
            choose_seconds=choose_seconds,
            memory_limit=free_memory() if memory_limit is None else memory_limit,
            checkpoint=checkpoint,
            new_recipe=new_recipe,
            overwrite=overwrite,
            index=index,
            dry_run=dry_run,
            on_progress=progress,
        )
    show_run(report, as_json=as_json, verbose=verbose)
