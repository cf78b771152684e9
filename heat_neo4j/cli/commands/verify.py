"""``heat verify``: a run trained again, and compared with the graph bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import plural
from heat_neo4j.cli.options import filter_options, model_options, setting_options
from heat_neo4j.cli.output import facts, format_seconds, noted
from heat_neo4j.cli.verbs import verb_command
from heat_neo4j.errors import CoordinatesDiffer

if TYPE_CHECKING:
    from heat_neo4j.pipeline.verify import Verification

EXAMPLE = """
heat verify
heat verify 20260801T060000Z-5f3a9c1e7b24 --model papers --n-threads 1
"""


EXIT_CODES = """\
Exit codes: 0 identical; 12 different; 13 the run cannot be verified, because the graph has changed
or for another reason, which is printed; others as for every command."""


def _check(found: Verification) -> None:
    if not found.equal:
        raise CoordinatesDiffer(f"run {found.run.run_id} differs from its training: {_difference(found)}")


@verb_command(
    "verify",
    EXAMPLE,
    setting_options("heat.n_threads", "heat.scratch", "heat.scheduler", "limits"),
    filter_options,
    model_options,
    arguments=["run_id"],
    more=EXIT_CODES,
    check=_check,
)
def verify(found: Verification, options: dict[str, Any]) -> None:
    """Print how the run was trained again, and what differs."""
    facts(_lines(found))


def _lines(found: Verification) -> Iterator[tuple[str, str]]:
    run = found.run
    yield "Run", f"{run.run_id} ({run.decision}) of model {run.model!r}"
    how = f"{plural(found.pairs, 'pair')}, seed {run.seed}, {plural(found.threads, 'thread')}"
    yield "Trained again", f"{how}, {format_seconds(sum(found.seconds.values()))}"
    yield "Compared", f"{found.coordinates} coordinates and radii of {plural(found.nodes, 'node')}"
    yield "Result", "the same bits" if found.equal else _difference(found)
    yield from noted(found.notes)


def _difference(found: Verification) -> str:
    """Return in words what differs."""
    verb = "differs" if found.different == 1 else "differ"
    text = f"{found.different:,} of {plural(found.nodes, 'node')} {verb}"
    if found.missing:
        text += f", {found.missing:,} without coordinates"
    if found.different > found.missing:
        text += f", by a hyperbolic distance of at most {found.largest_distance:.3g}"
    return text
