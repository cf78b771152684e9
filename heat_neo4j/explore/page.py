"""The page as one HTML file: its sources, the drawing library, and the parts of its data, compressed."""

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import printable
from heat_neo4j.explore import page_data
from heat_neo4j.explore.facets import Facet, Groups
from heat_neo4j.explore.page_data import Links
from heat_neo4j.geometry.search import Neighbours
from heat_neo4j.graph import Graph

NAME, VERSION = "twgl.js", "7.0.0"
SCRIPT, LICENCE = "vendor/twgl.js", "vendor/twgl-LICENSE.md"

_SOURCES = (
    "geometry.js", "colours.js", "data.js", "scene.js", "webgl.js", "canvas.js", "labels.js",
    "sheet.js", "picture.js", "panel.js", "interaction.js", "main.js",
)  # fmt: skip
_PLACEHOLDER = re.compile(r"\{\{([a-z]+)\}\}")


def build_page(
    embedding: NDArray[np.float64],
    graph: Graph,
    *,
    names: Sequence[str] = (),
    keys: Sequence[str] = (),
    facets: Sequence[Facet] = (Groups("", ()),),
    properties: Mapping[str, Sequence[Any]] | None = None,
    neighbours: Neighbours | None = None,
    space: NDArray[np.float64] | None = None,
    predicted: Links | None = None,
    most_of_each: int | None = None,
    duplicates: Links | None = None,
    runs: Iterable[Mapping[str, Any]] = (),
    title: str = "",
    note: str = "",
) -> str:
    """Return an HTML page for exploring a 2-dimensional embedding: N points of the hyperboloid, time last.

    The page is one file and loads nothing. Nodes have names, keys for URLs (by default the names) and
    properties of any kind. They are coloured by one of the facets, initially the first, and filtered by all;
    the ten largest groups get a colour each. In a graph with directions and types, the six most frequent
    types get a colour each, and relationships narrow to the target. Neighbours and predicted links, by rank
    and `most_of_each` at most, are listed for a selected node; `space`, shape (N, d + 1), are the points that
    these come from, if not the drawn ones. `duplicates` are pairs that may be the same. `runs` are those of
    `page_data.runs_part`, `note` is a line below the title.
    """
    n = graph.n_nodes
    first, *others = (page_data.facet_part(facet, n) for facet in facets)
    parts = {
        "nodes": page_data.nodes_part(embedding, graph) | {"facet": first},
        "edges": page_data.edges_part(page_data.joined_pairs(graph), n),
        "names": page_data.names_part(names, n),
        "facets": others,
        "links": page_data.links_part(predicted, graph, most_of_each),
        "same": page_data.links_part(duplicates, graph),
        "lists": page_data.lists_part(neighbours, properties or {}, n, space=space, keys=keys),
        "runs": list(runs),
    }
    return _assemble(parts, title, note)


def _assemble(parts: Mapping[str, Any], title: str, note: str) -> str:
    """Return the page around its data. Its security policy allows only the built-in scripts, by hash."""
    title = printable(title) or "Hyperbolic embedding"
    style = _asset("page.css")
    sources = ["(() => {", '"use strict";', *map(_asset, _SOURCES), "})();"]  # nothing in it is global
    library, program = _inline(_asset(SCRIPT)), _inline("\n".join(sources))
    pieces = {
        "policy": _policy(style, library, program),
        "title": html.escape(title),
        "style": style,
        "licence": f"\n{NAME} {VERSION}\n\n{_asset(LICENCE).strip()}\n",
        "library": library,
        "program": program,
        "heading": html_safe_json({"title": title, "note": printable(note)}),
        "parts": "\n".join(
            f'<script type="text/plain" id="part-{name}">{_compressed(part)}</script>'
            for name, part in parts.items()
        ),
    }
    return _PLACEHOLDER.sub(lambda match: pieces[match[1]], _asset("page.html"))


def _compressed(part: Any) -> str:
    return base64.b64encode(zlib.compress(as_json(part).encode(), 9)).decode("ascii")


def as_json(data: Any) -> str:
    """Return JSON that a browser reads, in pure ASCII."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def html_safe_json(data: Any) -> str:
    """Return JSON that can neither end the ``<script>`` element around it nor open another.

    Pure ASCII, with ``<``, ``>`` and ``&`` escaped.
    """
    return as_json(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _inline(script: str) -> str:
    """Escape the ends of script elements: the library's comments mention them."""
    return re.sub("</(?=script)", r"<\\/", script, flags=re.IGNORECASE)


def _policy(style: str, *scripts: str) -> str:
    allowed = " ".join(_source_hash(text) for text in scripts)
    return f"default-src 'none'; script-src {allowed}; style-src {_source_hash(style)}; base-uri 'none'"


def _source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files("heat_neo4j.explore").joinpath("assets", name).read_text(encoding="utf-8")
