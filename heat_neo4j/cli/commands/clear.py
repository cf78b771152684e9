"""``heat clear``: remove what runs have written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import database_options, option, verb_options
from heat_neo4j.cli.output import Reporter, print_line, printed_as_json

if TYPE_CHECKING:
    from heat_neo4j.database.publish.removal import ClearReport

WHAT = "What to remove"
CHOICES = ("run_id", "model", "everything")
EXAMPLE = """
heat clear --model heat --dry-run
heat clear --model heat --yes
"""


@click.command(cls=HeatCommand, example=EXAMPLE)
@verb_options("clear", *CHOICES, heading=WHAT)
@option("--yes", heading=WHAT, is_flag=True, help="Do not ask.")
@verb_options("clear", "dry_run", heading=WHAT)
@database_options
def clear(yes: bool, dry_run: bool, **options: Any) -> None:
    """Remove what runs have written, and only that.

    Removes coordinates, radii, run ids, predicted links and run nodes; for a model also the classes and
    clusters made from it. A published run is unpublished first. If a local refresh made it, the previous
    version goes too, because both share nodes; run `heat rollback` first to keep it. Your own nodes,
    relationships and properties stay.
    """
    chosen = {name: options[name] for name in CHOICES}
    if sum(map(bool, chosen.values())) != 1:
        raise click.UsageError("give one of --run, --model and --all")
    with open_store(options) as store:
        if chosen["model"]:
            store.bookkeeping().check_model(chosen["model"])
        report = store.clear(**chosen, dry_run=True)
        if not dry_run and (report.runs or report.models):
            if not yes:
                _ask(report)
            with Reporter() as progress:
                report = store.clear(**chosen, on_progress=progress)
    if printed_as_json(report.to_dict()):
        return
    if report.runs or report.models:
        print_line(f"{'would remove' if report.dry_run else 'removed'} {_summary(report)}")
    else:
        print_line("nothing to remove")


def _ask(report: ClearReport) -> None:
    if not _can_ask():
        raise click.UsageError(f"would remove {_summary(report)}: pass --yes to confirm")
    click.confirm(f"Remove {_summary(report)}?", abort=True, err=True)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _summary(report: ClearReport) -> str:
    runs, links = plural(len(report.runs), "run"), plural(report.links, "predicted link")
    others = f", and the version of run {' and '.join(report.others)}, which shares data"
    values = f"{runs}, values of {plural(report.nodes, 'node')}, {links}"
    return values + (others if report.others else "")
