"""Link prediction, network reconstruction and the choice of alpha: methods side by side, seed by seed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.evaluation.hard_negatives import HARDEST
from heat_neo4j.evaluation.link_figures import HeldOutLinks, Negatives, held_out_links, measure_links
from heat_neo4j.evaluation.methods import (
    HEAT_ROW,
    SCORE_ROW,
    SEEDS,
    EvaluationError,
    Method,
    OwnRows,
    TunedScorers,
    Unseeded,
    check_seeds,
    described,
    fit_heat,
    for_all_patterns,
    link_methods,
    reconstruction_methods,
    sizes_of,
)
from heat_neo4j.evaluation.ranking import DEFAULT_LIMITS, Limits, measure_reconstruction
from heat_neo4j.evaluation.report import Curve, Evaluation, Row, Trials, comparison_notes
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.conversion import as_graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.scorers import DistanceScorer
from heat_neo4j.linkpred.splits import EdgeSplit, Split, split_edges
from heat_neo4j.patterns import Pattern

ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)


def evaluate_links(
    graph: Any,
    model: Embedder,
    patterns: Sequence[str | Sequence[str]] = (),
    *,
    share: float = 0.15,
    split: Split = "random",
    negatives: Negatives = "all",
    seeds: Sequence[int] = SEEDS,
    methods: Mapping[str, Method] | None = None,
    combined: bool = True,
    choose: Sequence[str] = (),
    choose_seconds: float | None = None,
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Progress = no_progress,
) -> Evaluation:
    """Hold out pairs and measure how well methods rank their links, by pattern where the graph has patterns.

    A held-out pair loses all its relationships, of whatever type and direction. Every method gets the
    training graph of the split, and nothing else. Checked on the way: no held-out pair is linked in that
    graph, no method has a graph of its own that holds one, none changes what it is given. For the figures see
    `link_figures.measure_links`; a row belongs to `Row.pattern`, which is empty for a graph without
    directions.

    Parameters
    ----------
    graph : Graph, or what `as_graph` takes
        The whole graph.
    model : HEAT
        Cloned with ``random_state=seed`` for each seed; it stays as it is.
    patterns : sequence of str or of (source label, type, target label)
        As for `predict_links`; all common patterns of the graph if not given.
    share : float
        Share of the edges, of whatever pattern, to hold out, in (0, 1).
    split : {"random", "connected", "time"}
        Which edges are held out: any, such that each node keeps one, or the latest; see `splits.split_edges`.
    negatives : {"all", "hard"}
        What a held-out partner is ranked among: all targets that the source is not linked to, or the 500
        hardest of them; see `hard_negatives`.
    seeds : sequence of int
        A seed decides the split, and whatever a method draws.
    methods : mapping of str to Method, optional
        The baselines; `methods.link_methods` of the model's dimension if not given.
    combined : bool
        Whether a second row of ours adds the link score. It takes one more training for each seed,
        without a tenth of the training edges. Where nothing can be fitted, the row says why.
    choose : sequence of str
        Parameters to choose for each training graph by `tuning.choose_parameters`.
    choose_seconds : float, optional
        Time for that, for each seed.
    limits : Limits
        What is exact and what is sampled.
    on_progress : callable
        Called with stages such as "seed 0: HEAT train" and "seed 0: Adamic-Adar".

    Returns
    -------
    Evaluation

    Raises
    ------
    EvaluationError
        If a pattern is not in the graph, or no link of any can be held out.
    TuningError
        If so few edges are left that no parameter can be chosen.
    NothingToLearnError, ValueError
        If `HEAT.fit` refuses, or a scorer gives a score that is not finite.
    """
    graph = as_graph(graph)
    wanted = _patterns(graph, patterns)
    baselines = link_methods(model.n_components, on_progress) if methods is None else methods
    table, own_rows = _LinkTable(wanted, on_progress), list[OwnRows]()
    seeds, splits = check_seeds(seeds), dict[str, list[Any]]()
    for seed in seeds:
        cut = _noted_split(graph, share, seed, split, splits)
        own_rows.append(OwnRows(model, choose, choose_seconds, on_progress))
        held_out = _held_out(graph, cut, wanted, seed, limits, negatives)
        for name, method in {**own_rows[-1].methods(combined=combined), **baselines}.items():
            table.score(name, method, cut, seed, held_out)
    settings = {"share": share, "split": split, "negatives": negatives, **splits, **described(model)}
    if choose:
        choices = [own.choice for own in own_rows]
        settings["chosen"] = [{} if each is None else dict(each.parameters) for each in choices]
    rows = table.rows()
    if not rows:
        raise EvaluationError("; ".join(map(_nothing, wanted)))
    notes = tuple(table.notes(rows, limits, negatives))
    return Evaluation("links", rows, seeds, sizes_of(graph), settings, notes, table.curves)


def evaluate_reconstruction(
    graph: Any,
    model: Embedder,
    *,
    seeds: Sequence[int] = SEEDS,
    methods: Mapping[str, Method] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Progress = no_progress,
) -> Evaluation:
    """Train on the whole graph and measure how well methods tell its edges from all other pairs.

    See `ranking.measure_reconstruction` for the figures, and `evaluate_links` for parameters and errors; the
    baselines are `methods.reconstruction_methods`. It says how much of a graph fits into so many dimensions,
    not how well links are predicted.
    """
    graph = as_graph(graph)
    if graph.n_edges == 0 or graph.n_edges == graph.n_nodes * (graph.n_nodes - 1) // 2:
        raise EvaluationError(f"{graph!r} has no edges, or no non-edges: nothing to tell apart")
    baselines = reconstruction_methods(model.n_components, on_progress) if methods is None else methods
    trials: defaultdict[str, Trials] = defaultdict(Trials)
    curves: dict[str, dict[str, Curve]] = {"precision_recall": {}}
    for seed in check_seeds(seeds):
        for name, method in {HEAT_ROW: _heat(model, on_progress), **baselines}.items():
            of_method = trials[name]
            if of_method.missing:
                continue
            if isinstance(method, Unseeded) and of_method.metrics:
                of_method.repeat()
                continue
            start = perf_counter()
            with one_blas_thread():
                try:
                    scorer = method(graph, seed)(None)
                except BaselineUnavailableError as error:
                    of_method.missing = str(error)
                    continue
                seconds = perf_counter() - start
                on_progress(f"seed {seed}: {name}", 0, 1)
                figures = measure_reconstruction(scorer, graph, seed, limits)
            of_method.add(figures, seconds)
            on_progress(f"seed {seed}: {name}", 1, 1)
            curves["precision_recall"].setdefault(name, figures.precision_recall)
    rows = tuple(each.row(name, None, is_ours=name == HEAT_ROW) for name, each in trials.items())
    notes = list(comparison_notes(rows, ("auroc",)))
    if graph.n_nodes > limits.exact_nodes:
        notes.append(
            f"more than {limits.exact_nodes:,} nodes: only {limits.nodes:,} of them, drawn by the seed, "
            "are asked for rankings (se: standard error of one seed's figure, by sampling); "
            "precision at k needs every pair and is left out"
        )
        pairs = graph.n_nodes * (graph.n_nodes - 1) // 2 - graph.n_edges
        notes.append(
            f"{limits.non_edges:,} of {pairs:,} non-edges are drawn: one stands for "
            f"{pairs / limits.non_edges:,.0f}, so AP leans high if the best-scored pairs are few"
        )
    settings = described(model)
    return Evaluation("reconstruction", rows, tuple(seeds), sizes_of(graph), settings, tuple(notes), curves)


def evaluate_alpha(
    graph: Any,
    model: Embedder,
    alphas: Sequence[float] = ALPHAS,
    *,
    share: float = 0.15,
    split: Split = "random",
    seeds: Sequence[int] = SEEDS,
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Progress = no_progress,
) -> Evaluation:
    """Rank the links of all pairs with one alpha after the other, on the same splits: one row for each.

    `Row.at` is the alpha. Parameters and errors are those of `evaluate_links`. A graph without attributes is
    an EvaluationError.
    """
    graph = as_graph(graph)
    if graph.n_attributes == 0:
        raise EvaluationError("the graph has no attributes, so alpha changes nothing: name some")
    if not alphas or len(set(alphas)) < len(alphas):
        raise EvaluationError("give each alpha once, and at least one")
    table, splits = _LinkTable((None,), on_progress), dict[str, list[Any]]()
    for seed in check_seeds(seeds):
        cut = _noted_split(graph, share, seed, split, splits)
        held_out = _held_out(graph, cut, (None,), seed, limits, "all")
        for alpha in alphas:
            method = _heat(clone(model).set_params(alpha=alpha), on_progress, f"alpha {alpha:g}")
            table.score(HEAT_ROW, method, cut, seed, held_out, alpha)
    rows = table.rows()
    if not rows:
        raise EvaluationError(_nothing(None))
    best = max(rows, key=lambda row: row.figures["mean_reciprocal_rank"].mean)
    settings = {"share": share, "split": split, **splits, **described(model)}
    del settings["alpha"]
    note = f"best alpha by MRR: {best.at:g} ({best.figures['mean_reciprocal_rank'].mean:.4f})"
    notes = (note, *table.notes(rows, limits, "all"))
    return Evaluation("alpha", rows, tuple(seeds), sizes_of(graph), settings, notes, table.curves)


def _patterns(graph: Graph, specs: Sequence[str | Sequence[str]]) -> tuple[Pattern | None, ...]:
    """Return the patterns that are asked for; of a graph without directions, None alone."""
    if graph.relationships is None:
        if specs:
            raise EvaluationError(f"{graph!r} knows no directions and types: it has no pattern")
        return (None,)
    try:
        return patterns_of(graph, specs)
    except ValueError as error:
        raise EvaluationError(str(error)) from error


def _noted_split(graph: Graph, share: float, seed: int, how: Split, noted: dict[str, list[Any]]) -> EdgeSplit:
    """Return a split of the graph, and note its size and time."""
    try:
        split = split_edges(graph, share, seed, how=how)
    except ValueError as error:
        raise EvaluationError(str(error)) from error
    noted.setdefault("test_edges", []).append(len(split.test_edges))
    if split.since_text is not None:
        noted.setdefault("since", []).append(split.since_text)
    return split


def _held_out(
    graph: Graph,
    split: EdgeSplit,
    patterns: Sequence[Pattern | None],
    seed: int,
    limits: Limits,
    negatives: Negatives,
) -> dict[Pattern | None, HeldOutLinks]:
    """Return the held-out links of each pattern that has some."""
    found = {each: held_out_links(graph, split, each, seed, limits, negatives) for each in patterns}
    return {pattern: links for pattern, links in found.items() if links is not None}


def _heat(model: Embedder, on_progress: Progress, name: str = HEAT_ROW) -> Method:
    return for_all_patterns(
        lambda graph, seed: DistanceScorer(fit_heat(model, graph, seed, on_progress, name))
    )


class _LinkTable:
    """Rows of link prediction as they fill, seed by seed."""

    def __init__(self, patterns: Sequence[Pattern | None], on_progress: Progress) -> None:
        self._patterns, self._on_progress = patterns, on_progress
        self._trials: dict[Pattern | None, defaultdict[tuple[str, float | None], Trials]] = {
            each: defaultdict(Trials) for each in patterns
        }
        self.curves: dict[str, dict[str, Curve]] = {}

    def score(
        self,
        name: str,
        method: Method,
        split: EdgeSplit,
        seed: int,
        held_out: Mapping[Pattern | None, HeldOutLinks],
        at: float | None = None,
    ) -> None:
        """Add what a method reaches on each pattern of which something is held out."""
        trials = {pattern: self._trials[pattern][name, at] for pattern in held_out}
        if trials and all(each.missing for each in trials.values()):
            return
        stage = f"seed {seed}: {name}" + ("" if at is None else f" at {at:g}")
        with one_blas_thread():
            start = perf_counter()
            try:
                scorers = method(split.train, seed)
            except BaselineUnavailableError as error:
                for each in trials.values():
                    each.missing = str(error)
                return
            before = perf_counter() - start
            self._on_progress(stage, 0, len(held_out))
            for done, (pattern, links) in enumerate(held_out.items(), start=1):
                start = perf_counter()
                try:
                    scorer = scorers(pattern)
                except BaselineUnavailableError as error:
                    trials[pattern].missing = str(error)
                    continue
                seconds = before + perf_counter() - start
                figures = measure_links(scorer, links)
                chosen = scorers.chosen[pattern] if isinstance(scorers, TunedScorers) else ""
                trials[pattern].add(figures, seconds, chosen)
                label = name if at is None else f"{name}, alpha {at:g}"
                self.curves.setdefault(_name(pattern), {}).setdefault(label, figures.roc)
                self._on_progress(stage, done, len(held_out))

    def rows(self) -> tuple[Row, ...]:
        """Return the rows, pattern by pattern."""
        return tuple(
            trials.row(name, at, is_ours=name in (HEAT_ROW, SCORE_ROW), pattern=_name(pattern))
            for pattern, methods in self._trials.items()
            for (name, at), trials in methods.items()
        )

    def notes(self, rows: Sequence[Row], limits: Limits, negatives: Negatives) -> Iterator[str]:
        """Yield by pattern how the last of our rows compares, and what must be said about the figures."""
        for pattern in self._patterns:
            own = [row for row in rows if row.pattern == _name(pattern)]
            if not own:
                yield _nothing(pattern)
                continue
            ours = [row for row in own if row.is_ours and row.figures][-1:]
            baselines = [row for row in own if not row.is_ours]
            of = "" if pattern is None else f" of {pattern}"
            yield from comparison_notes([*ours, *baselines], ("mean_reciprocal_rank",), of)
        if negatives == "hard":
            yield (
                f"hard negatives: {limits.nodes:,} sources at most rank {HARDEST} targets each, the hardest "
                "by Adamic-Adar, paths of three, PageRank and attributes; precision at k needs all of them"
            )
        if any(figure.errors for row in rows for figure in row.figures.values()):
            yield (
                f"{limits.nodes:,} of the sources, drawn by the seed, rank targets (se: standard error of "
                "one seed's figure, by sampling); precision at k needs all of them"
            )


def _name(pattern: Pattern | None) -> str:
    return "" if pattern is None else str(pattern)


def _nothing(pattern: Pattern | None) -> str:
    of = "" if pattern is None else f"{pattern}: "
    return f"{of}no link is held out, or there is no other pair"
