"""The table of an evaluation: figures by method and seed, and notes about them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.frames import Result
from heat_neo4j.evaluation.ranking import PairFigures

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]

METRIC_NAMES: Mapping[str, str] = {
    "mean_reciprocal_rank": "MRR",
    "hits_at_10": "Hits@10",
    "precision_at_10": "P@10",
    "precision_at_100": "P@100",
    "precision_at_1000": "P@1000",
    "precision_at_written": "P@written",
    "recall_at_written": "recall",
    "direction_accuracy": "direction",
    "calibration_error": "ECE",
    "mean_rank": "mean rank",
    "mean_average_precision": "mAP",
    "auroc": "AUROC",
    "average_precision": "AP",
}
"""How each metric is called in a table."""

_LESS_IS_BETTER = {"mean_rank", "calibration_error"}


@dataclass(frozen=True)
class Figure:
    """One metric of one method: a value per seed, with its standard error by sampling unless it is exact."""

    values: tuple[float, ...]
    errors: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return float(np.mean(self.values))

    @property
    def sd(self) -> float | None:
        """Standard deviation over seeds (n - 1); None for a single one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def error(self) -> float | None:
        """Standard error by sampling of a single seed's value (root mean square); None if exact."""
        return float(np.sqrt(np.mean(np.square(self.errors)))) if self.errors else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"mean": self.mean, "sd": self.sd, "values": list(self.values), "errors": list(self.errors)}


@dataclass(frozen=True)
class Row:
    """One method."""

    method: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    seconds: tuple[float, ...] = ()  # by seed: to make the method ready to score, training and the like
    is_ours: bool = False  # the estimator that is evaluated, or a variant; the others are baselines
    missing: str = ""  # why there are no figures
    pattern: str = ""  # whose links are predicted, if the graph has patterns
    chosen: tuple[str, ...] = ()  # by seed: the parameters of a baseline, if it has some

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "method": self.method,
            "pattern": self.pattern or None,
            "is_ours": self.is_ours,
            "missing": self.missing,
            "metrics": {name: figure.to_dict() for name, figure in self.figures.items()},
            "seconds": list(self.seconds),
            "chosen": list(self.chosen),
        }


@dataclass
class Trials:
    """What one row has so far, seed by seed: metrics, their sampling errors, seconds, parameters."""

    metrics: list[Mapping[str, float]] = field(default_factory=list)
    errors: list[Mapping[str, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    missing: str = ""

    def add(self, figures: PairFigures, seconds: float, chosen: str = "") -> None:
        """Add a seed."""
        self.metrics.append(figures.metrics)
        self.errors.append(figures.errors)
        self.seconds.append(seconds)
        if chosen:
            self.chosen.append(chosen)

    def row(self, method: str, *, is_ours: bool, pattern: str = "") -> Row:
        """Return the row; a metric that a seed lacks is left out."""
        if self.missing:
            return Row(method, is_ours=is_ours, missing=self.missing, pattern=pattern)
        figures = {
            name: Figure(
                tuple(metrics[name] for metrics in self.metrics),
                tuple(errors[name] for errors in self.errors if name in errors),
            )
            for name in self.metrics[0]
            if all(name in metrics for metrics in self.metrics)
        }
        seconds, chosen = tuple(self.seconds), tuple(self.chosen)
        return Row(method, figures, seconds, is_ours, pattern=pattern, chosen=chosen)


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """The table of an evaluation of links.

    `to_frame` has a row for each method, pattern and seed. Its columns are pattern (empty for a graph without
    directions), method, is_ours, seed, seconds, chosen (parameters of a
    baseline), missing (why there are no figures), and one for each metric, NaN where it is missing.

    Examples
    --------
    >>> table = evaluate_links(graph, HEAT(), seeds=[0])  # doctest: +SKIP
    >>> table.to_frame().sort_values("mean_reciprocal_rank")  # doctest: +SKIP
    """

    rows: tuple[Row, ...]
    seeds: tuple[int, ...]
    graph: Mapping[str, int]  # numbers of nodes, edges and attributes
    settings: Mapping[str, Any]  # the task's own and the estimator's parameters, as plain data
    notes: tuple[str, ...] = ()  # baselines that win, figures that are estimates, what could not be done
    # Of the first seed: ROC curves by pattern ("" for a graph without), then by method.
    curves: Mapping[str, Mapping[str, Curve]] = field(default_factory=dict, repr=False)

    def row(self, method: str, pattern: str = "") -> Row:
        """Return the row of a method; a KeyError if there is none."""
        for row in self.rows:
            if (row.method, row.pattern) == (method, pattern):
                return row
        raise KeyError(f"no row of {method!r}" + (f" of {pattern}" if pattern else ""))

    def __repr__(self) -> str:
        return f"Evaluation({plural(len(self.rows), 'row')}, {plural(len(self.seeds), 'seed')})"

    def _columns(self) -> dict[str, Any]:
        metrics = [name for name in METRIC_NAMES if any(name in row.figures for row in self.rows)]
        records = [
            {
                "pattern": row.pattern,
                "method": row.method,
                "is_ours": row.is_ours,
                "seed": seed,
                "seconds": _at(row.seconds, place, np.nan),
                "chosen": _at(row.chosen, place, ""),
                "missing": row.missing,
                **{
                    name: _at(row.figures[name].values, place, np.nan) if name in row.figures else np.nan
                    for name in metrics
                },
            }
            for row in self.rows
            for place, seed in enumerate(self.seeds)
        ]
        return {name: [each[name] for each in records] for name in records[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON can hold it, without the curves."""
        return {
            "graph": dict(self.graph),
            "settings": dict(self.settings),
            "seeds": list(self.seeds),
            "methods": [row.to_dict() for row in self.rows],
            "notes": list(self.notes),
        }


def comparison_notes(rows: Sequence[Row], metrics: Sequence[str], what: str = "") -> Iterator[str]:
    """Say in a line each which baselines beat our rows by the mean of a metric, or that none does.

    `metrics` are those of which more is better; a baseline that is better by others gets one line for all of
    them. `what`, the setting, ends each line.
    """
    baselines = [row for row in rows if not row.is_ours and row.figures]
    for ours in (row for row in rows if row.is_ours and row.figures):
        for metric in metrics:
            own, name = ours.figures[metric].mean, METRIC_NAMES[metric]
            means = {row.method: row.figures[metric].mean for row in baselines}
            best_first = sorted(means, key=lambda method: -means[method])
            for other in best_first:
                if means[other] > own:
                    against = f"{own:.4f} against {means[other]:.4f}"
                    yield f"{ours.method} loses to {other} on {name}{what}: {against}"
            if means and own > means[best_first[0]]:
                against = f"{own:.4f} against {means[best_first[0]]:.4f} of {best_first[0]}"
                yield f"{ours.method} beats every baseline on {name}{what}: {against}"
        for baseline in baselines:
            better = [
                METRIC_NAMES[metric]
                for metric, figure in baseline.figures.items()
                if metric not in metrics
                and metric in ours.figures
                and _is_better(metric, figure.mean, ours.figures[metric].mean)
            ]
            if better:
                yield f"{baseline.method} is better than {ours.method}{what} on {', '.join(better)}"


def _at(values: Sequence[Any], place: int, default: Any) -> Any:
    return values[place] if place < len(values) else default


def _is_better(metric: str, one: float, other: float) -> bool:
    return one < other if metric in _LESS_IS_BETTER else one > other
