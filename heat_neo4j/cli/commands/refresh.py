"""``heat refresh``: bring a model up to date; made to be called by a scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from heat_neo4j.cli.arguments import job_from
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import database_options, job_options, log_options, verb_options
from heat_neo4j.cli.output import Log, Reporter, facts, log_of_machines, noted, printed_as_json
from heat_neo4j.cli.report import log_run, plan_lines, show_run
from heat_neo4j.errors import QualityRejected

if TYPE_CHECKING:
    from heat_neo4j.pipeline.embed import RefreshReport

EXAMPLE = """
heat refresh --label Paper --relationship CITES --attribute words
heat refresh --config /etc/heat.toml --json
"""


@click.command(cls=HeatCommand, example=EXAMPLE)
@verb_options("refresh", "mode", "dry_run", heading="Refreshing")
@job_options
@database_options
@log_options
def refresh(mode: str, dry_run: bool, **options: Any) -> None:
    """Bring a model up to date with as little work as possible.

    `heat embed` makes the first version of a model; without one this command ends with exit code 4. Depending
    on the changes since the published run, it does nothing, places new nodes among the others, continues from
    the published coordinates, or retrains in full and aligns the result with them. A version that fails the
    quality gate is recorded but not published. Only one process refreshes a model at a time.

    Exit codes: 0 published, or nothing to do; 4 no such model; 9 another process is refreshing; 10
    rejected; others as for every command.
    """
    from heat_neo4j.pipeline.embed import refresh as run

    job, say = job_from(options), Log(str)
    with open_store(options) as store, Reporter() as progress:

        def print_above(line: str) -> None:
            progress.close()
            if not progress.quiet:
                say(line)

        report = run(store, job, mode=mode, dry_run=dry_run, on_progress=progress, log=print_above)
    _show(report)
    if report.outcome == "rejected" and report.report is not None:
        run_id, why = report.report.run.run_id, report.report.run.error
        raise QualityRejected(f"run {run_id} was rejected; the published version stays: {why}")


def _show(report: RefreshReport) -> None:
    if report.report is not None:
        log_run(report.report.run)
    else:
        log_of_machines(f"{report.outcome}: {report.reason}", event="finished", outcome=report.outcome)
    if printed_as_json(report.to_dict()):
        return
    if report.report is not None:
        show_run(report.report)
        return
    done = [("Done", f"{report.decision}: {report.reason}")]
    facts(plan_lines(report.plan.to_dict()) if report.outcome == "dry run" else done)
    facts(noted(report.notes))
