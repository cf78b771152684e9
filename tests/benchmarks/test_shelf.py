"""The figures of the shelf against a slow twin, on graphs drawn by a seed."""

import argparse
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.graph import Graph
from heat_neo4j.patterns import Pattern
from tests.benchmarks.shelf import figures
from tests.benchmarks.shelf.__main__ import OFFICIAL, SEEDED, add_sets
from tests.benchmarks.shelf.bars import missed
from tests.benchmarks.shelf.dataset import DataSet, held_out_at_random, linked, truth_by_pattern, without
from tests.benchmarks.shelf.figures import Figures, Question, TopPairs, evaluate, questions, rank
from tests.benchmarks.shelf.methods import METHODS

N = 40
KNOWS, LIKES = Pattern("Person", "KNOWS", "Person"), Pattern("Person", "LIKES", "Thing")


def drawn(seed, times=1):
    """Return a typed data set whose truth is a share of random relationships."""
    random = np.random.default_rng(seed)
    labels = {"Person": np.arange(N) < 25, "Thing": np.arange(N) >= 20}  # some carry both
    knows = np.unique(random.integers(0, 25, (120 * times, 2)), axis=0)
    likes = np.unique(
        np.column_stack((random.integers(0, 20, 90 * times), random.integers(25, N, 90 * times))), axis=0
    )
    triples = {"KNOWS": knows[knows[:, 0] != knows[:, 1]], "LIKES": likes}
    train, test = held_out_at_random(triples, N, seed, 0.3)
    graph = linked(N, train, labels=labels, keys=range(N))
    return DataSet(graph, truth_by_pattern(graph, test))


def scores_of(seed, distinct):
    """Return whole numbers, so that many scores are equal."""
    return np.random.default_rng(seed).integers(0, distinct, (N, N)).astype(np.float64)


def slow(question, scores):
    """Return ranks, nDCG and recall, and the best pairs, by plain loops."""
    truth = {tuple(pair) for pair in question.truth.tolist()}
    is_candidate = np.zeros((N, N), dtype=bool)
    for u in np.flatnonzero(question.is_source):
        for v in np.flatnonzero(question.is_target):
            is_candidate[u, v] = u != v and (question.known[u, v] == 0 or (u, v) in truth)
    ranks, gains, recalls = [], [], []
    for u in sorted({u for u, _ in truth}):
        partners = sorted(v for w, v in truth if w == u)
        candidates = np.flatnonzero(is_candidate[u])
        for v in partners:
            others = [scores[u, w] for w in candidates if w not in partners]
            ranks.append(
                1 + sum(s > scores[u, v] for s in others) + sum(s == scores[u, v] for s in others) / 2
            )
        best = sorted(candidates, key=lambda w: (-scores[u, w], w))[:10]
        gain = sum(1 / np.log2(place + 2) for place, w in enumerate(best) if w in partners)
        gains.append(gain / sum(1 / np.log2(place + 2) for place in range(min(10, len(partners)))))
        recalls.append(sum(w in partners for w in best) / len(partners))
    pairs = [(scores[pair], pair in truth) for pair in map(tuple, np.argwhere(is_candidate).tolist())]
    return ranks, gains, recalls, pairs


def expected_precision(pairs, wanted):
    """Return the mean precision of the best pairs over all orders of ties."""
    limit = sorted((score for score, _ in pairs), reverse=True)[:wanted][-1]
    above = [hit for score, hit in pairs if score > limit]
    tied = [hit for score, hit in pairs if score == limit]
    taken = min(wanted, len(pairs))
    return (sum(above) + (taken - len(above)) * sum(tied) / len(tied)) / taken


@pytest.mark.parametrize("pattern", [KNOWS, LIKES], ids=str)
@pytest.mark.parametrize("distinct", [3, 1_000])
def test_figures_are_those_of_plain_loops(pattern, distinct):
    data = drawn(1)
    (question,) = questions(data, pattern)
    scores = scores_of(2, distinct)
    found = rank(lambda rows: scores[rows], question, block=7 * N)
    ranks, gains, recalls, pairs = slow(question, scores)
    np.testing.assert_allclose(found.ranks, ranks)
    np.testing.assert_allclose(found.gains, gains)
    np.testing.assert_allclose(found.recalls, recalls)
    assert found.precision == pytest.approx(expected_precision(pairs, 100))
    assert 0.3 < found.auroc < 0.7  # of scores that know nothing


def test_a_knowledge_graph_is_asked_from_both_sides():
    data = drawn(3)
    known = {LIKES: np.array([(0, 30), (1, 31)])}
    data = DataSet(data.graph, {LIKES: data.truth[LIKES]}, known, both_sides=True)
    forward, backward = questions(data, LIKES)
    np.testing.assert_array_equal(forward.known.toarray(), backward.known.toarray().T)
    assert forward.known[0, 30]
    assert forward.known[1, 31]
    scores = scores_of(4, 50)
    found = evaluate(data, lambda _, backwards: lambda rows: (scores.T if backwards else scores)[rows])
    ranks = np.concatenate([slow(forward, scores)[0], slow(backward, scores.T)[0]])
    assert found["all types"].mrr == pytest.approx(np.mean(1 / ranks))
    assert found["all types"].links == 2 * len(data.truth[LIKES])


def test_half_links_that_were_seen_are_told_apart():
    truth, everything = np.array([(0, 1), (0, 2)]), np.ones(4, dtype=bool)
    seen = np.array([False, True, False, False])
    question = Question(truth, everything, everything, sparse.csr_array((4, 4)), seen)
    found = figures.summary([rank(lambda rows: np.tile([0.0, 3.0, 1.0, 2.0], (len(rows), 1)), question)])
    assert (found.mrr_seen, found.mrr_unseen, found.unseen) == (1.0, 0.5, 0.5)


def test_an_undirected_pair_is_ranked_from_both_ends_and_counts_once_among_the_best():
    adjacency = sparse.csr_array((np.ones(3), ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    whole = Graph(adjacency)
    data = DataSet(without(whole, None, np.array([(1, 2)])), {None: np.array([(1, 2)])})
    assert data.graph.n_edges == 2
    scores = np.zeros((4, 4))
    scores[1, 2] = scores[2, 1] = 1.0
    found = evaluate(data, lambda *_: lambda rows: scores[rows])[""]
    assert (found.links, found.mrr) == (2, 1.0)
    assert found.precision == pytest.approx(1 / 4)  # four pairs are not linked


def test_large_graphs_ask_some_of_the_sources_with_held_out_links():
    (question,) = questions(drawn(5), KNOWS)
    asked = []
    found = rank(lambda rows: (asked.append(rows), np.zeros((len(rows), N)))[1], question, every=10, most=5)
    sources = np.concatenate(asked)
    assert len(sources) == 5
    assert set(sources) <= set(question.truth[:, 0])
    assert len(found.ranks) == np.isin(question.truth[:, 0], sources).sum()


def test_a_score_that_is_not_a_number_is_an_error():
    (question,) = questions(drawn(5), KNOWS)
    with pytest.raises(ValueError, match="NaN"):
        rank(lambda rows: np.full((len(rows), N), np.nan), question)


def test_ties_at_the_end_of_the_best_pairs_count_by_chance():
    best = TopPairs(wanted=4)
    best.add(np.array([5.0, 1.0, 1.0]), np.array([True, False, True]))
    best.add(np.array([1.0, 1.0, 0.0]), np.array([False, False, True]))
    assert best.precision() == pytest.approx((1 + 3 / 4) / 4)


def test_links_held_out_at_random_leave_no_mirror_in_training():
    pairs = np.array([(u, v) for u in range(10) for v in range(10) if u != v])
    train, test = held_out_at_random({"KNOWS": pairs}, 10, 0, 0.2)
    assert len(test["KNOWS"]) == 18
    assert len(train["KNOWS"]) == 72
    held = {tuple(pair) for pair in test["KNOWS"].tolist()}
    assert all((v, u) in held for u, v in held)


@pytest.mark.parametrize("name", ["popularity", "stack"])
def test_textbook_methods_score_every_pair_from_both_sides(name):
    data = drawn(6, times=4)
    fitted = METHODS[name](data.graph, 0)
    for pattern in (KNOWS, LIKES):
        rows = np.array([3, 30, 0])
        forward = fitted(pattern, False)(rows)
        assert forward.shape == (3, N)
        assert np.isfinite(forward).all()
    if name == "stack":
        everything = np.arange(N)
        forward, backward = (fitted(LIKES, backwards)(everything) for backwards in (False, True))
        np.testing.assert_allclose(forward, backward.T, atol=1e-9)


def test_bars_are_judged_against_the_methods_that_were_measured():
    figures = Figures(10, 0.3, 0.3, 0.55, 0.3, 0.3, 0.1, 0.4, 0.3, 0.5, 0.985)
    better = replace(figures, mrr=0.27, auroc=0.988)
    assert list(missed("citeseer", {"link score": figures})) == []
    assert list(missed("citeseer", {"stack": figures})) == []
    assert len(list(missed("citeseer", {"link score": figures, "stack": better}))) == 2
    assert len(list(missed("citeseer", {"link score": replace(figures, auroc=0.97)}))) == 1
    assert len(list(missed("debian", {"link score": figures, "popularity": better}))) == 1


def test_a_command_without_sets_takes_its_own_and_refuses_unknown_ones(capsys):
    parser = argparse.ArgumentParser()
    add_sets(parser, [*SEEDED, *OFFICIAL], ["fetch"])
    assert parser.parse_args([]).sets == [*SEEDED, *OFFICIAL]
    assert parser.parse_args(["ppi", "fetch"]).sets == ["ppi", "fetch"]
    with pytest.raises(SystemExit):
        parser.parse_args(["pip"])
    assert "'pip' is none of cora_ml" in capsys.readouterr().err
