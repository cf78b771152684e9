"""Training pairs per second on Cora_ML for 1 and 2 threads, beside a Hogwild trainer with the same parts.

::

    python -m tests.benchmarks.throughput [--dataset cora_ml] [--dim 10] [--threads 1 2] [--repeats 3]

Dimension 10, 10 negatives, pairs of D (of all walks) excluded, compiled code warm. Trainers take turns,
and the best of the repeats counts. Ours gives the same bits for every number of threads, which is checked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import WorkerThreads
from heat_neo4j.embedding.pairs import collect_pairs
from heat_neo4j.embedding.schedule import Schedule
from heat_neo4j.embedding.training import start_points, train
from heat_neo4j.embedding.walks import make_walks
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.benchmarks.hogwild import train_hogwild
from tests.support import datasets

__all__ = ["Points", "Timing", "main", "timed", "trainers"]

ROUNDS = 2
ALPHA = 0.2  # the trainers are compared with one share of teleports
"""Rounds of walks that are trained, of those whose pairs are excluded."""

Points = NDArray[np.float64]
"""Shape (N, d + 1)."""


@dataclass(frozen=True)
class Timing:
    """The best of some runs: pairs trained, their seconds, and the digest of the points."""

    pairs: int
    seconds: float
    digest: str

    @property
    def rate(self) -> float:
        """Pairs per second."""
        return self.pairs / self.seconds


def trainers(
    graph: Graph, model: HEAT, team: WorkerThreads, rounds: int = ROUNDS
) -> dict[str, Callable[[Points], tuple[int, Points]]]:
    """Return both trainers, ready to train given points; they return the pairs and the points."""
    keys = make_keys(0)
    walks = make_walks(graph, alpha=ALPHA, walk_length=model.walk_length, key=keys.walks, team=team)
    schedule = Schedule(**{field.name: getattr(model, field.name) for field in fields(Schedule)})
    pairs = collect_pairs(
        walks,
        walks_per_node=schedule.walks_per_node,
        window_size=schedule.window_size,
        negative_exponent=model.negative_exponent,
        team=team,
    )
    few = replace(schedule, walks_per_node=rounds)

    def ours(points: Points) -> tuple[int, Points]:
        trained = train(points, walks, pairs.negatives, few, make_keys(0), team=team)
        return trained.n_pairs, trained.points

    def hogwild(points: Points) -> tuple[int, Points]:
        threads = team.n_threads
        return train_hogwild(points, walks, pairs.negatives, few, make_keys(0), threads=threads), points

    return {"ours": ours, "Hogwild": hogwild}


def timed(run: Callable[[Points], tuple[int, Points]], graph: Graph, model: HEAT) -> Timing:
    """Train once."""
    points = start_points(graph.n_nodes, model.n_components, make_keys(0).start)
    start = perf_counter()
    pairs, trained = run(points)
    return Timing(pairs, perf_counter() - start, sha256(trained.tobytes()).hexdigest())


def measure(graph: Graph, model: HEAT, threads: int, repeats: int) -> dict[str, Timing]:
    """Time both trainers in turns; the first, uncounted turn warms the compiled code."""
    best: dict[str, Timing] = {}
    with WorkerThreads(threads) as team:
        both = trainers(graph, model, team)
        for turn in range(repeats + 1):
            for name, run in both.items():
                took = timed(run, graph, model)
                if turn and (name not in best or took.seconds < best[name].seconds):
                    best[name] = took
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; the exit code is 1 if threads change our bits."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.throughput",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", choices=datasets.DATASETS, default="cora_ml")
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args(arguments)
    graph = datasets.load_graph(chosen.dataset)
    model = HEAT(n_components=chosen.dim, random_state=0)
    results = {threads: measure(graph, model, threads, chosen.repeats) for threads in chosen.threads}
    print(f"{chosen.dataset}, dim {chosen.dim}, {model.n_negatives} negatives, best of {chosen.repeats}")
    print("threads     ours, pairs/s  Hogwild, pairs/s     ratio")
    for threads, timing in results.items():
        ours, hogwild = timing["ours"].rate, timing["Hogwild"].rate
        print(f"{threads:7}{ours:18,.0f}{hogwild:18,.0f}{ours / hogwild:10.2f}")
    first, last = (results[threads]["ours"].rate for threads in (min(results), max(results)))
    print(f"{max(results)} threads train {last / first:.2f} times as many pairs per second as {min(results)}")
    same = len({timing["ours"].digest for timing in results.values()}) == 1
    print("ours gives the same bits for each number of threads" if same else "OUR BITS DIFFER")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
