"""Draw docs/explore.png: the page that `heat explore` makes of the demo's graph, a node chosen.

::

    python -m tests.benchmarks.explore_picture [--node asyncio] [FILE]
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.benchmarks.live import heat, server_settings
from tests.explore.conftest import browser_path

FILE = Path(__file__).parents[2] / "docs" / "explore.png"
SIZE = {"width": 1200, "height": 760}
SETTLED = "() => Boolean(window.heat && heat.state().still)"


def main() -> None:
    """Read the command line, run the demo and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--node", default="asyncio")
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", default=FILE)
    options = parser.parse_args()
    with server_settings() as settings, tempfile.TemporaryDirectory() as folder:
        heat("demo", "--picture", f"{folder}/disk.png", settings=settings)
        page_file = Path(folder) / "page.html"
        shown = (
            "--caption",
            "name",
            "--clusters",
            "--show",
            "package",
            "--title",
            "Imports of Python's standard library",
        )
        heat("explore", "--model", "stdlib", "--output", str(page_file), *shown, settings=settings)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path())
            page = browser.new_page(viewport=SIZE, reduced_motion="reduce")  # type: ignore[arg-type]
            page.goto(page_file.as_uri())
            while not page.evaluate(SETTLED):
                page.wait_for_timeout(50)
            page.fill("#search", options.node)
            page.press("#search", "Enter")
            while not page.evaluate(SETTLED):
                page.wait_for_timeout(50)
            pixels = Image.open(io.BytesIO(page.screenshot()))
            small = pixels.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            small.save(options.file, optimize=True)
            browser.close()


if __name__ == "__main__":
    main()
