"""The table of an evaluation: figures by method and seed, and notes about them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["METRIC_NAMES", "Curve", "Evaluation", "Figure", "Row", "Trials", "comparison_notes"]

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]

METRIC_NAMES: Mapping[str, str] = {
    "auroc": "AUROC",
    "average_precision": "AP",
    "mean_rank": "mean rank",
    "mean_average_precision": "mAP",
    "precision_at_10": "P@10",
    "precision_at_100": "P@100",
    "precision_at_1000": "P@1000",
    "hits_at_10": "Hits@10",
    "mean_reciprocal_rank": "MRR",
    "direction_accuracy": "direction",
    "calibration_error": "ECE",
    "calibration_error_true_share": "ECE, true share",
    "f1_micro": "F1 micro",
    "f1_macro": "F1 macro",
}
"""How each metric is called in a table."""

_LESS_IS_BETTER = {"mean_rank", "calibration_error", "calibration_error_true_share"}


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
    """One method, at one setting if the task has a scale of them."""

    method: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    seconds: tuple[float, ...] = ()  # by seed: to make the method ready to score, training and the like
    at: float | None = None  # the share of the labels, or alpha
    is_ours: bool = False  # the estimator that is evaluated, or a variant; the others are baselines
    missing: str = ""  # why there are no figures
    pattern: str = ""  # whose links are predicted, if the task goes by patterns

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "method": self.method,
            "pattern": self.pattern or None,
            "at": self.at,
            "is_ours": self.is_ours,
            "missing": self.missing,
            "metrics": {name: figure.to_dict() for name, figure in self.figures.items()},
            "seconds": list(self.seconds),
        }


@dataclass
class Trials:
    """What one row has so far: metrics and their sampling errors, and seconds, each seed by seed."""

    metrics: list[Mapping[str, float]] = field(default_factory=list)
    errors: list[Mapping[str, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    missing: str = ""

    def row(self, method: str, at: float | None, *, is_ours: bool, pattern: str = "") -> Row:
        """Return the row; a metric that a seed lacks is left out."""
        if self.missing:
            return Row(method, at=at, is_ours=is_ours, missing=self.missing, pattern=pattern)
        figures = {
            name: Figure(
                tuple(metrics[name] for metrics in self.metrics),
                tuple(errors[name] for errors in self.errors if name in errors),
            )
            for name in self.metrics[0]
            if all(name in metrics for metrics in self.metrics)
        }
        return Row(method, figures, tuple(self.seconds), at, is_ours, pattern=pattern)


@dataclass(frozen=True)
class Evaluation:
    """The table of one task.

    It is ``"links"``, ``"patterns"``, ``"reconstruction"``, ``"classes"`` or ``"alpha"``.
    """

    task: str
    rows: tuple[Row, ...]
    seeds: tuple[int, ...]
    graph: Mapping[str, int]  # numbers of nodes, edges and attributes
    settings: Mapping[str, Any]  # the task's own and the estimator's parameters, as plain data
    notes: tuple[str, ...] = ()  # baselines that win, figures that are estimates, what could not be done
    # Of the first seed, by kind ("roc", "precision_recall") and method; if links go by patterns, the ROC
    # curves by pattern and method.
    curves: Mapping[str, Mapping[str, Curve]] = field(default_factory=dict, repr=False)

    def row(self, method: str, at: float | None = None, pattern: str = "") -> Row:
        """Return the row of a method; a KeyError if there is none."""
        for row in self.rows:
            if (row.method, row.at, row.pattern) == (method, at, pattern):
                return row
        raise KeyError(f"no row of {method!r} at {at}" + (f" of {pattern}" if pattern else ""))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON can hold it, without the curves."""
        return {
            "task": self.task,
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


def _is_better(metric: str, one: float, other: float) -> bool:
    return one < other if metric in _LESS_IS_BETTER else one > other
