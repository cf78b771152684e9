"""``heat estimate``: what a run would need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import format_bytes, plural
from heat_neo4j._utils.memory import free_memory
from heat_neo4j.cli.arguments import heat_from, links_from, projection_from
from heat_neo4j.cli.options import database_options, setting_options
from heat_neo4j.cli.output import facts, format_seconds, verbosity
from heat_neo4j.cli.report import likely_hierarchy
from heat_neo4j.cli.verbs import verb_command

if TYPE_CHECKING:
    from heat_neo4j.pipeline.estimate import Estimate
    from heat_neo4j.pipeline.memory import RunSize

EXAMPLE = "heat estimate --label Paper --relationship CITES --attribute words --n-components 50"


def _given(options: dict[str, Any]) -> dict[str, Any]:
    links = links_from(options) if options["links"] else None
    return {"projection": projection_from(options), "estimator": heat_from(options), "links": links}


@verb_command(
    "estimate",
    EXAMPLE,
    setting_options("projection", "heat", "links", "write.model"),
    database_options,
    given=_given,
)
def estimate(needed: Estimate, options: dict[str, Any]) -> None:
    """Print what a run needs."""
    facts(_lines(needed.size, needed))


def _lines(size: RunSize, needed: Estimate) -> Iterator[tuple[str, str]]:
    graph = f"{plural(size.nodes, 'node')}, {plural(size.relationships, 'relationship')}"
    about = "" if needed.seconds else "about "  # what was read is exact
    attributes = f"{about}{plural(size.attribute_columns, 'attribute column')}"
    if size.vector_width:
        attributes += f", vectors of {plural(size.vector_width, 'number')}"
    yield "Graph", f"{graph}, {attributes}"
    yield from (likely_hierarchy(*each) for each in needed.hierarchies[:1])
    free = format_bytes(free_memory())
    yield "Memory", f"{format_bytes(needed.peak_memory)} at the peak, of {free} free now"
    if size.scratch is None and needed.scratch_bytes and needed.peak_memory > free_memory():
        memory, disk = format_bytes(needed.over_files), format_bytes(needed.scratch_bytes)
        yield "", f"with --scratch FOLDER {memory}, and {disk} on its disk"
    if size.scratch is not None and needed.scratch_bytes:
        yield "Disk", f"{format_bytes(needed.scratch_bytes)} in {size.scratch}"
    if verbosity():
        for stage, count in needed.memory.items():
            yield "", f"{stage}: {format_bytes(count)}"
    threads = plural(size.threads, "thread")
    if needed.seconds:
        yield "Time", f"about {format_seconds(needed.total_seconds)} with {threads} and a local server"
    else:
        yield "Time", f"not measured: reading takes {format_bytes(needed.memory['read'])} of memory"
    for stage, seconds in needed.seconds.items():
        yield "", f"{stage}: {format_seconds(seconds)}"
    rest, peak = format_bytes(needed.stored_bytes), format_bytes(needed.publishing_bytes)
    yield "Database", f"about {rest} for this version and the last; {peak} during the next publication"
    yield "Pairs", f"up to {needed.pairs:,} to train, {plural(needed.links, 'predicted link')} at most"
    yield "Negatives", "excluded exactly" if needed.exact_exclusion else "excluded by a Bloom filter"
