"""All benchmarks, one after the other, into BENCHMARKS.md. The exit code is 1 if a bar is missed.

::

    python -m tests.benchmarks [NAME ...]

With names, only those are measured again and the other sections stay. Each runs in a process of its own, so
that none works on the memory or the threads of another.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import psutil

__all__ = ["main"]

DOCUMENT = Path(__file__).parents[2] / "BENCHMARKS.md"

BENCHMARKS: Mapping[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "throughput": (
        "Training pairs per second, beside a Hogwild trainer",
        (("--dim", "2"), ("--dim", "10"), ("--dim", "50")),
    ),
    "threads": ("Threads alone, beside busy processes and under a quota", ((),)),
    "buckets": (
        "Training by buckets: AUROC over the parts, and threads",
        (
            ("--graphs", "cora_ml", "citeseer", "ppi"),
            ("--graphs", "100000", "--walks-per-node", "6"),
            ("--threads", "1", "2", "--graphs", "100000", "--walks-per-node", "6"),
        ),
    ),
    "coarse": ("Quality over CPU seconds: starts from coarse graphs", ((),)),
    "cluster": (
        "Training on a Dask cluster of this machine",
        (("--nodes", "1000000", "--walks-per-node", "2"), ("--nodes", "20000", "--kills", "10")),
    ),
    "batch_size": ("The size of a batch", ((),)),
    "compiling": ("The first run on a machine compiles", ((),)),
    "parity": ("AUROC and CPU seconds beside the Hogwild trainer", ((), ("--dim", "50"))),
    "roofline": ("Where the trainer's time goes", (("--dim", "10"), ("--dim", "50"))),
    "versus": ("CPU seconds to the AUROC of others", ((),)),
    "zoo": ("Graphs of every shape: pairs per second, stages, estimates", ((),)),
    "growth": ("Growth with the number of nodes, through a live Neo4j", ((),)),
    "explore": ("What the page of 40,000 nodes costs", ((),)),
    "corpus": ("The whole trip on the classes of Neo4j's own jars, beside its estimate", ((),)),
    "repeat": ("The same bits for 1, 2 and 4 threads", ((),)),
    "exclusion": ("A Bloom filter in place of the exact set of pairs", ((),)),
    "teleports": ("Attribute steps from a table and by rejection", ((),)),
    "relation_walks": (
        "Walks that weigh directions and types",
        (("--graphs", "films", "cora_ml", "citeseer"),),
    ),
    "precision": ("Single precision", ((),)),
    "alpha": ("MRR of held-out links by alpha, and what the attributes choose", ((),)),
    "shortlist": (
        "Held-out links among the candidates, by each short list",
        (("citeseer", "cora_ml", "stdlib"),),
    ),
    "score_models": ("What the link score could be instead, and each group of its features", ((),)),
    "refresh": ("New nodes, warm starts and alignment, beside full runs", ((),)),
    "new_nodes": ("Links of new nodes, placed or trained with the others", ((),)),
    "proportion": ("What 1 to 1,000 changed edges move", ((),)),
    "chain": ("Fifty refreshes in a row, of three graphs", ((),)),
    "gate": ("Equal versions that the quality gate rejects", ((),)),
    "kills": (
        "Whatever is killed during a refresh, readers see one whole version",
        ((), ("--version", "2026")),
    ),
    "soak": ("200 refreshes by one worker", ((),)),
    "reading": ("Reading from Neo4j", ((),)),
    "writing": ("Writing to Neo4j", ((),)),
    "statements": ("Statements of a refresh", (("--version", "2026"),)),
    "neighbours": ("Nearest nodes in Neo4j", ((), ("--version", "2026"))),
    "retrieval": ("Retrievers of language models, beside the question that they ask", ((),)),
    "questions": ("Questions in words: full text, vectors, and the space with them", ((),)),
    "trip": ("The whole trip, beside gensim", ((),)),
    "quality": ("AUROC on the three datasets", (("--live",),)),
    "recommend": (
        "Which movie a user rates next, which interface a class implements",
        ((), ("--graph", "classes", "--seeds", "0", "--no-als")),
    ),
    "dirlink": (
        "Directed links of Cora-ML and CiteSeer, and what each feature is good for",
        ((), ("--protocol", "graph2gauss", "--splits", "3"), ("--splits", "3", "--ablation")),
    ),
}
"""Module, title and the options of each of its runs."""

INTRODUCTION = """# Benchmarks

Written by `make bench`; each section by the command above its output. Figures depend on the machine, ratios
less so: both sides of a ratio ran in the same session.

{machine}
"""


def machine() -> str:
    """Return what the figures were measured on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = psutil.virtual_memory().total / 2**30
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy", "neo4j"))
    return (
        f"{platform.machine()}, {cores} cores, {memory:.0f} GiB of memory, {platform.system()}; "
        f"Python {platform.python_version()}, {libraries}."
    )


def measure(name: str) -> tuple[str, bool]:
    """Run a benchmark; return its section, and whether every bar was reached."""
    title, runs = BENCHMARKS[name]
    parts, reached = [f"## {title}"], True
    for options in runs:
        command = ["python", "-m", f"tests.benchmarks.{name}", *options]
        print(f"\n== {' '.join(command)}", flush=True)
        lines = []
        with subprocess.Popen(
            [sys.executable, *command[1:]], stdout=subprocess.PIPE, text=True, bufsize=1
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                lines.append(line.rstrip())
        reached &= process.returncode == 0
        parts.append("\n".join(["```", f"$ {' '.join(command)}", *lines, "```"]))
    return "\n\n".join(parts) + "\n", reached


def sections(text: str) -> dict[str, str]:
    """Return the sections of a document by title."""
    found = re.split(r"(?m)^(?=## )", text)[1:]
    return {section.split("\n", 1)[0].removeprefix("## "): section.rstrip() + "\n" for section in found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, or those named; say at the end which missed a bar."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    names = parser.parse_args(arguments).names or list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"no benchmark of that name: {', '.join(sorted(unknown))}")
    known = sections(DOCUMENT.read_text(encoding="utf-8")) if DOCUMENT.exists() else {}
    missed = []
    for name in names:
        section, reached = measure(name)
        known[BENCHMARKS[name][0]] = section
        if not reached:
            missed.append(name)
        ordered = [known[title] for title, _ in BENCHMARKS.values() if title in known]
        DOCUMENT.write_text("\n".join([INTRODUCTION.format(machine=machine()), *ordered]), encoding="utf-8")
    print(f"\nmissed or failed: {', '.join(missed)}" if missed else "\nall bars are reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
