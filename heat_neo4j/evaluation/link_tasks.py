"""Evaluation of link prediction: the compared methods, HEAT and baselines, over several seeds.

A method is a function of a training graph and a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any

from sklearn.base import clone

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.progress import Progress, as_progress, no_progress, prefixed
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j._utils.validation import check_integer
from heat_neo4j.embedding.hierarchical_types import require_type
from heat_neo4j.evaluation.baselines import ease, item_neighbours, rp3beta, stack
from heat_neo4j.evaluation.link_figures import (
    DEFAULT_LIMITS,
    HeldOutLinks,
    Limits,
    held_out_links,
    measure_links,
)
from heat_neo4j.evaluation.report import LINK_METRICS, Curve, Evaluation, Row, comparison_notes
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.inputs.conversion import as_graph
from heat_neo4j.linkpred.baselines import (
    BaselineUnavailableError,
    adamic_adar,
    attribute_cosine,
    paths_of_three,
    poincare_embedding,
    popularity,
    truncated_svd,
)
from heat_neo4j.linkpred.calibration import CalibrationError, HeldOut, drop_lost_hierarchy, hold_out
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.implications import repetitions
from heat_neo4j.linkpred.link_score import link_score
from heat_neo4j.linkpred.scorers import DirectedScorer, DistanceScorer
from heat_neo4j.linkpred.splits import EdgeSplit, Split, latest_or_random, split_edges
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
_FEWEST = 10  # held-out links, to compare methods
_TRIAL_LIMITS = Limits(exact_nodes=0, nodes=300)


class EvaluationError(ValueError):
    """Raised if the graph cannot be evaluated as requested; the message says why."""


def evaluate_links(
    graph: Any,
    model: HEAT,
    patterns: Sequence[str | Sequence[str]] = (),
    *,
    share: float = 0.15,
    split: Split = "random",
    seeds: Sequence[int] = SEEDS,
    methods: Mapping[str, Method] | None = None,
    baselines: bool = True,
    gensim: bool = False,
    score: str = "link",
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Progress | bool = False,
) -> Evaluation:
    """Hold out pairs and compare how well methods rank their links, for each pattern.

    A held-out pair loses all its relationships, of any type and direction. Every method receives only the
    training graph of the split, so held-out pairs cannot leak. The metrics are those of
    `link_figures.measure_links`. `Row.pattern` is empty for an undirected graph.

    Parameters
    ----------
    graph : Graph or any input of `as_graph`
        The whole graph; for a `Database`, the `Projection` to read.
    model : HEAT
        Cloned with ``random_state=seed`` for each seed; not modified.
    patterns : sequence of str or of (source label, type, target label)
        As for `predict_links`; by default all common patterns of the graph.
    share : float in (0, 1), default 0.15
        Share of the edges, of all patterns, to hold out.
    split : {"random", "connected", "time"}
        Edges to hold out: random ones, random ones such that each node keeps one, or the latest.
    seeds : sequence of int
        Seeds of the split and of each method.
    methods : mapping of str to Method, optional
        The baselines; by default `link_methods` with the model's dimension.
    baselines : bool
        Compare with simpler methods on the same data.
    gensim : bool
        Add gensim's Poincaré embedding, which takes longer than all others together.
    score : {"link", "distance"}
        Rank by the link score too (one more training per seed), or by the distance alone. If no score can
        be fitted, its row gives the reason.
    limits : Limits
        Limits above which sources are sampled.
    on_progress : callable
        Called with stages such as "seed 0: HEAT train" and "seed 0: Adamic-Adar".

    Returns
    -------
    Evaluation

    Raises
    ------
    EvaluationError
        If a pattern or the model's `hierarchy` is not in the graph, or no link of any pattern can be held
        out.
    NothingToLearnError, ValueError
        If `HEAT.fit` raises it, or a scorer returns a score that is not finite.
    """
    graph = as_graph(graph)
    wanted = _patterns(graph, patterns)
    if model.hierarchy is not None:
        with errors_as(EvaluationError):
            require_type(graph, model.hierarchy)
    on_progress = as_progress(on_progress)
    others = methods or {}
    if methods is None and baselines:
        others = link_methods(model.n_components, on_progress, gensim=gensim)
    table, own_rows = _LinkTable(wanted, on_progress), list[OwnRows]()
    seeds, splits = check_seeds(seeds), dict[str, list[Any]]()
    for seed in seeds:
        cut = _noted_split(graph, share, seed, split, splits)
        own_rows.append(OwnRows(model, on_progress))
        links = ((each, held_out_links(graph, cut, each, seed, limits)) for each in wanted)
        held_out = {pattern: found for pattern, found in links if found is not None}
        for name, method in {**own_rows[-1].methods(score), **others}.items():
            table.score(name, method, cut, seed, held_out)
    settings = {"share": share, "split": split, **splits, **described(model)}
    rows = table.rows()
    if not rows:
        raise EvaluationError("; ".join(map(_nothing, wanted)))
    notes = (*table.notes(rows, limits), *repetitions(graph, wanted))
    return Evaluation(rows, seeds, sizes_of(graph), settings, notes, table.curves)


def _patterns(graph: Graph, specs: Sequence[str | Sequence[str]]) -> tuple[Pattern | None, ...]:
    """Return the requested patterns; (None,) for an undirected graph."""
    if graph.relationships is None:
        if specs:
            raise EvaluationError(f"{graph!r} has no directed, typed relationships, so it has no patterns")
        return (None,)
    with errors_as(EvaluationError):
        return patterns_of(graph, specs)


def _noted_split(graph: Graph, share: float, seed: int, how: Split, noted: dict[str, list[Any]]) -> EdgeSplit:
    """Split the graph, and record the split's size and time in `noted`."""
    with errors_as(EvaluationError):
        split = split_edges(graph, share, seed, how=how)
    noted.setdefault("test_edges", []).append(len(split.test_edges))
    if split.since_text is not None:
        noted.setdefault("since", []).append(split.since_text)
    return split


class _LinkTable:
    """Accumulates the rows of a link evaluation, one seed at a time."""

    def __init__(self, patterns: Sequence[Pattern | None], on_progress: Progress) -> None:
        self._on_progress = on_progress
        self._rows: dict[Pattern | None, dict[str, Row]] = {pattern: {} for pattern in patterns}
        self._fewest: dict[Pattern | None, int] = {}  # held-out links of a seed
        self.curves: dict[str, dict[str, Curve]] = {}

    def score(
        self,
        name: str,
        method: Method,
        split: EdgeSplit,
        seed: int,
        held_out: Mapping[Pattern | None, HeldOutLinks],
    ) -> None:
        """Add a method's metrics on each pattern with held-out links."""
        for pattern, links in held_out.items():
            n_links = len(links.pairs)
            self._fewest[pattern] = min(n_links, self._fewest.get(pattern, n_links))
            row = Row(name, is_ours=name in (HEAT_ROW, SCORE_ROW), pattern=_name(pattern))
            self._rows[pattern].setdefault(name, row)
        rows = {pattern: self._rows[pattern][name] for pattern in held_out}
        left = [pattern for pattern, row in rows.items() if not row.missing]
        if rows and not left:
            return
        stage = f"seed {seed}: {name}"
        with one_blas_thread():
            start = perf_counter()
            try:
                scorers = method(split.train, seed)
            except BaselineUnavailableError as error:
                for row in rows.values():
                    row.give_up(str(error))
                return
            before = perf_counter() - start
            self._on_progress(stage, 0, len(left))
            for done, pattern in enumerate(left, start=1):
                start = perf_counter()
                try:
                    scorer = scorers(pattern)
                except BaselineUnavailableError as error:
                    rows[pattern].give_up(str(error))
                    continue
                seconds = before + perf_counter() - start
                figures = measure_links(scorer, held_out[pattern])
                chosen = scorers.chosen[pattern] if isinstance(scorers, TunedScorers) else ""
                rows[pattern].add(seed, figures, seconds, chosen)
                self.curves.setdefault(_name(pattern), {}).setdefault(name, figures.roc)
                self._on_progress(stage, done, len(left))

    def rows(self) -> tuple[Row, ...]:
        """Return the rows, grouped by pattern."""
        return tuple(row for methods in self._rows.values() for row in methods.values())

    def notes(self, rows: Sequence[Row], limits: Limits) -> Iterator[str]:
        """Yield notes: for each pattern how our last row compares, and whether metrics are sampled."""
        for pattern in self._rows:
            own = [row for row in rows if row.pattern == _name(pattern)]
            if not own:
                yield _nothing(pattern)
                continue
            ours = [row for row in own if row.is_ours and row.figures][-1:]
            baselines = [row for row in own if not row.is_ours]
            if baselines and (fewest := self._fewest[pattern]) < _FEWEST:
                name = "" if pattern is None else f"{pattern}: "
                yield f"{name}{plural(fewest, 'link')} held out, too few to compare the methods"
                continue
            of = "" if pattern is None else f" of {pattern}"
            yield from comparison_notes([*ours, *baselines], ("mean_reciprocal_rank",), of, LINK_METRICS)
        if any(figure.errors for row in rows for figure in row.figures.values()):
            yield (
                f"{limits.nodes:,} sampled sources rank targets (se: sampling standard error of one seed's "
                "figure); precision at k needs all sources"
            )


def _name(pattern: Pattern | None) -> str:
    return "" if pattern is None else str(pattern)


def _nothing(pattern: Pattern | None) -> str:
    of = "" if pattern is None else f"{pattern}: "
    return f"{of}no link is held out, or there are no unlinked pairs"


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
        self._held_out: tuple[HeldOut, ...] = ()

    def methods(self, score: str) -> dict[str, Method]:
        """Return our methods by row name."""
        rows: dict[str, Method] = {HEAT_ROW: for_all_patterns(self._distance)}
        return rows | ({SCORE_ROW: self._link_score} if score == "link" else {})

    def _distance(self, graph: Graph, seed: int) -> DistanceScorer:
        return DistanceScorer(self._fit(graph, seed).embedding_)

    def _link_score(self, graph: Graph, seed: int) -> Scorers:
        with errors_as(BaselineUnavailableError, CalibrationError):
            score = link_score(self._without(graph, seed), graph)
        return score.scorers(self._fit(graph, seed).embedding_, graph)

    def _fit(self, graph: Graph, seed: int) -> HEAT:
        if self._fitted is None:
            model: Any = clone(self._model).set_params(random_state=seed)
            drop_lost_hierarchy(model, graph)
            self._fitted = model.fit(graph, on_progress=self._stage(seed, ""))
        return self._fitted

    def _without(self, graph: Graph, seed: int) -> tuple[HeldOut, ...]:
        model = self._fit(graph, seed)
        if not self._held_out:
            progress = self._stage(seed, "without a tenth of the edges, ")
            self._held_out = hold_out(model, graph, on_progress=progress)
        return self._held_out

    def _stage(self, seed: int, what: str) -> Progress:
        return prefixed(self._on_progress, f"seed {seed}: {HEAT_ROW} {what}")
