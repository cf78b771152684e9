"""Predict what nodes lack: which of several classes, or a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import spearmanr

from heat_neo4j._utils.display import display_number, display_text, plural
from heat_neo4j._utils.progress import Progress, no_progress
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.classes.comparable import (
    has_attributes,
    note_on,
    telltale_properties,
    telltale_types,
    without_telltale_words,
    without_types,
)
from heat_neo4j.classes.figures import ClassFigures, NumberFigures, calibration_error, f1_scores
from heat_neo4j.classes.kinds import Classes, Kind, Numbers
from heat_neo4j.classes.learning import FEWEST, FOLDS, Learned, learn
from heat_neo4j.classes.results import USUAL, PredictedClasses, PredictedNumbers
from heat_neo4j.classes.views import ATTRIBUTES, views
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

_MANY_NUMBERS = 20  # different ones: fewer are classes
_LARGEST = float(np.finfo(np.float64).max)
_CLEAR = 2.0  # standard errors by which the median must be worse


class ClassificationError(ValueError):
    """Raised if nothing can be learned; the message says why."""


@one_blas_thread()
def predict_property(
    graph: Graph,
    embedding: Array | None,
    values: Sequence[Any],
    *,
    kind: Literal["class", "number"] | None = None,
    label: str | None = None,
    seed: int = 0,
    without: str | None = None,
    on_progress: Progress = no_progress,
) -> PredictedClasses | PredictedNumbers:
    """Predict the class, or the number, of each node that has none.

    Parameters
    ----------
    graph : Graph
        N nodes.
    embedding : float64 array of shape (N, d + 1), optional
        Points on the hyperboloid. Leave it out if it was trained with the property as an attribute.
    values : sequence of N values
        The value of each node, a text, number or boolean; None where unknown.
    kind : {"class", "number"}, optional
        What is predicted: one of the known values, or any number between them. By default, a number if
        the known values are more than 20 different numbers, otherwise a class.
    label : str, optional
        Only nodes of this label; by default those with the same labels as any node with a value.
    seed : int
        Seed of the folds and of the attribute SVD.
    without : str, optional
        Property to ignore as attribute, such as the one to predict.
    on_progress : callable
        Called with ("classify", views done, views).

    Returns
    -------
    PredictedClasses or PredictedNumbers
        The same bits for any number of threads.

    Raises
    ------
    ClassificationError
        If fewer than 20 nodes have a value; there are fewer than two classes, or so many that a class has
        fewer than two members on average; numbers are predicted no better than by their median; a value is a
        list, or a number that is not finite; or the graph lacks the label.
    """
    asked, known = _asked(graph, values, label)
    own = [values[row] for row in known.tolist()]
    _check(own)
    different = len(set(own))
    are_numbers = not any(isinstance(value, str | bool | np.bool_) for value in own)
    if kind == "number" and not are_numbers:
        raise ClassificationError("only numbers can be predicted as numbers")
    as_numbers = kind == "number" or (kind is None and are_numbers and different > _MANY_NUMBERS)
    alone = asked[graph.degrees[asked] == 0]
    types = telltale_types(graph, known, asked)
    properties = [each for each in telltale_properties(graph, known, asked) if each.name != without]
    graph = without_types(graph, {each.name for each in types})
    unread = {each.name for each in properties} | ({without} if without is not None else set())
    graph, words = without_telltale_words(graph, known, asked, unread)
    described = has_attributes(graph, unread)
    notes = [*([note_on((*types, *properties))] if types or properties else []), *words]
    if are_numbers and kind is None:
        other, chosen = ("class", "numbers") if as_numbers else ("number", "classes")
        advice = f"set `kind` to {other} to change that"
        notes.append(f"{different:,} different numbers are predicted as {chosen}; {advice}")
    if alone.size:
        notes.append(_note_on_unlinked(len(asked), described[alone]))

    def learned(kind: Kind, truth: NDArray[Any]) -> Learned:
        parts = views(None if types or properties else embedding, graph, seed, unread)
        return learn(kind, truth, known, asked, graph, parts, described, seed=seed, on_progress=on_progress)

    names = graph.names
    node = [names[row] for row in asked.tolist()]
    if as_numbers:
        return _numbers(own, learned, node, asked, notes)
    return _classes(own, learned, node, asked, notes)


def _asked(graph: Graph, values: Sequence[Any], label: str | None) -> tuple[Rows, Rows]:
    """Return the rows to predict, and the rows with a value."""
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
        _, group = graph.label_sets()
        suits = np.isin(group, group[has])
    known = np.flatnonzero(has & suits)
    if len(known) < FEWEST:
        raise ClassificationError(
            f"{plural(len(known), 'node')} with a value: {FEWEST} are needed to learn from"
        )
    return np.flatnonzero(~has & suits), known


def _note_on_unlinked(n_asked: int, described: NDArray[np.bool_]) -> str:
    """Return what predictions of nodes without relationships rest on; `described`: which have attributes."""
    n, with_attributes = len(described), int(described.sum())
    reasons = {"their attributes alone": with_attributes, USUAL: n - with_attributes}
    used = [(reason, count) for reason, count in reasons.items() if count]
    rest = used[0][0] if len(used) == 1 else " and ".join(f"{reason} ({count:,})" for reason, count in used)
    have = "has" if n == 1 else "have"
    return f"{n:,} of {plural(n_asked, 'predicted node')} {have} no relationships: judged by {rest}"


def _check(values: Sequence[Any]) -> None:
    """Raise a ClassificationError for a value that is neither a class nor a number."""
    usual: Any = (str, int, float, np.integer, np.floating, np.bool_)
    for value in values:
        if not isinstance(value, usual) or (not isinstance(value, str) and not abs(value) <= _LARGEST):
            raise ClassificationError(
                f"a value is a text, a number or a boolean, got {display_text(value, 80)} "
                f"({type(value).__name__})"
            )


def _classes(
    values: Sequence[Any],
    learned: Callable[[Kind, NDArray[Any]], Learned],
    node: Sequence[Any],
    asked: Rows,
    notes: list[str],
) -> PredictedClasses:
    """Predict one of the values."""
    classes = tuple(sorted(set(values), key=lambda value: (isinstance(value, str), value)))
    if len(classes) < 2:
        raise ClassificationError(f"all nodes with a value have the same, {display_text(classes[0], 80)!r}")
    if len(classes) > len(values) / 2:
        raise ClassificationError(
            f"{len(classes):,} classes for {plural(len(values), 'node')}: nothing to learn"
        )
    place = {value: code for code, value in enumerate(classes)}
    codes = np.array([place[value] for value in values], dtype=np.int64)
    found = learned(Classes(len(classes)), codes)
    chances = softmax(found.said, axis=1)
    order = np.argsort(-chances, axis=1, kind="stable")
    chosen, second, rows = order[:, 0], order[:, 1], np.arange(len(asked))
    probability, second_probability = chances[rows, chosen], chances[rows, second]
    evidence = [
        weights * (said[rows, chosen] - said[rows, second])
        for weights, said in zip(found.weights.T, found.final, strict=True)
    ]
    usual = np.where(found.weights.any(axis=1), 0.0, np.log(probability / second_probability))
    rare = int(np.count_nonzero(np.bincount(codes) < FOLDS))
    if rare:
        which = "1 class has" if rare == 1 else f"{rare:,} classes have"
        notes.append(f"{which} fewer than {FOLDS} nodes and can hardly be predicted")
    figures = _class_figures(found, codes[found.rows])
    if figures.f1_micro <= figures.majority:
        notes.append("on held-out nodes it is no better than always the most frequent value")
    return PredictedClasses(
        node=node,
        rows=asked,
        evidence=np.column_stack((*evidence, usual)),
        weights=found.usual_weights,
        figures=figures,
        classes=classes,
        chosen=chosen,
        second=second,
        probability=probability,
        second_probability=second_probability,
        notes=tuple(notes),
    )


def _class_figures(found: Learned, truth: Codes) -> ClassFigures:
    """Return the figures of the pool, with weights that are fitted without the fold they are applied to."""
    chances = softmax(found.held_out, axis=1)
    micro, macro = f1_scores(chances, truth)
    attributes = (
        f1_scores(found.unseen[found.views.index(ATTRIBUTES)], truth)[0]
        if (ATTRIBUTES in found.views)
        else None
    )
    return ClassFigures(
        nodes=len(truth),
        classes=chances.shape[1],
        f1_micro=micro,
        f1_macro=macro,
        calibration_error=calibration_error(chances, truth),
        majority=float(np.bincount(truth).max() / len(truth)),
        attributes_alone=attributes,
    )


def _numbers(
    values: Sequence[Any],
    learned: Callable[[Kind, NDArray[Any]], Learned],
    node: Sequence[Any],
    asked: Rows,
    notes: list[str],
) -> PredictedNumbers:
    """Predict a number and its interval."""
    truth = np.array(values, dtype=np.float64)
    kind = Numbers(truth)
    found = learned(kind, kind.scores)
    figures = _number_figures(kind, found, truth)
    said = found.said[:, 0]
    value, low, high = (kind.values(said + step * found.margins) for step in (0.0, -1.0, 1.0))
    are_integers = all(isinstance(each, int | np.integer) for each in values)
    number = np.int64 if are_integers and np.abs(truth).max() < 2.0**63 else np.float64
    if number is np.int64:
        value, low, high = np.rint(value), np.floor(low), np.ceil(high)
    return PredictedNumbers(
        node=node,
        rows=asked,
        evidence=kind.values(np.column_stack((*(each[:, 0] for each in found.final), said))),
        weights=found.usual_weights,
        figures=figures,
        value=value.astype(number),
        low=low.astype(number),
        high=high.astype(number),
        strength=np.column_stack((found.weights, ~found.weights.any(axis=1))),
        notes=tuple(notes),
    )


def _number_figures(kind: Numbers, found: Learned, truth: Array) -> NumberFigures:
    """Return the figures; raise a ClassificationError if the median is about as good."""
    truth, scores = truth[found.rows], kind.scores[found.rows]
    said, neighbours = found.held_out[:, 0], found.unseen[-1][:, 0]
    guesses = kind.values(said), np.median(truth), kind.values(neighbours)
    error, of_median, of_neighbours = (float(np.abs(each - truth).mean()) for each in guesses)
    gain = np.abs(scores) - np.abs(said - scores)  # the score of the median is 0
    if gain.mean() <= _CLEAR * gain.size**-0.5 * gain.std():
        raise ClassificationError(
            "on held-out nodes its rank is not clearly nearer than that of the median: off by "
            f"{display_number(error, 4)}, and always the median by {display_number(of_median, 4)}"
        )
    return NumberFigures(
        nodes=len(truth),
        different=len(np.unique(truth)),
        error=error,
        median_error=of_median,
        neighbours_error=of_neighbours,
        rank_correlation=float(spearmanr(said, scores).statistic),
    )
