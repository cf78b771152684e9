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
from heat_neo4j.explore.colour_scale import N_SHADES, ColourScale
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.geometry.search import Neighbours
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.prediction import PredictedLinks

__all__ = [
    "INTEGRITY",
    "LICENCE",
    "NAME",
    "N_GROUPS",
    "N_TYPES",
    "SCRIPT",
    "SHA256",
    "VERSION",
    "build_page",
    "check_library",
    "html_safe_json",
    "payload",
]

N_GROUPS = 10  # most groups with a colour of their own
N_TYPES = 6  # and most types
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
    "geometry.js", "colours.js", "data.js", "scene.js", "webgl.js", "canvas.js",
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
    scale: ColourScale | None = None,
    properties: Mapping[str, Sequence[Any]] | None = None,
    neighbours: Neighbours | None = None,
    predicted: PredictedLinks | StoredLinks | None = None,
    title: str = "",
    note: str = "",
) -> str:
    """Return an HTML page for exploring a 2-dimensional embedding: N points of the hyperboloid, time last.

    The page is one file and loads nothing: its security policy allows only the built-in scripts, by their
    hash. Nodes have names, properties of any kind, and either groups, of which the ten largest get a colour
    each, or shades of a scale. Of a graph that knows directions and types, the six most frequent types get a
    colour each, and relationships narrow from source to target. Neighbours, which may come from an embedding
    of more dimensions, and predicted links are listed for a selected node; `note` is a line below the title.
    Lengths that disagree, and groups beside a scale, are a ValueError.
    """
    properties, n = properties or {}, graph.n_nodes
    check_points(embedding)
    if embedding.shape != (n, 3):
        raise ValueError(f"embedding must have shape ({n}, 3), got {embedding.shape}")
    for name, values in {"names": names, "groups": groups, **properties}.items():
        if len(values) != n and (len(values) or name not in ("names", "groups")):
            raise ValueError(f"{name} must have one entry per node: {len(values)} for {n}")
    if scale is not None and (len(groups) or len(scale.shade) != n):
        raise ValueError(f"a scale needs {n} shades, and no groups beside it")
    if neighbours is not None and len(neighbours.partner) != n:
        raise ValueError(f"neighbours must have one row per node: {len(neighbours.partner)} for {n}")
    if predicted is not None and len(predicted) and int(predicted.target.max()) >= n:
        raise ValueError(f"predicted links lead to row {int(predicted.target.max())} of {n}")
    check_library()
    names = names or [f"node {row}" for row in range(n)]
    data = payload(embedding, graph, names, groups, scale, properties, neighbours, predicted)
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
    scale: ColourScale | None,
    properties: Mapping[str, Sequence[Any]],
    neighbours: Neighbours | None,
    predicted: PredictedLinks | StoredLinks | None,
) -> dict[str, Any]:
    """Return the page's data as JSON values; parameters as for `build_page`.

    Pairs are CSR, the columns of each row; ``group`` is an index into ``legend``, or a shade of the scale;
    properties are one text a node. Where types are known, ``kind`` is twice the place of a pair's type in the
    names of ``types``, and 1 more if relationships of the type lead both ways.
    """
    legend, codes = _legend(groups, graph.n_nodes)
    relationships = graph.relationships
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
    }
    if scale is not None:
        data["group"] = _packed(scale.shade, "<u1")
        data["scale"] = _described(scale)
    place_of: dict[str, int] = {}  # of types
    if relationships is None:
        data["edges"] = _by_row(graph.edges.row, graph.edges.col, graph.n_nodes)
    else:
        counts = _type_counts(relationships, predicted)
        place_of = {name: place for place, name in enumerate(counts)}
        data["types"] = {"names": list(map(printable, counts)), "legend": _entries(counts, N_TYPES)}
        data["edges"] = _typed_pairs(relationships, place_of, graph.n_nodes)
    if neighbours is not None:
        data["neighbours"] = {
            "width": neighbours.partner.shape[1],
            "partner": _packed(neighbours.partner, _narrowest(graph.n_nodes)),
            "distance": _packed(neighbours.distance, "<f4"),
        }
    if predicted is not None:
        data["links"] = _links(predicted, place_of, graph.n_nodes)
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
    counts = _ordered(Counter(group or "" for group in groups))
    largest = list(counts)[:N_GROUPS]
    index = {name: code for code, name in enumerate(largest)}
    codes = [index.get(group or "", len(largest)) for group in groups]
    return _entries(counts, N_GROUPS), np.array(codes, dtype=np.uint8)


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the largest counts first, ties by name."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _entries(counts: Mapping[str, int], most: int) -> list[dict[str, Any]]:
    """Return the first of ordered counts with the rest as one."""
    names = list(counts)
    entries = [
        {"name": printable(name) or "(none)", "count": counts[name], "other": False} for name in names[:most]
    ]
    if others := names[most:]:
        count = sum(counts[name] for name in others)
        entries.append({"name": f"{len(others):,} others", "count": count, "other": True})
    return entries


def _described(scale: ColourScale) -> dict[str, Any]:
    return {
        "name": printable(scale.name),
        "ticks": scale.ticks,
        "by_rank": scale.by_rank,
        "shades": N_SHADES,
        "missing": int((scale.shade == N_SHADES).sum()),
    }


def _type_counts(
    relationships: Relationships, predicted: PredictedLinks | StoredLinks | None
) -> dict[str, int]:
    """Return how many relationships there are of each type, the most frequent first; 0 if only predicted."""
    only_predicted = {} if predicted is None else dict.fromkeys(filter(None, predicted.types), 0)
    counts = dict(zip(relationships.types, np.diff(relationships.starts).tolist(), strict=True))
    return _ordered(only_predicted | counts)


def _typed_pairs(relationships: Relationships, place_of: Mapping[str, int], n_nodes: int) -> dict[str, Any]:
    """Return the pairs that relationships of each type join, each once; of those joined both ways u < v."""
    source, target = (ends.astype(np.int64) for ends in (relationships.source, relationships.target))
    places = np.array([place_of[name] for name in relationships.types], dtype=np.int64)
    place = np.repeat(places, np.diff(relationships.starts))
    forth, back = (place * n_nodes + source) * n_nodes + target, (place * n_nodes + target) * n_nodes + source
    both = np.isin(forth, back, assume_unique=True)
    kept = np.flatnonzero(~both | (source < target))
    order = kept[np.lexsort((place[kept], target[kept], source[kept]))]
    packed = _by_row(source[order], target[order], n_nodes)
    packed["kind"] = _packed(2 * place[order] + both[order], _narrowest(2 * len(place_of)))
    return packed


def _links(
    predicted: PredictedLinks | StoredLinks, place_of: Mapping[str, int], n_nodes: int
) -> dict[str, Any]:
    order = np.lexsort((predicted.target, predicted.source))
    packed = _by_row(predicted.source[order], predicted.target[order], n_nodes)
    packed["distance"] = _packed(predicted.distance[order], "<f4")
    if predicted.probability is not None:
        packed["probability"] = _packed(predicted.probability[order], "<f4")
    if place_of and all(predicted.types):
        kind = np.array([2 * place_of[name] for name in predicted.types], dtype=np.int64)
        packed["kind"] = _packed(kind[order], _narrowest(2 * len(place_of)))
    return packed


def _by_row(row: NDArray[Any], column: NDArray[Any], n_nodes: int) -> dict[str, Any]:
    """Return pairs, sorted by row, as counts per row and columns."""
    counts = np.bincount(row, minlength=n_nodes)
    return {"counts": _packed(counts, "<u4"), "columns": _packed(column, _narrowest(n_nodes))}


def _narrowest(count: int) -> str:
    """Return the narrowest type that holds the numbers below `count`."""
    return f"<u{np.min_scalar_type(max(count - 1, 0)).itemsize}"


def _packed(values: NDArray[Any], dtype: str) -> dict[str, str]:
    raw = np.ascontiguousarray(values, dtype=dtype).tobytes()
    return {"type": dtype[1:], "base64": base64.b64encode(raw).decode("ascii")}
