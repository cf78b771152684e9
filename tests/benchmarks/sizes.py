"""What a graph of each size needs, by the arithmetic and the pilot of `heat estimate`.

The table is in docs/how-to/larger-than-memory.md::

    python -m tests.benchmarks.sizes [--degree 10] [--attributes 50] [--cores 2 16 256]

For graphs without links to predict, by the defaults: memory of one process; with a scratch folder, memory,
and disk; core-hours of walks and training; hours on so many cores; what a cluster's workers read and write.
Times are those of the machine that it runs on, by one thread of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from heat_neo4j._kernels.vectors import padded_width
from heat_neo4j._utils.display import format_bytes
from heat_neo4j.embedding.schedule import portions_of
from heat_neo4j.heat import HEAT
from heat_neo4j.pipeline.estimate import estimate
from heat_neo4j.pipeline.memory import RunSize
from tests.support.made_graph import made_graph

__all__ = ["main", "traffic"]

SIZES = tuple(10**exponent for exponent in range(4, 10))
SHARE = 0.08
"""Of attribute values that are not 0."""


def traffic(size: RunSize) -> float:
    """Return the bytes that the workers of a cluster read and write: parts in each turn, and pairs once."""
    if size.parts == 1:
        return 0.0
    n_rounds = size.n_walks * portions_of(size.n_walks)
    table = 8.0 * size.nodes * padded_width(size.n_components + 1)
    pairs = size.scratch_bytes if size.scratch else 0.0
    return n_rounds * (2.0 * size.parts * table + 2.0 * pairs)


def row(nodes: int, degree: float, attributes: int, cores: Sequence[int]) -> list[str]:
    """Return the cells for a number of nodes."""
    size = RunSize(
        nodes,
        round(nodes * degree / 2),
        attribute_columns=attributes,
        attribute_share=SHARE,
    )
    needed = estimate(size, HEAT(random_state=0, n_threads=1), made_graph(size, 12_000))
    hours = sum(needed.seconds.get(stage, 0.0) for stage in ("coarse", "walks", "train")) / 3600
    over_files = replace(size, scratch=".")
    has_files = bool(needed.scratch_bytes)
    return [
        f"10^{len(str(nodes)) - 1}",
        str(size.parts),
        format_bytes(needed.peak_memory),
        format_bytes(needed.over_files) if has_files else "",
        format_bytes(needed.scratch_bytes) if has_files else "",
        f"{hours:,.2f}" if hours < 10 else f"{hours:,.0f}",
        *(_time(hours / min(count, max(size.parts // 2, 1))) for count in cores),
        format_bytes(round(traffic(over_files))) if has_files else "",
    ]


def _time(hours: float) -> str:
    if hours < 1 / 60:
        return f"{3600 * hours:.0f} s"
    return f"{60 * hours:.0f} min" if hours < 2 else f"{hours:,.0f} h"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.sizes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--degree", type=float, default=10.0)
    parser.add_argument("--attributes", type=int, default=50)
    parser.add_argument("--cores", nargs="+", type=int, default=[2, 16, 32])
    chosen = parser.parse_args(arguments)
    head = ["nodes", "parts", "memory", "with files", "disk", "core-hours"]
    head += [f"{count} cores" for count in chosen.cores] + ["traffic"]
    rows = [row(nodes, chosen.degree, chosen.attributes, chosen.cores) for nodes in SIZES]
    for cells in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
