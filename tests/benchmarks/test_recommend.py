"""The made graph of films, and what is held out of it."""

from __future__ import annotations

import numpy as np

from heat_neo4j.evaluation.link_figures import held_out_links, measure_links
from heat_neo4j.linkpred.baselines import popularity
from heat_neo4j.linkpred.candidates import relationships_of
from tests.benchmarks.films import films
from tests.benchmarks.recommend import PATTERNS, films_graph, hold_out, oracle

RATED = PATTERNS["films"]


def test_the_oracle_of_made_films_knows_more_than_the_crowd() -> None:
    made, again = (films(3, users=200, movies=150, persons=200, genres=8, ratings=12) for _ in range(2))
    np.testing.assert_array_equal(made.affinity, again.affinity)
    graph = films_graph(made)
    assert {kind: len(graph.relationships.of(kind)[0]) for kind in graph.relationships.types} == {
        kind: ends.shape[1] for kind, ends in made.relationships.items()
    }
    assert {name.partition("=")[0] for name in graph.attribute_names} == {
        "User.age", "User.country", "Movie.year", "Movie.keywords", "Person.born",
    }  # fmt: skip
    split = hold_out(graph, RATED, 0)
    left = np.column_stack(relationships_of(split.train, RATED))
    assert set(left[:, 0]) == set(made.relationships["RATED"][0])
    assert set(left[:, 1]) == set(made.relationships["RATED"][1])
    held_out = held_out_links(graph, split, RATED, 0)
    assert len(held_out.pairs) == round(0.1 * made.relationships["RATED"].shape[1])
    known, crowd = (
        measure_links(scorer, held_out).metrics for scorer in (oracle(made), popularity(split.train, RATED))
    )
    for figure in ("mean_reciprocal_rank", "hits_at_10"):
        assert known[figure] > 1.5 * crowd[figure]
