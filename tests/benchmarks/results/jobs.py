"""What is measured: each job a pure function of a dataset, a seed and plain settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import heat_neo4j
from heat_neo4j.baselines import (
    adamic_adar,
    adjacency_svd,
    attribute_cosine,
    attribute_svd,
    degree_product,
    paths_of_three,
    poincare_embedding,
)
from heat_neo4j.calibration import embed_without, link_probability
from heat_neo4j.estimator import HEAT
from heat_neo4j.evaluation import NodeClasses, link_auroc, reconstruction_auroc
from heat_neo4j.evaluation.classes import classify, split_nodes
from heat_neo4j.files import read_graph_files
from heat_neo4j.graph import Graph
from heat_neo4j.hyperboloid import to_klein
from heat_neo4j.link_score import link_score
from heat_neo4j.metrics import auroc, average_precision, expected_calibration_error
from heat_neo4j.scorers import DistanceScorer, PairScorer
from heat_neo4j.splits import EdgeSplit, split_edges
from heat_neo4j.tuning import choose_parameters
from tests import datasets
from tests.benchmarks.results import graphs

__all__ = ["Job", "code_digest", "run_job"]

CHOOSE = ("alpha", "window_size")
LABEL_SHARES = (0.02, 0.04, 0.06, 0.08, 0.1)
_NOT_MEASURED = {"cli", "database", "demo", "docker", "explore", "local_server", "plots"}


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


@cache
def code_digest() -> str:
    """Return a digest of all code that decides about a figure; results of other code are not used."""
    root = Path(heat_neo4j.__file__).parent
    digest = hashlib.sha256()
    for path in [*sorted(root.rglob("*.py")), Path(__file__), Path(graphs.__file__)]:
        if not _NOT_MEASURED & set(path.relative_to(path.anchor).parts[len(root.parts) - 1 :]):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


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
    return {"auroc": link_auroc(_heat(seed, settings).fit(split.train).embedding_, split)}


def _reconstruction(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    graph = _graph(dataset)
    return {"auroc": reconstruction_auroc(_heat(seed, settings).fit(graph).embedding_, graph)}


def _chosen(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Choose parameters on the training graph, then predict by distance and by the combined score."""
    split = _split(dataset, seed)
    model, names = _heat(seed, {}), settings["choose"]
    choice = choose_parameters(model, split.train, names) if names else None
    if choice is not None:
        model.set_params(**choice.parameters)
    model.fit(split.train)
    held_out = embed_without(model, split.train)
    law, score = link_probability(held_out), link_score(held_out)
    scorer = score.scorer(model.embedding_, split.train)
    distance = _scored(DistanceScorer(model.embedding_), split)
    combined = _scored(scorer, split)
    return {
        "parameters": {} if choice is None else dict(choice.parameters),
        "trials": [] if choice is None else [
            [dict(trial.parameters), trial.walks_per_node, trial.auroc] for trial in choice.trials
        ],
        "distance": distance["auroc"],
        "distance_ece": _error(law(-distance["edges"]), law(-distance["others"])),
        "combined": combined["auroc"],
        "combined_ap": combined["ap"],
        "combined_ece": _error(score.probability(combined["edges"]), score.probability(combined["others"])),
    }  # fmt: skip


def _baseline(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    split = _split(dataset, seed)
    scorer = _BASELINES[settings["method"]](split.train, settings.get("n_components", 10), seed)
    if scorer is None:
        return {"auroc": None, "ap": None}
    found = _scored(scorer, split)
    return {"auroc": found["auroc"], "ap": found["ap"]}


def _classes(dataset: str, seed: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    graph, classes = _graph(dataset), _node_classes(dataset)
    features = _FEATURES[settings["method"]](graph, seed, settings)
    figures: dict[str, Any] = {"micro": [], "macro": []}
    for share in LABEL_SHARES:
        train, test = split_nodes(classes.member, share, seed)
        predicted = classify(features, classes.member, train, test)
        for average in ("micro", "macro"):
            figures[average].append(_f1(classes.member[test], predicted, average))
    return figures


def _f1(truth: NDArray[np.bool_], predicted: NDArray[np.bool_], average: str) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(truth, predicted, average=average, zero_division=0))


def _scored(scorer: PairScorer, split: EdgeSplit) -> dict[str, Any]:
    edges, others = scorer.pairs(split.test_edges), scorer.pairs(split.test_non_edges)
    quality = {"auroc": auroc(edges, others), "ap": average_precision(edges, others)}
    return {"edges": edges, "others": others, **quality}


def _error(edges: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    outcome = np.repeat((1.0, 0.0), (len(edges), len(others)))
    return expected_calibration_error(np.concatenate((edges, others)), outcome)


@cache
def _node_classes(dataset: str) -> NodeClasses:
    folder = datasets.dataset_folder() / dataset
    files = read_graph_files(folder / "edgelist.tsv.gz", folder / "feats.csv.gz", folder / "labels.csv.gz")
    labels = files.labels or ()
    names = tuple(sorted({name for found in labels for name in found}))
    member = np.array([[name in found for name in names] for found in labels], dtype=np.bool_)
    return NodeClasses(names, member)


def _poincare(graph: Graph, dim: int, seed: int) -> PairScorer:
    return DistanceScorer(poincare_embedding(graph, dim, seed))


_KINDS = {
    "links": _links,
    "reconstruction": _reconstruction,
    "chosen": _chosen,
    "baseline": _baseline,
    "classes": _classes,
}
_BASELINES: Mapping[str, Any] = {
    "degree product": lambda graph, dim, seed: degree_product(graph),
    "Adamic-Adar": lambda graph, dim, seed: adamic_adar(graph),
    "paths of three": lambda graph, dim, seed: paths_of_three(graph),
    "attribute cosine": lambda graph, dim, seed: attribute_cosine(graph),
    "SVD of the adjacency": lambda graph, dim, seed: adjacency_svd(graph, dim),
    "Nickel & Kiela (gensim)": _poincare,
}
_FEATURES: Mapping[str, Any] = {
    "HEAT": lambda graph, seed, given: to_klein(
        _heat(seed, {k: v for k, v in given.items() if k != "method"}).fit(graph).embedding_
    ),
    "SVD of the attributes": lambda graph, seed, given: attribute_svd(graph, 10, seed),
    "Nickel & Kiela (gensim)": lambda graph, seed, given: to_klein(poincare_embedding(graph, 10, seed)),
}


def names_of_baselines() -> Iterator[str]:
    """Yield the baselines of link prediction."""
    yield from _BASELINES
