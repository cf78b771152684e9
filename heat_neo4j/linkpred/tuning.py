"""Parameters chosen by measurement: which of them predict edges that training did not see best.

One part of the edges is held out once, and every setting is judged by how well its distances tell these edges
from other pairs. Most settings are given a fraction of the walks only; the better ones go on (successive
halving: Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
AISTATS 2016).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter
from typing import Any, Self

from sklearn.base import clone

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.random import draw_seed
from heat_neo4j.embedding.fitting import Estimator, NothingToLearnError
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges

GRIDS: Mapping[str, tuple[float, ...]] = {
    "alpha": (0.0, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
    "window_size": (2, 3, 5, 8),
    "negative_exponent": (0.0, 0.25, 0.5, 0.75),
    "sigma": (0.7, 1.0, 1.4),
    "learning_rate": (0.02, 0.05, 0.1),
}
"""The values tried for each parameter that can be chosen, in the order of choosing."""

_RUNGS = ((0.2, None), (0.5, 3), (1.0, 2))
"""Share of the walks, and how many settings get them (None for all): 4.9 fits for the seven alphas."""

_MIN_EDGES = 30  # held-out edges; fewer cannot tell two settings apart
_NON_EDGES_PER_EDGE = 10  # they cost little and halve the noise

Parameters = dict[str, float]


class TuningError(ValueError):
    """No parameter can be chosen on this graph; the message says why."""


@dataclass(frozen=True)
class Trial:
    """One setting that was tried."""

    parameters: Mapping[str, float]  # the chosen parameters' values; all others were the model's own
    walks_per_node: int
    auroc: float  # held-out edges against other pairs, [0, 1]
    seconds: float  # of its training


@dataclass(frozen=True)
class Choice:
    """Parameters that were chosen, and why."""

    parameters: Mapping[str, float]  # the chosen values, for `HEAT.set_params`
    trials: tuple[Trial, ...]  # in their order
    n_edges: int  # held-out pairs by which the trials were judged
    n_non_edges: int
    seconds: float  # time that it took
    budget_seconds: float | None  # time that it was given
    complete: bool  # whether everything was tried; False where the budget ended the search

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as JSON data; `from_dict` reads it."""
        return {**asdict(self), "trials": [asdict(trial) for trial in self.trials]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the choice of which `to_dict` made `data`."""
        return cls(**{**data, "trials": tuple(Trial(**trial) for trial in data["trials"])})


def choose_parameters(
    model: Estimator,
    graph: Graph,
    names: Sequence[str] = ("alpha",),
    *,
    share: float = 0.1,
    budget_seconds: float | None = None,
    on_progress: Progress = no_progress,
) -> Choice:
    """Choose parameters of `model` for `graph` by how well they predict held-out edges.

    One parameter after the other is chosen, in the order of `GRIDS`, with the ones before it as chosen and
    the ones after it as in `model`. Without attributes `alpha` is 0: nothing is tried.

    Parameters
    ----------
    model : HEAT
        All other parameters, and the seed. It is left as it is.
    graph : Graph
        The graph to choose for. To judge the chosen model by test edges, give the training graph only.
    names : sequence of str
        Which parameters to choose, of `GRIDS`.
    share : float
        Share of the edges to hold out, in (0, 1).
    budget_seconds : float, optional
        Time to spend; no training is begun that would probably end later, but one is always made. About five
        fits for each parameter if not given.
    on_progress : callable
        Called with ("choose <name>", trials done, trials in all).

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        If a name is not in `GRIDS`, or the budget is not above 0.
    TuningError
        If fewer than 30 edges can be held out while every node keeps one, or what is left cannot be embedded.
    """
    unknown = sorted(set(names) - set(GRIDS))
    if unknown:
        raise ValueError(f"{unknown[0]!r} cannot be chosen; these can: {', '.join(GRIDS)}")
    if budget_seconds is not None and not budget_seconds > 0:
        raise ValueError(f"budget_seconds must be above 0, got {budget_seconds}")
    began = perf_counter()
    remaining = [name for name in GRIDS if name in names]
    chosen: Parameters = {}
    if "alpha" in remaining and graph.n_attributes == 0:
        chosen["alpha"] = 0.0
        remaining.remove("alpha")
    if not remaining:
        return Choice(chosen, (), 0, 0, perf_counter() - began, budget_seconds, complete=True)
    seed = draw_seed(model.random_state)
    trials = _Trials(clone(model).set_params(random_state=seed), _split(graph, share, seed), budget_seconds)
    complete = True
    for name in remaining:
        own = getattr(model, name)  # comes first, so that it wins where nothing is better
        settings = [{**chosen, name: value} for value in dict.fromkeys((own, *GRIDS[name]))]
        best, tried_all = _halve(settings, trials, partial(on_progress, f"choose {name}"))
        chosen = dict(best)
        complete = complete and tried_all
    edges, others = len(trials.split.test_edges), len(trials.split.test_non_edges)
    return Choice(chosen, tuple(trials.made), edges, others, perf_counter() - began, budget_seconds, complete)


def _split(graph: Graph, share: float, seed: int) -> EdgeSplit:
    try:
        split = split_edges(graph, share, random_state=seed, non_edges_per_edge=_NON_EDGES_PER_EDGE)
    except ValueError as error:
        raise TuningError(f"no parameter can be chosen: {error}") from error
    if len(split.test_edges) < _MIN_EDGES:
        raise TuningError(
            f"no parameter can be chosen: {plural(len(split.test_edges), 'edge')} can be held out while "
            f"every node keeps one, and it takes {_MIN_EDGES}"
        )
    return split


class _Trials:
    """Trains settings, and keeps what came of them and what time is left."""

    def __init__(self, model: Estimator, split: EdgeSplit, budget_seconds: float | None) -> None:
        self.split = split
        self.made: list[Trial] = []
        self._model = model
        self._ends = None if budget_seconds is None else perf_counter() + budget_seconds

    def affordable(self, walks: int) -> bool:
        """Tell whether a training with so many walks would probably end in time."""
        if self._ends is None or not self.made:
            return True
        # The first training may have compiled the kernels: the quickest one tells what a walk takes.
        per_walk = min(trial.seconds / trial.walks_per_node for trial in self.made)
        return perf_counter() + per_walk * walks <= self._ends

    def walks(self, fraction: float) -> int:
        return max(round(fraction * self._model.walks_per_node), 1)

    def run(self, setting: Parameters, walks: int) -> float:
        """Return the AUROC of a setting; one that was tried with as many walks is not trained again."""
        effective = self._effective(setting)
        for trial in self.made:
            if trial.walks_per_node == walks and self._effective(trial.parameters) == effective:
                return trial.auroc
        began = perf_counter()
        candidate = clone(self._model).set_params(**setting, walks_per_node=walks)
        try:
            points = candidate.fit(self.split.train).embedding_
        except NothingToLearnError as error:
            raise TuningError(f"no parameter can be chosen: {error}") from error
        edges = pair_distances(points, self.split.test_edges)
        others = pair_distances(points, self.split.test_non_edges)
        quality = auroc(-edges, -others)
        self.made.append(Trial(setting, walks, quality, perf_counter() - began))
        return quality

    def _effective(self, setting: Mapping[str, float]) -> Parameters:
        return {name: setting.get(name, getattr(self._model, name)) for name in GRIDS}


def _halve(
    settings: list[Parameters], trials: _Trials, on_progress: Callable[[int, int], None]
) -> tuple[Parameters, bool]:
    """Return the best setting, and whether the budget let all be tried."""
    sizes = [min(size or len(settings), len(settings)) for _, size in _RUNGS]
    done, total = 0, sum(sizes)
    on_progress(done, total)
    for (fraction, _), size in zip(_RUNGS, sizes, strict=True):
        walks = trials.walks(fraction)
        scores: list[float] = []
        for setting in settings[:size]:
            if not trials.affordable(walks):
                # What was tried with as many walks can be compared; without a rival the last rung decides.
                return (_sorted(settings, scores)[0] if len(scores) > 1 else settings[0]), False
            scores.append(trials.run(setting, walks))
            done += 1
            on_progress(done, total)
        settings = _sorted(settings, scores)
    return settings[0], True


def _sorted(settings: list[Parameters], scores: list[float]) -> list[Parameters]:
    """Return the scored settings, best first; equal ones in their order."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    return [settings[place] for place in order]
