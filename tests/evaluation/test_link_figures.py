"""Ranking of held-out links: figures against slow twins, nothing tested in training, tables as printed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from heat_neo4j.cli import heat
from heat_neo4j.cli.commands import evaluate as command
from heat_neo4j.evaluation import EvaluationError, evaluate_links
from heat_neo4j.evaluation.link_figures import Limits, held_out_links, measure_links
from heat_neo4j.evaluation.link_tasks import link_methods, tuned
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred import baselines
from heat_neo4j.linkpred.baselines import largest_singular
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.scorers import DistanceScorer, NodeScorer, VectorScorer
from heat_neo4j.linkpred.splits import split_edges
from heat_neo4j.patterns import Pattern
from tests.support import naive_evaluation

MODEL = HEAT(2, walks_per_node=2, walk_length=8, n_threads=1)
RATED, KNOWS = Pattern("User", "RATED", "Movie"), Pattern("User", "KNOWS", "User")
USERS, MOVIES = 30, 20


def a_graph(seed: int = 0) -> Graph:
    """Return 30 users who rate 20 movies and know each other; of what is known, a little is mutual."""
    rng, n = np.random.default_rng(seed), USERS + MOVIES
    taste = np.arange(n) % 3
    likes = rng.random((USERS, MOVIES)) < np.where(taste[:USERS, None] == taste[USERS:], 0.5, 0.1)
    knows = rng.random((USERS, USERS)) < np.where(taste[:USERS, None] == taste[:USERS], 0.25, 0.03)
    np.fill_diagonal(knows, val=False)
    user, movie = np.nonzero(likes)
    pairs = {"RATED": (user, movie + USERS), "KNOWS": np.nonzero(knows)}
    u, v = (np.concatenate(ends) for ends in zip(*pairs.values(), strict=True))
    is_user = np.arange(n) < USERS
    return Graph(
        sparse.csr_array((np.ones(len(u)), (u, v)), shape=(n, n)),
        attributes=rng.normal(size=(n, 2)) + taste[:, None],
        labels={"User": is_user, "Movie": ~is_user},
        relationships=Relationships.from_pairs(pairs),
    )


GRAPH = a_graph()
SPLIT = split_edges(GRAPH, 0.2, 1)


def links_of(graph: Graph, kind: str) -> set[tuple[int, int]]:
    assert graph.relationships is not None
    return {(int(u), int(v)) for u, v in zip(*graph.relationships.of(kind), strict=True)}


@pytest.mark.parametrize("pattern", [RATED, KNOWS], ids=str)
def test_figures_equal_those_of_a_slow_twin(pattern: Pattern) -> None:
    scorer = VectorScorer(
        np.random.default_rng(3).integers(-1, 2, size=(50, 3)) * np.array([3.0, 1.0, 1.0]),
        np.random.default_rng(4).integers(-1, 2, size=(50, 3)),
    )
    score = lambda u, v: float(scorer.pairs(np.array([[u, v]]))[0])  # noqa: E731
    found = held_out_links(GRAPH, SPLIT, pattern, 0)
    assert found is not None
    whole, train = links_of(GRAPH, pattern.type), links_of(SPLIT.train, pattern.type)
    assert set(map(tuple, found.pairs.tolist())) == whole - train
    assert len(found.others) == len(found.pairs)
    assert not set(map(tuple, found.others.tolist())) & whole
    for seed in range(20):
        others = held_out_links(GRAPH, SPLIT, pattern, seed).others
        assert not any(SPLIT.train.adjacency[u, v] for u, v in others.tolist())
    is_target = GRAPH.labels[pattern.target]
    reciprocal, at_10, ways = [], [], []
    for u, v in sorted(whole - train):
        others = [score(u, w) for w in range(50) if is_target[w] and w != u and (u, w) not in whole]
        own = score(u, v)
        rank = 1 + sum(other > own for other in others) + 0.5 * sum(other == own for other in others)
        reciprocal.append(1 / rank)
        at_10.append(rank <= 10)
        if pattern == KNOWS and (v, u) not in whole:
            ways.append((score(u, v) > score(v, u)) + 0.5 * (score(u, v) == score(v, u)))
    is_source = GRAPH.labels[pattern.source]
    open_pairs = [
        (u, v)
        for u, v in np.ndindex(50, 50)
        if is_source[u] and is_target[v] and u != v and (u, v) not in train
    ]
    best = sorted(open_pairs, key=lambda pair: (-score(*pair), pair))
    n_written = sum(is_source[u] and is_target[v] for u, v in train)
    metrics = measure_links(scorer, found).metrics
    for name, k in (("10", 10), ("100", 100), ("written", n_written)):
        hits = sum(pair in whole for pair in best[:k])
        assert metrics[f"precision_at_{name}"] == hits / k
    assert metrics["recall_at_written"] == hits / len(whole - train)
    wins = [(a > b) + 0.5 * (a == b) for a in scorer.pairs(found.pairs) for b in scorer.pairs(found.others)]
    assert metrics["auroc"] == pytest.approx(np.mean(wins))
    assert metrics["mean_reciprocal_rank"] == pytest.approx(np.mean(reciprocal))
    assert metrics["hits_at_10"] == pytest.approx(np.mean(at_10))
    assert metrics.get("direction_accuracy") == (pytest.approx(np.mean(ways)) if ways else None)
    assert bool(ways) == (pattern == KNOWS)


@pytest.mark.parametrize("block", [1, 100_000], ids=["a row a block", "one block"])
def test_figures_of_undirected_links_equal_those_of_a_slow_twin(block: int) -> None:
    graph = replace(GRAPH, relationships=None)
    for name in ("popularity", "adamic_adar", "paths_of_three"):
        scorer = getattr(baselines, name)(SPLIT.train)
        found = measure_links(scorer, held_out_links(graph, SPLIT, None, 0), block)
        assert found.metrics == pytest.approx(naive_evaluation.link_figures(scorer, SPLIT), abs=1e-12)
        assert found.errors == {}


def test_scores_that_do_not_fit_are_refused() -> None:
    held_out = held_out_links(GRAPH, SPLIT, RATED, 0)
    with pytest.raises(ValueError, match="the scorer has 44 nodes, the graph 50"):
        measure_links(NodeScorer(np.ones(44), np.multiply), held_out)
    with pytest.raises(ValueError, match="NaN or infinite"):
        measure_links(NodeScorer(np.full(50, np.inf), np.multiply), held_out)


def test_parameters_of_baselines_are_chosen_by_links_held_out_of_training() -> None:
    """The graph shows a taste; of two variants, one scores by it and the other against it."""
    seen = []

    def taste(graph, pattern, sign):
        seen.append(graph.n_edges)
        return VectorScorer(sign * np.eye(3)[np.arange(50) % 3], np.eye(3)[np.arange(50) % 3])

    variants = {"against": partial(taste, sign=-1.0), "with": partial(taste, sign=1.0)}
    scorers = tuned(variants)(SPLIT.train, 0)
    scorers(RATED)
    assert scorers.chosen == {RATED: "with"}
    held_out = round(0.1 * SPLIT.train.n_edges)
    assert seen == [SPLIT.train.n_edges - held_out] * 2 + [SPLIT.train.n_edges]


def test_a_frame_has_a_row_for_each_method_pattern_and_seed() -> None:
    def absent(graph, seed):
        raise baselines.BaselineUnavailableError("not here")

    found = evaluate_links(GRAPH, MODEL, seeds=(1, 2), methods={"absent": absent}, score="distance")
    frame = found.to_frame("pandas")
    assert frame[["pattern", "method", "seed"]].values.tolist() == [
        [str(pattern), method, seed]
        for pattern in (KNOWS, RATED)
        for method in ("HEAT", "absent")
        for seed in (1, 2)
    ]
    row = found.row("HEAT", pattern=str(RATED)).figures["mean_reciprocal_rank"].values
    own = frame[(frame.pattern == str(RATED)) & (frame.method == "HEAT")]
    assert tuple(own.mean_reciprocal_rank) == row
    assert set(frame[frame.method == "absent"].missing) == {"not here"}
    assert frame[frame.method == "absent"].mean_reciprocal_rank.isna().all()


@pytest.mark.parametrize("pattern", [RATED, KNOWS], ids=str)
def test_baselines_equal_what_they_are_said_to_be(pattern: Pattern) -> None:
    n, graph = 50, SPLIT.train
    links = links_of(graph, pattern.type)
    a = np.zeros((n, n))
    a[tuple(np.transpose(sorted(links)))] = 1
    into, out = a.sum(axis=0), a.sum(axis=1)
    wedge = 1 / np.log(np.maximum(into + out, 2))
    length = np.sqrt(np.maximum(into, 1))
    left, values, right = np.linalg.svd(a)
    rank = min(USERS, MOVIES if pattern == RATED else USERS) - 1
    twins = {
        "popularity": np.outer(1 + out, 1 + into),
        "adamic_adar": (a * wedge) @ a + (a * wedge) @ a.T + (a.T * wedge) @ a,
        "paths_of_three": (a / length) @ (a.T / np.sqrt(np.maximum(out, 1))) @ a,
        "truncated_svd": (left[:, :rank] * values[:rank]) @ right[:rank],
    }
    pairs = np.argwhere(np.ones((n, n), dtype=bool))
    for name, twin in twins.items():
        scorer = getattr(baselines, name)(graph, pattern)
        np.testing.assert_allclose(scorer.pairs(pairs).reshape(n, n), twin, atol=1e-9, err_msg=name)


def test_rows_are_of_each_split_and_trained_on_nothing_else() -> None:
    methods = {name: link_methods(2)[name] for name in ("popularity", "SVD")}
    found = evaluate_links(GRAPH, MODEL, share=0.2, split="connected", seeds=(1,), methods=methods)
    assert [row.pattern for row in found.rows] == [str(KNOWS)] * 4 + [str(RATED)] * 4
    assert found.row("SVD", pattern=str(RATED)).chosen[0].startswith("rank ")
    model = HEAT(2, walks_per_node=2, walk_length=8, n_threads=1, random_state=1).fit(SPLIT.train)
    scorers = fit_link_score(model, SPLIT.train).scorers(model.embedding_, SPLIT.train)
    for pattern in (KNOWS, RATED):
        links = held_out_links(GRAPH, SPLIT, pattern, 1)
        assert links is not None
        for name, scorer in (
            ("HEAT", DistanceScorer(model.embedding_)),
            ("HEAT, link score", scorers(pattern)),
            ("popularity", baselines.popularity(SPLIT.train, pattern)),
        ):
            metrics = measure_links(scorer, links).metrics
            row = found.row(name, pattern=str(pattern))
            assert {key: figure.mean for key, figure in row.figures.items()} == metrics
        x, y = found.curves[str(pattern)]["HEAT"]
        area = found.row("HEAT", pattern=str(pattern)).figures["auroc"].mean
        assert np.trapezoid(y, x) == pytest.approx(area, abs=0.02)  # the curve is thinned
    assert found.row("HEAT", pattern=str(KNOWS)).figures["direction_accuracy"].mean == 0.5
    narrowed = evaluate_links(GRAPH, MODEL, ["*-RATED->*"], seeds=(1,), methods={}, score="distance")
    assert [(row.method, row.pattern) for row in narrowed.rows] == [("HEAT", str(RATED))]


def test_of_many_candidates_some_sources_are_asked() -> None:
    limits = Limits(exact_nodes=25, nodes=12)
    found = evaluate_links(GRAPH, MODEL, seeds=(1,), methods={}, score="distance", limits=limits)
    figures = found.row("HEAT", pattern=str(RATED)).figures
    assert (figures["mean_reciprocal_rank"].error or 0) > 0
    assert figures["auroc"].error is None
    assert found.notes[-1].startswith("12 sampled sources rank targets")
    assert "precision_at_10" not in figures


def test_what_cannot_be_evaluated_is_said() -> None:
    with pytest.raises(EvaluationError, match="no relationship type 'RATES'"):
        evaluate_links(GRAPH, MODEL, ["User-RATES->Movie"])
    with pytest.raises(EvaluationError, match="has no directed, typed relationships"):
        evaluate_links(replace(GRAPH, relationships=None), MODEL, ["User-RATED->Movie"])


def test_a_pattern_without_other_pairs_costs_a_note_and_not_the_table() -> None:
    both = np.nonzero(np.ones((USERS, 2)))
    assert GRAPH.relationships is not None
    pairs = {kind: GRAPH.relationships.of(kind) for kind in GRAPH.relationships.types}
    pairs |= {"MADE": (both[0], both[1] + 20 + USERS)}
    u, v = (np.concatenate(ends) for ends in zip(*pairs.values(), strict=True))
    n = USERS + MOVIES + 2
    labels = {label: np.append(mask, [False] * 2) for label, mask in GRAPH.labels.items()}
    graph = Graph(
        sparse.csr_array((np.ones(len(u)), (u, v)), shape=(n, n)),
        labels={**labels, "Studio": np.arange(n) >= USERS + MOVIES},
        relationships=Relationships.from_pairs(pairs),
    )
    found = evaluate_links(graph, MODEL, seeds=(0,), methods={}, score="distance")
    assert [row.pattern for row in found.rows] == [str(KNOWS), str(RATED)]
    note = "User-MADE->Studio: no link is held out, or there are no unlinked pairs"
    assert note in found.notes
    assert list(found.curves) == [str(KNOWS), str(RATED)]
    with pytest.raises(EvaluationError, match=note):
        evaluate_links(graph, MODEL, ["User-MADE->Studio"], seeds=(0,), methods={}, score="distance")


def test_a_decomposition_is_close_to_the_best_and_never_fails() -> None:
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((150, 90), density=0.1, rng=rng, format="csr")
    left, values, right = largest_singular(matrix, 8)
    np.testing.assert_allclose(values, np.linalg.svd(matrix.toarray())[1][:8], rtol=5e-3)
    np.testing.assert_allclose(left.T @ matrix @ right.T, np.diag(values), atol=1e-2)
    # Lanczos iterations fail where all values are equal, as where each film has one director.
    each_to_one = sparse.csr_array((np.ones(300), (np.arange(300), np.arange(300) % 60)), shape=(300, 60))
    np.testing.assert_allclose(largest_singular(each_to_one, 32)[1], np.sqrt(5.0))


def test_the_tables_are_printed_pattern_by_pattern(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(command, "_read", lambda _, patterns, __: (GRAPH, MODEL, patterns))
    quick = ("--n-components", "2", "--walks-per-node", "2", "--walk-length", "8", "--n-threads", "1")
    picture = tmp_path / "links.png"
    shown = CliRunner().invoke(heat, ["evaluate", "links", *quick, "--picture", str(picture)])
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[1].endswith("edges held out (0.15 asked for), ranked among all other targets")
    assert lines[2].strip() == "random edges are held out: nodes may lose all"
    best = ["MRR", "Hits@10", "P@10", "P@100", "P@written", "recall"]
    for pattern, more in ((RATED, []), (KNOWS, ["direction"])):
        begin = next(row for row, line in enumerate(lines) if line.startswith(f"{pattern}  "))
        assert lines[begin].split()[1:] == [*best, *more, "ECE", "AUROC", "AP", "seconds"]
        names = [line.split("  ")[0] for line in lines[begin + 1 : begin + 12]]
        assert names == ["HEAT", "HEAT, link score", *link_methods(2)]
    assert f"on MRR of {RATED}: " in shown.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    arguments = ["evaluate", "links", *quick, "--no-baselines", "--predict", "User-RATED->Movie", "--json"]
    document = CliRunner().invoke(heat, arguments).stdout
    assert '"pattern": "User-RATED->Movie"' in document
    assert "KNOWS" not in document
