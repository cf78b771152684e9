"""``heat runs``: what was run on this database, and one run in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand, HeatSubgroup
from heat_neo4j.cli.options import database_options, option
from heat_neo4j.cli.output import facts, format_seconds, headed, print_line, printed_as_json, table
from heat_neo4j.cli.report import describe
from heat_neo4j.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heat_neo4j.database.runs import RunRecord

HEADER = (
    "RUN", "MODEL", "PARTS", "DECISION", "STATUS", "STARTED",
    "TIME", "NODES", "LINKS", "LOSS", "AUROC", "MOVE",
)  # fmt: skip


@click.group(cls=HeatSubgroup, example="heat runs --model heat", invoke_without_command=True)
@option("--model", "of_model", metavar="NAME", help="Runs of this model only.")
@database_options
def runs(of_model: str | None, **options: Any) -> None:
    """List the runs in the database, or show one.

    A run is complete (published), superseded (replaced by another one), rejected (by the quality gate), or
    incomplete (being written, or crashed; the next run or `heat clear` removes its leftovers).
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    records = _recorded(of_model, options)
    if printed_as_json([run.to_dict() for run in records]):
        return
    if records:
        table(HEADER, [_row(run) for run in records])
        for run in _rejected_last(records):
            print_line(
                f"model {run.model!r} is unchanged: run {run.run_id} was rejected ({run.error}); check what "
                "was loaded, then loosen that limit under [refresh] in heat.toml, or run `heat embed`"
            )
    else:
        print_line("no runs in this database" if of_model is None else f"no runs of model {of_model!r}")


@runs.command(cls=HeatCommand, example="heat runs show\nheat runs show 20260801T060000Z-5f3a9c1e7b24")
@click.argument("run_id", metavar="[RUN]", required=False)
@database_options
def show(run_id: str | None, **options: Any) -> None:
    """Show one run, by default the newest: its graph, its training, what it wrote."""
    group = click.get_current_context().parent
    of_model = None if group is None else group.params["of_model"]
    records = [run for run in _recorded(of_model, options) if run_id in (None, run.run_id)]
    where = "in this database" if of_model is None else f"of model {of_model!r}"
    if not records and run_id is None:
        raise ConfigError(f"there is no run {where}: `heat embed` makes the first")
    if not records:
        raise ConfigError(f"there is no run {run_id!r} {where}: `heat runs` lists them")
    run = records[0]
    if printed_as_json(run.to_dict()):
        return
    facts(describe(run, stages=True))
    for title in ("projection", "parameters", "versions"):
        values = getattr(run, title)
        lines = (f"{name} = {value}" for name, value in values.items() if value not in (None, [], {}))
        facts(headed(title.capitalize(), lines))


def _recorded(of_model: str | None, options: Mapping[str, Any]) -> tuple[RunRecord, ...]:
    """Return the runs in the database, or those of a model, latest first."""
    with open_store(options) as store:
        book = store.bookkeeping()
    if of_model is None:
        return book.runs
    book.check_model(of_model)
    return book.runs_of(of_model)


def _rejected_last(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the last run of each model if the gate rejected it; `records` are latest first."""
    last: dict[str, RunRecord] = {}
    for run in records:
        if run.status in ("complete", "rejected"):
            last.setdefault(run.model, run)
    return [run for run in last.values() if run.status == "rejected"]


def _row(run: RunRecord) -> tuple[str, ...]:
    return (
        run.run_id,
        run.model,
        run.kind,
        run.decision or "",
        run.status,
        "" if run.started_at is None else f"{run.started_at:%Y-%m-%d %H:%M}",
        format_seconds(sum(run.stage_seconds.values())),
        f"{run.nodes_written:,}" if run.kind != "links" else "",
        f"{run.links_written:,}" if "links" in run.parts else "",
        "" if run.final_loss is None else f"{run.final_loss:.4f}",
        _number(run.quality.get("auroc")),
        _number(run.drift.get("mean")),
    )


def _number(value: object) -> str:
    """Return a figure of a run's quality, nothing where there is none."""
    return f"{value:.3f}" if isinstance(value, int | float) else ""
