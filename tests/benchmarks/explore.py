"""What the page of a large graph costs: to make, to send, and until one sees something.

::

    python -m tests.benchmarks.explore [--nodes 40000] [--version 5.26]

A random hyperbolic graph of degree 10 is embedded by the defaults into a live server, with its predicted
links. Then `heat explore` makes the page, in a process of its own, and Chromium opens it.
The exit code is 1 if a bar of 40,000 nodes is missed: 15 CPU seconds, 4 MiB, and 2 seconds until the first
picture.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import neo4j
from playwright.sync_api import Browser, sync_playwright

from tests.benchmarks.growth import LABEL, TYPE, loaded
from tests.benchmarks.hyperbolic import hyperbolic_graph
from tests.benchmarks.live import heat, server_settings
from tests.explore.conftest import SIZE, browser_path

MOST_CPU, MOST_BYTES, MOST_SECONDS = 15.0, 4 * 2**20, 2.0
MODEL = "heatExplore"
OPENED = 3  # times; the quickest counts, as another process may be busy


def cpu_seconds() -> float:
    """Return the processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def explore(settings: tuple[str, str, str], model: str, *options: str) -> subprocess.Popen[str]:
    """Start `heat explore`."""
    names = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD")
    known = {**os.environ, **dict(zip(names, settings, strict=True))}
    program = [sys.executable, "-m", "heat_neo4j", "explore", "--model", model, "--json", *options]
    return subprocess.Popen(program, env=known, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def first_picture(browser: Browser, address: str) -> float:
    """Return the seconds from the beginning of the page to its first picture."""
    quickest = float("inf")
    for _ in range(OPENED):
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.goto(address)
        while not (shown := page.evaluate("() => window.heat?.state().firstPicture ?? null")):
            page.wait_for_timeout(50)
        quickest = min(quickest, shown / 1000)
        page.close()
    return quickest


def main() -> int:
    """Read the command line, measure, hold the bars."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=40_000)
    parser.add_argument("--version", default="5.26")
    options = parser.parse_args()
    with server_settings(options.version) as settings, tempfile.TemporaryDirectory() as folder:
        graph = hyperbolic_graph(options.nodes)
        with neo4j.GraphDatabase.driver(settings[0], auth=settings[1:]) as driver, loaded(driver, graph):
            what = ("--label", LABEL, "--relationship", TYPE, "--attribute", "topics", "--key", "key")
            heat("embed", *what, "--model", MODEL, "--random-state", "0", settings=settings)
            file, before = Path(folder) / "page.html", cpu_seconds()
            with explore(settings, MODEL, "--output", str(file)) as process:
                made, _ = process.communicate()
            cpu, size, made = cpu_seconds() - before, file.stat().st_size, json.loads(made)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=browser_path())
                shown = first_picture(browser, file.as_uri())
                browser.close()
            heat("clear", "--model", MODEL, "--yes", settings=settings)
    print(f"{made['nodes']:,} nodes, {made['edges']:,} edges, {made['links']:,} predicted links")
    figures = (
        ("CPU seconds to make the page", cpu, MOST_CPU),
        ("MiB of the page", size / 2**20, MOST_BYTES / 2**20),
        ("seconds to the first picture", shown, MOST_SECONDS),
    )
    for name, figure, bar in figures:
        print(f"{name:<48}{figure:8.2f}   bar {bar:g}")
    missed = [name for name, figure, bar in figures if figure > bar]
    print("all bars are reached" if not missed else f"missed: {', '.join(missed)}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
