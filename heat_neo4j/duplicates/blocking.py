"""Candidate pairs: short lists of each node, so that the number of pairs grows with that of the nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.lists import NOBODY, best_products
from heat_neo4j._utils.csr import CsrParts
from heat_neo4j.duplicates.names import Names
from heat_neo4j.geometry.search import nearest_neighbours

Pairs = NDArray[np.int64]

K = 10
"""Candidates of a node from each source."""

_MOST = 20_000  # entries of the lists that one node looks through


def candidate_pairs(
    names: Names, surroundings: sparse.csr_array, points: NDArray[np.float64], *, n_threads: int | None
) -> Pairs:
    """Return pairs (a, b), a < b, of M nodes that could be the same, sorted; shape (m, 2).

    A pair is a candidate if either node is among the `K` of the other with the most similar names, with most
    rare neighbours in common, or nearest by distance; or if its name is the acronym of the other's.
    `surroundings` holds the weighted neighbours of each node, shape (M, C); `points` lie on the hyperboloid,
    shape (M, d + 1).
    """
    found = [_alike(names.grams), _alike(surroundings), np.array(list(_acronyms(names))).reshape(-1, 2)]
    if len(points) > 1:
        near = nearest_neighbours(points, K, n_threads=n_threads).partner
        found.append(_listed(near))
    pairs = np.sort(np.concatenate(found).astype(np.int64), axis=1)
    return np.unique(pairs, axis=0)


def _alike(rows: sparse.csr_array) -> Pairs:
    """Return each row with the `K` rows of the largest product."""
    n = rows.shape[0]
    places, nothing = np.arange(n), np.zeros(n + 1, dtype=np.int64)
    found, _ = best_products(
        places, *CsrParts.of(rows), *CsrParts.of(rows.T),
        np.ones(n, dtype=np.bool_), places, nothing, np.empty(0, dtype=np.int32), _MOST, K,
    )  # fmt: skip
    return _listed(found)


def _listed(lists: NDArray[np.integer]) -> Pairs:
    row, place = np.nonzero(lists != NOBODY)
    return np.column_stack((row, lists[row, place])).astype(np.int64)


def _acronyms(names: Names) -> Iterator[tuple[int, int]]:
    """Yield pairs of a name and one of at most `K` names that it is the acronym of."""
    written_out: dict[str, list[int]] = defaultdict(list)
    for row, forms in enumerate(names.initials):
        for form in forms:
            written_out[form].append(row)
    for row, solid in enumerate(names.solid):
        for other in written_out.get(solid, ())[:K]:
            if other != row:
                yield row, other
