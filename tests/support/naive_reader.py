"""A slow, plain twin of the reader: one record per node and per relationship, Python dicts, no numpy."""

from __future__ import annotations

import math
from typing import Any

import neo4j


def read_slowly(
    driver: neo4j.Driver, database: str | None, match_nodes: str, match_relationships: str, **options: Any
):
    """Return (element ids in row order, {(row, row): weight} of the directed matrix, counts).

    `match_nodes` is Cypher that returns a column n, `match_relationships` one that returns r; `options`
    are those of a `Projection` by the same name.
    """
    weight, default = options.get("weight"), options.get("default_weight", 1.0)
    rows = driver.execute_query(match_nodes, database_=database).records
    ids = sorted((row["n"].element_id for row in rows), key=lambda one: int(one.rsplit(":", 1)[1]))
    row_of = {element_id: row for row, element_id in enumerate(ids)}
    counts = dict.fromkeys(("all", "outside", "itself", "zero", "without"), 0)
    found: dict[tuple[int, int], list[float]] = {}
    for (relationship,) in driver.execute_query(match_relationships, database_=database).records:
        source, target = (node.element_id for node in (relationship.start_node, relationship.end_node))
        if source not in row_of:
            continue
        counts["all"] += 1
        if target not in row_of:
            counts["outside"] += 1
            continue
        if source == target:
            counts["itself"] += 1
            continue
        value = 1.0 if weight is None else relationship.get(weight)
        if value is None:
            counts["without"] += 1
            value = default
        if value == 0:
            counts["zero"] += 1
            continue
        found.setdefault((row_of[source], row_of[target]), []).append(float(value))
    combine = {"sum": math.fsum, "count": len, "single": lambda _: 1.0, "min": min, "max": max}
    aggregate = combine[options.get("aggregation", "sum")]
    return ids, {pair: float(aggregate(values)) for pair, values in found.items()}, counts
