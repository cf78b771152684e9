"""The jobs of `make results`, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.benchmarks.results.graphs import GRAPHS
from tests.benchmarks.results.jobs import BASELINES, NO_FEATURES, Job
from tests.benchmarks.results.variants import VARIANTS
from tests.support.datasets import DATASETS

__all__ = [
    "ABLATION",
    "ALPHAS",
    "CLASSIFIERS",
    "DIMENSIONS",
    "DIRECTED",
    "SEEDS",
    "SLOW_SEEDS",
    "TIMES",
    "all_jobs",
]

DIMENSIONS = (5, 10, 25, 50)
SEEDS = (0, 1, 2, 3, 4)
SLOW_SEEDS = {"cora_ml": (0, 1, 2), "citeseer": (0, 1, 2), "ppi": (0,)}
"""Seeds for gensim, which takes two minutes on the first two and a quarter of an hour on PPI."""
DIRECTED, TIMES = ("cora_ml", "citeseer"), 5
"""Datasets with directions, and how often edges are held out to fit the score of a pattern."""
ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)
ABLATION: Mapping[str, Mapping[str, Any]] = {
    "no refinement": {"refine": False},
    "no averaging": {"averaged": 0.0},
    "neither": {"refine": False, "averaged": 0.0},
    "learning rate .02": {"learning_rate": 0.02},
    "learning rate .1": {"learning_rate": 0.1},
    "two passes": {"n_epochs": 2},
    "20 walks a node": {"walks_per_node": 20},
    "40 walks of 20 nodes": {"walks_per_node": 40, "walk_length": 20},
    "window 2": {"window_size": 2},
    "window 5": {"window_size": 5},
    "25 negatives": {"n_negatives": 25},
    "noise exponent 0": {"negative_exponent": 0.0},
    "noise exponent .75": {"negative_exponent": 0.75},
    "noise exponent 1": {"negative_exponent": 1.0},
    "sigma .7": {"sigma": 0.7},
    "sigma 1.4": {"sigma": 1.4},
    "alpha .35": {"alpha": 0.35},
}
"""One thing changed at a time; the rest at its default. `averaged` is the share of the training that is."""
CLASSIFIERS: Mapping[str, Mapping[str, Any]] = {
    "HEAT": {"method": "HEAT"},
    "HEAT, alpha .5": {"method": "HEAT", "alpha": 0.5},
    "SVD of the attributes": {"method": "SVD of the attributes"},
    "Nickel & Kiela (gensim)": {"method": "Nickel & Kiela (gensim)"},
    NO_FEATURES: {"method": NO_FEATURES},
}
"""What nodes are classified by."""


def seeds_of(method: str, dataset: str) -> tuple[int, ...]:
    """Return the seeds that a baseline is run with."""
    return SLOW_SEEDS.get(dataset, SEEDS) if "gensim" in method else SEEDS


def all_jobs() -> Iterator[Job]:
    """Yield every job, each once."""
    yield from {job.key: job for job in _in_order()}.values()


def _in_order() -> Iterator[Job]:
    for seed in SEEDS:
        for dataset in DATASETS:
            yield Job.of("defaults", dataset, seed)
    for seed in SEEDS:
        yield from (Job.of("directed", dataset, seed, times=TIMES) for dataset in DIRECTED)
    for seed in SEEDS:
        for dataset in (*DATASETS, *GRAPHS):
            for method in BASELINES:
                if "gensim" not in method:
                    yield Job.of("baseline", dataset, seed, method=method)
        yield from (Job.of("defaults", dataset, seed) for dataset in GRAPHS)
        for dataset in ("cora_ml", "ppi"):
            for name, settings in CLASSIFIERS.items():
                if "gensim" not in name:
                    yield Job.of("classes", dataset, seed, **settings)
    for seed in SEEDS:
        for dimension in DIMENSIONS:
            for dataset in DATASETS:
                for alpha in (0.0, 0.2):
                    for task in ("links", "reconstruction"):
                        yield Job.of(task, dataset, seed, n_components=dimension, alpha=alpha)
    for seed in SEEDS:
        for dataset in DATASETS:
            yield Job.of("ranking", dataset, seed)
            yield from (Job.of("links", dataset, seed, n_components=10, alpha=alpha) for alpha in ALPHAS)
            yield from (Job.of("links", dataset, seed, **changed) for changed in ABLATION.values())
            yield from (Job.of("links", dataset, seed, variant=title) for title in VARIANTS)
    for dataset in DATASETS:
        for method in BASELINES:
            for seed in seeds_of(method, dataset):
                if "gensim" in method:
                    yield Job.of("baseline", dataset, seed, method=method)
                    if dataset != "citeseer":
                        yield Job.of("classes", dataset, seed, method=method)
