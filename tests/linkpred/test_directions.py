"""The direction of a link that no score has ranked comes from the graph, and never from the order of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Relationships
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.recommendation import likeliest_partners


def points_of(n: int) -> np.ndarray:
    return lift(np.random.default_rng(1).normal(size=(n, 3)))


def directed_graph(n: int, source: np.ndarray, target: np.ndarray, **labels: np.ndarray) -> Graph:
    adjacency = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(n, n))
    return Graph(adjacency, relationships=Relationships.from_pairs({"R": (source, target)}), labels=labels)


@pytest.mark.parametrize("order", ["sources first", "targets first", "shuffled"])
def test_links_lead_from_the_nodes_that_are_sources_whatever_their_rows(order: str) -> None:
    rng = np.random.default_rng(0)
    row = {"sources first": np.arange(120), "targets first": np.arange(120)[::-1]}.get(
        order, rng.permutation(120)
    )
    mothers, children = np.tile(np.arange(60), 4), 60 + rng.permutation(np.tile(np.arange(60), 4))
    links = predict_links(points_of(120), directed_graph(120, row[mothers], row[children]), 3)
    assert len(links) > 200
    assert links.directed.all()
    assert np.isin(links.source, row[:60]).all()
    assert np.isin(links.target, row[60:]).all()


@pytest.mark.parametrize("sources", ["u", "a"])
def test_a_frame_of_two_kinds_of_names_gives_links_in_its_direction(sources: str) -> None:
    rng = np.random.default_rng(0)
    edges = pd.DataFrame(
        {
            "source": [f"{sources}{i}" for i in rng.integers(0, 30, 120)],
            "target": [f"f{i}" for i in rng.integers(0, 30, 120)],
        }
    )
    model = HEAT(2, walks_per_node=1, walk_length=10, random_state=0).fit(edges)
    links = model.predict_links(k=3, min_probability=0.0).to_frame("pandas")
    assert len(links) > 50
    assert links["source"].str.startswith(sources).all()
    assert links["target"].str.startswith("f").all()


@pytest.mark.parametrize("reverse_rows", [False, True])
def test_later_papers_cite_earlier_ones(reverse_rows: bool) -> None:
    rng = np.random.default_rng(0)
    citing = np.repeat(np.arange(20, 100), 5)
    cited = (citing * rng.random(len(citing)) ** 2).astype(np.int64)
    row = np.arange(100)[::-1] if reverse_rows else np.arange(100)
    links = predict_links(points_of(100), directed_graph(100, row[citing], row[cited]), 3)
    paper = np.argsort(row)
    forward = paper[links.source] > paper[links.target]
    assert forward[links.directed].mean() > 0.8
    assert links.directed.mean() > 0.9


def test_links_of_ends_that_are_alike_have_no_direction_and_a_note_counts_them() -> None:
    ring = np.arange(40)
    links = predict_links(points_of(40), directed_graph(40, ring, (ring + 1) % 40), 2)
    assert not links.directed.any()
    assert f"{len(links)} of {len(links)} predicted links have no direction" in links.notes[0]


def test_the_direction_of_the_ends_decides_between_patterns_of_the_same_labels() -> None:
    a, b = np.arange(60) < 30, np.arange(60) >= 30
    # Each of B has three relationships from nodes 0 to 14 and two to nodes 15 to 29.
    of_b = np.arange(30, 60)
    source = np.concatenate((np.tile(np.arange(15), 6), of_b, of_b))
    target = np.concatenate((np.tile(of_b, 3), 15 + of_b % 15, 15 + of_b // 2 % 15))
    links = predict_links(points_of(60), directed_graph(60, source, target, A=a, B=b), 60, max_links=3600)
    assert {str(each) for each in links.patterns} == {"A-R->B", "B-R->A"}
    assert not np.isin(links.target, np.arange(15)).any()
    assert not np.isin(links.source, np.arange(15, 30)).any()


def test_nodes_that_are_only_targets_get_no_recommendation() -> None:
    mothers, children = (
        np.tile(np.arange(30), 4),
        30 + np.random.default_rng(0).permutation(np.tile(np.arange(30), 4)),
    )
    graph = directed_graph(60, mothers, children)
    patterns = patterns_of(graph)
    for row, reverse, names in ((3, False, range(30, 60)), (33, True, range(30))):
        (found,) = likeliest_partners(points_of(60), graph, patterns, row, reverse=reverse)
        assert len(found.partner) == 10
        assert set(found.partner) <= set(names)
    for row, reverse in ((33, False), (3, True)):
        (found,) = likeliest_partners(points_of(60), graph, patterns, row, reverse=reverse)
        assert (len(found.partner), found.n_candidates) == (0, 0)
