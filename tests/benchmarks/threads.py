"""Training speed over threads: alone, beside busy processes, and under a CPU quota.

::

    python -m tests.benchmarks.threads [--nodes 60000] [--threads 1 2 8] [--busy 0 1 2] [--rounds 3]

Pairs per second on Cora_ML and on a random hyperbolic graph, beside as many processes that never sleep, and,
where a control group can be made (version 1, as root), under a quota of one processor. Values of `n_threads`
take turns, so that all meet the same machine; the median of the rounds counts. Values beyond the processors
that may be used stand for as many as these. The exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from heat_neo4j import HEAT
from heat_neo4j._utils.threads import WorkerThreads, resolve_threads
from heat_neo4j.graph import Graph
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.benchmarks.throughput import timed, trainers
from tests.support import datasets

__all__ = ["main"]

BESIDE_OTHERS = 0.95
"""Least speed of several threads beside busy processes, in units of one thread's."""
ALONE_SMALL, ALONE_LARGE = 1.5, 1.7
"""Least speed of two threads on a quiet machine: on Cora_ML, and on larger graphs."""
LARGE = 60_000
POSITIONS = 10_000_000
"""Nodes of walks that are trained, at most: on a large graph fewer walks are drawn than by default."""
GROUP = Path("/sys/fs/cgroup/cpu/heat-benchmark")
"""A control group of version 1."""


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep so many processes busy."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@contextmanager
def one_processor() -> Iterator[None]:
    """Give this process and its threads the time of one processor."""
    GROUP.mkdir(exist_ok=True)  # a killed benchmark leaves it
    try:
        (GROUP / "cpu.cfs_quota_us").write_text("100000")
        (GROUP / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (GROUP.parent / "cgroup.procs").write_text(str(os.getpid()))
        GROUP.rmdir()


def model_for(graph: Graph) -> HEAT:
    """Return an estimator by the defaults, but for how many walks it draws on a large graph."""
    model = HEAT(random_state=0)
    walks = POSITIONS // (model.walk_length * graph.n_nodes)
    return model.set_params(walks_per_node=min(max(walks, 1), model.walks_per_node))


def rates(graph: Graph, threads: Sequence[int], rounds: int) -> dict[int, float]:
    """Return the median pairs per second of each `n_threads`, under what the process may use just now."""
    model = model_for(graph)
    speeds: dict[int, list[float]] = {count: [] for count in threads}
    with ExitStack() as stack:
        runs = {}
        for count in threads:
            team = stack.enter_context(WorkerThreads(resolve_threads(count)))
            runs[count] = trainers(graph, model, team, model.walks_per_node)["ours"]
        for round_ in range(rounds + 1):
            for count in threads:
                timing = timed(runs[count], graph, model)
                if round_:  # the first warms the compiled code
                    speeds[count].append(timing.rate)
    return {count: median(each) for count, each in speeds.items()}


def show(what: str, found: Mapping[int, float], bar: float) -> bool:
    """Print a line; return whether every number of threads from two on reaches the bar."""
    one, *_ = found.values()
    columns = "".join(f"{rate / 1e6:10.2f} ({rate / one:4.2f})" for rate in found.values())
    reached = all(rate >= bar * one for rate in list(found.values())[1:])
    print(f"{what:36}{columns}   {'at least' if reached else 'MISSED:'} {bar}", flush=True)
    return reached


def main() -> int:
    """Read the command line, measure, compare with the bars."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=LARGE)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 8])
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    graphs = {"cora_ml": datasets.load_graph("cora_ml"), "hyperbolic": hyperbolic_graph(options.nodes)}
    print(f"million pairs per second, and in units of {options.threads[0]} thread: {options.threads} threads")
    reached = True
    for name, graph in graphs.items():
        title = f"{name}, {graph.n_nodes:,} nodes"
        for busy in options.busy:
            with busy_processes(busy):
                speeds = rates(graph, options.threads if busy else [1, 2], options.rounds)
            bar = BESIDE_OTHERS if busy else ALONE_LARGE if graph.n_nodes >= LARGE else ALONE_SMALL
            reached &= show(f"{title}, {busy} busy", speeds, bar)
        if os.access(GROUP.parent / "cgroup.procs", os.W_OK):
            with one_processor():
                speeds = rates(graph, [1, 2], options.rounds)
            reached &= show(f"{title}, quota of 1", speeds, BESIDE_OTHERS)
    print("all bars are reached" if reached else "a bar is missed")
    return int(not reached)


if __name__ == "__main__":
    sys.exit(main())
