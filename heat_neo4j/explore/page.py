"""The page: its sources, the drawing library and the data put together as one file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._display import printable
from heat_neo4j.explore.library import LICENCE, NAME, SCRIPT, VERSION, check_library, read_pinned
from heat_neo4j.explore.neighbours import Neighbours
from heat_neo4j.explore.payload import html_safe_json, payload
from heat_neo4j.graph import Graph
from heat_neo4j.hyperboloid import check_points
from heat_neo4j.links import PredictedLinks

__all__ = ["build_page"]

_SOURCES = (
    "geometry.js", "data.js", "scene.js", "webgl.js", "canvas.js",
    "labels.js", "panel.js", "interaction.js", "main.js",
)  # fmt: skip
_PLACEHOLDER = re.compile(r"\{\{([a-z]+)\}\}")


def build_page(
    embedding: NDArray[np.float64],
    graph: Graph,
    *,
    names: Sequence[str] = (),
    groups: Sequence[str | None] = (),
    properties: Mapping[str, Sequence[Any]] | None = None,
    neighbours: Neighbours | None = None,
    predicted: PredictedLinks | None = None,
    title: str = "",
    note: str = "",
) -> str:
    """Return an HTML page in which a person can walk in a 2-dimensional embedding.

    The page is one file and loads nothing. Its security policy lets only the scripts run that are built in
    here (by their hash) and forbids every request; names and properties are data throughout.

    Parameters
    ----------
    embedding : float64 array of shape (N, 3)
        Points of the hyperboloid, time last, fitted with two components.
    graph : Graph
        The relationships, drawn as geodesics.
    names : sequence of str
        One per node; empty to number them.
    groups : sequence of str or None
        One per node, None for one without: the largest ten get a colour, the others share grey. Empty for
        one colour.
    properties : mapping of str to sequence, optional
        For each property its value on each node, of any kind; None for a node without it.
    neighbours : Neighbours, optional
        To list for a selected node; may come from an embedding of more dimensions.
    predicted : PredictedLinks, optional
        Drawn dashed, and listed for a selected node.
    title, note : str
        The page's heading, and a line below it.

    Returns
    -------
    str
        HTML, to be saved as UTF-8.

    Raises
    ------
    ValueError
        If the embedding is not of two dimensions, or lengths disagree.
    ConfigError
        If the drawing library is missing or was changed.
    """
    given = dict(properties or {})
    _check(embedding, graph, {"names": names, "groups": groups, **given}, neighbours, predicted)
    check_library()
    data = payload(
        embedding,
        graph,
        names=names or [f"node {row}" for row in range(graph.n_nodes)],
        groups=groups,
        properties=given,
        neighbours=neighbours,
        predicted=predicted,
    )
    data |= {"title": printable(title) or "Hyperbolic embedding", "note": printable(note)}
    style = _asset("page.css")
    library, program = _inline(read_pinned(SCRIPT)), _inline(_program())
    pieces = {
        "policy": _policy(style, library, program),
        "title": html.escape(data["title"]),
        "style": style,
        "licence": f"\n{NAME} {VERSION}\n\n{read_pinned(LICENCE).strip()}\n",
        "library": library,
        "program": program,
        "data": html_safe_json(data),
    }
    return _PLACEHOLDER.sub(lambda match: pieces[match[1]], _asset("page.html"))


def _check(
    embedding: NDArray[np.float64],
    graph: Graph,
    columns: Mapping[str, Sequence[Any]],
    neighbours: Neighbours | None,
    predicted: PredictedLinks | None,
) -> None:
    check_points(embedding)
    n = graph.n_nodes
    if embedding.shape != (n, 3):
        raise ValueError(f"embedding must have shape ({n}, 3), got {embedding.shape}")
    for name, values in columns.items():
        if len(values) != n and (len(values) or name not in ("names", "groups")):
            raise ValueError(f"{name} must have one entry per node: {len(values)} for {n}")
    if neighbours is not None and len(neighbours.partner) != n:
        raise ValueError(f"neighbours must have one row per node: {len(neighbours.partner)} for {n}")
    if predicted is not None and len(predicted) and int(predicted.target.max()) >= n:
        raise ValueError(f"predicted links lead to row {int(predicted.target.max())} of {n}")


def _program() -> str:
    """Return our own sources as one script, in which nothing is global but what main.js exports."""
    return "\n".join(["(() => {", '"use strict";', *map(_asset, _SOURCES), "})();"])


def _inline(script: str) -> str:
    """Return a script that does not end its element early: the library's comments mention script tags."""
    return re.sub("</(?=script)", r"<\\/", script, flags=re.IGNORECASE)


def _policy(style: str, *scripts: str) -> str:
    allowed = " ".join(_source_hash(text) for text in scripts)
    return f"default-src 'none'; script-src {allowed}; style-src {_source_hash(style)}; base-uri 'none'"


def _source_hash(text: str) -> str:
    """Return how a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files("heat_neo4j.explore").joinpath("assets", name).read_text(encoding="utf-8")
