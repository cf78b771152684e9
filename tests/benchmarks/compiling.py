"""How long the first run on a machine compiles.

::

    python -m tests.benchmarks.compiling [--rounds 3] [--kernels]

Each round fills a cache of its own, by two processes as a first run does. Beside that: the CPU seconds of
each half by itself, and what a second process takes with the cache filled. With --kernels, the CPU seconds of
every kernel without those that it calls. The exit code is 1 if the median is above the bar.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from statistics import median
from tempfile import TemporaryDirectory

__all__ = ["main"]

BAR_SECONDS = 20.0
"""Most seconds on two quiet processors."""
PARTS = ("walks", "training")

READY = """
import json
from time import perf_counter, process_time
from heat_neo4j.embedding.compiling import make_ready
wall, own = perf_counter(), process_time()
make_ready(lambda stage, done, total: None)
print(json.dumps({"wall": perf_counter() - wall, "own": process_time() - own}))
"""
PART = """
import json
from time import process_time
from heat_neo4j.embedding import compiling
from tests.benchmarks.compiling import watch
seconds, began = watch(), process_time()
compiling.compile_part({part!r})
print(json.dumps({{"cpu": process_time() - began, "kernels": seconds}}))
"""


def watch() -> Counter[str]:
    """Return what from now on counts the CPU seconds of compiling each function, without its callees."""
    from time import process_time

    from numba.core import event

    seconds: Counter[str] = Counter()
    open_: list[list[float]] = []  # begin and callees' seconds of what is being compiled, innermost last

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, started: event.Event) -> None:
            open_.append([process_time(), 0.0])

        def on_end(self, ended: event.Event) -> None:
            began, callees = open_.pop()
            spent = process_time() - began
            seconds[ended.data["dispatcher"].py_func.__qualname__] += spent - callees  # type: ignore[assignment]
            if open_:
                open_[-1][1] += spent

    event.register("numba:compile", Listener())
    return seconds


def run(program: str, folder: str) -> dict[str, float]:
    """Return what a program prints whose cache of compiled code is in `folder`."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args(arguments)
    first, again = [], []
    for _ in range(options.rounds):
        with TemporaryDirectory() as folder:
            first.append(run(READY, folder)["wall"])
            again.append(run(READY, folder)["wall"])
    print(f"first run: {median(first):.1f} s ({', '.join(f'{each:.1f}' for each in first)})", end="; ")
    print(f"bar {BAR_SECONDS:g} s; load of the machine {os.getloadavg()[0]:.1f}")
    print(f"second run: {median(again):.2f} s")
    for part in PARTS:
        with TemporaryDirectory() as folder:
            found = run(PART.format(part=part), folder)
        print(f"{part} alone: {found['cpu']:.1f} CPU s")
        if options.kernels:
            kernels: dict[str, float] = found["kernels"]  # type: ignore[assignment]
            for name, seconds in sorted(kernels.items(), key=lambda item: -item[1])[:20]:
                print(f"    {name:<36} {seconds:.2f}")
    return int(median(first) > BAR_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
