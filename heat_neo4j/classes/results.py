"""Predicted values of nodes that have none: classes with probabilities, or numbers with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.display import display_number, plural
from heat_neo4j._utils.frames import Result, column_of
from heat_neo4j._utils.frames import Rows as Table
from heat_neo4j.classes.figures import ClassFigures, NumberFigures

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

USUAL = "what is usual"  # the evidence for a node of which nothing is known


@dataclass(frozen=True, eq=False, repr=False)
class Predicted(Result):
    """What predicted classes and numbers have in common."""

    what: ClassVar[str]

    node: Sequence[Any]
    rows: Rows
    evidence: Array
    weights: Mapping[str, float]
    figures: Any
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def explain(self, node: Any) -> Table:
        """Return the evidence for a node's prediction, the strongest first.

        Parameters
        ----------
        node : object
            Name of a node that was predicted.

        Returns
        -------
        list of dict
            For a class with "view" and "log_odds": what this kind of evidence adds to the log of the
            ratio of the two probabilities. For a number with "view", "value", what this kind alone predicts,
            and "weight". A node without evidence gets "what is usual".

        Raises
        ------
        ValueError
            If the node was not predicted, or several have the name.
        """
        places = [place for place, name in enumerate(self.node) if name == node]
        if not places:
            raise ValueError(
                f"no {self.what} was predicted for a node named {node!r}, only for nodes without one"
            )
        if len(places) > 1:
            raise ValueError(f"{len(places)} nodes are named {node!r}: name nodes by another `caption`")
        (place,) = places
        strength = self._strength()[place]
        order = [view for view in np.argsort(-strength, kind="stable").tolist() if strength[view] > 0.0]
        names = (*self.weights, USUAL)
        return Table({"view": names[view], **self._says(place, view)} for view in order)

    def surest_first(self, names: Sequence[Any]) -> Self:
        """Return a copy, the surest first; `names` holds new names for all nodes."""
        order = np.argsort(self._doubt(), kind="stable")
        ordered: dict[str, Any] = {
            name: own[order] for name, own in vars(self).items() if isinstance(own, np.ndarray)
        }
        return replace(self, node=[names[row] for row in ordered["rows"].tolist()], **ordered)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the predictions, the figures and the weights as JSON data."""
        return {
            "predicted": [{name: _plain(value) for name, value in row.items()} for row in self._rows()],
            "figures": self.figures.to_dict(),
            "weights": dict(self.weights),
            "notes": list(self.notes),
        }

    def _strength(self) -> Array:
        """Return how much each view counts for each node, shape (M, V + 1)."""
        raise NotImplementedError

    def _says(self, place: int, view: int) -> dict[str, float]:
        """Return what a view says about a node."""
        raise NotImplementedError

    def _doubt(self) -> Array:
        """Return how unsure each prediction is, shape (M,)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class PredictedClasses(Predicted):
    """Predicted classes of the nodes that have none, in the order of the graph.

    Parameters
    ----------
    node : sequence
        Names of the M nodes.
    rows : int64 array of shape (M,)
        Their rows in the graph.
    evidence : float64 array of shape (M, V + 1)
        Contributions of V kinds of evidence to the log odds of the best class over the second. The last
        column is the value without evidence.
    weights : mapping of str to float
        Weight of each kind of evidence for most nodes, at least 0.
    figures : ClassFigures
        Quality on held-out nodes.
    classes : tuple
        The C classes, sorted.
    chosen : int64 array of shape (M,)
        Index of the likeliest class.
    second : int64 array of shape (M,)
        Index of the second likeliest class.
    probability, second_probability : float64 arrays of shape (M,)
        Calibrated probability of that class, (0, 1).
    notes : tuple of str
        Limits of the prediction, one line each.
    """

    what = "class"

    figures: ClassFigures
    classes: tuple[Any, ...]
    chosen: Codes
    second: Codes
    probability: Array
    second_probability: Array

    def __repr__(self) -> str:
        right = f"{self.figures.f1_micro:.0%} right on held-out nodes"
        return f"PredictedClasses({plural(len(self), 'node')}, {len(self.classes):,} classes, {right})"

    def _columns(self) -> dict[str, Any]:
        return {
            "node": column_of(list(self.node)),
            "class": column_of([self.classes[code] for code in self.chosen.tolist()]),
            "probability": self.probability,
            "second": column_of([self.classes[code] for code in self.second.tolist()]),
            "second_probability": self.second_probability,
        }

    def _strength(self) -> Array:
        return np.abs(self.evidence)

    def _says(self, place: int, view: int) -> dict[str, float]:
        return {"log_odds": float(self.evidence[place, view])}

    def _doubt(self) -> Array:
        return -self.probability

    def written(self) -> tuple[list[Any], ...]:
        """Return class and probability of each node."""
        return [self.classes[code] for code in self.chosen.tolist()], self.probability.tolist()


@dataclass(frozen=True, eq=False, repr=False)
class PredictedNumbers(Predicted):
    """Predicted numbers of the nodes that have none, in the order of the graph.

    Parameters
    ----------
    node : sequence
        Names of the M nodes.
    rows : int64 array of shape (M,)
        Their rows in the graph.
    evidence : float64 array of shape (M, V + 1)
        What each of V kinds of evidence alone predicts. The last column is the value without evidence.
    weights : mapping of str to float
        Weight of each kind of evidence for most nodes, at least 0.
    figures : NumberFigures
        Quality on held-out nodes.
    value : array of shape (M,)
        Predicted numbers; int64 if all known numbers are integers that fit, otherwise float64.
    low, high : arrays of shape (M,)
        End of the interval that contains the number of 80 % of nodes.
    strength : float64 array of shape (M, V + 1)
        Weight of each kind of evidence for each node.
    notes : tuple of str
        Limits of the prediction, one line each.
    """

    what = "number"

    figures: NumberFigures
    value: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    strength: Array

    def __repr__(self) -> str:
        off = f"off by {display_number(self.figures.error, 4)} on held-out nodes"
        return f"PredictedNumbers({plural(len(self), 'node')}, {off})"

    def _columns(self) -> dict[str, Any]:
        return {"node": column_of(list(self.node)), "value": self.value, "low": self.low, "high": self.high}

    def _strength(self) -> Array:
        return self.strength

    def _says(self, place: int, view: int) -> dict[str, float]:
        return {"value": float(self.evidence[place, view]), "weight": float(self.strength[place, view])}

    def _doubt(self) -> Array:
        return np.asarray(self.high - self.low, dtype=np.float64)

    def written(self) -> tuple[list[Any], ...]:
        """Return number, low and high end of the interval of each node."""
        return self.value.tolist(), self.low.tolist(), self.high.tolist()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
