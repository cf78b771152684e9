"""The compared methods, HEAT and baselines: functions of a training graph and a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.evaluation.link_figures import Limits, held_out_links, measure_links
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.linkpred.baselines import (
    BaselineUnavailableError,
    adamic_adar,
    attribute_cosine,
    paths_of_three,
    poincare_embedding,
    popularity,
    truncated_svd,
)
from heat_neo4j.linkpred.calibration import CalibrationError, HeldOut, embed_without
from heat_neo4j.linkpred.items import ease, item_neighbours, rp3beta
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.scorers import DirectedScorer, DistanceScorer
from heat_neo4j.linkpred.splits import latest_or_random
from heat_neo4j.linkpred.stack import stack
from heat_neo4j.patterns import Pattern

SEEDS = (0, 1, 2, 3, 4)

HEAT_ROW = "HEAT"  # name of the estimator's row
SCORE_ROW = "HEAT, link score"
"""Name of the row of the link score, which combines the distance with features of the graph."""

GENSIM_ROW = "Nickel & Kiela (gensim)"

Scorers = Callable[[Pattern | None], DirectedScorer]
"""Function from a pattern to its scorer; None stands for all pairs, by any edge.

If it raises `BaselineUnavailableError`, the pattern's rows only show the message.
"""

Method = Callable[[Graph, int], Scorers]
"""Called with the training graph and a seed.

If it raises `BaselineUnavailableError`, all its rows only show the message.
"""

Baseline = Callable[[Graph, Pattern | None], DirectedScorer]
"""A score that needs no embedding, such as `baselines.popularity`."""

_TRIAL_SHARE = 0.1  # share of the links held out to tune a baseline's parameters
_TRIAL_LIMITS = Limits(exact_nodes=0, nodes=300)


class EvaluationError(ValueError):
    """Raised if the graph cannot be evaluated as requested; the message says why."""


def check_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Check for one or more distinct, non-negative seeds; raises TypeError or ValueError."""
    checked = tuple(check_integer("seed", seed, minimum=0, maximum=None) for seed in seeds)
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"seeds must be distinct, at least one, got {list(seeds)}")
    return checked


def described(model: HEAT) -> dict[str, Any]:
    """Return the estimator's parameters without seed and threads; seeds are recorded separately."""
    parameters: dict[str, Any] = model.get_params()
    return {name: value for name, value in parameters.items() if name not in ("random_state", "n_threads")}


def sizes_of(graph: Graph) -> dict[str, int]:
    """Return the numbers of nodes, edges and attributes."""
    return {"nodes": graph.n_nodes, "edges": graph.n_edges, "attributes": graph.n_attributes}


def unseeded(baseline: Baseline) -> Method:
    """Return a deterministic method, which depends on the graph alone."""
    return lambda graph, seed: partial(baseline, graph)


def tuned(variants: Mapping[str, Baseline]) -> Method:
    """Return a method whose parameters are tuned for each pattern by the filtered MRR of held-out links.

    `variants` holds the settings by name. The held-out links are the latest if the graph has times.
    """
    return lambda graph, seed: TunedScorers(variants, graph, seed)


class TunedScorers:
    """The scorers of a `tuned` method on one graph; a pattern is tuned on first use."""

    def __init__(self, variants: Mapping[str, Baseline], graph: Graph, seed: int) -> None:
        self._variants, self._graph, self._seed = variants, graph, seed
        self.chosen: dict[Pattern | None, str] = {}
        """The chosen setting of each pattern used so far."""

    def __call__(self, pattern: Pattern | None) -> DirectedScorer:
        """Return the scorer with the best setting."""
        self.chosen[pattern] = best = self._best(pattern)
        return self._variants[best](self._graph, pattern)

    def _best(self, pattern: Pattern | None) -> str:
        """Return the best setting; the first if nothing can be held out."""
        first = next(iter(self._variants))
        try:
            split = latest_or_random(self._graph, _TRIAL_SHARE, self._seed)
        except ValueError:
            return first
        held_out = held_out_links(self._graph, split, pattern, self._seed, _TRIAL_LIMITS)
        if held_out is None:
            return first
        reached = {}
        for name, score in self._variants.items():
            with suppress(BaselineUnavailableError):
                figures = measure_links(score(split.train, pattern), held_out)
                reached[name] = figures.metrics["mean_reciprocal_rank"]
        return max(reached, key=reached.__getitem__, default=first)


def link_methods(
    n_components: int, on_progress: Progress = no_progress, *, gensim: bool = False
) -> dict[str, Method]:
    """Return the link prediction baselines, tuned for each training graph and pattern.

    With `gensim`, they include gensim's Poincare embedding with `n_components` dimensions, which takes longer
    than all others together and reports progress.
    """
    of_two, of_any = (1.0, 0.5, 0.0), (0.0, 10.0, 100.0)
    neighbours = (20, 200)
    ranks = (8, 32, 128)
    methods: dict[str, Method] = {
        "popularity": unseeded(popularity),
        "Adamic-Adar": tuned({"by the type": adamic_adar, "by any type": _by_any_type(adamic_adar)}),
        "paths of three": tuned(
            {f"damping {value:g}": partial(paths_of_three, damping=value) for value in of_two}
            | {"by any type": _by_any_type(paths_of_three)}
        ),
        "item neighbours": tuned(
            {
                f"shrinkage {value:g}, {k} neighbours": partial(
                    item_neighbours, shrinkage=value, neighbours=k
                )
                for value, k in product(of_any, neighbours)
            }
        ),
        "RP3beta": tuned(
            {
                f"alpha {alpha:g}, beta {beta:g}, {k} neighbours": partial(
                    rp3beta, alpha=alpha, beta=beta, neighbours=k
                )
                for alpha, beta, k in product((0.7, 1.0), (0.0, 0.3, 0.6), neighbours)
            }
        ),
        "EASE": tuned({f"ridge {value:g}": partial(ease, ridge=value) for value in (10.0, 100.0, 1000.0)}),
        "SVD": tuned(
            {
                f"rank {rank}{', normalised' if normalised else ''}": partial(
                    truncated_svd, rank=rank, normalised=normalised
                )
                for rank, normalised in product(ranks, (False, True))
            }
        ),
        "attribute cosine": unseeded(_attribute_cosine),
        "stack": lambda graph, seed: partial(stack, graph, seed=seed),
    }
    return methods | ({GENSIM_ROW: _poincare_method(n_components, on_progress)} if gensim else {})


def for_all_patterns(method: Callable[[Graph, int], DirectedScorer]) -> Method:
    """Return a method that uses the same scorer for all patterns."""

    def scorers(graph: Graph, seed: int) -> Scorers:
        scorer = method(graph, seed)
        return lambda pattern: scorer

    return scorers


def _by_any_type(baseline: Callable[[Graph], DirectedScorer]) -> Baseline:
    return lambda graph, pattern: baseline(graph)


def _poincare_method(n_components: int, on_progress: Progress) -> Method:
    def scorer(graph: Graph, seed: int) -> DirectedScorer:
        progress = prefixed(on_progress, f"seed {seed}: ")
        return DistanceScorer(poincare_embedding(graph, n_components, seed, progress))

    return for_all_patterns(scorer)


def _attribute_cosine(graph: Graph, pattern: Pattern | None) -> DirectedScorer:
    scorer = attribute_cosine(graph)
    if scorer is None:
        raise BaselineUnavailableError("the graph has no attributes")
    return scorer


class OwnRows:
    """Trains the models that our rows share, once per training graph."""

    def __init__(self, model: HEAT, on_progress: Progress) -> None:
        self._model, self._on_progress = model, on_progress
        self._fitted: HEAT | None = None
        self._held_out: HeldOut | None = None

    def methods(self, score: str) -> dict[str, Method]:
        """Return our methods by row name."""
        rows: dict[str, Method] = {HEAT_ROW: for_all_patterns(self._distance)}
        return rows | ({SCORE_ROW: self._link_score} if score == "link" else {})

    def _distance(self, graph: Graph, seed: int) -> DistanceScorer:
        return DistanceScorer(self._fit(graph, seed).embedding_)

    def _link_score(self, graph: Graph, seed: int) -> Scorers:
        try:
            score = link_score(self._without(graph, seed), graph)
        except CalibrationError as error:
            raise BaselineUnavailableError(str(error)) from error
        return score.scorers(self._fit(graph, seed).embedding_, graph)

    def _fit(self, graph: Graph, seed: int) -> HEAT:
        if self._fitted is None:
            model: Any = clone(self._model).set_params(random_state=seed)
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
