"""The table of an evaluation: metrics by method and seed, and notes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import plural
from heat_neo4j._utils.frames import Result
from heat_neo4j.evaluation.link_figures import PairFigures

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
    "order_accuracy": "order",
    "precision_up": "P@5 up",
    "precision_down": "P@5 down",
    "auroc": "AUROC",
    "average_precision": "AP",
}
"""Column heading of each metric."""
LINK_METRICS = (
    "mean_reciprocal_rank", "hits_at_10", "precision_at_10", "precision_at_100", "precision_at_written",
    "recall_at_written", "direction_accuracy", "calibration_error", "auroc", "average_precision",
)  # fmt: skip
"""Columns of a table of predicted links."""
HIERARCHY_METRICS = (
    "order_accuracy", "mean_rank", "mean_average_precision", "precision_up", "precision_down",
)  # fmt: skip
"""Columns of a table of a hierarchy."""

_LESS_IS_BETTER = {"mean_rank", "calibration_error"}


@dataclass(frozen=True)
class Figure:
    """One metric of one method: a value per seed, with sampling standard errors unless exact."""

    values: tuple[float, ...]
    errors: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return float(np.mean(self.values))

    @property
    def sd(self) -> float | None:
        """Sample standard deviation over seeds (n - 1); None for a single seed."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def error(self) -> float | None:
        """Sampling standard error of a single seed's value (root mean square); None if exact."""
        return float(np.sqrt(np.mean(np.square(self.errors)))) if self.errors else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"mean": self.mean, "sd": self.sd, "values": list(self.values), "errors": list(self.errors)}


@dataclass
class Row:
    """The results of one method, which `add` accumulates over seeds."""

    method: str
    figures: dict[str, Figure] = field(default_factory=dict)  # of metrics that no seed lacks
    seeds: list[int] = field(default_factory=list)  # a seed may hold out no link of a rare pattern
    seconds: list[float] = field(default_factory=list)  # by seed: time until the method can score
    is_ours: bool = False  # whether it is the evaluated estimator or a variant, not a baseline
    missing: str = ""  # why there are no metrics
    pattern: str = ""  # the predicted pattern, if the graph has patterns
    chosen: list[str] = field(default_factory=list)  # by seed: the tuned parameters of a baseline, if any

    def add(self, seed: int, found: PairFigures, seconds: float, chosen: str = "") -> None:
        """Add the metrics of a seed."""
        before = self.figures if self.seeds else dict.fromkeys(found.metrics, Figure(()))
        self.figures = {
            name: Figure(
                (*figure.values, found.metrics[name]),
                (*figure.errors, *([found.errors[name]] if name in found.errors else [])),
            )
            for name, figure in before.items()
            if name in found.metrics
        }
        self.seeds.append(seed)
        self.seconds.append(seconds)
        self.chosen += [chosen] if chosen else []

    def give_up(self, reason: str) -> None:
        """Drop all metrics, for a reason."""
        self.missing, self.figures, self.seeds, self.seconds, self.chosen = reason, {}, [], [], []

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "method": self.method,
            "pattern": self.pattern or None,
            "is_ours": self.is_ours,
            "missing": self.missing,
            "metrics": {name: figure.to_dict() for name, figure in self.figures.items()},
            "seeds": self.seeds,
            "seconds": self.seconds,
            "chosen": self.chosen,
        }


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """The table of an evaluation of links, or of a hierarchy.

    `to_frame` has one row per method, pattern and seed. Its columns are pattern (empty for an undirected
    graph), method, is_ours, seed, seconds, chosen (parameters of a baseline), missing (why there are no
    metrics), and one column per metric, NaN if missing.

    Parameters
    ----------
    rows : tuple of Row
        One per method and pattern, with its `figures` by metric.
    seeds : tuple of int
        The seeds of the splits.
    graph : mapping of str to int
        Numbers of nodes, edges and attributes.
    settings : mapping
        Parameters of the evaluation and of the estimator, as plain data.
    notes : tuple of str
        Winning baselines, sampled metrics, and what could not be computed.
    curves : mapping of str to mapping
        ROC curves of the first seed, by pattern ("" without patterns), then by method.

    Examples
    --------
    >>> table = evaluate_links(graph, HEAT(), seeds=[0])  # doctest: +SKIP
    >>> table.to_frame().sort_values("mean_reciprocal_rank")  # doctest: +SKIP
    """

    rows: tuple[Row, ...]
    seeds: tuple[int, ...]
    graph: Mapping[str, int]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    curves: Mapping[str, Mapping[str, Curve]] = field(default_factory=dict, repr=False)

    def row(self, method: str, pattern: str = "") -> Row:
        """Return the row of a method; raises KeyError if there is none."""
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
            for seed in self.seeds
            for place in (row.seeds.index(seed) if seed in row.seeds else len(row.seeds),)
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


def comparison_notes(
    rows: Sequence[Row], metrics: Sequence[str], what: str = "", shown: Iterable[str] = METRIC_NAMES
) -> Iterator[str]:
    """Yield for each metric a line with the baselines that beat our rows on its mean, or that none does.

    `metrics` are metrics for which higher is better. One more line names the best baseline of each other
    metric that is `shown`, where it beats us. `what` describes the setting.
    """
    baselines = [row for row in rows if not row.is_ours and row.figures]
    for ours in (row for row in rows if row.is_ours and row.figures):
        for metric in metrics:
            own, name = ours.figures[metric].mean, METRIC_NAMES[metric]
            means = {row.method: row.figures[metric].mean for row in baselines if metric in row.figures}
            best_first = sorted(means, key=lambda method: -means[method])
            if better := [f"{means[each]:.4f} of {each}" for each in best_first if means[each] > own]:
                yield f"{ours.method} loses on {name}{what}: {own:.4f} against {', '.join(better)}"
            if means and own > means[best_first[0]]:
                against = f"{own:.4f} against {means[best_first[0]]:.4f} of {best_first[0]}"
                yield f"{ours.method} beats every baseline on {name}{what}: {against}"
        winners: dict[str, list[str]] = {}
        for metric in (each for each in shown if each in ours.figures and each not in metrics):
            rivals = [row for row in [ours, *baselines] if metric in row.figures]
            best = max(rivals, key=lambda row: _goodness(metric, row.figures[metric].mean))
            if best is not ours:
                winners.setdefault(best.method, []).append(METRIC_NAMES[metric])
        if winners:
            listed = "; ".join(f"{method} on {', '.join(names)}" for method, names in winners.items())
            yield f"{ours.method}{what} loses to {listed}"


def _at(values: Sequence[Any], place: int, default: Any) -> Any:
    return values[place] if place < len(values) else default


def _goodness(metric: str, value: float) -> float:
    return -value if metric in _LESS_IS_BETTER else value
