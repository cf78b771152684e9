"""Drift of an embedding between runs, and the isometry that aligns a run with an earlier one.

Only distances between nodes carry information; the position and rotation of the whole are random. An isometry
removes this difference, so that coordinates of two runs can be compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.geometry.hyperboloid import centroids, distance, lift, radius
from heat_neo4j.geometry.search import nearest_neighbours

Array = NDArray[np.float64]

_NEIGHBOURS = 10  # nearest nodes compared per node
_MOST_MOVED = 10
_QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Drift:
    """Movement of the nodes that two versions have in common."""

    nodes: int
    moved: int  # nodes whose coordinates differ in any bit
    mean: float  # mean hyperbolic distance between old and new position
    quantiles: Mapping[str, float]  # of that distance: "0.5", "0.9", "0.99" and "1.0" (maximum)
    overlap: float | None  # mean share of a node's 10 nearest that stayed, over a sample; None for one node
    radius_change: float  # mean of new radius minus old radius
    most_moved: tuple[tuple[str, float], ...]  # the ten nodes that moved farthest, with distances

    def to_dict(self) -> dict[str, Any]:
        """Return the drift as JSON data."""
        return {**asdict(self), "most_moved": [list(each) for each in self.most_moved]}


@one_blas_thread()
def measure_drift(old: Array, new: Array, node_ids: Sequence[str], sample: int = 1000) -> Drift:
    """Compare two embeddings of shape (N, d + 1) of the same N nodes; N may be 0.

    The neighbours of at most `sample` nodes are compared. Raises ValueError if the shapes differ.
    """
    if old.shape != new.shape or len(node_ids) != len(old):
        raise ValueError(
            f"embeddings must have the same nodes: {old.shape}, {new.shape}, {len(node_ids)} ids"
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
        overlap=_overlap(old, new, sample),
        radius_change=float((radius(new) - radius(old)).mean()),
        most_moved=tuple((node_ids[row], float(moves[row])) for row in most),
    )


def _overlap(old: Array, new: Array, most: int) -> float | None:
    n = len(old)
    k = min(_NEIGHBOURS, n - 1)
    if k == 0:
        return None
    sample = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
    before, after = (nearest_neighbours(points, k, rows=sample, n_threads=1).partner for points in (old, new))
    shared = sum(len(np.intersect1d(*pair, assume_unique=True)) for pair in zip(before, after, strict=True))
    return shared / (k * len(sample))


class Isometry(NamedTuple):
    """A Lorentz transformation that maps the hyperboloid to itself: boosts, rotations, reflections.

    The matrix, shape (d + 1, d + 1), acts on column vectors; time last.
    """

    matrix: Array

    @one_blas_thread()
    def __call__(self, points: Array) -> Array:
        """Return the transformed points, shape (N, d + 1); time is recomputed from the spatial part."""
        return lift((points @ self.matrix.T)[:, :-1])


def boost_to_origin(point: Array) -> Array:
    """Return the matrix of the boost that moves one point of shape (d + 1,) to the origin, without rotation.

    With spatial part s and time t it is [[I + s s^T / (1 + t), -s], [-s^T, t]]; the inverse has s for -s.
    """
    spatial, time = point[:-1], point[-1]
    d = len(spatial)
    matrix = np.empty((d + 1, d + 1))
    matrix[:d, :d] = np.eye(d) + np.outer(spatial, spatial) / (1.0 + time)
    matrix[:d, d] = matrix[d, :d] = -spatial
    matrix[d, d] = time
    return matrix


@one_blas_thread()
def fit_isometry(source: Array, target: Array, *, keep_radii: bool = False) -> Isometry:
    """Return the isometry that best aligns `source` with `target`, row by row; both of shape (N, d + 1).

    A boost moves the Lorentz centroid of each set to the origin, unless radii are to be kept. The rotation
    (and reflection) there is the orthogonal Procrustes solution for the points' logarithms (direction times
    radius, so that far points do not dominate). Raises ValueError if shapes differ or there are no points.

    References
    ----------
    P. Tabaghi and I. Dokmanic, "On Procrustes Analysis in Hyperbolic Space" (IEEE Signal Processing Letters
    28, 2021), sections III and IV.
    """
    if source.shape != target.shape or source.ndim != 2 or not len(source):
        raise ValueError(f"points to align must have one shape (N, d + 1): {source.shape} and {target.shape}")
    d = source.shape[1] - 1
    origin = np.append(np.zeros(d), 1.0)
    centre = origin if keep_radii else _centre(target)
    to_origin = boost_to_origin(origin if keep_radii else _centre(source))
    left, _, right = np.linalg.svd(
        _logarithms(target, boost_to_origin(centre)).T @ _logarithms(source, to_origin)
    )
    rotation = np.eye(d + 1)
    rotation[:d, :d] = left @ right
    from_origin = boost_to_origin(centre * np.append(np.full(d, -1.0), 1.0))
    return Isometry(from_origin @ rotation @ to_origin)


def _centre(points: Array) -> Array:
    """Return the Lorentz centroid of all points, shape (d + 1,)."""
    together = sparse.csr_array(np.ones((1, len(points))))
    return np.asarray(centroids(together, points)[0])


def _logarithms(points: Array, matrix: Array) -> Array:
    """Return the transformed points as tangent vectors at the origin, shape (N, d)."""
    moved = Isometry(matrix)(points)
    spatial = moved[:, :-1]
    norm = np.linalg.norm(spatial, axis=1)
    scale = np.divide(radius(moved), norm, out=np.ones_like(norm), where=norm > 0)
    return np.asarray(spatial * scale[:, None])
