"""Where nodes are, by a property of points: how far apart two nodes are, and the nearest targets of a source.

The cosine of two points compares their directions from the mean point. It hardly distinguishes the nearest of
a thousand towns from the next ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree

from heat_neo4j._utils.csr import CsrParts
from heat_neo4j.attributes.kinds import Kind
from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.scorers import VectorScorer

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_AXES = (":x", ":y", ":z")
_SMALLEST = 1e-4  # of the usual distance; nearer points are equally near


@dataclass(frozen=True, eq=False)
class Places:
    """One point of each node, around the origin, in units of the smallest distance that counts."""

    points: Array  # (N, D)
    known: NDArray[np.bool_]  # (N,)

    @classmethod
    def of(cls, graph: Graph, sources: Rows, targets: Rows) -> Self | None:
        """Return the points of the property that most of both ends have; None if there is none."""
        best, most = None, 0
        for entry, columns, known in graph.attribute_blocks():
            n_pairs = int(np.count_nonzero(known[sources])) * int(np.count_nonzero(known[targets]))
            if entry["kind"] == Kind.POINT and n_pairs > most:
                best, most = cls._scaled(graph, entry["columns"], columns, known), n_pairs
        return best

    @classmethod
    def _scaled(cls, graph: Graph, names: Any, columns: slice, known: NDArray[np.bool_]) -> Self | None:
        attributes: Any = graph.attributes
        axes = [place for place, name in enumerate(names) if name.endswith(_AXES)]
        points = sparse.csr_array(attributes[:, columns]).toarray()[:, axes].astype(np.float64)
        points -= points[known].mean(axis=0)
        usual = np.sqrt(2.0 * np.square(points[known]).sum(axis=1).mean())
        return cls(points / (_SMALLEST * usual), known) if usual > 0.0 else None

    def squares(self) -> VectorScorer:
        """Return the scorer of squared distances; a pair without a point has the usual distance."""
        points, usual = np.where(self.known[:, None], self.points, 0.0), _SMALLEST**-2
        square, has = np.square(points).sum(axis=1), self.known.astype(np.float64)
        first = np.column_stack((-2.0 * points, has, square, usual * (1.0 - has), usual * has))
        second = np.column_stack((points, square, has, np.ones(len(has)), 1.0 - has))
        return VectorScorer(first, second)


@dataclass(frozen=True, eq=False)
class NearPlaces:
    """The nearest of some targets to each source's point, or to its point in `origins`."""

    places: Places
    targets: Rows
    most: int  # targets listed, and targets at one point
    origins: Places | None = None

    def of(self, sources: Rows) -> CsrParts:
        """Return the nearest targets of each source, the nearest with the largest weight; shape (m, N)."""
        n, k = len(self.places.known), min(self.most, len(self._listed))
        if not k:
            return CsrParts.of(sparse.csr_array((len(sources), n)))
        origins = self.origins or self.places
        found = np.flatnonzero(origins.known[sources])
        _, near = self._tree.query(origins.points[sources[found]], k=np.arange(1, k + 1))
        indptr = np.concatenate(([0], np.cumsum(k * origins.known[sources])))
        weights = np.tile(1.0 / np.arange(1, k + 1), len(found))
        rows = (weights, self._listed[near.ravel()], indptr)
        return CsrParts.of(sparse.csr_array(rows, shape=(len(sources), n)).sorted_indices())

    @cached_property
    def _listed(self) -> Rows:
        """The targets, at most `most` of those at the same point, as a tree cannot split them."""
        own = self.targets[self.places.known[self.targets]]
        point = np.unique(self.places.points[own], axis=0, return_inverse=True)[1].ravel()
        order = np.argsort(point, kind="stable")
        begins = np.searchsorted(point[order], point[order])
        return own[np.sort(order[np.arange(len(own)) - begins < self.most])]

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.places.points[self._listed])
