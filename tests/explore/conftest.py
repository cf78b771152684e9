"""A real browser without a window: Chromium as the system has it, driven by Playwright."""

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, sync_playwright

from heat_neo4j import Projection
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.patterns import Pattern
from tests.support.live_graph import Cypher, open_cypher, random_links, random_points
from tests.support.store import Store

LABEL, MODEL, N = "RefreshPaper", "fresh", 30  # of a graph in a live database
NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1200, "height": 800}
PATIENCE = 120.0  # seconds; a CI machine may be busy with other things


def browser_path() -> str:
    """Return where the browser is: HEAT_BROWSER, or the first of the usual names on the PATH."""
    found = os.environ.get("HEAT_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(
            f"no browser: install Chromium (one of {', '.join(NAMES)} on the PATH) or set HEAT_BROWSER",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = browser_path()
    with sync_playwright() as playwright:
        # WebGL without a graphics processor is for the tests of that painter only.
        opened = playwright.chromium.launch(executable_path=executable, args=["--enable-unsafe-swiftshader"])
        yield opened
        opened.close()


class Walk:
    """An open page, what it complained of and what it asked the network for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.refused: list[str] = []
        self._listeners: dict[Any, Callable[[Any], None]] = {
            "console": self._note,
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
            "requestfailed": lambda request: self.refused.append(f"{request.url} {request.failure}"),
            "dialog": lambda dialog: self.complaints.append(dialog.message),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def leave(self) -> None:
        """Stop listening and show an empty page, so that the next test can use this one."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)

    def _note(self, message: Any) -> None:
        if "GPU stall due to ReadPixels" not in message.text:  # of an imitated graphics processor
            self.complaints.append(message.text)

    def ask(self, script: str, value: Any = None) -> Any:
        return self.page.evaluate(script, value)

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.ask("() => heat.state()")
        return state

    def node(self, row: int) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("(row) => heat.project(row)", row)
        return found

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait; the page's security policy forbids Playwright's own way of waiting."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited in vain; the page says {self.state}"
            self.page.wait_for_timeout(30)

    def screen(self) -> NDArray[np.int64]:
        """Return the page's pixels, shape (height, width, 3)."""
        from matplotlib.image import imread

        picture = imread(io.BytesIO(self.page.screenshot()), format="png")
        return np.round(255 * picture[..., :3]).astype(np.int64)

    def still(self) -> None:
        """Wait until all is drawn and nothing moves."""
        self.until(lambda: self.state["still"])

    def select(self, row: int) -> None:
        self.ask("(row) => heat.select(row)", row)
        self.still()


NewPage = Callable[..., Page]


@pytest.fixture(scope="session")
def page_with(browser: Browser) -> NewPage:
    """Give a function that returns the page with some settings; a new page takes a second of CPU time."""
    return cache(lambda **settings: browser.new_page(viewport=SIZE, **settings))


def opened_page(page: Page, path: Path, html: str, painter: str = "") -> Walk:
    """Open a page's HTML from a file at `path` and wait until it stands still."""
    path.write_text(html, encoding="utf-8")
    walk = Walk(page)
    page.goto(f"{path.as_uri()}{painter and f'#{painter}'}")
    walk.until(lambda: walk.ask("() => Boolean(window.heat && heat.state().still)"))
    return walk


@pytest.fixture
def open_page(page_with: NewPage, tmp_path: Path) -> Iterator[Callable[..., Walk]]:
    """Give a function that opens a page's HTML and waits until it stands still."""
    walks: list[Walk] = []

    def open_it(html: str, painter: str = "", **settings: Any) -> Walk:
        path = tmp_path / f"page{len(walks)}.html"
        walks.append(opened_page(page_with(**settings), path, html, painter))
        return walks[-1]

    yield open_it
    for walk in walks:
        walk.leave()


@pytest.fixture
def cypher(server: Any) -> Iterator[Cypher]:
    """Give a function for Cypher, in a database with a ring of papers, four of which are old."""
    with open_cypher(server) as run:
        run(
            "UNWIND range(0, $n - 1) AS i "
            f"CREATE (n:`{LABEL}` {{key: i, title: '<b>' + i, year: 2000 + i % 3}}) "
            "FOREACH (_ IN CASE WHEN i < 4 THEN [1] ELSE [] END | SET n:ExploreOld)",
            n=N,
        )
        run(
            f"MATCH (a:`{LABEL}`) MATCH (b:`{LABEL}` {{key: (a.key + 1) % $n}}) "
            "CREATE (a)-[:REFRESH_CITES]->(b)",
            n=N,
        )
        yield run
        run(
            f"MATCH (n) WHERE n:`{LABEL}` OR (n:HeatRun|HeatVersion AND n.model STARTS WITH $m) "
            "OR (n:HeatModel AND n.name STARTS WITH $m) DETACH DELETE n",
            m=MODEL,
        )


@pytest.fixture
def publish(store: Store, cypher: Cypher) -> Callable[[int], Any]:
    """Give a function that publishes points and links of the ring, and returns both."""

    def write(dimension: int) -> Any:
        projection = Projection(labels=[LABEL], relationships=["REFRESH_CITES"], key="key")
        graph = store.read_graph(projection)
        points, links = random_points(graph.n_nodes, 1, dimension), random_links(graph.n_nodes, 2)
        typed = Pattern(LABEL, "REFRESH_CITES", LABEL)
        links = replace(links, patterns=(typed,), pattern=np.zeros(len(links), dtype=np.int64))
        parameters = {
            "n_components": dimension, "walks_per_node": 2, "walk_length": 8, "n_negatives": 3, "alpha": 0.0,
        }  # fmt: skip
        names = WriteNames(model=MODEL)
        with store.start_run(graph, parts=["embedding", "links"], names=names, parameters=parameters) as run:
            run.write_embedding(points, "hyperboloid")
            run.write_links(links)
            run.publish()
        return points, links

    return write
