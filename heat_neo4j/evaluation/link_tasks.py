"""Evaluation of link prediction methods over several seeds."""

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.evaluation.link_figures import (
    DEFAULT_LIMITS,
    HeldOutLinks,
    Limits,
    held_out_links,
    measure_links,
)
from heat_neo4j.evaluation.methods import (
    HEAT_ROW,
    SCORE_ROW,
    SEEDS,
    EvaluationError,
    Method,
    OwnRows,
    TunedScorers,
    check_seeds,
    described,
    link_methods,
    sizes_of,
)
from heat_neo4j.evaluation.report import Curve, Evaluation, Row, comparison_notes
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT
from heat_neo4j.inputs.conversion import as_graph
from heat_neo4j.linkpred.baselines import BaselineUnavailableError
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.implications import repetitions
from heat_neo4j.linkpred.splits import EdgeSplit, Split, split_edges
from heat_neo4j.patterns import Pattern


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
        The baselines; by default `methods.link_methods` with the model's dimension.
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
        If a pattern is not in the graph, or no link of any pattern can be held out.
    NothingToLearnError, ValueError
        If `HEAT.fit` raises it, or a scorer returns a score that is not finite.
    """
    graph = as_graph(graph)
    wanted = _patterns(graph, patterns)
    on_progress = as_progress(on_progress)
    others = methods or {}
    if methods is None and baselines:
        others = link_methods(model.n_components, on_progress, gensim=gensim)
    table, own_rows = _LinkTable(wanted, on_progress), list[OwnRows]()
    seeds, splits = check_seeds(seeds), dict[str, list[Any]]()
    for seed in seeds:
        cut = _noted_split(graph, share, seed, split, splits)
        own_rows.append(OwnRows(model, on_progress))
        held_out = _held_out(graph, cut, wanted, seed, limits)
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
    try:
        return patterns_of(graph, specs)
    except ValueError as error:
        raise EvaluationError(str(error)) from error


def _noted_split(graph: Graph, share: float, seed: int, how: Split, noted: dict[str, list[Any]]) -> EdgeSplit:
    """Split the graph, and record the split's size and time in `noted`."""
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
) -> dict[Pattern | None, HeldOutLinks]:
    """Return the held-out links of each pattern that has any."""
    found = {each: held_out_links(graph, split, each, seed, limits) for each in patterns}
    return {pattern: links for pattern, links in found.items() if links is not None}


class _LinkTable:
    """Accumulates the rows of a link evaluation, one seed at a time."""

    def __init__(self, patterns: Sequence[Pattern | None], on_progress: Progress) -> None:
        self._on_progress = on_progress
        self._rows: dict[Pattern | None, dict[str, Row]] = {pattern: {} for pattern in patterns}
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
        for pattern in held_out:
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
            of = "" if pattern is None else f" of {pattern}"
            yield from comparison_notes([*ours, *baselines], ("mean_reciprocal_rank",), of)
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
