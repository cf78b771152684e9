"""All figures of a scorer against slow twins, and sampled ones against exact ones and their own errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.evaluation import ranking, reconstruction_auroc
from heat_neo4j.evaluation.ranking import BestPairs, Limits, measure_reconstruction
from heat_neo4j.geometry.hyperboloid import lift
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import adamic_adar, attribute_cosine, popularity, truncated_svd
from heat_neo4j.linkpred.scorers import DistanceScorer, NodeScorer, PairScorer
from tests.support import naive_evaluation

SCORERS = {
    "distance": lambda graph: DistanceScorer(points(graph.n_nodes)),
    "many ties": lambda graph: DistanceScorer(
        lift(np.random.default_rng(1).integers(-1, 2, size=(graph.n_nodes, 2)).astype(float))
    ),
    "degrees": popularity,
    "Adamic-Adar": adamic_adar,
    "attributes": attribute_cosine,
    "SVD": lambda graph: truncated_svd(graph, rank=4),
}


def points(n: int, d: int = 3) -> np.ndarray:
    return lift(np.random.default_rng(n).normal(size=(n, d)))


def a_graph(n: int = 45, n_edges: int = 140, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(n, k=1)
    near = np.abs(u - v) % n
    chosen = rng.choice(len(u), size=n_edges, replace=False, p=(1 / near) / (1 / near).sum())
    shape = (n, n)
    return Graph(
        sparse.csr_array((rng.uniform(0.5, 2, n_edges), (u[chosen], v[chosen])), shape=shape),
        attributes=rng.integers(0, 2, size=(n, 4)).astype(float),
    )


@pytest.fixture(params=SCORERS)
def make(request: pytest.FixtureRequest):
    return SCORERS[request.param]


@pytest.fixture(params=[1, 100_000], ids=["a row a block", "one block"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_SCORES_PER_BLOCK", request.param)


@pytest.mark.usefixtures("_blocks")
def test_reconstruction_figures_equal_the_slow_twin(make) -> None:
    graph = a_graph()
    scorer = make(graph)
    found = measure_reconstruction(scorer, graph, seed=0)
    slow = naive_evaluation.reconstruction_figures(scorer, graph)
    assert found.metrics == pytest.approx(slow, abs=1e-12)
    assert found.errors == {}


def test_reconstruction_agrees_with_the_compiled_sweep_and_its_curves_with_it() -> None:
    graph = a_graph(300, 2000)
    found = measure_reconstruction(DistanceScorer(points(300)), graph, seed=0)
    assert found.metrics["auroc"] == pytest.approx(reconstruction_auroc(points(300), graph), abs=1e-13)
    false, true = found.roc
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    assert np.trapezoid(true, false) == pytest.approx(found.metrics["auroc"], abs=1e-3)
    recall, precision = found.precision_recall
    area = float((np.diff(recall) * precision[1:]).sum())
    assert area == pytest.approx(found.metrics["average_precision"], abs=1e-3)


def test_the_best_pairs_are_kept_through_many_trims() -> None:
    scores = np.random.default_rng(0).integers(0, 12, 400).astype(float)
    for most in (2, 7, 1000):
        best = BestPairs(most)
        for begin in range(0, 400, 9):
            codes = np.arange(begin, min(begin + 9, 400))
            best.add(3 * codes, scores[codes])
        slow = sorted(range(400), key=lambda code: (-scores[code], code))[:most]
        codes, found = best.pairs()
        assert codes.tolist() == [3 * code for code in slow]
        np.testing.assert_array_equal(found, scores[slow])


SMALL = Limits(exact_nodes=10, exact_distance_nodes=10, edges=200, non_edges=1500, nodes=25)


NON_EDGES_ONLY = Limits(exact_nodes=10, exact_distance_nodes=10, non_edges=6000, nodes=25)


@pytest.mark.parametrize("limits", [SMALL, NON_EDGES_ONLY], ids=["both strata", "non-edges only"])
@pytest.mark.parametrize("name", ["distance", "many ties", "Adamic-Adar"])
def test_sampled_figures_are_right_on_average_and_their_errors_honest(name: str, limits: Limits) -> None:
    """Over many seeds: the mean is the exact figure, the spread what each draw says of itself."""
    graph = a_graph(80, 300)
    scorer: PairScorer = SCORERS[name](graph)
    exact = measure_reconstruction(scorer, graph, seed=0).metrics
    drawn = [measure_reconstruction(scorer, graph, seed, limits) for seed in range(150)]
    for metric in ("auroc", "average_precision", "mean_rank", "mean_average_precision"):
        values = np.array([found.metrics[metric] for found in drawn])
        errors = np.array([found.errors[metric] for found in drawn])
        spread = values.std(ddof=1)
        # Ratios of sums are a little biased: a third of the spread is allowed for.
        assert abs(values.mean() - exact[metric]) < 0.34 * spread, metric
        assert 0.7 < np.sqrt((errors**2).mean()) / spread < 1.4, metric


def test_what_is_not_sampled_has_no_error() -> None:
    graph = a_graph(80, 300)
    scorer = DistanceScorer(points(80))
    exact = measure_reconstruction(scorer, graph, seed=0).metrics
    limits = Limits(exact_nodes=10, exact_distance_nodes=100, nodes=1000, non_edges=500)
    found = measure_reconstruction(scorer, graph, 0, limits)
    assert set(found.errors) == {"average_precision"}
    for metric in ("auroc", "mean_rank", "mean_average_precision"):
        assert found.metrics[metric] == pytest.approx(exact[metric], abs=1e-12)
    assert not any(name.startswith("precision_at") for name in found.metrics)


def test_the_seed_alone_decides_what_is_drawn() -> None:
    graph = a_graph(80, 300)
    scorer = DistanceScorer(points(80))
    first, same, other = (measure_reconstruction(scorer, graph, seed, SMALL) for seed in (1, 1, 2))
    assert (first.metrics, first.errors) == (same.metrics, same.errors)
    assert all(first.metrics[name] != other.metrics[name] for name in first.metrics)


def test_drawn_pairs_are_uniform_over_the_non_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = a_graph(12, 30)
    met: list[np.ndarray] = []

    class Watched(NodeScorer):
        def pairs(self, pairs: np.ndarray) -> np.ndarray:
            met.append(np.sort(pairs, axis=1))
            return super().pairs(pairs)

    limits = Limits(exact_nodes=2, exact_distance_nodes=2, non_edges=36_000)
    monkeypatch.setattr(ranking, "_DRAWS", 7_000)
    measure_reconstruction(Watched(np.arange(12.0), np.multiply), graph, 0, limits)
    drawn, counts = np.unique(np.concatenate(met[1:]), axis=0, return_counts=True)
    assert counts.sum() == 36_000
    assert len(drawn) == 66 - 30
    assert not naive_evaluation.edge_set(graph) & {(int(u), int(v)) for u, v in drawn}
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)


def test_scorers_that_do_not_fit_are_refused() -> None:
    graph = a_graph()
    with pytest.raises(ValueError, match="the scorer has 44 nodes, the graph 45"):
        measure_reconstruction(NodeScorer(np.ones(44), np.multiply), graph, 0)
    with pytest.raises(ValueError, match="NaN or infinite"):
        measure_reconstruction(NodeScorer(np.full(45, np.inf), np.multiply), graph, 0)
    with pytest.raises(ValueError, match="reconstruction needs edges and non-edges"):
        measure_reconstruction(NodeScorer(np.ones(4), np.multiply), Graph(sparse.csr_array((4, 4))), 0)
