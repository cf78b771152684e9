"""The page as one HTML file: its sources, the drawing library, and the data as JSON.

Numbers are base64 of typed arrays, the rest strings.
"""

import base64
import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text, printable
from heat_neo4j.database.read.published import StoredLinks
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.geometry.search import Neighbours
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.prediction import PredictedLinks

__all__ = [
    "INTEGRITY",
    "LICENCE",
    "NAME",
    "N_GROUPS",
    "SCRIPT",
    "SHA256",
    "VERSION",
    "build_page",
    "check_library",
    "html_safe_json",
    "payload",
]

N_GROUPS = 10  # most groups with a colour of their own
NAME, VERSION = "twgl.js", "7.0.0"
INTEGRITY = "sha512-9HHZ8emdZb2nKPU0FDIGDlkp6AD9rWFv7ThqdbmUqyBhD3WTQpLN+89w4B+YshGwD1fL6PMVpVKZqC0pikgmcA=="
"""Of the npm package that the files are from, as npm's lock files write it."""

SCRIPT, LICENCE = "twgl.js", "twgl-LICENSE.md"
SHA256 = {
    SCRIPT: "bc94a897aa369db1af4b32b33d069ad92aa1032688dfec4ace0656eca404b032",
    LICENCE: "87a5a44b12faff1205d5325b67b26216404fec66f08db2df4d448bff42f4d668",
}

_FOLDER = files("heat_neo4j.explore").joinpath("assets", "vendor")
_SOURCES = (
    "geometry.js", "data.js", "scene.js", "webgl.js", "canvas.js",
    "labels.js", "panel.js", "interaction.js", "main.js",
)  # fmt: skip
_PLACEHOLDER = re.compile(r"\{\{([a-z]+)\}\}")


def check_library() -> None:
    """Check that the drawing library is there, before long work that ends in a page; else a `ConfigError`."""
    for name in SHA256:
        _read_pinned(name)


def _read_pinned(name: str) -> str:
    source = _FOLDER.joinpath(name)
    content = source.read_bytes() if source.is_file() else b""
    if hashlib.sha256(content).hexdigest() != SHA256[name]:
        library = f"the drawing library {NAME} {VERSION}"
        raise ConfigError(f"{name} of {library} is missing or changed: install heat-neo4j again")
    return content.decode("utf-8")


def build_page(
    embedding: NDArray[np.float64],
    graph: Graph,
    *,
    names: Sequence[str] = (),
    groups: Sequence[str | None] = (),
    properties: Mapping[str, Sequence[Any]] | None = None,
    neighbours: Neighbours | None = None,
    predicted: PredictedLinks | StoredLinks | None = None,
    title: str = "",
    note: str = "",
) -> str:
    """Return an HTML page for exploring a 2-dimensional embedding: N points of the hyperboloid, time last.

    The page is one file and loads nothing: its security policy allows only the built-in scripts, by their
    hash. Nodes have names, groups, of which the ten largest get a colour each, and properties of any kind.
    Neighbours, which may come from an embedding of more dimensions, and predicted links are listed for a
    selected node; `note` is a line below the title. Lengths that disagree are a ValueError.
    """
    properties, n = properties or {}, graph.n_nodes
    check_points(embedding)
    if embedding.shape != (n, 3):
        raise ValueError(f"embedding must have shape ({n}, 3), got {embedding.shape}")
    for name, values in {"names": names, "groups": groups, **properties}.items():
        if len(values) != n and (len(values) or name not in ("names", "groups")):
            raise ValueError(f"{name} must have one entry per node: {len(values)} for {n}")
    if neighbours is not None and len(neighbours.partner) != n:
        raise ValueError(f"neighbours must have one row per node: {len(neighbours.partner)} for {n}")
    if predicted is not None and len(predicted) and int(predicted.target.max()) >= n:
        raise ValueError(f"predicted links lead to row {int(predicted.target.max())} of {n}")
    check_library()
    names = names or [f"node {row}" for row in range(n)]
    data = payload(embedding, graph, names, groups, properties, neighbours, predicted)
    data |= {"title": printable(title) or "Hyperbolic embedding", "note": printable(note)}
    style = _asset("page.css")
    sources = ["(() => {", '"use strict";', *map(_asset, _SOURCES), "})();"]  # nothing in it is global
    library, program = _inline(_read_pinned(SCRIPT)), _inline("\n".join(sources))
    pieces = {
        "policy": _policy(style, library, program),
        "title": html.escape(data["title"]),
        "style": style,
        "licence": f"\n{NAME} {VERSION}\n\n{_read_pinned(LICENCE).strip()}\n",
        "library": library,
        "program": program,
        "data": html_safe_json(data),
    }
    return _PLACEHOLDER.sub(lambda match: pieces[match[1]], _asset("page.html"))


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


def payload(
    embedding: NDArray[np.float64],
    graph: Graph,
    names: Sequence[str],
    groups: Sequence[str | None],
    properties: Mapping[str, Sequence[Any]],
    neighbours: Neighbours | None,
    predicted: PredictedLinks | StoredLinks | None,
) -> dict[str, Any]:
    """Return the page's data as JSON values; parameters as for `build_page`.

    Pairs are CSR, the columns of each row; ``group`` is an index into ``legend``, properties one text a node.
    """
    legend, codes = _legend(groups, graph.n_nodes)
    data: dict[str, Any] = {
        "count": graph.n_nodes,
        "points": _packed(embedding[:, :2], "<f8"),
        "names": [printable(name) for name in names],
        "legend": legend,
        "group": _packed(codes, "<u1"),
        "properties": [
            [printable(name), [display_text(value) for value in values]]
            for name, values in properties.items()
        ],
        "edges": _by_row(graph.edges.row, graph.edges.col, graph.n_nodes),
    }
    if neighbours is not None:
        data["neighbours"] = {
            "width": neighbours.partner.shape[1],
            "partner": _packed(neighbours.partner, _rows_type(graph.n_nodes)),
            "distance": _packed(neighbours.distance, "<f4"),
        }
    if predicted is not None:
        data["links"] = _links(predicted, graph.n_nodes)
    return data


def html_safe_json(data: Any) -> str:
    """Return JSON that can neither end the ``<script>`` element around it nor open another.

    Pure ASCII, with ``<``, ``>`` and ``&`` escaped.
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _legend(groups: Sequence[str | None], n_nodes: int) -> tuple[list[dict[str, Any]], NDArray[np.uint8]]:
    """Return the largest groups (ties by name) with the rest as one, and the group of each node."""
    if not groups:
        return [], np.zeros(n_nodes, dtype=np.uint8)
    counts = sorted(Counter(group or "" for group in groups).items(), key=lambda entry: (-entry[1], entry[0]))
    largest, others = counts[:N_GROUPS], counts[N_GROUPS:]
    legend = [
        {"name": printable(name) or "(none)", "count": count, "other": False} for name, count in largest
    ]
    if others:
        count = sum(count for _, count in others)
        legend.append({"name": f"{len(others):,} others", "count": count, "other": True})
    index = {name: code for code, (name, _) in enumerate(largest)}
    codes = [index.get(group or "", len(largest)) for group in groups]
    return legend, np.array(codes, dtype=np.uint8)


def _links(predicted: PredictedLinks | StoredLinks, n_nodes: int) -> dict[str, Any]:
    order = np.lexsort((predicted.target, predicted.source))
    packed = _by_row(predicted.source[order], predicted.target[order], n_nodes)
    packed["distance"] = _packed(predicted.distance[order], "<f4")
    if predicted.probability is not None:
        packed["probability"] = _packed(predicted.probability[order], "<f4")
    return packed


def _by_row(row: NDArray[Any], column: NDArray[Any], n_nodes: int) -> dict[str, Any]:
    """Return pairs, sorted by row, as counts per row and columns."""
    counts = np.bincount(row, minlength=n_nodes)
    return {"counts": _packed(counts, "<u4"), "columns": _packed(column, _rows_type(n_nodes))}


def _rows_type(n_nodes: int) -> str:
    """Return the narrowest type that holds every row number."""
    return "<u2" if n_nodes <= 1 << 16 else "<u4"


def _packed(values: NDArray[Any], dtype: str) -> dict[str, str]:
    raw = np.ascontiguousarray(values, dtype=dtype).tobytes()
    return {"type": dtype[1:], "base64": base64.b64encode(raw).decode("ascii")}
