"""What plain Cypher reads, by the names alone and without a look at versions, and what it should."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.write.payload import check_coordinates
from heat_neo4j.linkpred.prediction import PredictedLinks
from tests.support.live_graph import Cypher

__all__ = ["plain_links", "plain_nodes", "written_links", "written_nodes"]


def plain_nodes(cypher: Cypher, names: WriteNames) -> dict[int, tuple[Any, ...]]:
    """Return coordinates, radius and run of the nodes that have any, by key."""
    embedding, radius, run, _ = names.plain
    rows = cypher(f"MATCH (n) RETURN n.key AS key, n.`{embedding}` AS e, n.`{radius}` AS r, n.`{run}` AS u")
    found = {row["key"]: (row["e"], row["r"], row["u"]) for row in rows}
    return {key: values for key, values in found.items() if values != (None, None, None)}


def plain_links(cypher: Cypher, names: WriteNames) -> list[tuple[Any, ...]]:
    """Return the keys of both ends, and the properties of each predicted link."""
    rows = cypher(
        f"MATCH (a)-[p:`{names.link_type}`]->(b) RETURN a.key AS a, b.key AS b, p.rank AS rank, "
        "p.distance AS d, p.probability AS p, p.run AS run ORDER BY rank"
    )
    return [tuple(row.values()) for row in rows]


def written_nodes(
    points: NDArray[np.float64], space: str, kind: str = "poincare"
) -> dict[int, tuple[Any, ...]]:
    """Return what `plain_nodes` must be where node i has point i, of a run's training."""
    checked = check_coordinates(points, len(points), kind)
    lists = zip(checked.values.tolist(), checked.radii.tolist(), strict=True)
    return {key: (values, radius, space) for key, (values, radius) in enumerate(lists)}


def written_links(links: PredictedLinks, run: str) -> list[tuple[Any, ...]]:
    """Return what `plain_links` must be of the links of a run."""
    columns = (links.source, links.target, links.rank, links.distance, links.probability)
    rows = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return sorted(((*row, run) for row in rows), key=lambda link: link[2])
