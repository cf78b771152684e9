"""The page's data as JSON: numbers as base64 of typed arrays, the rest as strings."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text, printable
from heat_neo4j.geometry.search import Neighbours
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.prediction import PredictedLinks

__all__ = ["N_GROUPS", "html_safe_json", "payload"]

N_GROUPS = 10
"""Most groups with a colour of their own."""


def payload(
    embedding: NDArray[np.float64],
    graph: Graph,
    *,
    names: Sequence[str],
    groups: Sequence[str | None],
    properties: Mapping[str, Sequence[Any]],
    neighbours: Neighbours | None,
    predicted: PredictedLinks | None,
) -> dict[str, Any]:
    """Return the page's data as JSON values; parameters as for `build_page`.

    Returns
    -------
    dict
        ``points`` (x and y of each node, in float64), ``edges`` and ``links`` (for each row the columns of
        its pairs, as CSR), ``neighbours`` (rows and distances), ``names``, ``group`` (index into ``legend``)
        and ``properties`` (name, then one text per node).
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


def _links(predicted: PredictedLinks, n_nodes: int) -> dict[str, Any]:
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
