"""Distances of points in link scores, and candidates that are near."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.attributes.kinds import Point
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.candidates import candidate_pairs
from heat_neo4j.linkpred.features import APART, FEATURES, PairFeatures, features_of
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.places import NearPlaces, Places
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.patterns import Pattern

SERVES = Pattern("Station", "SERVES", "Town")
N, STATIONS, UNKNOWN = 400, 200, 7
EVERY = np.arange(N)
USUAL = 1e8  # squared distance of two points, in units of the smallest distance that counts


def country(*, srid: int = 7203, together: bool = False) -> tuple[np.ndarray, Graph]:
    """Return coordinates and a graph of stations that serve the nearest town; the last have no point."""
    rng = np.random.default_rng(0)
    at = 5e6 + 1e4 * rng.random((N, 2)) if srid == 7203 else rng.uniform(-60.0, 60.0, (N, 2))
    if together:
        at[STATIONS:] = at[STATIONS]
    away = np.square(at[:STATIONS, None] - at[None, STATIONS : N - UNKNOWN]).sum(axis=2)
    town = STATIONS + np.argmin(away, axis=1)
    known: list[Point | None] = [Point(srid, tuple(each)) for each in at.tolist()]
    points = known[: N - UNKNOWN] + [None] * UNKNOWN
    is_town = EVERY >= STATIONS
    labels = {"Station": ~is_town, "Town": is_town}
    table = AttributeTable([Attribute("size"), Attribute("at")], N, max_categories=9, labels=labels)
    table.add(EVERY, {"size": rng.random(N).tolist(), "at": points})
    encoded = table.finish(EVERY)
    links = Relationships.from_pairs({"SERVES": (np.arange(STATIONS), town)})
    both = (np.ones(2 * STATIONS), (np.r_[:STATIONS, town], np.r_[town, :STATIONS]))
    graph = Graph(
        sparse.csr_array(both, shape=(N, N)),
        encoded.matrix,
        labels=labels,
        relationships=links,
        attribute_names=encoded.names,
        provenance=Provenance(attribute_recipe=encoded.recipe),
    )
    return at, graph


def test_squared_distances_are_those_of_the_points_and_usual_where_one_is_missing() -> None:
    at, graph = country()
    places = Places.of(graph, EVERY, EVERY)
    assert places is not None
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, N, (500, 2))
    pairs[:20, 0], pairs[10:30, 1] = N - 1, N - 2
    known = (pairs < N - UNKNOWN).all(axis=1)
    unit = np.square(at[: N - UNKNOWN] - at[: N - UNKNOWN].mean(axis=0)).sum(axis=1).mean() * 2.0 / USUAL
    expected = np.square(at[pairs[:, 0]] - at[pairs[:, 1]]).sum(axis=1) / unit
    found = places.squares().pairs(pairs)
    assert found[known] == pytest.approx(expected[known], abs=1e-4)
    assert found[~known] == pytest.approx(USUAL)


def test_the_nearest_targets_are_those_of_a_search_through_all() -> None:
    at, graph = country()
    towns, sources = np.arange(STATIONS, N, 2), np.array([3, 5, N - 1, 8])
    places = Places.of(graph, EVERY, towns)
    assert places is not None
    near = NearPlaces(places, towns, 5).of(sources)
    assert np.diff(near.indptr).tolist() == [5, 5, 0, 5]
    own = towns[towns < N - UNKNOWN]
    for row, source in enumerate(sources.tolist()):
        part = slice(near.indptr[row], near.indptr[row + 1])
        order = np.argsort(-near.values[part])
        expected = own[np.argsort(np.square(at[own] - at[source]).sum(axis=1))[:5]]
        assert near.indices[part][order].tolist() == (expected.tolist() if source < N - UNKNOWN else [])


def test_of_many_targets_at_one_point_only_a_few_are_listed() -> None:
    _, graph = country(together=True)
    towns = np.arange(STATIONS, N)
    places = Places.of(graph, EVERY, towns)
    assert places is not None
    near = NearPlaces(places, towns, 5)
    assert len(near._listed) == 5
    assert np.diff(near.of(np.arange(3)).indptr).tolist() == [5, 5, 5]


def test_no_target_is_listed_if_none_has_a_point() -> None:
    _, graph = country()
    places = Places.of(graph, EVERY, EVERY)
    assert places is not None
    for targets in (np.empty(0, dtype=np.int64), np.arange(N - UNKNOWN, N)):
        near = NearPlaces(places, targets, 5).of(np.arange(3))
        assert np.diff(near.indptr).tolist() == [0, 0, 0]


def test_only_nodes_with_points_have_the_feature() -> None:
    _, graph = country()
    assert features_of(graph) == (*FEATURES, APART)
    points = lift(np.random.default_rng(2).normal(size=(N, 3)))
    assert APART in PairFeatures(points, graph).of(SERVES).link
    plain = Graph(graph.adjacency, graph.attributes, labels=graph.labels, relationships=graph.relationships)
    assert features_of(plain) == FEATURES
    assert APART not in PairFeatures(points, plain).of(SERVES).link
    everywhere, nowhere = np.arange(N), np.arange(N - UNKNOWN, N)
    assert Places.of(graph, everywhere, nowhere) is None


@pytest.mark.parametrize("srid", [7203, 4326])
def test_the_nearest_town_is_a_candidate_and_ranks_first(srid: int) -> None:
    _, graph = country(srid=srid)
    candidates = candidate_pairs(graph, SERVES)
    points = lift(np.random.default_rng(2).normal(size=(N, 3)))
    lists = Surroundings(points, graph).of(candidates, candidates)
    assert "near places" in lists.lists(0, 3)
    found = lists.pairs(0, STATIONS)
    assert not candidates.are_joined(found).any()
    score = fit_link_score(HEAT(3, walks_per_node=2, walk_length=10, random_state=0, n_threads=1), graph)
    figures = score.figures[str(SERVES)]
    assert figures.recall is not None
    assert figures.recall > 0.9
    assert figures.mrr is not None
    assert figures.mrr > 0.7
