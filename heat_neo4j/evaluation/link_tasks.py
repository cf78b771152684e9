"""Link prediction, network reconstruction and the choice of alpha: methods side by side, seed by seed."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.evaluation.guard import check_method, check_split, untouched
from heat_neo4j.evaluation.methods import (
    COMBINED_ROW,
    HEAT_ROW,
    SEEDS,
    EvaluationError,
    Method,
    OwnRows,
    Unseeded,
    check_seeds,
    described,
    fit_heat,
    link_methods,
    sizes_of,
)
from heat_neo4j.evaluation.ranking import (
    DEFAULT_LIMITS,
    Limits,
    PairFigures,
    measure_links,
    measure_reconstruction,
)
from heat_neo4j.evaluation.report import Curve, Evaluation, Row, Trials, comparison_notes
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.conversion import as_graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError
from heat_neo4j.linkpred.scorers import DistanceScorer, PairScorer
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges

__all__ = ["Splitter", "checked_split", "evaluate_alpha", "evaluate_links", "evaluate_reconstruction"]

ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)

Splitter = Callable[..., EdgeSplit]
"""Called as ``splitter(graph, share, random_state=seed)``: `splits.split_edges`, or one like it."""


def evaluate_links(
    graph: Any,
    model: Embedder,
    *,
    share: float = 0.15,
    seeds: Sequence[int] = SEEDS,
    methods: Mapping[str, Method] | None = None,
    combined: bool = False,
    choose: Sequence[str] = (),
    choose_seconds: float | None = None,
    splitter: Splitter = split_edges,
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Progress = no_progress,
    on_row: Callable[[Evaluation], None] = lambda table: None,
) -> Evaluation:
    """Hold out edges and measure how well methods predict them; see `ranking.measure_links` for the figures.

    Every method gets the training graph of the split, and nothing else. Checked on the way: no held-out edge
    is an edge of that graph, no method has a graph of its own that holds one, none changes what it is given.

    Parameters
    ----------
    graph : Graph, or what `as_graph` takes
        The whole graph.
    model : HEAT
        Cloned with ``random_state=seed`` for each seed; it stays as it is.
    share : float
        Share of the edges to hold out, in (0, 1).
    seeds : sequence of int
        A seed decides the split, and whatever a method draws.
    methods : mapping of str to Method, optional
        The baselines; `methods.link_methods` of the model's dimension if not given.
    combined : bool
        Whether a second row of ours adds the combined score, and both rows the error of their probabilities.
        It takes one more training for each seed, without a tenth of the training edges. Where nothing can be
        fitted, the row says why.
    choose : sequence of str
        Parameters to choose for each training graph by `tuning.choose_parameters`.
    choose_seconds : float, optional
        Time for that, for each seed.
    splitter : callable
        How edges are held out.
    limits : Limits
        What is exact and what is sampled.
    on_progress : callable
        Called with stages such as "seed 0: HEAT train" and "seed 0: Adamic-Adar".
    on_row : callable
        Called as soon as a row has its last seed, with the table of all such rows, yet without notes.

    Returns
    -------
    Evaluation

    Raises
    ------
    EvaluationError
        If no edge can be held out.
    LeakError
        If something that is tested reaches training.
    TuningError
        If so few edges are left that no parameter can be chosen.
    NothingToLearnError, ValueError
        If `HEAT.fit` refuses, or a scorer gives a score that is not finite.
    """
    graph = as_graph(graph)
    baselines = link_methods(model.n_components, on_progress) if methods is None else methods
    table, own_rows = _Table(limits, on_progress), list[OwnRows]()
    seeds = check_seeds(seeds)

    def evaluation(rows: Sequence[Row], notes: Sequence[str] = ()) -> Evaluation:
        settings = {"share": share, **table.splits, **described(model)}
        if choose:
            choices = [own.choice for own in own_rows]
            settings["chosen"] = [{} if each is None else dict(each.parameters) for each in choices]
        return Evaluation("links", tuple(rows), seeds, sizes_of(graph), settings, tuple(notes), table.curves)

    for seed in seeds:
        split = checked_split(splitter, graph, share, seed, table.splits)
        own_rows.append(OwnRows(model, choose, choose_seconds, on_progress))
        scored = {**own_rows[-1].methods(combined=combined), **baselines}
        for done, (name, method) in enumerate(scored.items(), start=1):
            table.score_links(name, method, split, seed)
            if seed == seeds[-1]:
                on_row(evaluation(table.rows()[:done]))
    rows = table.rows()
    return evaluation(rows, (*comparison_notes(rows, ("auroc",)), *table.notes(graph)))


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

    See `ranking.measure_reconstruction` for the figures, and `evaluate_links` for parameters and errors. It
    says how much of a graph fits into so many dimensions, not how well links are predicted.
    """
    graph = as_graph(graph)
    if graph.n_edges == 0 or graph.n_edges == graph.n_nodes * (graph.n_nodes - 1) // 2:
        raise EvaluationError(f"{graph!r} has no edges, or no non-edges: nothing to tell apart")
    baselines = link_methods(model.n_components, on_progress) if methods is None else methods
    table = _Table(limits, on_progress)
    for seed in check_seeds(seeds):
        for name, method in {HEAT_ROW: _heat(model, on_progress), **baselines}.items():
            table.score_reconstruction(name, method, graph, seed)
    rows = table.rows()
    notes = [*comparison_notes(rows, ("auroc",)), *table.notes(graph)]
    if graph.n_nodes > limits.exact_nodes:
        pairs = graph.n_nodes * (graph.n_nodes - 1) // 2 - graph.n_edges
        notes.append(
            f"{limits.non_edges:,} of {pairs:,} non-edges are drawn: one stands for "
            f"{pairs / limits.non_edges:,.0f}, so AP leans high if the best-scored pairs are few"
        )
    settings = described(model)
    return Evaluation(
        "reconstruction", rows, tuple(seeds), sizes_of(graph), settings, tuple(notes), table.curves
    )


def evaluate_alpha(
    graph: Any,
    model: Embedder,
    alphas: Sequence[float] = ALPHAS,
    *,
    share: float = 0.15,
    seeds: Sequence[int] = SEEDS,
    splitter: Splitter = split_edges,
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Progress = no_progress,
) -> Evaluation:
    """Predict links with one alpha after the other, on the same splits: one row for each, its `Row.at`.

    Parameters and errors are those of `evaluate_links`. A graph without attributes is an EvaluationError.
    """
    graph = as_graph(graph)
    if graph.n_attributes == 0:
        raise EvaluationError("the graph has no attributes, so alpha changes nothing: name some")
    if not alphas or len(set(alphas)) < len(alphas):
        raise EvaluationError("give each alpha once, and at least one")
    table = _Table(limits, on_progress)
    for seed in check_seeds(seeds):
        split = checked_split(splitter, graph, share, seed, table.splits)
        for alpha in alphas:
            method = _heat(clone(model).set_params(alpha=alpha), on_progress, f"alpha {alpha:g}")
            table.score_links(HEAT_ROW, method, split, seed, alpha)
    rows = table.rows()
    best = max(rows, key=lambda row: row.figures["auroc"].mean)
    settings = {"share": share, **table.splits, **described(model)}
    del settings["alpha"]
    note = f"best alpha by AUROC: {best.at:g} ({best.figures['auroc'].mean:.4f})"
    notes = (note, *table.notes(graph))
    return Evaluation("alpha", rows, tuple(seeds), sizes_of(graph), settings, notes, table.curves)


def checked_split(
    splitter: Splitter, graph: Graph, share: float, seed: int, noted: dict[str, list[Any]]
) -> EdgeSplit:
    """Return a checked split of the graph, and note its size and time."""
    try:
        split = splitter(graph, share, random_state=seed)
    except ValueError as error:
        raise EvaluationError(str(error)) from error
    check_split(split)
    noted.setdefault("test_edges", []).append(len(split.test_edges))
    if split.since_text is not None:
        noted.setdefault("since", []).append(split.since_text)
    return split


def _heat(model: Embedder, on_progress: Progress, name: str = HEAT_ROW) -> Method:
    return lambda graph, seed: DistanceScorer(fit_heat(model, graph, seed, on_progress, name))


class _Table:
    """Rows as they fill, seed by seed."""

    def __init__(self, limits: Limits, on_progress: Progress) -> None:
        self._trials: defaultdict[tuple[str, float | None], Trials] = defaultdict(Trials)
        self._limits, self._on_progress = limits, on_progress
        self.curves: dict[str, dict[str, Curve]] = {"roc": {}, "precision_recall": {}}
        self.splits: dict[str, list[Any]] = {}

    def score_links(
        self, name: str, method: Method, split: EdgeSplit, seed: int, at: float | None = None
    ) -> None:
        def measure(scorer: PairScorer) -> PairFigures:
            check_method(name, scorer, split.test_edges)
            return measure_links(scorer, split, seed, self._limits)

        check_method(name, method, split.test_edges)
        self._score(name, method, split.train, seed, measure, at)

    def score_reconstruction(self, name: str, method: Method, graph: Graph, seed: int) -> None:
        trials = self._trials[name, None]
        if isinstance(method, Unseeded) and trials.metrics:
            for values in (trials.metrics, trials.errors, trials.seconds):
                values.append(values[0])  # type: ignore[arg-type]  # each list to itself
            return

        def measure(scorer: PairScorer) -> PairFigures:
            return measure_reconstruction(scorer, graph, seed, self._limits)

        self._score(name, method, graph, seed, measure, None)

    def rows(self) -> tuple[Row, ...]:
        """Return the rows in the order in which they began."""
        return tuple(
            trials.row(name, at, is_ours=name in (HEAT_ROW, COMBINED_ROW))
            for (name, at), trials in self._trials.items()
        )

    def notes(self, graph: Graph) -> Iterator[str]:
        """Yield what must be said about the figures themselves."""
        limits = self._limits
        if graph.n_nodes > limits.exact_nodes:
            yield (
                f"more than {limits.exact_nodes:,} nodes: only {limits.nodes:,} of them, drawn by the seed, "
                "are asked for rankings (se: standard error of one seed's figure, by sampling); "
                "precision at k needs every pair and is left out"
            )

    def _score(
        self,
        name: str,
        method: Method,
        graph: Graph,
        seed: int,
        measure: Callable[[PairScorer], PairFigures],
        at: float | None,
    ) -> None:
        trials = self._trials[name, at]
        if trials.missing:
            return
        stage = f"seed {seed}: {name}" + ("" if at is None else f" at {at:g}")
        start = perf_counter()
        with untouched(name, graph), one_blas_thread():
            try:
                scorer = method(graph, seed)
            except BaselineUnavailableError as error:
                trials.missing = str(error)
                return
            trials.seconds.append(perf_counter() - start)
            self._on_progress(stage, 0, 1)
            figures = measure(scorer)
        self._on_progress(stage, 1, 1)
        trials.metrics.append(figures.metrics)
        trials.errors.append(figures.errors)
        label = name if at is None else f"{name}, alpha {at:g}"
        self.curves["roc"].setdefault(label, figures.roc)
        self.curves["precision_recall"].setdefault(label, figures.precision_recall)
