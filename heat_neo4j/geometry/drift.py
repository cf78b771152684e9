"""How far an embedding moved from one run to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.geometry.hyperboloid import distance, radius

__all__ = ["Drift", "measure_drift"]

Array = NDArray[np.float64]

_NEIGHBOURS = 10  # nearest nodes of each that are compared
_SAMPLE = 1000  # nodes whose neighbours are compared, at most
_DISTANCES = 4_000_000  # held at a time
_MOST_MOVED = 10
_QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Drift:
    """How far the nodes that two versions share have moved."""

    nodes: int
    moved: int  # nodes that are not where they were to the bit
    mean: float  # hyperbolic distance between where a node was and where it is
    quantiles: Mapping[str, float]  # of that distance: "0.5", "0.9", "0.99" and "1.0", the largest
    overlap: float | None  # mean share of the 10 nearest nodes, of up to 1,000, that stayed; None for 1 node
    radius_change: float  # mean of the new radius less the old one
    most_moved: tuple[tuple[str, float], ...]  # the ten nodes that moved most, and how far

    def to_dict(self) -> dict[str, Any]:
        """Return the drift as JSON data."""
        return {**asdict(self), "most_moved": [list(each) for each in self.most_moved]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the drift that `to_dict` described."""
        return cls(**{**data, "most_moved": tuple((name, move) for name, move in data["most_moved"])})


@one_blas_thread()
def measure_drift(old: Array, new: Array, node_ids: Sequence[str]) -> Drift:
    """Compare two embeddings of shape (N, d + 1) of the same N nodes; N may be 0.

    A ValueError if the shapes differ.
    """
    if old.shape != new.shape or len(node_ids) != len(old):
        raise ValueError(
            f"embeddings must be of the same nodes: {old.shape}, {new.shape}, {len(node_ids)} ids"
        )
    if not len(old):
        return Drift(0, 0, 0.0, dict.fromkeys(map(str, _QUANTILES), 0.0), None, 0.0, ())
    moves = distance(old, new)
    most = np.argsort(-moves, kind="stable")[:_MOST_MOVED]
    return Drift(
        nodes=len(old),
        moved=int((old != new).any(axis=1).sum()),
        mean=float(moves.mean()),
        quantiles={str(q): float(np.quantile(moves, q)) for q in _QUANTILES},
        overlap=_overlap(old, new),
        radius_change=float((radius(new) - radius(old)).mean()),
        most_moved=tuple((node_ids[row], float(moves[row])) for row in most),
    )


def _overlap(old: Array, new: Array) -> float | None:
    n = len(old)
    k = min(_NEIGHBOURS, n - 1)
    if k == 0:
        return None
    sample = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).round().astype(np.int64))
    shared = 0
    step = max(_DISTANCES // n, 1)
    for begin in range(0, len(sample), step):
        rows = sample[begin : begin + step]
        nearest = zip(_nearest(old, rows, k), _nearest(new, rows, k), strict=True)
        shared += sum(len(np.intersect1d(*pair, assume_unique=True)) for pair in nearest)
    return shared / (k * len(sample))


def _nearest(points: Array, rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the k nearest other nodes of each row; of equally near ones those that come first."""
    mirrored = points[rows] * np.append(np.full(points.shape[1] - 1, -1.0), 1.0)
    heights = mirrored @ points.T  # cosh of the distance, which grows with it
    heights[np.arange(len(rows)), rows] = np.inf
    if heights.shape[1] <= 4 * k:
        return np.argsort(heights, axis=1, kind="stable")[:, :k]
    border = np.partition(heights, k - 1, axis=1)[:, k - 1 : k]
    nearest = np.empty((len(heights), k), dtype=np.int64)
    for row, (values, limit) in enumerate(zip(heights, border, strict=True)):
        candidates = np.flatnonzero(values <= limit[0])
        nearest[row] = candidates[np.argsort(values[candidates], kind="stable")[:k]]
    return nearest
