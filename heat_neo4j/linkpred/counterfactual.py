"""What a link rests on: which relationships of its two nodes, taken away, lower its probability most.

Three looks, each closer and dearer than the last: at the features without a relationship, at the two nodes
placed anew without it, and at a training from scratch without it. Two trainings differ by chance as well, so
each look compares with one of its own kind that takes nothing away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from heat_neo4j._utils.progress import Progress, no_progress, prefixed
from heat_neo4j._utils.random import draw_seed
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.embedding.estimator import Embedder, NothingToLearnError
from heat_neo4j.embedding.warm_start import fit_local
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.link_score import LinkScore
from heat_neo4j.patterns import Pattern

LOOKED_AT = 200
"""Relationships that are looked at, of more those whose other ends have fewest neighbours."""
_PLACED = 5  # best ones, by features alone, that are placed anew

Array = NDArray[np.float64]


class Relationship(NamedTuple):
    """A relationship of the graph: rows and type."""

    source: int
    type: str
    target: int


class Effect(NamedTuple):
    """Probability of the link without some relationships."""

    without: tuple[Relationship, ...]  # one or two
    probability: float


@dataclass(frozen=True)
class Counterfactual:
    """Which relationships, taken away, lower the probability of a link most.

    Parameters
    ----------
    n_relationships, n_looked_at : int
        Relationships of the two nodes, and how many of them were looked at.
    placed_before : float
        Probability with the two nodes placed anew, nothing taken away.
    placed : tuple of Effect
        The same without relationships, the lowest first: the five that lower it most by features alone, and
        the two of them that do so together.
    trained_before, trained_after : float, optional
        Probability after a training from scratch, with all and without the first of `placed`; None if that
        was not asked for, or leaves nothing to learn from.
    seconds : float
        Time that the two trainings took.
    """

    n_relationships: int
    n_looked_at: int
    placed_before: float
    placed: tuple[Effect, ...]
    trained_before: float | None
    trained_after: float | None
    seconds: float


@one_blas_thread()
def find_counterfactual(
    model: Embedder,
    embedding: Array,
    graph: Graph,
    score: LinkScore,
    pattern: Pattern,
    pair: tuple[int, int],
    *,
    retrain: bool = True,
    on_progress: Progress = no_progress,
) -> Counterfactual | None:
    """Take relationships of a pair of nodes away, one or two at a time; None if the two have none.

    What joins the two themselves stays. `model` has the parameters by which `embedding`, of shape (N, d + 1),
    was trained; it is left as it is.
    """
    every = _relationships_at(graph, pair)
    if not every:
        return None
    looked_at = every[:LOOKED_AT]
    model = clone(model).set_params(random_state=draw_seed(model.random_state))
    link = _Link(score, pattern, pair)

    def screened(relationships: Sequence[Relationship], size: int, stage: str) -> list[Effect]:
        chosen = list(combinations(relationships, size))
        return _screened(link, embedding, graph, chosen, stage, on_progress)

    singles = screened(looked_at, 1, "take one away")[:_PLACED]
    pairs = screened([each.without[0] for each in singles], 2, "take two away")[:1]
    chosen = [(), *(each.without for each in (*singles, *pairs))]
    before, *effects = _placed_anew(link, model, embedding, graph, chosen, on_progress)
    placed = _lowest_first(effects)
    began = perf_counter()
    trained: list[float | None] = [None, None]
    if retrain:
        trained = [
            _trained(link, model, without(graph, each), prefixed(on_progress, stage))
            for stage, each in (("with all: ", ()), ("without: ", placed[0].without))
        ]
    return Counterfactual(
        n_relationships=len(every),
        n_looked_at=len(looked_at),
        placed_before=before.probability,
        placed=tuple(placed),
        trained_before=trained[0],
        trained_after=trained[1],
        seconds=round(perf_counter() - began, 3),
    )


class _Link(NamedTuple):
    score: LinkScore
    pattern: Pattern
    pair: tuple[int, int]

    def probability(self, points: Array, graph: Graph) -> float:
        scorer = self.score.scorers(points, graph)(self.pattern)
        return float(scorer.probability(scorer.pairs(np.array([self.pair], dtype=np.int64)))[0])


def _screened(
    link: _Link,
    embedding: Array,
    graph: Graph,
    chosen: Sequence[tuple[Relationship, ...]],
    stage: str,
    on_progress: Progress,
) -> list[Effect]:
    """Return what each choice does to the features, all coordinates as they are; the lowest first."""
    effects = []
    for done, each in enumerate(chosen, start=1):
        effects.append(Effect(each, link.probability(embedding, without(graph, each))))
        on_progress(stage, done, len(chosen))
    return _lowest_first(effects)


def _placed_anew(
    link: _Link,
    model: Embedder,
    embedding: Array,
    graph: Graph,
    chosen: Sequence[tuple[Relationship, ...]],
    on_progress: Progress,
) -> list[Effect]:
    """Return what each choice does if the two nodes are placed anew, in the order given."""
    nobody, moved = np.zeros(graph.n_nodes, dtype=np.bool_), np.zeros(graph.n_nodes)
    moved[list(link.pair)] = 1.0
    effects = []
    for done, each in enumerate(chosen, start=1):
        left = without(graph, each)
        points = fit_local(model, left, embedding, nobody, moved).embedding_
        effects.append(Effect(each, link.probability(points, left)))
        on_progress("place anew", done, len(chosen))
    return effects


def _trained(link: _Link, model: Embedder, graph: Graph, on_progress: Progress) -> float | None:
    """Return the probability after a training from scratch; None if the graph has nothing to learn from."""
    try:
        points = clone(model).fit(graph, on_progress=on_progress).embedding_
    except NothingToLearnError:
        return None
    return link.probability(points, graph)


def without(graph: Graph, relationships: Sequence[Relationship]) -> Graph:
    """Return the graph without some of its relationships.

    Of the weight of two nodes that others join, too, an equal part goes with each. The graph has no times.
    """
    if not relationships:
        return graph
    assert graph.relationships is not None
    n, adjacency = graph.n_nodes, graph.adjacency.copy()
    joined: dict[tuple[int, int], int] = {}
    for source, _, target in relationships:
        ends = (min(source, target), max(source, target))
        there = joined.setdefault(ends, _count_between(graph.relationships, *ends))
        left = (there - 1) / there
        adjacency[source, target] *= left
        adjacency[target, source] *= left
        joined[ends] = there - 1
    kept = {}
    for name in graph.relationships.types:
        ends_of_type = [ends.astype(np.int64) for ends in graph.relationships.of(name)]
        gone = [source * n + target for source, kind, target in relationships if kind == name]
        stays = ~np.isin(ends_of_type[0] * n + ends_of_type[1], gone)
        kept[name] = ends_of_type[0][stays], ends_of_type[1][stays]
    return replace(
        graph,
        adjacency=sparse.csr_array(adjacency),
        relationships=Relationships.from_pairs(kept),
        edge_times=None,
    )


def _relationships_at(graph: Graph, pair: tuple[int, int]) -> list[Relationship]:
    """Return the relationships at two nodes, but not between them: rarest other ends first."""
    assert graph.relationships is not None
    found = []
    for name in graph.relationships.types:
        source, target = graph.relationships.of(name)
        at_one = np.isin(source, pair) != np.isin(target, pair)
        ends = zip(source[at_one].tolist(), target[at_one].tolist(), strict=True)
        found += [Relationship(first, name, second) for first, second in ends]
    degrees = graph.degrees

    def rarity(each: Relationship) -> tuple[int, Relationship]:
        return int(degrees[each.target if each.source in pair else each.source]), each

    return sorted(found, key=rarity)


def _count_between(relationships: Relationships, first: int, second: int) -> int:
    """Return how many relationships join two nodes, whichever way."""
    there = (relationships.source == first) & (relationships.target == second)
    back = (relationships.source == second) & (relationships.target == first)
    return int(np.count_nonzero(there | back))


def _lowest_first(effects: Sequence[Effect]) -> list[Effect]:
    return sorted(effects, key=lambda effect: effect.probability)
