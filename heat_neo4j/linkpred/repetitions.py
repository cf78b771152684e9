"""Patterns that repeat a path of two other types, such as BOUGHT beside PLACED and CONTAINS.

Such a relationship exists because the path does. A held-out one is then read off the path, so figures and
probabilities are too high for pairs that nothing joins yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heat_neo4j._utils.display import display_text
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.implications import Implications, TypedSteps
from heat_neo4j.patterns import Pattern

_REPEATS = (
    "{} repeats {} ({:,} of {:,} pairs): each type reveals held-out links of the others, so their figures "
    "and probabilities are too high; leave one of them out"
)
_LONGEST = 40  # maximum characters of a name in a sentence


def repetitions(graph: Graph, patterns: Sequence[Pattern | None]) -> Iterator[str]:
    """Yield a sentence for each pattern that repeats a path, with the path that joins most of its pairs."""
    relationships = graph.relationships
    if relationships is None or len(relationships.types) < 2:
        return
    steps = TypedSteps.of(graph)
    half = steps.n_kinds // 2
    names = {
        kind: display_text(name, _LONGEST)
        for name, kind in zip(relationships.types, steps.of_type.tolist(), strict=True)
    }
    for pattern in filter(None, patterns):
        found = list(Implications(graph, pattern, steps).repeated_paths())
        if found:
            path, n_links, n_joined = max(found, key=lambda each: each[2])
            shown = (f"-{names[kind]}->" if kind < half else f"<-{names[kind - half]}-" for kind in path)
            whole = display_text(str(pattern), 3 * _LONGEST)
            yield _REPEATS.format(whole, " ".join(shown), n_joined, n_links)
