"""Hundreds of types that are used once: no links of them, and no cost that grows with their square."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from scipy import sparse

from heat_neo4j import Graph
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Relationships
from heat_neo4j.linkpred.calibration import HeldOut
from heat_neo4j.linkpred.features import PairFeatures
from heat_neo4j.linkpred.link_score import LinkScore, link_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.splits import split_edges
from heat_neo4j.patterns import Pattern

N, RARE = 200, 400


@cache
def made() -> tuple[np.ndarray, Graph, LinkScore, list[tuple[str, int, int]]]:
    """Return points, a graph of two common types and many rare ones, its score, and the progress."""
    rng = np.random.default_rng(0)
    pairs = {f"RARE {number}": rng.integers(0, N, (2, 1)) for number in range(RARE)}
    pairs |= {name: rng.integers(0, N, (2, 400)) for name in ("KNOWS", "LIKES")}
    source, target = np.concatenate(list(pairs.values()), axis=1)
    adjacency = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(N, N))
    relationships = Relationships.from_pairs({name: tuple(each) for name, each in pairs.items()})
    graph = Graph(adjacency, relationships=relationships, labels={"A": np.ones(N, dtype=bool)})
    points = lift(rng.normal(size=(N, 3)))
    told: list[tuple[str, int, int]] = []
    split = split_edges(graph, 0.1, random_state=0, non_edges_per_edge=5)
    score = link_score([HeldOut(split, points)], graph, on_progress=lambda *each: told.append(each))
    return points, graph, score, told


def test_rare_types_get_no_links_and_are_named() -> None:
    points, graph, score, _ = made()
    links = predict_links(points, graph, min_probability=0.0, score=score)
    assert set(links.types) == {"KNOWS", "LIKES"}
    assert len(links) <= 2 * 10 * N
    (note,) = (each for each in links.notes if "rare" in each)
    assert "399 patterns" in note  # one leads from a node to itself
    assert "A-RARE 0->A" in note
    assert set(score.tables) == {"A-KNOWS->A", "A-LIKES->A"}


def test_a_rare_type_that_is_named_is_predicted() -> None:
    points, graph, score, _ = made()
    links = predict_links(points, graph, 2, patterns=["A-RARE 7->A"], min_probability=0.0, score=score)
    assert set(links.types) == {"RARE 7"}
    assert not any("rare" in each for each in links.notes)


def test_patterns_without_a_likely_link_are_named() -> None:
    points, graph, score, _ = made()
    links = predict_links(points, graph, min_probability=1.0, score=score)
    assert len(links) == 0
    (note,) = (each for each in links.notes if "none remain" in each)
    assert note.startswith("links with a probability below `min_probability`, 1, are left out")
    assert note.endswith("none remain for A-KNOWS->A, A-LIKES->A")


def test_what_a_probability_assumes_is_told() -> None:
    points, graph, score, _ = made()
    figures = {name: replace(each, by_time=name == "A-KNOWS->A") for name, each in score.figures.items()}
    undated, dated = (
        [each for each in predict_links(points, graph, 2, score=each).notes if "probabilit" in each]
        for each in (score, replace(score, since="2024-03-01", figures=figures))
    )
    missing = "probabilities are of links that are missing now, assumed to be a tenth"
    assert undated[-1] == f"{missing}, not of links to come"
    assert dated[-2:] == [
        "a probability is the chance of a link in a period like the last, which began 2024-03-01",
        f"A-LIKES->A without times: {missing}",
    ]
    assert not [each for each in predict_links(points, graph, 2).notes if "probabilit" in each]


def test_the_default_leaves_out_links_below_a_twentieth() -> None:
    points, graph, score, _ = made()
    every, links = (predict_links(points, graph, min_probability=least, score=score) for least in (0.0, None))
    assert (every.probability < 0.05).any()
    assert links.source.tolist() == every.source[every.probability >= 0.05].tolist()
    assert len(predict_links(points, graph)) == len(predict_links(points, graph, min_probability=0.0)) > 0


def test_the_fit_reports_each_pattern() -> None:
    assert made()[3] == [("patterns", done, 2) for done in range(3)]


def test_neighbours_by_type_are_made_once_and_grow_with_the_relationships() -> None:
    points, graph, _, _ = made()
    shared = PairFeatures(points, graph)
    for name in ("KNOWS", "LIKES"):
        assert "targets_related" in shared.of(Pattern("A", name, "A")).link
    matrix, kinds = shared.neighbours_by_type
    assert matrix.shape[1] == len(kinds) <= 2 * len(graph.relationships)
    assert matrix.nnz <= 2 * len(graph.relationships)
