"""What is measured: each job a pure function of a dataset, a seed and plain settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import no_progress
from heat_neo4j.embedding import schedule
from heat_neo4j.evaluation.link_figures import held_out_links, measure_links
from heat_neo4j.evaluation.link_tasks import (
    GENSIM_ROW,
    HEAT_ROW,
    SCORE_ROW,
    Method,
    OwnRows,
    link_methods,
    unseeded,
)
from heat_neo4j.geometry.hyperboloid import to_klein
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.baselines import (
    BaselineUnavailableError,
    adamic_adar,
    paths_of_three,
    poincare_embedding,
    popularity,
    truncated_svd,
)
from heat_neo4j.linkpred.metrics import auroc, average_precision
from heat_neo4j.linkpred.scorers import PairScorer
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges
from tests.benchmarks import dirlink
from tests.benchmarks.node_classes import NodeClasses, attribute_svd, class_scores, members
from tests.benchmarks.reconstruction import reconstruction_auroc
from tests.benchmarks.results import graphs, variants
from tests.support import datasets
from tests.support.link_auroc import link_auroc

__all__ = [
    "BASELINES",
    "FEATURES",
    "LABEL_SHARES",
    "NO_FEATURES",
    "Job",
    "both_scores",
    "run_job",
]

NO_FEATURES = "class frequencies alone"
LABEL_SHARES = (0.02, 0.04, 0.06, 0.08, 0.1)


@dataclass(frozen=True)
class Job:
    """One measurement.

    Parameters
    ----------
    kind : str
        Name of the function below, without its underscore.
    dataset : str
        One of the three, or of `graphs.GRAPHS`.
    seed : int
        Of split and training.
    settings : tuple of (str, JSON value)
        Parameters of HEAT, or of the job.
    """

    kind: str
    dataset: str
    seed: int
    settings: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, kind: str, dataset: str, seed: int, **settings: Any) -> Job:
        """Return a job with settings in a fixed order."""
        return cls(kind, dataset, seed, tuple(sorted(settings.items())))

    @property
    def key(self) -> str:
        """What the job's result is kept under."""
        return json.dumps([self.kind, self.dataset, self.seed, dict(self.settings)])


def run_job(job: Job) -> dict[str, Any]:
    """Return the figures of a job, with the seconds it took on one thread."""
    began = perf_counter()
    figures = _KINDS[job.kind](job.dataset, job.seed, dict(job.settings))
    return {"seconds": round(perf_counter() - began, 2), **figures}


@cache
def _graph(dataset: str) -> Graph:
    if dataset in datasets.DATASETS:
        return datasets.load_graph(dataset)
    return graphs.GRAPHS[dataset]()


def _split(dataset: str, seed: int) -> EdgeSplit:
    return split_edges(_graph(dataset), 0.15, random_state=seed)


def _heat(seed: int, settings: Mapping[str, Any]) -> HEAT:
    return HEAT(**{"random_state": seed, "n_threads": 1, **settings})


def _links(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    split = _split(dataset, seed)
    given = dict(settings)
    averaged = mock.patch.object(schedule, "_AVERAGED", given.pop("averaged", schedule._AVERAGED))
    with averaged, variants.in_place(given.pop("variant", None)):
        return {"auroc": link_auroc(_heat(seed, given).fit(split.train).embedding_, split)}


def _reconstruction(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    graph = _graph(dataset)
    return {"auroc": reconstruction_auroc(_heat(seed, settings).fit(graph).embedding_, graph)}


def both_scores(model: HEAT, split: EdgeSplit, seed: int) -> dict[str, Any]:
    """Return what the distance and the link score make of the test edges."""
    rows = OwnRows(model, no_progress).methods("link")
    return {
        place: _scored(rows[name](split.train, seed)(None), split)
        for place, name in (("distance", HEAT_ROW), ("combined", SCORE_ROW))
    }


def _defaults(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    return both_scores(_heat(seed, settings), _split(dataset, seed), seed)


def _ranking(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    split = _split(dataset, seed)
    held_out = held_out_links(_graph(dataset), split, None, seed)
    assert held_out is not None
    rows = OwnRows(_heat(seed, settings), no_progress).methods("link")
    return {
        place: dict(measure_links(rows[name](split.train, seed)(None), held_out).metrics)
        for place, name in (("distance", HEAT_ROW), ("combined", SCORE_ROW))
    }


def _directed(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of one of DirLinkBench's splits: with all features, then without each group."""
    case = next(islice(dirlink.dirlink_cases(dataset, seed + 1), seed, None))
    features = dirlink.variants(ablation=True)
    rows, _ = dirlink.measure(case, seed, features)
    return {
        name: dict(zip(dirlink.FIGURES, row.tolist(), strict=True))
        for name, row in zip(features, rows, strict=True)
    }


def _baseline(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    split = _split(dataset, seed)
    try:
        scorer = BASELINES[settings["method"]](split.train, seed)(None)
    except BaselineUnavailableError:
        return {"auroc": None, "ap": None}
    return _scored(scorer, split)


def _classes(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    graph, classes = _graph(dataset), _node_classes(dataset)
    given = dict(settings)
    method = given.pop("method")
    features = np.empty((graph.n_nodes, 0)) if method == NO_FEATURES else FEATURES[method](graph, seed, given)
    scores = [class_scores(features, classes, share, seed) for share in LABEL_SHARES]
    return {"micro": [score.f1_micro for score in scores], "macro": [score.f1_macro for score in scores]}


def _scored(scorer: PairScorer, split: EdgeSplit) -> dict[str, Any]:
    """Return what a scorer makes of test edges and as many other pairs."""
    edges, others = scorer.pairs(split.test_edges), scorer.pairs(split.test_non_edges)
    return {"auroc": auroc(edges, others), "ap": average_precision(edges, others)}


@cache
def _node_classes(dataset: str) -> NodeClasses:
    names, labels = members(dataset)
    return NodeClasses(
        names, np.array([[name in found for name in names] for found in labels], dtype=np.bool_)
    )


def _heat_features(graph: Graph, seed: int, given: Mapping[str, Any]) -> NDArray[np.float64]:
    return to_klein(_heat(seed, given).fit(graph).embedding_)


_LINK_METHODS = link_methods(10, gensim=True)
BASELINES: Mapping[str, Method] = {
    "popularity": unseeded(popularity),
    "Adamic-Adar": unseeded(adamic_adar),
    "attribute cosine": _LINK_METHODS["attribute cosine"],
    "SVD": unseeded(partial(truncated_svd, rank=10)),
    GENSIM_ROW: _LINK_METHODS[GENSIM_ROW],
    "paths of three": unseeded(paths_of_three),
}
"""What HEAT is compared with in link prediction."""
FEATURES: Mapping[str, Callable[[Graph, int, Mapping[str, Any]], NDArray[np.float64]]] = {
    HEAT_ROW: _heat_features,
    "SVD of the attributes": lambda graph, seed, given: attribute_svd(graph, 10, seed),
    GENSIM_ROW: lambda graph, seed, given: to_klein(poincare_embedding(graph, 10, seed)),
    "majority class": lambda graph, seed, given: np.empty((graph.n_nodes, 0)),
}
"""What nodes are classified by."""

_KINDS = {
    "links": _links,
    "reconstruction": _reconstruction,
    "defaults": _defaults,
    "ranking": _ranking,
    "directed": _directed,
    "baseline": _baseline,
    "classes": _classes,
}
