"""``heat verify``: a run trained again, and compared with the graph bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.arguments import memory_limit
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import filter_options, model_options, setting_options
from heat_neo4j.cli.output import Reporter, facts, format_seconds, printed_as_json
from heat_neo4j.errors import CoordinatesDiffer

if TYPE_CHECKING:
    from heat_neo4j.pipeline.verify import Verification

EXAMPLE = """
heat verify
heat verify 20260801T060000Z-5f3a9c1e7b24 --model papers --n-threads 1
"""


@click.command(cls=HeatCommand, example=EXAMPLE)
@click.argument("run_id", metavar="[RUN]", required=False)
@setting_options("heat.n_threads", "heat.scratch", "heat.scheduler", "limits")
@filter_options
@model_options
def verify(run_id: str | None, model: str, **options: Any) -> None:
    """Train a run again and compare every bit.

    Reads the graph as the run did, trains with the run's parameters and seed, and compares the result
    with the coordinates in the graph. RUN is the id of a run of --model that is published or kept for a
    rollback; the default is the published one. Nothing is written.

    Exit codes: 0 the same bits; 12 other bits; 13 the run cannot be verified, because the graph has
    changed or for another reason, which is printed; others as for every command.
    """
    from heat_neo4j.pipeline.verify import verify as run_verify

    arguments = {name: options[name] for name in ("n_threads", "scratch", "scheduler")}
    arguments |= {"model": model, "memory_limit": memory_limit(options)}
    with open_store(options) as store, Reporter() as progress:
        found = run_verify(store, run_id, **arguments, on_progress=progress)
    if not printed_as_json(found.to_dict()):
        facts(_lines(found))
    if not found.equal:
        raise CoordinatesDiffer(
            f"run {found.run.run_id} is not in the graph as it was trained: {_difference(found)}"
        )


def _lines(found: Verification) -> Iterator[tuple[str, str]]:
    run = found.run
    yield "Run", f"{run.run_id} ({run.decision}) of model {run.model!r}"
    how = f"{plural(found.pairs, 'pair')}, seed {run.seed}, {plural(found.threads, 'thread')}"
    yield "Trained again", f"{how}, {format_seconds(sum(found.seconds.values()))}"
    yield "Compared", f"{found.coordinates} coordinates and radii of {plural(found.nodes, 'node')}"
    yield "Result", "the same bits" if found.equal else _difference(found)
    yield from (("Note", note) for note in found.notes)


def _difference(found: Verification) -> str:
    """Return in words what differs."""
    verb = "differs" if found.different == 1 else "differ"
    text = f"{found.different:,} of {plural(found.nodes, 'node')} {verb}"
    if found.missing:
        text += f", {found.missing:,} without coordinates"
    if found.different > found.missing:
        text += f", by a hyperbolic distance of at most {found.largest_distance:.3g}"
    return text
