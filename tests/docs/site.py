"""Check the built site: ``python -m tests.docs.site build/docs``, for what Sphinx does not look at.

Every address within the site leads to a file and, where it names one, to a place in it; and no page weighs
too much with its pictures, styles and scripts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.docs.reference import public_types

MOST_BYTES = 500_000
_LOADED = {"img": "src", "script": "src", "source": "src", "iframe": "src"}
_LOADED_LINKS = {"stylesheet", "icon", "preload"}
_STYLE_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)["']?\s*\)""")


class Page(HTMLParser):
    """The addresses that a page names, those that a browser loads with it, and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.named: set[str] = set()
        self.loaded: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what one tag says."""
        values = {name: value for name, value in attrs if value is not None}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag in _LOADED and _LOADED[tag] in values:
            self.loaded.add(values[_LOADED[tag]])
        elif tag == "link" and "href" in values:
            place = self.loaded if values.get("rel") in _LOADED_LINKS else self.named
            place.add(values["href"])
        elif "href" in values:
            self.named.add(values["href"])
        elif tag == "meta" and values.get("http-equiv") == "refresh":
            self.named.add(values["content"].partition("url=")[2])


class Site:
    """The files of a site; `pages` by their places in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.pages = {
            path: Page(path.read_text(encoding="utf-8")) for path in sorted(self.folder.rglob("*.html"))
        }

    def broken(self) -> list[str]:
        """Return a line for each address that leads nowhere."""
        lines = []
        for path, page in self.pages.items():
            for address in sorted(page.named | page.loaded):
                target, place = self._target(path, address)
                if target is None:
                    continue
                known = self.pages[target].places | {""} if target in self.pages else None
                if not target.is_file() or (known is not None and place not in known):
                    lines.append(f"{path.relative_to(self.folder)}: {address} leads nowhere")
        return lines

    def weights(self) -> dict[str, int]:
        """Return the bytes of each page with all that it loads, the heaviest first."""
        weights = {
            path.relative_to(self.folder).as_posix(): sum(each.stat().st_size for each in self._loads(path))
            for path in self.pages
        }
        return dict(sorted(weights.items(), key=lambda item: -item[1]))

    def _loads(self, path: Path) -> set[Path]:
        """Return the files that a browser loads for a page: itself, and what it and its styles name."""
        files = {path} | {self._target(path, address)[0] for address in self.pages[path].loaded}
        found = {each for each in files if each is not None and each.is_file()}
        for style in {each for each in found if each.suffix == ".css"}:
            addresses = _STYLE_ADDRESS.findall(style.read_text(encoding="utf-8"))
            targets = {self._target(style, address)[0] for address in addresses}
            found |= {each for each in targets if each is not None and each.is_file()}
        return found

    def _target(self, path: Path, address: str) -> tuple[Path | None, str]:
        """Return the file and the place in it that an address names; no file if it leads outside."""
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            return None, ""
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        return target, unquote(parts.fragment)


def main(folder: Path, types: Iterable[str] = ()) -> None:
    """Print the heaviest page of a site; end with code 1 and a line for each mistake, if there is one.

    Each of `types` must be described somewhere.
    """
    site = Site(folder)
    weights = site.weights()
    heaviest = next(iter(weights))
    described = set[str]().union(*(page.places for page in site.pages.values()))
    mistakes = site.broken() + [f"{name} is described nowhere" for name in types if name not in described]
    mistakes += [
        f"{page}: {weight:,} bytes with all it loads, more than {MOST_BYTES:,}"
        for page, weight in weights.items()
        if weight > MOST_BYTES
    ]
    print(*mistakes, sep="\n", end="\n" * bool(mistakes))
    print(f"{len(weights)} pages; the heaviest, {heaviest}, weighs {weights[heaviest]:,} bytes")
    sys.exit(bool(mistakes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), (f"{module}.{name}" for name, module in public_types().items()))
