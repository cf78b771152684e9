"""Link prediction by pattern: who finds the relationships that were held out, and in which direction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.estimator import Embedder
from heat_neo4j.evaluation.guard import check_method, untouched
from heat_neo4j.evaluation.link_tasks import Splitter, checked_split
from heat_neo4j.evaluation.methods import (
    COMBINED_ROW,
    HEAT_ROW,
    SEEDS,
    EvaluationError,
    OwnRows,
    PatternMethod,
    check_seeds,
    described,
    pattern_methods,
    sizes_of,
)
from heat_neo4j.evaluation.pattern_figures import HeldOutLinks, held_out_links, measure_pattern
from heat_neo4j.evaluation.ranking import DEFAULT_LIMITS, Limits
from heat_neo4j.evaluation.report import Curve, Evaluation, Row, Trials, comparison_notes
from heat_neo4j.inputs.conversion import as_graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.splits import EdgeSplit, split_edges
from heat_neo4j.patterns import Pattern

__all__ = ["evaluate_patterns"]


def evaluate_patterns(
    graph: Any,
    model: Embedder,
    patterns: Sequence[str | Sequence[str]] = (),
    *,
    share: float = 0.15,
    seeds: Sequence[int] = SEEDS,
    methods: Mapping[str, PatternMethod] | None = None,
    combined: bool = True,
    choose: Sequence[str] = (),
    choose_seconds: float | None = None,
    splitter: Splitter = split_edges,
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Progress = no_progress,
) -> Evaluation:
    """Hold out pairs and measure, by pattern, how well methods find their relationships.

    A held-out pair loses all its relationships, of whatever type and direction. For the figures see
    `pattern_figures.measure_pattern`; the rows are `Row.pattern` after `Row.pattern`. What is checked on the
    way is as for `evaluate_links`.

    Parameters
    ----------
    graph : Graph, or what `as_graph` takes
        The whole graph; it knows directions and types.
    model : HEAT
        Cloned with ``random_state=seed`` for each seed; it stays as it is.
    patterns : sequence of str or of (source label, type, target label)
        As for `predict_links`; all patterns of the graph if not given.
    share : float
        Share of the edges, of whatever pattern, to hold out, in (0, 1).
    methods : mapping of str to PatternMethod, optional
        The baselines; `methods.pattern_methods` of the model's dimension if not given.
    combined : bool
        Whether a second row of ours is the score by pattern; it takes one more training for each seed.
    seeds, choose, choose_seconds, splitter, limits, on_progress
        As for `evaluate_links`.

    Returns
    -------
    Evaluation

    Raises
    ------
    EvaluationError
        If a pattern is not in the graph, or no relationship of any can be held out.
    LeakError, TuningError, NothingToLearnError, ValueError
        As for `evaluate_links`.
    """
    graph = as_graph(graph)
    try:
        wanted = patterns_of(graph, patterns)
    except ValueError as error:
        raise EvaluationError(str(error)) from error
    if not wanted:
        raise EvaluationError(f"{graph!r} knows no directions and types: it has no pattern")
    baselines = pattern_methods(model.n_components, on_progress) if methods is None else methods
    table, own_rows = _Table(wanted, on_progress), list[OwnRows]()
    seeds, splits = check_seeds(seeds), dict[str, list[Any]]()
    for seed in seeds:
        split = checked_split(splitter, graph, share, seed, splits)
        found = {pattern: held_out_links(graph, split, pattern, seed, limits) for pattern in wanted}
        held_out = {pattern: each for pattern, each in found.items() if each is not None}
        own_rows.append(OwnRows(model, choose, choose_seconds, on_progress))
        for name, method in {**own_rows[-1].of_patterns(combined=combined), **baselines}.items():
            table.score(name, method, split, seed, held_out)
    settings = {"share": share, **splits, **described(model)}
    if choose:
        settings["chosen"] = [
            {} if each.choice is None else dict(each.choice.parameters) for each in own_rows
        ]
    rows = table.rows()
    if not rows:
        raise EvaluationError("; ".join(map(_nothing, wanted)))
    notes = tuple(table.notes(rows, limits))
    return Evaluation("patterns", rows, seeds, sizes_of(graph), settings, notes, table.curves)


class _Table:
    """Rows of patterns as they fill, seed by seed."""

    def __init__(self, patterns: Sequence[Pattern], on_progress: Progress) -> None:
        self._patterns, self._on_progress = patterns, on_progress
        self._trials: dict[Pattern, defaultdict[str, Trials]] = {
            each: defaultdict(Trials) for each in patterns
        }
        self.curves: dict[str, dict[str, Curve]] = {}

    def score(
        self,
        name: str,
        method: PatternMethod,
        split: EdgeSplit,
        seed: int,
        held_out: Mapping[Pattern, HeldOutLinks],
    ) -> None:
        """Add what a method reaches on each pattern of which something is held out."""
        check_method(name, method, split.test_edges)
        with untouched(name, split.train), one_blas_thread():
            start = perf_counter()
            try:
                scorers = method(split.train, seed)
            except BaselineUnavailableError as error:
                for pattern in held_out:
                    self._trials[pattern][name].missing = str(error)
                return
            before = perf_counter() - start
            check_method(name, scorers, split.test_edges)
            self._on_progress(f"seed {seed}: {name}", 0, len(held_out))
            for done, (pattern, links) in enumerate(held_out.items(), start=1):
                trials = self._trials[pattern][name]
                start = perf_counter()
                try:
                    scorer = scorers(pattern)
                except BaselineUnavailableError as error:
                    trials.missing = str(error)
                    continue
                trials.seconds.append(before + perf_counter() - start)
                check_method(name, scorer, split.test_edges)
                figures = measure_pattern(scorer, links)
                trials.metrics.append(figures.metrics)
                trials.errors.append(figures.errors)
                self.curves.setdefault(str(pattern), {}).setdefault(name, figures.roc)
                self._on_progress(f"seed {seed}: {name}", done, len(held_out))

    def rows(self) -> tuple[Row, ...]:
        """Return the rows, pattern by pattern."""
        return tuple(
            trials.row(name, None, is_ours=name in (HEAT_ROW, COMBINED_ROW), pattern=str(pattern))
            for pattern, methods in self._trials.items()
            for name, trials in methods.items()
        )

    def notes(self, rows: Sequence[Row], limits: Limits) -> Iterator[str]:
        """Yield by pattern how the last of our rows compares, and what must be said about the figures."""
        for pattern in self._patterns:
            own = [row for row in rows if row.pattern == str(pattern)]
            if not own:
                yield _nothing(pattern)
                continue
            ours = [row for row in own if row.is_ours and row.figures][-1:]
            baselines = [row for row in own if not row.is_ours]
            yield from comparison_notes([*ours, *baselines], ("mean_reciprocal_rank",), f" of {pattern}")
        if any(figure.errors for row in rows for figure in row.figures.values()):
            yield (
                f"more than {limits.exact_nodes:,} sources or targets: {limits.nodes:,} of the sources, "
                "drawn by the seed, rank the targets (se: standard error of one seed's figure, by sampling)"
            )


def _nothing(pattern: Pattern) -> str:
    return f"{pattern}: no relationship is held out, or there is no other pair"
