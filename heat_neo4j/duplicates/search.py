"""Find the pairs of nodes that are likely to be the same thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from heat_neo4j._utils.display import did_you_mean, plural
from heat_neo4j._utils.frames import Result, column_of
from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j._utils.validation import check_integer, check_probability
from heat_neo4j.attributes.table import Attribute
from heat_neo4j.attributes.vectors import is_vector
from heat_neo4j.duplicates.blocking import Pairs, candidate_pairs
from heat_neo4j.duplicates.comparisons import Compared, only_neighbours, surroundings
from heat_neo4j.duplicates.fellegi_sunter import MISSING, Comparison, count_once, fit_weights
from heat_neo4j.duplicates.names import Names, plain_text
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph, entries

Array = NDArray[np.float64]

_SEED = 0
_RANDOM_PAIRS = 200_000
_REASONS = 3
_LEAST = 0.05  # log odds of a reason; less is printed as 0.0


class NothingToCompareError(ValueError):
    """No label of that name, or fewer than two nodes."""


@dataclass(frozen=True, eq=False, repr=False)
class Duplicates(Result):
    """Pairs of nodes that are likely to be the same thing, likeliest first.

    Parameters
    ----------
    first, second : int64 arrays of shape (L,)
        Rows of the graph, first < second.
    probability : float64 array of shape (L,)
        Probability that both are the same, descending; see `HEAT.duplicates` for what it means.
    log_odds : float64 array of shape (L,)
        The pairs are ranked by it.
    distance : float64 array of shape (L,)
        Hyperbolic distance of the two nodes.
    reasons : tuple of str
        For each pair, the three strongest comparisons for and against it, in words, with their contributions
        to the log odds.
    names : sequence
        Node names in results, by row.
    texts : sequence of str
        Names that were compared, by row.
    n_candidates : int
        Pairs that were compared.
    notes : tuple of str
        What was left out, one line each.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    probability: Array
    log_odds: Array
    distance: Array
    reasons: tuple[str, ...]
    names: Sequence[Any]
    texts: Sequence[str]
    n_candidates: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return f"Duplicates({plural(len(self), 'pair')} of {plural(self.n_candidates, 'candidate')})"

    def to_dict(self) -> dict[str, Any]:
        """Return the pairs as JSON data."""
        return {"candidates": self.n_candidates, "pairs": self._rows(), "notes": list(self.notes)}

    def _columns(self) -> dict[str, Any]:
        ends = (self.first.tolist(), self.second.tolist())
        return {
            "first": column_of([self.names[row] for row in ends[0]]).tolist(),
            "second": column_of([self.names[row] for row in ends[1]]).tolist(),
            "first_name": [self.texts[row] for row in ends[0]],
            "second_name": [self.texts[row] for row in ends[1]],
            "probability": self.probability.tolist(),
            "distance": self.distance.tolist(),
            "reason": list(self.reasons),
            "rank": list(range(1, len(self) + 1)),
        }


@one_blas_thread()
def find_duplicates(
    embedding: Array,
    graph: Graph,
    names: Sequence[Any],
    properties: Mapping[str, Sequence[Any]] | None = None,
    *,
    label: str | None = None,
    unique: Sequence[str] = (),
    k: int = 100,
    min_probability: float = 0.0,
    n_threads: int | None = None,
) -> Duplicates:
    """Return the pairs of nodes that are most likely the same thing; see `HEAT.duplicates`."""
    check_integer("k", k, minimum=1)
    check_probability("min_probability", min_probability)
    properties = properties or {}
    for name, values in {"names": names, **properties}.items():
        if len(values) != graph.n_nodes:
            raise ValueError(f"{name} has {plural(len(values), 'value')} for {plural(graph.n_nodes, 'node')}")
    if missing := [name for name in unique if name not in properties]:
        raise ValueError(f"unique: {missing[0]!r} is not a property{did_you_mean(missing[0], properties)}")
    if label is not None and label not in graph.labels:
        raise NothingToCompareError(f"no node has the label {label!r}{did_you_mean(label, graph.labels)}")
    texts = ["" if name is None else str(name) for name in names]
    rows = np.flatnonzero(np.ones(graph.n_nodes, np.bool_) if label is None else graph.labels[label])
    if len(rows) < 2:
        raise NothingToCompareError("fewer than two nodes to compare")
    own = Names([texts[row] for row in rows.tolist()])
    around, points = surroundings(graph, rows), embedding[rows]
    kinds = graph.label_sets()[1][rows] if label is None else np.zeros(len(rows), dtype=np.int64)
    pairs = _candidates(own, around, points, kinds, n_threads)
    pairs = _apart(graph, rows, pairs)
    sizes = np.bincount(kinds).astype(np.int64)
    compared = Compared(pairs, _random_pairs(len(rows)), max(1, int((sizes * (sizes - 1) // 2).sum())))
    comparisons = [compared.by_names(own), compared.by_structure(around, points)]
    if only := only_neighbours(graph, rows):
        comparisons.append(compared.by_only_neighbours(only, texts))
    comparisons += [compared.by_vectors(name, each) for name, each in _vectors(graph, rows)]
    of_properties = []
    for name, values in properties.items():
        # What repeats the name says nothing more.
        own_values = [
            None if name not in unique and _same_text(values[row], texts[row]) else values[row]
            for row in rows.tolist()
        ]
        of_properties.append(compared.by_values(name, own_values))
    comparisons += count_once(of_properties, compared.n_pairs)
    differs = np.zeros(len(pairs), dtype=np.bool_)
    notes = [] if unique else _shared_names([texts[row] for row in rows.tolist()])
    for each in comparisons:
        if each.name in unique:
            differ = (each.levels != MISSING) & (each.levels < len(each.reasons) - 1)
            differs |= differ
            gone = plural(int(np.count_nonzero(differ)), "candidate")
            notes.append(f"{each.name} identifies nodes: {gone} that differ in it left out")
    pairs, comparisons = pairs[~differs], [each.among(~differs) for each in comparisons]
    fitted = fit_weights(comparisons)
    chance = expit(fitted.log_odds)
    apart = pair_distances(points, pairs)
    found = np.flatnonzero(chance >= min_probability)
    if len(pairs) and not len(found):
        notes.append(_none_likely(chance, min_probability, comparisons[0], fitted.weights[:, 0]))
    if min_probability > 0.0 and (more := len(found) - k) > 0:
        has = "has" if more == 1 else "have"
        notes.append(f"{more:,} more {has} a probability of {min_probability:g} or more: raise k")
    order = found[np.lexsort((apart[found], -fitted.log_odds[found]))][:k]
    return Duplicates(
        first=rows[pairs[order, 0]],
        second=rows[pairs[order, 1]],
        probability=chance[order],
        log_odds=fitted.log_odds[order],
        distance=apart[order],
        reasons=tuple(_reason(comparisons, fitted.weights, place) for place in order.tolist()),
        names=graph.names,
        texts=texts,
        n_candidates=len(pairs),
        notes=tuple(notes),
    )


def _shared_names(texts: Sequence[str]) -> list[str]:
    """Return a note if most nodes with a name share it with at least two others, as things of a kind do."""
    uses = Counter(filter(None, map(plain_text, texts)))
    shared = sum(n for n in uses.values() if n > 2)
    if 2 * shared <= uses.total():
        return []
    return [
        f"{shared:,} of {plural(uses.total(), 'node')} share their name with at least two others: choose a "
        "`caption` that tells things apart, or a `unique` property"
    ]


def _same_text(value: Any, name: str) -> bool:
    return isinstance(value, str) and plain_text(value) == plain_text(name)


def _none_likely(chance: Array, least: float, by_names: Comparison, weights: Array) -> str:
    """Return how likely the likeliest pair is, and how many pairs only their names speak for."""
    note = f"no pair is likelier than {chance.max():.4g}, and `min_probability` is {least:g}"
    is_same = (by_names.levels == len(by_names.reasons) - 1) & (weights > 0.0)
    if namesakes := int(np.count_nonzero(is_same)):
        has = "has" if namesakes == 1 else "have"
        note += f"; {plural(namesakes, 'pair')} {has} the same name, least likely {chance[is_same].min():.2g}"
    return note


def _candidates(
    names: Names, around: sparse.csr_array, points: Array, kinds: NDArray[np.int64], n_threads: int | None
) -> Pairs:
    """Return the candidate pairs among the nodes of each kind."""
    found = [np.empty((0, 2), dtype=np.int64)]
    for kind in np.unique(kinds):
        own = np.flatnonzero(kinds == kind)
        found.append(own[candidate_pairs(names.among(own), around[own], points[own], n_threads=n_threads)])
    return np.concatenate(found)


def _apart(graph: Graph, rows: NDArray[np.int64], pairs: Pairs) -> Pairs:
    """Return the pairs that no relationship joins: a node's double is not its neighbour."""
    return np.asarray(pairs[entries(graph.adjacency, rows[pairs]) == 0.0])


def _random_pairs(n: int) -> Pairs:
    pairs = np.random.default_rng(_SEED).integers(n, size=(_RANDOM_PAIRS, 2))
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def _vectors(graph: Graph, rows: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[Any]]]:
    if graph.attributes is None:
        return
    for entry, place, _ in graph.attribute_blocks():
        if is_vector(entry):
            block = graph.attributes[rows][:, place]
            yield Attribute.of(entry).name, block if isinstance(block, np.ndarray) else block.toarray()


def _reason(comparisons: Sequence[Comparison], weights: Array, place: int) -> str:
    """Return the comparisons that speak for a pair and against it most, in words."""
    order = np.argsort(-np.abs(weights[place]), kind="stable").tolist()
    sides = ([column for column in order if sign * weights[place, column] >= _LEAST] for sign in (1, -1))
    levels = [each.reasons[each.levels[place]] for each in comparisons]
    pro, con = (
        ", ".join(f"{levels[column]} ({weights[place, column]:+.1f})" for column in side[:_REASONS])
        for side in sides
    )
    return "; ".join(each for each in (pro, con and f"against: {con}") if each)
