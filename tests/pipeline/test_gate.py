"""The quality gate: what is measured, and what does not pass."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.geometry.drift import measure_drift
from heat_neo4j.geometry.hyperboloid import lift, pair_distances
from heat_neo4j.linkpred.calibration import embed_without
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import split_edges_of
from heat_neo4j.pipeline.gate import (
    Gate,
    Quality,
    compared_on_present_edges,
    held_out_quality,
    last_quality,
    new_nodes_quality,
    standard_error,
)
from tests.linkpred.test_link_score import clustered

SMALL = {"n_components": 3, "walks_per_node": 5, "walk_length": 20, "random_state": 4, "n_threads": 1}
GOOD = Quality(auroc=0.9, degree_auroc=0.7, held_out_edges=1000, error=0.001, last_auroc=0.9)


@pytest.fixture(scope="module")
def graph():
    return clustered(160)


@pytest.fixture(scope="module")
def model(graph):
    return HEAT(**SMALL).fit(graph)


def problems(quality, drift=None, *, local=False, **limits):
    return list(Gate(**limits).problems(quality, drift, local=local))


def of(**changed):
    return replace(GOOD, **changed)


def test_a_good_version_passes():
    assert problems(GOOD) == []
    assert problems(Quality()) == []


def test_a_drop_below_the_last_run_fails():
    assert problems(of(auroc=0.881)) == []
    assert problems(of(auroc=0.879)) == [
        "held-out AUROC 0.879 is more than 0.02 below the last published run's, 0.900"
    ]
    assert problems(of(auroc=0.879), max_auroc_drop=0.03) == []


def test_a_fall_within_the_error_of_both_is_chance():
    assert len(problems(of(auroc=0.85, error=0.01, last_error=0.013))) == 1
    assert problems(of(auroc=0.85, error=0.01, last_error=0.0135)) == []
    assert problems(of(auroc=0.85, error=0.0135, last_error=0.01)) == []
    assert problems(of(auroc=0.85, error=0.012)) == []  # that of the last run is not known: as large
    assert len(problems(of(auroc=0.85, error=0.0115))) == 1


@pytest.mark.parametrize("edges", [12, 60, 800])
def test_of_equal_versions_at_most_one_in_a_hundred_is_rejected(edges):
    rng = np.random.default_rng(0)

    def measured():
        area = auroc(rng.exponential(3.0, edges), rng.exponential(1.0, edges))
        return area, standard_error(area, edges, edges)

    rejected = 0
    for _ in range(1000):
        (last, last_error), (area, error) = measured(), measured()
        quality = Quality(area, 0.5, edges, error, last, last_error)
        rejected += bool(problems(quality))
    assert rejected <= 10


def test_degrees_must_not_be_much_better():
    assert problems(of(auroc=0.9, degree_auroc=0.99)) == []
    quality = of(auroc=0.9, last_auroc=0.915, degree_auroc=0.999, error=0.0)
    (problem,) = problems(quality, max_below_degree=0.09)
    assert problem == "held-out AUROC 0.900 is more than 0.09 below that of the degrees, 0.999"


def test_degrees_do_not_count_where_they_were_better_before():
    assert len(problems(of(auroc=0.75, last_auroc=0.76, degree_auroc=0.85, error=0.0))) == 0
    assert len(problems(of(auroc=0.745, last_auroc=0.76, degree_auroc=0.85, error=0.0))) == 1
    assert len(problems(of(auroc=0.745, last_auroc=0.745, degree_auroc=0.85, error=0.0))) == 0
    assert len(problems(of(auroc=0.745, last_auroc=None, degree_auroc=0.85, error=0.0))) == 1


def test_placed_nodes_may_predict_a_little_worse():
    assert problems(of(auroc=0.81), local=True) == []
    assert len(problems(of(auroc=0.79), local=True)) == 1
    assert problems(of(auroc=0.79), local=True, max_auroc_drop=0.2) == []


def test_the_auroc_of_present_edges_must_not_drop():
    assert problems(of(present_auroc=0.95, present_auroc_before=0.96)) == []
    (problem,) = problems(of(present_auroc=0.93, present_auroc_before=0.96))
    assert problem.startswith("its AUROC of present edges is 0.930")


def test_drift_has_limits():
    old = lift(np.random.default_rng(0).normal(size=(200, 3)))
    new = lift(np.random.default_rng(1).normal(size=(200, 3)))
    drift = measure_drift(old, new, [""] * 200)
    assert problems(GOOD, drift, min_overlap=0.0) == []
    assert problems(GOOD, drift, min_overlap=0.5) == [
        f"{drift.overlap:.0%} of the nearest nodes stayed the same, below 50%"
    ]
    assert problems(GOOD, drift, min_overlap=0.0, max_move=1.0) == [
        f"nodes moved by {drift.mean:.3f} in the mean, more than 1"
    ]
    assert problems(GOOD, measure_drift(old, old, [""] * 200), min_overlap=1.0, max_move=1e-9) == []


@pytest.mark.parametrize("name", ["max_auroc_drop", "max_below_degree", "min_overlap"])
def test_limits_are_shares(name):
    with pytest.raises(ValueError, match=f"{name} must lie in"):
        Gate(**{name: 1.5})


# --- what is measured --------------------------------------------------------------------------------------


def test_held_out_quality_is_that_of_a_clone(graph, model):
    held = embed_without(model, graph)
    found = held_out_quality(model, graph, held)
    edges, others = held.split.test_edges, held.split.test_non_edges
    expected = auroc(-pair_distances(held.embedding, edges), -pair_distances(held.embedding, others))
    assert (found.auroc, found.held_out_edges) == (expected, len(edges))
    degrees = held.split.train.degrees
    by_degree = [(1 + degrees[pairs[:, 0]]) * (1 + degrees[pairs[:, 1]]) for pairs in (edges, others)]
    assert found.degree_auroc == pytest.approx(auroc(*by_degree))
    assert 0 < found.error < 0.1
    assert held_out_quality(model, graph, None) == found  # trained here, by the same seed


def test_standard_error_matches_that_of_repetitions():
    """Hanley and McNeil's formula against 2,000 samples of exponential scores."""
    rng = np.random.default_rng(0)
    areas = [auroc(rng.exponential(3.0, 40), rng.exponential(1.0, 200)) for _ in range(2000)]
    assert standard_error(float(np.mean(areas)), 40, 200) == pytest.approx(np.std(areas), rel=0.1)


def test_too_few_edges_say_nothing():
    ring = Graph(sparse.csr_array(np.roll(np.eye(12), 1, axis=1)))
    model = HEAT(**SMALL).fit(ring)
    assert held_out_quality(model, ring, None) == Quality()


def test_placed_nodes_are_measured_by_a_part_of_their_edges(graph):
    new = np.zeros(graph.n_nodes, dtype=bool)
    new[np.random.default_rng(1).choice(graph.n_nodes, 16, replace=False)] = True
    old = np.flatnonzero(~new)
    known = Graph(graph.adjacency[old][:, old], attributes=graph.attributes[old])
    points = lift(np.zeros((graph.n_nodes, 3)))
    points[old] = HEAT(**SMALL).fit(known).embedding_
    model = HEAT(**SMALL)
    model.seed_ = 4
    found = new_nodes_quality(model, graph, points, new)
    assert found.held_out_edges > 20
    assert found.auroc > 0.7
    # Edges of one node are told well or badly together: 16 nodes are no more than 16 edges.
    assert found.error >= standard_error(found.auroc, 16, 80)
    one = np.zeros(graph.n_nodes, dtype=bool)
    one[old[0]] = True
    assert new_nodes_quality(model, graph, points, one) == Quality()


def test_present_edges_are_those_between_the_rows(graph, model):
    rows = np.ones(graph.n_nodes, dtype=bool)
    points = lift(np.random.default_rng(0).normal(size=(graph.n_nodes, 3)))
    found = compared_on_present_edges(GOOD, graph, model.embedding_, points, rows, rows, 0)
    assert found.present_auroc_before > 0.8 > 0.6 > found.present_auroc
    assert 0 < found.present_error < 0.05
    assert compared_on_present_edges(GOOD, graph, points, points, ~rows, rows, 0) == GOOD
    assert compared_on_present_edges(GOOD, graph, points, points, rows, ~rows, 0) == GOOD


def test_where_some_nodes_were_trained_alone_only_their_present_edges_count(graph, model):
    rows = np.ones(graph.n_nodes, dtype=bool)
    trained = np.arange(graph.n_nodes) < 8
    points = model.embedding_.copy()
    points[trained] = lift(np.random.default_rng(0).normal(size=(8, 3)))
    spoilt = compared_on_present_edges(GOOD, graph, model.embedding_, points, rows, trained, 0)
    others = compared_on_present_edges(GOOD, graph, model.embedding_, points, ~trained, ~trained, 0)
    assert spoilt.present_auroc_before - spoilt.present_auroc > 3 * spoilt.present_error
    assert others.present_auroc == others.present_auroc_before


def test_a_fall_on_a_few_present_edges_is_chance():
    few = {"auroc": None, "present_auroc_before": 0.9, "present_error": standard_error(0.9, 20, 20)}
    assert problems(of(present_auroc=0.85, **few), local=True) == []
    assert problems(of(present_auroc=0.6, **few), local=True)


def test_the_last_auroc_is_that_of_the_last_training():
    def run(**facts):
        return RunRecord("r", "heat", ("embedding",), "complete", **facts)

    counts = {"n_edges": 40, "n_non_edges": 200}
    law = {"link_score": {"distance_auroc": 0.8, **counts}}
    error = standard_error(0.8, 40, 200)
    assert last_quality(None) == (None, None)
    assert last_quality(run()) == (None, None)
    assert last_quality(run(parameters=law)) == (0.8, error)
    warm = {"auroc": 0.85, "error": 0.02}
    assert last_quality(run(parameters=law, decision="warm", quality=warm)) == (0.85, 0.02)
    placed = {"auroc": 0.5, "error": 0.1, "last_auroc": 0.85, "last_error": 0.02}
    assert last_quality(run(parameters=law, decision="local", quality=placed)) == (0.85, 0.02)


# --- edges of some nodes -----------------------------------------------------------------------------------


def test_edges_of_some_nodes_are_held_out(graph):
    nodes = np.random.default_rng(2).random(graph.n_nodes) < 0.2
    split = split_edges_of(graph, nodes, 0.3, 5)
    assert nodes[split.test_edges].any(axis=1).all()
    theirs = nodes[np.column_stack((graph.edges.row, graph.edges.col))].any(axis=1).sum()
    assert 0 < len(split.test_edges) <= round(0.3 * theirs)
    assert split.train.n_edges == graph.n_edges - len(split.test_edges)
    assert ((split.train.degrees > 0) == (graph.degrees > 0)).all()
    dense = graph.adjacency.toarray()
    u, v = split.test_non_edges.T
    assert (u < v).all()
    assert not dense[u, v].any()
    assert nodes[split.test_non_edges].any(axis=1).all()
    again = split_edges_of(graph, nodes, 0.3, 5)
    np.testing.assert_array_equal(again.test_edges, split.test_edges)
    np.testing.assert_array_equal(again.test_non_edges, split.test_non_edges)


def test_edges_that_cannot_be_held_out_are_reported(graph):
    with pytest.raises(ValueError, match="can be held out while every node keeps one"):
        split_edges_of(graph, np.zeros(graph.n_nodes, dtype=bool))
    with pytest.raises(ValueError, match="share must lie between 0 and 1"):
        split_edges_of(graph, np.ones(graph.n_nodes, dtype=bool), 1.0)
