"""Differences of numbers in link scores, and candidates with the expected numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.attributes.kinds import Date, Kind
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph, Provenance, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.calibration import hold_out
from heat_neo4j.linkpred.candidates import candidate_pairs
from heat_neo4j.linkpred.differences import (
    DifferenceScorer,
    difference_scorers,
    differences_of,
    expected_places,
)
from heat_neo4j.linkpred.explanation import meaning_of
from heat_neo4j.linkpred.features import FEATURES, PairFeatures, features_of
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.linkpred.pruning import PrunedScorer
from heat_neo4j.linkpred.shortlists import Surroundings
from heat_neo4j.patterns import Pattern
from tests.support.explained import explain_pair

CITES, N = Pattern("Paper", "CITES", "Paper"), 400
MODEL = HEAT(3, walks_per_node=2, walk_length=10, random_state=0, n_threads=1)


def described(
    links: tuple[np.ndarray, np.ndarray],
    kind: str,
    labels: Mapping[str, np.ndarray],
    numbers: Mapping[tuple[str, str], Sequence[float | None]],
) -> Graph:
    """Return a graph of one type whose nodes have numbers, by (property, label)."""
    n = len(next(iter(labels.values())))
    table = AttributeTable([Attribute(*each) for each in numbers], n, max_categories=9, labels=labels)
    table.add(np.arange(n), {key: list(values) for (key, _), values in numbers.items()})
    encoded = table.finish(np.arange(n))
    return Graph(
        sparse.csr_array((np.ones(len(links[0])), links), shape=(n, n)),
        encoded.matrix,
        labels=labels,
        relationships=Relationships.from_pairs({kind: links}),
        attribute_names=encoded.names,
        provenance=Provenance(attribute_recipe=encoded.recipe),
    )


def papers(*, years: int = 40, lags: tuple[int, int] = (1, 4), unknown: int = 0) -> tuple[np.ndarray, Graph]:
    """Return years, and papers that cite earlier ones; the last `unknown` papers have no year."""
    rng = np.random.default_rng(0)
    year = 1980.0 + rng.permutation(np.arange(N) % years)
    lag = year[:, None] - year
    can = (lag >= lags[0]) & (lag < lags[1])
    chosen = [rng.choice(np.flatnonzero(row), 3, replace=False) for row in can if row.sum() >= 3]
    links = np.repeat(np.flatnonzero(can.sum(axis=1) >= 3), 3), np.concatenate(chosen)
    known: list[float | None] = [*year.tolist()[: N - unknown], *[None] * unknown]
    numbers = {("year", "Paper"): known, ("pages", "Paper"): rng.integers(4, 30, N).tolist()}
    return year, described(links, "CITES", {"Paper": np.ones(N, dtype=np.bool_)}, numbers)


def test_a_difference_counts_if_it_tells_links_from_pairs_of_the_same_ends() -> None:
    _, graph = papers()
    assert differences_of(graph) == ("Paper.year - Paper.year",)
    assert features_of(graph) == (*FEATURES, "Paper.year - Paper.year")
    # Everybody cites the latest papers, whatever their own year: that is popularity.
    rng = np.random.default_rng(1)
    year = np.arange(N) // 10
    popular = rng.integers(0, N, 1200), rng.integers(350, N, 1200)
    labels = {"Paper": np.ones(N, dtype=np.bool_)}
    assert differences_of(described(popular, "CITES", labels, {("year", "Paper"): year.tolist()})) == ()


def test_a_sample_of_many_links_decides() -> None:
    rng, n = np.random.default_rng(2), 4_000
    year, pages = rng.integers(1900, 2000, n), rng.integers(4, 30, n)
    source, target = rng.integers(0, n, (2, 80_000))
    is_link = (year[source] > year[target]) & (year[source] < year[target] + 20)
    links = np.unique(np.column_stack((source, target))[is_link], axis=0)
    assert len(links) > 10_000
    numbers = {("year", "Paper"): year.tolist(), ("pages", "Paper"): pages.tolist()}
    graph = described(tuple(links.T), "CITES", {"Paper": np.ones(n, dtype=np.bool_)}, numbers)
    assert differences_of(graph) == differences_of(graph) == ("Paper.year - Paper.year",)


def test_numbers_of_two_labels_are_compared_if_neither_label_has_both() -> None:
    rng = np.random.default_rng(0)
    is_film = np.arange(N) >= 200
    born, released = rng.integers(1900, 1990, N), rng.integers(1930, 2020, N)
    age = released[None, 200:] - born[:200, None]
    actor, film = ((age > 20) & (age < 45) & (rng.random(age.shape) < 0.05)).nonzero()
    numbers = {
        ("born", "Person"): np.where(is_film, None, born).tolist(),
        ("released", "Film"): np.where(is_film, released, None).tolist(),
    }
    graph = described((actor, film + 200), "ACTED_IN", {"Person": ~is_film, "Film": is_film}, numbers)
    assert differences_of(graph) == ("Film.released - Person.born",)
    days = [None if each is None else Date(365.0 * each) for each in numbers["born", "Person"]]
    numbers["born", "Person"] = days
    graph = described((actor, film + 200), "ACTED_IN", graph.labels, numbers)
    assert {entry["kind"] for entry in graph.provenance.attribute_recipe} == {Kind.DATE, Kind.NUMBER}
    names = {"Film.released - Film.released", "Person.born - Person.born"}
    assert set(difference_scorers(graph)) == names
    assert differences_of(graph) == ()


def test_a_difference_is_a_signed_logarithm_and_unknown_if_a_number_is() -> None:
    rng = np.random.default_rng(0)
    source, target = rng.normal(5, 3, 30), rng.normal(50, 4, 30)
    source[3], target[5] = np.nan, np.nan
    scorer = DifferenceScorer(source, target)
    usual = (np.nanvar(source) + np.nanvar(target)) ** 0.5
    pairs = np.argwhere(np.ones((30, 30), dtype=bool))
    away = (target[pairs[:, 1]] - source[pairs[:, 0]]) / usual
    expected = np.where(away < 0, -1, 1) * np.log1p(1e4 * np.abs(away))
    np.testing.assert_allclose(scorer.pairs(pairs), expected, rtol=1e-9)
    assert np.isnan(scorer.pairs(np.array([[3, 0], [0, 5]]))).all()
    np.testing.assert_array_equal(scorer.reversed().pairs(pairs[:, ::-1]), scorer.pairs(pairs))
    some = scorer.between(np.array([4, 2]), np.array([7, 9, 1]))
    np.testing.assert_array_equal(some.rows(0, 2), scorer.rows(0, 30)[[4, 2]][:, [7, 9, 1]])
    assert scorer.ceiling() is None
    assert np.isfinite(DifferenceScorer(1e149 * np.arange(5.0), np.full(5, 1e149)).rows(0, 5)).all()
    assert not DifferenceScorer(np.full(3, 7.0), np.full(3, 7.0)).rows(0, 3).any()


def test_papers_of_the_years_that_are_cited_rank_first() -> None:
    unknown = 40
    year, graph = papers(unknown=unknown)
    held_out = hold_out(MODEL, graph)
    blind, score = (link_score(held_out, graph, names) for names in (FEATURES, None))
    assert score.figures[str(CITES)].mrr > 1.15 * blind.figures[str(CITES)].mrr
    points = MODEL.fit(graph).embedding_
    links = predict_links(points, graph, 10, score=score, min_probability=0.0)
    lag = year[links.source] - year[links.target]
    assert np.mean((lag[:1000] > 0) & (lag[:1000] < 4)) > 0.85  # 0.72 without differences
    scorer = score.scorers(points, graph)(CITES)
    pairs = np.asfortranarray(np.argwhere(~np.eye(N, dtype=bool)))
    scores = scorer.pairs(pairs)
    assert np.isfinite(scores).all()
    # A pair without a year is dropped only if the rest of its score says so.
    least = float(np.quantile(scores, 0.9))
    kept, found = PrunedScorer(scorer, least, pairs[::50]).pairs(pairs)
    assert set(map(tuple, kept.tolist())) >= set(map(tuple, pairs[scores >= least].tolist()))
    np.testing.assert_array_equal(found, replace(scorer, direction=None).pairs(kept))
    named = {part.feature for part in scorer.contributions((0, 1))}
    assert "Paper.year - Paper.year" in named
    link = explain_pair(points, graph, CITES, (0, N - 1), partial(score.scorers, points))
    assert "Paper.year - Paper.year" not in {part.feature for part in link.contributions}
    assert "NaN" not in json.dumps(link.to_dict())
    assert sum(part.log_odds for part in link.contributions) == pytest.approx(link.log_odds, abs=1e-9)


def test_a_difference_is_explained_in_words() -> None:
    assert meaning_of("Paper.year - Paper.year") == "Paper.year of the target minus that of the source"
    assert meaning_of("released - born") == "released of the target minus born of the source"


def test_targets_with_the_expected_numbers_are_candidates_if_few_have_them() -> None:
    year, graph = papers(years=N, lags=(7, 10))
    names, targets = differences_of(graph), np.arange(N)
    scorers = difference_scorers(graph, names)
    found = expected_places(graph, CITES, scorers, targets, 64)
    assert found is not None
    places, expected = found
    unit = places.points[1, 0] / year[1]
    np.testing.assert_allclose(places.points[:, 0], year * unit)
    np.testing.assert_allclose(expected.points[:, 0], (year - 8.0) * unit)
    assert expected_places(graph, CITES, {}, targets, 64) is None
    assert expected_places(graph, CITES, scorers, targets, 0) is None
    points = lift(np.random.default_rng(2).normal(size=(N, 3)))
    candidates = candidate_pairs(graph, CITES)
    lists = Surroundings(points, graph, names=names).of(candidates, candidates)
    near = lists.lists(0, N)["expected numbers"]
    for source in range(N):
        own = set(near[source].tolist())
        wanted = np.flatnonzero(np.isin(year[source] - year, (7, 8, 9)))
        linked = candidates.allowed(np.array([source]), wanted)[0]
        assert set(wanted[linked].tolist()) <= own
    assert "expected numbers" not in Surroundings(points, graph).of(candidates, candidates).lists(0, 3)


def test_links_that_two_numbers_determine_are_found() -> None:
    """Nodes of a grid decay to the node on the next diagonal, if they do."""
    across, down = np.divmod(np.arange(N), 20)
    rng = np.random.default_rng(0)
    source = np.flatnonzero((across < 19) & (down > 0) & (rng.random(N) < 0.6))
    numbers = {("protons", "Isotope"): across.tolist(), ("neutrons", "Isotope"): down.tolist()}
    labels = {"Isotope": np.ones(N, dtype=np.bool_)}
    graph = described((source, source + 19), "DECAYS_TO", labels, numbers)
    figures = link_score(hold_out(MODEL, graph), graph).figures["Isotope-DECAYS_TO->Isotope"]
    assert figures.recall == 1.0
    assert figures.mrr is not None
    assert figures.mrr > 0.9


def test_only_patterns_of_nodes_with_the_numbers_have_the_feature() -> None:
    _, graph = papers()
    points = lift(np.random.default_rng(2).normal(size=(N, 3)))
    names = differences_of(graph)
    assert set(names) <= set(PairFeatures(points, graph, names=names).of(CITES).link)
    assert not set(names) & set(PairFeatures(points, graph).of(CITES).link)
    assert set(difference_scorers(graph, [*names, "Paper.price - Paper.price"])) == set(names)
    assert expected_places(graph, None, difference_scorers(graph), np.arange(N), 64) is None
