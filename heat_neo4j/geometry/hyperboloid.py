"""The hyperboloid model of hyperbolic space, and the two balls it projects to.

Points are rows of (N, d + 1) float64 arrays with **the time coordinate last**; curvature is -1::

    H^d = { x : <x, x> = -1, time > 0 },   <x, y> = sum of spatial products - product of the times
    d(x, y) = arccosh(-<x, y>)

All functions take rows and broadcast like numpy. Distances use z = cosh(d) - 1 and
arcosh(1 + z), which keeps small distances; see Nickel and Kiela, "Learning Continuous
Hierarchies in the Lorentz Model of Hyperbolic Geometry" (ICML 2018), sections 2 and 3, for the model.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j._kernels.elementwise import arccosh1p, arcsinh, cosh, sinh
from heat_neo4j._kernels.sparse import dense_products

Array = NDArray[np.float64]
_TINY = 1e-12  # below this length, sinh(t) / t rounds to 1
_TOLERANCE = 1e-6  # of <x, x> = -1, relative to the squared time


class NotHyperbolicError(ValueError):
    """Raised for coordinates that are not points of hyperbolic space."""


def minkowski_inner(x: Array, y: Array) -> Array:
    """Return <x, y>: spatial products minus the product of the times, shape (...)."""
    inner: Array = np.sum(x[..., :-1] * y[..., :-1], axis=-1) - x[..., -1] * y[..., -1]
    return inner


def lift(spatial: Array) -> Array:
    """Return the points with the given spatial coordinates, shape (..., d); time = sqrt(1 + |s|^2)."""
    spatial = np.asarray(spatial, dtype=np.float64)
    time = np.sqrt(1.0 + np.sum(spatial * spatial, axis=-1, keepdims=True))
    return np.concatenate([spatial, time], axis=-1)


def _excess(x: Array, y: Array) -> Array:
    """Return z = cosh(d) - 1, shape (...), accurate also for nearly coincident points.

    It is half the Minkowski square of x - y. The time difference is (|s_x|^2 - |s_y|^2) / (t_x + t_y), which
    avoids cancellation.
    """
    difference = x[..., :-1] - y[..., :-1]
    total = x[..., :-1] + y[..., :-1]
    time = np.sum(difference * total, axis=-1) / (x[..., -1] + y[..., -1])
    return np.asarray(np.maximum(0.5 * (np.sum(difference * difference, axis=-1) - time * time), 0.0))


def distance(x: Array, y: Array) -> Array:
    """Return the hyperbolic distance of points, shape (...), accurate also for nearly coincident points."""
    result: Array = arccosh1p(_excess(x, y))
    return result


def add_to_centroid(
    centroid: Array, weight: Array, x: Array, x_weight: Array | float = 1.0
) -> tuple[Array, Array]:
    """Add a point to a Lorentz centroid; return the new centroid and its weight. Rows broadcast.

    The centroid of x_1, ..., x_n is S / w with S = x_1 + ... + x_n and weight w = sqrt(-<S, S>); a single
    point is its own centroid, with weight 1. Adding a point or centroid of weight v at distance d gives the
    weight sqrt((w + v)^2 + 2 w v (cosh(d) - 1)), without cancellation. See M. Law et al., "Lorentzian
    Distance Learning for Hyperbolic Representations" (ICML 2019), section 3.
    """
    heavier = np.sqrt((weight + x_weight) ** 2 + 2.0 * weight * x_weight * _excess(centroid, x))
    added = np.broadcast_to(x_weight, weight.shape)[..., None] * x[..., :-1]
    spatial = (weight[..., None] * centroid[..., :-1] + added) / heavier[..., None]
    return lift(spatial), heavier


def centroids(weights: sparse.csr_array, x: Array) -> Array:
    """Return the weighted Lorentz centroids S / sqrt(-<S, S>), S = sum of w_j x_j, shape (M, d + 1).

    `weights`, shape (M, N), are non-negative, with at least one positive entry per row.
    """
    total = dense_products(
        weights.indptr.astype(np.int64, copy=False),
        weights.indices.astype(np.int32, copy=False),
        weights.data,
        np.ascontiguousarray(x),
    )
    spatial, time = total[:, :-1], total[:, -1]
    norm = np.linalg.norm(spatial, axis=1)
    # At least the squared sum of the weights; far out, the difference is dominated by cancellation.
    square = np.maximum((time - norm) * (time + norm), np.asarray(weights.sum(axis=1)).ravel() ** 2)
    return lift(spatial / np.sqrt(square)[:, None])


def radius(x: Array) -> Array:
    """Return the hyperbolic distance from the origin, shape (...): arcsinh of the spatial norm."""
    return np.asarray(arcsinh(np.linalg.norm(x[..., :-1], axis=-1)))


def at_radius(x: Array, radii: Array) -> Array:
    """Move points radially to the distances `radii` from the origin, shape (...)."""
    norm = np.linalg.norm(x[..., :-1], axis=-1)
    scale = np.divide(sinh(radii), norm, out=np.zeros_like(norm), where=norm > 0)
    return lift(x[..., :-1] * scale[..., None])


def project_tangent(x: Array, v: Array) -> Array:
    """Return the tangential part of `v` at `x`: v + <x, v> x."""
    return v + minkowski_inner(x, v)[..., None] * x


def pair_distances(embedding: Array, pairs: NDArray[np.int64]) -> Array:
    """Return the hyperbolic distance of each of m pairs of rows, shape (m, 2)."""
    return np.asarray(distance(embedding[pairs[:, 0]], embedding[pairs[:, 1]]))


def exp_map(x: Array, v: Array) -> Array:
    """Return the end of the geodesic from `x` with tangent vector `v`: cosh|v| x + sinh|v| v / |v|.

    Time is recomputed from the spatial coordinates, so that the point is on the hyperboloid.
    """
    norm = np.sqrt(np.maximum(minkowski_inner(v, v), 0.0))[..., None]
    across = np.where(norm > _TINY, sinh(norm) / np.where(norm > _TINY, norm, 1.0), 1.0)
    return lift((cosh(norm) * x + across * v)[..., :-1])


def log_map(x: Array, y: Array) -> Array:
    """Return the tangent vector at `x` that `exp_map` maps to `y`: d / sinh(d) (y - cosh(d) x)."""
    d = distance(x, y)[..., None]
    factor = np.where(d > _TINY, d / np.where(d > _TINY, sinh(d), 1.0), 1.0)
    # y - cosh(d) x = (y - x) - (cosh(d) - 1) x, which is accurate for close points
    return project_tangent(x, factor * ((y - x) - 2.0 * sinh(0.5 * d) ** 2 * x))


def to_poincare(x: Array) -> Array:
    """Return Poincare ball coordinates, shape (..., d): spatial / (1 + time)."""
    return np.asarray(x[..., :-1] / (1.0 + x[..., -1:]))


def from_poincare(b: Array) -> Array:
    """Return the hyperboloid points of Poincare ball coordinates; raises ValueError if a norm is >= 1."""
    b = np.asarray(b, dtype=np.float64)
    return lift(2.0 * b / _one_minus_square(b, "Poincare"))


def to_klein(x: Array) -> Array:
    """Return Klein ball coordinates, shape (..., d): spatial / time."""
    return np.asarray(x[..., :-1] / x[..., -1:])


def from_klein(k: Array) -> Array:
    """Return the hyperboloid points of Klein ball coordinates; raises ValueError if a norm is >= 1."""
    k = np.asarray(k, dtype=np.float64)
    return lift(k / np.sqrt(_one_minus_square(k, "Klein")))


COORDINATES = ("poincare", "hyperboloid", "klein")
"""Kinds of coordinates: of the Poincare ball, the hyperboloid and the Klein ball."""


def to_coordinates(x: Array, kind: str) -> Array:
    """Return points of the hyperboloid as coordinates of a kind."""
    return x if kind == "hyperboloid" else {"poincare": to_poincare, "klein": to_klein}[kind](x)


def from_coordinates(values: Array, kind: str) -> Array:
    """Return coordinates of a kind as points of the hyperboloid; raises ValueError outside the ball."""
    return values if kind == "hyperboloid" else {"poincare": from_poincare, "klein": from_klein}[kind](values)


def check_points(x: Array) -> None:
    """Raise `NotHyperbolicError` for the first row that is not finite or has |<x, x> + 1| > 1e-6 time^2."""
    if x.ndim != 2 or x.shape[1] < 2:
        raise ValueError(f"hyperboloid points must have shape (N, d + 1), got {x.shape}")
    finite = np.isfinite(x).all(axis=1)
    if not finite.all():
        raise NotHyperbolicError(f"row {int(np.argmin(finite))} has a NaN or infinite coordinate")
    is_on = (np.abs(minkowski_inner(x, x) + 1.0) <= _TOLERANCE * x[:, -1] ** 2) & (x[:, -1] > 0)
    if not is_on.all():
        row = int(np.argmin(is_on))
        raise NotHyperbolicError(f"row {row} is not on the hyperboloid (time is the last coordinate)")


def _one_minus_square(b: Array, model: str) -> Array:
    """Return 1 - |b|^2 with a last axis of length 1; raises `NotHyperbolicError` unless positive."""
    one_minus_square = 1.0 - np.sum(b * b, axis=-1, keepdims=True)
    if not (one_minus_square > 0).all():
        raise NotHyperbolicError(f"{model} coordinates must have norm below 1")
    return np.asarray(one_minus_square)
