"""Isometries of hyperbolic space, and the one that brings an embedding nearest to an earlier one.

Distances between nodes say everything that was learnt; where the whole lies, and how it is turned, is chance.
An isometry takes that chance away, so that coordinates of two runs can be compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._utils.threads import one_blas_thread
from heat_neo4j.geometry.hyperboloid import centroids, lift, radius

__all__ = ["Isometry", "boost_to_origin", "fit_isometry"]

Array = NDArray[np.float64]


class Isometry(NamedTuple):
    """A Lorentz transformation that keeps the hyperboloid: boosts, rotations, reflections.

    The matrix, of shape (d + 1, d + 1), acts on columns; time last.
    """

    matrix: Array

    @one_blas_thread()
    def __call__(self, points: Array) -> Array:
        """Return the moved points, shape (N, d + 1); their time is computed anew."""
        return lift((points @ self.matrix.T)[:, :-1])


def boost_to_origin(point: Array) -> Array:
    """Return the matrix of the boost that takes one point of shape (d + 1,) to the origin, without turning.

    With spatial part s and time t it is [[I + s s^T / (1 + t), -s], [-s^T, t]]; its inverse has s and not -s.
    """
    spatial, time = point[:-1], point[-1]
    d = len(spatial)
    matrix = np.empty((d + 1, d + 1))
    matrix[:d, :d] = np.eye(d) + np.outer(spatial, spatial) / (1.0 + time)
    matrix[:d, d] = matrix[d, :d] = -spatial
    matrix[d, d] = time
    return matrix


@one_blas_thread()
def fit_isometry(source: Array, target: Array) -> Isometry:
    """Return the isometry that brings `source` near to `target`, both of shape (N, d + 1), row by row.

    Both sets are moved by a boost so that their Lorentz centroid is the origin; there the best rotation, or
    rotation and reflection, is the orthogonal Procrustes solution for their logarithms (directions times
    radii, so that points far out do not decide alone). A ValueError if shapes differ, or there is no point.

    References
    ----------
    P. Tabaghi and I. Dokmanic, "On Procrustes Analysis in Hyperbolic Space" (IEEE Signal Processing Letters
    28, 2021), sections III and IV.
    """
    if source.shape != target.shape or source.ndim != 2 or not len(source):
        raise ValueError(f"points to align must have one shape (N, d + 1): {source.shape} and {target.shape}")
    d = source.shape[1] - 1
    centre = _centre(target)
    to_origin = boost_to_origin(_centre(source))
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
    """Return moved points as tangent vectors at the origin, shape (N, d)."""
    moved = Isometry(matrix)(points)
    spatial = moved[:, :-1]
    norm = np.linalg.norm(spatial, axis=1)
    scale = np.divide(radius(moved), norm, out=np.ones_like(norm), where=norm > 0)
    return np.asarray(spatial * scale[:, None])
