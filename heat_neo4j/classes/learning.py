"""Learn a property from the nodes that have it: one model of each view, pooled by success on unseen nodes.

A view says nothing about a node that lacks what it is made of. Such a node gets a pool of the other views,
fitted on nodes that have those; a node without any gets what is usual.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.progress import Progress
from heat_neo4j.classes.kinds import Kind
from heat_neo4j.classes.views import ATTRIBUTES, normalized_adjacency, together
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]

TOGETHER = "combined"
FOLDS = 5
FEWEST = 20  # nodes to learn from
_TRIED = 1_000  # held-out nodes that the regularisation is chosen on, if there are so many
_MOST = 10_000  # nodes that models are fitted on
_STAY, _ROUNDS = 0.1, 30  # of the spreading of values


@dataclass(frozen=True, eq=False)
class Learned:
    """What V views say about M asked nodes, and about n learned ones, each held out; C numbers a node."""

    views: tuple[str, ...]
    rows: Rows  # of the learned nodes, among those whose value is known
    unseen: Array  # what each view says about them, shape (V, n, C)
    final: Sequence[Array]  # and about the asked nodes
    held_out: Array  # what those views say together that know something of a node, shape (n, C)
    said: Array  # the same of the asked nodes, shape (M, C)
    weights: Array  # shape (M, V); all 0 for a node of which nothing is known
    usual_weights: Mapping[str, float]  # of most learned nodes
    margins: Array  # how far off most nodes are of which as much is known, shape (M,)


def learn(
    kind: Kind,
    truth: NDArray[Any],
    known: Rows,
    asked: Rows,
    graph: Graph,
    parts: Mapping[str, Array],
    described: Flags,
    *,
    seed: int,
    on_progress: Progress,
) -> Learned:
    """Learn the values `truth` of the `known` nodes from views of all nodes.

    `described` has shape (N,): which nodes have attributes.
    """
    views = dict(parts)
    if len(views) > 1:
        views[TOGETHER] = together(views)
    random = np.random.default_rng(seed)
    rows = np.sort(random.permutation(len(known))[:_MOST])
    learned, own = known[rows], truth[rows]
    fold = _folds(own, random)
    unseen, final = [], []
    for place, view in enumerate(views.values()):
        on_progress("classify", place, len(views) + 1)
        held_out, said = _by_view(kind, view, learned, own, fold, asked)
        unseen.append(held_out)
        final.append(said)
    on_progress("classify", len(views), len(views) + 1)
    held_out, said = _by_neighbours(kind, graph, known, truth, rows, fold, asked)
    unseen.append(held_out)
    final.append(said)
    on_progress("classify", len(views) + 1, len(views) + 1)
    names = (*views, kind.neighbours)
    linked = graph.degrees > 0
    needs = {ATTRIBUTES: described, TOGETHER: linked & described if ATTRIBUTES in views else linked}
    speaks = np.stack([needs.get(name, linked) for name in names])
    return _pool(kind, names, rows, own, fold, np.stack(unseen), final, speaks[:, learned], speaks[:, asked])


def _pool(
    kind: Kind, views: tuple[str, ...], rows: Rows, truth: NDArray[Any], fold: Rows, unseen: Array,
    final: Sequence[Array], speaks: Flags, speaks_to_asked: Flags,
) -> Learned:  # fmt: skip
    """Pool what the views say about each node, by which of them know something of it."""
    n_views, n_asked = speaks_to_asked.shape
    said, weights, margins = (
        np.zeros((n_asked, unseen.shape[2])),
        np.zeros((n_asked, n_views)),
        np.zeros(n_asked),
    )
    held_out, usual_weights, most = np.zeros(unseen.shape[1:]), np.zeros(n_views), 0
    for column in np.unique(np.hstack((speaks, speaks_to_asked)), axis=1).T:
        alike, asked = ((has == column[:, None]).all(axis=0) for has in (speaks, speaks_to_asked))
        have = (speaks | ~column[:, None]).all(axis=0)  # at least as much is known of these
        pattern = column & (have.sum() >= FEWEST)
        have = have if pattern.any() else np.ones_like(have)
        tried = np.empty_like(held_out)
        for learns, left_out in _splits(fold):
            own, usual = _weights(kind, pattern, unseen, truth, learns & have, learns & alike)
            tried[left_out] = np.tensordot(own, unseen[:, left_out], 1) + usual
        own, usual = _weights(kind, pattern, unseen, truth, have, alike)
        said[asked] = usual
        for view in np.flatnonzero(own).tolist():
            said[asked] += own[view] * final[view][asked]
        weights[asked], held_out[alike] = own, tried[alike]
        like = alike if alike.sum() >= FEWEST else have
        margins[asked] = kind.margin(tried[like], truth[like])
        if alike.sum() > most:
            usual_weights, most = own, int(alike.sum())
    by_view = dict(zip(views, usual_weights.tolist(), strict=True))
    return Learned(views, rows, unseen, final, held_out, said, weights, by_view, margins)


def _weights(
    kind: Kind, pattern: Flags, unseen: Array, truth: NDArray[Any], have: Flags, alike: Flags
) -> tuple[Array, Array]:
    """Return the weights of the views in `pattern`, and what is said without any."""
    weights = np.zeros(len(pattern))
    if not pattern.any():
        return weights, kind.usual(truth[alike], truth[have])
    weights[pattern] = kind.weights(unseen[pattern][:, have], truth[have])
    return weights, np.zeros(unseen.shape[2])


def _folds(truth: NDArray[Any], random: np.random.Generator) -> Rows:
    """Return the fold of each node, such that each class is spread evenly over the folds."""
    fold = np.empty(len(truth), dtype=np.int64)
    fold[np.lexsort((random.random(len(truth)), truth))] = np.arange(len(truth)) % FOLDS
    return fold


def _splits(fold: Rows) -> Iterator[tuple[Flags, Flags]]:
    """Yield masks of the nodes to learn from and of those held out."""
    for each in range(FOLDS):
        yield fold != each, fold == each


def _by_view(
    kind: Kind, view: Array, known: Rows, truth: NDArray[Any], fold: Rows, asked: Rows
) -> tuple[Array, Array]:
    """Return what a view says about the known nodes, each held out, and about those that are asked for.

    The regularisation is chosen on the first folds, with about a thousand nodes in total.
    """

    def unseen(folds: Rows, strength: float) -> Array:
        """Return what is said about the nodes of some folds."""
        said = {}
        for each in folds.tolist():
            learns, held_out = fold != each, fold == each
            said[each] = kind.regression(view[known[learns]], truth[learns], view[known[held_out]], strength)
        found = np.empty((len(known), said[0].shape[1]))
        for each, own in said.items():
            found[fold == each] = own
        return found[np.isin(fold, folds)]

    tried = np.arange(min(FOLDS, math.ceil(_TRIED * FOLDS / len(known))))
    own = truth[np.isin(fold, tried)]

    def loss(strength: float) -> float:
        return kind.loss(unseen(tried, strength), own)

    best = min(kind.strengths, key=loss)
    return unseen(np.arange(FOLDS), best), kind.regression(view[known], truth, view[asked], best)


def _by_neighbours(
    kind: Kind, graph: Graph, known: Rows, truth: NDArray[Any], rows: Rows, fold: Rows, asked: Rows
) -> tuple[Array, Array]:
    """As `_by_view`, for values spread over edges; held-out nodes do not spread theirs.

    Source: Zhou et al., Learning with local and global consistency (2003).
    """
    walk, seeds = normalized_adjacency(graph), kind.seeds(truth)

    def arrived(spreads: Flags) -> Array:
        start = np.zeros((graph.n_nodes, seeds.shape[1]))
        start[known[spreads]] = seeds[spreads]
        found = start
        for _ in range(_ROUNDS):
            found = (1.0 - _STAY) * (walk @ found) + _STAY * start
        return kind.spread(found, start)

    everywhere = arrived(np.ones(len(known), dtype=np.bool_))
    unseen = np.empty((len(rows), everywhere.shape[1]))
    for _, held_out in _splits(fold):
        spreads = np.ones(len(known), dtype=np.bool_)
        spreads[rows[held_out]] = False
        unseen[held_out] = arrived(spreads)[known[rows[held_out]]]
    return unseen, everywhere[asked]
