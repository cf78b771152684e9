"""Ranks of held-out links among all targets of their sources, against a slow twin."""

from __future__ import annotations

import numpy as np
import pytest

from heat_neo4j.linkpred.candidates import candidate_pairs
from heat_neo4j.linkpred.rankings import RankedSources, draw_sources
from heat_neo4j.patterns import Pattern
from tests.linkpred.test_pattern_laws import directed

Source = tuple[dict[str, np.ndarray], np.ndarray, list[int], float]


def sources(seed: int, n_targets: int = 40) -> list[Source]:
    """Return scores with ties, allowed targets, held-out links among them and weights of some sources."""
    rng = np.random.default_rng(seed)
    made: list[Source] = []
    for _ in range(12):
        allowed = rng.random(n_targets) < 0.7
        count = int(rng.integers(0, 4))
        held = sorted(rng.choice(np.flatnonzero(allowed), count, replace=False).tolist())
        scores = {name: rng.integers(0, 9, n_targets).astype(float) for name in ("", "popularity")}
        made.append((scores, allowed, held, float(rng.integers(1, 4))))
    return made


def slow_figures(made: list[Source], name: str) -> tuple[float, float, float]:
    """Return MRR, Hits@10 and precision at 10, link by link."""
    reciprocal, hits, precision = [], [], []
    for scores, allowed, held, _ in made:
        row = scores[name].tolist()
        open_ = [place for place in range(len(row)) if allowed[place]]
        for link in held:
            rank = 1.0
            for other in open_:
                if other not in held:
                    rank += 1.0 if row[other] > row[link] else 0.5 if row[other] == row[link] else 0.0
            reciprocal.append(1.0 / rank)
            hits.append(rank <= 10)
        if held:
            best = sorted(open_, key=lambda place: (-row[place], place))[:10]
            precision.append(sum(place in held for place in best) / len(best))
    return float(np.mean(reciprocal)), float(np.mean(hits)), float(np.mean(precision))


@pytest.mark.parametrize("seed", range(4))
def test_figures_equal_those_of_the_slow_twin(seed: int) -> None:
    made, ranked = sources(seed), RankedSources()
    for scores, allowed, held, weight in made:
        ranked.add(scores, allowed, np.array(held, dtype=np.int64), weight)
    found = ranked.rankings()
    assert set(found) == {"", "popularity"}
    for name, figures in found.items():
        expected = slow_figures(made, name)
        assert (figures.mrr, figures.hits_at_10, figures.precision_at_10) == pytest.approx(expected)


def test_the_best_pairs_are_twenty_allowed_ones_of_each_source() -> None:
    made, ranked = sources(7), RankedSources()
    for scores, allowed, held, weight in made:
        ranked.add(scores, allowed, np.array(held, dtype=np.int64), weight)
    found, is_link, weights = ranked.best_pairs()
    expected: list[tuple[float, bool, float]] = []
    for scores, allowed, held, weight in made:
        row = scores[""]
        open_ = [place for place in range(len(row)) if allowed[place]]
        best = sorted(open_, key=lambda place: (-row[place], place))[:20]
        expected += [(row[place], place in held, weight) for place in best]
    assert list(zip(found.tolist(), is_link.tolist(), weights.tolist(), strict=True)) == expected


def test_sources_without_a_held_out_link_have_no_figures() -> None:
    ranked = RankedSources()
    ranked.add({"": np.arange(5.0)}, np.ones(5, dtype=bool), np.empty(0, dtype=np.int64), 2.0)
    assert ranked.rankings() == {}
    scores, is_link, weight = ranked.best_pairs()
    assert scores.tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]
    assert not is_link.any()
    assert weight.tolist() == [2.0] * 5
    assert [len(each) for each in RankedSources().best_pairs()] == [0, 0, 0]


@pytest.mark.parametrize("most", [3, 10**6])
def test_drawn_sources_stand_for_all_of_their_kind(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, graph = directed()
    candidates = candidate_pairs(graph, Pattern("A", "R", "A"))
    links = np.array([(candidates.sources[place], candidates.targets[0]) for place in (1, 5, 5, 9, 20)])
    monkeypatch.setattr("heat_neo4j.linkpred.rankings._SCORED", 0)
    monkeypatch.setattr("heat_neo4j.linkpred.rankings._FEWEST", most)
    drawn = draw_sources(candidates, links, [1])
    assert (np.diff(drawn.sources) > 0).all()
    linked = np.isin(drawn.sources, links[:, 0])
    assert linked.sum() == min(most, 4)
    assert drawn.weight[linked].sum() == pytest.approx(4)
    assert drawn.weight[~linked].sum() == pytest.approx(len(candidates.sources) - 4)
    again = draw_sources(candidates, links, [1])
    assert again.sources.tolist() == drawn.sources.tolist()
