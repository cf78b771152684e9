"""The methods that are compared, HEAT and baselines: each a function of a training graph and a seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.geometry.hyperboloid import to_klein
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.baselines import (
    BaselineUnavailableError,
    adamic_adar,
    adjacency_svd,
    attribute_cosine,
    attribute_svd,
    degree_product,
    poincare_embedding,
)
from heat_neo4j.linkpred.calibration import CalibrationError, HeldOut, embed_without
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.pattern_baselines import (
    directed_adamic_adar,
    directed_paths_of_three,
    items_alike,
    pattern_svd,
    popularity,
)
from heat_neo4j.linkpred.scorers import DirectedScorer, DistanceScorer, PairScorer
from heat_neo4j.linkpred.tuning import Choice, choose_parameters
from heat_neo4j.patterns import Pattern

__all__ = [
    "COMBINED_ROW",
    "HEAT_ROW",
    "SEEDS",
    "DirectedMethod",
    "EvaluationError",
    "Features",
    "Method",
    "OwnRows",
    "PatternMethod",
    "Unseeded",
    "check_seeds",
    "described",
    "feature_methods",
    "fit_heat",
    "for_all_patterns",
    "link_methods",
    "pattern_methods",
    "sizes_of",
]

Array = NDArray[np.float64]

SEEDS = (0, 1, 2, 3, 4)

HEAT_ROW = "HEAT"  # name of the row of the estimator that is evaluated
COMBINED_ROW = "HEAT, combined score"
"""Name of the row in which distance is joined by what the graph says of a pair."""

GENSIM_ROW = "Nickel & Kiela (gensim)"

Method = Callable[[Graph, int], PairScorer]
"""Called with the graph it may learn from and a seed; returns what scores its pairs of nodes.

`BaselineUnavailableError` leaves the row empty but for its message.
"""

DirectedMethod = Callable[[Graph, int], DirectedScorer]
"""A `Method` whose scorer tells the two ends of a pair apart, or can be asked of some pairs only."""

PatternMethod = Callable[[Graph, int], Callable[[Pattern], DirectedScorer]]
"""Called with the graph it may learn from and a seed; returns what gives the scorer of a pattern.

`BaselineUnavailableError`, of either call, leaves the rows empty but for its message.
"""

Features = Callable[[Graph, int], Array]
"""Called with a graph and a seed; returns one row of features per node (no columns: classes' sizes alone).

`BaselineUnavailableError` leaves the row empty but for its message.
"""


class EvaluationError(ValueError):
    """The graph cannot be evaluated as asked; the message says why."""


def check_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds, checked: at least one, each once, none below 0; else a TypeError or ValueError."""
    checked = tuple(check_integer("seed", seed, minimum=0, maximum=None) for seed in seeds)
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"seeds must be given, each once, got {list(seeds)}")
    return checked


def described(model: Embedder) -> dict[str, Any]:
    """Return the estimator's parameters; the seeds stand elsewhere, and threads change nothing."""
    parameters: dict[str, Any] = model.get_params()
    return {name: value for name, value in parameters.items() if name not in ("random_state", "n_threads")}


def sizes_of(graph: Graph) -> dict[str, int]:
    """Return how large a graph is."""
    return {"nodes": graph.n_nodes, "edges": graph.n_edges, "attributes": graph.n_attributes}


@dataclass(frozen=True)
class Unseeded:
    """A `Method` that no seed changes: on one and the same graph it need not be repeated."""

    score: Callable[[Graph], PairScorer]

    def __call__(self, graph: Graph, seed: int) -> PairScorer:
        """Score by the graph alone."""
        return self.score(graph)


def fit_heat(
    model: Embedder, graph: Graph, seed: int, on_progress: Progress = no_progress, name: str = HEAT_ROW
) -> Array:
    """Return the embedding of a clone of `model` with `seed`, trained on nothing but `graph`."""
    seeded: Any = clone(model).set_params(random_state=seed)
    progress = prefixed(on_progress, f"seed {seed}: {name} ")
    return np.asarray(seeded.fit(graph, on_progress=progress).embedding_)


def link_methods(
    n_components: int, on_progress: Progress = no_progress, *, gensim: bool = False
) -> dict[str, Method]:
    """Return the baselines for tasks on pairs; embeddings get as many dimensions as given.

    gensim's Poincare embedding takes longer than all else together, and reports its progress.
    """

    def poincare(graph: Graph, seed: int) -> PairScorer:
        return DistanceScorer(_poincare(graph, seed, n_components, on_progress))

    return {
        "degree product": Unseeded(degree_product),
        "Adamic-Adar": Unseeded(adamic_adar),
        "attribute cosine": Unseeded(_attribute_cosine),
        "SVD of the adjacency": Unseeded(partial(adjacency_svd, n_components=n_components)),
        **({GENSIM_ROW: poincare} if gensim else {}),
    }


def pattern_methods(
    n_components: int, on_progress: Progress = no_progress, *, gensim: bool = False
) -> dict[str, PatternMethod]:
    """Return the baselines of links by pattern; parameters as for `link_methods`."""

    def poincare(graph: Graph, seed: int) -> DirectedScorer:
        return DistanceScorer(_poincare(graph, seed, n_components, on_progress))

    own: dict[str, Callable[[Graph, Pattern], DirectedScorer]] = {
        "popularity": popularity,
        "directed Adamic-Adar": directed_adamic_adar,
        "directed paths of three": directed_paths_of_three,
        "SVD of the type": pattern_svd,
        "item-based neighbours": items_alike,
    }
    methods: dict[str, PatternMethod] = {name: _of_pattern(score) for name, score in own.items()}
    return methods | ({GENSIM_ROW: for_all_patterns(poincare)} if gensim else {})


def for_all_patterns(method: DirectedMethod) -> PatternMethod:
    """Return the method that scores pairs of every pattern alike."""

    def scorers(graph: Graph, seed: int) -> Callable[[Pattern], DirectedScorer]:
        scorer = method(graph, seed)
        return lambda pattern: scorer

    return scorers


def _of_pattern(score: Callable[[Graph, Pattern], DirectedScorer]) -> PatternMethod:
    return lambda graph, seed: partial(score, graph)


def feature_methods(
    n_components: int, on_progress: Progress = no_progress, *, gensim: bool = False
) -> dict[str, Features]:
    """Return the baselines for node classification; parameters as for `link_methods`."""

    def poincare(graph: Graph, seed: int) -> Array:
        return to_klein(_poincare(graph, seed, n_components, on_progress))

    return {
        "SVD of the attributes": lambda graph, seed: attribute_svd(graph, n_components, seed),
        **({GENSIM_ROW: poincare} if gensim else {}),
        "majority class": lambda graph, seed: np.empty((graph.n_nodes, 0)),
    }


def _attribute_cosine(graph: Graph) -> PairScorer:
    scorer = attribute_cosine(graph)
    if scorer is None:
        raise BaselineUnavailableError("the graph has no attributes")
    return scorer


def _poincare(graph: Graph, seed: int, n_components: int, on_progress: Progress) -> Array:
    return poincare_embedding(graph, n_components, seed, prefixed(on_progress, f"seed {seed}: "))


class OwnRows:
    """Trains what our rows need of one training graph, once for all of them.

    The parameters named in `choose` are chosen for that graph, by edges held out of it, in `choose_seconds`.
    """

    def __init__(
        self, model: Embedder, choose: Sequence[str], choose_seconds: float | None, on_progress: Progress
    ) -> None:
        self._model, self._choose, self._choose_seconds = model, tuple(choose), choose_seconds
        self._on_progress = on_progress
        self._fitted: Embedder | None = None
        self._held_out: HeldOut | None = None
        self.choice: Choice | None = None
        """What was chosen, once a row has been scored."""

    def methods(self, *, combined: bool) -> dict[str, Method]:
        """Return the rows by name."""
        if combined:
            return {HEAT_ROW: self._distance, COMBINED_ROW: self._combined}
        return {HEAT_ROW: self._distance}

    def of_patterns(self, *, combined: bool) -> dict[str, PatternMethod]:
        """Return the rows of each pattern by name."""
        rows: dict[str, PatternMethod] = {HEAT_ROW: for_all_patterns(self._distance)}
        return rows | ({COMBINED_ROW: self._by_pattern} if combined else {})

    def _by_pattern(self, graph: Graph, seed: int) -> Callable[[Pattern], DirectedScorer]:
        try:
            score = link_score(self._without(graph, seed), graph)
        except CalibrationError as error:
            raise BaselineUnavailableError(str(error)) from error
        return score.scorers(self._fit(graph, seed).embedding_, graph)

    def _distance(self, graph: Graph, seed: int) -> DistanceScorer:
        return DistanceScorer(self._fit(graph, seed).embedding_)

    def _combined(self, graph: Graph, seed: int) -> PairScorer:
        try:
            held_out = self._without(graph, seed)
            split = replace(held_out.split, train=replace(held_out.split.train, relationships=None))
            untyped = replace(graph, relationships=None)
            score = link_score(held_out._replace(split=split), untyped)
        except CalibrationError as error:
            raise BaselineUnavailableError(str(error)) from error
        return score.scorers(self._fit(graph, seed).embedding_, untyped)(None)

    def _fit(self, graph: Graph, seed: int) -> Embedder:
        if self._fitted is None:
            model: Any = clone(self._model).set_params(random_state=seed)
            if self._choose:
                limits: Any = {"budget_seconds": self._choose_seconds, "on_progress": self._stage(seed, "")}
                self.choice = choose_parameters(model, graph, self._choose, **limits)
                model.set_params(**self.choice.parameters)
            self._fitted = model.fit(graph, on_progress=self._stage(seed, ""))
        return self._fitted

    def _without(self, graph: Graph, seed: int) -> HeldOut:
        model = self._fit(graph, seed)
        if self._held_out is None:
            progress = self._stage(seed, "without a tenth of the edges, ")
            self._held_out = embed_without(model, graph, on_progress=progress)
        return self._held_out

    def _stage(self, seed: int, what: str) -> Progress:
        return prefixed(self._on_progress, f"seed {seed}: {HEAT_ROW} {what}")
