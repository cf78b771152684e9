"""The rows that are ours in link prediction: distance and combined score, by parameters given or chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from heat_neo4j._progress import Progress, prefixed
from heat_neo4j.baselines import BaselineUnavailableError
from heat_neo4j.calibration import CalibrationError, HeldOut, embed_without, link_probability
from heat_neo4j.estimator import HEAT
from heat_neo4j.evaluation.methods import HEAT_ROW, Method
from heat_neo4j.graph import Graph
from heat_neo4j.link_score import link_score
from heat_neo4j.scorers import DistanceScorer, PairScorer
from heat_neo4j.tuning import Choice, choose_parameters

__all__ = ["COMBINED_ROW", "OwnRows", "ProbableScorer"]

COMBINED_ROW = "HEAT, combined score"
"""Name of the row in which distance is joined by what the graph says of a pair."""

Array = NDArray[np.float64]


class ProbableScorer:
    """A scorer whose scores have a probability, at even odds.

    Parameters
    ----------
    scorer : PairScorer
        What it is about.
    probability : callable
        Turns scores into probabilities.
    """

    def __init__(self, scorer: PairScorer, probability: Callable[[Array], Array]) -> None:
        self._scorer = scorer
        self.probability = probability
        self.n_nodes = scorer.n_nodes

    def pairs(self, pairs: NDArray[np.int64]) -> Array:
        """Return the scores of pairs, shape (m,)."""
        return self._scorer.pairs(pairs)

    def rows(self, begin: int, end: int) -> Array:
        """Return the scores of some nodes with every node, shape (end - begin, N)."""
        return self._scorer.rows(begin, end)


class OwnRows:
    """Trains what our rows need of one training graph, once for all of them.

    Parameters
    ----------
    model : HEAT
        Cloned with ``random_state=seed``.
    choose : sequence of str
        Parameters to choose for the training graph, by edges held out of it.
    choose_seconds : float, optional
        Time for that.
    on_progress : callable
        Told about every training.
    """

    def __init__(
        self, model: HEAT, choose: Sequence[str], choose_seconds: float | None, on_progress: Progress
    ) -> None:
        self._model, self._choose, self._choose_seconds = model, tuple(choose), choose_seconds
        self._on_progress = on_progress
        self._fitted: HEAT | None = None
        self._held_out: HeldOut | None = None
        self.choice: Choice | None = None
        """What was chosen, once a row has been scored."""

    def methods(self, *, combined: bool) -> dict[str, Method]:
        """Return the rows by name."""
        rows: dict[str, Method] = {HEAT_ROW: self._distance}
        if combined:
            rows = {HEAT_ROW: self._probable_distance, COMBINED_ROW: self._combined}
        return rows

    def _distance(self, graph: Graph, seed: int) -> PairScorer:
        return DistanceScorer(self._fit(graph, seed).embedding_)

    def _probable_distance(self, graph: Graph, seed: int) -> PairScorer:
        scorer = self._distance(graph, seed)
        try:
            law = link_probability(self._without(graph, seed))
        except CalibrationError:  # the figures of the distance itself need no probability
            return scorer
        return ProbableScorer(scorer, lambda scores: law(-scores))

    def _combined(self, graph: Graph, seed: int) -> PairScorer:
        try:
            score = link_score(self._without(graph, seed))
        except CalibrationError as error:
            raise BaselineUnavailableError(str(error)) from error
        return ProbableScorer(score.scorer(self._fit(graph, seed).embedding_, graph), score.probability)

    def _fit(self, graph: Graph, seed: int) -> HEAT:
        if self._fitted is None:
            model: Any = clone(self._model).set_params(random_state=seed)
            if self._choose:
                self.choice = choose_parameters(
                    model,
                    graph,
                    self._choose,
                    budget_seconds=self._choose_seconds,
                    on_progress=self._stage(seed, ""),
                )
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
