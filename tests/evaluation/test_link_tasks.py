"""The runs of links: what each method gets, and what the table holds."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from heat_neo4j.evaluation import EvaluationError, evaluate_links
from heat_neo4j.evaluation.link_figures import Limits
from heat_neo4j.evaluation.report import LINK_METRICS, METRIC_NAMES, Figure, Row, comparison_notes
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.heat import HEAT
from heat_neo4j.inputs.conversion import as_graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError, popularity
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import split_edges
from tests.support.link_auroc import link_auroc

MODEL = HEAT(2, walks_per_node=2, walk_length=8, n_threads=1)


def a_graph(attributes: bool = True) -> Graph:
    rng = np.random.default_rng(0)
    u, v = np.triu_indices(40, k=1)
    chosen = rng.choice(len(u), size=120, replace=False)
    return Graph(
        sparse.csr_array((np.ones(120), (u[chosen], v[chosen])), shape=(40, 40)),
        attributes=rng.normal(size=(40, 3)) if attributes else None,
    )


def lattice() -> Graph:
    """Return a ring in which each of 90 nodes is linked to the ten nearest."""
    steps = np.abs(np.subtract.outer(np.arange(90), np.arange(90)))
    near = np.minimum(steps, 90 - steps)
    attributes = np.random.default_rng(1).normal(size=(90, 2))
    return Graph(sparse.csr_array(((near > 0) & (near < 6)).astype(float)), attributes=attributes)


def test_a_score_that_cannot_be_fitted_costs_a_row_and_not_the_table() -> None:
    path = Graph(sparse.csr_array((np.ones(24), (np.arange(24), np.roll(np.arange(24), 1))), shape=(24, 24)))
    found = evaluate_links(path, MODEL, split="connected", seeds=(0,), methods={})
    assert found.row("HEAT").figures.keys() >= {"auroc", "mean_rank"}
    assert found.row("HEAT, link score").missing.startswith("no link score: ")


def test_what_fit_takes_can_be_evaluated() -> None:
    edges = a_graph().edges
    frame = pd.DataFrame({"source": edges.row, "target": edges.col})
    found = evaluate_links(frame, MODEL, seeds=(0,), methods={}, score="distance")
    of_graph = evaluate_links(as_graph(frame), MODEL, seeds=(0,), methods={}, score="distance")
    assert len(found.rows) == 1
    assert found.rows[0].figures == of_graph.rows[0].figures


def test_links_are_scored_on_the_split_and_model_of_each_seed() -> None:
    given = clone(MODEL)
    found = evaluate_links(a_graph(), given, share=0.2, seeds=(3, 1), methods={}, score="distance")
    for value, seed in zip(found.row("HEAT").figures["auroc"].values, (3, 1), strict=True):
        split = split_edges(a_graph(), 0.2, seed, how="random")
        twin = clone(MODEL).set_params(random_state=seed).fit(split.train)
        assert value == link_auroc(twin.embedding_, split)
    assert found.seeds == (3, 1)
    assert found.settings["test_edges"] == [24, 24]
    assert not hasattr(given, "embedding_")
    assert given.random_state is None


def test_the_rows_of_ours_are_trained_and_fitted_on_the_training_graph_alone() -> None:
    found = evaluate_links(lattice(), MODEL, share=0.2, seeds=(3, 1), methods={})
    for place, seed in enumerate((3, 1)):
        split = split_edges(lattice(), 0.2, seed, how="random")
        model = clone(MODEL).set_params(random_state=seed).fit(split.train)
        score = fit_link_score(model, split.train)
        distances = [
            pair_distances(model.embedding_, pairs) for pairs in (split.test_edges, split.test_non_edges)
        ]
        scorer = score.scorers(model.embedding_, split.train)(None)
        odds = [scorer.pairs(pairs) for pairs in (split.test_edges, split.test_non_edges)]
        for row, scores in (("HEAT", [-d for d in distances]), ("HEAT, link score", odds)):
            reached = found.row(row).figures["auroc"].values[place]
            assert reached == pytest.approx(auroc(*scores), abs=1e-12)
    figures = set(found.row("HEAT, link score").figures)
    assert set(found.row("HEAT").figures) == figures - {"calibration_error"}


def test_every_method_gets_the_training_graph_and_the_seed_and_nothing_more() -> None:
    calls = []

    def watch(*arguments):
        graph, seed = arguments
        calls.append((graph.adjacency.copy(), seed))
        return partial(popularity, graph)

    evaluate_links(a_graph(), MODEL, seeds=(0, 7), methods={"one": watch, "two": watch}, score="distance")
    assert [seed for _, seed in calls] == [0, 0, 7, 7]
    for train, seed in calls:
        expected = split_edges(a_graph(), 0.15, seed, how="random").train.adjacency
        assert (train != expected).nnz == 0


def test_a_method_that_cannot_be_had_is_asked_once_and_says_why() -> None:
    calls = []

    def none(graph, seed):
        calls.append(seed)
        raise BaselineUnavailableError("not here")

    found = evaluate_links(a_graph(), MODEL, seeds=(0, 1), methods={"none": none}, score="distance")
    assert calls == [0]
    row = found.row("none")
    assert (row.missing, dict(row.figures), row.seconds) == ("not here", {}, [])


def test_nonsense_is_refused() -> None:
    for seeds in ((), (1, 1), (-1,)):
        with pytest.raises(ValueError, match="seed"):
            evaluate_links(a_graph(), MODEL, seeds=seeds)
    with pytest.raises(EvaluationError, match="share must lie between 0 and 1"):
        evaluate_links(a_graph(), MODEL, share=1.5)
    with pytest.raises(EvaluationError, match="a hierarchy needs a graph with relationship types"):
        evaluate_links(a_graph(), HEAT(hierarchy="OVER"))


def test_notes_name_only_metrics_of_the_table() -> None:
    notes = " ".join(evaluate_links(a_graph(), MODEL, seeds=(0,)).notes)
    assert "loses to attribute cosine on Hits@10, P@100" in notes  # and on others
    assert not any(METRIC_NAMES[name] in notes for name in METRIC_NAMES.keys() - LINK_METRICS)


def test_the_notes_name_who_wins_and_by_which_figure() -> None:
    def row(name, auroc, rank, is_ours=False):
        figures = {"auroc": Figure((auroc - 0.01, auroc + 0.01)), "mean_rank": Figure((rank,))}
        return Row(name, figures, is_ours=is_ours)

    rows = [row("HEAT", 0.9021, 5.0, True), row("A", 0.931, 9.0), row("B", 0.95, 5.0), row("C", 0.1, 2.0)]
    assert list(comparison_notes(rows, ("auroc",))) == [
        "HEAT loses on AUROC: 0.9021 against 0.9500 of B, 0.9310 of A",
        "HEAT loses to C on mean rank",
    ]
    assert list(comparison_notes(rows[::3], ("auroc",), " at 2 %")) == [
        "HEAT beats every baseline on AUROC at 2 %: 0.9021 against 0.1000 of C",
        "HEAT at 2 % loses to C on mean rank",
    ]
    assert list(comparison_notes(rows[:1], ("auroc",))) == []
    for each, hits, ap in zip(rows, (0.5, 0.4, 0.6, 0.7), (0.5, 0.9, 0.8, 0.1), strict=True):
        each.figures |= {"hits_at_10": Figure((hits,)), "average_precision": Figure((ap,))}
    assert list(comparison_notes(rows, ("auroc",)))[1:] == ["HEAT loses to C on Hits@10, mean rank; A on AP"]
    in_the_table = list(comparison_notes(rows, ("auroc",), shown=LINK_METRICS))
    assert in_the_table[1:] == ["HEAT loses to C on Hits@10; A on AP"]


def test_a_figure_is_the_mean_and_deviation_of_its_seeds() -> None:
    figure = Figure((0.5, 0.7, 0.9), (0.1, 0.2, 0.2))
    assert (figure.mean, figure.sd) == (pytest.approx(0.7), pytest.approx(0.2))
    assert figure.error == pytest.approx(np.sqrt(0.03))
    assert (Figure((0.5,)).sd, Figure((0.5,)).error) == (None, None)


def test_a_large_graph_is_sampled_and_says_so() -> None:
    limits = Limits(exact_nodes=20, nodes=15)
    found = evaluate_links(a_graph(), MODEL, seeds=(0,), methods={}, score="distance", limits=limits)
    assert found.row("HEAT").figures["mean_reciprocal_rank"].error > 0
    assert found.notes[-1].startswith("15 sampled sources rank targets")


def test_figures_of_a_rare_pattern_belong_to_the_seeds_that_hold_out_a_link_of_it() -> None:
    usual, rare = (np.random.default_rng(0).integers(0, 60, (2, size)) for size in (200, 3))
    relationships = Relationships.from_pairs({"USUAL": tuple(usual), "RARE": tuple(rare)})
    ends = relationships.source, relationships.target
    graph = Graph(
        sparse.csr_array((np.ones(len(relationships)), ends), shape=(60, 60)), relationships=relationships
    )
    seeds = range(8)
    patterns = ["*-[USUAL]->*", "*-[RARE]->*"]
    found = evaluate_links(graph, MODEL, patterns, seeds=seeds, methods={}, score="distance")
    rows = found.to_frame("pandas").set_index(["pattern", "seed"])["auroc"]
    held_out = []
    for seed in seeds:
        of_seed = evaluate_links(graph, MODEL, patterns, seeds=[seed], methods={}, score="distance")
        alone = of_seed.to_frame("pandas").set_index(["pattern", "seed"])["auroc"]
        held_out.append(("-RARE->", seed) in alone.index)
        for pattern in ("-USUAL->", "-RARE->"):
            np.testing.assert_equal(rows[pattern, seed], alone.get((pattern, seed), np.nan))
    assert found.row("HEAT", "-RARE->").seeds == np.flatnonzero(held_out).tolist()
    methods = {"popularity": lambda train, seed: partial(popularity, train)}
    compared = evaluate_links(graph, MODEL, patterns, seeds=seeds, methods=methods, score="distance").notes
    assert "-RARE->: 1 link held out, too few to compare the methods" in compared
    assert not any("of -RARE->" in note for note in compared)
    assert any("of -USUAL->: " in note for note in compared)
    assert False in held_out[: held_out.index(True)]
