"""The rows of a table: HEAT, and what it must beat, each as a function of the graph it may see and a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heat_neo4j._progress import Progress, no_progress, prefixed
from heat_neo4j.baselines import (
    BaselineUnavailableError,
    adamic_adar,
    adjacency_svd,
    attribute_cosine,
    attribute_svd,
    degree_product,
    poincare_embedding,
)
from heat_neo4j.estimator import HEAT
from heat_neo4j.graph import Graph
from heat_neo4j.hyperboloid import to_klein
from heat_neo4j.scorers import DistanceScorer, PairScorer

__all__ = [
    "HEAT_ROW",
    "Features",
    "Method",
    "Unseeded",
    "feature_methods",
    "fit_heat",
    "link_methods",
]

Array = NDArray[np.float64]

HEAT_ROW = "HEAT"
"""Name of the row of the estimator that is evaluated."""

GENSIM_ROW = "Nickel & Kiela (gensim)"

Method = Callable[[Graph, int], PairScorer]
"""Called with the graph it may learn from and a seed; returns what scores its pairs of nodes.

`BaselineUnavailableError` leaves the row empty but for its message.
"""

Features = Callable[[Graph, int], Array]
"""Called with a graph and a seed; returns one row of features per node (no columns: classes' sizes alone).

`BaselineUnavailableError` leaves the row empty but for its message.
"""


@dataclass(frozen=True)
class Unseeded:
    """A `Method` that no seed changes: on one and the same graph it need not be repeated.

    Parameters
    ----------
    score : callable
        Called with the graph; returns a scorer.
    """

    score: Callable[[Graph], PairScorer]

    def __call__(self, graph: Graph, seed: int) -> PairScorer:
        """Score by the graph alone."""
        return self.score(graph)


def fit_heat(model: HEAT, graph: Graph, seed: int, on_progress: Progress = no_progress) -> Array:
    """Return the embedding of a clone of `model` with `seed`, trained on nothing but `graph`.

    Raises
    ------
    NothingToLearnError
        If the graph offers no pair to learn from.
    """
    twin: Any = clone(model).set_params(random_state=seed)
    return np.asarray(twin.fit(graph, on_progress=on_progress).embedding_)


def link_methods(
    n_components: int, on_progress: Progress = no_progress, *, gensim: bool = False
) -> dict[str, Method]:
    """Return the baselines for tasks on pairs; embeddings get as many dimensions as given.

    Parameters
    ----------
    n_components : int
        Dimension, or rank.
    on_progress : callable
        Called during long training, with stages such as "seed 0: gensim".
    gensim : bool
        Whether gensim's Poincare embedding is among them, which takes longer than all else together.
    """
    poincare = partial(_poincare_scorer, n_components=n_components, on_progress=on_progress)
    return {
        "degree product": Unseeded(degree_product),
        "Adamic-Adar": Unseeded(adamic_adar),
        "attribute cosine": Unseeded(_attribute_cosine),
        "SVD of the adjacency": Unseeded(partial(adjacency_svd, n_components=n_components)),
        **({GENSIM_ROW: poincare} if gensim else {}),
    }


def feature_methods(
    n_components: int, on_progress: Progress = no_progress, *, gensim: bool = False
) -> dict[str, Features]:
    """Return the baselines for node classification; parameters as for `link_methods`."""
    poincare = partial(_poincare_features, n_components=n_components, on_progress=on_progress)
    return {
        "SVD of the attributes": partial(_attribute_svd, n_components=n_components),
        **({GENSIM_ROW: poincare} if gensim else {}),
        "majority class": _nothing,
    }


def _attribute_cosine(graph: Graph) -> PairScorer:
    scorer = attribute_cosine(graph)
    if scorer is None:
        raise BaselineUnavailableError("the graph has no attributes")
    return scorer


def _poincare_scorer(graph: Graph, seed: int, n_components: int, on_progress: Progress) -> PairScorer:
    return DistanceScorer(_poincare(graph, seed, n_components, on_progress))


def _attribute_svd(graph: Graph, seed: int, n_components: int) -> Array:
    return attribute_svd(graph, n_components, seed)


def _poincare_features(graph: Graph, seed: int, n_components: int, on_progress: Progress) -> Array:
    return to_klein(_poincare(graph, seed, n_components, on_progress))


def _poincare(graph: Graph, seed: int, n_components: int, on_progress: Progress) -> Array:
    return poincare_embedding(graph, n_components, seed, prefixed(on_progress, f"seed {seed}: "))


def _nothing(graph: Graph, seed: int) -> Array:
    return np.empty((graph.n_nodes, 0))
