"""All benchmarks, one after the other, into docs/benchmarks.jsonl. The exit code is 1 if a bar is missed.

::

    python -m tests.benchmarks [NAME ...]

With names, only those are measured again; the other records stay. Each runs in its own process, so no
benchmark affects the memory or the threads of another. A record has the command, the date, the machine with
its versions, and the output. If only an excerpt of the output was kept, the record has `excerpt`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

__all__ = ["main"]

RECORDS = Path(__file__).parents[2] / "docs" / "benchmarks.jsonl"

BENCHMARKS: Mapping[str, tuple[str, ...]] = {
    "shelf": (
        "cora_ml citeseer ppi gds-cora stdlib --seeds 0 1 2 3 4 --methods 'link score' stack distance",
    ),
    "throughput": ("--dim 2", "--dim 10", "--dim 50"),
    "threads": ("",),
    "buckets": (
        "--graphs cora_ml citeseer ppi",
        "--graphs 100000 --walks-per-node 6",
        "--threads 1 2 --graphs 100000 --walks-per-node 6",
    ),
    "coarse": ("wordnet debian classes",),
    "cluster": ("--nodes 1000000 --walks-per-node 2", "--nodes 20000 --kills 10"),
    "batch_size": ("",),
    "compiling": ("",),
    "parity": ("", "--dim 50"),
    "roofline": ("--dim 10", "--dim 50"),
    "versus": ("",),
    "zoo": ("",),
    "growth": ("",),
    "explore": ("",),
    "corpus": ("",),
    "repeat": ("",),
    "exclusion": ("",),
    "teleports": ("",),
    "relation_walks": ("--graphs films cora_ml citeseer",),
    "precision": ("",),
    "alpha": ("",),
    "shortlist": ("citeseer cora_ml stdlib",),
    "score_models": ("",),
    "refresh": ("",),
    "new_nodes": ("",),
    "proportion": ("",),
    "chain": ("",),
    "gate": ("",),
    "kills": ("", "--version 2026"),
    "soak": ("",),
    "reading": ("",),
    "writing": ("",),
    "statements": ("--version 2026",),
    "neighbours": ("", "--version 2026"),
    "retrieval": ("",),
    "questions": ("",),
    "trip": ("",),
    "quality": ("--live",),
    "recommend": ("", "--graph classes --seeds 0 --no-als"),
    "dirlink": ("", "--protocol graph2gauss --splits 3", "--splits 3 --ablation"),
}
"""Each module, and the options of each of its runs."""

Record = dict[str, Any]


def machine() -> str:
    """Return what the figures were measured on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = psutil.virtual_memory().total / 2**30
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy", "neo4j"))
    return (
        f"{platform.machine()}, {cores} cores, {memory:.0f} GiB of memory, {platform.system()}; "
        f"Python {platform.python_version()}, {libraries}."
    )


def measure(name: str) -> Iterator[tuple[Record, bool]]:
    """Run a benchmark; yield the record of each run, and whether it reached its bars."""
    for options in BENCHMARKS[name]:
        command = f"python -m tests.benchmarks.{name} {options}".rstrip()
        print(f"\n== {command}", flush=True)
        lines = []
        with subprocess.Popen(
            [sys.executable, *shlex.split(command)[1:]], stdout=subprocess.PIPE, text=True, bufsize=1
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                lines.append(line.rstrip())
        today = datetime.now(UTC).date().isoformat()
        record = {"command": command, "date": today, "machine": machine(), "output": lines}
        yield record, process.returncode == 0


def read_records(path: Path = RECORDS) -> list[Record]:
    """Return all records, in the order of the file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def replace_records(name: str, measured: Sequence[Record], path: Path = RECORDS) -> None:
    """Write the records of one benchmark in place of those that it has."""
    module = f"tests.benchmarks.{name}"
    others = [record for record in read_records(path) if record["command"].split()[2] != module]
    lines = [f"{json.dumps(record, ensure_ascii=False)}\n" for record in (*others, *measured)]
    path.write_text("".join(lines), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all benchmarks, or those named; list the ones that missed a bar last."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    names = parser.parse_args(arguments).names or list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"no benchmark of that name: {', '.join(sorted(unknown))}")
    missed = []
    for name in names:
        runs = list(measure(name))
        replace_records(name, [record for record, _ in runs])
        if not all(reached for _, reached in runs):
            missed.append(name)
    print(f"\nmissed or failed: {', '.join(missed)}" if missed else "\nall bars are reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
