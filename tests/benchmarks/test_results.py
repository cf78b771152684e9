"""The results: what is planned, and what the tables say of figures."""

import json

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j.embedding.walks import draw_walks, make_walks
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from tests.benchmarks import dirlink
from tests.benchmarks.results import tables as results
from tests.benchmarks.results.jobs import BASELINES, NO_FEATURES, Job, run_job
from tests.benchmarks.results.plan import SEEDS, all_jobs, seeds_of
from tests.benchmarks.results.store import read_store
from tests.benchmarks.results.variants import VARIANTS, in_place
from tests.support import naive
from tests.support.datasets import DATASETS


def test_every_job_is_planned_once_and_every_cell_of_the_paper_has_all_seeds():
    keys = [job.key for job in all_jobs()]
    assert len(keys) == len(set(keys))
    for dimension, task in results.PAPER:
        for dataset in DATASETS:
            for alpha in (0.0, 0.2):
                for seed in SEEDS:
                    job = Job.of(task, dataset, seed, n_components=dimension, alpha=alpha)
                    assert job.key in keys, job


def made(figures):
    """Tables of one figure of Cora_ML by seed, with the default parameters at alpha 0."""
    jobs = [Job.of("links", "cora_ml", seed, n_components=10, alpha=0.0) for seed in SEEDS]
    measured = zip(jobs, figures, strict=False)
    return results.Tables({job.key: {"auroc": value} for job, value in measured}), jobs


def test_a_cell_says_what_it_is_short_of():
    tables, jobs = made([0.9, 0.91, 0.92, 0.93, 0.94])
    assert tables.cell("auroc", jobs) == "0.9200 ± 0.0158"
    assert tables.cell("auroc", jobs, bar=0.92) == "0.9200 ± 0.0158"
    assert tables.cell("auroc", jobs, bar=0.9201) == "**0.9200 ± 0.0158** ✗"
    tables, jobs = made([0.9, 0.91])
    assert tables.cell("auroc", jobs) == "0.9050 ± 0.0071 (2 of 5 seeds)"
    assert tables.cell("ap", jobs) == "-"


def figures_of(job):
    """Figures that depend on nothing, but for who is measured."""
    one = {"auroc": 0.9, "ece": 0.01, "mean_rank": 10.0, "mean_average_precision": 0.5}
    one |= {"precision_at_100": 0.5, "calibration_error": 0.01, "calibration_error_true_share": 0.0001}
    better = dict(job.settings).get("method") == "SVD of the attributes"
    directed = {title: dict.fromkeys(dirlink.FIGURES, 0.9) for title in dirlink.variants(ablation=True)}
    averages = {"micro": [0.6 if better else 0.5] * 5, "macro": [0.4] * 5}
    return {
        "seconds": 1.0,
        "distance": one,
        "combined": {**one, "auroc": 0.95},
        **one,
        **averages,
        **directed,
    }


def test_there_is_every_table_and_a_digest():
    tables = results.Tables({job.key: figures_of(job) for job in all_jobs()})
    text = results.all_tables(tables)
    measured, seconds = text.split("## Seconds")
    assert "| - |" not in measured, "nothing is missing"
    assert "| classes: HEAT | 1.0 | - | 1.0 |" in seconds, "Citeseer's nodes are not classified"
    lines = text.splitlines()
    assert "0.921 → **0.9000 ± 0.0000** ✗" in text, "short of the paper"
    assert "0.907 → **0.9000" in text
    assert "0.901 → **0.9000" in text
    assert "0.756" not in text, "of Nickel & Kiela, not of HEAT"
    assert next(line for line in lines if line.startswith("| PPI | HEAT |")).count("0.500 / 0.400 ✗") == 5
    assert next(line for line in lines if line.startswith(f"| PPI | {NO_FEATURES} |")).count("✗") == 0
    assert any(line.startswith("| default, from the attributes | 0.9000 ± 0.0000 |") for line in lines)
    assert "| Cora_ML | 0.9000 ± 0.0000 | 0.9500 ± 0.0000 | 0.968 |" in results.digest(tables)


@pytest.mark.parametrize(("auroc", "reached"), [(1.0, 48), (0.95, 20), (0.5, 0)])
def test_the_cells_of_the_paper_that_are_reached_are_counted(auroc, reached):
    planned = {job.key: {"auroc": auroc} for job in all_jobs()}
    assert f" {reached} of the paper's 48 " in results.paper_reached(results.Tables(planned))
    assert " 0 of the paper's 48 " in results.paper_reached(results.Tables({}))


def test_the_last_figures_of_a_job_count(tmp_path):
    jobs = [["links", "ppi", seed, {}] for seed in (0, 1)]
    lines = [("old", jobs[0], 0.1), ("old", jobs[1], 0.2), ("new", jobs[0], 0.3)]
    path = tmp_path / "results.jsonl"
    assert read_store(path) == {}
    path.write_text(
        "".join(
            f"{json.dumps({'code': code, 'job': job, 'figures': {'auroc': figure}})}\n"
            for code, job, figure in lines
        )
    )
    keys = [json.dumps(job) for job in jobs]
    assert read_store(path) == {keys[0]: ("new", {"auroc": 0.3}), keys[1]: ("old", {"auroc": 0.2})}


def test_gensim_is_run_with_the_seeds_that_there_is_time_for():
    method = next(name for name in BASELINES if "gensim" in name)
    assert {dataset: len(seeds_of(method, dataset)) for dataset in DATASETS} == {
        "cora_ml": 3,
        "citeseer": 3,
        "ppi": 1,
    }


def test_a_job_gives_the_same_figures_again():
    job = Job.of("baseline", "friends", 0, method="Adamic-Adar")
    first, second = run_job(job), run_job(job)
    assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert 0.5 < first["auroc"] < 1.0


@pytest.fixture(scope="module")
def hub_and_ring():
    """A weighted graph of a ring and a hub, with more attributes than nodes."""
    rng = np.random.default_rng(1)
    attributes = (rng.random((60, 70)) < np.linspace(0.05, 0.5, 70)).astype(np.float64)
    ring = sparse.csr_array((rng.random(60) + 0.5, (np.arange(60), (np.arange(60) + 1) % 60)), shape=(60, 60))
    hub = sparse.csr_array((np.full(20, 3.0), (np.zeros(20, dtype=int), np.arange(20, 40))), shape=(60, 60))
    return Graph(adjacency=ring + hub, attributes=attributes)


@pytest.mark.parametrize("title", VARIANTS)
def test_a_variant_changes_the_training_while_it_is_in_place(title, hub_and_ring):
    def loss():
        model = HEAT(2, alpha=0.2, walks_per_node=2, walk_length=10, n_threads=1, random_state=1)
        return model.fit(hub_and_ring).loss_curve_.tolist()

    usual = loss()
    with in_place(title):
        assert loss() != usual
    assert loss() == usual


def by_rarity(graph):
    x = graph.attributes
    z = (x - x.mean(axis=0)) / x.std(axis=0) * np.log(len(x) / np.count_nonzero(x, axis=0))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return np.maximum(z @ z.T, 0.0) * (1.0 - np.eye(len(z)))


def with_the_mean_of_neighbours(graph):
    w = graph.adjacency.toarray()
    return naive.similarity(graph.attributes + w / w.sum(axis=1, keepdims=True) @ graph.attributes)


@pytest.mark.parametrize(
    ("title", "law"),
    [
        ("attributes weighted by rarity (IDF)", by_rarity),
        ("attributes averaged with the neighbours'", with_the_mean_of_neighbours),
        ("squared cosine", lambda graph: naive.similarity(graph.attributes) ** 2),
    ],
)
def test_a_variant_of_attribute_steps_follows_its_law(title, law, hub_and_ring):
    with in_place(title):
        walks = make_walks(hub_and_ring, alpha=0.5, walk_length=5, key=np.uint64(1))
    table = np.diff(walks.similarity.table, axis=1, prepend=np.float32(0))
    np.testing.assert_allclose(table, law(hub_and_ring), atol=2e-6)


def test_walks_from_nodes_of_low_degree_are_more_and_none_is_drawn_twice(hub_and_ring):
    walks = make_walks(hub_and_ring, alpha=0.5, walk_length=40, key=np.uint64(1))
    with in_place("more walks from nodes of low degree"):
        nodes, _ = draw_walks(walks, np.arange(600))
    expected = hub_and_ring.degrees**-0.5 / np.sum(hub_and_ring.degrees**-0.5) * 600
    assert np.abs(np.bincount(nodes[:, 0], minlength=60) - expected).max() <= 1.0
    assert len(np.unique(nodes, axis=0)) == 600
    for round_ in range(10):
        assert len(np.unique(nodes[round_ * 60 : round_ * 60 + 60, 0])) > 40, "a round is of a few nodes"
