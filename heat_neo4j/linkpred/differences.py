"""Differences of numbers: how much larger a number of the target is than one of the source, such as years.

Cosines say whether two numbers are alike. They do not say that papers cite earlier ones, or that actors are
born before their films.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree
from scipy.stats import ks_2samp

from heat_neo4j.attributes.kinds import Kind
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.candidates import patterns_of, relationships_of
from heat_neo4j.linkpred.places import Places
from heat_neo4j.linkpred.scorers import CombinedScorer, NodeScorer
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_KINDS = (Kind.NUMBER, Kind.DATE, Kind.DURATION)
_MOST_NUMBERS = 6  # attributes compared: those that most nodes have
_MOST = 4  # differences that are features: those that tell most
_SAMPLED = 10_000  # links of a pattern that are looked at
_LINKS = 1_000  # of those with both numbers, how many decide
_LEAST = 0.1  # minimum change of the distribution, far above chance for so many links
_BY_CHANCE = 2.0  # times the square root of 2 / links: rarely exceeded by chance
_FINE = 1e4  # differences a 10,000th of the usual one count as none, larger ones by their logarithm
_MINUS = " - "  # in no other feature's name
_DIGITS = 6  # of the logarithm
_TIGHT, _TIGHTEST = 0.2, 1e-3  # spread among links, times that of other pairs: the most, and the least unit


STRICTNESS = 0.05
"""Factor of the ridge on these features: they are few, known to tell links from others, and exact."""


def is_difference(feature: str) -> bool:
    """Return whether a feature is a difference of numbers."""
    return _MINUS in feature


def numbers_of(difference: str) -> tuple[str, str]:
    """Return the attribute of the target and that of the source which a difference compares."""
    of_target, _, of_source = difference.partition(_MINUS)
    return of_target, of_source


def differences_of(graph: Graph) -> tuple[str, ...]:
    """Return the names of the differences that tell the links of a pattern from other pairs, at most 4.

    Their distribution changes (Kolmogorov and Smirnov) if the links' targets are shuffled, which keeps the
    popularity of each.
    """
    if graph.relationships is None or not (scorers := difference_scorers(graph)):
        return ()
    found: dict[str, float] = {}
    for pattern in patterns_of(graph):
        source, target = _sampled(*relationships_of(graph, pattern))
        for name, scorer in scorers.items():
            first, second = scorer.numbers
            is_at_both = not (np.isnan(first[target]).all() and np.isnan(second[source]).all())
            if is_at_both and not scorer.is_of_one_attribute:  # better compared with itself
                continue
            own, shuffled = (scorer.transformed(each) for each in scorer.of_links(source, target))
            if len(own) < 2:
                continue
            differs = float(ks_2samp(own.round(_DIGITS), shuffled.round(_DIGITS), method="asymp").statistic)
            if differs >= max(_LEAST, _BY_CHANCE * (2.0 / len(own)) ** 0.5):
                found[name] = max(found.get(name, 0.0), differs)
    return tuple(sorted(found, key=lambda each: (-found[each], each))[:_MOST])


def expected_places(
    graph: Graph,
    pattern: Pattern | None,
    differences: Mapping[str, DifferenceScorer],
    targets: Rows,
    few: int,
) -> tuple[Places, Places] | None:
    """Return where targets are, and where those of each source are expected, by their numbers.

    Of the differences, those count that vary little among the pattern's links, beside pairs of their
    ends; in units of that spread. None if there are none, or if usually more than a `few` targets are within
    it.
    """
    if pattern is None:
        return None
    source, target = _sampled(*relationships_of(graph, pattern))
    there, expected = [], []
    for scorer in differences.values():
        own, shuffled = scorer.of_links(source, target)
        if 2 * len(own) < min(len(source), _LINKS) or not len(own):
            continue
        (usual, spread), (_, of_others) = map(_median_and_spread, (own, shuffled))
        if spread < _TIGHT * of_others:
            unit = max(spread, _TIGHTEST * of_others)
            there.append(scorer.numbers[1] / unit)
            expected.append((scorer.numbers[0] + usual) / unit)
    if not there:
        return None
    places, origins = _places(there), _places(expected)
    from_here = origins.points[source[origins.known[source]][:_LINKS]]
    tree = KDTree(places.points[targets[places.known[targets]]])
    within = tree.query_ball_point(from_here, len(there) ** 0.5, return_length=True)
    return (places, origins) if len(within) and np.median(within) <= few else None


def difference_scorers(graph: Graph, names: Iterable[str] | None = None) -> dict[str, DifferenceScorer]:
    """Return the scorers of the named differences, of those whose attributes the graph has; or of all.

    Both attributes have the same kind: dates are not compared with numbers.
    """
    wanted = None if names is None else set(names)
    numbers = {} if wanted == set() else _numbers(graph)
    found = {}
    for ((one, kind), first), ((other, other_kind), second) in product(numbers.items(), repeat=2):
        name = f"{other}{_MINUS}{one}"
        if kind == other_kind and (wanted is None or name in wanted):
            found[name] = DifferenceScorer(first, second)
    return found


class DifferenceScorer(CombinedScorer):
    """The target's number minus the source's, as a signed logarithm; NaN if one of them is unknown."""

    def __init__(self, source: Array, target: Array) -> None:
        largest = max(np.nanmax(np.abs(source)), np.nanmax(np.abs(target))) or 1.0  # squares can overflow
        usual = np.sqrt(np.nanvar(source / largest) + np.nanvar(target / largest)) or 1.0
        self.is_of_one_attribute = source is target
        self.numbers = source / largest / usual, target / largest / usual
        super().__init__(NodeScorer(-self.numbers[0], np.add, self.numbers[1]))

    def is_known_of(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> bool:
        """Return whether some of the sources and some of the targets have the number."""
        first, second = self.numbers
        return not (np.isnan(first[sources]).all() or np.isnan(second[targets]).all())

    def of_links(self, source: Rows, target: Rows) -> tuple[Array, Array]:
        """Return the differences of a sample of links, and of as many pairs of their sources and targets."""
        before, after = self.numbers[0][source], self.numbers[1][target]
        known, generator = np.flatnonzero(~np.isnan(after - before)), np.random.default_rng(len(source))
        if len(known) > _LINKS:
            known = generator.choice(known, _LINKS, replace=False)
        before, after = before[known], after[known]
        return after - before, generator.permutation(after) - before

    def transformed(self, differences: Array) -> Array:
        """Return the signed logarithms of differences."""
        return np.asarray(np.sign(differences) * np.log1p(_FINE * np.abs(differences)))

    def ceiling(self) -> None:
        """Return None: no bound is known."""
        return

    def _combined(self, scores: Sequence[Array]) -> Array:
        return self.transformed(scores[0])


def _sampled(source: Rows, target: Rows) -> tuple[Rows, Rows]:
    if len(source) <= _SAMPLED:
        return source, target
    some = np.random.default_rng(len(source)).choice(len(source), _SAMPLED, replace=False)
    return source[some], target[some]


def _median_and_spread(values: Array) -> tuple[float, float]:
    median = float(np.median(values))
    return median, float(np.median(np.abs(values - median)))


def _places(columns: Sequence[Array]) -> Places:
    points = np.column_stack(columns)
    known = np.asarray(~np.isnan(points).any(axis=1))
    return Places(np.where(known[:, None], points, 0.0), known)


def _numbers(graph: Graph) -> Mapping[tuple[str, Kind], Array]:
    """Return the numbers that most nodes have, by name and kind, shape (N,); NaN if unknown."""
    found = {}
    for entry, columns, known in graph.attribute_blocks():
        if entry["kind"] in _KINDS and known.any():
            attributes: Any = graph.attributes
            values = sparse.csr_array(attributes[:, [columns.start]]).toarray().ravel().astype(np.float64)
            found[entry["columns"][0], Kind(entry["kind"])] = np.where(known, values, np.nan)
    most = sorted(found, key=lambda each: -np.count_nonzero(~np.isnan(found[each])))[:_MOST_NUMBERS]
    return {each: found[each] for each in most}
