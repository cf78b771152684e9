"""Ranks of held-out links among the candidates of their sources, against a slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heat_neo4j.linkpred.candidates import candidate_pairs
from heat_neo4j.linkpred.rankings import MostSources, draw_sources, rankings
from heat_neo4j.patterns import Pattern
from tests.linkpred.test_pattern_laws import directed

Source = tuple[dict[str, np.ndarray], np.ndarray, int]


def sources(seed: int) -> list[Source]:
    """Return scores with ties, which candidates are held-out links, and how many of those are none."""
    rng = np.random.default_rng(seed)
    made: list[Source] = []
    for _ in range(12):
        n = int(rng.integers(1, 40))
        is_link = rng.random(n) < 0.1
        scores = {name: rng.integers(0, 9, n).astype(float) for name in ("", "popularity")}
        made.append((scores, is_link, int(rng.integers(0, 3))))
    return made


def slow_figures(made: list[Source], name: str) -> tuple[float, float, float]:
    """Return MRR, Hits@10 and precision at 10, link by link."""
    reciprocal, hits, precision = [], [], []
    for scores, is_link, missed in made:
        row, held = scores[name].tolist(), is_link.tolist()
        for link in np.flatnonzero(is_link).tolist():
            others = [row[place] for place in range(len(row)) if not held[place]]
            above, tied = sum(each > row[link] for each in others), sum(each == row[link] for each in others)
            reciprocal.append(1.0 / (1.0 + above + tied / 2))
            hits.append(1.0 + above + tied / 2 <= 10)
        reciprocal += [0.0] * missed
        hits += [False] * missed
        best = sorted(range(len(row)), key=lambda place: (-row[place], place))[:10]
        if sum(held) + missed:
            precision.append(sum(held[place] for place in best) / len(best))
    return float(np.mean(reciprocal)), float(np.mean(hits)), float(np.mean(precision))


@pytest.mark.parametrize("seed", range(6))
def test_figures_equal_those_of_the_slow_twin(seed: int) -> None:
    made = sources(seed)
    source = np.repeat(np.arange(len(made)) * 3, [len(is_link) for _, is_link, _ in made])
    is_link = np.concatenate([each for _, each, _ in made])
    scores = {name: np.concatenate([each[name] for each, _, _ in made]) for name in ("", "popularity")}
    held = [int(each.sum()) + missed for _, each, missed in made]
    found = rankings(source, is_link, scores, sum(held), np.count_nonzero(held))
    for name, figures in found.items():
        expected = slow_figures(made, name)
        assert (figures.mrr, figures.hits_at_10, figures.precision_at_10) == pytest.approx(expected)


def test_links_that_are_no_candidates_are_not_found() -> None:
    found = rankings(np.zeros(5, dtype=np.int64), np.zeros(5, bool), {"": np.arange(5.0)}, 3, 2)
    assert (found[""].mrr, found[""].hits_at_10, found[""].precision_at_10) == (0.0, 0.0, 0.0)
    nothing = rankings(np.zeros(0, dtype=np.int64), np.zeros(0, bool), {"": np.zeros(0)}, 0, 0)
    assert nothing[""].mrr == 0.0


@pytest.mark.parametrize("most", [2, 10**6])
def test_drawn_sources_stand_for_all_of_their_kind(most: int) -> None:
    _, graph = directed()
    candidates = candidate_pairs(graph, Pattern("A", "R", "A"))
    links = np.array([(candidates.sources[place], candidates.targets[0]) for place in (1, 5, 5, 9, 20)])
    bounds = MostSources(linked=most, others=most, fewest=1)
    drawn = draw_sources(candidates, links, most, [1], bounds)
    assert (np.diff(drawn.sources) > 0).all()
    linked = np.isin(drawn.sources, links[:, 0])
    assert 1 <= linked.sum() == min(most, len(drawn.linked))
    assert len(drawn.linked) == min(most, 4)
    assert drawn.share_of_linked == linked.sum() / 4
    assert np.isin(drawn.sources[linked], drawn.linked).all()
    assert drawn.weight[linked].sum() == pytest.approx(4)
    assert drawn.weight[~linked].sum() == pytest.approx(len(candidates.sources) - 4)
    again = draw_sources(candidates, links, most, [1], bounds)
    assert again.sources.tolist() == drawn.sources.tolist()


def test_fewer_sources_with_a_held_out_link_are_drawn_than_have_one() -> None:
    _, graph = directed()
    candidates = candidate_pairs(graph, Pattern("A", "R", "A"))
    links = np.array([(candidates.sources[place], candidates.targets[0]) for place in (1, 5, 9, 20)])
    drawn = draw_sources(candidates, links, 10**6, [1], MostSources(linked=2))
    assert (len(drawn.linked), drawn.share_of_linked) == (4, 0.5)
    assert np.isin(drawn.sources, drawn.linked).sum() == 2


def test_many_patterns_share_the_sources_without_a_held_out_link() -> None:
    limits = [MostSources.of_each(n_patterns) for n_patterns in (0, 1, 100, 1_000, 100_000)]
    assert [each.others for each in limits] == [200, 200, 200, 20, 8]
    assert [each.measured for each in limits] == [4_000, 4_000, 200, 20, 8]
    assert {(each.linked, each.per_root, each.fewest) for each in limits} == {(400, 8.0, 8)}


def test_more_sources_are_measured_than_fitted_if_there_are_many() -> None:
    _, graph = directed()
    candidates = candidate_pairs(graph, Pattern("A", "R", "A"))
    links, n_others = candidates.sources[:2, None] + np.array([0, 1]), len(candidates.sources) - 2
    few = draw_sources(candidates, links, 10, [1], MostSources(others=3, per_root=0.0))
    drawn = draw_sources(candidates, links, 10, [1], MostSources(others=3, per_root=1.0))
    fitted = np.isfinite(drawn.weight_fitted)
    np.testing.assert_array_equal(drawn.sources[fitted], few.sources)
    np.testing.assert_array_equal(drawn.weight_fitted[fitted], few.weight)
    linked = np.isin(drawn.sources, links[:, 0])
    assert np.count_nonzero(~linked) == math.isqrt(n_others) > 5
    assert drawn.weight[~linked].sum() == pytest.approx(n_others)
    capped = draw_sources(candidates, links, 10, [1], MostSources(others=3, per_root=1.0, measured=5))
    assert len(capped.sources) == 2 + 5
