"""What the page shows, as JSON values in parts: nodes first, for the first picture, then the rest.

Numbers are base64 of typed arrays, the rest strings. Pairs are CSR, the columns of each row.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_text, printable
from heat_neo4j.database.read.published import StoredLinks
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.explore.facets import N_GROUPS, N_SHADES, ColourScale, Facet, Groups
from heat_neo4j.geometry.hyperboloid import radius
from heat_neo4j.geometry.search import Neighbours
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.prediction import PredictedLinks

N_TYPES = 6  # most types of relationships with a colour of their own

Links = PredictedLinks | StoredLinks


def nodes_part(embedding: NDArray[np.float64], graph: Graph) -> dict[str, Any]:
    """Return what the first picture needs of N nodes, at points of the hyperbolic plane, shape (N, 3).

    ``relationships`` is their number, ``types`` lists their types, if known.
    """
    part: dict[str, Any] = {
        "count": graph.n_nodes,
        "points": _packed(embedding[:, :2], "<f8"),
        "degree": _packed_numbers(graph.degrees),
        "relationships": graph.n_edges if graph.relationships is None else len(graph.relationships),
    }
    if graph.relationships is not None:
        part["types"] = {
            "names": type_names(graph),
            "legend": _entries(_type_counts(graph.relationships), N_TYPES),
        }
    return part


def facet_part(facet: Facet, n_nodes: int) -> dict[str, Any]:
    """Return a facet of nodes: ``group`` is an index into ``legend``, or a shade of ``scale``."""
    part: dict[str, Any] = {"name": printable(facet.name)}
    if isinstance(facet, Groups):
        legend, codes = _legend(facet.values, n_nodes)
        return part | {"legend": legend, "group": _packed(codes, "<u1")}
    return part | {"legend": [], "group": _packed(facet.shade, "<u1"), "scale": _described(facet)}


def names_part(names: Sequence[str], n_nodes: int) -> list[str]:
    """Return the names of nodes; their rows' numbers where none are given."""
    return [printable(name) for name in names] or [f"node {row}" for row in range(n_nodes)]


def edges_part(pairs: Pairs, n_nodes: int) -> dict[str, Any]:
    """Return the pairs that relationships join, sorted by source."""
    packed = _by_row(pairs.source, pairs.target, n_nodes)
    return packed if pairs.kind is None else packed | {"kind": _packed_numbers(pairs.kind)}


def links_part(links: Links | None, graph: Graph, most_of_each: int | None = None) -> dict[str, Any] | None:
    """Return predicted links (sorted by rank) grouped by row, likeliest first; None for None.

    With `most_of_each`, only that many of the likeliest per node are kept; ``total`` is the number before.
    ``types`` names the types that only links have, numbered after the others.
    """
    if links is None or not len(links.source):
        return None
    n = graph.n_nodes
    kept = np.arange(len(links.source)) if most_of_each is None else likeliest_of_each(links, most_of_each)
    order = kept[np.argsort(links.source[kept], kind="stable")]
    packed = {"total": len(links.source)} | _by_row(links.source[order], links.target[order], n)
    if links.probability is None:
        packed["distance"] = _thousandths(links.distance[order])
    else:
        packed["probability"] = _packed(links.probability[order], "<f4")
    if graph.relationships is not None and all(links.types):
        types = list(dict.fromkeys((*_type_counts(graph.relationships), *links.types)))
        place_of = {name: place for place, name in enumerate(types)}
        kind = np.array([2 * place_of[name] for name in links.types], dtype=np.int64)
        packed["kind"] = _packed_numbers(kind[order])
        packed["types"] = list(map(printable, types[len(graph.relationships.types) :]))
    return packed


def lists_part(
    neighbours: Neighbours | None,
    properties: Mapping[str, Sequence[Any]],
    n_nodes: int,
    *,
    space: NDArray[np.float64] | None = None,
    keys: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the lists shown per node: property values, as one string each, and its nearest nodes.

    ``radius`` is that of the points `space`, if they are not those of the picture. `keys` identify nodes in
    URLs; by default the names.
    """
    part: dict[str, Any] = {
        "properties": [
            [printable(name), [display_text(value) for value in values]]
            for name, values in properties.items()
        ]
    }
    if space is not None:
        part["space"] = {"dimensions": space.shape[1] - 1, "radius": _thousandths(radius(space))}
    if keys:
        part["keys"] = names_part(keys, n_nodes)
    if neighbours is not None:
        part["neighbours"] = {
            "width": neighbours.partner.shape[1],
            "partner": _packed(neighbours.partner, _narrowest(n_nodes)),
            "distance": _thousandths(neighbours.distance),
        }
    return part


def runs_part(runs: Iterable[RunRecord], published: str) -> list[dict[str, Any]]:
    """Return the outcome of each run of a model, in order; `published` is the id of one."""
    return [
        {
            "run": run.run_id,
            "started": "" if run.started_at is None else f"{run.started_at:%Y-%m-%d %H:%M}",
            "status": "published" if run.run_id == published else run.status,
            "parts": " and ".join(run.parts),
            "decision": run.decision or "",
            "nodes": run.nodes_written,
            "links": run.links_written,
            "auroc": None if run.auroc is None else round(run.auroc, 3),
            "moved": None if run.mean_move is None else round(run.mean_move, 3),
        }
        for run in runs
    ]


def likeliest_of_each(links: Links, k: int) -> NDArray[np.int64]:
    """Return the links, sorted by rank, among the k likeliest of either end; ascending."""
    ends = np.concatenate((links.source, links.target))
    places = np.tile(np.arange(len(links)), 2)
    order = np.lexsort((places, ends))
    first = np.searchsorted(ends[order], ends[order])
    kept = order[np.arange(len(order)) - first < k]
    return np.unique(places[kept])


class Pairs(NamedTuple):
    """Pairs of rows that relationships join, once for each type, sorted; of those joined both ways u < v."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    kind: NDArray[np.int64] | None
    """Twice the place of the type in `type_names`, and 1 more if both ways; None where nothing is known."""


def joined_pairs(graph: Graph) -> Pairs:
    """Return the pairs that the relationships of a graph join."""
    if graph.relationships is None:
        edges = graph.edges
        return Pairs(edges.row.astype(np.int64), edges.col.astype(np.int64), None)
    relationships, n = graph.relationships, graph.n_nodes
    place_of = {name: place for place, name in enumerate(_type_counts(relationships))}
    source, target = (ends.astype(np.int64) for ends in (relationships.source, relationships.target))
    places = np.array([place_of[name] for name in relationships.types], dtype=np.int64)
    place = np.repeat(places, np.diff(relationships.starts))
    forth, back = (place * n + source) * n + target, (place * n + target) * n + source
    both = np.isin(forth, back, assume_unique=True)
    kept = np.flatnonzero(~both | (source < target))
    order = kept[np.lexsort((place[kept], target[kept], source[kept]))]
    return Pairs(source[order], target[order], 2 * place[order] + both[order])


def type_names(graph: Graph) -> list[str]:
    """Return the types of relationships, the most frequent first."""
    return [] if graph.relationships is None else list(map(printable, _type_counts(graph.relationships)))


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
        "ticks": scale.ticks,
        "lowest": scale.lowest,
        "highest": scale.highest,
        "by_rank": scale.by_rank,
        "shades": N_SHADES,
        "missing": int((scale.shade == N_SHADES).sum()),
    }


def _type_counts(relationships: Relationships) -> dict[str, int]:
    """Return how many relationships there are of each type, the most frequent first."""
    return _ordered(dict(zip(relationships.types, np.diff(relationships.starts).tolist(), strict=True)))


def _by_row(row: NDArray[Any], column: NDArray[Any], n_nodes: int) -> dict[str, Any]:
    """Return pairs, sorted by row, as counts per row and columns."""
    counts = np.bincount(row, minlength=n_nodes)
    return {"counts": _packed_numbers(counts), "columns": _packed(column, _narrowest(n_nodes))}


def _thousandths(distances: NDArray[np.float64]) -> dict[str, str]:
    return _packed_numbers(np.rint(1000 * distances))


def _packed_numbers(values: NDArray[Any]) -> dict[str, str]:
    """Return whole numbers in the narrowest type that holds the largest."""
    return _packed(values, _narrowest(int(values.max(initial=0)) + 1))


def _narrowest(count: int) -> str:
    """Return the narrowest type that holds the numbers below `count`."""
    return f"<u{np.min_scalar_type(max(count - 1, 0)).itemsize}"


def _packed(values: NDArray[Any], dtype: str) -> dict[str, str]:
    raw = np.ascontiguousarray(values, dtype=dtype).tobytes()
    return {"type": dtype[1:], "base64": base64.b64encode(raw).decode("ascii")}
