"""The page as one HTML file: its sources, the drawing library and the data."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import printable
from heat_neo4j.errors import ConfigError
from heat_neo4j.explore.payload import html_safe_json, payload
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.geometry.search import Neighbours
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.prediction import PredictedLinks

__all__ = ["INTEGRITY", "LICENCE", "NAME", "SCRIPT", "VERSION", "PinnedFile", "build_page", "check_library"]

NAME, VERSION = "twgl.js", "7.0.0"
INTEGRITY = "sha512-9HHZ8emdZb2nKPU0FDIGDlkp6AD9rWFv7ThqdbmUqyBhD3WTQpLN+89w4B+YshGwD1fL6PMVpVKZqC0pikgmcA=="
"""Of the npm package that the files are from, as npm's lock files write it."""

_FOLDER = files("heat_neo4j.explore").joinpath("assets", "vendor")


class PinnedFile(NamedTuple):
    """A file of the release: its name here and its SHA-256."""

    name: str
    sha256: str


SCRIPT = PinnedFile("twgl.js", "bc94a897aa369db1af4b32b33d069ad92aa1032688dfec4ace0656eca404b032")
LICENCE = PinnedFile("twgl-LICENSE.md", "87a5a44b12faff1205d5325b67b26216404fec66f08db2df4d448bff42f4d668")


def check_library() -> None:
    """Check that the drawing library is there, before long work that ends in a page.

    Raises
    ------
    ConfigError
        If a file is missing or changed.
    """
    for file in (SCRIPT, LICENCE):
        _read_pinned(file)


def _read_pinned(file: PinnedFile) -> str:
    source = _FOLDER.joinpath(file.name)
    content = source.read_bytes() if source.is_file() else b""
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise ConfigError(
            f"{file.name} of the drawing library {NAME} {VERSION} is missing or changed: "
            "install heat-neo4j again"
        )
    return content.decode("utf-8")


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
    """Return an HTML page for exploring a 2-dimensional embedding.

    The page is one file and loads nothing: its security policy allows only the built-in scripts, by their
    hash, and forbids every request.

    Parameters
    ----------
    embedding : float64 array of shape (N, 3)
        Points of the hyperboloid, time last.
    graph : Graph
        The relationships, drawn as geodesics.
    names : sequence of str
        One per node; numbers if empty.
    groups : sequence of str or None
        One per node, None for no group, or empty. The ten largest groups get a colour each, the others grey.
    properties : mapping of str to sequence, optional
        Values of any kind of each property, one per node; None where a node has none.
    neighbours : Neighbours, optional
        Listed for a selected node; may come from an embedding of more dimensions.
    predicted : PredictedLinks, optional
        Drawn dashed, and listed for a selected node.
    title, note : str
        Heading, and a line below it.

    Raises
    ------
    ValueError
        If the embedding is not of two dimensions, or lengths disagree.
    ConfigError
        If the drawing library is missing or changed.
    """
    properties = properties or {}
    _check(embedding, graph, {"names": names, "groups": groups, **properties}, neighbours, predicted)
    check_library()
    data = payload(
        embedding,
        graph,
        names=names or [f"node {row}" for row in range(graph.n_nodes)],
        groups=groups,
        properties=properties,
        neighbours=neighbours,
        predicted=predicted,
    )
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
