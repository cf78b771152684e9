"""AUROC and speed of training by buckets: over the number of parts, and beside an earlier commit.

::

    python -m tests.benchmarks.buckets [--graphs cora_ml citeseer ppi 100000] [--parts 1 2 4 8 16 64]
                                       [--seeds 0 1 2 3 4] [--walks-per-node 10]
    python -m tests.benchmarks.buckets --before COMMIT [--graphs 1000000] [--walks-per-node 5]
    python -m tests.benchmarks.buckets --threads 1 2 [--graphs 100000] [--walks-per-node 5]

A number is a random hyperbolic graph of so many nodes, "classes" the class graph of Neo4j's jars. A share of
the edges, .15, or .05 of the hyperbolic ones, is held out. Parts have 500 nodes at least; 1 is training by
batches. The exit code is 1 if the mean AUROC over the seeds is more than .001 below that of one part; if,
beside a commit, training is not 2.5 times as fast, or its AUROC is lower by more than .001; or if two
threads are not 1.85 times as fast as one, or have other bits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from tests.benchmarks.reading import code_of

__all__ = ["main"]

ROOT = Path(__file__).parents[2]
GRAPHS = ("cora_ml", "citeseer", "ppi", "100000")
LEAST_NODES = 500
LOSS = 0.001
FASTER, TWO_THREADS = 2.5, 1.85
TURNS = 3
"""Of the threads."""

FIT = """
import hashlib, json, sys
from heat_neo4j import HEAT
from tests.support.link_auroc import link_auroc
from heat_neo4j.linkpred.splits import split_edges
name, seed, settings = json.loads(sys.stdin.read())
if name.isdigit():
    from tests.benchmarks.hyperbolic import hyperbolic_graph
    graph, share = hyperbolic_graph(int(name)), 0.05
elif name == "classes":
    from tests.benchmarks.class_graph import class_graph
    graph, share = class_graph().to_graph(), 0.15
else:
    from tests.support import datasets
    graph, share = datasets.load_graph(name), 0.15
split = split_edges(graph, share, random_state=seed)
few = {**settings, "walks_per_node": 1}
HEAT(walk_length=3, random_state=0, **few).fit(split.train)  # compiles
model = HEAT(random_state=seed, **settings).fit(split.train)
print(json.dumps({
    "nodes": graph.n_nodes,
    "auroc": link_auroc(model.embedding_, split),
    "seconds": model.training_["seconds"]["train"],
    "pairs": model.n_pairs_,
    "bits": hashlib.blake2b(model.embedding_.tobytes(), digest_size=8).hexdigest(),
}))
"""


@dataclass(frozen=True)
class Fit:
    """One training."""

    nodes: int
    auroc: float
    seconds: float
    pairs: int
    bits: str

    @property
    def rate(self) -> float:
        """Million pairs a second."""
        return self.pairs / self.seconds / 1e6


def fit(name: str, seed: int, folder: Path = ROOT, **settings: Any) -> Fit:
    """Train in a process of its own, by the code of a folder; compiled code is warm."""
    done = subprocess.run(
        [sys.executable, "-c", FIT],
        input=json.dumps([name, seed, settings]),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        text=True,
        check=True,
    )
    return Fit(**json.loads(done.stdout))


def over_parts(name: str, parts: Sequence[int], seeds: Sequence[int], walks: int) -> bool:
    """Print AUROC and speed over the number of parts; return whether none is worse than one part."""
    base, reached = 0.0, True
    for n_parts in parts:
        fits = [fit(name, seed, n_parts=n_parts, walks_per_node=walks) for seed in seeds]
        auroc, rate = (mean(getattr(each, what) for each in fits) for what in ("auroc", "rate"))
        if n_parts == parts[0]:
            base = auroc
        reached &= auroc >= base - LOSS
        gain = f"({auroc - base:+.4f})"
        print(
            f"{name:10}{n_parts:4} parts  AUROC {auroc:.4f} {gain}  {rate:6.2f} million pairs/s", flush=True
        )
        if fits[0].nodes // LEAST_NODES < 2 * n_parts:
            break
    return reached


def beside(commit: str, name: str, seed: int, walks: int) -> bool:
    """Print what training takes by a commit and by this code; return whether ours keeps to the bars."""
    with code_of(commit) as before:
        old = fit(name, seed, before, walks_per_node=walks)
    new = fit(name, seed, walks_per_node=walks)
    ratio = new.rate / old.rate
    for what, each in ((commit, old), ("this code", new)):
        print(f"{name} {what}: {each.seconds:.1f} s, {each.rate:.2f} million pairs/s, AUROC {each.auroc:.4f}")
    print(
        f"{name}: {ratio:.2f} times as fast (bar: {FASTER}), AUROC {new.auroc - old.auroc:+.4f}", flush=True
    )
    return ratio >= FASTER and new.auroc >= old.auroc - LOSS


def over_threads(name: str, threads: Sequence[int], walks: int) -> bool:
    """Print the speed over the number of threads, in turns; return whether it grows, and the bits do not."""
    fits: dict[int, list[Fit]] = {count: [] for count in threads}
    for _ in range(TURNS):
        for count in threads:
            fits[count].append(fit(name, 0, n_threads=count, walks_per_node=walks))
    rates = {count: sorted(each.rate for each in fits[count])[TURNS // 2] for count in threads}
    bits = {each.bits for every in fits.values() for each in every}
    one = rates[threads[0]]
    for count, rate in rates.items():
        print(f"{name:10}{count:3} threads  {rate:6.2f} million pairs/s ({rate / one:.2f})", flush=True)
    print(f"{name}: bits {', '.join(sorted(bits))}; bar for two threads: {TWO_THREADS}")
    return len(bits) == 1 and (2 not in rates or rates[2] >= TWO_THREADS * one)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, compare with the bars."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.buckets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--parts", nargs="+", type=int, default=[1, 2, 4, 8, 16, 64])
    parser.add_argument("--seeds", nargs="+", type=int, default=range(5))
    parser.add_argument("--walks-per-node", type=int, default=10)
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--threads", nargs="+", type=int)
    chosen = parser.parse_args(arguments)
    walks, reached = chosen.walks_per_node, True
    for name in chosen.graphs:
        if chosen.before is not None:
            for seed in chosen.seeds:
                reached &= beside(chosen.before, name, seed, walks)
        elif chosen.threads is not None:
            reached &= over_threads(name, chosen.threads, walks)
        else:
            reached &= over_parts(name, chosen.parts, chosen.seeds, walks)
    print("all bars are reached" if reached else "a bar is missed")
    return int(not reached)


if __name__ == "__main__":
    sys.exit(main())
