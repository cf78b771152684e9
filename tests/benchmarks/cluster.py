"""Training on a Dask cluster of this machine, beside threads: the same bits, whatever dies, and the time.

::

    python -m tests.benchmarks.cluster [--nodes 1000000] [--walks-per-node 10]
    python -m tests.benchmarks.cluster --kills 10 [--nodes 20000]

First the time of two workers of one thread each against two threads of one process: at most 1.25 times. With
``--kills``: 1, 2 and 3 workers; then so many kills (SIGKILL) of a worker at random moments, another one
joining each time; then the scheduler's kill, and a second attempt with another. The exit code is 1 if any
bits differ, something is left on the disk, or the bar is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from typing import Any

from heat_neo4j.errors import ConnectionFailed
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.support.dask_processes import connected, scheduler, worker

__all__ = ["main"]

MOST = 1.25
"""Times the wall time of threads."""


def bits(model: HEAT) -> str:
    """Return a digest of an embedding."""
    return hashlib.blake2b(model.embedding_.tobytes(), digest_size=8).hexdigest()


def timed(graph: Graph, folder: Path, walks: int) -> bool:
    """Print the time of threads and of a cluster; return whether the bar is kept and bits are the same."""
    options: dict[str, Any] = {"random_state": 0, "n_threads": 2, "walks_per_node": walks}
    HEAT(**{**options, "walks_per_node": 1, "walk_length": 3}).fit(graph)  # compiles
    began = time.perf_counter()
    threads = HEAT(**options).fit(graph)
    alone = time.perf_counter() - began
    print(f"threads  {alone:7.1f} s  {bits(threads)}  {threads.training_['seconds']}", flush=True)
    with scheduler(folder) as (_, file), worker(file), worker(file), connected(file, 2) as client:
        began = time.perf_counter()
        model = HEAT(**options, scratch=folder / "scratch", scheduler=client.scheduler.address).fit(graph)
        ratio = (time.perf_counter() - began) / alone
    print(f"cluster  {ratio * alone:7.1f} s  {bits(model)}  {model.training_['seconds']}")
    print(f"{ratio:.2f} times the time of threads (bar: {MOST})", flush=True)
    return ratio <= MOST and bits(model) == bits(threads)


def killed(graph: Graph, folder: Path, walks: int, kills: int) -> bool:
    """Train while workers, and then the scheduler, are killed; return whether bits are always the same."""
    options: dict[str, Any] = {"random_state": 0, "walks_per_node": walks}
    expected, reached = bits(HEAT(**options).fit(graph)), True
    print(f"threads: {expected}", flush=True)
    scratch = folder / "scratch"
    for n_workers in (1, 2, 3):
        with scheduler(folder) as (_, file), ExitStack() as stack:
            for _ in range(n_workers):
                stack.enter_context(worker(file))
            client = stack.enter_context(connected(file, n_workers))
            model = HEAT(**options, scratch=scratch, scheduler=client.scheduler.address).fit(graph)
        reached &= bits(model) == expected
        print(f"{n_workers} workers: {bits(model)}", flush=True)
    reached &= _workers_die(graph, folder, options, kills, expected)
    reached &= _scheduler_dies(graph, folder, options, expected)
    left = [path.name for path in scratch.iterdir()]
    print(f"left in the folder: {left or 'nothing'}")
    return reached and not left


def _workers_die(graph: Graph, folder: Path, options: dict[str, Any], kills: int, expected: str) -> bool:
    moments, over, done = random.Random(0), Event(), 0
    same = True
    while done < kills:
        with scheduler(folder) as (_, file), ExitStack() as stack:
            running = [stack.enter_context(worker(file)) for _ in range(2)]
            client = stack.enter_context(connected(file, 2))
            over.clear()

            def kill(stack: ExitStack = stack, running: list[Any] = running, file: Path = file) -> None:
                nonlocal done
                while done < kills and not over.wait(moments.uniform(1.0, 6.0)):
                    running.pop(0).kill()
                    running.append(stack.enter_context(worker(file)))
                    done += 1

            killer = Thread(target=kill)
            killer.start()
            model = HEAT(**options, scratch=folder / "scratch", scheduler=client.scheduler.address).fit(graph)
            over.set()
            killer.join()
        same &= bits(model) == expected
        facts = f"{len(model.training_['workers'])} workers, {model.training_['tasks_begun_anew']} begun anew"
        print(f"{done} kills so far: {bits(model)}, {facts}", flush=True)
    return same


def _scheduler_dies(graph: Graph, folder: Path, options: dict[str, Any], expected: str) -> bool:
    with scheduler(folder) as (running, file), worker(file), connected(file, 1) as client:

        def kill(stage: str, done: int, total: int) -> None:
            if stage == "train" and done > total // 2:
                running.kill()

        try:
            HEAT(**options, scratch=folder / "scratch", scheduler=client.scheduler.address).fit(
                graph, on_progress=kill
            )
        except ConnectionFailed as error:
            print(f"scheduler killed: {error}", flush=True)
    with scheduler(folder) as (_, file), worker(file), connected(file, 1) as client:
        model = HEAT(**options, scratch=folder / "scratch", scheduler=client.scheduler.address).fit(graph)
    print(f"resumed: {model.training_['resumed']}, {bits(model)}", flush=True)
    return bits(model) == expected and bool(model.training_["resumed"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, train, compare with the bars."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.cluster",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--walks-per-node", type=int, default=10)
    parser.add_argument("--kills", type=int)
    chosen = parser.parse_args(arguments)
    graph = hyperbolic_graph(chosen.nodes or (1_000_000 if chosen.kills is None else 20_000))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scratch").mkdir()
        if chosen.kills is None:
            reached = timed(graph, folder, chosen.walks_per_node)
        else:
            reached = killed(graph, folder, chosen.walks_per_node, chosen.kills)
    print("all bars are reached" if reached else "a bar is missed")
    return int(not reached)


if __name__ == "__main__":
    sys.exit(main())
