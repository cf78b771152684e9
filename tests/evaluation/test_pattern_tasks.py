"""Links by pattern: figures against slow twins, nothing of what is tested in training, tables as printed."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from heat_neo4j.cli import heat
from heat_neo4j.cli.commands import evaluate as command
from heat_neo4j.evaluation import EvaluationError, LeakError, evaluate_patterns
from heat_neo4j.evaluation.guard import check_split
from heat_neo4j.evaluation.methods import pattern_methods
from heat_neo4j.evaluation.pattern_figures import held_out_links, measure_pattern
from heat_neo4j.evaluation.ranking import Limits
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred import pattern_baselines
from heat_neo4j.linkpred.baselines import largest_singular
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.scorers import DistanceScorer, NodeScorer, VectorScorer
from heat_neo4j.linkpred.splits import split_edges
from heat_neo4j.patterns import Pattern

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
    scorer = VectorScorer(np.random.default_rng(3).integers(-1, 2, size=(50, 3)), np.array([3.0, 1.0, 1.0]),
                          np.random.default_rng(4).integers(-1, 2, size=(50, 3)))  # fmt: skip
    score = lambda u, v: float(scorer.pairs(np.array([[u, v]]))[0])  # noqa: E731
    found = held_out_links(GRAPH, SPLIT, pattern, 0)
    assert found is not None
    whole, train = links_of(GRAPH, pattern.type), links_of(SPLIT.train, pattern.type)
    assert set(map(tuple, found.links.tolist())) == whole - train
    assert len(found.others) == len(found.links)
    assert not set(map(tuple, found.others.tolist())) & whole
    is_target = GRAPH.labels[pattern.target]
    reciprocal, hits, ways = [], [], []
    for u, v in sorted(whole - train):
        others = [score(u, w) for w in range(50) if is_target[w] and w != u and (u, w) not in whole]
        own = score(u, v)
        rank = 1 + sum(other > own for other in others) + 0.5 * sum(other == own for other in others)
        reciprocal.append(1 / rank)
        hits.append(rank <= 10)
        if pattern == KNOWS and (v, u) not in whole:
            ways.append((score(u, v) > score(v, u)) + 0.5 * (score(u, v) == score(v, u)))
    metrics = measure_pattern(scorer, found).metrics
    wins = [(a > b) + 0.5 * (a == b) for a in scorer.pairs(found.links) for b in scorer.pairs(found.others)]
    assert metrics["auroc"] == pytest.approx(np.mean(wins))
    assert metrics["mean_reciprocal_rank"] == pytest.approx(np.mean(reciprocal))
    assert metrics["hits_at_10"] == pytest.approx(np.mean(hits))
    assert metrics.get("direction_accuracy") == (pytest.approx(np.mean(ways)) if ways else None)
    assert bool(ways) == (pattern == KNOWS)


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
        "popularity": np.tile(into, (n, 1)),
        "directed_adamic_adar": (a * wedge) @ a + (a * wedge) @ a.T + (a.T * wedge) @ a,
        "directed_paths_of_three": (a / length) @ (a.T / np.sqrt(np.maximum(out, 1))) @ a,
        "items_alike": a @ ((a.T @ a) / length[:, None] / length),
        "pattern_svd": (left[:, :rank] * values[:rank]) @ right[:rank],
    }
    pairs = np.argwhere(np.ones((n, n), dtype=bool))
    for name, twin in twins.items():
        scorer = getattr(pattern_baselines, name)(graph, pattern)
        np.testing.assert_allclose(scorer.pairs(pairs).reshape(n, n), twin, atol=1e-9, err_msg=name)


def test_rows_are_of_each_split_and_trained_on_nothing_else() -> None:
    found = evaluate_patterns(GRAPH, MODEL, share=0.2, seeds=(1,))
    assert [row.pattern for row in found.rows] == [str(KNOWS)] * 7 + [str(RATED)] * 7
    model = HEAT(2, walks_per_node=2, walk_length=8, n_threads=1, random_state=1).fit(SPLIT.train)
    scorers = fit_link_score(model, SPLIT.train).scorers(model.embedding_, SPLIT.train)
    for pattern in (KNOWS, RATED):
        links = held_out_links(GRAPH, SPLIT, pattern, 1)
        assert links is not None
        for name, scorer in (
            ("HEAT", DistanceScorer(model.embedding_)),
            ("HEAT, combined score", scorers(pattern)),
            ("popularity", pattern_baselines.popularity(SPLIT.train, pattern)),
        ):
            metrics = measure_pattern(scorer, links).metrics
            row = found.row(name, pattern=str(pattern))
            assert {key: figure.mean for key, figure in row.figures.items()} == metrics
        x, y = found.curves[str(pattern)]["HEAT"]
        area = found.row("HEAT", pattern=str(pattern)).figures["auroc"].mean
        assert np.trapezoid(y, x) == pytest.approx(area, abs=0.02)  # the curve is thinned
    assert found.row("HEAT", pattern=str(KNOWS)).figures["direction_accuracy"].mean == 0.5
    narrowed = evaluate_patterns(
        GRAPH, MODEL, ["*-RATED->*"], share=0.2, seeds=(1,), methods={}, combined=False
    )
    assert [(row.method, row.pattern) for row in narrowed.rows] == [("HEAT", str(RATED))]


def test_a_leak_is_noticed() -> None:
    leaking = replace(SPLIT, train=replace(SPLIT.train, relationships=GRAPH.relationships))
    with pytest.raises(LeakError, match=f"{len(SPLIT.test_edges)} of {len(SPLIT.test_edges)} test edges"):
        check_split(leaking)

    def peeking(graph, seed):
        return lambda pattern: pattern_baselines.popularity(GRAPH, pattern)

    def handing_on(graph, seed):
        def scorer_of(pattern):
            scorer = pattern_baselines.popularity(graph, pattern)
            scorer.whole = a_graph()
            return scorer

        return scorer_of

    def spoiling(graph, seed):
        graph.relationships.target[:1] += 1
        return lambda pattern: NodeScorer(np.zeros(50), np.add)

    for method, message in (
        (peeking, "'it' holds Graph"),
        (handing_on, "'it' holds Graph"),
        (spoiling, "'it' changed the training graph"),
    ):
        with pytest.raises(LeakError, match=message):
            evaluate_patterns(a_graph(), MODEL, seeds=(0,), methods={"it": method}, combined=False)


def test_of_many_candidates_some_sources_are_asked() -> None:
    limits = Limits(exact_nodes=25, nodes=12)
    found = evaluate_patterns(GRAPH, MODEL, seeds=(1,), methods={}, combined=False, limits=limits)
    figures = found.row("HEAT", pattern=str(RATED)).figures
    assert (figures["mean_reciprocal_rank"].error or 0) > 0
    assert figures["auroc"].error is None
    assert found.notes[-1].startswith("more than 25 sources or targets: 12 of the sources, drawn by the seed")


def test_what_cannot_be_evaluated_is_said() -> None:
    with pytest.raises(EvaluationError, match="no relationship type 'RATES'"):
        evaluate_patterns(GRAPH, MODEL, ["User-RATES->Movie"])
    with pytest.raises(EvaluationError, match="knows no directions"):
        evaluate_patterns(replace(GRAPH, relationships=None), MODEL)


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
    found = evaluate_patterns(graph, MODEL, seeds=(0,), methods={}, combined=False)
    assert [row.pattern for row in found.rows] == [str(KNOWS), str(RATED)]
    note = "User-MADE->Studio: no relationship is held out, or there is no other pair"
    assert note in found.notes
    assert list(found.curves) == [str(KNOWS), str(RATED)]
    with pytest.raises(EvaluationError, match=note):
        evaluate_patterns(graph, MODEL, ["User-MADE->Studio"], seeds=(0,), methods={}, combined=False)


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
    @contextmanager
    def opened(options, progress):
        yield command._Source(GRAPH, None)

    monkeypatch.setattr(command, "_opened", opened)
    quick = ("--n-components", "2", "--walks-per-node", "2", "--walk-length", "8", "--n-threads", "1")
    picture = tmp_path / "links.png"
    shown = CliRunner().invoke(heat, ["evaluate", "links", *quick, "--picture", str(picture)])
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[1].endswith("edges held out (0.15 asked for), against as many other pairs of the pattern")
    for pattern, more in ((RATED, []), (KNOWS, ["direction"])):
        begin = next(row for row, line in enumerate(lines) if line.startswith(f"{pattern}  "))
        assert lines[begin].split()[1:] == ["AUROC", "AP", "Hits@10", "MRR", *more, "seconds"]
        names = [line.split("  ")[0] for line in lines[begin + 1 : begin + 8]]
        assert names == ["HEAT", "HEAT, combined score", *pattern_methods(2)]
    assert f"on MRR of {RATED}: " in shown.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    arguments = ["evaluate", "links", *quick, "--no-baselines", "--predict", "User-RATED->Movie", "--json"]
    document = CliRunner().invoke(heat, arguments).stdout
    assert '"pattern": "User-RATED->Movie"' in document
    assert "KNOWS" not in document
