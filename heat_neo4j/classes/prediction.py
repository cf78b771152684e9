"""Predict classes: one model of each view of the nodes, pooled by how well they predict unseen nodes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from heat_neo4j._utils.display import display_text, plural
from heat_neo4j._utils.frames import Result, column_of
from heat_neo4j._utils.frames import Rows as Table
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.classes.comparable import telltale_properties, telltale_types, without_types
from heat_neo4j.classes.figures import ClassFigures, calibration_error, f1_scores
from heat_neo4j.classes.pool import fit_pool, log_chances, pooled
from heat_neo4j.classes.views import ATTRIBUTES, normalized_adjacency, together, views
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

TOGETHER, CLASSES = "all of these", "classes of neighbours"
_FOLDS = 5
_TRIED = 1_000  # held-out nodes that the regularisation is chosen on, if there are so many
_FEWEST = 20  # labelled nodes
_MOST = 10_000  # labelled nodes that models are fitted on
_STRENGTHS = (1.0, 10.0, 100.0)  # inverse regularisation that is tried
_STAY, _ROUNDS = 0.1, 30  # of the spreading of classes
_LEAST_SHARE = 1e-3
_MANY_NUMBERS = 20  # classes that are numbers
_FIT: Mapping[str, Any] = {"tol": 1e-3, "max_iter": 100}


class ClassificationError(ValueError):
    """Raised if no classes can be learned; the message says why."""


@dataclass(frozen=True, eq=False, repr=False)
class PredictedClasses(Result):
    """Predicted classes of the nodes that have none, in the order of the graph.

    Parameters
    ----------
    node : sequence
        Names of the M nodes.
    rows : int64 array of shape (M,)
        Their rows in the graph.
    classes : tuple
        The C classes, sorted.
    chosen, second : int64 arrays of shape (M,)
        Indices of the likeliest and the second likeliest class.
    probability, second_probability : float64 arrays of shape (M,)
        Calibrated probabilities of the two, (0, 1).
    evidence : float64 array of shape (M, V)
        What each view adds to the log odds of the likeliest class against the second.
    weights : mapping of str to float
        Weight of each view in the pool, at least 0.
    figures : ClassFigures
        Quality on held-out nodes.
    notes : tuple of str
        Limits of the prediction, one line each.
    """

    node: Sequence[Any]
    rows: Rows
    classes: tuple[Any, ...]
    chosen: Codes
    second: Codes
    probability: Array
    second_probability: Array
    evidence: Array
    weights: Mapping[str, float]
    figures: ClassFigures
    notes: tuple[str, ...] = field(default=())

    def explain(self, node: Any) -> Table:
        """Return what each view adds to the log odds of a node's likeliest class against the second.

        Parameters
        ----------
        node : object
            Name of a node that was predicted.

        Returns
        -------
        list of dict
            With "view" and "log_odds", strongest first. They add up to the log of the ratio of the two
            probabilities.

        Raises
        ------
        ValueError
            If the node was not predicted.
        """
        try:
            place = list(self.node).index(node)
        except ValueError:
            raise ValueError(f"no class was predicted for {node!r}, only for nodes without one") from None
        added = self.evidence[place]
        order = np.argsort(-np.abs(added), kind="stable").tolist()
        names = list(self.weights)
        return Table({"view": names[view], "log_odds": float(added[view])} for view in order)

    def likeliest_first(self, names: Sequence[Any]) -> PredictedClasses:
        """Return the same, ordered by probability, with other names of all nodes of the graph."""
        order = np.argsort(-self.probability, kind="stable")
        parts = ("rows", "chosen", "second", "probability", "second_probability", "evidence")
        ordered = {part: getattr(self, part)[order] for part in parts}
        return replace(self, node=[names[row] for row in ordered["rows"].tolist()], **ordered)

    def __len__(self) -> int:
        return len(self.rows)

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

    def to_dict(self) -> dict[str, Any]:
        """Return the predictions, the figures and the weights as JSON data."""
        columns = {name: list(values) for name, values in self._columns().items()}
        predicted = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {
            "predicted": [{name: _plain(value) for name, value in row.items()} for row in predicted],
            "figures": self.figures.to_dict(),
            "weights": dict(self.weights),
            "notes": list(self.notes),
        }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def values_by_row(values: Any, names: Sequence[Any], rows_of: Callable[[Iterable[Any]], Rows]) -> list[Any]:
    """Return the class of each node, by row; None where it is unknown or NaN.

    `values` are in the order of the rows, or named, as in a mapping or a Series; `rows_of` returns the rows
    of names, or raises a ValueError.
    """
    if not hasattr(values, "items"):
        return [None if _is_missing(value) else value for value in values]
    found: list[Any] = [None] * len(names)
    named = [(name, value) for name, value in values.items() if not _is_missing(value)]
    for row, (_, value) in zip(rows_of([name for name, _ in named]).tolist(), named, strict=True):
        found[row] = value
    return found


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


@one_blas_thread()
def predict_classes(
    graph: Graph,
    embedding: Array | None,
    values: Sequence[Any],
    *,
    label: str | None = None,
    seed: int = 0,
    without: str | None = None,
    on_progress: Progress = no_progress,
) -> PredictedClasses:
    """Predict the class of each node that has none.

    Parameters
    ----------
    graph : Graph
        N nodes.
    embedding : float64 array of shape (N, d + 1), optional
        Points on the hyperboloid. Leave it out if it was trained with the class as an attribute.
    values : sequence of N values
        The class of each node, a text, an integer or a boolean; None where unknown.
    label : str, optional
        Only nodes of this label; by default those with the same labels as any node with a class.
    seed : int
        Draws the folds, and starts the reduction of attributes.
    without : str, optional
        Property that is no attribute here, such as the one to predict.
    on_progress : callable
        Called with ("classify", views done, views).

    Returns
    -------
    PredictedClasses
        The same bits for any number of threads.

    Raises
    ------
    ClassificationError
        If fewer than 20 nodes have a class, or there are fewer than two classes or so many that a class has
        fewer than two members on average; a value is a list, or a number with a fraction; or the graph lacks
        the label.
    """
    asked, known = _asked(graph, values, label)
    classes, codes = _classes([values[row] for row in known.tolist()])
    types = telltale_types(graph, known, asked)
    properties = [each for each in telltale_properties(graph, known, asked) if each.name != without]
    graph = without_types(graph, {each.name for each in types})
    unread = {each.name for each in properties} | ({without} if without is not None else set())
    parts = views(None if types or properties else embedding, graph, seed, unread)
    if len(parts) > 1:
        parts[TOGETHER] = together(parts)
    random = np.random.default_rng(seed)
    learned = np.sort(random.permutation(len(known))[:_MOST])
    fold = _folds(codes[learned], random)
    truth, n_classes = codes[learned], len(classes)
    unseen, final = {}, {}
    for place, (name, view) in enumerate(parts.items()):
        on_progress("classify", place, len(parts) + 1)
        unseen[name], final[name] = _by_view(view, known[learned], truth, fold, n_classes, asked)
    on_progress("classify", len(parts), len(parts) + 1)
    unseen[CLASSES], final[CLASSES] = _by_neighbours(graph, known, codes, learned, fold, n_classes, asked)
    on_progress("classify", len(parts) + 1, len(parts) + 1)
    held_out = np.stack(list(unseen.values()))
    weights = fit_pool(held_out, truth)
    logs = np.stack(list(final.values()))
    chances = pooled(weights, logs)
    order = np.argsort(-chances, axis=1, kind="stable")
    chosen, second = order[:, 0], order[:, 1]
    rows = np.arange(len(asked))
    names = graph.names
    return PredictedClasses(
        node=[names[row] for row in asked.tolist()],
        rows=asked,
        classes=classes,
        chosen=chosen,
        second=second,
        probability=chances[rows, chosen],
        second_probability=chances[rows, second],
        evidence=(weights[:, None] * (logs[:, rows, chosen] - logs[:, rows, second])).T,
        weights=dict(zip(unseen, weights.tolist(), strict=True)),
        figures=_figures(unseen, truth, fold, n_classes),
        notes=(*map(str, (*types, *properties)), *_notes(classes, codes)),
    )


def _asked(graph: Graph, values: Sequence[Any], label: str | None) -> tuple[Rows, Rows]:
    """Return the rows to predict, and the rows with a class."""
    if len(values) != graph.n_nodes:
        raise ClassificationError(
            f"{len(values):,} values for {graph.n_nodes:,} nodes: give one each, or None"
        )
    has = np.array([value is not None for value in values], dtype=np.bool_)
    if label is not None:
        if label not in graph.labels:
            raise ClassificationError(f"no node of the graph has the label {label!r}")
        suits = graph.labels[label]
    else:
        masks = np.array([*graph.labels.values(), np.ones(graph.n_nodes, dtype=np.bool_)])
        _, group = np.unique(masks, axis=1, return_inverse=True)
        suits = np.isin(group, group[has])
    known = np.flatnonzero(has & suits)
    if len(known) < _FEWEST:
        raise ClassificationError(
            f"{plural(len(known), 'node')} with a class: {_FEWEST} are needed to learn from"
        )
    return np.flatnonzero(~has & suits), known


def _classes(values: Sequence[Any]) -> tuple[tuple[Any, ...], Codes]:
    """Return the classes, sorted, and the index of each value."""
    wrong = next(
        (value for value in values if not isinstance(value, str | int | np.integer | np.bool_)), None
    )
    if wrong is not None:
        raise ClassificationError(
            f"a class is a text, an integer or a boolean, got {display_text(wrong, 80)} "
            f"({type(wrong).__name__})"
        )
    classes = tuple(sorted(set(values), key=lambda value: (isinstance(value, str), value)))
    if len(classes) < 2:
        raise ClassificationError(f"all nodes with a class have the same, {display_text(classes[0], 80)!r}")
    if len(classes) > len(values) / 2:
        raise ClassificationError(
            f"{len(classes):,} classes for {plural(len(values), 'node')}: nothing to learn"
        )
    place = {value: code for code, value in enumerate(classes)}
    return classes, np.array([place[value] for value in values], dtype=np.int64)


def _folds(truth: Codes, random: np.random.Generator) -> Rows:
    """Return the fold of each node, such that each class is spread evenly over the folds."""
    fold = np.empty(len(truth), dtype=np.int64)
    fold[np.lexsort((random.random(len(truth)), truth))] = np.arange(len(truth)) % _FOLDS
    return fold


def _splits(fold: Rows) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield masks of the nodes to learn from and of those held out."""
    for each in range(_FOLDS):
        yield fold != each, fold == each


def _by_view(
    view: Array, known: Rows, truth: Codes, fold: Rows, n_classes: int, asked: Rows
) -> tuple[Array, Array]:
    """Return log probabilities of the known nodes, each held out, and of those that are asked for.

    The regularisation is the one that predicts the first folds best, of a thousand nodes together.
    """

    def unseen(folds: Rows, strength: float) -> Array:
        """Return log probabilities of the nodes of some folds."""
        asked_now = np.isin(fold, folds)
        chances = np.zeros((len(known), n_classes))
        for each in folds.tolist():
            learns, held_out = fold != each, fold == each
            chances[held_out] = _regression(
                view[known[learns]], truth[learns], view[known[held_out]], n_classes, strength
            )
        return log_chances(chances[asked_now])

    tried = np.arange(min(_FOLDS, math.ceil(_TRIED * _FOLDS / len(known))))
    own = truth[np.isin(fold, tried)]

    def loss(strength: float) -> float:
        return -float(unseen(tried, strength)[np.arange(len(own)), own].mean())

    best = min(_STRENGTHS, key=loss)
    final = _regression(view[known], truth, view[asked], n_classes, best)
    return unseen(np.arange(_FOLDS), best), log_chances(final)


def _regression(learned: Array, truth: Codes, asked: Array, n_classes: int, strength: float) -> Array:
    """Return the probabilities of multinomial logistic regression; 0 for classes it has not seen."""
    chances = np.zeros((len(asked), n_classes))
    if len(asked):
        model = LogisticRegression(C=strength, **_FIT)
        with warnings.catch_warnings():
            # Held-out nodes judge the model, whether its fit has converged or not.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(learned, truth)
        chances[:, model.classes_] = model.predict_proba(asked)
    return chances


def _by_neighbours(
    graph: Graph, known: Rows, codes: Codes, learned: Rows, fold: Rows, n_classes: int, asked: Rows
) -> tuple[Array, Array]:
    """Return the same for class shares that spread over edges; a held-out node does not spread its own.

    Source: Zhou et al., Learning with local and global consistency (2003).
    """
    walk = normalized_adjacency(graph)

    def shares(spreads: NDArray[np.bool_]) -> Array:
        start = np.zeros((graph.n_nodes, n_classes))
        start[known[spreads], codes[spreads]] = 1.0
        found = start
        for _ in range(_ROUNDS):
            found = (1.0 - _STAY) * (walk @ found) + _STAY * start
        found = found + _LEAST_SHARE * start.mean(axis=0) / start.mean(axis=0).sum()
        return log_chances(found / found.sum(axis=1, keepdims=True))

    unseen = np.empty((len(learned), n_classes))
    for _, held_out in _splits(fold):
        spreads = np.ones(len(known), dtype=np.bool_)
        spreads[learned[held_out]] = False
        unseen[held_out] = shares(spreads)[known[learned[held_out]]]
    return unseen, shares(np.ones(len(known), dtype=np.bool_))[asked]


def _figures(unseen: Mapping[str, Array], truth: Codes, fold: Rows, n_classes: int) -> ClassFigures:
    """Return the figures of the pool, with weights that are fitted without the fold they are applied to."""
    logs = np.stack(list(unseen.values()))
    chances = np.empty(logs.shape[1:])
    for learns, held_out in _splits(fold):
        chances[held_out] = pooled(fit_pool(logs[:, learns], truth[learns]), logs[:, held_out])
    micro, macro = f1_scores(chances, truth)
    return ClassFigures(
        nodes=len(truth),
        classes=n_classes,
        f1_micro=micro,
        f1_macro=macro,
        calibration_error=calibration_error(chances, truth),
        majority=float(np.bincount(truth).max() / len(truth)),
        attributes_alone=f1_scores(unseen[ATTRIBUTES], truth)[0] if ATTRIBUTES in unseen else None,
    )


def _notes(classes: tuple[Any, ...], codes: Codes) -> tuple[str, ...]:
    notes = []
    if len(classes) > _MANY_NUMBERS and not any(isinstance(value, str) for value in classes):
        low, high = classes[0], classes[-1]
        notes.append(f"{len(classes):,} numbers are classes: {low} is as unlike {classes[1]} as {high}")
    rare = int(np.count_nonzero(np.bincount(codes, minlength=len(classes)) < _FOLDS))
    if rare:
        which = "1 class has" if rare == 1 else f"{rare:,} classes have"
        notes.append(f"{which} fewer than {_FOLDS} nodes and can hardly be predicted")
    return tuple(notes)
