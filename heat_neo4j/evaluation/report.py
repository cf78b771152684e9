"""What an evaluation found: figures by method and seed, and what must be said about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["METRIC_NAMES", "Curve", "Evaluation", "Figure", "Row", "comparison_notes"]

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]

METRIC_NAMES: Mapping[str, str] = {
    "auroc": "AUROC",
    "average_precision": "AP",
    "mean_rank": "mean rank",
    "mean_average_precision": "mAP",
    "precision_at_10": "P@10",
    "precision_at_100": "P@100",
    "precision_at_1000": "P@1000",
    "calibration_error": "ECE",
    "calibration_error_true_share": "ECE, true share",
    "f1_micro": "F1 micro",
    "f1_macro": "F1 macro",
}
"""How each metric is called in a table."""

_LESS_IS_BETTER = {"mean_rank", "calibration_error", "calibration_error_true_share"}


@dataclass(frozen=True)
class Figure:
    """One metric of one method.

    Parameters
    ----------
    values : tuple of float
        One per seed.
    errors : tuple of float
        The standard error by sampling of each; empty where the values are exact.
    """

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
    """One method, at one setting if the task has a scale of them.

    Parameters
    ----------
    method : str
        Its name.
    figures : mapping of str to Figure
        By metric; empty if the method could not be had.
    seconds : tuple of float
        What it took to make the method ready to score, by seed: training and the like, without the scoring.
    at : float, optional
        Share of the labels, or alpha.
    is_ours : bool
        Whether it is the estimator that is evaluated, or a variant of it; the others are baselines.
    missing : str
        Why there are no figures.
    """

    method: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    seconds: tuple[float, ...] = ()
    at: float | None = None
    is_ours: bool = False
    missing: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "method": self.method,
            "at": self.at,
            "is_ours": self.is_ours,
            "missing": self.missing,
            "metrics": {name: figure.to_dict() for name, figure in self.figures.items()},
            "seconds": list(self.seconds),
        }


@dataclass(frozen=True)
class Evaluation:
    """The table of one task.

    Parameters
    ----------
    task : str
        ``"links"``, ``"reconstruction"``, ``"classes"`` or ``"alpha"``.
    rows : tuple of Row
        In the order of the table.
    seeds : tuple of int
        A seed decides training and split.
    graph : mapping of str to int
        ``nodes``, ``edges``, ``attributes``.
    settings : mapping
        The task's own, and the estimator's parameters, as plain data.
    notes : tuple of str
        What must be said: baselines that win, figures that are estimates, what could not be done.
    curves : mapping of str to mapping of str to Curve
        Of the first seed, by kind (``"roc"``, ``"precision_recall"``) and method; for pictures.
    """

    task: str
    rows: tuple[Row, ...]
    seeds: tuple[int, ...]
    graph: Mapping[str, int]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    curves: Mapping[str, Mapping[str, Curve]] = field(default_factory=dict, repr=False)

    def row(self, method: str, at: float | None = None) -> Row:
        """Return the row of a method.

        Raises
        ------
        KeyError
            If there is none.
        """
        for row in self.rows:
            if (row.method, row.at) == (method, at):
                return row
        raise KeyError(f"no row of {method!r} at {at}")

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
    """Say which baselines beat our rows by the mean of a metric, or that none does.

    Parameters
    ----------
    rows : sequence of Row
        All of one setting.
    metrics : sequence of str
        Metrics of which more is better.
    what : str
        The setting, to end the line with.

    Yields
    ------
    str
        One line each: "HEAT loses to Adamic-Adar on AUROC: 0.9021 against 0.9310". One line more for each
        baseline that is better by other metrics.
    """
    for ours in (row for row in rows if row.is_ours and row.figures):
        for metric in metrics:
            own = ours.figures[metric].mean
            others = {r.method: r.figures[metric].mean for r in rows if not r.is_ours and r.figures}
            better = sorted((name for name in others if others[name] > own), key=lambda name: -others[name])
            name = METRIC_NAMES[metric]
            for other in better:
                yield f"{ours.method} loses to {other} on {name}{what}: {own:.4f} against {others[other]:.4f}"
            if others and all(own > value for value in others.values()):
                best = max(others, key=lambda name: others[name])
                yield (
                    f"{ours.method} beats every baseline on {name}{what}: {own:.4f} against "
                    f"{others[best]:.4f} of {best}"
                )
        for rival in (row for row in rows if not row.is_ours and row.figures):
            leads = [
                METRIC_NAMES[metric]
                for metric, figure in rival.figures.items()
                if metric not in metrics
                and metric in ours.figures
                and _is_better(metric, figure.mean, ours.figures[metric].mean)
            ]
            if leads:
                yield f"{rival.method} is better than {ours.method}{what} on {', '.join(leads)}"


def _is_better(metric: str, one: float, other: float) -> bool:
    return one < other if metric in _LESS_IS_BETTER else one > other
