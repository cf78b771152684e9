"""The explanation of one pattern's link, whether or not the labels of the nodes allow it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred import explanation
from heat_neo4j.linkpred.explanation import LinkExplanation
from heat_neo4j.linkpred.recommendation import Scorers
from heat_neo4j.patterns import Pattern


def explain_pair(
    points: Any,
    graph: Graph,
    pattern: Pattern | None,
    pair: tuple[int, int],
    scorers_of: Callable[[Graph], Scorers] | None = None,
) -> LinkExplanation:
    """Explain the link of a pattern between two rows."""
    scored = None if scorers_of is None else explanation._Scored.of(graph, pattern, pair, scorers_of)
    return explanation._explained(points, graph, pattern, pair, scored, ())
