"""How the two nodes of a pair compare: names, distance, neighbours, and the values of other properties.

The frequencies of levels among duplicates, ``_M``, were tuned on synthetic duplicates in Debian, and those of
structure on authors and licences of Python packages, whose duplicates mostly have no common neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import pdtrc

from heat_neo4j.duplicates.fellegi_sunter import MISSING, Comparison
from heat_neo4j.duplicates.names import Names, plain_text, row_products
from heat_neo4j.geometry.hyperboloid import pair_distances
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]
Only = tuple[str, NDArray[np.int64]]  # a type, and the one neighbour of each of some nodes; -1 for none

_COSINES = (0.3, 0.45, 0.6, 0.75)
_NAMES = (
    "different names", "names hardly alike", "names a little alike", "names alike", "names very alike",
    "same name but for common words", "acronym", "words swapped as in other names",
    "spelled nearly the same", "misspelled",
    "same words in another order", "same name",
)  # fmt: skip
_NAMES_M = (0.02, 0.02, 0.03, 0.04, 0.04, 0.1, 0.2, 0.02, 0.08, 0.15, 0.1, 0.2)
# Of a thousand candidates of usual graphs that are no duplicates.
_NAMES_USUAL = (640.0, 170.0, 110.0, 50.0, 26.0, 1.0, 0.35, 0.5, 1.0, 0.5, 0.1, 1.0)
_SAME_CORE, _ACRONYM, _SWAPPED, _SPELLED, _MISSPELLED, _REORDERED, _SAME_NAME = range(5, 12)  # levels
_SHARES = (0.0, 0.15, 0.3, 0.5, 0.75)
_SHARED = (
    "no common neighbour", "few common neighbours", "some common neighbours", "many common neighbours",
    "most neighbours in common", "nearly all neighbours in common",
)  # fmt: skip
_SHARED_M = (0.4, 0.1, 0.1, 0.1, 0.15, 0.15)
_NEAR = (1e-1, 1e-2, 1e-3, 1e-4)  # shares of random pairs that are nearer
_DISTANCES_M = (0.3, 0.2, 0.2, 0.15, 0.15)
_DISTANCES = ("far apart", "not far apart", "near", "very near", "extremely near")
_VECTORS = (
    "vectors unlike",
    "vectors somewhat alike",
    "vectors alike",
    "vectors very alike",
    "vectors nearly the same",
)
_NEAR_M = (0.1, 0.15, 0.25, 0.25, 0.25)
_AGREE_M = 0.9
_SAME_VALUE = 2  # level
_NEAR_VALUE, _NEAREST = 0.02, 0.001  # shares of random pairs that are nearer
_COPIED = 2e-4  # frequency of other pairs with the same name that is no chance
_AT_ONCE = 2**16  # pairs
_RARELY, _BELOW_CHANCE = 0.05, 0.2  # nodes with two relationships: share of all, and of those by chance


def surroundings(graph: Graph, rows: NDArray[np.int64]) -> sparse.csr_array:
    """Return the neighbours of some rows by type and direction, weighted by rarity; shape (M, C).

    The weight of a neighbour is the root of log(N / d), d being how many relationships of the type it has in
    that direction; the product of two rows is the sum of logs over what they share.
    """
    n, weighted = graph.n_nodes, []
    for _, block in _blocks(graph):
        degrees = np.maximum(np.bincount(block.indices, minlength=n), 1)
        chosen = sparse.csr_array(block[rows])
        data = np.sqrt(np.log(1.0 + n / degrees[chosen.indices]))
        weighted.append(sparse.csr_array((data, chosen.indices, chosen.indptr), shape=chosen.shape))
    return sparse.csr_array(sparse.hstack(weighted, format="csr"))


def only_neighbours(graph: Graph, rows: NDArray[np.int64]) -> list[Only]:
    """Return the neighbours of which a node has one of a type, such as the country of each city.

    Hardly any of the rows has two relationships of the type in that direction, and far fewer than if these
    were spread evenly.
    """
    found = []
    for name, block in _blocks(graph):
        chosen = sparse.csr_array(block[rows])
        counts = np.diff(chosen.indptr)
        several, by_chance = np.count_nonzero(counts > 1), len(rows) * float(pdtrc(1, counts.mean()))
        if name and several <= min(_RARELY * np.count_nonzero(counts), _BELOW_CHANCE * by_chance - 1.0):
            only = np.full(len(rows), -1)
            only[counts == 1] = chosen.indices[chosen.indptr[:-1][counts == 1]]
            found.append((name, only))
    return found


def _blocks(graph: Graph) -> Iterator[tuple[str, sparse.csr_array]]:
    """Yield the relationships of each type in both directions; without types, all edges without a name."""
    if graph.relationships is None:
        yield "", graph.adjacency
        return
    for name in graph.relationships.types:
        matrix = graph.relationships.matrix(name, graph.n_nodes)
        yield name, matrix
        yield name, sparse.csr_array(matrix.T)


@dataclass(frozen=True, eq=False)
class Compared:
    """M nodes, their candidate pairs and random pairs, by which the comparisons are made."""

    candidates: Pairs
    random: Pairs
    n_pairs: int  # of all pairs of the M nodes that could be candidates

    def by_names(self, names: Names) -> Comparison:
        """Compare names by their n-grams, their words in any order, and as acronyms.

        The same words or initials weigh more if few other names would have them by chance.
        """
        chance = names.acronym_chance(self.candidates)
        levels = _name_levels(names, self.candidates, ~np.isnan(chance))
        chance[levels > _ACRONYM] = np.nan
        same = levels >= _REORDERED
        chance[same] = names.chance[self.candidates[same, 0]]
        # Candidates were chosen by name, so that chance brings as many of them as of all pairs.
        chance = np.minimum(chance * (self.n_pairs / max(1, len(levels))) + _COPIED, 0.5)
        # Otherwise all misspelled names could count as duplicates, and so be rare among other pairs.
        usual = np.array(_NAMES_USUAL) * max(1.0, len(levels) / 1000)
        return Comparison("name", _NAMES, levels, np.array(_NAMES_M), usual=usual, chance=chance)

    def by_structure(self, around: sparse.csr_array, points: Array) -> Comparison:
        """Compare neighbours and distance jointly, as near nodes often share neighbours.

        Levels are pairs of a level of the shared rarity and one of the distance in the space.
        """
        near = self._nearness(lambda pairs: pair_distances(points, pairs))
        both = _neighbour_levels(around, self.candidates) * len(_DISTANCES) + near
        reasons = [f"{shared} and {apart} in the embedding" for shared in _SHARED for apart in _DISTANCES]
        m = np.outer(_SHARED_M, _DISTANCES_M)
        return Comparison("structure", tuple(reasons), both, m.ravel(), grid=m.shape)

    def by_values(self, name: str, values: Sequence[Any]) -> Comparison:
        """Compare the values of a property: agreement in a rare value weighs more than in a common one.

        Lists agree if they have a value in common. Texts agree whatever their case and accents. Numbers and
        points are near if they are nearer than most random pairs. What nearly all nodes have says nothing.
        """
        table = _value_table(values)
        known = np.diff(table.indptr) > 0
        n_known, counts = max(1, int(known.sum())), np.bincount(table.indices, minlength=table.shape[1])
        table.data = np.sqrt(1.0 / counts[table.indices])
        agreement = self._agreement(counts, n_known)
        chance, of_random = self._shares_nearer(values)

        def compared(pairs: Pairs, nearer: Array) -> tuple[NDArray[np.int64], Array]:
            common = _shared_values(table, pairs).max(axis=1).toarray().ravel()
            levels = np.where(common > 0.0, _SAME_VALUE, np.where(nearer <= _NEAR_VALUE, 1, 0))
            levels[~known[pairs].all(axis=1)] = MISSING
            return levels, common

        levels, common = compared(self.candidates, chance)
        same = levels == _SAME_VALUE
        chance[same] = np.minimum(_AGREE_M, 1.0 / common[same] / n_known)
        chance[levels < 1] = np.nan
        reasons = f"other {name}", f"nearly the same {name}", f"the same {name}"
        other = (1.0 - _AGREE_M) * (0.5 if (levels == 1).any() else 1.0)
        m, u = np.array([other, other, _AGREE_M]), np.array([1.0 - agreement, _NEAR_VALUE, agreement])
        others = compared(self.random, of_random)[0]
        return Comparison(name, reasons, levels, m, u, chance=chance, others=others)

    def by_only_neighbours(self, only: Sequence[Only], names: Sequence[str]) -> Comparison:
        """Compare neighbours of which a node has one: others speak against a pair, unless their names agree.

        The same neighbour counts in `by_structure` alone. If several differ, one counts: they may have
        changed together.
        """
        levels = np.full(len(self.candidates), MISSING)
        u = []
        for level, (_, rows) in enumerate(only):
            ends = np.unique([plain_text(names[row]) or str(row) for row in rows], return_inverse=True)[1]
            u.append(1.0 - self._agreement(np.bincount(ends[rows >= 0]), int(np.count_nonzero(rows >= 0))))
            known = (rows[self.candidates] >= 0).all(axis=1)
            differ = known & (ends[self.candidates[:, 0]] != ends[self.candidates[:, 1]])
            levels[differ & (levels == MISSING)] = level
        reasons = tuple(f"other {name}" for name, _ in only)
        return Comparison("only neighbours", reasons, levels, np.full(len(only), 1.0 - _AGREE_M), np.array(u))

    def _agreement(self, counts: NDArray[np.int64], n: int) -> float:
        """Return the share of pairs of n nodes with the same value, of as many as have each value."""
        share = float(np.sum(counts * (counts - 1.0))) / max(1, n * (n - 1))
        return min(0.5, max(share, 1.0 / self.n_pairs))

    def _shares_nearer(self, values: Sequence[Any]) -> tuple[Array, Array]:
        """Return the shares of random pairs that are as near, for the candidates and for the random pairs."""
        places = _coordinates(values)
        if places is None:
            return np.full(len(self.candidates), np.nan), np.full(len(self.random), np.nan)
        of_candidates, of_random = (
            np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1)
            for pairs in (self.candidates, self.random)
        )
        usual = np.sort(of_random[~np.isnan(of_random)])

        def nearer(own: Array) -> Array:
            share = (np.searchsorted(usual, own, side="right") + 1.0) / (len(usual) + 1.0)
            return np.asarray(np.maximum(share, _NEAREST))

        return nearer(of_candidates), nearer(of_random)

    def by_vectors(self, name: str, directions: NDArray[Any]) -> Comparison:
        """Compare cosines of vectors, rows of length 1 or of zeros, with those of random pairs.

        A row of zeros is a vector that is not known.
        """
        levels = self._nearness(lambda pairs: -_cosines(directions, pairs))
        known = np.asarray(directions.any(axis=1))
        levels[~known[self.candidates].all(axis=1)] = MISSING
        return Comparison(name, _VECTORS, levels, np.array(_NEAR_M))

    def _nearness(self, distance: Callable[[Pairs], Array]) -> NDArray[np.int64]:
        """Return levels of the candidates by the share of random pairs that are nearer."""
        limits = np.quantile(distance(self.random), _NEAR)
        return np.asarray((distance(self.candidates)[:, None] <= limits).sum(axis=1))


def _name_levels(names: Names, pairs: Pairs, is_acronym: NDArray[np.bool_]) -> NDArray[np.int64]:
    levels = np.searchsorted(_COSINES, names.cosine(pairs), side="right")
    levels[names.same_core(pairs)] = _SAME_CORE
    levels[is_acronym] = _ACRONYM
    alike = np.flatnonzero(names.spelled_alike(pairs))
    levels[alike] = np.where(names.have_unknown_words(pairs[alike]), _MISSPELLED, _SPELLED)
    same = np.flatnonzero(names.same_words(pairs))
    levels[same] = np.where(names.have_unknown_order(pairs[same]), _REORDERED, _SWAPPED)
    levels[names.same_letters(pairs)] = _SAME_NAME
    levels[~names.known[pairs].all(axis=1)] = MISSING
    return np.asarray(levels, dtype=np.int64)


def _neighbour_levels(around: sparse.csr_array, pairs: Pairs) -> NDArray[np.int64]:
    """Return levels of shared / (smaller total + 1 unit) rarity of the neighbours of a pair."""
    squares = sparse.csr_array(around.multiply(around))
    total, one = np.asarray(squares.sum(axis=1)).ravel(), np.log(1.0 + around.shape[0])
    shared = row_products(around, pairs)
    share = shared / (np.minimum(total[pairs[:, 0]], total[pairs[:, 1]]) + one)
    levels = np.searchsorted(_SHARES, share, side="left")
    return np.asarray(levels, dtype=np.int64)


def _shared_values(rows: sparse.csr_array, pairs: Pairs) -> sparse.csr_array:
    """Return the products of the entries of both rows of each pair, shape (m, C)."""
    begins = range(0, max(1, len(pairs)), _AT_ONCE)
    parts = [pairs[begin : begin + _AT_ONCE] for begin in begins]
    return sparse.csr_array(
        sparse.vstack([sparse.csr_array(rows[each[:, 0]].multiply(rows[each[:, 1]])) for each in parts])
    )


def _cosines(directions: NDArray[Any], pairs: Pairs) -> Array:
    products = np.einsum("ij,ij->i", directions[pairs[:, 0]], directions[pairs[:, 1]])
    return np.asarray(products, dtype=np.float64)


def _value_table(values: Sequence[Any]) -> sparse.csr_array:
    """Return which node has which value, shape (M, V), entries 1."""
    column_of: dict[Any, int] = {}
    sets = [{column_of.setdefault(each, len(column_of)) for each in _values(value)} for value in values]
    indptr = np.cumsum([0, *map(len, sets)])
    indices = np.array([column for each in sets for column in sorted(each)], dtype=np.int32)
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(sets), len(column_of) or 1))


def _is_point(value: Any) -> bool:
    """Return whether a value is a point of the driver's, a kind of tuple."""
    return isinstance(value, tuple) and type(value) is not tuple


def _coordinates(values: Sequence[Any]) -> Array | None:
    """Return numbers, or points, as rows, NaN where there is none; None if there are other values."""
    rows = [value if _is_point(value) else (value,) for value in values]
    known = [row for row in rows if row != (None,)]
    kinds = {type(each) for row in known for each in row}
    if not kinds or not kinds <= {int, float} or len(set(map(len, known))) > 1:
        return None
    unknown = (np.nan,) * len(known[0])
    return np.array([unknown if row == (None,) else row for row in rows], dtype=np.float64)


def _values(value: Any) -> Iterator[Any]:
    """Yield the values of a property in a form that can be compared."""
    for each in value if isinstance(value, list | tuple) and not _is_point(value) else (value,):
        if isinstance(each, str):
            if text := plain_text(each):
                yield text
        elif each is not None and not (isinstance(each, float) and isnan(each)):
            yield each if isinstance(each, Hashable) else repr(each)
